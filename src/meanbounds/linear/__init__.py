"""Arms with features (Section 4 of the paper): what the bounds allow, and the policies that learn one parameter."""

from meanbounds.linear.arms import LinearArms
from meanbounds.linear.feasible import FeasibleSet, TightBounds, tighten
from meanbounds.linear.linear_agent import Candidate, LinearAgent
from meanbounds.linear.linear_thompson import LinearThompson
from meanbounds.linear.oful import OFUL, LinearPolicy
from meanbounds.linear.roful import ROFUL

__all__ = [
    "OFUL",
    "ROFUL",
    "Candidate",
    "FeasibleSet",
    "LinearAgent",
    "LinearArms",
    "LinearPolicy",
    "LinearThompson",
    "TightBounds",
    "tighten",
]
