"""The figures and tables of the paper, one module each, and what becomes of its claims."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from meanbounds.paper.base import Experiment

__all__ = ["NAMES", "experiment"]

NAMES = ("factor", "roful", "panels", "comparison", "occupations", "movielens", "transfer", "compute")
"""What can be reproduced, in the order of the report."""


def experiment(name: str) -> Experiment:
    """The module that reproduces this; only this one is imported."""
    if name not in NAMES:
        raise ValueError(f"nothing to reproduce is called {name!r}; there are {', '.join(NAMES)}")
    return cast(Experiment, import_module(f"meanbounds.paper.{name}"))
