"""Claims declared by kind and regime: their sentences, their places, and what follows from a declaration."""

import ast
import json
import string
from math import log
from pathlib import Path

import numpy as np
import pytest
from synthetic import synthetic, verdict
from typer.testing import CliRunner

import flowsys as fs
from flowsys.claims.checking import check, in_order, lines
from flowsys.claims.conditions import Conditions
from flowsys.claims.kit import NotReached
from flowsys.claims.numbering import PLACE
from flowsys.claims.probability import failure_interval
from flowsys.cli import app
from flowsys.errors import InputError

CLAIMS = Path(fs.__file__).parent / "claims"
DECLARED = [(name, c) for name in fs.names() for c in fs.load(name).claims if c.is_declared]
FIELDS = "id number kind whose source word inside margin constant breaks_at values".split()
GROWS = fs.Regime(fs.Condition("n ≥ c L² log²L", lambda p, c: (p.n, c * p.L**2 * log(p.L) ** 2)), c=1.0)


def literal_parts(module: str) -> list[str]:
    """What stands in a module's f-strings as it is."""
    tree = ast.parse((CLAIMS / module).read_text(encoding="utf-8"))
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    return [part.value for text in joined for part in text.values if isinstance(part, ast.Constant)]


@pytest.mark.parametrize(
    "module", ["kinds.py", "orders.py", "probability.py", "judging.py", "measurements.py", "kit.py"]
)
def test_sentences_of_the_engine_have_no_numbers_of_their_own(module):
    assert not [part for part in literal_parts(module) if any(map(str.isdigit, part))]


NOTES = [pytest.param(name, c, id=f"{name}-{c.id}") for name, c in DECLARED]


@pytest.mark.parametrize(("name", "claim"), NOTES)
def test_notes_of_declared_claims_have_no_numbers_of_their_own(name, claim):
    literal = "".join(text for text, *_ in string.Formatter().parse(claim.note))
    for event in fs.load(name).events:
        literal = literal.replace(event, "")
    assert not any(map(str.isdigit, PLACE.sub("", literal)))


def test_some_claims_are_declared():
    assert {"D.3", "E.3", "E.3-law", "E.5"} <= {claim.id for _, claim in DECLARED}


def test_a_note_is_filled_from_the_run_that_is_judged():
    def measure(run):
        run.note(rate=2 * run.p.x)
        return 1.0, 1.0

    assert verdict(fs.Identity(), measure, {"note": "the rate is {rate:.3g}"}, {"x": 50.0}).note == "the rate is 100"


def test_the_fields_of_json_are_those_of_the_contract():
    answer = CliRunner().invoke(app, ["check", "mixture", "--claim", "E.3", "--format", "json"])
    claims = json.loads(answer.output)[0]["claims"]
    assert all(set(FIELDS) <= set(claim) for claim in claims)
    first, second = claims[:2]
    assert (first["id"], first["number"], first["kind"], first["whose"]) == ("E.3", "E.3", "order O", "paper")
    assert first["source"] == "lemma" and first["inside"] is True and first["margin"] > 1
    assert (second["id"], second["whose"], second["sharpens"]) == ("E.3-law", "ours", "E.3")


@pytest.mark.parametrize("name", fs.names())
def test_the_paper_s_number_selects_all_its_lines(name):
    system = fs.load(name)
    for claim in system.claims:
        if claim.number:
            assert claim in lines(system, claim.id)
            assert [c for c in lines(system, claim.number) if c.number == claim.number or c.id == claim.number]
    for claim in system.claims[:3]:
        assert lines(system, claim.id)[0] is claim


def test_ours_stand_under_what_they_sharpen():
    ids = [claim.id for claim in in_order(fs.load("mixture").claims)]
    assert ids.index("E.3-law") == ids.index("E.3") + 1


def test_a_line_that_cannot_be_measured_there_is_listed_beside_one_that_can():
    found = check(fs.load("mixture"), ["D.3"], conditions=Conditions(parameters={"b": 0.4}))
    words = {c.claim.id: str(c.verdict.word) for c in found}
    assert words["D.3"] == "holds" and words["stage_1_too_short"] == "not testable"


def test_a_bound_holds_far_from_the_default_and_is_outside_before_the_onset():
    system, by_id = fs.load("mixture"), {c.id: c for c in fs.load("mixture").claims}
    for given in ({"T_1": 2.0}, {"T_1": 1000.0}, {"s_star": 0.02}):
        assert by_id["E.3"].check(system, Conditions(parameters=given)).holds, given
    early = by_id["E.3"].check(system, Conditions(parameters={"b": 1.5, "T_1": 2.0}))
    assert str(early.word) == "outside the regime" and early.margin < 1 and early.inside is False
    three = by_id["E.5"].check(system, Conditions(parameters={"K": 3}))
    assert str(three.word) == "outside the regime" and three.measured


def test_the_slope_of_stage_2_is_found_by_an_independent_fit():
    system = fs.load("mixture")
    law = next(c for c in system.claims if c.id == "E.3-law").check(system)
    omegas = np.array([0.01, 0.003, 0.001])
    ends = [fs.solve(system, system.setup(omega=w), at=["T_2"], observe=()).t[-1] for w in omegas]
    assert law.values["slope"] == pytest.approx(np.polyfit(-np.log(omegas), ends, 1)[0], rel=1e-3)


def test_the_least_hidden_constant_is_where_the_claim_begins_to_hold():
    holds_from = 3 * 25 * log(5) ** 2  # at n ≥ 3 L² log²L
    path = {"path": fs.Path("n", (100, 150, 190, 200, 400, 1000)), "regime": GROWS}
    found = verdict(fs.Inequality(">="), lambda run: (run.p.n, holds_from), path)
    assert str(found.word) == "holds in part"
    assert found.values["least_c"] == pytest.approx(190 / (25 * log(5) ** 2), rel=1e-6)
    found = verdict(fs.Sign({"excess": 1}), lambda run: {"excess": run.p.n - holds_from}, path)
    assert found.values["least_c"] == pytest.approx(190 / (25 * log(5) ** 2), rel=1e-6)
    smaller = fs.Regime(fs.Condition("w ≤ c", lambda p, c: (c, p.w)), c=0.5)
    path = {"path": fs.Path("w", (0.4, 0.2, 0.1, 0.01)), "regime": smaller}
    found = verdict(fs.Inequality("<="), lambda run: (run.p.w, 0.15), path)
    assert found.values["largest_c"] == pytest.approx(0.2, rel=1e-6)


def test_of_several_hidden_constants_each_has_its_own():
    both = fs.Regime(fs.Condition("n ≥ c", lambda p, c: (p.n, c)), fs.Condition("w ≤ k", lambda p, k: (k, p.w)),
                     c=100.0, k=0.5)  # fmt: skip
    path = {"path": fs.Path("n", (50, 100, 190, 400)), "at": {"w": 0.1}, "regime": both}
    found = verdict(fs.Inequality(">="), lambda run: (run.p.n, 150), path)
    assert found.values["least_c"] == pytest.approx(100, rel=1e-6)  # what breaks at n = 100 is kept out from there on
    assert found.values["largest_k"] == pytest.approx(0.1, rel=1e-6)


def test_a_control_sets_what_the_claim_is_judged_by_and_else_the_measurement():
    measure = lambda run, note=1.0: (note, 1.0)
    claim = fs.Claim("c", "Lemma 1", "s", fs.Identity(), measure, control={"note": 2.0})
    assert claim.check(synthetic(claim)).holds
    assert str(claim.controlled().check(synthetic(claim)).word) == "does not hold"


def test_a_hidden_constant_can_be_asked_for():
    claim = fs.Claim("c", "Lemma 1", "s", fs.Identity(), lambda run: (1, 1), at={"n": 600}, regime=GROWS)
    system = synthetic(claim)
    words = {c: str(claim.check(system, Conditions(constants={"c": c})).word) for c in (1.0, 5.0, 50.0)}
    assert words == {1.0: "holds", 5.0: "holds", 50.0: "outside the regime"}
    assert "no hidden constant C" in claim.check(system, Conditions(constants={"C": 2.0})).note


def test_paths_at_several_places_are_judged_one_by_one():
    power = {2: 1.0, 5: 1.5, 9: 1.0}
    places = {"at": [{"L": L} for L in power], "path": fs.Path("x", np.geomspace(10, 1e5, 7))}
    found = verdict(fs.Order("O", lambda p: p.x), lambda run: run.p.L * run.p.x ** power[run.p.L], places)
    assert str(found.word) == "holds in part" and found.breaks_at["L"] == 5
    kept = verdict(fs.Order("O", lambda p: p.x), lambda run: run.p.L * run.p.x, places)
    assert kept.holds and kept.constant == pytest.approx(9)
    ends = verdict(fs.Limit(lambda p: p.L), lambda run: run.p.L + 1 / run.p.x, places)
    assert ends.holds


def test_the_share_of_the_box_and_the_default_are_told():
    half = fs.Regime(fs.Condition("w² x ≥ 1", lambda p: (p.w**2 * p.x, 1.0)))
    claim = fs.Claim("c", "Lemma 1", "s", fs.Identity(), lambda run: (1, 1), regime=half)
    assert half.share(synthetic(claim)) == pytest.approx(0.25, abs=0.02)
    assert half.reads(synthetic(claim).setup()) == {"w", "x"}
    answer = CliRunner().invoke(app, ["check", "mixture", "--claim", "E.3", "--regimes"])
    assert "the default set-up is inside" in answer.output and "% of the allowed box" in answer.output


def test_the_default_set_up_is_placed_in_the_regime():
    found = verdict(fs.Identity(), lambda run: (1, 1), {"regime": GROWS, "at": {"n": 600}})
    assert "the default set-up lies outside" in found.note and found.inside is True


def test_a_map_is_a_picture_with_its_data_beside_it(tmp_path, monkeypatch):
    picture = tmp_path / "where.png"
    command = ["check", "mixture", "--claim", "D.3-law", "--map", "b=0.25:1.5:3", "T_1=1:20:2:log"]
    monkeypatch.setattr("sys.argv", ["flowsys", *command])
    answer = CliRunner().invoke(app, [*command, "--plot", str(picture), "--workers", "1"])
    assert answer.exit_code == 0, answer.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    data = picture.with_suffix(".csv").read_text().splitlines()
    assert data[1].startswith("# flowsys ") and data[2].startswith("b,T_1,word,inside,margin,constant")
    assert len(data) == 3 + 6
    words = [line.split(",")[2] for line in data[3:]]
    assert words.count("outside the regime") == 2 and words.count("holds") == 4


def test_errata_are_measured_with_their_corrected_form():
    answer = CliRunner().invoke(app, ["check", "mixture", "--errata", "--format", "json"])
    found = {erratum["id"]: erratum for erratum in json.loads(answer.output)}
    assert found["B.1-display"]["confirmed"] and found["B.1-display"]["corrected_word"] == "holds"
    assert found["5.5-display"]["grade"] == "harmless" and "0.875" in found["5.5-display"]["measured"]


def test_claims_of_the_paper_and_ours_are_counted_apart():
    answer = CliRunner().invoke(app, ["check", "mixture", "--claim", "E.3", "--format", "markdown"])
    assert "of the paper: 3 holds; ours: " in answer.output


def test_a_model_carries_claims_of_its_own():
    model = fs.Model(
        "decay",
        parameters={"rate": fs.Real(1.0, 0.5, 2.0), "start": fs.Real(1.0, 1e-3, 10.0, log=True)},
        blocks=lambda p: {"w": fs.Direct(start=p.start)},
        loss=lambda ops, w, X, p: p.rate * w.w**2 / 2,
        events={"T_small": fs.Crossing("w", 1e-4, -1)},
        claims=[
            fs.Claim("decay", "Lemma 1", "w = start e^(-rate t)", fs.Identity(1e-6),
                     lambda run: (run.values(1.0)["w"], run.p.start * np.exp(-run.p.rate))),
            fs.Claim("time", "Theorem 2", "T_small = O(log start)", fs.Order("O", lambda p: log(p.start / 1e-4)),
                     lambda run: run.time("T_small"), path=fs.Path("start", (0.01, 0.1, 1.0, 10.0))),
        ],
    )  # fmt: skip
    found = {c.claim.id: c.verdict for c in fs.check(model)}
    assert all(v.holds for v in found.values())
    assert found["time"].constant == pytest.approx(1.0, rel=1e-4)
    (other,) = fs.check(model, ["decay"], conditions=fs.Conditions(parameters={"rate": 2.0}))
    assert other.verdict.holds and other.recorded is None


def test_times_are_events_with_lags_and_factors():
    run = fs.Kit(fs.load("mixture"))
    end = run.time("T_2")
    assert run.time("T_2 + 5") == pytest.approx(end + 5)
    assert run.time("2 T_2 - 1e1") == pytest.approx(2 * end - 10)
    assert run.time("T_0.5") == pytest.approx(1.3591409, rel=1e-6)
    np.testing.assert_allclose(run.times("T_1", "T_2", 4)[-1], end)
    with pytest.raises(InputError, match="not understood"):
        run.time("T_2 ** 2")


def test_what_is_never_reached_is_said():
    stuck = fs.Kit(fs.load("mixture"), {"b": 2.0, "t_max": 1e4})
    assert stuck.time("T_2") == np.inf
    with pytest.raises(NotReached, match="T_2 is not reached"):
        stuck.course("T_1", "T_2")


def test_rates_are_the_slopes_of_a_course():
    run = fs.Kit(fs.load("mixture"))
    there = run.course(np.array([30.0, 30.001]))
    rates = run.rates(there, 1)
    slope = np.diff(there.states[:, 0]) / 0.001
    assert rates[there.state_names[0]].mean() == pytest.approx(slope[0], abs=1e-6)


def test_runs_are_remembered_under_what_was_asked_for(monkeypatch):
    calls, solve = [], fs.claims.kit.solve
    monkeypatch.setattr("flowsys.claims.kit.solve", lambda *a, **k: calls.append(k) or solve(*a, **k))
    run = fs.Kit(fs.load("mixture"), {"omega": 0.0987})
    assert run.time("T_2") == run.time("T_2") == run.at(omega=0.0987).time("T_2")
    run.at(omega=0.0986).time("T_2")
    assert len(calls) == 2


def test_intervals_of_a_failure_rate_cover_it():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        rate, n = rng.uniform(0.01, 0.5), int(rng.integers(30, 300))
        low, high = failure_interval(int(rng.binomial(n, rate)), n)
        covered += low <= rate <= high
    assert covered >= 0.9 * 400


@pytest.mark.parametrize(("given", "said"), [
    ({"kind": None}, "kind"), ({"whose": "theirs"}, "whose"), ({"what": "poem"}, "what"),
    ({"measure": None, "reason": ""}, "measure"),
])  # fmt: skip
def test_a_declaration_that_makes_no_sense_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        fs.Claim(**({"id": "c", "place": "Lemma 1", "statement": "s", "kind": fs.Identity(),
                     "measure": lambda run: (1, 1)} | given))  # fmt: skip


def test_symbols_and_senses_that_are_none_are_refused():
    for make in (lambda: fs.Order("o"), lambda: fs.Inequality("<"), lambda: fs.Erratum("a", "b", "grave")):
        with pytest.raises(ValueError, match="is not one of"):
            make()
