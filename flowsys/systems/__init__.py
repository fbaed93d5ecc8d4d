"""The papers' systems, one package each."""
