"""From raw columns to contexts: a tree that grows on half of a log, and the counts of the other half by its leaves."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from meanbounds.logs.counts import Counts
from meanbounds.logs.engines import Log
from meanbounds.logs.errors import LogError
from meanbounds.logs.growing import grow
from meanbounds.logs.leaves import NUMERIC, Leaves, by_leaf
from meanbounds.logs.query import Column, Question
from meanbounds.logs.read import read
from meanbounds.logs.tally import Codes
from meanbounds.logs.values import each, numbers, uses_commas
from meanbounds.support.checks import as_float, as_list, as_whole, shown
from meanbounds.support.texts import MISSING
from meanbounds.support.types import Floats

__all__ = ["partition"]

_FEW, _MANY = 10, 1_000  # different texts: so few numbers are categories, and so many categories are too many
_SIZE = 2**32  # mixed numbers are below this
_DATE = re.compile(r" *(\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{4})\b")  # as text, also with a time
_MIXED = "mixed number of the row"  # a column that is added to the log


def partition(
    source: Any,
    columns: Sequence[str],
    *,
    unit: str | None = None,
    leaves: int = 32,
    rows_per_leaf: int = 30,
    p: float = 0.05,
    sample: int = 100_000,
    seed: int = 0,
    **reading: Any,
) -> Counts:
    """Count a log by contexts that are found in raw columns, such as age and weight.

    One half of the rows serves to find contexts in which the experts chose differently, or earned differently with the
    same choice; the rows of the other half are counted. What is concluded from the counts is therefore as sure as if
    the contexts had been known beforehand. Which half a row is in depends on its number, or on its unit, and on nothing
    else.

    Parameters
    ----------
    source
        A log, as for `read`.
    columns
        Columns of numbers, or of few different texts, that are known when a decision is made.
    unit
        Column of the patient or customer, if rows belong together: all rows of one are in the same half. Needed where
        rows have no numbers that stay, as in Spark and in views of a database.
    leaves, rows_per_leaf
        The most contexts, and the fewest rows of each among those that the tree grows on.
    p
        The share of logs that get more than one context although the columns say nothing; inf for as many contexts as
        there can be.
    sample, seed
        How many rows of the first half the tree grows on, at most. Other seeds make other halves.
    reading
        Further arguments of `read`, such as ``arm=``, ``reward=`` or ``on_bad=``.

    Returns
    -------
    Counts
        Its contexts are those of `Counts.tree`, also where no row is: the leaves, and ``"unknown: age"`` for rows where
        a split asks about an age unlike all that the tree grew on.

    Raises
    ------
    LogError
        As `read` does, and if rows have no numbers, or a column is no measurement and has too many different texts.

    Examples
    --------
    >>> import meanbounds as mb
    >>> log = {"age": [40 + row % 50 for row in range(4000)], "arm": [row // 50 % 2 for row in range(4000)]}
    >>> log["reward"] = [int((age >= 75) == arm) for age, arm in zip(log["age"], log["arm"])]
    >>> counts = mb.logs.partition(log, ["age"])
    >>> counts.contexts
    ('age < 75', 'age >= 75', 'unknown: age')
    >>> counts.means
    array([[ 1.,  0.],
           [ 0.,  1.],
           [nan, nan]])
    >>> counts.tree.leaf({"age": 81})
    'age >= 75'
    """
    names = tuple(as_list("columns", columns))
    growing = {
        "leaves": as_whole("leaves", leaves, most=1_000),
        "rows_per_leaf": as_whole("rows_per_leaf", rows_per_leaf),
        "p": as_float("p", p),
    }
    if not names or not growing["p"] > 0.0:
        raise LogError(f"columns must be at least one name, and p above 0; got {shown(columns)} and {p!r}")
    sizes = as_whole("sample", sample, most=10_000_000), as_whole("seed", seed, least=0, most=_SIZE - 1)
    asked = partial(_halved, names, unit, *sizes, growing)
    return read(source, context=Leaves(names if unit is None else (*names, unit), asked), **reading)


def _halved(
    names: tuple[str, ...], unit: str | None, sample: int, seed: int, growing: Any, log: Log, question: Question
) -> Question:
    """A question without contexts as one about half of the rows by the leaves of a tree, which grows on the others."""
    columns = [log.column(name) for name in names]
    for column in columns:
        if column.kind in ("time", "other"):
            raise LogError(f"{column.name!r} is neither numbers nor texts: make it a number, such as the year")
    dialect = question.dialect
    question, text = _mixed(log, question, unit, seed)
    where = f"COALESCE((\n{question.where}\n), FALSE)" if question.where else "TRUE"
    counted = dialect.name(unit) if unit else "1"
    size, units = log.run(f"SELECT COUNT(*), COUNT({counted}) FROM {question.table} WHERE {where}")[0]
    if size > units:
        raise LogError(
            f"{unit!r} is missing in {size - units:,} of {size:,} rows: a row that may be anyone's is in no half. "
            "Leave such rows out with where="
        )

    def below(end: int) -> str:
        return f"{dialect.name(_MIXED)} < " + (f"'{end:08x}'" if text else str(end))

    some = _SIZE // 2 + math.ceil(min(0.5, sample / max(size, 1)) * _SIZE)
    kept = f"NOT {below(_SIZE // 2)}" + (f" AND {below(some)}" if some < _SIZE else "")
    ends = [dialect.as_text(question.value(column)) for column in (question.keys[-1], question.reward)]
    asked = [question.number(own) if own.kind in NUMERIC else dialect.as_text(question.value(own)) for own in columns]
    found = log.run(f"SELECT {', '.join([*asked, *ends])} FROM {question.table} WHERE {where} AND {kept}")
    rows = np.array(found, dtype=object).reshape(-1, len(asked) + 2)
    arms, earned = Codes.of(rows[:, -2].tolist(), question.keys[-1].kind).codes, rows[:, -1].tolist()
    rewards = (_numbers(earned, uses_commas({*earned})) - question.low) / (question.high - question.low)
    good = (arms >= 0) & (rewards >= 0.0) & (rewards <= 1.0)
    values = [_values(column, own.tolist()) for column, own in zip(columns, rows[good].T, strict=False)]
    commas = frozenset(name for name, (_, commas) in zip(names, values, strict=True) if commas)
    read = {name: own for name, (own, _) in zip(names, values, strict=True)}
    tree = grow(read, arms[good], rewards[good], **growing)
    return by_leaf(question, tree, [log.column(name) for name in tree.columns], commas, f"NOT {below(_SIZE // 2)}")


def _mixed(log: Log, question: Question, unit: str | None, seed: int) -> tuple[Question, bool]:
    """The question with a column of mixed numbers, which say the halves, and whether these are texts."""
    dialect, table, key = question.dialect, question.table, None
    if unit is not None:
        key = dialect.as_text(dialect.name(log.column(unit).name))
    elif (numbered := log.numbered()) is None:
        raise LogError("rows of this log have no numbers that stay: give unit=, a column such as the patient's")
    else:
        table, number = numbered
        key = number if dialect.engine != "DuckDB" else None
    mixed = dialect.name(_MIXED)
    if key is not None:
        rule = f"SUBSTR(MD5({key} || {dialect.literal(f'/{seed}')}), 1, 8)"
        return replace(question, table=f"(SELECT *, {rule} AS {mixed} FROM {table}) AS with_halves"), True
    # Squares of an even sequence, twice: as good as random numbers, also for rows at any distance, and fast.
    cut, once, twice = _SIZE - 1, *(dialect.name(f"{_MIXED}, {times}") for times in ("once", "twice"))
    start = (seed * 2_654_435_761 + 12_345) % _SIZE
    for rule, name in (
        (f"(((CAST({number} AS UBIGINT) + {start}) & {cut}) * 2654435769) & {cut}", once),
        (f"(({once} * {once}) >> 16) & {cut}", twice),
        (f"((({twice} * {twice}) >> 16) + {once}) & {cut}", mixed),
    ):
        table = f"(SELECT *, {rule} AS {name} FROM {table}) AS with_halves"
    return replace(question, table=table), False


def _numbers(texts: Sequence[str | None], commas: bool) -> Floats:
    """Numbers that are written as text; nan where they are missing or something else."""
    return np.array(each(texts, partial(numbers, commas=commas)), dtype=np.float64)


def _values(column: Column, values: list[Any]) -> tuple[Floats | list[str | None], bool]:
    """A column as numbers, if it holds these or texts that all read so, else as categories; whether it has commas."""
    if column.kind in NUMERIC:
        return np.array(values, dtype=np.float64), False
    distinct = list(dict.fromkeys(values))
    texts = [text for text in distinct if text is not None and text.strip(" ") not in MISSING]
    if len(texts) > _FEW and all(map(_DATE.match, texts)):
        raise LogError(f"{column.name!r} holds dates, such as {shown(texts[0])}: make it a number, such as the year")
    commas = uses_commas(distinct)
    found = [
        (text, own) for text, own in zip(distinct, numbers(distinct, commas=commas), strict=True) if own is not None
    ]
    others = [text for text, own in found if not math.isfinite(own)]
    if len(found) > _FEW and not others:
        return _numbers(values, commas), commas
    if len(distinct) > _MANY:
        raise LogError(
            f"{column.name!r} has more than {_MANY:,} different texts, such as {shown(others[0])}: group them; if the "
            "column should hold numbers, correct the texts that are not"
        )
    return [None if text is None or text.strip(" ") in MISSING else text for text in values], commas
