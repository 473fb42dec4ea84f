"""The guide's picture of regret and its bounds: `python -m benchmarks.theory` writes docs/images/theory.png."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

import meanbounds as mb

PATH = Path(__file__).parents[1] / "docs" / "images" / "theory.png"


def draw(path: Path = PATH, runs: int = 200) -> None:
    """Draw the instance with a large lower bound; one of the four policies has no theorem."""
    instance = mb.INSTANCES["high-lower-bound"]
    policies = {"UCB": mb.UCB(), "ImprovedUCB": mb.ImprovedUCB(), "GLUE": mb.GLUE(), "B-KL-UCB": mb.BKLUCB()}
    regret = mb.simulate(policies, mb.Bernoulli(instance.means), instance.bounds, horizon=20_000, runs=runs, seed=7)
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    regret.plot(theory="bounds")
    plt.savefig(path, dpi=200)
    plt.close()


if __name__ == "__main__":
    draw()
