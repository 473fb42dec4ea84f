"""Bounds and logs are wrong in the way that was asked for, and in no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds.simulation import corrupt, corrupt_log

ANY: Any = corrupt  # for calls that the types would refuse already
ANY_LOG: Any = corrupt_log
BOUNDS = mb.MeanBounds([0.5, 0.2, -1.0], [1.0, 0.7, 0.4], arms=["a", "b", "c"], low=[0, 0, -1], high=[1, 1, 1])
MEANS = np.array([0.9, 0.6, 0.1])
LOG = mb.LoggedArms([80, 20], [72.0, 10.0], arms=["a", "b"])


def test_the_cap_of_the_best_arm_is_too_low_by_as_much() -> None:
    wrong = corrupt(BOUNDS, MEANS, "cap-too-low", 0.08)
    assert wrong.upper.tolist() == pytest.approx([0.82, 0.7, 0.4])
    assert wrong.lower.tolist() == BOUNDS.lower.tolist()
    assert corrupt(BOUNDS, MEANS, "cap-too-low", 0.5).lower[0] == pytest.approx(0.4)
    assert wrong.arms == BOUNDS.arms


def test_the_best_arm_is_pruned() -> None:
    wrong = corrupt(BOUNDS, MEANS, "best-pruned", 0.1)
    assert wrong.possible.tolist() == [False, True, True]
    assert wrong.upper[0] == pytest.approx(0.1)
    with pytest.warns(UserWarning, match="arm 'a': its mean 0.9 is outside its bounds"):
        regret = mb.simulate(mb.GLUE(), mb.Bernoulli([0.9, 0.6]), wrong.subset([0, 1]), horizon=50, runs=2, seed=1)
    assert regret.plays["GLUE"].tolist() == [[0, 50]] * 2


def test_a_bad_arm_is_favoured() -> None:
    wrong = corrupt(BOUNDS, MEANS, "bad-favoured", 0.05)
    assert wrong.lower.tolist() == pytest.approx([0.5, 0.2, 0.95])
    assert wrong.upper.tolist() == pytest.approx([1.0, 0.7, 0.95])


def test_random_kinds_depend_on_the_seed_alone() -> None:
    for kind in ("shifted", "narrowed"):
        one, same, other = (corrupt(BOUNDS, MEANS, kind, 0.3, seed=seed) for seed in (1, 1, 2))
        assert one == same
        assert one != other


def test_shifted_bounds_keep_their_width_within_the_range() -> None:
    for seed in range(50):
        wrong = corrupt(BOUNDS, MEANS, "shifted", 0.15, seed=seed)
        moved = wrong.lower - BOUNDS.lower
        assert np.all(np.abs(moved) <= 0.15)
        assert wrong.upper[1] - wrong.lower[1] == pytest.approx(0.5)
        assert np.all((wrong.lower >= BOUNDS.low) & (wrong.upper <= BOUNDS.high))


def test_narrowed_bounds_lie_inside_and_lose_the_share() -> None:
    for seed in range(50):
        wrong = corrupt(BOUNDS, MEANS, "narrowed", 0.4, seed=seed)
        assert np.all((wrong.lower >= BOUNDS.lower) & (wrong.upper <= BOUNDS.upper))
        np.testing.assert_allclose(wrong.upper - wrong.lower, 0.6 * (BOUNDS.upper - BOUNDS.lower))
    points = corrupt(BOUNDS, MEANS, "narrowed", 1.0, seed=1)
    np.testing.assert_allclose(points.upper, points.lower)


def test_an_expert_who_always_errs_plays_every_arm_alike() -> None:
    """Exact tests of counts and of the rewards of an arm that the expert had never played; one in a million fails."""
    log = mb.LoggedArms([90_000], [81_000.0], arms=["a"])
    wrong = corrupt_log(log, MEANS, BOUNDS, "expert-errs", 1.0, seed=4)
    assert wrong.arms == BOUNDS.arms
    assert sum(wrong.counts) == 90_000
    assert stats.chisquare(wrong.counts).pvalue > 1e-6
    for mean, low, count, total in zip(MEANS, BOUNDS.low, wrong.counts, wrong.totals, strict=True):
        wins = round((total - count * low) / (1.0 - low))
        assert stats.binomtest(wins, count, (mean - low) / (1.0 - low)).pvalue > 1e-6


def test_an_expert_who_errs_now_and_then() -> None:
    wrong = corrupt_log(LOG, MEANS, BOUNDS, "expert-errs", 0.3, seed=5)
    assert sum(wrong.counts) == 100
    assert wrong.counts[2] > 0
    assert wrong == corrupt_log(LOG, MEANS, BOUNDS, "expert-errs", 0.3, seed=5)
    wrong.rows(BOUNDS)  # totals fit the ranges


def test_the_best_arm_is_understated() -> None:
    wrong = corrupt_log(LOG, MEANS, BOUNDS, "best-understated", 0.25)
    assert wrong.counts == (80, 20, 0)
    assert wrong.totals == pytest.approx((52.0, 10.0, 0.0))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: corrupt(BOUNDS, MEANS, "worse", 0.1), "kind must be one of 'cap-too-low', 'best-pruned'"),
        (lambda: corrupt(BOUNDS, MEANS, "shifted", 0.0), "by says how wrong to be, a number above 0; got 0.0"),
        (lambda: corrupt(BOUNDS, MEANS, "shifted", np.inf), "by says how wrong to be"),
        (
            lambda: corrupt(BOUNDS, MEANS, "narrowed", 1.5),
            "narrowed: by is the share of the width that is lost, at most 1",
        ),
        (lambda: corrupt(BOUNDS, [0.5], "shifted", 0.1), "means must be one finite number for each of 3 arms"),
        (lambda: corrupt(BOUNDS, [0.5, 0.5, np.nan], "shifted", 0.1), "means must be one finite number for each of 3"),
        (lambda: corrupt(BOUNDS, MEANS, "cap-too-low", 2.0), "puts the bound of arm 'a' at -1.1, outside its range"),
        (lambda: corrupt(BOUNDS, MEANS, "bad-favoured", 0.2), r"arm 'c' at 1.1, .*; take by at most 0.1$"),
        (lambda: corrupt(BOUNDS, MEANS, "best-pruned", 0.3), r"arm 'a' at -0.1, .*; take by at most 0.2$"),
        (lambda: corrupt(BOUNDS.subset([0]), [0.9], "best-pruned", 0.1), "needs another arm"),
        (lambda: ANY([0.1], MEANS, "shifted", 0.1), "bounds must be MeanBounds"),
        (
            lambda: corrupt_log(LOG, MEANS, BOUNDS, "shifted", 0.1),
            "kind must be one of 'expert-errs', 'best-understated'",
        ),
        (
            lambda: corrupt_log(LOG, MEANS, BOUNDS, "expert-errs", 1.5),
            "share of cases that are errors, at most 1; got 1.5",
        ),
        (
            lambda: corrupt_log(LOG, MEANS, BOUNDS, "best-understated", 0.95),
            "the logged mean of arm 'a' can fall by 0.9 at most; got by=0.95",
        ),
        (lambda: ANY_LOG(LOG.to_dict(), MEANS, BOUNDS, "expert-errs", 0.1), "log must be a mb.LoggedArms"),
    ],
)
def test_refused_in_words(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        call()
