"""`python -m derivations [NAME …] [--check]`: write the derived artefacts, or compare them and exit 1 if stale.

A statement that cannot be derived gets one sentence and exit code 2, and nothing of it is written.
"""

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path

from flowsys.errors import InputError

ROOT = Path(__file__).resolve().parent.parent


def names() -> list[str]:
    return sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if not m.name.startswith("_"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m derivations", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which derivations (default all: {', '.join(names())})"
    )
    parser.add_argument("--check", action="store_true", help="compare with the committed files instead of writing")
    options = parser.parse_args()
    stale = []
    for name in options.names or names():
        try:
            artefacts = importlib.import_module(f"derivations.{name}").artefacts()
        except InputError as error:
            print(f"derivations: {name}: {error}", file=sys.stderr)
            return 2
        for path, text in artefacts.items():
            target = ROOT / path
            if options.check:
                if not target.exists() or target.read_text(encoding="utf-8") != text:
                    stale.append(f"{path} is stale: run `python -m derivations {name}`")
            else:
                target.write_text(text, encoding="utf-8")
                print(f"wrote {path}")
    print("\n".join(stale), end="\n" if stale else "")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
