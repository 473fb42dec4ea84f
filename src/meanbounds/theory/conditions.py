"""What theorems ask of their arguments: rounds, means inside their bounds, and the index of a policy."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import MeanBounds, check_bounds
from meanbounds.policies import BKLUCB, BUCB, GLUE, KLUCB, UCB, ImprovedUCB, Policy
from meanbounds.support.checks import as_floats, check_choice, is_masked, shown
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["Form", "IndexForm", "as_rounds", "check_form", "check_means", "index_form"]

Form = Literal["corrected", "paper"]

_PROXIES: dict[type[Policy], str] = {
    UCB: "worst_variance_proxy",
    BUCB: "worst_variance_proxy",
    ImprovedUCB: "variance_proxy",
    GLUE: "best_variance_proxy",
}


def check_form(form: str) -> None:
    """Raise a ValueError unless this is ``"corrected"`` or ``"paper"``."""
    check_choice("form", form, ("corrected", "paper"))


def as_rounds(horizon: ArrayLike, name: str = "horizon") -> Integers:
    """Read a number of rounds, or an array of them; all must be whole and at least 1.

    Examples
    --------
    >>> as_rounds([10, 1_000])
    array([  10, 1000])
    >>> as_rounds(1e4)
    Traceback (most recent call last):
    ValueError: horizon must be a whole number, at least 1, or an array of them; got 10000.0: write 10_000
    """
    try:
        given = np.asarray([] if is_masked(horizon) else horizon)
    except ValueError:  # rows of different lengths
        given = np.zeros(0)
    if given.dtype.kind not in "iu" or given.size == 0 or np.any(given < 1) or np.any(given > np.uint64(2**63 - 1)):
        hint = f": write {int(horizon):_}" if isinstance(horizon, float) and horizon.is_integer() else ""
        raise ValueError(f"{name} must be a whole number, at least 1, or an array of them; got {shown(horizon)}{hint}")
    return given.astype(np.int64)


def check_means(means: ArrayLike, bounds: MeanBounds) -> Floats:
    """Read the true means; each must be inside its bounds. One outside by a rounding error is moved onto its bound.

    Examples
    --------
    >>> check_means([0.9, 0.8], MeanBounds([0.5, 0.5], [1.0, 0.7]))
    Traceback (most recent call last):
    ValueError: arm 1: its mean 0.8 is outside its bounds [0.5, 0.7], so no theorem applies
    """
    check_bounds(bounds)
    mu = as_floats("means", means)
    if mu.shape != (len(bounds),):
        raise ValueError(f"got {mu.size} means for {len(bounds)} arms; give one mean for each arm of the bounds")
    for k in np.flatnonzero(~bounds.contains(mu)).tolist():
        raise ValueError(
            f"arm {bounds.arms[k]!r}: its mean {mu[k]:g} is outside its bounds [{bounds.lower[k]:g}, "
            f"{bounds.upper[k]:g}], so no theorem applies"
        )
    return np.clip(mu, bounds.lower, bounds.upper)


class IndexForm(NamedTuple):
    """The index of a policy, as theorems see it.

    Attributes
    ----------
    bounds
        The bounds that have to hold: vacuous ones for a policy that ignores bounds.
    kept
        The arms that the policy may play.
    cap
        What each index is clipped at.
    proxy
        The variance proxy in each index ``mean + sqrt(2 proxy log f(t) / plays)``; None for KL-UCB and B-KL-UCB.
    """

    bounds: MeanBounds
    kept: Booleans
    cap: Floats
    proxy: Floats | None


def index_form(policy: Any, bounds: MeanBounds) -> IndexForm:
    """The index of one of the paper's policies; other policies are refused.

    Examples
    --------
    >>> index_form(GLUE(), MeanBounds([0.9, 0.1], [1.0, 1.0])).proxy.round(3)
    array([0.182, 0.182])
    """
    check_bounds(bounds)
    kind = type(policy)
    if kind not in _PROXIES and kind not in (KLUCB, BKLUCB):
        hint = f"; did you mean {policy.__name__}()?" if isinstance(policy, type) and issubclass(policy, Policy) else ""
        raise ValueError(
            f"{shown(policy)}: no theorem is known for it. There are theorems for UCB, BUCB, ImprovedUCB, GLUE, KLUCB "
            f"and BKLUCB{hint}"
        )
    kept, cap = bounds.possible, bounds.upper
    if not policy.uses_bounds:
        bounds = MeanBounds.vacuous(bounds.arms, low=bounds.low, high=bounds.high)
        kept, cap = np.ones(len(bounds), dtype=bool), np.where(kind is UCB, np.inf, bounds.high)
    proxy = getattr(bounds, _PROXIES[kind]) if kind in _PROXIES else None
    return IndexForm(bounds, kept, cap, proxy)
