"""The forms of each level: those of the engine, under the names that a model gives them, and those that are stated."""

from collections.abc import Callable, Mapping
from typing import Any

from flowsys.system import Variants

Builder = Callable[..., Any]  # (setup, mode), at L0 (setup, mode, seeds); some take start=
Form = tuple[str, Builder | str] | str  # (meaning, form), or a form of the engine's own, with its meaning
DESCENTS = {
    "weights": "gradient descent on the weights",
    "gram": "the same descent on inner products, exact at any width",
    "sgd": "gradient descent on the weights, a fresh batch each step",
    "sgd_gram": "the same on inner products",
}
FLOWS = {
    "L1": {"weights": "gradient flow on the weights"},
    "L2": {
        "reduced": "what the loss sees of the weights: inner products, at finite width",
        "unread": "all inner products of the factors and all direct weights: their `read` is taken afterwards",
    },
    "L3": {"found": "infinite width, lumped to the fewest variables"},
}


def form_of(given: Form) -> Builder | str:
    """What makes a variant: a build of its own, or the name of a form of the engine's."""
    return given if isinstance(given, str) else given[1]


def levels_of(variants: Mapping[str, Mapping[str, Form]], has_pairs: bool, has_batches: bool) -> dict[str, Variants]:
    """The levels with their forms and what they mean: a model's own first, then the engine's that they do not name."""
    descents = ["weights", *["gram"] * has_pairs, *(["sgd", *["sgd_gram"] * has_pairs] if has_batches else [])]
    own = {"L0": {name: DESCENTS[name] for name in descents}, **FLOWS}
    levels = {}
    for level in ("L0", "L1", "L2", "L3", "L4"):
        left, forms = dict(own.get(level, {})), {}
        for name, given in variants.get(level, {}).items():
            form = form_of(given)
            meaning = left.pop(form) if isinstance(form, str) else ""
            forms[name] = meaning if isinstance(given, str) else given[0]
        left.pop("unread", None)  # only where it is asked for
        if forms := forms | left:
            levels[level] = Variants(tuple(forms), tuple(forms.values()))
    return levels
