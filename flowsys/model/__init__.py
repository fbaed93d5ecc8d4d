"""Models: the functions their losses may use, and what Gram blocks do in numbers."""
