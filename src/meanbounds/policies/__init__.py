"""What each policy is; how it runs is the kernels' business."""

from meanbounds.policies.base import Policy
from meanbounds.policies.direct import BIMED, OSSB, ThompsonSampling
from meanbounds.policies.exploration import EXPLORATION
from meanbounds.policies.index import BKLUCB, BUCB, GLUE, KLUCB, UCB, ImprovedUCB, UCBoost
from meanbounds.policies.oful import OFUL, ROFUL, LinearPolicy
from meanbounds.policies.plan import Plan, make_plan

AnyPolicy = Policy | LinearPolicy
"""What an agent or a simulation takes."""

__all__ = [
    "BIMED",
    "BKLUCB",
    "BUCB",
    "EXPLORATION",
    "GLUE",
    "KLUCB",
    "OFUL",
    "OSSB",
    "ROFUL",
    "UCB",
    "AnyPolicy",
    "ImprovedUCB",
    "LinearPolicy",
    "Plan",
    "Policy",
    "ThompsonSampling",
    "UCBoost",
    "make_plan",
]
