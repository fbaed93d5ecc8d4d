"""The diagram beside the curves: two of the sliders as axes, over the ranges of the sliders or of the system's own."""

from collections.abc import Sequence

from flowsys.explorer.controls import Control
from flowsys.explorer.view import View
from flowsys.sweeps.asked import phase
from flowsys.sweeps.diagram import PhaseDiagram
from flowsys.sweeps.named import NamedDiagram
from flowsys.system import System

POINTS = 28  # along each axis


def axes_of(view: View, found: Sequence[Control]) -> tuple[str, str] | None:
    """The two sliders that a diagram starts with: the axes of the system's own, else the first two numbers."""
    numbers = [c.name for c in found if not c.choices]
    own = _own(view)
    names = [text.partition("=")[0] for text in own.axes[:2]] if own else []
    chosen = [n for n in names if n in numbers] + [n for n in numbers if n not in names]
    chosen = sorted(chosen[:2], key=lambda n: names.index(n) if n in names else len(names))
    return (chosen[0], chosen[1]) if len(chosen) == 2 else None


def quantities(view: View) -> list[str]:
    """What a diagram can show: of the system's own the quantities, the times of events, observables at the end."""
    own = _own(view)
    problem = view.system.problem(view.setup, view.level, None, view.mode)
    at_end = [f"{name}@t={view.until!r}" for name in view.names]
    return list(dict.fromkeys([*(own.observables if own else ()), *reversed(problem.event_names), *at_end]))


def swept(view: View, found: Sequence[Control], x: str, y: str, quantity: str) -> PhaseDiagram:
    """The diagram over two sliders, with everything else as it stands."""
    by_name = {control.name: control for control in found}
    fixed = {k: v for k, v in view.given.items() if k not in (x, y)}
    if "t_max" not in fixed and "@t=" not in quantity:
        fixed["t_max"] = 100 * view.until  # an event that does not come by then is not waited for
    return phase(
        view.system, x=_axis(by_name[x]), y=_axis(by_name[y]), observable=quantity, level=view.level, mode=view.mode,
        threads=1, **fixed,
    )  # fmt: skip


def _axis(control: Control) -> str:
    return f"{control.name}={control.low!r}:{control.high!r}:{POINTS}{':log' if control.log else ''}"


def _own(view: View) -> NamedDiagram | None:
    """The system's first diagram, if it is one of this mode and level, of one run a point."""
    first = next(iter(_diagrams(view.system)), None)
    if first is None or first.seeds > 1 or (first.level or view.level) != view.level:
        return None
    return first if (first.mode or view.system.mode(None)) == view.mode and not first.kink_width else None


def _diagrams(system: System):
    return system.diagrams.values()
