"""The gradients of Appendix B.1, as printed and as they should read."""

import numpy as np

from flowsys.claims import Claim, Erratum, Identity, Kit
from flowsys.systems.mixture.claims.measured import (
    SEEN,
    all_samples,
    matrix_of,
    neurons_of,
    outputs,
    rates,
    row_of,
    slope_of_loss,
)
from flowsys.systems.mixture.claims.regimes import SIZES
from flowsys.systems.mixture.margin import head_features


def neuron_gradient(run: Kit, head: int, attends: int) -> tuple[np.ndarray, np.ndarray]:
    """dw_±/dt at T_2 as stage 3 begins, and ±E[g y σ̇_± Σ_l X p_l] with the attention of the head `attends`."""
    run.reached("T_2")
    X, there = all_samples(2, 3), run.run("T_2", observe=SEEN)
    v, rate = row_of(there, 0), rates(there, 2)
    heads = {h: (neurons_of(v, 2, h), matrix_of(v, 2, h)) for h in (1, -1)}
    f, H = outputs(X, heads, run.p.b)
    weight = head * X.weight * slope_of_loss(X.y * f) * X.y * (H[head] > 0)
    return neurons_of({name: rate[name][0] for name in ("w_c", "w_v")}, 2, head), weight @ head_features(
        X, heads[attends][1]
    )


def _of(head: int, seen: int):
    return lambda run, attends=seen: neuron_gradient(run, head, attends)


CLAIMS = [
    Claim("B.1", "Appendix B.1", "dw_+/dt = E[g y σ̇_+ Σ_l X p_l^(+)]", Identity(1e-9), _of(1, seen=1), regime=SIZES,
          what="display", levels="L3", control={"attends": -1}),
    Claim("B.1-display", "Appendix B.1", "dw_-/dt = -E[g y σ̇_- Σ_l X p_l^(+)] as printed", Identity(1e-9),
          _of(-1, seen=1), regime=SIZES, what="display", levels="L3", control={"attends": -1},
          erratum=Erratum("p^(+) in dw_-/dt", "p^(-)", "harmless", "B.1-corrected")),
    Claim("B.1-corrected", "Appendix B.1 [ours]", "dw_-/dt = -E[g y σ̇_- Σ_l X p_l^(-)]", Identity(1e-9),
          _of(-1, seen=-1), regime=SIZES, levels="L3", control={"attends": 1}),
]  # fmt: skip
