"""Faults put into the code on purpose: does a test notice?

    python benchmarks/mutations.py [AREA …] [--faults 60] [--seed 0]

Each fault changes one line of an area (a sign, < for ≤, off by one, a line dropped, a constant × 1.01) in a copy of the
tree; the area's own tests run on it, the fastest files first, until one fails or hangs. What no test notices is listed:
some faults change nothing that can be seen (a bound never met), the others ask for a test. Exit code 1 under 80 %.
"""

import argparse
import ast
import io
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEAST = 0.8
LONGEST = 300  # seconds of a file of tests; a fault that makes it hang is noticed
LIBRARIES = ("numpy", "scipy.optimize", "scipy.stats", "sympy", "jax", "diffrax", "xarray", "hypothesis", "pytest")
AREAS = {
    "stepper": (
        ["kernels/native/stepping.py", "kernels/native/locating.py", "kernels/native/looking.py",
         "kernels/native/rounds.py", "kernels/native/implicit.py"],
        ["kernels/test_programs.py", "kernels/test_events.py", "kernels/test_kinks.py", "kernels/test_implicit.py",
         "sweeps/test_looks.py", "kernels/test_velocity.py", "kernels/test_sliding.py"],
    ),
    "lumping": (
        ["symbolic/lumping.py", "model/lumping.py", "model/lumped.py"],
        ["symbolic/test_lumping.py", "symbolic/test_derivation.py", "model/test_derivations.py",
         "model/test_modes_and_starts.py", "model/test_model_laws.py"],
    ),
    "claims": (
        ["claims/kinds.py", "claims/orders.py", "claims/bounded.py", "claims/limits.py", "claims/probability.py",
         "claims/regime.py", "claims/judging.py"],
        ["claims/test_limits.py", "claims/test_kinds.py", "claims/test_declared.py"],
    ),
    "store": (
        ["sweeps/store.py", "sweeps/netcdf.py", "sweeps/shared.py", "sweeps/refine.py"],
        ["sweeps/test_files.py", "sweeps/test_interruptions.py", "sweeps/test_looks.py", "sweeps/test_refine.py"],
    ),
}  # fmt: skip
SWAPPED = {"+": "-", "-": "+", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}


@dataclass(frozen=True)
class Fault:
    """A line of a file as it stands and as it is made."""

    path: str
    line: int
    kind: str
    was: str
    becomes: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.kind}: {self.was.strip()}  ->  {self.becomes.strip()}"


def faults(path: str) -> Iterator[Fault]:
    """All faults of a file that leave it a program."""
    text = (ROOT / "flowsys" / path).read_text()
    lines = text.splitlines()
    for line, kind, becomes in [*_of_tokens(text, lines), *_dropped(text, lines)]:
        changed = [*lines]
        changed[line - 1] = becomes
        try:
            ast.parse("\n".join(changed))
        except SyntaxError:
            continue
        yield Fault(path, line, kind, lines[line - 1], becomes)


def _of_tokens(text: str, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        (row, start), (_, end) = token.start, token.end
        put = lambda new, row=row, start=start, end=end: lines[row - 1][:start] + new + lines[row - 1][end:]
        if token.type == tokenize.OP and token.string in SWAPPED:
            yield row, "sign" if token.string in "+-" else "comparison", put(SWAPPED[token.string])
        if token.type == tokenize.NUMBER and token.string.isdigit():
            yield row, "off by one", put(str(int(token.string) + 1))
        elif token.type == tokenize.NUMBER and not token.string.endswith("j"):
            yield row, "constant", put(f"({token.string} * 1.01)")


def _dropped(text: str, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Assign | ast.AugAssign | ast.Expr)
            and node.lineno == node.end_lineno
            and node.col_offset
        ):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # a docstring
            line = lines[node.lineno - 1]
            yield node.lineno, "dropped", line[: len(line) - len(line.lstrip())] + "pass"


class Copy:
    """A copy of the tree in which one line at a time is made wrong, and its compiled kernels beside it."""

    def __init__(self, folder: Path):
        self.folder = folder
        for name in ("flowsys", "tests", "examples"):
            shutil.copytree(ROOT / name, folder / name)
        shutil.copy(ROOT / "pyproject.toml", folder)

    def caught_by(self, fault: Fault | None, tests: Sequence[str]) -> str:
        """The first file of tests that fails on the fault, or hangs; empty if none does."""
        if fault is not None:
            path = self.folder / "flowsys" / fault.path
            lines = path.read_text().splitlines(keepends=True)
            lines[fault.line - 1] = fault.becomes + "\n"
            path.write_text("".join(lines))
        try:
            return next((test for test in tests if not self._passes(test)), "")
        finally:
            if fault is not None:
                shutil.copy2(ROOT / "flowsys" / fault.path, path)  # its time with it: Python's own cache is by time

    def _passes(self, test: str) -> bool:
        """Whether a file of tests passes, in a process that has the libraries already."""
        if (child := os.fork()) == 0:
            os._exit(self._run(test))
        start = time.monotonic()
        while (done := os.waitpid(child, os.WNOHANG)) == (0, 0):
            if time.monotonic() - start > LONGEST:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return False
            time.sleep(0.05)
        return os.waitstatus_to_exitcode(done[1]) == 0

    def _run(self, test: str) -> int:
        import pytest

        os.chdir(self.folder)
        sys.path[:] = [str(self.folder), *(path for path in sys.path if Path(path or ".").resolve() != ROOT)]
        os.environ |= {"PYTHONPATH": str(self.folder), "FLOWSYS_CACHE": str(self.folder / "cache")}
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", f"tests/{test}"]))


def noticed(area: str, n: int, seed: int) -> float:
    """The share of an area's faults that its tests notice; those that they do not are printed."""
    files, tests = AREAS[area]
    every = [fault for path in files for fault in faults(path)]
    chosen = random.Random(seed).sample(every, min(n, len(every)))
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        if failing := copy.caught_by(None, tests):
            print(f"{area}: {failing} fails or takes over {LONGEST} s without any fault", flush=True)
            return 0.0
        caught = []
        for number, fault in enumerate(chosen, 1):
            caught.append(copy.caught_by(fault, tests))
            by = f"noticed by {caught[-1]}" if caught[-1] else "NOT NOTICED"
            print(f"{area} {number}/{len(chosen)} {by}: {fault}", flush=True)
    share = sum(map(bool, caught)) / len(caught)
    print(f"{area}: {sum(map(bool, caught))} of {len(caught)} faults noticed ({share:.0%}), of {len(every)} possible")
    return share


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("areas", nargs="*", choices=[*AREAS, []])
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    for library in LIBRARIES:
        import_module(library)
    shares = [noticed(area, asked.faults, asked.seed) for area in asked.areas or AREAS]
    return 0 if min(shares) >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
