"""The command of an experiment: one option a setting, all combinations of their values, bad ones in a sentence."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from flowsys.experiments.command import asked, settings


@dataclass(frozen=True)
class Network:
    hidden: int = 8
    tied: bool = False


@dataclass(frozen=True)
class Run:
    task: str = "copy"
    rate: float = 0.1
    budget: int | None = None
    seed: int = 0
    network: Network = field(default_factory=Network)

    def __post_init__(self):
        if self.rate <= 0:
            raise ValueError(f"rate = {self.rate}, but a positive number is needed.")


def cases(text="", **unasked):
    return asked(Run(), text.split(), "python -m there", "Make them.", Path("kept"), **unasked)


def test_settings_are_plain_fields_those_of_parts_too():
    assert dict(settings(Run())) == {"task": "copy", "rate": 0.1, "seed": 0, "hidden": 8, "tied": False}


def test_without_arguments_the_cases_are_the_usual_ones():
    assert cases() == (Path("kept"), [Run()])
    assert cases(seed=(0, 2))[1] == [Run(), Run(seed=2)]
    assert cases("--seed 1", seed=(0, 2))[1] == [Run(seed=1)]


def test_several_values_are_combined_and_reach_the_parts():
    folder, found = cases("--folder here --task copy sort --hidden 4 16 --rate 0.5 --tied")
    assert folder == Path("here")
    assert found == [Run(task, 0.5, network=Network(hidden, True)) for task in ("copy", "sort") for hidden in (4, 16)]
    assert [case.network.tied for case in cases("--tied yes no")[1]] == [True, False]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("--rate 0", "python -m there: error: rate = 0.0, but a positive number is needed."),
        ("--hidden few", "argument --hidden: invalid int value: 'few'"),
        ("--tied maybe", "argument --tied: invalid yes or no value: 'maybe'"),
        ("--depth 2", "unrecognized arguments: --depth 2"),
    ],
)
def test_what_makes_no_case_ends_the_command_with_a_sentence(text, sentence, capsys):
    with pytest.raises(SystemExit) as end:
        cases(text)
    assert end.value.code == 2 and sentence in capsys.readouterr().err
