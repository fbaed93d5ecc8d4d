"""One run of a system: solved or trained, by which solver, and the trajectory it leaves."""
