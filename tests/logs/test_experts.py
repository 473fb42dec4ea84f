"""What can be assumed of experts: fields are read, joined, said in words and saved; what cannot be is refused."""

from math import inf
from pathlib import Path
from typing import Any

import pytest

import meanbounds as mb
from meanbounds.logs import Counts, Experts, bounds

table: Any = Counts  # from lists


def log() -> Counts:
    return table(["north", "south"], ["a", "b"], [[60, 40], [30, 70]], [[30, 20], [20, 30]], [[30, 20], [20, 30]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"errors": 1.2}, "errors must be a share of cases, from 0 to 1; got 1.2"),
        ({"errors": -0.1}, "errors must be a share"),
        ({"errors": "5%"}, "errors must be a share of cases, from 0 to 1, or such numbers by context; got '5%'"),
        ({"errors": True}, "errors must be a share"),
        ({"errors": float("nan")}, "errors must be a share"),
        ({"loss": -1}, "loss must be an average loss"),
        ({"gap_low": inf}, "gap_low must be a difference of mean rewards, finite"),
        ({"gap_high": [0.1, 0.2]}, "gap_high must be a difference"),
        ({"odds": 0.5}, "odds must be a factor of at least 1"),
        ({"odds": {"north": 0.5}}, "context 'north': odds must be a factor"),
        ({"loss": {}}, "loss has no contexts"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(mb.BoundsError, match=message):
        Experts(**given)


def test_contexts_and_gaps_that_do_not_fit_the_log_are_refused() -> None:
    no_experts: Any = {"errors": 0.05}
    with pytest.raises(mb.BoundsError, match=r"context 'north': errors has no number for it.*mean 'North'"):
        bounds(log(), Experts(errors={"North": 0.1}))
    with pytest.raises(mb.BoundsError, match=r"context 'north': gap_low=0.4 is more than gap_high=0.3"):
        bounds(log(), Experts(gap_low=0.4, gap_high={"north": 0.3, "south": 0.5}))
    with pytest.raises(mb.BoundsError, match=r"gap_low=1.5 is more than the range, 1"):
        bounds(log(), Experts(gap_low=1.5))
    with pytest.raises(TypeError, match=r"experts must be an object such as Experts\(errors=0.05\)"):
        bounds(log(), no_experts)


def test_a_field_by_context_is_that_number_in_each_context() -> None:
    experts = Experts(errors={"north": 0.1, "south": 0.3, "elsewhere": 0.0}, gap_high={"south": 0.6, "north": inf})
    found = bounds(log(), experts)
    for context, own in (("north", Experts(errors=0.1)), ("south", Experts(errors=0.3, gap_high=0.6))):
        assert found[context] == bounds(log(), own)[context]


def test_both_together_take_the_stronger_value_of_each_field() -> None:
    both = Experts(errors=0.1, gap_low=0.05, odds={"north": 2}) & Experts(errors=0.2, gap_low=0.1, loss=0.3)
    assert both == Experts(errors=0.1, gap_low=0.1, loss=0.3, odds={"north": 2.0})
    assert Experts() & Experts() == Experts()


def test_words_name_every_field_and_its_numbers() -> None:
    said = Experts(errors={"x": 0.05, "y": 0.1}, loss=0.2, gap_low=0.01, gap_high=0.5, odds=1.5).in_words()
    assert said.count("; and ") == 4
    for part in ("5 to 10% of the cases", "at most 0.2", "at least 0.01", "more than 0.5", "factor 1.5"):
        assert part in said
    assert repr(Experts(gap_high=0.5)) == "Experts(gap_high=0.5)"
    assert repr(Experts()) == "Experts()"


def test_saved_and_loaded(tmp_path: Path) -> None:
    for experts in (
        Experts(),
        Experts(0.0, 0.1, 0.02, 0.5, 3.0),
        Experts(loss={("north", "old"): 0.1, ("south", "old"): inf}, odds={None: 2.0}),
    ):
        experts.save(tmp_path / "experts.json")
        assert Experts.load(tmp_path / "experts.json") == experts
    with pytest.raises(mb.BoundsError, match="unknown field 'error', did you mean 'errors'"):
        Experts.from_dict({"error": 0.1})
    with pytest.raises(mb.BoundsError, match="errors must be a number or pairs"):
        Experts.from_dict({"errors": [0.1, 0.2]})
