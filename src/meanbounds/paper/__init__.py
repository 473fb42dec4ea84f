"""The paper's figures and tables, one module each, and a verdict on each of its claims.

`meanbounds.paper.report.reproduce` runs them; `base` says what such a module has to offer. ``meanbounds reproduce`` is
the command.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from meanbounds.paper.base import Experiment
from meanbounds.support.optional import import_optional

__all__ = ["NAMES", "experiment"]

NAMES = ("factor", "roful", "panels", "comparison", "finite", "occupations", "movielens", "transfer", "compute")
"""Names of the experiments, in the order of the report."""


def experiment(name: str) -> Experiment:
    """Import the module that reproduces one figure or table.

    Examples
    --------
    >>> from meanbounds.paper import experiment
    >>> experiment("factor").SOURCE
    'Figure 1'
    """
    if name not in NAMES:
        raise ValueError(f"nothing to reproduce is called {name!r}; there are {', '.join(NAMES)}")
    for package in ("pandas", "pyarrow"):  # numbers are kept as Parquet; matplotlib is asked for by meanbounds.plots
        import_optional(package, "frames", "experiments")
    return cast(Experiment, import_module(f"meanbounds.paper.{name}"))
