"""The code of each kind of policy, by which kernels choose; flags are added to it."""

from __future__ import annotations

__all__ = [
    "BOOST",
    "DOUBTED",
    "GAUSSIAN",
    "GITTINS",
    "IDS",
    "IMED",
    "KL",
    "LOGGED",
    "MINTS",
    "MIN_UCB",
    "MIXED",
    "OSSB",
    "ROWS_OF_DOUBT",
    "THOMPSON",
]

GAUSSIAN = 0
KL = 1
BOOST = 2
IMED = 3
OSSB = 4
THOMPSON = 5
GITTINS = 6
IDS = 7
MINTS = 8
MIN_UCB = 9
MIXED = 16
"""Added where the prior is a mixture, which rows of the plan hold: see `meanbounds.kernels.arms.mixed_priors`."""

LOGGED = 32
"""Added to the code of a policy that starts from a log by arm, which the last rows of its plan hold."""

DOUBTED = 64
"""Added where bounds may be wrong: the plan holds two plans, see `meanbounds.kernels.arms.doubt`."""

ROWS_OF_DOUBT = 2
"""Rows of such a plan after the two: whether the plan with bounds keeps the arm, and log N."""
