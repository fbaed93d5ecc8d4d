"""The feed-forward nonlinearity: three smoothed ReLUs, the fixed bias and the logit clip.

    azl    0 | x^q / (q ϱ^(q-1)) on (0, ϱ] | x - ϱ (1 - 1/q)                      C¹, the reference
    even   the power branch on (-ϱ, ϱ], the constant ϱ/q below                    Definition 3.4; s' jumps at -ϱ
    B2     ϖ B | -ϖ x on (-B, -ϖ] | x² on (-ϖ, 0] | power | linear                Assumption B.2; s' jumps at -ϖ and -B

Logits are clipped from above at B (Assumption 3.4): hard, min(F, B), or rounded over a width ω,
F̃ = B - ω softplus((B - F) / ω). In a flow the hard clip slides along F = B, so flows use the rounded one.
"""

from dataclasses import dataclass
from typing import Any

ACTIVATIONS = ("azl", "even", "B2")
CLIPS = ("none", "hard", "smooth")
NUMBERS = ("rho", "bias", "B", "clip_width", "varpi", "F_0")


@dataclass(frozen=True)
class FeedForward:
    """Numbers of the nonlinearity, which may also be symbols or traced arrays, except q.

    F_0 is the logit of the classes that are never a target, where they are lumped.
    """

    bias: Any = 0.1
    rho: Any = 0.3
    q: int = 4
    activation: str = "azl"
    varpi: Any = 1e-3
    clip: str = "none"
    B: Any = None
    clip_width: Any = 0.1
    F_0: Any = None

    @property
    def numbers(self) -> dict[str, Any]:
        """What a program reads of it."""
        return {name: getattr(self, name) for name in NUMBERS}

    def activate(self, ops, x):
        """s(x), written with clipped parts so that arrays of symbols can pass through it.

        Every gate of a program is a jump of s': parts that join smoothly are one `power_relu`, never two gates.
        """
        positive = ops.power_relu(x, self.rho, self.q)
        if self.activation == "azl":
            return positive
        if self.activation == "even":  # its mirror image, held at ϱ/q below -ϱ
            return positive + ops.power_relu(-x, self.rho, self.q) - ops.relu(-x - self.rho)
        below = ops.relu(-x)
        rounded = ops.clip_above(below, self.varpi)
        return positive + rounded**2 + self.varpi * (ops.clip_above(below, self.B) - rounded)

    def clip_logits(self, ops, F):
        """min(F, B), rounded or not, or F itself."""
        if self.clip == "none":
            return F
        if self.clip == "hard":
            return ops.clip_above(F, self.B)
        return self.B - ops.smooth_relu(self.B - F, self.clip_width)


def whole_bias(ops, p):
    """`bias`, and the multiple of d^(-1/2) log d that was asked for."""
    return p["bias"] + p["bias_scale"] * ops.log(p["d"]) / ops.sqrt(p["d"])


def feedforward(ops, p, clip: str) -> FeedForward:
    """The nonlinearity at given parameters."""
    rho, q, activation, varpi, width, F_0 = (
        p[name] for name in ("rho", "q", "activation", "varpi", "clip_width", "F_0")
    )
    return FeedForward(whole_bias(ops, p), rho, q, activation, varpi, clip, p["C_B"] * ops.log(p["d"]), width, F_0)


def value_losses(ops, F, target, d, F_0, axis=-1):
    """-log p(target) of logits of the values along `axis`; the d - n_y other classes, never a target, have F_0."""
    n_y = F.shape[axis]
    beside = F_0 + 0 * (F[:1] if axis == 0 else F[..., :1])
    counts = ops.array([1.0] * n_y + [d - n_y])
    return ops.cross_entropy(ops.concatenate([F, beside], axis=axis), target, counts, axis=axis)
