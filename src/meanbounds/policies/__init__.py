"""What each policy is; how it runs is the kernels' business."""

from meanbounds.policies.base import Policy, make_plan
from meanbounds.policies.direct import BIMED, OSSB, ThompsonSampling
from meanbounds.policies.exploration import EXPLORATION
from meanbounds.policies.index import BKLUCB, BUCB, GLUE, KLUCB, UCB, ImprovedUCB, UCBoost
from meanbounds.policies.oful import OFUL, ROFUL, LinearPolicy

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
    "Policy",
    "ThompsonSampling",
    "UCBoost",
    "make_plan",
]
