"""The libraries of a kernel, compiled or found on disk: the program's functions, its tangent, and the driver's."""

import json
import threading
from functools import lru_cache
from importlib import import_module

from flowsys.kernels.built_in import BuiltIn
from flowsys.kernels.cache import cached
from flowsys.kernels.host import Host
from flowsys.kernels.layout import Shape
from flowsys.kernels.machine_code import Library, compiled, loaded
from flowsys.program import Program
from flowsys.program.arrays import Kinks

# programs beyond this many operations are compiled with less effort, to stay within seconds
_LARGE = 20_000
# and beyond this many lines, Jacobians are made of difference quotients
_LARGE_TANGENT = 5_000
_STEPPER = ("attempt", "stiffness", "dense_output", "interpolate")
_SCALAR = {"exp": "exponential", "log": "logarithm"}
_lock = threading.Lock()


def driver_library(host: Host) -> Library:
    """The driver does not depend on the program: one per host."""
    with _lock:
        return _driver(host)


@lru_cache(maxsize=8)
def _driver(host: Host) -> Library:
    def compile_it() -> bytes:
        from flowsys.kernels import native
        from flowsys.kernels.collocation import STAGES, SYSTEMS
        from flowsys.kernels.functions import scalar_text
        from flowsys.kernels.newton import FUNCTIONS, TABLES, newton_text
        from flowsys.kernels.restricted import Compiler
        from flowsys.kernels.stepper import WATCHED_FRACTIONS, stepper_text

        constants = {"LANES": host.lanes, "THIRD": WATCHED_FRACTIONS[0], "TWO_THIRDS": WATCHED_FRACTIONS[1]}
        constants |= {"STAGE_GROUPS": -(-STAGES // host.lanes), "SYSTEM_GROUPS": -(-SYSTEMS // host.lanes)}
        external = dict.fromkeys((*_STEPPER, *(f.__name__ for f in FUNCTIONS)), (("record Workspace",), "void"))
        external |= dict.fromkeys(TABLES, (("i64",), "double"))
        external |= dict.fromkeys(_SCALAR.values(), (("double",), "double"))
        modules = [import_module(f"{native.__name__}.{name}") for name in native.MODULES]
        text, declared = Compiler(modules, constants, external, host.fused).text({"run", "observe"})
        steps, needed = stepper_text(host.lanes, host.fused)
        implicit, also_needed = newton_text(host.lanes, host.fused)
        scalar, needed_too = scalar_text(_SCALAR, host.fused)
        everything = declared | needed | also_needed | needed_too
        return compiled("\n".join([*sorted(everything), text, steps, implicit, scalar]), host, level=2)

    return loaded(cached("driver", host, compile_it), host)


def program_library(
    program: Program, watched: tuple[str, ...], kinks: Kinks, host: Host, known: BuiltIn | None
) -> tuple[Library, Shape, BuiltIn | None]:
    """A program's functions and their shape; what is stored on disk spares reading the program again."""

    def compile_it() -> bytes:
        from flowsys.kernels.emit import module_text, requests_of, slots_of

        special = known.written_out(program) if known else None
        native = special.program if special else program
        level = 2 if native.operations < _LARGE else 1
        shape = Shape.of(native, slots_of(native, requests_of(native, watched, kinks)))
        code = compiled(module_text(native, watched, kinks, host), host, level)
        places = {"entries": special.entries, "gate_names": special.gate_names} if special else {}
        head = json.dumps({"shape": vars(shape), "places": places})
        return head.encode() + b"\n" + code

    content = _content(program, watched, kinks, known)
    head, _, code = cached(content, host, compile_it).partition(b"\n")
    stored = json.loads(head)
    shape = Shape(**{name: _frozen(value) for name, value in stored["shape"].items()})
    built_in = known.with_places(**stored["places"]) if known else None
    return loaded(code, host), shape, built_in


def tangent_library(
    program: Program, watched: tuple[str, ...], kinks: Kinks, host: Host, known: BuiltIn | None
) -> Library | None:
    """The derivative of a program's field along a direction; None for programs that would take long to compile."""
    if sum(len(block.lines) for block in program.blocks) > _LARGE_TANGENT:
        return None

    def compile_it() -> bytes:
        from flowsys.kernels.emit import tangent_text

        native = known.written_out(program).program if known else program
        return compiled(tangent_text(native, watched, kinks, host), host, level=1)

    return loaded(cached(f"tangent\n{_content(program, watched, kinks, known)}", host, compile_it), host)


def _content(program: Program, watched: tuple[str, ...], kinks: Kinks, known: BuiltIn | None) -> str:
    return "\n".join([str(program), *watched, kinks, known.content if known else ""])


def _frozen(value):
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
