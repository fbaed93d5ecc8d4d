"""Tasks side by side in worker processes that do not outlive the program."""

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any


def side_by_side(function: Callable, tasks: Iterable[tuple], workers: int) -> Iterator[Any]:
    """function(*task) for each task, the results as they come; with one worker here, in order.

    An interruption drops the tasks that wait and ends those under way.
    """
    if workers == 1:
        yield from (function(*task) for task in tasks)
        return
    context = multiprocessing.get_context("spawn")  # a forked child would share JAX's threads, which did not come along
    of_others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(workers, context, _die_of_interruptions) as pool:
        waiting = [pool.submit(function, *task) for task in tasks]
        try:
            for done in as_completed(waiting):
                yield done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in set(multiprocessing.active_children()) - of_others:
                child.terminate()
            raise


def _die_of_interruptions() -> None:
    """Ctrl-C reaches workers too: they end without a word, the program says what was kept."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
