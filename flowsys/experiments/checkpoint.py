"""A long training run that may be stopped: its arrays and what was noted on the way, in a file that is replaced whole.

The file names the case it belongs to, a frozen dataclass, and is of no use to any other.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from flowsys.experiments.stored import described
from flowsys.machine.files import write_atomically


def save(path: Path, case: Any, state: Any, notes: Any) -> None:
    """Keep a tree of arrays, and notes of plain values."""
    import jax

    arrays: dict[str, Any] = {f"leaf_{place}": np.asarray(leaf) for place, leaf in enumerate(jax.tree.leaves(state))}
    arrays |= {"case": json.dumps(described(case)), "notes": json.dumps(notes)}
    write_atomically(path, lambda temporary: np.savez(temporary, **arrays))


def restored(path: Path | None, case: Any, state: Any, notes: Any) -> tuple[Any, Any]:
    """State and notes as they were kept for this case; those given, which the state is shaped like, if none were."""
    import jax
    import jax.numpy as jnp

    if path is None or not path.exists():
        return state, notes
    with np.load(path) as kept:
        if str(kept["case"]) != json.dumps(described(case)):
            raise ValueError(f"checkpoint = {path}, but it holds another run; choose another path.")
        leaves = [jnp.asarray(kept[f"leaf_{place}"]) for place in range(len(jax.tree.leaves(state)))]
        return jax.tree.unflatten(jax.tree.structure(state), leaves), json.loads(str(kept["notes"]))
