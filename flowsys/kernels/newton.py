"""The linear algebra of an implicit step, as vector code: one trajectory, its stages or linear systems in the lanes.

A vector of stages holds stage i of one component in lane i, a vector of systems the solution of system q in lane q
(real and imaginary parts apart); where a register has fewer lanes, several follow each other, each with all components.

    transform    w = T⁻¹ z
    gather       z = Σ_k weights_k · (z of an earlier step)_k
    fill         λ/h - J for every system
    eliminate    one column of the LU factorisation (rows are swapped lane by lane elsewhere)
    residual     r = T⁻¹ (ω f) - λ/h w
    substitute   x = (λ/h - J)⁻¹ r
    correct      w + x, z + T x, and the norm of T x
"""

from flowsys.kernels.collocation import STAGES, SYSTEMS, collocation
from flowsys.kernels.on_workspace import OnWorkspace
from flowsys.kernels.writer import bits

Complex = tuple[str, str]


class _Newton(OnWorkspace):
    """A function on the stages and systems of one trajectory."""

    def __init__(self, lanes: int, fused: bool):
        super().__init__(lanes, fused)
        self.lanes, self.table = lanes, collocation()
        self.stage_groups = [range(i, min(i + lanes, STAGES)) for i in range(0, STAGES, lanes)]
        self.system_groups = [range(q, min(q + lanes, SYSTEMS)) for q in range(0, SYSTEMS, lanes)]

    def groups(self, name: str, count: int) -> list[str]:
        """The state vectors that a field of the workspace holds one after the other."""
        pointer = self.pointer(name)
        return [self.part(pointer, g) for g in range(count)]

    def stages(self, name: str) -> list[str]:
        return self.groups(name, len(self.stage_groups))

    def systems(self, name: str) -> list[Complex]:
        return list(zip(self.groups(f"{name}_re", len(self.system_groups)),
                        self.groups(f"{name}_im", len(self.system_groups))))  # fmt: skip

    def in_lane(self, groups: list[str], i: int, j: str) -> str:
        """What stands in lane i (counted through all groups) of component j, in all lanes."""
        place = self.w.integer_value("mul", j, self.lanes)
        return self.w.spread(groups[i // self.lanes], self.w.integer_value("add", place, i % self.lanes))

    def into_systems(self, values: list[str], j: str, weights: list[str] | None = None) -> list[Complex]:
        """T⁻¹ applied to the stages' component j."""
        w = self.w
        spread = [self.in_lane(values, i, j) for i in range(STAGES)]
        if weights:
            spread = [w.mul(x, omega) for x, omega in zip(spread, weights)]
        results = []
        for group in self.system_groups:
            parts = []
            for part in ("real", "imag"):
                result = ""
                for i, x in enumerate(spread):
                    row = w.different([getattr(self.table.into[q][i], part) for q in group])
                    result = w.fma(x, row, result) if result else w.mul(x, row)
                parts.append(result)
            results.append((parts[0], parts[1]))
        return results

    def product(self, a: Complex, b: Complex) -> Complex:
        w = self.w
        return (w.fma(a[0], b[0], w.neg(w.mul(a[1], b[1]))), w.fma(a[0], b[1], w.mul(a[1], b[0])))

    def multipliers(self) -> list[Complex]:
        """λ/h of every system."""
        re, im = self.pointer("multiplier_re"), self.pointer("multiplier_im")
        return [(self.w.load(re, g), self.w.load(im, g)) for g in range(len(self.system_groups))]

    def matrices(self) -> list[Complex]:
        """Where the systems' matrices stand, one group after the other."""
        w, size = self.w, self.w.integer_value("mul", self.dim, self.dim)
        re, im = self.pointer("matrix_re"), self.pointer("matrix_im")
        place = [w.integer_value("mul", size, g) for g in range(len(self.system_groups))]
        return [(w.at(re, p), w.at(im, p)) for p in place]


def transform(lanes: int, fused: bool) -> _Newton:
    """w = T⁻¹ z."""
    s = _Newton(lanes, fused)
    z, systems = s.stages("increments"), s.systems("transformed")
    with s.w.loop(0, s.dim) as j:
        for value, places in zip(s.into_systems(z, j), systems):
            for part, place in zip(value, places):
                s.w.store(part, place, j)
    return s


def gather(lanes: int, fused: bool) -> _Newton:
    """z at new stages from those of an earlier step (`history`), and the states there."""
    s = _Newton(lanes, fused)
    w, count = s.w, len(s.stage_groups)
    old, new, states, base = s.stages("history_here"), s.stages("increments"), s.stages("states"), s.pointer("base")
    weights = s.pointer("weights")
    loaded = [[w.load(weights, k * count + g) for k in range(STAGES)] for g in range(count)]
    with w.loop(0, s.dim) as j:
        spread = [s.in_lane(old, k, j) for k in range(STAGES)]
        for g in range(count):
            result = w.mul(loaded[g][0], spread[0])
            for k in range(1, STAGES):
                result = w.fma(loaded[g][k], spread[k], result)
            w.store(result, new[g], j)
            w.store(w.add(w.load(base, j), result), states[g], j)
    return s


def fill(lanes: int, fused: bool) -> _Newton:
    """λ/h - J in every system's lane."""
    s = _Newton(lanes, fused)
    w, jacobian = s.w, s.pointer("jacobian")
    size = w.integer_value("mul", s.dim, s.dim)
    next_diagonal = w.integer_value("add", s.dim, 1)
    for (re, im), (diagonal_re, diagonal_im) in zip(s.matrices(), s.multipliers()):
        with w.loop(0, size) as p:
            w.store(w.neg(w.spread(jacobian, p)), re, p)
            w.store(w.constant(0.0), im, p)
        with w.loop(0, s.dim) as i:
            p = w.integer_value("mul", i, next_diagonal)
            w.store(w.add(w.load(re, p), diagonal_re), re, p)
            w.store(diagonal_im, im, p)
    return s


def eliminate(lanes: int, fused: bool) -> _Newton:
    """Column `pivot` of the factorisation; the pivot is replaced by its inverse."""
    s = _Newton(lanes, fused)
    w, k = s.w, s.number("pivot")
    after = w.integer_value("add", k, 1)
    for re, im in s.matrices():
        row_k = w.integer_value("mul", k, s.dim)
        place = w.integer_value("add", row_k, k)
        a, b = w.load(re, place), w.load(im, place)
        size = w.fma(a, a, w.mul(b, b))
        inverse = (w.div(a, size), w.neg(w.div(b, size)))
        w.store(inverse[0], re, place)
        w.store(inverse[1], im, place)
        with w.loop(after, s.dim) as i:
            row_i = w.integer_value("mul", i, s.dim)
            here = w.integer_value("add", row_i, k)
            f, g = s.product((w.load(re, here), w.load(im, here)), inverse)
            w.store(f, re, here)
            w.store(g, im, here)
            f_minus, g_minus = w.neg(f), w.neg(g)
            with w.loop(after, s.dim) as j:
                p, q = w.integer_value("add", row_i, j), w.integer_value("add", row_k, j)
                x, y = w.load(re, q), w.load(im, q)
                w.store(w.fma(g, y, w.fma(f_minus, x, w.load(re, p))), re, p)
                w.store(w.fma(g_minus, x, w.fma(f_minus, y, w.load(im, p))), im, p)
    return s


def residual(lanes: int, fused: bool) -> _Newton:
    """r = T⁻¹ (ω f) - λ/h w."""
    s = _Newton(lanes, fused)
    w, omega = s.w, s.pointer("omega")
    slopes, transformed, right = s.stages("slopes"), s.systems("transformed"), s.systems("right")
    weights, multipliers = [w.spread(omega, i) for i in range(STAGES)], s.multipliers()
    with w.loop(0, s.dim) as j:
        for value, multiplier, (re, im), places in zip(
            s.into_systems(slopes, j, weights), multipliers, transformed, right
        ):
            shift = s.product(multiplier, (w.load(re, j), w.load(im, j)))
            for part, less, place in zip(value, shift, places):
                w.store(w.sub(part, less), place, j)
    return s


def substitute(lanes: int, fused: bool) -> _Newton:
    """x = (λ/h - J)⁻¹ r, row by row."""
    s = _Newton(lanes, fused)
    w, order = s.w, s.pointer("order")
    for g, group in enumerate(s.system_groups):
        (re, im), (r_re, r_im), (x_re, x_im) = s.matrices()[g], s.systems("right")[g], s.systems("solution")[g]
        orders = s.part(order, g)
        with w.loop(0, s.dim) as i:
            here = w.integer_value("mul", i, lanes)
            for lane in range(len(group)):
                p = w.integer_value("add", here, lane)
                source = w.integer_value("add", w.integer_value("mul", w.load_integer(orders, p), lanes), lane)
                for a, b in ((r_re, x_re), (r_im, x_im)):
                    number = w.value(f"load double, ptr {w.at(a, source, 'double')}")
                    w.do(f"store double {number}, ptr {w.at(b, p, 'double')}")
        with w.loop(0, s.dim) as i:
            row = w.integer_value("mul", i, s.dim)
            value = _reduced(s, (re, im), (x_re, x_im), row, i, 0, i)
            for part, place in zip(value, (x_re, x_im)):
                w.store(part, place, i)
        last = w.integer_value("sub", s.dim, 1)
        with w.loop(0, s.dim) as done:
            i = w.integer_value("sub", last, done)
            row = w.integer_value("mul", i, s.dim)
            value = _reduced(s, (re, im), (x_re, x_im), row, i, w.integer_value("add", i, 1), s.dim)
            p = w.integer_value("add", row, i)
            for part, place in zip(s.product(value, (w.load(re, p), w.load(im, p))), (x_re, x_im)):
                w.store(part, place, i)
    return s


def _reduced(s: _Newton, matrix: Complex, x: Complex, row: str, i: str, start: str | int, stop: str) -> Complex:
    """x_i - Σ a_ik x_k over a range of k; four sums side by side keep the processor busy."""
    w = s.w
    sums = [w.local(w.vector) for _ in range(4)]
    for place, value in zip(sums, (w.load(x[0], i), w.load(x[1], i), w.constant(0.0), w.constant(0.0))):
        w.store(value, place)
    with w.loop(start, stop) as k:
        p = w.integer_value("add", row, k)
        a, b, c, d = w.load(matrix[0], p), w.load(matrix[1], p), w.load(x[0], k), w.load(x[1], k)
        minus = w.neg(a)
        for place, f, g in zip(sums, (minus, minus, b, b), (c, d, d, c)):
            w.store(w.fma(f, g, w.load(place)), place)
    re, im, also_re, also_im = (w.load(place) for place in sums)
    return w.add(re, also_re), w.sub(im, also_im)


def correct(lanes: int, fused: bool) -> _Newton:
    """w + x, T x, z + T x, the states there, and the sums of squares of T x in units of the scales."""
    s = _Newton(lanes, fused)
    w, base, scales, sums = s.w, s.pointer("base"), s.pointer("scales"), s.pointer("sums")
    solution, transformed = s.systems("solution"), s.systems("transformed")
    increments, states, changes = s.stages("increments"), s.stages("states"), s.stages("changes")
    cells = [w.local(w.vector) for _ in s.stage_groups]
    for cell in cells:
        w.store(w.constant(0.0), cell)
    with w.loop(0, s.dim) as j:
        for place, x in zip(transformed, solution):
            for p, step in zip(place, x):
                w.store(w.add(w.load(p, j), w.load(step, j)), p, j)
        spread = [[s.in_lane([x[part] for x in solution], q, j) for q in range(SYSTEMS)] for part in (0, 1)]
        inverse = w.div(w.constant(1.0), w.spread(scales, j))
        for g, group in enumerate(s.stage_groups):
            change = ""
            for q in range(SYSTEMS):
                column = w.different([s.table.out[i][q].real for i in group])
                change = w.fma(spread[0][q], column, change) if change else w.mul(spread[0][q], column)
                if q:
                    column = w.different([-s.table.out[i][q].imag for i in group])
                    change = w.fma(spread[1][q], column, change)
            w.store(change, changes[g], j)
            moved = w.add(w.load(increments[g], j), change)
            w.store(moved, increments[g], j)
            w.store(w.add(w.load(base, j), moved), states[g], j)
            scaled = w.mul(change, inverse)
            w.store(w.fma(scaled, scaled, w.load(cells[g])), cells[g])
    for g, cell in enumerate(cells):
        w.store(w.load(cell), sums, g)
    return s


def tables_text() -> str:
    """The method's numbers for the scalar parts of a step, one function of the index each."""
    table = collocation()
    numbers = {
        "node": table.nodes,
        "estimate_weight": table.estimate,
        "eigenvalue_re": [x.real for x in table.eigenvalues],
        "eigenvalue_im": [x.imag for x in table.eigenvalues],
        "barycentric_weight": table.barycentric,
    }
    texts = []
    for name, values in numbers.items():
        kind = f"[{len(values)} x double]"
        texts.append(f"@{name}_table = internal constant {kind} [{', '.join(f'double {bits(x)}' for x in values)}]")
        texts.append(
            f"define internal double @{name}(i64 %i) nounwind {{\n"
            f"  %p = getelementptr inbounds {kind}, ptr @{name}_table, i64 0, i64 %i\n"
            f"  %x = load double, ptr %p\n  ret double %x\n}}"
        )
    return "\n".join(texts)


FUNCTIONS = (transform, gather, fill, eliminate, residual, substitute, correct)
TABLES = ("node", "estimate_weight", "eigenvalue_re", "eigenvalue_im", "barycentric_weight")


def newton_text(lanes: int, fused: bool) -> tuple[str, set[str]]:
    """LLVM assembly of all functions, and the declarations they need."""
    parts = {f.__name__: f(lanes, fused) for f in FUNCTIONS}
    texts = [part.text(name) for name, part in parts.items()]
    declared = set().union(*(part.w.declared for part in parts.values()))
    return "\n".join([tables_text(), *texts]), declared
