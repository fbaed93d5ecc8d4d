"""A second interrupt leaves threads behind that still write: what they write to must outlive them."""

import ctypes
import gc
import importlib
import threading
import weakref
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from toys import GATED, batch_of, kernel_of

from flowsys.kernels import integrate

MODULE = importlib.import_module("flowsys.kernels.integrate")


@dataclass(frozen=True, eq=False)
class Blocking:
    """A driver whose functions do nothing until they are released."""

    code: Any

    def address(self, name: str) -> int:
        return ctypes.cast(self.code, ctypes.c_void_p).value


def interrupted(*arguments):
    raise KeyboardInterrupt


def test_memory_outlives_an_impatient_user(monkeypatch):
    started, released, kept = threading.Event(), threading.Event(), []

    def block(workspace, stages, batch):
        started.set()
        released.wait(60)

    def remembering(make):
        def made(*arguments):
            result = make(*arguments)
            values = (result.block, *result.held) if hasattr(result, "block") else arguments[1].values()
            kept.extend(weakref.ref(x) for x in (result, *values) if not isinstance(x, int))
            return result

        return made

    plain = kernel_of(GATED)

    def run():
        native = replace(plain, driver=Blocking(ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(block)))
        kept.append(weakref.ref(native))
        try:
            integrate(native, batch_of([1.0, 0.0], [1.0, 1.0], times=[1.0]))
        except KeyboardInterrupt:
            return
        raise AssertionError("it was not interrupted")

    for name in ("workspace", "structure"):
        monkeypatch.setattr(MODULE, name, remembering(getattr(MODULE, name)))
    before = set(threading.enumerate())
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "join", interrupted)
        run()
    [worker] = set(threading.enumerate()) - before
    assert started.wait(60)
    gc.collect()
    assert len(kept) > 20 and all(x() is not None for x in kept)
    released.set()
    worker.join(60)
    del worker
    gc.collect()
    assert not any(isinstance(x(), np.ndarray) for x in kept)
