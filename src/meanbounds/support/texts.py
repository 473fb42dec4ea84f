"""What texts mean in logs and in questions to an agent: which are missing, and which are numbers."""

from __future__ import annotations

import math
import re

__all__ = ["COMMA", "MISSING", "NO_NUMBER", "THOUSANDS", "WORDS", "number"]

WORDS = dict.fromkeys(("true", "yes", "t", "y"), 1.0) | dict.fromkeys(("false", "no", "f", "n"), 0.0)
"""Words that are numbers, in small letters."""

MISSING = frozenset(("", "NA", "N/A", "n/a", "NaN", "nan", "<NA>", "NaT", "NULL", "null"))
"""Texts that are missing in a column of names."""

NO_NUMBER = frozenset(("", "na", "n/a", "nan", "<na>", "nat", "null", "none", "+nan", "-nan"))
"""Texts that are missing in a column of numbers, in small letters."""

COMMA = re.compile(r"[+-]?\d*,\d+")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?")


def number(text: str | None, commas: bool) -> float | None:
    """The number that a text is: None if it is missing, and NaN if it is something else; with `commas` 0,5 is a half.

    Examples
    --------
    >>> from meanbounds.support.texts import number
    >>> [number(text, True) for text in ("0,5", "0.5", " yes ", "none", None)]
    [0.5, nan, 1.0, None, None]
    """
    text = "" if text is None else text.strip().casefold()
    if text in NO_NUMBER:
        return None
    if text in WORDS:
        return WORDS[text]
    if commas:
        text = "fraction with a point" if "." in text else text.replace(",", ".", 1)
    return float(text) if _NUMBER.fullmatch(text) else math.nan
