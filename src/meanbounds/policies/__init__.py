"""Policies for arms without features: one readable file each."""

from meanbounds.known import Known, Seen
from meanbounds.policies.base import EXPLORATION, IndexPolicy, Policy, share_of_largest
from meanbounds.policies.bimed import BIMED
from meanbounds.policies.bucb import BUCB
from meanbounds.policies.gittins import OptimisticGittins
from meanbounds.policies.glue import GLUE
from meanbounds.policies.guarded import Guarded
from meanbounds.policies.ids import IDS
from meanbounds.policies.improved_ucb import ImprovedUCB
from meanbounds.policies.klucb import BKLUCB, KLUCB
from meanbounds.policies.promise import Promise
from meanbounds.policies.thompson import ThompsonSampling
from meanbounds.policies.ucb import UCB

__all__ = [
    "BIMED",
    "BKLUCB",
    "BUCB",
    "EXPLORATION",
    "GLUE",
    "IDS",
    "KLUCB",
    "UCB",
    "Guarded",
    "ImprovedUCB",
    "IndexPolicy",
    "Known",
    "OptimisticGittins",
    "Policy",
    "Promise",
    "Seen",
    "ThompsonSampling",
    "share_of_largest",
]
