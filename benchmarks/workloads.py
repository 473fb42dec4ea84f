"""What is played: the workloads of every table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

import meanbounds as mb
from benchmarks.contestants.base import LinearArms

HORIZON = 10_000
RUNS = 200
SEED = 1

FEW = (0.9, 0.8, 0.7, 0.6, 0.5)
MANY = tuple(np.linspace(0.1, 0.9, 100).tolist())


@dataclass(frozen=True)
class Workload:
    """A policy that every library may have, on Bernoulli arms."""

    name: str
    policy: str
    means: tuple[float, ...]

    @property
    def title(self) -> str:
        return f"{self.name}: {self.policy}, {len(self.means)} arms"


WORKLOADS = (
    Workload("W1", "UCB", FEW),
    Workload("W2", "KL-UCB", FEW),
    Workload("W3", "UCB", MANY),
    Workload("W3-KL", "KL-UCB", MANY),
)


@dataclass(frozen=True)
class Setting:
    """Arms and bounds for the policies that only meanbounds has."""

    means: tuple[float, ...]
    bounds: mb.MeanBounds


def _around(means: tuple[float, ...], reach: float) -> mb.MeanBounds:
    lower, upper = (np.clip(np.add(means, shift), 0.0, 1.0) for shift in (-reach, reach))
    return mb.MeanBounds(lower, upper)


_INSTANCE = mb.INSTANCES["high-lower-bound"]

SETTINGS: Mapping[str, Setting] = {
    "5 arms, bounds [0, 1]": Setting(FEW, mb.MeanBounds.vacuous(len(FEW))),
    "5 arms, high-lower-bound": Setting(_INSTANCE.means, mb.MeanBounds(_INSTANCE.lower, _INSTANCE.upper)),
    "100 arms, bounds [0, 1]": Setting(MANY, mb.MeanBounds.vacuous(len(MANY))),
    "100 arms, mean ± 0.2": Setting(MANY, _around(MANY, 0.2)),
}

_FIFTY = tuple(np.linspace(0.1, 0.9, 50).tolist())

DECISIONS: Mapping[str, Setting] = {
    **{title: setting for title, setting in SETTINGS.items() if len(setting.means) == len(FEW)},
    "50 arms, bounds [0, 1]": Setting(_FIFTY, mb.MeanBounds.vacuous(len(_FIFTY))),
    "50 arms, mean ± 0.2": Setting(_FIFTY, _around(_FIFTY, 0.2)),
}
"""Where single decisions are timed, on one thread."""


@dataclass(frozen=True)
class LinearWorkload:
    """OFUL, and R-OFUL with bounds, on arms with a shared parameter."""

    name: str
    arms: LinearArms

    @property
    def title(self) -> str:
        count = len(self.arms.features)
        return f"{self.name}: OFUL, {self.arms.offered or 'all'} of {count} arms"

    @property
    def environment(self) -> mb.Linear:
        return mb.Linear(self.arms.features, self.arms.theta, offered=self.arms.offered, rewards="two-point")

    @property
    def bounds(self) -> mb.MeanBounds:
        """Each side of each mean up to 0.5 away."""
        return PAPER.bounds


PAPER = mb.LinearInstance.paper(SEED)

LINEAR_WORKLOADS = (
    LinearWorkload("W4a", LinearArms(PAPER.features, PAPER.theta, 10)),
    LinearWorkload("W4b", LinearArms(PAPER.features, PAPER.theta, None)),
)
