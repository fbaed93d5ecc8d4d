"""Tasks side by side in worker processes that do not outlive the program."""

import ctypes
import gc
import multiprocessing
import signal
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

from flowsys.machine.by_value import packed, unpacked


def side_by_side(function: Callable, shared: Any, tasks: Iterable[tuple], workers: int) -> Iterator[Any]:
    """function(shared, *task) for each task, the results as they come; with one worker here, in order.

    What is shared travels by value: a system made in a script needs no installation. An interruption drops the tasks
    that wait and ends those under way.
    """
    if workers == 1:
        yield from (function(shared, *task) for task in tasks)
        return
    call = packed((function, shared))
    context = multiprocessing.get_context("spawn")  # a forked child would share JAX's threads, which did not come along
    of_others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(workers, context, _die_of_interruptions) as pool:
        with main_left_alone():
            waiting = [pool.submit(_called, call, task) for task in tasks]
        try:
            for done in as_completed(waiting):
                yield done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(multiprocessing.active_children()) - of_others:
                child.terminate()
            raise


@contextmanager
def main_left_alone() -> Iterator[None]:
    """Let processes start that do not run the user's script again: what they need of it travels by value."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def give_memory_back() -> None:
    """After a long task: forget what JAX compiled, and hand freed memory back to the system (in glibc)."""
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
    gc.collect()
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)


def _called(call: bytes, task: tuple) -> Any:
    function, shared = unpacked(call)
    return function(shared, *task)


def _die_of_interruptions() -> None:
    """Ctrl-C reaches workers too: they end without a word, the program says what was kept."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
