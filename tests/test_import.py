"""Importing the package is quick, quiet and leaves other libraries' settings alone."""

import inspect
import json
import pkgutil
import subprocess
import sys

import pytest

import flowsys

PROBE = """
import json, sys, warnings
warnings.simplefilter("error")
import jax
before = {k: v for k, v in jax.config.values.items()}
import flowsys, flowsys.cli
system = flowsys.load("mixture")
trajectory = flowsys.solve(system, system.setup(), at=[1.0], solver="dopri8", observe=["w_v"])
after = {k: v for k, v in jax.config.values.items()}
import jax.numpy as jnp
print(json.dumps([before == after, str(jnp.ones(1).dtype), str(trajectory["w_v"].dtype)]))
"""

HEAVY = ("jax", "sympy", "matplotlib", "xarray", "diffrax", "pandas", "llvmlite")


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_solving_in_double_precision_changes_no_jax_setting():
    unchanged, outside, inside = json.loads(run(PROBE))
    assert unchanged
    assert outside == "float32"
    assert inside == "float64"


def test_help_imports_no_heavy_library():
    code = "import sys, contextlib, io\nimport flowsys.cli as c\nsys.argv=['flowsys','--help']\n"
    code += "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): c.main()\n"
    code += f"print([m for m in {HEAVY} if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_the_reference_solver_is_double_precision_also_when_it_is_the_first_to_need_jax():
    code = "import flowsys\nsystem = flowsys.load('mixture')\n"
    code += "run = flowsys.solve(system, at=[1.0], solver='dopri8', rtol=1e-10, observe=['w_v'], max_steps=500)\n"
    code += "print(run.outcome.ending)"
    assert run(code).strip() == "completed"


@pytest.mark.parametrize("name", ["mixture", "lego"])  # Gram blocks; blocks seen through a function
def test_show_imports_no_jax(name):
    code = f"import sys, contextlib, io\nimport flowsys.cli as c\nsys.argv=['flowsys','show','{name}']\n"
    code += "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): c.main()\n"
    code += "print([m for m in ('jax', 'sympy', 'diffrax', 'llvmlite') if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_no_public_function_shares_its_name_with_a_module():
    # importing such a module would put it in the function's place
    modules = {m.name for m in pkgutil.iter_modules(flowsys.__path__)}
    functions = {name for name in flowsys.__all__ if not inspect.ismodule(getattr(flowsys, name))}
    assert not modules & {*functions, "derive", "phase", "sweep", "start", "field", "explore", "analyse", "prove"}
