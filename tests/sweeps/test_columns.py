"""Points in columns: one problem of arrays is the problems of its points, row by row."""

import numpy as np
import pytest
from sweeps import posed, sweep

from flowsys.errors import InputError
from flowsys.sweeps.columns import Together, columns_of
from flowsys.sweeps.points import evaluate_chunk
from flowsys.system.problem import ProgramField
from flowsys.systems import load, names

# levels and modes that do not go together, and what is said of them
WITHOUT_FLOW = {
    ("parity", "L4", "block"): "level = L4 is stated for mode = position",
    ("parity", "L4", "three_step"): "level = L4 is stated for mode = position",
    ("parity", "L4", "no_chain"): "level = L4 is stated for mode = position",
    ("parity", "L3", "no_chain"): "mode = no_chain has no stated limit",
}
FORMS = [
    (name, level, variant, mode)
    for name in names()
    for level in ("L3", "L4")
    for variant in load(name).levels[level].names
    if variant != "found"  # a derivation each; tests/model/test_model_columns.py has a small one
    for mode in load(name).modes
    if (name, level, mode) not in WITHOUT_FLOW and load(name).columns(load(name).setup(mode), level, variant, mode)
]


def moved(system, mode, columns, factor):
    """A setup with every number that may be a column moved a little, and those that follow others with them."""
    usual = system.setup(mode)
    inside = {p.name: p for p in system.parameters}
    values = {}
    for name in columns:
        if callable(inside[name].default):
            continue
        value = usual[name] * factor
        values[name] = round(value) if inside[name].integer else min(max(value, inside[name].low), inside[name].high)
    return system.setup(mode, **values)


@pytest.mark.parametrize(("name", "level", "variant", "mode"), FORMS, ids=lambda form: str(form))
def test_a_problem_of_columns_is_that_of_its_points(name, level, variant, mode):
    system = load(name)
    columns = system.columns(system.setup(mode), level, variant, mode)
    setups = [moved(system, mode, columns, factor) for factor in (1.0, 0.97, 0.94)]
    alone = [system.problem(setup, level, variant, mode) for setup in setups]
    assert isinstance(alone[0].field, ProgramField)
    of = sweep("t_max=90,100", observables=[f"{alone[0].observable_names[0]}@t=1"], system=name, mode=mode,
               level=level, variant=variant, fixed={})  # fmt: skip
    found = list(columns_of(of, posed(setups)))
    assert [column.places.tolist() for column in found] == [[0, 1, 2]]
    together = Together(found)
    close = lambda rows, of: np.testing.assert_allclose(rows, [of(p) for p in alone], rtol=1e-14, atol=0)
    close(together.rows(lambda p: p.initial), lambda p: p.initial)
    close(together.thresholds(), lambda p: [e.threshold for e in p.events])
    for number, stage in enumerate(together.stages()):
        close(stage.parameters, lambda p, s=number: p.stages[s].arguments.parameters)
        assert (stage.until is None) == (alone[0].stages[number].until is None)
        if stage.until is not None:
            close(stage.until, lambda p, s=number: p.stages[s].until)
    for number in (lambda p: p.scale, lambda p: p.t_max, *(lambda p, m=m: p.marks[m] for m in alone[0].marks)):
        close(together.column(number), number)


@pytest.mark.parametrize(("name", "level", "mode"), WITHOUT_FLOW)
def test_levels_and_modes_that_do_not_go_together_are_refused(name, level, mode):
    system = load(name)
    for variant in system.levels[level].names:
        if variant == "found" or not system.columns(system.setup(mode), level, variant, mode):
            continue
        with pytest.raises(InputError, match=WITHOUT_FLOW[name, level, mode]):
            system.problem(system.setup(mode), level, variant, mode)


@pytest.mark.parametrize(
    ("name", "mode", "axes", "quantity", "fixed"),
    [
        ("mixture", "three_stage", ("omega=0.05:0.3:5:log", "b=0.3,0.9"), "w_c@T_2", {}),
        ("lego", "stage_1", ("bias=1e-3:1e-1:5:log", "C_B=2.5,3"), "F_gap@t=1e4", {"group": "C3"}),
        ("lego", "stage_2", ("eps_target=0.05:0.3:5:log", "d=500,900"), "gap@eps_reached", {}),
        ("prompt", "population", ("alpha=0.2:0.6:5", "epsilon=0.01,0.1"), "a@T_3", {}),
        ("parity", "position", ("m=50:500:5:log", "n=10,30"), "g@lock", {}),
        ("cooccurrence", "limit", ("score_scale=0.2:0.8:5", "epsilon=0.1,0.05"), "G_mu1@T_star", {}),
        # T_1 is 0 for n ≤ 3(L - 2), located beyond: posed apart
        ("cooccurrence", "limit", ("n=7,8,9,10,60", "L=4,5,7"), "T_1", {"share_4": 0.2}),
    ],
)  # fmt: skip
def test_bits_do_not_depend_on_the_company_in_a_column(name, mode, axes, quantity, fixed):
    made = lambda **options: sweep(*axes, observables=[quantity], system=name, mode=mode, fixed=fixed, **options)
    whole, single = evaluate_chunk(made(), 0, threads=2), made(chunk_size=1)
    alone = np.concatenate([evaluate_chunk(single, number).values for number in range(single.n_chunks)], axis=1)
    assert np.isfinite(whole.values).all()
    assert alone.tobytes() == whole.values.tobytes()
