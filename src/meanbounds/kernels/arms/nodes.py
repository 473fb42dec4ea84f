"""Gauss-Legendre nodes of a panel, and what integrates a function from the panel's left end up to each of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from meanbounds.support.types import Floats

__all__ = ["Rule", "gauss_legendre"]


class Rule(NamedTuple):
    """Nodes on [-1, 1] and matrices over a function's values there."""

    nodes: Floats
    weights: Floats
    from_left: Floats  # j, i: what node j adds to the integral from -1 up to node i
    last: Floats  # both last Legendre coefficients: how well the nodes resolve a function


def gauss_legendre(size: int) -> Rule:
    """The rule with this many nodes: on a panel a function is the polynomial through its values at the nodes."""
    nodes, weights = legendre.leggauss(size)
    degrees = np.arange(size)
    basis = legendre.legvander(nodes, size)  # row i: Legendre polynomials at node i
    to_coefficients = (degrees[:, None] + 0.5) * basis[:, :size].T * weights
    previous = np.hstack([-np.ones((size, 1)), basis[:, : size - 1]])
    integrals = (basis[:, 1:] - previous) / (2 * degrees + 1)  # of each polynomial from -1 to each node
    from_left = np.ascontiguousarray((integrals @ to_coefficients).T)
    return Rule(nodes, weights, from_left, np.ascontiguousarray(to_coefficients[-2:]))
