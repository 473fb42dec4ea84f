"""Bounds on every arm's mean from a log written by an expert who saw more than was recorded."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.logs.assumptions import Assumption, OptimalExpert, PerContext, World, check_assumption
from meanbounds.logs.cells import Cells
from meanbounds.logs.confidence import DEFAULT_CONFIDENCE, METHODS, check_confidence
from meanbounds.logs.context_bounds import ContextBounds
from meanbounds.logs.counts import Counts
from meanbounds.logs.errors import LogError
from meanbounds.logs.judged import Judged, Log
from meanbounds.support.checks import as_float, as_floats, as_list, check_choice, fits_range, shown
from meanbounds.support.rounding import rounding

__all__ = ["bounds", "expert_bounds", "judged_log", "listed_arms"]

_RARE = 5  # rows of an arm below which others like it may well be missing


def expert_bounds(
    share: ArrayLike,
    contribution: ArrayLike,
    assumption: Assumption | None = None,
    *,
    gap_low: float | None = None,
    gap_high: float | None = None,
    low: float = 0.0,
    high: float = 1.0,
    arms: Iterable[Arm] | None = None,
) -> MeanBounds:
    r"""Bounds on each arm's mean in one context, from an infinite log whose rewards are 0 and 1 or of unknown law.

    By default the expert always played the best arm. With p_k the share of arm k and mu_k its contribution to the mean
    reward mu, that means

    .. math:: \mu_k + \sum_{j \ne k} \max(\mu_j - \overline\delta p_j, 0) \le E[Y_k] \le
              \mu - \underline\delta (1 - p_k).

    Parameters
    ----------
    share
        p_k: how often each arm was played. Sums to 1; arms that never were have 0.
    contribution
        mu_k: share times mean reward when played, p_k E[Y | k played]. An arm that was played in a quarter of the
        rows with mean reward 0.8 contributes 0.2.
    assumption
        What is assumed of who wrote the log, such as ``AnyExpert()`` or ``ErringExpert(0.05)``; by default
        ``OptimalExpert(gap_low, gap_high)``.
    gap_low, gap_high
        Short for ``assumption=OptimalExpert(gap_low, gap_high)``, in reward units.
    low, high
        Range of the rewards.
    arms
        Names; 0, 1, 2, ... by default.

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

    >>> found = mb.logs.expert_bounds([0.75, 0.25], [0.6, 0.2], mb.logs.AnyExpert())
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
    parts = np.clip((parts - low * shares) / span, 0.0, shares)[None]
    world, cells = World(("all",), low, high), Cells.without_values(shares[None], parts, parts)
    log = Log(world, names, cells, None, None, "bernstein", 0.0, 1, unnamed=True)
    assumed = _assumed(assumption, gap_low, gap_high)
    if assumed.claims(world).weighted:
        raise BoundsError("shares and contributions do not say how likely each choice was; give the log to logs.bounds")
    return Judged(log, assumed).bounds()["all"]


def bounds(
    counts: Counts,
    assumption: Assumption | None = None,
    *,
    gap_low: PerContext | None = None,
    gap_high: PerContext | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
    infinite: bool = False,
    method: str = "bernstein",
    shift: float = 0.0,
    arms: Iterable[Arm] | None = None,
) -> ContextBounds:
    """Bound each arm's mean in each context of a log, written by an expert who saw more than was recorded.

    Averages of the log itself mislead: the expert gave an arm to the cases that it suits. The bounds hold all the same.

    Parameters
    ----------
    counts
        The counts of a log, from `meanbounds.logs.read`.
    assumption
        What you assume of who wrote the log: `OptimalExpert`, `ErringExpert`, `NearlyOptimalExpert`, `AnyExpert`,
        `MarginalSensitivity`, `KnownPropensity`, or several of them joined by ``&``. By default
        ``OptimalExpert(gap_low, gap_high)``.
    gap_low, gap_high
        Short for ``assumption=OptimalExpert(gap_low, gap_high)``: the least gap between the best and the second-best
        arm, and the largest between the best and the worst, over every hidden type of case, in reward units. One
        number, or one for each context (a mapping, or a sequence in the order of ``counts.contexts``).
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

    Returns
    -------
    ContextBounds
        A dictionary from context to `MeanBounds`, which carries the ``assumptions`` behind the bounds.

    Raises
    ------
    BoundsError
        If the log contradicts the assumption; the message names the context, the arm, and what the log would allow.

    Notes
    -----
    Every bound of an infinite log is the mean of some variable. For a finite log, which the paper leaves open, each
    such mean has a confidence limit, and the best limit counts. Contexts, arms and both sides share the failure
    probability equally, after a fiftieth for checks of what is assumed. On each side the variables have fixed parts of
    it. The bounds that need no assumption are among them, so an assumption never costs more than a little width.

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
    assumed = _assumed(assumption, gap_low, gap_high)
    counts = listed_arms(counts, arms)
    if level is not None and arms is None:
        _warn_of_rare_arms(counts)
    judged = judged_log(counts, assumed, level, method, shift)
    found = judged.bounds()
    certain = {"infinite": True} if level is None else {"confidence": level}
    said: dict[str, Any] = {"assumption": assumed.listed(judged.log.world.contexts).to_dict(), **certain}
    return ContextBounds(found, {**said, "method": method, "shift": judged.log.shift, "rows": counts.rows})


def _assumed(assumption: Assumption | None, gap_low: PerContext | None, gap_high: PerContext | None) -> Assumption:
    """The assumption, or the short form of the default one."""
    if assumption is None:
        return OptimalExpert(0.0 if gap_low is None else gap_low, gap_high)
    check_assumption(assumption)
    if gap_low is not None or gap_high is not None:
        raise ValueError(
            f"gap_low and gap_high are short for assumption=OptimalExpert(gap_low, gap_high); with "
            f"assumption={assumption!r} give the gaps to the assumption"
        )
    return assumption


def judged_log(counts: Counts, assumed: Assumption, level: float | None, method: str, shift: float) -> Judged:
    """Put a log under an assumption, after a look at the other arguments.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.expert import judged_log
    >>> counts = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]]).counts()
    >>> judged_log(counts, mb.logs.AnyExpert(), None, "kl", shift=1.5)
    Traceback (most recent call last):
    ValueError: shift is a total variation distance between 0 and 1; got 1.5
    """
    check_choice("method", method, METHODS)
    moved = as_float("shift", shift)
    if not 0.0 <= moved <= 1.0:
        raise ValueError(f"shift is a total variation distance between 0 and 1; got {moved!r}")
    return Judged(Log.of(counts, assumed, level, method, moved), assumed)


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
