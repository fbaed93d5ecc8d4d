"""Section 4: training small GPT-2-like transformers, read from kept runs (`cases`), at sizes below the paper's."""

import numpy as np

from flowsys.claims import Claim, Experiment, Kit, Sides
from flowsys.claims.kit import NotReached
from flowsys.laws.fits import line, power_law
from flowsys.systems.parity import cases


def found(chosen: list[cases.Case]) -> list[tuple[cases.Case, dict]]:
    """The kept runs, all of them."""
    if reason := cases.RUNS.reason(chosen):
        raise NotReached(reason)
    return cases.kept(chosen)


def medians(by_k: dict[int, list[int | None]]) -> dict[int, float]:
    return {k: float(np.median([np.inf if s is None else s for s in many])) for k, many in by_k.items()}


def with_a_chain(run: Kit, chain: bool = True, low: float = 0.5, high: float = 1.5) -> dict[str, bool]:
    """The exponent of the samples in k ≥ 2 (k = 1 is the same task with and without a chain)."""
    chosen = cases.growth_cases(chain)
    by_k = cases.complexities(found(chosen))
    run.note(ours=cases.sizes(chosen), paper=cases.sizes(cases.paper_cases("3a")))
    pairs = [(k, s) for k, many in by_k.items() for s in many if s is not None and k > 1]
    fit = power_law(*zip(*pairs))
    run.note(exponent=fit.slope, interval=tuple(round(x, 2) for x in fit.interval), medians=medians(by_k))
    return {"every run learns": all(s is not None for many in by_k.values() for s in many),
            f"about linear: exponent between {low:g} and {high:g}": low <= fit.slope <= high}  # fmt: skip


def without_a_chain(run: Kit, chain: bool = False) -> dict[str, bool | Sides]:
    """Samples over k = 1 … 3, a run over its budget counted with it: a factor a secret, or a power of k?"""
    chosen = [case for case in cases.growth_cases(chain) if case.k <= 3]
    by_k = cases.complexities(found(chosen))
    run.note(ours=cases.sizes(chosen), paper=cases.sizes(cases.paper_cases("1a")))
    budgets = {k: cases.growth_case(k, chain, 0).budget for k in by_k}
    pairs = [(k, budgets[k] if s is None else s) for k, many in by_k.items() for s in many]
    k, samples = np.array(pairs, dtype=float).T
    exponential, power = line(k, np.log(samples)), power_law(k, samples)
    left = {"factor": np.log(samples) - exponential.constant - exponential.slope * k,
            "power": np.log(samples) - np.log(power.predicted(k))}  # fmt: skip
    run.note(
        factor=float(np.exp(exponential.slope)),
        over=sum(s is None for many in by_k.values() for s in many),
        rms={name: round(float(np.sqrt(np.mean(x**2))), 3) for name, x in left.items()},
        medians=medians(by_k),
    )
    return {
        "a secret multiplies the samples by 3 or more": Sides(float(np.exp(exponential.interval[0])), 3.0),
        "a factor fits better than a power": bool((left["factor"] ** 2).sum() < (left["power"] ** 2).sum()),
    }


def entropy(run: Kit, chain: bool = True) -> dict[str, bool]:
    """Normalised entropy (Eq. 1) at the first evaluation and at the end; k = 4 with a chain, 3 without."""
    chosen = [cases.growth_case(4 if chain else 3, chain, seed) for seed in range(cases.SEEDS)]
    ends = [(r["entropy"][0], r["entropy"][-1], r["accuracy"][-1]) for _, r in found(chosen)]
    run.note(ours=cases.sizes(chosen))
    before, after, accuracy = np.array(ends).T
    run.note(before=float(before.min()), after=float(after.max()), right=float(accuracy.min()))
    return {"entropy falls by 0.2": bool((after < before - 0.2).all()), "learned": bool((accuracy > 0.99).all())}


def rows_on_secrets(run: Kit, k: int = 8, heads: slice = slice(None)) -> dict[str, bool]:
    """Fig. 3b: rows of the mean attention whose largest entry, over heads, is on S[i]."""
    (_, result), = found([cases.growth_case(k, True, 0)])  # fmt: skip
    peaks = np.array(result["attention"])[heads].max(axis=0).argmax(axis=1) + 1
    on = int((peaks == np.array(result["secrets"])).sum())
    run.note(on=on, rows=k, ours=cases.sizes([cases.growth_case(k, True, 0)]),
             paper=cases.sizes(cases.paper_cases("3b")))  # fmt: skip
    return {"every row peaks on S[i]": on == k}


def many_passes(run: Kit, few: int | None = cases.FEW) -> dict[str, bool]:
    """Without a chain: few strings again and again, against as many samples that are all fresh."""
    seeds = range(cases.PASSES_SEEDS)
    passed, fresh = (found([cases.passes_case(strings, seed) for seed in seeds]) for strings in (few, None))
    chain = found([cases.passes_case(cases.FEW, seed, chain=True) for seed in seeds])
    learned = [r for _, r in passed if r["samples"] is not None]
    theirs = cases.paper_cases("5")
    run.note(few=cases.FEW, ours=cases.sizes([case for case, _ in passed]), paper=cases.sizes(theirs),
             paper_few=theirs[0].training_set, paper_many=theirs[-1].training_set)  # fmt: skip
    epochs = [r["samples"] / cases.FEW for r in learned]
    run.note(learned=len(learned), runs=len(passed), epochs=[round(x, 1) for x in epochs],
             with_chain=[round(r["samples"] / cases.FEW, 1) for _, r in chain if r["samples"] is not None])  # fmt: skip
    return {
        "most runs over few strings learn": len(learned) > len(passed) / 2,
        "no run over fresh strings does": all(r["samples"] is None for _, r in fresh),
        "entropy falls where it is learned": all(r["entropy"][-1] < r["entropy"][0] for r in learned) and bool(learned),
        "a chain needs fewer epochs": max((r["samples"] or np.inf) for _, r in chain) < min(
            (r["samples"] for r in learned), default=np.inf),
    }  # fmt: skip


_TAKES: dict = {"takes": ""}
CLAIMS = (
    Claim("growth_with_chain", "Figures 1a, 2, 3a", "with a chain of thought the samples needed grow about linearly "
          "in k", Experiment(), with_a_chain, control={"low": 0.0, "high": 1.0}, **_TAKES,
          note="exponent {exponent:.3g} {interval} where there is a chain, medians {medians}; {ours} (paper: {paper})"),
    Claim("growth_without_chain", "Figures 1a, 2", "without a chain of thought they grow exponentially in k",
          Experiment(), without_a_chain, control={"chain": True}, **_TAKES,
          note="factor {factor:.3g} a secret (a lower bound: {over} runs over budget); rms in log samples {rms}; "
          "medians {medians}; {ours} (paper: {paper})"),
    Claim("entropy_falls", "Figure 1b, Eq. (1)", "attention entropy falls as accuracy rises", Experiment(), entropy,
          control={"chain": False}, **_TAKES,
          note="from at least {before:.2g} to at most {after:.2g}, sequences right {right:.3g} or more; {ours}"),
    Claim("attention_rows", "Figure 3b", "every position of the chain attends to its secret", Experiment(),
          rows_on_secrets, control={"heads": slice(0, 1)}, **_TAKES,
          note="{on} of {rows} rows; random order, {ours} (paper: ascending, {paper})"),
    Claim("multi_pass", "Figures 4, 5", "without a chain, passing many times over few strings learns what fresh "
          "samples do not", Experiment(), many_passes, control={"few": None}, **_TAKES,
          note="{learned} of {runs} learned, in {epochs} epochs; with a chain {with_chain}; {few} strings, {ours} "
          "(paper: {paper_few} against {paper_many} strings, {paper})"),
    Claim("pretrained_models", "Section 4.3",
          "the attention of pretrained language models is sparser on text with a chain of thought",
          reason="needs Qwen2 and GSM8K; flowsys.attention_entropy measures any attention array"),
)  # fmt: skip
