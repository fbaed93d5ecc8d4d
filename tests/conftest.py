"""Settings every test shares. 64-bit precision is deliberately not switched on: the package must do that itself."""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("MPLBACKEND", "Agg")
