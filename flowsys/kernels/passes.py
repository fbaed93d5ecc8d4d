"""The order of work for a program on tables: scalar lines, then one loop per table, level by level.

A line's level is the number of crossings (`total`, `linked`, `spread`) on the longest path that leads to it. Lines of
one level and one table share a loop, so that intermediate row values stay in registers; only values that a later
level reads are stored. Scalars that do not wait for a loop move in front of it.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from flowsys.program import CROSSING, Line, Program
from flowsys.program.parsing import called, variable


@dataclass(frozen=True)
class Pass:
    """The scalar lines of one level, and the loops after them: (table, lines)."""

    scalars: tuple[Line, ...]
    loops: tuple[tuple[str, tuple[Line, ...]], ...]


@dataclass(frozen=True)
class Schedule:
    """All passes; `stored` gives the row values kept in memory, per table in order of their slots."""

    passes: tuple[Pass, ...]
    stored: dict[str, tuple[str, ...]]
    totals: frozenset[str]


def crossings(line: Line) -> list[tuple[str, str]]:
    """(function, name) of every crossing call of a line."""
    found = []
    for node in ast.walk(line.tree):
        if isinstance(node, ast.Call) and called(node) in CROSSING:
            if not isinstance(node.args[0], ast.Name):
                raise ValueError(f"{line.name}: {called(node)} takes a bare name in a native kernel")
            found.append((called(node), variable(node.args[0])))
    return found


def schedule(program: Program, outputs: Iterable[str]) -> Schedule:
    """The passes that compute the named values."""
    level: dict[str, int] = {}
    scalars: dict[int, list[Line]] = {}
    loops: dict[int, dict[str, list[Line]]] = {}
    stored: dict[str, dict[str, None]] = {table: {} for table in program.tables}
    totals = set()
    for block in program.needed_for(outputs):
        for line in block.lines:
            crossed = crossings(line)
            totals |= {name for function, name in crossed if function == "total"}
            behind = {name for _, name in crossed}
            here = max((level.get(name, 0) for name in line.reads - behind), default=0)
            here = max([here, *(level.get(name, 0) + 1 for name in behind)])
            level[line.name] = here
            if not block.over:
                scalars.setdefault(here, []).append(line)
                continue
            loops.setdefault(here, {}).setdefault(block.over, []).append(line)
            for name in line.reads - behind:
                is_computed = name in level and name in program.table_of
                if is_computed and level[name] < here:
                    stored[block.over][name] = None
            for function, name in crossed:
                if function != "total":
                    stored[program.table_of[name]][name] = None
    count = 1 + max(level.values(), default=0)
    passes = tuple(
        Pass(
            tuple(scalars.get(i, ())),
            tuple((table, tuple(lines)) for table, lines in loops.get(i, {}).items()),
        )
        for i in range(count)
    )
    return Schedule(passes, {table: tuple(names) for table, names in stored.items()}, frozenset(totals))
