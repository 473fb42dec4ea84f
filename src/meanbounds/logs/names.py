"""Names of contexts and arms: text or integers, in the order in which people read them."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import Arm
from meanbounds.logs.errors import LogError
from meanbounds.support.checks import as_list, shown

__all__ = ["EVERYTHING", "Context", "arm_names", "context_names", "in_order", "natural_order", "natural_ranks"]

Context = str | int | tuple[str | int, ...]
"""The name of a context: one value, or a tuple of them where several columns make a context."""

EVERYTHING = "all"
"""The one context of a log that is read without context columns."""

_WHOLE = 2**53  # below it, floats hold all whole numbers
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_BELOW = re.compile(r"(under|below|less than|up to|at most|<=?|≤)\s*(?=\d)")
_ABOVE = re.compile(r"(over|above|more than|at least|>=?|≥)\s*(?=\d)")

_FIRST = tuple("ublmao<>≤≥")  # how those that match one of them begin
_CONTROL = re.compile("[\x00-\x03]")
_LONG = 1_000


def natural_order(name: Context) -> tuple[Any, ...]:
    """Key that sorts names as people read them, for ``sorted(names, key=natural_order)``.

    Numbers come before text, by their value. In text, upper and lower case are the same and digits compare as whole
    numbers: "arm 2" is before "arm 10". A text such as "under 65" is just before those that begin with its number, and
    "over 65" just after. Contexts of several columns are compared column by column. An order that only a person knows
    (low, medium, high) has to be given: ``arms=`` and ``contexts=`` of `meanbounds.logs.read`.

    Examples
    --------
    >>> sorted(["arm 10", "Arm 2", "arm 1"], key=natural_order)
    ['arm 1', 'Arm 2', 'arm 10']
    >>> sorted(["85 and over", "under 65", "75 to 84", "65 to 74"], key=natural_order)
    ['under 65', '65 to 74', '75 to 84', '85 and over']
    >>> sorted(["b", 10, "9.5", 2], key=natural_order)
    [2, '9.5', 10, 'b']
    """
    parts = name if isinstance(name, tuple) else (name,)
    return tuple(_part_key(part) for part in parts)


def _part_key(part: str | int) -> tuple[Any, ...]:
    text = str(part).strip().casefold()
    if _NUMBER.fullmatch(text):
        return 0, float(text), (), str(part)
    pieces, side = _pieces(text)
    words = tuple(_digits(piece) if turn % 2 else (piece, 0, "") for turn, piece in enumerate(pieces))
    if side:  # only the number counts, so that "over 65" follows "65 to 74"
        words = (*words[:2], ("\U0010ffff" if side > 0 else "", side, ""))
    return 1, 0.0, words, str(part)


def _pieces(text: str) -> tuple[list[str], int]:
    """Text and digits in turns, text first; and whether the name is below (-1) or above (1) a number at its start."""
    side = 0
    if text.startswith(_FIRST):
        for pattern, place in ((_BELOW, -1), (_ABOVE, 1)):
            if found := pattern.match(text):
                text, side = text[found.end() :], place
    return re.split(r"(\d+)", text), side


def _text_key(name: str, text: str) -> str:
    """One text that compares as the key of `_part_key` does, in a third of the time; for names without control signs.

    Signs below all those of the name end its words, so that a word is before those that begin with it, and say how many
    digits follow.
    """
    pieces, side = _pieces(text)
    if side:
        pieces = pieces[:2]
    digits = [piece.lstrip("0") for piece in pieces[1::2]]
    pieces[1::2] = [f"\x01{chr(3 + len(piece))}{piece}" for piece in digits]
    end = ("\x00", "\x01", "\U0010ffff\x02")[side + 1]
    return "".join((*pieces, end, "\x00", name))


def _sorted_places(names: Sequence[str | int]) -> list[int]:
    """The places of the names, in natural order of the names: first numbers, then text."""
    if any(not isinstance(name, str) or len(name) > _LONG or _CONTROL.search(name) for name in names):
        keys = [_part_key(name) for name in names]
        return sorted(range(len(names)), key=keys.__getitem__)
    numbers: dict[int, tuple[float, str]] = {}
    texts: dict[int, str] = {}
    for place, name in enumerate(map(str, names)):
        text = name.strip().casefold()
        if _NUMBER.fullmatch(text):
            numbers[place] = float(text), name
        else:
            texts[place] = _text_key(name, text)
    return [*sorted(numbers, key=numbers.__getitem__), *sorted(texts, key=texts.__getitem__)]


def _digits(piece: str) -> tuple[str, int, str]:
    """Digits that compare as a whole number of any size: first by their number, then one by one."""
    digits = piece.lstrip("0")
    return "", len(digits), digits


def natural_ranks(names: Sequence[str | int]) -> NDArray[np.intp]:
    """The place of each of some different names in their natural order; whole numbers are compared by numpy.

    Examples
    --------
    >>> from meanbounds.logs.names import natural_ranks
    >>> natural_ranks(["arm 10", "arm 2", "arm 1"]), natural_ranks([10, 2, 1])
    (array([2, 1, 0]), array([2, 1, 0]))
    """
    if all(isinstance(name, int) and -_WHOLE < name < _WHOLE for name in names):
        order = np.argsort(np.array(names, dtype=np.int64))
    else:
        order = np.array(_sorted_places(names), dtype=np.intp)
    ranks = np.empty(len(names), dtype=np.intp)
    ranks[order] = np.arange(len(names))
    return ranks


def in_order(what: str, found: Iterable[Any], listed: Sequence[Any] | None) -> list[Any]:
    """Put names in the order the user gave, those without rows included; in natural order if none was given.

    Examples
    --------
    >>> from meanbounds.logs.names import in_order
    >>> in_order("arm", {"arm 10", "arm 2"}, None)
    ['arm 2', 'arm 10']
    >>> in_order("arm", {"high", "low"}, ["low", "medium", "high"])
    ['low', 'medium', 'high']
    >>> in_order("arm", {"high", "low"}, ["low", "medium"])
    Traceback (most recent call last):
    meanbounds.logs.errors.LogError: the log has arms that arms= leaves out: 'high'
    """
    names = set(found)
    if listed is None:
        return sorted(names, key=natural_order)
    order = list(_plain_names(what, listed))
    _check_kinds(what, order)
    missing = sorted(names.difference(order), key=natural_order)
    if missing:
        raise LogError(
            f"the log has {what}s that {what}s= leaves out: {', '.join(map(repr, missing[:10]))}"
            + ", ..." * (len(missing) > 10)
        )
    return order


def context_names(names: Iterable[Any]) -> tuple[Context, ...]:
    """Turn names of contexts into plain Python values; a LogError says which cannot be a name.

    Examples
    --------
    >>> from meanbounds.logs.names import context_names
    >>> context_names([("old", 1), ["young", 2]])
    (('old', 1), ('young', 2))
    """
    plain = _plain_names("context", names)
    _check("context", plain)
    return plain


def arm_names(names: Iterable[Any]) -> tuple[Arm, ...]:
    """Turn names of arms into plain Python values; a LogError says which cannot be a name.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.logs.names import arm_names
    >>> arm_names(np.array([3, 7]))
    (3, 7)
    >>> arm_names(["a", "a"])
    Traceback (most recent call last):
    meanbounds.logs.errors.LogError: arm 'a' is named twice
    """
    plain = _plain_names("arm", names)
    _check("arm", plain)
    return plain


def _plain_names(what: str, names: Any) -> tuple[Any, ...]:
    try:
        listed = as_list(f"{what}s", names)
    except TypeError as error:
        raise LogError(str(error)) from None
    if _all_plain(listed):
        return tuple(listed)
    return tuple(map(_plain_parts if what == "context" else _plain, listed))


def _all_plain(names: Sequence[Any]) -> bool:
    """Whether all names are texts or integers of Python: a quick look, for a million of them."""
    return set(map(type, names)) <= {str, int}


def _plain_parts(name: Any) -> Any:
    return tuple(map(_plain, name)) if isinstance(name, tuple | list) else _plain(name)


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _check(what: str, names: Sequence[Any]) -> None:
    if not names:
        raise LogError(f"counts need at least one {what}")
    _check_kinds(what, names)
    if len(set(names)) == len(names):
        return
    seen: set[Hashable] = set()
    for name in names:
        if name in seen:
            raise LogError(f"{what} {name!r} is named twice")
        seen.add(name)


def _check_kinds(what: str, names: Sequence[Any]) -> None:
    if _all_plain(names):
        return
    for name in names:
        parts = name if isinstance(name, tuple) and what == "context" else (name,)
        if any(isinstance(part, bool) or not isinstance(part, str | int) for part in parts):
            raise LogError(f"names of {what}s must be text or integers; got {shown(name)}")
