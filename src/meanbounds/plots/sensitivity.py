"""Which options can be best under each assumption, as a heat map."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from meanbounds.plots.style import COLOURS, SMALL, column, fold, title
from meanbounds.support.types import Floats

__all__ = ["Assumptions", "plot_sensitivity"]

_TITLES = {
    "can_be_best": "options that can be best",
    "pruned": "options that cannot be best",
    "width": "mean width of the bounds",
    "best_lower": "largest lower bound",
    "saved": "share of the exploration saved",
}
_COUNTS = ("can_be_best", "pruned")
_LETTERS = 40  # of all names in a row of cells


class Assumptions(Protocol):
    """Bounds over a grid of assumptions; `meanbounds.logs.Sensitivity` is one."""

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A mapping for each context and point of the grid: the assumptions, and the decision that they lead to."""

    @property
    def base(self) -> Mapping[str, Any]:
        """The assumptions that the analysis started from, by name."""


def plot_sensitivity(
    sensitivity: Assumptions, value: str = "can_be_best", *, context: Hashable | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a heat map over ``gap_low`` and ``gap_high``: which options can be best under each pair of gaps.

    A frame marks the assumptions that you started from. Brighter cells rule out more options, or have larger values.
    Confidence and shift are the first values of the grid.

    Parameters
    ----------
    sensitivity
        The result of `meanbounds.logs.sensitivity`.
    value
        The number that cells show. ``"can_be_best"``: the names of the options that can be best, if there is one
        context and the names fit, otherwise how many of all options. ``"pruned"``: how many cannot be best. Both are
        summed over contexts. ``"width"`` (mean width of the bounds, in reward units), ``"best_lower"`` (largest lower
        bound) and ``"saved"`` (share of the exploration saved) are means over contexts. Where the assumptions
        contradict the log, a cell says "not possible", or "x" where cells are small.
    context
        Show this context alone; all of them together by default. Needed where the gaps differ by context.
    ax
        Axes to draw on; new ones by default.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from matplotlib import pyplot as plt
    >>> from meanbounds.plots import plot_sensitivity
    >>> lab = mb.HiddenContexts([[[0.9, 0.4, 0.1], [0.3, 0.8, 0.2]]], [[0.8, 0.2]], arms=["a", "b", "c"])
    >>> found = mb.logs.sensitivity(lab.counts(), gap_low=[0.5, 0.1], gap_high=0.8, infinite=True)
    >>> [text.get_text() for text in plot_sensitivity(found).texts]  # for gap_low 0.1 and 0.5
    ['all 3', 'a']
    >>> [text.get_text() for text in plot_sensitivity(found, "width").texts]
    ['0.47', '0.20']
    >>> plt.close("all")
    """
    if value not in _TITLES:
        raise ValueError(f"value must be one of {', '.join(map(repr, _TITLES))}; got {value!r}")
    across, up, cells = _grid(sensitivity, context)
    table = np.array([[_number(cell, value) for cell in line] for line in cells])
    ax = column([max(3.0, 1.3 + 0.55 * len(up))])[1][0] if ax is None else ax
    least, most = _limits(cells, value, table)
    shades = np.clip((table - least) / (most - least), 0.0, 1.0)  # bright where more is decided
    ax.imshow(1.0 - shades if value == "can_be_best" else shades, origin="lower", aspect="auto", vmin=0.0, vmax=1.0)
    for i, j in np.ndindex(*table.shape):
        text = _text(cells[i][j], value, float(table[i, j]), _LETTERS // len(across))
        dark = (shades[i, j] >= 0.4) if value == "can_be_best" else (shades[i, j] <= 0.6)
        colour = "white" if dark else "black"
        ax.text(j, i, text, ha="center", va="center", fontsize=SMALL, color=colour, parse_math=False)
    _frame(ax, sensitivity.base, across, up, context)
    ax.set_xticks(range(len(across)), [f"{gap:.3g}" for gap in across])
    ax.set_yticks(range(len(up)), [f"{gap:.3g}" for gap in up])
    ax.set_xlabel("gap_low: best to second best, at least")
    ax.set_ylabel(fold("gap_high: best to worst, at most", 22))
    where = "" if context is None else f" in {context}"
    title(ax, _TITLES[value] + where)
    return ax


_Cell = Sequence[Mapping[str, Any]]  # the rows of all contexts that are shown, at one point of the grid


def _grid(sensitivity: Assumptions, context: Hashable | None) -> tuple[list[float], list[float], list[list[_Cell]]]:
    """The values of both gaps, and what was found at each pair of them."""
    contexts = list(dict.fromkeys(row["context"] for row in sensitivity.rows))
    if context is not None and context not in contexts:
        raise ValueError(f"context must be one of {', '.join(map(repr, contexts))}; got {context!r}")
    if context is None and any(isinstance(sensitivity.base[name], Mapping) for name in ("gap_low", "gap_high")):
        raise ValueError(f"gaps differ by context: choose one, for example context={contexts[0]!r}")
    rows = [
        row
        for row in sensitivity.rows
        if all(row[name] == sensitivity.base[name] for name in ("confidence", "shift"))
        and context in (None, row["context"])
    ]
    across, up = (sorted({float(row[name]) for row in rows}) for name in ("gap_low", "gap_high"))

    def cell(low: float, high: float) -> _Cell:
        return [row for row in rows if row["gap_low"] == low and row["gap_high"] == high]

    return across, up, [[cell(low, high) for low in across] for high in up]


def _number(cell: _Cell, value: str) -> float:
    """The number behind the colour of a cell; NaN if the assumptions cannot hold in some context."""
    if not cell or any(row["impossible"] for row in cell):
        return float("nan")
    found: Floats = np.array(
        [len(row[value]) if value == "can_be_best" else row[value] for row in cell], dtype=np.float64
    )
    return float(found.sum() if value in _COUNTS else found.mean())


def _limits(cells: Sequence[Sequence[_Cell]], value: str, table: Floats) -> tuple[float, float]:
    """The values of the darkest and the brightest colour: for counts from nothing decided to everything."""
    known = table[~np.isnan(table)]
    if known.size == 0:
        return 0.0, 1.0
    if value not in _COUNTS:
        return float(known.min()), max(float(known.max()), float(known.min()) + 1e-12)
    cell = next(cell for line in cells for cell in line if not np.isnan(_number(cell, value)))
    options = sum(len(row["can_be_best"]) + row["pruned"] for row in cell)
    most = options if value == "can_be_best" else options - len(cell)
    least = len(cell) if value == "can_be_best" else 0
    return float(least), float(max(most, least + 1))


def _text(cell: _Cell, value: str, number: float, letters: int) -> str:
    """The text of a cell with room for so many letters."""
    if np.isnan(number):
        return "not\npossible" if letters >= 6 else "x"
    if value not in _COUNTS:
        return f"{number:.2f}"
    if value == "can_be_best" and len(cell) == 1:
        names = [arm if isinstance(arm, str) else f"arm {arm}" for arm in cell[0]["can_be_best"]]
        if cell[0]["pruned"] == 0:
            return f"all {len(names)}"
        if len(names) <= 3 and max(map(len, names)) <= letters:
            return "\n".join(names)
    options = sum(len(row["can_be_best"]) + row["pruned"] for row in cell)
    return f"{number:.0f} of {options}" if letters >= 6 else f"{number:.0f}/{options}"


def _frame(
    ax: Axes, base: Mapping[str, Any], across: Sequence[float], up: Sequence[float], context: Hashable | None
) -> None:
    """A frame around the assumptions that others are compared with."""
    own = [base[name] for name in ("gap_low", "gap_high")]
    low, high = (gap[context] if isinstance(gap, Mapping) else gap for gap in own)
    if low in across and high in up:
        corner = (across.index(low) - 0.47, up.index(high) - 0.47)
        ax.add_patch(Rectangle(corner, 0.94, 0.94, fill=False, edgecolor=COLOURS[1], linewidth=2.5))
