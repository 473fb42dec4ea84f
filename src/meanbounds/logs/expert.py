"""Bounds on every arm's mean from a log written by an expert who saw more than was recorded."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.logs.confidence import DEFAULT_CONFIDENCE, METHODS, check_confidence
from meanbounds.logs.context_bounds import ContextBounds
from meanbounds.logs.counts import Counts
from meanbounds.logs.errors import LogError
from meanbounds.logs.finite import Cells, largest_gap_above_bottom, limits_any_expert, limits_optimal_expert
from meanbounds.logs.names import Context
from meanbounds.logs.shares import Shares
from meanbounds.support.checks import as_float, as_floats, as_list, check_choice, fits_range, shown
from meanbounds.support.rounding import rounding
from meanbounds.support.types import Floats

__all__ = ["ASSUMPTIONS", "Assumed", "Gaps", "bounds", "bounds_in", "by_context", "expert_bounds", "listed_arms"]


Gaps = float | Sequence[float] | Floats | Mapping[Context, float]
"""One gap for all contexts, or one for each."""

ASSUMPTIONS = ("optimal-expert", "any-expert")
_RARE = 5  # rows of an arm below which others like it may well be missing


@dataclass(frozen=True)
class Assumed:
    """The assumptions of one context, with the gaps in reward units; no confidence means an infinite log.

    Examples
    --------
    >>> from meanbounds.logs.expert import Assumed
    >>> Assumed(gap_low=0.1, gap_high=0.5, confidence=0.95, shift=1.5)
    Traceback (most recent call last):
    ValueError: shift is a total variation distance between 0 and 1; got 1.5
    """

    gap_low: float
    gap_high: float
    confidence: float | None
    method: str = "bernstein"
    shift: float = 0.0
    assumption: str = "optimal-expert"

    def __post_init__(self) -> None:
        for name in ("gap_low", "gap_high", "shift"):
            object.__setattr__(self, name, as_float(name, getattr(self, name)))
        check_choice("method", self.method, METHODS)
        if not 0.0 <= self.shift <= 1.0:
            raise ValueError(f"shift is a total variation distance between 0 and 1; got {self.shift!r}")
        check_choice("assumption", self.assumption, ASSUMPTIONS)


def expert_bounds(
    share: ArrayLike,
    contribution: ArrayLike,
    *,
    gap_low: float = 0.0,
    gap_high: float | None = None,
    low: float = 0.0,
    high: float = 1.0,
    arms: Iterable[Arm] | None = None,
    assumption: str = "optimal-expert",
) -> MeanBounds:
    r"""Bounds on each arm's mean in one context, from an infinite log of an expert who always played the best arm.

    With p_k the share of arm k and mu_k its contribution to the mean reward mu,

    .. math:: \mu_k + \sum_{j \ne k} \max(\mu_j - \overline\delta p_j, 0) \le E[Y_k] \le
              \mu - \underline\delta (1 - p_k).

    Parameters
    ----------
    share
        p_k: how often each arm was played. Sums to 1; arms that never were have 0.
    contribution
        mu_k: share times mean reward when played, p_k E[Y | k played]. An arm that was played in a quarter of the
        rows with mean reward 0.8 contributes 0.2.
    gap_low
        The least gap between the best and the second-best arm, in reward units, over every hidden type that the expert
        could tell apart. With stars, 0.5 says that for each kind of user the best movie is at least half a star better
        than any other. In most real tables two arms are about equally good for some type: it is 0, the default, unless
        you know better.
    gap_high
        The largest gap between the best and the worst arm, in reward units, over every hidden type. With stars, 2 says
        that nobody would lose more than two stars by the worst choice. The width of the range by default, which
        assumes nothing.
    low, high
        Range of the rewards.
    arms
        Names; 0, 1, 2, ... by default.
    assumption
        ``"optimal-expert"``, as above; ``"any-expert"`` assumes nothing of the expert and does not use the gaps.

    Notes
    -----
    Theorem 7 of the paper, in any range. Both sides are attained (Proposition 8).

    Examples
    --------
    >>> import meanbounds as mb
    >>> found = mb.logs.expert_bounds([0.75, 0.25], [0.6, 0.2], gap_low=0.2, gap_high=0.4)
    >>> found.lower.round(3), found.upper.round(3)
    (array([0.7, 0.5]), array([0.75, 0.65]))

    Without assumptions on the expert each bound is as wide as the share of the other arms:

    >>> found = mb.logs.expert_bounds([0.75, 0.25], [0.6, 0.2], assumption="any-expert")
    >>> found.lower.round(3), found.upper.round(3)
    (array([0.6, 0.2]), array([0.85, 0.95]))
    """
    shares = np.atleast_1d(as_floats("share", share, error=BoundsError))
    parts = np.atleast_1d(as_floats("contribution", contribution, error=BoundsError))
    low, high = as_float("low", low, error=BoundsError), as_float("high", high, error=BoundsError)
    if shares.ndim != 1 or shares.shape != parts.shape:
        raise BoundsError(f"share and contribution need one number for each arm; got {shares} and {parts}")
    if not (np.all((shares >= 0.0) & (shares <= 2.0)) and abs(shares.sum() - 1.0) < 1e-9):
        raise BoundsError(f"the shares of all arms sum to 1, and none is negative; got {shares.tolist()}")
    span, slack = high - low, rounding(low, high)
    if not (
        fits_range(np.array(low), np.array(high))
        and np.all((parts >= low * shares - slack) & (parts <= high * shares + slack))
    ):
        raise BoundsError(
            f"each contribution is between low and high times its share: with low={low}, high={high}, "
            f"got {parts.tolist()} for shares {shares.tolist()}"
        )
    names = MeanBounds.vacuous(shares.size if arms is None else as_list("arms", arms)).arms
    if len(names) != shares.size:
        raise BoundsError(f"{len(names)} arm names for {shares.size} arms: {shown(list(names))}")
    assumed = Assumed(gap_low, span if gap_high is None else gap_high, None, assumption=assumption)
    case = _Case("the log", names, low, high, assumed)
    lower, upper = case.infinite(shares, np.clip((parts - low * shares) / span, 0.0, shares))
    return case.as_bounds(lower, upper)


def bounds(
    counts: Counts,
    *,
    gap_low: Gaps = 0.0,
    gap_high: Gaps | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
    infinite: bool = False,
    method: str = "bernstein",
    shift: float = 0.0,
    arms: Iterable[Arm] | None = None,
    assumption: str = "optimal-expert",
) -> ContextBounds:
    """Bound each arm's mean in each context of a log, written by an expert who saw more than was recorded.

    Averages of the log itself mislead: the expert gave an arm to the cases that it suits. The bounds hold all the same.

    Parameters
    ----------
    counts
        The counts of a log, from `meanbounds.logs.read`.
    gap_low
        The least gap between the best and the second-best arm, in reward units, over every hidden type of case that
        the expert could tell apart: with stars, 0.5 means half a star. In most real tables it is 0, the default, since
        two arms are about equally good for some type; a larger one makes bounds narrower, and false where it does not
        hold. One number, or one for each context (a mapping, or a sequence in the order of ``counts.contexts``).
    gap_high
        The largest gap between the best and the worst arm, in reward units, over every hidden type. The width of the
        range by default, which assumes nothing. One number, or one for each context.
    confidence
        Probability with which all bounds of all contexts hold at once.
    infinite
        True treats shares and means of the log as exact, as if it were infinite; there is no confidence then.
    method
        How confidence limits are computed. ``"betting"`` is usually the narrowest and needs a log that was read with
        ``histogram=True``; ``"bernstein"`` is for many rows, ``"kl"`` for few, and ``"hoeffding"`` the simplest.
    shift
        How much the mix of hidden cases may have changed since the log was written: 0.1 means at most 10% of them
        (total variation distance). If only the largest change s of a probability is known, with U hidden values,
        ``min(1, (U // 2) * s)`` will do.
    arms
        All arms, in the order you want, those that the log never played included: they get bounds too. By default
        those of the counts. List the arms before you look at the log: picking them from the log voids the confidence.
    assumption
        ``"optimal-expert"``: the expert always played the best arm. ``"any-expert"`` assumes nothing of the expert and
        does not use the gaps.

    Returns
    -------
    ContextBounds
        A dictionary from context to `MeanBounds`, which carries the ``assumptions`` behind the bounds.

    Raises
    ------
    BoundsError
        If the log contradicts the gaps; the message names the context and the arm.

    Notes
    -----
    Theorem 7 of the paper for an infinite log. For a finite one, which the paper leaves open: the upper bound is the
    mean of ``Y - gap_low 1{A != k}``, and for any set S of other arms the mean of
    ``Y 1{A = k} + (Y - gap_high) 1{A in S}`` is a lower bound; each gets a confidence limit, and the best set counts.
    Contexts, arms and both sides share the failure probability equally, after a fiftieth for the check of a positive
    ``gap_low``. Each set has a part of its side's share that depends on the number of arms alone: up to ten arms all
    non-empty sets have the same; beyond, the empty set, all arms, and all but one or two have most of it.

    Examples
    --------
    >>> import meanbounds as mb
    >>> lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]])
    >>> counts = lab.sample(10_000, seed=7)
    >>> found = mb.logs.bounds(counts, gap_low=0.3, gap_high=0.5)
    >>> found
    ContextBounds(1 context, 2 arms, confidence=0.95)
    >>> found["z0"].lower.round(3)
    array([0.482, 0.489])
    >>> mb.logs.bounds(counts, gap_low=0.3, gap_high=0.5, infinite=True)["z0"].lower.round(3)
    array([0.504, 0.505])
    >>> world = mb.MeanBounds([0.6, 0.5], [0.6, 0.5])  # the truth that only this laboratory knows
    >>> bool((found["z0"].lower <= world.lower).all() and (world.upper <= found["z0"].upper).all())
    True
    """
    level = check_confidence(confidence, infinite)
    counts = listed_arms(counts, arms)
    if level is not None and arms is None:
        _warn_of_rare_arms(counts)
    lows = by_context("gap_low", gap_low, counts.contexts)
    highs = by_context("gap_high", counts.high - counts.low if gap_high is None else gap_high, counts.contexts)
    found = {}
    for place, (context, least, most) in enumerate(zip(counts.contexts, lows, highs, strict=True)):
        assumed = Assumed(least, most, level, method, shift, assumption)
        found[context] = bounds_in(counts, place, assumed)
    certain = {"infinite": True} if level is None else {"confidence": level}
    said: dict[str, Any] = {"gap_low": _shortest(lows), "gap_high": _shortest(highs), **certain}
    said |= {"method": method, "shift": shift, "assumption": assumption, "rows": counts.rows}
    return ContextBounds(found, said)


def bounds_in(counts: Counts, place: int, assumed: Assumed) -> MeanBounds:
    """Bound the means in the context at this place, such that the bounds of all contexts hold at once; see `bounds`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.expert import Assumed, bounds_in
    >>> lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]])
    >>> bounds_in(lab.counts(), 0, Assumed(gap_low=0.3, gap_high=0.5, confidence=None)).upper.round(3)
    array([0.6, 0.6])
    """
    case = _Case(f"context {counts.contexts[place]!r}", counts.arms, counts.low, counts.high, assumed)
    if not counts.count[place].any():
        return MeanBounds.vacuous(counts.arms, low=counts.low, high=counts.high)
    cells = Cells.of(counts, place, histogram=assumed.method == "betting")
    if assumed.confidence is None:
        rows = cells.rows.sum()
        lower, upper = case.infinite(cells.rows / rows, cells.total / rows)
    else:
        lower, upper = case.finite(cells, case.shares(assumed.confidence, len(counts.contexts)))
    return case.as_bounds(lower - assumed.shift, upper + assumed.shift)


def listed_arms(counts: Counts, arms: Iterable[Arm] | None) -> Counts:
    """Return the counts with the arms that a user lists; as they are if the user lists none."""
    if not isinstance(counts, Counts):
        raise TypeError(f"counts must be those of a log, as meanbounds.logs.read returns; got {shown(counts)}")
    if arms is None:
        return counts
    try:
        return counts.with_arms(as_list("arms", arms))
    except LogError as error:
        raise BoundsError(str(error)) from error


def _warn_of_rare_arms(counts: Counts) -> None:
    rare = [arm for arm, rows in zip(counts.arms, counts.count.sum(axis=0), strict=True) if 0.0 < rows < _RARE]
    if rare and not counts.arms_listed and np.all(counts.count == np.floor(counts.count)):
        warnings.warn(
            f"arms with fewer than {_RARE} rows in the whole log ({', '.join(map(repr, rare[:5]))}): others may be "
            f"missing from it. List all arms with arms=, before you look at the log: picking them from the log voids "
            f"the confidence",
            stacklevel=3,
        )


def by_context(name: str, gap: Gaps, contexts: Sequence[Context]) -> list[float]:
    """Read the gap of each context: from one number, one for each in order, or a mapping.

    Examples
    --------
    >>> from meanbounds.logs.expert import by_context
    >>> by_context("gap_low", {"young": 0.1, "old": 0}, ["old", "young"])
    [0.0, 0.1]
    """
    if isinstance(gap, Mapping):
        for context in contexts:
            if context not in gap:
                raise BoundsError(f"context {context!r}: {name} has no entry for it")
        return [as_float(f"context {context!r}: {name}", gap[context]) for context in contexts]
    given = as_floats(name, gap)
    if not given.ndim:
        return [float(given)] * len(contexts)
    if given.shape != (len(contexts),):
        raise BoundsError(f"{name} has {given.size} numbers for {len(contexts)} contexts; give one, or one for each")
    return [float(part) for part in given]


def _shortest(gaps: list[float]) -> float | list[float]:
    return gaps[0] if len(set(gaps)) == 1 else gaps


@dataclass(frozen=True)
class _Case:
    """One context with its arms, range and assumptions: from what was counted to bounds, or to an error."""

    where: str
    names: tuple[Arm, ...]
    low: float
    high: float
    assumed: Assumed

    @cached_property
    def slack(self) -> float:
        """How far a number may be off by rounding, in units of the range: far from 0, differences lose digits."""
        return float(rounding(self.low, self.high)) / (self.high - self.low)

    def gaps(self) -> tuple[float, float]:
        """Both gaps as shares of the range, refusing what cannot be."""
        if self.assumed.assumption == "any-expert":
            return 0.0, 1.0
        low, high = (gap / (self.high - self.low) for gap in (self.assumed.gap_low, self.assumed.gap_high))
        if not (0.0 <= low <= high + self.slack and high <= 1.0 + self.slack):
            raise BoundsError(
                f"{self.where}: gaps need 0 <= gap_low <= gap_high <= high - low; as shares of the range they are "
                f"{low:g} and {high:g}"
            )
        return min(low, high, 1.0), min(high, 1.0)

    def infinite(self, share: Floats, contribution: Floats) -> tuple[Floats, Floats]:
        """Both bounds in units of the range, as if the log went on for ever."""
        gap_low, gap_high = self.gaps()
        self.check_gap_low(contribution, gap_low * share)
        if self.assumed.assumption == "any-expert":
            return contribution.copy(), contribution + 1.0 - share
        gain = np.maximum(contribution - gap_high * share, 0.0)
        return contribution + gain.sum() - gain, contribution.sum() - gap_low * (1.0 - share)

    def shares(self, confidence: float, contexts: int) -> Shares:
        """Share the failure probability by what is assumed, whatever the log says."""
        gap_low, gap_high = self.gaps()
        arms = len(self.names)
        alone = arms == 1 or gap_high >= 1.0  # other arms cannot raise a lower limit if the gap is the whole range
        return Shares.of(confidence, contexts=contexts, arms=arms, checked=gap_low > 0.0 and arms > 1, alone=alone)

    def finite(self, cells: Cells, shares: Shares) -> tuple[Floats, Floats]:
        """Confidence limits on both bounds, in units of the range."""
        gap_low, gap_high = self.gaps()
        method = self.assumed.method
        if np.any(cells.rows != np.floor(cells.rows)):
            raise BoundsError(
                f"{self.where}: its counts are shares, not whole numbers, as those of an infinite log are; give "
                f"infinite=True to treat them as exact"
            )
        if shares.check < inf:
            self.check_gap_low(largest_gap_above_bottom(cells, gap_low, shares, method), np.zeros(len(cells)))
        if self.assumed.assumption == "any-expert":
            return limits_any_expert(cells, shares, method)
        return limits_optimal_expert(cells, gap_low, gap_high, shares, method)

    def check_gap_low(self, value: Floats, least: Floats) -> None:
        """An arm that was best by at least the gap has a mean of at least the gap above the bottom of the range."""
        if len(self.names) > 1:
            for k in np.flatnonzero(value < least - self.slack):
                raise BoundsError(
                    f"{self.where}, arm {self.names[k]!r}: gap_low={self.assumed.gap_low:g} is more than the log "
                    f"allows: where the arm was played it was better than others by that much, but its mean is less "
                    f"than that above the bottom of the range"
                )

    def as_bounds(self, lower: Floats, upper: Floats) -> MeanBounds:
        """From units of the range to reward units, refusing what cannot be."""
        low, high, assumed = self.low, self.high, self.assumed
        for k in np.flatnonzero(upper < -self.slack):
            raise BoundsError(
                f"{self.where}, arm {self.names[k]!r}: gap_low={assumed.gap_low:g} is more than the log allows: it "
                f"would put the mean at most {low + (high - low) * upper[k]:.6g}, below the range of the rewards"
            )
        for k in np.flatnonzero(lower > upper + self.slack):
            raise BoundsError(
                f"{self.where}, arm {self.names[k]!r}: the bounds cross: the mean would be at least "
                f"{low + (high - low) * lower[k]:.6g} and at most {low + (high - low) * upper[k]:.6g}. With "
                f"gap_low={assumed.gap_low:g} and gap_high={assumed.gap_high:g} no expert who always plays the best "
                f"arm writes this log"
            )
        upper = np.clip(upper, 0.0, 1.0)
        lower = np.minimum(np.clip(lower, 0.0, 1.0), upper)
        lower, upper = (np.clip(low + (high - low) * side, low, high) for side in (lower, upper))
        return MeanBounds(lower, upper, arms=self.names, low=low, high=high)
