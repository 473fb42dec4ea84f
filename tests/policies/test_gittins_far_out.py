"""Gittins indices far out, by the defining equation."""

from __future__ import annotations

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.posterior import posterior

pytestmark = pytest.mark.usefixtures("as_the_engine_does")

CASES = [  # Beta parameters, bounds, f
    (1.0, 1.0, 0.6169601383632616, 0.617244986691671, 3e5),
    (41.0, 361.0, 0.9, 1.0, 100.0),  # the mass between the bounds is 1e-301 of all
    (2.5, 1.5, 0.3, 1.0, 1e3),
    (1.3, 1.7, 0.0, 1.0 - 1e-9, 1e8),
    (900.0, 100.0, 0.905, 0.98, 2e4),
    (3e7, 7e7, 0.31, 0.4, 1e8),
    (3e7, 7e7, 0.1, 0.29, 1e8),
    (1e8, 1.0, 0.0, 1.0, 1e3),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gittins_indices_far_out(case: tuple[float, ...]) -> None:
    """Newton's step from the index is tiny beside the distance of the bounds."""
    a, b, lower, upper, f = case
    known = Known.of([mb.Knowledge(mb.MeanBounds([lower], [upper]))])
    plays, ones = np.array([[a + b - 2.0]]), np.array([[a - 1.0]])
    seen = Seen(plays, ones, ones, ones)
    index, mean = mb.OptimisticGittins().scores(known, seen, np.array([f]))
    believed = posterior(known, seen)  # whose integrals are compared with others in test_posterior.py
    step = (f * believed.excess(index) - (index - mean)) / (f * believed.tail(index) + 1.0)
    assert lower < mean.item() < index.item() < upper
    assert abs(step.item()) < 1e-11 * (upper - lower)
