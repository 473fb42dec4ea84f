"""How late rewards arrive in a simulation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.support.checks import as_float, check_choice, is_whole, shown
from meanbounds.support.streams import stream, uniform
from meanbounds.support.types import Floats, Integers

__all__ = ["LOST", "Delay", "Queue"]

LOST = -1
"""The delay of a reward that never comes."""


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
    >>> with_delay = mb.simulate(mb.UCB(), environment, horizon=1000, runs=50, seed=7, delay=late)
    >>> without = mb.simulate(mb.UCB(), environment, horizon=1000, runs=50, seed=7)
    >>> bool(with_delay.final["UCB"].mean() > without.final["UCB"].mean())
    True
    """

    mean: float
    law: Literal["fixed", "geometric"] = "fixed"
    lost: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        check_choice("law", self.law, ("fixed", "geometric"))
        mean, lost = as_float("mean", self.mean), as_float("lost", self.lost)
        if isinstance(self.mean, bool) or not 0.0 <= mean < math.inf:
            raise ValueError(f"the mean delay must be a number of rounds, at least 0; got {shown(self.mean)}")
        if self.law == "fixed" and not mean.is_integer():
            raise ValueError(f"a fixed delay must be a whole number of rounds; got {shown(self.mean)}")
        if not 0.0 <= lost <= 1.0:
            raise ValueError(f"lost must be a share of the rewards, from 0 to 1; got {shown(self.lost)}")
        object.__setattr__(self, "mean", int(self.mean) if is_whole(self.mean) else mean)
        object.__setattr__(self, "lost", lost)

    def settings(self) -> dict[str, Any]:
        """The parameters, in values that JSON can hold; they are kept with the result of a simulation."""
        return {"mean": self.mean, "law": self.law, "lost": self.lost}

    def delays(self, seed: int, runs: ArrayLike, round: int) -> Integers:
        """How many rounds late the reward of this round, counted from 1, is in each of these runs, or `LOST`.

        Examples
        --------
        >>> Delay(3.5, "geometric", lost=0.2).delays(seed=7, runs=[0, 1, 2, 3], round=1)
        array([7, 3, 6, 0])
        """
        keys = stream(seed, runs, "delays")
        if self.law == "fixed" or self.mean == 0:
            late = np.full(keys.shape, min(int(self.mean), 2**62), dtype=np.int64)
        else:
            staying = -math.log1p(1.0 / self.mean)  # log of the probability that a reward takes another round
            rounds = np.log1p(-uniform(keys, 2 * round - 2)) / staying
            late = np.minimum(rounds, 2**62).astype(np.int64)
        return np.where(uniform(keys, 2 * round - 1) < self.lost, LOST, late)

    def queue(self, seed: int, first: int, runs: int, horizon: int) -> Queue:
        """The pulls of a block of runs whose reward has not come yet."""
        return Queue(self, seed, first + np.arange(runs), horizon)


class Queue:
    """Pulls that wait for their reward, by the round in which it comes; what comes after the horizon is forgotten."""

    def __init__(self, delay: Delay, seed: int, runs: Integers, horizon: int) -> None:
        self._delay, self._seed, self._runs, self._horizon = delay, seed, runs, horizon
        self._waiting: dict[int, list[tuple[Integers, Integers, Floats, int]]] = {}

    def send(self, round: int, arms: Integers, numbers: Floats) -> None:
        """Queue one pull of each run: the arm, and the number of the pull among those of this arm."""
        late = self._delay.delays(self._seed, self._runs, round)
        due = np.where((late == LOST) | (late >= self._horizon - round), 0, round + 1 + late)
        for when in np.unique(due[due > 0]).tolist():
            rows = np.flatnonzero(due == when)
            self._waiting.setdefault(when, []).append((rows, arms[rows], numbers[rows], round))

    def due(self, round: int) -> Iterator[tuple[Integers, Integers, Floats, int]]:
        """What comes before this round is played: rows, arms, numbers and round of pulls, in the order of the pulls."""
        yield from self._waiting.pop(round, ())
