"""Arms with features: where the shared parameter can be, and what that says of each arm's mean (Section 4)."""

from meanbounds.linear.arms import LinearArms
from meanbounds.linear.feasible import FeasibleSet, TightBounds, tighten

__all__ = ["FeasibleSet", "LinearArms", "TightBounds", "tighten"]
