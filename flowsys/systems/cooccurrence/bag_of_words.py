"""Frozen attention (lambda, delta → 0): the logistic flow of a bag of words.

F_T is the sum of G over the words of the sentence, and in the clock ∫(c + m1·alpha)dt each G(μ) moves with r_μ.
The state is G of the 7 word classes (μ1, μ2, μ3, r_1 … r_4); n may be infinite, then the irrelevant words stay at 0
and with x = G_1 = G_2, z = G_3 the flow is x' = g_1 − g_2, z' = g_1 − 2g_2 − g_4.
"""

from flowsys.systems.cooccurrence.blocks import class_sizes
from flowsys.systems.cooccurrence.data import LABELS, SPECIAL_WORDS
from flowsys.systems.cooccurrence.model import Sizes, bag_of_words_loss


def field(t, G, args: Sizes):
    """r of the 7 word classes: −∂L/∂G, divided by the number of words in the class."""
    import jax

    from flowsys import ops

    return -jax.grad(bag_of_words_loss)(G, args, ops) / class_sizes(args, ops)


def many_samples_field(t, y):
    """The same at n = ∞ with the proportions 3 : 1 : 1 : 1, on y = (x, z)."""
    import jax
    import jax.numpy as jnp

    x, z = y
    g_1, g_2, g_4 = jax.nn.sigmoid(-(2 * x + z)) / 2, jax.nn.sigmoid(x + z) / 6, jax.nn.sigmoid(z) / 6
    return jnp.stack([g_1 - g_2, g_1 - 2 * g_2 - g_4])


def initial_output_rates(n, L, shares):
    """dF_T/dt of the four types at t = 0, where G = 0 and g = 1/2, over (c + m1·alpha)."""
    p_1, p_2, p_3, p_4 = shares
    special = ((p_1 - p_2) / 2, (p_1 - p_3) / 2, (p_1 - p_2 - p_3 - p_4) / 2)
    random = 1 / (2 * n)
    return tuple(
        sum(special[word] for word in words) + y * (L - len(words)) * random for words, y in zip(SPECIAL_WORDS, LABELS)
    )


def initial_type_2_rate(n, L):
    """dF_{I_2}/dt at t = 0 over (c + m1·alpha), with the paper's proportions.

    Positive, so that the loss of types 2 and 3 first rises, iff n > 3(L − 2).
    """
    return 1 / 6 - (L - 2) / (2 * n)
