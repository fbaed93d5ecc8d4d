"""What was proven, in words."""

from flowsys.proof.proving import Proof


def as_sentences(proof: Proof) -> list[str]:
    """The theorem, its data and what it does not say, a sentence each."""
    head, problem = proof.head, proof.posed
    data = problem.stages[0].unrolled.data
    numbers = [f"{name} = {value}" for name, value in zip(problem.program.parameters, data.parameters)]
    name = f"{head['system']} ({head['level']} {head['variant']}, mode {head['mode']})"
    found = [
        f"Theorem. For the program {problem.stated.digest} of {name} with {', '.join(numbers)}, the solution from the "
        f"given start exists on [0, {proof.reached:.10g}]."
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
        "It is about the program and these exact numbers; that the program is the model's limit is checked numerically "
        "(`flowsys derive`), not proven here."
    )
    return found
