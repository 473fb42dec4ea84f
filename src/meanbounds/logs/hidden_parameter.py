r"""Bounds on arms with features, from the log of an expert who saw the whole parameter.

The reward of arm k has mean ``<visible_k, theta_visible> + <hidden_k, T>``. The first part is known (`offset` below); T
is random, drawn anew in each round, and lies in a box. The expert saw T and played the best arm; the log kept arm and
reward only. The agent will not see T either: it wants the means over T.

**Infinite log.** For each arm j the log gives its share p_j and the mean reward nu_j when it was played. Let x_j be the
mean of T over the rounds in which j was played. T is in the box in each of them, gives j the mean that was seen, and
makes no arm better than j. All this is linear in T, so it holds for x_j::

    x_j in the box,   offset_j + <hidden_j, x_j> = nu_j,   offset_i + <hidden_i, x_j> <= nu_j  for each i

and the mean of arm k is ``offset_k + sum_j p_j <hidden_k, x_j>``. So its bounds are sums of least and largest values of
linear programs, one for each pair (k, j). They are sharp: T = x_j with probability p_j, where the x_j attain the bound,
is a law that leaves this very log.

**Finite log.** With intervals for all nu_j, and for all p_j, that hold at the same time with the stated confidence::

    nu_low_j <= offset_j + <hidden_j, x_j> <= nu_high_j,   offset_i + <hidden_i, x_j> <= offset_j + <hidden_j, x_j>

and the upper bound on arm k is ``offset_k + max_p sum_j p_j v_kj``, where v_kj is the program's value and p any vector
of shares in its intervals. An arm that the log never played has some share all the same, unless its program has no
solution: then it is never the best. The failure probability is divided evenly: one half over the two sides of K means,
one half over the two sides of K shares.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.agents import Agent
from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.kernels.solvers.simplex import Polytope, Vertices, maximise_all
from meanbounds.linear import TightBounds, tighten
from meanbounds.logs.confidence import Sample, lower_limit, upper_limit
from meanbounds.policies import ROFUL, LinearPolicy
from meanbounds.support.progress import Progress
from meanbounds.support.seeding import Seed
from meanbounds.support.types import Floats

__all__ = ["LinearBounds", "linear_agent", "linear_bounds", "linear_bounds_from_log"]

Method = Literal["sharp", "corrected", "paper"]
Interval = Literal["bernstein", "hoeffding", "kl"]

_ROUNDING = (
    1e-10  # of its scale: how far each limit is relaxed, so that a log that fits exactly still does when rounded
)


@dataclass(frozen=True, eq=False)
class LinearBounds:
    """What a log says about arms with features, and everything that R-OFUL needs to start.

    Attributes
    ----------
    arms
        Their names.
    lower, upper
        Bounds on each arm's whole mean, known part included. They may leave the range of the rewards; see
        `mean_bounds`.
    hidden
        Features that go with the hidden parameter, a row for each arm: what the agent learns from.
    offset
        Known part of each arm's mean. An agent that compares arms without it plays the wrong ones.
    box_low, box_high
        Box of the hidden parameter, by coordinate.
    confidence
        Probability with which all bounds hold at once; None for an infinite log.

    Examples
    --------
    >>> import meanbounds as mb
    >>> found = mb.logs.linear_bounds([[-0.8], [0.5]], [[0.9], [0.0]], [1.0], [0.0, 1.0], [0.0, 0.5], 0.0, 1.0)
    >>> found.offset
    array([-0.8,  0.5])
    >>> found.pseudo_reward(1, 0.75)
    0.25
    >>> found.norm_low, found.norm_high
    (0.0, 1.0)
    """

    arms: tuple[Arm, ...]
    lower: Floats
    upper: Floats
    hidden: Floats
    offset: Floats
    box_low: Floats
    box_high: Floats
    confidence: float | None = None

    @property
    def norm_high(self) -> float:
        """The largest Euclidean norm in the box."""
        return float(np.linalg.norm(np.maximum(np.abs(self.box_low), np.abs(self.box_high))))

    @property
    def norm_low(self) -> float:
        """The least Euclidean norm in the box."""
        return float(np.linalg.norm(np.clip(0.0, self.box_low, self.box_high)))

    @property
    def box(self) -> tuple[Floats, Floats, Floats]:
        """The box as `meanbounds.tighten` takes it, for ``extra=``."""
        return np.eye(self.box_low.size), self.box_low, self.box_high

    def pseudo_reward(self, arm: Arm, reward: float) -> float:
        """What is left of a reward without the known part: its mean is ``<hidden, parameter>``.

        For learners of your own. An `Agent` with an offset takes rewards as they are.
        """
        return reward - float(self.offset[MeanBounds.vacuous(self.arms).position(arm)])

    def mean_bounds(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> MeanBounds:
        """As `MeanBounds`, clipped to the range of the rewards (one for all arms or one for each).

        Raises
        ------
        BoundsError
            If some arm's bounds lie outside its range, or cross, as those of the paper may.

        Examples
        --------
        >>> import meanbounds as mb
        >>> found = mb.logs.linear_bounds([[-0.8], [0.5]], [[0.9], [0.0]], [1.0], [0.0, 1.0], [0.0, 0.5], 0.0, 1.0)
        >>> found.mean_bounds(-0.5, 1.0).lower.round(6)
        array([-0.5,  0.5])
        """
        vacuous = MeanBounds.vacuous(self.arms, low=low, high=high)
        slack = _ROUNDING * (vacuous.high - vacuous.low + np.abs(self.lower) + np.abs(self.upper))
        for k in np.flatnonzero((self.upper < vacuous.low - slack) | (self.lower > vacuous.high + slack)):
            raise BoundsError(
                f"arm {self.arms[k]!r}: by the log its mean is in [{self.lower[k]:.6g}, {self.upper[k]:.6g}], which is "
                f"outside its reward range [{vacuous.low[k]:g}, {vacuous.high[k]:g}]; the range, the box or the known "
                f"parameter is wrong"
            )
        lower, upper = (np.clip(side, vacuous.low, vacuous.high) for side in (self.lower, self.upper))
        return MeanBounds(lower, upper, arms=self.arms, low=low, high=high)

    def agent(
        self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, policy: LinearPolicy | None = None, seed: Seed = None
    ) -> Agent:
        """An agent that starts from these bounds, tightened by each other, by the rewards' range and by the box.

        Parameters
        ----------
        low, high
            Range of the rewards, one for all arms or one for each.
        policy
            By default R-OFUL; limits on the norm are set to those of the box.
        seed
            As for `meanbounds.Agent`.

        Notes
        -----
        What the agent takes for certain holds with probability at least ``confidence - policy.failure``.

        Examples
        --------
        >>> import meanbounds as mb
        >>> found = mb.logs.linear_bounds([[-0.8], [0.5]], [[0.9], [0.0]], [1.0], [0.0, 1.0], [0.0, 0.5], 0.0, 1.0)
        >>> found.agent(-1.0, 1.0, seed=1).pull()
        1
        """
        bounds = self.tightened(low, high)
        chosen = self.limited(ROFUL() if policy is None else policy)
        return Agent(chosen, bounds, seed=seed, features=self.hidden, offset=self.offset)

    def tightened(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> TightBounds:
        """As `MeanBounds`, tightened by each other, by the rewards' range (see `mean_bounds`) and by the box.

        Raises
        ------
        BoundsError
            If some arm's bounds lie outside its range or cross, or if no parameter in the box satisfies all.

        Examples
        --------
        >>> import meanbounds as mb
        >>> found = mb.logs.linear_bounds([[-0.8], [0.5]], [[0.9], [0.0]], [1.0], [0.0, 1.0], [0.0, 0.5], 0.0, 1.0)
        >>> found.tightened(-1.0, 1.0).upper.round(6)
        array([0.1, 0.5])
        """
        if self.norm_high == 0.0:
            raise ValueError("the box of the hidden parameter is the point 0: there is nothing to learn")
        return tighten(
            self.hidden, self.mean_bounds(low, high), norm_high=self.norm_high, extra=self.box, offset=self.offset
        )

    def limited(self, policy: LinearPolicy) -> LinearPolicy:
        """The policy, with limits on the norm that are those of the box."""
        if isinstance(policy, ROFUL):
            return replace(policy, norm_high=self.norm_high, norm_low=self.norm_low)
        return replace(policy, norm_high=self.norm_high)


def linear_bounds(
    visible: ArrayLike,
    hidden: ArrayLike,
    theta_visible: ArrayLike,
    share: ArrayLike,
    mean: ArrayLike,
    box_low: ArrayLike,
    box_high: ArrayLike,
    method: Method = "sharp",
    *,
    arms: Iterable[Arm] | None = None,
    progress: bool | None = None,
) -> LinearBounds:
    """Bounds on each arm's mean from an infinite log, kept by an expert who saw the hidden parameter too.

    Parameters
    ----------
    visible, hidden
        Features of each arm (a row for each) that go with the known and with the hidden parameter.
    theta_visible
        The known parameter.
    share
        p_k: how often each arm was played. They sum to 1.
    mean
        nu_k: mean reward of each arm when it was played; of no account where the share is 0.
    box_low, box_high
        Limits on the hidden parameter, in every round: one number, or one for each coordinate.
    method
        ``"sharp"``: the tightest bounds that hold, by linear programs. ``"corrected"``: the paper's, with its errors
        put right. ``"paper"``: as printed; these may exclude the truth, and cross.
    arms
        Names, by default 0, 1, 2, ...
    progress
        Show a progress bar; by default on a terminal, for anything over two seconds.

    Raises
    ------
    BoundsError
        If the log contradicts an assumption; the message names the arm. Only ``"sharp"`` notices.

    Notes
    -----
    The linear theorem of Section 6. Differs from the paper: it has ``d sum(a)`` where ``(1 - p_k)`` times positive and
    negative parts of a against the box belong. Corrected, the mean of arm k is
    ``p_k nu_k + (1 - p_k) (offset_k + r)`` with r between the least and the largest ``<hidden_k, x>`` in the box. The
    sharp form is derived at the head of this module.

    Examples
    --------
    >>> import meanbounds as mb
    >>> hidden, share, mean = [[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5], [0.75, 0.5]
    >>> log = ([[0.0], [0.0]], hidden, [1.0], share, mean, 0.0, 1.0)
    >>> sharp = mb.logs.linear_bounds(*log)
    >>> sharp.lower.round(6), sharp.upper.round(6)
    (array([0.375, 0.25 ]), array([0.625, 0.625]))
    >>> corrected = mb.logs.linear_bounds(*log, method="corrected")
    >>> corrected.lower, corrected.upper
    (array([0.375, 0.25 ]), array([0.875, 0.75 ]))
    """
    if method not in ("sharp", "corrected", "paper"):
        raise ValueError(f'method must be "sharp", "corrected" or "paper"; got {method!r}')
    setting = _setting(visible, hidden, theta_visible, box_low, box_high, arms)
    shares = _shares(share, setting.arms)
    means = _means(mean, shares, setting.arms)
    others = setting.reach()
    if method == "paper":
        d = setting.hidden.shape[1]
        others = d * (setting.hidden @ setting.low), d * (setting.hidden @ setting.high)
    weight = np.ones(shares.size) if method == "paper" else 1.0 - shares
    lower, upper = (shares * means + (1.0 - shares) * setting.offset + weight * part for part in others)
    if method != "paper":
        upper = np.maximum(lower, upper)  # where both are the same but for rounding
    if method == "sharp":
        seen = shares > 0.0
        found = _programs(setting, means, means, solve=seen, certain=seen, progress=progress)
        sides = (setting.offset + shares[seen] @ values[seen] for values in (found.least, found.most))
        lower, upper = (np.clip(side, lower, upper) for side in sides)
    return setting.result(lower, upper)


def linear_bounds_from_log(
    visible: ArrayLike,
    hidden: ArrayLike,
    theta_visible: ArrayLike,
    count: ArrayLike,
    total: ArrayLike,
    squares: ArrayLike | None,
    box_low: ArrayLike,
    box_high: ArrayLike,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    *,
    confidence: float | None = 0.95,
    interval: Interval = "bernstein",
    arms: Iterable[Arm] | None = None,
    progress: bool | None = None,
) -> LinearBounds:
    """Bounds on each arm's mean from a finite log, which hold all at once with the stated confidence.

    Parameters
    ----------
    visible, hidden, theta_visible, box_low, box_high, arms, progress
        As for `linear_bounds`.
    count, total, squares
        Of each arm: rounds in which it was played, sum of their rewards, sum of their squares. Arms that were never
        played have zeros. Only ``interval="bernstein"`` needs squares; others take None.
    low, high
        Range of the rewards, one for all arms or one for each.
    confidence
        Probability with which all bounds hold at once. None takes shares and means for exact, as if the log were
        infinite: that misses the truth, and often contradicts itself, unless the log is enormous.
    interval
        How each nu_k is bounded: ``"bernstein"`` (empirical Bernstein; Maurer and Pontil, 2009, Theorem 4),
        ``"hoeffding"``, or ``"kl"`` (Chernoff; never wider than Hoeffding's). Shares have Clopper-Pearson intervals.

    Raises
    ------
    BoundsError
        If the log contradicts an assumption; the message names the arm.

    Notes
    -----
    Differs from the paper, which leaves finite logs open. Derived at the head of this module. With 6 arms in 5
    dimensions and 10,000 rows, bounds are a few hundredths wider than those of the infinite log, mostly on account of
    the means: of the sets for shares that were compared, these were the narrowest, ahead of the L1 ball (Weissman and
    others, 2003) and of the likelihood-ratio set.

    Examples
    --------
    >>> import meanbounds as mb
    >>> known = ([[0.0], [0.0]], [[1.0, 0.0], [0.0, 1.0]], [1.0])
    >>> for rows in (1_000, 1_000_000):
    ...     count = [rows / 2, rows / 2]
    ...     total = [0.75 * rows / 2, 0.5 * rows / 2]  # rewards 0 and 1: squares are the same
    ...     found = mb.logs.linear_bounds_from_log(*known, count, total, total, 0.0, 1.0)
    ...     print(found.lower.round(2), found.upper.round(2))
    [0.3  0.18] [0.73 0.73]
    [0.37 0.25] [0.63 0.63]
    """
    setting = _setting(visible, hidden, theta_visible, box_low, box_high, arms)
    seen = _statistics(count, total, squares, low, high, interval, setting.arms)
    rows = seen.plays.sum()
    if confidence is None:
        if not rows:
            raise ValueError("the log has no rows; without a confidence that says nothing at all")
        means = np.divide(seen.total, seen.plays, out=np.zeros(seen.plays.size), where=seen.plays > 0)
        shares = seen.plays / rows
        return linear_bounds(
            visible, hidden, theta_visible, shares, means, box_low, box_high, arms=setting.arms, progress=progress
        )
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be a probability between 0 and 1, or None; got {confidence!r}")
    failure = (1.0 - confidence) / (4.0 * len(setting.arms))  # of each side of each mean and of each share
    mean_low, mean_high = _mean_limits(seen, failure, interval)
    share_low, share_high = _share_limits(seen.plays, failure)
    everywhere = np.ones(len(setting.arms), dtype=np.bool_)
    found = _programs(setting, mean_low, mean_high, solve=everywhere, certain=seen.plays > 0, progress=progress)
    can = found.possible
    lower, upper = (
        setting.offset + sign * np.array([_largest(values, share_low[can], share_high[can]) for values in sign * side])
        for sign, side in ((-1.0, found.least[can].T), (1.0, found.most[can].T))
    )
    return setting.result(lower, upper, confidence)


def linear_agent(
    visible: ArrayLike,
    hidden: ArrayLike,
    theta_visible: ArrayLike,
    count: ArrayLike,
    total: ArrayLike,
    squares: ArrayLike | None,
    box_low: ArrayLike,
    box_high: ArrayLike,
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    *,
    confidence: float | None = 0.95,
    interval: Interval = "bernstein",
    policy: LinearPolicy | None = None,
    seed: Seed = None,
    arms: Iterable[Arm] | None = None,
    progress: bool | None = None,
) -> Agent:
    """From the statistics of a log to an agent that starts from what the log says: bounds, offsets, limits on the norm.

    Parameters
    ----------
    visible, hidden, theta_visible, count, total, squares, box_low, box_high, low, high
        As for `linear_bounds_from_log`; the range of the rewards is that of the agent's as well.
    confidence, interval, arms, progress
        As for `linear_bounds_from_log`.
    policy, seed
        As for `LinearBounds.agent`.

    Examples
    --------
    The hidden part of the first arm is larger, and its known part so small that the second is better:

    >>> import meanbounds as mb
    >>> agent = mb.logs.linear_agent(
    ...     visible=[[-0.8], [0.5]], hidden=[[0.9], [0.0]], theta_visible=[1.0],
    ...     count=[0, 1000], total=[0.0, 500.0], squares=[0.0, 300.0],
    ...     box_low=0.0, box_high=1.0, low=-1.0, high=1.0, arms=["new", "old"], seed=1,
    ... )  # fmt: skip
    >>> agent.pull()
    'old'
    >>> agent.update("old", 0.75)  # the reward as it is; the agent takes the known part off
    """
    found = linear_bounds_from_log(
        visible,
        hidden,
        theta_visible,
        count,
        total,
        squares,
        box_low,
        box_high,
        low,
        high,
        confidence=confidence,
        interval=interval,
        arms=arms,
        progress=progress,
    )
    return found.agent(low, high, policy, seed)


class _Setting(NamedTuple):
    """What is known apart from the log."""

    arms: tuple[Arm, ...]
    hidden: Floats
    offset: Floats
    low: Floats  # of the box
    high: Floats

    def reach(self) -> tuple[Floats, Floats]:
        """Least and largest ``<hidden, x>`` of each arm over the box."""
        up, down = np.maximum(self.hidden, 0.0), np.minimum(self.hidden, 0.0)
        return up @ self.low + down @ self.high, up @ self.high + down @ self.low

    def when_best(self, j: int, mean_low: float, mean_high: float) -> Polytope:
        """All means of the hidden parameter over rounds in which arm j was the best, with a mean between these."""
        rows, upper = self.hidden - self.hidden[j], self.offset[j] - self.offset
        lower = np.full(len(self.arms), -np.inf)
        rows[j], lower[j], upper[j] = self.hidden[j], mean_low - self.offset[j], mean_high - self.offset[j]
        scale = np.abs(rows) @ np.maximum(np.abs(self.low), np.abs(self.high)) + np.abs(self.offset)
        scale += abs(self.offset[j]) + max(abs(mean_low), abs(mean_high))
        return Polytope(rows, lower - _ROUNDING * scale, upper + _ROUNDING * scale, self.low, self.high)

    def result(self, lower: Floats, upper: Floats, confidence: float | None = None) -> LinearBounds:
        return LinearBounds(self.arms, lower, upper, self.hidden, self.offset, self.low, self.high, confidence)


def _setting(
    visible: ArrayLike,
    hidden: ArrayLike,
    theta_visible: ArrayLike,
    box_low: ArrayLike,
    box_high: ArrayLike,
    arms: Iterable[Arm] | None,
) -> _Setting:
    rows = np.ascontiguousarray(np.asarray(hidden, dtype=np.float64))
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"hidden must have a row of features for each arm; got an array of shape {rows.shape}")
    size, d = rows.shape
    names = MeanBounds.vacuous(size if arms is None else arms).arms
    known = np.asarray(visible, dtype=np.float64)
    theta = np.atleast_1d(np.asarray(theta_visible, dtype=np.float64))
    if len(names) != size or known.ndim != 2 or len(known) != size:
        raise ValueError(
            f"hidden has {size} rows, visible has shape {known.shape}, and there are {len(names)} names: give a row of "
            f"hidden features, a row of visible ones and a name for each arm"
        )
    if theta.shape != known.shape[1:]:
        raise ValueError(f"theta_visible has shape {theta.shape}; visible has {known.shape[1]} features for each arm")
    if not np.all(np.isfinite(theta)):
        raise ValueError(f"theta_visible must be finite numbers; got {theta.tolist()}")
    for what, block in (("visible", known), ("hidden", rows)):
        for k in np.flatnonzero(~np.all(np.isfinite(block), axis=1)):
            raise ValueError(f"arm {names[k]!r}: its {what} features {block[k].tolist()} are not all finite numbers")
    ends = []
    for what, value in (("box_low", box_low), ("box_high", box_high)):
        end = np.asarray(value, dtype=np.float64)
        if end.shape not in ((), (d,)) or not np.all(np.isfinite(end)):
            raise ValueError(f"{what} must be one finite number, or one for each of {d} hidden features; got {value!r}")
        ends.append(np.broadcast_to(end, d).copy())
    for i in np.flatnonzero(ends[0] > ends[1]):
        raise ValueError(f"the box is empty: coordinate {i} is between {ends[0][i]} and {ends[1][i]}")
    return _Setting(names, rows, known @ theta, ends[0], ends[1])


def _per_arm(what: str, value: ArrayLike, arms: tuple[Arm, ...]) -> Floats:
    array = np.asarray(value, dtype=np.float64)
    if array.shape != (len(arms),):
        raise ValueError(
            f"{what} must have one entry for each of {len(arms)} arms; got an array of shape {array.shape}"
        )
    return array


def _shares(share: ArrayLike, arms: tuple[Arm, ...]) -> Floats:
    shares = _per_arm("share", share, arms)
    for k in np.flatnonzero(~(shares >= 0.0)):
        raise ValueError(f"arm {arms[k]!r}: its share must be a probability; got {shares[k]}")
    if not abs(shares.sum() - 1.0) <= 1e-9:
        raise ValueError(f"shares must sum to 1; these sum to {shares.sum()}. Divide counts by their sum")
    return shares


def _means(mean: ArrayLike, shares: Floats, arms: tuple[Arm, ...]) -> Floats:
    means = _per_arm("mean", mean, arms)
    for k in np.flatnonzero(~np.isfinite(means) & (shares > 0.0)):
        raise ValueError(f"arm {arms[k]!r} was played (share {shares[k]:g}), but its mean reward is {means[k]}")
    return np.where(shares > 0.0, means, 0.0)


class _Values(NamedTuple):
    """Least and largest ``<hidden_k, x_j>``, at [j, k], and for each j whether there is any x_j."""

    least: Floats
    most: Floats
    possible: NDArray[np.bool_]


def _programs(
    setting: _Setting,
    mean_low: Floats,
    mean_high: Floats,
    *,
    solve: NDArray[np.bool_],
    certain: NDArray[np.bool_],
    progress: bool | None,
) -> _Values:
    """Solve the programs of some arms j; those that are certain to have been the best now and then must have an x_j."""
    size = len(setting.arms)
    found = _Values(np.zeros((size, size)), np.zeros((size, size)), np.zeros(size, dtype=np.bool_))
    targets = np.vstack([setting.hidden, -setting.hidden])
    with Progress(int(solve.sum()), "bounding", progress) as bar:
        for j in np.flatnonzero(solve).tolist():
            vertices = maximise_all(targets, setting.when_best(j, mean_low[j], mean_high[j]))
            found.possible[j] = bool(np.all(vertices.value > -np.inf))
            if found.possible[j]:
                found.most[j], found.least[j] = vertices.value[:size], -vertices.value[size:]
            elif certain[j]:
                raise BoundsError(_why(setting, j, mean_low[j], mean_high[j], vertices))
            bar.advance(1)
    return found


def _why(setting: _Setting, j: int, mean_low: float, mean_high: float, vertices: Vertices) -> str:
    """Why nothing in the box can be the mean of the parameter over the rounds in which arm j was the best."""
    least, most = (float(setting.offset[j] + side[j]) for side in setting.reach())
    seen = f"{mean_low:.6g}" if mean_low == mean_high else f"between {mean_low:.6g} and {mean_high:.6g}"
    start = f"arm {setting.arms[j]!r}: its mean reward when it was played is {seen}"
    clash = vertices.clash[np.argmin(vertices.value)]
    rivals = [repr(setting.arms[i]) for i in np.flatnonzero(clash > 1e-9 * clash.max(initial=0.0)) if i != j]
    if not rivals or mean_high < least or mean_low > most:
        return (
            f"{start}, but with a hidden parameter in the box it is between {least:.6g} and {most:.6g} (its known part "
            f"is {setting.offset[j]:.6g}); the box, the features or the known parameter is wrong"
        )
    return (
        f"{start}; no hidden parameter in the box gives it such a mean and makes it at least as good as arm"
        f"{'s' * (len(rivals) > 1)} {', '.join(rivals)}; either the expert did not play the best arm, or the box, the "
        f"features or the known parameter is wrong"
    )


class _Seen(NamedTuple):
    """What the log says of each arm, and the range of its rewards."""

    plays: Floats
    total: Floats
    squares: Floats
    low: Floats
    high: Floats


def _statistics(
    count: ArrayLike,
    total: ArrayLike,
    squares: ArrayLike | None,
    low: ArrayLike,
    high: ArrayLike,
    interval: str,
    arms: tuple[Arm, ...],
) -> _Seen:
    if interval not in ("bernstein", "hoeffding", "kl"):
        raise ValueError(f'interval must be "bernstein", "hoeffding" or "kl"; got {interval!r}')
    if squares is None and interval == "bernstein":
        raise ValueError('interval="bernstein" needs the sums of squared rewards; without them use interval="kl"')
    ranges = MeanBounds.vacuous(arms, low=low, high=high)
    counts, totals = _per_arm("count", count, arms), _per_arm("total", total, arms)
    sizes = np.maximum(np.abs(ranges.low), np.abs(ranges.high))
    slack = 1e-9 * (1.0 + counts * sizes)
    for k in np.flatnonzero(~((counts >= 0.0) & (counts == np.floor(counts)) & (counts < np.inf))):
        raise ValueError(f"arm {arms[k]!r}: its count must be a whole number; got {counts[k]}")
    for k in np.flatnonzero(~((totals >= counts * ranges.low - slack) & (totals <= counts * ranges.high + slack))):
        raise ValueError(
            f"arm {arms[k]!r}: {counts[k]:g} rewards in [{ranges.low[k]:g}, {ranges.high[k]:g}] cannot sum to "
            f"{totals[k]:g}; correct the range (low, high) or the sums"
        )
    if squares is None:
        return _Seen(counts, totals, np.full(len(arms), np.nan), ranges.low, ranges.high)
    of_squares = _per_arm("squares", squares, arms)
    least = np.divide(totals**2, counts, out=np.zeros(len(arms)), where=counts > 0.0)
    most = (ranges.low + ranges.high) * totals - counts * ranges.low * ranges.high
    slack *= 1.0 + sizes
    for k in np.flatnonzero(~((of_squares >= least - slack) & (of_squares <= most + slack))):
        raise ValueError(
            f"arm {arms[k]!r}: squares of {counts[k]:g} rewards in [{ranges.low[k]:g}, {ranges.high[k]:g}] with sum "
            f"{totals[k]:g} sum to between {least[k]:g} and {most[k]:g}; got {of_squares[k]:g}"
        )
    return _Seen(counts, totals, of_squares, ranges.low, ranges.high)


def _mean_limits(seen: _Seen, failure: float, interval: str) -> tuple[Floats, Floats]:
    """Limits on each arm's mean reward when played, each side wrong with probability at most `failure`."""
    lower, upper = seen.low.astype(np.float64), seen.high.astype(np.float64)
    for k in np.flatnonzero(seen.plays > 0.0):
        low, span = float(seen.low[k]), float(seen.high[k] - seen.low[k])
        plays, total, squares = float(seen.plays[k]), float(seen.total[k]), float(seen.squares[k])
        sample = Sample.scaled(plays, total, squares, low, float(seen.high[k]))
        lower[k] = low + span * lower_limit(sample, failure, interval)
        upper[k] = low + span * upper_limit(sample, failure, interval)
    return lower, upper


def _share_limits(plays: Floats, failure: float) -> tuple[Floats, Floats]:
    """Clopper and Pearson's limits on each share, each side wrong with probability at most `failure`."""
    from scipy.special import betaincinv

    rest = plays.sum() - plays
    lower = np.where(plays > 0.0, betaincinv(np.maximum(plays, 1.0), rest + 1.0, failure), 0.0)
    upper = np.where(rest > 0.0, betaincinv(plays + 1.0, np.maximum(rest, 1.0), 1.0 - failure), 1.0)
    return lower, upper


def _largest(values: Floats, low: Floats, high: Floats) -> float:
    """The largest mean of values under shares between these limits: fill up from the largest value."""
    order = np.argsort(-values)
    room = (high - low)[order]
    before = np.cumsum(room) - room
    extra = np.clip(1.0 - low.sum() - before, 0.0, room)
    return float((low[order] + extra) @ values[order])
