"""What the second moment of rewards adds to their mean.

Among all laws on [0, 1] with the first two moments seen, the one that is hardest to tell from laws with a larger mean
has two atoms, a floor x and 1: the divergence is a maximum over a of E log(1 - a (X - goal)), and that logarithm has a
negative third derivative in X, so for every a its mean is least at the two-atom law that contains the upper end. The
divergence from a goal is then the Bernoulli one after x is moved to 0. It is never below the divergence from the mean
alone, equal to it for rewards of 0 and 1 (x = 0), and never above that of the whole empirical law.
"""

from __future__ import annotations

from meanbounds.kernels.arms.divergence import kl_between
from meanbounds.kernels.arms.tables import Seen
from meanbounds.kernels.compiling import compiled

__all__ = ["divergence_above", "floor_of", "lifted_mean", "moment_divergence"]


@compiled
def floor_of(seen: Seen) -> tuple[float, float]:
    """Lower atom x of the law on {x, 1} with the moments seen, and its distance 1 - x from the top.

    x is 0 for rewards of 0 and 1, and the mean of constant ones. With y = 1 - reward it is ``sum((1 - y) y) / sum(y)``,
    and its distance is ``sum(y^2) / sum(y)``; both are taken from sums in which nothing cancels.
    """
    plays, total, squares, shortfall, shortfall_squares = seen
    if not shortfall > 0.0:
        return 0.0, 1.0
    mixed = total - squares if total <= shortfall else shortfall - shortfall_squares
    floor = min(total / plays, max(0.0, mixed / shortfall))
    return floor, min(1.0, max(shortfall / plays, shortfall_squares / shortfall))


@compiled
def lifted_mean(seen: Seen, floor: float, room: float) -> tuple[float, float]:
    """Weights of the two atoms in the law with the moments seen: of 1 and of the floor, which is `room` below 1."""
    plays, total, _, shortfall, _ = seen
    lack = min(1.0, shortfall / plays / room)
    return (max(0.0, (total / plays - floor) / room) if total <= shortfall else 1.0 - lack), lack


@compiled
def moment_divergence(seen: Seen, goal: float, goal_lack: float) -> float:
    """Least divergence of a law with the moments seen from one whose mean is `goal` or more, above its own.

    ``goal_lack`` is 1 - goal.
    """
    floor, room = floor_of(seen)
    return divergence_above(seen, floor, room, goal, goal_lack)


@compiled
def divergence_above(seen: Seen, floor: float, room: float, goal: float, goal_lack: float) -> float:
    """The same for a floor that is known, `room` below 1."""
    p, not_p = lifted_mean(seen, floor, room)
    not_q = goal_lack / room
    return kl_between(p, not_p, (goal - floor) / room if seen[1] <= seen[3] else 1.0 - not_q, not_q)
