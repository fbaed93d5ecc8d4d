"""The paper's bounds are judged as bounds, also off the default; what does not hold is found by code of our own."""

import json
from functools import cache
from pathlib import Path

import mixture_oracle as oracle
import numpy as np
import pytest
from scipy.stats import binom

import flowsys as fs
from flowsys.claims.conditions import Conditions

S = fs.load("mixture")
CLAIMS = {claim.id: claim for claim in S.claims}


@cache
def verdict(id: str, **parameters: float):
    return CLAIMS[id].check(S, Conditions(parameters=tuple(parameters.items())))


@pytest.mark.parametrize(
    ("id", "parameters"),
    [("E.3", {"T_1": 2.0}), ("E.2", {"T_1": 1000.0}), ("F.3", {"T_1": 1000.0}), ("4.1-T_3", {"T_1": 1000.0}),
     ("4.1-T_3", {"s_star": 0.02}), ("E.6", {"T_1": 1000.0}), ("E.6", {"T_1": 2.0}), ("E.6", {"b": 1.5}),
     ("D.7", {"T_1": 3.0}), ("E.7", {"s_star": 0.02}), ("E.7", {"b": 1.5}), ("4.1-alignments", {"s_star": 0.25}),
     ("sinh_surrogate", {"b": 1.0}), ("stage_2_slope_K", {"s_star": 2.0}), ("4.1-symmetry-v", {"T_1": 100.0})],
)  # fmt: skip
def test_a_bound_holds_away_from_the_default(id, parameters):
    assert str(verdict(id, **parameters).word) == "holds"


def test_beyond_T_2_the_flow_slides_where_the_gate_has_closed():
    """Against the run itself: the preactivation stays 0 from the time that the claim names."""
    found = verdict("E.6-slide", T_1=1000.0).values
    times = found["t"] + 0.01, found["t"] + 50.0
    run = fs.solve(S, S.setup(T_1=1000.0, s_star=20.0), at=[found["t"] - 1.0, *times], rtol=1e-10)
    gate = run["preactivation_minus_conflicting"]
    assert found["t"] == pytest.approx(1203.8, abs=0.1) and found["score"] < found["highest"] < 5
    assert gate[0] > 1e-4 and abs(gate[1:]).max() < 1e-9


def test_along_the_slide_the_score_grows_as_in_a_smoothed_flow_of_our_own():
    """S_cv is 4.794 at t = 1400 and 4.911 at t = 1558: what it is at most depends on where one stops."""
    times, names, flow = [1400.0, 1558.0], oracle.names(), oracle.flow(2, 3, 0.5, stage=2, width=1e-5)
    start = oracle.start(0.1)
    start[:2] = oracle.stage_1_end(1000.0, 2, 0.5)
    _, states, _ = oracle.integrate(flow, start, 1000.0, times, "LSODA", 1e-9, 1e-13)
    own = [(y[names.index("S_cv_mean")] + y[names.index("S_cv_difference")]) / 2 for y in states]
    exact = fs.solve(S, S.setup(T_1=1000.0, s_star=20.0), at=times, observe=["S_cv_same"])["S_cv_same"]
    assert own == pytest.approx(exact, abs=1e-4) and exact == pytest.approx([4.794, 4.911], abs=1e-3)


def test_the_edge_of_condition_1_is_named():
    """At a large bias and ω = 0.3 another score overtakes S_cv before T_2: the claim says where and by how much."""
    found = verdict("E.1-11", b=1.5)
    end = fs.solve(S, S.setup(b=1.5, omega=0.3), at=["T_2"])
    assert str(found.word) == "holds in part" and found.breaks_at["omega"] == 0.3
    assert found.constant == pytest.approx(abs(end["S_vc_same"][0]) / end["S_cv_same"][0], rel=0.05)


# -- what does not hold as printed ------------------------------------------------------------------------------------


@cache
def at_T_1():
    """(w_c, dS/dt by (key, query)) as stage 2 begins, from the four conflicting samples written out by hand."""
    w_c = fs.solve(S, at=["T_1"])["w_c"][0]
    rate = np.zeros((4, 4))  # tokens c_1, c_2, v_1, v_2; S = 0, KK = QQ = ω² I, attention 1/3, g = 1/2
    w = np.array([w_c, w_c, 1.0, 1.0])
    for k in (0, 1):
        for y in (1, -1):
            X = [(k, 1), (2 + k, y), (3 - k, -y)]
            u = np.array([w[i] * s for i, s in X])
            for query, s_query in X:
                for (key, s_key), value in zip(X, u):
                    rate[key, query] += 2 * 0.1**2 * 0.25 * 0.5 * y * (value - u.mean()) / 3 * s_key * s_query
    return w_c, rate


def test_the_rates_at_T_1_are_a_quarter_of_the_appendix_s_and_an_eighth_of_the_display_s():
    w_c, rate = at_T_1()
    unit = 0.5 * 0.1**2 * w_c
    assert rate[0, 2] / unit == pytest.approx(2 / 9) and rate[2, 0] / unit == pytest.approx(-1 / 9)
    assert rate[0, 0] == rate[2, 2] == pytest.approx(0)
    assert verdict("5.5-display").constant == pytest.approx(1 - (2 / 9) / (16 / 9))
    assert verdict("E.5-display").constant == pytest.approx(1 - 1 / 4)


def test_dw_minus_needs_its_own_head_s_attention():
    """dw_-/dt at T_2 by central differences of the loss in w_-, against the printed display."""
    v = fs.solve(S, at=["T_2"]).at("T_2")["values"]
    entry = lambda i, j, h: (v[f"S_{'cv'[i // 2]}{'cv'[j // 2]}_{'same' if i % 2 == j % 2 else 'diff'}"]
                             * (h if (i < 2) != (j < 2) else 1))  # fmt: skip
    scores = {h: np.array([[entry(i, j, h) for j in range(4)] for i in range(4)]) for h in (1, -1)}
    w = {h: np.array([v["w_c"], v["w_c"], h * v["w_v"], h * v["w_v"]]) for h in (1, -1)}
    samples = [[(k, 1), (2 + k, y), (3 - k, s)] for k in (0, 1) for y in (1, -1) for s in (1, -1)]

    def features(X, h):
        total = np.zeros(4)
        for query, s in X:
            a = np.exp([s * t * scores[h][key, query] for key, t in X])
            for (key, t), p in zip(X, a / a.sum()):
                total[key] += t * p
        return total

    def loss(w_minus):
        f = [
            np.maximum(w[1] @ features(X, 1) + 0.5, 0) - np.maximum(w_minus @ features(X, -1) + 0.5, 0) for X in samples
        ]
        return np.mean([np.log1p(np.exp(-X[1][1] * out)) for X, out in zip(samples, f)])

    true = -np.array([(loss(w[-1] + e) - loss(w[-1] - e)) / 2e-5 for e in 1e-5 * np.eye(4)])
    by_hand = {}
    for seen in (1, -1):
        total = np.zeros(4)
        for X in samples:
            y, minus = X[1][1], w[-1] @ features(X, -1) + 0.5
            f = max(w[1] @ features(X, 1) + 0.5, 0) - max(minus, 0)
            total -= y / (1 + np.exp(y * f)) * (minus > 0) * features(X, seen) / 8
        by_hand[seen] = total
    assert by_hand[-1] == pytest.approx(true, abs=1e-8)
    off = np.abs(by_hand[1] - true).max() / np.abs(by_hand[1]).max()
    assert off > 0.1 and verdict("B.1-display").constant == pytest.approx(off, rel=1e-5)


def test_the_second_bound_of_bernstein_fails_for_a_rare_event():
    """Centred Bernoulli(0.01), n = 1e4, t = 90: the tail itself exceeds what is printed."""
    n, q, t = 10_000, 0.01, 90.0
    tail = sum(np.exp(binom.logpmf(np.arange(191, 400), n, q)))
    V, M = n * q * (1 - q), 1 - q
    printed = np.exp(-min(t**2 / (2 * V), t / (2 * M)))
    assert (
        tail / printed == pytest.approx(verdict("H.1-second").values["probability"], rel=1e-6) and tail > 100 * printed
    )
    assert tail <= np.exp(-min(t**2 / (4 * V), 3 * t / (4 * M)))


def test_the_printed_construction_answers_plus_whatever_the_label():
    """Lemma 6.1's proof at C → ∞: every query attends to what its largest score points at."""
    c, v = np.eye(4)[:2], np.eye(4)[2:]
    for y in (1, -1):
        X = [c[0], y * v[0], v[1]]
        f = 0.0
        for sign in (1, -1):
            scores = sign * 120 * v.T @ c + 60 * (c.T @ c + v.T @ v)
            for query in X:
                a = np.array([key @ scores @ query for key in X])
                p = np.exp(a - a.max()) / np.exp(a - a.max()).sum()
                f += sign * sum(w * v.sum(axis=0) @ key for w, key in zip(p, X))
        assert f == pytest.approx(1)
    assert str(verdict("6.1-printed").word) == "does not hold" and str(verdict("6.1").word) == "holds"


def test_frozen_neurons_keep_the_loss_of_a_descent_of_our_own():
    """Appendix A.2: attention alone, trained by hand-written gradients from the same weights, ends where ours does."""
    setup = S.setup("attention_only", width=50, seed=3)
    start = fs.start(S, setup, level="L1", mode="attention_only")
    w, K, Q, η = start["w"], start["W_K"].copy(), start["W_Q"].copy(), setup["learning_rate"]
    samples = [(y, [(k, 1), (2 + k, y), (3 - k, s)]) for k in (0, 1) for y in (1, -1) for s in (1, -1)]
    tokens = [(y, np.array([s * np.eye(4)[i] for i, s in X])) for y, X in samples]

    def step():
        scores, gradient, loss = np.swapaxes(K, 1, 2) @ Q, np.zeros((2, 4, 4)), 0.0
        for y, X in tokens:
            H, slopes = [], []
            for h in (0, 1):
                p = np.exp(X @ scores[h] @ X.T)
                p /= p.sum(axis=0)
                v = X @ w[h]
                H.append((v @ p).sum() + setup["b"])
                slopes.append(X.T @ (p * (v[:, None] - v @ p)) @ X)
            f = max(H[0], 0) - max(H[1], 0)
            loss += np.log1p(np.exp(-y * f)) / 8
            for h, sign in ((0, 1), (1, -1)):
                gradient[h] -= y * sign * (H[h] > 0) * slopes[h] / (8 * (1 + np.exp(y * f)))
        return gradient, loss

    for _ in range(400):
        G, _ = step()
        K, Q = K - η * Q @ np.swapaxes(G, 1, 2), Q - η * K @ G
    trained = fs.train(S, setup, mode="attention_only", steps=400, records=1, observe=["loss"])
    assert step()[1] == pytest.approx(float(np.ravel(trained["loss"])[-1]), rel=1e-9) and step()[1] > 0.095


@pytest.mark.parametrize(("K", "L", "end"), [(2, 3, 300.0), (3, 3, 450.0), (2, 4, 300.0), (3, 4, 500.0)])
def test_what_is_seen_when_everything_trains_is_seen_in_a_flow_of_our_own(K, L, end):
    """Figs. 1, 5 and Observation 1: consistent samples, then scores with the conflicting ones; K = 3 later than 2."""
    flow, times = oracle.flow(K, L, 0.5, width=1e-5), np.linspace(0.5, end, 1000)
    _, states, _ = oracle.integrate(flow, oracle.start(0.1), 0.0, times, "LSODA", 1e-8, 1e-13)
    losses = np.logaddexp(-np.array([flow.outputs(y) for y in states]), 0)
    S = np.array(
        [oracle.same_and_diff(oracle.unpack(y)[1][:, 0], K) for y in states]
    )  # [time, same | diff, key, query]
    mean = lambda kind: losses[:, kind] @ flow.pop.probability[kind] / flow.pop.probability[kind].sum()
    first = lambda marks: times[np.argmax(marks)] if marks.any() else np.inf
    easy, hard = (first(mean(kind) < np.log(2) / 2) for kind in ((flow.pop.sign > 0).all(axis=1), flow.pop.is_hard))
    moved, learnt = first(S[:, 0, 0, 1] > 0.5), first(losses @ flow.pop.probability < 0.01)
    assert 2 * easy < hard and 1 / 1.25 < hard / moved < 1.25 and learnt < end
    if L == 3:  # with two distractors S_vv is not far behind, and nobody says that it is
        assert S[-1, 0, 0, 1] > 2 * np.abs(S[-1, :, [0, 1, 1], [0, 0, 1]]).max() and S[-1, 1, 0, 1] < -0.1
    ours = fs.solve("mixture", mode="simultaneous", K=K, L=L, at=[end], kink_width=1e-5).at(end)["values"]
    for i, part in enumerate(("same", "diff")):
        scores = [[ours[f"S_{key}{query}_{part}"] for query in "cv"] for key in "cv"]
        np.testing.assert_allclose(S[-1, i], scores, rtol=1e-4, atol=1e-6)
    assert (abs(S[-1, 0, 0, 1] + S[-1, 1, 0, 1]) > 0.1 * S[-1, 0, 0, 1]) == (K > 2)  # near symmetry
    claimed = verdict("observation_1" if L == 3 else "observation_1-longer").values["learnt"]
    assert learnt == pytest.approx(claimed[K - 2], rel=5e-3)


MEASURED_AGAIN = {
    "5.5-display": "claims:the_rates_at_T_1_are_a_quarter_of_the_appendix_s_and_an_eighth_of_the_display_s",
    "E.5-display": "claims:the_rates_at_T_1_are_a_quarter_of_the_appendix_s_and_an_eighth_of_the_display_s",
    "6.1-printed": "claims:the_printed_construction_answers_plus_whatever_the_label",
    "B.1-display": "claims:dw_minus_needs_its_own_head_s_attention",
    "H.1-second": "claims:the_second_bound_of_bernstein_fails_for_a_rare_event",
    "A.2": "claims:frozen_neurons_keep_the_loss_of_a_descent_of_our_own",
    "longer_limit": "small_bias:a_finite_width_leaves_the_limit_where_gates_nearly_share_a_surface",
    "phase_predictor": "small_bias:stage_1_alone_predicts_a_sign_that_our_own_flow_has",
    "small_bias-longer": "small_bias:smoothed_kinks_are_stuck_by_our_own_flow_too",
} | dict.fromkeys(
    ("figure_1", "observation_1", "observation_1-longer", "observation_1-stages", "observation_1-symmetry"),
    "claims:what_is_seen_when_everything_trains_is_seen_in_a_flow_of_our_own",
)


def test_every_claim_that_does_not_simply_hold_is_measured_again_by_other_code():
    record = json.loads((Path(fs.__file__).parent / "systems/mixture/verdicts.json").read_text())
    assert {id for id, entry in record.items() if entry["verdict"] != "holds"} == set(MEASURED_AGAIN)
    for file, name in (place.split(":") for place in MEASURED_AGAIN.values()):
        assert f"def test_{name}(" in (Path(__file__).parent / f"test_mixture_{file}.py").read_text()
