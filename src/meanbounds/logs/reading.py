"""From a log to counts, in one scan."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from math import inf, nan
from typing import Any, Literal, NoReturn

import numpy as np

from meanbounds.bounds import Arm
from meanbounds.logs.counts import Counts, check_range
from meanbounds.logs.engines import ENGINES, Log, open_log
from meanbounds.logs.errors import BadRows, LogError, LogWarning
from meanbounds.logs.histogram import MOST_VALUES
from meanbounds.logs.names import Context
from meanbounds.logs.query import KINDS, Question
from meanbounds.logs.sources import Files, Frame, Source, find_source
from meanbounds.logs.tally import Groups, Layout, Tally, plain_name
from meanbounds.logs.window import Window, read_window
from meanbounds.support.types import Floats

__all__ = ["Time", "read", "refuse_bad_rows", "warn_of_dropped"]

Time = float | str | date | np.datetime64
"""An end of a window: a number, or a date, with a time of day or without."""

_HOW_TO_WRITE = {
    "reward is not a number": "a reward is a number: 1 for yes and 0 for no, 0.5 rather than 0,5",
    "time cannot be read": "a time is a number, or a date such as 2024-01-31 or 2024-01-31 12:00",
}
"""What to correct where rows of a kind are written in a way that is not read."""
_LOUD = 0.05  # share of the rows from which on dropping them is warned of
_VERY_FEW = 16  # different rewards that are faster looked up in a list than grouped by
_MOST_GROUPS = 4_000_000  # of context, arm and reward; if there are more, rewards are not few
_MOST_NUMBERS = 50_000_000  # of a histogram that nobody asked for: 400 MB


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
    arms: Sequence[Arm] | None = None,
    contexts: Sequence[Context] | None = None,
    weight: str | None = None,
    time: str | None = None,
    since: Time | None = None,
    until: Time | None = None,
    on_bad: Literal["error", "drop"] = "error",
    histogram: bool | Literal["auto"] = "auto",
    network: bool = False,
    progress: bool | None = None,
) -> Counts:
    r"""Count a log: rows, sum and sum of squares of the rewards for each context and arm.

    A single ``GROUP BY`` scans the log once and also finds the rows that cannot be counted. All engines give the same
    counts, and sums that agree to about the last digit: rounding errors are compensated, so that the order of the rows
    does not matter. The rows stay in the engine. What comes back are groups of context, arm and perhaps reward, so that
    memory grows with the number of these, not with that of the rows.

    Parameters
    ----------
    source
        Path of a Parquet or CSV file, a folder of either, or a glob; a pandas, Polars or Arrow table; or the name of
        a table (``schema.table``; in double quotes where a name holds a dot) in the database of `connection`. Files
        are read whole or not at all: a folder or file without permission, a pipe, a device, a link that leads nowhere,
        or a column of yours that a file has twice is an error.
    context
        Column that says in which context the arm was chosen; several columns, or None for a log without contexts.
    arm, reward
        Columns of the arm that was chosen and of the reward it brought.
    low, high
        The range of the rewards, in reward units: ``low=1, high=5`` for stars.
    engine
        ``"duckdb"`` (inside this process), ``"spark"`` or ``"postgres"``.
    connection
        For DuckDB a connection or the path of a database, needed for tables of a database only; for Spark a session, by
        default the active one or else a new local one, which is stopped again; for PostgreSQL a connection (psycopg) or
        a connection string.
    arms
        All arms, in the order you want. Those that the log never played are counted with 0 rows; one that it played
        and that is not listed is an error. By default the arms that the log played, in natural order.
    contexts
        The same for contexts.
    weight
        Column that says how many rows each row stands for: 3 counts as three rows that are the same, 0 as none.
        Weights that are not whole numbers are taken too, but they say nothing about how much is known: such counts
        have bounds with ``infinite=True`` only.
    time, since, until
        Count only the rows whose `time`, a column of dates or numbers, is at `since` or later, and before `until`;
        leave one of them out for a window that is open on this side. A number, a date, or text such as
        ``"2024-06-30"`` or ``"2024-06-30 12:00"``. Where the log has a time zone and you give none, yours is UTC. A row
        without a time, or with text that is no date of this form (a ``T`` between date and time, and a ``Z`` at the
        end, are allowed), is a bad row: it is never left out without a word.
    on_bad
        What to do about rows with a missing field, or a reward that is not a number in the range: ``"error"`` lists
        them by kind, ``"drop"`` leaves them out and remembers how many in `Counts.dropped`, with a warning if they are
        more than 5% of the log.
    histogram
        Whether to count how often each reward occurs, which the method ``"betting"`` needs. True: always, by value
        where there are at most 256 different ones, else in 256 equal bins, which takes some ten times as long.
        ``"auto"``: where it is cheap, that is if the first 2,000 rewards, and then all, have at most 256 values, and
        contexts x arms x values are at most 50 million numbers.
        False: never.
    network
        Whether an address on the network, such as ``https://``, ``s3://`` or ``hf://``, may be read; otherwise it is
        refused. DuckDB reads addresses with an extension (httpfs, or azure), which is never installed for you: run
        ``duckdb.sql("INSTALL httpfs")`` once, or give a `connection` that has loaded it and holds your keys. Spark
        reads the stores that its session is set up for.
    progress
        Show a progress bar; by default on a terminal, for anything over two seconds.

    Returns
    -------
    Counts
        Contexts and arms are text or integers, in the order in which people read them: numbers by value and before
        text, text without regard to case, and numbers inside of text as numbers ("arm 2" before "arm 10"). An order
        that you give with `arms` or `contexts` wins; else ordered categoricals of pandas keep theirs, and arms that
        are among the categories but never occur have 0 rows. Columns of other types become text, except for numbers
        without a fraction. CSV has no types: a column becomes integers if all its fields are written like 7 or -12.

    Raises
    ------
    LogError
        If the log cannot be read, or has bad rows and ``on_bad="error"``. ``error.bad`` says how many of which kind.

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
    >>> counts = mb.logs.read(log.assign(reward=1), arm="arm", reward="reward", arms=["watch", "tPA", "surgery"])
    >>> counts.count  # surgery was never chosen
    array([[1., 3., 0.]])
    >>> mb.logs.read(log.assign(reward=[1, 2, 4, 5]), context="age", arm="arm", reward="reward")
    Traceback (most recent call last):
    meanbounds.logs.errors.LogError: 3 of 4 rows (75%) cannot be counted:
      reward above range: 3 rows (75%), such as age='60-70', arm='watch', reward=2.
    The rewards of this log go from 1 to 5, and the range is 0 to 1. If 1 to 5 is their scale, give ...
    Otherwise correct the log, or leave such rows out with on_bad="drop".

    From a file, with the range that stars have:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "stars.csv"
    >>> _ = path.write_text("user,movie,stars\nyoung,Heat,5\nold,Heat,2\nold,Big,4\n")
    >>> counts = mb.logs.read(path, context="user", arm="movie", reward="stars", low=1, high=5)
    >>> counts.contexts, counts.arms
    (('old', 'young'), ('Big', 'Heat'))
    """
    window = read_window(time, since, until)
    names = () if context is None else (context,) if isinstance(context, str) else tuple(context)
    more = {name: column for name, column in (("weight", weight), ("time", time)) if column is not None}
    _check_columns(names, arm, reward, more)
    low, high = check_range(low, high)
    _one_of("engine", engine, ENGINES)
    _one_of("on_bad", on_bad, ("error", "drop"))
    _one_of("histogram", histogram, ("auto", True, False))
    _one_of("network", network, (True, False))
    if engine == "postgres" and connection is None:
        raise LogError('engine="postgres" needs connection=, a connection of psycopg or a connection string')
    found = find_source(source, connection is not None or engine == "spark", network)
    listed = _listed("contexts", contexts), _listed("arms", arms)
    layout = Layout(names, arm, reward, low, high, *listed, weight=weight, time=time)
    bad: BadRows | None = None
    with open_log(engine, found, connection, layout.wanted, layout.numbers, progress, network) as log:
        question = _question(log, layout, window)
        if weight is not None:
            heaviest, parts = next(iter(log.ask(question.weights_seen())))
            question = replace(question, heaviest=max(float(heaviest or 1.0), 1.0))
            layout = replace(layout, whole_weights=not parts)
        tally = _count(log, question, histogram)
        if tally.bad:
            bad = _bad_rows(log, question, tally, layout, on_bad)
    if bad is not None and on_bad == "error":
        refuse_bad_rows(bad)
    if tally.empty:
        left = "" if bad is None else f" left that can be counted; dropped: {_dropped(bad)}{_how_to_write(bad)}."
        left += f" {bad.advice}" if bad is not None and bad.advice else ""
        where = "" if window is None else " from since= on and before until="
        raise LogError(f"the log has no rows{where}{left}", kind="empty", bad=bad)
    if bad is not None:
        warn_of_dropped(bad)
    return tally.counts(_with_order(layout, found), inf if histogram is True else _MOST_NUMBERS)


def _question(log: Log, layout: Layout, window: Window | None) -> Question:
    columns = log.columns
    weight, time = (None if name is None else columns[name] for name in (layout.weight, layout.time))
    return Question(
        log.dialect,
        log.table,
        [columns[name] for name in layout.context],
        columns[layout.arm],
        columns[layout.reward],
        layout.low,
        layout.high,
        weight=weight,
        time=time,
        window=window,
    )


def _with_order(layout: Layout, found: Source) -> Layout:
    """The layout with the types and the order that the source itself has."""
    if isinstance(found, Files):
        return replace(layout, untyped=found.format == "csv")
    if isinstance(found, Frame):
        columns = found.categories((*layout.context, layout.arm))
        return replace(layout, categories={name: [plain_name(x) for x in own] for name, own in columns.items()})
    return layout


def _count(log: Log, question: Question, histogram: bool | str) -> Tally:
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


def _ways(log: Log, question: Question, histogram: bool | str) -> Iterator[Callable[[], Tally | None]]:
    """By value where rewards seem to be few, then by cell.

    Where the sample has very few values, their places in a list are grouped first: engines are faster with small
    integers than with doubles. A reward that the sample did not have then sends the count to the next way. Grouping by
    bin is many times as slow as by cell alone: only if it is asked for.
    """
    if histogram:
        sample = {row[0] for row in log.ask(question.sample())} - {None}
        if 0 < len(sample) <= _VERY_FEW and question.reward.holds != "integer":
            yield lambda: _by_value(log, question, sorted(sample))
        if len(sample) <= MOST_VALUES:
            yield lambda: _by_value(log, question)
    yield lambda: _by_cell(log, question, bins=histogram is True)


def _by_value(log: Log, question: Question, known: Sequence[float] = ()) -> Tally | None:
    """Groups by reward; None if there turn out to be too many.

    If some rewards are `known`, all others count as bad.
    """
    tally, groups = Tally("single", question.key_columns), 0
    values = np.array([*known, nan])
    first = question.key_columns
    for batch in log.batches(question.by_known_value(known) if known else question.by_value(_MOST_GROUPS)):
        keys, value, rows = batch[:first], batch[first], np.array(batch[first + 1], dtype=np.float64)
        groups += rows.size
        number = values[np.array(value)] if known else np.array(value, dtype=np.float64)
        inside = (number >= question.low) & (number <= question.high)
        count = rows if question.weight is None else _summed(batch[first + 2 :])
        tally.add(Groups.of_values(keys, rows, count, np.where(inside, number, nan)))
    return None if groups == _MOST_GROUPS else tally


def _by_cell(log: Log, question: Question, bins: bool) -> Tally:
    """Groups with sums that the engine computes, by bin of the rewards if those are wanted."""
    tally, parts, keys = (
        Tally("bins" if bins else "none", question.key_columns),
        question.sum_parts,
        question.key_columns,
    )
    for batch in log.batches(question.by_cell(bins)):
        numbers = [np.array(column, dtype=np.float64) for column in batch[keys:]]
        value = np.clip(np.nan_to_num(numbers.pop(0)), 0.0, MOST_VALUES - 1.0) if bins else None
        rows, good, *sums = numbers
        count = good if question.weight is None else _summed(sums[: -2 * parts])
        total, squares = (list(map(np.nan_to_num, own)) for own in (sums[-2 * parts : -parts], sums[-parts:]))
        tally.add(Groups(batch[:keys], rows, good, count, total, squares, value))
    return tally


def _summed(parts: Sequence[Any]) -> Floats:
    """The sums of weights from the parts that an engine computed; nothing counts as 0."""
    total: Floats = np.sum([np.array(part, dtype=np.float64) for part in parts], axis=0)
    return np.nan_to_num(total)


def _bad_rows(log: Log, question: Question, tally: Tally, layout: Layout, on_bad: str) -> BadRows:
    """The rows that cannot be counted, by kind; with an example of each if they are an error."""
    examples = {}
    if on_bad == "error":
        for kind in tally.kinds:
            row = next(iter(log.ask(question.example(KINDS.index(kind)))))
            examples[kind] = dict(zip(layout.wanted, row, strict=True))
    least, most = next(iter(log.ask(question.seen())))
    seen = None if least is None else (float(least), float(most))
    return BadRows(tally.rows, dict(tally.kinds), examples, seen, layout.low, layout.high)


def refuse_bad_rows(bad: BadRows) -> NoReturn:
    """An error that lists the kinds of bad rows, with one of each."""
    lines = [f"{bad.number:,} of {bad.rows:,} rows ({_percent(bad.share)}) cannot be counted:"]
    for kind, number in bad.kinds.items():
        shown = ", ".join(f"{name}={value!r}" for name, value in bad.examples[kind].items())
        lines.append(f"  {kind}: {_rows(number)} ({_percent(number / bad.rows)}), such as {shown};")
    lines[-1] = f"{lines[-1][:-1]}."
    if bad.advice:
        lines.append(bad.advice)
    correct = f"{'Otherwise correct' if bad.advice else 'Correct'} the log{_how_to_write(bad)}"
    lines.append(f'{correct}, or leave such rows out with on_bad="drop".')
    raise LogError("\n".join(lines), kind="bad rows", bad=bad)


def _how_to_write(bad: BadRows) -> str:
    """What is read, in brackets, for the kinds of bad rows that are only written otherwise."""
    found = [_HOW_TO_WRITE[kind] for kind in bad.kinds if kind in _HOW_TO_WRITE]
    return f" ({'; '.join(found)})" if found else ""


def _dropped(bad: BadRows) -> str:
    """How many rows of each kind were dropped."""
    return "; ".join(f"{kind}, {_rows(number)}" for kind, number in bad.kinds.items())


def warn_of_dropped(bad: BadRows) -> None:
    """Say loudly that a good part of the log is not counted: the range may be wrong rather than the rows."""
    if bad.share > _LOUD:
        text = (
            f"{bad.number:,} of {bad.rows:,} rows ({_percent(bad.share)}) were dropped: {_dropped(bad)}. {bad.advice}"
        )
        warnings.warn(LogWarning(text.rstrip(), bad=bad), stacklevel=3)


def _rows(number: int) -> str:
    return f"{number:,} row" + "s" * (number != 1)


def _percent(share: float) -> str:
    if share < 0.001:
        return "less than 0.1%"
    return "more than 99.9%" if 0.999 < share < 1.0 else f"{share:.1%}".replace(".0%", "%")


def _check_columns(context: Sequence[str], arm: str, reward: str, more: Mapping[str, str]) -> None:
    """Refuse columns that are given twice; that of the times may be one of the context."""
    wanted = (*context, arm, reward, *more.values())
    said = "".join(f", {name}" for name in more)
    for name in wanted:
        if not isinstance(name, str) or not name or "\0" in name:
            raise LogError(f"context, arm{said} and reward are names of columns; got {name!r}")
        if wanted.count(name) > 1 and not (name in context and name == more.get("time") and wanted.count(name) == 2):
            raise LogError(f"column {name!r} is given twice; context, arm{said} and reward must be different columns")


def _listed(what: str, names: Sequence[Any] | None) -> Sequence[Any] | None:
    if isinstance(names, str) or (names is not None and len(names) == 0):
        raise LogError(f"{what} must be a list of names, at least one; got {names!r}")
    return names


def _one_of(name: str, value: object, choices: tuple[object, ...]) -> None:
    if not any(value is choice or (value == choice and isinstance(value, str)) for choice in choices):
        raise LogError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")
