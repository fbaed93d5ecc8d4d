"""What every analysis gives back: a title, rows for tables and CSV, a mapping for JSON, a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from flowsys.runs.trajectory import Origin
from flowsys.system import System
from flowsys.system.names import assignments, in_lines, typeset
from flowsys.version import VERSION

LEADING = 6  # a system declares what matters most first


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """A result with its provenance; `symbols` are how its names read on a picture."""

    origin: Origin
    symbols: Mapping[str, str]
    remarks: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What it is, in a line."""
        raise NotImplementedError

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The table: one mapping a row, all with the same names."""
        raise NotImplementedError

    def details(self) -> dict[str, Any]:
        """What JSON holds besides the rows."""
        return {}

    def figure(self) -> Any:
        """The picture, a matplotlib figure."""
        raise NotImplementedError

    def symbol(self, name: str) -> str:
        """What a picture calls a name."""
        from flowsys.system.names import spelled

        return typeset(self.symbols.get(name) or spelled(name))

    @property
    def subtitle(self) -> str:
        """Level, mode and leading parameters, in symbols."""
        leading = dict(list(self.origin.parameters.items())[:LEADING])
        mode = self.origin.mode.replace("_", " ")
        return in_lines((self.origin.level, mode, *assignments(leading, self.symbols)), 70)

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        origin = self.origin
        whole = {
            "analysis": type(self).__name__.lower(),
            "system": origin.system,
            "level": origin.level,
            "variant": origin.variant,
            "mode": origin.mode,
            "parameters": dict(origin.parameters),
            "version": origin.version,
            "command": origin.command,
            "title": self.title,
            "remarks": list(self.remarks),
            **self.details(),
            "rows": self.rows,
        }
        return plain(whole)

    def to_pandas(self):
        """The table as a data frame."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def __str__(self) -> str:
        lines = [self.title, *("  " + ", ".join(f"{k} = {told(v)}" for k, v in row.items()) for row in self.rows)]
        return "\n".join([*lines, *self.remarks])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What a notebook shows: the title, the picture, the table."""
        from io import StringIO

        from matplotlib import rc_context

        rows, text = self.rows, StringIO()
        with rc_context({"svg.fonttype": "none"}):  # letters as letters: paths of glyphs are most of a file
            self.figure().savefig(text, format="svg")
        picture = text.getvalue()[text.getvalue().index("<svg") :]
        head = "".join(f"<th>{escape(name)}</th>" for name in (rows[0] if rows else ()))
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(told(value))}</td>" for value in row.values()) + "</tr>" for row in rows
        )
        said = "".join(f"<p>{escape(remark)}</p>" for remark in self.remarks)
        return f"<p>{escape(self.title)}</p>{picture}<table><tr>{head}</tr>{body}</table>{said}"


def origin_of(system: System, level: str, variant: str, mode: str, setup: Mapping[str, Any], command: str) -> Origin:
    """Provenance of an analysis, as that of a run."""
    return Origin(system.name, level, variant, mode, dict(setup), VERSION, command, system.place)


def told(value: Any) -> str:
    """A cell of a table: numbers in few digits, lists from first to last."""
    if value is None:
        return ""
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, complex):
        return f"{value.real:.6g}" + (f" {value.imag:+.4g}i" if value.imag else "")
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {told(part)}" for name, part in value.items())
    if isinstance(value, Sequence | np.ndarray):
        return ", ".join(map(told, value))
    return f"{value:.6g}"


def plain(value: Any) -> Any:
    """A value as JSON can hold it: what is no finite number becomes text, a complex number its two parts."""
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, complex):
        return [value.real, value.imag]
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value
