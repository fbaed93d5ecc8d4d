"""`fs.explore`: widgets where there are any, else a figure that does not move."""

from importlib.util import find_spec
from typing import Any

from flowsys.explorer.view import first_view
from flowsys.system import System, system_of

NEEDED = ("ipywidgets", "anywidget")


def explore(
    system: System | str,
    *,
    level: str | None = None,
    mode: str | None = None,
    widgets: bool | None = None,
    **parameters: Any,
) -> Any:
    """Sliders for the parameters, live curves, training as dots, a phase diagram to click on; in JupyterLab.

    The extra `notebooks` installs what it needs; without it, or with `widgets=False`, a static figure of the curves.
    Parameters given by name are where the sliders start. The result has `view`, `run` (the curves' data), `move(…)`,
    and `python` and `command`, the lines that give the same numbers again.

    >>> import flowsys as fs
    >>> ax = fs.explore("mixture", omega=0.2, widgets=False)
    >>> ax.get_xlabel()
    '$t$'
    """
    found = system_of(system)
    view = first_view(found, mode, level, **parameters)
    if widgets is None:
        widgets = all(find_spec(name) is not None for name in NEEDED)
    if not widgets:
        return view.run().plot(list(view.names))
    from flowsys.explorer.widgets import Explorer

    return Explorer(view)
