"""`jit`: JAX's compiler set for long scalar programs."""

from collections.abc import Callable
from functools import lru_cache

import jax


def jit(function: Callable) -> Callable:
    """`jax.jit` with the compiler set for long scalar programs, where the compiler knows how."""
    return jax.jit(function, compiler_options=_compiler_options())


@lru_cache(maxsize=1)
def _compiler_options() -> dict[str, bool]:
    # Without fusion emitters the CPU compiler handles programs of many small operations about twice as fast, and
    # what it makes runs faster; an XLA that does not know the option says so at once.
    wish = {"xla_cpu_use_fusion_emitters": False}
    try:
        jax.jit(lambda x: x + 1.0, compiler_options=wish)(0.0)
    except Exception:  # XLA's error type for an unknown option is not public
        return {}
    return wish
