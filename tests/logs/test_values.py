"""What texts in a log mean."""

import itertools

import pytest

from meanbounds.logs.values import labels, natural_order, numbers, uses_commas


@pytest.mark.parametrize(
    ("text", "number"),
    [("+.5", 0.5), ("5.", 5.0), ("1E-3", 1e-3), ("\u00a01\u2009", 1.0), ("Infinity", float("inf")), ("-0", 0.0)],
)
def test_numbers_are_read(text: str, number: float) -> None:
    assert numbers([text]) == [number]


@pytest.mark.parametrize("text", ["1_000", "0x1", "1 000", "1,5", "1.2.3", "e5", ".", "--1", "12 %"])
def test_other_texts_are_no_numbers(text: str) -> None:
    assert str(numbers([text])) == "[nan]"


@pytest.mark.parametrize(
    ("column", "commas"),
    [
        *((column, True) for column in (["0,5"], ["1,000", "0,25"], ["0,500"], ["1,5", "e.g. this"])),
        *((column, False) for column in (["1,000"], ["1,5", "2.5"], [], [None, "1"], ["1,000", "-12,500"])),
    ],
)
def test_commas_are_decimal_where_nothing_speaks_against_it(column: list[str | None], commas: bool) -> None:
    assert uses_commas(column) == commas


@pytest.mark.parametrize(
    ("text", "label"),
    [
        *[("1.50", "1.5"), ("-0.0", "0"), ("10", "10"), ("100.00", "100"), ("1E+2", "100"), ("Infinity", "inf")],
        ("12345678901234567890123456789012345.50", "12345678901234567890123456789012345.5"),
    ],
)
def test_numbers_are_labels_without_a_trace_of_their_type(text: str, label: str) -> None:
    assert labels([text], "number") == [label]


def test_natural_order_does_not_depend_on_the_order_given() -> None:
    names = ["2", "10.5", "under 65", "65 to 74", "over 74", "a", "A", "a 2", "a 10", "ab", "a\u0663", ""]
    first = sorted(names, key=natural_order)
    assert first[:2] == ["2", "10.5"]
    assert all(
        sorted(some, key=natural_order) == first for some in itertools.islice(itertools.permutations(names), 500)
    )
    assert sorted([("b", "2"), ("a", "10"), ("a", "9")], key=natural_order) == [("a", "9"), ("a", "10"), ("b", "2")]
