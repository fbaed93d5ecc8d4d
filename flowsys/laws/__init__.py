"""Laws fitted to measurements, as values."""
