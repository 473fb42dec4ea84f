"""Limits on the norm of the shared parameter are checked once, for whoever takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.linear.arms import check_norms

WRONG: list[tuple[Any, Any, str]] = [
    (0.0, 0.0, "norm_high must be a positive number"),
    (np.inf, 0.0, "norm_high must be a positive number"),
    (np.nan, 0.0, "norm_high must be a positive number"),
    (1.0, -0.5, "norm_low must be between 0 and norm_high = 1.0"),
    (1.0, np.nan, "norm_low must be between 0 and norm_high = 1.0"),
    (1.0, np.nextafter(1.0, 2.0), "norm_low must be between 0 and norm_high = 1.0"),
    (True, 0.0, "norm_high must be a number"),
    (1.0, "0", "norm_low must be a number"),
]


@pytest.mark.parametrize(("norm_high", "norm_low", "message"), WRONG)
def test_norms_that_are_refused(norm_high: Any, norm_low: Any, message: str) -> None:
    arms = mb.LinearArms([[1.0]], mb.MeanBounds([0.0], [1.0]))
    with pytest.raises(ValueError, match=message):
        check_norms(norm_high, norm_low)
    with pytest.raises(ValueError, match=message):
        mb.FeasibleSet(arms, norm_high=norm_high, norm_low=norm_low)
    with pytest.raises(ValueError, match=f"ROFUL: {message}"):
        mb.ROFUL(norm_high=norm_high, norm_low=norm_low)


def test_norms_become_plain_numbers() -> None:
    policy = mb.ROFUL(norm_high=np.float64(2.0), norm_low=2)
    assert (type(policy.norm_high), type(policy.norm_low)) == (float, float)
    assert (policy.norm_high, policy.norm_low) == (2.0, 2.0)
    assert mb.OFUL(norm_high=3).to_dict()["norm_high"] == 3.0
