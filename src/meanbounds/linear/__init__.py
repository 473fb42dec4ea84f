"""Arms with features (Section 4): the parameters that the bounds allow, and the bounds on each arm that follow."""

from meanbounds.linear.arms import LinearArms
from meanbounds.linear.feasible import FeasibleSet, TightBounds, tighten

__all__ = ["FeasibleSet", "LinearArms", "TightBounds", "tighten"]
