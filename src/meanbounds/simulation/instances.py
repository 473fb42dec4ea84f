"""Instances: means and bounds to try policies on.

The paper's four-panel figure gives no numbers; each of the named ones satisfies what the caption of one panel claims.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import MeanBounds
from meanbounds.simulation.environments import Linear

__all__ = ["INSTANCES", "Instance", "LinearInstance"]


@dataclass(frozen=True)
class Instance:
    """Means of the arms, what is known of them, and what is special about it."""

    title: str
    means: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    @property
    def bounds(self) -> MeanBounds:
        """The mean bounds."""
        return MeanBounds(self.lower, self.upper, arms=[f"arm {k + 1}" for k in range(len(self.means))])

    @property
    def meta_pruned(self) -> NDArray[np.bool_]:
        """Arms that are played a bounded number of times, see `MeanBounds.meta_pruned`."""
        return self.bounds.meta_pruned(max(self.means))


@dataclass(frozen=True, eq=False)
class LinearInstance:
    """Arms with features, the parameter that their means share, and bounds that hold.

    Attributes
    ----------
    features
        One row for each arm.
    theta
        The parameter.
    bounds
        Bounds on the means, offsets included, with the range of each arm's rewards.
    offset
        Known part of each arm's mean.
    """

    features: NDArray[np.float64]
    theta: NDArray[np.float64]
    bounds: MeanBounds
    offset: NDArray[np.float64]

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean of each arm."""
        means: NDArray[np.float64] = self.offset + self.features @ self.theta
        return means

    def environment(self, offered: int | None, rewards: str = "two-point") -> Linear:
        """Where its rewards come from; see `meanbounds.Linear`."""
        return Linear(
            self.features, self.theta, offered, rewards, self.bounds.low, self.bounds.high, offset=self.offset
        )

    @classmethod
    def paper(cls, seed: int) -> LinearInstance:
        """A draw of the paper's synthetic setting: 100 unit arms in R^10, bounds up to 0.5 away from the mean.

        The parameter points along (0, 1, ..., 9) and has norm 1. Rewards and bounds are in [0, 1] for an arm whose mean
        is positive, and in [-1, 0] for others.

        Notes
        -----
        Section 4, "Empirical Evaluations". How the arms are drawn is not said there; here, uniformly on the sphere.

        Examples
        --------
        >>> import meanbounds as mb
        >>> instance = mb.LinearInstance.paper(seed=0)
        >>> instance.features.shape, bool(np.all(instance.bounds.lower <= instance.means))
        ((100, 10), True)
        """
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(100, 10))
        features /= np.linalg.norm(features, axis=1)[:, None]
        theta = np.arange(10) / np.linalg.norm(np.arange(10))
        means = features @ theta
        low = np.where(means > 0.0, 0.0, -1.0)
        lower, upper = (np.clip(means + sign * rng.uniform(0.0, 0.5, 100), low, low + 1.0) for sign in (-1.0, 1.0))
        return cls(features, theta, MeanBounds(lower, upper, low=low, high=low + 1.0), np.zeros(100))


INSTANCES: dict[str, Instance] = {
    "high-lower-bound": Instance(
        "l_max above 1/2; arm 3 is meta-pruned",
        means=(0.90, 0.80, 0.70, 0.60, 0.50),
        lower=(0.85, 0.40, 0.30, 0.20, 0.10),
        upper=(0.98, 0.97, 0.87, 0.95, 0.93),
    ),
    "meta-pruned": Instance(
        "bounds say nothing of the factors; arm 2 is meta-pruned",
        means=(0.70, 0.60, 0.50, 0.45, 0.35),
        lower=(0.35, 0.30, 0.20, 0.10, 0.05),
        upper=(0.95, 0.66, 0.90, 0.85, 0.80),
    ),
    "low-rewards": Instance(
        "all upper bounds below 1/2; ImprovedUCB and GLUE coincide",
        means=(0.20, 0.15, 0.10, 0.08, 0.05),
        lower=(0.05, 0.05, 0.02, 0.02, 0.00),
        upper=(0.30, 0.28, 0.26, 0.24, 0.22),
    ),
    "clipping-only": Instance(
        "bounds say nothing of the factors and only clip",
        means=(0.60, 0.50, 0.45, 0.40, 0.30),
        lower=(0.20, 0.15, 0.10, 0.10, 0.05),
        upper=(0.90, 0.80, 0.75, 0.70, 0.65),
    ),
}
