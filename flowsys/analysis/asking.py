"""`fs.analyse`: one call, one question, one result."""

from collections.abc import Sequence
from typing import Any

from flowsys.analysis.result import Analysis
from flowsys.errors import InputError
from flowsys.runs.solving import check_numbers
from flowsys.system import Setup, System, asked


def analyse(
    system: System | str,
    setup: Setup | None = None,
    *,
    exponents: str | None = None,
    linearise: Sequence[str | float] | None = None,
    sensitivities: Sequence[str] | None = None,
    equilibria: bool = False,
    robust: bool = False,
    draws: int = 0,
    at: Sequence[str | float] | None = None,
    observe: Sequence[str] | None = None,
    level: str | None = None,
    variant: str | None = None,
    mode: str | None = None,
    rtol: float | None = None,
    command: str = "",
    **parameters: Any,
) -> Analysis:
    """Local analysis of a flow; exactly one of the questions is asked. Parameters are keywords, or a `setup`.

        fs.analyse("mixture", exponents="omega=1e-4:1e-1")     the laws of event times and observables in a parameter
        fs.analyse("mixture", linearise=["T_1", "T_2"])        rates, unstable directions, the lengths of plateaus
        fs.analyse("mixture", sensitivities=["omega", "b"])    exact derivatives of event times and observables
        fs.analyse(model, equilibria=True)                     stationary points and their spectra; growth to infinity
        fs.analyse("mixture", robust=True, at=[150.0])         does the full flow return to the limit, and from how far

    With `draws`, robustness also predicts the constants of the rung from finite to infinite width. The result shows
    itself in a notebook; `rows`, `as_dict()`, `to_pandas()` and `figure()` give its parts.

    >>> import flowsys as fs
    >>> found = fs.analyse("mixture", sensitivities=["b"], at=["T_2"], observe=["w_c"])
    >>> [(row["quantity"], round(row["d/d b"], 2)) for row in found.rows]
    [('t', 92.15), ('w_c', -0.33)]
    """
    system, setup = asked(system, setup, mode, parameters)
    questions = {
        "exponents": exponents,
        "linearise": linearise,
        "sensitivities": sensitivities,
        "equilibria": equilibria,
        "robust": robust,
    }
    given = [name for name, value in questions.items() if value not in (None, False)]
    if len(given) != 1:
        what = "none" if not given else " and ".join(given)
        raise InputError(
            f"analyse takes exactly one of {', '.join(questions)}: {what} {'are' if given else 'is'} given."
        )
    common: dict[str, Any] = {"level": level, "variant": variant, "mode": mode, "command": command}
    if rtol is not None:
        check_numbers(rtol)
        common["rtol"] = rtol
    if exponents is not None:
        from flowsys.analysis.exponents import exponents as laws

        return laws(system, setup, exponents, at=at, observe=observe, **common)
    if sensitivities is not None:
        from flowsys.analysis.sensitivities import sensitivities as derivatives

        return derivatives(system, setup, sensitivities, at=at, observe=observe, **common)
    if equilibria:
        from flowsys.analysis.equilibria import equilibria as stationary

        return stationary(system, setup, **common)
    if robust:
        from flowsys.analysis.robustness import robust as perturbed

        return perturbed(system, setup, at=at, draws=draws, **common)
    from flowsys.analysis.linearisation import linearise as linearised

    return linearised(system, setup, linearise, **common)
