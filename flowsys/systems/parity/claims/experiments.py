"""Section 4: training small GPT-2-like transformers, read from stored runs (`flowsys.systems.parity.growth`)."""

import numpy as np

from flowsys.claims import Claim, Verdict, Word, judged
from flowsys.fits import line
from flowsys.references import Ref
from flowsys.systems.parity import growth

BUDGET_NOTE = "samples at the first perfect validation; runs over the budget are counted, not dropped"


def samples_grow_at_most_linearly_with_a_chain(chain: bool = True) -> Verdict:
    """Median samples against k over the stored seeds (a run over its budget counts as infinite), and the exponent."""
    found = growth.complexities(growth.stored(), chain)
    solved = [(k, samples) for k, many in found.items() for samples in many if samples is not None]
    typical = {k: np.median([np.inf if s is None else s for s in many]) for k, many in found.items()}
    text = ", ".join(f"k={k}: {_median(many)} ({_solved(many)})" for k, many in found.items())
    predicted = "samples grow slowly with k, about linearly"
    ks = [k for k, value in typical.items() if np.isfinite(value)]
    if len(ks) < 2 or len(ks) < len(found) / 2:
        return Verdict(Word.FAILS, predicted, text or "no stored run", BUDGET_NOTE, parameters=_parameters(found))
    fit, exponent = line(*zip(*solved)), line(np.log(ks), np.log([typical[k] for k in ks]))
    word = _word(exponent.slope < 2, found)
    return Verdict(
        Word.IN_PART if word is Word.HOLDS and len(solved) < sum(map(len, found.values())) else word,
        predicted,
        f"medians {text}; {fit} samples per secret, exponent in k {exponent}",
        BUDGET_NOTE + "; k = 2 is the hardest: runs stall at 76 % on position n+2" + _seeds(found),
        interval=exponent.interval,
        parameters=_parameters(found),
        values=found,
    )


def samples_explode_without_a_chain(chain: bool = False) -> Verdict:
    """The factor by which one more secret multiplies the samples needed, a lower bound where the budget ran out."""
    found = growth.complexities(growth.stored(), chain)
    budget = growth.Case(1, chain, 0).budget
    typical = {k: np.median([budget if s is None else s for s in many]) for k, many in found.items()}
    censored = {k: sum(s is None for s in many) for k, many in found.items()}
    factor = typical.get(2, 0.0) / typical.get(1, 1.0)
    return Verdict(
        _word(factor > 10, found),
        "samples grow exponentially in k",
        f"factor >= {factor:.3g} from k = 1 to 2; "
        + ", ".join(f"k={k}: {_median(found[k])} ({censored[k]} of {len(found[k])} over budget)" for k in found),
        f"budget {budget}: where it runs out the samples are a lower bound, so no exponent can be fitted"
        + _seeds(found),
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
    if not ends:
        return Verdict(Word.FAILS, "entropy falls from about 1", "no stored run", "growth.fill makes them")
    before, after, _ = np.array(ends).T
    return judged(
        bool(before.min() > 0.9 and after.max() < 0.5),
        "entropy falls from about 1 as the task is learned",
        f"first {before.min():.2f} … {before.max():.2f}, last {after.min():.2f} … {after.max():.2f} ({len(ends)} runs)",
        note="the least over heads and positions, mean over sequences",
        parameters={"n": growth.N, "chain": chain},
        values={"first": before.tolist(), "last": after.tolist()},
    )


def _word(holds: bool, found) -> Word:
    """A trend counts as holding with SEEDS seeds at every k; with fewer it holds in part."""
    if not holds:
        return Word.FAILS
    return Word.HOLDS if min(map(len, found.values())) >= growth.SEEDS else Word.IN_PART


def _seeds(found) -> str:
    least = min(map(len, found.values()))
    if least >= growth.SEEDS:
        return ""
    return f"; only {least} of {growth.SEEDS} seeds are stored at some k: growth.fill(growth.cases()) completes them"


def _solved(many) -> str:
    return f"{sum(s is not None for s in many)} of {len(many)}"


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
