"""What is wrong with a declaration is refused in one sentence that names the culprit, the value and what is allowed."""

import subprocess
import sys

import numpy as np
import pytest

import flowsys as fs
from flowsys.errors import InputError

TWO = ["a", "b"]


def _samples(p):
    return fs.Samples(k=[0, 1], y=[1.0, -1.0])


def _loss(ops, w, X, p):
    return ops.softplus(-X.y * w.v[X.k])


def _model(**changed):
    """Two numbers and two samples, with one thing wrong."""
    right = {"blocks": lambda p: {"v": fs.Direct(TWO, start=[0.1, 0.2])}, "samples": _samples, "loss": _loss}
    return fs.Model("m", **(right | {"t_max": 10.0} | changed))


def _paired(**changed):
    return _model(
        blocks=lambda p: {"S": fs.Pair(TWO, TWO, **changed)},
        loss=lambda ops, w, X, p: ops.softplus(-X.y * w.S[X.k, 0]),
    )


def _solve(model, level="L2", **more):
    return fs.solve(model, level=level, at=[1.0], **more)


def _refused(call) -> str:
    with pytest.raises(InputError) as caught:
        call()
    said = str(caught.value)
    assert "\n" not in said and said.endswith(".") and ".." not in said
    return said


def _blocks(**blocks):
    return _model(blocks=lambda p: blocks)


DECLARATIONS = {
    "weights": (
        lambda: _solve(_model(samples=lambda p: fs.Samples(k=[0, 1], weight=[0.5, 0.6]))),
        "sum to 1.1", "total = 1",
    ),
    "never read": (lambda: _solve(_blocks(v=fs.Direct(TWO), u=fs.Direct(TWO))), "block u", "never read"),
    "index": (
        lambda: _solve(_model(samples=lambda p: fs.Samples(k=[0, 2], y=[1.0, 1.0]))),
        "index 2", "size 2", "w.v[X.k]",
    ),
    "index from the end": (
        lambda: _solve(_model(samples=lambda p: fs.Samples(k=[0, -3], y=[1.0, 1.0]))),
        "index -3", "size 2",
    ),
    "text observed": (
        lambda: _solve(_model(observe={"o": lambda ops, w, X, p: "x"})),
        "observable o", "str", "a number",
    ),
    "array observed": (
        lambda: _solve(_model(observe={"o": lambda ops, w, X, p: w.v[None]})),
        "observable o", "(1, 2)", "2 samples",
    ),
    "observable": (lambda: _model(observe={"o": 3.0}), "observable o", "float", "function"),
    "event": (lambda: _solve(_model(events={"T": fs.Crossing("nope", 1.0, 1)})), "event T", "nope", "loss"),
    "threshold": (lambda: _solve(_model(events={"T": fs.Crossing("loss", "nope", 1)})), "event T", "nope", "parameter"),
    "threshold in words": (
        lambda: _solve(_model(parameters={"c": fs.Choice("x", "y")}, events={"T": fs.Crossing("loss", "c", 1)})),
        "event T", "'x'", "number",
    ),
    "kind of event": (lambda: _model(events={"T": 1.0}), "event T", "float", "fs.Crossing"),
    "direction": (lambda: fs.Crossing("loss", 1.0, 0), "direction = 0", "+1 or -1"),
    "random start": (
        lambda: _solve(_blocks(v=fs.Direct(TWO, start=lambda rng: rng.random(2))), "L3"),
        "block v", "limit",
    ),
    "random factors": (lambda: _solve(_paired(start=lambda rng: (rng.random((3, 2)),) * 2), "L3"), "block S", "limit"),
    "square read": (lambda: _blocks(v=fs.Direct(TWO, read=lambda x: x**2)), "block v", "not linear"),
    "shifted read": (lambda: _blocks(v=fs.Direct(TWO, read=lambda x: x + 1.0)), "block v", "not linear"),
    "shape of read": (lambda: _blocks(v=fs.Direct(TWO, read=np.ones((2, 3)))), "block v", "shape (2,)"),
    "three reads": (lambda: _paired(read=(None, None, None)), "block S", "3 maps"),
    "reserved parameter": (lambda: _model(parameters={"width": fs.Size(1, 1, 2)}), "width", "reserved"),
    "parameter of programs": (
        lambda: _model(parameters={"sample_share_0": fs.Real(1.0, 0, 2)}),
        "parameter sample_share_0", "reserved",
    ),
    "block of programs": (lambda: _blocks(sample_weight=fs.Direct(2)), "block sample_weight", "reserved"),
    "stage without a loss at the start": (
        lambda: _solve(
            _model(stages=[
                fs.Stage("first", until=1.0),
                fs.Stage("second", loss=lambda ops, w, X, p: ops.log(0 * w.v[X.k])),
            ]),
            "L3",
        ),
        "loss of stage second", "throughout",
    ),
    "power of a negative number": (
        lambda: _solve(
            _model(
                parameters={"r": fs.Real(3.0, 1, 4)},
                blocks=lambda p: {"v": fs.Direct(TWO, start=-1.0)},
                loss=lambda ops, w, X, p: w.v[X.k] ** p.r,
            ),
            "L3",
        ),
        "not finite", "at r = ",
    ),
    "parameter of training": (
        lambda: _model(parameters={"train_v": fs.Real(1.0, 0, 2)}),
        "train_v", "reserved", "block v",
    ),
    "reserved block": (lambda: _blocks(loss=fs.Direct(2)), "loss", "reserved"),
    "block and parameter": (lambda: _model(parameters={"v": fs.Size(1, 1, 2)}), "name v", "parameter", "block"),
    "block and observable": (lambda: _model(observe={"v": _loss}), "name v", "observable", "block"),
    "two pairs": (lambda: _blocks(S=fs.Pair(2, 2), R=fs.Pair(2, 2)), "KK", "factors=", "selfs="),
    "two factors": (lambda: _blocks(S=fs.Pair(2, 2, factors=("W", "W"))), "block S", "five different names"),
    "three factors": (lambda: _paired(factors=("A", "B", "C")), "factors", "two"),
    "self-product and block": (lambda: _blocks(S=fs.Pair(2, 2), KK=fs.Direct(2)), "name KK", "twice"),
    "entry and observable": (lambda: _solve(_model(observe={"v_a": _loss})), "name v_a", "observable", "entry"),
    "entry and parameter": (
        lambda: _solve(_model(parameters={"v_a": fs.Real(1.0, 0, 2)})),
        "name v_a", "parameter", "entry",
    ),
    "entry and entry": (
        lambda: _solve(_blocks(v=fs.Direct(["a_b", "c"]), v_a=fs.Direct(["b", "d"]))), "two entries", "v_a_b",
    ),
    "parameter and observable": (
        lambda: _model(parameters={"c": fs.Size(1, 1, 2)}, observe={"c": _loss}), "name c", "parameter", "observable",
    ),
    "label twice": (lambda: _blocks(v=fs.Direct(["a", "a"])), "block v", "label a twice"),
    "label": (lambda: _blocks(v=fs.Direct(["a", "b c"])), "block v", "'b c'", "letters"),
    "axis": (lambda: _blocks(v=fs.Direct(2.0)), "block v", "2.0", "whole number"),
    "no labels": (lambda: _blocks(v=fs.Direct(0)), "block v", "axis 0", "at least one"),
    "width in blocks": (
        lambda: _solve(_model(blocks=lambda p: {"v": fs.Direct(2, start=1 / p.width)}), "L3"),
        "p.width", "limit",
    ),
    "width in samples": (
        lambda: _solve(_model(samples=lambda p: fs.Samples(k=[0, 1], y=[1.0, 1 / p.width])), "L3"), "p.width", "limit",
    ),
    "width in the loss": (
        lambda: _solve(_model(loss=lambda ops, w, X, p: _loss(ops, w, X, p) / p.width), "L3"),
        "p.width", "limit",
    ),
    "nan in samples": (lambda: _model(samples=lambda p: fs.Samples(y=[1.0, np.nan])), "y[1] = nan", "finite"),
    "inf in samples": (lambda: _model(samples=lambda p: fs.Samples(y=[[1.0, np.inf]])), "y[0, 1] = inf", "finite"),
    "nan weight": (lambda: _model(samples=lambda p: fs.Samples(weight=[np.nan, 1.0])), "weight[0] = nan", "finite"),
    "negative weight": (lambda: _model(samples=lambda p: fs.Samples(weight=[2.0, -1.0])), "weight[1] = -1", "negative"),
    "one weight": (lambda: _model(samples=lambda p: fs.Samples(weight=1.0)), "weight", "one row a sample"),
    "total": (lambda: fs.Samples(k=[0, 1], total=0.0), "total = 0.0", "positive"),
    "nan start": (lambda: _solve(_blocks(v=fs.Direct(TWO, start=[np.nan, 1.0]))), "block v", "start", "nan"),
    "nan rate": (lambda: _blocks(v=fs.Direct(TWO, rate=np.nan)), "block v", "rate = nan", "not negative"),
    "negative rates": (lambda: _paired(rates=(1.0, -1.0)), "block S", "rate = -1.0", "not negative"),
    "negative scale": (lambda: _paired(scale=-1.0), "block S", "scale = -1.0", "not negative"),
    "inf factors": (lambda: _solve(_paired(start=(np.full((3, 2), np.inf), np.ones((3, 2))))), "block S", "W_K", "inf"),
    "inner widths": (lambda: _solve(_paired(start=(np.ones((3, 2)), np.ones((4, 2))))), "block S", "3 and 4", "equal"),
    "limit": (
        lambda: _solve(_paired(limit={"S": np.full((2, 2), 3.0), "KK": np.eye(2), "QQ": np.eye(2)}), "L3"),
        "block S", "eigenvalue -5",
    ),
    "part of a limit": (lambda: _solve(_paired(limit={"S": 0.0}), "L3"), "block S", "KK"),
    "no rows": (lambda: _model(samples=lambda p: fs.Samples(k=[])), "Samples", "no rows"),
    "no arrays": (lambda: _model(samples=lambda p: fs.Samples()), "Samples", "empty"),
    "no stages": (lambda: _model(stages=[]), "stages", "at least one"),
    "no modes": (lambda: _model(stages={}), "stages", "empty"),
    "no blocks": (lambda: _blocks(), "blocks of m", "empty"),
    "kind of block": (lambda: _blocks(v=3), "block v", "int", "fs.Direct"),
    "rows": (lambda: _model(samples=lambda p: fs.Samples(k=[0, 1], y=[1.0])), "y has 1 rows", "2 samples"),
    "ragged rows": (lambda: _model(samples=lambda p: fs.Samples(k=[[0, 1], [0]])), "k is no array"),
    "rows of text": (lambda: _model(samples=lambda p: fs.Samples(k=["a"])), "k holds", "numbers"),
    "shape of start": (lambda: _solve(_blocks(v=fs.Direct(TWO, start=[1.0, 2.0, 3.0]))), "block v", "(3,)", "(2,)"),
    "start in words": (lambda: _solve(_blocks(v=fs.Direct(TWO, start="x"))), "block v", "start", "numbers"),
    "one loss": (lambda: _solve(_model(loss=lambda ops, w, X, p: w.v[0])), "loss", "shape ()", "2 samples"),
    "no loss": (lambda: _solve(_model(loss=lambda ops, w, X, p: None)), "loss", "NoneType", "number"),
    "many losses": (lambda: _solve(_model(samples=None, loss=lambda ops, w, X, p: w.v)), "loss", "(2,)", "one number"),
    "unknown function": (lambda: _solve(_model(loss=lambda ops, w, X, p: ops.jax(w.v))), "ops.jax", "softmax"),
    "builtin function": (lambda: _solve(_model(loss=lambda ops, w, X, p: abs(w.v[X.k])), "L3"), "Abs", "maximum"),
    "unknown block": (lambda: _solve(_model(loss=lambda ops, w, X, p: w.nope)), "w.nope", "there are v"),
    "unknown array": (lambda: _solve(_model(loss=lambda ops, w, X, p: X.nope)), "X.nope", "k, y"),
    "unknown parameter": (lambda: _solve(_model(loss=lambda ops, w, X, p: p.nope)), "p.nope", "learning_rate"),
    "unknown size": (lambda: _model(blocks=lambda p: {"v": fs.Direct(p.nope)}), "p.nope", "learning_rate"),
    "where": (lambda: _model(stages=[fs.Stage("s", where="nope")]), "stage s", "nope", "k, y"),
    "what where holds": (lambda: _model(stages=[fs.Stage("s", where="y")]), "stage s", "where = y", "0 or 1"),
    "trains": (lambda: _model(stages=[fs.Stage("s", trains=["nope"])]), "stage s", "nope", "there are v"),
    "trains in words": (lambda: _model(stages=[fs.Stage("s", trains="v")]), "stage s", "trains = 'v'", "list"),
    "ends on": (lambda: _model(stages=[fs.Stage("s", ends_on="nope")]), "stage s", "nope", "event"),
    "until": (
        lambda: _solve(_model(stages=[fs.Stage("s", until="nope"), fs.Stage("r")])),
        "stage s", "nope", "parameter",
    ),
    "before": (lambda: _solve(_model(stages=[fs.Stage("s", until=-1.0), fs.Stage("r")])), "stage s", "-1", "negative"),
    "never ends": (lambda: _model(stages=[fs.Stage("s"), fs.Stage("r")]), "stage s", "until"),
    "stage twice": (lambda: _model(stages=[fs.Stage("s", until=1.0), fs.Stage("s")]), "two stages of the name s"),
    "kind of stage": (lambda: _model(stages=["s"]), "holds a str", "fs.Stage"),
    "mode": (lambda: _solve(_model(), mode="nope"), "mode = nope", "simultaneous"),
    "kind of samples": (lambda: _model(samples=lambda p: {"k": [0]}), "samples", "dict", "fs.Samples"),
    "samples": (lambda: _model(samples=fs.Samples(k=[0])), "samples", "function"),
    "integral": (lambda: _model(integrals={"i": "nope"}), "integral i", "nope", "loss"),
    "rest": (lambda: _solve(_paired(scale=0.0), "L3"), "model m rests", "scale"),
    "keyword": (lambda: _model(nope=3), "'nope'"),
    "default": (lambda: _model(parameters={"n": fs.Size(9, 1, 3)}), "n = 9", "<= 3"),
    "kind of parameter": (lambda: _model(parameters={"n": 3}), "parameter n", "fs.Size"),
    "choice twice": (lambda: fs.Choice("a", "a"), "'a'", "twice"),
    "steps": (lambda: _model(steps=0), "steps = 0", "at least 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", DECLARATIONS)
def test_a_declaration_is_refused_by_its_culprit(case):
    call, *words = DECLARATIONS[case]
    said = _refused(call)
    assert all(word in said for word in words), said


GRAM = {"S": np.full((2, 2), 3.0), "KK": np.eye(2), "QQ": np.eye(2)}
STARTS = {
    "eigenvalue": (lambda: _solve(_paired(), start=GRAM), "S, KK, QQ", "eigenvalue -5"),
    "eigenvalue at L3": (lambda: _solve(_paired(), "L3", start=GRAM), "S, KK, QQ", "eigenvalue -5"),
    "not symmetric": (
        lambda: _solve(_paired(), start=GRAM | {"S": np.zeros((2, 2)), "QQ": np.array([[1.0, 0.5], [0.2, 1.0]])}),
        "QQ", "symmetric",
    ),
    "part of a pair": (lambda: _solve(_paired(), start={"S": np.eye(2)}), "S is given without KK, QQ"),
    "shape": (lambda: _solve(_model(), start={"v": np.ones(3)}), "v has shape (3,)", "(2,)"),
    "name": (lambda: _solve(_model(), start={"q": 1.0}), "q is not a block", "there are v"),
    "coordinate": (lambda: _solve(_model(), "L3", start={"q": 1.0}), "q is neither a block", "(v_a, v_b)"),
    "vector for a coordinate": (lambda: _solve(_model(), "L3", start={"v_a": np.ones(3)}), "v_a", "(3,)"),
    "nan": (lambda: _solve(_model(), start={"v": [np.nan, 1.0]}), "v holds nan"),
    "no arrays": (lambda: _solve(_model(), start=3), "start is a int", "by name"),
    "factor": (lambda: _solve(_paired(), "L1", start={"W_K": np.ones((3, 3))}), "W_K", "(3, 3)", "(m, 2)"),
    "one factor": (lambda: _solve(_paired(), "L1", start={"W_K": np.ones((3, 2))}), "inner widths 3 and 500"),
    "seeds": (lambda: fs.train(_model(), seeds=2, start={"v": [1.0, 2.0]}, steps=2), "seeds = 2", "start"),
}  # fmt: skip


@pytest.mark.parametrize("case", STARTS)
def test_a_start_is_refused_by_its_culprit(case):
    call, *words = STARTS[case]
    said = _refused(call)
    assert all(word in said for word in words), said


def _raises_key(p):
    return {}["absent"]


FUNCTIONS = {
    "blocks": (lambda: _model(blocks=_raises_key), "blocks of m", "KeyError", "_raises_key"),
    "samples": (lambda: _model(samples=lambda p: 1 / 0), "samples of m", "ZeroDivisionError"),
    "loss": (lambda: _solve(_model(loss=lambda ops, w, X, p: int("x"))), "the loss of m", "ValueError"),
    "loss of a stage": (
        lambda: _solve(_model(stages=[fs.Stage("s", loss=lambda ops, w, X, p: 1 / 0)])), "the loss of stage s",
    ),
    "observable": (lambda: _solve(_model(observe={"o": lambda ops, w, X, p: 1 / 0})), "observable o"),
    "start": (lambda: _solve(_blocks(v=fs.Direct(TWO, start=lambda rng: 1 / 0))), "the start of block v"),
    "read": (lambda: _blocks(v=fs.Direct(TWO, read=lambda x: x["q"])), "read of block v"),
    "batches": (lambda: fs.train(_model(batches=lambda key, p: 1 / 0), variant="sgd", steps=1), "batches of m"),
    "arguments": (lambda: _solve(_model(loss=lambda ops, w, X: w.v)), "the loss of m", "takes 3 positional"),
    "branch": (lambda: _solve(_model(loss=lambda ops, w, X, p: w.v if w.v[0] > 0 else -w.v)), "compares", "ops.relu"),
    "numpy": (lambda: _solve(_model(loss=lambda ops, w, X, p: np.tanh(w.v[X.k]))), "not one of ops"),
}  # fmt: skip


@pytest.mark.parametrize("case", FUNCTIONS)
def test_what_fails_inside_a_function_is_told_with_its_line(case):
    call, *words = FUNCTIONS[case]
    said = _refused(call)
    assert all(word in said for word in (*words, "test_model_refusals.py, line ")), said


@pytest.mark.parametrize("level", ["L0", "L2", "L3"])
def test_a_branch_on_a_real_is_refused(level):
    model = _model(parameters={"r": fs.Real(1.0, 0, 2)}, loss=lambda ops, w, X, p: w.v[X.k] * (1 if p.r > 0.5 else 2))
    assert "the loss of m compares a real parameter" in _refused(lambda: _solve(model, level))


MIXING = {
    "mean": lambda ops, w, X, p: ops.softplus(-X.y * (w.v[X.k] - w.v[X.k].sum() / 3)),
    "data": lambda ops, w, X, p: ops.softplus(-X.y * X.y.sum() * w.v[X.k]),
    "weight": lambda ops, w, X, p: X.weight * ops.softplus(-X.y * w.v[X.k]),
}


@pytest.mark.parametrize("case", MIXING)
def test_a_loss_that_mixes_samples_is_refused_where_samples_are_merged(case):
    model = _model(samples=lambda p: fs.Samples(k=[0, 0, 1], y=[1.0, 1.0, -1.0]), loss=MIXING[case])
    assert "one number a sample" in _refused(lambda: _solve(model, "L3"))


def test_an_observable_that_mixes_samples_is_refused_and_one_that_weighs_them_is_not():
    samples = lambda p: fs.Samples(k=[0, 0, 1], y=[1.0, 1.0, -1.0])
    mean = lambda ops, w, X, p: w.v[X.k].sum() / 3
    weighed = lambda ops, w, X, p: (X.weight * w.v[X.k]).sum()
    right = _model(samples=samples, observe={"o": weighed})
    assert _solve(right, "L3")["o"] == pytest.approx(_solve(right)["o"], rel=1e-6)
    assert "observable o of m cannot be read on merged samples" in _refused(
        lambda: _solve(_model(samples=samples, observe={"o": mean}), "L3")
    )


def test_batches_do_not_know_the_losses_of_stages():
    model = _model(stages=[fs.Stage("s", loss=_loss)], batches=lambda key, p: _samples(p))
    said = _refused(lambda: fs.train(model, variant="sgd", steps=1))
    assert "variant = sgd" in said and "stage s" in said


def test_the_command_line_exits_with_2(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import flowsys as fs\n"
        "def loss(ops, w, X, p):\n"
        "    return w.v[3]\n"
        "model = fs.Model('mine', blocks=lambda p: {'v': fs.Direct(2)}, loss=loss)\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "flowsys", "solve", "--from", str(path), "--level", "L2"], capture_output=True, text=True
    )
    said = " ".join(run.stderr.split())
    assert (
        run.returncode == 2
        and "index 3" in said
        and "mine.py, line 3: return w.v[3]" in said
        and "Traceback" not in said
    )


def test_names_of_a_program_do_not_clash_with_a_parameter():
    model = _model(
        parameters={"x0": fs.Real(1.5, 0, 2)},
        loss=lambda ops, w, X, p: ops.softplus(ops.tanh(w.v[X.k] * p.x0) * w.v[X.k] * p.x0),
    )
    assert _solve(model, "L3")["loss"] == pytest.approx(_solve(model)["loss"], rel=1e-7)
