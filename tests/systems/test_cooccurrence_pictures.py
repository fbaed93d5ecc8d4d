"""The co-occurrence system's Figure 1 (Appendix A), as the command draws it."""

import subprocess
import sys

import numpy as np
import pytest

from flowsys.runs.training import train
from flowsys.runs.trajectory import load as load_trajectory
from flowsys.systems.cooccurrence import SYSTEM
from flowsys.systems.cooccurrence.claims.experiment import Seen, seen_in

RATE = 0.01


def flowsys(*arguments: str, cwd=None) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "flowsys", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


def has_two_phases(seen: Seen) -> bool:
    """Types 2 and 3 rise by 0.02 at least over hundreds of epochs, before every sample becomes correct."""
    return seen.all_correct is not None and all(
        top > start + 0.02 and 100 < epoch < seen.all_correct for start, top, epoch in seen.rises.values()
    )


def descent(reading: str, steps: int, seed: int, records: int = 200, **given):
    names = ("loss", "loss_type2", "loss_type3", "least_margin", "S_12", "S_21", "S_31", "S_32", "c")
    setup = SYSTEM.setup("data", reading=reading, seed=seed, **given)
    return train(SYSTEM, setup, variant="gram", mode="data", steps=steps, records=records, observe=names)


@pytest.mark.parametrize("seed", [0, 7, 9])
def test_reading_e_shows_two_phases(seed):
    seen = seen_in(descent("E", 2400, seed), RATE)
    assert has_two_phases(seen) and 1300 < seen.all_correct < 2000  # spec: 1795, 1804, 1455


@pytest.mark.parametrize("reading", ["A", "B", "C"])
def test_with_signs_as_output_weights_phase_1_lasts_about_twenty_epochs(reading):
    for seed in (0, 1, 2):
        seen = seen_in(descent(reading, 200, seed), RATE)
        assert not has_two_phases(seen) and 5 <= seen.all_correct <= 50  # spec: 18 to 41
        assert min(seen.changes["S_12"], seen.changes["S_21"]) > 0 > max(seen.changes["S_31"], seen.changes["S_32"])


@pytest.mark.slow
def test_the_command_draws_figure_1_with_reading_e(tmp_path):
    run = flowsys("figure", "cooccurrence", "1", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("Rise of the losses before their fall: type 2")
    assert "all correct from epoch" in run.stdout
    assert (tmp_path / "cooccurrence-figure-1.png").stat().st_size > 20_000
    flow, trained = (load_trajectory(tmp_path / f"cooccurrence-figure-1-{x}.nc") for x in ("theory", "training"))
    assert trained.origin.parameters["m1"] == 256 and trained.origin.parameters["reading"] == "E"
    seen, epoch = seen_in(trained, RATE), np.round(trained.t / RATE)
    assert has_two_phases(seen) and 1300 < seen.all_correct < 2000 and epoch[-1] == 30_000
    # Theorem 3.3's signs, at the end; a tenth of the change only after phase 1's first thousand epochs
    change = {name: np.abs(trained[name] - trained[name][0]) for name in seen.changes}
    assert (
        min(seen.changes["S_12"], seen.changes["S_21"]) > 0.1
        and max(seen.changes["S_31"], seen.changes["S_32"]) < -0.08
    )
    for name, moved in change.items():
        assert 1000 < epoch[np.argmax(moved > 0.1 * moved[-1])] < 2000, name
        assert moved[epoch <= 500].max() < 0.03 * moved[-1]
    for name in ("loss", "loss_type2", "S_21", "S_31"):
        at_same_times = np.interp(trained.t, flow.t, flow[name])
        np.testing.assert_allclose(trained[name], at_same_times, atol=5e-3, err_msg=name)


@pytest.mark.slow
def test_the_command_draws_the_other_readings_and_any_number_of_neurons(tmp_path):
    for name, options in {"A": ["reading=A"], "m1": ["m1=4", "reading=E"]}.items():
        given = [x for option in (*options, "t_max=0.6") for x in ("--set", option)]
        run = flowsys("figure", "cooccurrence", "1", *given, "--out", f"{name}.png", cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        assert (tmp_path / f"{name}.png").stat().st_size > 20_000
    asked = load_trajectory(tmp_path / "m1-training.nc")
    assert asked.origin.parameters["m1"] == 4 and asked.t[-1] == pytest.approx(0.6)
    assert load_trajectory(tmp_path / "A-training.nc").origin.parameters["reading"] == "A"


def test_an_unknown_reading_is_refused_in_a_sentence():
    run = flowsys("figure", "cooccurrence", "1", "--set", "reading=D")
    assert run.returncode == 2 and "reading = D is not allowed: it must be one of E, A, B, C" in run.stderr


@pytest.mark.slow
@pytest.mark.parametrize("seed, data_seed", [(7, 0), (3, 1)])
def test_reading_e_comes_to_the_numbers_of_the_spec(seed, data_seed):
    # one start of the spec: loss .461, .0948, .0108, .0022 and c .64, 3.3, 6.9, 9.6 at these epochs; seeds differ
    run = descent("E", 30_000, seed, records=300, data_seed=data_seed)
    rows = [int(np.argmin(np.abs(run.t - RATE * e))) for e in (1000, 3000, 10_000, 30_000)]
    # phase 1 of ten seeds ends between epochs 1403 and 1839, and the loss then falls like a power between 1 and 2:
    # a factor 1.5 either way (one of the seeds here has .119 for .0948)
    for name, spec in (("loss", (0.461, 0.0948, 0.0108, 0.0022)), ("c", (0.64, 3.3, 6.9, 9.6))):
        ratios = run[name][rows] / np.array(spec)
        assert np.all((ratios > 1 / 1.5) & (ratios < 1.5)), (name, run[name][rows])
    seen = seen_in(run, RATE)
    assert has_two_phases(seen)
    # spec: .161 to .22, .187 to .21, -.112 to -.14, -.11 to -.15 over three seeds
    for name, (low, high) in {"S_12": (0.12, 0.25), "S_21": (0.12, 0.25), "S_31": (-0.17, -0.08),
                              "S_32": (-0.17, -0.08)}.items():  # fmt: skip
        assert low < seen.changes[name] < high, name


def test_c_falls_while_samples_are_wrong_and_rises_when_all_are_correct():
    run = descent("A", 60, 0, records=60)
    wrong = np.flatnonzero(run["least_margin"] <= 0)
    assert run["c"][3] < run["c"][0] - 1 and np.all(np.diff(run["c"][wrong[-1] + 1 :]) > 0)
