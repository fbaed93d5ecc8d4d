"""The processor a kernel is compiled for: its name, features, and how many doubles a vector register holds."""

from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Host:
    """A target. `fused` says whether a·b + c is one instruction (and one rounding)."""

    cpu: str
    features: str
    lanes: int
    fused: bool

    @property
    def key(self) -> str:
        return f"{self.cpu} {self.features} {self.lanes} {self.fused}"


@lru_cache(maxsize=1)
def this_host() -> Host:
    """The machine we run on."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    has = lambda name: bool(features.get(name, False))
    # 512-bit registers, else 256-bit ones, else the 128-bit ones of SSE2 and NEON
    lanes = 8 if has("avx512f") else 4 if has("avx") else 2
    fused = has("fma") or has("neon")
    return Host(llvm.get_host_cpu_name(), features.flatten(), lanes, fused)


@lru_cache(maxsize=1)
def cannot_compile() -> str:
    """Why no machine code can be made here; empty where it can."""
    try:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
    except (ImportError, OSError, RuntimeError) as error:
        return f"llvmlite does not run on this machine ({error})"
    return ""


def plain_host() -> Host:
    """The same architecture without any vector extension beyond its baseline."""
    return Host("", "", 2, False)
