"""What policies would have earned, from decisions with known probabilities, with limits that hold in finite samples.

Let Z >= 0 belong to each decision, with the mean m given all that came before, and b > 0 be a stake. The product of
(1 + b Z) / (1 + b m) is a martingale that starts at 1, however the past moves m. By concavity the product of the
denominators is at most (1 + b M)^n, where M is the average of the m. Hence the product of (1 + b Z) / (1 + b M)^n, and
a fixed mixture of it over stakes, reaches exp(nats) with probability at most exp(-nats). It falls in M, so all M are
ruled out up to the one where it is exp(nats). Nothing here asks for independent rows, for means that stay the same, or
for a largest weight, and the order of the rows does not matter.

With y in [0, 1] and w the probability of a policy over that of the agent, Z = w y has at most the policy's mean, and
w (1 - y) at most 1 minus it: exactly, where the agent could play all that the policy plays. If every probability is at
least `least`, then w <= W = largest probability of the policy / least, and q + w (y - q), which is at least q (1 - W),
has the same mean for every q: it varies less where rewards are near q. The money is spread over several q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np

from meanbounds.logs.claims import Cells
from meanbounds.logs.confidence import lower_limit, upper_limit
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["Decisions", "Lines"]

_STEPS = np.arange(-4.0, 11.0)  # stakes that halve and double, around the best one for a guessed variance
_WEIGHTS = -2.0 * np.log1p(np.abs(_STEPS))
_LOG_WEIGHTS = _WEIGHTS - np.log(np.exp(_WEIGHTS).sum())
_LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of q
_OWN, _OTHER = 0.25, 1.0  # guessed variances: of rewards, and of weighted ones
_HEAVIEST = 1e12  # weights above count as this much: less is on the safe side of every limit
_NEWTON = 200  # steps at most; a few are usual
_STRENGTH = 2.0  # rows that the mean of an arm over all contexts counts as in a prediction


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions with rewards in units of their range, equal ones counted together, in parts such as contexts."""

    part: Integers
    parts: int
    count: Floats
    reward: Floats
    probability: Floats

    def sums(self, values: Floats) -> Floats:
        """The sum of a variable over the rows of each part."""
        return np.asarray(np.bincount(self.part, self.count * values, self.parts), dtype=np.float64)

    @property
    def rows(self) -> Floats:
        """How many rows each part has."""
        return self.sums(np.ones(len(self.part)))

    def weights(self, chance: Floats) -> Floats:
        """The weight of each row for a policy that would have played its arm with this probability."""
        return np.minimum(chance / self.probability, _HEAVIEST)

    def own_limits(self, nats: float, some: Booleans | None = None) -> tuple[Floats, Floats]:
        """Limits on the average mean reward of the rows themselves, of all or of some that the past determines."""
        lower, other = (self._lower([(y, 0.0)], nats, _OWN, 0.0, some=some) for y in (self.reward, 1.0 - self.reward))
        return lower, 1.0 - other

    def limits(
        self, weight: Floats, nats: float, most: float | None = None, playable: Any = None, *, minus: bool = False
    ) -> tuple[Floats, Floats]:
        """Limits on what a policy would have earned, each of which fails with probability at most exp(-nats).

        `most` is the largest weight that is possible, if it is known; it is used in the parts that are `playable`. With
        `minus` the limits are on the policy's value minus that of whoever made the decisions.
        """
        base, ends = float(minus), []
        for y in (self.reward, 1.0 - self.reward):
            bets = []
            for q in _LEVELS if most is not None else _LEVELS[:1]:
                shift = 0.0 if most is None else q * (most - 1.0)
                shift = max(shift, 1.0 - q) if minus else shift
                bets.append((q * (1.0 - base) + (weight - base) * (y - q), shift))
            ends.append(self._lower(bets, nats, _OTHER, -base, playable=playable))
        return ends[0], -ends[1] if minus else 1.0 - ends[1]

    def _lower(
        self,
        bets: Sequence[tuple[Floats, float]],
        nats: float,
        guess: float,
        least: float,
        *,
        some: Booleans | None = None,
        playable: Booleans | None = None,
    ) -> Floats:
        """Lower limits, from `least` to 1, on the average mean that several variables have in each part.

        Each variable comes with a shift that keeps it from being negative. Stakes follow from all rows, since which are
        among `some` may depend on rewards; parts that are not `playable` have the first variable alone.
        """
        use = self.count if some is None else self.count * some
        rows = np.bincount(self.part, use, self.parts)
        stakes = np.sqrt(2.0 * nats / (np.maximum(self.rows, 1.0) * guess))[:, None] * np.exp2(_STEPS)
        grown, weights = (np.empty((self.parts, len(bets), len(_STEPS))) for _ in range(2))
        weights[:] = _LOG_WEIGHTS - np.log(len(bets))
        if playable is not None:
            weights[~playable, 1:] = -np.inf
        for place, (values, shift) in enumerate(bets):
            shifted = np.maximum(values + shift, 0.0)
            for k in range(len(_STEPS)):
                gains = use * np.log1p(stakes[self.part, k] * shifted)
                grown[:, place, k] = np.bincount(self.part, gains, self.parts)
        shifts = np.array([shift for _, shift in bets])[:, None]

        # The logarithm of the wealth is convex and falls in the mean, so Newton's steps stay where it is ruled out.
        ends = np.full(self.parts, max(least, -shifts.min()))
        found = ends if playable is None else np.where(playable, ends, max(least, -bets[0][1]))
        for _ in range(_NEWTON):
            mean = np.maximum(found[:, None, None] + shifts, 0.0)
            gains = weights + grown - rows[:, None, None] * np.log1p(stakes[:, None] * mean)
            top = gains.max(axis=(1, 2))
            each = np.exp(gains - top[:, None, None])
            total = each.sum(axis=(1, 2))
            slope = rows * (each * stakes[:, None] / (1.0 + stakes[:, None] * mean)).sum(axis=(1, 2)) / total
            over = np.maximum(top + np.log(total) - nats, 0.0)
            step = np.divide(over, slope, out=np.zeros(self.parts), where=slope > 0.0)
            found = np.minimum(found + step, 1.0)
            if (step <= 1e-13).all() or (found == 1.0).all():
                break
        return found

    def estimates(self, weight: Floats, played: Floats, planned: Floats) -> dict[str, Floats]:
        """Estimates by inverse propensities and doubly robust, and how much the weights say.

        `played` predicts the reward of each row's arm, `planned` that of what the policy plays. `effective` is how many
        rows of the policy's own would say as much.
        """
        rows, total, squares = self.rows, self.sums(weight), self.sums(weight**2)
        largest = np.zeros(self.parts)
        np.maximum.at(largest, self.part, weight)
        return {
            "rows": rows,
            "ipw": self.sums(weight * self.reward) / rows,
            "robust": self.sums(planned + weight * (self.reward - played)) / rows,
            "effective": np.divide(total**2, squares, out=np.zeros(self.parts), where=total > 0.0),
            "largest": largest,
            "mean": total / rows,
        }


class Lines:
    """Values with limits, in units of the range, for all decisions together (`whole`) or for each context.

    `arm` is the place of each row's arm among `arms`; the parts of `made` are contexts. Each line is a dictionary of
    arrays (parts,); `below` and `above` are limits on the difference from the agent.
    """

    def __init__(
        self, made: Decisions, arm: Integers, arms: int, whole: bool, nats: float, least: float | None
    ) -> None:
        self.made, self.arm, self.whole, self.nats, self.least = made, arm, whole, nats, least
        self.rows = replace(made, part=np.zeros_like(made.part), parts=1) if whole and made.parts > 1 else made
        self.earned = self.rows.sums(made.reward) / self.rows.rows
        self.extra = log(made.parts) if whole else 0.0  # limits of all contexts hold at once where they are added up
        cells, shape = made.part * arms + arm, (made.parts, arms)
        sums = made.count, made.count * made.reward
        self.count, total = (np.bincount(cells, own, made.parts * arms).reshape(shape) for own in sums)
        base = (total.sum(axis=0) + 0.5) / (self.count.sum(axis=0) + 1.0)
        self.predicted = (total + _STRENGTH * base) / (self.count + _STRENGTH)

    def agent(self) -> dict[str, Floats]:
        """Whoever made the decisions."""
        rows, (lower, upper) = self.rows.rows, self.rows.own_limits(self.nats)
        return {"rows": rows, "effective": rows, "value": self.earned, "lower": lower, "upper": upper}

    def asked(self, expert: int) -> dict[str, Floats]:
        """The experts where they were asked. They differ from the agent where it played an option."""
        made, chosen, more = self.made, self.arm == expert, log(2.0)
        rows, total = made.sums(chosen * 1.0), made.sums(chosen * made.reward)
        theirs, others = (made.own_limits(self.nats + self.extra + more, own) for own in (chosen, ~chosen))
        played = 1.0 - rows / made.rows
        gaps = played * (theirs[0] - others[1]), played * (theirs[1] - others[0])
        return self._experts(rows, total, made.own_limits(self.nats + self.extra, chosen), gaps)

    def log(self, cells: Cells, mean: Floats, places: Integers) -> dict[str, Floats]:
        """The experts of an earlier log, from its cells and means; `places` are its contexts' own, -1 for none."""
        lowest, highest, cost = cells.sides(self.nats + self.extra - log(2.0) + log(cells.rows.shape[1]))

        def summed(one: Cells) -> tuple[Floats, Floats, Floats]:
            own = [np.where(places < 0, 0.0, part.sum(axis=1)[places]) for part in (one.rows, one.total, one.squares)]
            return own[0], own[1], own[2]

        least, most = summed(lowest), summed(highest)
        levels = (self.nats + self.extra + cost + more for more in (0.0, log(2.0)))
        limits, gaps = ((lower_limit(*least, level), upper_limit(*most, level)) for level in levels)
        total = least[0] * np.where(places < 0, 0.0, np.nan_to_num(mean)[places])
        found = self._experts(least[0], total, limits, gaps)
        low, high = self.rows.own_limits(self.nats + log(2.0))
        return found | {"below": found["below"] - high, "above": found["above"] - low}

    def _experts(
        self, rows: Floats, total: Floats, limits: Sequence[Floats], gaps: Sequence[Floats]
    ) -> dict[str, Floats]:
        """Numbers of contexts, weighted by the rows that these have here; the value is 0 where nothing is known."""
        mean = np.divide(total, rows, out=np.zeros(self.made.parts), where=rows > 0.0)
        own = np.array([rows.sum()]) if self.whole else rows
        names = ("value", "unseen", "lower", "upper", "below", "above")
        found = zip(names, map(self._gather, (mean, 1.0 * (rows == 0.0), *limits, *gaps)), strict=True)
        return {"rows": own, "effective": own, **dict(found)}

    def other(self, chance: Floats) -> dict[str, Floats]:
        """A policy that plays the arms with these probabilities, (contexts, arms).

        Its value is the average of the contexts' doubly robust estimates, each moved into that context's limits, where
        what nobody played counts as 0. Limits that leave the estimate out are widened to it, which keeps them valid.
        """
        context, arm = self.made.part, self.arm
        weight = self.made.weights(chance[context, arm])
        played, planned = self.predicted[context, arm], (chance * self.predicted * (self.count > 0.0)).sum(axis=1)
        missing = np.minimum((chance * (self.count == 0.0)).sum(axis=1), 1.0)
        most = None if self.least is None else float(chance.max()) / self.least
        ends = self.made.limits(weight, self.nats, most, missing == 0.0)
        each = planned + self.made.sums(weight * (self.made.reward - played)) / self.made.rows
        value, unseen = map(self._gather, (np.minimum(np.clip(each, *ends), 1.0 - missing), missing))
        lower, upper = self.rows.limits(weight, self.nats, most, unseen == 0.0) if self.rows is not self.made else ends
        below, above = self.rows.limits(weight, self.nats, most, unseen == 0.0, minus=True)
        found = self.rows.estimates(weight, played, planned[context])
        found["robust"] = np.where(unseen == 0.0, found["robust"], np.nan)
        high, own = value + unseen, self.earned
        found |= {"value": value, "unseen": unseen, "lower": np.minimum(lower, value), "upper": np.maximum(upper, high)}
        return found | {"below": np.minimum(below, value - own), "above": np.maximum(above, high - own)}

    def _gather(self, values: Floats) -> Floats:
        """Numbers of contexts as numbers of the parts."""
        return np.array([self.made.rows @ values / self.made.rows.sum()]) if self.whole else values
