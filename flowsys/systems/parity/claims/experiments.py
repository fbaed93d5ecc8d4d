"""Section 4: training small GPT-2-like transformers, read from stored runs (`flowsys.systems.parity.growth`)."""

import numpy as np

from flowsys.claims import Claim, Verdict, Word, judged
from flowsys.fits import line
from flowsys.references import Ref
from flowsys.systems.parity import growth

BUDGET_NOTE = "samples at the first perfect validation; runs over the budget are counted, not dropped"


def samples_grow_at_most_linearly_with_a_chain(chain: bool = True) -> Verdict:
    """Samples against k over all stored seeds: share solved, a straight line with its interval, the largest ratio."""
    found = growth.complexities(growth.stored(), chain)
    solved = [(k, samples) for k, many in found.items() for samples in many if samples is not None]
    n_runs = sum(map(len, found.values()))
    share = len(solved) / max(n_runs, 1)
    text = ", ".join(f"k={k}: {_median(many)}" for k, many in found.items())
    if share < 0.9 or len({k for k, _ in solved}) < 2:
        return Verdict(Word.FAILS, "every run succeeds, samples grow slowly with k", f"{share:.0%} solved; {text}",
                       BUDGET_NOTE, parameters=_parameters(found), values=found)  # fmt: skip
    fit = line(*zip(*solved))
    ks, medians = list(found), [np.median([s for s in many if s is not None]) for many in found.values()]
    exponent = line(np.log(ks), np.log(medians))
    return judged(
        exponent.slope < 2.0,
        "samples grow slowly with k (about linearly)",
        f"{share:.0%} solved; {fit.slope:.3g} [{fit.interval[0]:.3g}, {fit.interval[1]:.3g}] samples per secret, "
        f"exponent in k {exponent}; medians {text}",
        note=BUDGET_NOTE,
        interval=fit.interval,
        parameters=_parameters(found),
        values=found,
    )


def samples_explode_without_a_chain(chain: bool = False) -> Verdict:
    """The factor by which one more secret multiplies the samples needed, a lower bound where the budget ran out."""
    found = growth.complexities(growth.stored(), chain)
    budget = growth.Case(1, chain, 0).budget
    typical = {k: np.median([budget if s is None else s for s in many]) for k, many in found.items()}
    censored = {k: sum(s is None for s in many) for k, many in found.items()}
    factor = typical[2] / typical[1]
    return judged(
        factor > 10,
        "samples grow exponentially in k",
        f"factor >= {factor:.3g} from k = 1 to 2; "
        + ", ".join(f"k={k}: {_median(found[k])} ({censored[k]} of {len(found[k])} over budget)" for k in found),
        note=f"budget {budget}: where it runs out the samples are a lower bound, so no exponent can be fitted",
        parameters=_parameters(found),
        values=found,
    )


def attention_entropy_falls_when_accuracy_rises(chain: bool = True) -> Verdict:
    """Normalised entropy (Eq. 1) at the start and at the end, runs with k >= 2."""
    ends = [
        (result["entropy"][0], result["entropy"][-1], result["accuracy"][-1])
        for key, result in growth.stored().items()
        if f"chain={int(chain)}" in key and "k=1 " not in key
    ]
    before, after, _ = np.array(ends).T
    return judged(
        bool(before.min() > 0.9 and after.max() < 0.5),
        "entropy falls from about 1 as the task is learned",
        f"first {before.min():.2f} … {before.max():.2f}, last {after.min():.2f} … {after.max():.2f} ({len(ends)} runs)",
        note="the least over heads and positions, mean over sequences",
        parameters={"n": growth.N, "chain": chain},
        values={"first": before.tolist(), "last": after.tolist()},
    )


def _median(many) -> str:
    if not many:
        return "no run"
    over = sum(s is None for s in many)
    return "over budget" if 2 * over > len(many) else f"{np.median([np.inf if s is None else s for s in many]):.3g}"


def _parameters(found) -> dict:
    return {
        "n": growth.N,
        "seeds": {k: len(many) for k, many in found.items()},
        "budget": growth.Case(1, True, 0).budget,
    }


CLAIMS = (
    Claim(
        "growth_with_chain",
        Ref("parity", "Figures 1a, 2, 3a"),
        "with a chain of thought the samples needed grow slowly, roughly linearly, with k",
        "stored runs, n = 20, 1 layer, 2 heads, hidden 32; control: without a chain",
        samples_grow_at_most_linearly_with_a_chain,
        lambda: samples_grow_at_most_linearly_with_a_chain(False),
    ),
    Claim(
        "growth_without_chain",
        Ref("parity", "Figures 1a, 2"),
        "without a chain of thought the samples needed grow exponentially with k",
        "stored runs, as above; control: with a chain",
        samples_explode_without_a_chain,
        lambda: samples_explode_without_a_chain(True),
    ),
    Claim(
        "entropy_falls",
        Ref("parity", "Figure 1b"),
        "attention entropy falls as accuracy rises",
        "stored runs with a chain, k >= 2; control: without a chain",
        attention_entropy_falls_when_accuracy_rises,
        lambda: attention_entropy_falls_when_accuracy_rises(False),
    ),
    Claim(
        "multi_pass",
        Ref("parity", "Figures 4, 5, 9-11"),
        "without a chain of thought, passing many times over few strings learns what fresh samples do not",
        reason="1e7 samples per run with 4 layers and heads: hours on this hardware; experiment.Run(training_set=...) "
        "trains it",
    ),
    Claim(
        "pretrained_models",
        Ref("parity", "Section 4.3"),
        "the attention of pretrained language models is sparser on text with a chain of thought",
        reason="needs Qwen2 and GSM8K; flowsys.attention_entropy measures any attention array",
    ),
)
