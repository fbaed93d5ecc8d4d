"""Random parameters over a system's allowed box."""

from collections.abc import Iterator

import numpy as np

from flowsys.errors import InputError
from flowsys.system import Parameter, Setup, System


def draw(parameter: Parameter, rng: np.random.Generator):
    """A value in the declared range: logarithmic where it is positive, within 1e6 of the default where open-ended."""
    if parameter.choices:
        return str(rng.choice(parameter.choices))
    default = 1.0 if callable(parameter.default) or not np.isfinite(parameter.default) else float(parameter.default)
    low = parameter.low if np.isfinite(parameter.low) else min(-1e6, default)
    high = parameter.high if np.isfinite(parameter.high) else max(1e6, 1e6 * abs(default))
    if low >= 0:
        smallest = low if low > 0 else (1.0 if parameter.integer else 1e-6 * min(high, max(default, 1.0)))
        value = float(np.exp(rng.uniform(np.log(smallest), np.log(high))))
    else:
        value = float(rng.uniform(low, high))
    value = min(max(value, low), high)
    return round(value) if parameter.integer else value


def draws(system: System, level: str, mode: str, n: int, seed: int, sizes: bool = True) -> Iterator[Setup | None]:
    """Setups until the system has accepted n of them (None: refused, because values do not go together).

    Half of them draw every parameter, half a third of them. Without `sizes`, integers and choices keep their defaults,
    so that no table is built and nothing is compiled anew.
    """
    rng = np.random.default_rng(seed)
    free = [p for p in system.parameters if level in p.levels and (sizes or not (p.integer or p.choices))]
    accepted = number = 0
    while accepted < n:
        number += 1
        given = {p.name: draw(p, rng) for p in free if number % 2 or rng.random() < 1 / 3}
        try:
            found = system.setup(mode, **given)
        except InputError:
            yield None
        else:
            accepted += 1
            yield found
