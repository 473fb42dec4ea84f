"""What the comparison of two revisions says of given times."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from benchmarks.compare import Compared, NotMeasuredError, take_turns


def clock(name: str, times: list[float], log: list[str]) -> Callable[[], float]:
    """Give these times one by one, and write down who was asked."""
    left: Iterator[float] = iter(times)

    def next_time() -> float:
        log.append(name)
        return next(left)

    return next_time


def test_each_turn_gives_a_ratio_and_who_goes_first_alternates() -> None:
    compared, log = Compared("job"), list[str]()
    take_turns(compared, clock("old", [1.0, 2.0, 4.0], log), clock("new", [2.0, 2.0, 1.0], log), 3)
    assert compared.ratios == [2.0, 1.0, 0.25]
    assert log == ["old", "new", "new", "old", "old", "new"]


@pytest.mark.parametrize(
    ("ratios", "slower"),
    [
        ([1.2, 1.2, 1.2, 1.2, 1.2], True),
        ([1.0, 1.2, 1.2, 1.2, 1.2], True),  # a quarter of the turns may be lucky
        ([1.0, 1.0, 1.2, 1.2, 1.2], False),  # the spread reaches down to no change
        ([1.09, 1.09, 1.09], False),
        ([], False),
    ],
)
def test_slower_is_more_than_a_tenth_in_three_quarters_of_the_turns(ratios: list[float], slower: bool) -> None:
    compared = Compared("job", ratios)
    assert compared.slower is slower
    if ratios:
        assert ("slower" in compared.line()) is slower


def test_a_job_that_one_revision_does_not_have_is_said_to_be_missing() -> None:
    def missing() -> float:
        raise NotMeasuredError("old: AttributeError: no such policy")

    compared = Compared("job")
    take_turns(compared, missing, lambda: 1.0, 3)
    assert not compared.slower
    assert compared.line() == "| job | - | - | not measured: old: AttributeError: no such policy |"
