"""CPU time per point of a phase diagram, flowsys against other engines, at equal measured error.

    python benchmarks/sweep.py [--rounds 5] [--target 1e-9] [--engines flowsys,cyrk,…]

Every engine first finds the loosest rtol whose median error against a 1e-12 reference is below the target. Then each
round runs one fresh process per engine, one after the other, so that a busy machine slows all alike; the minimum over
the rounds counts. Compiling is not counted (one call before the clock starts). One thread each. The bars at the end
are those the package has set itself: 2x less than the best other engine on the smooth field, 8x less than CVODE on
the kinked one, 150x less than the SciPy loop.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np

RTOLS = tuple(float(f"{10**-e:.1e}") for e in np.arange(6.0, 12.5, 0.125))
# (in words, factor, the engines it is about: all, if none is named)
BARS = {
    "smooth": (("the best of the others", 2, ()), ("the SciPy loop", 150, ("scipy",))),
    "kink": (("CVODE", 8, ("cvode",)), ("the SciPy loop", 150, ("scipy",))),
}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1") | {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
}


def measure(name: str, kinks: str, rtol: float | None, target: float) -> dict:
    """In a process of its own: the loosest rtol that is good enough (if none is given), or the CPU time at one."""
    import problem
    from engines import ENGINES

    try:
        run = ENGINES[name](kinks)
    except (ImportError, NotImplementedError) as reason:
        return {"skipped": str(reason)}
    if rtol is None:
        exact = problem.reference(kinks)
        for rtol in RTOLS:
            states, _ = run(rtol)
            error = problem.errors(states, exact[: len(states)])
            if np.median(error) <= target:
                return {"rtol": rtol, "median": float(np.median(error)), "worst": float(error.max())}
        return {"skipped": f"no rtol down to {RTOLS[-1]:g} reaches a median error of {target:g}"}
    run(rtol)  # compiles, if need be
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        _, n = run(rtol)
        best = min(best, (time.process_time() - start) / n)
    found = {"ms": 1e3 * best}
    if name == "flowsys":
        from scalar_code import operations

        flops = run.evaluations * (operations() + 2 * 22 * 6)  # and six stages summed up, on average
        found["limit_ms"] = 1e3 * flops / peak()
    return found


def peak() -> float:
    """Floating-point operations a second of one core, as a matrix product reaches them."""
    a, best = np.random.default_rng(0).random((700, 700)), np.inf
    for _ in range(8):
        start = time.process_time()
        a @ a
        best = min(best, time.process_time() - start)
    return 2 * 700**3 / best


def in_a_process(*arguments: str) -> dict:
    command = [sys.executable, __file__, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, env=os.environ | ONE_THREAD, check=False)
    if run.returncode:
        return {"skipped": (run.stderr.strip().splitlines() or ["it crashed"])[-1]}
    return json.loads(run.stdout.splitlines()[-1])


def compare(kinks: str, engines: list[str], rounds: int, target: float) -> None:
    print(f"\n{kinks} field, median error below {target:g}, CPU ms per point, minimum of {rounds} rounds")
    settings, times, limit = {}, {}, np.inf
    for name in engines:
        found = in_a_process("--measure", name, "--kinks", kinks, "--target", str(target))
        if "skipped" in found:
            print(f"  {name:14s} skipped: {found['skipped']}")
        else:
            settings[name] = found
    for number in range(rounds):
        for name, setting in settings.items():
            found = in_a_process("--measure", name, "--kinks", kinks, "--rtol", str(setting["rtol"]))
            times.setdefault(name, []).append(found.get("ms", np.inf))
            limit = min(limit, found.get("limit_ms", np.inf))
            print(f"  round {number + 1}: {name} {times[name][-1]:.4f} ms", file=sys.stderr, flush=True)
    best = {name: min(values) for name, values in times.items()}
    for name, ms in sorted(best.items(), key=lambda item: item[1]):
        ratio = f"{ms / best['flowsys']:7.1f}x flowsys" if "flowsys" in best else ""
        s = settings[name]
        print(
            f"  {name:14s} {ms:9.4f} ms {ratio}   rtol {s['rtol']:g}, error {s['median']:.1e}, worst {s['worst']:.1e}"
        )
    if "flowsys" in best:
        print(f"  FMA limit of this program: {limit:.4f} ms; flowsys is {best['flowsys'] / limit:.1f}x above it")
        for text, factor, others in BARS[kinks]:
            ratios = [best[name] / best["flowsys"] for name in others or set(best) - {"flowsys"} if name in best]
            if ratios:
                verdict = "met" if min(ratios) >= factor else "NOT met"
                print(f"  bar: {factor}x less than {text}: {min(ratios):.1f}x, {verdict}")


def main() -> None:
    from engines import ENGINES

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--target", type=float, default=1e-9)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--fields", default="smooth,kink")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--kinks", default="smooth", help=argparse.SUPPRESS)
    parser.add_argument("--rtol", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure, given.kinks, given.rtol, given.target)))
        return
    for name in given.engines.split(","):
        print(f"{name:14s} {ENGINES[name].__doc__}")
    for kinks in given.fields.split(","):
        compare(kinks, given.engines.split(","), given.rounds, given.target)


if __name__ == "__main__":
    main()
