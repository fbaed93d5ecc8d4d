"""Settings every test shares. 64-bit precision is deliberately not switched on: the package must do that itself."""

import ctypes
import gc
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("MPLBACKEND", "Agg")


MUCH = 800 * 2**20  # bytes of a process at which what JAX compiled for earlier files is forgotten


def resident() -> int:
    """The bytes this process holds in memory; all it may hold where the system does not tell."""
    told = Path("/proc/self/statm")
    return int(told.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if told.exists() else MUCH


@pytest.fixture(scope="module", autouse=True)
def memory_given_back():
    """After a file, if much is held, what JAX compiled is forgotten and freed memory given back (glibc)."""
    yield
    if resident() < MUCH:
        return
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
    gc.collect()
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)


QUICK = (
    "claims/test_kinds.py", "claims/test_limits.py", "integrate/", "kernels/test_cache.py", "kernels/test_events.py",
    "kernels/test_kinks.py", "kernels/test_programs.py", "kernels/test_restricted.py", "kernels/test_slope.py",
    "machine/", "model/test_model_refusals.py", "program/", "runs/test_trajectory.py", "symbolic/", "test_layers.py",
    "test_names.py", "test_typeset.py",
)  # fmt: skip
"""What a change of the engine is tried against first (`-m quick`): a room's own laws, without the papers."""


def is_quick(path: Path) -> bool:
    return path.relative_to(HERE).as_posix().startswith(QUICK)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m quick` other files are not even imported."""
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if config.option.markexpr == "quick" and is_test and not is_quick(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_quick(item.path) and not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.quick)
