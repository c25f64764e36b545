"""Lower triangles L with L L' = H: how they are made, and systems solved with one of them or with a batch."""

import numpy as np
from scipy.linalg import blas, lapack

from dpcvx.arrays import Array


def lower_triangle(M: Array) -> Array:
    """L with L L' = M'M, in its lower triangle."""
    H = blas.dsyrk(1.0, M, trans=1, lower=1) if M.flags.f_contiguous else blas.dsyrk(1.0, M.T, lower=1)
    L, failed = lapack.dpotrf(H, lower=1, clean=0, overwrite_a=1)
    return lower_triangle_by_qr(M) if failed else L


def lower_triangle_by_qr(M: Array) -> Array:
    """L with L L' = M'M, from M alone."""
    R: Array = np.linalg.qr(M, mode="r")  # type: ignore[assignment]  # with mode="r" NumPy returns R alone
    return np.swapaxes(R, -1, -2)


def divide(L: Array, w: Array, transpose: int = 0) -> Array:
    """L^-1 w or L'^-1 w for one lower triangle L and vectors w on leading axes."""
    if w.ndim == 1 and len(w):
        return lapack.dtrtrs(L, w, lower=1, trans=transpose)[0]  # type: ignore[no-any-return]  # LAPACK is untyped
    if not w.size:
        return np.zeros_like(w)
    flat = w.reshape(-1, w.shape[-1]).T
    return np.asarray(lapack.dtrtrs(L, flat, lower=1, trans=transpose)[0].T.reshape(w.shape))


def forward(entries: Array, w: Array) -> Array:
    """L^-1 w for a batch of lower triangles [i, j, ...batch]: column after column, all of the batch at once."""
    entries, y = _aligned(entries, w)
    for j in range(len(y)):
        y[j] /= entries[j, j]
        y[j + 1 :] -= entries[j + 1 :, j] * y[j]
    return y.transpose((*range(1, y.ndim), 0)).copy()


def backward(entries: Array, w: Array) -> Array:
    """L'^-1 w for a batch of lower triangles [i, j, ...batch]."""
    entries, y = _aligned(entries, w)
    for j in reversed(range(len(y))):
        y[j] /= entries[j, j]
        y[:j] -= entries[j, :j] * y[j]
    return y.transpose((*range(1, y.ndim), 0)).copy()


def _aligned(entries: Array, w: Array) -> tuple[Array, Array]:
    """Matrices [i, j, ...batch] and, as a new array, vectors [i, ...batch], of one common batch."""
    n, own = len(entries), entries.shape[2:]
    if w.shape[:-1] != own:
        batch = np.broadcast_shapes(own, w.shape[:-1])
        w, entries = np.broadcast_to(w, (*batch, n)), entries.reshape(n, n, *(1,) * (len(batch) - len(own)), *own)
    return entries, w.transpose((w.ndim - 1, *range(w.ndim - 1))).copy()
