"""Instances: arms with bounds on their means, to try policies on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meanbounds.bounds import MeanBounds
from meanbounds.simulation.environments import Bernoulli, Environment, Linear
from meanbounds.support.checks import as_float, as_whole, shown
from meanbounds.support.streams import Seed, as_seed
from meanbounds.support.types import Floats

__all__ = ["INSTANCES", "Instance", "paper_linear", "random_instance"]


@dataclass(frozen=True, eq=False)
class Instance:
    """An environment, bounds on its means that hold, and a title that says why it is interesting.

    `INSTANCES` has the four of the paper's figure; `random_instance` and `paper_linear` draw others.

    Attributes
    ----------
    title
        Why it is interesting.
    environment
        Where rewards come from; another law with the same means is ``Uniform(instance.means)``.
    bounds
        Bounds on the means.

    Examples
    --------
    >>> import meanbounds as mb
    >>> instance = mb.simulation.INSTANCES["low-rewards"]
    >>> instance.title
    'all upper bounds below 1/2; ImprovedUCB and GLUE coincide'
    >>> regret = mb.simulate(mb.GLUE(), instance.environment, instance.bounds, horizon=100, runs=10, seed=7)
    """

    title: str
    environment: Environment
    bounds: MeanBounds

    @property
    def means(self) -> Floats:
        """The true means."""
        return self.environment.means


def random_instance(arms: int = 5, *, slack: float = 0.3, seed: Seed = None) -> Instance:
    """Draw means uniformly from [0, 1], and bounds that hold.

    Parameters
    ----------
    arms
        How many arms there are.
    slack
        How far bounds may be from the mean: each is a uniform distance up to this away, and in [0, 1].
    seed
        The same seed gives the same instance.

    Examples
    --------
    >>> instance = random_instance(10, seed=7)
    >>> bool(instance.bounds.contains(instance.means).all())
    True
    """
    size, most = as_whole("arms", arms), as_float("slack", slack)
    if not 0.0 <= most < np.inf:
        raise ValueError(f"slack must be a number, at least 0; got {shown(slack)}")
    rng = np.random.default_rng(as_seed(seed))
    means = rng.uniform(size=size)
    below, above = rng.uniform(0.0, most, (2, size))
    bounds = MeanBounds(np.maximum(means - below, 0.0), np.minimum(means + above, 1.0), arms=_names(size))
    return Instance(f"{size} arms at random", Bernoulli(means), bounds)


def paper_linear(seed: int, *, offered: int | None = 10, law: str = "clipped-gaussian") -> Instance:
    """A random draw of the paper's linear setting: 100 unit arms in R^10, bounds up to 0.5 away from the mean.

    The parameter points along (0, 1, ..., 9) and has norm 1. Rewards and bounds are in [0, 1] for an arm whose mean is
    positive, and in [-1, 0] for others.

    Parameters
    ----------
    seed
        Whole number; each one gives another draw of arms and bounds.
    offered
        How many arms are drawn in each round, 5, 10 or 15 in the paper; None for all.
    law
        How rewards are distributed, see `Linear`; the paper's by default, which moves the means.

    Notes
    -----
    Section 4, "Empirical Evaluations". The paper does not say how the arms are drawn; here, uniformly on the sphere.

    Examples
    --------
    >>> instance = paper_linear(seed=0, law="two-point")
    >>> instance.environment.features.shape, bool(instance.bounds.contains(instance.means).all())
    ((100, 10), True)
    """
    rng = np.random.default_rng(as_seed(seed))
    features = rng.normal(size=(100, 10))
    features /= np.linalg.norm(features, axis=1)[:, None]
    theta = np.arange(10) / np.linalg.norm(np.arange(10))
    means = features @ theta
    low = np.where(means > 0.0, 0.0, -1.0)
    lower, upper = (np.clip(means + sign * rng.uniform(0.0, 0.5, 100), low, low + 1.0) for sign in (-1.0, 1.0))
    environment = Linear(features, theta, offered=offered, law=law, low=low, high=low + 1.0)
    return Instance("the paper's linear setting", environment, MeanBounds(lower, upper, low=low, high=low + 1.0))


def _names(size: int) -> list[str]:
    return [f"arm {k + 1}" for k in range(size)]


def _five(title: str, means: list[float], lower: list[float], upper: list[float]) -> Instance:
    return Instance(title, Bernoulli(means), MeanBounds(lower, upper, arms=_names(5)))


INSTANCES: dict[str, Instance] = {
    "high-lower-bound": _five(
        "l_max above 1/2; arm 3 is meta-pruned",
        means=[0.90, 0.80, 0.70, 0.60, 0.50],
        lower=[0.85, 0.40, 0.30, 0.20, 0.10],
        upper=[0.98, 0.97, 0.87, 0.95, 0.93],
    ),
    "meta-pruned": _five(
        "bounds say nothing of the factors; arm 2 is meta-pruned",
        means=[0.70, 0.60, 0.50, 0.45, 0.35],
        lower=[0.35, 0.30, 0.20, 0.10, 0.05],
        upper=[0.95, 0.66, 0.90, 0.85, 0.80],
    ),
    "low-rewards": _five(
        "all upper bounds below 1/2; ImprovedUCB and GLUE coincide",
        means=[0.20, 0.15, 0.10, 0.08, 0.05],
        lower=[0.05, 0.05, 0.02, 0.02, 0.00],
        upper=[0.30, 0.28, 0.26, 0.24, 0.22],
    ),
    "clipping-only": _five(
        "bounds say nothing of the factors and only clip",
        means=[0.60, 0.50, 0.45, 0.40, 0.30],
        lower=[0.20, 0.15, 0.10, 0.10, 0.05],
        upper=[0.90, 0.80, 0.75, 0.70, 0.65],
    ),
}
"""The paper's four-panel figure gives no numbers; each instance satisfies the claim in the caption of one panel."""
