"""CPU time of stiff flows: flowsys against LSODA on the compiled slope and CVODE-BDF in a native loop, at equal error.

    python benchmarks/stiff.py [--rounds 5] [--target 1e-8] [--cases lego,mixture]

Every engine first finds the loosest rtol that keeps the error at the end below the target from there on. Then the
engines take turns in one process, and the minimum over the rounds counts. flowsys is measured as a caller sees it, from
arrays to arrays: single runs with implicit steps (`radau`), explicit ones (`native`) and `auto`, and batches of 64 a
trajectory. CVODE runs the same program as scalar code compiled by numba, its loop, too.
"""

import argparse
import time
import warnings

import numpy as np
from stiff_cases import Case, cases

RTOLS = tuple(float(f"{10**-e:.1e}") for e in np.arange(5.0, 12.1, 0.25))
BATCH = 64
# CVODE is called so often in one timing, because its runs are short
REPEATED = 10


def radau(case: Case):
    return _native(case, "implicit", 1)


def explicit(case: Case):
    return _native(case, "explicit", 1)


def auto(case: Case):
    return _native(case, "auto", 1)


def auto_in_batches(case: Case):
    return _native(case, "auto", BATCH)


def _native(case: Case, method: str, n: int):
    from flowsys.kernels import integrate

    def run(rtol: float):
        result = integrate(case.kernel, case.batch(rtol, method, n))
        run.steps = int(result.statistic("steps")[0])
        run.implicit = int(result.statistic("implicit_steps")[0])
        return result.time_states[0, 0], n

    return run


def lsoda(case: Case):
    """SciPy's LSODA on `kernels.Slope`."""
    from scipy.integrate import solve_ivp

    from flowsys.kernels import Slope

    slope = Slope(case.kernel, case.stages[0], case.kink_width)

    def run(rtol: float):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = solve_ivp(
                lambda t, y: slope(y), (0, case.end), case.problem.initial, "LSODA", rtol=rtol, atol=case.atol(rtol)
            )
        run.steps = len(found.t)
        return found.y[:, -1], 1

    return run


def cvode(case: Case):
    from sundials import bdf

    program, parameters = case.scalar
    everything, alive = bdf(program, case.kink_width)
    out = np.empty(len(program.state))

    def run(rtol: float):
        start = np.asarray(case.problem.initial, dtype=float)
        if everything(start, parameters, rtol, case.atol(rtol), case.end, out, REPEATED):
            return np.full_like(out, np.nan), REPEATED
        return out.copy(), REPEATED

    run.alive = alive
    return run


ENGINES = {f.__name__: f for f in (radau, explicit, auto, auto_in_batches, lsoda, cvode)}


def loosest(case: Case, run, target: float) -> tuple[float, float] | None:
    """The loosest rtol whose error, and that of the next two, stays below the target; and its error."""
    errors = []
    for rtol in RTOLS:
        start = time.process_time()
        errors.append(case.error(run(rtol)[0]))
        if len(errors) >= 3 and max(errors[-3:]) <= target:
            return RTOLS[len(errors) - 3], errors[-3]
        if time.process_time() - start > 10:
            return None
    return None


def compare(case: Case, rounds: int, target: float) -> dict[str, float]:
    print(f"{case.name}: CPU ms a trajectory at error {target:g}, minimum of {rounds} rounds")
    runs, settings, best = {}, {}, {}
    for name, make in ENGINES.items():
        if name == "explicit" and case.is_stiff:
            continue  # ten thousands of steps
        run = make(case)
        if (setting := loosest(case, run, target)) is None:
            print(f"  {name:16s} no rtol down to {RTOLS[-1]:g} gets there")
            continue
        runs[name], settings[name] = run, setting
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            _, n = run(settings[name][0])
            best[name] = min(best.get(name, np.inf), 1e3 * (time.process_time() - start) / n)
    for name, ms in sorted(best.items(), key=lambda item: item[1]):
        rtol, error = settings[name]
        steps = f"{runs[name].steps} steps" if hasattr(runs[name], "steps") else ""
        steps += f", {runs[name].implicit} implicit" if hasattr(runs[name], "implicit") else ""
        print(f"  {name:16s} {ms:9.3f} ms   rtol {rtol:.1e}, error {error:.1e}  {steps}")
    return best


def judge(case: Case, best: dict[str, float]) -> None:
    bars = [("auto within 1.2x of the best fixed choice",
             best["auto"] / min(best[n] for n in best if n in ("radau", "explicit", "lsoda")), 1.2)]  # fmt: skip
    if case.is_stiff:
        bars += [
            ("radau within 1.15x of CVODE-BDF", best["radau"] / best["cvode"], 1.15),
            ("radau at most 1/3.5 of LSODA", best["radau"] / best["lsoda"], 1 / 3.5),
            ("batches of 64 at most 1/3 of CVODE-BDF", best["auto_in_batches"] / best["cvode"], 1 / 3),
        ]
    for text, ratio, bound in bars:
        print(f"  bar: {text}: {ratio:.3f}, {'met' if ratio <= bound else 'NOT met'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--target", type=float, default=1e-8)
    parser.add_argument("--cases", default="")
    given = parser.parse_args()
    for case in cases():
        if any(word in case.name for word in given.cases.split(",")):
            judge(case, compare(case, given.rounds, given.target))


if __name__ == "__main__":
    main()
