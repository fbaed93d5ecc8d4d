"""Derived equations, for readers (pages in text, LaTeX, Markdown, HTML) and for other programs (code)."""

from flowsys.equations.page import page_of as page_of
from flowsys.equations.pages import FORMATS as FORMATS
