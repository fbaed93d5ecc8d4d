"""Settings every test shares. 64-bit precision is deliberately not switched on: the package must do that itself."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from flowsys.machine.workers import give_memory_back

HERE = Path(__file__).parent

ONE_THREAD, AT_ONCE = "--xla_cpu_multi_thread_eigen=false", "--xla_backend_optimization_level=0"
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("MALLOC_ARENA_MAX", "1")  # of workers: what one thread of the compiler frees serves the others
KEPT = {name: tempfile.mkdtemp(prefix="flowsys-tests-") for name in ("JAX_COMPILATION_CACHE_DIR", "FLOWSYS_CACHE")
        if name not in os.environ}  # fmt: skip
# what is compiled or derived in one process of the run serves all others, and nothing else: workers inherit the places
os.environ |= KEPT
if "JAX_COMPILATION_CACHE_DIR" in KEPT:
    os.environ |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.05",
                   "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """What runs for a moment is compiled in half the time where the compiler need not make it fast."""
    is_short = config.option.markexpr not in ("slow", "benchmark")
    os.environ.setdefault("XLA_FLAGS", f"{ONE_THREAD} {AT_ONCE}" if is_short else ONE_THREAD)


def pytest_unconfigure() -> None:
    for place in KEPT.values():
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module", autouse=True)
def memory_given_back():
    """What one file of tests leaves behind is not carried through the others."""
    yield
    give_memory_back()


STATUS = Path("/proc/self/statm")  # where there is one
MOST_GROWTH = 3e8
at_rest = [0.0]


def resident() -> float:
    """Bytes that this process holds."""
    return int(STATUS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if STATUS.exists() else 0.0


@pytest.fixture(autouse=True)
def memory_bounded():
    """Within a file memory is given back where it has grown by much: what is compiled serves the next test, too."""
    yield
    if resident() > max(1e9, at_rest[0] + MOST_GROWTH):
        give_memory_back()
        at_rest[0] = resident()


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
