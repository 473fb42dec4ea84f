"""HTML pages in one file, with their pictures inside, that are legible on a phone."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DPI", "image", "page", "table"]

DPI = 200
"""Dots per inch of a picture: twice the pixels that a page shows, for screens with small pixels."""

_STYLE = """
body { font: 17px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 46rem; padding: 1rem; color: #222; }
img { display: block; width: 100%; max-width: 30rem; height: auto; margin: 1rem auto; }
h1 { font-size: 1.5rem; line-height: 1.25; }
h2 { font-size: 1.25rem; margin-top: 2.5rem; line-height: 1.3; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: right; padding: 0.2rem 0.4rem; vertical-align: top; }
th:first-child, td:first-child { text-align: left; } tr + tr { border-top: 1px solid #ddd; }
"""


def page(title: str, body: str, style: str = "") -> str:
    """Make a whole page from a title and a body that is HTML.

    Examples
    --------
    >>> from meanbounds.paper.page import page
    >>> "<h1>Arms &amp; means</h1>" in page("Arms & means", "<p>...</p>")
    True
    """
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title><style>{_STYLE}{style}</style></head><body>
<h1>{html.escape(title)}</h1>
{body}
</body></html>
"""


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Make a table from cells of plain text; if it is wider than the window, it alone scrolls.

    Examples
    --------
    >>> from meanbounds.paper.page import table
    >>> table(["policy"], [["GLUE"]])
    '<div class="wide"><table><tr><th>policy</th></tr><tr><td>GLUE</td></tr></table></div>'
    """
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def image(figure: Figure | bytes, words: str) -> str:
    """Put a picture into a page, with words that describe it for those who cannot see it.

    Parameters
    ----------
    figure
        A figure of matplotlib, or the bytes of a PNG file.
    words
        Description of the picture, for those who cannot see it.

    Examples
    --------
    >>> from meanbounds.paper.page import image
    >>> image(b"bytes of a file", "a curve")
    '<img alt="a curve" src="data:image/png;base64,Ynl0ZXMgb2YgYSBmaWxl">'
    """
    if not isinstance(figure, bytes):
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=DPI)
        figure = buffer.getvalue()
    data = base64.b64encode(figure).decode()
    return f'<img alt="{html.escape(words)}" src="data:image/png;base64,{data}">'
