"""A log while it is being counted: groups of rows that an engine counted, judged, and put in order as `Counts`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from meanbounds.logs.counts import Context, Counts, Instrument
from meanbounds.logs.engines import Log
from meanbounds.logs.errors import BadRows, LogError
from meanbounds.logs.query import ABOVE, BELOW, GOOD, LEAST, ODD, Column, Question
from meanbounds.logs.values import arm_names, in_order, labels, natural_order, numbers, uses_commas
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["Groups", "by_value", "contexts_of", "count_groups"]

_FEW = 256  # different values among some rows, up to which a column is counted value by value
_MOST = 1_000_000  # combinations that are taken from an engine
_CELLS = 50_000_000  # contexts times arms
_TEXTS = ("text", "json")  # kinds of columns in which numbers may be written in several ways


def count_groups(log: Log, question: Question) -> Groups:
    """Count value by value where there are few of them; else let the engine compute sums."""
    few = True
    commas = set()
    for column in (question.reward, question.propensity):
        if column is not None and column.kind != "boolean":
            values = [row[0] for row in log.run(question.sample(column))]
            few = few and len(values) <= _FEW
            if column.kind in _TEXTS and uses_commas(values):
                commas.add(column.name)
    if few:
        rows = log.run(question.by_value(_MOST + 1))
        if len(rows) <= _MOST:
            return by_value(question, rows)
    question = replace(question, commas=frozenset(commas))
    rows = [] if log.dialect.overflows else log.run(question.by_sums(_MOST + 1, clean=True))
    first = len(question.keys) + 1
    states = [first] if question.propensity is None else [first, first + 4]
    if not rows or any(row[place] != GOOD for row in rows for place in states):
        rows = log.run(question.by_sums(_MOST + 1))
    if len(rows) > _MOST:
        raise LogError(
            f"the log has more than {_MOST:,} combinations of contexts, arms and values that are not numbers: does one "
            "of the columns name each row, or measure something? Group it (ages in bands), or choose others"
        )
    return _by_sums(question, rows)


@dataclass(frozen=True, eq=False)
class Codes:
    """A column of texts: the different ones, what they mean, and which each group has (-1 where it is missing)."""

    texts: Sequence[str | None]
    names: list[str]
    codes: Integers

    @classmethod
    def of(cls, column: Sequence[str | None], kind: str) -> Codes:
        places = _places(column)
        found = labels([*places], kind)
        names = _places([name for name in found if name is not None])
        meaning = np.array([-1 if name is None else names[name] for name in found], dtype=np.int64)
        codes = meaning[np.fromiter(map(places.__getitem__, column), np.int64, len(column))]
        return cls(column, [str(name) for name in names], codes)


def _places(values: Sequence[str | None]) -> dict[str | None, int]:
    return {value: place for place, value in enumerate(dict.fromkeys(values))}


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows with the same names: how many, what is bad about them, and the sums of those that are good."""

    keys: list[Codes]
    rows: Floats
    kind: list[str]  # empty for a good group
    texts: dict[str, Sequence[str | None]]  # of rewards and propensities, for examples
    sums: Floats  # total and squares, then the sums with weights
    seen: tuple[float, float] | None
    unknown: int  # rows of which where= is NULL
    absent: Booleans  # good groups of rows without a reward

    def bad(self, question: Question) -> BadRows:
        """The rows that cannot be counted, by kind, with an example of each."""
        kinds: dict[str, int] = {}
        examples: dict[str, dict[str, Any]] = {}
        columns = {key.name: own.texts for key, own in zip(question.keys, self.keys, strict=True)} | self.texts
        for place, kind in enumerate(self.kind):
            if kind:
                kinds[kind] = kinds.get(kind, 0) + int(self.rows[place])
                row = {name: texts[place] for name, texts in columns.items()}
                examples[kind] = min(examples.get(kind, row), row, key=lambda one: [*map(str, one.values())])
        order = sorted(kinds, key=lambda kind: (-kinds[kind], kind))
        total = int(self.rows.sum())
        return BadRows(total, {k: kinds[k] for k in order}, examples, self.seen, question.low, question.high)

    def counts(
        self,
        question: Question,
        columns: tuple[str, ...],
        arms: Any,
        least: float | None,
        dropped: dict[str, int],
        apart: float | None = None,
    ) -> Counts:
        """Put the good groups in the order of contexts and arms."""
        good = np.array([not kind for kind in self.kind], dtype=np.bool_)
        first = int(question.instrument)
        contexts, rows = contexts_of(self.keys[first:-1], good)
        values, turn = contexts_of(self.keys[:first], good)
        own = self.keys[-1]
        places = own.codes[good]
        order = in_order((own.names[code] for code in np.unique(places)), arms)
        where = {name: place for place, name in enumerate(order)}
        placed = np.array([where.get(name, -1) for name in own.names], dtype=np.int64)[places]
        shape = len(values), len(contexts), len(order)
        if np.prod(shape) > _CELLS:
            more = f", and the instrument {shape[0]:,} values" * first
            raise LogError(
                f"the log has {shape[1]:,} contexts and {shape[2]:,} arms{more}, which is too many: group them"
            )
        cells = (turn * shape[1] + rows) * shape[2] + placed

        def added(values: Floats, some: Booleans) -> Floats:
            wide = np.zeros(shape)
            np.add.at(wide.reshape(-1), cells, np.where(some, values, 0.0)[good])
            return wide

        sums = np.array([added(own, ~self.absent) for own in (self.rows, *self.sums)])
        without = added(self.rows, self.absent) if question.missing else None
        count, total, squares, *weighted = sums.sum(axis=1)
        names, ends = (question.keys[-1].name, question.reward.name), (question.low, question.high)
        known, arms = np.array(weighted) if weighted else None, tuple(arm_names(order))
        by_value = [*sums[:3], np.zeros(shape) if without is None else without]
        chance = Instrument(question.keys[0].name, tuple(map(str, values)), np.array(by_value)) if first else None
        rest: Any = (None if without is None else without.sum(axis=0), apart, chance)
        return Counts(contexts, arms, count, total, squares, *ends, columns, *names, dropped, known, least, *rest)


def contexts_of(keys: Sequence[Codes], good: Booleans) -> tuple[tuple[Context, ...], Integers]:
    """The contexts of the good groups in natural order, and the place of each group's own."""
    if not keys:
        return (None,), np.zeros(int(good.sum()), dtype=np.int64)
    places = np.zeros(int(good.sum()), dtype=np.int64)
    for key in keys:
        rank = {name: place for place, name in enumerate(sorted(key.names, key=natural_order))}
        ranks = np.array([rank[name] for name in key.names], dtype=np.int64)
        places = np.unique(places * len(rank) + ranks[key.codes[good]], return_inverse=True)[1]
    _, first = np.unique(places, return_index=True)
    columns = [[key.names[code] for code in key.codes[good][first].tolist()] for key in keys]
    return tuple(columns[0]) if len(keys) == 1 else tuple(zip(*columns, strict=True)), places


@dataclass(frozen=True, eq=False)
class _Numbers:
    """The rewards or propensities of groups: their numbers, what is bad about them, and their texts."""

    value: Floats
    kind: list[str]
    texts: Sequence[str | None]


def _judged(what: str, column: Column, texts: Sequence[str | None], commas: bool, low: float, high: float) -> _Numbers:
    """What texts are as numbers that should be in a range."""
    places = _places(texts)
    found = numbers([*places], commas=commas and column.kind in _TEXTS)
    kinds = [_kind_of(what, value, low, high) for value in found]
    value = np.array([np.nan if value is None else value for value in found], dtype=np.float64)
    codes = [places[text] for text in texts]
    return _Numbers(value[codes], [kinds[code] for code in codes], texts)


def _kind_of(what: str, value: float | None, low: float, high: float) -> str:
    if value is None:
        return f"missing {what}"
    if np.isnan(value):
        return f"{what} is not a number"
    if np.isinf(value):
        return f"{what} is infinite"
    return "" if low <= value <= high else _outside(what, value < low, low)


def _outside(what: str, below: bool, low: float) -> str:
    if what == "reward":
        return "reward below range" if below else "reward above range"
    if not below:
        return "propensity above 1"
    return "propensity is not above 0" if low == LEAST else f"propensity below least={low:g}"


def by_value(question: Question, rows: list[Any]) -> Groups:
    """Judge groups that have one reward and one propensity each."""
    size = len(question.keys)
    columns, unknown = _known_columns(rows, size, size + 3 + (question.propensity is not None), -1)
    ends = _ends(question)
    judged = [
        _judged(what, column, texts, uses_commas(texts), low, high)
        for (what, column, low, high), texts in zip(ends, columns[size + 1 :], strict=False)
    ]
    n = np.array(columns[-1], dtype=np.float64)
    value = judged[0].value
    u = (value - question.low) / (question.high - question.low)
    with np.errstate(all="ignore"):  # bad ones are left out later
        sums = [n * value, n * value * value]
        if question.propensity is not None:
            w = 1.0 / judged[1].value
            sums += [n * w, n * w * u, n * w * w, n * w * w * u, n * (w * u) ** 2]
    finite = value[np.isfinite(value)]
    seen = (float(finite.min()), float(finite.max())) if finite.size else None
    return _groups(question, columns, n, judged, sums, seen, unknown)


def _by_sums(question: Question, rows: list[Any]) -> Groups:
    """Judge groups of which the engine has added up the good rewards, and told what the others are."""
    size, ends = len(question.keys), _ends(question)
    first = size + 1 + 4 * len(ends)  # number of rows
    columns, unknown = _known_columns(rows, size, first + (3 if len(ends) == 1 else 8), first)
    n, *sums = (np.array(column, dtype=np.float64) for column in columns[first:])
    low, width = question.low, question.high - question.low
    with np.errstate(all="ignore"):  # bad ones are left out later
        total, squares = sums[:2]
        sums[0] = low * n + width * total
        sums[1] = low * low * n + 2.0 * low * width * total + width * width * squares
    judged, seen = [], None
    for place, (what, column, least, most) in enumerate(ends):
        state, odd, smallest, largest = columns[size + 1 + 4 * place :][:4]
        texts = [text if own == ODD else f"{end:.12g}" for own, text, end in zip(state, odd, smallest, strict=True)]
        own = _judged(what, column, odd, column.name in question.commas, least, most)
        sides = {ABOVE: _outside(what, False, least), BELOW: _outside(what, True, least)}
        kinds = [kind if side == ODD else sides.get(side, "") for side, kind in zip(state, own.kind, strict=True)]
        for k in [k for k, (side, kind) in enumerate(zip(state, kinds, strict=True)) if side == ODD and not kind]:
            if len(ends) == 1:  # a number that only Python reads, such as one after a no-break space
                sums[0][k], sums[1][k] = n[k] * own.value[k], n[k] * own.value[k] ** 2
            else:
                kinds[k] = f"{what} is not a number"
        judged.append(_Numbers(own.value, kinds, texts))
        if what == "reward":
            pairs = zip(state, smallest, largest, strict=True)
            found = [float(end) for side, *both in pairs if side != ODD for end in both]
            found += own.value[np.isfinite(own.value) & (np.array(state) == ODD)].tolist()
            seen = (min(found), max(found)) if found else None
    return _groups(question, columns, n, judged, sums, seen, unknown)


def _ends(question: Question) -> list[tuple[str, Column, float, float]]:
    """The columns of numbers, and the ranges that they have."""
    ends = [("reward", question.reward, question.low, question.high)]
    return ends + ([] if question.propensity is None else [("propensity", question.propensity, question.least, 1.0)])


def _known_columns(rows: list[Any], flag: int, width: int, number: int) -> tuple[list[Any], int]:
    """The columns of an answer, and the number of rows of which where= is NULL, which are left out of them."""
    known = [row for row in rows if not row[flag]]
    unknown = sum(row[number] for row in rows if row[flag])
    return (list(zip(*known, strict=True)) if known else [()] * width), int(unknown)


def _groups(
    question: Question,
    columns: list[Any],
    n: Floats,
    judged: list[_Numbers],
    sums: list[Floats],
    seen: tuple[float, float] | None,
    unknown: int,
) -> Groups:
    keys = [Codes.of(column, key.kind) for key, column in zip(question.keys, columns, strict=False)]
    missing = [(own.codes < 0).tolist() for own in keys]
    kind = [one or other for one, other in zip(judged[0].kind, judged[-1].kind, strict=True)]
    what = ["missing instrument"] * question.instrument
    what += ["missing context"] * (len(keys) - 1 - question.instrument) + ["missing arm"]
    for own, name in zip(reversed(missing), reversed(what), strict=True):
        kind = [name if absent else before for absent, before in zip(own, kind, strict=True)]
    without = [question.missing and one == "missing reward" for one in kind]
    kind = ["" if absent else one for absent, one in zip(without, kind, strict=True)]
    texts = {column.name: own.texts for (_, column, _, _), own in zip(_ends(question), judged, strict=True)}
    return Groups(keys, n, kind, texts, np.array(sums), seen, unknown, np.array(without, dtype=np.bool_))
