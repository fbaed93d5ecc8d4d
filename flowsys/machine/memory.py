"""How much memory there is: what needs more is refused at once, before the machine stands still over it."""

import os

AT_ONCE = 2.0  # of what is kept, what working with it takes


def check_room(numbers: float, what: str) -> None:
    """Raise MemoryError, which says so in a sentence, where so many float64 numbers do not fit."""
    if not hasattr(os, "sysconf"):
        return
    needed, there = 8 * AT_ONCE * numbers, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise MemoryError(f"{what} need {needed / 1e9:.3g} GB, and this machine has {there / 1e9:.3g} GB")
