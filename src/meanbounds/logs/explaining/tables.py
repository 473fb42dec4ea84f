"""Tables of the page; on a phone each row becomes a small list."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["cell", "table"]


def cell(text: str) -> str:
    """A number in a table, which is not broken into lines.

    Examples
    --------
    >>> from meanbounds.logs.explaining.tables import cell
    >>> cell("above 5%")
    '<span class="w">above 5%</span>'
    """
    return f'<span class="w">{text}</span>'


def table(
    caption: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: int = 0,
    stack: bool = True,
    marks: Sequence[str] | None = None,
) -> str:
    """A table from cells that are HTML; the first of a row is its heading, and the last `numbers` are numbers.

    Examples
    --------
    >>> from meanbounds.logs.explaining.tables import table
    >>> table("Rows", ["option", "rows"], [["watch", "7"]], numbers=1, stack=False)[-77:]
    '<tr><th scope="row">watch</th><td class="n">7</td></tr></tbody></table></div>'
    """
    places = len(head) - numbers
    names = "".join(f'<th scope="col"{" class=n" * (place >= places)}>{name}</th>' for place, name in enumerate(head))
    body = []
    for number, row in enumerate(rows):
        cells = [f'<th scope="row">{row[0]}</th>']
        for place, text in enumerate(row[1:], start=1):
            kind = ' class="n"' if place >= places else ""
            label = f' data-label="{head[place]}"' if stack else ""
            cells.append(f"<td{kind}{label}>{text}</td>")
        mark = f" {marks[number]}" if marks is not None else ""
        body.append(f"<tr{mark}>{''.join(cells)}</tr>")
    kind = ' class="stack"' if stack else ""
    return (
        f'<div class="wide"><table{kind}><caption>{caption}</caption><thead><tr>{names}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )
