"""The questions that count a log, in plain SQL that DuckDB, Spark and PostgreSQL understand alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from meanbounds.agents.tree import Tree
from meanbounds.logs.values import WORDS

__all__ = ["ABOVE", "BELOW", "GOOD", "LEAST", "ODD", "Column", "Dialect", "Question"]

GOOD, BELOW, ABOVE, ODD = range(4)
"""What a number is: in its range, below it, above it, or something that is judged from its text."""

LEAST = 1e-100
"""Propensities are at least this, so that squares of their inverses stay finite."""

_SAMPLE = 2_000  # rows from which to guess whether there are few different values
# Few enough digits that no engine overflows. No backslashes: engines read them in different ways.
_NUMBER = "^[+-]?([0-9]{1,200}[.]?[0-9]{0,200}|[.][0-9]{1,200})([eE][+-]?0{0,9}[0-9]{1,2})?$"


@dataclass(frozen=True)
class Dialect:
    """The words in which engines differ."""

    engine: str  # its name, for messages
    quote: str = '"'  # around names
    text: str = "TEXT"
    double: str = "DOUBLE"  # the type of floats with 64 bits
    matches: str = "~"  # compares a text with a regular expression
    careful_cast: str = "TRY_CAST"  # of a text that looks like a number: NULL where it cannot, if there is such a cast
    sum: str = "SUM"  # of floats, the one that loses least
    overflows: bool = False  # whether a number that is too large, or a division by 0, is an error
    escapes: bool = False  # whether a backslash in a text stands for something else

    def name(self, *parts: str) -> str:
        """Quote a name, of several parts if it has a schema."""
        return ".".join(f"{self.quote}{part.replace(self.quote, 2 * self.quote)}{self.quote}" for part in parts)

    def number(self, value: float) -> str:
        """A number that keeps all bits of a float."""
        return f"CAST('{value!r}' AS {self.double})"

    def literal(self, text: str) -> str:
        """A text as it is written in queries."""
        if self.escapes:
            text = text.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{text}'"
        return "'" + text.replace("'", "''") + "'"

    def as_text(self, expression: str) -> str:
        """A value as text."""
        return f"CAST({expression} AS {self.text})"


@dataclass(frozen=True)
class Column:
    """A column of a log: its name, and its kind: text, whole, number, boolean, time, json or other."""

    name: str
    kind: str


@dataclass(frozen=True)
class Question:
    """The queries that count a log.

    Examples
    --------
    >>> from meanbounds.logs.query import Column, Dialect, Question
    >>> question = Question(Dialect("DuckDB"), '"log"', (Column("drug", "text"),), Column("cured", "number"))
    >>> for part in question.by_value(1000).split(" FROM "):
    ...     print(part)
    SELECT CAST(k0 AS TEXT), FALSE, CAST(reward AS TEXT), n
    (SELECT "drug" AS k0, "cured" AS reward, COUNT(*) AS n
    "log" GROUP BY "drug", "cured") AS counted LIMIT 1000
    """

    dialect: Dialect
    table: str
    keys: tuple[Column, ...]
    reward: Column
    low: float = 0.0
    high: float = 1.0
    propensity: Column | None = None
    least: float = LEAST
    where: str | None = None
    commas: frozenset[str] = frozenset()  # the columns that write fractions with a comma
    apart: float | None = None  # as for `Counts`, if rows without a reward count too
    instrument: bool = False  # whether the first key is an instrument, and not part of the context
    tree: Tree | None = None  # whose leaves are the last key but one, by their places

    @cached_property
    def _parts(self) -> dict[str, str]:
        """The columns by the names that they have in queries: k0, k1, ..., reward, propensity and unknown."""
        parts = {f"k{place}": self.value(key) for place, key in enumerate(self.keys)}
        parts["reward"] = self.value(self.reward)
        if self.propensity is not None:
            parts["propensity"] = self.value(self.propensity)
        return parts | ({"unknown": f"(\n{self.where}\n) IS NULL"} if self.where else {})

    def value(self, column: Column) -> str:
        """A column as it is compared."""
        name = self.dialect.name(column.name)
        return f"({name} ->> '$')" if column.kind == "json" else name

    def _rows(self, columns: str) -> str:
        """Columns of the rows that count, and of those of which `where` is NULL."""
        where = f" WHERE COALESCE((\n{self.where}\n), TRUE)" if self.where else ""
        return f"SELECT {columns} FROM {self.table}{where}"

    def _answer(self, more: list[str]) -> str:
        """The names of a group as text, whether `where` is NULL, and more."""
        names = [self.dialect.as_text(f"k{place}") for place in range(len(self.keys))]
        return f"SELECT {', '.join([*names, 'unknown' if self.where else 'FALSE', *more])}"

    def sample(self, column: Column) -> str:
        """The different values of a column in some of the rows."""
        some = f"{self._rows(f'{self.value(column)} AS value')} LIMIT {_SAMPLE}"
        return f"SELECT DISTINCT {self.dialect.as_text('value')} FROM ({some}) AS some_rows"

    def by_value(self, most: int) -> str:
        """How many rows each combination of names, reward and propensity has, and no more than this many of them.

        A row is the names, whether `where` is NULL, the reward, the propensity if there is one, and the number of rows.
        """
        columns = ", ".join(f"{value} AS {name}" for name, value in self._parts.items())
        counted = f"{self._rows(f'{columns}, COUNT(*) AS n')} GROUP BY {', '.join(self._parts.values())}"
        written = [self.dialect.as_text(name) for name in ("reward", "propensity") if name in self._parts]
        return f"{self._answer([*written, 'n'])} FROM ({counted}) AS counted LIMIT {most}"

    def by_sums(self, most: int, *, clean: bool = False) -> str:
        """Sums of the rewards for each combination of names, in the units u = (reward - low) / (high - low).

        A row is the names, whether `where` is NULL; then for the reward, and again for the propensity if there is one:
        what it is (`GOOD`, `BELOW`, `ABOVE` or `ODD`), its text if it is odd, the least and the greatest number; then
        the number of rows and the sums of u and u^2, and with w = 1/propensity those of w, w u, w^2, w^2 u and w^2 u^2.

        If a log is believed to be `clean`, rows are not looked at one by one: this is several times as fast, and the
        answer holds if all groups are good; others are called odd.
        """
        number, ends = self.dialect.number, {"reward": (self.low, self.high, self.reward)}
        if self.propensity is not None:
            ends["propensity"] = (self.least, 1.0, self.propensity)
        columns = [f"{value} AS {name}" for name, value in self._parts.items()]
        columns += [f"{self.number(column)} AS {name}_number" for name, (_, _, column) in ends.items()]
        rows, groups = self._rows(", ".join(columns)), [name for name in self._parts if name not in ends]
        more = []
        for name, (low, high, _) in ends.items():
            value, state, odd = f"{name}_number", f"{name}_state", f"{name}_odd"
            least, greatest = f"MIN({value})", f"MAX({value})"
            if clean:
                inside = f"{least} >= {number(low)} AND {greatest} <= {number(high)} AND COUNT({value}) = COUNT(*)"
                state, odd = f"CASE WHEN {inside} THEN {GOOD} ELSE {ODD} END", "NULL"
            else:
                judged = f"SELECT *, {self._state(value, low, high)} AS {state} FROM ({rows}) AS {name}_read"
                rows = f"SELECT *, CASE WHEN {state} = {ODD} THEN {name} END AS {odd} FROM ({judged}) AS {name}_judged"
                groups += [state, odd]
            more += [state, self.dialect.as_text(odd), least, greatest]
        good = " AND ".join(f"{name}_state = {GOOD}" for name in ends)
        factors = [factor if clean else f"CASE WHEN {good} THEN {factor} END" for factor in self._factors()]
        sums = [f"{self.dialect.sum}({factor})" for factor in factors]
        answer = self._answer([*more, "COUNT(*)", *sums])
        return f"{answer} FROM ({rows}) AS judged GROUP BY {', '.join(groups)} LIMIT {most}"

    def _factors(self) -> list[str]:
        """What is added up in each group."""
        number, unit = self.dialect.number, "reward_number"
        if (self.low, self.high) != (0.0, 1.0):
            unit = f"((reward_number - {number(self.low)}) / {number(self.high - self.low)})"
        factors = [unit, f"{unit} * {unit}"]
        if self.propensity is not None:
            weight = f"({number(1.0)} / propensity_number)"
            own = f"({weight} * {unit})"
            factors += [weight, own, f"{weight} * {weight}", f"{weight} * {own}", f"{own} * {own}"]
        return factors

    def number(self, column: Column) -> str:
        """A column as floats with 64 bits; NULL where it is no number."""
        value, double = self.value(column), self.dialect.double
        if column.kind in ("whole", "number"):
            return f"CAST({value} AS {double})"
        if column.kind == "boolean":
            one, zero = map(self.dialect.number, (1.0, 0.0))
            return f"CASE WHEN {value} THEN {one} WHEN NOT {value} THEN {zero} END"
        text = f"TRIM({self.dialect.as_text(value)})"
        commas = column.name in self.commas
        pattern = _NUMBER.replace("[.]", "[,]") if commas else _NUMBER
        number = f"REPLACE({text}, ',', '.')" if commas else text
        words = []
        for end in (1.0, 0.0):
            listed = ", ".join(f"'{word}'" for word, meaning in WORDS.items() if meaning == end)
            words.append(f"WHEN LOWER({text}) IN ({listed}) THEN {self.dialect.number(end)}")
        cast = f"{self.dialect.careful_cast}({number} AS {double})"
        return f"CASE WHEN {text} {self.dialect.matches} '{pattern}' THEN {cast} {' '.join(words)} END"

    def _state(self, value: str, low: float, high: float) -> str:
        """What a number is; in all engines NaN is more than infinity."""
        number, infinite = self.dialect.number, "infinity"
        least, most = (f"CAST('{sign}{infinite}' AS {self.dialect.double})" for sign in ("-", ""))
        return (
            f"CASE WHEN {value} >= {number(low)} AND {value} <= {number(high)} THEN {GOOD} "
            f"WHEN {value} < {number(low)} AND {value} > {least} THEN {BELOW} "
            f"WHEN {value} > {number(high)} AND {value} < {most} THEN {ABOVE} ELSE {ODD} END"
        )
