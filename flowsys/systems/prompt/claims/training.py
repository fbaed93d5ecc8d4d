"""Theorem 1: training time, loss, prompts and batches; and what the flow does outside of the proofs' regime."""

from functools import partial
from types import SimpleNamespace

import numpy as np

from flowsys.claims import Claim, Inequality, Kit, Order, Path, Sides
from flowsys.systems.prompt import derive, tasks
from flowsys.systems.prompt.claims import printed
from flowsys.systems.prompt.claims.regimes import FEW_MATCHING, PROOFS, SQUARED, many_patterns

BOX = [{"M": 50, "K": 2, "alpha": 0.4}, {"M": 500, "K": 2, "alpha": 0.1}, {"M": 250, "K": 3, "alpha": 0.4},
       {"M": 500, "K": 3, "alpha": 0.4}, {"M": 110, "K": 3, "alpha": 0.8}]  # fmt: skip
EPSILONS = (0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)


def T(p) -> float:
    """The time of (18), times η."""
    return float(printed.training_time(p.epsilon, p.M, p.K, p.alpha))


def time_to_loss(run: Kit, power: float = 0.0) -> float:
    """T_3, when (1-p)² = ε, which bounds twice the loss; the control weighs it."""
    return run.time("T_3") * run.p.epsilon**-power


def samples_needed(run: Kit, power: float = 0.0) -> float:
    """N = B T at η = 1, T to (1-p)² = ε, B = max(ε^-2, M) log M; the control weighs it."""
    p = run.p
    batch = max(p.epsilon**-2, p.M) * np.log(p.M)
    run.note(batch=float(batch))
    return batch * run.time("T_3") * p.alpha**-power


def loss_after(run: Kit, power: float = 1.0) -> float:
    """The loss at t = T(ε)."""
    p = run.p
    t = float(printed.training_time(p.epsilon**power, p.M, p.K, p.alpha))
    return run.values(t, observe=("loss",))["loss"]


def sum_of_times(run: Kit, power: float = 0.0) -> float:
    """T_1 + T_2 + T_3 of (34), (46), (54)."""
    p = run.p
    stages = (printed.stage_1_time(p.epsilon, p.K, p.alpha), printed.stage_2_time(p.M, p.K, p.alpha),
              printed.stage_3_time(p.epsilon, p.M, p.K))  # fmt: skip
    return float(sum(stages)) * p.alpha**-power


def attention_of_short_prompts(run: Kit, share: float = 2.0) -> Sides:
    """p at t = 200 of SGD on prompts of ⌈2/α⌉ examples, and of endless ones, on each of several seeds."""
    length = max(1, int(np.ceil(share / run.p.alpha)))
    attention = partial(derive.descended, run.setup, "mass_same_same", "sgd", derive.N_SEEDS)
    return Sides(attention(l_tr=length), attention(l_tr=np.inf).mean())


def batch_noise(run: Kit, power: float = 0.0) -> float:
    """‖batch gradient - its mean‖/‖mean‖ at W = 0, rms over 16 batches."""
    import jax

    from flowsys.model import ops
    from flowsys.model.concrete import View
    from flowsys.systems.prompt.model import prompt_loss

    there = SimpleNamespace(**{**run.p, "mode": "population"})
    zero = np.zeros((2 * there.M + there.K, there.M + there.K))

    def gradient(key):
        X = tasks.batches(key, there)
        return jax.grad(lambda S: prompt_loss(ops, View({"W": S}), X, there).mean())(zero)

    with jax.enable_x64(True):
        found = np.array([np.asarray(g) for g in jax.jit(jax.vmap(gradient))(jax.random.split(jax.random.key(1), 16))])
    mean = found.mean(axis=0)
    off = np.sqrt(((found - mean) ** 2).sum(axis=(1, 2)).mean() * 16 / 15)
    return float(off / np.linalg.norm(mean)) * there.batch_size**power


def stuck_loss(run: Kit, sign: float = 1.0) -> Sides:
    """The loss at t = 1e5 M, and its value at t = 0."""
    late, first = (run.values(t, observe=("loss",))["loss"] for t in (1e5 * run.p.M, 0.0))
    return Sides(sign * late, sign * 0.9 * first)


CLAIMS = [
    Claim("theorem_1_time", "Theorem 1, Eq. (18)", "the loss is O(ε) after O(α^-1 K³ log(K/ε) + M K (α^-1 + ε^-1))",
          Order("O", T), time_to_loss, at=[{**size, **SQUARED} for size in BOX], path=Path("epsilon", EPSILONS),
          regime=PROOFS, levels="L3", takes="M K alpha", control={"power": 0.5}),
    Claim("theorem_1_loss", "Theorem 1, Eqs. (19), (58)", "after T(ε) of (18) the loss is O(ε)",
          Order("O", lambda p: p.epsilon), loss_after, at=BOX, path=Path("epsilon", EPSILONS), regime=PROOFS,
          levels="L3", takes="M K alpha", control={"power": 0.5}),
    Claim("P1_iterations", "Sec. 3, P1", "the iterations needed are linear in 1/α (and so the samples N = B T)",
          Order("Θ", lambda p: p.M / p.alpha), time_to_loss, at={"epsilon": 0.1, **SQUARED},
          path=Path("alpha", (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4), M=many_patterns(2.0)), regime=FEW_MATCHING,
          what="remark", levels="L3", takes="K epsilon",
          control=lambda run: run.time("T_3") / run.p.alpha, note="at a fixed ε and batch, as α vanishes"),
    Claim("P1_samples", "Sec. 3, P1", "the total number of training samples N = B T is linear in 1/α",
          Order("Θ", lambda p: 1 / p.alpha), samples_needed, at={"M": 10**6, "epsilon": 0.1, **SQUARED},
          path=Path("alpha", (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4)), regime=FEW_MATCHING, what="remark",
          levels="L3", takes="K epsilon", control={"power": 1.0},
          note="at fixed ε and M, with the batch B of Theorem 1, {batch:.3g}"),
    Claim("Eq57", "Eq. (57)", "T_1 + T_2 + T_3 = Θ(α^-1 K³ log(K/ε) + M K (α^-1 + ε^-1))", Order("Θ", T), sum_of_times,
          path=Path("alpha", (0.4, 0.2, 0.1, 0.03, 0.01, 1e-3), M=many_patterns(1.0)), regime=PROOFS,
          levels="L3", takes="", control={"power": 1.0},
          note="the lemma has another power of α in the first term than the theorem; the second is larger here"),
    Claim("theorem_1_l_tr", "Theorem 1, Eq. (17)", "prompts of O(1/α) examples suffice: p at t = 200 of SGD is of the "
          "order of that of endless prompts", Inequality(">=", None), attention_of_short_prompts,
          at=[{"M": 10, "K": 2, "alpha": a} for a in (0.8, 0.4, 0.2)], is_cheap=False, levels="L3", takes="",
          control={"kind": Inequality(">=", 1.2)}),
    Claim("theorem_1_batch", "Theorem 1, Eqs. (40)–(42)", "the relative noise of a batch's gradient is O(B^-1/2), so "
          "B = O(ε^-2) makes it ε", Order("O", lambda p: p.batch_size**-0.5), batch_noise, at={"M": 10, "K": 2},
          path=Path("batch_size", (40, 160, 640, 2560, 10240)), is_cheap=False, levels="L3", takes="alpha l_tr",
          control={"power": 0.5}),
    Claim("least_fraction", "Theorem 1 [ours]", "at α M = 1/2 nothing is learnt: the loss stays",
          Inequality(">="), stuck_loss, at=[{"M": M, "alpha": 0.5 / M} for M in (40, 80, 160)], levels="L3", takes="K",
          control={"at": [{"M": M, "alpha": 2.0 / M} for M in (40, 80, 160)]}),
]  # fmt: skip
