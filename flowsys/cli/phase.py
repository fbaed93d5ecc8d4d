"""`flowsys phase`: sweep parameters, write a data file and a picture."""

import typer


def register(app: typer.Typer) -> None:
    pass
