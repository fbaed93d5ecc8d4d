"""Arguments of a batch as contiguous arrays, one number or row per trajectory."""

import numpy as np


def per_trajectory(value: np.ndarray | float, n: int) -> np.ndarray:
    """One number per trajectory."""
    return np.ascontiguousarray(np.broadcast_to(np.asarray(value, dtype=float), (n,)))


def filled(values, count: int, name: str) -> np.ndarray:
    """As many numbers as there are events."""
    array = np.ascontiguousarray(np.asarray(values, dtype=float).reshape(-1))
    if len(array) != count:
        raise ValueError(f"{name} has {len(array)} entries, but there are {count} events.")
    return array


def per_trajectory_rows(values, n: int, count: int, name: str) -> np.ndarray:
    """A row of `count` numbers per trajectory, from one row or from n."""
    array = np.asarray(values, dtype=float)
    if array.shape[-1:] != (count,):
        raise ValueError(f"{name} has shape {array.shape}, but there are {count} events.")
    return np.ascontiguousarray(np.broadcast_to(array, (n, count)))


def aligned(count: int, dtype: type = np.float64) -> np.ndarray:
    """Zeros on a cache line's boundary, as vector loads need them."""
    raw = np.zeros(8 * count + 64, dtype=np.uint8)
    shift = -raw.ctypes.data % 64
    return raw[shift : shift + 8 * count].view(dtype)


def as_integers(values) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def stacked(arrays: list[np.ndarray], n: int) -> tuple[np.ndarray, int]:
    """One row per stage, or n rows per stage if any stage's rows differ between trajectories; and the row stride."""
    size = arrays[0].shape[-1]
    if any(a.ndim > 1 for a in arrays):
        return np.ascontiguousarray(np.stack([np.broadcast_to(a, (n, size)) for a in arrays])), size
    return np.ascontiguousarray(np.stack(arrays)), 0
