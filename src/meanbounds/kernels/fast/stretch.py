"""How long an arm may be played without another look at the others, and the loop that plays it for so long."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meanbounds.kernels.arms.tables import Seen
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.rewards import UNIFORM, Law, Rewards, draw, draw_simple
from meanbounds.support.types import Floats

__all__ = ["Calendar", "Stretch", "add", "hold", "no_stretch"]


class Stretch(NamedTuple):
    """When to stop playing an arm that leads now. Means are in units of the arm's range.

    The arm surely leads while its mean is at least `level`, or while ``plays * d(mean) < budget``, where d is how far
    the mean is from the level in the policy's own divergence. For means within `reach` of `centre`, d is at most
    ``flat + slope * e + bend * e**2``, e the distance from the centre.
    """

    wake: float  # stop when log f reaches this: another arm may then lead
    most_plays: float  # stop when the arm has been played this often
    level: float
    centre: float
    reach: float
    flat: float
    slope: float
    bend: float
    budget: float
    floor: float  # stop as well when the mean falls below this: an arm with an equal index may then lead


class Calendar(NamedTuple):
    """The rounds that a hold may take: up to `stop`, with log f(t) at place ``t - first_round``."""

    stop: int
    log_f: Floats
    first_round: int


@compiled
def add(seen: Seen, reward: float) -> Seen:
    """What was seen of an arm, and one more reward."""
    plays, total, squares, shortfall, shortfall_squares = seen
    lack = 1.0 - reward
    return plays + 1.0, total + reward, squares + reward * reward, shortfall + lack, shortfall_squares + lack * lack


@compiled
def no_stretch() -> Stretch:
    """Play the arm once, then look at all arms again."""
    return Stretch(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -np.inf)


@compiled
def hold(
    stretch: Stretch,
    calendar: Calendar,
    t: int,
    rewards: Rewards,
    law: Law,
    key: np.uint64,
    arm: int,
    seen: Seen,
) -> tuple[int, Seen]:
    """Play `arm` in round t, and again while it surely leads: the first round not played, and what was seen by then."""
    wake, most_plays, level, centre, reach, flat, slope, bend, budget, floor = stretch
    stop, log_f, first_round = calendar
    plays, total = seen[:2]
    pull, simple = int(plays), law[0] <= UNIFORM
    while True:
        reward = draw_simple(law, key, pull) if simple else draw(rewards, arm, key, pull)
        seen = add(seen, reward)
        plays, total = seen[:2]
        pull += 1
        t += 1
        if t > stop or log_f[t - first_round] >= wake or plays >= most_plays or total < floor * plays:
            break
        if total < level * plays:
            e = total - centre * plays
            if abs(e) > reach * plays or (flat * plays + slope * e) * plays + bend * e * e >= budget * plays:
                break
    return t, seen
