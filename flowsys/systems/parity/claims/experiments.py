"""Section 4: training small GPT-2-like transformers, read from kept runs (`cases`), at sizes below the paper's."""

import numpy as np

from flowsys.claims import Claim, Experiment, Kit, Sides
from flowsys.claims.kit import NotReached
from flowsys.laws.fits import line, power_law
from flowsys.systems.parity import cases
from flowsys.systems.parity.experiment import Run

SMALL, PAPER = cases.small_runs(), cases.paper_runs()


def found(chosen: list[Run]) -> list[tuple[Run, dict]]:
    """The kept runs, all of them."""
    if reason := cases.RUNS.reason(chosen):
        raise NotReached(reason)
    return cases.RUNS.kept(chosen)


def medians(by_k: dict[int, list[int | None]]) -> dict[int, float]:
    return {k: float(np.median([np.inf if s is None else s for s in many])) for k, many in by_k.items()}


def with_a_chain(run: Kit, factor: float = 1.0) -> dict[str, bool]:
    """Samples over k ≥ 2 (k = 1 is the same task with and without a chain): a line, on the linear axes of Fig. 3a?

    It need not pass through 0, and may not bend by more than the scatter allows. `factor` multiplies the samples by so
    much a secret.
    """
    chosen = [one for one in SMALL["1a"] if one.chain]
    by_k = cases.complexities(found(chosen))
    run.note(ours=cases.sizes(chosen), paper=cases.sizes(PAPER["3a"]))
    k, samples = np.array([(k, s * factor**k) for k, many in by_k.items() for s in many if s and k > 1], dtype=float).T
    straight, exponential = line(k, samples), line(k, np.log(samples))
    low, high = line(line(k, k**2).residuals, straight.residuals).interval  # of the coefficient of k²
    left = {"line": np.log(np.maximum(straight.predicted(k), 1.0) / samples), "factor": exponential.residuals}
    run.note(slope=str(straight), start=straight.constant, bend=(round(low), round(high)), medians=medians(by_k),
             rms={name: round(float(np.sqrt(np.mean(x**2))), 3) for name, x in left.items()},
             factor=float(np.exp(exponential.slope)), exponent=power_law(k, samples).slope)  # fmt: skip
    return {
        "every run learns": all(s is not None for many in by_k.values() for s in many),
        "samples grow with k": straight.interval[0] > 0,
        "no bend off a line is seen": low <= 0 <= high,
    }


def without_a_chain(run: Kit, chain: bool = False) -> dict[str, bool | Sides]:
    """Samples over k = 1 … 3, a run over its budget counted with it: a factor a secret, or a power of k?"""
    chosen = [one for one in SMALL["1a"] if one.chain == chain and one.k <= 3]
    by_k = cases.complexities(found(chosen))
    run.note(ours=cases.sizes(chosen), paper=cases.sizes(PAPER["1a"]))
    budgets = {one.k: one.budget for one in chosen}
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
    chosen = [one for one in SMALL["1b"] if one.chain == chain]
    ends = [(r["entropy"][0], r["entropy"][-1], r["accuracy"][-1]) for _, r in found(chosen)]
    run.note(ours=cases.sizes(chosen))
    before, after, accuracy = np.array(ends).T
    run.note(before=float(before.min()), after=float(after.max()), right=float(accuracy.min()))
    return {"entropy falls by 0.2": bool((after < before - 0.2).all()), "learned": bool((accuracy > 0.99).all())}


def rows_on_secrets(run: Kit, shift: int = 0) -> dict[str, bool]:
    """Fig. 3b: rows of the mean attention whose largest entry is on S[i], at the paper's n and k."""
    ((there, result),) = found(SMALL["3b"])
    peaks = np.array(result["attention"]).max(axis=0).argmax(axis=1) + 1
    on = int((peaks == np.roll(result["secrets"], shift)).sum())
    run.note(on=on, rows=there.k, ours=cases.sizes(SMALL["3b"]), paper=cases.sizes(PAPER["3b"]))
    return {"every row peaks on S[i]": on == there.k}


def sparse_layers(run: Kit, first: int = 0) -> dict[str, bool]:
    """Fig. 8: in the first of two layers each S[i] is where the row of some head peaks; the second is less sharp.

    Sharpness of a head: the mean over rows of its largest attention.
    """
    ((there, result),) = found(SMALL["8"])
    heads = np.array(result["attention"]).reshape(there.architecture.n_layers, there.architecture.n_heads, there.k, -1)
    on = int((heads[first].argmax(axis=-1) + 1 == np.array(result["secrets"])).any(axis=0).sum())
    sharp = heads.max(axis=-1).mean(axis=-1).max(axis=-1)
    run.note(on=on, rows=there.k, sharp=[round(float(x), 2) for x in sharp], ours=cases.sizes(SMALL["8"]),
             paper=cases.sizes(PAPER["8"]))  # fmt: skip
    return {"every secret has a head of the first layer": on == there.k,
            "the second layer is less sparse": sharp[first] > sharp[1 - first]}  # fmt: skip


def epochs(runs: list[tuple[Run, dict]]) -> list[float]:
    return [round(result["samples"] / run.training_set, 1) for run, result in runs if result["samples"] is not None]


def many_passes(run: Kit, without: str = "4") -> dict[str, bool]:
    """Fig. 4: few strings again and again without a chain, for several shapes; with one it takes fewer epochs."""
    shapes, chain = found(SMALL[without]), found(SMALL["4 with a chain"])
    run.note(few=cases.FEW, ours=cases.sizes(SMALL["4"]), paper=cases.sizes(PAPER["4"]), with_chain=epochs(chain),
             shapes={cases.shape(one): epochs([(one, r)]) for one, r in shapes})  # fmt: skip
    return {
        "most shapes learn": len(epochs(shapes)) > len(shapes) / 2,
        "a chain needs fewer epochs": len(epochs(chain)) == len(chain) and max(epochs(chain)) < min(epochs(shapes)),
    }


def few_and_many(run: Kit, most: int = cases.MANY) -> dict[str, bool]:
    """Figs. 5, 10, 11: training sets of several sizes, shape by shape, at a fixed number of samples seen.

    Entropy is that of the sparsest head, its fall from the first evaluation to the last.
    """
    told, learns, fails, sparser = {}, [], [], []
    runs = found(SMALL["10"])
    for shape in dict.fromkeys(cases.shape(one) for one, _ in runs):
        there = {one.training_set: r for one, r in runs if cases.shape(one) == shape}
        told[shape] = {strings: r["samples"] for strings, r in there.items()}
        fall = {strings: r["entropy"][0] - r["entropy"][-1] for strings, r in there.items()}
        solved = [strings for strings, r in there.items() if r["samples"] is not None]
        learns.append(bool(set(solved) - {most}))
        fails.append(most not in solved)
        sparser += [fall[strings] > fall[most] for strings in solved if strings != most]
    run.note(samples=told, ours=cases.sizes(SMALL["10"]), paper=cases.sizes(PAPER["10"]))
    return {
        "every shape learns from some smaller training set": all(learns),
        "no shape learns from the largest": all(fails),
        "entropy falls further where it is learned than over the largest": all(sparser),
    }


def many_secrets(run: Kit, chain: bool = False) -> dict[str, bool]:
    """Fig. 9: twelve secrets, without a chain over training sets of several sizes, and with one."""
    without, with_chain = (found([one for one in SMALL["9"] if one.chain == x]) for x in (chain, True))
    best = max(max(result["accuracy"]) for _, result in without)
    run.note(best=best, samples=[result["samples"] for _, result in with_chain], ours=cases.sizes(SMALL["9"]),
             budget=SMALL["9"][0].budget, paper=cases.sizes(PAPER["9"]))  # fmt: skip
    return {"without a chain no better than chance": best < 0.6,
            "with one it is learned": all(result["samples"] is not None for _, result in with_chain)}  # fmt: skip


_TAKES: dict = {"takes": ""}
CLAIMS = (
    Claim("growth_with_chain", "Figures 1a, 2, 3a", "with a chain of thought the samples needed grow about linearly "
          "in k", Experiment(), with_a_chain, control={"factor": 1.5}, **_TAKES,
          note="where there is a chain {start:.3g} samples and {slope} more a secret, its square times {bend}; a "
          "power of k would be {exponent:.3g}, a factor {factor:.3g} a secret, rms in log samples {rms}; "
          "medians {medians}; {ours} (paper: {paper})"),
    Claim("growth_without_chain", "Figures 1a, 2", "without a chain of thought they grow exponentially in k",
          Experiment(), without_a_chain, control={"chain": True}, **_TAKES,
          note="factor {factor:.3g} a secret (a lower bound: {over} runs over budget); rms in log samples {rms}; "
          "medians {medians}; {ours} (paper: {paper})"),
    Claim("entropy_falls", "Figure 1b, Eq. (1)", "attention entropy falls as accuracy rises", Experiment(), entropy,
          control={"chain": False}, **_TAKES,
          note="from at least {before:.2g} to at most {after:.2g}, sequences right {right:.3g} or more; {ours}"),
    Claim("attention_rows", "Figure 3b", "every position of the chain attends to its secret", Experiment(),
          rows_on_secrets, control={"shift": 1}, **_TAKES,
          note="{on} of {rows} rows; ascending, {ours} (paper: {paper})"),
    Claim("attention_of_layers", "Figure 8", "of two layers with a chain the first attends to the secrets, the second "
          "is less sparse", Experiment(), sparse_layers, control={"first": 1}, **_TAKES,
          note="{on} of {rows} rows; mean largest attention of a layer's sharpest head {sharp}; {ours} (paper: "
          "{paper})"),
    Claim("multi_pass", "Figure 4", "without a chain, passing many times over few strings learns six secrets, in more "
          "epochs than with one", Experiment(), many_passes, control={"without": "4 with a chain"}, **_TAKES,
          note="over {few} strings in epochs {shapes}, with a chain in {with_chain}; {ours} (paper: {paper})"),
    Claim("training_sets", "Figures 5, 10, 11", "without a chain, small training sets are learned as attention becomes "
          "sparse, a million strings are not", Experiment(), few_and_many, control={"most": cases.FEW}, **_TAKES,
          note="samples seen when learned, by shape and strings: {samples}; {ours} (paper: {paper})"),
    Claim("many_secrets", "Figure 9", "twelve secrets are not learned without a chain from any number of strings, and "
          "soon with one", Experiment(), many_secrets, control={"chain": True}, **_TAKES,
          note="without a chain at most {best:.3g} right within {budget} samples, with one learned after {samples}; "
          "{ours} (paper: {paper})"),
    Claim("pretrained_models", "Section 4.3",
          "the attention of pretrained language models is sparser on text with a chain of thought",
          reason="needs Qwen2 and GSM8K; flowsys.attention_entropy measures any attention array"),
)  # fmt: skip
