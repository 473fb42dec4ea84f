"""Environments: where rewards come from in a simulation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.kernels.random import rewards as kinds
from meanbounds.kernels.random.rewards import Rewards
from meanbounds.support.checks import (
    LARGEST,
    SMALLEST_WIDTH,
    as_float,
    as_floats,
    as_list,
    check_choice,
    fits_range,
    shown,
)
from meanbounds.support.types import Floats

__all__ = ["Bernoulli", "Beta", "Environment", "Linear", "Table", "Uniform"]


@dataclass(frozen=True, eq=False)
class Environment(ABC):
    """Base of all environments: independent rewards of each arm, with known means.

    Use `Bernoulli`, `Uniform`, `Beta`, `Table` or `Linear`, or define `rewards` in a class of your own.

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
    >>> isinstance(environment, mb.Environment), len(environment), environment.gaps
    (True, 2, array([1.5, 0. ]))
    >>> mb.Uniform([0.5, 1.2])
    Traceback (most recent call last):
    ValueError: arm 1: its mean 1.2 is not inside its reward range [0.0, 1.0]
    """

    means: Floats
    low: Floats
    high: Floats

    def __init__(self, means: ArrayLike, *, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> None:
        given, means = means, as_floats("means", means).copy()
        if means.ndim != 1 or means.size == 0:
            raise ValueError(f"means must be a sequence with one number per arm; got {shown(given)}")
        low, high = (_per_arm(name, end, means.size) for name, end in (("low", low), ("high", high)))
        for k in np.flatnonzero(~fits_range(low, high)):
            raise ValueError(
                f"arm {k}: the reward range [{low[k]}, {high[k]}] must be finite, with low below high, at least "
                f"{SMALLEST_WIDTH:g} wide, and between {-LARGEST:g} and {LARGEST:g}"
            )
        for k in np.flatnonzero(~((low <= means) & (means <= high))):
            raise ValueError(f"arm {k}: its mean {means[k]} is not inside its reward range [{low[k]}, {high[k]}]")
        for name, array in (("means", means), ("low", low), ("high", high)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return int(self.means.size)

    @property
    def gaps(self) -> Floats:
        """How far each arm's mean is below the best one: the regret of playing it once, in reward units."""
        gaps: Floats = self.means.max() - self.means
        return gaps

    @abstractmethod
    def rewards(self, low: Floats, high: Floats) -> Rewards:
        """The distribution of the rewards in the form that kernels take; each environment defines this.

        Parameters
        ----------
        low, high
            Ranges, one entry for each arm, that contain the environment's own; rewards are expressed in units of these.
        """

    def settings(self) -> dict[str, Any]:
        """The parameters of the environment, in values that JSON can hold; a simulation keeps them with its result.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Bernoulli([0.9, 0.8]).settings()
        {'kind': 'Bernoulli', 'means': [0.9, 0.8], 'low': [0.0, 0.0], 'high': [1.0, 1.0]}
        """
        return {
            "kind": type(self).__name__,
            "means": self.means.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
        }


_NO_ATOMS = np.zeros((3, 0))
_SMALLEST_SHAPE = 1e-300  # of a beta variable: the logarithm of a smaller one's gamma variable may be infinite


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

    def rewards(self, low: Floats, high: Floats) -> Rewards:
        """For each arm: probability of a success, value of a failure, value of a success.

        Examples
        --------
        >>> import numpy as np
        >>> import meanbounds as mb
        >>> law = mb.Bernoulli([0.9, 0.8]).rewards(low=np.array([0.0, 0.0]), high=np.array([1.0, 2.0]))
        >>> law.parameters  # the second arm pays 1 in a range up to 2: half of it
        array([[0.9, 0.8],
               [0. , 0. ],
               [1. , 0.5]])
        """
        span = high - low
        share = (self.means - self.low) / (self.high - self.low)
        rows = np.array([share, (self.low - low) / span, (self.high - low) / span])
        return Rewards(kinds.BERNOULLI, rows, _NO_ATOMS)


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
    Rewards between 0.8 and 1, and between 0 and 1:

    >>> import meanbounds as mb
    >>> mb.Uniform([0.9, 0.5]).gaps.round(3)
    array([0. , 0.4])
    """

    def rewards(self, low: Floats, high: Floats) -> Rewards:
        """For each arm: start and width of its interval.

        Examples
        --------
        >>> import numpy as np
        >>> import meanbounds as mb
        >>> mb.Uniform([0.75, 0.5]).rewards(low=np.zeros(2), high=np.ones(2)).parameters
        array([[0.5, 0. ],
               [0.5, 1. ]])
        """
        reach = np.minimum(self.means - self.low, self.high - self.means)
        rows = np.array([self.means - reach - low, 2.0 * reach]) / (high - low)
        return Rewards(kinds.UNIFORM, rows, _NO_ATOMS)


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
    >>> import meanbounds as mb
    >>> mb.Beta([3.5, 2.0], concentration=8.0, low=1.0, high=5.0).gaps
    array([0. , 1.5])
    """

    concentration: float

    def __init__(
        self, means: ArrayLike, *, concentration: float = 5.0, low: ArrayLike = 0.0, high: ArrayLike = 1.0
    ) -> None:
        super().__init__(means, low=low, high=high)
        for k in np.flatnonzero((self.means == self.low) | (self.means == self.high)):
            raise ValueError(f"arm {k}: a beta reward's mean is strictly inside its range; got {self.means[k]}")
        object.__setattr__(self, "concentration", _positive("concentration", concentration))
        for k in np.flatnonzero(self._shapes().min(axis=0) < _SMALLEST_SHAPE):
            raise ValueError(
                f"arm {k}: its mean {self.means[k]} is too close to an end of its range for concentration="
                f"{self.concentration}; give a larger one, or use Bernoulli"
            )

    def rewards(self, low: Floats, high: Floats) -> Rewards:
        """For each arm: both shape parameters, start and width of the range."""
        rows = np.array([*self._shapes(), (self.low - low) / (high - low), (self.high - self.low) / (high - low)])
        return Rewards(kinds.BETA, rows, _NO_ATOMS)

    def _shapes(self) -> Floats:
        """Both shape parameters of each arm."""
        share = (self.means - self.low) / (self.high - self.low)
        return np.array([share * self.concentration, (1.0 - share) * self.concentration])

    def settings(self) -> dict[str, Any]:
        """The parameters, with the concentration.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Beta([0.5], concentration=8.0).settings()["concentration"]
        8.0
        """
        return {**super().settings(), "concentration": self.concentration}


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
    >>> import meanbounds as mb
    >>> mb.Table([[0, 1, 1, 1], [0.5, 0.7]], low=0, high=1).means
    array([0.75, 0.6 ])
    >>> mb.Table([[0, 1], [0.5, 0.7]], weights=[[1, 9], [1, 1]]).means
    array([0.9, 0.6])
    """

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
        lists = [as_floats(f"arm {k}: values", v).ravel() for k, v in enumerate(as_list("values", values))]
        if not lists:
            raise ValueError("values must be one list of rewards for each arm, at least one; got none")
        shares = _weights(weights, lists)
        for k, v in enumerate(lists):
            if v.size == 0 or not np.all(np.abs(v) < LARGEST):
                raise ValueError(
                    f"arm {k}: values must be finite numbers, at least one, between {-LARGEST:g} and {LARGEST:g}; got "
                    f"{shown(v.tolist())}"
                )
        smallest, largest = min(v.min() for v in lists), max(v.max() for v in lists)
        # A mean of equal values may be rounded to a number above all of them.
        means = [np.clip(np.average(v, weights=w), v.min(), v.max()) for v, w in zip(lists, shares, strict=True)]
        super().__init__(means, low=smallest if low is None else low, high=largest if high is None else high)
        for k, v in enumerate(lists):
            if v.min() < self.low[k] or v.max() > self.high[k]:
                raise ValueError(
                    f"arm {k}: values from {v.min()} to {v.max()} leave the range [{self.low[k]}, {self.high[k]}]"
                )
        object.__setattr__(self, "values", tuple(v.copy() for v in lists))
        object.__setattr__(self, "weights", tuple(w / w.sum() for w in shares))

    def rewards(self, low: Floats, high: Floats) -> Rewards:
        """For each arm its first entry and number of entries; for each entry its value, keep probability and alias."""
        sizes = [v.size for v in self.values]
        starts = np.cumsum([0, *sizes])[:-1]
        atoms = [
            [(v - low[k]) / (high[k] - low[k]), *_alias(w, starts[k])]
            for k, (v, w) in enumerate(zip(self.values, self.weights, strict=True))
        ]
        return Rewards(kinds.TABLE, np.array([starts, sizes], dtype=np.float64), np.hstack(atoms))

    def settings(self) -> dict[str, Any]:
        """The parameters, with the values and their weights, which sum to 1.

        Examples
        --------
        >>> import meanbounds as mb
        >>> settings = mb.Table([[0, 1]], weights=[[1, 3]]).settings()
        >>> settings["values"], settings["weights"]
        ([[0.0, 1.0]], [[0.25, 0.75]])
        """
        lists = {"values": self.values, "weights": self.weights}
        return {
            **super().settings(),
            **{name: [part.tolist() for part in parts] for name, parts in lists.items()},
        }


class Linear(Environment):
    """Arms with features, whose means are ``offset + features . theta``; some of them are on offer in each round.

    Parameters
    ----------
    features
        One row for each arm.
    theta
        The parameter that a policy has to learn.
    offered
        How many arms are drawn at random in each round, the same ones for every policy; None for all. Or a table of
        positions of arms, a row for each round, which starts again from the top when it ends.
    rewards
        Distribution of the rewards. ``"two-point"`` (the ends of the range), ``"uniform"`` and ``"beta"`` have exactly
        these means. ``"clipped-gaussian"`` (the paper) is a Gaussian variable around the mean, clipped to the range,
        which moves its mean; regret is still computed from the linear means, as in the paper.
    low, high
        Range of the rewards; by default that of the paper, [0, 1] for an arm with a positive mean and [-1, 0] else.
    offset
        The known part of each arm's mean, one number for all arms or one for each.
    concentration
        Concentration of beta rewards, see `Beta`.
    variance
        Variance of Gaussian rewards before they are clipped.

    Examples
    --------
    >>> import meanbounds as mb
    >>> environment = mb.Linear([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]], theta=[0.5, 0.5], offered=2)
    >>> environment.means.round(3), environment.low
    (array([ 0.5,  0.7, -0.5]), array([ 0.,  0., -1.]))
    >>> regret = mb.simulate({"OFUL": mb.OFUL()}, environment, mb.MeanBounds(
    ...     [0.0, 0.0, -1.0], [1.0, 1.0, 0.0], low=environment.low, high=environment.high), horizon=100, runs=5, seed=7)
    >>> bool(regret.final["OFUL"].mean() < 100 * environment.gaps.mean())  # less than choosing at random
    True
    """

    features: Floats
    theta: Floats
    offset: Floats
    offered: int | NDArray[np.int64] | None
    law: str
    concentration: float
    variance: float

    def __init__(
        self,
        features: ArrayLike,
        theta: ArrayLike,
        *,
        offered: int | ArrayLike | None = None,
        rewards: str = "two-point",
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        offset: ArrayLike = 0.0,
        concentration: float = 5.0,
        variance: float = 0.8,
    ) -> None:
        rows, parameter = as_floats("features", features).copy(), as_floats("theta", theta).copy()
        if rows.ndim != 2 or parameter.shape != (rows.shape[1],) or not parameter.size:
            raise ValueError(
                f"features need a row for each arm and a column for each entry of theta; got shapes {rows.shape} "
                f"and {parameter.shape}"
            )
        known = _per_arm("offset", offset, len(rows))
        for name, array in (("features", rows), ("theta", parameter), ("offset", known)):
            if not np.all(np.abs(array) < LARGEST):
                raise ValueError(
                    f"{name} must be finite numbers between {-LARGEST:g} and {LARGEST:g}; got {shown(array.tolist())}"
                )
        means = known + rows @ parameter
        if low is None and high is None:
            low = np.where(means > 0.0, 0.0, -1.0)
            high = low + 1.0
            for k in np.flatnonzero(np.abs(means) > 1.0):
                raise ValueError(f"arm {k}: its mean {means[k]} is outside [-1, 1]; give low= and high=")
        super().__init__(means, low=0.0 if low is None else low, high=1.0 if high is None else high)
        check_choice("rewards", rewards, _LAWS)
        parts = {"features": rows, "theta": parameter, "offset": known, "offered": _offers(offered, len(rows))}
        numbers = {
            "concentration": _positive("concentration", concentration),
            "variance": _positive("variance", variance),
        }
        for name, value in {**parts, **numbers, "law": rewards}.items():
            object.__setattr__(self, name, value)
        _LAWS[rewards](self)  # refuses means that this distribution cannot have

    def rewards(self, low: Floats, high: Floats) -> Rewards:
        """The distribution named by the parameter `rewards`, which is kept as `law`."""
        return _LAWS[self.law](self).rewards(low, high)

    def settings(self) -> dict[str, Any]:
        """The parameters, with features, theta and the arms on offer.

        Examples
        --------
        >>> import meanbounds as mb
        >>> settings = mb.Linear([[1.0, 0.0], [0.6, 0.8]], theta=[0.5, 0.5], offered=1).settings()
        >>> settings["theta"], settings["offered"], settings["rewards"]
        ([0.5, 0.5], 1, 'two-point')
        """
        offered = self.offered.tolist() if isinstance(self.offered, np.ndarray) else self.offered
        arrays = {name: getattr(self, name).tolist() for name in ("features", "theta", "offset")}
        numbers = {"concentration": self.concentration, "variance": self.variance}
        return {**super().settings(), **arrays, "offered": offered, "rewards": self.law, **numbers}


class _ClippedGaussian(Environment):
    """Gaussian variables around the given means, clipped to the range; the means are those before clipping."""

    variance: float

    def __init__(self, means: ArrayLike, variance: float, low: ArrayLike, high: ArrayLike) -> None:
        super().__init__(means, low=low, high=high)
        object.__setattr__(self, "variance", variance)

    def rewards(self, low: Floats, high: Floats) -> Rewards:
        """For each arm: mean and standard deviation before clipping, and both ends of the range."""
        span = high - low
        ends = [(self.low - low) / span, (self.high - low) / span]
        rows = np.array([(self.means - low) / span, np.sqrt(self.variance) / span, *ends])
        return Rewards(kinds.CLIPPED, rows, _NO_ATOMS)


_LAWS: dict[str, Callable[[Linear], Environment]] = {
    "two-point": lambda e: Bernoulli(e.means, low=e.low, high=e.high),
    "uniform": lambda e: Uniform(e.means, low=e.low, high=e.high),
    "beta": lambda e: Beta(e.means, concentration=e.concentration, low=e.low, high=e.high),
    "clipped-gaussian": lambda e: _ClippedGaussian(e.means, e.variance, e.low, e.high),
}


def _per_arm(name: str, value: ArrayLike, arms: int) -> Floats:
    """One number for each arm, from one for all or one for each."""
    numbers = as_floats(name, value)
    if numbers.shape not in ((), (1,), (arms,)):
        raise ValueError(f"{name} must be one number, or one for each of the {arms} arms; got shape {numbers.shape}")
    return np.broadcast_to(numbers, arms).copy()


def _positive(name: str, value: float) -> float:
    """A positive number whose root and quotients stay finite."""
    number = as_float(name, value)
    if not 0.0 < number < LARGEST:
        raise ValueError(f"{name} must be a positive number below {LARGEST:g}; got {shown(value)}")
    return number


def _weights(weights: Sequence[ArrayLike] | None, lists: Sequence[Floats]) -> list[Floats]:
    """How likely each value of each arm is, in any unit in which sums and products with values stay finite."""
    if weights is None:
        return [np.ones_like(v) for v in lists]
    shares = [as_floats(f"arm {k}: weights", w) for k, w in enumerate(as_list("weights", weights))]
    if len(shares) != len(lists):
        raise ValueError(f"{len(shares)} lists of weights for {len(lists)} arms")
    for k, (v, w) in enumerate(zip(lists, shares, strict=True)):
        if v.shape != w.shape or not (np.all((w >= 0.0) & (w < np.inf)) and np.any(w > 0.0)):
            raise ValueError(
                f"arm {k}: weights must be one for each of its {v.size} values, none negative and not all 0; got "
                f"{shown(w.tolist())}"
            )
        if not 1.0 / LARGEST < w.max() < LARGEST:
            shares[k] = w / w.max()
    return shares


def _offers(offered: int | ArrayLike | None, arms: int) -> int | NDArray[np.int64] | None:
    """Check `offered`: a number of arms, a table of positions, or None for all."""
    if offered is None:
        return None
    try:
        as_floats("offered", offered)  # refuses whatever is no number
        given = np.asarray(offered)
    except ValueError:
        given = np.zeros(0)
    if given.ndim == 0 and np.issubdtype(given.dtype, np.integer) and 1 <= given <= arms:
        return int(given)
    places = given.ndim == 2 and given.size > 0 and np.issubdtype(given.dtype, np.integer)
    if not places or given.min() < 0 or given.max() >= arms:
        raise ValueError(
            f"offered must be a number of arms from 1 to {arms}, None for all, or a table of arms' places with a row "
            f"for each round, all of one length; got {shown(offered)}"
        )
    for t, row in enumerate(given):
        if len(set(row.tolist())) < len(row):
            raise ValueError(f"offered: row {t} has an arm twice: {row.tolist()}")
    return np.ascontiguousarray(given, dtype=np.int64)


def _alias(weights: Floats, start: int) -> tuple[Floats, NDArray[np.int64]]:
    """Walker's alias method: probability of keeping each entry, and the entry taken otherwise, counted from `start`."""
    keep = weights * weights.size
    alias = np.arange(weights.size)
    poor = [int(k) for k in np.flatnonzero(keep < 1.0)]
    rich = [int(k) for k in np.flatnonzero(keep >= 1.0)]
    while poor and rich:
        taker, giver = poor.pop(), rich[-1]
        alias[taker] = giver
        keep[giver] -= 1.0 - keep[taker]
        if keep[giver] < 1.0:
            poor.append(rich.pop())
    keep[poor + rich] = 1.0
    return keep, alias + start
