"""Trees: what each case is called, what is refused, and what is saved."""

import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from meanbounds.agents.tree import Split, Tree

CLINIC = Split("clinic", left=("a",), right=("b", "c, d", "true"), missing="left")
TREE = Tree(
    (
        Split("age", 75.0, missing="right"),
        CLINIC,
        None,
        Split("age", 40.5),
        None,
        None,
        Split("age", missing="left"),
        None,
        Split("age", 85),
        None,
        None,
    )
)


def test_a_leaf_is_called_by_what_holds_in_it() -> None:
    assert TREE.contexts == (
        "age < 75 and clinic = a (or missing)",
        "age < 40.5 and clinic not a",
        "40.5 <= age < 75 and clinic not a",
        "age missing",
        "75 <= age < 85",
        "age >= 85",
        "unknown: age",
        "unknown: clinic",
    )
    assert Tree((None,)).contexts == ("all cases",)
    assert Tree((None,)).leaf({"age": 3}) == "all cases"
    many = Tree((Split("zip", left=tuple(map(str, range(10))), right=tuple(map(str, range(10, 25)))), None, None))
    assert many.contexts[:2] == ("zip in 0, 1, 2 and 7 more", "zip not in 0, 1, 2 and 7 more")
    assert [line[:2] for line in TREE.outline()][:4] == [
        (0, "age < 75"),
        (1, "clinic = a (or missing)"),
        (1, "clinic not a"),
        (2, "age < 40.5"),
    ]


@pytest.mark.parametrize(
    ("values", "leaf"),
    [
        ({"age": 74.999, "clinic": None}, 0),
        ({"age": "60", "clinic": "NA"}, 0),
        ({"age": " 4e1 ", "clinic": "c, d"}, 1),
        ({"age": "40,5", "clinic": True}, 2),
        ({"age": np.float32(74), "clinic": np.True_, "more": object()}, 2),
        ({"age": math.nan, "clinic": "z"}, 3),
        ({"age": np.float64("nan"), "clinic": "z"}, 3),
        ({"age": Decimal("NaN"), "clinic": "z"}, 3),
        ({"age": np.datetime64("NaT"), "clinic": "z"}, 3),
        ({"age": "", "clinic": "z"}, 3),
        ({"age": Decimal(75), "clinic": "z"}, 4),
        ({"age": 84, "clinic": "z"}, 4),
        ({"age": math.inf, "clinic": "z"}, 5),
        ({"age": -math.inf, "clinic": "z"}, 7),
        ({"age": 3, "clinic": "a "}, 7),
    ],
)
def test_leaf(values: dict[str, Any], leaf: int) -> None:
    assert TREE.leaf(values) == TREE.contexts[leaf]


def test_pandas_says_in_its_own_way_that_a_value_is_missing() -> None:
    pandas = pytest.importorskip("pandas")
    for missing in (pandas.NA, pandas.NaT):
        assert TREE.leaf({"age": missing, "clinic": "z"}) == "age missing"
        assert TREE.leaf({"age": 3, "clinic": missing}) == TREE.contexts[0]


def test_missing_values_are_unknown_where_the_log_had_none() -> None:
    tree = Tree((Split("age", 75.0), None, None))
    assert [tree.leaf({"age": age}) for age in (None, 80)] == ["unknown: age", "age >= 75"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"age": 80}, "the tree asks about 'clinic': give None \\(null in JSON\\) where it is not known"),
        ({"age": "old", "clinic": "a"}, "age must be a number.*'old'"),
        ({"age": "1,000", "clinic": "a"}, "age must be a number"),
        ({"age": [80], "clinic": "a"}, "age must be one number"),
        ({"age": np.array([80, 81]), "clinic": "a"}, "age must be one number"),
        ({"age": 10**400, "clinic": "a"}, "age must be numbers"),
        ({"age": 60, "clinic": ["a"]}, "clinic must be a text"),
    ],
)
def test_values_that_the_tree_cannot_read(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        TREE.leaf(values)


def test_a_tree_is_saved_and_loaded() -> None:
    again = Tree.from_dict(json.loads(json.dumps(TREE.to_dict(), allow_nan=False)))
    assert again == TREE
    assert hash(again) == hash(TREE)
    assert again.contexts == TREE.contexts


SPLIT = {"column": "age", "below": 75.0, "left": [], "right": [], "missing": None}


@pytest.mark.parametrize(
    "nodes",
    [
        None,
        "nodes",
        [],
        [None, None],
        [None, SPLIT, None],
        [SPLIT, None],
        [SPLIT, None, None, None],
        [{"column": "age"}, None, None],
        [{**SPLIT, "more": 1}, None, None],
        [{**SPLIT, "column": ""}, None, None],
        [{**SPLIT, "column": ["age"]}, None, None],
        [{**SPLIT, "below": math.nan}, None, None],
        [{**SPLIT, "below": "75"}, None, None],
        [{**SPLIT, "below": None}, None, None],
        [{**SPLIT, "missing": "up"}, None, None],
        [{**SPLIT, "missing": []}, None, None],
        [{**SPLIT, "left": ["a"], "right": ["b"]}, None, None],
        [{**SPLIT, "below": None, "left": ["a"]}, None, None],
        [{**SPLIT, "below": None, "left": ["a"], "right": ["a"]}, None, None],
        [{**SPLIT, "below": None, "left": ["a"], "right": ["NA"]}, None, None],
        [{**SPLIT, "below": None, "left": ["a"], "right": [["b"]]}, None, None],
        [{**SPLIT, "below": None, "left": "ab", "right": ["c"]}, None, None],
        [SPLIT, None, {**SPLIT, "below": None, "left": ["a"], "right": ["b"]}, None, None],
        [SPLIT] * 5000 + [None] * 5001,
    ],
)
def test_what_is_no_tree_is_refused(nodes: Any) -> None:
    with pytest.raises(ValueError, match="the saved Tree cannot be read"):
        Tree.from_dict({"nodes": nodes})


def test_trees_as_deep_as_they_may_be_are_named_and_walked() -> None:
    nodes: list[Split | None] = [Split("age", float(end)) for end in range(4095, 0, -1)]
    tree = Tree((*nodes, *[None] * 4096))
    assert tree.leaf({"age": 0.5}) == tree.contexts[0] == "age < 1"
    assert tree.leaf({"age": 7000}) == "age >= 4095"
