"""What a policy is: data that turns bounds into a plan for a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.bounds import MeanBounds
from meanbounds.kernels.arms import textbook
from meanbounds.policies.described import Described
from meanbounds.policies.exploration import DEFAULT, Exploration, log_f

__all__ = ["Policy", "make_plan"]


def make_plan(
    bounds: MeanBounds,
    keep: NDArray[np.bool_] | None = None,
    cap: ArrayLike = np.inf,
    proxy: ArrayLike = 0.0,
    lower: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Plan with the rows of `meanbounds.kernels.arms.tables.Plan`, one column for each arm that is kept.

    Parameters
    ----------
    bounds
        Gives the arms and their reward ranges.
    keep
        Which arms may be played; all by default.
    cap
        What clips each arm's index, in reward units.
    proxy
        Variance proxy of each arm, in reward units squared.
    lower
        Lower bound that the kernel may use; the bottom of the range by default.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.make_plan(mb.MeanBounds([0.2, 0.3], [0.8, 0.9]), cap=0.5, proxy=0.25).shape
    (6, 2)
    """
    rows = (
        np.arange(len(bounds)),
        bounds.low,
        bounds.high - bounds.low,
        bounds.low if lower is None else lower,
        cap,
        proxy,
    )
    table = np.array([np.broadcast_to(row, len(bounds)) for row in rows], dtype=np.float64)
    return table if keep is None else np.ascontiguousarray(table[:, keep])


@dataclass(frozen=True)
class Policy(Described, ABC):
    """Base of all policies for arms that have nothing in common; `LinearPolicy` is that for arms with features.

    A policy is a frozen dataclass with a kernel and a `plan`; see "Add a policy" in CONTRIBUTING.

    Parameters
    ----------
    f
        How fast exploration grows: a name from `meanbounds.policies.EXPLORATION`, or a function of an array of rounds
        that is at least 1 and never falls.
    """

    kernel: ClassVar[int] = textbook.GAUSSIAN
    theorem: ClassVar[str] = ""

    f: Exploration = DEFAULT

    def __post_init__(self) -> None:
        self.log_f(1, 2)

    @abstractmethod
    def plan(self, bounds: MeanBounds) -> NDArray[np.float64]:
        """What the kernel needs to know of each arm, from the bounds of the arms on offer."""

    @property
    def parameters(self) -> NDArray[np.float64]:
        """Numbers that the kernel needs beyond the plan."""
        return np.zeros(0)

    @property
    def has_index(self) -> bool:
        """Whether the policy plays the arm with the largest index."""
        return self.kernel in (textbook.GAUSSIAN, textbook.KL, textbook.BOOST)

    def log_f(self, first: int, last: int) -> NDArray[np.float64]:
        """Log f(t) for the rounds t = first, ..., last."""
        return log_f(self.f, first, last)
