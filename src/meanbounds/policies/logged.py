"""What a log says of each arm by itself: how often it was played, and what it earned in total."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from meanbounds.bounds import Arm, MeanBounds
from meanbounds.support.checks import as_float, as_floats, as_list, as_mapping, is_whole, shown
from meanbounds.support.types import Floats

__all__ = ["LoggedArms"]

_MOST_ROWS = 2**53  # above, counts are not exact as floats
_ROUNDING = 1e-9  # share of the count by which a sum of rewards may leave its range


@dataclass(frozen=True)
class LoggedArms:
    """Counts and totals of the rewards that a log has of each arm, for policies that start from a log as it is.

    Policies that use it treat the log's rewards as draws of the arm's own law, as if the arms had been chosen at
    random; MIN-UCB allows for a bias. Experts who saw more than was recorded do not choose at random: for their logs
    use `meanbounds.logs.bounds`.

    Parameters
    ----------
    counts
        How many rewards the log has of each arm.
    totals
        The sum of these rewards, in the units of the reward.
    arms
        The names of these arms; 0, 1, 2, ... by default. An arm that is not named has no logged rewards.

    Examples
    --------
    >>> import meanbounds as mb
    >>> log = mb.LoggedArms([20, 5], [16.0, 1.0], arms=["tPA", "watch"])
    >>> log.means
    array([0.8, 0.2])
    >>> log.most_frequent
    ('tPA',)

    From the rewards themselves:

    >>> mb.LoggedArms.of({"tPA": [1.0, 1.0, 0.0], "watch": [0.0]})
    LoggedArms(counts=(3, 1), totals=(2.0, 0.0), arms=('tPA', 'watch'))
    """

    counts: tuple[int, ...]
    totals: tuple[float, ...]
    arms: tuple[Arm, ...]

    def __init__(
        self, counts: Iterable[int] = (), totals: Iterable[float] = (), arms: Iterable[Arm] | None = None
    ) -> None:
        counts, totals = as_list("counts", counts), as_list("totals", totals)
        arms = list(range(len(counts))) if arms is None else as_list("arms", arms)
        if not len(counts) == len(totals) == len(arms):
            raise ValueError(
                f"a log by arm needs a count and a total for each arm; got {len(counts)} counts and {len(totals)} "
                f"totals for {len(arms)} arms"
            )
        for arm, count in zip(arms, counts, strict=True):
            if not (isinstance(arm, str) or is_whole(arm)):
                raise ValueError(f"the arms of a log are texts or whole numbers; got {shown(arm)}")
            if not (is_whole(count) and 0 <= int(count) <= _MOST_ROWS):
                raise ValueError(f"arm {arm!r}: its count must be a whole number, at least 0; got {shown(count)}")
        names = [arm if isinstance(arm, str) else int(arm) for arm in arms]
        if len(set(names)) < len(names):
            twice = next(arm for place, arm in enumerate(names) if arm in names[:place])
            raise ValueError(f"arm {twice!r} is in the log by arm twice; add its counts and totals up")
        for arm, count, total in zip(names, counts, totals, strict=True):
            if not np.isfinite(as_float(f"arm {arm!r}: its total", total)) or (total != 0.0 and count == 0):
                raise ValueError(f"arm {arm!r}: {shown(total)} is not the total of {count} rewards")
        object.__setattr__(self, "counts", tuple(int(count) for count in counts))
        object.__setattr__(self, "totals", tuple(float(total) for total in totals))
        object.__setattr__(self, "arms", tuple(names))

    @classmethod
    def of(cls, rewards: Mapping[Arm, Iterable[float]]) -> LoggedArms:
        """Count and add up the logged rewards of each arm.

        Parameters
        ----------
        rewards
            The rewards of each arm, by its name.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.LoggedArms.of({"a": [0.5, 0.25]}).totals
        (0.75,)
        """
        columns = {
            arm: as_floats(f"arm {shown(arm)}: its rewards", as_list(f"arm {shown(arm)}: its rewards", values))
            for arm, values in as_mapping("rewards by arm", rewards).items()
        }
        return cls(
            tuple(len(column) for column in columns.values()),
            tuple(float(np.sum(column)) for column in columns.values()),
            tuple(columns),
        )

    @classmethod
    def read(cls, given: Any) -> LoggedArms:
        """A log as it was given: a `LoggedArms`, or a mapping with counts, totals and perhaps arms, as JSON holds it.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.LoggedArms.read({"counts": [2], "totals": [1.0]})
        LoggedArms(counts=(2,), totals=(1.0,), arms=(0,))
        """
        if isinstance(given, LoggedArms):
            return given
        if not isinstance(given, Mapping):
            raise TypeError(f"log must be a mb.LoggedArms([20, 5], [16.0, 1.0]), or its entries; got {shown(given)}")
        entries = dict(given)
        wrong = [key for key in entries if not (isinstance(key, str) and key in ("counts", "totals", "arms"))]
        if wrong:
            raise ValueError(f"a log by arm has counts, totals and arms; got {shown(wrong[0])}")
        return cls(**entries)

    def to_dict(self) -> dict[str, Any]:
        """The entries in plain lists that JSON can hold; `read` is the inverse."""
        return {"counts": list(self.counts), "totals": list(self.totals), "arms": list(self.arms)}

    @property
    def means(self) -> Floats:
        """The mean logged reward of each arm; NaN for an arm that was never played."""
        counts, totals = np.array(self.counts, dtype=np.float64), np.array(self.totals)
        means: Floats = np.divide(totals, counts, out=np.full(counts.shape, np.nan), where=counts > 0)
        return means

    @property
    def most_frequent(self) -> tuple[Arm, ...]:
        """The arm that was played most often; several if they tie."""
        most = max(self.counts, default=0)
        return tuple(arm for arm, count in zip(self.arms, self.counts, strict=True) if count == most)

    def rows(self, bounds: MeanBounds) -> Floats:
        """Count, total and shortfall of each of these arms, totals in units of the arm's range: a column for each.

        Raises
        ------
        ValueError
            If the log has no names for its arms and the bounds have, or if a total cannot be one of so many rewards.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.LoggedArms([4], [8.0]).rows(mb.MeanBounds([1.0, 1.0], [5.0, 5.0], low=1.0, high=5.0))
        array([[4., 0.],
               [1., 0.],
               [3., 0.]])
        """
        found, place = np.zeros((3, len(bounds))), {arm: k for k, arm in enumerate(self.arms)}
        unnamed = self.arms == tuple(range(len(place)))
        if place and unnamed and len(bounds) > 1 and all(isinstance(arm, str) for arm in bounds.arms):
            raise ValueError(
                f"the log by arm names its arms {shown(list(place))}, the bounds {shown(list(bounds.arms))}; give the "
                f"log the same names, arms=..."
            )
        for k, arm in enumerate(bounds.arms):
            if arm not in place:
                continue
            count, total = float(self.counts[place[arm]]), self.totals[place[arm]]
            low, high = float(bounds.low[k]), float(bounds.high[k])
            share = np.array([total - count * low, count * high - total]) / (high - low)
            if np.any(share < -_ROUNDING * count):
                raise ValueError(
                    f"arm {arm!r}: the log's total {total:g} of {count:g} rewards is not within {count:g} times its "
                    f"range [{low:g}, {high:g}]; give totals in the units of the reward"
                )
            found[:, k] = count, *np.clip(share, 0.0, count)
        return found
