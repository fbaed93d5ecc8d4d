"""Faults put into the code on purpose: does a test notice?

    python benchmarks/mutations.py [AREA …] [--faults 60] [--seed 0] [--jobs 2]

Each fault changes one line of an area (a sign, < for ≤, off by one, a line dropped, a constant × 1.01) in a copy of the
tree; the area's own tests run on it until the first failure. A fault that no test notices is listed: some
change nothing that can be seen (a bound never met), the others ask for a test. Exit code 1 under 80 % caught.
"""

import argparse
import ast
import io
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEAST = 0.8
LONGEST = 240  # seconds of an area's tests; a fault that makes them hang is caught
AREAS = {
    "stepper": (
        ["kernels/native/stepping.py", "kernels/native/locating.py", "kernels/native/looking.py",
         "kernels/native/rounds.py", "kernels/native/implicit.py"],
        ["kernels/test_events.py", "kernels/test_kinks.py", "kernels/test_programs.py", "kernels/test_implicit.py",
         "kernels/test_velocity.py", "kernels/test_sliding.py", "sweeps/test_looks.py"],
    ),
    "lumping": (
        ["symbolic/lumping.py", "model/lumping.py", "model/lumped.py"],
        ["symbolic/test_lumping.py", "symbolic/test_derivation.py", "model/test_derivations.py",
         "model/test_modes_and_starts.py", "model/test_model_laws.py"],
    ),
    "claims": (
        ["claims/kinds.py", "claims/orders.py", "claims/bounded.py", "claims/limits.py", "claims/probability.py",
         "claims/regime.py", "claims/judging.py"],
        ["claims/test_kinds.py", "claims/test_limits.py", "claims/test_declared.py"],
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


def is_caught(fault: Fault | None, tests: list[str]) -> bool:
    """Whether the tests fail on a copy of the tree with the fault."""
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        for name in ("flowsys", "tests", "examples"):
            shutil.copytree(ROOT / name, there / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", there)
        if fault is not None:
            path = there / "flowsys" / fault.path
            lines = path.read_text().splitlines(keepends=True)
            lines[fault.line - 1] = fault.becomes + "\n"
            path.write_text("".join(lines))
        command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        environment = {**os.environ, "PYTHONPATH": folder, "XDG_CACHE_HOME": str(there / "cache")}
        try:
            ran = subprocess.run([*command, *(f"tests/{test}" for test in tests)], cwd=folder, env=environment,
                                 capture_output=True, timeout=LONGEST)  # fmt: skip
        except subprocess.TimeoutExpired:
            return True
        return ran.returncode != 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("areas", nargs="*", choices=[*AREAS, []])
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    worst = 1.0
    for area in asked.areas or AREAS:
        files, tests = AREAS[area]
        if is_caught(None, tests):
            print(f"{area}: its tests fail or take over {LONGEST} s without any fault", flush=True)
            return 1
        every = [fault for path in files for fault in faults(path)]
        chosen = random.Random(asked.seed).sample(every, min(asked.faults, len(every)))
        with ThreadPoolExecutor(asked.jobs) as pool:
            caught = list(pool.map(lambda fault, tests=tests: is_caught(fault, tests), chosen))
        share = sum(caught) / len(caught)
        worst = min(worst, share)
        print(f"{area}: {sum(caught)} of {len(caught)} faults caught ({share:.0%}), of {len(every)} possible")
        for fault, is_found in zip(chosen, caught):
            if not is_found:
                print(f"  not noticed: {fault}", flush=True)
    return 0 if worst >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
