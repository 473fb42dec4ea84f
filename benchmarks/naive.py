"""The picture of docs/naive_means.md: `python -m benchmarks.naive` writes docs/images/naive.png."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

import meanbounds as mb

PATH = Path(__file__).parents[1] / "docs" / "images" / "naive.png"
ARMS = ["tPA", "medical", "watch"]
MEANS = [[[0.9, 0.6, 0.3], [0.3, 0.5, 0.35]]]  # of early and late patients, which the log does not tell apart
SHARES = [[0.3, 0.7]]
ROWS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)


def clinic() -> mb.HiddenContexts:
    """Experts see whether a patient came early, and treat accordingly; the log leaves it out."""
    return mb.HiddenContexts(MEANS, SHARES, contexts=["all"], arms=ARMS)


def draw(path: Path = PATH, runs: int = 200) -> None:
    """Above, what a long log says of each treatment; below, how that changes with its length."""
    del runs
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    from meanbounds.plots import COLOURS, SMALL, column, plot_bounds
    from meanbounds.plots.style import tidy

    world = clinic()
    truth = world.marginal_means[0]
    _, (means, growth) = column([2.2, 2.8])
    counts = world.sample(ROWS[-1], seed=1)
    plot_bounds(mb.logs.bounds(counts, mb.logs.OptimalExpert())["all"], list(truth), ax=means)
    seen = counts.count[0] > 0
    naive = counts.total[0][seen] / counts.count[0][seen]
    (cross,) = means.plot(naive, np.flatnonzero(seen), "x", color=COLOURS[1], label="average of the log")
    cross.set(markersize=9, markeredgewidth=2.5)
    means.set_xlim(0.0, 1.0)
    means.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), frameon=False, fontsize=SMALL)

    k = ARMS.index("tPA")
    logs = [world.sample(rows, seed=1) for rows in ROWS]
    bounds = [mb.logs.bounds(log, mb.logs.OptimalExpert())["all"] for log in logs]
    played = np.array([log.count[0, k] for log in logs])
    mean = np.array([log.total[0, k] for log in logs]) / played
    error = 1.96 * np.sqrt(mean * (1.0 - mean) / played)
    growth.fill_between(
        ROWS, [b.lower[k] for b in bounds], [b.upper[k] for b in bounds], color=COLOURS[0], alpha=0.25, linewidth=0.0
    )
    growth.errorbar(ROWS, mean, error, color=COLOURS[1], marker="x", capsize=3.0)
    growth.axhline(truth[k], color="0.2", linestyle="--")
    growth.set_xscale("log")
    growth.set_ylim(0.0, 1.05)
    growth.set_xlabel("rows in the log")
    growth.set_ylabel("mean reward of tPA")
    growth.text(ROWS[-1], 0.77, "average, with its 95% limits", color=COLOURS[1], ha="right")
    growth.text(ROWS[0], truth[k] + 0.02, "truth", color="0.2")
    growth.text(ROWS[-1], 0.06, "bounds: shaded", color=COLOURS[0], ha="right")
    tidy(growth)
    plt.savefig(path, dpi=200)
    plt.close()


if __name__ == "__main__":
    draw()
