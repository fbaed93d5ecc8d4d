"""Exponents: laws in a small parameter, against laws that are known."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import flowsys as fs
from flowsys.analysis.exponents import axis_of
from flowsys.cli import app


@pytest.fixture(scope="module")
def mixture():
    names = ["w_c", "S_cv_same", "KK_cc_same"]
    return fs.analyse(fs.load("mixture"), exponents="omega=1e-4:1e-1", at=["T_1", "T_2"], observe=names)


def test_the_plateau_of_the_mixture_is_affine_in_the_logarithm(mixture):
    law = mixture["T_2-T_1"].law
    assert law.kind == "logarithm" and mixture["T_2-T_1"].is_settled
    assert law.coefficient == pytest.approx(29.01, abs=0.05)
    assert mixture["KK_cc_same@T_1"].law.exponent == pytest.approx(2, abs=1e-6)
    assert mixture["S_cv_same@T_1"].law is None, "the scores do not move in stage 1"


def test_scores_of_the_mean_sector_are_not_yet_asymptotic():
    """Their local exponents still fall: 2.95 to 2.16; coordinates are analysed beside the observables."""
    system = fs.load("mixture")
    scores = ["S_cc_mean", "S_vc_mean"]
    found = fs.analyse(system, exponents="omega=1e-4:1e-1", at=["T_2"], observe=scores)
    for name in scores:
        quantity = found[f"{name}@T_2"]
        assert not quantity.is_settled
        assert quantity.law.local.max() == pytest.approx(2.95, abs=0.02)
        assert quantity.law.local[-1] == pytest.approx(2.16, abs=0.02)


def hitting_time_of_the_prompt(M: int, low: float):
    system = fs.load("prompt")
    setup = system.setup(M=M)
    found = fs.analyse(system, setup, exponents=f"epsilon_1={low}:1e-1", at=["T_1"], observe=["loss"])
    return found["t@T_1"]


def test_with_many_patterns_the_prompt_locks_after_the_inverse_of_epsilon():
    local = hitting_time_of_the_prompt(1_000_000, 1e-4).row["local_exponents"]
    assert local[0] == pytest.approx(-0.90, abs=0.02) and local[-1] == pytest.approx(-1.00, abs=0.005)


def test_with_few_patterns_it_crosses_over_to_the_inverse_square():
    quantity = hitting_time_of_the_prompt(20, 1e-8)
    local = quantity.row["local_exponents"]
    assert local[0] > -0.8 and min(local) < -2.3 and local[-1] == pytest.approx(-2.00, abs=0.005)
    assert quantity.is_settled and quantity.law.exponent == pytest.approx(-2, abs=0.01)
    assert quantity.law.x[0] < 1e-3, "it is the law beyond the crossover"


def test_ranges_run_towards_the_limit_and_bad_ones_are_refused():
    assert axis_of("omega=1e-3:1e-1:5")[1] == pytest.approx(np.geomspace(1e-1, 1e-3, 5).tolist())
    assert axis_of("M=10,100,1000,20")[1] == [10, 20, 100, 1000]
    assert len(axis_of("omega=1e-4:1e-1")[1]) == 13
    for text in ("omega", "omega=1", "omega=a:b", "omega=-1:1", "omega=1:2:2", "omega=2:1"):
        with pytest.raises(fs.InputError, match="exponents = "):
            axis_of(text)


def test_a_result_has_a_table_a_picture_and_a_page(mixture):
    assert {row["quantity"] for row in mixture.rows} >= {"t", "T_2-T_1", "w_c"}
    assert json.loads(json.dumps(mixture.as_dict()))["parameter"] == "omega"
    assert "<svg" in mixture._repr_html_() and "T_2-T_1" in mixture._repr_html_()
    assert len(mixture.to_pandas()) == len(mixture.rows)


def test_exactly_one_question_is_asked():
    with pytest.raises(fs.InputError, match="exactly one of"):
        fs.analyse(fs.load("mixture"))


def test_a_range_of_integers_has_no_others():
    assert axis_of("n=2:5:9", {"n"}) == ("n", [2.0, 3.0, 4.0, 5.0])
    found = fs.analyse("parity", exponents="n=1e3:1e6:7", at=["lock"], observe=["g"])
    assert found.values.tolist() == [1000, 3162, 10000, 31623, 100000, 316228, 1000000]
    assert found["t@lock"].law.exponent == pytest.approx(1, abs=1e-3)


def test_the_command_writes_json_and_a_picture(tmp_path):
    picture, out = tmp_path / "laws.png", tmp_path / "laws.csv"
    asked = ["analyse", "mixture", "--exponents", "omega=1e-2:1e-1:5", "--at", "T_2", "--observe", "w_c"]
    done = CliRunner().invoke(app, [*asked, "--format", "csv", "--plot", str(picture), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert picture.stat().st_size > 10_000
    assert out.read_text().splitlines()[0].startswith("quantity,at,law,exponent")
