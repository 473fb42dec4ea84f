"""Whole simulated runs, faster than `meanbounds.kernels.arms.textbook` plays them and with the same decisions.

Nothing here defines a policy, and no agent uses it: an agent plays one round at a time. `hold` is for UCB, KL-UCB and
indexed minimum empirical divergence, and rests on two ideas, both exact; `gittins` and `doubted_gittins` hold as well;
`thompson`, `ids` and `doubted_ids` keep what is costly to compute; `inversion` compares the draws of Thompson sampling
without making them.

**Hold.** After looking at all arms, put a level between the best and the second-best index. While the leader stays
above it and every other arm below, the leader is played again, and only the leader has to be looked at. The index of an
arm that is not played moves only because log f(t) grows, so the log f at which it reaches the level is known.

**Lines.** As a function of log f an arm's KL index is concave, so any tangent bounds it from above; as a function of
the leader its cost in indexed divergence is convex, so any tangent bounds it from below. One multiplication and one
addition bound an arm without solving an equation or taking a logarithm, and only arms near the best are solved.

A shortcut decides only where indices differ by more than `MARGIN` of the range of rewards, thousands of times their
rounding error. Everything closer, ties above all, is solved and compared as the textbook does.
"""

from __future__ import annotations

from meanbounds.kernels.fast.doubted_gittins import play_doubted_gittins, play_doubted_logged_gittins
from meanbounds.kernels.fast.doubted_ids import play_doubted_ids
from meanbounds.kernels.fast.gittins import play_gittins, play_logged_gittins
from meanbounds.kernels.fast.hold import play_gaussian, play_imed, play_kl
from meanbounds.kernels.fast.ids import play_ids
from meanbounds.kernels.fast.oful import play_linear
from meanbounds.kernels.fast.thompson import play_logged_thompson, play_thompson

__all__ = [
    "play_doubted_gittins",
    "play_doubted_ids",
    "play_doubted_logged_gittins",
    "play_gaussian",
    "play_gittins",
    "play_ids",
    "play_imed",
    "play_kl",
    "play_linear",
    "play_logged_gittins",
    "play_logged_thompson",
    "play_thompson",
]
