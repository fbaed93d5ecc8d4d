"""Sweeps of declared models in columns: points that differ in reals share a problem, if they share a limit."""

from dataclasses import replace

import numpy as np
from signal_model import signal

import flowsys as fs
from flowsys.kernels import integrate
from flowsys.model.columns import column_names
from flowsys.model.concrete import Concrete
from flowsys.sweeps import make_sweep, parse_axis, together
from flowsys.sweeps.columns import columns_of
from flowsys.sweeps.diagram import CODES, OUTCOMES
from flowsys.sweeps.points import evaluate_chunk
from flowsys.sweeps.setups import points_at

# a logistic regression on two samples: `pull` stands in the loss, `level` is a threshold, `size` is read by the samples
PULLED = fs.Model(
    "pulled",
    parameters={
        "pull": fs.Real(0.1, 0.01, 1),
        "level": fs.Real(0.5, 0.1, 2),
        "until": fs.Real(3.0, 1, 9),
        "size": fs.Real(1.0, 0.5, 2),
    },
    blocks=lambda p: {"v": fs.Direct(["a", "b"], start=0.1)},
    samples=lambda p: fs.Samples(x=p.size * np.array([[1.0, 0.5], [0.2, 1.0]])),
    loss=lambda ops, w, X, p: ops.softplus(-(w.v * X.x).sum(axis=-1)) + p.pull * (w.v * w.v).sum(),
    events={"T": fs.Crossing("v_a", "level", +1)},
    stages=[fs.Stage("first", until="until"), fs.Stage("then", trains=[])],
    t_max=50.0,
)


# every way in for a real: the start, the weights and the data of samples, a threshold and a time that are functions
SHAPED = fs.Model(
    "shaped",
    parameters={
        "start": fs.Real(0.1, -1, 1),
        "share": fs.Real(0.3, -0.5, 1),
        "pull": fs.Real(0.1, 0.01, 1),
        "kinds": fs.Real(2.0, 1, 4),
        "level": fs.Real(0.5, 0.1, 2),
    },
    blocks=lambda p: {"v": fs.Direct(["a", "b"], start=[p.start, 0.1])},
    samples=lambda p: fs.Samples(
        x=np.array([[1.0, 0.5], [0.2, 1.0], [1.0, 1.0]])[: int(p.kinds)],
        weight=np.array([p.share, 1 - p.share] if p.kinds < 3 else [p.share, 0.7 - p.share, 0.3]),
    ),
    loss=lambda ops, w, X, p: ops.softplus(-(w.v * X.x).sum(axis=-1)) + p.pull * (w.v * w.v).sum(),
    events={
        "T": fs.Crossing("v_b", lambda p: 0.2 if p.level < 0.3 else p.level + 0.1 * p.pull, +1),
        "late": fs.Mark(lambda p: 1 + p.level, "later"),
    },
    t_max=50.0,
)


def swept(*axes, **options):
    return make_sweep(PULLED, [parse_axis(a) for a in axes], ["v_a@t=2", "v_b@t=20"], **options)


def alone(sweep):
    """The points of a sweep by themselves: values and outcomes."""
    single = [evaluate_chunk(replace(sweep, chunk_size=1), number) for number in range(sweep.size)]
    return np.concatenate([c.values for c in single], axis=1), np.concatenate([c.outcomes for c in single])


def test_reals_are_columns_and_sizes_are_not():
    assert column_names(PULLED.declaration, "staged") == ("pull", "level", "until", "size", "t_max")
    assert "M" in signal.setup() and column_names(signal.declaration, next(iter(signal.modes)))[-1] == "t_max"
    assert "M" not in column_names(signal.declaration, next(iter(signal.modes)))


def test_points_in_a_column_are_one_problem_with_the_numbers_of_each():
    sweep = swept("pull=0.05:0.5:4", "until=2,5", "size=0.8,1.2")
    setups = [PULLED.setup(pull=a, until=u, size=s) for a in (0.05, 0.5) for u in (2.0, 5.0) for s in (0.8, 1.2)]
    corners = np.ravel_multi_index(np.meshgrid([0, 3], [0, 1], [0, 1], indexing="ij"), sweep.shape).ravel()
    (column,) = columns_of(sweep, points_at(sweep, corners))
    for row, place in enumerate(column.places):
        own = PULLED.problem(setups[place], "L3", "found", sweep.mode)
        for stage, its in zip(column.problem.stages, own.stages, strict=True):
            assert stage.arguments.parameters[row].tolist() == its.arguments.parameters.tolist()
        assert column.problem.stages[0].until[row] == own.stages[0].until
        assert column.problem.initial[row].tolist() == own.initial.tolist()
        assert column.problem.scale[row] == own.scale


def test_blocks_and_samples_are_declared_once_for_points_that_agree_in_what_they_read(monkeypatch):
    made, plain = [], Concrete.__init__
    counted = lambda self, *how, **more: made.append(1) or plain(self, *how, **more)
    sweep = make_sweep(SHAPED, [parse_axis("start=-0.5:0.5:20"), parse_axis("share=0.1:0.9:20")], ["T", "v_a@late"])
    monkeypatch.setattr(Concrete, "__init__", counted)
    found = evaluate_chunk(sweep, 0)
    assert len(made) < 50 and len(np.unique(found.values[1])) > 350


def test_points_with_another_limit_are_posed_apart_and_refused_ones_alone():
    # two samples or three; a share beyond 0 … 1 is refused, which is nobody else's affair
    axes = ("kinds=2,2.5,3", "share=-0.2,0.3,0.6", "start=-0.5,0.2", "level=0.2,0.5,0.9", "pull=0.1,0.3")
    sweep = make_sweep(SHAPED, [parse_axis(a) for a in axes], ["T", "v_a@late", "loss@t=3"])
    whole, (values, outcomes) = evaluate_chunk(sweep, 0), alone(sweep)
    assert len({OUTCOMES[code] for code in outcomes}) == 3 and sum(outcomes == CODES["invalid parameters"]) == 36
    assert outcomes.tobytes() == whole.outcomes.tobytes() and values.tobytes() == whole.values.tobytes()
    assert len(list(columns_of(sweep, points_at(sweep, np.arange(sweep.size))))) == 2


def test_a_time_that_is_refused_at_some_points_is_refused_there_alone():
    early = fs.Model("early", **{**PULLED.given[1], "parameters": {**PULLED.given[1]["parameters"],
                                                                   "until": fs.Real(3.0, -9, 9)}})  # fmt: skip
    sweep = make_sweep(early, [parse_axis("until=-1,-2,2,3")], ["v_a@t=2"])
    found = evaluate_chunk(sweep, 0)
    invalid = CODES["invalid parameters"]
    assert found.outcomes.tolist() == [invalid, invalid, 0, 0] and np.isfinite(found.values[0, 2:]).all()


def test_thresholds_share_a_run(monkeypatch):
    ran = []
    counted = lambda kernel, batch, threads: ran.append(len(batch.initial)) or integrate(kernel, batch, threads)
    monkeypatch.setattr(together, "integrate", counted)
    # v_a starts at 0.1 and settles: three levels are met on the way, one never
    of = lambda **options: make_sweep(
        PULLED, [parse_axis("level=0.2,0.3,0.4,1.9"), parse_axis("pull=0.05,0.1")], ["T", "v_b@T"], **options
    )
    whole = evaluate_chunk(of(), 0)
    assert ran == [2] and np.isfinite(whole.values[0]).tolist() == 6 * [True] + 2 * [False]
    values, outcomes = alone(of())
    assert values.tobytes() == whole.values.tobytes() and outcomes.tobytes() == whole.outcomes.tobytes()


def test_bits_do_not_depend_on_the_columns():
    axes = ("pull=0.05:0.5:5", "until=1.5,5", "size=0.8,1.2")
    whole = evaluate_chunk(swept(*axes), 0)
    assert np.isfinite(whole.values).all() and len(np.unique(whole.values[0])) == 20
    assert alone(swept(*axes))[0].tobytes() == whole.values.tobytes()
