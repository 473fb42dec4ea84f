from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from meanbounds.support.checks import as_float, as_floats, as_whole, check_choice, fits_range, shown
from meanbounds.support.seeding import as_seed


@pytest.mark.parametrize(
    "value",
    [
        *("0.5", b"1", None, 1j, np.complex128(1), pd.NA, pd.NaT, np.ma.masked, object(), len, {"a": 1}, {0.5}),
        *(
            10**400,
            [10**400],
            [[1.0], [1.0, 2.0]],
            np.datetime64("2020"),
            np.timedelta64(1, "D"),
            [np.datetime64("2020")],
        ),
        *(
            [0.5, np.ma.masked],
            [[0.5], [np.ma.masked]],
            np.ma.array([1.0], mask=[True]),
            [np.ma.array([1.0], mask=True)],
        ),
        *([0.5, None], np.array([0.5, "a"], dtype=object), np.array([np.complex128(1), None]), iter([0.5])),
    ],
)
def test_anything_that_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="reward must be numbers"):
        as_floats("reward", value)


def test_floats_beyond_the_range_are_infinite_and_missing_ones_are_nan() -> None:
    """Whoever reads them says what they may be; these two are floats."""
    longer = np.longdouble("1e400") if np.finfo(np.longdouble).max > sys.float_info.max else np.longdouble("inf")
    assert as_float("reward", longer) == np.inf
    assert np.isnan(as_floats("reward", pd.Series([1.0, None], dtype="Float64"))[1])


@pytest.mark.parametrize(
    "value", [0, -1, 1.0, True, "1", None, np.float64(3), np.timedelta64(3, "D"), 2**63, 10**400, [1]]
)
def test_sizes_are_whole_numbers(value: Any) -> None:
    with pytest.raises(ValueError, match="runs must be a whole number, at least 1"):
        as_whole("runs", value)


def test_small_integers_of_numpy_do_not_overflow() -> None:
    assert as_whole("runs", np.int8(100)) * as_whole("horizon", np.uint8(200)) == 20_000


@pytest.mark.parametrize("value", [["paper"], None, 7, np.array(["paper"]), pd.NA, "Paper", {}])
def test_choices_are_texts(value: Any) -> None:
    with pytest.raises(ValueError, match="form must be one of 'paper'"):
        check_choice("form", value, ("paper",))


def test_ranges_whose_squares_overflow_or_vanish_do_not_fit() -> None:
    low = np.array([0.0, -1e150, 0.0, 0.0, -1.7e308, np.nan, 1.0])
    high = np.array([9e149, 0.0, 1e-150, 9e-151, 1.7e308, 1.0, 0.0])
    assert fits_range(low, high).tolist() == [True, False, True, False, False, False, False]


def test_messages_stay_short_whatever_the_value() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (10**5000, deep, "x" * 10**6):
        assert len(shown(value)) < 250
    with pytest.raises(ValueError, match="seed must be a whole number"):
        as_seed(10**5000)
