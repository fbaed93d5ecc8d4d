"""Compiling ahead: code is compiled once a machine for each size, a second each, and no slider should wait for it."""

from collections.abc import Callable, Iterable
from contextlib import suppress

from flowsys.errors import InputError
from flowsys.explorer.controls import Control
from flowsys.explorer.view import View

MOST = 8  # values of a size, those nearest to where its slider stands


def compile_ahead(view: View, found: Iterable[Control], check: Callable[[], None] = lambda: None) -> None:
    """Run the view at values of every size, nearest first; `check` may raise to break off."""
    for control in found:
        if control.choices or not control.integer:
            continue
        here = view.setup[control.name]
        for value in sorted(range(int(control.low), int(control.high) + 1), key=lambda v: abs(v - here))[:MOST]:
            check()
            with suppress(InputError):  # the slider will tell it
                view.at(**{control.name: value}).run()
