"""Sparse parity with and without a chain of thought, learned by a one-layer simplified transformer.

A sequence holds n uniform bits, an end-of-sequence bit 0 at n+1 and, with a chain of thought, the running parities
b[i+1] = b[i] ⊕ b[S[i]] of k secret bits. A frozen embedding, one attention matrix A and one ReLU layer W predict
the next bit; everything the loss sees of the weights are inner products with the 2(n+k) token vectors.

| paper | code | meaning | shape |
|---|---|---|---|
| n, k | `n`, `k` | input bits, secret bits | |
| S[n+1..n+k] | `secrets` | input position that query position i must read | k |
| b | `sequences` | bits with their labels | sequences × positions+1 |
| e_{j,b} | `embeddings` | frozen token vectors, token 2(j-1)+b | T × d |
| ν, ε | `nu`, `epsilon` | initial signs of the neurons and their scale | 2m × 2k |
| W_{1:d} - Σ ν e, W_{d+1:2d}, A | `W_own`, `W_att`, `A` | neurons and attention, seen through tokens | 2m × d, d × d |
| h | `output_weights` | frozen output weights ±1/2m | 2m |
| Γ | `gate_overlaps` | overlap of the neurons active on two query tokens | 2k × 2k |
| P, K, a | `frozen` | outputs of the active neurons, gates frozen (the paper's Δ is -K), scores | 2k, 2k × T, T × 2k |
| g, u, v, w | `g`, `u`, `v`, `w` | signal; scores of the target, an ordinary, a sure token | |
| s | `s_target` | attention on S[i] | |
| η_0, η_1, η_2 | `eta_0` … | learning rates of the three steps | |
| Ent | `attention_entropy` | normalised attention entropy, Eq. (1) | |
"""

from functools import partial

import flowsys as fs
from flowsys.system import Setup, late, packaged
from flowsys.systems.parity import frozen, vocabulary
from flowsys.systems.parity.model import Network, fresh_batch, output_weights, sampled_blocks
from flowsys.systems.parity.notation import LATEX
from flowsys.systems.parity.observables import averages, observables

_limit = late("flowsys.systems.parity.limits:limit_problem")
_surrogate = late("flowsys.systems.parity.limits:surrogate_problem")
_sequences = late("flowsys.systems.parity.limits:sequences_problem")


def _columns(setup: Setup, level: str, variant: str, mode: str) -> tuple[str, ...]:
    """What the limit's flow reads as numbers, and what only other levels read."""
    if level != "L4" and ((level, variant) != ("L3", "limit") or mode == "three_step"):
        return ()
    elsewhere = ("epsilon", "width", "learning_rate", "eta_0", "eta_1", "eta_2")
    return ("m", "lock_threshold", "margin_threshold", "t_max", *elsewhere)


NETWORK = Network(lambda p: output_weights(p.width))


def _form(name: str, form, blocks, functions: dict, *events: str) -> fs.Model:
    watched = {event: vocabulary.EVENTS[event] for event in ("lock", "margin_1", *events)}
    return fs.Model(name, blocks=blocks, loss=form.loss, observe=functions, events=watched, **vocabulary.DECLARED)


FORMS = {
    "frozen": _form("parity_frozen", frozen.Frozen(), frozen.frozen_blocks, observables(frozen.Frozen())),
    "collapsed": _form("parity_limit", frozen.Limit(), frozen.limit_blocks, observables(frozen.Limit())),
    "balanced": _form("parity_balanced", frozen.BALANCED, frozen.balanced_blocks, observables(frozen.BALANCED),
                      "gate_flip"),
    "found": _form("parity_found", frozen.Limit(), frozen.limit_blocks, averages(frozen.Limit())),
    "live": _form("parity_live", frozen.BALANCED, frozen.balanced_blocks, averages(frozen.BALANCED)),
}  # fmt: skip

SYSTEM = fs.Model(
    "parity",
    paper=fs.Paper(
        "parity",
        "From sparse dependence to sparse attention: unveiling how chain-of-thought enhances "
        "transformer sample efficiency",
        "ICLR 2025",
    ),
    summary="sparse parity with a chain of thought, learned by a one-layer simplified transformer",
    blocks=sampled_blocks,
    loss=NETWORK.loss,
    observe=observables(NETWORK),
    observables=vocabulary.OBSERVABLES,
    events=vocabulary.EVENTS,
    batches=fresh_batch,
    modes=vocabulary.MODES,
    variants={
        "L2": {"reduced": "reduced",
               "frozen": ("(P, K, a) while no gate flips: the width enters through the gate overlaps",
                          partial(_sequences, "frozen"))},
        "L3": {
            "limit": ("a position in 4 variables, the block in 16", _limit),
            "collapsed": ("frozen gates, all positions and secret strings (P, K, a)", partial(_sequences, "collapsed")),
            "balanced": ("live gates: one neuron per sign pattern", partial(_sequences, "balanced")),
            "found": ("", partial(_sequences, "found")),
            "live": ("the balanced neurons lumped: averages alone, k <= 2", partial(_sequences, "live")),
        },
        "L4": {"surrogate": ("only the target's score moves", _surrogate)},
    },
    steps=1600,
    latex=LATEX,
    columns=_columns,
    validate=vocabulary.validate,
    **packaged(__name__),
    **vocabulary.DECLARED,
)  # fmt: skip
