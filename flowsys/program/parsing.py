"""Python's parser, one thread at a time.

Two threads in `ast.parse` at once disturb each other's count of the recursion depth in CPython 3.11 (SystemError: AST
constructor recursion depth mismatch). A kernel and its driver are compiled in two threads.
"""

import ast
import threading
from typing import Any

_lock = threading.Lock()


def parsed(text: str) -> ast.Module:
    """The syntax tree of statements."""
    with _lock:
        return ast.parse(text)


def parsed_expression(text: str) -> ast.expr:
    """The syntax tree of an expression."""
    with _lock:
        return ast.parse(text, mode="eval").body


def called(node: ast.Call) -> str:
    """The name of the function that a call in an expression calls."""
    assert isinstance(node.func, ast.Name)
    return node.func.id


def variable(node: ast.expr) -> str:
    """The name that an expression is."""
    assert isinstance(node, ast.Name)
    return node.id


def number(value: Any) -> float:
    """The number that a constant of an expression is."""
    assert isinstance(value, int | float)
    return value
