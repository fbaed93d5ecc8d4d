"""The prompt system's ladder: what is compared with what, and at which rate the theory says it must close.

What stands for width here is the size ξ of the random start (L2 → L3) and the length l_tr of the prompts (L0 → L3).
Finite levels run at M = 5, where all 24 cycles are written out.
"""

from functools import lru_cache, partial

import numpy as np

from flowsys.compare import Rung
from flowsys.solve import solve
from flowsys.system import Setup
from flowsys.train import train

END = 200.0
SMALL = {"M": 5, "d_X": 5, "n_tasks": float("inf"), "M_test": 5, "batch_size": None}
RATES = (20.0, 10.0, 5.0, 2.5)
STARTS = (1e-1, 3e-2, 1e-2, 3e-3)
LENGTHS = (5.0, 10.0, 20.0, 40.0)


def ladder(setup: Setup) -> list[Rung]:
    """Descent, closure, symmetric subspace (exact from W = 0, then with a random start), prompts, surrogate."""
    return [
        Rung("L0", "L1", f"full-batch descent on W at t = {END:g}, M = 5", partial(descent_error, setup),
             "learning_rate", RATES, 1.0, 0.1),
        Rung("L1", "L2", f"a, b, H at t = {END:g} from the same random W, M = 5, rtol 1e-10",
             partial(closure_error, setup), tolerance=1e-9),
        Rung("L2", "L3", f"a, b, H at t = {END:g} from a random start of size xi, M = 5", partial(start_error, setup),
             "xi", STARTS, 1.0, 0.15),
        Rung("L2", "L3 at xi = 0", f"a, b, H at t = {END:g} from W = 0, M = 5, rtol 1e-10",
             lambda _: start_error(setup, 0.0), tolerance=1e-9),
        Rung("L0", "L3", f"a of SGD at t = {END:g}, prompts of l_tr examples", partial(prompt_error, setup), "l_tr",
             LENGTHS, -1.0, 0.1),
        Rung("L3", "L4", "largest deficit of the surrogate's p over t = 1 to 1e7", partial(surrogate_error, setup)),
    ]  # fmt: skip


def _system():
    from flowsys.systems.prompt import SYSTEM

    return SYSTEM


def _with(setup: Setup, **changes) -> Setup:
    return _system().setup(**(dict(setup) | changes))


def _variables(K: int) -> tuple[str, ...]:
    return ("a", "b", *(f"H_{i}{k}" for i in range(1, K + 1) for k in range(1, K + 1)))


@lru_cache(maxsize=16)
def _flow(level: str, xi: float, K: int, alpha: float, rtol: float) -> np.ndarray:
    setup = _system().setup(**SMALL, K=K, alpha=alpha, xi=xi)
    run = solve(_system(), setup, level=level, at=[END], observe=_variables(K), rtol=rtol)
    return np.array([run[name][0] for name in _variables(K)])


def descent_error(setup: Setup, learning_rate: float) -> float:
    """|L0 - L1| of a, b, H from the same random weights."""
    K, alpha, xi = setup["K"], setup["alpha"], setup["xi"]
    small = _with(setup, **SMALL, learning_rate=learning_rate)
    trained = train(_system(), small, variant="full_batch", steps=round(END / learning_rate), records=1,
                    observe=_variables(K))  # fmt: skip
    found = np.array([trained[name][-1] for name in _variables(K)])
    return float(np.abs(found - _flow("L1", xi, K, alpha, 1e-10)).max())


def closure_error(setup: Setup, _) -> float:
    """|L1 - L2| of a, b, H."""
    K, alpha, xi = setup["K"], setup["alpha"], setup["xi"]
    return float(np.abs(_flow("L1", xi, K, alpha, 1e-10) - _flow("L2", xi, K, alpha, 1e-10)).max())


def start_error(setup: Setup, xi: float) -> float:
    """|L2 - L3| of a, b, H: how much of a random start is remembered."""
    K, alpha = setup["K"], setup["alpha"]
    return float(np.abs(_flow("L2", xi, K, alpha, 1e-10) - _flow("L3", 0.0, K, alpha, 1e-10)).max())


def prompt_error(setup: Setup, l_tr: float) -> float:
    """|a(SGD) - a(flow)| at the sizes asked for, learning rate 2: the bias of finite prompts."""
    changed = _with(setup, l_tr=l_tr, learning_rate=2.0)
    trained = train(_system(), changed, variant="sgd_scores", steps=round(END / 2), records=1, observe=("a",))
    exact = solve(_system(), changed, at=[END], observe=("a",))
    return float(abs(trained["a"][-1] - exact["a"][0]))


def surrogate_error(setup: Setup, _) -> float:
    """sup_t p(L3) - p(L4): the surrogate is a lower bound."""
    times = [float(t) for t in np.geomspace(1, 1e7, 57)]
    exact, paper = (solve(_system(), setup, level=level, at=times, observe=("p_min",)) for level in ("L3", "L4"))
    return float((exact["p_min"] - paper["p_min"]).max())
