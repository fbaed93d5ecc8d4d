"""The derivation engine: from a loss on sympy symbols to the program of its reduced gradient flow."""
