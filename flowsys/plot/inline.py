"""Small pictures inside a notebook's own display of a value: an SVG or PNG in the page, outside pyplot's figures."""

from base64 import b64encode
from io import BytesIO
from typing import Any

from matplotlib.figure import Figure

from flowsys.plot.diagrams import diagram
from flowsys.plot.trajectory import trajectory
from flowsys.runs.trajectory import Trajectory

FEWEST = 10  # rows that make a curve


def inline(value: Any) -> str:
    """The picture of a trajectory or a diagram as an HTML image; nothing for a few scattered rows."""
    is_run = isinstance(value, Trajectory)
    if is_run and len(value) < FEWEST:
        return ""
    figure = Figure(figsize=(6, 3) if is_run else (5.4, 4.2), layout="constrained")
    (trajectory if is_run else diagram)(value, figure.subplots())
    content = BytesIO()
    figure.savefig(content, format="png", dpi=80)
    return f'<img src="data:image/png;base64,{b64encode(content.getvalue()).decode()}">'
