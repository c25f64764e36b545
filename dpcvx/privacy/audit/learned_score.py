"""A score where the law is not known: logistic regression on whitened outputs and simple functions of them."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from dpcvx.arrays import Array
from dpcvx.privacy.audit.events import Score

_FLAT = 1e-14  # directions with less than this share of the variance count as noise-free
_REACH = 20.0  # whitened coordinates are clipped here
_PRODUCTS = 8  # up to so many coordinates, products of them are features too
_RIDGE = 1e-4


def learn_score(first: Array, second: Array) -> Score:
    """Fit a score that is large where the first stream is likelier.

    Args:
        first, second: (n, features), outputs on the two streams.
    """
    center = (first.mean(axis=0) + second.mean(axis=0)) / 2
    scatter = (np.atleast_2d(np.cov(first, rowvar=False)) + np.atleast_2d(np.cov(second, rowvar=False))) / 2
    values, vectors = np.linalg.eigh(scatter)
    whitening = vectors / np.sqrt(np.maximum(values, _FLAT * max(float(values.sum()), 1e-300)))

    def features(outputs: Array) -> Array:
        w = np.clip((outputs - center) @ whitening, -_REACH, _REACH)
        columns = [np.ones((len(w), 1)), w, np.tanh(w), w**2]
        if w.shape[1] <= _PRODUCTS:
            i, j = np.triu_indices(w.shape[1], 1)
            columns.append(w[:, i] * w[:, j])
        return np.hstack(columns)

    design = np.vstack([features(first), features(second)])
    spread = np.maximum(design.std(axis=0), 1e-12)
    spread[0] = 1.0
    design /= spread
    signs = np.repeat([1.0, -1.0], [len(first), len(second)])

    def objective(weights: Array) -> tuple[float, Array]:
        margins = signs * (design @ weights)
        slope = -(design.T @ (signs * expit(-margins))) / len(signs) + _RIDGE * weights
        return float(np.logaddexp(0, -margins).mean() + _RIDGE / 2 * weights @ weights), slope

    fitted = minimize(objective, np.zeros(design.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    weights = fitted.x / spread

    def score(outputs: Array) -> Array:
        return np.asarray(features(outputs) @ weights)

    return score
