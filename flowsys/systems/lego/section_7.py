"""The experiment of Section 7 in one call: train, self-train by doubling, evaluate, store; resumes where it stopped.

    run("C6", directory)     run("S5", directory)     (or `flowsys figure lego 1b --paper`)

Each length leaves a checkpoint and, once trained, its results: accuracy of the model's own rollouts by length
(Figs. 1a, 1b), attention maps (Figs. 2, 5) and their diagonals (Figs. 6, 7). What is there is not computed again.
A seed takes some 6 minutes of one core to train at L = 5, and 2 more for the longer lengths. `packaged(group)` are the
results of such runs, kept beside this file: figures and verdicts need no re-run, and reading them no JAX.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flowsys.machine.files import write_text

if TYPE_CHECKING:
    from flowsys.systems.lego.two_heads_training import Experiment, Run

DOUBLED_LENGTHS = (10, 20, 40)
DOUBLED_EPOCHS = 12  # a doubled length continues from a trained model
TEST_LENGTHS = (5, 7, 10, 14, 20, 28, 40, 57, 80, 113, 160)
MAP_LENGTHS = (5,)
DIAGONAL_LENGTHS = (5, 10, 20)
DIGITS = 4
MOST_SEEDS = 16


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
    experiment: "Experiment | None" = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Results of every training length that is finished; `options` are those of `two_heads_training.train`."""
    from flowsys.systems.lego.two_heads_training import Experiment, doubling, self_train

    stages = doubling(replace(experiment or Experiment(), group=group), doubled_lengths, doubled_epochs)
    return [
        _results(stage, trained, Path(directory), test_lengths, map_lengths, diagonal_lengths, size)
        for stage, trained in zip(stages, self_train(stages, directory, **options))
        if trained.epoch >= stage.epochs
    ]


def stored(group: str, directory: Path | str, seed: int = 0) -> list[dict[str, Any]]:
    """The results that earlier runs left, by training length."""
    found = [json.loads(path.read_text()) for path in Path(directory).glob(f"{group}_seed{seed}_results_*.json")]
    return sorted(found, key=lambda results: results["trained_to"])


def packaged(group: str, adds_query: bool = True, seed: int = 0) -> list[dict[str, Any]]:
    """The results kept with the package, by training length; of models with or without a residual around attention."""
    return json.loads(_package_file(group, _kind(adds_query, seed)).read_text())


def packaged_seeds(group: str, adds_query: bool = True) -> list[int]:
    """The seeds of which results are kept, with or without a residual around attention."""
    return [seed for seed in range(MOST_SEEDS) if _package_file(group, _kind(adds_query, seed)).exists()]


def packaged_controls(group: str) -> dict[int, dict[str, Any]]:
    """By seed: the model trained at L = 5 for as many further steps as self-training takes at the longer lengths."""
    found = json.loads(_package_file(group, "_control").read_text())
    return {results["experiment"]["seed"]: results for results in found}


def keep(group: str, directory: Path | str, seed: int = 0) -> Path:
    """Put the results of a finished run into the package."""
    finished = stored(group, directory, seed)
    adds_query = finished[0]["experiment"]["architecture"]["adds_query"]
    return _write(_package_file(group, _kind(adds_query, seed)), finished)


def keep_controls(group: str, directory: Path | str, seeds: Sequence[int]) -> Path:
    """Put the results of control runs into the package."""
    return _write(_package_file(group, "_control"), [r for seed in seeds for r in stored(group, directory, seed)])


def _write(path: Path, finished: list[dict[str, Any]]) -> Path:
    lines = ",\n".join(json.dumps(results) for results in finished)
    return write_text(path, f"[\n{lines}\n]\n")


def _kind(adds_query: bool, seed: int) -> str:
    return ("" if adds_query else "_no_residual") + (f"_seed{seed}" if seed else "")


def _package_file(group: str, kind: str) -> Path:
    return Path(__file__).with_name(f"section_7_{group}{kind}.json")


def _results(
    stage: "Experiment", trained: "Run", directory: Path, test_lengths, map_lengths, diagonal_lengths, size: int
) -> dict[str, Any]:
    path = directory / f"{stage.group}_seed{stage.seed}_results_{stage.L}.json"
    if path.exists():
        return json.loads(path.read_text())
    from flowsys.systems.lego.two_heads_evaluation import rollout_accuracy

    adds_query = stage.architecture.adds_query
    curves = [
        rollout_accuracy(trained.learnt, stage.vocabulary, L, size=size, adds_query=adds_query) for L in test_lengths
    ]
    results = {
        "group": stage.group,
        "trained_to": stage.L,
        "experiment": asdict(stage),
        "losses": _short(trained.losses),
        "sentences": size,
        "all_right": {str(curve["L"]): curve["all_right"] for curve in curves},
        "by_step": {str(curve["L"]): _short(curve["by_step"]) for curve in curves},
        "attention": {str(L): _attention(stage, trained, L, L in map_lengths) for L in diagonal_lengths},
    }
    write_text(path, json.dumps(results))
    return results


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
