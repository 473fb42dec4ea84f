"""Aligned text tables, and that nothing else aligns by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import meanbounds
from meanbounds.support.tables import text_table

SOURCE = Path(meanbounds.__file__).parent


def test_columns_are_aligned_and_lines_have_no_trailing_spaces() -> None:
    text = text_table(("arm", "rows", "why"), [("a", "1", "x"), ("longer", "1,000", "")], align="lrl")
    assert text.splitlines() == ["arm      rows  why", "------------------", "a           1  x", "longer  1,000"]


def test_without_a_header() -> None:
    assert text_table(None, [("a", "b"), ("ccc", "d")], align="ll") == "a    b\nccc  d"


def test_wide_characters_and_line_breaks() -> None:
    lines = text_table(None, [("漢字", "x"), ("abcd", "y"), ("e\nf", "z")], align="ll").splitlines()
    assert lines == ["漢字  x", "abcd  y", "e f   z"]


def test_long_rows_are_not_cut_and_markup_is_text() -> None:
    wide = "[red]" + "w" * 500
    assert text_table(("name", "value"), [(wide, "1")], align="lr").splitlines()[-1] == f"{wide}      1"


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        text_table(("a", "b"), [("1",)], align="ll")


def test_nobody_aligns_by_hand() -> None:
    """`ljust`, `rjust`, or a width in a format: one function does that, and knows wide characters."""
    by_hand = re.compile(r"\.[lr]just\(|:[<>^]\{|:[<>^]\d")
    found = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if by_hand.search(line)
    ]
    assert found == []
