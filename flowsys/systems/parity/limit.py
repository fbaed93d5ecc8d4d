"""The infinite-width limit stated block by block: losses on the fewest coordinates, and their metrics (level L3).

While gates are frozen and no margin has reached 1, positions n+1 and n+2 form one block of 16 coordinates and every
later position i a system of its own in (g, u, v, w). Each is dy/dt = -metric ∂L/∂y with a constant metric: the entry
of a coordinate is 1 over the number of weights it stands for (times 1/(8m) for the neurons' part), and the common mode
of the gate overlaps Γ = (I + 11ᵀ)/(8m) couples the two coordinates on the tokens of S[n+1]. All start at 0.

Key kinds at i ≥ n+3: target, N_o ordinary, N_w sure. Key kinds at n+2 for query bit 0 (query bit 1 is its mirror
image): x_β = (S[n+2], β), z = (S[n+1], 0), o = N_o ordinary, e = end of sequence, f = own token.
"""

from fractions import Fraction

from flowsys.model import ops as jax_ops
from flowsys.systems.parity.model import loss_of_margin

HALF = Fraction(1, 2)  # exact on numbers and on symbols alike
POSITION_STATE = ("g", "u", "v", "w")
BLOCK_STATE = (
    *("g_1", "u_1", "v_1", "w_1"),
    *("K_x0", "K_x1", "K_z", "K_o", "K_e", "K_f"),
    *("a_x0", "a_x1", "a_z", "a_o", "a_e", "a_f"),
)


def key_counts(n, k: int, i):
    """(N_o, N_w): ordinary and sure keys at query position i, for k = 1 (i = n+1) or i ≥ n+3."""
    return (n - 1, 1) if k == 1 else (i - 3, 2)


def target_attention(u, v, w, n_ordinary, n_sure, ops=jax_ops):
    """Attention on S[i]."""
    return ops.softmax(ops.stack([u, v, w]), ops.array([1, n_ordinary, n_sure]))[0]


def position_loss(y, n_ordinary, n_sure, kind: str = "linear", ops=jax_ops):
    """Loss of one position, (g, u, v, w) -> ℓ(s g): the margin without the common mode, whose mean is 0."""
    g, u, v, w = y
    return loss_of_margin(ops, target_attention(u, v, w, n_ordinary, n_sure, ops) * g, kind)


def position_copies(m, n_ordinary, n_sure, query_bits):
    """How many weights (g, u, v, w) each stand for: both bits of a token, one or two bits of the query.

    `query_bits` is 2 at i ≥ n+3, and 1 for k = 1, where the only query token is (n+1, 0).
    """
    return (8 * m * query_bits**2, 2 * query_bits, 2 * query_bits * n_ordinary, query_bits * n_sure)


def block_margins(y, n, ops=jax_ops):
    """Margins at n+1, and at n+2 for β = 0 and 1."""
    g_1, u_1, v_1, w_1, K_x0, K_x1, K_z, K_o, K_e, K_f, a_x0, a_x1, a_z, a_o, a_e, a_f = y
    first = target_attention(u_1, v_1, w_1, n - 1, 1, ops) * g_1
    counts = ops.array([1, 1, n - 2, 1, 1])
    second = []
    for sign, K_x, a_x in ((-1, K_x0, a_x0), (1, K_x1, a_x1)):
        output = ops.attend(ops.stack([K_x, K_z, K_o, K_e, K_f]), ops.stack([a_x, a_z, a_o, a_e, a_f]), counts)
        second.append(sign * output)
    return (first, *second)


def block_loss(y, n, ops=jax_ops):
    """Linear loss of positions n+1 and n+2."""
    first, zero, one = block_margins(y, n, ops)
    return -first - (zero + one) / 2


def block_metric(m, n):
    """The metric of `BLOCK_STATE` as {(row, column): value}; what is not listed is 0."""
    unit = 1 / (16 * m)  # two weights per coordinate, each with 1/(8m)
    diagonal = {
        **{"g_1": 2 * unit, "u_1": HALF, "v_1": 1 / (2 * (n - 1)), "w_1": 1},
        **{"K_x0": unit, "K_x1": unit, "K_z": 2 * unit, "K_o": unit / (2 * (n - 2)), "K_e": unit, "K_f": 2 * unit},
        **{"a_x0": HALF, "a_x1": HALF, "a_z": HALF, "a_o": 1 / (4 * (n - 2)), "a_e": HALF, "a_f": HALF},
    }
    place = {name: number for number, name in enumerate(BLOCK_STATE)}
    entries = {(place[name], place[name]): value for name, value in diagonal.items()}
    # common mode: g_1 and K_z both live on token (S[n+1], 0), where K of n+1 is -g_1
    entries[place["g_1"], place["K_z"]] = entries[place["K_z"], place["g_1"]] = -unit
    return entries
