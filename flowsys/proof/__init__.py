"""Proven error bars: rigorous enclosures of trajectories, events and signs (extra `proof`: python-flint)."""
