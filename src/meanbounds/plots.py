"""Pictures; matplotlib is imported only here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from meanbounds.bounds import MeanBounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meanbounds.regret import Regret

__all__ = ["COLOURS", "plot_bounds", "plot_regret", "plot_study"]

COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#7f7f7f",
    "#000000",
    "#8c564b",
    "#bcbd22",
)
"""Okabe and Ito's colours first: they stay apart for colour-blind readers."""

_BANDS = ("confidence", "deviation", "quantiles", None)


def plot_regret(regret: Regret, ax: Axes | None = None, band: str | None = "confidence", log: bool = False) -> Axes:
    """Draw mean regret against rounds, a line per policy named at its end.

    Parameters
    ----------
    regret
        What `meanbounds.simulate` returned.
    ax
        Axes to draw on; new ones by default.
    band
        What the shading shows: ``"confidence"`` (95% for the mean), ``"deviation"`` (one standard deviation),
        ``"quantiles"`` (5% to 95% of the runs) or None.
    log
        Whether rounds are on a logarithmic scale, on which logarithmic regret is a straight line.
    """
    if band not in _BANDS:
        raise ValueError(f"band must be one of {', '.join(map(repr, _BANDS))}; got {band!r}")
    if ax is None:
        ax = plt.subplots(figsize=(7, 4.2), layout="constrained")[1]
    ends = {}
    for number, label in enumerate(regret.labels):
        mean = regret.mean(label)
        colour, style = COLOURS[number % len(COLOURS)], "--" if number >= len(COLOURS) else "-"
        ax.plot(regret.rounds, mean, style, color=colour, linewidth=1.8)
        ends[regret.name(label)] = (float(mean[-1]), colour)
        if band == "confidence":
            lower, upper = regret.band(label)
        elif band == "deviation":
            lower, upper = mean - regret.deviation(label), mean + regret.deviation(label)
        elif band == "quantiles":
            lower, upper = regret.quantiles(label, (0.05, 0.95))
        else:
            continue
        ax.fill_between(regret.rounds, np.maximum(lower, 0.0), upper, color=colour, alpha=0.18, linewidth=0)
    ax.set_xscale("log" if log else "linear")
    if not log:
        ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.set_xlim(1 if log else 0, int(regret.rounds[-1]))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("round")
    ax.set_ylabel(f"regret, mean of {len(regret.curves[regret.labels[0]])} runs")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    _tidy(ax)
    _name_ends(ax, ends)
    return ax


def plot_bounds(bounds: MeanBounds, means: Sequence[float] | None = None, ax: Axes | None = None) -> Axes:
    """Draw each arm's bounds as an interval; arms that cannot be best are grey, and l_max is a dashed line.

    Parameters
    ----------
    bounds
        What to draw.
    means
        True means to mark, where they are known.
    ax
        Axes to draw on; new ones by default.
    """
    if ax is None:
        ax = plt.subplots(figsize=(6.4, _bounds_height(bounds)), layout="constrained")[1]
    thick = min(7.0, 120.0 / len(bounds))
    for k, possible in enumerate(bounds.possible):
        colour = COLOURS[0] if possible else "#b0b0b0"
        ax.plot(
            [bounds.lower[k], bounds.upper[k]],
            [k, k],
            color=colour,
            linewidth=7,
            solid_capstyle="butt",
            alpha=0.55,
        )
    if means is not None:
        ax.plot(means, range(len(bounds)), "o", color="black", markersize=0.7 * thick, label="true mean")
    ax.axvline(bounds.best_lower, color=COLOURS[1], linestyle="--", linewidth=1.2, label="largest lower bound")
    named = range(0, len(bounds), 1 + len(bounds) // 30)
    ax.set_yticks(named, [str(bounds.arms[k]) for k in named], parse_math=False)
    ax.set_ylim(len(bounds) - 0.5, -0.5)
    pad = 0.02 * float((bounds.high - bounds.low).max())
    ax.set_xlim(float(bounds.low.min()) - pad, float(bounds.high.max()) + pad)
    ax.set_xlabel("mean reward")
    _tidy(ax)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize="small")
    return ax


def plot_study(regret: Regret, title: str | None = None) -> Figure:
    """Bounds and true means above, regret below: a tall picture that can be read on a phone as well."""
    bounds = MeanBounds.from_dict(regret.settings["bounds"])
    top, bottom = _bounds_height(bounds), 4.0
    figure, (upper, lower) = plt.subplots(
        2, 1, figsize=(6.4, top + bottom), height_ratios=(top, bottom), layout="constrained"
    )
    plot_bounds(bounds, regret.settings["environment"]["means"], upper)
    plot_regret(regret, lower)
    if title:
        figure.suptitle(title, parse_math=False)
    return figure


def _bounds_height(bounds: MeanBounds) -> float:
    """Inches: a line for each arm, up to what a page holds."""
    return 1.0 + min(0.28 * len(bounds), 6.0)


def _tidy(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="x", alpha=0.25)


def _name_ends(ax: Axes, ends: dict[str, tuple[float, str]]) -> None:
    """Name each line at its right end, moved apart so that no two names overlap."""
    top = ax.get_ylim()[1]
    height = ax.get_window_extent().height / ax.figure.dpi * 72
    apart = top * 11.5 / height
    place = -np.inf
    for label, (value, colour) in sorted(ends.items(), key=lambda item: item[1][0]):
        place = max(value, place + apart)
        ax.annotate(
            label,
            xy=(1.0, value),
            xytext=(1.02, place / top),
            xycoords=("axes fraction", "data"),
            textcoords="axes fraction",
            color=colour,
            fontsize=9,
            va="center",
            annotation_clip=False,
            parse_math=False,
        )
