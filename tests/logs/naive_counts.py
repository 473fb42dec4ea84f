"""Count a log row by row in plain Python: what every engine has to agree with."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from typing import Any

import numpy as np

from meanbounds.logs import Counts

__all__ = ["Naive", "check_against"]

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "<NA>", "NaT", "NULL", "null")
WORDS = {"true": 1.0, "yes": 1.0, "t": 1.0, "y": 1.0, "false": 0.0, "no": 0.0, "f": 0.0, "n": 0.0}


class Naive:
    """Rewards of each context and arm, and bad rows by kind; a row is its contexts, its arm and its reward."""

    def __init__(
        self, rows: Iterable[Sequence[Any]], low: float = 0.0, high: float = 1.0, *, commas: bool = False
    ) -> None:
        listed = [tuple(row) for row in rows]
        names = [column_of_names(column) for column in zip(*(row[:-1] for row in listed), strict=True)]
        self.cells: dict[tuple[Any, str], list[float]] = defaultdict(list)
        self.kinds: Counter[str] = Counter()
        for (*contexts, arm), row in zip(zip(*names, strict=True), listed, strict=True):
            kind, value = judge(row[-1], low, high, commas)
            kind = "missing context" if None in contexts else "missing arm" if arm is None else kind
            if kind:
                self.kinds[kind] += 1
            else:
                context = None if not contexts else contexts[0] if len(contexts) == 1 else tuple(contexts)
                self.cells[context, arm].append(value)


def column_of_names(values: Sequence[Any]) -> list[str | None]:
    times = [value for value in values if isinstance(value, datetime)]
    midnight = all(value.time() == time(0) for value in times)
    return [name_of(value, midnight) for value in values]


def name_of(value: Any, midnight: bool) -> str | None:
    if value is None or value != value:
        return None
    if isinstance(value, str):
        return None if value.strip() in MISSING else value
    if isinstance(value, datetime) and not midnight:
        return value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()[:10]
    if isinstance(value, bool):
        return str(value)
    return str(int(value)) if math.isfinite(value) and value == int(value) else str(float(value))


def judge(reward: Any, low: float, high: float, commas: bool) -> tuple[str, float]:
    """The kind of a bad reward, empty for a good one, and the number that it is."""
    text = str(reward).strip().lower()
    if reward is None or text in ("", "na", "n/a", "nan", "<na>", "nat", "null", "none"):
        return "missing reward", math.nan
    if text in WORDS:
        value = WORDS[text]
    else:
        try:
            value = float(text.replace(",", ".") if commas and "." not in text else text)
        except ValueError:
            return "reward is not a number", math.nan
        if "_" in text or (commas and "." in text and isinstance(reward, str)):
            return "reward is not a number", math.nan
    if math.isinf(value):
        return "reward is infinite", value
    return "reward below range" if value < low else "reward above range" if value > high else "", value


def check_against(counts: Counts, naive: Naive) -> None:
    """Compare counts with those of the naive way: rows exactly, and sums to the last digits."""
    assert dict(counts.dropped) == naive.kinds
    assert set(counts.contexts) == {context for context, _ in naive.cells}
    assert {*map(str, counts.arms)} >= {arm for _, arm in naive.cells}
    for z, context in enumerate(counts.contexts):
        for k, arm in enumerate(counts.arms):
            rewards = naive.cells.get((context, str(arm)), [])
            assert counts.count[z, k] == len(rewards)
            np.testing.assert_allclose(counts.total[z, k], math.fsum(rewards), rtol=1e-14, atol=1e-300)
            squares = math.fsum(reward**2 for reward in rewards)
            np.testing.assert_allclose(counts.squares[z, k], squares, rtol=1e-13, atol=1e-300)
