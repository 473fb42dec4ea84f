"""Lines against rounds, one for each policy: regret, and arms that could still be best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from meanbounds.plots.style import SMALL, Look, column, fold, ink, looks, tidy
from meanbounds.support.types import Floats, Integers

__all__ = ["Curves", "Measured", "Theorem", "plot_kept", "plot_regret"]

_BANDS = ("confidence", "deviation", "quantiles", None)
_HEIGHT = 3.0  # inches
_NAME = 14  # letters of a name that fit on a line beside the curves
_DASHED, _DOTTED = (0.0, (5.0, 2.0)), (0.0, (1.0, 1.0))


class Curves(Protocol):
    """Regret of each policy in every run, at checkpoints; `meanbounds.Regret` is one."""

    @property
    def rounds(self) -> Integers:
        """The checkpoints: after how many rounds regret was recorded."""

    @property
    def curves(self) -> Mapping[str, Floats]:
        """For each label the regret in reward units, an array of runs x checkpoints."""

    def mean(self, label: str) -> Floats:
        """Mean over runs at each checkpoint."""

    def deviation(self, label: str) -> Floats:
        """Standard deviation over runs at each checkpoint."""

    def band(self, label: str) -> tuple[Floats, Floats]:
        """Confidence interval for the mean at each checkpoint."""

    def quantiles(self, label: str, levels: Sequence[float]) -> Floats:
        """Quantiles over runs, levels x checkpoints."""


class Measured(Curves, Protocol):
    """Curves with further numbers that were counted in each run; `meanbounds.Regret` is one."""

    @property
    def measures(self) -> Mapping[str, Mapping[str, Floats]]:
        """For each name and label an array of runs x checkpoints, summed over the rounds up to each checkpoint."""


class Theorem(Protocol):
    """A theorem's line for a policy, or the reason why there is none; `meanbounds.theory.RegretBound` is one."""

    @property
    def values(self) -> Floats | None:
        """Regret at each checkpoint, in reward units; None if no theorem applies."""

    @property
    def failure(self) -> float:
        """Share of the runs that may exceed the bound; 0 for a bound on the mean over runs."""

    @property
    def reason(self) -> str:
        """Why no theorem applies; empty if one does."""


class _Line(NamedTuple):
    """A curve that is named at its right end."""

    name: str
    last: float
    look: Look


def plot_regret(
    regret: Curves,
    ax: Axes | None = None,
    *,
    band: str | None = "confidence",
    log: bool | None = None,
    bounds: Mapping[str, Theorem] | None = None,
    slopes: Mapping[str, Theorem] | None = None,
    colours: Mapping[str, str] | None = None,
) -> Axes:
    """Draw mean regret against rounds: a line for each policy, with its name at the right end.

    `meanbounds.Regret.plot` calls this function, and computes `bounds` and `slopes` for you.

    Parameters
    ----------
    regret
        The result of `meanbounds.simulate`, or anything with the same curves.
    ax
        Axes to draw on; new ones by default.
    band
        Meaning of the shading: ``"confidence"`` (95% interval for the mean), ``"deviation"`` (one standard deviation),
        ``"quantiles"`` (5% to 95% of the runs), or None for no shading.
    log
        Whether rounds are on a logarithmic scale, on which logarithmic regret is a straight line; by default only with
        `slopes`.
    bounds
        For each label a bound on its regret at the checkpoints, such as `meanbounds.theory.regret_bounds` returns:
        dashed lines. Regret is then on a logarithmic scale, because bounds are several times the regret observed. If a
        policy has no bound, a line above the picture says why.
    slopes
        For each label how regret grows in the long run, such as `meanbounds.theory.regret_slopes` returns: dotted lines
        that end where the curve ends.
    colours
        Colours for some of the names; a built-in policy has its own, see `meanbounds.plots.looks`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from matplotlib import pyplot as plt
    >>> from meanbounds.plots import plot_regret
    >>> regret = mb.simulate([mb.UCB(), mb.GLUE()], mb.Bernoulli([0.9, 0.8]), horizon=100, runs=10, seed=7)
    >>> ax = plot_regret(regret, band="quantiles")
    >>> ax.get_ylabel(), sorted(text.get_text() for text in ax.texts)
    ('regret, mean of 10 runs', ['GLUE', 'UCB'])

    With the bounds that theory gives, as dashed lines:

    >>> ax = plot_regret(regret, bounds=mb.theory.regret_bounds(regret))
    >>> [text.get_text() for text in ax.get_legend().get_texts()], ax.get_yscale()
    (['bound on the mean'], 'log')
    >>> plt.close("all")
    """
    if band not in _BANDS:
        raise ValueError(f"band must be one of {', '.join(map(repr, _BANDS))}; got {band!r}")
    log = slopes is not None if log is None else log
    ax = column([_HEIGHT + 0.4 * (bounds is not None or slopes is not None)])[1][0] if ax is None else ax
    shown = looks(regret.curves, colours=colours)
    lines = []
    for label in regret.curves:
        mean, look = regret.mean(label), shown[label]
        ax.plot(regret.rounds, mean, color=look.colour, linestyle=look.style, linewidth=1.8)
        lines.append(_Line(label, float(mean[-1]), look))
        sides = _sides(regret, label, band)
        if sides is not None:
            ax.fill_between(regret.rounds, np.maximum(sides[0], 0.0), sides[1], color=look.colour, alpha=0.18, lw=0)
    ax.set_ylabel(f"regret, mean of {len(next(iter(regret.curves.values())))} runs")
    key = _Key()
    if bounds is not None:
        _draw_bounds(ax, regret, bounds, shown, key)
    least = _least(regret) if key.handles else None
    if slopes is not None:
        _draw_slopes(ax, regret, slopes, shown, key)
    key.draw(ax)
    _against_rounds(ax, regret.rounds, lines, log, least)
    return ax


def plot_kept(regret: Measured, ax: Axes | None = None, *, log: bool = False) -> Axes:
    """Draw how many of the arms on offer a linear policy still considers, on average over runs.

    Parameters
    ----------
    regret
        The result of `meanbounds.simulate` for `OFUL` or `ROFUL` in an environment such as `meanbounds.Linear`.
    ax
        Axes to draw on; new ones by default.
    log
        Whether rounds are on a logarithmic scale.

    Notes
    -----
    Each point is the mean over the rounds since the checkpoint before it, not a running mean from the start.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from matplotlib import pyplot as plt
    >>> from meanbounds.plots import plot_kept
    >>> instance = mb.LinearInstance.paper(0)
    >>> policies = {"OFUL": mb.OFUL(), "R-OFUL": mb.ROFUL(index="clip")}
    >>> regret = mb.simulate(policies, instance.environment(5), instance.bounds, horizon=50, runs=2, seed=7)
    >>> ax = plot_kept(regret)
    >>> ax.get_ylabel()
    'arms considered in a round'
    >>> oful, restricted = ax.lines
    >>> set(oful.get_ydata().tolist())  # OFUL considers all arms on offer in every round
    {5.0}
    >>> plt.close()
    """
    kept = regret.measures.get("kept", {})
    if not kept:
        raise ValueError("no policy restricts the arms on offer: simulate OFUL or ROFUL in mb.Linear(...) first")
    ax = column([_HEIGHT])[1][0] if ax is None else ax
    shown, lengths = looks(regret.curves), np.diff(regret.rounds, prepend=0)
    lines = []
    for label, sums in kept.items():
        mean, look = np.diff(sums.mean(axis=0), prepend=0.0) / lengths, shown[label]
        ax.plot(regret.rounds, mean, color=look.colour, linestyle=look.style, linewidth=1.8)
        lines.append(_Line(label, float(mean[-1]), look))
    ax.set_ylabel("arms considered in a round")
    _against_rounds(ax, regret.rounds, lines, log, None)
    return ax


def _sides(regret: Curves, label: str, band: str | None) -> tuple[Floats, Floats] | None:
    """Lower and upper side of the shading."""
    if band == "confidence":
        return regret.band(label)
    if band == "deviation":
        return regret.mean(label) - regret.deviation(label), regret.mean(label) + regret.deviation(label)
    if band == "quantiles":
        lower, upper = regret.quantiles(label, (0.05, 0.95))
        return lower, upper
    return None


class _Key:
    """The lines above a picture with theory: what dashes mean, and for which policies there is no theorem."""

    def __init__(self) -> None:
        self.handles: dict[str, Line2D] = {}
        self.reasons: dict[str, list[str]] = {}

    def line(self, text: str, style: tuple[float, tuple[float, ...]]) -> None:
        """Add an entry for lines of this style, once."""
        self.handles.setdefault(text, Line2D([], [], color="#7f7f7f", linewidth=1.3, linestyle=style, label=text))

    def missing(self, name: str, what: str, reason: str) -> None:
        """Add a policy without such a line, with the reason."""
        self.reasons.setdefault(f"no {what}, {reason}", []).append(name)

    def draw(self, ax: Axes) -> None:
        """Put it above the axes."""
        entries = list(self.handles.values())
        for reason, names in self.reasons.items():
            text = fold(f"{'; '.join(names)}: {reason}", _letters(ax))
            entries.append(Line2D([], [], linestyle="none", label=text))
        if not entries:
            return
        key = ax.legend(
            handles=entries,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            frameon=False,
            fontsize=SMALL,
            handlelength=1.6,
        )
        for entry in key.get_texts():
            entry.set_parse_math(False)


def _letters(ax: Axes) -> int:
    """How many small letters fit above the axes, beside the key's handle."""
    spec, figure = ax.get_subplotspec(), ax.get_figure(root=True)
    width = 6.4 if figure is None else float(figure.get_size_inches()[0])
    columns = 1 if spec is None else spec.get_gridspec().ncols
    return max(30, int((width / columns - 1.1) * 72.0 / (0.53 * SMALL)))


def _draw_bounds(ax: Axes, regret: Curves, bounds: Mapping[str, Theorem], shown: Mapping[str, Look], key: _Key) -> None:
    """A dashed line for each policy that has a bound."""
    for label in regret.curves:
        theorem = bounds[label]
        if theorem.values is None:
            key.missing(label, "bound", theorem.reason)
            continue
        every = f"bound on every run, with probability {1.0 - theorem.failure:g}"
        key.line(every if theorem.failure else "bound on the mean", _DASHED)
        ax.plot(regret.rounds, theorem.values, color=shown[label].colour, linewidth=1.3, linestyle=_DASHED)


def _draw_slopes(ax: Axes, regret: Curves, slopes: Mapping[str, Theorem], shown: Mapping[str, Look], key: _Key) -> None:
    """A dotted line for each policy whose growth is known, through the last point of its curve."""
    for label in regret.curves:
        theorem = slopes[label]
        if theorem.values is None:
            key.missing(label, "slope", theorem.reason)
            continue
        key.line("slope in the long run, at most", _DOTTED)
        values = theorem.values - theorem.values[-1] + regret.mean(label)[-1]
        last = regret.rounds >= regret.rounds[-1] / 10  # far enough to show a slope, and not mistaken for a bound
        values = np.where(last & (values >= 0.0), values, np.nan)
        ax.plot(regret.rounds, values, color=shown[label].colour, linewidth=1.3, linestyle=_DOTTED)


def _least(regret: Curves) -> float | None:
    """The start of a logarithmic scale of regret: below every mean above 0, within three decades of the largest."""
    means = np.concatenate([regret.mean(label) for label in regret.curves])
    top = float(means.max())
    return float(10.0 ** np.floor(np.log10(max(means[means > 0.0].min(), 1e-3 * top)))) if top > 0.0 else None


def _against_rounds(ax: Axes, rounds: Integers, lines: Sequence[_Line], log: bool, least: float | None) -> None:
    """Finish a picture with rounds from left to right; the vertical scale is logarithmic if `least` is given."""
    ax.set_xscale("log" if log else "linear")
    if not log:
        ax.xaxis.set_major_locator(MaxNLocator(2, steps=[1, 2, 2.5, 5, 10]))
    ax.set_xlim(int(rounds[0]) if log else 0, int(rounds[-1]))
    if least is not None:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.12g}")
    ax.set_ylim(bottom=least or 0.0)
    ax.set_xlabel("round")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    tidy(ax)
    _name_ends(ax, lines)


def _name_ends(ax: Axes, lines: Sequence[_Line]) -> None:
    """Name each line at its right end, with the names moved apart so that no two overlap.

    Where several lines have one colour, a piece of each line stands before its name.
    """
    figure = ax.get_figure(root=True)
    inch = (100.0 if figure is None else figure.dpi) / ax.get_window_extent().height  # as a share of the axes
    scale = ax.transData + ax.transAxes.inverted()
    least, right = ax.get_ylim()[0], ax.get_xlim()[1]
    sample = len({line.look.colour for line in lines}) < len(lines)
    upwards = sorted(lines, key=lambda line: line.last)
    names = [fold(line.name, _NAME) for line in upwards]
    wanted = [float(scale.transform((right, max(line.last, least)))[1]) for line in upwards]
    places = _apart(wanted, [1.28 * SMALL / 72.0 * inch * (1 + name.count("\n")) for name in names])
    for line, name, place in zip(upwards, names, places, strict=True):
        if sample:
            piece = LineCollection(
                [np.array([[1.02, place], [1.12, place]])],
                colors=[line.look.colour],
                linestyles=[line.look.style],
                linewidths=[1.8],
                transform=ax.transAxes,
                clip_on=False,
            )
            ax.add_collection(piece, autolim=False)
        ax.annotate(
            name,
            xy=(1.0, line.last),
            xytext=(1.14 if sample else 1.02, place),
            xycoords=("axes fraction", "data"),
            textcoords="axes fraction",
            color=ink(line.look.colour),
            fontsize=SMALL,
            va="center",
            annotation_clip=False,
            parse_math=False,
        )


def _apart(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Places for boxes of these heights that do not overlap, as near as can be to those wanted, which are sorted.

    Boxes that would overlap form a block, which stands where its boxes want to be on average.
    """
    blocks: list[tuple[list[float], float]] = []  # what the bottom of each block should be for each box, and its height
    for place, height in zip(wanted, heights, strict=True):
        bottoms, total = [place - height / 2.0], height
        while blocks and _bottom(blocks[-1][0]) + blocks[-1][1] > _bottom(bottoms):
            below, under = blocks.pop()
            bottoms, total = below + [bottom - under for bottom in bottoms], under + total
        blocks.append((bottoms, total))
    found: list[float] = []
    for bottoms, _ in blocks:
        edge = _bottom(bottoms)
        for height in heights[len(found) : len(found) + len(bottoms)]:
            found.append(edge + height / 2.0)
            edge += height
    return found


def _bottom(bottoms: Sequence[float]) -> float:
    """The bottom of a block, at most half a line below the axes."""
    return max(sum(bottoms) / len(bottoms), -0.03)
