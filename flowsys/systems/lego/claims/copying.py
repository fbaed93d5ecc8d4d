"""The other layer that matters, W_4 (Appendix A): it learns to copy the variable of the predicate's first slot.

Gradient descent on Loss_4^1 of the finite model (L0): C3, m = 4 neurons a class, b = σ_0 log d, no clip. Small d, so
σ_0 is a quarter of d^(-1/2); the weights are read as inner products with tokens.
"""

import jax
import numpy as np

from flowsys.claims import Verdict, judged, listed
from flowsys.claims.conditions import remembered
from flowsys.systems.lego import algorithms, groups, model, transformer
from flowsys.systems.lego.claims.runs import claim
from flowsys.systems.lego.closed_forms import clip_level
from flowsys.systems.lego.data import Vocabulary
from flowsys.systems.lego.feedforward import FeedForward

GROUP, NEURONS, STEPS = "C3", 4, 3000
VARIABLES = (4, 8)


@remembered()
def trained_copier(n_x: int) -> tuple[model.Features, np.ndarray, int]:
    """Features of the classes in X of W_4 after training, the losses on the way, and d."""
    vocabulary = Vocabulary(n_x, groups.named(GROUP))
    d = vocabulary.d
    sigma_0 = transformer.initial_scale(d) / 4
    feedforward = FeedForward(sigma_0 * np.log(d), 0.3, 4, "azl", 1e-3, "none", clip_level(3.0, d))
    start = transformer.weights(jax.random.key(0), vocabulary, NEURONS, sigma_0)
    stage = algorithms.one_step_stage(vocabulary, feedforward, STEPS, ("W_4",))
    end, losses = algorithms.descend(stage, start, learning_rate=n_x / 4)  # a variable is asked for 1 / n_x of the time
    found = transformer.features(np.asarray(end["W_4"]), vocabulary)
    return model.Features(*(table[vocabulary.variables] for table in found)), losses, d


def copying_is_learned(slot: str = "variable") -> Verdict:
    """Lemma A.12, Induction A.1: Σ_r ⟨W_{4,j,r,1}, e_j⟩ ≥ Ω(log d) for every variable, all else stays small."""
    n_y = groups.sizes(GROUP)[1]
    totals, actions, values, others, losses = [], [], [], [], []
    for n_x in VARIABLES:
        features, course, d = trained_copier(n_x)
        table = getattr(features, slot)
        own = np.einsum("jrj->jr", table)
        weakest = np.maximum(own, 0).sum(axis=1).min()
        strongest = own.max(axis=1).min()
        totals.append(float(weakest / np.log(d)))
        actions.append(float(np.abs(features.action).max() / strongest))
        values.append(float(np.abs(features.value).max() / strongest))
        others.append(float(np.abs(table * (1 - np.eye(n_x))[:, None, :]).max() / strongest))
        losses.append(float(course[-1]))
    # (b), (c) of the induction: O(1/|G|), O(1/|Y|) of the diagonal; (d): negligible as the vocabulary grows
    small = max(actions) < 1 / n_y and max(values) < 1 / n_y and others[-1] < others[0] < 1 / n_y
    return judged(min(totals) >= 1 and max(losses) < 0.01 and small and min(actions) > 0,
                  "Ω(log d) on the diagonal; O(1/|G|), O(1/|Y|) of it on actions and values; elsewhere negligible",
                  f"n_x = {listed(VARIABLES)}: Φ / log d = {listed(totals, '.2f')} for the weakest variable; of its "
                  f"feature, actions {listed(actions, '.2f')}, values {listed(values, '.2f')}, other variables "
                  f"{listed(others, '.2f')}",
                  note=f"loss {listed(losses, '.1e')} after {STEPS} steps; one seed", tolerance=1.0,
                  parameters={"group": GROUP, "n_x": VARIABLES, "m": NEURONS},
                  values={"totals": totals, "actions": actions, "values": values, "others": others})  # fmt: skip


CLAIMS = [
    claim("A.12", "Lemma A.12", "W_4 learns to copy the variable of the predicate's first slot",
          copying_is_learned, control={"slot": "source"}, regime="d → ∞; here C3, n_x = 4, 8, gradient descent",
          is_cheap=False),
]  # fmt: skip
