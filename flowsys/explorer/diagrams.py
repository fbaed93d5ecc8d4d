"""The diagram beside the curves: two of the sliders as axes, over the ranges of the sliders or of the system's own."""

from collections.abc import Sequence

from flowsys.explorer.controls import Control
from flowsys.explorer.view import View
from flowsys.sweeps.asked import phase
from flowsys.sweeps.diagram import PhaseDiagram
from flowsys.sweeps.named import NamedDiagram

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
    """What a diagram can show: quantities of the system's own, times of events, observables at the end."""
    own = _own(view)
    problem = view.system.problem(view.setup, view.level, None, view.mode)
    at_end = [f"{name}@t={view.until!r}" for name in view.names]
    events = [event.name for event in reversed(problem.events)]  # marks are at the same time everywhere
    return list(dict.fromkeys([*(own.observables if own else ()), *events, *at_end]))


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
    """The system's first diagram of this mode and level, of one run a point."""
    alike = lambda d: (d.level or view.level, d.mode or view.system.mode(None)) == (view.level, view.mode)
    plain = lambda d: d.seeds == 1 and not d.kink_width and len(d.axes) > 1
    return next((d for d in view.system.diagrams.values() if alike(d) and plain(d)), None)
