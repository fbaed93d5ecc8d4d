"""All figures and diagrams of all systems: symbols instead of program names, labels, true legends, data beside them."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from picture_faults import faults

from flowsys.ladder import Ladder, MeasuredRung
from flowsys.laws.fits import power_law
from flowsys.plot import diagram_figure
from flowsys.plot.ladder import ladder
from flowsys.sweeps.memory import run_in_memory, sweep_of
from flowsys.systems import load, names

DIAGRAMS = [(system, diagram) for system in names() for diagram in load(system).diagrams]
FIGURES = [(system, figure) for system in names() for figure in load(system).figures]
FEW = 5  # points of an axis: what is checked does not need more


def coarse(axis: str) -> str:
    """The same axis with few points."""
    name, _, spec = axis.partition("=")
    if ":" not in spec:
        values = spec.split(",")
        return f"{name}={','.join(values[:: -(-len(values) // FEW)])}"
    start, stop, count, *log = spec.split(":")
    return ":".join([f"{name}={start}", stop, str(min(FEW, int(count))), *log])


@pytest.mark.slow
@pytest.mark.parametrize("system, name", DIAGRAMS, ids=lambda x: x)
def test_a_diagram_reads_and_has_its_data(system, name, tmp_path):
    found = load(system)
    named = found.diagrams[name]
    named = replace(named, axes=[coarse(axis) for axis in named.axes], seeds=min(named.seeds, 2))
    result = run_in_memory(sweep_of(found, named))
    assert faults(diagram_figure(result, found, named)) == []
    saved = result.save(tmp_path / "d.nc")
    assert saved.stat().st_size and result.origin["command"].startswith(f"flowsys phase {system} ")


@pytest.mark.slow
@pytest.mark.parametrize("system, number", FIGURES, ids=lambda x: x)
def test_a_figure_reads_and_writes_its_data(system, number, tmp_path):
    found = load(system)
    draw = found.figures[number]
    drawing = draw(found.setup(draw.mode))
    assert faults(drawing.figure) == []
    written = drawing.save(tmp_path / "f.png", f"flowsys figure {system} {number}")
    with open(tmp_path / "f.csv", encoding="utf-8") as file:
        command, *rows = file
    assert command == f"# flowsys figure {system} {number}\n" and len(list(csv.DictReader(rows))) > 0
    assert {path.suffix for path in written} <= {".png", ".csv", ".nc"}


@pytest.mark.parametrize("system", names())
def test_a_ladder_reads(system):
    found = load(system)
    rungs = [MeasuredRung(r, np.ones(len(r.values)), power_law(r.values, np.ones(len(r.values))), None)
             for r in found.ladder(found.setup()) if r.expected is not None]  # fmt: skip
    assert faults(ladder(Ladder(system, found.setup(), tuple(rungs)), found.names)) == []


@pytest.mark.parametrize("system", names())
def test_every_figure_says_what_the_paper_shows(system):
    captions = {number: figure.caption for number, figure in load(system).figures.items()}
    assert all(caption.endswith(".") and len(caption) > 40 for caption in captions.values()), captions


def test_faults_are_found():
    from matplotlib.figure import Figure

    figure = Figure()
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], label="loss_type2@t=0")
    ax.plot([], [], ":", color="red", label="$T_2$ predicted")
    ax.legend()
    told = " ".join(faults(figure))
    assert "loss_type2@t=0" in told and "no x label" in told and "'$T_2$ predicted', which is not drawn" in told
    ax.set_xlabel("$t$")
    ax.get_lines()[0].set_label(r"$\mathcal{L}_{I_2}(t = 0)$")
    ax.get_lines()[1].set_data(np.arange(2), np.arange(2))
    ax.legend()
    assert faults(figure) == []
