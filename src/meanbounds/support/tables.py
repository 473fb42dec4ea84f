"""Tables as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from meanbounds.support.text import visible

__all__ = ["text_table"]

_BETWEEN = "  "


def text_table(
    header: Sequence[str] | None,
    rows: Iterable[Sequence[str]],
    *,
    align: str,
    footer: Sequence[str] | None = None,
) -> str:
    """Align cells in columns, as plain text that is never cut to the width of a terminal.

    Parameters
    ----------
    header
        Names of the columns, with a line under them; None for a table without names.
    rows
        The cells of each row. Line breaks inside a cell become spaces, and control characters escapes, see `visible`.
    align
        One letter for each column: ``"l"`` puts its cells to the left, ``"r"`` to the right.
    footer
        A last row, with a line above it.

    Notes
    -----
    Widths are those of `rich.cells`: Chinese characters take two columns, accents none. `rich.table` would do the same
    at some 0.5 ms a row, which is half a minute for the bounds of a log with 10,000 contexts and five arms.

    Examples
    --------
    >>> from meanbounds.support.tables import text_table
    >>> print(text_table(("arm", "rows"), [("watch", "7"), ("tPA", "1,200")], align="lr", footer=("all", "1,207")))
    arm     rows
    ------------
    watch      7
    tPA    1,200
    ------------
    all    1,207
    """
    from rich.cells import cell_len

    body = [[_shown(cell) for cell in row] for row in rows]
    ends = [[_shown(cell) for cell in part] for part in (header, footer) if part is not None]
    lengths = [[cell_len(cell) for cell in row] for row in (*ends, *body)]
    widths = [max(column) for column in zip(*lengths, strict=True)]

    def line(row: Sequence[str]) -> str:
        """One row, with each cell padded to the width of its column."""
        filled = []
        for cell, width, side in zip(row, widths, align, strict=True):
            space = " " * (width - cell_len(cell))
            filled.append(space + cell if side == "r" else cell + space)
        return _BETWEEN.join(filled).rstrip()

    rule = "-" * (sum(widths) + len(_BETWEEN) * (len(align) - 1))
    lines = [] if header is None else [line(ends[0]), rule]
    lines += map(line, body)
    return "\n".join(lines if footer is None else [*lines, rule, line(ends[-1])])


def _shown(cell: str) -> str:
    """A cell on one line, without characters that a terminal would obey."""
    return cell if cell.isprintable() else visible(" ".join(cell.splitlines()))
