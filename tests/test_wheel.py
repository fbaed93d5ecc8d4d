"""The wheel holds the package alone, and solves without the derivations and without importing sympy."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROBE = """
import json, sys
sys.modules["derivations"] = sys.modules["sympy"] = None    # importing either would now fail
import flowsys
system = flowsys.load("mixture")
row = flowsys.solve(system, system.setup(), at=["T_0.5"]).rows[0]
print(json.dumps([row["t"], flowsys.__file__]))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return next(target.glob("*.whl"))


def test_the_wheel_holds_only_the_package(wheel):
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert all(top == "flowsys" or top.endswith(".dist-info") for top in tops)


def test_the_wheel_solves_elsewhere_without_derivations_and_without_sympy(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n{PROBE}"
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    t, where = json.loads(result.stdout)
    assert t == pytest.approx(1.359141, abs=1e-6)
    assert str(tmp_path) in where
