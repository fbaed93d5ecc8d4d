"""Refusals of sizes and fractions that no prompt can have, each naming the parameter as the user typed it."""

import math
from typing import Any

from flowsys.errors import InputError


def check_count(name: str, value: Any, least: int, most: int | None = None) -> int:
    """`value` as an integer in [least, most]."""
    allowed = f"an integer of at least {least}" if most is None else f"an integer from {least} to {most}"
    try:
        count = int(value)
        is_whole = count == value
    except (TypeError, ValueError, OverflowError):
        count, is_whole = least, False
    if not is_whole or isinstance(value, bool) or count < least or (most is not None and count > most):
        raise InputError(f"{name} = {value!r}, but {name} must be {allowed}.")
    return count


def check_fraction(name: str, value: Any, closed: str = "") -> float:
    """`value` as a number in (0, 1); `closed` names the ends that are allowed too: "0", "1" or "01"."""
    interval = ("[" if "0" in closed else "(") + "0, 1" + ("]" if "1" in closed else ")")
    try:
        fraction = float(value)
    except (TypeError, ValueError):
        fraction = math.nan
    inside = 0.0 < fraction < 1.0 or (fraction == 0.0 and "0" in closed) or (fraction == 1.0 and "1" in closed)
    if not inside:
        raise InputError(f"{name} = {value!r}, but {name} must lie in {interval}.")
    return fraction


def n_matching_examples(alpha: float, n_examples: int) -> int:
    """round(α' l): how many examples start at the query's pattern; refuses prompts that would have none."""
    check_fraction("alpha_test", alpha, closed="1")
    check_count("n_examples", n_examples, 1)
    n_matching = round(alpha * n_examples)
    if n_matching == 0:
        raise InputError(
            f"alpha_test = {alpha!r} with n_examples = {n_examples} gives no example that matches the query, "
            "but alpha_test * n_examples must be above 0.5."
        )
    return n_matching
