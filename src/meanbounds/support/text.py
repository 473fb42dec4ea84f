"""Text from files, made safe to show: on a terminal, and in a spreadsheet."""

from __future__ import annotations

import re
from typing import TypeVar

__all__ = ["inert_cell", "one_line", "visible"]

_Cell = TypeVar("_Cell")

# Control characters, of which escape codes for terminals are made; marks that reverse the direction of text; line ends
# that only Unicode knows; halves of characters, which no encoding can write. A line feed and a tab are kept.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_LONGEST = 1500  # characters of a message
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def visible(text: str) -> str:
    r"""Write control characters as escapes, so that no text of a file can command a terminal.

    Examples
    --------
    >>> from meanbounds.support.text import visible
    >>> print(visible("red: \x1b[31m, bell: \x07, Zürich"))
    red: \x1b[31m, bell: \x07, Zürich
    """
    if text.isprintable():  # nearly always, and ten times as fast to find out
        return text
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    r"""Put a message on one line, with control characters as escapes and the middle of very long ones left out.

    Examples
    --------
    >>> from meanbounds.support.text import one_line
    >>> one_line("not a table:\n  it has no\tcolumns")
    'not a table: it has no columns'
    """
    line = visible(" ".join(text.split()))
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"


def inert_cell(value: _Cell) -> _Cell | str:
    r"""Make a cell of a CSV file plain text where a spreadsheet would run it as a formula.

    Text that starts with ``=``, ``+``, ``-`` or ``@`` gets an apostrophe in front, unless it is a number; control
    characters become escapes. Anything that is not text is returned unchanged.

    Examples
    --------
    >>> from meanbounds.support.text import inert_cell
    >>> [inert_cell(cell) for cell in ("=cmd|' /C calc'!A0", "@SUM(A1)", "-5", "- none -", "watch", 0.5)]
    ["'=cmd|' /C calc'!A0", "'@SUM(A1)", '-5', "'- none -", 'watch', 0.5]
    """
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if value.startswith(_FORMULA) and not _is_number(value) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
