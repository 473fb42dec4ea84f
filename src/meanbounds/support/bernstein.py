"""Any density on the unit interval as a mixture of Beta laws with whole parameters, which is its Bernstein form.

With F a distribution function, ``sum over j of (F((j + 1) / n) - F(j / n)) * Beta(j + 1, n - j)`` has the Bernstein
polynomial of F as its distribution function, which tends to F, uniformly, as n grows (Bernstein, 1912). These weights
are never negative, but the mixture is wider than the density: the difference falls as 1 / n only. Steps of the
expectation-maximisation algorithm from there bring the mixture nearer to the density, in divergence, which is what
keeps the weights of unlikely means right; the difference then falls much faster for a smooth density.
"""

from __future__ import annotations

from collections.abc import Callable
from math import lgamma
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from meanbounds.support.types import Floats, Integers

__all__ = ["MOST_COMPONENTS", "Bernstein", "bernstein_form"]

MOST_COMPONENTS = 1024

_FEWEST = 8
_STEPS = 60  # of expectation and maximisation
_LOOK = 5  # steps between two looks at the difference
_NEVER = 1e-9  # a component with less weight is left out
_PANELS = 512
_GRADED = 30  # halves of halves of the first and of the last panel, for densities that are infinite at an end
_SIZE = 4  # nodes on a panel
_MARGIN = 0.98  # distribution functions are compared at the ends of panels, and may differ a little more between them


class Bernstein(NamedTuple):
    """The laws Beta(j + 1, n - j) of a mixture, and their weights."""

    n: int
    j: Integers
    weights: Floats


def bernstein_form(density: Callable[[Floats], Floats], tolerance: float) -> Bernstein | None:
    """The mixture whose distribution function differs nowhere by more than the tolerance from that of a density.

    Parameters
    ----------
    density
        Finite and never negative inside the unit interval, and not 0 everywhere; a constant factor does not matter.
    tolerance
        The largest difference of the two distribution functions.

    Returns
    -------
    Bernstein or None
        None if that takes more than `MOST_COMPONENTS` components.

    Examples
    --------
    >>> found = bernstein_form(lambda x: x**2 * (1.0 - x), 1e-3)  # Beta(3, 2)
    >>> found.n, round(float(found.weights @ (found.j + 1.0) / (found.n + 1)), 3)
    (8, 0.6)
    """
    x, panels = _nodes()
    masses = density(x) * panels.ravel()
    masses /= masses.sum()
    goal = np.cumsum(masses.reshape(panels.shape).sum(axis=1))
    n = _FEWEST
    while n <= MOST_COMPONENTS:
        basis = _basis(n, x)
        weights = np.bincount(np.minimum((x * n).astype(np.int64), n - 1), masses, minlength=n).astype(np.float64)
        for step in range(_STEPS + 1):
            mixed = weights @ basis
            if step % _LOOK == 0:
                kept = np.where(weights < _NEVER, 0.0, weights)
                kept /= kept.sum()
                own = ((kept @ basis).reshape(panels.shape) * panels).sum(axis=1)
                if np.abs(np.cumsum(own) - goal).max() <= _MARGIN * tolerance:
                    j = np.flatnonzero(kept)
                    return Bernstein(n, j, kept[j])
            weights = weights * (basis @ np.divide(masses, mixed, out=np.zeros_like(mixed), where=mixed > 0.0))
        n *= 2
    return None


def _nodes() -> tuple[Floats, Floats]:
    """Places in the unit interval, and their weights in an integral: a row for each panel."""
    step = 1.0 / _PANELS
    graded = step * 0.5 ** np.arange(_GRADED, 0, -1)
    inner = np.arange(1, _PANELS) * step
    ends = np.concatenate([[0.0], graded, inner, 1.0 - graded[::-1], [1.0]])
    places, weights = legendre.leggauss(_SIZE)
    half = 0.5 * np.diff(ends)[:, None]
    return (ends[:-1, None] + half * (1.0 + places)).ravel(), half * weights


def _basis(n: int, x: Floats) -> Floats:
    """The densities of Beta(j + 1, n - j), j = 0, ..., n - 1, at these places."""
    j = np.arange(n)[:, None]
    logs = np.array([lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k) for k in range(n)])
    basis: Floats = np.exp(logs[:, None] + j * np.log(x) + (n - 1 - j) * np.log1p(-x))
    return basis
