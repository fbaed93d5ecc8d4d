"""What a system would use: its start, its vector field, its derivation; asked for by hand."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowsys.errors import InputError
from flowsys.system import Setup, System, asked
from flowsys.system.problem import Problem, ProgramField


def start(
    system: System | str, setup: Setup | None = None, *, level: str, mode: str | None = None, **parameters: Any
) -> dict[str, np.ndarray]:
    """The start that `solve` or `train` would use, by block: weights at L0, L1, else what the loss sees of them.

    >>> import flowsys as fs
    >>> {name: array.shape for name, array in fs.start("mixture", level="L0", width=50).items()}
    {'w': (2, 4), 'W_K': (2, 50, 4), 'W_Q': (2, 50, 4)}
    """
    system, setup = asked(system, setup, mode, parameters)
    return system.start(setup, level, mode)


def derive(
    system: System | str,
    setup: Setup | None = None,
    *,
    variant: str | None = None,
    mode: str | None = None,
    **parameters: Any,
):
    """Derive the reduced system at a size: its program, its equations, and how they are certified (a `Derivation`).

    Coordinates that stay equal for ever, up to sign, are lumped into classes; `certificate` says how far the full flow
    leaves the lumped subspace, `autodiff` how far the program is from autodiff on the weights. A notebook shows the
    equations; `str` is the whole report, `equations` the LaTeX by name, `program` what is integrated.

    >>> import flowsys as fs
    >>> derivation = fs.derive("parity")
    >>> derivation.n_coordinates, derivation.n_classes, derivation.certificate < 1e-12
    (320, 24, True)
    """
    system, setup = asked(system, setup, mode, parameters)
    if system.derive is None:
        raise InputError(f"system = {system.name} has no derivation.")
    return system.derive(setup, system.variant(system.default_level, variant))


@dataclass(frozen=True, eq=False)
class AskedField:
    """A stage's vector field with exact gates: f(y) for states y, leading axes allowed. `start` is the run's own."""

    problem: Problem
    stage: int
    names: tuple[str, ...]
    start: np.ndarray

    def __call__(self, y: Any) -> np.ndarray:
        y = np.asarray(y, dtype=float)
        if y.shape[-1:] != (len(self.names),):
            raise InputError(f"y has shape {y.shape}, but its last axis must have {len(self.names)} entries.")
        field, arguments = self.problem.field, self.problem.stages[self.stage].arguments
        rows = y.reshape(-1, len(self.names))
        if isinstance(field, ProgramField):
            from flowsys.program.arrays import vector_field

            evaluate = vector_field(field.program, "exact", np)
            return np.array([evaluate(row, arguments) for row in rows]).reshape(y.shape)
        import jax

        with jax.enable_x64(True):
            return np.asarray(jax.vmap(self.jax)(rows)).reshape(y.shape)

    @property
    def jax(self) -> Callable:
        """The same as a JAX function of one state, to differentiate and compile; it computes in double precision."""
        import jax
        import jax.numpy as jnp

        field, arguments = self.problem.field, self.problem.stages[self.stage].arguments
        if isinstance(field, ProgramField):
            from flowsys.program.arrays import vector_field

            evaluate = vector_field(field.program, "exact", jnp)
        else:
            evaluate = lambda y, arguments: field.rhs(
                y, _with_gates(field, arguments, y) if field.has_kinks else arguments
            )

        def exact(y):
            # in a scope of its own: JAX keeps arrays that a function uses in the precision of its first trace
            with jax.enable_x64(True):
                return evaluate(jnp.asarray(y, dtype=jnp.float64), arguments)

        return exact


def _with_gates(field: Any, arguments: Any, y: Any) -> Any:
    """The gates as the state has them; one that stands behind others is known once these are right."""
    import jax
    import jax.numpy as jnp

    held = jax.lax.stop_gradient(y)
    opened = lambda gates: jnp.where(field.switching(held, arguments._replace(gates=gates)) > 0, 1.0, 0.0)
    first = jnp.ones(arguments.gates.shape)
    changes = lambda pair: (pair[0] != pair[1]).any()
    gates, _ = jax.lax.while_loop(changes, lambda pair: (opened(pair[0]), pair[0]), (opened(first), first))
    return arguments._replace(gates=gates)


def field(
    system: System | str,
    setup: Setup | None = None,
    *,
    level: str | None = None,
    variant: str | None = None,
    mode: str | None = None,
    stage: int = 0,
    **parameters: Any,
) -> AskedField:
    """The vector field that `solve` would integrate in a stage, as a function of the state.

    `names` are the coordinates, `start` is the run's own; `jax` is the same to be differentiated.

    >>> import flowsys as fs
    >>> field = fs.field("mixture", mode="simultaneous")
    >>> len(field.names), field(field.start).shape
    (22, (22,))
    """
    system, setup = asked(system, setup, mode, parameters)
    level = level or system.default_level
    if level == "L0":
        raise InputError("level = L0 has no vector field: it is descent; L1 is its flow.")
    form = level, system.variant(level, variant), system.mode(mode)
    problem = system.build(system.settled(setup, *form), *form)
    if not 0 <= stage < len(problem.stages):
        raise InputError(f"stage = {stage} is not one of {system.name}'s: there are 0 to {len(problem.stages) - 1}.")
    return AskedField(problem, stage, tuple(problem.field.names), np.array(problem.initial))
