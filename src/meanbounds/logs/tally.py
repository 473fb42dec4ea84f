"""A log while it is being counted: groups of rows that an engine counted, judged, and put in order as `Counts`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from meanbounds.agents.tree import Tree
from meanbounds.logs.counts import Context, Counts, Instrument
from meanbounds.logs.engines import Log
from meanbounds.logs.errors import BadRows, LogError
from meanbounds.logs.query import GOOD, LEAST, ODD, Column, Question
from meanbounds.logs.values import arm_names, each, in_order, labels, natural_order, numbers, uses_commas
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
    """A column of texts: the names that they are, in order, and which one each group has (-1 where it is missing)."""

    texts: Sequence[str | None]
    names: list[str]
    codes: Integers

    @classmethod
    def of(cls, column: Sequence[str | None], kind: str) -> Codes:
        """A column of names."""
        found = each(column, partial(labels, kind=kind))
        names = sorted({name for name in found if name is not None}, key=natural_order)
        places: dict[str | None, int] = {None: -1} | {name: place for place, name in enumerate(names)}
        return cls(column, names, np.fromiter(map(places.__getitem__, found), np.int64, len(found)))

    @classmethod
    def of_leaves(cls, column: Sequence[str], tree: Tree) -> Codes:
        """A column of places in the contexts of a tree, -1 for what is in none."""
        names = [*tree.contexts, "none: the tree grew on this row"]
        codes = np.fromiter(map(int, column), np.int64, len(column)) % len(names)
        return cls([names[code] for code in codes.tolist()], names, codes)


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
        self, question: Question, columns: tuple[str, ...], arms: Any, least: float | None, dropped: dict[str, int]
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
        without = added(self.rows, self.absent) if question.apart is not None else None
        count, total, squares, *weighted = sums.sum(axis=1)
        names, ends = (question.keys[-1].name, question.reward.name), (question.low, question.high)
        known, arms = np.array(weighted) if weighted else None, tuple(arm_names(order))
        by_value = [*sums[:3], np.zeros(shape) if without is None else without]
        chance = Instrument(question.keys[0].name, tuple(map(str, values)), np.array(by_value)) if first else None
        rest: Any = (None if without is None else without.sum(axis=0), question.apart, chance)
        made = Counts(contexts, arms, count, total, squares, *ends, columns, *names, dropped, known, least, *rest)
        tree = question.tree
        return made if tree is None else replace(made.over(tree.contexts, arms), columns=tree.columns, tree=tree)


def contexts_of(keys: Sequence[Codes], good: Booleans) -> tuple[tuple[Context, ...], Integers]:
    """The contexts of the good groups in natural order, and the place of each group's own."""
    places = np.zeros(int(good.sum()), dtype=np.int64)
    if not keys:
        return (None,), places
    for key in keys:
        places = np.unique(places * len(key.names) + key.codes[good], return_inverse=True)[1]
    first = np.unique(places, return_index=True)[1]
    columns = [[key.names[code] for code in key.codes[good][first].tolist()] for key in keys]
    return tuple(columns[0]) if len(keys) == 1 else tuple(zip(*columns, strict=True)), places


@dataclass(frozen=True, eq=False)
class _Numbers:
    """The rewards or propensities of groups: the least and the greatest, what is bad about them, and their texts."""

    value: Floats
    most: Floats
    kind: list[str]
    texts: Sequence[str | None]


def _judged(what: str, column: Column, low: float, high: float, told: Sequence[Any], commas: bool) -> _Numbers:
    """What numbers in a range are, of which the engine told the state, the text if it is odd, and both ends if not."""
    found = each([text for _, text, *_ in told], partial(numbers, commas=commas and column.kind in _TEXTS))
    ends = [(own, own) if one[0] == ODD else one[2:] for own, one in zip(found, told, strict=True)]
    kind = [_kind_of(what, least, low, high) for least, _ in ends]
    texts = [text if state == ODD else f"{least:.12g}" for state, text, least, _ in told]
    value, most = np.array(ends, dtype=np.float64).reshape(-1, 2).T
    return _Numbers(value, most, kind, texts)


def _kind_of(what: str, value: float | None, low: float, high: float) -> str:
    if value is None:
        return f"missing {what}"
    if low <= value <= high:
        return ""
    if not math.isfinite(value):
        return f"{what} is {'not a number' if math.isnan(value) else 'infinite'}"
    if what == "reward":
        return f"reward {'below' if value < low else 'above'} range"
    if value > high:
        return "propensity above 1"
    return "propensity is not above 0" if low == LEAST else f"propensity below least={low:g}"


def by_value(question: Question, rows: list[Any]) -> Groups:
    """Judge groups that have one reward and one propensity each."""
    size, ends = len(question.keys), _ends(question)
    columns, unknown = _known_columns(rows, size, size + 2 + len(ends), -1)
    judged = [
        _judged(*end, [(ODD, text, None, None) for text in texts], uses_commas(texts))
        for end, texts in zip(ends, columns[size + 1 :], strict=False)
    ]
    n, value = np.array(columns[-1], dtype=np.float64), judged[0].value
    u = (value - question.low) / (question.high - question.low)
    with np.errstate(all="ignore"):  # bad ones are left out later
        sums = [n * value, n * value * value]
        if question.propensity is not None:
            w = 1.0 / judged[1].value
            sums += [n * w, n * w * u, n * w * w, n * w * w * u, n * (w * u) ** 2]
    return _groups(question, columns, n, judged, sums, unknown)


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
    judged = []
    for place, end in enumerate(ends):
        told = list(zip(*columns[size + 1 + 4 * place :][:4], strict=True))
        judged.append(own := _judged(*end, told, end[1].name in question.commas))
        for k in [k for k, one in enumerate(told) if one[0] == ODD and not own.kind[k]]:
            if len(ends) == 1:  # a number that only Python reads, such as one after a no-break space
                sums[0][k], sums[1][k] = n[k] * own.value[k], n[k] * own.value[k] ** 2
            else:
                own.kind[k] = f"{end[0]} is not a number"
    return _groups(question, columns, n, judged, sums, unknown)


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
    question: Question, columns: list[Any], n: Floats, judged: list[_Numbers], sums: list[Floats], unknown: int
) -> Groups:
    keys = [Codes.of(column, key.kind) for key, column in zip(question.keys, columns, strict=False)]
    if question.tree is not None:
        keys[-2] = Codes.of_leaves(columns[len(keys) - 2], question.tree)
    missing = [(own.codes < 0).tolist() for own in keys]
    kind = [one or other for one, other in zip(judged[0].kind, judged[-1].kind, strict=True)]
    what = ["missing instrument"] * question.instrument
    what += ["missing context"] * (len(keys) - 1 - question.instrument) + ["missing arm"]
    for own, name in zip(reversed(missing), reversed(what), strict=True):
        kind = [name if absent else before for absent, before in zip(own, kind, strict=True)]
    without = [question.apart is not None and one == "missing reward" for one in kind]
    kind = ["" if absent else one for absent, one in zip(without, kind, strict=True)]
    texts = {column.name: own.texts for (_, column, _, _), own in zip(_ends(question), judged, strict=True)}
    found = np.concatenate([judged[0].value, judged[0].most])
    found = found[np.isfinite(found)]
    seen = (float(found.min()), float(found.max())) if found.size else None
    return Groups(keys, n, kind, texts, np.array(sums), seen, unknown, np.array(without, dtype=np.bool_))
