"""The policies, as data: each one turns what is known about the arms into a plan.

`index` has the policies that play the arm with the largest index, `direct` those that decide in another way, `oful` and
`sampling` those for arms with features, `rivals` what others do with bounds, or with a log taken as it is. The compiled
loops that play a plan are in `meanbounds.kernels`.
"""

from meanbounds.policies.base import Policy
from meanbounds.policies.direct import BIMED, OSSB, ThompsonSampling
from meanbounds.policies.exploration import EXPLORATION
from meanbounds.policies.gittins import OptimisticGittins
from meanbounds.policies.ids import IDS
from meanbounds.policies.index import BKLUCB, BUCB, GLUE, KLUCB, UCB, ImprovedUCB, UCBoost
from meanbounds.policies.logged import LoggedArms
from meanbounds.policies.oful import OFUL, ROFUL, LinearPolicy
from meanbounds.policies.plan import Plan, make_plan
from meanbounds.policies.rivals import MINTS, MINUCB, MostFrequentArm, WarmStart
from meanbounds.policies.sampling import LinearThompson

AnyPolicy = Policy | LinearPolicy
"""A policy for arms with or without features."""

__all__ = [
    "BIMED",
    "BKLUCB",
    "BUCB",
    "EXPLORATION",
    "GLUE",
    "IDS",
    "KLUCB",
    "MINTS",
    "MINUCB",
    "OFUL",
    "OSSB",
    "ROFUL",
    "UCB",
    "AnyPolicy",
    "ImprovedUCB",
    "LinearPolicy",
    "LinearThompson",
    "LoggedArms",
    "MostFrequentArm",
    "OptimisticGittins",
    "Plan",
    "Policy",
    "ThompsonSampling",
    "UCBoost",
    "WarmStart",
    "make_plan",
]
