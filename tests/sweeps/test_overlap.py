"""Tasks overlap with the jobs of others: in order, one job at a time, stopped by what is raised."""

import threading
import time

import pytest

from flowsys.sweeps.overlap import by_itself, overlapped


def task(number, said, n_jobs=1):
    said.append(f"begin {number}")
    total = 0
    for _ in range(n_jobs):
        total += yield lambda stop=None: 10 + number
    said.append(f"end {number}")
    return total


def test_results_come_in_order_and_the_next_task_is_begun_before_one_ends():
    said = []
    assert list(overlapped(task(i, said, n_jobs=2) for i in range(4))) == [20, 22, 24, 26]
    begun_before_the_end = [said.index(f"begin {i + 1}") < said.index(f"end {i}") for i in range(3)]
    assert begun_before_the_end == [True] * 3 and said.index("begin 2") > said.index("end 0")
    assert by_itself(task(5, [], n_jobs=3)) == 45


def test_a_task_without_jobs_is_handed_out_before_the_next_begins():
    said = []
    assert next(overlapped(task(i, said, n_jobs=0) for i in range(3))) == 0
    assert said == ["begin 0", "end 0"]


def test_jobs_run_one_after_the_other_outside_the_main_thread():
    running, most = [0], [0]

    def job(stop):
        assert threading.current_thread() is not threading.main_thread()
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.01)
        running[0] -= 1

    def tasks():
        for _ in range(4):
            yield (lambda: (yield job))()

    assert list(overlapped(tasks())) == [None] * 4 and most == [1]


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit])
def test_what_is_raised_while_a_job_runs_stops_it(error):
    stopped = threading.Event()

    def until_stopped(stop):
        while not stop[0]:
            time.sleep(0.001)
        stopped.set()

    def tasks():
        yield task(0, [])
        yield (lambda: (yield until_stopped))()

    results = overlapped(tasks())
    assert next(results) == 10
    with pytest.raises(error):
        results.throw(error)
    assert stopped.is_set()
