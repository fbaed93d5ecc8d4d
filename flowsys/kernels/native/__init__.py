"""The event-driven driver, in the compiled subset of `flowsys.kernels.restricted`: Python to read, machine code to run."""

MODULES = ("field", "watching", "ledger", "stepping", "kinks", "stages", "locating", "rounds")
