"""Which bounds the rewards contradict, over all arms at once."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import Arm, MeanBounds
from meanbounds.evidence.processes import check_error, check_wholes, log_e, unit_squares, unit_sums
from meanbounds.support.checks import as_floats, shown
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = [
    "WATCHED_ERROR",
    "AssumptionWarning",
    "Contradiction",
    "ContradictionWarning",
    "Evidence",
    "Side",
    "check_bounds",
    "describe",
    "informative",
    "level_of",
    "weigh",
]

WATCHED_ERROR = 0.01
"""The probability with which an agent ever warns of a bound although all of its bounds hold."""

Side = Literal["lower", "upper"]

_NAMED = 5  # arms behind a bound that are named in a message


class AssumptionWarning(UserWarning):
    """Warning that rewards, taken together, refute what bounds rest on; given once for each assumption.

    While the assumption holds it is ever given with probability at most `WATCHED_ERROR`. No single bound need be
    contradicted: a little evidence from each of many contexts adds up.

    Attributes
    ----------
    assumption
        The name of the assumption, see `meanbounds.Knowledge`.
    log_e
        The logarithm of the e-process against it.

    Examples
    --------
    >>> import warnings
    >>> import meanbounds as mb
    >>> known = mb.Knowledge(mb.MeanBounds([0.7, 0.2], [0.9, 0.6]), trust=0.9, assumption="optimal expert")
    >>> agent = mb.ContextualAgent(mb.GLUE(), dict.fromkeys(range(10), known), seed=7)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     for context in list(range(10)) * 8:
    ...         agent.update(context, 1, 1.0)
    >>> [one.message.assumption for one in caught]
    ['optimal expert']
    """

    assumption: str
    log_e: float

    def __init__(self, assumption: str, log_e: float) -> None:
        strength = f"e-value {exp(log_e):.2g}" if log_e < 709.0 else f"e-value exp({log_e:.4g})"
        super().__init__(
            f"the rewards so far, taken together, refute the assumption {assumption!r} ({strength}): bounds that rest "
            f"on it are given up wherever they are used. contradictions() names those that are refuted by themselves; "
            f"replace_bounds() takes bounds that rest on something else"
        )
        self.assumption, self.log_e = assumption, log_e


class ContradictionWarning(UserWarning):
    """Warning that the rewards of an arm contradict a bound on its mean; an agent gives it once for each bound.

    Attributes
    ----------
    contradiction
        The arm, the bound and the evidence, as a `Contradiction`.

    Examples
    --------
    >>> import warnings
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.5, 0.8], arms=["a", "b"]), seed=7)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     for _ in range(20):
    ...         agent.update("a", 1.0)
    >>> len(caught), caught[0].message.contradiction.arm
    (1, 'a')
    """

    contradiction: Contradiction

    def __init__(self, contradiction: Contradiction, where: str = "") -> None:
        super().__init__(
            f"{where}{contradiction}: the bound is wrong, or the rewards are not what it was made for. Check where it "
            f"comes from; replace_bounds() takes another one"
        )
        self.contradiction = contradiction


@dataclass(frozen=True)
class Contradiction:
    """A bound that the rewards of its arm contradict.

    Attributes
    ----------
    arm
        The name of the arm.
    side
        ``"upper"`` or ``"lower"``.
    bound
        The bound, in reward units.
    plays, mean
        How many rewards the arm has had, and their mean.
    log_e
        The logarithm of the e-process against the bound after these rewards.
    updates
        After how many updates of the agent, of all its arms, the alarm was first given; None if only this look found
        it, or if there is no agent.
    assumption
        The name of the assumption on which the bound rests, see `meanbounds.Knowledge`; None if it stands alone.
    follows_from
        For arms with features: the arms whose bounds together imply this one; empty if it is the arm's own bound. The
        e-process is then that of all rewards against all bounds.

    Examples
    --------
    >>> import meanbounds as mb
    >>> found = mb.evidence.check_bounds(mb.MeanBounds([0.2], [0.5], arms=["a"]), [100], [80]).contradictions[0]
    >>> print(found)
    arm 'a': 100 rewards with mean 0.8 contradict its upper bound 0.5 (e-value 3.7e+07)
    """

    arm: Arm
    side: Side
    bound: float
    plays: int
    mean: float
    log_e: float
    updates: int | None = None
    assumption: str | None = None
    follows_from: tuple[Arm, ...] = ()

    @property
    def e_value(self) -> float:
        """The e-process itself; infinite if it is too large for a float."""
        return exp(self.log_e) if self.log_e < 709.0 else np.inf

    def _sources(self) -> str:
        """The arms behind the bound, in words."""
        named = [repr(arm) for arm in self.follows_from]
        if len(named) == 1:
            return f"arm {named[0]}"
        return f"arms {', '.join(named[:_NAMED])}{' and others' if len(named) > _NAMED else ''}"

    def __str__(self) -> str:
        size = f"{self.e_value:.2g}" if self.e_value < np.inf else f"exp({self.log_e:.4g})"
        strength = f"e-value {size}" if self.log_e < np.inf else "for certain"
        rewards = "1 reward with mean" if self.plays == 1 else f"{self.plays:,} rewards with mean"
        verb = "contradicts" if self.plays == 1 else "contradict"
        rest = "" if self.assumption is None else f", which rests on {self.assumption!r}"
        source = f", which follows from the bounds of {self._sources()}" if self.follows_from else ""
        bound = f"its {self.side} bound {self.bound:.6g}{source} ({strength}){rest}"
        return f"arm {self.arm!r}: {rewards} {self.mean:.4g} {verb} {bound}"


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the rewards so far say against some bounds; `check_bounds` makes it.

    Attributes
    ----------
    lower, upper
        For each arm, the logarithm of the e-process against its lower and its upper bound; 0 for a bound at the end of
        the range, which says nothing and cannot be contradicted.
    tested
        Which bounds say something: lower ones in the first row, upper ones in the second, a column for each arm.
    error
        The probability of a false alarm.
    contradictions
        The bounds that are contradicted. If all bounds hold, any is ever named with probability at most `error`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.7, 0.2], [1.0, 0.6], arms=["tPA", "watch"])
    >>> found = mb.evidence.check_bounds(bounds, plays=[100, 100], total=[75, 90])
    >>> found.alarm, [(one.arm, one.side) for one in found.contradictions]
    (True, [('watch', 'upper')])
    """

    lower: Floats
    upper: Floats
    tested: Booleans
    error: float
    contradictions: tuple[Contradiction, ...]

    @property
    def log_e(self) -> float:
        """Logarithm of the e-process against the claim that all bounds hold: the average of those of all bounds.

        Bounds that say nothing are left out.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = mb.MeanBounds([0.0, 0.0], [0.6, 0.6])
        >>> found = mb.evidence.check_bounds(bounds, plays=[100, 100], total=[75, 75])
        >>> round(found.log_e, 2), found.alarm, found.contradictions
        (3.76, False, ())
        """
        every = np.array([self.lower, self.upper])[self.tested]
        top = float(every.max(initial=-np.inf))
        if abs(top) == np.inf:
            return max(top, 0.0)
        return top + log(float(np.exp(every - top).mean()))

    @property
    def alarm(self) -> bool:
        """Whether not all bounds can hold. It may be True although no single bound is named."""
        return self.log_e >= -log(self.error)


def check_bounds(
    bounds: MeanBounds,
    plays: ArrayLike,
    total: ArrayLike,
    *,
    squares: ArrayLike | None = None,
    missing: ArrayLike = 0,
    error: float = 0.01,
) -> Evidence:
    """Which bounds the rewards contradict, and whether all can be right.

    A bound is named if its e-process is at least the number of bounds that say something over `error`. An alarm needs
    the average of their e-processes to be at least 1 over `error`. Both may be checked after each reward.

    Parameters
    ----------
    bounds
        The bounds on the arms' means.
    plays, total
        For each arm, how many rewards there were and their sum, in reward units.
    squares
        For each arm, the sum of the squared rewards; see `log_e_upper`.
    missing
        For each arm, how many rewards are still to come: each counts for the bound that is tested.
    error
        The probability with which there is ever a false alarm although all bounds hold.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.7, 0.2], [1.0, 0.6], arms=["tPA", "watch"])
    >>> for found in mb.evidence.check_bounds(bounds, plays=[100, 100], total=[75, 90]).contradictions:
    ...     print(found)
    arm 'watch': 100 rewards with mean 0.9 contradict its upper bound 0.6 (e-value 9.5e+08)
    """
    if not isinstance(bounds, MeanBounds):
        raise TypeError(f"bounds must be MeanBounds, such as mb.MeanBounds([0.2], [0.9]); got {shown(bounds)}")
    n, s, late = (_by_arm(bounds, *pair) for pair in (("plays", plays), ("total", total), ("missing", missing)))
    wins, lacks = unit_sums(n, s, bounds.low, bounds.high)
    check_wholes("missing", late)
    own: list[Floats | None] = [None, None]
    if squares is not None:
        q = _by_arm(bounds, "squares", squares)
        own = [unit_squares(q, n, s, bounds.low, bounds.high, mirrored=mirrored) for mirrored in (False, True)]
    lower, upper = weigh(bounds, wins, lacks, late, *own)
    means = np.divide(s, n, out=np.full(n.shape, np.nan), where=n > 0)
    level = level_of(bounds, check_error(error))
    found = describe(bounds, n, means, (lower, upper), np.array([lower >= level, upper >= level]))
    return Evidence(lower, upper, informative(bounds), check_error(error), tuple(found))


def describe(
    bounds: MeanBounds,
    plays: Floats | Integers,
    means: Floats,
    log_e: tuple[Floats, Floats],
    which: Booleans,
    updates: Floats | None = None,
) -> list[Contradiction]:
    """Some of the bounds as contradictions, in the order of the arms.

    Parameters
    ----------
    bounds, plays, means
        The bounds, and for each arm the number of its rewards and their mean.
    log_e
        As `weigh` returns them.
    which, updates
        Which bounds to describe, and after how many updates the alarm came, 0 for None; lower bounds in the first row.

    Examples
    --------
    >>> one = np.array([1.0])
    >>> describe(MeanBounds([0.0], [0.0]), one, one, (0.0 * one, np.inf * one), np.array([[False], [True]]))[0].side
    'upper'
    """
    sides: tuple[tuple[Side, Floats], ...] = ("lower", bounds.lower), ("upper", bounds.upper)
    when = np.zeros(which.shape) if updates is None else updates
    return [
        Contradiction(
            arm=bounds.arms[k],
            side=sides[row][0],
            bound=float(sides[row][1][k]),
            plays=int(plays[k]),
            mean=float(means[k]),
            log_e=float(log_e[row][k]),
            updates=int(when[row, k]) or None,
        )
        for k, row in np.argwhere(which.T).tolist()
    ]


def informative(bounds: MeanBounds) -> Booleans:
    """Which bounds say something, lower ones in the first row: those at the ends of the range cannot be contradicted.

    Examples
    --------
    >>> import meanbounds as mb
    >>> informative(mb.MeanBounds([0.0, 0.2], [0.7, 1.0]))
    array([[False,  True],
           [ True, False]])
    """
    return np.array([bounds.lower > bounds.low, bounds.upper < bounds.high])


def level_of(bounds: MeanBounds, error: float) -> float:
    """The logarithm that an e-process has to reach for its bound to be named.

    Examples
    --------
    >>> import meanbounds as mb
    >>> round(level_of(mb.MeanBounds([0.0, 0.2], [0.7, 1.0]), 0.01), 6) == round(log(2 / 0.01), 6)
    True
    """
    return log(max(1, int(informative(bounds).sum()))) - log(error)


def weigh(
    bounds: MeanBounds,
    wins: Floats,
    lacks: Floats,
    missing: Floats,
    squares: Floats | None = None,
    mirrored_squares: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Logarithms of the e-processes against all lower and all upper bounds, from sums in units of the range.

    Examples
    --------
    >>> import meanbounds as mb
    >>> lower, upper = weigh(mb.MeanBounds([0.0], [0.6]), np.array([80.0]), np.array([20.0]), np.array([0.0]))
    >>> lower, upper.round(2)
    (array([0.]), array([7.72]))
    """
    span, (says_lower, says_upper) = bounds.high - bounds.low, informative(bounds)
    above, below = (bounds.high - bounds.lower) / span, (bounds.lower - bounds.low) / span
    lower = log_e(lacks, wins + missing, above, below, mirrored_squares)
    above, below = (bounds.high - bounds.upper) / span, (bounds.upper - bounds.low) / span
    upper = log_e(wins, lacks + missing, below, above, squares)
    return np.where(says_lower, lower, 0.0), np.where(says_upper, upper, 0.0)


def _by_arm(bounds: MeanBounds, name: str, value: ArrayLike) -> Floats:
    array = as_floats(name, value)
    if array.shape not in ((), bounds.lower.shape):
        raise ValueError(f"{name} must have one entry for each of {len(bounds)} arms; got shape {array.shape}")
    return np.broadcast_to(array, bounds.lower.shape)
