"""Printers of a program: to functions on NumPy or JAX arrays. LaTeX is rendered from statements (`symbolic.render`)."""
