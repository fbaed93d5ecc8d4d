"""Tasks that wait for native batches: while the batch of one is integrated, Python makes the next one ready.

A task is a generator that yields jobs and is sent what they return; its own result is what it returns. Jobs run one
after the other in a thread of their own, where they leave the interpreter to the tasks.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

T = TypeVar("T")
Task = Generator[Callable[..., Any], Any, T]
_AT_ONCE = 2


class _Stand(NamedTuple, Generic[T]):
    """Where a task stands: it waits for a job, or has its result."""

    task: Task[T]
    waits: Future | None
    result: T | None = None


def by_itself(task: Task[T]) -> T:
    """The result of a task that nothing overlaps with."""
    try:
        job = next(task)
        while True:
            job = task.send(job())
    except StopIteration as end:
        return end.value


def overlapped(tasks: Iterable[Task[T]]) -> Iterator[T]:
    """The results of tasks, in order. An interruption stops the job that runs (it is given `stop`) and is raised."""
    stop, begun = np.zeros(1, dtype=np.int64), deque[_Stand[T]]()
    with ThreadPoolExecutor(1) as jobs:

        def on(task: Task[T], result: Any = None) -> _Stand[T]:
            """The task, gone on to its next job or to its end."""
            try:
                return _Stand(task, jobs.submit(task.send(result), stop=stop))
            except StopIteration as end:
                return _Stand(task, None, end.value)

        def finished(stand: _Stand[T]) -> Any:
            while stand.waits is not None:
                stand = on(stand.task, stand.waits.result())
            return stand.result

        try:
            for task in tasks:
                begun.append(on(task))
                if len(begun) == _AT_ONCE or begun[0].waits is None:
                    yield finished(begun.popleft())
            while begun:
                yield finished(begun.popleft())
        except BaseException:
            stop[0] = 1
            raise
