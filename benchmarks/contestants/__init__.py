"""One module for each library to compare with.

A module has a function `contestant` for Bernoulli arms, `linear_contestant` for arms with a shared parameter, or both.
"""

from __future__ import annotations

import importlib
from typing import cast

from benchmarks.contestants.base import Contestant, LinearContestant

LIBRARIES = ("pymab", "river", "mabwiser", "coba")
NAMES = (*LIBRARIES, "plain")
LINEAR_LIBRARIES = ("banditlab", "coba")
LINEAR_NAMES = (*LINEAR_LIBRARIES, "plain_numpy")


def load(name: str) -> Contestant:
    """Import the library; an ImportError says that it is not installed."""
    return cast(Contestant, importlib.import_module(f"benchmarks.contestants.{name}").contestant())


def load_linear(name: str) -> LinearContestant:
    """The same, for arms with a shared parameter."""
    return cast(LinearContestant, importlib.import_module(f"benchmarks.contestants.{name}").linear_contestant())
