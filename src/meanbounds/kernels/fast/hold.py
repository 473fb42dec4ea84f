"""What the fast kernels share: margins, the two best of many, and the hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from meanbounds.kernels.arms.tables import Plan
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.rewards import UNIFORM, Law, Rewards, draw, draw_simple
from meanbounds.kernels.random.stream import child
from meanbounds.support.types import Floats

__all__ = ["FEW", "MARGIN", "SURE", "arm_streams", "hold", "scale_of", "two_best"]

MARGIN = 1e-8  # of the range of rewards
SURE = 1.0 - 1e-8  # of a budget; moves an index by less than half of the margin
FEW = 16  # arms: always hold; with more, only a leader that has just been played


@compiled
def scale_of(plan: Plan) -> float:
    """Size of the numbers that indices are made of."""
    scale = 0.0
    for k in range(plan.arm.size):
        scale = max(scale, abs(plan.low[k]) + plan.span[k])
    return scale


@compiled
def arm_streams(streams: NDArray[np.uint64], plan: Plan, key: np.uint64) -> None:
    """Fill in the reward stream of each candidate."""
    for k in range(streams.size):
        streams[k] = child(key, int(plan.arm[k]))


@compiled
def two_best(score: Floats, first: int, other: int) -> tuple[int, int]:
    """Places of the largest score and of the largest elsewhere; two different guesses save most of the work."""
    if score[other] > score[first]:
        first, other = other, first
    best, second = score[first], score[other]
    for k in range(score.size):
        value = score[k]
        if value > second and k != first:
            if value > best:
                first, other, best, second = k, first, value, best
            else:
                other, second = k, value
    return first, other


@compiled
def hold(
    law: Law,
    rewards: Rewards,
    key: np.uint64,
    arm: int,
    seen: tuple[float, float, float],
    t: int,
    stop: int,
    log_f: Floats,
    first_round: int,
    wake: float,
    most_plays: float,
    level: float,
    curve: tuple[float, float, float, float, float],
    budget: float,
) -> tuple[int, float, float, float]:
    """Play `arm` from round t on while it surely leads; return the first round not played, and what was seen by then.

    `seen` is the arm's plays, total and squares: numbers rather than arrays, each look into which costs 5 ns.

    That it leads in round t is for the caller to know. Later it leads while its mean is at least `level`, or its
    divergence from the level, ``plays * d(mean, level)``, is below `budget`, where d is at most ``flat + slope * e +
    bend * e**2`` for means within `reach` of `centre`, e the distance from it. It stops at the wake-up, ``log f >=
    wake``, and at `most_plays`.
    """
    centre, reach, flat, slope, bend = curve
    plays, total, squares = seen
    pull, simple = int(plays), law[0] <= UNIFORM
    while True:
        reward = draw_simple(law, key, pull) if simple else draw(rewards, arm, key, pull)
        total += reward
        squares += reward * reward
        plays += 1.0
        pull += 1
        t += 1
        if t > stop or log_f[t - first_round] >= wake or plays >= most_plays:
            break
        if total < level * plays:
            e = total - centre * plays
            if abs(e) > reach * plays or (flat * plays + slope * e) * plays + bend * e * e >= budget * plays:
                break
    return t, plays, total, squares
