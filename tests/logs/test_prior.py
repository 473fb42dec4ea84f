"""The prior of a log: by the formula, by hand, with few rows, in any range, and against worlds whose truth is known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import meanbounds as mb
from meanbounds.logs import (
    AnyExpert,
    Assumption,
    ErringExpert,
    KnownPropensity,
    MarginalSensitivity,
    NearlyOptimalExpert,
    OptimalExpert,
)

EVERY = (
    OptimalExpert(),
    OptimalExpert(0.05, 0.9),
    ErringExpert(0.05),
    NearlyOptimalExpert(0.03),
    AnyExpert(),
    AnyExpert(gap_high=0.8),
    MarginalSensitivity(2.0),
    ErringExpert(0.1) & AnyExpert(gap_high=0.9),
)


def log_of(count: Any, total: Any, low: float = 0.0, high: float = 1.0) -> mb.logs.Counts:
    """Counts whose rewards are at the ends of the range; `total` counts those at the upper end."""
    rows, ones = np.array(count, dtype=float), np.array(total, dtype=float)
    sums: dict[str, Any] = {
        "total": low * rows + (high - low) * ones,
        "squares": low**2 * rows + (high**2 - low**2) * ones,
    }
    names = [f"z{z}" for z in range(len(rows))]
    return mb.logs.Counts(names, list(range(rows.shape[1])), count=rows, **sums, low=low, high=high, arms_listed=True)


def lottery() -> mb.logs.Counts:
    """A program drew the new page with probability 0.25 and wrote that down; 0.3 and 0.2 of the visitors buy."""
    rng = np.random.default_rng(1)
    tried = rng.random(5_000) < 0.25
    bought = rng.random(5_000) < np.where(tried, 0.3, 0.2)
    log = pd.DataFrame(
        {"page": np.where(tried, "new", "old"), "p": np.where(tried, 0.25, 0.75), "bought": bought * 1.0}
    )
    return mb.logs.read(log, context="p", arm="page", reward="bought", low=0, high=1)


def mean_of(own: mb.Prior) -> Any:
    """The means of a prior, as an array."""
    return np.array(own.mean)


def strength_of(own: mb.Prior) -> Any:
    """The strengths of a prior, as an array."""
    return np.array(own.strength)


def test_by_hand() -> None:
    """Shares 0.6 and 0.4 of 1,000 rows, means 0.8 and 0.7 where played: 0.48 + 0.14 and 0.28 + 0.24.

    Widths are 0.28 and 0.48. One other arm has all other rows, so the correlation does not matter.
    """
    found = mb.logs.prior(log_of([[600, 400]], [[480, 280]]), strongest=1e6, wait=math.inf)["z0"]
    rows = 1000.0
    for middle, width, mean, strength in zip(
        (0.62, 0.52), (0.28, 0.48), mean_of(found), strength_of(found), strict=True
    ):
        centre = (rows * middle + 1.0) / (rows + 2.0)
        variance = width**2 / 12.0 + centre * (1.0 - centre) / (rows + 3.0)
        assert mean == pytest.approx(centre, rel=1e-9)
        assert strength == pytest.approx(centre * (1.0 - centre) / variance - 1.0, rel=1e-9)


def test_correlation_by_hand() -> None:
    """Shares 0.5, 0.3, 0.2: for the first arm the squares of the others' parts of all other rows are 0.36 + 0.16."""
    counts = log_of([[0.5, 0.3, 0.2]], [[0.4, 0.24, 0.16]])
    found = [
        strength_of(mb.logs.prior(counts, correlation=r, strongest=1e6, wait=math.inf, infinite=True)["z0"])
        for r in (0.0, 0.5, 1.0)
    ]
    mean, width = 0.6, 0.4
    for r, (strength, *_) in zip((0.0, 0.5, 1.0), found, strict=True):
        variance = (r + (1.0 - r) * 0.52) * width**2 / 12.0
        assert strength == pytest.approx(mean * (1.0 - mean) / variance - 1.0, rel=1e-6)


@pytest.mark.parametrize("assumption", EVERY, ids=repr)
def test_the_mean_is_the_middle_of_what_an_infinite_log_allows(assumption: Assumption) -> None:
    counts = mb.HiddenContexts.random(visible=3, hidden=4, arms=3, seed=2).counts()
    gaps = isinstance(assumption, OptimalExpert) and assumption.gap_low != 0.0
    if gaps:  # the world has smaller gaps
        assumption = OptimalExpert(0.0, 1.0)
    found = mb.logs.prior(counts, assumption, infinite=True, strongest=1e6, wait=math.inf)
    for context, bounds in mb.logs.bounds(counts, assumption, infinite=True).items():
        np.testing.assert_allclose(found[context].mean, 0.5 * (bounds.lower + bounds.upper), atol=1e-6)


def test_an_arm_that_was_never_played_and_a_context_without_rows() -> None:
    found = mb.logs.prior(log_of([[1000, 0], [0, 0]], [[800, 0], [0, 0]]))
    played, never = mean_of(found["z0"])
    assert played == pytest.approx(0.8, abs=0.01)
    assert never == pytest.approx(0.4, abs=0.01)  # between 0 and what the other arm has
    assert found["z1"].mean == pytest.approx((0.5, 0.5))
    assert found["z1"].strength == pytest.approx((2.0, 2.0))


def test_few_rows_say_little() -> None:
    """One row with a reward of 1: Beta(2, 1), as after one play; the other arm is somewhere below."""
    one = mb.logs.prior(log_of([[1, 0]], [[1, 0]]))["z0"]
    assert mean_of(one)[0] == pytest.approx(2.0 / 3.0, abs=1e-6)
    assert strength_of(one)[0] == pytest.approx(3.0, abs=1e-6)
    strengths = [strength_of(mb.logs.prior(log_of([[n, 0]], [[0.6 * n, 0]]))["z0"])[0] for n in (5, 20, 1000)]
    assert strengths == sorted(strengths)
    assert strengths[-1] == 8.0


@pytest.mark.parametrize("assumption", EVERY, ids=repr)
@pytest.mark.parametrize(("low", "high"), [(1.0, 5.0), (-3.0, -1.0), (0.0, 1e6)])
def test_any_range(assumption: Assumption, low: float, high: float) -> None:
    count, ones = [[600, 300, 100], [50, 0, 150]], [[480, 210, 90], [40, 0, 120]]
    span = high - low
    in_units = {"gap_low": span * 0.01, "gap_high": span * 0.95, "loss": span * 0.03}
    scaled = assumption
    for place, part in enumerate(assumption.parts):
        more = {name: in_units[name] for name in part.weaker if name in in_units and getattr(part, name)}
        made = type(part)(**{**{name: getattr(part, name) for name in part.weaker}, **more})
        scaled = made if not place else scaled & made
    unit = [type(part)(**{name: _unit(name, part) for name in part.weaker}) for part in assumption.parts]
    plain = unit[0] if len(unit) == 1 else unit[0] & unit[1]
    found = mb.logs.prior(log_of(count, ones, low, high), scaled)
    for context, own in mb.logs.prior(log_of(count, ones), plain).items():
        np.testing.assert_allclose(found[context].mean, low + span * np.array(own.mean), rtol=1e-6)
        np.testing.assert_allclose(found[context].strength, own.strength, rtol=1e-6)


def _unit(name: str, part: Assumption) -> Any:
    given = getattr(part, name)
    return {"gap_low": 0.01, "gap_high": 0.95, "loss": 0.03}.get(name, given) if given else given


def test_parameters_are_at_least_1_and_strengths_limited() -> None:
    rng = np.random.default_rng(5)
    count = rng.integers(0, 50, (40, 4))
    counts = log_of(count, rng.integers(0, count + 1))
    for strongest, wait in ((8.0, 10.0), (50.0, 1e6), (2.0, 3.0)):
        for own in mb.logs.prior(counts, strongest=strongest, wait=wait).values():
            mean, strength = np.array(own.mean), np.array(own.strength)
            assert np.all(mean * strength >= 1.0)
            assert np.all((1.0 - mean) * strength >= 1.0)
            least = 1.0 / np.minimum(mean, 1.0 - mean)  # where a parameter is 1
            assert np.all(strength <= np.maximum(strongest, least * (1.0 + 1e-6)) + 1e-6)


def test_wait_limits_the_strength_near_the_top_of_the_range() -> None:
    """Arms had 0.9 wherever they were played; Thompson sampling waits exp(strength kl) rounds for a rival as good."""
    own = mb.logs.prior(log_of([[600, 200, 200]], [[540, 180, 180]]), wait=5.0)["z0"]
    top = 541.0 / 602.0
    for mean, strength in zip(mean_of(own)[1:], strength_of(own)[1:], strict=True):
        assert strength * mb.bernoulli_kl(mean, top) == pytest.approx(math.log(5.0), rel=1e-6)


def test_propensities_give_the_weighted_means() -> None:
    counts = lottery()
    (own,) = mb.logs.prior(counts, KnownPropensity("p", 0.25), strongest=1e6, wait=math.inf).values()
    assert own.mean == pytest.approx((0.3, 0.2), abs=0.03)
    rows = counts.count.sum(axis=0)
    np.testing.assert_allclose(own.strength, rows + 2.0, rtol=0.01)


def test_a_log_that_contradicts_the_assumption_is_refused_with_what_it_allows() -> None:
    counts = log_of([[5000, 5000]], [[500, 4500]])
    with pytest.raises(mb.BoundsError, match=r"gap_low=0\.3 is more than the log allows.*The log allows gap_low of at"):
        mb.logs.prior(counts, OptimalExpert(gap_low=0.3))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"strongest": 1.0}, "strongest is a number of plays, at least 2"),
        ({"wait": 1.0}, "wait is a number of rounds above 1"),
        ({"correlation": 1.5}, "correlation is between 0 and 1"),
        ({"strongest": "many"}, "strongest"),
    ],
)
def test_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        mb.logs.prior(log_of([[5, 5]], [[1, 2]]), **wrong)


def test_who_gives_no_assumption_object_is_told() -> None:
    given: Any = "any-expert"
    with pytest.raises(TypeError, match="assumption must be an object"):
        mb.logs.prior(log_of([[5, 5]], [[1, 2]]), given)
