"""From a log to counts, in one scan."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, NoReturn

import numpy as np

from meanbounds.logs.counts import (
    EVERYTHING,
    MOST_VALUES,
    Counts,
    LogError,
    bin_edges,
    binned,
    check_range,
    sort_key,
)
from meanbounds.logs.engines import ENGINES, Log, open_log
from meanbounds.logs.query import KINDS, Question
from meanbounds.logs.sources import Files, find_source

__all__ = ["read"]

_VERY_FEW = 16  # different rewards that are faster looked up in a list than grouped by
_MOST_GROUPS = 1_000_000  # of context, arm and reward; if there are more, rewards are not few


def read(
    source: Any,
    *,
    context: str | Sequence[str] | None = None,
    arm: str,
    reward: str,
    low: float = 0.0,
    high: float = 1.0,
    engine: Literal["duckdb", "spark", "postgres"] = "duckdb",
    connection: Any = None,
    on_bad: Literal["error", "drop"] = "error",
    histogram: bool | Literal["auto"] = "auto",
    progress: bool | None = None,
) -> Counts:
    """Count a log: rows, sum and sum of squares of the rewards for each context and arm.

    One ``GROUP BY`` does it, in one scan that also finds rows which cannot be counted. All engines give the same
    counts, and sums that agree to about the last digit: rounding errors are compensated, so that the order of the rows
    plays no part.

    Parameters
    ----------
    source
        Path of a Parquet or CSV file, a folder of either, or a glob; a pandas, Polars or Arrow table; or the name of
        a table (``schema.table``; in double quotes where a name holds a dot) in the database of `connection`.
    context
        Column that says in which context the arm was chosen; several columns, or None for a log without contexts.
    arm, reward
        Columns of the arm that was chosen and of the reward it brought.
    low, high
        The range of the rewards.
    engine
        ``"duckdb"`` (inside this process), ``"spark"`` or ``"postgres"``.
    connection
        For DuckDB a connection or the path of a database, needed for tables of a database only; for Spark a session, by
        default the active one or else a new local one, which is stopped again; for PostgreSQL a connection (psycopg) or
        a connection string.
    on_bad
        What to do about rows with a missing field, or a reward that is not a number in the range: ``"error"`` lists
        them by kind, ``"drop"`` leaves them out and remembers how many in `Counts.dropped`.
    histogram
        Count each reward by itself, for the method ``"betting"``. True always does: each value where there are at most
        256 different ones, else 256 equal bins, which takes some five times as long. ``"auto"`` does it where it is
        cheap: the first 2,000 rewards have at most 256 values, and so have all. False never does.
    progress
        Show a progress bar; by default on a terminal, for anything over two seconds.

    Returns
    -------
    Counts
        Contexts and arms are text or integers, integers first, each in order. Columns of other types become text, but
        for numbers without a fraction. CSV has no types: a column is integers if all of it is, as Python writes them.

    Raises
    ------
    LogError
        If the log cannot be read, or has bad rows that were not to be dropped.

    Examples
    --------
    >>> import meanbounds as mb
    >>> import pandas as pd
    >>> log = pd.DataFrame({"age": ["60-70", "60-70", "70-80", "70-80"], "arm": ["tPA", "watch", "tPA", "tPA"]})
    >>> counts = mb.logs.read(log.assign(reward=[1, 0, 0, 1]), context="age", arm="arm", reward="reward")
    >>> counts
    Counts(4 rows, 2 contexts, 2 arms, rewards in [0.0, 1.0], 2 values)
    >>> counts.total
    array([[1., 0.],
           [1., 0.]])
    >>> mb.logs.read(log.assign(reward=[1, 0, 0, 5]), context="age", arm="arm", reward="reward")
    Traceback (most recent call last):
    meanbounds.logs.counts.LogError: 1 of 4 rows cannot be counted:
      reward above range: 1 row, such as age='70-80', arm='tPA', reward=5
    Correct the log, change low=0.0 and high=1.0, or leave such rows out with on_bad="drop".
    """
    names = () if context is None else (context,) if isinstance(context, str) else tuple(context)
    wanted = _wanted(names, arm, reward)
    low, high = check_range(low, high)
    _one_of("engine", engine, tuple(ENGINES))
    _one_of("on_bad", on_bad, ("error", "drop"))
    _one_of("histogram", histogram, ("auto", True, False))
    if engine == "postgres" and connection is None:
        raise LogError('engine="postgres" needs connection=, a connection of psycopg or a connection string')
    found = find_source(source, connection is not None or engine == "spark")
    with open_log(engine, found, connection, wanted, reward, progress) as log:
        columns = log.columns
        question = Question(
            log.dialect, log.table, [columns[name] for name in names], columns[arm], columns[reward], low, high
        )
        tally = _count(log, question, histogram)
        if tally.bad and on_bad == "error":
            _refuse(log, question, tally, wanted)
    untyped = isinstance(found, Files) and found.format == "csv"
    return tally.counts((low, high), wanted, untyped)


@dataclass
class _Cell:
    """One context and arm while it is being counted."""

    rows: int = 0
    total: list[float] = field(default_factory=list)
    squares: list[float] = field(default_factory=list)
    values: dict[float, int] = field(default_factory=lambda: defaultdict(int))


@dataclass
class _Tally:
    """The whole log while it is being counted; `values` says what the keys of the cells' values are."""

    values: Literal["none", "single", "bins"]
    rows: int = 0
    bad: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    cells: dict[tuple[Any, ...], _Cell] = field(default_factory=lambda: defaultdict(_Cell))

    def add(self, key: tuple[Any, ...], rows: int, good: int) -> _Cell | None:
        """The cell that good rows belong to, if there are any."""
        names = tuple(map(_plain, key))
        self.rows += rows
        if None in names:
            good = 0
        self.bad += rows - good
        if not good:
            return None
        cell = self.cells[names]
        cell.rows += good
        return cell

    def sum_values(self) -> None:
        """Take the sums from the values, exactly."""
        for cell in self.cells.values():
            cell.total = [value * rows for value, rows in cell.values.items()]
            cell.squares = [value * value * rows for value, rows in cell.values.items()]

    def counts(self, ends: tuple[float, float], names: tuple[str, ...], untyped: bool) -> Counts:
        """The counts, in order."""
        low, high = ends
        if not self.cells:
            raise LogError("the log has no rows" + " left that can be counted" * bool(self.rows))
        keys = list(self.cells)
        if untyped:
            keys = list(zip(*map(_integers, zip(*keys, strict=True)), strict=True))
        found = [(_context(key[:-1]), key[-1]) for key in keys]
        contexts = sorted({name for name, _ in found}, key=sort_key)
        arms = sorted({name for _, name in found}, key=sort_key)
        rows, columns = ({name: place for place, name in enumerate(all_)} for all_ in (contexts, arms))
        places = [(rows[name], columns[arm]) for name, arm in found]
        sums = {name: np.zeros((len(contexts), len(arms))) for name in ("count", "total", "squares")}
        for place, cell in zip(places, self.cells.values(), strict=True):
            sums["count"][place] = cell.rows
            sums["total"][place] = math.fsum(cell.total)
            sums["squares"][place] = math.fsum(cell.squares)
        return Counts(
            contexts,
            arms,
            **sums,
            low=low,
            high=high,
            dropped=self.kinds,
            **self._histogram(places, (len(contexts), len(arms)), low, high),
            context_names=names[:-2],
            arm_name=names[-2],
            reward_name=names[-1],
        )

    def _histogram(
        self, places: Sequence[tuple[int, int]], shape: tuple[int, int], low: float, high: float
    ) -> dict[str, Any]:
        if self.values == "none":
            return {}
        single = sorted({value for cell in self.cells.values() for value in cell.values})
        exact = self.values == "single" and len(single) <= MOST_VALUES
        edges = (np.array(single), np.array(single)) if exact else bin_edges(low, high)
        histogram = np.zeros((*shape, len(edges[0])))
        for place, cell in zip(places, self.cells.values(), strict=True):
            values = np.array(list(cell.values))
            if exact:
                bins = np.searchsorted(edges[0], values)
            else:
                bins = values.astype(np.intp) if self.values == "bins" else binned(values, low, high)
            np.add.at(histogram[place], bins, list(cell.values.values()))
        return {"values_low": edges[0], "values_high": edges[1], "histogram": histogram}


def _count(log: Log, question: Question, histogram: bool | str) -> _Tally:
    """Ask for the cells in the way that gives the histogram at the least cost, or that does without.

    A way may find that it does not fit: values that the sample did not have, or too many of them. Then comes the next.
    """
    for way in _ways(log, question, histogram):
        tally = way()
        if tally is None:
            continue
        if tally.bad:
            number: dict[int, int] = dict(log.ask(question.bad()))
            tally.kinds = {KINDS[place]: int(number[place]) for place in sorted(number)}
        if sum(tally.kinds.values()) == tally.bad:
            return tally
    raise LogError("each look at the log finds another number of bad rows; read it while nobody writes to it")


def _ways(log: Log, question: Question, histogram: bool | str) -> Iterator[Callable[[], _Tally | None]]:
    if histogram:
        sample = {row[0] for row in log.ask(question.sample())} - {None}
        if 0 < len(sample) <= _VERY_FEW:
            yield lambda: _by_known_value(log, question, sorted(sample))
        if len(sample) <= MOST_VALUES:
            yield lambda: _by_value(log, question)
    if histogram is True:
        yield lambda: _by_bin(log, question)
    else:
        yield lambda: _totals(log, question)


def _totals(log: Log, question: Question) -> _Tally:
    tally, parts = _Tally("none"), question.sum_parts
    for row in log.ask(question.totals()):
        *key, rows, good = row[: -2 * parts]
        if (cell := tally.add(tuple(key), rows, good)) is not None:
            cell.total += row[-2 * parts : -parts]
            cell.squares += row[-parts:]
    return tally


def _by_known_value(log: Log, question: Question, values: Sequence[float]) -> _Tally:
    """Cells with each of a few rewards by itself. Rows with any other are bad, or this is not the way to count."""
    tally = _Tally("single")
    for *key, place, rows in log.ask(question.by_known_value(values)):
        if (cell := tally.add(tuple(key), rows, rows if place < len(values) else 0)) is not None:
            cell.values[values[place] + 0.0] += rows  # minus zero is zero
    tally.sum_values()
    return tally


def _by_value(log: Log, question: Question) -> _Tally | None:
    """Cells with each reward by itself; None if there turn out to be too many."""
    tally = _Tally("single")
    groups = 0
    for *key, value, rows in log.ask(question.by_value(_MOST_GROUPS)):
        groups += 1
        good = value is not None and question.low <= value <= question.high
        if (cell := tally.add(tuple(key), rows, rows if good else 0)) is not None:
            cell.values[value + 0.0] += rows
    tally.sum_values()
    return None if groups == _MOST_GROUPS else tally


def _by_bin(log: Log, question: Question) -> _Tally:
    tally, parts = _Tally("bins"), question.sum_parts
    for row in log.ask(question.by_bin()):
        *key, place, rows, good = row[: -2 * parts]
        if (cell := tally.add(tuple(key), rows, good)) is not None:
            cell.total += row[-2 * parts : -parts]
            cell.squares += row[-parts:]
            cell.values[min(max(place, 0.0), MOST_VALUES - 1.0)] += good
    return tally


def _refuse(log: Log, question: Question, tally: _Tally, wanted: Sequence[str]) -> NoReturn:
    """An error that lists the kinds of bad rows, with one of each."""
    lines = [f"{tally.bad:,} of {tally.rows:,} rows cannot be counted:"]
    for kind, number in tally.kinds.items():
        row = next(iter(log.ask(question.example(KINDS.index(kind)))))
        shown = ", ".join(f"{name}={value!r}" for name, value in zip(wanted, row, strict=True))
        lines.append(f"  {kind}: {number:,} row{'s' * (number != 1)}, such as {shown}")
    outside = any(kind.endswith("range") for kind in tally.kinds)
    change = f", change low={question.low} and high={question.high}," * outside
    lines.append(f'Correct the log{change} or leave such rows out with on_bad="drop".')
    raise LogError("\n".join(lines))


def _wanted(context: Sequence[str], arm: str, reward: str) -> tuple[str, ...]:
    wanted = (*context, arm, reward)
    for name in wanted:
        if not isinstance(name, str) or not name or "\0" in name:
            raise LogError(f"context, arm and reward are names of columns; got {name!r}")
        if wanted.count(name) > 1:
            raise LogError(f"column {name!r} is given twice; context, arm and reward must be different columns")
    return wanted


def _one_of(name: str, value: object, choices: tuple[object, ...]) -> None:
    if not any(value is choice or (value == choice and isinstance(value, str)) for choice in choices):
        raise LogError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")


def _context(parts: tuple[Any, ...]) -> Any:
    return parts if len(parts) > 1 else parts[0] if parts else EVERYTHING


def _plain(value: Any) -> str | int | None:
    """A name as text or an integer; None if it is missing: NULL, NaN, or nothing but spaces."""
    if isinstance(value, str):
        return value if value.strip(" ") else None
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return value
    if isinstance(value, float | Decimal):
        if math.isfinite(value) and value == int(value):
            return int(value)
        return repr(value) if isinstance(value, float) else f"{value.normalize():f}"
    return str(value)


def _integers(names: Iterable[Any]) -> tuple[Any, ...]:
    """Text that is integers throughout, as Python writes them, becomes integers."""
    texts = tuple(names)
    try:
        numbers = tuple(map(int, texts))
    except ValueError:
        return texts
    return numbers if tuple(map(str, numbers)) == tuple(map(str, texts)) else texts
