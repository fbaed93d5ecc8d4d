"""Chunks of a sweep on a Dask cluster: the same chunks, the same store, the same bits.

The system travels with the sweep, by value where it is not installed there. A few chunks per worker are under way at a
time, so memory stays flat here and there. A chunk whose worker dies is given to another one by the cluster. Needs the
extra `cluster`.
"""

import logging
import sys
from collections.abc import Iterator, Set
from contextlib import contextmanager
from itertools import islice
from typing import Any

from flowsys.errors import InputError
from flowsys.machine.by_value import packed, unpacked
from flowsys.machine.workers import main_left_alone
from flowsys.sweeps.sweep import Chunk, Sweep
from flowsys.version import VERSION

_HERE = f"{VERSION} on Python {'.'.join(map(str, sys.version_info[:2]))}"  # code travels as Python's own bytes
_AHEAD = 4  # chunks per thread of the cluster that are under way or waiting there


@contextmanager
def connected(address: str, workers: int = 2) -> Iterator[Any]:
    """A client of `address` (tcp://HOST:PORT), or of so many processes on this machine if it is "local"."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError(
            f"cluster = {address} needs Dask, which is not installed: pip install 'flowsys[cluster]'."
        ) from None
    if address == "local":
        with main_left_alone():
            cluster = LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
            )
        with cluster, Client(cluster) as client:
            yield client
        return
    if "://" not in address:
        raise InputError(f"cluster = {address} is not understood: it must be local, or an address as tcp://HOST:PORT.")
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise InputError(f"cluster = {address} does not answer: {error}.") from None
    with client:
        yield client


def run_on(client: Any, sweep: Sweep, done: Set[int] = frozenset()) -> Iterator[Chunk]:
    """The chunks of a sweep that are not done yet, as the cluster finishes them."""
    from distributed import KilledWorker, as_completed

    todo = (number for number in range(sweep.n_chunks) if number not in done)
    data = packed(sweep)
    submit = lambda number: client.submit(_evaluate, data, number, _HERE, pure=False)
    threads = sum(client.nthreads().values()) or 1
    finished = as_completed([submit(number) for number in islice(todo, _AHEAD * threads)])
    for future in finished:
        try:
            chunk = future.result()
        except KilledWorker as error:
            raise InputError(f"the cluster gave up on a chunk whose workers kept dying: {error}.") from None
        for number in islice(todo, 1):
            finished.add(submit(number))
        yield chunk


def _evaluate(sweep: bytes, number: int, version: str) -> Chunk:
    """A chunk, on a worker; another version there would give other numbers."""
    from flowsys.sweeps.points import evaluate_chunk

    if version != _HERE:
        raise InputError(f"a worker of the cluster has flowsys {_HERE}, but this is {version}: install the same.")
    return evaluate_chunk(unpacked(sweep), number)
