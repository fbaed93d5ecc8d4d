"""The experiment of Section 7: its settings, and what is kept of it; figures and verdicts read it without JAX.

    python -m flowsys.systems.lego.section_7 --seed 3 4 --n_x 64 --hidden 240      (or `flowsys figure lego 1b --paper`)

A model is trained at L = 5; for symmetric groups it goes on to longer lengths on answers of its own (Fig. 1b). Every
length leaves its weights, from which training goes on where it stopped, and once trained its results: accuracy of the
model's own rollouts by length (Figs. 1a, 1b) and along training, attention maps (Figs. 2, 5) and their diagonals
(Figs. 6, 7). A run is kept by everything that determines it. A seed takes some 5 minutes of one core at L = 5.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from flowsys.experiments.command import asked
from flowsys.experiments.stored import StoredRuns
from flowsys.systems.lego import groups
from flowsys.systems.lego.data import Vocabulary, check_length

DOUBLED_LENGTHS, DOUBLED_EPOCHS = (10, 20, 40), 12  # a doubled length goes on from a trained model
TEST_LENGTHS = (5, 7, 10, 14, 20, 28, 40, 57, 80, 113, 160)
DIAGONAL_LENGTHS = (5, 10, 20)
COURSE_LENGTHS = (10, 20, 40, 80)
MOST_SEEDS = 16
COMMAND = "python -m flowsys.systems.lego.section_7"
RUNS = StoredRuns(Path(__file__).with_name("runs"), COMMAND)
Results = dict[str, Any]


@dataclass(frozen=True)
class Architecture:
    """Sizes: a clause has 5 · embedding numbers, shared among the heads. `adds_query`: a residual around attention.

    Definition 3.5 has none: the block reads only what attention gives it.
    """

    embedding: int = 24
    hidden: int = 480
    n_heads: int = 2
    adds_query: bool = False

    def __post_init__(self):
        if self.width % self.n_heads:
            raise ValueError(f"n_heads = {self.n_heads}, but it must divide 5 · embedding = {self.width}.")

    @property
    def width(self) -> int:
        return 5 * self.embedding


@dataclass(frozen=True)
class Experiment:
    """One training run; L, epochs and learning rate are the paper's, other sizes (an epoch's too) are not stated."""

    group: str = "C6"
    L: int = 5
    n_x: int = 168
    epochs: int = 300
    steps_per_epoch: int = 80
    batch: int = 64
    learning_rate: float = 1e-4
    seed: int = 0
    architecture: Architecture = field(default_factory=Architecture)

    def __post_init__(self):
        for name in ("epochs", "steps_per_epoch", "batch"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} = {value}, but a positive integer is needed.")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate = {self.learning_rate}, but a positive number is needed.")
        check_length(self.L, self.n_x)
        groups.named(self.group)

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.n_x, groups.named(self.group))

    def within(self, lengths: Sequence[int]) -> list[int]:
        """The lengths for which there are variables."""
        return [L for L in lengths if self.n_x > L]


@dataclass(frozen=True)
class Trained:
    """A stage as it is kept: its training, and the lengths of those before it, whose labels it learnt."""

    experiment: Experiment
    after: tuple[int, ...] = ()


def stages(first: Experiment, lengths: Sequence[int] = DOUBLED_LENGTHS, epochs: int = DOUBLED_EPOCHS) -> list[Trained]:
    """The first stage, then one per longer length: fewer sentences a batch, so that it holds about as many clauses."""
    later = [replace(first, L=L, epochs=epochs, batch=max(1, first.batch * first.L // L)) for L in lengths]
    return [Trained(stage, (first.L, *lengths)[:i]) for i, stage in enumerate([first, *later])]


def run(cases: Sequence[Trained], folder: Path | str, on_epochs: Callable[[Experiment, int], None]) -> list[Results]:
    """The results of stages that follow each other, each on the answers of the one before; kept ones are only read."""
    from flowsys.systems.lego.two_heads import results, train

    runs, previous = StoredRuns(Path(folder), COMMAND, keeps_weights=True), None
    for i, case in enumerate(cases):
        if runs.missing(cases[i:]):
            trained = train(case.experiment, runs.checkpoint(case), previous, on_epochs)
            runs.fill([case], lambda case, _: results(case.experiment, trained))  # noqa: B023
            previous = trained.best
    return [runs.read(case) for case in cases]


def kept(group: str, adds_query: bool = False, longer: int = 0) -> dict[int, list[Results]]:
    """By seed, the results kept with the package by training length; of models with or without a residual.

    `longer`: of controls, trained at the first length for as many steps more as that many further stages take.
    """
    epochs, architecture = Experiment.epochs + longer * DOUBLED_EPOCHS, Architecture(adds_query=adds_query)
    found = {}
    for seed in range(MOST_SEEDS):
        first = Experiment(group, epochs=epochs, seed=seed, architecture=architecture)
        found[seed] = [r for r in map(RUNS.read, stages(first, () if longer else DOUBLED_LENGTHS)) if r is not None]
    return {seed: results for seed, results in found.items() if results}


def main(arguments: Sequence[str] | None = None) -> None:
    """Train and keep what is asked for; without arguments, what figures and verdicts read."""
    about = "Train the models of Section 7 and keep their results."
    folder, cases = asked(Experiment(), arguments, COMMAND, about, RUNS.folder, group=("C6", "S5"), seed=(0, 1, 2))
    bar = tqdm(bar_format="{desc} {elapsed}")
    told = lambda stage, epoch: bar.set_description(f"{stage.group}, seed {stage.seed}, L = {stage.L}: epoch {epoch}")
    for first in cases:
        goes_on = first.group.startswith("S")
        run(stages(first, first.within(DOUBLED_LENGTHS) if goes_on else ()), folder, told)
        if goes_on:
            longer = replace(first, epochs=first.epochs + len(DOUBLED_LENGTHS) * DOUBLED_EPOCHS)
            run([Trained(longer)], folder, told)  # the control


if __name__ == "__main__":
    main()
