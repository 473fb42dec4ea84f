"""What the pages of the examples share: their look, and how texts, tables and pictures stand in them."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {"blue": "#0b5f94", "orange": "#d55e00", "grey": "#7b8790", "ink": "#1d2a33", "pale": "#b9d3e4"}


def page(title: str, lead: str, parts: Iterable[str], footer: str) -> str:
    """The page as HTML that needs no other file."""
    words = {"title": escape(title), "lead": lead, "parts": "\n".join(parts), "footer": footer}
    return PAGE.format(style=STYLE, **words)


def part(title: str, text: str, beside: str = "") -> str:
    """A section of the page, with a picture or table beside the text where there is room."""
    return f"<section{'' if beside else ' class=alone'}><div><h2>{escape(title)}</h2>{text}</div>{beside}</section>"


def story(title: str, text: str) -> str:
    """The heading of several sections."""
    return f'<div class="story"><h1>{escape(title)}</h1>{text}</div>'


def tiles(pairs: Iterable[tuple[str, str]]) -> str:
    """Large figures with a few words on each; the last one stands out."""
    return f'<ul class="tiles">{"".join(f"<li><b>{big}</b> {escape(words)}</li>" for big, words in pairs)}</ul>'


def listed(lines: Iterable[str]) -> str:
    """Lines as a list."""
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """A table; the first cell of each row says what it is about."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr><th scope=row>{escape(row[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in row[1:])}</tr>"
        for row in rows
    )
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{below}</figure>"


def code(text: str) -> str:
    """Lines of a program or of its output."""
    return f"<pre><code>{escape(text)}</code></pre>"


def png(figure: Figure, dpi: int = 200) -> bytes:
    """A picture as a file of at most 256 colours, which is a third as large."""
    from PIL import Image  # matplotlib needs it

    full, small = io.BytesIO(), io.BytesIO()
    figure.savefig(full, format="png", dpi=dpi)
    Image.open(full).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def picture(file: bytes, words: str, caption: str = "") -> str:
    """A picture inside the page; the words are for those who cannot see it."""
    data, below = base64.b64encode(file).decode("ascii"), f"<figcaption>{caption}</figcaption>" if caption else ""
    return f'<figure><img src="data:image/png;base64,{data}" alt="{escape(words)}">{below}</figure>'


def signed(number: float) -> str:
    """A gain in whole units, with its sign.

    >>> signed(1234.4), signed(-0.2), signed(-12)
    ('+1,234', '0', '-12')
    """
    return f"{round(number):+,}" if round(number) else "0"


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: meanbounds</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1>
{lead}</header>
<main>
{parts}
</main>
<footer><p>{footer}</p></footer>
</body>
</html>
"""

STYLE = """
:root { --ink: #1d2a33; --soft: #5d6b75; --line: #d9e0e4; --blue: #0b5f94; --pale: #f3f7f9; color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff; font: 1.05rem/1.6 system-ui, "Segoe UI", Roboto, sans-serif; }
header, main, footer { max-width: 68rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 3.5rem; padding-bottom: 1rem; }
h1 { font-size: clamp(2.1rem, 6vw, 3.2rem); line-height: 1.1; letter-spacing: -0.02em; margin: 0 0 1.2rem; }
h2 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 0.8rem; }
.lead, .story p { font-size: 1.25rem; line-height: 1.5; max-width: 44rem; }
.story { border-top: 3px solid var(--blue); padding-top: 2rem; margin-top: 2rem; counter-reset: part; }
.story h1 { font-size: clamp(1.8rem, 5vw, 2.4rem); margin-bottom: 0.8rem; }
.story + section { border-top: 0; }
.tiles { display: grid; grid-template-columns: repeat(3, 1fr); gap: 0.75rem; padding: 0; margin: 1.5rem 0 0; }
.tiles li { list-style: none; background: var(--pale); border-radius: 0.6rem; padding: 0.8rem 1rem; line-height: 1.35; }
.tiles b { display: block; font-size: 2.4rem; line-height: 1.2; color: var(--soft); }
.tiles li:last-child b { color: var(--blue); }
main { counter-reset: part; }
section { border-top: 1px solid var(--line); padding: 2.5rem 0; display: grid; gap: 1.5rem; }
section > * { min-width: 0; }
section.alone p, section.alone ul { max-width: 46rem; }
h2::before { counter-increment: part; content: counter(part) ". "; color: var(--blue); }
figure { margin: 0; }
figure + figure { margin-top: 1.5rem; }
figcaption { color: var(--soft); font-size: 0.95rem; margin-top: 0.5rem; max-width: 34rem; }
img { display: block; width: 100%; max-width: 30rem; height: auto; }
table { border-collapse: collapse; width: 100%; max-width: 34rem; font-variant-numeric: tabular-nums; }
.alone table { max-width: 46rem; }
th, td { text-align: right; padding: 0.3rem 0.45rem; border-bottom: 1px solid var(--line); font-size: 0.95rem; }
th { font-weight: 600; } th[scope=row], thead th:first-child { text-align: left; }
td.given { outline: 2px solid var(--blue); outline-offset: -3px; border-radius: 0.4rem; font-weight: 600; }
.yes { color: #1a6e3c; } .no { color: #a3371f; }
a { color: var(--blue); }
code { font: 0.92em ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { background: var(--pale); border-radius: 0.6rem; padding: 1rem; overflow-x: auto; line-height: 1.5; }
pre code { font-size: 0.85rem; }
blockquote { margin: 0.5rem 0; padding: 0.6rem 1rem; border-left: 3px solid #d55e00; background: #fdf6f0; }
footer { border-top: 1px solid var(--line); padding-top: 1rem; padding-bottom: 3rem; color: var(--soft); }
@media (min-width: 62rem) {
  section:not(.alone) { grid-template-columns: minmax(0, 1fr) 30rem; gap: 3rem; align-items: start; }
  section:not(.alone) > figure { margin-top: 0.4rem; }
}
@media (max-width: 38rem) {
  header { padding-top: 2rem; }
  .lead, .story p { font-size: 1.12rem; }
  .tiles { grid-template-columns: 1fr; gap: 0.5rem; }
  .tiles li { display: flex; gap: 0.9rem; align-items: baseline; padding: 0.4rem 1rem; }
  .tiles b { font-size: 1.9rem; min-width: 4.6rem; text-align: right; }
  th, td { padding: 0.3rem 0.2rem; font-size: 0.78rem; }
  pre code { font-size: 0.72rem; }
}
"""
