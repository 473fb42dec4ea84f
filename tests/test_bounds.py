from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import meanbounds as mb

TWO = mb.MeanBounds([0.2, 0.3], [0.6, 0.9], arms=["a", "b"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"lower": [0.1, np.nan], "upper": [0.5, 0.5], "arms": ["x", "y"]}, ["'y'", "nan", "0.5"]),
        ({"lower": [0.1, 0.7], "upper": [0.5, 0.6], "arms": ["x", "y"]}, ["'y'", "0.7", "0.6"]),
        ({"lower": [-0.1], "upper": [0.5]}, ["arm 0", "-0.1", "0.5", "[0.0, 1.0]"]),
        ({"lower": [0.1], "upper": [1.5]}, ["arm 0", "0.1", "1.5"]),
        ({"lower": [0.1, 0.1], "upper": [0.5, 0.5], "arms": ["x", "x"]}, ["arm 'x' is named twice, at places 0 and 1"]),
        ({"lower": [0.1, 0.1], "upper": [0.5, 0.5], "arms": ["x"]}, ["1 arm names", "2 arms"]),
        ({"lower": [0.1, 0.1], "upper": [0.5, 0.5], "low": [0, 0, 0]}, ["low has 3 entries for 2 arms"]),
        ({"lower": [0.1], "upper": [0.5], "low": 1.0, "high": 0.0}, ["arm 0", "1.0", "0.0"]),
        ({"lower": [0.1], "upper": [0.5], "high": np.inf}, ["arm 0", "inf"]),
        ({"lower": [], "upper": []}, ["at least one arm"]),
        ({"lower": ["x"], "upper": [1]}, ["lower", "numbers"]),
        ({"lower": [[0.1]], "upper": [[0.5]]}, ["shape (1, 1)"]),
        ({"lower": [0.1], "upper": [0.5], "arms": [0.5]}, ["0.5", "strings or integers"]),
    ],
)
def test_what_cannot_be_is_refused_by_name_and_number(arguments: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(mb.BoundsError) as caught:
        mb.MeanBounds(**arguments)
    for word in words:
        assert word in str(caught.value)


def test_pruning_leaves_out_what_cannot_be_better_and_compares_raw_units() -> None:
    bounds = mb.MeanBounds([0.5, 0.0, -1.0, 0.5], [0.9, 0.5, 0.6, 0.5], low=[0, 0, -1, 0], high=1)
    assert bounds.possible.tolist() == [True, False, True, True]
    assert bounds.pruned().arms == (0, 2, 3)
    assert bounds.best_lower == 0.5


def test_factors_take_each_arm_in_its_own_range() -> None:
    """Arm 0 on [0, 1] with l = 0.8; arm 1 on [0, 2] has its middle, 1, inside [0.8, 1.5]: the printed rule, which gives
    it the factor of arm 0, would be too small."""
    bounds = mb.MeanBounds([0.8, 0.1], [1.0, 1.5], low=0.0, high=[1.0, 2.0])
    assert bounds.best_variance_proxy.tolist() == [mb.variance_proxy(0.8), 1.0]
    assert bounds.variance_proxy.tolist() == [mb.variance_proxy(0.8), 1.0]


@given(st.data())
def test_with_one_range_glue_has_the_printed_rule(data: st.DataObject) -> None:
    """psi_k = sigma of k_max where l_max > 1/2, else sigma_k."""
    pairs = data.draw(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted), min_size=1, max_size=6))
    lower, upper = np.array(pairs).T
    bounds = mb.MeanBounds(lower, upper).pruned()
    sigma = bounds.variance_proxy
    expected = np.full(len(bounds), sigma[bounds.lower.argmax()]) if bounds.best_lower > 0.5 else sigma
    assert bounds.best_variance_proxy == pytest.approx(expected)


def test_intersection() -> None:
    other = mb.MeanBounds([0.5, 0.1], [0.7, 0.4], arms=["b", "a"])
    assert TWO & other == mb.MeanBounds([0.2, 0.5], [0.4, 0.7], arms=["a", "b"])
    with pytest.raises(mb.BoundsError, match=r"'a'.*at least 0.7.*at most 0.6"):
        TWO & mb.MeanBounds([0.7, 0.3], [0.8, 0.9], arms=["a", "b"])
    with pytest.raises(mb.BoundsError, match="only one side has 'b', 'c'"):
        TWO & mb.MeanBounds([0.1, 0.1], [0.9, 0.9], arms=["a", "c"])
    with pytest.raises(mb.BoundsError, match=r"'a'.*ranges differ"):
        TWO & mb.MeanBounds([0.1, 0.1], [0.9, 0.9], arms=["a", "b"], high=2.0)


@pytest.mark.parametrize("bounds", [TWO, mb.MeanBounds([1, 2], [3, 4], low=0.5, high=[5, 6]), mb.MeanBounds.vacuous(3)])
def test_json_and_frames_come_back_the_same(bounds: mb.MeanBounds, tmp_path: Path) -> None:
    assert mb.MeanBounds.from_dict(json.loads(json.dumps(bounds.to_dict()))) == bounds
    bounds.save(tmp_path / "bounds.json")
    assert mb.MeanBounds.load(tmp_path / "bounds.json") == bounds
    for copied in (copy.deepcopy(bounds), pickle.loads(pickle.dumps(bounds))):
        assert copied == bounds
        assert not copied.lower.flags.writeable
    frame = bounds.to_frame()
    assert list(frame.columns) == ["arm", "lower", "upper", "low", "high"]
    assert mb.MeanBounds.from_frame(frame) == bounds
    assert mb.MeanBounds.from_frame(pl.DataFrame(frame.to_dict("list"))) == bounds
    assert eval(repr(bounds), {"MeanBounds": mb.MeanBounds}) == bounds
    assert hash(bounds) == hash(mb.MeanBounds.from_dict(bounds.to_dict()))


def test_frames_without_optional_columns_and_with_wrong_ones() -> None:
    assert mb.MeanBounds.from_frame(pd.DataFrame({"lower": [0.1], "upper": [0.4]})).arms == (0,)
    with pytest.raises(mb.BoundsError, match="missing upper"):
        mb.MeanBounds.from_frame(pd.DataFrame({"lower": [0.1]}))
    with pytest.raises(mb.BoundsError, match="unknown uper"):
        mb.MeanBounds.from_dict({"lower": [0.1], "upper": [0.4], "uper": [0.3]})


def test_unknown_arm_lists_the_known_ones() -> None:
    with pytest.raises(mb.UnknownArmError, match="unknown arm 'c'; the arms are 'a', 'b'"):
        TWO.position("c")


def test_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        TWO.lower[0] = 0.0


def test_rounding_does_not_put_a_mean_outside_its_bounds() -> None:
    """0.1 + 0.2 is above 0.3 by one bit: no warning, and theorems apply; 1e-9 is no rounding."""
    bounds = mb.MeanBounds([0.1, 0.2], [0.3, 0.25])
    assert bounds.contains([0.1 + 0.2, 0.25]).tolist() == [True, True]
    assert bounds.contains([0.3 + 1e-9, 0.2 - 1e-9]).tolist() == [False, False]
    regret = mb.simulate({"GLUE": mb.GLUE()}, mb.Bernoulli([0.1 + 0.2, 0.25]), bounds, horizon=50, runs=5, seed=1)
    assert mb.theory.regret_bounds(regret)["GLUE"].values is not None
    with pytest.warns(UserWarning, match="outside its bounds"):
        mb.simulate({"GLUE": mb.GLUE()}, mb.Bernoulli([0.3 + 1e-9, 0.25]), bounds, horizon=50, runs=5, seed=1)


ANY: Any = TWO  # for calls that the types would refuse already
UNTYPED: Any = mb
MASKED: Any = np.ma.array([0.1, 0.2], mask=[False, True])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"lower": MASKED, "upper": [0.5, 0.5]}, ["lower", "masked"]),
        ({"lower": [0.1, np.ma.masked], "upper": [0.5, 0.5]}, ["lower", "masked"]),
        ({"lower": [0.1, 0.2], "upper": [0.5, 0.5], "high": np.ma.masked}, ["high", "masked"]),
        ({"lower": [0.1, pd.NA], "upper": [0.5, 0.5]}, ["lower", "numbers", "NA"]),
        ({"lower": [0.1], "upper": [10**400]}, ["upper", "numbers"]),
        ({"lower": [0.1], "upper": ["0.5"]}, ["upper", "numbers", "'0.5'"]),
        ({"lower": [0.1], "upper": [0.5 + 0j]}, ["upper", "numbers"]),
        ({"lower": [0.1], "upper": [np.datetime64("2020-01-01")]}, ["upper", "numbers"]),
        ({"lower": [[0.1], [0.2, 0.3]], "upper": [0.5]}, ["lower", "numbers"]),
        ({"lower": (x for x in [0.1]), "upper": [0.5]}, ["lower", "numbers", "generator"]),
        ({"lower": [0.1], "upper": [0.5], "arms": 3}, ["arms", "list of names", "3"]),
        ({"lower": [0.1], "upper": [0.5], "arms": "a"}, ["arms", "list of names", "'a'"]),
        ({"lower": [0.0], "upper": [0.0], "low": -1.7e308, "high": 1.7e308}, ["arm 0", "1e+150"]),
        ({"lower": [0.0], "upper": [0.0], "high": 1e200}, ["arm 0", "1e+150"]),
        ({"lower": [0.0], "upper": [0.0], "high": 1e-200}, ["arm 0", "1e-150"]),
    ],
)
def test_values_that_are_no_usable_numbers_are_refused(arguments: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(mb.BoundsError) as caught:
        mb.MeanBounds(**arguments)
    for word in words:
        assert word in str(caught.value)


def test_numbers_of_every_type_are_taken() -> None:
    """An array without a mask that hides anything, exact numbers of Python, and every width of numpy."""
    expected = mb.MeanBounds([0.25, 0.5], [0.75, 1.0])
    several: list[Any] = [
        np.ma.array([0.25, 0.5]),
        [Decimal("0.25"), Fraction(1, 2)],
        np.array([0.25, 0.5], dtype=np.float16),
        pd.Series([0.25, 0.5], dtype="Float64"),
        (0.25, np.float32(0.5)),
    ]
    for lower in several:
        assert mb.MeanBounds(lower, [0.75, True]) == expected
    widest, narrowest = (mb.MeanBounds([0.0], [width / 4], high=width) for width in (9e149, 2e-150))
    for bounds in (widest, narrowest):
        unit = bounds.variance_proxy / bounds.high / bounds.high
        assert unit == pytest.approx(mb.variance_proxy_from_bounds(0.0, 0.25), rel=1e-12)


@pytest.mark.parametrize("data", [[], None, "lower", 7, [["lower", [0.1]]], np.ma.masked])
def test_only_a_mapping_is_saved_bounds(data: Any) -> None:
    with pytest.raises(mb.BoundsError, match="must be a mapping"):
        mb.MeanBounds.from_dict(data)
    with pytest.raises(mb.BoundsError, match="must be a mapping"):
        mb.TightBounds.from_dict(data)
    with pytest.raises(ValueError, match="must be a mapping"):
        mb.Knowledge.from_dict(data)
    with pytest.raises(mb.BoundsError, match="must be a mapping"):
        mb.Knowledge.from_dict({"bounds": data})


def test_saved_bounds_without_text_as_names_are_refused() -> None:
    with pytest.raises(mb.BoundsError, match="unknown 7"):
        UNTYPED.MeanBounds.from_dict({"lower": [0.1], "upper": [0.5], 7: 1})


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: UNTYPED.MeanBounds.vacuous(0), mb.BoundsError, "at least one arm"),
        (lambda: UNTYPED.MeanBounds.vacuous(10**400), mb.BoundsError, "number of arms"),
        (lambda: UNTYPED.MeanBounds.vacuous(True), mb.BoundsError, "list of names"),
        (lambda: UNTYPED.MeanBounds.vacuous(2.5), mb.BoundsError, "list of names"),
        (lambda: UNTYPED.MeanBounds.vacuous(2, low=[0, 0, 0]), mb.BoundsError, "low has 3 entries for 2 arms"),
        (lambda: UNTYPED.MeanBounds.vacuous(2, high=[[1, 1]]), mb.BoundsError, r"shape \(1, 2\)"),
        (lambda: UNTYPED.MeanBounds.vacuous(2, high=None), mb.BoundsError, "high must be numbers"),
        (lambda: ANY.contains([0.1, 0.2, 0.3]), ValueError, "one entry for each of 2 arms"),
        (lambda: ANY.contains("a"), ValueError, "means must be numbers"),
        (lambda: ANY.meta_pruned([0.1, 0.2]), ValueError, "best_mean must be one number"),
        (lambda: ANY.matching({"a": 1}), TypeError, "MeanBounds"),
        (lambda: ANY & 0.5, TypeError, "MeanBounds"),
        (lambda: ANY.subset([0, 2]), ValueError, "positions"),
        (lambda: ANY.subset([0, 0]), ValueError, "twice"),
        (lambda: ANY.subset([]), ValueError, "at least one"),
        (lambda: ANY.subset([True]), ValueError, "positions"),
        (lambda: ANY.subset([False, False]), ValueError, "at least one"),
        (lambda: ANY.subset([0.5]), ValueError, "positions"),
        (lambda: ANY.subset([[0, 1]]), ValueError, "positions"),
        (lambda: ANY.subset([2**63]), ValueError, "positions"),
        (lambda: ANY.subset("a"), ValueError, "positions"),
        (lambda: ANY.subset(np.array([2**64 - 1], dtype=np.uint64)), ValueError, "positions"),
        (lambda: UNTYPED.MeanBounds.from_frame(7), TypeError, "data frame"),
        (lambda: UNTYPED.MeanBounds.from_frame({"lower": [0.1], "upper": [0.2]}), TypeError, "data frame"),
        (lambda: UNTYPED.Knowledge(ANY).with_arm("c", [0.1, 0.2], None, 0.0, 1.0), mb.BoundsError, "lower must be one"),
        (
            lambda: UNTYPED.Knowledge(ANY).with_arm("c", 10**400, None, 0.0, 1.0),
            mb.BoundsError,
            "lower must be numbers",
        ),
        (lambda: UNTYPED.Knowledge(ANY).with_arm(["c"], None, None, 0.0, 1.0), mb.BoundsError, "arm names"),
        (lambda: UNTYPED.Knowledge.of(ANY.to_dict()), TypeError, "knowledge needs MeanBounds"),
    ],
)
def test_wrong_arguments_are_refused_in_words(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_few_arms_are_chosen_by_position_or_mask() -> None:
    assert TWO.subset(np.array([1], dtype=np.int8)).arms == ("b",)
    assert TWO.subset([-1, 0]).arms == ("b", "a")
    assert TWO.subset([False, True]).arms == ("b",)
    assert len(UNTYPED.MeanBounds.vacuous(np.int8(100))) == 100


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"lower": [0.1], "upper": }', b"[]", b"7"]
)
def test_a_file_that_holds_no_bounds_is_refused_by_its_name(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bounds.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bounds\.json holds no saved MeanBounds"):
        mb.MeanBounds.load(path)
