"""Parameters and arrays that a model's functions read from elsewhere: the seed of the data, matrices of the file."""

import json
import pickle

import numpy as np
import pytest

import flowsys as fs
from flowsys.errors import InputError
from flowsys.model.concrete import View

E = np.linalg.cholesky([[1, 0.3, 0.1], [0.3, 1, 0.2], [0.1, 0.2, 1.0]]).T


def test_a_matrix_that_a_reading_takes_from_its_file_keeps_its_digits():
    model = fs.Model(
        "correlated",
        blocks=lambda p: {"S": fs.Pair(3, 3, scale=0.4, read=lambda F: F @ E)},
        loss=lambda ops, w, X, p: (w.S[0, 1] - 1) ** 2 + (w.S[1, 2] - 0.5) ** 2,
    )
    assert fs.derive(model).autodiff <= 1e-13
    a, b = (fs.solve(model, model.setup(width=4), level=level, at=[1.0], rtol=1e-11) for level in ("L1", "L2"))
    assert abs(a["S_0_1"] - b["S_0_1"]) <= 1e-9


def seeded(reads_seed: bool) -> fs.Model:
    return fs.Model(
        "drawn",
        parameters={"c": fs.Real(1.0, 0.5, 2)},
        blocks=lambda p: {"v": fs.Direct(2, start=0.1)},
        samples=lambda p: fs.Samples(x=np.random.default_rng(p.seed if reads_seed else 0).standard_normal((4, 2))),
        loss=lambda ops, w, X, p: ops.softplus(-(X.x @ w.v)) + p.c * (w.v * w.v).sum(),
        latex={"c": r"\lambda"},
        t_max=10.0,
    )


def test_the_seed_counts_at_every_level_where_the_data_is_drawn_with_it():
    for reads_seed in (True, False):
        model = seeded(reads_seed)
        seed = next(p for p in model.parameters if p.name == "seed")
        a, b = (fs.solve(model, model.setup(seed=n), at=[2.0])["loss"][0] for n in (0, 1))
        assert ("L3" in seed.levels) == (a != b) == reads_seed


def test_a_parameter_has_the_symbol_that_was_declared():
    assert seeded(False).names.symbol("c") == r"\lambda"


def target_of(text: str) -> float | None:
    return float(text.removeprefix("at:")) if text.startswith("at:") else None


def test_a_choice_may_be_open_to_what_is_read_of_a_text():
    model = fs.Model(
        "aimed",
        parameters={"target": fs.Choice("near", "far", reads=target_of, reads_text="at:NUMBER")},
        blocks=lambda p: {"v": fs.Direct(start=0.1)},
        loss=lambda ops, w, X, p: (w.v - {"near": 1.0, "far": 9.0}.get(p.target, p.target)) ** 2 / 2,
        t_max=50.0,
    )
    ends = [fs.solve(model, target=target, at=[40.0])["v"][0] for target in ("near", "far", "at:3.5")]
    assert ends == pytest.approx([1.0, 9.0, 3.5], rel=1e-6)
    with pytest.raises(InputError, match="target = 3 is not allowed: it must be one of near, far, or at:NUMBER"):
        model.setup(target="3")
    assert next(p for p in model.parameters if p.name == "target").allowed == "near | far | at:NUMBER"


def table_of(content, path):
    if not isinstance(content, list):
        raise InputError("it must hold a list.")
    return tuple(content)


def test_a_choice_may_take_a_table_from_a_file(tmp_path):
    model = fs.Model(
        "aimed",
        parameters={"target": fs.Choice("near", reads=fs.json_file(table_of), reads_text="FILE.json")},
        blocks=lambda p: {"v": fs.Direct(start=0.1)},
        loss=lambda ops, w, X, p: (w.v - (1.0 if p.target == "near" else sum(p.target.value))) ** 2 / 2,
        t_max=50.0,
    )
    path, ends, setups = tmp_path / "targets.json", [], []
    for table in ([1.5, 2.0], [4.0]):
        path.write_text(json.dumps(table))
        setups.append(model.setup(target=str(path)))
        ends.append(fs.solve(model, setups[-1], at=[40.0])["v"][0])
    assert ends == pytest.approx([3.5, 4.0], rel=1e-6)
    first, second = (setup["target"] for setup in setups)
    assert first != second and str(first) == str(second) == str(path)
    assert pickle.loads(pickle.dumps(first)) == first and len({repr(first), repr(second)}) == 2
    assert setups[0].replace(t_max=20.0)["target"].value == (1.5, 2.0)  # what was read stays
    path.write_text("{}")
    with pytest.raises(InputError, match=r"target = .*targets.json is refused: it must hold a list"):
        model.setup(target=str(path))
    path.write_text("[")
    with pytest.raises(InputError, match="it is not a JSON file"):
        model.setup(target=str(path))


def test_observables_of_one_function_are_found_together():
    calls = []

    def report(ops, w, X, p):
        calls.append(1)
        return {"half": w.v / 2, "square": w.v**2, "unseen": w.v + 1}

    told = fs.together(report, {"half": "half of v", "square": "v squared"})
    model = fs.Model(
        "told",
        blocks=lambda p: {"v": fs.Direct(start=0.5)},
        loss=lambda ops, w, X, p: (w.v - 1) ** 2,
        observe={**told, "cube": lambda ops, w, X, p: w.v**3},
    )
    assert (model.observables["half"], model.observables["square"]) == ("half of v", "v squared")
    for level in ("L1", "L3"):
        run = fs.solve(model, level=level, at=[0.3], observe=["v", "half", "square", "cube"])
        v = run["v"][0]
        assert [run[name][0] for name in ("half", "square", "cube")] == pytest.approx([v / 2, v**2, v**3])
    calls.clear()
    w, X = View({"v": 2.0}), object()
    assert [told[name](None, w, X, None) for name in told] == [1.0, 4.0] and len(calls) == 1


def test_a_model_may_be_followed_unread_and_sees_the_same():
    model = fs.Model(
        "read",
        blocks=lambda p: {
            "S": fs.Pair(3, ["x", "y", "z"], scale=0.4, read=(lambda F: F @ E, None)),
            "v": fs.Direct(3, start=np.array([0.1, 0.2, 0.3]), read=lambda v: v[..., :2] + v[..., 1:]),
        },
        loss=lambda ops, w, X, p: (w.S[0, 1] - w.v[0]) ** 2 + (w.S[1, 2] - 0.5 + w.v[1]) ** 2,
        observe={"rate": lambda ops, w, X, p: w.rates.S[0, 1] + w.rates.v[1], "own": lambda ops, w, X, p: w.KK[0, 1]},
        variants={"L2": {"read": "reduced", "all": ("all that there is", "unread")}},
    )
    assert model.levels["L2"].names == ("read", "all")
    forms = ("L1", None), ("L2", "read"), ("L2", "all")
    names = ["loss", "rate", "own"]
    runs = [fs.solve(model, model.setup(width=4), level=level, variant=form, at=[1.0], observe=names, rtol=1e-11)
            for level, form in forms]  # fmt: skip
    for run in runs[1:]:
        for name in names:
            assert run[name] == pytest.approx(runs[0][name], abs=1e-9)
    read, unread = (run.blocks(1.0) for run in runs[1:])
    assert unread["v"].shape == (3,) and read["v"] == pytest.approx(unread["v"][:2] + unread["v"][1:], abs=1e-9)
    assert read["S"] == pytest.approx(E.T @ unread["S"], abs=1e-9)
