"""Derived equations, for readers (pages in text, LaTeX, Markdown, HTML) and for other programs (code)."""

from collections.abc import Callable, Mapping

from flowsys.equations.c_code import c
from flowsys.equations.code import Exported, jax, julia, python
from flowsys.equations.code import exported as exported
from flowsys.equations.page import page_of as page_of
from flowsys.equations.pages import FORMATS as FORMATS
from flowsys.equations.posing import posed as posed

LANGUAGES: Mapping[str, Callable[[Exported], str]] = {"python": python, "jax": jax, "julia": julia, "c": c}
