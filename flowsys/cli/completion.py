"""Shell completion of names: systems, and what the system on the line has (`flowsys --install-completion`)."""

from collections.abc import Callable, Iterable

import typer


def systems(incomplete: str) -> list[str]:
    from flowsys.systems import names

    return [name for name in names() if name.startswith(incomplete)]


def of_system(known: Callable[..., Iterable[str]]) -> Callable[[typer.Context, str], list[str]]:
    """Names that the system on the line has; of a list with commas the last one is completed."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        from flowsys.systems import load, names

        asked = next((word for word in (context.params.get("system"), *context.args) if word in names()), None)
        before, comma, last = incomplete.rpartition(",")
        return [before + comma + name for name in known(load(asked)) if name.startswith(last)] if asked else []

    return complete


modes = of_system(lambda system: system.modes)
diagrams = of_system(lambda system: system.diagrams)
claims = of_system(lambda system: [claim.id for claim in system.claims])
observables = of_system(lambda system: system.observables)
parameters = of_system(lambda system: [f"{p.name}=" for p in system.parameters])
figures = of_system(lambda system: system.figures)
