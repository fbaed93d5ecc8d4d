"""The event-driven driver, in the compiled subset of `flowsys.kernels.restricted`: read as Python, run natively."""

MODULES = (
    "complementarity",
    "field",
    "watching",
    "ledger",
    "stepping",
    "slides",
    "kinks",
    "stages",
    "looking",
    "bracketing",
    "locating",
    "systems",
    "drowning",
    "hidden",
    "implicit",
    "choosing",
    "rounds",
)
