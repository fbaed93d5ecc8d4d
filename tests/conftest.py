"""Settings every test shares. 64-bit precision is deliberately not switched on: the package must do that itself."""

import ctypes
import gc
import os
import sys

import pytest

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(scope="module", autouse=True)
def memory_given_back():
    """After each file, what JAX compiled for it is forgotten, and freed memory goes back to the system (in glibc)."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
    gc.collect()
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)
