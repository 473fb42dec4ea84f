"""Contexts of a log that are the leaves of a tree: the tree in SQL."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from meanbounds.agents.tree import Tree
from meanbounds.logs.engines import Log
from meanbounds.logs.query import Column, Question
from meanbounds.logs.values import uses_commas
from meanbounds.support.texts import MISSING, NO_NUMBER

__all__ = ["NUMERIC", "Leaves", "by_leaf", "columns_of"]

NUMERIC = ("whole", "number")
"""The kinds of columns that hold numbers and nothing else."""

_LEAF = "leaf of the tree"  # a column that is added to the log: the place of a row's context


@dataclass(frozen=True)
class Leaves:
    """How to count a log by leaves: the columns to read, and what turns a question without contexts into one with."""

    columns: tuple[str, ...]
    asked: Callable[[Log, Question], Question]


def columns_of(context: str | Sequence[str] | Tree | Leaves | None) -> tuple[tuple[str, ...], Leaves | None]:
    """The columns that contexts are made of, and how to count by leaves if these are the contexts."""
    if isinstance(context, Tree):
        context = Leaves(context.columns, partial(_asked, context))
    leaves = context if isinstance(context, Leaves) else None
    given: Any = leaves.columns if leaves else () if context is None else context
    return (given,) if isinstance(given, str) else tuple(given), leaves


def _asked(tree: Tree, log: Log, question: Question) -> Question:
    columns = [log.column(name) for name in tree.columns]
    texts = {column.name: [row[0] for row in log.run(question.sample(column))] for column in columns}
    return by_leaf(question, tree, columns, frozenset(name for name, values in texts.items() if uses_commas(values)))


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
    keys = *question.keys[:-1], Column(_LEAF, "whole"), question.keys[-1]
    return replace(question, table=table, keys=keys, tree=tree)


def _texts(question: Question, names: Collection[str]) -> str:
    return ", ".join(map(question.dialect.literal, sorted(names)))
