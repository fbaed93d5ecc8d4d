"""A compiled kernel: the machine code of one program, and of the driver that integrates it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from flowsys.kernels.cache import cached
from flowsys.kernels.emit import module_text, requests_of, slots_of
from flowsys.kernels.host import Host, this_host
from flowsys.kernels.machine_code import Library, compiled, loaded
from flowsys.program import Program

# programs beyond this many operations are compiled with less effort, to stay within seconds
_LARGE = 20_000


@dataclass(frozen=True, eq=False)
class Kernel:
    """Native functions of a program. `watched` names the observables that events may refer to."""

    program: Program
    watched: tuple[str, ...]
    kinks: str
    host: Host
    library: Library
    driver: Library
    slots: int

    @property
    def has_kinks(self) -> bool:
        return self.kinks == "frozen" and bool(self.program.kinks)


@lru_cache(maxsize=8)
def _driver(host: Host) -> Library:
    """The driver does not depend on the program: one per host."""

    def compile_it() -> bytes:
        from flowsys.kernels import driver
        from flowsys.kernels.restricted import Compiler
        from flowsys.kernels.stepper import WATCHED_FRACTIONS, stepper_text

        constants = {"LANES": host.lanes, "THIRD": WATCHED_FRACTIONS[0], "TWO_THIRDS": WATCHED_FRACTIONS[1]}
        on_workspace = (("record Workspace",), "void")
        external = {name: on_workspace for name in ("attempt", "stiffness", "dense_output", "interpolate")}
        text, declared = Compiler(driver, constants, external, host.fused).text({"run", "observe"})
        steps, needed = stepper_text(host.lanes, host.fused)
        return compiled("\n".join([*sorted(declared | needed), text, steps]), host, level=1)

    return loaded(cached("driver", host, compile_it), host)


@lru_cache(maxsize=64)
def _kernel(text: str, watched: tuple[str, ...], kinks: str, host: Host) -> Kernel:
    program = Program.parse(text)

    def compile_it() -> bytes:
        level = 2 if program.operations < _LARGE else 1
        return compiled(module_text(program, watched, kinks, host.lanes, host.fused), host, level)

    code = cached("\n".join([text, *watched, kinks]), host, compile_it)
    slots = slots_of(program, requests_of(program, watched, kinks))
    return Kernel(program, watched, kinks, host, loaded(code, host), _driver(host), slots)


def kernel(program: Program, watched: Sequence[str] = (), kinks: str = "frozen", host: Host | None = None) -> Kernel:
    """The kernel of a program, compiled now, earlier in this process, or in an earlier one.

    `kinks` is "frozen" (exact kinks, located), "smooth" (over the kink width) or "exact" (evaluated as they are).
    """
    if kinks not in ("frozen", "smooth", "exact"):
        raise ValueError(f"kinks = {kinks!r}, but a kernel reads them 'frozen', 'smooth' or 'exact'.")
    for name in watched:
        if name not in program.observables:
            raise ValueError(f"watched: {name!r} is not an observable of the program.")
    return _kernel(str(program), tuple(watched), kinks, host or this_host())
