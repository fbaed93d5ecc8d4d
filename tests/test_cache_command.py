"""`flowsys cache`: what is kept, and clearing it."""

import json

from typer.testing import CliRunner

from flowsys.cli import app
from flowsys.machine.files import KEPT, cache_directory


def test_what_is_kept_is_counted_and_cleared_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("FLOWSYS_CACHE", str(tmp_path))
    for kind, size in (("kernels", 1500), ("jax", 20)):
        cache_directory(kind).mkdir()
        (cache_directory(kind) / "a").write_bytes(b"x" * size)
    (tmp_path / "of_somebody_else").write_text("stays")
    rows = json.loads(CliRunner().invoke(app, ["cache", "--format", "json"]).output)["kept"]
    assert {row["kind"]: row["bytes"] for row in rows} == dict.fromkeys(KEPT, 0) | {"kernels": 1500, "jax": 20}
    said = CliRunner().invoke(app, ["cache"]).output
    assert "1.5 kB" in said and "1.52 kB" in said and str(tmp_path) in said
    assert "removed kernels" in CliRunner().invoke(app, ["cache", "--clear"]).output
    assert [path.name for path in tmp_path.iterdir()] == ["of_somebody_else"]
    assert json.loads(CliRunner().invoke(app, ["cache", "--format", "json"]).output)["kept"][1]["files"] == 0
