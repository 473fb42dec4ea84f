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
_LABELS = {
    "gap_low": "gap_low: best to second best, at least",
    "gap_high": "gap_high: best to worst, at most",
    "errors": "errors: share of wrong choices, at most",
    "loss": "loss: better choices add at most",
    "odds": "odds: factor of what was hidden, at most",
    "shift": "shift: share of cases that changed, at most",
    "confidence": "confidence: all bounds hold",
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
    """Draw a heat map over two numbers of what is assumed: which options can be best under each pair of them.

    These are the first two that have several values; ``gap_low`` and ``gap_high`` if they have, or if none has. A frame
    marks the assumptions that you started from. Brighter cells rule out more options, or have larger values. All other
    numbers are the first values of the grid.

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
        Show this context alone; all of them together by default. Needed where numbers differ by context.
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
    names = _axes(sensitivity)
    across, up, cells = _grid(sensitivity, names, context)
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
    _frame(ax, [sensitivity.base[name] for name in names], across, up, context)
    ax.set_xticks(range(len(across)), [f"{number:.3g}" for number in across])
    ax.set_yticks(range(len(up)), [f"{number:.3g}" for number in up])
    ax.set_xlabel(_LABELS[names[0]])
    ax.set_ylabel(fold(_LABELS[names[1]], 22))
    where = "" if context is None else f" in {context}"
    title(ax, _TITLES[value] + where)
    return ax


_Cell = Sequence[Mapping[str, Any]]  # the rows of all contexts that are shown, at one point of the grid


def _axes(sensitivity: Assumptions) -> tuple[str, str]:
    """The two numbers that the picture is about."""
    names = [name for name in _LABELS if sensitivity.base.get(name) is not None]
    several = [name for name in names if len({_value(row[name]) for row in sensitivity.rows}) > 1]
    gaps = [name for name in ("gap_low", "gap_high") if name in names]
    chosen = [*gaps, *names] if set(several) <= set(gaps) else [*several, *names]
    across, up, *_ = dict.fromkeys(chosen)
    return across, up


def _value(number: Any) -> float:
    return float("nan") if number is None else float(number)


def _grid(
    sensitivity: Assumptions, names: tuple[str, str], context: Hashable | None
) -> tuple[list[float], list[float], list[list[_Cell]]]:
    """The values of both numbers, and what was found at each pair of them."""
    contexts = list(dict.fromkeys(row["context"] for row in sensitivity.rows))
    if context is not None and context not in contexts:
        raise ValueError(f"context must be one of {', '.join(map(repr, contexts))}; got {context!r}")
    base = sensitivity.base
    for name in base:
        if context is None and isinstance(base[name], Mapping):
            what = "gaps differ" if name in ("gap_low", "gap_high") else f"{name} differs"
            raise ValueError(f"{what} by context: choose one, for example context={contexts[0]!r}")
    fixed = {name: own[context] if isinstance(own, Mapping) else own for name, own in base.items() if name not in names}
    rows = [
        row
        for row in sensitivity.rows
        if all(row[name] == own for name, own in fixed.items()) and context in (None, row["context"])
    ]
    across, up = (sorted({float(row[name]) for row in rows}) for name in names)

    def cell(right: float, high: float) -> _Cell:
        return [row for row in rows if row[names[0]] == right and row[names[1]] == high]

    return across, up, [[cell(right, high) for right in across] for high in up]


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
    ax: Axes, base: Sequence[Any], across: Sequence[float], up: Sequence[float], context: Hashable | None
) -> None:
    """A frame around the assumptions that others are compared with."""
    right, high = (number[context] if isinstance(number, Mapping) else number for number in base)
    if right in across and high in up:
        corner = (across.index(right) - 0.47, up.index(high) - 0.47)
        ax.add_patch(Rectangle(corner, 0.94, 0.94, fill=False, edgecolor=COLOURS[1], linewidth=2.5))
