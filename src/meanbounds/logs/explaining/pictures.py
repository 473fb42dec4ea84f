"""Pictures as SVG inside the page, laid out for the width of a phone; letters are 12 units high, or more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from meanbounds.logs.explaining.words import safe
from meanbounds.support.text import visible

__all__ = ["Bar", "Interval", "Pin", "bars", "intervals", "pins"]

_WIDTH = 358.0  # of a phone's window of 390 pixels, less its margins
_EDGE = 10.0
_INSIDE = _WIDTH - 2.0 * _EDGE
_BETWEEN = 10.0  # a name and the number to its right
_NARROW, _BROAD = frozenset("iljtfr.,:;'|!()[] "), frozenset("mwMW@%…")


@dataclass(frozen=True)
class Interval:
    """One option of a picture of bounds: both pairs of bounds as shares of the range, and the plain average."""

    name: str
    colour: int
    wide: tuple[float, float]
    narrow: tuple[float, float] | None
    average: float | None
    label: str


@dataclass(frozen=True)
class Pin:
    """One context of a picture of tipping points: where it starts and tips, as shares of the axis."""

    name: str
    start: float
    value: float
    label: str


@dataclass(frozen=True)
class Bar:
    """One way to decide, in a picture of costs: its value and standard error as shares of the longest bar."""

    name: str
    kind: str
    value: float
    error: float
    label: str


def intervals(title: str, words: str, rows: Sequence[Interval], ticks: Sequence[str], best: float | None) -> str:
    """Bounds of each option, a cross for the plain average, and a dashed line that the best option's mean reaches."""
    parts, height = [], 42.0
    bottom = height * len(rows) + 4.0
    for place, row in enumerate(rows):
        top = place * height
        parts += _named(top + 15.0, row.name, row.label)
        parts.append(_bar(row.wide, top + 21.0, 14.0, f"k{row.colour} pale"))
        if row.narrow is not None:
            parts.append(_bar(row.narrow, top + 24.0, 8.0, f"k{row.colour}"))
        if row.average is not None:
            parts.append(_cross(row.average, top + 28.0))
        if best is not None:  # between the names, which stay legible
            parts.append(_line(best, top + 19.0, best, top + 40.0, "dash"))
    return _svg(title, words, [*parts, *_axis(bottom, ticks)], bottom + 22.0)


def pins(title: str, words: str, rows: Sequence[Pin], ticks: Sequence[str]) -> str:
    """For each context a line from what is assumed to where the decision tips."""
    parts, height = [], 36.0
    for place, row in enumerate(rows):
        top = place * height
        middle = top + 26.0
        parts += _named(top + 14.0, row.name, row.label)
        parts.append(_line(0.0, middle, 1.0, middle, "rule"))
        parts.append(_line(row.start, middle, row.value, middle, "way"))
        parts.append(f'<circle class="start" cx="{_x(row.start):.1f}" cy="{middle:.1f}" r="4"/>')
        tip = _x(row.value)
        parts.append(
            f'<path class="tip" d="M{tip:.1f} {middle - 7:.1f}L{tip + 6:.1f} {middle:.1f}'
            f'L{tip:.1f} {middle + 7:.1f}L{tip - 6:.1f} {middle:.1f}Z"/>'
        )
    bottom = height * len(rows) + 4.0
    return _svg(title, words, [*parts, *_axis(bottom, ticks)], bottom + 22.0)


def bars(title: str, words: str, panels: Sequence[tuple[str, Sequence[Bar]]]) -> str:
    """Costs as bars, in panels that have each their own scale."""
    parts, top = [], 0.0
    for heading, rows in panels:
        parts.append(_text(_EDGE, top + 16.0, heading, "head"))
        top += 24.0
        for row in rows:
            parts += _named(top + 12.0, row.name, row.label)
            parts.append(_bar((0.0, row.value), top + 17.0, 10.0, row.kind))
            ends = max(row.value - row.error, 0.0), min(row.value + row.error, 1.0)
            parts.append(_line(ends[0], top + 22.0, ends[1], top + 22.0, "error"))
            top += 34.0
        top += 12.0
    return _svg(title, words, parts, top)


def _x(share: float) -> float:
    return _EDGE + _INSIDE * min(max(share, 0.0), 1.0)


def _text(x: float, y: float, text: str, kind: str = "name") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{safe(text)}</text>'


def _named(y: float, name: str, label: str) -> list[str]:
    """A name on the left, as much of it as there is room for, and a label on the right."""
    right = f'<text class="soft" text-anchor="end" x="{_WIDTH - _EDGE:.1f}" y="{y:.1f}">{safe(label)}</text>'
    return [_text(_EDGE, y, _fitted(name, _INSIDE - _BETWEEN - _across(label))), right]


def _fitted(name: str, room: float) -> str:
    """As much of a name as fits into so many units."""
    name = visible(name).replace("\n", " ")
    if _across(name) <= room:
        return name
    while name and _across(f"{name}…") > room:
        name = name[:-1]
    return f"{name.rstrip()}…"


def _across(text: str) -> float:
    """About how wide a text is, rather too wide: fonts differ."""
    return sum(map(_width, text))


def _width(letter: str) -> float:
    if letter in _NARROW:
        return 5.0
    if letter in _BROAD or ord(letter) > 0x1100:
        return 13.0
    return 9.8 if letter.isupper() else 8.0


def _bar(ends: tuple[float, float], y: float, height: float, kind: str) -> str:
    left, right = (_x(end) for end in ends)
    return (
        f'<rect class="{kind}" x="{left:.1f}" y="{y:.1f}" width="{max(right - left, 2.0):.1f}" height="{height:.1f}" '
        'rx="2"/>'
    )


def _line(x: float, y: float, to_x: float, to_y: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{_x(x):.1f}" y1="{y:.1f}" x2="{_x(to_x):.1f}" y2="{to_y:.1f}"/>'


def _cross(share: float, y: float) -> str:
    x = _x(share)
    return (
        f'<path class="naive" d="M{x - 5:.1f} {y - 5:.1f}L{x + 5:.1f} {y + 5:.1f}'
        f'M{x - 5:.1f} {y + 5:.1f}L{x + 5:.1f} {y - 5:.1f}"/>'
    )


def _axis(y: float, ticks: Sequence[str]) -> list[str]:
    """A line with labels at equal distances; those at the ends stay inside the picture."""
    parts = [_line(0.0, y, 1.0, y, "rule")]
    for place, tick in enumerate(ticks):
        share = place / (len(ticks) - 1)
        anchor = ("start", "middle", "end")[(place > 0) + (place == len(ticks) - 1)]
        parts.append(_line(share, y, share, y + 4.0, "rule"))
        parts.append(
            f'<text class="soft" text-anchor="{anchor}" x="{_x(share):.1f}" y="{y + 16:.1f}">{safe(tick)}</text>'
        )
    return parts


def _svg(title: str, words: str, parts: Sequence[str], height: float) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH:.0f} {height:.0f}" role="img" aria-label="{safe(title)}: {safe(words)}">'
        f"<title>{safe(title)}</title><desc>{safe(words)}</desc>{''.join(parts)}</svg>"
    )
