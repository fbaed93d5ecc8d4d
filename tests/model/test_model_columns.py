"""Sweeps of declared models in columns: reals that are but numbers share a problem, others do not."""

import numpy as np
from signal_model import signal

import flowsys as fs
from flowsys.kernels import integrate
from flowsys.model.columns import column_names
from flowsys.sweeps import make_sweep, parse_axis, together
from flowsys.sweeps.columns import columns_of
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


def swept(*axes, **options):
    return make_sweep(PULLED, [parse_axis(a) for a in axes], ["v_a@t=2", "v_b@t=20"], **options)


def test_reals_that_shape_blocks_or_samples_are_no_columns():
    assert column_names(PULLED.declaration, PULLED.setup(), "staged") == ("pull", "level", "until", "t_max")
    assert column_names(signal.declaration, signal.setup(), next(iter(signal.modes))) == ("t_max",)


def test_points_in_a_column_are_one_problem_with_the_numbers_of_each():
    sweep = swept("pull=0.05:0.5:4", "until=2,5", "size=0.8,1.2")
    setups = [PULLED.setup(pull=a, until=u, size=s) for a in (0.05, 0.5) for u in (2.0, 5.0) for s in (0.8, 1.2)]
    corners = np.ravel_multi_index(np.meshgrid([0, 3], [0, 1], [0, 1], indexing="ij"), sweep.shape).ravel()
    found = list(columns_of(sweep, points_at(sweep, corners)))
    assert sorted(len(column.places) for column in found) == [4, 4]
    for column in found:
        for row, place in enumerate(column.places):
            alone = PULLED.problem(setups[place], "L3", "found", sweep.mode)
            for stage, own in zip(column.problem.stages, alone.stages, strict=True):
                assert stage.arguments.parameters[row].tolist() == own.arguments.parameters.tolist()
            assert column.problem.stages[0].until[row] == alone.stages[0].until
            assert column.problem.initial.tolist() == alone.initial.tolist()


def test_thresholds_share_a_run(monkeypatch):
    ran = []
    counted = lambda kernel, batch, threads: ran.append(len(batch.initial)) or integrate(kernel, batch, threads)
    monkeypatch.setattr(together, "integrate", counted)
    # v_a starts at 0.1 and settles: three levels are met on the way, one never
    of = lambda **options: make_sweep(
        PULLED, [parse_axis("level=0.2,0.3,0.4,1.9"), parse_axis("pull=0.05,0.1")], ["T", "v_b@T"], **options
    )
    whole, single = evaluate_chunk(of(), 0), of(chunk_size=1)
    assert ran == [2] and np.isfinite(whole.values[0]).tolist() == 6 * [True] + 2 * [False]
    alone = [evaluate_chunk(single, number) for number in range(single.n_chunks)]
    assert np.concatenate([chunk.values for chunk in alone], axis=1).tobytes() == whole.values.tobytes()
    assert np.concatenate([chunk.outcomes for chunk in alone]).tobytes() == whole.outcomes.tobytes()


def test_bits_do_not_depend_on_the_columns():
    axes = ("pull=0.05:0.5:5", "until=1.5,5", "size=0.8,1.2")
    whole, single = evaluate_chunk(swept(*axes), 0), swept(*axes, chunk_size=1)
    alone = np.concatenate([evaluate_chunk(single, number).values for number in range(single.n_chunks)], axis=1)
    assert np.isfinite(whole.values).all() and len(np.unique(whole.values[0])) == 20
    assert alone.tobytes() == whole.values.tobytes()
