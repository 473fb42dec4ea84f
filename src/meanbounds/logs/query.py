"""The same questions in the SQL of each engine.

Every name a user gives is quoted and every number is a literal that is cast, so that all engines see the same bits. The
expressions avoid what engines do differently: text becomes a number by one pattern, and backslashes are never needed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from meanbounds.logs.errors import LogError
from meanbounds.logs.histogram import MOST_VALUES
from meanbounds.logs.window import Window

__all__ = ["KINDS", "SPACES", "Column", "Dialect", "Question"]

KINDS = (
    "missing context",
    "missing arm",
    "missing reward",
    "reward is not a number",
    "reward is NaN",
    "reward is infinite",
    "reward below range",
    "reward above range",
    "missing weight",
    "weight is not a number",
    "weight is negative or infinite",
    "missing time",
    "time cannot be read",
)
"""The kinds of bad rows; a row that is bad in several ways counts as the first of them."""

SPACES = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
"""All spaces of Unicode, the no-break space of web pages among them; a field of nothing else is missing."""

SAMPLE = 2_000
"""Number of rows that are sampled to guess whether there are few different rewards."""

# Few enough digits that no engine overflows; the longest double has 17 that matter.
_NUMBER = "^[+-]?([0-9]{1,200}[.]?[0-9]{0,200}|[.][0-9]{1,200})([eE][+-]?0{0,9}[0-9]{1,2})?$"
# A date, perhaps with a time of day; a Z at the end says UTC. As text, such times compare as times do.
_MONTHS, _CLOCK = "(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])", "([01][0-9]|2[0-3]):[0-5][0-9]"
_DATE = f"^[0-9]{{4}}-{_MONTHS}([T ]{_CLOCK}(:[0-5][0-9]([.][0-9]{{1,9}})?)?Z?)?$"
_ROWS_BITS = 31  # how many rows of a cell, as a power of two, can be added without any rounding


@dataclass(frozen=True)
class Dialect:
    """The SQL of one engine, where engines differ.

    Examples
    --------
    >>> from meanbounds.logs.query import Dialect
    >>> spark = Dialect("`", "DOUBLE", "STRING", "RLIKE", "TRY_CAST", None)
    >>> spark.name("clinic", "the log")
    '`clinic`.`the log`'
    >>> spark.number(0.1)
    "CAST('0.1' AS DOUBLE)"
    """

    quote: str
    double: str
    text: str
    matches: str
    careful_cast: str  # one that gives NULL where it cannot: used on what already looks like a number
    compensated_sum: str | None  # an aggregate that carries its rounding errors, if there is one
    trims_spaces: bool = False  # whether TRIM by itself removes all of `SPACES`, which is faster than listing them
    times: tuple[str, str] = ("TIMESTAMP", "TIMESTAMPTZ")  # types of times without and with a time zone
    by_bytes: str = ""  # after a text that is to be compared by its bytes, not as in some language

    def name(self, *parts: str) -> str:
        """Quote a name, of several parts if it has a schema."""
        return ".".join(f"{self.quote}{part.replace(self.quote, 2 * self.quote)}{self.quote}" for part in parts)

    def number(self, value: float) -> str:
        """Write a number as a literal that keeps all bits of a double."""
        return f"CAST('{value!r}' AS {self.double})"

    def trim(self, text: str) -> str:
        """Remove the `SPACES` around a text.

        Examples
        --------
        >>> from meanbounds.logs.query import Dialect
        >>> Dialect('"', "DOUBLE", "VARCHAR", "~", "TRY_CAST", "FSUM", trims_spaces=True).trim("reward")
        'TRIM(reward)'
        """
        return f"TRIM({text})" if self.trims_spaces else f"TRIM(BOTH '{SPACES}' FROM {text})"

    def sums(self, expression: str, size: float) -> list[str]:
        """Aggregates that add up to the sum of an expression, at most `size` in magnitude, whatever the order of rows.

        A plain sum of a million times 0.1 is off by 1e-11 of its value, and each engine is off in its own way. Where
        there is no compensated sum, each number is split in a coarse part, whose sums are exact for up to 2^31 rows,
        and a rest so small that its rounding does not matter: adding and subtracting 1.5 2^(e + 30) rounds to multiples
        of 2^(e - 22).

        Examples
        --------
        >>> from meanbounds.logs.query import Dialect
        >>> Dialect('"', "DOUBLE", "VARCHAR", "~", "TRY_CAST", "FSUM").sums("reward", 1.0)
        ['FSUM(reward)']
        >>> len(Dialect("`", "DOUBLE", "STRING", "RLIKE", "TRY_CAST", None).sums("reward", 1.0))
        2
        """
        if self.compensated_sum is not None:
            return [f"{self.compensated_sum}({expression})"]
        exponent = math.frexp(size)[1]
        large = self.number(math.ldexp(1.5, exponent + _ROWS_BITS - 1))
        coarse = f"(({expression}) + {large}) - {large}"
        return [f"SUM({coarse})", f"SUM(({expression}) - ({coarse}))"]


@dataclass(frozen=True)
class Column:
    """A column of a log.

    Attributes
    ----------
    name
        Name of the column.
    holds
        ``"text"``, ``"integer"``, ``"decimal"``, ``"float"``, ``"boolean"`` or ``"other"``.
    type
        Its type in the engine's words, for messages.
    """

    name: str
    holds: str  # text, integer, decimal, float, boolean or other
    type: str


@dataclass(frozen=True)
class Question:
    r"""The queries that count a log, as SQL.

    Examples
    --------
    >>> from meanbounds.logs.query import Column, Dialect, Question
    >>> duckdb = Dialect('"', "DOUBLE", "VARCHAR", "~", "TRY_CAST", "FSUM")
    >>> arm, reward = Column("drug", "text", "VARCHAR"), Column("outcome", "float", "DOUBLE")
    >>> question = Question(duckdb, '"log"', [], arm, reward, 0.0, 1.0)
    >>> print(question.by_value(1000).replace(" FROM", "\nFROM"))
    SELECT arm, number, COUNT(*)
    FROM (SELECT "drug" AS arm, "outcome" AS written, CAST("outcome" AS DOUBLE) AS number
    FROM "log") AS numbers GROUP BY arm, number LIMIT 1000
    """

    dialect: Dialect
    table: str
    context: Sequence[Column]
    arm: Column
    reward: Column
    low: float
    high: float
    weight: Column | None = None
    heaviest: float = 1.0  # the largest weight
    time: Column | None = None
    window: Window | None = None

    def __post_init__(self) -> None:
        for what, column in (("rewards", self.reward), ("weights", self.weight)):
            if column is not None and column.holds == "other":
                raise LogError(f"column {column.name!r} is of type {column.type}; {what} must be numbers")

    @property
    def _keys(self) -> list[str]:
        return [*(f"context_{i}" for i in range(len(self.context))), "arm"]

    @cached_property
    def _rows(self) -> str:
        """The log with columns context_0, ..., arm, written (the reward as it stands) and number (as a double).

        With weights also weight_written and weight, which is NULL where it cannot be one. With a window also
        moment_written and moment, which is NULL where it cannot be read: such rows are kept, to be reported.
        """
        parts = [f"{self._key(c)} AS {name}" for c, name in zip((*self.context, self.arm), self._keys, strict=True)]
        parts += [f"{self._written(self.reward)} AS written", f"{self._number(self.reward)} AS number"]
        if self.weight is not None:
            number = self._number(self.weight)
            valid = f"{number} >= 0 AND {number} < {self.dialect.number(math.inf)}"
            parts.append(f"{self._written(self.weight)} AS weight_written")
            parts += [f"{number} AS weight_number", f"CASE WHEN {valid} THEN {number} END AS weight"]
        if self.time is None or self.window is None:
            return f"SELECT {', '.join(parts)} FROM {self.table}"
        moment = Moment(self, self.time, self.window)
        parts += [f"{moment.written} AS moment_written", f"{moment.value} AS moment"]
        rows = f"SELECT {', '.join(parts)} FROM {self.table}"
        return f"SELECT * FROM ({rows}) AS timed WHERE COALESCE({moment.inside}, TRUE)"

    @property
    def _countable(self) -> list[str]:
        """What has to hold of a row beside a good reward."""
        return ["weight IS NOT NULL"] * (self.weight is not None) + ["moment IS NOT NULL"] * (self.window is not None)

    def _if_countable(self, value: str) -> str:
        tests = self._countable
        return f"CASE WHEN {' AND '.join(tests)} THEN {value} END" if tests else value

    @cached_property
    def _good(self) -> str:
        """The same with the reward where it is a number in the range, and NULL where the row cannot be counted."""
        low, high = map(self.dialect.number, (self.low, self.high))
        tests = " AND ".join([f"number >= {low} AND number <= {high}", *self._countable])
        columns = [*self._keys, f"CASE WHEN {tests} THEN number END AS reward", *["weight"] * (self.weight is not None)]
        return f"SELECT {', '.join(columns)} FROM ({self._rows}) AS numbers"

    def _key(self, column: Column) -> str:
        name = self.dialect.name(column.name)
        return f"CAST({name} AS {self.dialect.text})" if column.holds == "other" else name

    def _written(self, column: Column) -> str:
        name = self.dialect.name(column.name)
        if column.holds != "text":
            return name
        return f"NULLIF({self.dialect.trim(f'CAST({name} AS {self.dialect.text})')}, '')"

    def _number(self, column: Column) -> str:
        name, double, number = self._written(column), self.dialect.double, self.dialect.number
        if column.holds == "boolean":
            return f"CASE WHEN {name} THEN {number(1.0)} WHEN NOT {name} THEN {number(0.0)} END"
        if column.holds != "text":
            return f"CAST({name} AS {double})"
        return (
            f"CASE WHEN {name} {self.dialect.matches} '{_NUMBER}' THEN {self.dialect.careful_cast}({name} AS {double}) "
            f"WHEN LOWER({name}) IN ('nan', '+nan', '-nan') THEN {number(math.nan)} "
            f"WHEN LOWER({name}) IN ('inf', '+inf', 'infinity', '+infinity') THEN {number(math.inf)} "
            f"WHEN LOWER({name}) IN ('-inf', '-infinity') THEN {number(-math.inf)} END"
        )

    @property
    def _sums(self) -> list[str]:
        size = max(abs(self.low), abs(self.high))
        sums, weight = self.dialect.sums, "" if self.weight is None else "weight * "
        heaviest = self.heaviest
        return [
            *sums(f"{weight}reward", heaviest * size),
            *sums(f"{weight}(reward * reward)" if weight else "reward * reward", heaviest * size * size),
        ]

    def _weights(self, weight: str) -> str:
        """Aggregates that add up to the weights, after a comma; nothing without weights."""
        return "".join(f", {part}" for part in self.dialect.sums(weight, self.heaviest)) if self.weight else ""

    @property
    def key_columns(self) -> int:
        """Number of columns at the start of each answer: those of the context, and the arm's."""
        return len(self._keys)

    @property
    def sum_parts(self) -> int:
        """Number of aggregates that add up to one sum: see `Dialect.sums`."""
        return len(self._sums) // 2

    def sample(self) -> str:
        """Query some rewards; bad ones are NULL."""
        return f"SELECT reward FROM ({self._good}) AS good LIMIT {SAMPLE}"

    def by_known_value(self, values: Sequence[float]) -> str:
        """Query how many rows each context, arm and place in a list of rewards has; any other reward is at its end.

        Small integers are faster to group by than doubles.
        """
        keys, number = ", ".join(self._keys), self.dialect.number
        places = " ".join(f"WHEN number = {number(value)} THEN {place}" for place, value in enumerate(values))
        place = f"CASE {places} ELSE {len(values)} END"
        if self._countable:
            place = f"CASE WHEN {' AND '.join(self._countable)} THEN {place} ELSE {len(values)} END"
        more = ", weight" * (self.weight is not None)
        inner = f"SELECT {keys}, {place} AS place{more} FROM ({self._rows}) AS numbers"
        return (
            f"SELECT {keys}, place, COUNT(*){self._weights('weight')} FROM ({inner}) AS places GROUP BY {keys}, place"
        )

    def by_value(self, most: int) -> str:
        """Query how many rows each context, arm and reward has, bad rewards included; at most this many groups."""
        value = "written" if self.reward.holds == "integer" else "number"  # DuckDB is faster without a cast
        rows = f"({self._rows}) AS numbers"
        if self._countable:
            more = ", weight" * (self.weight is not None)
            keys = ", ".join(self._keys)
            rows = f"(SELECT {keys}, {self._if_countable(value)} AS {value}{more} FROM {rows}) AS countable"
        keys = ", ".join((*self._keys, value))
        return f"SELECT {keys}, COUNT(*){self._weights('weight')} FROM {rows} GROUP BY {keys} LIMIT {most}"

    def by_cell(self, bins: bool) -> str:
        """Query the rows, the good rows and the sums of each context and arm; with `bins`, of each bin of the rewards.

        The bin of bad rows is NULL. With weights, their sums come before those of the rewards.
        """
        keys, sums = ", ".join(self._keys), ", ".join(self._sums)
        counts = f"COUNT(*), COUNT(reward){self._weights('CASE WHEN reward IS NOT NULL THEN weight END')}"
        if not bins:
            return f"SELECT {keys}, {counts}, {sums} FROM ({self._good}) AS good GROUP BY {keys}"
        number = self.dialect.number
        place = f"FLOOR((reward - {number(self.low)}) * {number(MOST_VALUES / (self.high - self.low))})"
        more = ", weight" * (self.weight is not None)
        inner = (
            f"SELECT {keys}, reward{more}, CAST({place} AS {self.dialect.double}) AS bin FROM ({self._good}) AS good"
        )
        return f"SELECT {keys}, bin, {counts}, {sums} FROM ({inner}) AS bins GROUP BY {keys}, bin"

    def weights_seen(self) -> str:
        """Query the largest weight, and how many weights are not whole numbers."""
        part = "SUM(CASE WHEN weight <> FLOOR(weight) THEN 1 ELSE 0 END)"
        return f"SELECT MAX(weight), {part} FROM ({self._rows}) AS numbers"

    def seen(self) -> str:
        """Query the smallest and the largest finite reward, in the range or not."""
        low, high = map(self.dialect.number, (-math.inf, math.inf))
        finite = f"CASE WHEN number > {low} AND number < {high} THEN number END"
        return f"SELECT MIN({finite}), MAX({finite}) FROM ({self._rows}) AS numbers"

    def _kinds(self) -> str:
        """The log with the kind of each row: its place in `KINDS`, or NULL for a good one."""
        keys = dict(zip(self._keys, (*self.context, self.arm), strict=True))
        missing = {key: self._missing(key, column) for key, column in keys.items()}
        contexts = [test for key, test in missing.items() if key != "arm"]
        number = self.dialect.number
        tests = (
            " OR ".join(contexts) or "1 = 0",
            missing["arm"],
            "written IS NULL",
            "number IS NULL",
            f"number = {number(math.nan)}",
            f"number = {number(math.inf)} OR number = {number(-math.inf)}",
            f"number < {number(self.low)}",
            f"number > {number(self.high)}",
            *(("weight_written IS NULL", self._no_weight, "weight IS NULL") if self.weight else ("1 = 0",) * 3),
            *(("moment_written IS NULL", "moment IS NULL") if self.window else ("1 = 0",) * 2),
        )
        kind = " ".join(f"WHEN {test} THEN {place}" for place, test in enumerate(tests))
        return f"SELECT {', '.join(self._shown)}, CASE {kind} END AS kind FROM ({self._rows}) AS numbers"

    @property
    def _no_weight(self) -> str:
        return f"weight_number IS NULL OR weight_number = {self.dialect.number(math.nan)}"

    @property
    def _shown(self) -> list[str]:
        """The columns of a row that is shown as an example."""
        weight, time = ["weight_written"] * (self.weight is not None), ["moment_written"] * (self.window is not None)
        return [*self._keys, "written", *weight, *time]

    def _missing(self, key: str, column: Column) -> str:
        tests = [f"{key} IS NULL"]
        if column.holds in ("text", "other"):
            tests.append(f"{self.dialect.trim(f'CAST({key} AS {self.dialect.text})')} = ''")
        if column.holds in ("float", "decimal"):  # PostgreSQL has a NaN of decimals too
            tests.append(f"{key} = {self.dialect.number(math.nan)}")
        return " OR ".join(tests)

    def bad(self) -> str:
        """Query how many rows there are of each bad kind, by its place in `KINDS`."""
        return f"SELECT kind, COUNT(*) FROM ({self._kinds()}) AS kinds WHERE kind IS NOT NULL GROUP BY kind"

    def example(self, kind: int) -> str:
        """Query one row of a bad kind: context columns, arm, reward, then weight and time if there are such columns."""
        return f"SELECT {', '.join(self._shown)} FROM ({self._kinds()}) AS kinds WHERE kind = {kind} LIMIT 1"


@dataclass(frozen=True)
class Moment:
    """SQL for the time of a row: as it stands, as something that can be compared, and whether it is in a window."""

    question: Question
    column: Column
    window: Window

    def __post_init__(self) -> None:
        named = f"column {self.column.name!r} is of type {self.column.type}"
        if self._is_time:
            if not self.window.dated:
                raise LogError(f"{named}; give since= and until= as dates, such as '2024-06-30'")
            if self.window.zoned and not self._has_zone:
                raise LogError(f"{named}, without a time zone; give since= and until= without one")
        elif self.column.holds in ("boolean", "other"):
            raise LogError(f"{named}; times must be dates or numbers")
        elif self.column.holds != "text" and self.window.dated:
            raise LogError(f"{named}; give since= and until= as numbers")

    @property
    def _is_time(self) -> bool:
        return self.column.type.lower().startswith(("date", "timestamp"))

    @property
    def _has_zone(self) -> bool:
        kind = self.column.type.lower()
        return "with time zone" in kind or kind == self.question.dialect.times[1].lower()

    @property
    def written(self) -> str:
        """The time as it stands; NULL if it is missing. One of a type for times is text, which all engines can show."""
        name, dialect = self.question.dialect.name(self.column.name), self.question.dialect
        if self._is_time:
            return f"CAST({name} AS {dialect.text})"
        if self.column.holds in ("float", "decimal"):
            return f"CASE WHEN {name} = {dialect.number(math.nan)} THEN NULL ELSE {name} END"
        return self.question._written(self.column)

    @property
    def value(self) -> str:
        """The time as it is compared; NULL if it cannot be read."""
        name, dialect = self.question.dialect.name(self.column.name), self.question.dialect
        if self._is_time:
            return f"CAST({name} AS {dialect.times[self._has_zone]})"
        if self.column.holds != "text":
            return f"CAST({self.written} AS {dialect.double})"
        if self.window.dated:
            plain = f"REPLACE(REPLACE({self.written}, 'T', ' '), 'Z', '')"
            return f"CASE WHEN {self.written} {dialect.matches} '{_DATE}' THEN {plain} END"
        cast = f"{dialect.careful_cast}({self.written} AS {dialect.double})"
        return f"CASE WHEN {self.written} {dialect.matches} '{_NUMBER}' THEN {cast} END"

    @property
    def inside(self) -> str:
        """Whether the column `moment` is in the window."""
        ends = ((">=", self.window.since), ("<", self.window.until))
        collation = self.question.dialect.by_bytes if self.column.holds == "text" and self.window.dated else ""
        return " AND ".join(f"moment{collation} {sign} {self._literal(end)}" for sign, end in ends if end is not None)

    def _literal(self, end: float | datetime) -> str:
        dialect = self.question.dialect
        if not isinstance(end, datetime):
            return dialect.number(end)
        if self._is_time:
            zone = "+00:00" if self._has_zone else ""
            return f"CAST('{end.isoformat(sep=' ')}{zone}' AS {dialect.times[self._has_zone]})"
        # In as few characters as possible: a longer text that begins with it is a later time, or the same.
        text = end.isoformat(sep=" ")
        if "." in text:
            text = text.rstrip("0")
        return "'" + text.removesuffix(":00").removesuffix(" 00:00") + "'"
