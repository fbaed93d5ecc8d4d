"""Radau IIA with seven stages, of order 13: nodes, the eigensystem of its matrix, and the error estimate.

Collocation at the nodes c of the right Radau quadrature, y(c_i) - y_0 = z_i with z = h A f (E. Hairer & G. Wanner,
Solving Ordinary Differential Equations II, 2nd ed. 1996, IV.5 and IV.8). With A⁻¹ = T Λ T⁻¹ the linear systems of a
Newton step fall apart into one real and three complex ones, (λ/h - J) w = r: `SYSTEMS` of them, each with its own λ.

The estimate compares with the quadrature that has the weight 1/λ_0 at the beginning of the step, of order 7, smoothed
by the real system: (λ_0/h - J)⁻¹ (f_0 + λ_0/h Σ e_i z_i).
"""

from dataclasses import dataclass
from functools import lru_cache

STAGES, SYSTEMS, MIDDLE = 7, 4, 3
_DIGITS = 50


@dataclass(frozen=True)
class Collocation:
    """All numbers of the method: `into` is T⁻¹ (systems × stages), `out` gives z_i = Σ_q Re(out_iq w_q)."""

    nodes: tuple[float, ...]
    eigenvalues: tuple[complex, ...]
    into: tuple[tuple[complex, ...], ...]
    out: tuple[tuple[complex, ...], ...]
    estimate: tuple[float, ...]
    # 1/Π(x_k - x_m) over the nodes 0, c_1 … c_7: the weights of Lagrange's interpolation
    barycentric: tuple[float, ...]


@lru_cache(maxsize=1)
def collocation() -> Collocation:
    """The coefficients, found to fifty digits and rounded."""
    import mpmath
    from numpy.polynomial import Legendre

    context = mpmath.MPContext()
    context.dps = _DIGITS
    guesses = sorted((Legendre.basis(STAGES) - Legendre.basis(STAGES - 1)).roots().real)[:-1]
    polynomial = lambda x: context.legendre(STAGES, x) - context.legendre(STAGES - 1, x)
    nodes = [*((context.findroot(polynomial, context.mpf(x)) + 1) / 2 for x in guesses), context.mpf(1)]
    powers, integrals = context.matrix(STAGES, STAGES), context.matrix(STAGES, STAGES)
    for i, c in enumerate(nodes):
        for k in range(STAGES):
            powers[i, k], integrals[i, k] = c**k, c ** (k + 1) / (k + 1)
    inverse = (integrals * powers**-1) ** -1
    values, vectors = context.eig(inverse)
    into = vectors**-1
    small = context.mpf(10) ** (-_DIGITS // 2)
    chosen = [i for i in range(STAGES) if abs(values[i].imag) < small]
    chosen += sorted((i for i in range(STAGES) if values[i].imag > small), key=lambda i: values[i].real)
    first = values[chosen[0]].real
    # Σ b̂_i c_i^k = 1/(k+1), with the weight 1/λ_0 at 0; e = (b̂ - b) A⁻¹
    moments = context.matrix([context.mpf(1) / (k + 1) - (1 / first if k == 0 else 0) for k in range(STAGES)])
    embedded = context.lu_solve(powers.T, moments)
    weights = (integrals * powers**-1)[STAGES - 1, :]
    estimate = context.matrix([[embedded[i] - weights[i] for i in range(STAGES)]]) * inverse
    points = [context.mpf(0), *nodes]
    return Collocation(
        nodes=tuple(float(c) for c in nodes),
        eigenvalues=tuple(complex(values[q]) if k else complex(first) for k, q in enumerate(chosen)),
        into=tuple(tuple(_scaled(into[q, i], vectors, q, k) for i in range(STAGES)) for k, q in enumerate(chosen)),
        out=tuple(
            tuple(_out(vectors[i, q] / vectors[STAGES - 1, q], k) for k, q in enumerate(chosen)) for i in range(STAGES)
        ),
        estimate=tuple(float(estimate[i] * first) for i in range(STAGES)),
        barycentric=tuple(float(1 / context.fprod(x - other for other in points if other is not x)) for x in points),
    )


def _scaled(entry, vectors, q: int, k: int) -> complex:
    """An entry of T⁻¹ where the eigenvectors end in 1."""
    value = entry * vectors[STAGES - 1, q]
    return complex(value) if k else complex(float(value.real))


def _out(entry, k: int) -> complex:
    """z_i = Re(Σ out w): of a pair of conjugate systems only one is solved, so it counts twice."""
    return 2 * complex(entry) if k else complex(float(entry.real))
