"""The event-driven driver, in the compiled subset of `flowsys.kernels.restricted`: read as Python, run natively."""

MODULES = ("field", "watching", "ledger", "stepping", "kinks", "stages", "locating", "rounds")
