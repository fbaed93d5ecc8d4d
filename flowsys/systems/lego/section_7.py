"""The experiment of Section 7 in one call: train, self-train by doubling, evaluate, store; resumes where it stopped.

    run("C6", directory)     run("S5", directory)

Each length leaves a checkpoint and, once trained, its results: accuracy of the model's own rollouts by length
(Figs. 1a, 1b), attention maps (Figs. 2, 5) and their diagonals (Figs. 6, 7). What is stored is not computed again, so
figures and verdicts need no re-run. At the default sizes L = 5 takes about half an hour a group on two cores.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from flowsys.systems.lego.two_heads_evaluation import attention_map, diagonals, rollout_accuracy
from flowsys.systems.lego.two_heads_training import Experiment, self_train

TRAINING_LENGTHS = (5, 10, 20, 40)
TEST_LENGTHS = (5, 10, 20, 40, 80, 160)
MAP_LENGTHS = (5, 10, 20)


def run(
    group: str,
    directory: Path | str,
    *,
    training_lengths: Sequence[int] = TRAINING_LENGTHS,
    test_lengths: Sequence[int] = TEST_LENGTHS,
    map_lengths: Sequence[int] = MAP_LENGTHS,
    size: int = 500,
    experiment: Experiment | None = None,
    epochs_now: int | None = None,
) -> list[dict[str, Any]]:
    """Results of every training length that is finished; `epochs_now` limits what is trained in this call."""
    experiment = replace(experiment or Experiment(), group=group)
    runs = self_train(experiment, training_lengths, directory, epochs_now=epochs_now)
    finished = [(L, r) for L, r in zip(training_lengths, runs) if r.epoch >= experiment.epochs]
    return [
        _results(replace(experiment, L=L), r, Path(directory), test_lengths, map_lengths, size) for L, r in finished
    ]


def stored(group: str, directory: Path | str, seed: int = 0) -> list[dict[str, Any]]:
    """The results that earlier runs left, by training length."""
    found = [json.loads(path.read_text()) for path in Path(directory).glob(f"{group}_seed{seed}_results_*.json")]
    return sorted(found, key=lambda results: results["trained_to"])


def stored_maps(group: str, directory: Path | str, L: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Attention maps of the model trained to length L, by name."""
    with np.load(Path(directory) / f"{group}_seed{seed}_maps_{L}.npz") as maps:
        return dict(maps)


def _results(experiment: Experiment, trained, directory: Path, test_lengths, map_lengths, size: int) -> dict[str, Any]:
    stem = f"{experiment.group}_seed{experiment.seed}"
    path = directory / f"{stem}_results_{experiment.L}.json"
    if path.exists():
        return json.loads(path.read_text())
    vocabulary, parameters = experiment.vocabulary, trained.parameters
    curves = [rollout_accuracy(parameters, vocabulary, L, size=size) for L in test_lengths if experiment.n_x > L]
    maps, lines = {}, {}
    for L in map_lengths:
        shuffled = np.random.default_rng(experiment.seed).permutation(L)
        for name, order in ((f"in_order_{L}", None), (f"shuffled_{L}", shuffled)):
            maps[name] = attention_map(parameters, vocabulary, L, order=order)
            lines[name] = {kind: line.tolist() for kind, line in diagonals(maps[name], order).items()}
    results = {
        "group": experiment.group,
        "trained_to": experiment.L,
        "epochs": trained.epoch,
        "last_loss": float(trained.losses[-1]),
        "all_right": {str(curve["L"]): curve["all_right"] for curve in curves},
        "by_step": {str(curve["L"]): curve["by_step"].tolist() for curve in curves},
        "diagonals": lines,
    }
    np.savez(directory / f"{stem}_maps_{experiment.L}.npz", **maps)
    partial_file = path.with_suffix(".partial")
    partial_file.write_text(json.dumps(results))
    os.replace(partial_file, path)
    return results
