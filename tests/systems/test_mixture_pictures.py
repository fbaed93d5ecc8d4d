"""The mixture's figures: what stands on their axes, against the runs they are drawn from."""

import numpy as np
import pytest

import flowsys as fs

S = fs.load("mixture")


def test_attention_maps_have_queries_down_and_keys_across_theory_over_training():
    drawing = S.figures["2"](S.setup())
    maps = [ax for ax in drawing.figure.axes if ax.images]
    assert len(maps) == 8 and len(drawing.figure.axes) == 9  # and the colour bar
    assert [ax.get_ylabel() for ax in maps] == ["query", "", "", ""] * 2
    assert [ax.get_xlabel() for ax in maps] == [""] * 4 + ["key"] * 4
    theory = drawing.data["theory"]
    tokens = {"X_{1,+,-}": (("c1", 1), ("v1", 1), ("v2", -1)), "X_{1,-,+}": (("c1", 1), ("v1", -1), ("v2", 1))}
    for name, sample in tokens.items():
        ax = next(ax for ax in maps if name in ax.get_title() and "theory" in ax.get_title())
        shown = np.asarray(ax.images[0].get_array())
        for row, (query, s) in enumerate(sample):
            scores = np.array([s * t * theory[f"S_plus_{key}_{query}"][-1] for key, t in sample])
            assert shown[row] == pytest.approx(np.exp(scores) / np.exp(scores).sum(), rel=1e-9)


def test_losses_scores_and_alignments_are_drawn_over_steps_in_symbols():
    drawing = S.figures["1"](S.setup())
    assert [ax.get_xlabel() for ax in drawing.figure.axes] == ["steps"] * 3
    loss, neurons, scores = drawing.figure.axes
    steps, shown = loss.lines[0].get_data()
    assert steps[-1] == pytest.approx(3000) and shown == pytest.approx(drawing.data["theory"]["loss_consistent"])
    texts = [text.get_text() for ax in (neurons, scores) for text in ax.get_legend().get_texts()]
    labels = [text.replace(r"\mathit{S}", "S") for text in texts]
    assert r"$w_{+}^{\top}c_{1}$" in labels and r"$c_{1}^{\top}S_{+}v_{1}$" in labels
    assert all(label.startswith("$") or label == "training" for label in labels)
    assert "$b$ = 0.5" in drawing.figure.get_suptitle() and r"$\eta$ = 0.1" in drawing.figure.get_suptitle()


def test_all_sixteen_scores_are_drawn():
    drawing = S.figures["4"](S.setup())
    lines = [line for ax in drawing.figure.axes for line in ax.lines if line.get_linestyle() in ("-", "--")]
    assert len({line.get_label() for line in lines}) == 16
