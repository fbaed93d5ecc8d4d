"""Linear attention, trained on in-context regression, learns the inverse of a covariance.

A prompt holds N pairs (x_i, y_i = wᵀx_i) and a query x, with x ~ N(0, Λ) and a new w ~ N(0, I) for each prompt. Linear
self-attention with value weight u and merged key-query matrix U answers u (1/N) Σ_i y_i x_iᵀ U x = u wᵀ C U x with
C = (1/N) Σ_i x_i x_iᵀ; the other entries of its matrices start at 0 and stay there (Zhang, Frei, Bartlett, "Trained
transformers learn linear models in-context", JMLR 25 (2024), Lemma 5.2). Since E[C²] = ΓΛ with
Γ = (1 + 1/N) Λ + (1/N) tr(Λ) I, half the squared error over all prompts is, in closed form,

    L(U, u) = ½ u² tr(ΓΛ U Λ Uᵀ) - u tr(Λ U Λ) + ½ tr Λ.

From U = σ ΘΘᵀ, u = σ with ‖ΘΘᵀ‖ = 1 and ΘΛ ≠ 0, if σ² ‖Γ‖_op √d < 2, gradient flow keeps u² = ‖U‖² (Frobenius) and
ends at U = Γ⁻¹ / tr(Γ⁻²)^¼, u = tr(Γ⁻²)^¼ (Theorem 4.1). The axes are those of Λ, whose eigenvalues lie evenly between
`smallest` and 1. To try:

    flowsys phase --from examples/linear_attention.py --x N=2:200:50:log --y smallest=0.05:1:50 --observable T_half
"""

from types import SimpleNamespace

import numpy as np

import flowsys as fs


def covariance(p) -> list:
    """The eigenvalues of Λ."""
    return [p.smallest + (1 - p.smallest) * i / (p.d - 1) for i in range(p.d)]


def gamma(p) -> list:
    """The eigenvalues of Γ."""
    return [(1 + 1 / p.N) * one + sum(covariance(p)) / p.N for one in covariance(p)]


def theta(d: int) -> np.ndarray:
    """ΘΘᵀ of norm 1, not diagonal."""
    Θ = np.eye(d) + 0.5 * np.tri(d)
    return Θ @ Θ.T / np.linalg.norm(Θ @ Θ.T)


def loss(ops, w, X, p):
    Λ, Γ = ops.array(covariance(p)), ops.array(gamma(p))
    quadratic = ops.einsum("i,ij,j->", Γ * Λ, w.U * w.U, Λ)
    return w.u * w.u * quadratic / 2 - w.u * ops.einsum("i,ii->", Λ * Λ, w.U) + Λ.sum() / 2


def gain(ops, w, X, p):
    """What is learned of what can be learned: 0 at zero weights, 1 at the minimum, where L = ½ tr Λ - ½ tr(Λ² Γ⁻¹)."""
    most = sum(a * a / b for a, b in zip(covariance(p), gamma(p))) / 2
    return (sum(covariance(p)) / 2 - loss(ops, w, X, p)) / most


model = fs.Model(
    "linear_attention",
    summary="linear attention, trained on in-context regression",
    parameters={
        "d": fs.Size(3, 2, 6, "dimension of the inputs"),
        "N": fs.Real(20.0, 1.0, 1e4, "pairs in a prompt", log=True),
        "smallest": fs.Real(0.3, 0.01, 1.0, "least eigenvalue of Λ; the largest is 1"),
        "sigma": fs.Real(0.1, 1e-4, 0.5, "scale σ of the start", log=True),
    },
    blocks=lambda p: {"U": fs.Direct(p.d, p.d, start=p.sigma * theta(p.d)), "u": fs.Direct(start=p.sigma)},
    loss=loss,
    observe={"gain": gain},
    events={"T_half": fs.Crossing("gain", 0.5, +1, "half is learned")},
    t_max=1e4,
)


def distance_to_limit(**parameters) -> float:
    """How far U and u end from Theorem 4.1, in their largest entry."""
    setup = model.setup(**parameters)
    end, Γ = fs.solve(model, setup, at=[1e4], rtol=1e-10).blocks(1e4), np.array(gamma(SimpleNamespace(**setup)))
    scale = (Γ**-2.0).sum() ** 0.25
    return float(max(np.abs(end["U"] - np.diag(1 / Γ) / scale).max(), abs(end["u"] - scale)))


if __name__ == "__main__":
    print(f"distance to the limit of Theorem 4.1: {distance_to_limit():.1e}, with N = 3: {distance_to_limit(N=3):.1e}")
    print(fs.compare(model))
