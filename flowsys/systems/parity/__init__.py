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
| G | `Metric.keys`, `.queries` | Gram matrix of the tokens (identity when orthonormal) | T × T, 2k × 2k |
| W, A, h | `Weights.W`, `.A`, `h` | neurons, attention, frozen output weights ±1/2m | 2m × 2d, d × d, 2m |
| ν, ε | `signs`, `epsilon` | initial signs of the neurons and their scale | 2m × 2k |
| p, q, a | `Coordinates` | ⟨W_{1:d}, e_query⟩, ⟨W_{d+1:2d}, e_key⟩, e_keyᵀ A e_query | 2m × 2k, 2m × T, T × 2k |
| Γ | `overlaps` | overlap of the neurons active on two query tokens | 2k × 2k |
| P, K | `FrozenCoordinates` | output of the active neurons, with frozen gates (the paper's Δ is -K) | 2k, 2k × T |
| g, u, v, w | `g`, `u`, `v`, `w` | signal; scores of the target, an ordinary, a sure token | |
| s | `s_target` | attention on S[i] | |
| η_0, η_1, η_2 | `Rates` | learning rates of the three steps | |
| Ent | `attention_entropy` | normalised attention entropy, Eq. (1) | |
"""

from flowsys.errors import InputError
from flowsys.system import LazyMapping, LazySequence, Setup, System, Variants, late, late_value
from flowsys.system.problem import Problem
from flowsys.system.references import Paper
from flowsys.systems.parity.vocabulary import EVENTS, MODES, OBSERVABLES, PARAMETERS, validate


def _build(setup: Setup, level: str, variant: str, mode: str) -> Problem:
    from flowsys.systems.parity import infinite

    if level == "L0":
        raise InputError("level = L0 is gradient descent, which has no flow to integrate: train it.")
    if level == "L4":
        return infinite.surrogate_problem(setup, mode)
    if (level, variant) == ("L3", "limit") and mode != "three_step":
        return infinite.limit_problem(setup, mode)
    from flowsys.systems.parity.levels import problem

    return problem(setup, level, variant, mode)


def _columns(setup: Setup, level: str, variant: str, mode: str) -> tuple[str, ...]:
    """What the limit's flow reads as numbers, and what follows m at other levels."""
    if level != "L4" and ((level, variant) != ("L3", "limit") or mode == "three_step"):
        return ()
    elsewhere = ("width", "learning_rate", "eta_0", "eta_1", "eta_2")
    return ("m", "lock_threshold", "margin_threshold", "t_max", *elsewhere)


SYSTEM = System(
    name="parity",
    paper=Paper(
        "parity",
        "From sparse dependence to sparse attention: unveiling how chain-of-thought enhances "
        "transformer sample efficiency",
        "ICLR 2025",
    ),
    summary="sparse parity with a chain of thought, learned by a one-layer simplified transformer",
    parameters=PARAMETERS,
    modes=MODES,
    levels={
        "L0": Variants(
            ("symmetric", "enumerated", "coordinates"),
            (
                "gradient descent on the weights, equal tokens sharing a direction (orthonormal tokens, any n)",
                "gradient descent on the weights, every string or a batch (also finite d)",
                "the same descent on (p, q, a)",
            ),
        ),
        "L1": Variants(
            ("symmetric", "enumerated"),
            (
                "gradient flow on the weights, equal tokens sharing a direction (orthonormal tokens, any n)",
                "gradient flow on the weights over every string (also finite d)",
            ),
        ),
        "L2": Variants(
            ("collapsed", "enumerated", "frozen"),
            (
                "(p, q, a) with non-secret tokens as one class, live gates",
                "(p, q, a) over every string (also finite d)",
                "(P, K, a) while no gate flips: the width enters through the gate overlaps",
            ),
        ),
        "L3": Variants(
            ("limit", "collapsed", "balanced"),
            (
                "a position in 4 variables, the block in 16",
                "frozen gates, all positions and secret strings (P, K, a)",
                "live gates: one neuron per sign pattern",
            ),
        ),
        "L4": Variants(("surrogate",), ("only the target's score moves",)),
    },
    events=EVENTS,
    observables=OBSERVABLES,
    build=_build,
    columns=_columns,
    validate=validate,
    training=late("flowsys.systems.parity.training:training"),
    derive=late("flowsys.systems.parity.derive:derive"),
    equations=late_value("flowsys.systems.parity.reduced:EQUATIONS"),
    latex=LazyMapping(late_value("flowsys.systems.parity.notation:LATEX")),
    meanings=LazyMapping(late_value("flowsys.systems.parity.notation:WORDS")),
    places=LazyMapping(late_value("flowsys.systems.parity.notation:PLACES")),
    ladder=late("flowsys.systems.parity.ladder:ladder"),
    claims=LazySequence(late_value("flowsys.systems.parity.claims:CLAIMS")),
    figures=LazyMapping(late_value("flowsys.systems.parity.figures:FIGURES")),
    diagrams=LazyMapping(late_value("flowsys.systems.parity.diagrams:DIAGRAMS")),
)
