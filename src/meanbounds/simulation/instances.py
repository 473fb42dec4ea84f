"""Instances: means and bounds to try policies on.

The paper's four-panel figure gives no numbers; each named instance here satisfies the claim in the caption of one
panel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import MeanBounds
from meanbounds.simulation.environments import Linear
from meanbounds.support.seeding import as_seed

__all__ = ["INSTANCES", "Instance", "LinearInstance"]


@dataclass(frozen=True)
class Instance:
    """Means of the arms and bounds on them, with a title that says why the instance is interesting.

    `meanbounds.INSTANCES` has the four of the paper's figure. Rewards are in [0, 1].

    Attributes
    ----------
    title
        Why it is interesting.
    means
        The true mean of each arm.
    lower, upper
        Bounds on the mean of each arm.

    Examples
    --------
    >>> import meanbounds as mb
    >>> instance = mb.INSTANCES["low-rewards"]
    >>> instance.title
    'all upper bounds below 1/2; ImprovedUCB and GLUE coincide'
    >>> regret = mb.simulate(mb.GLUE(), mb.Bernoulli(instance.means), instance.bounds, horizon=100, runs=10, seed=7)
    >>> regret.labels
    ('GLUE',)
    """

    title: str
    means: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    @property
    def bounds(self) -> MeanBounds:
        """The bounds, for arms named "arm 1", "arm 2", ...

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.INSTANCES["high-lower-bound"].bounds.best_lower
        0.85
        """
        return MeanBounds(self.lower, self.upper, arms=[f"arm {k + 1}" for k in range(len(self.means))])

    @property
    def meta_pruned(self) -> NDArray[np.bool_]:
        """For each arm, whether it survives pruning although its upper bound is below the best mean.

        Policies that clip at the upper bounds play such arms a bounded number of times; see `MeanBounds.meta_pruned`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.INSTANCES["high-lower-bound"].meta_pruned
        array([False, False,  True, False, False])
        """
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
        The known part of each arm's mean.

    Examples
    --------
    >>> import numpy as np
    >>> import meanbounds as mb
    >>> features = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> bounds = mb.MeanBounds([0.4, 0.5], [0.6, 1.0])
    >>> instance = mb.LinearInstance(features, np.array([0.5, 0.5]), bounds, np.zeros(2))
    >>> instance.means
    array([0.5, 0.7])
    >>> instance.environment(offered=None).means
    array([0.5, 0.7])
    """

    features: NDArray[np.float64]
    theta: NDArray[np.float64]
    bounds: MeanBounds
    offset: NDArray[np.float64]

    @property
    def means(self) -> NDArray[np.float64]:
        """The true mean of each arm: ``offset + features . theta``."""
        means: NDArray[np.float64] = self.offset + self.features @ self.theta
        return means

    def environment(self, offered: int | None, rewards: str = "two-point") -> Linear:
        """The environment with these arms, for `meanbounds.simulate`.

        Parameters
        ----------
        offered
            How many arms are drawn in each round; None for all.
        rewards
            Distribution of the rewards, see `meanbounds.Linear`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> environment = mb.LinearInstance.paper(seed=0).environment(offered=20)
        >>> len(environment), environment.offered
        (100, 20)
        """
        return Linear(
            self.features,
            self.theta,
            offered=offered,
            rewards=rewards,
            low=self.bounds.low,
            high=self.bounds.high,
            offset=self.offset,
        )

    @classmethod
    def paper(cls, seed: int) -> LinearInstance:
        """A random draw of the paper's synthetic setting: 100 unit arms in R^10, bounds up to 0.5 away from the mean.

        The parameter points along (0, 1, ..., 9) and has norm 1. Rewards and bounds are in [0, 1] for an arm whose mean
        is positive, and in [-1, 0] for others.

        Parameters
        ----------
        seed
            Whole number; each one gives another draw of arms and bounds.

        Notes
        -----
        Section 4, "Empirical Evaluations". The paper does not say how the arms are drawn; here, uniformly on the
        sphere.

        Examples
        --------
        >>> import meanbounds as mb
        >>> instance = mb.LinearInstance.paper(seed=0)
        >>> instance.features.shape, bool(np.all(instance.bounds.lower <= instance.means))
        ((100, 10), True)
        """
        rng = np.random.default_rng(as_seed(seed))
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
