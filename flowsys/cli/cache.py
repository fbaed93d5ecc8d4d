"""`flowsys cache`: what is kept on disk because it can be made again, where, how large; and clearing it."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from flowsys.cli import options
from flowsys.errors import InputError


def register(app: typer.Typer) -> None:
    app.command("cache")(cache)


def cache(
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove all of it; it is made again when it is needed.")
    ] = False,
    format: options.TableOrJson = None,
) -> None:
    """Show what is kept to be quicker the next time, or remove it. Nothing that you made is kept there."""
    from flowsys.machine.files import KEPT, cache_directory

    is_json = options.form(format, ("table", "json")) == "json"
    rows = [_row(kind, meaning, cache_directory(kind)) for kind, meaning in KEPT.items()]
    if clear:
        for row in rows:
            shutil.rmtree(row["place"], ignore_errors=True)
            if Path(row["place"]).exists():
                raise InputError(f"{row['place']} cannot be removed.")
    if is_json:
        import json

        typer.echo(json.dumps({"cleared": clear, "kept": rows}, indent=2))
        return
    verb = "removed " if clear else ""
    for row in rows:
        typer.echo(f"{verb}{row['kind']:10}{_size(row['bytes']):>10} in {row['files']:6} files  {row['meaning']}")
    typer.echo(
        f"{verb}{'together':10}{_size(sum(row['bytes'] for row in rows)):>10} in {Path(rows[0]['place']).parent}"
    )


def _row(kind: str, meaning: str, place: Path) -> dict:
    sizes = [path.stat().st_size for path in place.rglob("*") if path.is_file()]
    return {"kind": kind, "meaning": meaning, "place": str(place), "files": len(sizes), "bytes": sum(sizes)}


def _size(n: float) -> str:
    for unit in ("B", "kB", "MB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} GB"
