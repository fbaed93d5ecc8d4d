"""One step of DOP853 for all lanes, as vector code: stages, error norm, stiffness, dense output.

The method of order 8(5,3) of Dormand & Prince with the error estimate and the interpolant of order 7 by E. Hairer,
S. P. Nørsett & G. Wanner, Solving Ordinary Differential Equations I (2nd ed., 1993), II.5, II.6 and II.10. The
coefficients are read from SciPy's table when a kernel is built. Every lane has its own step size.

    error = |h| e5² / √((e5² + 0.01 e3²) n),      e5, e3: weighted norms of the embedded estimates
    h|λ| ≈ h ‖f(y_new) - k12‖ / ‖y_new - Y12‖     (IV.2 of the second volume)
"""

import numpy as np

from flowsys.kernels.on_workspace import OnWorkspace

# stages at c = 1/3 and c ≈ 0.651, whose states are good enough to suspect a crossing
WATCHED_STAGES = {5: "at_third", 8: "at_two_thirds"}
WATCHED_FRACTIONS = (1 / 3, 0.6512820512820513)
N_STAGES, N_EXTENDED = 12, 16


def _nonzero(row: np.ndarray) -> list[tuple[int, float]]:
    return [(i, float(a)) for i, a in enumerate(row) if a != 0.0]


class _Step(OnWorkspace):
    """A function on the slopes of a step."""

    def __init__(self, lanes: int, fused: bool):
        super().__init__(lanes, fused)
        self.k = self.pointer("k")

    def row(self, i: int) -> str:
        """Where slope i begins."""
        return self.part(self.k, i)

    def slopes(self, terms: list[tuple[int, float]]) -> dict[int, str]:
        return {i: self.row(i) for i, _ in terms}

    def combination(self, terms: list[tuple[int, float]], rows: dict[int, str], j: str, loaded: dict | None = None):
        """Σ a_i k_i at entry j."""
        w, loaded = self.w, {} if loaded is None else loaded
        result = None
        for i, a in terms:
            if i not in loaded:
                loaded[i] = w.load(rows[i], j)
            result = w.mul(loaded[i], w.constant(a)) if result is None else w.fma(loaded[i], w.constant(a), result)
        return result

    def stage(self, terms: list[tuple[int, float]], index: int, watched: str | None = None) -> None:
        """The state y + h Σ a_i k_i and the slope there."""
        w, y, out = self.w, self.pointer("y"), self.pointer("y_stage")
        h, rows = w.load(self.pointer("step")), self.slopes(terms)
        with w.loop(0, self.dim) as j:
            w.store(w.fma(h, self.combination(terms, rows, j), w.load(y, j)), out, j)
        if watched:
            values = self.pointer(watched)
            w.do(f"call void @evaluate_watched(ptr %w, ptr {out}, ptr {self.row(index)}, ptr {values})")
        else:
            w.do(f"call void @evaluate(ptr %w, ptr {out}, ptr {self.row(index)})")


def attempt(lanes: int, fused: bool) -> _Step:
    """y_new and the error norm of a step of size `step` in every lane."""
    from scipy.integrate._ivp import dop853_coefficients as table

    s = _Step(lanes, fused)
    w = s.w
    for i in range(1, N_STAGES):
        s.stage(_nonzero(table.A[i, :i]), i, WATCHED_STAGES.get(i))
    weights, fifth, third = _nonzero(table.B), _nonzero(table.E5[:N_STAGES]), _nonzero(table.E3[:N_STAGES])
    rows = s.slopes([*weights, *fifth, *third])
    y, y_new, h = s.pointer("y"), s.pointer("y_new"), w.load(s.pointer("step"))
    rtol, atol = w.load(s.pointer("rtol")), w.load(s.pointer("atol"))
    sums = [w.local(w.vector), w.local(w.vector)]
    for place in sums:
        w.store(w.constant(0.0), place)
    with w.loop(0, s.dim) as j:
        loaded: dict = {}
        before = w.load(y, j)
        after = w.fma(h, s.combination(weights, rows, j, loaded), before)
        w.store(after, y_new, j)
        largest = w.maximum(w.intrinsic("fabs", after), w.intrinsic("fabs", before))
        scale = w.fma(rtol, largest, atol)
        inverse = w.div(w.constant(1.0), scale)
        for terms, place in zip((fifth, third), sums):
            e = w.mul(s.combination(terms, rows, j, loaded), inverse)
            w.store(w.fma(e, e, w.load(place)), place)
    e5, e3 = (w.load(place) for place in sums)
    n = w.in_all_lanes(w.value(f"sitofp i64 {s.dim} to double"))
    below = w.intrinsic("sqrt", w.mul(w.fma(e3, w.constant(0.01), e5), n))
    error = w.div(w.mul(w.intrinsic("fabs", h), e5), below)
    no_error = w.compare("oeq", below, w.constant(0.0))
    w.store(w.select(no_error, w.constant(0.0), error), s.pointer("error"))
    return s


def stiffness(lanes: int, fused: bool) -> _Step:
    """h|λ| from the last two slopes at the end of the step."""
    s = _Step(lanes, fused)
    w = s.w
    y_new, y_stage, last, new = s.pointer("y_new"), s.pointer("y_stage"), s.row(N_STAGES - 1), s.row(N_STAGES)
    sums = [w.local(w.vector), w.local(w.vector)]
    for place in sums:
        w.store(w.constant(0.0), place)
    with w.loop(0, s.dim) as j:
        for (a, b), place in zip(((new, last), (y_new, y_stage)), sums):
            difference = w.sub(w.load(a, j), w.load(b, j))
            w.store(w.fma(difference, difference, w.load(place)), place)
    slopes, states = (w.load(place) for place in sums)
    ratio = w.intrinsic("sqrt", w.div(slopes, states))
    value = w.mul(w.load(s.pointer("step")), ratio)
    safe = w.select(w.compare("ogt", states, w.constant(0.0)), value, w.constant(0.0))
    w.store(safe, s.pointer("stiffness"))
    return s


def dense_output(lanes: int, fused: bool) -> _Step:
    """The coefficients of the interpolant of the last step, after three more slopes."""
    from scipy.integrate._ivp import dop853_coefficients as table

    s = _Step(lanes, fused)
    w = s.w
    for i in range(N_STAGES + 1, N_EXTENDED):
        s.stage(_nonzero(table.A[i, :i]), i)
    y, y_new, out, h = s.pointer("y"), s.pointer("y_new"), s.pointer("dense"), w.load(s.pointer("step"))
    tails = [_nonzero(row) for row in table.D]
    rows = s.slopes([*(term for row in tails for term in row), (0, 1.0), (N_STAGES, 1.0)])
    places = [w.at(out, w.integer_value("mul", s.dim, i)) for i in range(7)]
    with w.loop(0, s.dim) as j:
        loaded: dict = {}
        change = w.sub(w.load(y_new, j), w.load(y, j))
        first, last = (w.mul(h, w.load(rows[i], j)) for i in (0, N_STAGES))
        head = [change, w.sub(first, change), w.sub(w.add(change, change), w.add(first, last))]
        tail = [w.mul(h, s.combination(terms, rows, j, loaded)) for terms in tails]
        for place, value in zip(places, [*head, *tail]):
            w.store(value, place, j)
    return s


def interpolate(lanes: int, fused: bool) -> _Step:
    """`y_stage` at the `fraction` of the last step."""
    s = _Step(lanes, fused)
    w = s.w
    y, out, dense, x = s.pointer("y"), s.pointer("y_stage"), s.pointer("dense"), w.load(s.pointer("fraction"))
    rest = w.sub(w.constant(1.0), x)
    places = [w.at(dense, w.integer_value("mul", s.dim, i)) for i in range(7)]
    with w.loop(0, s.dim) as j:
        value = w.constant(0.0)
        for i, place in enumerate(reversed(places)):
            value = w.mul(w.add(value, w.load(place, j)), x if i % 2 == 0 else rest)
        w.store(w.add(w.load(y, j), value), out, j)
    return s


def stepper_text(lanes: int, fused: bool) -> tuple[str, set[str]]:
    """LLVM assembly of the four functions, and the declarations they need."""
    parts = {f.__name__: f(lanes, fused) for f in (attempt, stiffness, dense_output, interpolate)}
    texts = [part.text(name) for name, part in parts.items()]
    return "\n".join(texts), set().union(*(part.w.declared for part in parts.values()))
