"""Bounds on means, drawn as intervals."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Literal, Protocol, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from meanbounds.bounds import Arm, MeanBounds
from meanbounds.plots.style import COLOURS, GREY, SMALL, column, fold, looks, tidy, title
from meanbounds.support.types import Floats

__all__ = ["Intervals", "bounds_height", "plot_bounds", "plot_bounds_beside", "plot_contexts"]

_NAME = 18  # letters of an arm's name on a line
_WRONG = "#b00000"
_Context = TypeVar("_Context", bound=Hashable)


class Intervals(Protocol):
    """A lower and an upper bound for each arm; `meanbounds.MeanBounds` is one."""

    @property
    def arms(self) -> Sequence[Arm]:
        """Names of the arms."""

    @property
    def lower(self) -> Floats:
        """Lower bound on each mean, in reward units."""

    @property
    def upper(self) -> Floats:
        """Upper bound on each mean, in reward units."""


def bounds_height(bounds: MeanBounds) -> float:
    """Height in inches that `plot_bounds` needs: a line for each arm, at most 7 inches in all.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.plots import bounds_height
    >>> round(bounds_height(mb.MeanBounds.vacuous(5)), 2), bounds_height(mb.MeanBounds.vacuous(500))
    (2.4, 7.0)
    """
    return 1.0 + min(0.28 * len(bounds), 6.0)


def plot_bounds(bounds: MeanBounds, means: Sequence[float] | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw each arm's bounds as a bar. Arms that cannot be best are grey.

    The dashed line is the largest lower bound: an arm whose bar ends to the left of it cannot be best.

    Parameters
    ----------
    bounds
        The bounds to draw.
    means
        True means to mark with dots, in the order of the arms, where they are known.
    ax
        Axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes, to change or save the picture: ``ax.figure.savefig("bounds.png")``.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from matplotlib import pyplot as plt
    >>> from meanbounds.plots import plot_bounds
    >>> ax = plot_bounds(mb.MeanBounds([0.7, 0.2], [0.9, 0.6], arms=["new", "old"]), [0.8, 0.5])
    >>> ax.get_xlabel(), [text.get_text() for text in ax.get_yticklabels()]
    ('mean reward', ['new', 'old'])
    >>> new, old = ax.lines[:2]
    >>> old.get_color()  # grey: 0.6 is below the lower bound 0.7 of the new one
    '#b0b0b0'
    >>> plt.close()
    """
    ax = column([bounds_height(bounds)])[1][0] if ax is None else ax
    thick = _thickness(ax, len(bounds))
    for k, possible in enumerate(bounds.possible):
        ax.plot(
            [bounds.lower[k], bounds.upper[k]],
            [k, k],
            color=COLOURS[0] if possible else GREY,
            linewidth=thick,
            solid_capstyle="butt",
            alpha=0.55,
        )
    if means is not None:
        ax.plot(means, range(len(bounds)), "o", color="black", markersize=0.7 * thick, label="true mean")
    ax.axvline(bounds.best_lower, color=COLOURS[1], linestyle="--", linewidth=1.2, label="largest lower bound")
    named = range(0, len(bounds), 1 + len(bounds) // 30)
    ax.set_yticks(named, [fold(str(bounds.arms[k]), _NAME) for k in named], parse_math=False)
    ax.set_ylim(len(bounds) - 0.5, -0.5)
    pad = 0.02 * float((bounds.high - bounds.low).max())
    ax.set_xlim(float(bounds.low.min()) - pad, float(bounds.high.max()) + pad)
    ax.set_xlabel("mean reward")
    tidy(ax)
    _key(ax, columns=2)
    return ax


def plot_bounds_beside(
    bounds: Mapping[str, Intervals],
    means: ArrayLike,
    *,
    low: ArrayLike,
    high: ArrayLike,
    ax: Axes | None = None,
    colours: Mapping[str, str] | None = None,
) -> Axes:
    """Draw several bounds on the same arms, one below the other, and cross out those that exclude the true mean.

    Parameters
    ----------
    bounds
        The bounds to draw, by name; all have the same arms.
    means
        True means of the arms.
    low, high
        Range of the rewards, one for all arms or one for each: bars are cut off there.
    ax
        Axes to draw on; new ones by default.
    colours
        Colours for some of the names; the others get those of `meanbounds.plots.looks`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from matplotlib import pyplot as plt
    >>> from meanbounds.plots import plot_bounds_beside
    >>> found = {"wide": mb.MeanBounds([0.1], [0.9]), "wrong": mb.MeanBounds([0.6], [0.7])}
    >>> ax = plot_bounds_beside(found, [0.5], low=0.0, high=1.0)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['wide', 'wrong', 'true mean', 'excludes it']
    >>> [line.get_xdata().tolist() for line in ax.lines if line.get_marker() == "x"]  # crossed out at 0.6
    [[0.6]]
    >>> plt.close()
    """
    arms = next(iter(bounds.values())).arms
    true, first, last = (np.broadcast_to(np.asarray(end, dtype=np.float64), len(arms)) for end in (means, low, high))
    ax = column([1.0 + 0.36 * len(arms)])[1][0] if ax is None else ax
    step = 0.8 / len(bounds)
    shown = looks(bounds, colours=colours)
    handles = []
    for number, (name, own) in enumerate(bounds.items()):
        colour = shown[name].colour
        places = np.arange(len(arms)) + (number - (len(bounds) - 1) / 2.0) * step
        lower, upper = (np.clip(side, first, last) for side in (own.lower, own.upper))
        ax.hlines(places, lower, upper, color=colour, linewidth=4.0, alpha=0.6)
        ends = [lower, upper]  # marked, because a bar of width 0 would not be seen
        ax.plot(ends, [places, places], "|", color=colour, markersize=5.5, markeredgewidth=2.5)
        slack = 1e-9 * (1.0 + np.abs(true))
        for k in np.flatnonzero((true < own.lower - slack) | (true > own.upper + slack)):
            near = lower[k] if true[k] < own.lower[k] else upper[k]
            ax.plot(near, places[k], "x", color=_WRONG, markersize=8, markeredgewidth=2.2, zorder=4)
        handles.append(Line2D([], [], color=colour, linewidth=4.0, alpha=0.6, label=name))
    ax.vlines(true, np.arange(len(arms)) - 0.46, np.arange(len(arms)) + 0.46, color="black", linewidth=1.8, zorder=3)
    handles += [
        Line2D([], [], color="black", marker="|", markersize=11, markeredgewidth=1.8, ls="none", label="true mean"),
        Line2D([], [], color=_WRONG, marker="x", markeredgewidth=2.2, ls="none", label="excludes it"),
    ]
    ax.set_yticks(range(len(arms)), [fold(str(arm), _NAME) for arm in arms], parse_math=False)
    ax.set_ylim(len(arms) - 0.5, -0.5)
    ax.set_xlabel("mean reward")
    tidy(ax)
    _key(ax, columns=2, handles=handles)
    return ax


def plot_contexts(
    bounds: Mapping[_Context, MeanBounds], means: Mapping[_Context, Sequence[float]] | None = None, *, most: int = 12
) -> Figure:
    """Draw the bounds of each context, one below the other; see `plot_bounds`.

    Parameters
    ----------
    bounds
        Bounds by context, such as `meanbounds.logs.bounds` returns.
    means
        True means by context, where they are known.
    most
        Draw at most this many contexts, the first ones.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from matplotlib import pyplot as plt
    >>> from meanbounds.plots import plot_contexts
    >>> found = {"north": mb.MeanBounds([0.7, 0.2], [0.9, 0.6]), "south": mb.MeanBounds.vacuous(2)}
    >>> figure = plot_contexts(found)
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['north', 'south']
    >>> plt.close(figure)
    >>> figure = plot_contexts(found, most=1)
    >>> figure.get_suptitle()
    'the first 1 of 2 contexts'
    >>> plt.close(figure)
    """
    shown = dict(list(bounds.items())[:most])
    figure, axes = column([bounds_height(own) for own in shown.values()], extra=0.4, share_x=True)
    for number, (ax, (context, own)) in enumerate(zip(axes, shown.items(), strict=True)):
        plot_bounds(own, None if means is None else means[context], ax=ax)
        if (legend := ax.get_legend()) is not None:
            legend.remove()
        title(ax, str(context))
        if number < len(shown) - 1:
            ax.set_xlabel("")
    handles = axes[0].get_legend_handles_labels()[0]
    place: Literal["outside upper right", "outside lower right"] = "outside upper right"
    if len(bounds) > most:
        figure.suptitle(f"the first {most} of {len(bounds)} contexts", fontsize=SMALL)
        place = "outside lower right"  # matplotlib would draw it over the title
    figure.legend(handles=handles, loc=place, ncols=2, frameon=False, fontsize=SMALL, handlelength=1.6)
    return figure


def _thickness(ax: Axes, bars: int) -> float:
    """Points: at most 7, and thin enough to leave space between bars; labels will take some of the height."""
    figure = ax.get_figure(root=True)
    height = ax.get_window_extent().height / (100.0 if figure is None else figure.dpi) * 72.0
    return float(min(7.0, 0.45 * height / bars))


def _key(ax: Axes, *, columns: int, handles: list[Line2D] | None = None) -> None:
    """The key, above the axes; it ends where they end, and reaches over the arms' names if it is long."""
    ax.legend(
        handles=ax.get_legend_handles_labels()[0] if handles is None else handles,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=columns,
        frameon=False,
        fontsize=SMALL,
        handlelength=1.6,
        columnspacing=1.2,
    )
