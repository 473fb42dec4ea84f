"""Numbers that a caller gives: what is read, and what is refused with which words."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.support import checks
from meanbounds.support.saving import write_atomically


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (lambda: checks.as_float("width", np.int8(3)), 3.0),
        (lambda: checks.as_float("width", Decimal("0.5")), 0.5),
        (lambda: checks.as_whole("rows", np.int8(100)) * 100, 10_000),
        (lambda: checks.is_whole(True), False),
        (lambda: checks.is_whole(np.timedelta64(3, "D")), False),  # numpy counts it as an integer
        (lambda: checks.as_positions([True, False, True], 3).tolist(), [0, 2]),
        (lambda: checks.as_positions([2, 0], 3).tolist(), [2, 0]),
        (lambda: checks.as_list("eligible", ("a", "b")), ["a", "b"]),
        (lambda: checks.as_flag("history", np.True_), True),
        (lambda: len(checks.shown(10**5000)) < 250, True),
        (lambda: list(checks.broadcast_floats(mean=[0.5, 0.6], low=0)[1]), [0.0, 0.0]),
        (lambda: checks.fits_range(np.array([0.0, 0.0, -1e300]), np.array([1.0, 1e-200, 0.0])).tolist(), [1, 0, 0]),
    ],
)
def test_values_are_read(read: Callable[[], Any], expected: Any) -> None:
    assert read() == expected


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: checks.as_float("width", [3, 4]), r"width must be one number; got \[3, 4\]"),
        (lambda: checks.as_floats("lower", np.ma.array([0.1, 0.2], mask=[False, True])), "some are masked"),
        (lambda: checks.as_floats("lower", [1j]), "lower must be numbers"),
        (lambda: checks.as_whole("rows", 0), "rows must be a whole number, at least 1; got 0"),
        (lambda: checks.as_whole("rows", 1e4), "write 10_000"),
        (lambda: checks.as_positions([3], 3), "positions must be places of 3 arms"),
        (lambda: checks.as_mapping("saved bounds", []), "must be a mapping from names to values"),
        (lambda: checks.as_list("eligible", "ab"), "eligible must be a list; got 'ab'"),
        (lambda: checks.as_flag("history", None), "history must be True or False"),
        (lambda: checks.check_choice("form", ["paper"], ("corrected", "paper")), "one of 'corrected', 'paper'"),
        (lambda: checks.broadcast_floats(mean=[1, 2], low=[0, 0, 0]), r"fit together; got \(2,\), \(3,\)"),
    ],
)
def test_other_values_are_refused(read: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        read()


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "bounds.json"
    mb.MeanBounds([0.2], [0.9]).save(path)
    before = path.read_bytes()

    def fail(partial: Path) -> None:
        partial.write_text("half of")
        raise OSError(28, "No space left on device", str(partial))

    with pytest.raises(OSError, match=r"bounds\.json"):  # the file that was asked for, not the temporary one
        write_atomically(path, fail)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["bounds.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", "\xff", '{"lower": [0.1]}', "[" * 100_000])
def test_files_that_hold_something_else_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bounds.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"saved|bounds need"):
        mb.MeanBounds.load(path)
