"""Pictures; matplotlib is imported only here."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch, Patch, Wedge
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from meanbounds.bounds import MeanBounds
from meanbounds.linear import FeasibleSet, LinearArms
from meanbounds.theory import RegretBound, regret_bounds, regret_slopes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from meanbounds.logs.hidden_parameter import LinearBounds
    from meanbounds.logs.sensitivity import Sensitivity
    from meanbounds.simulation.regret import Regret

__all__ = [
    "COLOURS",
    "plot_bounds",
    "plot_bounds_beside",
    "plot_cone",
    "plot_contexts",
    "plot_kept",
    "plot_regret",
    "plot_sensitivity",
    "plot_study",
]

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
_THEORY: dict[str, Callable[..., dict[str, RegretBound]]] = {"bounds": regret_bounds, "slopes": regret_slopes}


def plot_regret(
    regret: Regret,
    ax: Axes | None = None,
    band: str | None = "confidence",
    log: bool | None = None,
    theory: str | None = None,
) -> Axes:
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
        Whether rounds are on a logarithmic scale, on which logarithmic regret is a straight line; by default only for
        ``theory="slopes"``.
    theory
        What theorems say, in the colour of each policy: ``"bounds"`` draws the finite-time bound as a dashed line, with
        regret on a logarithmic scale, since bounds are several times what happens; ``"slopes"`` draws a dotted line
        that grows like the asymptotic constant times log n and meets the curve in the last round. For a policy to
        which no theorem applies a line above the picture says why. The numbers are those of
        `meanbounds.theory.regret_bounds` and `meanbounds.theory.regret_slopes`.
    """
    if band not in _BANDS:
        raise ValueError(f"band must be one of {', '.join(map(repr, _BANDS))}; got {band!r}")
    if theory not in (None, *_THEORY):
        raise ValueError(f"theory must be one of {', '.join(map(repr, _THEORY))} or None; got {theory!r}")
    log = theory == "slopes" if log is None else log
    if ax is None:
        ax = plt.subplots(figsize=(7, 4.2), layout="constrained")[1]
    ends = {}
    for number, label in enumerate(regret.labels):
        mean = regret.mean(label)
        colour, style = _look(number)
        ax.plot(regret.rounds, mean, style, color=colour, linewidth=1.8)
        ends[label] = (float(mean[-1]), colour)
        if band == "confidence":
            lower, upper = regret.band(label)
        elif band == "deviation":
            lower, upper = mean - regret.deviation(label), mean + regret.deviation(label)
        elif band == "quantiles":
            lower, upper = regret.quantiles(label, (0.05, 0.95))
        else:
            continue
        ax.fill_between(regret.rounds, np.maximum(lower, 0.0), upper, color=colour, alpha=0.18, linewidth=0)
    ax.set_ylabel(f"regret, mean of {len(regret.curves[regret.labels[0]])} runs")
    drawn = theory is not None and _draw_theory(ax, regret, theory)
    _against_rounds(ax, regret, ends, log, least=_least(regret) if drawn and theory == "bounds" else None)
    return ax


def _draw_theory(ax: Axes, regret: Regret, theory: str) -> bool:
    """A line for each policy to which a theorem applies, and a key that says for which ones none does, and why.

    Whether there was any.
    """
    entries: dict[str, Line2D] = {}
    reasons: dict[str, list[str]] = {}
    guarantees = _THEORY[theory](regret)
    for number, label in enumerate(regret.labels):
        guarantee = guarantees[label]
        if guarantee.values is None:
            reasons.setdefault(guarantee.reason, []).append(label)
            continue
        values, name, style = guarantee.values, "bound on the mean", (0, (5, 2))
        if guarantee.kind == "high probability":
            name = f"bound on every run, with probability {1.0 - guarantee.failure:g}"
        elif guarantee.kind == "asymptotic":
            values, name, style = (
                values - values[-1] + regret.mean(label)[-1],
                "slope in the long run, at most",
                (0, (1, 1)),
            )
            last = regret.rounds >= regret.rounds[-1] / 10  # far enough to show a slope, and not taken for a bound
            values = np.where(last & (values >= 0.0), values, np.nan)
        ax.plot(regret.rounds, values, color=_look(number)[0], linewidth=1.3, linestyle=style)
        entries.setdefault(name, Line2D([], [], color="#7f7f7f", linewidth=1.3, linestyle=style, label=name))
    drawn = bool(entries)
    for reason, names in reasons.items():
        text = textwrap.fill(f"{'; '.join(names)}: no {theory.removesuffix('s')}, {reason}", _letters(ax))
        entries[text] = Line2D([], [], linestyle="none", label=text)
    key = ax.legend(
        handles=list(entries.values()), loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False, fontsize="small"
    )
    for entry in key.get_texts():
        entry.set_parse_math(False)
    return drawn


def _letters(ax: Axes) -> int:
    """How many small letters fit above the axes, beside the key's handle."""
    inches = ax.get_window_extent().width / ax.figure.dpi
    return max(30, int(inches * 72.0 / (0.5 * FontProperties(size="small").get_size_in_points())) - 8)


def _least(regret: Regret) -> float | None:
    """Where a logarithmic scale of regret starts: below every mean but 0, within three decades of the largest."""
    means = np.concatenate([regret.mean(label) for label in regret.labels])
    top = float(means.max())
    return float(10.0 ** np.floor(np.log10(max(means[means > 0.0].min(), 1e-3 * top)))) if top > 0.0 else None


def plot_kept(regret: Regret, ax: Axes | None = None, log: bool = False) -> Axes:
    """Draw how many of the arms on offer could still be best, in the mean over runs, a line per linear policy.

    Parameters
    ----------
    regret
        What `meanbounds.simulate` returned for an environment such as `meanbounds.Linear`.
    ax
        Axes to draw on; new ones by default.
    log
        Whether rounds are on a logarithmic scale.
    """
    kept = regret.measures.get("kept", {})
    if not kept:
        raise ValueError("no policy restricts what is on offer: simulate OFUL or ROFUL in mb.Linear(...) first")
    if ax is None:
        ax = plt.subplots(figsize=(7, 4.2), layout="constrained")[1]
    ends = {}
    lengths = np.diff(regret.rounds, prepend=0)
    for label, sums in kept.items():
        mean = np.diff(sums.mean(axis=0), prepend=0.0) / lengths
        colour, style = _look(regret.labels.index(label))
        ax.plot(regret.rounds, mean, style, color=colour, linewidth=1.8)
        ends[label] = (float(mean[-1]), colour)
    ax.set_ylabel("arms on offer that could be best")
    _against_rounds(ax, regret, ends, log)
    return ax


def plot_cone(
    features: ArrayLike,
    bounds: MeanBounds,
    norm_high: float = 1.0,
    theta: ArrayLike | None = None,
    ax: Axes | None = None,
    offset: ArrayLike = 0.0,
) -> Axes:
    """Draw the restricted set in two dimensions: where the parameter can be, and which arms can be best for it.

    The parameter lies in the shaded set, all that satisfies every arm's bounds, and in any case within an angle alpha
    of the most promising arm, the one with the largest lower bound. An arm as long as that one is best for some such
    parameter only if it is in the cone of 2 alpha around it.

    Parameters
    ----------
    features
        Two columns, a row for each arm.
    bounds
        Bounds on the means.
    norm_high
        Upper limit on the norm of the parameter.
    theta
        The parameter to mark, where it is known.
    ax
        Axes to draw on; new ones by default.
    offset
        Known part of each arm's mean.
    """
    arms = LinearArms(features, bounds, offset=offset)
    if arms.dimension != 2:
        raise ValueError(f"a plane has two dimensions; these arms have {arms.dimension} features")
    feasible = FeasibleSet(arms, norm_high=norm_high)
    tight = feasible.tightened()
    if ax is None:
        ax = plt.subplots(figsize=(5.2, 5.6), layout="constrained")[1]
    reach = 1.08 * max(norm_high, float(arms.length.max()))
    axis = np.linspace(-reach, reach, 500)
    across, up = np.meshgrid(axis, axis)
    means = np.stack([across, up], axis=-1) @ arms.features.T + arms.offset
    inside = np.minimum(means - bounds.lower, bounds.upper - means).min(axis=-1)
    inside = np.minimum(inside, norm_high - np.hypot(across, up))
    ax.contourf(across, up, inside, levels=[0.0, np.inf], colors=[COLOURS[2]], alpha=0.35)
    ax.add_patch(Circle((0, 0), norm_high, fill=False, linestyle=":", color="#7f7f7f"))
    best = int(np.argmax(bounds.lower))
    near = (bounds.lower[best] - arms.offset[best]) / max(arms.length[best] * norm_high, 1e-300)
    alpha = np.degrees(np.arccos(np.clip(near, -1.0, 1.0))) if arms.length[best] else 180.0
    middle = np.degrees(np.arctan2(*arms.features[best, ::-1]))
    wedge = min(2.0 * alpha, 180.0)
    ax.add_patch(Wedge((0, 0), reach, middle - wedge, middle + wedge, color=COLOURS[4], alpha=0.14, linewidth=0))
    for k, (x, y) in enumerate(arms.features):
        colour = COLOURS[1] if k == best else COLOURS[0] if tight.possible[k] else "#b0b0b0"
        arrow = "-|>,head_length=5,head_width=2.5"
        ax.add_patch(FancyArrowPatch((0, 0), (x, y), arrowstyle=arrow, color=colour, shrinkA=0, shrinkB=0))
        ax.annotate(
            str(bounds.arms[k]),
            (x, y),
            textcoords="offset points",
            xytext=(7.0 * x / max(arms.length[k], 1e-9), 7.0 * y / max(arms.length[k], 1e-9)),
            ha="center",
            va="center",
            color=colour,
            fontsize=9,
            parse_math=False,
        )
    if theta is not None:
        ax.plot(*np.asarray(theta, dtype=np.float64), marker="*", markersize=11, color="black", linestyle="none")
    entries = [
        Line2D([], [], color=COLOURS[1], label="most promising arm"),
        Line2D([], [], color=COLOURS[0], label="can be best"),
        Line2D([], [], color="#b0b0b0", label="cannot be best"),
        Patch(color=COLOURS[4], alpha=0.3, label="cone of 2 alpha"),
        Patch(color=COLOURS[2], alpha=0.35, label="feasible parameters"),
        Line2D([], [], color="#7f7f7f", linestyle=":", label="norm_high"),
    ]
    if theta is not None:
        entries.append(Line2D([], [], color="black", marker="*", linestyle="none", label="true parameter"))
    ax.legend(handles=entries, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize="small")
    ax.set_xlim(-1.1 * reach, 1.1 * reach)
    ax.set_ylim(-1.1 * reach, 1.1 * reach)
    ax.set_aspect("equal")
    ax.spines[["top", "right"]].set_visible(False)
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
        ax = plt.subplots(figsize=(6.4, bounds_height(bounds)), layout="constrained")[1]
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


def plot_bounds_beside(
    bounds: Mapping[str, MeanBounds | LinearBounds],
    means: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    ax: Axes | None = None,
) -> Axes:
    """Draw several bounds on the same arms, one below the other for each arm; those that exclude its mean are crossed.

    Parameters
    ----------
    bounds
        What to draw, by name.
    means
        True means of the arms.
    low, high
        Range of the rewards, one for all arms or one for each: bounds are drawn as far as it goes.
    ax
        Axes to draw on; new ones by default.
    """
    arms = next(iter(bounds.values())).arms
    true, first, last = (np.broadcast_to(np.asarray(end, dtype=np.float64), len(arms)) for end in (means, low, high))
    if ax is None:
        ax = plt.subplots(figsize=(6.4, 1.0 + 0.36 * len(arms)), layout="constrained")[1]
    step = 0.8 / len(bounds)
    handles = []
    for number, (name, own) in enumerate(bounds.items()):
        colour = _look(number)[0]
        places = np.arange(len(arms)) + (number - (len(bounds) - 1) / 2.0) * step
        lower, upper = (np.clip(side, first, last) for side in (own.lower, own.upper))
        ax.hlines(places, lower, upper, color=colour, linewidth=4.0, alpha=0.6)
        ax.plot(
            [lower, upper], [places, places], "|", color=colour, markersize=5.5, markeredgewidth=2.5
        )  # if the width is 0
        slack = 1e-9 * (1.0 + np.abs(true))
        for k in np.flatnonzero((true < own.lower - slack) | (true > own.upper + slack)):
            near = lower[k] if true[k] < own.lower[k] else upper[k]
            ax.plot(near, places[k], "x", color="#b00000", markersize=8, markeredgewidth=2.2, zorder=4)
        handles.append(Line2D([], [], color=colour, linewidth=4.0, alpha=0.6, label=name))
    ax.vlines(true, np.arange(len(arms)) - 0.46, np.arange(len(arms)) + 0.46, color="black", linewidth=1.8, zorder=3)
    handles += [
        Line2D(
            [], [], color="black", marker="|", markersize=11, markeredgewidth=1.8, linestyle="none", label="true mean"
        ),
        Line2D([], [], color="#b00000", marker="x", markeredgewidth=2.2, linestyle="none", label="excludes it"),
    ]
    ax.set_yticks(range(len(arms)), [str(arm) for arm in arms], parse_math=False)
    ax.set_ylim(len(arms) - 0.5, -0.5)
    ax.set_xlabel("mean reward")
    _tidy(ax)
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize="small")
    return ax


def plot_contexts(
    bounds: Mapping[Any, MeanBounds], means: Mapping[Any, Sequence[float]] | None = None, most: int = 12
) -> Figure:
    """Draw the bounds of each context, one below the other; see `plot_bounds`.

    Parameters
    ----------
    bounds
        Bounds by context, such as `meanbounds.logs.bounds` returns.
    means
        True means by context, where they are known.
    most
        How many contexts to draw, the first ones.
    """
    shown = dict(list(bounds.items())[:most])
    heights = [bounds_height(own) for own in shown.values()]
    figure, axes = plt.subplots(
        len(shown),
        1,
        figsize=(6.4, 0.4 + sum(heights)),
        height_ratios=heights,
        layout="constrained",
        sharex=True,
        squeeze=False,
    )
    for number, (ax, (context, own)) in enumerate(zip(axes[:, 0], shown.items(), strict=True)):
        plot_bounds(own, None if means is None else means[context], ax)
        ax.set_title(str(context), loc="left", fontsize=10, parse_math=False)
        if number:
            ax.get_legend().remove()
        if number < len(shown) - 1:
            ax.set_xlabel("")
    if len(bounds) > most:
        figure.suptitle(f"the first {most} of {len(bounds)} contexts", fontsize=9)
    return figure


_SENSITIVITY = {
    "width": "mean width of the bounds",
    "pruned": "arms that cannot be best",
    "best_lower": "largest lower bound",
    "saved": "share of the exploration saved",
}


def plot_sensitivity(sensitivity: Sensitivity, value: str = "width", ax: Axes | None = None) -> Axes:
    """Draw a heat map over both gaps, in the mean over contexts, at the first confidence and shift.

    Parameters
    ----------
    sensitivity
        What `meanbounds.logs.sensitivity` returned.
    value
        ``"width"``, ``"pruned"``, ``"best_lower"`` or ``"saved"``.
    ax
        Axes to draw on; new ones by default.
    """
    if value not in _SENSITIVITY:
        raise ValueError(f"value must be one of {', '.join(map(repr, _SENSITIVITY))}; got {value!r}")
    rows = [
        row for row in sensitivity.rows if all(row[name] == sensitivity.base[name] for name in ("confidence", "shift"))
    ]
    across, up = (sorted({row[name] for row in rows}) for name in ("gap_low", "gap_high"))
    table = np.full((len(up), len(across)), np.nan)
    for i, high in enumerate(up):
        for j, low in enumerate(across):
            cells = [row for row in rows if row["gap_high"] == high and row["gap_low"] == low]
            if cells and not any(row["impossible"] for row in cells):
                table[i, j] = np.mean([row[value] for row in cells])
    if ax is None:
        size = (1.8 + 0.75 * len(across), 1.7 + 0.5 * len(up))
        ax = plt.subplots(figsize=(max(size[0], 4.0), max(size[1], 3.0)), layout="constrained")[1]
    image = ax.imshow(table, origin="lower", aspect="auto", cmap="viridis")
    for i, j in np.ndindex(*table.shape):
        cell = table[i, j]
        text = "not\npossible" if np.isnan(cell) else f"{cell:.2f}"
        dark = bool(np.isnan(cell)) or np.asarray(image.norm(cell), dtype=np.float64).item() > 0.6
        ax.text(j, i, text, ha="center", va="center", fontsize=8, color="black" if dark else "white")
    ax.set_xticks(range(len(across)), [f"{gap:.3g}" for gap in across])
    ax.set_yticks(range(len(up)), [f"{gap:.3g}" for gap in up])
    ax.set_xlabel("gap_low: best to second best, at least")
    ax.set_ylabel("gap_high: best to worst, at most")
    ax.set_title(_SENSITIVITY[value], loc="left", fontsize=10)
    return ax


def plot_study(regret: Regret, title: str | None = None) -> Figure:
    """Bounds and true means above, regret below: a tall picture that can be read on a phone as well."""
    bounds = MeanBounds.from_dict(regret.settings["bounds"])
    top, bottom = bounds_height(bounds), 4.0
    figure, (upper, lower) = plt.subplots(
        2, 1, figsize=(6.4, top + bottom), height_ratios=(top, bottom), layout="constrained"
    )
    plot_bounds(bounds, regret.settings["environment"]["means"], upper)
    plot_regret(regret, lower)
    if title:
        figure.suptitle(title, parse_math=False)
    return figure


def _look(number: int) -> tuple[str, str]:
    """Colour and line style of the policy at this place."""
    return COLOURS[number % len(COLOURS)], "--" if number >= len(COLOURS) else "-"


def _against_rounds(
    ax: Axes, regret: Regret, ends: dict[str, tuple[float, str]], log: bool, least: float | None = None
) -> None:
    """Finish a picture with a line per policy and rounds from left to right; a logarithmic one if `least` is given."""
    ax.set_xscale("log" if log else "linear")
    if not log:
        ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.set_xlim(int(regret.rounds[0]) if log else 0, int(regret.rounds[-1]))
    if least is not None:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.12g}")
    ax.set_ylim(bottom=least or 0.0)
    ax.set_xlabel("round")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    _tidy(ax)
    _name_ends(ax, ends)


def bounds_height(bounds: MeanBounds) -> float:
    """Inches: a line for each arm, up to what a page holds."""
    return 1.0 + min(0.28 * len(bounds), 6.0)


def _tidy(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="x", alpha=0.25)


def _name_ends(ax: Axes, ends: dict[str, tuple[float, str]]) -> None:
    """Name each line at its right end, moved apart so that no two names overlap."""
    size = 0.9 * float(plt.rcParams["font.size"])
    scale = ax.transData + ax.transAxes.inverted()
    least, right = ax.get_ylim()[0], ax.get_xlim()[1]
    apart = 1.28 * size * ax.figure.dpi / 72 / ax.get_window_extent().height
    place = -np.inf
    for label, (value, colour) in sorted(ends.items(), key=lambda item: item[1][0]):
        place = max(float(scale.transform((right, max(value, least)))[1]), place + apart)
        ax.annotate(
            label,
            xy=(1.0, value),
            xytext=(1.02, place),
            xycoords=("axes fraction", "data"),
            textcoords="axes fraction",
            color=colour,
            fontsize=size,
            va="center",
            annotation_clip=False,
            parse_math=False,
        )
