"""Bounds: the proxies of arms that may be best, in one range and in several."""

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.theory import variance_proxy


def test_with_one_range_glue_has_the_printed_rule() -> None:
    """psi_k is the factor of k_max where l_max > 1/2, else the arm's own."""
    rng = np.random.default_rng(1)
    for size in [*range(1, 7)] * 30:
        lower, upper = np.sort(rng.random((2, size)), axis=0)
        bounds = mb.MeanBounds(lower, upper)
        kept = bounds.subset(bounds.possible)
        sigma = kept.variance_proxy
        expected = np.full(len(kept), sigma[kept.lower.argmax()]) if kept.best_lower > 0.5 else sigma
        assert kept.best_variance_proxy == pytest.approx(expected)
        assert bounds.best_variance_proxy[bounds.possible] == pytest.approx(expected)
        assert bounds.best_variance_proxy[~bounds.possible].tolist() == bounds.variance_proxy[~bounds.possible].tolist()


def test_factors_take_each_arm_in_its_own_range() -> None:
    """Arm 0 on [0, 1] with l = 0.8; arm 1 on [0, 2] has its middle, 1, inside [0.8, 1.5]: the printed rule, which gives
    it the factor of arm 0, would be too small."""
    bounds = mb.MeanBounds([0.8, 0.1], [1.0, 1.5], low=0.0, high=[1.0, 2.0])
    assert bounds.best_variance_proxy.tolist() == bounds.variance_proxy.tolist() == [variance_proxy(0.8), 1.0]
