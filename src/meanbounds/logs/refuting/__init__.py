"""Which assumption a log speaks against: tests that are valid for any number of rows, and what they would still allow.

`refute` runs all tests that the columns of a log permit. `alone` has what rewards alone say, `equal_cases` repeated
decisions, `over_time` changes, and `sources` several deciders and a randomised part. `budgets` says how much an
assumption lets the expert get wrong, and `tails` how likely so many errors would be. A test that finds nothing confirms
nothing.
"""

from meanbounds.logs.refuting.refute import refute
from meanbounds.logs.refuting.result import Refutation, Refutations

__all__ = ["Refutation", "Refutations", "refute"]
