"""The decisions of `meanbounds.kernels.arms.textbook`, faster: index policies, KL policies and indexed divergence.

Two ideas, both exact.

**Hold.** After a full look at all arms, put a level between the best and the second-best index. As long as the leader
stays above it and every other arm below, the leader is played again, and only the leader has to be looked at. Another
arm's index moves only because log f(t) grows, so the log f at which it reaches the level is known: the wake-up.

**Tangents.** As a function of log f an arm's KL index is concave, so any tangent bounds it from above; as a function of
the leader its cost in indexed divergence is convex, so any tangent bounds it from below. One multiplication and one
addition bound every arm without an equation being solved or a logarithm taken, and only the first is checked.

Each shortcut decides only where the indices are apart by more than `MARGIN` of the range of rewards, thousands of
times their rounding error; everything closer, ties above all, is solved and compared as the textbook does.

`play_linear` does the same for `meanbounds.kernels.linear`, where what costs is not arithmetic but calls.
"""

from __future__ import annotations

from meanbounds.kernels.fast.gaussian import play_gaussian
from meanbounds.kernels.fast.imed import play_imed
from meanbounds.kernels.fast.kl import play_kl
from meanbounds.kernels.fast.oful import play_linear
from meanbounds.kernels.fast.thompson import play_thompson

__all__ = ["play_gaussian", "play_imed", "play_kl", "play_linear", "play_thompson"]
