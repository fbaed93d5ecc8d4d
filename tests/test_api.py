"""The public names: what can be called, by name and keyword, and that their help texts tell the truth."""

import doctest
import inspect
import pickle

import matplotlib
import numpy as np
import pytest

import flowsys as fs
from flowsys.runs.solving import solve

matplotlib.use("Agg")
CALLS = ("solve", "train", "sweep", "phase", "derive", "compare", "check", "analyse", "prove", "start", "field")


def test_dir_shows_exactly_the_public_names():
    assert dir(fs) == sorted(fs.__all__) and all(hasattr(fs, name) for name in dir(fs))


def test_every_public_name_says_what_it_is():
    untold = [name for name in fs.__all__ if name[0] != "_" and not inspect.getdoc(getattr(fs, name))]
    assert not untold


SHOWN = [name for name in fs.__all__ if name != "prove" and ">>>" in (inspect.getdoc(getattr(fs, name)) or "")]


@pytest.mark.parametrize("name", SHOWN)
def test_the_examples_of_a_help_text_are_true(name):
    (found,) = doctest.DocTestFinder(recurse=False).find(getattr(fs, name), name, globs={})
    printed = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(found, out=printed.append)
    assert not printed, "".join(printed)


def test_every_call_has_an_example():
    assert set(CALLS) - {"prove"} <= set(SHOWN)


@pytest.mark.parametrize("call", CALLS)
def test_a_parameter_is_never_taken_for_an_option(call):
    options = set(inspect.signature(getattr(fs, call)).parameters) - {"parameters", "given"}
    for name in fs.names():
        assert not options & {p.name for p in fs.load(name).parameters}


def test_parameters_are_keywords_or_a_setup():
    mixture = fs.load("mixture")
    setup = mixture.setup(omega=0.2)
    one = fs.solve("mixture", omega=0.2, b=0.7, at=["T_1"])
    other = solve(mixture, setup.replace(b=0.7), at=["T_1"])
    assert one.origin == other.origin == fs.solve(mixture, setup, b=0.7).origin
    with pytest.raises(fs.InputError, match=r"omga.*Did you mean omega"):
        fs.solve("mixture", omga=0.2)


def test_a_replaced_setup_follows_its_defaults_and_is_checked():
    setup = fs.load("mixture").setup("simultaneous", omega=0.2)
    assert setup.replace(K=3) == fs.load("mixture").setup("simultaneous", omega=0.2, K=3)
    with pytest.raises(fs.InputError, match="omega = -1 is not allowed"):
        setup.replace(omega=-1)
    assert pickle.loads(pickle.dumps(setup)) == setup


def test_a_horizon_gives_points_and_the_events_on_the_way():
    run = fs.solve("mixture", omega=0.2, until=100, points=50, observe=["w_c", "S_cv_same"])
    assert run.outcome.is_complete and run.t[-1] == 100
    assert list(run.events) == ["T_0.5", "T_1", "T_2", "T_3"] and run.events["T_3"] is None
    assert run.at("T_2")["values"]["S_cv_same"] == pytest.approx(1, rel=1e-6)
    with pytest.raises(fs.InputError, match="until = -1 is not allowed"):
        fs.solve("mixture", until=-1)
    with pytest.raises(fs.InputError, match="points = 1 is not allowed"):
        fs.solve("mixture", points=1)


def test_dense_output_is_what_would_have_been_recorded():
    run = fs.solve("mixture", until=120, points=5, observe=["w_c", "S_cv_same"])
    times = np.array([[0.0, 17.3], [88.8, 120.0]])
    asked = fs.solve("mixture", at=[*run.events, *times.ravel()], until=120, observe=["w_c", "S_cv_same"])
    assert run(times)["w_c"].ravel().tolist() == [asked.at(t)["values"]["w_c"] for t in times.ravel()]
    assert run.at(17.3)["values"] == run(17.3) == asked.at(17.3)["values"]
    with pytest.raises(fs.InputError, match="inside the run, which ends at 120"):
        run(121.0)
    with pytest.raises(fs.InputError, match="another process"):
        pickle.loads(pickle.dumps(run))(17.3)


def test_observables_of_many_rows_are_those_of_each():
    run = fs.solve("cooccurrence", points=7)
    alone = run(run.t[-2])
    assert all(alone[name] == pytest.approx(run[name][-2], rel=1e-13, abs=1e-300) for name in run)


def test_a_family_has_one_curve_a_value_and_a_legend_that_tells_them_apart():
    family = fs.sweep("mixture", omega=[0.1, 0.3], until=50, observe=["w_c"])
    labels = [text.get_text() for text in family.plot().get_legend().get_texts()]
    assert labels == [r"$\omega$ = 0.1", r"$\omega$ = 0.3"]
    assert len({tuple(line.get_color()) for line in family.plot().get_lines()[:2]}) == 2
    assert np.array_equal(family.to_xarray()["w_c"].sel(omega=0.3), family.at(0.3).nearest_to(family.t)["w_c"])
    with pytest.raises(fs.InputError, match="exactly one parameter"):
        fs.sweep("mixture", omega=0.1)


def test_a_diagram_draws_itself_on_given_axes_or_new_ones():
    diagram = fs.phase("mixture", x="b=0.3:3:4", y="T_1=2:50:4:log", observable="T_2-T_1")
    ax = matplotlib.pyplot.figure().subplots()
    assert diagram.plot(ax=ax) is ax and diagram.plot() is not ax
    matplotlib.pyplot.close("all")
    assert diagram.refine().to_xarray()["T_2-T_1"].sel(b=0.3, T_1=2.0) == diagram["T_2-T_1"][0, 0]


def test_values_tell_themselves_shortly():
    run = fs.solve("mixture", until=100)
    ladder = fs.compare("parity", rungs=["L3-L4"])
    verdicts = fs.check("mixture", "E.3")
    shown = (run, fs.phase("mixture", x="b=0.5,1", observable="T_2"), fs.load("mixture").setup(b=0.7), verdicts, ladder)
    for value in shown:
        assert len(value._repr_html_()) < 50_000 and len(repr(value)) < 2_000
    assert all("<details>" in value._repr_markdown_() for value in (fs.load("mixture"), fs.derive("parity")))
    assert "color:#1b7a37" in verdicts._repr_html_() and not verdicts.where(word="does not hold")
    assert verdicts.where(whose="paper").counts["holds"] + verdicts.where(whose="ours").counts["holds"] == len(verdicts)
