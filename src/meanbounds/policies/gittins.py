"""The optimistic Gittins index, with bounds on the means."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from meanbounds.known import Known, Seen
from meanbounds.policies.base import Cache, Exploration, IndexPolicy
from meanbounds.posterior import BetaPosterior, check_moments, posterior, solve
from meanbounds.support.checks import as_whole
from meanbounds.support.streams import Draws
from meanbounds.support.types import Floats, Integers

__all__ = ["OptimisticGittins"]


@dataclass(frozen=True, repr=False)
class OptimisticGittins(IndexPolicy):
    """Play the arm with the largest optimistic Gittins index (Gutin and Farias, 2016), with bounds on the means.

    The index looks one step ahead. Suppose that you could play an arm once more, would then be told its mean, and could
    from then on choose between the arm and a sure reward v. The index is the v at which you would as soon take v right
    away, if the game is expected to last about f(t) more rounds:

        ``f(t) * E[max(mean - v, 0)] = v - E[mean]``

    The mean has the posterior of `ThompsonSampling`. So the index lies between the posterior mean and the upper bound,
    and an arm with much left to learn has a larger one. Equal indices are decided by the larger posterior mean.

    Parameters
    ----------
    f
        How many more rounds to expect in round t, see `Policy`; ``"t"`` by default, as published.
    moments
        With 2, rewards are not rounded to 0 or 1 at random, and the less they vary, the less is explored; see
        `ThompsonSampling`.
    horizon
        The number of the last round, if it is known, in each context: the game then lasts ``horizon - t`` more rounds,
        or one where that is less, and there is no `f`. It saves about a tenth of the regret.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.OptimisticGittins(), mb.MeanBounds([0.5, 0.2], [0.6, 0.85]), seed=1)
    >>> agent.indices().round(4)  # the expected means are 0.55 and 0.525, but there is more to learn of arm 1
    array([0.5586, 0.5808])
    >>> agent.pull()
    1
    """

    source = "Gutin and Farias 2016, with bounds"
    takes_prior: ClassVar[bool] = True
    learns_prior: ClassVar[bool] = True

    f: Exploration = field(default="t", kw_only=True)
    moments: int = 1
    horizon: int = 0

    def __post_init__(self) -> None:
        if self.horizon:
            as_whole("OptimisticGittins: horizon", self.horizon)
            object.__setattr__(self, "may_fall", True)
            if self.f != "t":
                raise ValueError("give f or the horizon, not both: with a horizon, the game lasts until then")
        super().__post_init__()
        check_moments(self.moments)

    def log_f(self, t: Floats) -> Floats:
        """Log of how many more rounds to expect."""
        return np.log(np.maximum(1.0, self.horizon - t)) if self.horizon else super().log_f(t)

    def index(self, known: Known, seen: Seen, level: Floats) -> Floats:
        """The optimistic Gittins index."""
        return self._index_and_mean(known, seen, level)[0]

    def scores(
        self,
        known: Known,
        seen: Seen,
        t: Floats,
        draws: Draws | None = None,
        cache: Cache | None = None,
    ) -> tuple[Floats, Floats]:
        """The index of each arm, and the posterior means, which break ties."""
        return self._index_and_mean(known, seen, self.log_f(t)[:, None], cache)

    def _index_and_mean(
        self, known: Known, seen: Seen, level: Floats, cache: Cache | None = None
    ) -> tuple[Floats, Floats]:
        """The indices and expected means; the cache holds where the index was between the mean and the upper bound."""
        believed = posterior(known, seen, self.moments)
        f, mean, weight = np.exp(level, out=np.empty(seen.plays.shape)), believed.mean, believed.parts.weight
        highest = believed.low + believed.width * np.where(weight > 0.0, believed.parts.upper, 0.0).max(axis=0)
        room = highest - mean
        share = cache["share"] if cache else _near(believed, f, room) / room
        index = _solved(believed, f, highest, mean + np.fmin(share, 0.999) * room)
        if cache is not None:
            cache["share"] = (index - mean) / room
        return np.where(known.without_doubted.possible, index, -np.inf), mean


def _near(believed: BetaPosterior, f: Floats, room: Floats) -> Floats:
    """How far an index would be above a mean that were normal, to within a tenth of its spread, or uniform."""
    a, b = believed.parts.a[0], believed.parts.b[0]
    depth, spread = np.sqrt(np.minimum(25.0, np.log1p(f))), np.sqrt(a * b / (a + b + 1.0)) / (a + b)
    step = believed.width * spread * (-0.295 + depth * (0.357 + depth * (0.341 - depth * 0.0315)))
    return np.minimum(room * step / np.cbrt(room**3 + step**3), room - 2.0 * room / (1.0 + np.sqrt(1.0 + f)))


def _solved(believed: BetaPosterior, f: Floats, highest: Floats, start: Floats) -> Floats:
    """The v with ``f E[max(mean - v, 0)] = v - E[mean]``, by Halley's method for the logarithms of both sides."""
    mean, flat = believed.mean.ravel(), f.ravel()

    def step(v: Floats, places: Integers) -> tuple[Floats, Floats]:
        found = believed.beyond(v.reshape(f.shape)) if v.size == f.size else believed.beyond(v, places)
        density, tail, gain = (own.ravel() for own in found)
        lead = v - mean[places]
        surplus, slope = np.log(flat[places] * gain / lead), tail / gain + 1.0 / lead
        bend = (density * gain - tail * tail) / (gain * gain) + 1.0 / (lead * lead)
        newton = surplus / slope
        return surplus, v + newton / np.maximum(0.5, 1.0 - 0.5 * newton * bend / slope)

    return solve(step, start.ravel(), mean, highest.ravel()).reshape(f.shape)
