"""Section 4: training small GPT-2-like transformers, read from stored runs (`growth`, `passes`)."""

import numpy as np

from flowsys.claims import Claim, Verdict, Word, judged
from flowsys.laws.fits import line, power_law
from flowsys.systems.parity import growth, passes
from flowsys.systems.parity.claims.runs import claim
from flowsys.systems.parity.stored_runs import stored

LARGEST_EXPONENT = 1.5  # what still counts as roughly linear growth
LEAST_FACTOR = 3.0  # what counts as exponential growth: the samples of one more secret


def samples_grow_at_most_linearly_with_a_chain(chain: bool = True) -> Verdict:
    """The exponent of the samples in k over all runs with k ≥ 2 that ended within their budget.

    k = 1 is the same task with and without a chain, so it says nothing about the chain.
    """
    found = growth.complexities(stored(growth.STORED), chain)
    pairs = [(k, s) for k, many in found.items() for s in many if s is not None and k > 1]
    over = {k: sum(s is None for s in many) for k, many in found.items() if None in many}
    predicted = f"samples grow slowly with k, about linearly: exponent at most {LARGEST_EXPONENT}"
    if len({k for k, _ in pairs}) < 3:
        return Verdict(Word.FAILS, predicted, _medians(found), "fewer than three k end within the budget")
    fit = power_law(*zip(*pairs))
    is_slow = fit.interval[1] < LARGEST_EXPONENT
    left_out = f"{sum(over.values())} runs over their budget are not in the fit (k: runs {over})" if over else ""
    return Verdict(
        Word.FAILS if not is_slow else Word.IN_PART if over or _seeds(found) else Word.HOLDS,
        predicted,
        f"exponent in k {fit} over k = {min(k for k, _ in pairs)} … {max(k for k, _ in pairs)}, {len(pairs)} runs; "
        f"medians {_medians(found)}",
        "; ".join(filter(None, [
            left_out or "no run is left out: all ended within their budget",
            "k = 1, which has no chain, is not in the fit",
            _seeds(found)])),
        interval=fit.interval,
        parameters=_parameters(found),
        values=found,
        fits={"samples over k, with a chain": fit},
    )  # fmt: skip


def samples_explode_without_a_chain(chain: bool = False) -> Verdict:
    """The factor by which a secret multiplies the samples, k = 1 … 3; a run over its budget counts with the budget."""
    found = {k: many for k, many in growth.complexities(stored(growth.STORED), chain).items() if k <= 3}
    budgets = {k: growth.case(k, chain, 0).budget for k in found}
    pairs = [(k, np.log(budgets[k] if s is None else s)) for k, many in found.items() for s in many]
    over = {k: sum(s is None for s in many) for k, many in found.items() if None in many}
    if len(found) < 2:
        return Verdict(Word.FAILS, "samples grow exponentially in k", "no stored runs", "stored_runs.fill makes them")
    fit = line(*zip(*pairs))
    factor, low, high = np.exp([fit.slope, *fit.interval])
    return Verdict(
        Word.FAILS if low < LEAST_FACTOR else Word.IN_PART if _seeds(found) else Word.HOLDS,
        f"samples grow exponentially in k: by a factor of more than {LEAST_FACTOR:g} for each secret",
        f"factor {'at least ' if over else ''}{factor:.3g} [{low:.3g}, {high:.3g}]; medians {_medians(found)}",
        "; ".join(filter(None, [
            f"over budget, and so counted with it, a lower bound (k: runs {over})" if over else "", _seeds(found)])),
        interval=(float(low), float(high)),
        parameters=_parameters(found) | {"budgets": budgets},
        values=found,
        fits={"log samples over k, without a chain": fit},
    )  # fmt: skip


def attention_entropy_falls_when_accuracy_rises(chain: bool = True) -> Verdict:
    """Normalised entropy (Eq. 1) at the first evaluation and at the end; k = 4 with a chain, 3 without."""
    k = 4 if chain else 3
    runs = [stored(growth.STORED).get(growth.case(k, chain, seed).key) for seed in range(growth.SEEDS)]
    ends = [(run["entropy"][0], run["entropy"][-1], run["accuracy"][-1]) for run in runs if run]
    if not ends:
        return Verdict(Word.FAILS, "entropy falls", "no stored run", "stored_runs.fill makes them")
    before, after, accuracy = np.array(ends).T
    return judged(
        bool((after < before - 0.2).all() and (accuracy > 0.99).all()),
        "entropy falls as the task is learned",
        f"first {before.min():.2f} … {before.max():.2f}, last {after.min():.2f} … {after.max():.2f}; sequences right "
        f"at the end {accuracy.min():.2f} … {accuracy.max():.2f} ({len(ends)} runs)",
        note="the least over heads and positions, mean over sequences",
        parameters={"n": growth.N, "k": k, "chain": chain},
        values={"first": before.tolist(), "last": after.tolist()},
    )


def few_strings_teach_what_fresh_ones_do_not(few: int | None = passes.FEW) -> Verdict:
    """Samples until validation is perfect, passing over `few` strings or with every string fresh (None), no chain.

    The paper says that most of its configurations learn (Figure 4), so more than half of the runs must.
    """
    results = stored(passes.STORED)
    counted = {name: passes.samples(results, strings) for name, strings in (("few", few), ("fresh", None))}
    solved = {name: sum(s is not None for s in many) for name, many in counted.items()}
    total = {name: len(many) for name, many in counted.items()}
    learned = solved["few"] > 0.5 * total["few"] and solved["fresh"] == 0
    is_complete = min(total.values()) >= passes.SEEDS
    return Verdict(
        Word.FAILS if not learned else Word.HOLDS if is_complete else Word.IN_PART,
        "few strings, many passes: learned; as many samples, all fresh: not",
        f"{few} strings: {solved['few']} of {total['few']} learned, samples {_range(counted['few'])}; fresh: "
        f"{solved['fresh']} of {total['fresh']} within {passes.BUDGET:.2g} samples; with a chain {passes.FEW} strings "
        f"need {_range(passes.samples(results, passes.FEW, chain=True))} samples",
        f"n = {passes.case(few, 0).n}, k = {passes.K}, smaller than the paper's n = 20, k = 6"
        + ("" if is_complete else "; stored_runs.fill completes the seeds"),
        parameters={"n": passes.case(few, 0).n, "k": passes.K, "strings": few, "budget": passes.BUDGET},
        values=counted,
    )


def _range(many) -> str:
    found = [s for s in many if s is not None]
    return f"{min(found):.3g} … {max(found):.3g}" if found else "none"


def _seeds(found) -> str:
    least = min(map(len, found.values()))
    if least >= growth.SEEDS:
        return ""
    return f"only {least} of {growth.SEEDS} seeds are stored at some k: stored_runs.fill completes them"


def _medians(found) -> str:
    """The median of the samples for each k, a run over its budget counting as infinitely many."""
    parts = []
    for k, many in found.items():
        middle, n_solved = np.median([np.inf if s is None else s for s in many]), sum(s is not None for s in many)
        text = f"{middle:.3g}" if np.isfinite(middle) else "over budget"
        parts.append(f"k={k}: {text} ({n_solved} of {len(many)} in budget)")
    return ", ".join(parts)


def _parameters(found) -> dict:
    return {"n": growth.N, "seeds": {k: len(many) for k, many in found.items()}}


SIZE = f"n = {growth.N}, 1 layer, 2 heads, hidden {growth.SMALL.hidden}"

CLAIMS = (
    claim("growth_with_chain", "Figures 1a, 2, 3a",
          "with a chain of thought the samples needed grow slowly, roughly linearly, with k",
          samples_grow_at_most_linearly_with_a_chain, control={"chain": False},
          regime=f"stored runs, {SIZE}; control: without a chain"),
    claim("growth_without_chain", "Figures 1a, 2",
          "without a chain of thought the samples needed grow exponentially with k",
          samples_explode_without_a_chain, control={"chain": True},
          regime=f"stored runs, {SIZE}; control: with a chain"),
    claim("entropy_falls", "Figure 1b", "attention entropy falls as accuracy rises",
          attention_entropy_falls_when_accuracy_rises, control={"chain": False},
          regime=f"stored runs with a chain, k = 4, {SIZE}; control: without a chain, k = 3"),
    claim("multi_pass", "Figures 4, 5, 9-11",
          "without a chain, passing many times over few strings learns what fresh samples do not",
          few_strings_teach_what_fresh_ones_do_not, control={"few": None},
          regime=f"stored runs, {SIZE}; control: fresh strings in place of few"),
    Claim("pretrained_models", "Section 4.3",
          "the attention of pretrained language models is sparser on text with a chain of thought",
          reason="needs Qwen2 and GSM8K; flowsys.attention_entropy measures any attention array"),
)  # fmt: skip
