"""A progress bar on a terminal, nothing in a pipe."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any


def bar(items: Iterable[Any], total: int, unit: str, done: int = 0, scale: int = 1) -> Iterator[Any]:
    """Iterate with a bar that shows rate and remaining time; each item counts for `scale` units."""
    from tqdm.auto import tqdm

    with tqdm(total=total, initial=done, unit=unit, disable=not sys.stderr.isatty(), leave=False) as progress:
        for item in items:
            yield item
            progress.update(min(scale, total - progress.n))
