"""Kernels of the tests are compiled into a directory of their own."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def kernel_cache(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("FLOWSYS_CACHE", str(tmp_path_factory.mktemp("cache")))
    yield
    patch.undo()
