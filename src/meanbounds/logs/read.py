"""From a log to counts: the engine counts combinations of names and rewards, and their texts are judged here."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from meanbounds.agents.tree import Tree
from meanbounds.bounds import Arm
from meanbounds.logs.counts import Counts, check_apart, check_columns, check_least, check_range
from meanbounds.logs.engines import open_log
from meanbounds.logs.errors import BadRows, LogError, LogWarning
from meanbounds.logs.leaves import Leaves, columns_of
from meanbounds.logs.query import LEAST, Question
from meanbounds.logs.tally import Groups, count_groups
from meanbounds.logs.words import cautions, quantity
from meanbounds.support.checks import check_choice, shown

__all__ = ["LOUD", "read", "refusal"]

LOUD = 0.05
"""The share of the rows from which on dropping them is warned of."""

_ADVICE = {
    "missing context": "empty fields, NULL, NaN and NA are missing; if NA is a name in this log, write another name",
    "missing instrument": "empty fields, NULL, NaN and NA are missing; if NA is a name in this log, write another name",
    "missing arm": "empty fields, NULL, NaN and NA are missing; if NA is a name in this log, write another name",
    "missing reward": "a reward that is missing is not 0: find out why, or count such rows with missing=inf",
    "reward is not a number": "rewards are numbers, or True and False, yes and no; write 0.5, or 0,5 in all rows, and "
    "1000 rather than 1,000",
    "propensity is not a number": "propensities are numbers such as 0.25",
}


def read(
    source: Any,
    *,
    context: str | Sequence[str] | Tree | Leaves | None = None,
    arm: str = "arm",
    reward: str = "reward",
    low: float = 0.0,
    high: float = 1.0,
    engine: Literal["duckdb", "postgres", "spark"] | None = None,
    connection: Any = None,
    where: str | None = None,
    arms: Sequence[Arm] | None = None,
    propensity: str | None = None,
    least: float | None = None,
    on_bad: Literal["error", "drop"] = "error",
    missing: float | None = None,
    instrument: str | None = None,
) -> Counts:
    """Count a log: rows, sum and sum of squares of the rewards for each context and arm.

    The rows stay in the engine, which groups them; all engines give the same counts.

    Parameters
    ----------
    source
        Path of Parquet, CSV or JSON lines files, a folder or a pattern of them; a table of pandas, polars or Arrow; a
        dictionary of columns; a Spark DataFrame; or the name of a table in the database of `connection`
        (``schema.table``, in double quotes where a name holds a dot).
    context
        Column that says in which context the arm was chosen; several columns; None for a log without contexts; or a
        tree such as `Counts.tree`, whose leaves are the contexts.
    arm, reward
        Columns of the arm that was chosen and of the reward it brought.
    low, high
        The range of the rewards: ``low=1, high=5`` for stars.
    engine
        ``"duckdb"`` (inside this process), ``"postgres"`` or ``"spark"``; by default that of `connection` or `source`,
        or else DuckDB.
    connection
        For tables of a database: a DuckDB connection or the path of its database, a connection of psycopg or the URL of
        a PostgreSQL database, or a Spark session.
    where
        A condition in SQL for the rows to count, such as ``"day >= '2024-06-01' AND site <> 'test'"``. Fields of CSV
        files are text, so write ``CAST(age AS int) > 65``. Rows for which it is NULL are left out, with a warning.
    arms
        All arms, in the order you want; those that the log never played have 0 rows. By default the categories of an
        ordered categorical of pandas, or else the arms of the log in natural order ("arm 2" before "arm 10").
    propensity, least
        Column of the probability with which the arm of the row was chosen, and the least that was possible, if known.
    on_bad
        What to do about rows with a missing field, or a reward that is not a number in the range: ``"error"`` lists
        them by kind, ``"drop"`` leaves them out and keeps how many in `Counts.dropped`, with a warning if they are more
        than 5% of the log.
    missing
        Count rows without a reward too, and say how far the mean reward of those of a context and arm (and value of the
        instrument) can be from the mean of those with a reward, in reward units: ``inf`` if they may have been
        anything, 0 if they are missing at random. Bounds hold whatever such rows were within that. By default they are
        bad rows.
    instrument
        Column of what partly decided by chance which arm was chosen: the ward, the shift, the doctor on call. You
        assume that, within a context, its values meet the same kinds of cases, and change the reward only through the
        arm. Bounds then use how rewards and choices differ between its values; a log can refute it.

    Returns
    -------
    Counts
        Contexts are texts, or tuples of texts for several columns, in natural order. Arms are whole numbers if all are
        written like one (7 or -12), otherwise texts.

    Raises
    ------
    LogError
        If the log cannot be read, or has bad rows and ``on_bad="error"``; `LogError.bad` says how many of which kind.

    Warns
    -----
    LogWarning
        If a log may not be what you meant: it has a context for nearly every row, or a single arm, say.

    Examples
    --------
    >>> import meanbounds as mb
    >>> import pandas as pd
    >>> log = pd.DataFrame({"age": ["60-70", "60-70", "70-80", "70-80"], "arm": ["tPA", "watch", "tPA", "tPA"]})
    >>> counts = mb.logs.read(log.assign(reward=[1, 0, 0, 1]), context="age")
    >>> counts
    Counts(4 rows, 2 contexts, 2 arms, rewards in [0, 1])
    >>> counts.total
    array([[1., 0.],
           [1., 0.]])
    >>> mb.logs.read(log.assign(reward=[1, 2, 4, 5]), context="age")
    Traceback (most recent call last):
    meanbounds.logs.errors.LogError: 3 of 4 rows (75%) cannot be counted:
      reward above range: 3 rows (75%), such as age='60-70', arm='watch', reward='2'.
    The rewards go from 1 to 5, and the range is 0 to 1. If 1 to 5 is their scale, give low=1, high=5.
    Otherwise correct the log, or leave such rows out with on_bad="drop".
    """
    columns, leaves = columns_of(context)
    first = () if instrument is None else (instrument,)
    wanted = [*first, *columns, arm, reward, *([] if propensity is None else [propensity])]
    check_columns(wanted, "propensity" if instrument is None else "instrument")
    apart = None if missing is None else check_apart(missing)
    if apart is not None and propensity is not None:
        raise LogError("missing= does not go with propensity=: leave one of them out")
    low, high = check_range(low, high)
    check_choice("on_bad", on_bad, ("error", "drop"))
    if least is not None and propensity is None:
        raise LogError("least= is about propensities: give their column as propensity= too")
    if where is not None and not (isinstance(where, str) and where.strip()):
        raise LogError(f"where must be a condition in SQL, or None; got {shown(where)}")
    with open_log(source, engine, connection, wanted, whole=where is not None) as log:
        names = (*first, *(() if leaves else columns), arm)
        keys, earned = tuple(map(log.column, names)), log.column(reward)
        chance = None if propensity is None else log.column(propensity)
        smallest = LEAST if least is None else check_least(least)
        question = Question(log.dialect, log.table, keys, earned, low, high, chance, smallest, where)
        question = replace(question, apart=apart, instrument=instrument is not None)
        if leaves:
            question = leaves.asked(log, question)
        groups = count_groups(log, question)
    bad = groups.bad(question)
    if bad.number and on_bad == "error":
        raise LogError(refusal(bad), bad=bad)
    if bad.number == bad.rows:
        why = f" that can be counted; dropped: {_listed(bad)}. {bad.range_advice}" if bad.rows else ""
        why = why or (" that fulfil where=" if where else "")
        raise LogError(f"the log has no rows{why}".rstrip(), bad=bad if bad.rows else None)
    if arms is None:
        arms = _categories(source, arm)
    counts = groups.counts(question, columns, arms, least, dict(bad.kinds))
    if not counts.rows:
        raise LogError(f"no row has a reward: is {reward!r} the right column?")
    if said := [*_losses(groups, bad), *cautions(counts)]:
        warnings.warn(LogWarning(" ".join(said), bad=bad if bad.number else None), stacklevel=2)
    return counts


def _categories(source: Any, arm: str) -> list[Any] | None:
    """The arms in the order of their column, if that is an ordered categorical of pandas."""
    dtype: Any = source[arm].dtype if type(source).__module__.startswith("pandas") else None
    names = list(dtype.categories) if getattr(dtype, "ordered", False) else []
    return names if names and all(isinstance(name, str | int) for name in names) else None


def refusal(bad: BadRows) -> str:
    """Which kinds of bad rows there are, with one of each, and what to do."""
    lines = []
    for kind, number in bad.kinds.items():
        shown_row = ", ".join(f"{name}={value!r}" for name, value in bad.examples[kind].items())
        advice = f" ({_ADVICE[kind]})" if kind in _ADVICE else ""
        rows = f"{quantity(number, 'row')} ({_percent(number / bad.rows)})"
        lines.append(f"  {kind}: {rows}, such as {shown_row}{advice}")
    head = f"{bad.number:,} of {bad.rows:,} rows ({_percent(bad.share)}) cannot be counted:\n"
    correct = "Otherwise correct" if bad.range_advice else "Correct"
    last = f'{correct} the log, or leave such rows out with on_bad="drop".'
    return head + ";\n".join(lines) + ".\n" + f"{bad.range_advice}\n".lstrip() + last


def _losses(groups: Groups, bad: BadRows) -> list[str]:
    """Rows that are not counted, where the user may not have meant that."""
    found = []
    if bad.share > LOUD:
        share = f"{bad.number:,} of {bad.rows:,} rows ({_percent(bad.share)})"
        found.append(f"{share} were dropped: {_listed(bad)}. {bad.range_advice}".rstrip())
    if groups.unknown:
        found.append(
            f"where= is NULL for {quantity(groups.unknown, 'row')}, as with a missing date, which it leaves out: add "
            "IS NULL or IS NOT NULL to the condition to say what you mean."
        )
    return found


def _listed(bad: BadRows) -> str:
    return "; ".join(f"{kind}, {quantity(number, 'row')}" for kind, number in bad.kinds.items())


def _percent(share: float) -> str:
    if share < 0.001:
        return "less than 0.1%"
    return "more than 99.9%" if 0.999 < share < 1.0 else f"{share:.1%}".replace(".0%", "%")
