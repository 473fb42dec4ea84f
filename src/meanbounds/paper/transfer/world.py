"""Arms with features and an expert who sees the hidden part of the parameter: the paper's setting, drawn at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

import meanbounds as mb
from meanbounds.logs import LinearBounds, LinearSetting, linear_bounds

__all__ = ["BOXES", "METHODS", "Draw", "Method", "World", "ball", "contains", "make_draw", "played", "usable"]

Method = Literal["paper", "corrected", "sharp"]
METHODS: tuple[Method, ...] = ("corrected", "sharp", "paper")
BOXES = ("common", "by coordinate")


@dataclass(frozen=True)
class World:
    """The paper's numbers, and the size of logs."""

    arms: int = 12
    dimension: int = 5
    norm_known: float = 1.0
    norm_hidden: float = 0.9
    radius: float = 0.1
    values: int = 100_000  # of the hidden part, equally likely
    rows: int = 100_000  # of a finite log
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Draw:
    """Arms, with the share of each in an infinite log of the expert, and its mean reward when played."""

    visible: NDArray[np.float64]
    hidden: NDArray[np.float64]
    theta_known: NDArray[np.float64]
    theta_hidden: NDArray[np.float64]
    radius: float
    share: NDArray[np.float64]
    mean: NDArray[np.float64]

    @property
    def known(self) -> NDArray[np.float64]:
        """Known part of each mean."""
        known: NDArray[np.float64] = self.visible @ self.theta_known
        return known

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean of each arm over the hidden part."""
        means: NDArray[np.float64] = self.known + self.hidden @ self.theta_hidden
        return means

    def box(self, kind: str = "common") -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Limits on the hidden part's entries: the same for all, as in the paper, or each coordinate's own."""
        low, high = self.theta_hidden - self.radius, self.theta_hidden + self.radius
        if kind == "common":
            return np.full_like(low, low.min()), np.full_like(high, high.max())
        return low, high

    def bounds(self, method: Method, box: str = "common") -> LinearBounds:
        """Bounds on the arms' means from the infinite log."""
        return linear_bounds(self.setting(box), share=self.share, mean=self.mean, method=method)

    def setting(self, box: str = "common") -> LinearSetting:
        """The features, the known parameter, and the box of the hidden one."""
        low, high = self.box(box)
        names = [f"arm {k + 1}" for k in range(len(self.hidden))]
        return LinearSetting(
            self.visible, self.hidden, theta_visible=self.theta_known, box_low=low, box_high=high, arms=names
        )

    def environment(self) -> mb.Linear:
        """The environment of the agent."""
        known = self.known
        return mb.Linear(
            self.hidden, self.theta_hidden, offered=None, rewards="uniform", low=known, high=known + 1.0, offset=known
        )


def make_draw(settings: World, number: int) -> Draw:
    """Draw the arms of this number, and the values of the hidden part."""
    rng = np.random.default_rng([settings.seed, number])
    along = np.arange(1.0, settings.dimension + 1.0)
    along /= np.linalg.norm(along)
    theta = settings.norm_hidden * along
    visible = np.abs(rng.normal(size=(settings.arms, settings.dimension)))
    hidden = np.zeros((settings.arms, settings.dimension))
    hidden[0] = theta + ball(rng, 1, settings)[0]
    for k in range(1, settings.arms):
        hidden[k, rng.choice(settings.dimension, 2, replace=False)] = np.abs(rng.normal(size=2))
        hidden[k] /= np.linalg.norm(hidden[k])
    half = ball(rng, settings.values // 2, settings)
    known = settings.norm_known * visible @ along
    count, total = played(known, hidden, theta + np.concatenate([half, -half]))[:2]
    mean = np.divide(total, count, out=np.zeros(settings.arms), where=count > 0)
    return Draw(visible, hidden, settings.norm_known * along, theta, settings.radius, count / count.sum(), mean)


def ball(rng: np.random.Generator, size: int, settings: World) -> NDArray[np.float64]:
    """Uniform draws from the ball around 0."""
    points = rng.normal(size=(size, settings.dimension))
    lengths = settings.radius * rng.uniform(size=size) ** (1.0 / settings.dimension)
    ball: NDArray[np.float64] = points * (lengths / np.linalg.norm(points, axis=1))[:, None]
    return ball


def played(
    known: NDArray[np.float64], hidden: NDArray[np.float64], parameters: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp], NDArray[np.float64]]:
    """Play the expert: counts and sums of means of each arm, and in each round the arm and the latent mean."""
    latent = parameters @ hidden.T
    best = np.argmax(known + latent, axis=1)
    latent = latent[np.arange(len(best)), best]
    count = np.bincount(best, minlength=len(known)).astype(np.float64)
    total = np.bincount(best, known[best] + latent, minlength=len(known)).astype(np.float64)
    return count, total, best, latent


def contains(bounds: LinearBounds, means: NDArray[np.float64]) -> NDArray[np.bool_]:
    """For each arm, whether its mean is within its bounds, except for rounding."""
    slack = 1e-9 * (1.0 + np.abs(means))
    return (bounds.lower <= means + slack) & (means - slack <= bounds.upper)


def usable(draw: Draw, found: LinearBounds) -> tuple[mb.TightBounds | None, str]:
    """The bounds that R-OFUL starts from, or the reason why it cannot."""
    try:
        return found.tightened(draw.known, draw.known + 1.0), ""
    except mb.BoundsError as error:
        return None, str(error)
