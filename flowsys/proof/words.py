"""What was proven, in words."""

from collections.abc import Iterable

from flowsys.proof.exact import Exact
from flowsys.proof.posing import Posed
from flowsys.proof.proving import Proof


def as_sentences(proof: Proof) -> list[str]:
    """The theorem, its data and what it does not say, a sentence each."""
    head, posed = proof.head, proof.posed
    name = f"{head['system']} ({head['level']} {head['variant']}, mode {head['mode']})"
    found = [
        f"Theorem. For the program {posed.stated.digest} of {name} with {_numbers(posed)}, the solution from the given "
        f"start exists on [0, {proof.reached:.10g}]."
    ]
    for row in proof.rows:
        when = f"At t = {float(row.low):.10g}" if row.low == row.high else (
            f"{row.at} lies in [{float(row.low):.17g}, {float(row.low):.17g} + {float(row.high - row.low):.2g}]; there"
        )  # fmt: skip
        found.append(f"{when} every coordinate is known to {row.radius:.2g}.")
    for sign in proof.signs:
        start = f", from a zero of order {sign.order}" if sign.order else ""
        found.append(f"Proven: {sign.stated.text} (margin ≥ {sign.margin:.3g}{start}).")
    found.append(
        "It is about the program and these exact numbers (all in each interval, where there is one); that the program "
        "is the model's limit is checked numerically (`flowsys derive`), not proven here."
    )
    return found


def _numbers(posed: Posed) -> str:
    """The program's parameters; those in which stages differ, stage by stage."""
    columns = list(zip(*(stage.unrolled.data.parameters for stage in posed.stages)))
    named = list(zip(posed.program.parameters, columns))
    common = _listed((name, values[0]) for name, values in named if len(set(values)) == 1)
    if len(posed.stages) == 1:
        return common
    stages = []
    for i, stage in enumerate(posed.stages):
        end = f" until {stage.ends_on}" if stage.ends_on else "" if stage.until is None else f" to t = {stage.until}"
        own = _listed((name, values[i]) for name, values in named if len(set(values)) > 1)
        stages.append(f"{stage.name}{'' if i == len(posed.stages) - 1 else end}" + (f" ({own})" if own else ""))
    return f"{common}, in the stages {'; '.join(stages)}"


def _listed(numbers: Iterable[tuple[str, Exact]]) -> str:
    return ", ".join(f"{name} {'in' if value.is_interval else '='} {value}" for name, value in numbers)
