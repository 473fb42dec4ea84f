"""Environments: where the rewards of a simulation come from."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from meanbounds.bounds import MeanBounds
from meanbounds.linear.arms import LinearArms
from meanbounds.support.checks import (
    LARGEST,
    SMALLEST_WIDTH,
    as_float,
    as_floats,
    as_list,
    as_whole,
    fits_range,
    shown,
    unknown,
)
from meanbounds.support.streams import child, stream, uniform
from meanbounds.support.types import Floats, Integers

__all__ = ["LAWS", "Bernoulli", "Beta", "Changing", "ClippedGaussian", "Environment", "Linear", "Table", "Uniform"]

_CHECKED = 100_000  # uniform numbers that `check` tries for each arm


class Environment(ABC):
    """Base of all environments: independent rewards of each arm, with known means.

    A reward law of your own is a subclass with one method, `reward`, which turns uniform random numbers into rewards.

    Parameters
    ----------
    means
        Mean reward of each arm.
    low, high
        Range of the rewards, one number for all arms or one for each; [0, 1] by default.

    Examples
    --------
    >>> import meanbounds as mb
    >>> environment = mb.Bernoulli([3.0, 4.5], low=1.0, high=5.0)
    >>> len(environment), environment.gaps
    (2, array([1.5, 0. ]))

    A law of your own: U**(1/m - 1) has the mean m if U is uniform. `check` compares rewards with means and range:

    >>> class Power(mb.simulation.Environment):
    ...     def reward(self, arms, u):
    ...         return u ** (1 / self.means[arms] - 1)
    >>> environment = Power([0.9, 0.8]).check()
    >>> regret = mb.simulate([mb.UCB(), mb.GLUE()], environment, horizon=100, runs=10, seed=7)
    """

    parameters: ClassVar[tuple[str, ...]] = ()  # further attributes, which `settings` keeps

    means: Floats
    low: Floats
    high: Floats

    def __init__(self, means: ArrayLike, *, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> None:
        values = as_floats("means", means).copy()
        if values.ndim != 1 or values.size == 0:
            raise ValueError(f"means must be a sequence with one number for each arm; got {shown(means)}")
        self.means, self.low, self.high = values, _per_arm("low", low, values.size), _per_arm("high", high, values.size)
        for k in np.flatnonzero(~fits_range(self.low, self.high)):
            raise ValueError(
                f"arm {k}: the reward range [{self.low[k]}, {self.high[k]}] must be finite, with low below high, at "
                f"least {SMALLEST_WIDTH:g} wide, and between {-LARGEST:g} and {LARGEST:g}"
            )
        for k in np.flatnonzero(~((self.low <= values) & (values <= self.high))):
            raise ValueError(f"arm {k}: its mean {values[k]} is not in its range [{self.low[k]}, {self.high[k]}]")
        for array in (self.means, self.low, self.high):
            array.flags.writeable = False

    def __len__(self) -> int:
        if not hasattr(self, "means"):
            raise TypeError(f"{type(self).__name__}.__init__ must call super().__init__(means, low=..., high=...)")
        return int(self.means.size)

    def __getstate__(self) -> dict[str, Any]:
        """What the environment was made of: without values that were kept to save time."""
        kept = {name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)}
        return {name: value for name, value in vars(self).items() if name not in kept}

    def __repr__(self) -> str:
        unit = not self.low.any() and bool(np.all(self.high == 1.0))
        ends = "" if unit else f", low={shown(self.low.tolist())}, high={shown(self.high.tolist())}"
        return f"{type(self).__name__}({shown(self.means.tolist())}{ends})"

    @abstractmethod
    def reward(self, arms: Integers, u: Floats) -> Floats:
        """Rewards of these arms, in reward units: the inverse of each arm's distribution function, or like it.

        `arms` are positions of arms, `u` as many uniform random numbers in [0, 1). The same number gives the same
        reward.
        """

    @property
    def gaps(self) -> Floats:
        """How far each arm's mean is below the best one: the regret of playing it once, in reward units."""
        return self.means.max() - self.means

    def at(self, round: int) -> Environment:
        """The environment that pays in this round, counted from 1: this one, unless it is `Changing`."""
        return self

    def gaps_from(self, round: int) -> tuple[Floats, int]:
        """The gaps from this round on, and the next round from which on they are others: 0 for never."""
        return self.at(round).gaps, 0

    def settings(self) -> dict[str, Any]:
        """The parameters, in values that JSON can hold; a simulation keeps them with its result.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Bernoulli([0.9, 0.8]).settings()
        {'kind': 'Bernoulli', 'means': [0.9, 0.8], 'low': [0.0, 0.0], 'high': [1.0, 1.0]}
        """
        names = ("means", "low", "high", *self.parameters)
        return {"kind": type(self).__name__, **{name: _plain(getattr(self, name)) for name in names}}

    def check(self) -> Environment:
        """Refuse rewards outside their range, or with another mean than `means` says; returns the environment."""
        u, name = (np.arange(_CHECKED) + 0.5) / _CHECKED, f"{type(self).__name__}.reward"
        for k, mean, low, high in zip(range(len(self)), self.means, self.low, self.high, strict=True):
            rewards = np.asarray(self.reward(np.full(_CHECKED, k), u))
            if rewards.shape != u.shape:
                raise ValueError(f"{name} must return one reward for each of {u.size} arms; got shape {rewards.shape}")
            for reward in rewards[~((rewards >= low) & (rewards <= high))]:
                raise ValueError(f"arm {k}: {name} returned {reward}, outside its range [{low}, {high}]")
            if abs(rewards.mean() - mean) > 1e-3 * (high - low):
                raise ValueError(f"arm {k}: the mean of {name} is {rewards.mean():.4g}, but means[{k}] is {mean:.4g}")
        return self


class Bernoulli(Environment):
    """Rewards at the two ends of the range, with the given means: 0 and 1 by default.

    Parameters
    ----------
    means
        Mean reward of each arm; in [0, 1] this is the probability of a 1.
    low, high
        The two rewards, one number for all arms or one for each.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.Bernoulli([0.9, 0.8]).gaps.round(3)
    array([0. , 0.1])
    """

    @cached_property
    def share(self) -> Floats:
        """Probability of the higher reward of each arm."""
        return (self.means - self.low) / (self.high - self.low)

    def reward(self, arms: Integers, u: Floats) -> Floats:
        """The higher reward where the number is below its probability."""
        return np.where(u < self.share[arms], self.high[arms], self.low[arms])


class Uniform(Environment):
    """Uniform rewards on the widest interval around each mean that stays in the range (the paper's clipped uniform).

    Parameters
    ----------
    means
        Mean reward of each arm, the middle of its interval.
    low, high
        Range of the rewards, one number for all arms or one for each.

    Examples
    --------
    >>> from meanbounds.simulation import Uniform
    >>> Uniform([0.9, 0.5]).gaps.round(3)  # rewards between 0.8 and 1, and between 0 and 1
    array([0. , 0.4])
    """

    @cached_property
    def interval(self) -> tuple[Floats, Floats]:
        """Start and width of the interval of each arm's rewards."""
        reach = np.minimum(self.means - self.low, self.high - self.means)
        return self.means - reach, 2.0 * reach

    def reward(self, arms: Integers, u: Floats) -> Floats:
        """The point that divides the interval in this ratio."""
        start, width = self.interval
        return start[arms] + u * width[arms]


class Beta(Environment):
    """Beta-distributed rewards, stretched to the range.

    Parameters
    ----------
    means, low, high
        As for `Environment`; the means lie strictly inside the range.
    concentration
        Sum of the two shape parameters: the larger, the closer rewards are to their mean. On [0, 1] the variance is
        ``mean * (1 - mean) / (1 + concentration)``.

    Examples
    --------
    >>> from meanbounds.simulation import Beta
    >>> Beta([3.5, 2.0], concentration=8.0, low=1.0, high=5.0).gaps
    array([0. , 1.5])
    """

    parameters = ("concentration",)

    def __init__(
        self, means: ArrayLike, *, concentration: float = 5.0, low: ArrayLike = 0.0, high: ArrayLike = 1.0
    ) -> None:
        super().__init__(means, low=low, high=high)
        self.concentration = _positive("concentration", concentration)
        share = (self.means - self.low) / (self.high - self.low)
        self._shapes = share * self.concentration, (1.0 - share) * self.concentration
        for k in np.flatnonzero(np.minimum(*self._shapes) < 1.0 / LARGEST):
            raise ValueError(f"arm {k}: its mean {self.means[k]} is too close to an end of its range; use Bernoulli")

    def reward(self, arms: Integers, u: Floats) -> Floats:
        """The quantile of the Beta distribution, in the range of the arm."""
        a, b = self._shapes
        return self.low[arms] + (self.high - self.low)[arms] * special.betaincinv(a[arms], b[arms], u)


class ClippedGaussian(Environment):
    """Gaussian rewards, clipped to the range: the noise of the paper's experiments with linear bandits.

    Clipping moves the mean. `means` are the true means, after clipping.

    Parameters
    ----------
    centres
        Mean of each arm's Gaussian variable before it is clipped: any number.
    variance
        Variance before clipping; 0.8 is the paper's.
    low, high
        Range of the rewards, one number for all arms or one for each.

    Examples
    --------
    >>> from meanbounds.simulation import ClippedGaussian
    >>> ClippedGaussian([0.9, 0.5]).means.round(3)
    array([0.665, 0.5  ])
    """

    parameters = ("centres", "variance")

    def __init__(
        self, centres: ArrayLike, *, variance: float = 0.8, low: ArrayLike = 0.0, high: ArrayLike = 1.0
    ) -> None:
        self.centres = as_floats("centres", centres).copy()
        if self.centres.ndim != 1 or not self.centres.size or not np.all(np.abs(self.centres) < LARGEST):
            raise ValueError(f"centres must be a sequence with one finite number for each arm; got {shown(centres)}")
        self.variance = _positive("variance", variance)
        low, high = _per_arm("low", low, self.centres.size), _per_arm("high", high, self.centres.size)
        deviation = np.sqrt(self.variance)
        start, end = (low - self.centres) / deviation, (high - self.centres) / deviation
        inside = special.ndtr(end) - special.ndtr(start)
        slope = (np.exp(-0.5 * start**2) - np.exp(-0.5 * end**2)) / np.sqrt(2.0 * np.pi)
        means = low * special.ndtr(start) + high * special.ndtr(-end) + self.centres * inside + deviation * slope
        super().__init__(np.clip(means, low, high), low=low, high=high)

    def reward(self, arms: Integers, u: Floats) -> Floats:
        """The quantile of the Gaussian distribution, clipped."""
        drawn = self.centres[arms] + np.sqrt(self.variance) * special.ndtri(u)
        return np.clip(drawn, self.low[arms], self.high[arms])


class Table(Environment):
    """Rewards drawn from a list of values for each arm, for example the rewards seen in a trial.

    Parameters
    ----------
    values
        One sequence of rewards for each arm; lengths may differ.
    weights
        How likely each value is (they are scaled to sum to 1); equally likely by default.
    low, high
        Range of the rewards; by default from the smallest value of all to the largest.

    Examples
    --------
    >>> from meanbounds.simulation import Table
    >>> Table([[0, 1], [0.5, 0.7]], weights=[[1, 9], [1, 1]]).means
    array([0.9, 0.6])
    """

    parameters = ("values", "weights")
    values: tuple[Floats, ...]
    weights: tuple[Floats, ...]

    def __init__(
        self,
        values: Sequence[ArrayLike],
        *,
        weights: Sequence[ArrayLike] | None = None,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
    ) -> None:
        lists = as_list("values", values)
        shares = [None] * len(lists) if weights is None else as_list("weights", weights)
        if not lists or len(lists) != len(shares):
            raise ValueError(f"give as many lists of weights as of values; got {len(shares)} and {len(lists)}")
        pairs = [_distribution(k, *pair) for k, pair in enumerate(zip(lists, shares, strict=True))]
        self.values, self.weights = tuple(v for v, _ in pairs), tuple(w for _, w in pairs)
        # A mean of equal values may be rounded to a number above all of them.
        means = [np.clip(w @ v, v[0], v[-1]) for v, w in pairs]
        least, most = min(v[0] for v in self.values), max(v[-1] for v in self.values)
        super().__init__(means, low=least if low is None else low, high=most if high is None else high)
        for k, (v, start, end) in enumerate(zip(self.values, self.low, self.high, strict=True)):
            if v[0] < start or v[-1] > end:
                raise ValueError(f"arm {k}: values from {v[0]} to {v[-1]} leave the range [{start}, {end}]")
        self._all = np.concatenate(self.values)
        self._ends = np.cumsum([v.size for v in self.values]) - 1  # of the values of each arm among all
        self._below = np.concatenate([k + np.append(np.cumsum(w)[:-1], 1.0) for k, w in enumerate(self.weights)])

    def reward(self, arms: Integers, u: Floats) -> Floats:
        """The quantile: the smallest value such that the values up to it are more likely than this number."""
        return self._all[np.minimum(np.searchsorted(self._below, arms + u, side="right"), self._ends[arms])]


LAWS: dict[str, Callable[..., Environment]] = {
    "two-point": Bernoulli,
    "uniform": Uniform,
    "beta": Beta,
    "clipped-gaussian": ClippedGaussian,
}
"""Reward laws by name, for `Linear`."""


class Linear(Environment):
    """Arms with features, whose means are ``offset + features . theta``; some of them are on offer in each round.

    Parameters
    ----------
    features
        One row for each arm.
    theta
        The parameter that a policy has to learn.
    offered
        How many arms are drawn at random in each round, the same ones for every policy; None for all.
    law
        How rewards are distributed: a name in `LAWS`, or an environment's class or another function that makes one of
        means, ``low=`` and ``high=``. ``"two-point"`` (the ends of the range), ``"uniform"`` and ``"beta"`` have
        exactly these means. ``"clipped-gaussian"`` is the paper's: Gaussian around the mean, then clipped to the range.
    low, high
        Range of the rewards; by default that of the paper, [0, 1] for an arm with a positive mean and [-1, 0] else.
    offset
        The known part of each arm's mean, one number for all arms or one for each.

    Attributes
    ----------
    rewards
        The environment that pays. With ``"clipped-gaussian"`` its means are others, because clipping moves them. Regret
        is nevertheless computed from the linear means, as the paper prints it.

    Examples
    --------
    >>> from meanbounds.simulation import Linear
    >>> environment = Linear([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]], theta=[0.5, 0.5], offered=2)
    >>> environment.means.round(3), environment.low
    (array([ 0.5,  0.7, -0.5]), array([ 0.,  0., -1.]))
    >>> environment.offers(seed=7, runs=[0, 1], round=1).tolist()  # positions of the arms on offer in each run
    [[2, 1], [0, 2]]
    """

    parameters = ("features", "theta", "offset", "offered", "law", "rewards")

    def __init__(
        self,
        features: ArrayLike,
        theta: ArrayLike,
        *,
        offered: int | None = None,
        law: str | Callable[..., Environment] = "two-point",
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        offset: ArrayLike = 0.0,
    ) -> None:
        rows, parameter = as_floats("features", features).copy(), as_floats("theta", theta).copy()
        if rows.ndim != 2 or parameter.shape != (rows.shape[1],) or not parameter.size:
            raise ValueError(f"features must have the shape (arms, {parameter.size}), as theta has; got {rows.shape}")
        known = _per_arm("offset", offset, len(rows))
        for name, array in (("features", rows), ("theta", parameter), ("offset", known)):
            if not np.all(np.abs(array) < LARGEST):
                raise ValueError(f"{name} must be finite numbers; got {shown(array.tolist())}")
        means = known + rows @ parameter
        if low is None and high is None:
            low = np.where(means > 0.0, 0.0, -1.0)
            high = low + 1.0
            for k in np.flatnonzero(np.abs(means) > 1.0):
                raise ValueError(f"arm {k}: its mean {means[k]} is outside [-1, 1]; give low= and high=")
        super().__init__(means, low=0.0 if low is None else low, high=1.0 if high is None else high)
        if isinstance(law, str) and law not in LAWS:
            raise ValueError(unknown("law", law, list(LAWS)))
        self.features, self.theta, self.offset = rows, parameter, known
        self.offered = None if offered is None else as_whole("offered", offered, most=len(rows))
        self.law = law if isinstance(law, str) else getattr(law, "__name__", shown(law))
        self.rewards = (LAWS[law] if isinstance(law, str) else law)(self.means, low=self.low, high=self.high)

    def reward(self, arms: Integers, u: Floats) -> Floats:
        """Rewards by the law."""
        return self.rewards.reward(arms, u)

    def arms(self, bounds: MeanBounds | None = None) -> LinearArms:
        """What a linear policy knows of the arms: features, offset, and bounds on the means, by default vacuous."""
        if bounds is None:
            bounds = MeanBounds.vacuous(len(self), low=self.low, high=self.high)
        return LinearArms(self.features, bounds, offset=self.offset)

    def offers(self, seed: int, runs: ArrayLike, round: int) -> Integers:
        """Positions of the arms on offer in this round, counted from 1: a row for each of these runs.

        They are drawn without replacement (Fisher and Yates), and follow from seed, run and round alone.
        """
        keys = child(stream(seed, runs, "offers"), round)
        order = np.tile(np.arange(len(self)), (len(keys), 1))
        if self.offered is None:
            return order
        flat, places = order.reshape(-1), np.arange(self.offered)
        others = places + (uniform(keys[:, None], places) * (len(self) - places)).astype(np.int64)
        for k, other in enumerate(others.T + np.arange(0, flat.size, len(self))):
            drawn = flat[other]
            flat[other] = order[:, k]
            order[:, k] = drawn
        return order[:, : self.offered]


class Changing(Environment):
    """An environment that becomes another one in some round, and perhaps another one later.

    Regret is measured against the best arm of the moment. The n-th reward of an arm in a run is drawn with the same
    random number in every stage, so comparisons stay paired. Policies are not told of the change.

    Parameters
    ----------
    stages
        Pairs of a round and the environment that pays from that round on: ``[(1, before), (5_001, after)]``. Rounds are
        counted from 1. All have the same number of arms. The range of an arm's rewards is the smallest that contains
        those of all stages; means and gaps are those of the first.

    Examples
    --------
    >>> import meanbounds as mb
    >>> environment = mb.simulation.Changing([(1, mb.Bernoulli([0.9, 0.5])), (1_001, mb.Bernoulli([0.3, 0.5]))])
    >>> regret = mb.simulate(mb.UCB(), environment, horizon=2_000, runs=20, seed=7, checkpoints=[1_000, 2_000])
    >>> before, after = regret.mean["UCB"]
    >>> bool(before < 60 and after > before + 40)  # the old best arm has to be unlearnt
    True
    """

    parameters = ("stages",)
    stages: tuple[tuple[int, Environment], ...]

    def __init__(self, stages: Iterable[tuple[int, Environment]]) -> None:
        pairs = as_list("stages", stages)
        if not pairs or not all(_is_stage(pair) for pair in pairs):
            raise TypeError(
                f"stages must be pairs of a round and an environment that offers the same arms in each round, such as "
                f"[(1, mb.Bernoulli([0.9])), (5_001, mb.Bernoulli([0.2]))]; got {shown(stages)}"
            )
        self.stages = tuple((as_whole("the first round of a stage", first), own) for first, own in pairs)
        starts, environments = [first for first, _ in self.stages], [own for _, own in self.stages]
        if starts[0] != 1 or any(later <= first for first, later in itertools.pairwise(starts)):
            raise ValueError(f"stages must start in round 1, and each later than the one before; got {starts}")
        if len({len(own) for own in environments}) > 1:
            raise ValueError(f"all stages need the same number of arms; got {[len(own) for own in environments]}")
        low = np.min([own.low for own in environments], axis=0)
        super().__init__(environments[0].means, low=low, high=np.max([own.high for own in environments], axis=0))

    def reward(self, arms: Integers, u: Floats) -> Floats:
        """Rewards of the first stage; `at` has the others."""
        return self.stages[0][1].reward(arms, u)

    def at(self, round: int) -> Environment:
        """The environment that pays in this round, counted from 1."""
        return next(own for first, own in reversed(self.stages) if first <= round)

    def gaps_from(self, round: int) -> tuple[Floats, int]:
        """The gaps from this round on, and the next round from which on they are others: 0 for never."""
        return self.at(round).gaps, next((first for first, _ in self.stages if first > round), 0)


def _is_stage(pair: Any) -> bool:
    """Whether this is a round and an environment in which all arms are on offer and nothing changes."""
    own = pair[1] if isinstance(pair, tuple | list) and len(pair) == 2 else None
    return isinstance(own, Environment) and not isinstance(own, Changing) and getattr(own, "offered", None) is None


def _per_arm(name: str, value: ArrayLike, arms: int) -> Floats:
    """One number for each arm, from one for all or one for each."""
    numbers = as_floats(name, value)
    if numbers.shape not in ((), (1,), (arms,)):
        raise ValueError(f"{name} must be one number, or one for each of the {arms} arms; got shape {numbers.shape}")
    return np.broadcast_to(numbers, arms).copy()


def _plain(value: Any) -> Any:
    """A parameter in values that JSON can hold."""
    if isinstance(value, Environment):
        return value.settings()
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_plain(part) for part in value] if isinstance(value, tuple | list) else value


def _positive(name: str, value: float) -> float:
    """A positive number whose root and quotients stay finite."""
    number = as_float(name, value)
    if not 0.0 < number < LARGEST:
        raise ValueError(f"{name} must be a positive number below {LARGEST:g}; got {shown(value)}")
    return number


def _distribution(arm: int, values: Any, weights: Any) -> tuple[Floats, Floats]:
    """The values of an arm that can occur, in ascending order, and their probabilities."""
    v = as_floats(f"arm {arm}: values", values).ravel()
    w = np.ones(v.size) if weights is None else as_floats(f"arm {arm}: weights", weights).ravel()
    if v.size == 0 or not np.all(np.abs(v) < LARGEST):
        raise ValueError(f"arm {arm}: values must be finite numbers, at least one; got {shown(values)}")
    if v.size != w.size or not (np.all((w >= 0.0) & (w < np.inf)) and np.any(w > 0.0)):
        raise ValueError(
            f"arm {arm}: weights must be one for each of its {v.size} values, none negative and not all 0; got "
            f"{shown(weights)}"
        )
    order = np.argsort(v, kind="stable")
    v, w = v[order][w[order] > 0.0], w[order][w[order] > 0.0]
    w = w / w.max()  # sums of very large weights stay finite
    return v, w / w.sum()
