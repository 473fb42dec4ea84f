"""The pictures of a page as SVG, laid out for a phone: a tree, bounds, tipping values, gains and losses."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10, nan
from typing import NamedTuple

from meanbounds.logs.words import cut

__all__ = ["Branch", "Row", "bars", "branches", "pins", "swings"]

_WIDTH, _EDGE = 358.0, 10.0  # of a phone's window of 390 pixels, less its margins
_INSIDE = _WIDTH - 2.0 * _EDGE
_DEEPEST = 112.0  # how far a leaf is moved to the right at most
_NARROW, _BROAD = frozenset("iljtfr.,:;'|!()[] "), frozenset("mwMW@%…")


class Row(NamedTuple):
    """One line of a picture: a name, two ends, what is written on the right, perhaps a mark, and its kind."""

    name: str
    left: float
    right: float
    label: str
    mark: float = nan
    kind: str = "option"


class Branch(NamedTuple):
    """One answer of a tree: how deep it is, and for a leaf a label, lines (left, right, class) and what is earned."""

    depth: int
    answer: str
    label: str = ""
    lines: Sequence[tuple[str, str, str]] = ()
    mark: float = nan


def branches(words: str, rows: Sequence[Branch], low: float, high: float, own: float) -> str:
    """A tree as an outline; each leaf has its lines, and a bar up to its mark, with a dash at `own`."""
    parts, above, y = list[str](), list[float](), 0.0
    step = min(16.0, _DEEPEST / max(1, *(row.depth for row in rows)))
    for row in rows:
        x, middle = _EDGE + step * row.depth, y + 11.0
        del above[row.depth :]
        if row.depth:
            parts.append(_line(x - step + 4.0, above[-1] + 7.0, x - step + 4.0, middle, "rule"))
            parts.append(_line(x - step + 4.0, middle, x - 3.0, middle, "rule"))
        above.append(middle)
        parts += _named(y + 15.0, row.answer, row.label, x, "leaf" if row.lines else "")
        y += 20.0
        for left, right, kind in row.lines:
            parts += _named(y + 13.0, left, right, x + 4.0, kind)
            y += 17.0
        if row.mark == row.mark:
            start = _EDGE + _DEEPEST + 4.0  # of all bars, so that they can be compared
            ends = [
                start + (_x(value, low, high) - _EDGE) * (1.0 - (start - _EDGE) / _INSIDE) for value in (row.mark, own)
            ]
            parts.append(_line(start, y + 6.0, _WIDTH - _EDGE, y + 6.0, "rule"))
            parts.append(_line(start, y + 6.0, ends[0], y + 6.0, "way"))
            parts.append(_line(ends[1], y + 2.0, ends[1], y + 10.0, "dash"))
        y += 18.0 if row.lines else 2.0
    return f"{_head(words, y)}{''.join(parts)}</svg>"


def bars(words: str, rows: Sequence[Row], low: float, high: float) -> str:
    """Bounds of each option, with a cross for the plain average and a dashed line at what the experts earn."""
    parts, height = [], 42.0
    own = next((row.mark for row in rows if row.kind == "experts"), None)
    for place, row in enumerate(rows):
        top = place * height
        parts += _named(top + 15.0, row.name, row.label)
        parts.append(_rect(_x(row.left, low, high), _x(row.right, low, high), top + 22.0, row.kind))
        if own is not None:
            parts.append(_line(_x(own, low, high), top + 20.0, _x(own, low, high), top + 36.0, "dash"))
        if row.mark == row.mark and row.kind != "experts":
            x, y = _x(row.mark, low, high), top + 28.0
            crossed = f"M{x - 5:.1f} {y - 5:.1f}l10 10M{x - 5:.1f} {y + 5:.1f}l10 -10"
            parts.append(f'<path class="naive" d="{crossed}"/>')
    return _svg(words, parts, height * len(rows) + 4.0, _ticks(low, high), low, high)


def pins(words: str, rows: Sequence[Row]) -> str:
    """For each condition a line from what is assumed (a ring) to where it tips (a diamond)."""
    parts, height = [], 36.0
    for place, row in enumerate(rows):
        middle, start, tip = place * height + 26.0, _x(row.left, 0.0, 1.0), _x(row.right, 0.0, 1.0)
        parts += _named(place * height + 14.0, row.name, row.label)
        parts.append(_line(_EDGE, middle, _WIDTH - _EDGE, middle, "rule"))
        parts.append(_line(start, middle, tip, middle, "way"))
        parts.append(f'<circle class="start" cx="{start:.1f}" cy="{middle:.1f}" r="4"/>')
        parts.append(f'<path class="tip" d="M{tip:.1f} {middle - 7:.1f}l6 7l-6 7l-6 -7Z"/>')
    ticks = [(0.0, "assumes most"), (1.0, "assumes nothing")]
    return _svg(words, parts, height * len(rows) + 4.0, ticks, 0.0, 1.0)


def swings(words: str, rows: Sequence[Row]) -> str:
    """For each option a bar from the most that it can lose to the most that it can gain."""
    parts, height = [], 38.0
    reach = max(1e-9, *(max(abs(row.left), abs(row.right)) for row in rows))
    for place, row in enumerate(rows):
        top, zero = place * height, _x(0.0, -reach, reach)
        parts += _named(top + 14.0, row.name, row.label)
        left, right = _x(row.left, -reach, reach), _x(row.right, -reach, reach)
        if left < zero:
            parts.append(_rect(left, min(right, zero), top + 20.0, "loss"))
        if right > zero:
            parts.append(_rect(max(left, zero), right, top + 20.0, "gain"))
        parts.append(_line(zero, top + 18.0, zero, top + 34.0, "dash"))
    ticks = [(-reach, "lose"), (0.0, "as your experts"), (reach, "gain")]
    return _svg(words, parts, height * len(rows) + 4.0, ticks, -reach, reach)


def _x(value: float, low: float, high: float) -> float:
    return _EDGE + _INSIDE * min(max((value - low) / (high - low), 0.0), 1.0)


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """About five round numbers from end to end."""
    raw = (high - low) / 4.0
    unit = 10.0 ** floor(log10(raw))
    step = next(part * unit for part in (1.0, 2.0, 2.5, 5.0, 10.0) if part * unit >= raw * 0.99)
    return [(k * step, f"{k * step:.6g}") for k in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def _named(y: float, name: str, label: str, x: float = _EDGE, kind: str = "") -> list[str]:
    """A name on the left, as much of it as there is room for, and a label on the right."""
    room = _WIDTH - _EDGE - x - 10.0 * bool(label) - sum(map(_across, label))
    room /= 1.1 if kind == "leaf" else 1.0  # bold letters are wider
    short, left = name, len(name)
    while left and sum(map(_across, short)) > room:
        left -= 1
        short = cut(name, left)
    right = f'<text class="soft" text-anchor="end" x="{_WIDTH - _EDGE:.1f}" y="{y:.1f}">{escape(label)}</text>'
    styled = f' class="{kind}"' if kind else ""
    return [f'<text{styled} x="{x:.1f}" y="{y:.1f}">{escape(short)}</text>', *([right] if label else [])]


def _across(letter: str) -> float:
    """About how wide a letter is, rather too wide: fonts differ."""
    if letter in _NARROW:
        return 5.0
    if letter in _BROAD or ord(letter) > 0x2E80:
        return 13.0
    return 9.8 if letter.isupper() else 7.6


def _rect(left: float, right: float, y: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{left:.1f}" y="{y:.1f}" width="{max(right - left, 2.0):.1f}" height="12" rx="2"/>'


def _line(x: float, y: float, to_x: float, to_y: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"/>'


def _svg(words: str, parts: list[str], y: float, ticks: Sequence[tuple[float, str]], low: float, high: float) -> str:
    """The picture with its axis, and what it shows in words for those who cannot see it."""
    parts.append(_line(_EDGE, y, _WIDTH - _EDGE, y, "rule"))
    for value, text in ticks:
        x = _x(value, low, high)
        anchor = "start" if x < _EDGE + 20.0 else "end" if x > _WIDTH - _EDGE - 20.0 else "middle"
        parts.append(_line(x, y, x, y + 4.0, "rule"))
        parts.append(f'<text class="soft" text-anchor="{anchor}" x="{x:.1f}" y="{y + 16:.1f}">{escape(text)}</text>')
    return f"{_head(words, y + 22.0)}{''.join(parts)}</svg>"


def _head(words: str, height: float) -> str:
    return f'<svg viewBox="0 0 {_WIDTH:.0f} {height:.0f}" role="img" aria-label="{escape(words)}">'
