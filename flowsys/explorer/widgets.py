"""The explorer as widgets: a slider for each control, pictures that are drawn anew as they move."""

import asyncio
from collections.abc import Callable
from html import escape
from math import log10
from typing import Any

import anywidget
import ipywidgets as w
import traitlets

from flowsys.errors import InputError
from flowsys.explorer import diagrams, pictures
from flowsys.explorer.background import Background
from flowsys.explorer.controls import LEADING, Control, controls
from flowsys.explorer.view import View, first_view, is_early
from flowsys.runs.training import train
from flowsys.runs.trajectory import Trajectory

DOTS = 40
MOST_STEPS = 200_000  # of training behind the curves
_WRAPPED = "white-space: pre-wrap; word-break: normal; overflow-wrap: anywhere; line-height: 1.3"
_STYLE = """<style>
.flowsys-equations { max-width: 68rem; max-height: 44rem; overflow: auto; white-space: normal; line-height: 1.4; }
.flowsys-equations .formula { overflow-x: auto; overflow-y: hidden; padding: .4rem 0; }
.flowsys-equations td { padding: .1rem .8rem .1rem 0; vertical-align: top; }
</style>"""
_WIDE = w.Layout(width="330px")


class Picture(anywidget.AnyWidget):
    """An image that says where it was clicked, from 0 to 1 from its top left corner."""

    _esm = """
    function render({ model, el }) {
      const img = document.createElement("img");
      img.style.maxWidth = "100%";
      const show = () => {
        img.className = model.get("name");
        img.alt = model.get("alt");
        const old = img.src, png = model.get("png");
        img.style.display = png && png.byteLength ? "" : "none";
        img.src = URL.createObjectURL(new Blob([png], { type: "image/png" }));
        if (old) URL.revokeObjectURL(old);
      };
      img.addEventListener("click", (e) => {
        const box = img.getBoundingClientRect();
        model.set("clicked", [(e.clientX - box.left) / box.width, (e.clientY - box.top) / box.height, Date.now()]);
        model.save_changes();
      });
      model.on("change:png", show);
      show();
      el.appendChild(img);
    }
    export default { render };
    """
    png = traitlets.Bytes(b"").tag(sync=True)
    alt = traitlets.Unicode("").tag(sync=True)
    name = traitlets.Unicode("").tag(sync=True)
    clicked: traitlets.List = traitlets.List([]).tag(sync=True)


class Explorer(w.VBox):
    """Sliders, curves, dots and a diagram of one system; `view` is what is looked at, `run` the curves' data.

    `move(omega=0.2)` is what sliders do, `python` and `command` are the lines that give the same numbers again.
    """

    def __init__(self, view: View):
        self.view, self.run = view, view.run()
        self._asked = view.system.given_of(view.setup)  # where sliders that stand still are
        self.trained: Trajectory | None = None
        self.controls = {c.name: c for c in controls(view.system, view.setup, view.level)}
        self._quiet = False
        self._progress = self._on_main(self._say_progress)
        self.sliders = {name: _slider(control) for name, control in self.controls.items()}
        self._build()
        self._training = Background(self._train, self._on_main(self._show_dots))
        self._sweeping = Background(self._sweep, self._on_main(self._show_diagram))
        self._deriving = Background(lambda view, check: derived_page(view), self._on_main(self._show_equations))
        self.diagram: Any = None
        self._drawn: pictures.Diagram | None = None
        self._curves = pictures.Curves()
        self.refresh()
        super().__init__(self._laid_out())

    # -- what it is made of -------------------------------------------------------------------------------------

    def _build(self) -> None:
        view, until = self.view, self.view.until
        names = view.system.unasked(view.level, view.system.problem(view.setup, view.level, None, view.mode))
        self.mode = w.Dropdown(options=list(view.system.modes), value=view.mode, description="mode")
        self.until = _slider(Control("until", "the end of the curves", until, until / 100, until * 100, log=True))
        self.names = w.SelectMultiple(options=names, value=view.names, rows=8, description="observe", layout=_WIDE)
        early = is_early(self.run, view.names)
        self.logarithmic = w.Checkbox(value=early, description="logarithmic time", indent=False)
        has_training = view.system.training is not None
        self.dots = w.Checkbox(value=False, description="training (dots)", indent=False, disabled=not has_training)
        self.width = w.IntText(
            value=int(view.setup.get("width", 0)), description="width", layout=w.Layout(width="160px")
        )
        self.curves = Picture(name="flowsys-curves")
        self.told = w.HTML()
        self.phase = Picture(name="flowsys-phase")
        axes = diagrams.axes_of(view, list(self.controls.values())) or ("", "")
        numbers = [c.name for c in self.controls.values() if not c.choices]
        narrow = w.Layout(width="170px")
        self.x = w.Dropdown(options=numbers, value=axes[0] or None, description="x", layout=narrow)
        self.y = w.Dropdown(options=numbers, value=axes[1] or None, description="y", layout=narrow)
        self.quantity = w.Dropdown(
            options=diagrams.quantities(view), description="shown", layout=w.Layout(width="300px")
        )
        self.sweep = w.Button(description="phase diagram", tooltip="sweep x and y", disabled=not axes[0])
        self.code = w.Button(description="as code", tooltip="the lines that give these curves")
        self.lines = w.HTML()
        for slider in (*self.sliders.values(), self.until, self.names):
            slider.observe(self._moved, names="value")
        self.logarithmic.observe(lambda _: self._draw(), names="value")
        self.mode.observe(self._other_mode, names="value")
        for box in (self.dots, self.width):
            box.observe(lambda _: self._ask_for_dots(), names="value")
        self.sweep.on_click(lambda _: self.ask_for_diagram())
        self.code.on_click(lambda _: self._show_code())
        self.phase.observe(self._clicked, names="clicked")

    def _laid_out(self) -> list[w.Widget]:
        sliders = list(self.sliders.values())
        more = w.Accordion([w.VBox(sliders[LEADING:])], titles=["more parameters"]) if sliders[LEADING:] else w.VBox()
        training = w.HBox([self.dots, self.width])
        shown = [self.mode, *sliders[:LEADING], more, self.until, self.names, self.logarithmic, training]
        left = w.VBox(shown, layout=w.Layout(flex="0 0 auto"))  # long lines on the right do not squeeze the sliders
        chosen = w.HBox([self.x, self.y, self.quantity, self.sweep], layout=w.Layout(flex_flow="row wrap"))
        right = w.VBox([self.curves, self.told, self.code, self.lines, chosen, self.phase])
        self.equations = w.HTML("<p>deriving …</p>")
        folded = w.Accordion([self.equations], titles=["equations"])
        folded.observe(lambda change: self._unfolded(change["new"] == 0), names="selected_index")
        return [w.HBox([left, right]), folded]

    # -- curves -------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Solve and draw; a refusal is told in its place."""
        try:
            self.run = self.view.run()
        except InputError as refusal:
            self.told.value = f"<b style='color:#b3261e'>{escape(str(refusal))}</b>"
            return
        self._draw()
        if self.lines.value:
            self.lines.value = self._code()

    def _draw(self) -> None:
        names = self.view.names
        if pictures.is_drawable(self.run, names):
            trained = self.trained if self.trained and set(names) <= set(self.trained.series) else None
            self.curves.png = self._curves.png(self.run, names, self.logarithmic.value, trained)
        said = pictures.caption(self.view, self.run) if len(self.run) else self.run.outcome.sentence
        self.curves.alt = said
        remarks = "".join(f"<br><small>{escape(remark)}</small>" for remark in self.run.outcome.remarks)
        self.told.value = f"<span class='flowsys-told'>{escape(said)}</span>{remarks}"

    def move(self, **values: Any) -> None:
        """Move sliders: curves follow once."""
        self._quiet = True
        for name, value in values.items():
            if name not in self.sliders:
                raise InputError(f"{name} has no slider; there are {', '.join(self.sliders)}.")
            self.sliders[name].value = self.controls[name].nearest(value)
        self._quiet = False
        self._moved(None)

    def _moved(self, _: Any) -> None:
        if self._quiet:
            return
        values = {name: self.controls[name].nearest(slider.value) for name, slider in self.sliders.items()}
        start = {name: control.nearest(control.value) for name, control in self.controls.items()}
        changed = {name: value for name, value in values.items() if value != start[name]}
        try:
            setup = self.view.system.setup(self.view.mode, **{**self._asked, **changed})
        except InputError as refusal:
            self.told.value = f"<b style='color:#b3261e'>{escape(str(refusal))}</b>"
            return
        names = self.names.value or self.view.names
        until = float(f"{self.until.value:.6g}")
        view = View(self.view.system, setup, tuple(names), until, self.view.mode, self.view.level)
        if view == self.view:  # the browser says once more what it was told, or a refusal was taken back
            self._draw()
            return
        self.view, self.trained = view, None
        self.refresh()
        self._ask_for_dots()
        self._mark_place()

    def _other_mode(self, change: Any) -> None:
        for under_way in (self._training, self._sweeping, self._deriving):
            under_way.forget()
        fresh = first_view(self.view.system, change["new"])  # another mode has other observables and events
        self.__init__(fresh)  # type: ignore[misc]  # the same widget, built anew in its place

    # -- lines --------------------------------------------------------------------------------------------------

    @property
    def python(self) -> str:
        """The line of Python that gives the curves' data."""
        return self.view.python

    @property
    def command(self) -> str:
        """The command that writes the curves' data."""
        return self.view.command

    def _show_code(self) -> None:
        """The lines, from now on those of what is shown; shown already, they go away."""
        self.lines.value = "" if self.lines.value else self._code()

    def _code(self) -> str:
        lines = "\n".join(["import flowsys as fs", "", self.python, "", f"# {self.command}"])
        return f"<pre class='flowsys-code' style='{_WRAPPED}'>{escape(lines)}</pre>"

    # -- training in the background -----------------------------------------------------------------------------

    def _ask_for_dots(self) -> None:
        if self.dots.value:
            self._training.ask((self.view, max(1, int(self.width.value))))
        else:
            self._training.forget()
            self._say_progress(None)

    def _train(self, wish: tuple[View, int], check: Callable) -> Trajectory:
        view, width = wish
        setup = view.setup.replace(width=width)
        if view.until / setup["learning_rate"] > MOST_STEPS:
            raise InputError(f"training to t = {view.until:g} takes more than {MOST_STEPS} steps: lower `until`.")
        known = train(view.system, setup, mode=view.mode, steps=1, records=1)
        names = [name for name in view.names if name in known.series]

        def told(done: int, total: int) -> None:
            check()
            self._progress(done / total)

        return train(view.system, setup, mode=view.mode, until=view.until, records=DOTS, observe=names, progress=told)

    def _say_progress(self, share: float | None) -> None:
        """How far the training behind the curves is; None: it is over."""
        self.dots.description = "training (dots)" + ("" if share is None else f": {share:.0%}")

    def _show_dots(self, wish: tuple[View, int], trained: Trajectory | InputError) -> None:
        self._say_progress(None)
        if isinstance(trained, InputError):
            self.told.value += f"<br><small>{escape(str(trained))}</small>"
        elif wish[0] == self.view:
            self.trained = trained
            self._draw()

    # -- the diagram --------------------------------------------------------------------------------------------

    def ask_for_diagram(self) -> None:
        """Sweep the chosen axes in the background."""
        self.sweep.description = "sweeping …"
        self._sweeping.ask((self.view, self.x.value, self.y.value, self.quantity.value))

    def _sweep(self, wish: tuple, check: Callable) -> Any:
        view, x, y, quantity = wish
        return diagrams.swept(view, list(self.controls.values()), x, y, quantity)

    def _show_diagram(self, wish: tuple, diagram: Any) -> None:
        self.sweep.description = "phase diagram"
        if isinstance(diagram, InputError):
            self.told.value += f"<br><small>{escape(str(diagram))}</small>"
            return
        self.diagram, self._drawn = diagram, pictures.Diagram(diagram)
        self._mark_place()

    def _mark_place(self) -> None:
        """Show the diagram with the place where the sliders stand."""
        if self._drawn is not None:
            self.phase.png = self._drawn.png(tuple(self.view.setup[axis.name] for axis in self.diagram.axes))

    def _clicked(self, change: Any) -> None:
        if self._drawn is None or not change["new"]:
            return
        numbers = self._drawn.numbers_at(*change["new"][:2])
        if numbers is not None:
            names = [axis.name for axis in self.diagram.axes]
            self.move(**{name: self.controls[name].on_a_step(x) for name, x in zip(names, numbers)})

    # -- the equations ------------------------------------------------------------------------------------------

    def _unfolded(self, is_open: bool) -> None:
        """Derive the equations at the sliders' sizes, once they are looked at."""
        if is_open:
            self._deriving.ask(self.view)

    def _show_equations(self, view: View, page: str | InputError) -> None:
        said = f"<p>{escape(str(page))}</p>" if isinstance(page, InputError) else page
        self.equations.value = f"{_STYLE}<div class='flowsys-equations'>{said}</div>"

    def _on_main(self, call: Callable) -> Callable:
        """The call, made on the thread that draws: a kernel's loop, where there is one."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return call
        return lambda *arguments: loop.call_soon_threadsafe(call, *arguments)


def _slider(control: Control) -> w.Widget:
    """The widget of a control."""
    look = {"description": control.name, "tooltip": control.meaning, "layout": _WIDE}
    if control.choices:
        return w.Dropdown(options=list(control.choices), value=control.value, description=control.name, layout=_WIDE)
    if control.integer:
        return w.IntSlider(value=control.value, min=int(control.low), max=int(control.high), **look)
    if control.log:
        return w.FloatLogSlider(value=control.value, base=10, min=log10(control.low), max=log10(control.high),
                                readout_format=".4g", step=control.step, **look)  # fmt: skip
    return w.FloatSlider(
        value=control.value, min=control.low, max=control.high, step=control.step, readout_format=".4g", **look
    )


def derived_page(view: View) -> str:
    """The page of the derivation, as `flowsys derive` writes it: set-up, symbols, loss, flow, start, certificate."""
    from flowsys.equations import page_of
    from flowsys.equations.pages import sections
    from flowsys.runs.asking import derive

    system, level = view.system, view.system.default_level
    variant = system.variant(level, None)
    derivation = derive(system, view.setup, variant=variant, mode=view.mode)
    return sections(page_of(system, view.setup, derivation, variant, view.mode))
