"""How likely so many errors would be, if each choice is wrong with a small probability."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp

import numpy as np

from meanbounds.divergence import bernoulli_kl
from meanbounds.support.optional import optional
from meanbounds.support.types import Floats

__all__ = ["Groups", "chance_of"]

_HALVINGS = 60
_STEEPEST = 500.0  # times the largest group: exp stays finite


@dataclass(frozen=True, eq=False)
class Groups:
    """Equal cases, counted: how many groups there are of each kind.

    Attributes
    ----------
    number
        Groups of this kind.
    size
        Rows in each.
    ceiling
        The most that one such group can add to the total that is judged.
    share
        How much of a row may be wrong, on average.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.logs.refuting.tails import Groups
    >>> Groups.of(np.array([1, 2, 2, 2]), np.array([0, 1, 1, 1]), np.full(4, 0.05)).number
    array([1., 3.])
    """

    number: Floats
    size: Floats
    ceiling: Floats
    share: Floats

    @classmethod
    def of(cls, size: Floats, ceiling: Floats, share: Floats) -> Groups:
        """Count groups that are alike."""
        kinds, number = np.unique(np.stack([size, ceiling, share]), axis=1, return_counts=True)
        return cls(number.astype(np.float64), *kinds.astype(np.float64))


def chance_of(total: float, groups: Groups, *, whole: bool, by_rows: bool = False) -> float:
    """A bound on the probability that what is wrong adds up to this total, or more.

    It holds in two cases, as the larger of two bounds: rows are drawn one by one, independently; or cases are, and how
    often a case is decided does not depend on what is hidden. In the second, choices in equal cases can be wrong
    together. See docs/refuted.md.

    Parameters
    ----------
    total
        Errors, or losses in units of the largest one.
    groups
        The equal cases.
    whole
        Whether the total counts errors, so that it is a whole number.
    by_rows
        Whether rows are known to be drawn one by one, so that the first bound is enough.

    Examples
    --------
    Five errors or more in 20 cases that were decided twice each, if each choice is wrong with probability 0.05:

    >>> import numpy as np
    >>> from meanbounds.logs.refuting.tails import Groups, chance_of
    >>> pairs = Groups.of(np.full(20, 2), np.ones(20), np.full(20, 0.05))
    >>> round(chance_of(5, pairs, whole=True), 4)
    0.048
    """
    if total <= 0.0:
        return 1.0
    alone = _by_rows(total, groups, whole)
    return alone if by_rows else max(alone, _by_cases(total, groups, whole))


def _by_rows(total: float, groups: Groups, whole: bool) -> float:
    rows = groups.number * groups.size
    size = float(rows.sum())
    mean = float(rows @ groups.share) / size
    return _binomial(total, size, mean) if whole else _chernoff(total, size, mean)


def _by_cases(total: float, groups: Groups, whole: bool) -> float:
    """Each group adds at most what one that is all right, or as wrong as it can be, adds."""
    several = groups.ceiling > 0.0
    number, top = groups.number[several], groups.ceiling[several]
    chance = np.minimum(groups.share[several] * groups.size[several] / np.maximum(top, 1e-300), 1.0)
    if total > number @ top * (1.0 + 1e-12):
        return 0.0
    if whole and np.all(top == 1.0):
        return _binomial(total, float(number.sum()), float(number @ chance / number.sum()))
    with np.errstate(divide="ignore"):
        right, wrong = np.log1p(-chance), np.log(chance)

    def slope(steep: float) -> float:
        grown = wrong + steep * top
        return float(number @ (top * np.exp(grown - np.logaddexp(right, grown)))) - total

    flat, steep = 0.0, _STEEPEST / float(top.max())
    if not chance.any():
        return 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (flat + steep)
        flat, steep = (flat, middle) if slope(middle) > 0.0 else (middle, steep)
    return exp(min(float(number @ np.logaddexp(right, wrong + flat * top)) - flat * total, 0.0))


def _binomial(total: float, size: float, mean: float) -> float:
    """Hoeffding (1956): independent errors of different probabilities are at most as likely to be that many."""
    with optional("logs", "tests of an assumption"):
        from scipy.special import betainc

    least = ceil(total - 1e-9)
    if least > size:
        return 0.0
    return 1.0 if least < size * mean + 1.0 else float(betainc(least, size - least + 1.0, mean))


def _chernoff(total: float, size: float, mean: float) -> float:
    if total > size:
        return 0.0
    return 1.0 if total <= size * mean else exp(-size * float(bernoulli_kl(total / size, mean)))
