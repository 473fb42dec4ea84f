"""The parameters of a linear bandit that satisfy all bounds, drawn in two dimensions."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch, Patch, Wedge
from numpy.typing import ArrayLike

from meanbounds.bounds import MeanBounds
from meanbounds.linear import FeasibleSet, LinearArms
from meanbounds.plots.style import COLOURS, GREY, SMALL, WIDTH, column

__all__ = ["plot_cone"]

_BEST, _POSSIBLE, _FEASIBLE, _CONE = COLOURS[1], COLOURS[0], COLOURS[2], COLOURS[4]


def plot_cone(
    features: ArrayLike,
    bounds: MeanBounds,
    *,
    norm_high: float = 1.0,
    theta: ArrayLike | None = None,
    offset: ArrayLike = 0.0,
    ax: Axes | None = None,
) -> Axes:
    """Draw the parameters that satisfy all bounds, and the arms that can be best, for arms with two features.

    The shaded set holds every parameter that satisfies all bounds. It lies within an angle alpha of the most promising
    arm, the one with the largest lower bound. An arm as long as that one can be best only if it lies in the cone of
    2 alpha around it.

    Parameters
    ----------
    features
        Features of the arms: a row for each arm, two columns.
    bounds
        Bounds on the arms' means, in reward units.
    norm_high
        Upper limit on the Euclidean norm of the parameter: the circle.
    theta
        The true parameter, to mark with a star; not drawn by default.
    offset
        Known part of each arm's mean, one for all arms or one for each.
    ax
        Axes to draw on; new ones by default.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from matplotlib import pyplot as plt
    >>> from meanbounds.plots import plot_cone
    >>> bounds = mb.MeanBounds([0.5, -1.0], [1.0, 1.0], arms=["a", "b"], low=-1.0, high=1.0)
    >>> ax = plot_cone([[1.0, 0.0], [0.0, 1.0]], bounds, theta=[0.7, 0.3])
    >>> [text.get_text() for text in ax.texts]
    ['a', 'b']
    >>> plt.close()
    >>> plot_cone([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], bounds)
    Traceback (most recent call last):
    ValueError: plot_cone draws arms with 2 features; these have 3
    """
    arms = LinearArms(features, bounds, offset=offset)
    if arms.dimension != 2:
        raise ValueError(f"plot_cone draws arms with 2 features; these have {arms.dimension}")
    ax = column([WIDTH + 0.7])[1][0] if ax is None else ax
    reach = 1.08 * max(norm_high, float(arms.length.max()))
    best = int(np.argmax(bounds.lower))
    _draw_parameters(ax, arms, bounds, norm_high, reach)
    _draw_wedge(ax, arms, bounds, norm_high, reach, best)
    _draw_arms(ax, arms, bounds, FeasibleSet(arms, norm_high=norm_high).tightened().possible.tolist(), best)
    if theta is not None:
        ax.plot(*np.asarray(theta, dtype=np.float64), marker="*", markersize=11, color="black", linestyle="none")
    _draw_key(ax, known=theta is not None)
    ax.set_xlim(-1.12 * reach, 1.12 * reach)
    ax.set_ylim(-1.12 * reach, 1.12 * reach)
    ax.set_aspect("equal")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _draw_parameters(ax: Axes, arms: LinearArms, bounds: MeanBounds, norm_high: float, reach: float) -> None:
    """Shade the parameters that satisfy all bounds, and draw the circle of the largest norm."""
    axis = np.linspace(-reach, reach, 500)
    across, up = np.meshgrid(axis, axis)
    means = np.stack([across, up], axis=-1) @ arms.features.T + arms.offset
    inside = np.minimum(means - bounds.lower, bounds.upper - means).min(axis=-1)
    inside = np.minimum(inside, norm_high - np.hypot(across, up))
    ax.contourf(across, up, inside, levels=[0.0, np.inf], colors=[_FEASIBLE], alpha=0.35)
    ax.add_patch(Circle((0, 0), norm_high, fill=False, linestyle=":", color="#7f7f7f"))


def _draw_wedge(ax: Axes, arms: LinearArms, bounds: MeanBounds, norm_high: float, reach: float, best: int) -> None:
    """The cone of 2 alpha around the most promising arm."""
    near = (bounds.lower[best] - arms.offset[best]) / max(arms.length[best] * norm_high, 1e-300)
    alpha = np.degrees(np.arccos(np.clip(near, -1.0, 1.0))) if arms.length[best] else 180.0
    middle = np.degrees(np.arctan2(*arms.features[best, ::-1]))
    wedge = min(2.0 * alpha, 180.0)
    ax.add_patch(Wedge((0, 0), reach, middle - wedge, middle + wedge, color=_CONE, alpha=0.14, linewidth=0))


def _draw_arms(ax: Axes, arms: LinearArms, bounds: MeanBounds, possible: list[bool], best: int) -> None:
    """An arrow for each arm, with its name at the tip."""
    for k, (x, y) in enumerate(arms.features):
        colour = _BEST if k == best else _POSSIBLE if possible[k] else GREY
        arrow = "-|>,head_length=5,head_width=2.5"
        ax.add_patch(FancyArrowPatch((0, 0), (x, y), arrowstyle=arrow, color=colour, shrinkA=0, shrinkB=0))
        away = 7.0 / max(arms.length[k], 1e-9)
        ax.annotate(
            str(bounds.arms[k]),
            (x, y),
            textcoords="offset points",
            xytext=(away * x, away * y),
            ha="center",
            va="center",
            color="#666666" if colour == GREY else colour,
            fontsize=10,
            parse_math=False,
        )


def _draw_key(ax: Axes, *, known: bool) -> None:
    entries = [
        Line2D([], [], color=_BEST, label="most promising arm"),
        Line2D([], [], color=_POSSIBLE, label="can be best"),
        Line2D([], [], color=GREY, label="cannot be best"),
        Patch(color=_CONE, alpha=0.3, label="cone of 2 alpha"),
        Patch(color=_FEASIBLE, alpha=0.35, label="feasible parameters"),
        Line2D([], [], color="#7f7f7f", linestyle=":", label="largest norm"),
    ]
    if known:
        entries.append(Line2D([], [], color="black", marker="*", linestyle="none", label="true parameter"))
    ax.legend(
        handles=entries,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=2,
        frameon=False,
        fontsize=SMALL,
        handlelength=1.6,
    )
