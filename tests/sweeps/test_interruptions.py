"""What a sweep has done survives Ctrl-C, a full disk and `kill -9`, and the same command goes on from there."""

import signal
import subprocess
import time

import numpy as np
import pytest
from sweeps import command, environment, flowsys, sweep

from flowsys.sweeps import run
from flowsys.sweeps.store import Store

AXES = ("--x", "b=0.1:2:40", "--y", "T_1=5:50:30:log", "--observable", "T_2-T_1,w_c@T_1", "--set", "t_max=2000")
SWEEP = (*AXES, "--chunk", "16", "--out", "d.nc")
CHUNKS = 75


def started_until(tmp_path, parts: int, arguments=SWEEP) -> subprocess.Popen:
    """The command, running, once so many chunks are there (listening to Ctrl-C even if this process does not)."""
    process = subprocess.Popen(
        command(*arguments, first="import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"),
        cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while process.poll() is None and len(list(tmp_path.glob("d.nc.parts/0*.npy"))) < parts:
        time.sleep(0.002)
    return process


def kill_and_resume(tmp_path, kills: int, seed: int) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    assert flowsys(*SWEEP, cwd=whole).returncode == 0
    rng, most = np.random.default_rng(seed), 0
    for parts in sorted(rng.integers(0, CHUNKS, kills)):
        process = started_until(tmp_path, int(parts))
        time.sleep(float(rng.uniform(0, 0.02)))
        process.kill()
        process.communicate()
        now = len(list(tmp_path.glob("d.nc.parts/0*.npy")))
        assert now >= most or (tmp_path / "d.nc").exists()
        most = now
    last = flowsys(*SWEEP, cwd=tmp_path)
    assert last.returncode == 0 and ("resuming" in last.stderr) == (most > 0)
    assert (tmp_path / "d.nc").read_bytes() == (whole / "d.nc").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d.nc", "whole"]


def test_two_kills_lose_nothing(tmp_path):
    kill_and_resume(tmp_path, kills=2, seed=1)


@pytest.mark.slow
def test_ten_kills_lose_nothing(tmp_path):
    kill_and_resume(tmp_path, kills=10, seed=2)


def test_ctrl_c_keeps_what_is_done_and_says_so_in_a_sentence(tmp_path):
    process = started_until(tmp_path, 5, [a.replace("b=0.1:2:40", "b=0.1:2:900") for a in SWEEP])
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert len(said.strip().splitlines()) == 1 and "the same command goes on" in said
    assert len(list(tmp_path.glob("d.nc.parts/0*.npy"))) >= 5


def test_a_full_disk_keeps_what_is_done_and_says_so_in_a_sentence(tmp_path):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))"
    full = flowsys(*SWEEP, cwd=tmp_path, first=limit)
    assert full.returncode == 2 and "Traceback" not in full.stderr
    assert len(full.stderr.strip().splitlines()) == 1 and "what was done is kept" in full.stderr
    assert flowsys(*SWEEP, cwd=tmp_path).returncode == 0


def test_parts_of_another_sweep_or_of_none_are_not_used(tmp_path):
    other, of = sweep("b=0.1:2:7", rtol=1e-6), sweep("b=0.1:2:7")
    store = Store(tmp_path / "d.nc", other)
    store.write(next(iter(run(other))))
    assert store.done() == {0} and Store(tmp_path / "d.nc", of).done() == set()
    (tmp_path / "d.nc.parts" / "00000000.npy").write_bytes(b"cut off")
    assert Store(tmp_path / "d.nc", of).done() == set()
