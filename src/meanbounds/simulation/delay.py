"""How late rewards arrive in a simulation."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from meanbounds.agents import Pending
from meanbounds.kernels.arms.delayed import Delays
from meanbounds.support.checks import as_whole, is_whole, shown

__all__ = ["Delay", "Law", "as_delay", "check_pending"]

Law = Literal["fixed", "geometric"]

_SMALLEST_CHANCE = 2.0**-53  # of the random numbers that geometric delays are drawn from


@dataclass(frozen=True)
class Delay:
    """How many rounds pass before the policy learns a reward, for `meanbounds.simulate`.

    With a delay of d rounds the reward of round t can be used from round t + 1 + d on: 0 is no delay. The delay of a
    round is the same for every policy.

    Parameters
    ----------
    mean
        Mean delay in rounds.
    law
        ``"fixed"``: every reward is `mean` rounds late, a whole number. ``"geometric"``: a reward that has not arrived
        yet arrives in each round with probability ``1 / (1 + mean)``, so later rewards may overtake earlier ones.
    lost
        Share of the rewards that never arrive, from 0 to 1. The policy is not told which: they stay pending.

    Examples
    --------
    A reward comes 20 rounds late on average, and one in ten never comes:

    >>> import meanbounds as mb
    >>> late = mb.simulation.Delay(mean=20, law="geometric", lost=0.1)
    >>> environment = mb.Bernoulli([0.9, 0.8])
    >>> with_delay = mb.simulate({"UCB": mb.UCB()}, environment, horizon=1000, runs=50, seed=7, delay=late)
    >>> without = mb.simulate({"UCB": mb.UCB()}, environment, horizon=1000, runs=50, seed=7)
    >>> bool(with_delay.final["UCB"].mean() > without.final["UCB"].mean())
    True
    """

    mean: float
    law: Law = "fixed"
    lost: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.law, str) or self.law not in get_args(Law):
            raise ValueError(f'law must be "fixed" or "geometric"; got {shown(self.law)}')
        mean, lost = _number(self.mean), _number(self.lost)
        if not 0.0 <= mean < math.inf:
            raise ValueError(f"the mean delay must be a number of rounds, at least 0; got {shown(self.mean)}")
        if self.law == "fixed" and not mean.is_integer():
            raise ValueError(f"a fixed delay must be a whole number of rounds; got {shown(self.mean)}")
        if not 0.0 <= lost <= 1.0:
            raise ValueError(f"lost must be a share of the rewards, from 0 to 1; got {shown(self.lost)}")
        # Numbers of numpy would round what is computed from them to their own width.
        object.__setattr__(self, "mean", int(self.mean) if is_whole(self.mean) else mean)
        object.__setattr__(self, "lost", lost)

    def settings(self) -> dict[str, Any]:
        """The parameters, in values that JSON can hold; they are kept with the result of a simulation.

        Examples
        --------
        >>> Delay(20).settings()
        {'mean': 20.0, 'law': 'fixed', 'lost': 0.0}
        """
        return {**asdict(self), "mean": float(self.mean)}

    def delays(self, horizon: int) -> Delays:
        """The same in the form that the kernel takes.

        A delay beyond the horizon is cut to the horizon, which changes nothing.

        Parameters
        ----------
        horizon
            Rounds in a run.

        Examples
        --------
        >>> Delay(20).delays(horizon=1000).longest, Delay(20).delays(horizon=5).longest
        (20, 5)
        """
        horizon = as_whole("horizon", horizon)
        if self.law == "fixed" or self.mean == 0.0:
            fixed = min(int(self.mean), horizon)
            return Delays(fixed, 0.0, fixed, self.lost)
        log_late = -math.log1p(1.0 / self.mean)
        longest = int(min(math.log(_SMALLEST_CHANCE) / log_late, horizon))
        return Delays(0, log_late, longest, self.lost)


def as_delay(delay: int | Delay | None) -> Delay | None:
    """Turn the argument ``delay`` of `meanbounds.simulate` into a `Delay`; a whole number stands for a fixed one.

    Examples
    --------
    >>> as_delay(10)
    Delay(mean=10, law='fixed', lost=0.0)
    >>> as_delay(None) is None
    True
    """
    if delay is None or isinstance(delay, Delay):
        return delay
    if not is_whole(delay) or delay < 0:
        raise ValueError(
            f"delay must be a whole number of rounds, at least 0, or mb.simulation.Delay(); got {shown(delay)}"
        )
    return Delay(int(delay))


def check_pending(pending: str) -> None:
    """Refuse a value of ``pending`` that is neither ``"ignore"`` nor ``"count"``.

    Examples
    --------
    >>> check_pending("count")
    >>> check_pending("guess")
    Traceback (most recent call last):
    ValueError: pending must be "ignore" or "count"; got 'guess'
    """
    if not isinstance(pending, str) or pending not in get_args(Pending):
        raise ValueError(f'pending must be "ignore" or "count"; got {shown(pending)}')


def _number(value: Any) -> float:
    """A number as a float; NaN, which no limit allows, for anything else."""
    if not (is_whole(value) or isinstance(value, float | np.floating)):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # a whole number beyond 1.8e308
        return math.inf
