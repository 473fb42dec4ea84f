"""Bounds on the mean reward of each arm, and the range that the arm's rewards lie in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.subgaussian import variance_proxy_from_bounds
from meanbounds.support.checks import (
    LARGEST,
    SMALLEST_WIDTH,
    as_float,
    as_floats,
    as_mapping,
    as_positions,
    is_whole,
    shown,
    unknown,
    within,
)
from meanbounds.support.saving import Saved

__all__ = ["EXPERT", "Arm", "BoundsError", "Expert", "MeanBounds", "RewardError", "UnknownArmError"]


class Expert(Enum):
    """The type of `EXPERT`, the arm that means: ask the people who decided until now."""

    EXPERT = "expert"

    def __repr__(self) -> str:
        return "EXPERT"


EXPERT = Expert.EXPERT
"""An arm that is no option but the experts: whoever pulls it lets them choose one. JSON has ``{"expert": true}``."""

Arm = str | int | Expert
"""The name of an arm."""

_MOST_ARMS = 10**8  # that `vacuous` makes names for: more is a mistake, and would fill the memory


_SAVED = ("arms", "lower", "upper", "low", "high")  # entries of saved bounds


class BoundsError(ValueError):
    """Raised for bounds that cannot hold; the message names the arm and the numbers.

    Two kinds of bounds are refused: those that are wrong by themselves (lower above upper, outside the reward range,
    not a number), and those that contradict other bounds on the same arm.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.MeanBounds([0.7, 0.5], [0.9, 0.4], arms=["tPA", "watch"])
    Traceback (most recent call last):
    meanbounds.bounds.BoundsError: arm 'watch': lower=0.5 is above upper=0.4
    """


class UnknownArmError(LookupError):
    """Raised for the name of an arm that does not exist; the message lists the names that do.

    It is a `LookupError`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.7, 0.4], [0.9, 0.6], arms=["tPA", "watch"]), seed=7)
    >>> agent.update("tpa", 1.0)
    Traceback (most recent call last):
    meanbounds.bounds.UnknownArmError: unknown arm 'tpa', did you mean 'tPA'? The arms are 'tPA', 'watch'
    """


class RewardError(ValueError):
    """Raised for a reward that is not a number, or lies outside the arm's reward range. The agent stays as it was.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.7, 0.4], [0.9, 0.6], arms=["tPA", "watch"]), seed=7)
    >>> agent.update("tPA", 5)
    Traceback (most recent call last):
    meanbounds.bounds.RewardError: arm 'tPA': the reward 5 is not a number in its range [0.0, 1.0]. Rewards in ...
    """


@dataclass(frozen=True, eq=False)
class MeanBounds(Saved):
    """A lower and an upper bound on each arm's mean reward: ``lower <= mean <= upper``.

    Policies start from these bounds instead of from nothing. An arm whose upper bound is below another arm's lower
    bound cannot be best, so it never has to be tried; bounds near an end of the reward range also mean that rewards
    vary less, so the arm needs less exploration.

    Parameters
    ----------
    lower, upper
        Bounds on the mean of each arm, in the units of the reward. One sequence with an entry for each arm, or one
        number for all arms if the other is a sequence.
    arms
        Names of the arms, strings or integers; 0, 1, 2, ... by default. `EXPERT` among them means that the agent may
        also ask the experts; its mean is theirs.
    low, high
        The range of the rewards, in the units of the reward: one number for all arms or one for each. Rewards are in
        [0, 1] by default. A range is at least 1e-150 wide and lies between -1e150 and 1e150.

    Raises
    ------
    BoundsError
        If the bounds cannot hold; it must be that ``low <= lower <= upper <= high``.

    Examples
    --------
    Three treatments, with the chance of recovery as the mean. Watching recovers at most 60%, tPA at least 70%:

    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.7, 0.2, 0.4], [0.95, 0.9, 0.6], arms=["tPA", "medical", "watch"])
    >>> bounds.best_lower
    0.7
    >>> bounds.possible
    array([ True,  True, False])
    >>> bounds.subset(bounds.possible).arms
    ('tPA', 'medical')

    Ratings from 1 to 5 stars:

    >>> mb.MeanBounds([2.5, 3.0], [4.0, 4.5], low=1.0, high=5.0)
    MeanBounds([2.5, 3.0], [4.0, 4.5], low=1.0, high=5.0)
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    arms: tuple[Arm, ...]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    _position: dict[Arm, int] = field(repr=False)

    def __init__(
        self,
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        arms: Iterable[Arm] | None = None,
        low: ArrayLike = 0.0,
        high: ArrayLike = 1.0,
    ) -> None:
        columns = {"lower": lower, "upper": upper, "low": low, "high": high}
        arrays = {name: _column(name, value) for name, value in columns.items()}
        size = max((a.size for a in (arrays["lower"], arrays["upper"]) if a.ndim), default=0)
        if size == 0:
            raise BoundsError("bounds need at least one arm: give lower and upper as sequences, one entry per arm")
        names = _names(arms, size)
        for name, array in arrays.items():
            _check_size(name, array, size)
            full = np.broadcast_to(array, size).copy()
            full.flags.writeable = False
            object.__setattr__(self, name, full)
        object.__setattr__(self, "arms", names)
        object.__setattr__(self, "_position", {arm: k for k, arm in enumerate(names)})
        lists = (getattr(self, name).tolist() for name in ("lower", "upper", "low", "high"))
        for arm, *numbers in zip(names, *lists, strict=True):
            _check(arm, *numbers)

    @classmethod
    def vacuous(cls, arms: int | Iterable[Arm], *, low: ArrayLike = 0.0, high: ArrayLike = 1.0) -> Self:
        """Bounds that say nothing: each mean is somewhere in its reward range.

        Parameters
        ----------
        arms
            How many arms there are, or their names.
        low, high
            The range of the rewards: one number for all arms or one for each.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.MeanBounds.vacuous(["old", "new"], high=[1.0, 10.0])
        MeanBounds([0.0, 0.0], [1.0, 10.0], arms=['old', 'new'], low=0.0, high=[1.0, 10.0])
        """
        names = _listed(arms) if isinstance(arms, Iterable) else _numbered(arms)
        ends = {"low": _column("low", low), "high": _column("high", high)}
        for name, end in ends.items():
            _check_size(name, end, len(names))
        lower, upper = (np.broadcast_to(end, len(names)) for end in ends.values())
        return cls(lower, upper, arms=names, **ends)

    def __len__(self) -> int:
        return len(self.arms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeanBounds) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.arms, *self.lower.tolist(), *self.upper.tolist(), *self.low.tolist(), *self.high.tolist()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        def show(values: NDArray[np.float64]) -> str:
            same = values.size and np.all(values == values[0])
            return repr(float(values[0])) if same else repr(values.tolist())

        arms = "" if self.arms == tuple(range(len(self))) else f", arms={list(self.arms)}"
        unit = not self.low.any() and bool(np.all(self.high == 1.0))
        ends = "" if unit else f", low={show(self.low)}, high={show(self.high)}"
        return f"MeanBounds({self.lower.tolist()}, {self.upper.tolist()}{arms}{ends})"

    def position(self, arm: Arm) -> int:
        """The position of an arm in `arms`, counted from 0.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.MeanBounds([0.7, 0.4], [0.9, 0.6], arms=["tPA", "watch"]).position("watch")
        1
        """
        try:
            return self._position[arm]
        except (KeyError, TypeError):
            raise UnknownArmError(unknown("arm", arm, self.arms)) from None

    @property
    def best_lower(self) -> float:
        """The largest lower bound, l_max in the paper. The best arm's mean is at least this."""
        return float(self.lower.max())

    @property
    def possible(self) -> NDArray[np.bool_]:
        """For each arm, whether it has to be considered: it may be better than all others, or attains `best_lower`.

        The arm with the largest lower bound is at least as good as any arm whose upper bound is no larger, so leaving
        such arms out costs nothing.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.MeanBounds([0.7, 0.2, 0.4], [0.95, 0.8, 0.7]).possible  # arm 2 is at most as good as arm 0
        array([ True,  True, False])
        """
        possible: NDArray[np.bool_] = (self.upper > self.best_lower) | (self.lower == self.best_lower)
        return possible

    def contains(self, means: ArrayLike) -> NDArray[np.bool_]:
        """For each arm, whether a mean lies within its bounds, allowing for rounding errors.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.MeanBounds([0.1, 0.2], [0.3, 0.5]).contains([0.1 + 0.2, 0.6])  # 0.1 + 0.2 is 0.30000000000000004
        array([ True, False])
        """
        mu = as_floats("means", means)
        if mu.shape not in ((), self.lower.shape):
            raise ValueError(f"means must have one entry for each of {len(self)} arms; got shape {mu.shape}")
        slack = 1e-12 * (self.high - self.low + np.abs(self.low) + np.abs(self.high))
        return (mu >= self.lower - slack) & (mu <= self.upper + slack)

    def meta_pruned(self, best_mean: float) -> NDArray[np.bool_]:
        """For each arm, whether it survives pruning although its upper bound is below the best arm's true mean.

        A policy cannot recognise these arms in advance, but one that clips indices at the upper bounds plays them only
        a bounded number of times. The function is for simulations, where the true means are known.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.MeanBounds([0.7, 0.2, 0.4], [0.95, 0.8, 0.6]).meta_pruned(0.9)  # the third is pruned: 0.6 is below 0.7
        array([False,  True, False])
        """
        return self.possible & (self.upper < as_float("best_mean", best_mean))

    @property
    def variance_proxy(self) -> NDArray[np.float64]:
        """Each arm's variance proxy, from its own bounds and range (Corollary 3.1), in reward units squared.

        It is at most `worst_variance_proxy`, and smaller where the bounds exclude the middle of the range.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.MeanBounds([0.9, 0.1], [1.0, 0.8]).variance_proxy.round(3)
        array([0.182, 0.25 ])
        """
        return np.atleast_1d(variance_proxy_from_bounds(self.lower, self.upper, low=self.low, high=self.high))

    @property
    def worst_variance_proxy(self) -> NDArray[np.float64]:
        """Each arm's variance proxy from its reward range alone: ``(high - low)**2 / 4`` (Hoeffding's lemma).

        It holds whatever the mean is. UCB and B-UCB use it.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.MeanBounds([0.7, 1.0], [0.9, 3.0], low=0.0, high=[1.0, 4.0]).worst_variance_proxy
        array([0.25, 4.  ])
        """
        return (self.high - self.low) ** 2 / 4.0

    @property
    def best_variance_proxy(self) -> NDArray[np.float64]:
        """The variance proxy that each arm would have if it were the best one; GLUE uses it.

        The best arm's mean is at least `best_lower`, so the proxy is that of a mean between ``max(lower, best_lower)``
        and ``upper``. An arm that cannot be best keeps its own `variance_proxy`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = mb.MeanBounds([0.9, 0.1], [1.0, 1.0])
        >>> bounds.variance_proxy.round(3), bounds.best_variance_proxy.round(3)
        (array([0.182, 0.25 ]), array([0.182, 0.182]))
        """
        lower = np.where(self.possible, np.maximum(self.lower, self.best_lower), self.lower)
        return np.atleast_1d(variance_proxy_from_bounds(lower, self.upper, low=self.low, high=self.high))

    def subset(self, positions: Sequence[int] | NDArray[Any]) -> MeanBounds:
        """The bounds of some of the arms.

        Parameters
        ----------
        positions
            Positions of the arms to keep, in the order wanted, each once, or a mask with one entry for each arm. At
            least one arm is kept.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = mb.MeanBounds([0.7, 0.2, 0.4], [0.95, 0.9, 0.6], arms=["tPA", "medical", "watch"])
        >>> bounds.subset([2, 0])
        MeanBounds([0.4, 0.7], [0.6, 0.95], arms=['watch', 'tPA'])
        >>> bounds.subset(bounds.upper > 0.8).arms
        ('tPA', 'medical')
        """
        chosen = as_positions(positions, len(self))
        if not chosen.size:
            raise ValueError(f"positions: bounds need at least one arm; got {shown(positions)}")
        if np.unique(chosen).size < chosen.size:
            raise ValueError(f"positions: an arm is chosen twice in {shown(positions)}")
        columns = {name: getattr(self, name)[chosen] for name in ("lower", "upper", "low", "high")}
        return MeanBounds(**columns, arms=[self.arms[k] for k in chosen])

    def matching(self, other: MeanBounds) -> MeanBounds:
        """Other bounds on the same arms, put in the order of these; a BoundsError if arms or reward ranges differ.

        Examples
        --------
        >>> import meanbounds as mb
        >>> ours = mb.MeanBounds([0.1, 0.2], [0.8, 0.9], arms=["a", "b"])
        >>> ours.matching(mb.MeanBounds([0.4, 0.3], [0.6, 0.5], arms=["b", "a"]))
        MeanBounds([0.3, 0.4], [0.5, 0.6], arms=['a', 'b'])
        """
        check_bounds(other)
        if set(self.arms) != set(other.arms):
            pairs = (("first", self, other), ("second", other, self))
            odd = {which: [arm for arm in one.arms if arm not in two._position] for which, one, two in pairs}
            said = [f"only the {which} bounds have {shown(arms)}" for which, arms in odd.items() if arms]
            raise BoundsError(f"the arms differ: {', '.join(said)}")
        other = other.subset([other.position(arm) for arm in self.arms])
        for k, arm in enumerate(self.arms):
            if (self.low[k], self.high[k]) != (other.low[k], other.high[k]):
                raise BoundsError(
                    f"arm {arm!r}: the reward ranges differ: [{self.low[k]}, {self.high[k]}] "
                    f"and [{other.low[k]}, {other.high[k]}]"
                )
        return other

    def intersect(self, other: MeanBounds) -> MeanBounds:
        """The bounds that follow if two sets of bounds both hold; also written ``a & b``.

        Each arm gets the larger of the two lower bounds and the smaller of the two upper bounds. A BoundsError says
        where the two contradict each other, or where arms or ranges differ.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.MeanBounds([0.1], [0.8]) & mb.MeanBounds([0.3], [0.9])
        MeanBounds([0.3], [0.8])
        >>> mb.MeanBounds([0.1], [0.4]) & mb.MeanBounds([0.5], [0.9])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        meanbounds.bounds.BoundsError: arm 0: the two sets of bounds contradict each other: one says ...
        """
        other = self.matching(other)
        lower, upper = np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper)
        for k in np.flatnonzero(lower > upper).tolist():
            raise BoundsError(
                f"arm {self.arms[k]!r}: the two sets of bounds contradict each other: one says the mean is at least "
                f"{lower[k]}, the other at most {upper[k]}; at least one of them does not hold"
            )
        return MeanBounds(lower, upper, arms=self.arms, low=self.low, high=self.high)

    __and__ = intersect

    def to_dict(self) -> dict[str, Any]:
        """The bounds as plain lists that JSON can hold; `from_dict` is the inverse.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.MeanBounds([0.1], [0.4], arms=["a"]).to_dict()
        {'arms': ['a'], 'lower': [0.1], 'upper': [0.4], 'low': [0.0], 'high': [1.0]}
        """
        columns = {name: getattr(self, name).tolist() for name in ("lower", "upper", "low", "high")}
        return {"arms": plain_arms(self.arms), **columns}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the bounds that `to_dict` described; ``arms``, ``low`` and ``high`` may be left out."""
        data = as_mapping("saved bounds", data, error=BoundsError)
        missing = [name for name in ("lower", "upper") if name not in data]
        unknown = [str(name) for name in data if not (isinstance(name, str) and name in _SAVED)]
        if missing or unknown:
            said = [f"missing {', '.join(missing)}"] * bool(missing) + [f"unknown {', '.join(unknown)}"] * bool(unknown)
            raise BoundsError(f"bounds need lower and upper, and may have arms, low and high: {'; '.join(said)}")
        return cls(**data)


def plain_arms(arms: Iterable[Arm]) -> list[Any]:
    """Names of arms in values that JSON can hold; `MeanBounds` reads them."""
    return [{"expert": True} if arm is EXPERT else arm for arm in arms]


def check_expert(arms: Sequence[Arm], low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
    """Refuse a range of `EXPERT` that is not the whole range of the others, moved down by what asking costs."""
    if EXPERT not in arms or len(arms) == 1:
        return
    k = arms.index(EXPERT)
    ends = low[k], high[k], np.delete(low, k).min(), np.delete(high, k).max()
    cost, slack = ends[3] - ends[1], 1e-9 * (np.abs(ends).max() + ends[3] - ends[2])
    if abs(ends[2] - ends[0] - cost) > slack or cost < -slack:
        raise BoundsError(
            f"EXPERT has the range [{ends[0]:g}, {ends[1]:g}]: experts earn what options do, from {ends[2]:g} to "
            f"{ends[3]:g}, less what asking them costs, so give them that range moved down by the cost"
        )


def share_of_range(arm: Arm, reward: Any, low: float, high: float) -> float:
    """A reward of an arm in units of its range; refused if it lies outside."""
    value = reward if type(reward) is float and low <= reward <= high else within(reward, low, high)
    if value is None:
        raise RewardError(
            f"arm {arm!r}: the reward {shown(reward)} is not a number in its range [{low}, {high}]. Rewards in another "
            f"range need low= and high= in MeanBounds"
        )
    return (value - low) / (high - low)


def check_bounds(bounds: object) -> None:
    """Raise a TypeError unless these are `MeanBounds`; for functions that take them beside other arguments.

    Examples
    --------
    >>> check_bounds([0.2, 0.9])
    Traceback (most recent call last):
    TypeError: bounds must be MeanBounds, such as mb.MeanBounds([0.2], [0.9]); got [0.2, 0.9]
    """
    if not isinstance(bounds, MeanBounds):
        raise TypeError(f"bounds must be MeanBounds, such as mb.MeanBounds([0.2], [0.9]); got {shown(bounds)}")


def _column(name: str, value: ArrayLike) -> NDArray[np.float64]:
    array = as_floats(name, value, error=BoundsError)
    if array.ndim > 1:
        raise BoundsError(f"{name} must have one entry per arm; got an array of shape {array.shape}")
    return array


def _check_size(name: str, array: NDArray[np.float64], size: int) -> None:
    if array.ndim and array.size != size:
        raise BoundsError(f"{name} has {array.size} entries for {size} arms; give one number or one per arm")


def _numbered(size: int) -> tuple[Arm, ...]:
    if not is_whole(size):
        raise BoundsError(f"arms must be a whole number of arms, or a list of names; got {shown(size)}")
    if not 0 <= size <= _MOST_ARMS:
        raise BoundsError(f"the number of arms must be a whole number from 1 to {_MOST_ARMS}; got {shown(size)}")
    return tuple(range(int(size)))


def _listed(arms: Any) -> tuple[Any, ...]:
    """The names as a tuple; a text alone is one name, not a list of letters."""
    try:
        if isinstance(arms, str | bytes):
            raise TypeError
        return tuple(_plain(arm) for arm in arms)
    except TypeError:
        raise BoundsError(f"arms must be a list of names, one per arm; got {shown(arms)}") from None


def _names(arms: Iterable[Arm] | None, size: int) -> tuple[Arm, ...]:
    names = tuple(range(size)) if arms is None else _listed(arms)
    if len(names) != size:
        raise BoundsError(f"{len(names)} arm names for {size} arms: {shown(list(names)[:10])}")
    for arm in names:
        if isinstance(arm, bool) or not isinstance(arm, Arm):
            raise BoundsError(f"arm names must be strings or integers; got {shown(arm)}")
    places: dict[Arm, int] = {}
    for k, arm in enumerate(names):
        if arm in places:
            raise BoundsError(f"arm {arm!r} is named twice, at positions {places[arm]} and {k}")
        places[arm] = k
    return names


def _plain(arm: Any) -> Any:
    if isinstance(arm, dict) and arm == {"expert": True}:
        return EXPERT
    return arm.item() if isinstance(arm, np.generic) else arm


def _check(arm: Arm, lower: float, upper: float, low: float, high: float) -> None:
    if not (-LARGEST < low < high < LARGEST and low + SMALLEST_WIDTH <= high):
        raise BoundsError(
            f"arm {arm!r}: the reward range [{low}, {high}] must be finite, with low below high, at least "
            f"{SMALLEST_WIDTH:g} wide, and between {-LARGEST:g} and {LARGEST:g}"
        )
    if math.isnan(lower) or math.isnan(upper):
        raise BoundsError(f"arm {arm!r}: a bound is not a number: lower={lower}, upper={upper}")
    if lower > upper:
        raise BoundsError(f"arm {arm!r}: lower={lower} is above upper={upper}")
    if lower < low or upper > high:
        raise BoundsError(
            f"arm {arm!r}: lower={lower}, upper={upper} leave the reward range [{low}, {high}]: give low= and high="
        )
