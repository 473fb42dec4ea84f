"""Checks that a theorem applies: to these rounds, means and bounds, and to the plan of this policy."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.bounds import MeanBounds, check_bounds
from meanbounds.policies import Policy
from meanbounds.subgaussian import variance_proxy
from meanbounds.support.checks import as_floats, check_choice, is_masked, shown

__all__ = [
    "FORMS",
    "Form",
    "as_means",
    "as_rounds",
    "check_form",
    "check_means",
    "check_optimism",
    "used_bounds",
]

Form = Literal["corrected", "paper"]
FORMS: tuple[str, ...] = ("corrected", "paper")

_ROUNDING = 1e-12
_MOST_ROUNDS = 2**63 - 1


def check_form(form: str) -> None:
    """Raise a ValueError for an unknown form of a bound."""
    check_choice("form", form, FORMS)


def as_rounds(horizon: ArrayLike, name: str = "horizon") -> NDArray[np.int64]:
    """Read a number of rounds, or an array of them, and raise a ValueError unless all are whole and at least 1.

    Examples
    --------
    >>> from meanbounds.theory.given import as_rounds
    >>> as_rounds([10, 1_000])
    array([  10, 1000])
    >>> as_rounds(0.5)
    Traceback (most recent call last):
    ValueError: horizon must be a whole number, at least 1, or an array of them; got 0.5
    """
    try:
        given = np.asarray([] if is_masked(horizon) else horizon)
    except ValueError:  # rows of different lengths
        given = np.zeros(0)
    if given.dtype.kind not in "iu" or given.size == 0 or np.any(given < 1) or np.any(given > _MOST_ROUNDS):
        raise ValueError(f"{name} must be a whole number, at least 1, or an array of them; got {shown(horizon)}")
    return given.astype(np.int64)


def as_means(means: ArrayLike, bounds: MeanBounds) -> NDArray[np.float64]:
    """Read the true means, and raise a ValueError unless there is one for each arm.

    Examples
    --------
    >>> import meanbounds as mb
    >>> as_means([0.9], mb.MeanBounds([0.5, 0.5], [1.0, 0.7]))
    Traceback (most recent call last):
    ValueError: got 1 means for 2 arms; give one mean for each arm of the bounds
    """
    check_bounds(bounds)
    mu = as_floats("means", means)
    if mu.shape != (len(bounds),):
        raise ValueError(f"got {mu.size} means for {len(bounds)} arms; give one mean for each arm of the bounds")
    return mu


def check_means(means: ArrayLike, bounds: MeanBounds) -> NDArray[np.float64]:
    """Read the true means, and raise a ValueError if one is missing or outside its bounds.

    A mean that is outside by a rounding error is moved onto its bound.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.theory.given import check_means
    >>> check_means([0.9, 0.8], mb.MeanBounds([0.5, 0.5], [1.0, 0.7]))
    Traceback (most recent call last):
    ValueError: arm 1: its mean 0.8 is outside its bounds [0.5, 0.7]: no theorem applies
    """
    mu = as_means(means, bounds)
    for k in np.flatnonzero(~bounds.contains(mu)).tolist():
        raise ValueError(
            f"arm {bounds.arms[k]!r}: its mean {mu[k]} is outside its bounds [{bounds.lower[k]}, {bounds.upper[k]}]: "
            "no theorem applies"
        )
    return np.clip(mu, bounds.lower, bounds.upper)


def used_bounds(policy: Policy, bounds: MeanBounds) -> MeanBounds:
    """The bounds that a theorem about this policy needs: vacuous ones for a policy that ignores bounds, such as UCB."""
    check_bounds(bounds)
    vacuous = MeanBounds.vacuous(bounds.arms, low=bounds.low, high=bounds.high)
    return vacuous if np.array_equal(policy.plan(bounds).table, policy.plan(vacuous).table) else bounds


def check_optimism(policy: Policy, mu: NDArray[np.float64], bounds: MeanBounds) -> float:
    """Return the smallest variance proxy that the policy uses for a best arm.

    The theorem needs a best arm whose index is an upper confidence bound: the policy keeps it, does not clip the index
    below its mean, and uses a variance proxy that is large enough for rewards with this mean. Built-in policies satisfy
    this whenever the bounds hold; a policy of your own may not, which is a ValueError.
    """
    plan = policy.plan(bounds)
    kept, cap, factor = plan.arms, plan.cap, plan.proxy
    needed = np.atleast_1d(variance_proxy(mu, low=bounds.low, high=bounds.high))[kept]
    valid = (mu[kept] == mu.max()) & (cap >= mu.max()) & (factor >= needed * (1.0 - _ROUNDING))
    if not valid.any():
        raise ValueError(
            f"{policy}: no best arm is kept with a cap at or above its mean {mu.max()} and a variance proxy that its "
            f"rewards have; the theorem needs one"
        )
    return float(factor[valid].min())
