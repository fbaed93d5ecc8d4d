"""Refining adds points along the boundary and keeps the others."""

import numpy as np
import pytest
from sweeps import finished, flowsys, sweep

from flowsys.errors import InputError
from flowsys.sweeps import Axis, PhaseDiagram, load, refined_sweep, run
from flowsys.sweeps.diagram import CODES
from flowsys.sweeps.refine import filled, refinement
from flowsys.sweeps.store import Store
from flowsys.systems import load as load_system

SKIPPED = CODES["not computed, neighbours agree"]


def refined(path, old: PhaseDiagram) -> PhaseDiagram:
    of, finer = refined_sweep(old, load_system("mixture"))
    store = Store(path, of)
    for chunk in run(of):
        store.write(chunk)
    store.finish(finer.merged(old, *store.arrays(), of.origin))
    return load(path)


def step_at(x: float, n: int = 9) -> PhaseDiagram:
    """0 left of x, 1 right of it, on two axes from 0 to 8."""
    axes = (Axis("x", tuple(np.linspace(0.0, 8.0, n).tolist())), Axis("y", tuple(np.linspace(1.0, 8.0, 3).tolist())))
    values = np.array([[float(v > x)] * 3 for v in axes[0].values])
    return PhaseDiagram(axes, {"q": values}, np.zeros(values.shape, dtype=np.uint8))


def test_old_points_stay_and_new_ones_are_what_a_fresh_sweep_gives(tmp_path):
    finished(tmp_path / "a.nc", sweep())
    old = load(tmp_path / "a.nc")
    new = refined(tmp_path / "b.nc", old)
    place = np.ix_(*[[n.values.index(v) for v in o.values] for n, o in zip(new.axes, old.axes)])
    fresh = sweep(*[f"{a.name}={','.join(map(repr, a.values))}" for a in new.axes])
    finished(tmp_path / "c.nc", fresh)
    computed = new.outcomes != SKIPPED
    assert computed.sum() > old.outcomes.size
    for name, values in new.quantities.items():
        assert values[place].tobytes() == old.quantities[name].tobytes()
        assert values[computed].tobytes() == load(tmp_path / "c.nc").quantities[name][computed].tobytes()


def test_lines_are_inserted_only_where_neighbours_differ():
    finer = refinement(step_at(4.5))
    assert finer.axes[0].values == (0.0, 1.0, 2.0, 3.0, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0)
    assert len(finer.axes[1]) == 5
    x = np.unravel_index(finer.computed, (10, 5))[0]
    assert set(x.tolist()) == {4, 5, 6}


@pytest.mark.parametrize("cell", range(8))
def test_the_points_around_a_step_are_computed_wherever_it_lies(cell):
    finer = refinement(step_at(cell + 0.5))
    assert finer.axes[0].values[cell + 1] == cell + 0.5
    x = np.unravel_index(finer.computed, [len(axis) for axis in finer.axes])[0]
    assert set(x.tolist()) == {cell, cell + 1, cell + 2}


def test_refining_closes_in_on_a_step():
    diagram, truth = step_at(4.6), 4.6
    for _ in range(6):
        finer = refinement(diagram)
        x = np.array(finer.axes[0].values)[np.unravel_index(finer.computed, [len(a) for a in finer.axes])[0]]
        diagram = finer.merged(diagram, (x > truth)[None].astype(float), np.zeros(len(x), dtype=np.uint8), {})
    values, _ = filled(diagram.quantities["q"], diagram.outcomes)
    assert (values == (np.array(diagram.axes[0].values) > truth)[:, None]).all()
    assert np.diff(diagram.axes[0].values).min() == 2.0**-6


def test_integers_and_lists_get_nothing_between_neighbours():
    axes = (Axis("n", (1, 2, 5)), Axis("c", ("a", "b"), "list"))
    values = np.array([[0.0, 1.0], [5.0, 1.0], [9.0, 1.0]])
    finer = refinement(PhaseDiagram(axes, {"q": values}, np.zeros((3, 2), dtype=np.uint8)), frozenset("n"))
    assert finer.axes[0].values == (1, 2, 4, 5)
    assert finer.axes[1].values == ("a", "b")


def test_a_constant_diagram_has_nothing_to_refine():
    with pytest.raises(InputError, match="nothing to refine"):
        refinement(step_at(100.0))


@pytest.mark.parametrize("values", [(2, 3, 4, 5), (5, 4, 3, 2)])
def test_nothing_lies_between_integers_that_follow_each_other(values):
    diagram = PhaseDiagram((Axis("n", values),), {"q": np.array([0.0, 1.0, 0.0, 3.0])}, np.zeros(4, dtype=np.uint8))
    with pytest.raises(InputError, match="nothing to refine"):
        refinement(diagram, frozenset("n"))


def test_neighbours_that_differ_no_more_than_all_others_are_no_boundary():
    ramp = np.add.outer(np.arange(5.0), np.arange(3.0))
    axes = (Axis("x", tuple(range(5))), Axis("y", tuple(range(3))))
    with pytest.raises(InputError, match="nothing to refine"):
        refinement(PhaseDiagram(axes, {"q": ramp}, np.zeros(ramp.shape, dtype=np.uint8)))


def test_the_command_refines_a_file_in_place(tmp_path):
    axes = ("--x", "b=0.1:2:5", "--y", "T_1=5:50:4:log", "--observable", "T_2-T_1", "--set", "t_max=5000")
    assert flowsys(*axes, "--out", "d.nc", cwd=tmp_path).returncode == 0
    before = load(tmp_path / "d.nc").outcomes.size
    run = flowsys("--refine", "d.nc", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert load(tmp_path / "d.nc").outcomes.size > before and not (tmp_path / "d.nc.parts").exists()
    assert flowsys("--refine", "d.nc", "--x", "b=1,2", cwd=tmp_path).returncode == 2
