"""The experiment of Section 7 in one call: train, self-train by doubling, evaluate, keep; goes on where it stopped.

    run("C6", directory)     run("S5", directory)     (or `flowsys figure lego 1b --paper`)
    python -c "from flowsys.systems.lego import section_7; section_7.fill('runs', seeds=(3, 4), n_x=64, batch=32)"

Every length leaves its weights and, once trained, its results: accuracy of the model's own rollouts by length
(Figs. 1a, 1b) and along training, attention maps (Figs. 2, 5) and their diagonals (Figs. 6, 7). A run is kept by
everything that determines it. A seed takes some 6 minutes of one core to train at L = 5, and 2 more for the longer
lengths. `packaged(group)` are the results of such runs in the folder `runs`: figures and verdicts need no re-run, and
reading them no JAX.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flowsys.runs.stored import StoredRuns, key_of
from flowsys.systems.lego import groups
from flowsys.systems.lego.data import Vocabulary, check_length

if TYPE_CHECKING:
    from flowsys.systems.lego.two_heads_training import Run

DOUBLED_LENGTHS = (10, 20, 40)
DOUBLED_EPOCHS = 12  # a doubled length continues from a trained model
TEST_LENGTHS = (5, 7, 10, 14, 20, 28, 40, 57, 80, 113, 160)
MAP_LENGTHS = (5,)
DIAGONAL_LENGTHS = (5, 10, 20)
COURSE_LENGTHS = (10, 20, 40, 80)
DIGITS = 4
MOST_SEEDS = 16
COMMAND = 'python -c "from flowsys.systems.lego import section_7; section_7.fill()"'
RUNS = StoredRuns(Path(__file__).with_name("runs"), COMMAND)


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
        for name in ("embedding", "hidden", "n_heads"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} = {value}, but a positive integer is needed.")
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


@dataclass(frozen=True)
class Trained:
    """A stage as it is kept: its training, and the lengths of those before it, whose labels it learnt."""

    experiment: Experiment
    after: tuple[int, ...] = ()

    @property
    def weights(self) -> str:
        """The name of its checkpoint."""
        return f"{key_of(self)}.npz"


def doubling(first: Experiment, lengths: Sequence[int], epochs: int) -> list[Experiment]:
    """The first stage, then one per longer length: fewer sentences a batch, so that it holds about as many clauses."""
    later = [replace(first, L=L, epochs=epochs, batch=max(1, first.batch * first.L // L)) for L in lengths]
    return [first, *later]


def in_turn(stages: Sequence[Experiment]) -> list[Trained]:
    return [Trained(stage, tuple(before.L for before in stages[:i])) for i, stage in enumerate(stages)]


def run(
    group: str,
    directory: Path | str,
    *,
    doubled_lengths: Sequence[int] = DOUBLED_LENGTHS,
    doubled_epochs: int = DOUBLED_EPOCHS,
    test_lengths: Sequence[int] = TEST_LENGTHS,
    map_lengths: Sequence[int] = MAP_LENGTHS,
    diagonal_lengths: Sequence[int] = DIAGONAL_LENGTHS,
    size: int = 500,
    experiment: Experiment | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Results of every training length that is finished; `options` are those of `two_heads_training.train`."""
    from flowsys.systems.lego.two_heads_training import self_train

    cases = in_turn(doubling(replace(experiment or Experiment(), group=group), doubled_lengths, doubled_epochs))
    runs, finished = StoredRuns(Path(directory), COMMAND), []
    for case, trained in zip(cases, self_train(cases, directory, **options)):
        if trained.epoch < case.experiment.epochs:
            break
        measure = lambda case, _: _results(case, trained, test_lengths, map_lengths, diagonal_lengths, size)  # noqa: B023
        runs.fill([case], measure)
        finished.append(runs.read(case))
    return finished


def fill(
    directory: Path | str | None = None,
    groups: Sequence[str] = ("C6", "S5"),
    seeds: Sequence[int] = (0, 1, 2),
    residuals: Sequence[bool] = (False, True),
    **settings: Any,
) -> None:
    """Train and keep what figures and verdicts read; `settings` are fields of `Experiment`: n_x, batch, epochs …

    Symmetric groups go on to the longer lengths by self-training.
    """
    for adds_query in residuals:
        experiment = Experiment(**settings, architecture=Architecture(adds_query=adds_query))
        for seed in seeds:
            for group in groups:
                lengths = [L for L in DOUBLED_LENGTHS if group.startswith("S") and experiment.n_x > L]
                tested = [L for L in TEST_LENGTHS if experiment.n_x > L]
                run(group, directory or RUNS.folder, experiment=replace(experiment, seed=seed), doubled_lengths=lengths,
                    test_lengths=tested, diagonal_lengths=[L for L in DIAGONAL_LENGTHS if L in tested])  # fmt: skip


def packaged(group: str, adds_query: bool = True, seed: int = 0) -> list[dict[str, Any]]:
    """The results kept with the package, by training length; of models with or without a residual around attention."""
    first = Experiment(group, seed=seed, architecture=Architecture(adds_query=adds_query))
    kept = [RUNS.read(case) for case in in_turn(doubling(first, DOUBLED_LENGTHS, DOUBLED_EPOCHS))]
    if kept[0] is None:
        raise FileNotFoundError(f"{group}, seed {seed} is not kept: {COMMAND} makes it")
    return [results for results in kept if results is not None]


def has_residual(results: Mapping[str, Any]) -> bool:
    """Whether results are of a model with a residual around attention."""
    return results["experiment"]["architecture"]["adds_query"]


def packaged_seeds(group: str, adds_query: bool = True) -> list[int]:
    """The seeds of which results are kept, with or without a residual around attention."""
    first = Experiment(group, architecture=Architecture(adds_query=adds_query))
    return [s for s in range(MOST_SEEDS) if RUNS.read(Trained(replace(first, seed=s))) is not None]


def self_trained(group: str) -> dict[int, list[dict[str, Any]]]:
    """By seed, the runs kept that went on to longer lengths: without a residual around attention if there are any."""
    for adds_query in (False, True):
        kept = {seed: packaged(group, adds_query, seed) for seed in packaged_seeds(group, adds_query)}
        if found := {seed: stages for seed, stages in kept.items() if len(stages) > 1}:
            return found
    return {}


def packaged_controls(group: str, adds_query: bool = True) -> dict[int, dict[str, Any]]:
    """By seed: the model trained at L = 5 for as many further steps as self-training takes at the longer lengths."""
    longer = Experiment().epochs + len(DOUBLED_LENGTHS) * DOUBLED_EPOCHS
    first = Experiment(group, epochs=longer, architecture=Architecture(adds_query=adds_query))
    found = {s: RUNS.read(Trained(replace(first, seed=s))) for s in range(MOST_SEEDS)}
    return {seed: results for seed, results in found.items() if results is not None}


def _results(case: Trained, trained: "Run", test_lengths, map_lengths, diagonal_lengths, size: int) -> dict[str, Any]:
    from flowsys.systems.lego.two_heads_evaluation import rollout_accuracy

    stage = case.experiment
    adds_query = stage.architecture.adds_query
    curves = [
        rollout_accuracy(trained.learnt, stage.vocabulary, L, size=size, adds_query=adds_query) for L in test_lengths
    ]
    return {
        "group": stage.group,
        "trained_to": stage.L,
        "experiment": asdict(stage),
        "losses": _short(trained.losses),
        "course": [list(look) for look in trained.course],
        "sentences": size,
        "all_right": {str(curve["L"]): curve["all_right"] for curve in curves},
        "by_step": {str(curve["L"]): _short(curve["by_step"]) for curve in curves},
        "attention": {str(L): _attention(stage, trained, L, L in map_lengths) for L in diagonal_lengths},
    }


def _attention(stage: "Experiment", trained: "Run", L: int, with_maps: bool) -> dict[str, Any]:
    """Diagonals of the mean attention at length L, predicates in order and shuffled; the maps themselves if asked."""
    from flowsys.systems.lego.two_heads_evaluation import attention_map, diagonals

    shuffled = np.random.default_rng(stage.seed).permutation(L)
    found: dict[str, Any] = {"order": shuffled.tolist()}
    for name, order in (("in_order", None), ("shuffled", shuffled)):
        attention = attention_map(trained.learnt, stage.vocabulary, L, order=order)
        found[name] = {kind: _short(line) for kind, line in diagonals(attention, order).items()}
        if with_maps:
            found[name]["map"] = _short(attention)
    return found


def _short(numbers: np.ndarray) -> list:
    """Numbers with a few significant digits."""
    numbers = np.asarray(numbers, dtype=float)
    return [_short(row) for row in numbers] if numbers.ndim > 1 else [float(f"{x:.{DIGITS}g}") for x in numbers]
