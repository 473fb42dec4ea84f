"""The result of a simulation: the regret of each policy in every run."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from meanbounds.support.checks import as_floats, as_list, shown, unknown
from meanbounds.support.optional import import_optional
from meanbounds.support.saving import write_atomically
from meanbounds.support.types import Floats, Integers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from meanbounds.bounds import MeanBounds

__all__ = ["ByLabel", "Difference", "Regret", "UnknownLabelError"]

_FORMAT = 1
_ROWS = 200  # checkpoints of a policy in a table
_Value = TypeVar("_Value")


class UnknownLabelError(KeyError):
    """Raised for a label that no policy has; the message names the closest one. It is a `KeyError`."""

    def __str__(self) -> str:
        return str(self.args[0])


class ByLabel(dict[str, _Value]):
    """A value for each policy, by its label.

    Examples
    --------
    >>> ByLabel({"GLUE": 1, "UCB": 2})["glue"]
    Traceback (most recent call last):
    meanbounds.simulation.regret.UnknownLabelError: unknown label 'glue', did you mean 'GLUE'? The labels are 'GLUE', 'UCB'
    """

    def __missing__(self, label: object) -> _Value:
        raise UnknownLabelError(unknown("label", label, list(self)))


class Difference(NamedTuple):
    """A difference of two mean regrets at each checkpoint, with its 95% confidence interval."""

    mean: Floats
    lower: Floats
    upper: Floats


class Regret:
    """Cumulative pseudo-regret of each policy in every run, at checkpoints.

    The pseudo-regret of a run up to round t is the sum over its rounds of the best mean minus the mean of the arm
    played. Everything is indexed by the label of a policy: ``regret.curves["GLUE"]``, ``regret.mean["GLUE"]``.

    Parameters
    ----------
    checkpoints
        The rounds, counted from 1, at which the regret is kept.
    curves
        For each label the regret in reward units: runs x checkpoints.
    plays
        For each label how often each arm was played in the whole run: runs x arms.
    settings
        Everything that determines the result: policies, environment, knowledge, horizon, runs, seed, versions.
    measures
        Further quantities by name and label: runs x checkpoints.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.8, 0.1, 0.1], [0.95, 0.95, 0.7])
    >>> environment = mb.Bernoulli([0.9, 0.8, 0.5])
    >>> regret = mb.simulate([mb.UCB(), mb.GLUE()], environment, bounds, horizon=1000, runs=50, seed=7)
    >>> regret.curves["GLUE"].shape, regret.plays["GLUE"].shape, regret.final["GLUE"].shape
    ((50, 200), (50, 3), (50,))
    """

    checkpoints: Integers
    curves: ByLabel[Floats]
    plays: ByLabel[Integers]
    settings: dict[str, Any]
    measures: dict[str, ByLabel[Floats]]

    def __init__(
        self,
        checkpoints: ArrayLike,
        curves: Mapping[str, ArrayLike],
        plays: Mapping[str, ArrayLike],
        settings: Mapping[str, Any] | None = None,
        measures: Mapping[str, Mapping[str, ArrayLike]] | None = None,
    ) -> None:
        self.checkpoints = np.asarray(checkpoints, dtype=np.int64)
        self.curves = ByLabel({label: np.asarray(curve, dtype=np.float64) for label, curve in curves.items()})
        self.plays = ByLabel({label: np.asarray(table, dtype=np.int64) for label, table in plays.items()})
        self.settings = dict(settings or {})
        self.measures = {
            name: ByLabel({label: np.asarray(table, dtype=np.float64) for label, table in part.items()})
            for name, part in (measures or {}).items()
        }

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the policies, in the order they were given."""
        return tuple(self.curves)

    @property
    def final(self) -> ByLabel[Floats]:
        """For each label the regret of every run at the last checkpoint."""
        return ByLabel({label: curve[:, -1] for label, curve in self.curves.items()})
