"""A progress bar on a terminal, nothing in a pipe."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any


def bar(items: Iterable[Any], total: int, unit: str, done: int = 0, scale: int = 1) -> Iterator[Any]:
    """Iterate with a bar that shows rate and remaining time; each item counts for `scale` units."""
    from tqdm.auto import tqdm

    with tqdm(total=total, initial=done, unit=unit, disable=not sys.stderr.isatty(), leave=False) as progress:
        for item in items:
            yield item
            progress.update(min(scale, total - progress.n))


@contextmanager
def named_counter(total: int, unit: str) -> Iterator[Callable[[str, int], None]]:
    """A function that counts so many more units as done, and names what is under way."""
    from tqdm.auto import tqdm

    with tqdm(total=total, unit=unit, disable=not sys.stderr.isatty(), leave=False) as progress:

        def told(under_way: str, done: int) -> None:
            progress.set_postfix_str(under_way, refresh=False)
            progress.update(done)
            progress.refresh()

        yield told


@contextmanager
def counter(total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """A function that counts so many more units as done."""
    from tqdm.auto import tqdm

    with tqdm(total=total, unit=unit, disable=not sys.stderr.isatty(), leave=False) as progress:
        yield progress.update
