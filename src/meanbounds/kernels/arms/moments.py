"""What the second moment of rewards adds to their mean.

Among all laws on [0, 1] with the first two moments seen, the one that is hardest to tell from laws with a larger mean
has two atoms, a floor x and 1: the divergence is a maximum over a of E log(1 - a (X - goal)), and that logarithm has a
negative third derivative in X, so for every a its mean is least at the two-atom law that contains the upper end. The
divergence from a goal is then the Bernoulli one after x is moved to 0. It is never below the divergence from the mean
alone, equal to it for rewards of 0 and 1 (x = 0), and never above that of the whole empirical law.
"""

from __future__ import annotations

from meanbounds.kernels.arms.divergence import kl
from meanbounds.kernels.compiling import compiled

__all__ = ["floor_of", "moment_divergence"]


@compiled
def floor_of(plays: float, total: float, squares: float) -> float:
    """Lower atom x of the law on {x, 1} with the moments seen; 0 for rewards of 0 and 1, the mean of constant ones."""
    if total >= plays:
        return 0.0
    return min(total / plays, max(0.0, (total - squares) / (plays - total)))


@compiled
def moment_divergence(plays: float, total: float, squares: float, goal: float) -> float:
    """Least divergence of a law with the moments seen from one whose mean is `goal` or more, above its own."""
    floor = floor_of(plays, total, squares)
    return kl(max(0.0, (total / plays - floor) / (1.0 - floor)), (goal - floor) / (1.0 - floor))
