"""A sweep on a Dask cluster gives the same file as one here, also when a worker dies."""

import os
import signal

import pytest
from sweeps import finished, flowsys, sweep

from flowsys.errors import InputError
from flowsys.machine.by_value import packed
from flowsys.sweeps.cluster import connected, run_on

distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")


def test_workers_in_this_process_give_the_same_file(tmp_path):
    of = sweep(chunk_size=4)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as here,
        distributed.Client(here) as client,
    ):
        there = finished(tmp_path / "there.nc", of, run_on(client, of))
    assert there == finished(tmp_path / "here.nc", of)


@pytest.mark.slow
def test_a_killed_worker_loses_nothing(tmp_path):
    of = sweep("b=0.1:2:60", "T_1=5:50:60:log", chunk_size=8)

    def with_a_kill(client):
        for count, chunk in enumerate(run_on(client, of)):
            if count == 20:
                os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)
            yield chunk

    with connected("local", workers=2) as client:
        there = finished(tmp_path / "there.nc", of, with_a_kill(client))
    assert there == finished(tmp_path / "here.nc", of)


SWEEP = ("--x", "b=0.1:2:9", "--observable", "T_2", "--set", "t_max=2000", "--chunk", "3")
TRAINING = ("--level", "L0", "--x", "width=4,8", "--observable", "mean(w_c@t=2)", "--seeds", "2", "--chunk", "1")


def same_files(tmp_path, arguments, address: str) -> None:
    assert flowsys(*arguments, "--out", "here.nc", cwd=tmp_path).returncode == 0
    there = flowsys(*arguments, "--cluster", address, "--out", "there.nc", cwd=tmp_path)
    assert there.returncode == 0, there.stderr
    assert (tmp_path / "here.nc").read_bytes() == (tmp_path / "there.nc").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [SWEEP, TRAINING], ids=["flow", "training"])
def test_the_command_runs_on_a_local_cluster(tmp_path, arguments):
    same_files(tmp_path, arguments, "local")


@pytest.mark.slow
def test_the_command_runs_on_a_scheduler_by_its_address(tmp_path):
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as elsewhere:
        assert elsewhere.scheduler_address.startswith("tcp://")
        same_files(tmp_path, SWEEP, elsewhere.scheduler_address)


@pytest.mark.parametrize("address", ["nonsense", "tcp://"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(InputError, match=f"cluster = {address}"), connected(address):
        pass


def test_a_missing_dask_is_a_sentence(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(InputError, match=r"flowsys\[cluster\]"), connected("local"):
        pass


def test_a_worker_with_another_version_is_refused():
    from flowsys.sweeps.cluster import _evaluate

    with pytest.raises(InputError, match="install the same"):
        _evaluate(packed(sweep()), 0, "0.0.0")
