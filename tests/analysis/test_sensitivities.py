"""Sensitivities against fourth-order differences of whole runs: through kinks, slides and stages."""

import numpy as np
import pytest

import flowsys as fs
from flowsys.derivatives.tangent import tangent
from flowsys.program.arrays import vector_field

WEIGHTS = {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}


def worst_error(name, parameter, at, observe=None, mode=None, step=3e-4, **given):
    """The largest error of any derivative, relative to the largest of its kind (or to its value over the parameter)."""
    system = fs.load(name)
    setup = system.setup(mode, **given)
    found = fs.analyse(system, setup, sensitivities=[parameter], at=at, observe=observe, mode=mode, rtol=1e-12)
    x = setup[parameter]
    runs = {
        i: fs.solve(
            system, system.setup(mode, **{**given, parameter: x * (1 + i * step)}), mode=mode, at=at, rtol=1e-13
        )
        for i in WEIGHTS
    }
    worst = 0.0
    for request in at:
        where = request if isinstance(request, str) else f"t={request:g}"
        here = [q for q in found.quantities if q.at == where and q.quantity != "t"]
        rows = {i: run.at(request) for i, run in runs.items()}
        differences = {
            q.quantity: sum(w * rows[i]["values"][q.quantity] for i, w in WEIGHTS.items()) / (step * x) for q in here
        }
        scale = max(*map(abs, differences.values()), 1e-3 * max(abs(q.value) for q in here) / x)
        worst = max(worst, *(abs(q.slopes[parameter] - differences[q.quantity]) / scale for q in here))
        if isinstance(request, str):
            time_of = found[f"t@{request}"]
            difference = sum(w * rows[i]["t"] for i, w in WEIGHTS.items()) / (step * x)
            scale = max(abs(difference), 1e-3 * time_of.value / x)
            worst = max(worst, abs(time_of.slopes[parameter] - difference) / scale)
    return worst


@pytest.mark.parametrize("parameter", ["omega", "b", "T_1", "s_star"])
def test_derivatives_of_the_mixture_through_its_kink_and_stages(parameter):
    assert worst_error("mixture", parameter, ["T_0.5", "T_1", "T_2"]) < 1e-7


@pytest.mark.parametrize("parameter", ["omega", "s_star"])
def test_derivatives_beyond_a_stage_that_an_event_ends(parameter):
    assert worst_error("mixture", parameter, ["T_2", "T_3"]) < 1e-7


def test_derivatives_where_the_gates_close_late():
    assert worst_error("mixture", "b", ["T_2", 150.0], mode="simultaneous") < 1e-7


def test_the_start_may_be_varied():
    """Both the bias and a start of w_c open the gate of T_0.5 alike: K/2 (1 + e^(2b)) each."""
    found = fs.analyse(fs.load("mixture"), sensitivities=["b", "start:w_c"], at=["T_0.5"], observe=["loss"])
    expected = 1 + np.exp(1.0)
    assert found["t@T_0.5"].slopes == {"b": pytest.approx(expected), "start:w_c": pytest.approx(expected)}
    assert "<svg" in found._repr_html_()


def test_tangents_of_every_function_a_program_may_call():
    from flowsys.program import Program
    from flowsys.program.arrays import arguments

    calls = ("exp(x)", "log(x + 2)", "sqrt(x + 2)", "tanh(x)", "sigmoid(x)", "softplus(x)", "sinh(x)", "cosh(x)",
             "sin(x)", "cos(x)", "asin(x / 3)", "erf(x)", "max(x, y, 0.3)", "min(x, y)", "x ** 3 / (y + 2)", "2 ** x",
             "-x * y", "relu(x) + step(y)", "positive(x) * y")  # fmt: skip
    lines = "\n".join(f"    z{i} = {call}" for i, call in enumerate(calls))
    total = " + ".join(f"z{i} * {i + 1}" for i in range(len(calls)))
    program = Program.parse(
        f"state x y\nparameters p\nonce:\n{lines}\n    f = p * ({total})\n    g = x - y * p\n"
        "derivative x = f\nderivative y = g\nobserve out = f\n"
    )
    at, direction, moved = np.array([0.4, -0.7]), np.array([0.3, 1.1]), 0.5
    plain = arguments(program, {"p": 1.3})
    both = plain._replace(parameters=np.array([1.3, moved]))
    rate = vector_field(program, "exact", np)
    slopes = vector_field(tangent(program, frozenset("p")), "exact", np)(np.concatenate([at, direction]), both)[2:]
    h = 1e-3
    shifted = {
        i: rate(at + i * h * direction, plain._replace(parameters=np.array([1.3 + i * h * moved]))) for i in WEIGHTS
    }
    assert slopes == pytest.approx(sum(w * shifted[i] for i, w in WEIGHTS.items()) / h, rel=1e-9)


@pytest.mark.parametrize("spread", [0.0, 0.3])
@pytest.mark.parametrize("name", ["mixture", "cooccurrence", "lego", "parity", "prompt"])
def test_tangents_of_every_program(name, spread):
    """At random states, and at the start, where the scores of a softmax tie."""
    problem = fs.load(name).problem(fs.load(name).setup())
    program, plain = problem.field.program, problem.stages[-1].arguments
    rng = np.random.default_rng(1)
    y = problem.initial + spread * rng.normal(size=len(problem.initial))
    s, moved = rng.normal(size=len(y)), plain.parameters * rng.normal(size=len(plain.parameters))
    both = plain._replace(parameters=np.concatenate([plain.parameters, moved]))
    tangents = vector_field(tangent(program, frozenset(program.parameters)), "frozen", np)
    rate, h = vector_field(program, "frozen", np), 1e-4
    shifted = {i: rate(y + i * h * s, plain._replace(parameters=plain.parameters + i * h * moved)) for i in WEIGHTS}
    expected = sum(w * shifted[i] for i, w in WEIGHTS.items()) / h
    slopes = tangents(np.concatenate([y, s]), both)[len(y) :]
    assert np.abs(slopes - expected).max() < 1e-7 * np.abs(expected).max()


def test_what_has_no_derivative_is_refused():
    system = fs.load("mixture")
    for name, said in (("K", "no real number"), ("nothing", "has no parameter"), ("start:nothing", "not a coordinate")):
        with pytest.raises(fs.InputError, match=said):
            fs.analyse(system, sensitivities=[name], at=["T_1"])
    with pytest.raises(fs.InputError, match="needs a derived program"):
        fs.analyse(system, sensitivities=["omega"], level="L2", at=["T_1"])


def hinges(gap):
    """dw/dt = 1 + 2·[w > 1] + 4·[w > 1 + gap]: two switching surfaces a gap apart."""
    return fs.Model(
        "hinges",
        parameters={
            "first": fs.Real(1.0, 0.0, 3.0),
            "second": fs.Real(1.0 + gap, 0.0, 3.0),
            "w_0": fs.Real(0.0, -1.0, 1.0),
        },
        blocks=lambda p: {"w": fs.Direct(start=p.w_0)},
        loss=lambda ops, w, X, p: -w.w - 2 * ops.relu(w.w - p.first) - 4 * ops.relu(w.w - p.second),
        observe={"height": lambda ops, w, X, p: w.w + 0.0},
        events={"up": fs.Crossing("height", 2.0, +1)},
        t_max=100.0,
    )


def test_surfaces_next_to_each_other_are_told_apart():
    """T = (first - w_0) + (second - first)/3 + (2 - second)/7 up to w = 2."""
    found = fs.analyse(hinges(1e-9), sensitivities=["w_0", "first", "second"], at=["up"], rtol=1e-12)
    assert found["t@up"].slopes == pytest.approx({"w_0": -1, "first": 1 - 1 / 3, "second": 1 / 3 - 1 / 7}, abs=1e-9)


def test_surfaces_met_together_are_refused_where_the_direction_parts_them():
    with pytest.raises(fs.InputError, match="no derivative in second here: surfaces that it meets together"):
        fs.analyse(hinges(0.0), sensitivities=["second"], at=["up"])
    found = fs.analyse(hinges(0.0), sensitivities=["w_0"], at=["up"])
    assert found["t@up"].slopes["w_0"] == pytest.approx(-1)


@pytest.mark.slow
@pytest.mark.parametrize("parameter", ["b", "omega"])
@pytest.mark.parametrize("omega", [0.1, 0.04, 0.01])
def test_derivatives_along_a_slide_beside_another_surface(parameter, omega):
    """The other surface is about 2e-2 ω⁴ away from t = 0.8 on."""
    assert worst_error("mixture", parameter, ["T_2", 150.0], mode="simultaneous", L=4, b=0.1, omega=omega) < 1e-6


STEPS = (3e-4, 1e-3, 1e-2)
BOXES = {
    "mixture": (["T_1", "T_2"], {"omega": (1e-3, 0.3), "b": (0.1, 1.5), "s_star": (0.5, 3.0)}),
    "cooccurrence": (["T_0.5", "T_1"], {"alpha": (0.5, 2.0), "beta": (4.0, 12.0), "score_scale": (0.2, 1.0)}),
    "parity": (["lock", "margin_1"], {"epsilon": (5.0, 40.0)}),
    "prompt": (["T_1", "T_2"], {"alpha": (0.1, 0.8), "epsilon_1": (0.02, 0.3)}),
    "lego": (["stage_2_1"], {"bias": (0.05, 0.3), "rho": (0.1, 0.5), "C_B": (2.0, 5.0)}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOXES)
def test_derivatives_at_fifty_random_points(name):
    at, box = BOXES[name]
    rng = np.random.default_rng(0)
    for k in range(50):
        drawn = {p: float(np.exp(rng.uniform(*np.log(ends)))) for p, ends in box.items()}
        parameter = list(box)[k % len(box)]
        # differences have errors of their own: of the steps one must agree, which with a wrong derivative none does
        errors = (worst_error(name, parameter, at, step=step, **drawn) for step in STEPS)
        assert any(error < 1e-6 for error in errors), (parameter, drawn)
