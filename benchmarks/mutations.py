"""Faults put into the code on purpose: does a test notice?

    python benchmarks/mutations.py [AREA …] [--faults 60] [--seed 0] [--only NUMBER …]

Each fault changes one line of an area (a sign, < for ≤, off by one, a line dropped, a constant × 1.01) in a copy of the
tree; the area's own tests run on it until one fails or hangs. What no test notices is listed: some faults change
nothing that can be seen (a bound never met), the others ask for a test. Exit code 1 under 80 %.

The tests run once without any fault, traced: that tells which lines each of them executes. A fault is tried on those
that execute its line, then on those that come later in their file (what the line made may have been kept for them) or
start processes of their own; the most telling first, by faults noticed before and by time. Kernels are compiled from
their text, which no trace sees: there all tests are tried.
"""

import argparse
import contextlib
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
from faults import ROOT, Fault, faults, statement

LEAST = 0.8
LONGEST = 60  # seconds of processor beyond ten times its own after which a test is said to hang
SILENCE = 900  # seconds without a word in which a test waits for what never comes
ROOM = 8 << 30  # bytes of address space beyond what the libraries take
LIBRARIES = ("numpy", "scipy.optimize", "scipy.stats", "sympy", "jax", "diffrax", "xarray", "hypothesis")
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


@dataclass(frozen=True)
class Test:
    """A test as it runs without a fault: its time, its place in its file, the lines that it executes."""

    name: str
    seconds: float
    number: int
    lines: frozenset[tuple[str, int]]
    has_processes: bool

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


class Told:
    """A plugin of pytest: tests in a given order, each within its time; what happens is written to a file at once."""

    def __init__(self, file: Path, order: Sequence[Test] = (), traced: Collection[Path] = ()):
        self.file, self.order = file, {test.name: (place, test) for place, test in enumerate(order)}
        self.traced = frozenset(map(str, traced))
        self.lines: set[tuple[str, int]] = set()

    def say(self, **what) -> None:
        with open(self.file, "a") as file:
            file.write(json.dumps(what) + "\n")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.order:
            items[:] = [item for item in items if item.nodeid in self.order]
            items.sort(key=lambda item: self.order[item.nodeid][0])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item):
        self.say(begins=item.nodeid)
        if self.order:
            signal.setitimer(signal.ITIMER_PROF, LONGEST + 10 * self.order[item.nodeid][1].seconds)
        start, of_others = time.process_time(), _of_children()
        self.lines = set()
        done = yield
        self.say(ends=item.nodeid, seconds=time.process_time() - start + _of_children() - of_others,
                 lines=sorted(self.lines), has_processes=_of_children() > of_others)  # fmt: skip
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.say(fails=report.nodeid)

    def pytest_collection_finish(self) -> None:
        self.say(collected=sorted(self.lines))

    def call(self, frame, event, _):
        """What Python calls when a function is entered, and from then on at each of its lines."""
        if (path := frame.f_code.co_filename) not in self.traced:
            return None
        if event == "line":
            self.lines.add((path, frame.f_lineno))
        return self.call


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Copy:
    """A copy of the tree in which one line at a time is made wrong, and what is compiled beside it."""

    def __init__(self, folder: Path, files: Sequence[str], tests: Sequence[str]):
        self.folder, self.files, self.test_files = folder, files, tests
        for name in ("flowsys", "tests", "examples"):
            shutil.copytree(ROOT / name, folder / name)
        shutil.copy(ROOT / "pyproject.toml", folder)
        self.tests: list[Test] = []
        self.at_import: set[tuple[str, int]] = set()
        self.noticed: Counter[str] = Counter()

    def prepare(self) -> str:
        """Run the tests without a fault, each file in a process of its own, traced; the first that fails."""
        for number, file in enumerate(self.test_files):
            (self.folder / f"cache-{number}").mkdir()
            said = self._run([file], (), traced=True, cache=f"cache-{number}")
            if wrong := self._wrong(said):
                return wrong
            self.at_import |= {tuple(line) for what in said for line in what.get("collected", ())}
            self.tests += [
                Test(what["ends"], what["seconds"], number, frozenset(map(tuple, what["lines"])), what["has_processes"])
                for number, what in enumerate(what for what in said if "ends" in what)
            ]
            shutil.copytree(self.folder / f"cache-{number}", self.folder / "cache", dirs_exist_ok=True)
        return ""

    def to_try(self, fault: Fault) -> list[Test]:
        """The tests that may notice a fault, the most telling first."""
        path = str(self.folder / "flowsys" / fault.path)
        here = {(path, line) for line in statement(fault.path, fault.line)}
        worth = lambda test: -(1 + 3 * self.noticed[test.name]) / (0.05 + test.seconds)
        if "/native/" in fault.path or here & self.at_import:
            return sorted(self.tests, key=worth)
        reaching = [test for test in self.tests if here & test.lines]
        first = {test.file: test.number for test in reversed(reaching)}
        after = [test for test in self.tests if test not in reaching
                 and (test.has_processes or test.number > first.get(test.file, len(self.tests)))]  # fmt: skip
        return [*sorted(reaching, key=worth), *sorted(after, key=worth)]

    def caught_by(self, fault: Fault) -> str:
        """The first test that fails on the fault, or hangs; empty if none does."""
        if not (tests := self.to_try(fault)):
            return ""
        path = self.folder / "flowsys" / fault.path
        lines = path.read_text().splitlines(keepends=True)
        lines[fault.line - 1] = fault.becomes + "\n"
        path.write_text("".join(lines))
        try:
            wrong = self._wrong(self._run(sorted({test.file.removeprefix("tests/") for test in tests}), tests))
        finally:
            shutil.copy2(ROOT / "flowsys" / fault.path, path)  # its time with it: Python's own cache is by time
        self.noticed[wrong] += 1
        return wrong

    @staticmethod
    def _wrong(said: Sequence[dict]) -> str:
        """The first test that failed; where the process did not come to its end, the one under way."""
        if failing := [what["fails"] for what in said if "fails" in what]:
            return failing[0]
        begun = [what["begins"] for what in said if "begins" in what]
        return "" if said and "finished" in said[-1] else begun[-1] if begun else "collecting the tests"

    def _run(
        self, files: Sequence[str], order: Sequence[Test], traced: bool = False, cache: str = "cache"
    ) -> list[dict]:
        """What is said of tests that run in a process that has the libraries already."""
        said = self.folder / "said"
        said.unlink(missing_ok=True)
        said.touch()
        if (child := os.fork()) == 0:
            os._exit(self._tested(Told(said, order, self._paths() if traced else ()), files, cache))
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.time() - said.stat().st_mtime > SILENCE:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                break
            time.sleep(0.02)
        return [json.loads(line) for line in said.read_text().splitlines()]

    def _paths(self) -> list[Path]:
        return [self.folder / "flowsys" / file for file in self.files]

    def _tested(self, told: Told, files: Sequence[str], cache: str) -> int:
        os.chdir(self.folder)
        sys.path[:] = [str(self.folder), *(path for path in sys.path if Path(path or ".").resolve() != ROOT)]
        os.environ |= {"PYTHONPATH": str(self.folder), "FLOWSYS_CACHE": str(self.folder / cache)}
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(self.folder / "jax")
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.05"
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (_address_space() + ROOM,) * 2)
        if any("/native/" in path for path in self.files):
            _keep_what_is_compiled_from_programs()
        if told.traced:
            threading.settrace(told.call)
            sys.settrace(told.call)
        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *(f"tests/{file}" for file in files)], [told]))
        sys.settrace(None)
        told.say(finished=code) if code in (0, 1, 5) else None
        return code


def _address_space() -> int:
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[0]) * resource.getpagesize() if status.exists() else 0


def _keep_what_is_compiled_from_programs() -> None:
    """Only the driver is compiled from the text that faults are put into: machine code of programs serves them all."""
    from flowsys.kernels import cache

    of_this_text, of_any = cache.key, lambda content, host: hashlib.sha256(f"{content} {host.key}".encode()).hexdigest()
    cache.key = lambda content, host: (of_this_text if content == "driver" else of_any)(content, host)


def noticed(area: str, n: int, seed: int, only: Collection[int]) -> float:
    """The share of an area's faults that its tests notice; those that they do not are printed."""
    files, tests = AREAS[area]
    every = [fault for path in files for fault in faults(path)]
    chosen = random.Random(seed).sample(every, min(n, len(every)))
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder).resolve(), files, tests)
        if failing := copy.prepare():
            print(f"{area}: {failing} fails or hangs without any fault", flush=True)
            return 0.0
        caught = []
        for number, fault in enumerate(chosen, 1):
            if only and number not in only:
                continue
            start = time.monotonic()
            caught.append(copy.caught_by(fault))
            by = f"noticed by {caught[-1]}" if caught[-1] else "NOT NOTICED"
            print(f"{area} {number}/{len(chosen)} {by} ({time.monotonic() - start:.0f} s): {fault}", flush=True)
    share = sum(map(bool, caught)) / len(caught)
    print(f"{area}: {sum(map(bool, caught))} of {len(caught)} faults noticed ({share:.0%}), of {len(every)} possible")
    return share


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("areas", nargs="*", choices=[*AREAS, []])
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, nargs="+", default=(), help="numbers of the faults to try")
    asked = parser.parse_args()
    for library in LIBRARIES:
        import_module(library)
    shares = [noticed(area, asked.faults, asked.seed, asked.only) for area in asked.areas or AREAS]
    return 0 if min(shares) >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
