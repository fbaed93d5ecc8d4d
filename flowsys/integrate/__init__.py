"""Integration of a problem: steps, located events, kinks that cross or slide, stages."""
