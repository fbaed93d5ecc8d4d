"""Training by Adam that is looked at on the way, and may be stopped: it goes on as if it had not been.

Training goes in stretches of so many steps. After each the loss and what `look` finds are noted, and now and then all
is saved. The batches of a step depend on its number alone, so a run that is resumed is the uninterrupted one.

Late in training Adam divides by second moments that have nearly vanished: the loss jumps by orders of magnitude and
comes back. Beside the last weights those after the stretch of least loss are therefore kept.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import jax
import numpy as np

from flowsys.experiments.adam import Adam
from flowsys.experiments.checkpoint import restored, save

SAVED_AFTER = 20.0  # seconds
Course = dict[str, list]


class Trained(NamedTuple):
    """Where Adam stands, the weights after the stretch of least loss, and what was noted after every stretch.

    The course has the steps that were made, their mean loss since the last look, and what was looked for.
    """

    adam: Adam
    best: Any
    course: Course

    @property
    def weights(self) -> Any:
        return self.adam.weights


@partial(jax.jit, static_argnums=0)
def adam_steps(loss: Callable[[Any, Any], Any], adam: Adam, batches: Any, rates: Any) -> tuple[Adam, Any]:
    """Adam, a step a batch (the first axis of `batches`); where it stands then, and the mean loss."""

    def step(adam, data):
        batch, rate = data
        value, slope = jax.value_and_grad(loss)(adam.weights, batch)
        return adam.step(slope, rate), value

    adam, losses = jax.lax.scan(step, adam, (batches, rates))
    return adam, losses.mean()


def train(
    case: Any,
    weights: Any,
    loss: Callable[[Any, Any], Any],
    batches: Callable[[range], Any],
    rate: Callable[[np.ndarray], Any],
    *,
    steps: int,
    every: int,
    look: Callable[[Trained], Mapping[str, Any]] = lambda trained: {},
    is_done: Callable[[Course], bool] = lambda course: False,
    checkpoint: Path | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
) -> Trained:
    """Train from weights on for so many steps, or until it `is_done`.

    `loss(weights, batch)` is compiled once if it is the same function again. `batches` gives those of a range of steps,
    stacked, `rate` the learning rates of steps. `look` is called after `every` so many steps. With a `checkpoint` path
    a file of the same case is continued.
    """
    (adam, best), course = restored(checkpoint, case, (Adam.start(weights), weights), {"step": [], "loss": []})
    trained, saved = Trained(adam, best, course), monotonic()
    while (done := int(trained.adam.count)) < steps and not (done and is_done(trained.course)):
        stretch = range(done, min(steps, done + every))
        rates = np.asarray(rate(np.array(stretch)), dtype=np.float32)
        adam, value = adam_steps(loss, trained.adam, batches(stretch), np.broadcast_to(rates, len(stretch)))
        trained = _noted(trained, adam, {"step": stretch.stop, "loss": float(value)})
        trained = trained._replace(course=_longer(trained.course, look(trained)))
        is_last = stretch.stop == steps or is_done(trained.course)
        if checkpoint is not None and (is_last or monotonic() - saved > SAVED_AFTER):
            save(checkpoint, case, (trained.adam, trained.best), trained.course)
            saved = monotonic()
        on_progress(stretch.stop)
    return trained


def _noted(trained: Trained, adam: Adam, found: Mapping[str, Any]) -> Trained:
    """After a stretch: its weights are the best if no loss was smaller."""
    is_best = found["loss"] <= min(trained.course["loss"], default=np.inf)
    return Trained(adam, adam.weights if is_best else trained.best, _longer(trained.course, found))


def _longer(course: Course, found: Mapping[str, Any]) -> Course:
    """A course with one more of what was found."""
    return course | {name: [*course.get(name, []), value] for name, value in found.items()}
