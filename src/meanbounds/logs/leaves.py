"""Contexts of a log that are the leaves of a tree: the tree in SQL, and its leaves in the order of their names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from meanbounds.agents.tree import Tree
from meanbounds.logs.counts import Counts
from meanbounds.logs.engines import Log
from meanbounds.logs.errors import BadRows
from meanbounds.logs.query import Column, Question
from meanbounds.logs.values import uses_commas
from meanbounds.support.texts import MISSING, NO_NUMBER
from meanbounds.support.types import Floats

__all__ = ["NUMERIC", "Leaves", "by_leaf", "named", "widened"]

NUMERIC = ("whole", "number")
"""The kinds of columns that hold numbers and nothing else."""

_LEAF = "leaf of the tree"  # a column that is added to the log: the place of a row's context


@dataclass(frozen=True)
class Leaves:
    """How to count a log by the leaves of a tree."""

    tree: Tree | None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read."""
        return self.tree.columns if self.tree else ()

    def asked(self, log: Log, question: Question) -> tuple[Question, Tree]:
        """A question without contexts as one that has the leaves, by their places in the tree's contexts."""
        assert self.tree is not None
        columns = [log.column(name) for name in self.columns]
        texts = {column.name: [row[0] for row in log.run(question.sample(column))] for column in columns}
        commas = frozenset(name for name, values in texts.items() if uses_commas(values))
        return by_leaf(question, self.tree, columns, commas), self.tree


def by_leaf(
    question: Question, tree: Tree, columns: Sequence[Column], commas: frozenset[str], apart: str = ""
) -> Question:
    """A question with the leaves of a tree as contexts; rows that fulfil the condition `apart` are at the place -1."""
    read = replace(question, commas=commas)
    numeric = {node.column for node in tree.nodes if node and node.numeric}
    dialect, values, missing, added = question.dialect, {}, {}, []
    for place, column in enumerate(columns):
        values[column.name] = value = dialect.name(f"value {place} of the tree")
        text = dialect.as_text(read.value(column))
        number = f"NULLIF({read.number(column)}, CAST('NaN' AS {dialect.double}))"
        added.append(f"{number if column.name in numeric else text} AS {value}")
        missing[column.name] = f"{value} IS NULL"
        if column.name not in numeric or column.kind not in (*NUMERIC, "boolean"):
            bare, words = (f"LOWER(TRIM({text}))", NO_NUMBER) if column.name in numeric else (f"TRIM({text})", MISSING)
            missing[column.name] = f"({text} IS NULL OR {bare} IN ({_texts(question, words)}))"
    unknown = len(tree.contexts) - len(tree.columns)
    leaf, rules = unknown, list[str]()
    for node in reversed(tree.nodes):
        if node is None:
            leaf -= 1
            rules.append(str(leaf))
            continue
        value, sides = values[node.column], {"left": rules.pop(), "right": rules.pop()}
        whens = [f"WHEN {missing[node.column]} THEN {sides[node.missing]}"] if node.missing else []
        if node.below is not None:
            end = dialect.number(node.below)
            whens += [f"WHEN {value} < {end} THEN {sides['left']}", f"WHEN {value} >= {end} THEN {sides['right']}"]
        elif node.numeric:
            whens.append(f"WHEN {value} IS NOT NULL THEN {sides['right']}")
        for side, names in (("left", node.left), ("right", node.right)):
            whens += [f"WHEN {value} IN ({_texts(question, names)}) THEN {sides[side]}"] if names else []
        rules.append(f"CASE {' '.join(whens)} ELSE {unknown + tree.columns.index(node.column)} END")
    rule = f"CASE WHEN {apart} THEN -1 ELSE {rules[0]} END" if apart else rules[0]
    table = f"(SELECT {', '.join(['*', *added])} FROM {question.table}) AS with_values"
    table = f"(SELECT *, {rule} AS {dialect.name(_LEAF)} FROM {table}) AS with_leaves"
    return replace(question, table=table, keys=(*question.keys[:-1], Column(_LEAF, "whole"), question.keys[-1]))


def _texts(question: Question, names: Collection[str]) -> str:
    return ", ".join(map(question.dialect.literal, sorted(names)))


def named(bad: BadRows, tree: Tree) -> None:
    """Call the leaves of examples of bad rows by their names."""
    rows: Any = bad.examples.values()
    for row in rows:
        row[_LEAF] = (*tree.contexts, "none: the tree grew on this row")[int(row[_LEAF])]


def widened(counts: Counts, tree: Tree) -> Counts:
    """Counts whose contexts are places in the tree's contexts, as counts of all of these."""
    known = {name: place for place, name in enumerate(counts.contexts)}
    places = [known.get(str(place), len(known)) for place in range(len(tree.contexts))]

    def wide(sums: Floats) -> Floats:
        empty = np.zeros((*sums.shape[:-2], 1, sums.shape[-1]))
        return np.concatenate([sums, empty], axis=-2)[..., places, :]

    names = ("count", "total", "squares", "weighted", "missing")
    sums: dict[str, Any] = {name: wide(own) for name in names if (own := getattr(counts, name)) is not None}
    chance = counts.instrument and replace(counts.instrument, sums=wide(counts.instrument.sums))
    return replace(counts, contexts=tree.contexts, columns=tree.columns, instrument=chance, tree=tree, **sums)
