"""The committed programs are what the derivations give today, as text and as mathematics."""

import importlib
import os
import pkgutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import derivations
import derivations.__main__ as command
from flowsys.errors import InputError
from flowsys.program import Program
from flowsys.program.arrays import Arguments, function

ROOT = Path(__file__).parent.parent
NAMES = sorted(m.name for m in pkgutil.iter_modules(derivations.__path__) if not m.name.startswith("_"))


@cache
def artefacts(name: str) -> dict[str, str]:
    return importlib.import_module(f"derivations.{name}").artefacts()


@pytest.mark.parametrize("name", NAMES)
def test_committed_artefacts_are_what_the_derivation_writes(name):
    assert f"flowsys/systems/{name}/reduced.py" in artefacts(name)
    for path, text in artefacts(name).items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, f"{path} is stale: run python -m derivations {name}"


def test_every_generated_module_is_claimed_by_a_derivation():
    claimed = {f"flowsys/systems/{name}/reduced.py" for name in NAMES}
    found = {str(p.relative_to(ROOT)) for p in (ROOT / "flowsys" / "systems").rglob("reduced.py")}
    assert claimed == found


def programs_of(text: str) -> dict[str, Program]:
    namespace: dict = {}
    exec(text, namespace)
    found = {}
    for key, value in namespace.items():
        if key.startswith("PROGRAM"):
            entries = value.items() if isinstance(value, dict) else [("", value)]
            found |= {f"{key}{suffix}": Program.parse(program) for suffix, program in entries}
    return found


def evaluated(program: Program, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = dict.fromkeys(program.tables, 3)
    tables = {t: rng.integers(1, 4, (len(c), 3)).astype(float) for t, c in program.tables.items()}
    links = {link.name: rng.random((rows[link.parent], rows[link.child])) for link in program.links}
    arguments = Arguments(rng.uniform(2, 4, len(program.parameters)), tables, links, None, 0.1)
    state = rng.uniform(0.1, 0.6, len(program.state))
    return [np.asarray(x) for x in function(program, program.derivatives, "exact", np)(state, arguments)]


@pytest.mark.parametrize("name", NAMES)
def test_committed_fields_equal_fresh_ones_at_random_points(name):
    for path, text in artefacts(name).items():
        if not path.endswith("reduced.py"):
            continue
        fresh, committed = programs_of(text), programs_of((ROOT / path).read_text(encoding="utf-8"))
        assert fresh.keys() == committed.keys()
        for key in fresh:
            for a, b in zip(evaluated(fresh[key], 0), evaluated(committed[key], 0)):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_a_flipped_sign_is_noticed():
    text = artefacts("mixture")["flowsys/systems/mixture/reduced.py"]
    program = next(iter(programs_of(text).values()))
    line = next(row for row in str(program).splitlines() if row.strip().startswith("d_w_c = "))
    name, expression = line.strip().split(" = ")
    wrong = Program.parse(str(program).replace(line, f"    {name} = -({expression})"))
    differences = [np.abs(a - b).max() for a, b in zip(evaluated(program, 0), evaluated(wrong, 0))]
    assert max(differences) > 1e-3


def test_artefacts_do_not_depend_on_the_hash_seed():
    code = "import derivations.mixture as d, hashlib; print(hashlib.sha256(str(d.artefacts()).encode()).hexdigest())"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "2")
    }  # fmt: skip
    assert len(digests) == 1


def test_a_statement_that_is_refused_gets_one_sentence_and_exit_code_2(monkeypatch, capsys):
    def artefacts():
        raise InputError("the loss reads T.")

    monkeypatch.setitem(sys.modules, "derivations.toy", SimpleNamespace(artefacts=artefacts))
    monkeypatch.setattr(sys, "argv", ["derivations", "toy"])
    assert command.main() == 2
    assert capsys.readouterr() == ("", "derivations: toy: the loss reads T.\n")
