"""The guide's picture of the restricted cone: `python -m benchmarks.cone` writes docs/images/cone.png."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

import meanbounds as mb

PATH = Path(__file__).parents[1] / "docs" / "images" / "cone.png"


def draw(path: Path = PATH) -> None:
    """Draw eight arms around the circle, with bounds around their means."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    from meanbounds.plots import plot_cone

    angles = np.radians([20.0, 50.0, 75.0, 120.0, 170.0, 230.0, 300.0, 340.0])
    features, theta = np.column_stack([np.cos(angles), np.sin(angles)]), np.array([0.55, 0.7])
    below, above = np.random.default_rng(3).uniform(0.1, 0.4, (2, angles.size))
    means = features @ theta
    bounds = mb.MeanBounds(
        np.maximum(means - below, -1.0), np.minimum(means + above, 1.0), arms=list("abcdefgh"), low=-1.0, high=1.0
    )
    plot_cone(features, bounds, theta=theta)
    plt.savefig(path, dpi=200)
    plt.close()


if __name__ == "__main__":
    draw()
