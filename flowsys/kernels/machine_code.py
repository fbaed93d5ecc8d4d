"""LLVM assembly to machine code, and machine code to functions that can be called."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from flowsys.kernels.host import Host


@lru_cache(maxsize=1)
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def _target_machine(host: Host, level: int) -> Any:
    target = _llvm().Target.from_default_triple()
    options = {"cpu": host.cpu, "features": host.features, "opt": level}
    return target.create_target_machine(**options, codemodel="jitdefault", jit=True)


def compiled(assembly: str, host: Host, level: int = 2) -> bytes:
    """The object file of a module, optimised for a host."""
    llvm = _llvm()
    module = llvm.parse_assembly(assembly)
    module.verify()
    machine = _target_machine(host, level)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    # loops over rows hold long straight bodies on vectors already: unrolling and vectorising only cost compile time
    options.loop_unrolling = options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


@dataclass(frozen=True, eq=False)
class Library:
    """Loaded machine code; its functions live as long as it does."""

    engine: Any
    addresses: dict[str, int] = field(default_factory=dict)

    def address(self, name: str) -> int:
        if name not in self.addresses:
            self.addresses[name] = self.engine.get_function_address(name)
        return self.addresses[name]


def loaded(machine_code: bytes, host: Host) -> Library:
    """The functions of an object file, ready to be called."""
    llvm = _llvm()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine(host, 1))
    engine.add_object_file(llvm.ObjectFileRef.from_data(machine_code))
    engine.finalize_object()
    return Library(engine)
