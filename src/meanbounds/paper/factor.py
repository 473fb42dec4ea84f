"""The sharper subgaussian factor against the variance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

import meanbounds as mb
from meanbounds.paper.base import Claim, Work
from meanbounds.paper.verdicts import verdict
from meanbounds.plots import COLOURS, SMALL, column

if TYPE_CHECKING:
    import pandas as pd

TITLE = "The subgaussian factor of a reward whose mean is known"
SOURCE = "Figure 1"
ABOUT = (
    "The squared factor of Theorem 3 for a reward on [0, 1] against the variance of a reward of 0 or 1 with the same "
    "mean, and the factor 1/4 that holds for any mean. Three ways to find it: the closed form, the printed maximum "
    "searched where the proof says that it lies, and where it does lie."
)


@dataclass(frozen=True)
class Settings:
    """How many means, evenly spaced between 0 and 1, and how finely a maximum is searched."""

    means: int = 999
    steps: int = 20_001


SETTINGS = Settings()
QUICK = Settings(means=199, steps=2_001)


def run(settings: Settings, work: Work) -> pd.DataFrame:
    """A row for each mean."""
    return work.frame("factor", lambda: _table(settings))


def _table(settings: Settings) -> pd.DataFrame:
    import pandas as pd

    means = np.arange(1, settings.means + 1) / (settings.means + 1)
    return pd.DataFrame(
        {
            "mean": means,
            "variance": means * (1.0 - means),
            "factor": mb.variance_proxy(means),
            "printed": [_search(m, 2.0 / m, settings.steps) for m in means],
            "corrected": [_search(m, 2.0 / min(m, 1.0 - m), settings.steps) for m in means],
        }
    )


def _search(mean: float, reach: float, steps: int) -> float:
    """Largest value of the printed expression over s with the sign that the proof gives it, up to this size."""
    s = np.linspace(0.0, reach, steps)[1:] * (1.0 if mean < 0.5 else -1.0)
    return float(np.max(2.0 / s**2 * np.logaddexp(np.log(mean) + (1 - mean) * s, np.log1p(-mean) - mean * s)))


def plot(results: pd.DataFrame) -> Mapping[str, Figure]:
    """Factor, variance, and the factor for any mean."""
    figure, (ax,) = column([3.2])
    mean = results["mean"]
    ax.axhline(0.25, color="#7f7f7f", linestyle=":", label="any mean: 1/4")
    ax.plot(mean, results["factor"], color=COLOURS[0], linewidth=2, label="squared factor, Theorem 3")
    ax.plot(mean, results["variance"], color=COLOURS[1], linewidth=2, label="variance m(1 - m)")
    ax.plot(mean, results["printed"], "--", color=COLOURS[3], label="searched in the printed bracket")
    ax.set_xlabel("mean m")
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 0.27)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower center", fontsize=SMALL)
    return {"factor": figure}


def claims(results: pd.DataFrame) -> Sequence[Claim]:
    """The claims of Section 3 about the factor."""
    mean, variance, factor = (results[name].to_numpy() for name in ("mean", "variance", "factor"))
    off = mean != 0.5
    between = bool(np.all((variance[off] < factor[off]) & (factor[off] < 0.25)))
    rises, falls = np.diff(factor[mean <= 0.5]), np.diff(factor[mean >= 0.5])
    short = results["printed"].to_numpy() < factor - 1e-5
    worst = results.iloc[int(np.argmax(factor - results["printed"].to_numpy()))]
    first = f" from m = {mean[short][0]:.3f} on" if short.any() else ""
    found = np.abs(results["corrected"].to_numpy() - factor).max() < 1e-5
    return [
        Claim(
            "Theorem 3",
            "The squared factor is strictly between the variance m(1 - m) and 1/4 unless m = 1/2.",
            f"over {off.sum()} means: least distance to the variance {np.min((factor - variance)[off]):.2g}, to 1/4 "
            f"{np.min(0.25 - factor[off]):.2g}",
            verdict(between),
        ),
        Claim(
            "Figure 1, text",
            "It rises up to m = 1/2 and falls from there on.",
            f"least rise between neighbours {rises.min():.2g}, least fall {-falls.max():.2g}",
            verdict(bool(np.all(rises > 0.0) and np.all(falls < 0.0))),
        ),
        Claim(
            "Appendix A",
            "For m > 1/2 the maximum over s that defines it lies between -2/m and 0.",
            f"searched there it is too small{first} ({worst['printed']:.3f} instead of {worst['factor']:.3f} at m = "
            f"{worst['mean']:.3f}); between -2/(1 - m) and 0 it is found everywhere: {'yes' if found else 'no'}",
            verdict(not short.any(), bool(found)),
        ),
    ]
