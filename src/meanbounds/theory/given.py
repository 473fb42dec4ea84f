"""What a theorem is applied to, checked in one place."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.bounds import MeanBounds
from meanbounds.policies import Policy
from meanbounds.subgaussian import variance_proxy

__all__ = ["FORMS", "Form", "as_rounds", "check_form", "check_means", "check_optimism", "used_bounds"]

Form = Literal["corrected", "paper"]
FORMS: tuple[str, ...] = ("corrected", "paper")

_ROUNDING = 1e-12


def check_form(form: str) -> None:
    """Refuse an unknown form."""
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(map(repr, FORMS))}; got {form!r}")


def as_rounds(horizon: ArrayLike, name: str = "horizon") -> NDArray[np.int64]:
    """A number of rounds, or several, as whole numbers."""
    rounds = np.asarray(horizon)
    if rounds.dtype == bool or not np.issubdtype(rounds.dtype, np.integer) or rounds.size == 0 or np.any(rounds < 1):
        raise ValueError(f"{name} must be a whole number, at least 1, or an array of them; got {horizon!r}")
    return rounds.astype(np.int64)


def check_means(means: ArrayLike, bounds: MeanBounds) -> NDArray[np.float64]:
    """The means as an array, within their bounds to the last bit; one that is missing or outside them is refused."""
    mu = np.asarray(means, dtype=np.float64)
    if mu.shape != (len(bounds),):
        raise ValueError(f"{mu.size} means for {len(bounds)} arms")
    for k in np.flatnonzero(~bounds.contains(mu)).tolist():
        raise ValueError(
            f"arm {bounds.arms[k]!r}: its mean {mu[k]} is outside its bounds [{bounds.lower[k]}, {bounds.upper[k]}]: "
            "no theorem applies"
        )
    return np.clip(mu, bounds.lower, bounds.upper)


def used_bounds(policy: Policy, bounds: MeanBounds) -> MeanBounds:
    """The bounds, or those that say nothing if the policy does the same with these: then they need not hold."""
    vacuous = MeanBounds.vacuous(bounds.arms, low=bounds.low, high=bounds.high)
    return vacuous if np.array_equal(policy.plan(bounds).table, policy.plan(vacuous).table) else bounds


def check_optimism(policy: Policy, mu: NDArray[np.float64], bounds: MeanBounds) -> float:
    """The smallest variance proxy that the policy uses for a best arm.

    It is refused if no best arm has an index that is an upper confidence bound: kept, not clipped below its mean, and
    with a proxy that rewards with its mean have. The policies here pass whenever the bounds hold; those of others may
    not.
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
