"""What the values of a log mean: engines write every value as text, and the text is judged here."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

import numpy as np

from meanbounds.bounds import Arm
from meanbounds.logs.counts import Context
from meanbounds.logs.errors import LogError
from meanbounds.support.checks import shown, unknown
from meanbounds.support.texts import COMMA, MISSING, THOUSANDS, WORDS, number

__all__ = ["WORDS", "arm_names", "each", "in_order", "labels", "natural_order", "numbers", "similar", "uses_commas"]

T = TypeVar("T")
_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_VALUE = re.compile(r"[+-]?\d+(\.\d+)?")
_MIDNIGHT = " 00:00:00"
_BELOW = re.compile(r"(under|below|less than|up to|at most|<=?|≤)\s*(?=\d)")
_ABOVE = re.compile(r"(over|above|more than|at least|>=?|≥)\s*(?=\d)")


def numbers(written: Sequence[str | None], *, commas: bool = False) -> list[float | None]:
    """The number that each text is: None if it is missing, and NaN if it is something else.

    None stands for NULL. The words True, yes, T and Y are 1, and False, no, F and N are 0, in small letters or large.
    With `commas` 0,5 is a half, and a text with a point is no number: see `uses_commas`.
    """
    return [number(text, commas) for text in written]


def each(texts: Sequence[str | None], judge: Callable[[list[str | None]], Sequence[T]]) -> list[T]:
    """What every text is; the different ones are judged once and together."""
    distinct = list(dict.fromkeys(texts))
    found = dict(zip(distinct, judge(distinct), strict=True))
    return [found[text] for text in texts]


def uses_commas(written: Iterable[str | None]) -> bool:
    """Whether a column writes fractions with a comma: some are, and none with a point.

    If each comma may as well separate thousands, as in 1,000, nobody can tell, and the answer is no.
    """
    texts = [text.strip() for text in written if text is not None]
    found = [text for text in texts if COMMA.fullmatch(text)]
    point = any("." in text and not math.isnan(number(text, False) or 0.0) for text in texts)
    return not point and not all(THOUSANDS.fullmatch(text) for text in found)


def labels(written: Sequence[str | None], kind: str) -> list[str | None]:
    """The name that each text is, in a column of some kind; None if it is missing.

    Whole numbers lose their ".0", which they have where a column holds fractions or has held missing values; times lose
    their midnight if no value has another time of day. Text stays as it is, blanks included.

    Examples
    --------
    >>> from meanbounds.logs.values import labels
    >>> labels(["north", " north", " ", "NA", None, "none"], "text")
    ['north', ' north', None, None, None, 'none']
    >>> labels(["1.0", "2.5", "NaN", "1.0E20"], "number")
    ['1', '2.5', None, '100000000000000000000']
    >>> labels(["2024-01-31 00:00:00", "2024-02-29 00:00:00+00"], "time")
    ['2024-01-31', '2024-02-29']
    >>> labels(["true", None], "boolean")
    ['True', None]
    """
    names = [None if text is None or text.strip() in MISSING else text for text in written]
    if kind == "number":
        return [name and _plain_number(name) for name in names]
    if kind == "boolean":
        return [name and name.capitalize() for name in names]
    if kind == "time" and all(name is None or name.removesuffix("+00").endswith(_MIDNIGHT) for name in names):
        return [name and name.removesuffix("+00").removesuffix(_MIDNIGHT) for name in names]
    return names


def _plain_number(text: str) -> str:
    try:
        number = Decimal(text)
    except InvalidOperation:  # some engine's infinity
        return text
    if not (number and number.is_finite()):
        return str(float(number)) if number else "0"
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def arm_names(names: Sequence[str]) -> list[Arm]:
    """Names of arms, as whole numbers if all of them are written like one."""
    return [int(name) for name in names] if all(map(_WHOLE.fullmatch, names)) else [*names]


def in_order(found: Iterable[str], listed: Sequence[Any] | None) -> list[str]:
    """Names of arms in the order that a user listed, those without rows included; else in natural order."""
    names = set(found)
    if listed is None:
        return sorted(names, key=natural_order)
    if isinstance(listed, str) or not isinstance(listed, Iterable):
        raise LogError(f"arms must be a list of names, or None; got {shown(listed)}")
    if not all(isinstance(name, str | int | np.integer | np.bool_) for name in listed):
        raise LogError(f"arms must be a list of names, texts or whole numbers; got {shown(listed)}")
    order = [str(name) for name in listed]
    if len(set(order)) < len(order) or not order:
        raise LogError(f"arms must list at least one name, and each only once; got {shown(listed)}")
    for name in sorted(names.difference(order), key=natural_order):
        raise LogError(f"arms= must list every arm of the log: {unknown('arm', name, order)}")
    return order


def similar(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of names that differ only in blanks or in small and large letters."""
    first: dict[str, str] = {}
    pairs = ((first.setdefault(" ".join(name.split()).casefold(), name), name) for name in names)
    return [(one, other) for one, other in pairs if one != other]


def natural_order(name: Context | int) -> tuple[Any, ...]:
    """Key that sorts names as people read them, for ``sorted(names, key=natural_order)``.

    Numbers come before text, by their value. In text, upper and lower case are the same and digits compare as whole
    numbers: "arm 2" is before "arm 10". A text such as "under 65" is just before those that begin with its number, and
    "over 65" just after. Contexts of several columns are compared column by column.

    Examples
    --------
    >>> from meanbounds.logs.values import natural_order
    >>> sorted(["arm 10", "Arm 2", "arm 1"], key=natural_order)
    ['arm 1', 'Arm 2', 'arm 10']
    >>> sorted(["85 and over", "under 65", "75 to 84", "65 to 74"], key=natural_order)
    ['under 65', '65 to 74', '75 to 84', '85 and over']
    >>> sorted(["b", 10, "9.5", 2], key=natural_order)
    [2, '9.5', 10, 'b']
    """
    return tuple(_part_key(str(part)) for part in (name if isinstance(name, tuple) else (name,)))


def _part_key(name: str) -> tuple[Any, ...]:
    text = name.strip().casefold()
    if _VALUE.fullmatch(text):
        return 0, float(text), (), name
    side = 0
    for pattern, place in ((_BELOW, -1), (_ABOVE, 1)):
        if found := pattern.match(text):
            text, side = text[found.end() :], place
    pieces = re.split(r"(\d+)", text)
    words = tuple(_digits(piece) if turn % 2 else (piece, 0, "") for turn, piece in enumerate(pieces))
    if side:  # only the number counts, so that "over 65" follows "65 to 74"
        words = (*words[:2], ("\U0010ffff" if side > 0 else "", side, ""))
    return 1, 0.0, words, name


def _digits(piece: str) -> tuple[str, int, str]:
    """Digits that compare as a whole number of any size: first by how many there are, then one by one."""
    digits = piece.lstrip("0")
    return "", len(digits), digits
