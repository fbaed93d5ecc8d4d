"""Which files the tests leave unread: below 85 % of their lines, without a reason in pyproject.toml.

    python -m pytest -n 2 --cov=flowsys --cov-report=json && python benchmarks/covered.py [coverage.json]

Reasons stand beside what `[tool.coverage.run] omit` leaves out. Exit code 1 if a file is below.
"""

import json
import sys
from pathlib import Path

LEAST = 85.0


def main() -> int:
    report = json.loads(Path(*sys.argv[1:] or ["coverage.json"]).read_text())
    share = {path: there["summary"]["percent_covered"] for path, there in report["files"].items()}
    below = sorted((percent, path) for path, percent in share.items() if percent < LEAST)
    for percent, path in below:
        print(f"{percent:5.1f} %  {path}")
    whole = report["totals"]["percent_covered"]
    print(f"{len(below)} of {len(share)} files below {LEAST:.0f} %, {whole:.1f} % of all lines are read")
    return int(bool(below))


if __name__ == "__main__":
    sys.exit(main())
