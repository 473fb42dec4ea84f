"""On which line each entry of a TOML file is, which `tomllib` does not say."""

from __future__ import annotations

import bisect
import re
import tomllib

__all__ = ["Place", "line_of", "lines_of"]

Place = tuple[str | int, ...]
"""Where an entry is: names of tables and keys, and positions in lists, such as ``("policies", 2, "prior")``."""

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r"""[ \t]*([A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|'[^']*')[ \t]*""")
_STRING = re.compile(
    r"""\"{3}(?:\\[\s\S]|[^\\])*?\"{3,5}|'{3}[\s\S]*?'{3,5}|"(?:\\.|[^"\\])*"|'[^']*'""",
)
_SCALAR = re.compile(r"\d{4}-\d\d-\d\d \d\d:[^\s,\]}#]+|[^\s,\]}#]+")


def lines_of(text: str) -> dict[Place, int]:
    r"""Find the line, counted from 1, of every table, key and element of a list.

    Parameters
    ----------
    text
        A TOML document that `tomllib` reads without an error.

    Examples
    --------
    >>> from meanbounds.simulation.toml_lines import lines_of
    >>> lines_of("[bounds]\nlower = [\n  0.1,\n  0.2,\n]\n")
    {('bounds',): 1, ('bounds', 'lower'): 2, ('bounds', 'lower', 0): 3, ('bounds', 'lower', 1): 4}
    """
    return _Scanner(text).found


def line_of(text: str, place: Place) -> int:
    r"""Find the line of an entry, or of the nearest one around it that is written down; 1 if there is none.

    Examples
    --------
    >>> from meanbounds.simulation.toml_lines import line_of
    >>> line_of("# a comment\nhorizon = -5", ("horizon",))
    2
    """
    lines = lines_of(text)
    return next((lines[place[:end]] for end in range(len(place), 0, -1) if place[:end] in lines), 1)


class _Scanner:
    """Goes through a valid document once, and notes the line at which each entry starts."""

    def __init__(self, text: str) -> None:
        self.found: dict[Place, int] = {}
        self._text, self._at = text, 0
        self._ends = [place for place, character in enumerate(text) if character == "\n"]
        self._tables: dict[Place, int] = {}  # arrays of tables: position of the last one
        table: Place = ()
        while self._skip():
            if self._sees("["):
                table = self._header()
            else:
                self._entry(table)

    def _skip(self) -> bool:
        """Skip white space and comments; whether anything is left."""
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at < len(self._text)

    def _sees(self, mark: str) -> bool:
        return self._text.startswith(mark, self._at)

    def _note(self, place: Place) -> None:
        self.found.setdefault(place, bisect.bisect_left(self._ends, self._at) + 1)

    def _keys(self) -> list[str]:
        """The names of a key, which dots separate."""
        names = []
        while match := _KEY.match(self._text, self._at):
            raw = match[1]
            names.append(str(tomllib.loads(f"key = {raw}")["key"]) if raw[0] in "\"'" else raw)
            self._at = match.end()
            if not self._sees("."):
                break
            self._at += 1
        return names

    def _header(self) -> Place:
        """``[table]`` or ``[[array of tables]]``: the place of the table that starts here."""
        several = self._sees("[[")
        self._at += 1 + several
        start, place = self._at, ()  # type: int, Place
        names = self._keys()
        end, self._at = self._at, start
        for depth, name in enumerate(names):
            place = (*place, name)
            self._note(place)
            if several and depth == len(names) - 1:
                self._tables[place] = self._tables.get(place, -1) + 1
            if place in self._tables:
                place = (*place, self._tables[place])
                self._note(place)
        self._at = end + 1 + several
        return place

    def _entry(self, table: Place) -> None:
        """``key = value``."""
        start = self._at
        names = self._keys()
        end, self._at = self._at, start
        place = table
        for name in names:
            place = (*place, name)
            self._note(place)
        self._at = end + 1  # the equals sign
        self._value(place)

    def _value(self, place: Place) -> None:
        self._skip()
        if self._sees("["):
            self._list(place)
        elif self._sees("{"):
            self._inline_table(place)
        else:
            match = _STRING.match(self._text, self._at) or _SCALAR.match(self._text, self._at)
            self._at = match.end() if match else len(self._text)

    def _list(self, place: Place) -> None:
        self._at += 1
        position = 0
        while self._skip() and not self._sees("]"):
            self._note((*place, position))
            self._value((*place, position))
            position += 1
            if self._skip() and self._sees(","):
                self._at += 1
        self._at += 1

    def _inline_table(self, place: Place) -> None:
        self._at += 1
        while self._skip() and not self._sees("}"):
            self._entry(place)
            if self._skip() and self._sees(","):
                self._at += 1
        self._at += 1
