"""What the pages of the examples share: their look, and how texts, tables and pictures stand in them."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {"blue": "#0b5f94", "pale": "#b9d3e4", "green": "#00875a", "orange": "#d55e00"}
COLOURS |= {"grey": "#7b8790", "ink": "#1d2a33"}


def page(title: str, lead: str, parts: Iterable[str], footer: str) -> str:
    """The page as HTML that needs no other file."""
    template = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(title), lead=lead, parts="\n".join(parts), footer=footer)


def part(title: str, text: str, beside: str = "") -> str:
    """A section of the page, with a picture or table beside the text where there is room."""
    return f"<section{'' if beside else ' class=alone'}><div><h2>{escape(title)}</h2>{text}</div>{beside}</section>"


def story(title: str, text: str) -> str:
    """The heading of several sections."""
    return f'<div class="story"><h1>{escape(title)}</h1>{text}</div>'


def tiles(pairs: Iterable[tuple[str, str]]) -> str:
    """Large figures with a few words on each; the last one stands out."""
    return f'<ul class="tiles">{"".join(f"<li><b>{big}</b> {escape(words)}</li>" for big, words in pairs)}</ul>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """A table; the first cell of each row says what it is about."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr><th scope=row>{escape(row[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in row[1:])}</tr>"
        for row in rows
    )
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{below}</figure>"


def png(figure: Figure, dpi: int = 200) -> bytes:
    """A picture as a file of at most 256 colours, which is a third as large."""
    from PIL import Image  # matplotlib needs it

    full, small = io.BytesIO(), io.BytesIO()
    figure.savefig(full, format="png", dpi=dpi)
    Image.open(full).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def picture(file: bytes, words: str) -> str:
    """A picture inside the page; the words are for those who cannot see it."""
    data = base64.b64encode(file).decode("ascii")
    return f'<figure><img src="data:image/png;base64,{data}" alt="{escape(words)}"></figure>'


def draw_gains(
    axes: Any, title: str, seen: ArrayLike, gains: Mapping[str, Any], styles: Mapping[str, Any], line: float, own: str
) -> None:
    """Draw what everybody gains on the experts, (runs, moments), by mean and 90% of the runs, and a promised line."""
    seen = np.append(0.0, np.asarray(seen))
    for label, style in styles.items():
        runs = np.pad(gains[label], ((0, 0), (1, 0)))
        axes.plot(seen, runs.mean(axis=0), label=label, **style)
        ends = np.quantile(runs, [0.05, 0.95], axis=0)
        axes.fill_between(seen, *ends, color=style["color"], alpha=0.15, linewidth=0)
    axes.axhline(0.0, color=COLOURS["ink"], linewidth=1.2, label=own)
    axes.plot(seen, line * seen, color=COLOURS["blue"], linewidth=1.4, linestyle=":", label="promised line")
    axes.set_xlim(0, seen[-1])
    axes.set_xticks(np.linspace(0, seen[-1], 3), [f"{tick:,.0f}" for tick in np.linspace(0, seen[-1], 3)])
    tidy(axes, title)


def tidy(axes: Any, title: str) -> None:
    """Give a small picture its title, and take away what it does not need."""
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8.5)
    axes.xaxis.label.set_size(8.5)
    axes.yaxis.label.set_size(8.5)


def signed(number: float) -> str:
    """A gain in whole units, with its sign.

    >>> signed(1234.4), signed(-0.2), signed(-12)
    ('+1,234', '0', '-12')
    """
    return f"{round(number):+,}" if round(number) else "0"
