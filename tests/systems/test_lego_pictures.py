"""LEGO's phase diagrams and figures, made small; groups from files; rounds that do not end."""

import json
import pickle
import re

import numpy as np
import pytest

from flowsys import cli, load
from flowsys.errors import InputError
from flowsys.program import nested
from flowsys.runs.solving import solve
from flowsys.sweeps import make_sweep, parse_axis, run
from flowsys.systems.lego import closed_forms, figures, section_7

SYSTEM = load("lego")


def sweep_of(name, axes=None):
    named = SYSTEM.diagrams[name]
    axes = [parse_axis(a) for a in axes or named.axes]
    fixed = {k: v for k, v in named.fixed.items() if k not in {axis.name for axis in axes}}
    return make_sweep(SYSTEM, axes, named.observables, mode=named.mode, variant=named.variant, fixed=fixed,
                      seeds=named.seeds, fresh_seeds=named.fresh_seeds)  # fmt: skip


def swept(name, axes):
    """The values of a named diagram's quantities over other axes."""
    sweep = sweep_of(name, axes)
    return np.concatenate([chunk.values for chunk in run(sweep)], axis=1).reshape(-1, *sweep.shape)


@pytest.mark.parametrize("name", SYSTEM.diagrams)
def test_every_diagram_is_a_sweep_with_lines_inside_it(name):
    axes, named = sweep_of(name).axes, SYSTEM.diagrams[name]
    setup = SYSTEM.setup(named.mode, **named.fixed)
    low, high = axes[0].edges[[0, -1]]
    for line in named.lines(setup, *axes):
        assert len(line.x) > 1 and low <= min(line.x) and max(line.x) <= high


def test_boundaries_move_with_what_is_fixed():
    plane = np.geomspace(1e-3, 0.3, 20), np.geomspace(1e-5, 0.3, 20)
    edge = lambda **fixed: SYSTEM.diagrams["additive_trap"].boundary(SYSTEM.setup("stage_1", **fixed), *plane)[0]
    usual, more_words, steeper = edge(), edge(d=1e6), edge(q=6)
    at = lambda line: np.interp(0.01, line.x, line.y)
    assert at(more_words) > 1.5 * at(usual) and at(steeper) < at(usual) / 5


@pytest.mark.slow
def test_one_neuron_wins_only_beyond_the_heuristic_vocabulary():
    edge = float(closed_forms.least_separating_d(6, 3, 3, 4, 0.3)[0])
    few, many = swept("one_neuron", [f"d={edge / 100:.6g},{edge * 1000:.6g}", "width=6"])[0, :, 0]
    assert few < 0.4 and many > 0.6


def test_the_additive_trap_lies_below_its_boundary():
    for bias in (0.01, 0.03):
        edge = float(closed_forms.trap_boundary(bias, 3, 3, 4, 0.3, 1000.0))
        gap, loss = swept("additive_trap", [f"bias={bias}", f"V_0={edge / 2},{edge * 2}"])[:, 0]
        assert abs(gap[0]) < 1e-6 and loss[0] == pytest.approx(np.log(3), abs=1e-2)
        assert gap[1] > 10 and loss[1] < 1e-3


def test_a_large_bias_is_trapped_at_every_head_start():
    assert closed_forms.trap_boundary(0.1, 3, 3, 4, 0.3, 1000.0) == np.inf
    assert np.abs(swept("additive_trap", ["bias=0.1", "V_0=0.005,0.05,0.08"])[0]).max() < 1e-6


def test_accuracy_falls_where_the_theory_says_for_both_families():
    length = closed_forms.solvable_length(closed_forms.eps_at_loss(1e-5, 3.0, 1000.0), 3.0)
    short, long = round(length / 2), round(3 * length)
    for name, listed in (("accuracy_cyclic", "C3,C6"), ("accuracy_symmetric", "S3,S4")):
        accuracy = swept(name, [f"L_test={short},{long}", f"group={listed}"])[0]
        assert (accuracy[0] > 0.99).all() and (accuracy[1] < 0.5).all()


def test_the_longest_solvable_length_is_the_predicted_one_within_a_factor_of_two():
    found = swept("solvable_length", ["eps_target=0.003,0.03", "C_B=3"])[0, :, 0]
    predicted = closed_forms.solvable_length(np.array([0.003, 0.03]), 3.0)
    assert (np.abs(np.log(found / predicted)) < np.log(2)).all()


def test_doubling_needs_a_large_logit_clip():
    accuracy = swept("accuracy_doubling", ["L_test=4", "C_B=4,6,8"])[0, 0]
    assert accuracy[0] < 0.8 and accuracy[1] > 0.99 and accuracy[2] > 0.9999


def test_the_gap_closes_for_the_cyclic_group_and_stays_for_the_symmetric_one():
    cyclic = swept("gap_cyclic", ["t_look=3200,1e8", "C_B=3"])[0, :, 0]
    symmetric = swept("gap_symmetric", ["t_look=1e4,1e8", "C_B=3"])[0, :, 0]
    assert cyclic[0] == pytest.approx(0.14, abs=2e-3) and abs(cyclic[1]) < 1e-4
    assert symmetric == pytest.approx([0.181, 0.175], abs=2e-3)


def test_tables_that_do_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr(nested, "LARGEST_LINK", 10)
    with pytest.raises(InputError, match="smaller n_samples or L, or fewer trained_steps"):
        SYSTEM.problem(SYSTEM.setup())


def test_samples_that_could_not_become_tables_are_refused_before_they_are_drawn():
    sentence = "n_samples = 8000 is not allowed for 48 trained steps of group C9: it must be at most 257."
    with pytest.raises(InputError, match=re.escape(sentence)):
        SYSTEM.problem(SYSTEM.setup(group="C9", L=48, trained_steps="all", n_samples=8000))


KLEIN = [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]]
C3 = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]


def file_of(folder, **content):
    path = folder / "group.json"
    path.write_text(json.dumps(content))
    return str(path)


@pytest.mark.parametrize("content", [{"action": KLEIN}, {"action": KLEIN, "name": "V4"}])
def test_a_group_may_come_from_a_file(tmp_path, content):
    end = solve(SYSTEM, SYSTEM.setup(group=file_of(tmp_path, **content)), at=[100.0], observe=("loss",))
    same_order = solve(SYSTEM, SYSTEM.setup(group="C4"), at=[100.0], observe=("loss",))
    assert 0 < end["loss"][0] < 0.1 and end["loss"][0] == pytest.approx(same_order["loss"][0], rel=0.5)


def test_a_cyclic_group_from_its_tables_is_the_named_one(tmp_path):
    setup = SYSTEM.setup(group=file_of(tmp_path, action=C3))
    ours, named = (solve(SYSTEM, s, at=[100.0], observe=("alpha",)) for s in (setup, SYSTEM.setup(group="C3")))
    assert ours["alpha"][0] == named["alpha"][0]


@pytest.mark.parametrize(
    ("content", "law"),
    [
        ({"action": [[0, 1, 2], [1, 2, 7], [2, 0, 1]]}, "closure of the action fails, row 1 = [1, 2, 7]"),
        ({"action": [[0, 1, 2], [1, 2, 0]]}, "closure fails, 1·1 = [2, 0, 1]"),
        ({"action": [[0, 1, 2, 3], [1, 0, 3, 2]]}, "transitivity fails, no element sends value 0 to value 2"),
        ({"action": [[0, 1], [1, 0], [0, 1]]}, "row 0 stands there 2 times and row 1 1 times"),
        ({"action": [[0, 1], [1]]}, "different lengths"),
        ({"table": C3}, "must hold `action`"),
        ({"action": C3, "multiplication": C3}, "must hold `action`, and may hold `name`, nothing else"),
    ],
)
def test_a_wrong_table_is_refused_by_law_and_elements(tmp_path, content, law):
    path = file_of(tmp_path, **content)
    with pytest.raises(InputError) as refusal:
        SYSTEM.setup(group=path)
    assert law in str(refusal.value) and str(refusal.value).startswith(f"group = {path}")


def test_the_command_line_tells_the_broken_law_in_one_sentence(tmp_path, monkeypatch, capsys):
    path = file_of(tmp_path, action=[[0, 1, 2], [1, 2, 0]])
    monkeypatch.setattr("sys.argv", ["flowsys", "solve", "lego", "--set", f"group={path}"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    told = capsys.readouterr().err
    assert end.value.code == 2 and "closure fails, 1·1 = [2, 0, 1] is not among" in told and told.count("\n") == 1


def test_a_file_that_has_changed_is_another_group(tmp_path):
    alpha = lambda group: solve(SYSTEM, SYSTEM.setup(group=group), at=[5.0], observe=["alpha"])["alpha"][0]
    sweeps = []
    for n in (3, 4):
        path = file_of(tmp_path, action=[[(g + y) % n for y in range(n)] for g in range(n)])
        assert alpha(path) == alpha(f"C{n}")
        layer = SYSTEM.problem(SYSTEM.setup("stage_1", group=path), "L2", "exchangeable", "stage_1")
        assert layer.initial.size == n * 4 * (2 * n + 1)
        sweeps.append(make_sweep(SYSTEM, [parse_axis("C_B=2,3")], ["alpha@t=1"], fixed={"group": path}))
    assert sweeps[0].digest != sweeps[1].digest and pickle.loads(pickle.dumps(sweeps[1])) == sweeps[1]


def test_a_missing_file_of_tables_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        SYSTEM.setup(group=str(tmp_path / "none.json"))


def test_a_round_of_algorithm_2_that_no_step_can_end_says_so():
    # with B = log(d) / 2 no attention makes the right value likely: the first round never reaches its loss
    setup = SYSTEM.setup(group="C3", C_B=0.5, L=8, n_samples=32, t_max=1e6)
    with pytest.raises(
        InputError, match=r"round at L = 2 of algorithm_2 does not end: loss_threshold not reached by t = 1e\+06"
    ):
        SYSTEM.problem(setup, mode="algorithm_2")


def test_a_later_round_with_wrong_labels_ends_in_an_outcome():
    setup = SYSTEM.setup(group="C5", loss_target=1.5, L=8, n_samples=128)
    end = solve(SYSTEM, setup, mode="algorithm_2", at=["loss_threshold"], observe=("label_accuracy", "loss"))
    assert end["label_accuracy"][0] < 0.9 and end["loss"][0] == pytest.approx(1.5, rel=1e-6)


def made(group, adds_query=False, seed=0):
    """Results in the form that runs leave, of a model that forgets with the length."""
    lengths = (5, 10, 20)
    lines = {L: np.linspace(0.5, 0.3, L) for L in lengths}
    shown = {L: {"predicate": lines[L].tolist(), "answer": lines[L].tolist()} for L in lengths}
    maps = {"map": np.full((5, 10), 0.1).tolist()}
    attention = {str(L): {"order": list(range(L))[::-1], "in_order": shown[L] | maps, "shuffled": shown[L] | maps}
                 for L in lengths}  # fmt: skip
    return [{"group": group, "trained_to": L, "sentences": 100, "all_right": {"5": 1.0, "10": 0.5, "20": 0.0},
             "attention": attention, "losses": [1.0],
             "course": [[80.0, 1.0, 0.0, 0.1, 0.2, 0.3], [160.0, 0.5, 0.4, 0.5, 0.6, 0.7]],
             "experiment": {"seed": seed, "architecture": {"adds_query": adds_query}}} for L in (5, 10)]  # fmt: skip


@pytest.fixture
def results(monkeypatch):
    """Two seeds of S5 that were self-trained, one of them with a control; one seed of C6."""
    seeds = lambda group, longer: [1] if longer else [0, 1] if group == "S5" else [0]
    found = lambda group, adds_query=False, longer=0: {seed: made(group, seed=seed) for seed in seeds(group, longer)}
    monkeypatch.setattr(figures, "kept", found)
    monkeypatch.setattr(figures, "DOUBLED_LENGTHS", (10,))


@pytest.mark.parametrize("number", figures.FIGURES)
def test_every_figure_is_drawn_from_stored_results(number, results, tmp_path):
    drawing = SYSTEM.figures[number](SYSTEM.setup())
    written = drawing.save(tmp_path / f"{number}.png")
    assert [path.suffix for path in written] == [".png", ".csv"] and all(path.stat().st_size > 100 for path in written)


def seeds_shown(drawing):
    """The curve of every seed, by its label."""
    lines = {line.get_label(): line.get_ydata() for line in drawing.figure.axes[0].get_lines()}
    return {label: list(line) for label, line in lines.items() if "seed " in label and len(line) == 3}


def test_figures_1a_and_1b_hold_the_curves_of_every_seed(results):
    by_group = seeds_shown(figures.accuracy_by_group(SYSTEM.setup()))
    one = [name for name in by_group if "," not in name]
    assert one == ["C6 seed 0", "S5 seed 0", "S5 seed 1"] and all(by_group[name] == [1.0, 0.5, 0.0] for name in one)
    by_stage = seeds_shown(figures.accuracy_by_stage(SYSTEM.setup()))
    assert list(by_stage) == ["seed 0 to 5", "seed 1 to 5", "seed 0 to 10", "seed 1 to 10", "seed 1 control"]


@pytest.mark.parametrize("number", figures.FIGURES)
def test_at_the_papers_size_a_figure_runs_the_experiment_with_the_seed_asked_for(number, monkeypatch):
    asked, said = [], []

    def run(cases, folder, on_epochs):
        first, *later = [case.experiment for case in cases]
        asked.append((first.group, tuple(stage.L for stage in later), first.seed))
        on_epochs(first, 10)
        return made(first.group, seed=first.seed)

    monkeypatch.setattr(figures, "run", run)
    drawing = SYSTEM.figures[number](SYSTEM.setup(seed=3), on_run=said.append)
    assert asked == ([("S5", (10, 20, 40), 3)] if number == "1b" else [("C6", (), 3), ("S5", (), 3)])
    assert said[0] == f"{asked[0][0]}, L = 5: epoch 10 of 300" and "seed 3" in drawing.notes


def test_a_figure_shows_the_seed_asked_for_and_refuses_what_plays_no_part(results):
    shown = figures.accuracy_by_stage(SYSTEM.setup(seed=1))
    assert list(seeds_shown(shown)) == ["seed 1 to 5", "seed 1 to 10", "seed 1 control"]
    with pytest.raises(InputError, match="seed = 1 of C6 is not kept: there are 0"):
        figures.accuracy_by_group(SYSTEM.setup(seed=1))
    for given in ({"C_B": 7.0}, {"C_B": 7.0, "seed": 1}):
        with pytest.raises(InputError, match=r"C_B = 7.0 plays no part in this figure: it is .* own; seed may be set"):
            figures.FIGURES["1b"](SYSTEM.setup(**given), on_run=lambda told: pytest.fail("it is refused first"))


def test_accuracy_along_training_is_shown_at_one_length(results):
    _, along = figures.accuracy_by_group(SYSTEM.setup()).figure.axes
    curves = [line.get_xydata().tolist() for line in along.get_lines()]
    assert curves == [[[80.0, 0.2], [160.0, 0.6]]] * 3 and f"L = {figures.COURSE_AT}" in along.get_ylabel()


def test_the_command_draws_the_seed_that_it_is_given(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["flowsys", "figure", "lego", "1b", "--set", "seed=0"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert not end.value.code and "seed 0 to 40" in capsys.readouterr().out
    assert (tmp_path / "lego-figure-1b.png").stat().st_size > 1000


@pytest.mark.parametrize("group", figures.GROUPS)
def test_packaged_results_are_those_of_the_stated_experiment(group):
    stages = section_7.kept(group)[0]
    first = stages[0]["experiment"]
    assert (first["L"], first["learning_rate"], first["architecture"]["n_heads"]) == (5, 1e-4, 2)
    assert all(len(s["losses"]) == s["experiment"]["epochs"] for s in stages)
    assert 0 < min(stages[0]["losses"]) < 0.001 and stages[0]["all_right"]["5"] > 0.99
