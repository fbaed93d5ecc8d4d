"""Observables that one function gives together: numbers that share most of their work, each under its own name."""

from collections.abc import Callable, Mapping
from typing import Any


def together(find: Callable[..., Mapping[str, Any]], meanings: Mapping[str, str]) -> dict[str, Callable]:
    """Observables by name, with what each means, of `find(ops, w, X, p)`, which gives all of them (and may give more).

    `observe={**fs.together(report, {"seen": "attention on the signal", …}), …}`: however many are asked for, `report`
    runs once.
    """

    def one(name: str, meaning: str) -> Callable:
        def observable(ops, w, X, p):
            return w.once(find, X, lambda: find(ops, w, X, p))[name]

        observable.__doc__ = meaning
        return observable

    return {name: one(name, meaning) for name, meaning in meanings.items()}
