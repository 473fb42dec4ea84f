"""Trees that turn raw columns, such as age and severity, into contexts that people can read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal, Self

from meanbounds.support.checks import as_float, as_list, shown
from meanbounds.support.entries import Entries
from meanbounds.support.saving import Saved
from meanbounds.support.texts import COMMA, MISSING, THOUSANDS, number

__all__ = ["Side", "Split", "Tree"]

Side = Literal["left", "right"]

_MOST = 4096  # leaves
_LISTED = 6  # categories that a name lists
_LONGEST = 40  # characters of a category or column in a name
_PLAIN = re.compile(r"\w(?:[\w .+/:%-]*[\w…])?")  # names that are written without quotes


@dataclass(frozen=True)
class Split:
    """A question about one column, with the side that each answer goes to.

    Parameters
    ----------
    column, below
        Numbers in this column below this go left, others right. None for categories, or if the question is only whether
        the number is missing.
    left, right
        The categories that go left and right; empty for numbers.
    missing
        The side of missing values; None if the log that the tree grew on had none there.
    """

    column: str
    below: float | None = None
    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    missing: Side | None = None

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers rather than categories."""
        return not (self.left or self.right)

    def __post_init__(self) -> None:
        below = self.below
        if not (isinstance(self.column, str) and self.column):
            raise ValueError(f"the column of a split must be a text; got {shown(self.column)}")
        if self.missing not in (None, "left", "right"):
            raise ValueError(f"missing values of {self.column!r} go left, right or nowhere; got {shown(self.missing)}")
        sides = [as_list(f"categories of {self.column!r}", side) for side in (self.left, self.right)]
        both = [*sides[0], *sides[1]]
        if len(set(both)) < len(both) or not all(
            isinstance(name, str) and name.strip(" ") not in MISSING for name in both
        ):
            raise ValueError(f"categories of {self.column!r} must be different texts, none missing; got {shown(both)}")
        if below is not None:
            below = as_float(f"the threshold of {self.column!r}", below) + 0.0  # -0.0 becomes 0.0
        if below is not None and (both or not math.isfinite(below)):
            raise ValueError(f"the split of {self.column!r} needs a finite threshold or categories")
        full = [bool(side) or self.missing == name for side, name in zip(sides, ("left", "right"), strict=True)]
        if below is None and not (all(full) if both else self.missing == "left"):
            raise ValueError(f"the split of {self.column!r} has a side that nothing can go to")
        for name, value in (("below", below), ("left", tuple(sides[0])), ("right", tuple(sides[1]))):
            object.__setattr__(self, name, value)


@dataclass(frozen=True, repr=False)
class Tree(Saved):
    """Contexts that are the leaves of a tree of questions about columns; `meanbounds.logs.partition` grows one.

    Parameters
    ----------
    nodes
        The tree in reading order: each node before its left side, and that before its right side. A `Split` is a
        question, None is a leaf.

    Examples
    --------
    >>> from meanbounds.agents.tree import Split, Tree
    >>> clinic = Split("clinic", left=["north"], right=["east"])
    >>> tree = Tree([Split("age", 75.0, missing="right"), clinic, None, None, None])
    >>> for name in tree.contexts:
    ...     print(name)
    age < 75 and clinic = north
    age < 75 and clinic = east
    age >= 75 (or missing)
    unknown: age
    unknown: clinic
    >>> tree.leaf({"age": 62, "clinic": "north", "weight": 81}), tree.leaf({"age": None, "clinic": "west"})
    ('age < 75 and clinic = north', 'age >= 75 (or missing)')
    >>> tree.leaf({"age": "70", "clinic": "west"})
    'unknown: clinic'
    """

    nodes: tuple[Split | None, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", tuple(as_list("nodes", self.nodes)))
        if not all(node is None or isinstance(node, Split) for node in self.nodes):
            raise ValueError("the nodes of a tree must be splits, or None for leaves")
        unread = list(accumulate((1 if node else -1 for node in self.nodes), initial=1))  # sides still to come
        if 0 not in unread or unread.index(0) != len(self.nodes):
            raise ValueError("the nodes are not those of one tree: each split needs a left side and a right side")
        if self.nodes.count(None) > _MOST:
            raise ValueError(f"a tree has at most {_MOST:,} leaves")
        for column in self.columns:
            if len({node.numeric for node in self.nodes if node and node.column == column}) > 1:
                raise ValueError(f"the tree asks about {column!r} as numbers and as categories; a column is only one")
        if len(set(self.contexts)) < len(self.contexts):
            raise ValueError(f"the tree has leaves that are described alike: {shown(self.contexts)}")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that the splits ask about: a decision must name them."""
        return tuple(dict.fromkeys(node.column for node in self.nodes if node))

    @property
    def contexts(self) -> tuple[str, ...]:
        """Names of the leaves in reading order, then ``"unknown: age"`` for each column that is asked about."""
        return (*self._leaves, *(f"unknown: {column}" for column in self.columns))

    @cached_property
    def right(self) -> tuple[int, ...]:
        """The place in `nodes` of each split's right side (0 for leaves); its left side is the next place."""
        places = [0] * len(self.nodes)
        waiting: list[int] = []
        for place, node in enumerate(self.nodes):
            if place and self.nodes[place - 1] is None:
                places[waiting.pop()] = place
            if node is not None:
                waiting.append(place)
        return tuple(places)

    @cached_property
    def _walked(self) -> list[tuple[int, str, dict[str, _Part]]]:
        """For each node its depth, the answer that leads there, and what all answers so far say, column by column."""
        known: dict[str, frozenset[str]] = {}
        for split in filter(None, self.nodes):
            known[split.column] = known.get(split.column, frozenset()).union(split.left, split.right)
        found, waiting = [], [(0, "all cases", dict[str, _Part]())]
        sides: tuple[Side, Side] = ("right", "left")
        for node in self.nodes:
            depth, _, parts = step = waiting.pop()
            found.append(step)
            if node is None:
                continue
            column, own = node.column, frozenset((*node.left, *node.right))
            for side in sides:
                words = _Part(own, own).narrowed(node, side).words(column)
                part = parts.get(column, _Part(known[column], known[column])).narrowed(node, side)
                waiting.append((depth + 1, words, {**parts, column: part}))
        return found

    @cached_property
    def _leaves(self) -> tuple[str, ...]:
        """The name of each leaf: what the splits above it say, column by column."""
        above = [parts for node, (_, _, parts) in zip(self.nodes, self._walked, strict=True) if node is None]
        names = [" and ".join(part.words(column) for column, part in parts.items()) or "all cases" for parts in above]
        return tuple(name if names.count(name) == 1 else f"{name} [{k + 1}]" for k, name in enumerate(names))

    def outline(self) -> list[tuple[int, str, str | None]]:
        """The nodes below the root in reading order: depth from 0, the answer that leads there, and the leaf's name."""
        leaves, nodes = iter(self._leaves), zip(self.nodes, self._walked, strict=True)
        lines = [(depth - 1, words, None if node else next(leaves)) for node, (depth, words, _) in nodes]
        return lines[1:] or [(0, *lines[0][1:])]

    def leaf(self, values: Mapping[str, Any]) -> str:
        """The context of a case, from the values of its columns; those that no split asks about are left out."""
        steps, place = self._steps, 0
        for column in self.columns:
            if column not in values:
                raise ValueError(f"the tree asks about {column!r}: give None (null in JSON) where it is not known")
        while True:
            step = steps[place]
            if type(step) is str:
                return str(step)
            column, read, below, sides, missing, right, lost = step
            value = values[column]
            if type(value) is not float or value != value or sides:
                value = read(column, value)
            if value is None:
                following = missing
            elif below is not None:
                following = place + 1 if value < below else right
            else:
                following = sides.get(value) if sides else right
            if following is None:
                return lost
            place = following

    @cached_property
    def _steps(self) -> list[Any]:
        """The nodes as `leaf` walks through them."""
        steps: list[Any] = []
        leaves = iter(self._leaves)
        for place, (node, right) in enumerate(zip(self.nodes, self.right, strict=True)):
            if node is None:
                steps.append(next(leaves))
                continue
            sides = dict.fromkeys(node.left, place + 1) | dict.fromkeys(node.right, right)
            missing = {"left": place + 1, "right": right, None: None}[node.missing]
            read: Callable[[str, Any], Any] = _number if node.numeric else _category
            steps.append((node.column, read, node.below, sides, missing, right, f"unknown: {node.column}"))
        return steps

    def __repr__(self) -> str:
        leaves = len(self._leaves)
        return (
            f"Tree({leaves:,} lea{'f' if leaves == 1 else 'ves'}, asking about {', '.join(self.columns) or 'nothing'})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists that JSON can hold; `from_dict` is the inverse."""
        return {"nodes": [node and {**vars(node), "left": [*node.left], "right": [*node.right]} for node in self.nodes]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the tree that `to_dict` described."""
        saved = Entries("Tree", data, ["nodes"])
        names = [*Split.__dataclass_fields__]
        try:
            found = [node if node is None else Entries("Split", node, names) for node in saved.list("nodes")]
            return cls(tuple(None if node is None else Split(*(node[name] for name in names)) for node in found))
        except (TypeError, ValueError) as error:
            raise saved.wrong(str(error)) from None


@dataclass(frozen=True)
class _Part:
    """What the splits on the way to a leaf say about one column."""

    known: frozenset[str]  # all categories of the column, and those that come here
    names: frozenset[str]
    low: float = -math.inf
    high: float = math.inf
    missing: bool = True  # whether missing values come here
    present: bool = True  # whether others do

    def narrowed(self, node: Split, side: Side) -> _Part:
        missing = self.missing and node.missing == side
        if not node.numeric:
            names = self.names & {*(node.left if side == "left" else node.right)}
            return replace(self, names=names, missing=missing, present=bool(names))
        if node.below is None:
            return replace(self, missing=missing, present=self.present and side == "right")
        if side == "left":
            return replace(self, missing=missing, high=min(self.high, node.below))
        return replace(self, missing=missing, low=max(self.low, node.below))

    def words(self, column: str) -> str:
        name, or_missing = _plain(column), " (or missing)" * self.missing
        if not self.present:
            return f"{name} missing"
        if self.known:
            rest = self.known - self.names
            others = 0 < len(rest) < len(self.names) > 1
            listed = sorted(rest if others else self.names)
            text = ", ".join(map(_plain, listed if len(listed) <= _LISTED else listed[: _LISTED // 2]))
            text += f" and {len(listed) - _LISTED // 2} more" * (len(listed) > _LISTED)
            sign = ("not" if others else "=") if len(listed) == 1 else "not in" if others else "in"
            return f"{name} {sign} {text}{or_missing}" if rest else f"{name} known"
        low, high = (repr(end).removesuffix(".0") if math.isfinite(end) else "" for end in (self.low, self.high))
        if low and high:
            return f"{low} <= {name} < {high}{or_missing}"
        return f"{name} {f'>= {low}' if low else f'< {high}'}{or_missing}" if low or high else f"{name} known"


def _plain(name: str) -> str:
    name = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    return name if _PLAIN.fullmatch(name) and " and " not in name else repr(name)


def _number(column: str, value: Any) -> float | None:
    """A value of a numeric column; None if it is missing."""
    if type(value) is int and abs(value) < 2**53:
        return float(value)
    if not isinstance(value, str):
        own = math.nan if value is None or str(value) in ("<NA>", "NaT") else as_float(column, value)
        return None if math.isnan(own) else own
    text = value.strip(" ")
    found = number(text, COMMA.fullmatch(text) is not None and THOUSANDS.fullmatch(text) is None)
    if found is not None and not math.isfinite(found):
        raise ValueError(f"{column} must be a number, as in the log that the tree grew on; got {shown(value)[:50]}")
    return found


def _category(column: str, value: Any) -> str | None:
    """A value of a column of categories as engines write it; None if it is missing."""
    if isinstance(value, Iterable) and not isinstance(value, str):
        raise ValueError(f"{column} must be a text, a number, True or False; got {shown(value)[:50]}")
    text = "" if value is None else str(value)
    if type(value).__name__ in ("bool", "bool_"):
        text = text.lower()
    elif isinstance(value, float):
        text = text.removesuffix(".0")
    return None if text.strip(" ") in MISSING else text
