"""The model of this directory, decay.py, as its users have it: imported, or in a directory of their own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def decay():
    """The system of decay.py, imported."""
    from decay import model

    return model


def copied(directory: Path) -> Path:
    """decay.py and the module beside it, copied to a directory; the path of the first."""
    for name in ("decay.py", "rates.py"):
        shutil.copy(HERE / name, directory / name)
    return directory / "decay.py"


def flowsys(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    """The command line, run in a directory."""
    command = [sys.executable, "-m", "flowsys", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False, env=environment)
