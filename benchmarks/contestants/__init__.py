"""One module for each library to compare with, each with a function `contestant`."""

from __future__ import annotations

import importlib
from typing import cast

from benchmarks.contestants.base import Contestant

LIBRARIES = ("pymab", "river", "mabwiser", "coba")
NAMES = (*LIBRARIES, "plain")


def load(name: str) -> Contestant:
    """Import the library; an ImportError says that it is not installed."""
    return cast(Contestant, importlib.import_module(f"benchmarks.contestants.{name}").contestant())
