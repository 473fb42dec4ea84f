"""Checks of the parts of a study file: each mistake has a place in the file, from which its line follows."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from meanbounds.simulation.toml_lines import Place

__all__ = ["DEPTHS", "SHAPES", "WrongError", "check_names", "check_numbers", "made", "shown"]

DEPTHS: dict[str, tuple[int, ...]] = {  # 0 for a number, 1 for a list of numbers, 2 for a list of such lists
    "means": (1,),
    "theta": (1,),
    "features": (2,),
    "values": (2,),
    "weights": (2,),
    "offered": (0, 2),
    "lower": (0, 1),
    "upper": (0, 1),
    "low": (0, 1),
    "high": (0, 1),
    "trust": (0, 1),
    "mean": (0, 1),
    "strength": (0, 1),
    "offset": (0, 1),
    "by": (0,),
    "concentration": (0,),
    "variance": (0,),
}
SHAPES = ("a number", "a list of numbers", "a list of lists of numbers")


class WrongError(ValueError):
    """A mistake, and where it is."""

    def __init__(self, place: Place, problem: str) -> None:
        super().__init__(problem)
        self.place = place


def check_names(place: Place, names: Any, arms: int) -> None:
    """Refuse names of arms that are no list of different texts or whole numbers, one for each arm."""
    if not isinstance(names, list):
        raise WrongError(place, f"bounds: arms must be a list of names; got {shown(names)}")
    for position, name in enumerate(names):
        if isinstance(name, bool) or not isinstance(name, str | int):
            problem = f"arm names must be texts or whole numbers; got {shown(name)}"
        elif name in names[:position]:
            problem = f"arm {shown(name)} is named twice"
        else:
            continue
        raise WrongError((*place, position), f"bounds: {problem}")
    if len(names) != arms:
        raise WrongError(place, f"bounds: {len(names)} names for {arms} arms")


def check_numbers(place: Place, value: Any) -> None:
    """Refuse values that are no finite numbers, or not nested as the key needs it."""
    section, key = str(place[0]), str(place[-1])
    allowed = (1, 2) if section == "prior" and key == "weights" else DEPTHS[key]
    expected = " or ".join(SHAPES[depth] for depth in allowed)

    def check(here: Place, part: Any, depth: int) -> None:
        """Refuse a part of the value, which is inside as many lists."""
        if isinstance(part, list) and depth < max(allowed):
            if not part or (depth == 0 and 1 not in allowed and not isinstance(part[0], list)):
                raise WrongError(here, f"{section}: {key} must be {expected}; got {shown(part)}")
            for position, inside in enumerate(part):
                check((*here, position), inside, depth + 1)
            return
        if isinstance(part, list | bool) or not isinstance(part, int | float) or depth not in allowed:
            raise WrongError(here, f"{section}: {key} must be {expected}; got {shown(part)}")
        if not _is_finite(part):
            raise WrongError(here, f"{section}: {key} must be finite numbers; got {shown(part)}")

    check(place, value, 0)
    if allowed[-1] == 2 and isinstance(value, list) and key in ("features", "offered"):
        for position, row in enumerate(value):
            if len(row) != len(value[0]):
                raise WrongError(
                    (*place, position), f"{section}: {key}: a row of {len(row)} numbers below one of {len(value[0])}"
                )


def made(place: Place, section: str, settings: Mapping[str, Any], make: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Make a part of the study; a mistake is placed at the key, and the arm, that its message names."""
    try:
        return make(settings)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        raise WrongError((*place, *_blamed(str(error), settings)), f"{section}: {error}") from error


def _blamed(message: str, settings: Mapping[str, Any]) -> Place:
    """The key that a message names first, in the singular or the plural, and the position of the arm that it names."""
    position = _position(message, settings.get("arms"))
    words = {key: rf"(?<![\w'\"]){re.escape(key.removesuffix('s'))}s?\b" for key in settings if key != "arms"}
    mentions = {key: re.search(word, message) for key, word in words.items()}
    named = sorted((match.start(), key) for key, match in mentions.items() if match)
    if named:
        key = named[0][1]
    elif position is not None:  # no key: the first one that has an entry for each arm
        key = next((key for key, value in settings.items() if key != "arms" and isinstance(value, list)), "")
    else:
        return ()
    if key == "lower" and position is not None and "leave the reward range" in message:
        key = "lower" if _entry(settings, "lower", position) < _entry(settings, "low", position) else "upper"
    value = settings.get(key)
    return (key, position) if position is not None and isinstance(value, list) else (key,)


def _position(message: str, names: Sequence[str | int] | None) -> int | None:
    """The position of the arm, or the row, that a message names."""
    found = re.search(r"\b(?:arm|row) (\d+|'(?:[^'\\]|\\.)*')", message)
    if found is None:
        return None
    if names is not None:
        return next((position for position, name in enumerate(names) if repr(name) == found[1]), None)
    return int(found[1]) if found[1].isdigit() else None


def _entry(settings: Mapping[str, Any], key: str, position: int) -> float:
    """The number of one arm, where the key has one for each, one for all, or is left out: then 0."""
    value = settings.get(key, 0.0)
    return float(value[position] if isinstance(value, list) else value)


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(float(number))
    except OverflowError:
        return False


def shown(value: Any) -> str:
    """A value in a message: short, and on one line."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python shows no whole number of thousands of digits
        return "a number of thousands of digits"
