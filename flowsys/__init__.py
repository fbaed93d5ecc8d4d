"""Training dynamics of small transformers: reduced systems, finite-width training, and the theorems about them."""
