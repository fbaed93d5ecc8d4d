"""Finite width: the closure, its conserved spectrum, symmetry, and deviations from the limit (Appendices B, C, G)."""

import jax
import jax.numpy as jnp
import numpy as np

from flowsys.claims import Claim, Identity, Kit, Order, Path, Sides
from flowsys.model.flows import Weights, seen_of, weight_shapes
from flowsys.runs.asking import field
from flowsys.systems.mixture import SYSTEM
from flowsys.systems.mixture.claims.measured import (
    ENTRIES,
    SEEN,
    all_samples,
    matrix_of,
    neurons_of,
    outputs,
    rates,
    row_of,
    slope_of_loss,
    stage_2,
)
from flowsys.systems.mixture.claims.regimes import BOUNDED_SCORES, SIZES, SMALLER_OMEGA, TWO_GROUPS
from flowsys.systems.mixture.margin import attention

WIDTHS = Path("width", (128, 256, 512, 1024, 2048, 4096, 8192))
SEEDS = 24


def closure(run: Kit, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """B.2: the rate of the inner products, pushed forward from random weights, and the reduced field."""
    setup, mode = run.setup, "simultaneous"
    concrete = SYSTEM.concrete(setup, "L2", mode)
    weights, coordinates = Weights(weight_shapes(concrete, setup["width"])), concrete.coordinates
    on_weights, closed = (field(SYSTEM, setup, level=level, mode=mode) for level in ("L1", "L2"))
    with jax.enable_x64(True):
        y = jnp.asarray(np.random.default_rng(0).normal(scale=0.5, size=weights.size))
        inner = jax.jit(lambda y: coordinates.join(seen_of(concrete, weights.split(y)), jnp))
        state, pushed = jax.jvp(inner, (y,), (jnp.asarray(on_weights(y)),))
        seen = coordinates.split(state)
        wider = seen | {"S": scale * seen["S"], "QQ": scale**2 * seen["QQ"]}
        return closed(coordinates.join(wider, jnp)), np.asarray(pushed)


def weights_and_inner_products(run: Kit, seed: int = 0) -> dict[str, Sides]:
    """B.2 integrated: gradient flow on the weights (L1) and the reduced flow (L2) at T_1 and T_2, and the time T_2."""
    kit = run.at(rtol=1e-11)
    reduced, weights = (kit.at(level=level, seed=s).run("T_1", "T_2", observe=ENTRIES) for level, s in
                        (("L2", seed), ("L1", 0)))  # fmt: skip
    table = lambda there: np.array([there[name] for name in ENTRIES]).ravel()
    return {"entries": Sides(table(weights), table(reduced)), "T_2": Sides(weights.t[1], reduced.t[1])}


def conserved(run: Kit, quantity: str = "spectrum") -> dict[str, Sides]:
    """[ours] The drift of the spectrum of [[KK, -S], [Sᵀ, -QQ]] to t = 150, in the limit and at m = 20."""
    found = {"limit": run.run(0.0, 150.0, observe=ENTRIES), "m = 20": run.at(level="L2", width=20).run(
        0.0, 150.0, observe=ENTRIES)}  # fmt: skip
    run.note(score=found["limit"]["S_cv_same"][-1])
    drift = lambda there: there.statistics["conserved_drift"]
    if quantity == "keys":
        drift = lambda there: abs(np.diff(there["KK_cc_same"])[0])
    return {name: Sides(drift(there), 0.0) for name, there in found.items()}


def ten_and_twenty_two_variables(run: Kit, omega: float = 0.1) -> dict[str, Sides]:
    """[ours] At infinite width KK and QQ are functions of S: every observable with 22 and with 10 variables."""
    found = {}
    for mode, at in (("three_stage", "T_2"), ("simultaneous", 300.0)):
        full, short = (run.at(mode=mode, rtol=1e-11, omega=ω).run(at, observe=SEEN, variant=v)
                       for v, ω in (("22", 0.1), ("10", omega)))  # fmt: skip
        found[mode] = Sides([short[name][0] for name in SEEN], [full[name][0] for name in SEEN])
    return found


def _symmetric_state(K: int, v: dict[str, float]) -> np.ndarray:
    """The unlumped coordinates of both heads from the limit's entries."""
    seen = {name: np.array([matrix_of(v, K, h, name) for h in (1, -1)]) for name in ("S", "KK", "QQ")}
    seen["w"] = np.array([neurons_of(v, K, h) for h in (1, -1)])
    return SYSTEM.concrete(SYSTEM.setup(K=K), "L2", "simultaneous").coordinates.join(seen)


def field_on_the_symmetric_subspace(run: Kit, asymmetry: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """C.2–C.5: the unlumped field at a symmetric state of the limit, and the limit's own."""
    K, L = run.p.K, run.p.L
    there = run.run(60.0 * K, observe=ENTRIES)
    y = _symmetric_state(K, row_of(there, 0))
    y = y + asymmetry * (np.arange(len(y)) == 0)
    own = _symmetric_state(K, {name: rate[0] for name, rate in rates(there, 0).items()})
    return field(SYSTEM, SYSTEM.setup(K=K, L=L, b=run.p.b), level="L2", mode="simultaneous")(y), own


def _gradient(X, v: dict[str, float], b: float) -> np.ndarray:
    """G = ∂L/∂S of the positive head on the conflicting samples: -E[g y σ̇ Σ_li p_il (w·x_i - ū_l) x_i x_lᵀ]."""
    heads = {h: (neurons_of(v, 2, h), matrix_of(v, 2, h)) for h in (1, -1)}
    f, H = outputs(X, heads, b)
    share = X.weight * (X.hard > 0) / X.weight[X.hard > 0].sum() * slope_of_loss(X.y * f) * X.y * (H[1] > 0)
    (w, S), values = heads[1], heads[1][0][X.keys] * X.signs
    p = attention(X, S)
    slope = p * (values[:, :, None] - (p * values[:, :, None]).sum(axis=1, keepdims=True))
    tokens = np.zeros((len(X.y), X.keys.shape[1], len(w)))
    np.put_along_axis(tokens, X.keys[:, :, None], X.signs[:, :, None], axis=2)
    return -np.einsum("n,nil,nia,nlb->ab", share, slope, tokens, tokens)


def norm_of_the_system(run: Kit, power: float = 0.0) -> float:
    """App. G: the largest row sum |A(t)|_∞ on (T_1, T_2] of d/dt (S, KK, QQ) = A (S, KK, QQ).

    Rows of S have |G|'s column and row, rows of KK two rows of G, rows of QQ two columns.
    """
    X, there, largest = all_samples(2, 3), stage_2(run), 0.0
    for i in range(0, len(there), 4):
        G = np.abs(_gradient(X, row_of(there, i), run.p.b))
        rows, columns = G.sum(axis=1), G.sum(axis=0)
        largest = max(largest, rows.max() + columns.max(), 2 * rows.max(), 2 * columns.max())
    return largest / run.p.omega**power


def _deviation(run: Kit, when: str | float, limit: dict[str, float], scale: float, block: str = "S") -> float:
    """rms over seeds of the largest deviation of a score (or neuron) of either head from the limit's."""
    of = (lambda h: matrix_of(limit, 2, h)) if block == "S" else (lambda h: neurons_of(limit, 2, h))
    expected, found = scale * np.array([of(h) for h in (1, -1)]), []
    for kit in run.at(level="L2", rtol=1e-8).over_seeds(SEEDS):
        there = kit.run(when, observe=("S_cv_same",))
        if there.at(when)["reached"]:
            found.append(np.abs(there.blocks(when)[block] - expected).max())
    return float(np.sqrt(np.mean(np.square(found))))


def deviation_of_scores(run: Kit, scale: float = 1.0) -> dict[str, float]:
    """G: |S - S_∞| at each run's own T_2, and at the limit's T_2 with stage 2 going on until then."""
    limit = run.at(level="L3")
    v, t, on = limit.values("T_2", observe=SEEN), limit.time("T_2"), run.at(s_star=4.0)
    return {"at its own T_2": _deviation(run, "T_2", v, scale), "at the limit's T_2": _deviation(on, t, v, scale)}


def deviation_in_simultaneous_training(run: Kit, scale: float = 1.0) -> float:
    """[ours] |S - S_∞| at t = 100."""
    return _deviation(run, 100.0, run.at(level="L3").values(100.0, observe=SEEN), scale)


def deviation_of_neurons(run: Kit, scale: float = 1.0) -> float:
    """[ours] |w - w_∞| at T_1."""
    return _deviation(run, "T_1", run.at(level="L3").values("T_1", observe=SEEN), scale, "w")


ROOT = Order("O", lambda p: p.width**-0.5)
CLAIMS = [
    Claim("B.2", "Appendix B.2", "the flow of the inner products closes at every width", Identity(1e-13), closure,
          at=[{"K": 2, "L": 3, "width": 3}, {"K": 3, "L": 4, "width": 7}], what="display", takes="", is_cheap=False,
          control={"scale": 1.01}),
    Claim("B.2-integrated", "Appendix B.2", "flow on weights = flow on inner products, through T_2", Identity(1e-8),
          weights_and_inner_products, at={"width": 6}, what="display", takes="", is_cheap=False, control={"seed": 1}),
    Claim("conserved_spectrum", "Appendix B.2 [ours]", "the spectrum of [[KK, -S], [Sᵀ, -QQ]] is kept at any width",
          Identity(1e-7, relative=False), conserved, mode="simultaneous", takes="", is_cheap=False,
          control={"quantity": "keys"}, note="while S_cv grows to {score:.3g}"),
    Claim("ten_variables", "Definition 5.1 [ours]", "10 variables carry the infinite-width flow", Identity(1e-9),
          ten_and_twenty_two_variables, takes="", levels="L3", control={"omega": 0.1001}),
    Claim("C.2-C.5", "Lemmas C.2, C.4, Corollaries C.3, C.5, Eqs. (3)–(10)",
          "symmetry between groups and heads is kept", Identity(1e-12), field_on_the_symmetric_subspace,
          regime=SIZES, mode="simultaneous", takes="", is_cheap=False, control={"asymmetry": 1e-6}),
    Claim("C.2-C.5-groups", "Lemmas C.2, C.4, Corollaries C.3, C.5", "it is kept for every K and L tried",
          Identity(1e-12), field_on_the_symmetric_subspace, at=[{"K": 3, "L": 3}, {"K": 3, "L": 4}, {"K": 4, "L": 3}],
          sharpens="C.2-C.5", mode="simultaneous", takes="", is_cheap=False, control={"asymmetry": 1e-6}),
    Claim("G-norm", "Appendix G", "|A(t)|_∞ = O(1) in stage 2", Order("O"), norm_of_the_system, path=SMALLER_OMEGA,
          regime=BOUNDED_SCORES, levels="L3", control={"power": 1.0}),
    Claim("G", "Appendix G, Definition 5.1", "|S - S_∞| = O(m^-1/2) in stage 2", ROOT, deviation_of_scores, path=WIDTHS,
          regime=TWO_GROUPS, takes="omega b T_1", is_cheap=False, control={"scale": 1.2}),
    Claim("G-omega", "Appendix G", "|S - S_∞| √m grows at most like a power of 1/ω (the first is taken)",
          Order("O", lambda p: 1 / p.omega), deviation_of_scores, at={"width": 8192},
          path=Path("omega", (0.3, 0.1, 0.03, 0.01)), regime=TWO_GROUPS, takes="b T_1", is_cheap=False,
          control={"kind": Order("O", lambda p: p.omega)}),
    Claim("G-omega-law", "Appendix G", "it does not grow with 1/ω at all", Order("O"), deviation_of_scores,
          at={"width": 8192}, path=Path("omega", (0.3, 0.1, 0.03, 0.01)), regime=TWO_GROUPS, sharpens="G-omega",
          takes="b T_1", is_cheap=False, control={"kind": Order("O", lambda p: p.omega)}),
    Claim("G-simultaneous", "Appendix G", "|S - S_∞| = O(m^-1/2) at t = 100 of simultaneous training, L = 3", ROOT,
          deviation_in_simultaneous_training, path=WIDTHS, regime=SIZES, mode="simultaneous", sharpens="G",
          takes="omega b", is_cheap=False, control={"scale": 1.2}),
    Claim("stage_1_width", "Appendix G", "|w - w_∞| = O(ω² m^-1/2) at T_1",
          Order("O", lambda p: p.omega**2 * p.width**-0.5), deviation_of_neurons, path=WIDTHS, regime=SIZES,
          at=[{"omega": ω} for ω in (0.3, 0.1, 0.03)], sharpens="G", takes="b T_1", is_cheap=False,
          control={"scale": 1.02}),
]  # fmt: skip
