"""Printers of a program: to functions on NumPy or JAX arrays, and to pages for a reader."""
