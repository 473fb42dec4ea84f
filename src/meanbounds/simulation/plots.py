"""Pictures of regret and of bounds, narrow enough to be read on a phone.

`plot_regret` and `plot_bounds` make a picture, `draw_regret` and `draw_bounds` draw on axes of yours. They need
matplotlib: ``pip install ".[plots]"``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import MeanBounds, check_bounds
from meanbounds.support.checks import as_floats, shown, unknown
from meanbounds.support.optional import import_optional
from meanbounds.support.saving import write_atomically
from meanbounds.support.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from meanbounds.simulation.regret import Regret

__all__ = ["COLOURS", "colours", "draw_bounds", "draw_regret", "plot_bounds", "plot_regret"]

COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"),  # Okabe and Ito's, for all eyes
    *("#9467bd", "#17becf", "#bcbd22", "#8c564b", "#7f7f7f"),
)
"""The colours of lines. The first seven can be told apart by colour-blind readers."""

_NAMES = "ucb bucb glue bklucb improveducb klucb thompsonsampling optimisticgittins ids bimed"
_OF_POLICY = dict(zip(_NAMES.split(), COLOURS, strict=False))
_OF_POLICY |= {"oful": COLOURS[0], "roful": COLOURS[2], "linearthompson": COLOURS[6]}
_WIDTH = 4.0  # inches: shown 390 pixels wide, as on a phone, letters of 9 points are 12 pixels high
_SMALL = 9.0  # points, the smallest letters
_LINE = 1.8  # points
_BLUE, _AMBER, _PALE, _GREY, _RED = "#6baed6", "#f2c14e", "#bdbdbd", "#666666", "#b00000"
_NAME = 18  # letters of an arm's name on a line
_GAP = 0.35  # lines between two labels
_DASH = 2.6  # widths of a line
_CROSSING = 12.0  # points for which two lines that cross may lie on each other
_BANDS = {
    "interval": "; shaded: its 95% confidence interval.",
    "deviation": "; shaded: one standard deviation.",
}
_KINDS = {
    "pruned": "Pruned: an upper bound below the largest lower bound.",
    "meta-pruned": "Meta-pruned: an upper bound below the best mean.",
}
_COINCIDE = "Where lines coincide, they are drawn as alternating dashes."


def plot_regret(
    regret: Regret,
    path: str | Path | None = None,
    *,
    log: str = "",
    band: str | None = "interval",
    bounds: MeanBounds | None = None,
    title: str | None = None,
    measure: str | None = None,
) -> Figure:
    """Draw the mean regret of each policy against rounds; `Regret.plot` describes the parameters."""
    tall = max(3.0, 0.9 + 1.28 * _SMALL / 72.0 * sum(1 + _GAP + _fold(label).count("\n") for label in regret.labels))
    if bounds is not None:
        check_bounds(bounds)
    figure, axes = _column([tall] if bounds is None else [_bounds_height(bounds), tall], title)
    said = ""
    if bounds is not None:
        environment = regret.settings.get("environment", {})
        said = draw_bounds(axes[0], bounds, None if "stages" in environment else environment.get("means"))
    said += "\n" * bool(said) + draw_regret(axes[-1], regret, log=log, band=band, measure=measure)
    return _finished(figure, said, path)


def plot_bounds(
    bounds: MeanBounds, means: ArrayLike | None = None, path: str | Path | None = None, *, title: str | None = None
) -> Figure:
    """Draw each arm's bounds as a bar, and mark the arms that cannot be best.

    Parameters
    ----------
    bounds
        The bounds to draw.
    means
        True means to mark with dots, in the order of the arms, where they are known. Then arms are marked that survive
        pruning although they end below the best mean (see `MeanBounds.meta_pruned`), and bounds that are wrong.
    path
        A file to write the picture to; none by default.
    title
        A title above the picture.

    Examples
    --------
    >>> import meanbounds as mb
    >>> instance = mb.simulation.INSTANCES["high-lower-bound"]
    >>> figure = mb.simulation.plot_bounds(instance.bounds, instance.means)
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['true mean', 'largest lower bound', 'can be best', 'meta-pruned']
    """
    check_bounds(bounds)
    figure, (ax,) = _column([_bounds_height(bounds)], title)
    return _finished(figure, draw_bounds(ax, bounds, means), path)


def draw_bounds(ax: Axes, bounds: MeanBounds, means: ArrayLike | None = None) -> str:
    """Draw what `plot_bounds` draws on these axes of matplotlib, and return a caption that explains it."""
    places, size, width = np.arange(len(bounds)), len(bounds), bounds.upper - bounds.lower
    true = None if means is None else as_floats("means", means)
    if true is not None and true.shape != (size,):
        raise ValueError(f"means must have one entry for each of {size} arms; got {shown(means)}")
    meta = np.zeros(size, dtype=bool) if true is None else bounds.meta_pruned(float(true.max()))
    kinds = {
        "can be best": (bounds.possible & ~meta, _BLUE, ""),
        "meta-pruned": (meta, _AMBER, ""),
        "pruned": (~bounds.possible, _PALE, "//////"),
    }
    for name, (chosen, colour, hatch) in kinds.items():
        if chosen.any():
            style: dict[str, Any] = {
                "color": "white" if hatch else colour,
                "edgecolor": colour,
                "hatch": hatch,
                "label": name,
            }
            ax.barh(places[chosen], width[chosen], left=bounds.lower[chosen], height=0.34, linewidth=1.0, **style)
    if true is not None:
        holds = bounds.contains(true)
        ax.plot(true[holds], places[holds], "o", color="black", markersize=5.0, label="true mean")
        if not holds.all():
            ax.plot(true[~holds], places[~holds], "X", color=_RED, markersize=7.5, label="mean outside bounds")
    ax.axvline(bounds.best_lower, color=COLOURS[1], linestyle="--", linewidth=1.2, label="largest lower bound")
    named = range(0, size, 1 + size // 30)
    ax.set_yticks(named, [_fold(str(bounds.arms[k]), _NAME) for k in named], parse_math=False)
    for k, text in zip(named, ax.get_yticklabels(), strict=True):
        text.set_color("black" if bounds.possible[k] else _GREY)
    ax.set_ylim(size - 0.5, -0.5)
    pad = 0.02 * float((bounds.high - bounds.low).max())
    ax.set_xlim(float(bounds.low.min()) - pad, float(bounds.high.max()) + pad)
    ax.locator_params(axis="x", nbins=6, steps=[1, 2, 5, 10])
    ax.set_xlabel("mean reward")
    _tidy(ax)
    _key(ax)
    said = {name: chosen.any() for name, (chosen, _, _) in kinds.items()}
    return "\n".join(sentence for name, sentence in _KINDS.items() if said[name])


def _key(ax: Axes) -> None:
    """Write the key above the axes, in the middle of their part of the picture, which includes names on the left."""
    from matplotlib.transforms import blended_transform_factory

    figure: Any = ax.get_figure(root=True)
    part = ax.get_subplotspec()
    box = ax.get_position() if part is None else part.get_position(figure)
    ax.legend(
        loc="lower center",
        bbox_to_anchor=(0.5 * (box.x0 + box.x1), 1.0),
        bbox_transform=blended_transform_factory(figure.transFigure, ax.transAxes),
        ncols=2,
        frameon=False,
        fontsize=_SMALL,
        handlelength=1.6,
        columnspacing=1.2,
        borderaxespad=0.2,
    )


def colours(labels: Iterable[str]) -> dict[str, str]:
    """A colour for each label: a built-in policy has its own in every picture, others get those that are left.

    Examples
    --------
    >>> colours(["GLUE"])["GLUE"] == colours(["UCB", "mine", "GLUE"])["GLUE"]
    True
    >>> len(set(colours(["GLUE", "GLUE(f='t')"]).values()))
    2
    """
    found: dict[str, str] = {}
    for label in labels:
        name = re.sub("[^a-z]", "", re.split("[(,]", label.lower())[0])
        own = _OF_POLICY.get(name, "")
        found[label] = "" if own in found.values() else own
    left = iter([colour for colour in COLOURS if colour not in found.values()] + list(COLOURS) * len(found))
    return {label: own or next(left) for label, own in found.items()}


def draw_regret(
    ax: Axes, regret: Regret, *, log: str = "", band: str | None = "interval", measure: str | None = None
) -> str:
    """Draw what `plot_regret` draws on these axes of matplotlib, and return a caption that explains it."""
    if not (isinstance(log, str) and log in ("", "x", "y", "xy")):
        raise ValueError(f'log must be "x", "y", "xy" or ""; got {shown(log)}')
    if not (band is None or band in _BANDS):
        raise ValueError(f'band must be "interval", "deviation" or None; got {shown(band)}')
    if measure is not None and measure not in regret.measures:
        raise ValueError(unknown("measure", measure, list(regret.measures)))
    rounds = regret.checkpoints.astype(np.float64)
    means = regret.mean if measure is None else {k: own.mean(axis=0) for k, own in regret.measures[measure].items()}
    band = band if measure is None and min(map(len, regret.curves.values())) > 1 else None
    shades = colours(regret.labels)
    for label in means if band else ():
        half = regret.deviation[label] if band == "deviation" else regret.interval[label][1] - means[label]
        sides = np.maximum(means[label] - half, 0.0), means[label] + half
        ax.fill_between(rounds, *sides, color=shades[label], alpha=0.16, linewidth=0)
    if measure is None and "x" not in log:
        rounds, means = np.append(0.0, rounds), {label: np.append(0.0, y) for label, y in means.items()}
    _scale(ax, rounds, list(means.values()), log)
    ax.set_ylabel("regret" if measure is None else measure)
    figure: Any = ax.get_figure(root=True)
    figure.draw_without_rendering()  # gives the axes their final height
    least = ax.get_ylim()[0]
    paths = {
        label: ax.transData.transform(np.column_stack([rounds, np.maximum(y, least)])) for label, y in means.items()
    }
    dashed = _draw_lines(ax, rounds, means, paths, shades)
    _name_ends(ax, means, paths, shades)
    sizes = sorted({len(curve) for curve in regret.curves.values()})
    runs = "One run" if sizes == [1] else f"Mean of {' or '.join(f'{size:,}' for size in sizes)} runs"
    return f"{runs}{_BANDS.get(band or '', '.')}" + dashed * f"\n{_COINCIDE}"


def _draw_lines(
    ax: Axes, rounds: Floats, means: Mapping[str, Floats], paths: Mapping[str, Floats], shades: Mapping[str, str]
) -> bool:
    """Draw a line for each label, dashed where it lies on lines drawn before; returns whether that is anywhere."""
    figure: Any = ax.get_figure(root=True)
    pixels = figure.dpi / 72.0
    across, table = next(iter(paths.values()))[:, 0], np.array([path[:, 1] for path in paths.values()])
    any_dashed = False
    for k, (label, y) in enumerate(means.items()):
        near = np.abs(table - table[k]) < _LINE * pixels
        solid = y >= ax.get_ylim()[0]
        edges = np.flatnonzero(np.diff(near[:k].any(axis=0), prepend=False, append=False))
        for first, end in zip(edges[::2], edges[1::2], strict=True):
            if across[end - 1] - across[first] < _CROSSING * pixels:
                continue
            pile = near[:, first:end].mean(axis=1) > 0.5
            place, size = max(int(pile[:k].sum()), 1), max(int(pile.sum()), 2)
            style = _DASH * (size - place), (_DASH, _DASH * (size - 1))
            part = slice(max(first - 1, 0), end + 1)
            ax.plot(rounds[part], y[part], color=shades[label], linestyle=style, linewidth=_LINE)
            solid[first:end], any_dashed = False, True
        ax.plot(rounds, np.where(solid, y, np.nan), color=shades[label], linewidth=_LINE, label=label)
    return any_dashed


def _scale(ax: Axes, x: Floats, curves: Sequence[Floats], log: str) -> None:
    """Set both scales, with a little space below 0, where a curve would be hidden by the axis."""
    from matplotlib.ticker import MaxNLocator

    top = max(float(y.max()) for y in curves)
    ax.autoscale_view()
    if "x" in log:
        ax.set_xscale("log")
    else:
        ax.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]))
    ax.set_xlim(float(x[0]), float(x[-1]) if x[-1] > x[0] else float(x[0]) + 1.0)
    high = max(1.06 * top, ax.dataLim.y1 if np.isfinite(ax.dataLim.y1) else 0.0) or 1.0
    if "y" in log and top > 0.0:
        least = min(float(y[y > 0.0].min(initial=top)) for y in curves)
        ax.set_yscale("log")
        ax.set_ylim(10.0 ** np.floor(np.log10(max(least, 1e-3 * top))), 1.3 * high)
    else:
        ax.set_ylim(min(-0.015 * high, 1.06 * min(float(y.min()) for y in curves)), high)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.12g}")
    ax.set_xlabel("round")
    _tidy(ax)


def _name_ends(ax: Axes, means: Mapping[str, Floats], paths: Mapping[str, Floats], shades: Mapping[str, str]) -> None:
    """Write labels at the ends of the lines, in the order of these, moved apart where they would overlap.

    Each label is joined to its line by a thin one. Policies whose lines are equal have one label.
    """
    figure: Any = ax.get_figure(root=True)
    box = ax.get_window_extent()
    height = 1.28 * _SMALL / 72.0 * figure.dpi / box.height  # of a line of text, as a share of the axes
    groups: list[list[str]] = []
    for label, y in means.items():
        same = next((own for own in groups if np.allclose(means[own[0]], y, rtol=1e-9, atol=1e-12)), None)
        if same is None:
            groups.append([label])
        else:
            same.append(label)
    groups.sort(key=lambda own: (round(float(paths[own[0]][-1, 1])), float(paths[own[0]][:, 1].mean())))
    ends = [(float(paths[own[0]][-1, 1]) - box.y0) / box.height for own in groups]
    texts = [
        [(part, label) for j, label in enumerate(own) for part in _fold("= " * (j > 0) + label).split("\n")]
        for own in groups
    ]
    places = _apart(ends, [height * (len(text) + _GAP) for text in texts])
    for end, text, place in zip(ends, texts, places, strict=True):
        joint: dict[str, Any] = {"linewidth": 0.7, "transform": ax.transAxes, "clip_on": False, "alpha": 0.8}
        bend = [end, end, place, place]
        ax.plot([1.0, 1.015, 1.045, 1.06], bend, color=shades[text[0][1]], scalex=False, scaley=False, **joint)
        for j, (part, label) in enumerate(text):
            y = place + height * ((len(text) - 1) / 2.0 - j)
            style: dict[str, Any] = {
                "transform": ax.transAxes,
                "fontsize": _SMALL,
                "va": "center_baseline",
                "parse_math": False,
            }
            ax.text(1.075, y, part, color=_ink(shades[label]), **style)


def _apart(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Places for boxes of these heights that do not overlap, as near as can be to those wanted, which ascend.

    Boxes that would overlap form a block, which stands where its boxes want to be on average, inside the axes.

    Examples
    --------
    >>> [round(place, 3) for place in _apart([0.5, 0.51, 0.9], [0.1, 0.1, 0.1])]
    [0.455, 0.555, 0.9]
    """
    blocks: list[tuple[list[float], float]] = []  # what the bottom of the block should be for each box, and its height

    def bottom(bottoms: list[float], height: float) -> float:
        return max(min(sum(bottoms) / len(bottoms), 1.02 - height), 0.0)

    for place, height in zip(wanted, heights, strict=True):
        bottoms, total = [place - height / 2.0], height
        while blocks and bottom(*blocks[-1]) + blocks[-1][1] > bottom(bottoms, total):
            below, under = blocks.pop()
            bottoms, total = below + [own - under for own in bottoms], under + total
        blocks.append((bottoms, total))
    found: list[float] = []
    for bottoms, total in blocks:
        edge = bottom(bottoms, total)
        for height in heights[len(found) : len(found) + len(bottoms)]:
            found.append(edge + height / 2.0)
            edge += height
    return found


def _column(heights: Sequence[float], title: str | None) -> tuple[Figure, list[Axes]]:
    """A figure with panels one below the other, which pyplot does not keep open."""
    pyplot: Any = import_optional("matplotlib.pyplot", "plots", "pictures")
    folded = _wrap(title or "", 42)
    size = (_WIDTH, sum(heights) + 0.2 * len(folded.splitlines()))
    style: dict[str, Any] = {"layout": "constrained", "squeeze": False, "dpi": 200}
    figure, axes = pyplot.subplots(len(heights), 1, figsize=size, height_ratios=heights, **style)
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.07)
    pyplot.close(figure)
    if folded:
        figure.suptitle(folded, fontsize=11, parse_math=False)
    return figure, list(axes[:, 0])


def _finished(figure: Figure, caption: str, path: str | Path | None) -> Figure:
    """Write the caption below the picture, and the picture to a file."""
    if caption:
        figure.supxlabel(_wrap(caption, 55), x=0.02, ha="left", fontsize=_SMALL, color=_GREY, linespacing=1.3)
    if path is not None:
        if not Path(path).suffix:
            raise ValueError(f"the name of a picture ends with its format, such as {path}.png; got {shown(str(path))}")
        write_atomically(path, figure.savefig)
    return figure


def _bounds_height(bounds: MeanBounds) -> float:
    lines = max(1 + _fold(str(arm), _NAME).count("\n") for arm in bounds.arms[:30])
    return 1.15 + min((0.12 + 0.16 * lines) * len(bounds), 6.0)


def _tidy(ax: Axes) -> None:
    """Remove the frame above and to the right, and draw faint vertical lines."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="x", alpha=0.25)
    ax.set_axisbelow(True)


def _wrap(text: str, letters: int) -> str:
    return "\n".join(line for part in text.split("\n") for line in textwrap.wrap(part, letters, break_on_hyphens=False))


def _fold(label: str, letters: int = 14) -> str:
    """Break a label into lines, at spaces, before brackets or between the words of a long name.

    Examples
    --------
    >>> _fold("ThompsonSampling(moments=2)").splitlines()
    ['Thompson', 'Sampling', '(moments=2)']
    """
    parts = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "\0", label.replace("(", "\0(")).replace(" ", " \0").split("\0")
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1] + part.rstrip()) > letters:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def _ink(colour: str) -> str:
    """Darken a colour until text in it is legible on white: a contrast of 4.5 to 1, as WCAG 2 (AA) requires."""
    tone = np.array([int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5)])
    while True:
        linear = np.where(tone <= 0.04045, tone / 12.92, ((tone + 0.055) / 1.055) ** 2.4)
        if 1.05 / (linear @ (0.2126, 0.7152, 0.0722) + 0.05) >= 4.5:
            return "#" + "".join(f"{round(255.0 * part):02x}" for part in tone)
        tone = 0.97 * tone
