"""Thompson sampling: probabilities against scipy's distributions and against the frequencies of decisions."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.policies.base import choose
from meanbounds.posterior import posterior
from meanbounds.support.streams import Draws, stream
from meanbounds.support.types import Floats

pytestmark = pytest.mark.usefixtures("as_the_engine_does")

PLAIN = mb.ThompsonSampling(settle=False)
ONCE = np.ones(1)


def known_of(lower: Any, upper: Any, **more: Any) -> Known:
    return Known.of([mb.Knowledge(mb.MeanBounds(lower, upper), **more)])


def seen_of(plays: Any, ones: Any) -> Seen:
    plays, ones = np.atleast_2d(np.array(plays, dtype=float)), np.atleast_2d(np.array(ones, dtype=float))
    return Seen(plays, ones, ones, ones)


def probabilities(known: Known, seen: Seen) -> Floats:
    return PLAIN.probabilities(known, seen, ONCE)


def slow(known: Known, seen: Seen) -> Floats:
    """The integral of each density times the other distribution functions, on a grid of 200,001 places."""
    x = np.linspace(0.0, 1.0, 200_001)
    weight, a, b, lower, upper = (own[:, 0, :, None] for own in posterior(known, seen).parts)
    law = stats.beta(a, b)
    inside = np.clip(x, lower, upper)
    below = (weight * (law.cdf(inside) - law.cdf(lower)) / (law.cdf(upper) - law.cdf(lower))).sum(axis=0)
    middle = 0.5 * (below[:, 1:] + below[:, :-1])
    found = [(np.diff(below[k]) * np.prod(np.delete(middle, k, axis=0), axis=0)).sum() for k in range(len(below))]
    return np.array([found])


def test_closed_forms() -> None:
    vacuous = known_of([0.0, 0.0], [1.0, 1.0])
    np.testing.assert_allclose(probabilities(vacuous, seen_of([3, 0], [2, 0])), [[0.6, 0.4]], atol=1e-9)
    # A mean that is known, against Beta(1, 3): the chance of less than 0.5 is 1 - 0.5^3.
    point = known_of([0.5, 0.0], [0.5, 1.0])
    np.testing.assert_allclose(probabilities(point, seen_of([7, 2], [0, 0])), [[0.875, 0.125]], atol=1e-7)
    # Three known means, of which two are equal.
    equal = known_of([0.5, 0.5, 0.4], [0.5, 0.5, 0.4])
    np.testing.assert_allclose(probabilities(equal, seen_of([7, 2, 1], [0, 0, 1])), [[0.5, 0.5, 0.0]], atol=1e-6)


@pytest.mark.parametrize("trust", [1.0, 0.9, [0.99, 1.0, 0.5, 0.9]])
def test_probabilities_agree_with_a_fine_grid(trust: Any) -> None:
    rng = np.random.default_rng(9)
    for prior in (None, mb.Prior([0.3, 0.6, 0.5, 0.7], [6.0, 9.0, 2.0, 4.0])):
        lower, upper = [0.1, 0.3, 0.0, 0.45], [0.6, 0.8, 1.0, 0.9]
        known = known_of(lower, upper, trust=trust, prior=prior)
        plays = rng.integers(0, 40, 4)
        seen = seen_of(plays, np.floor(plays * rng.random(4)))
        np.testing.assert_allclose(probabilities(known, seen), slow(known, seen), atol=1e-7)


@pytest.mark.parametrize(("trust", "moments"), [(1.0, 1), (0.9, 1), (1.0, 2), (0.9, 2)])
def test_decisions_have_these_probabilities(trust: float, moments: int) -> None:
    bounds = mb.MeanBounds([0.2, 0.1, 0.4, 0.0], [0.6, 0.9, 0.4, 0.7], low=0.0, high=[1.0, 2.0, 1.0, 1.0])
    known, policy = Known.of([mb.Knowledge(bounds, trust=trust)]), mb.ThompsonSampling(moments=moments, settle=False)
    parts = [6.0, 9.0, 3.0, 0.0], [4.0, 3.5, 1.0, 0.0], [3.5, 2.0, 0.6, 0.0], [4.0, 4.0, 1.0, 0.0]
    chances = policy.probabilities(known, Seen(*(np.array([part]) for part in parts)), ONCE)
    draws = Draws(stream(4, np.arange(20_000), "policy"), 3)
    arms = choose(policy, known, Seen(*(np.tile(part, (20_000, 1)) for part in parts)), ONCE, draws)
    for chance, count in zip(chances[0], np.bincount(arms, minlength=4), strict=True):
        # An exact test; right policies fail one of these 16 with probability at most 1e-6 together.
        assert stats.binomtest(int(count), 20_000, min(1.0, chance)).pvalue > 6e-8


def test_many_arms_and_extreme_counts() -> None:
    rng = np.random.default_rng(10)
    plays = 10.0 ** rng.uniform(0, 8, 30)
    seen = seen_of(np.floor(plays), np.floor(plays * (0.5 + 0.1 * rng.random(30))))
    for trust in (1.0, 0.99):
        found = probabilities(known_of([0.3] * 30, [0.55] * 30, trust=trust), seen)
        assert found.sum() == pytest.approx(1.0, abs=1e-12)
        assert (found >= 0.0).all()
    np.testing.assert_allclose(probabilities(known_of([0.0] * 30, [1.0] * 30), Seen.empty(1, 30)), 1.0 / 30, atol=1e-8)


def test_rows_that_settle_draw_nothing_and_others_do() -> None:
    known = known_of([0.2, 0.2], [0.8, 0.8])
    seen, t = seen_of([[1, 0], [200, 200]], [[1, 0], [20, 10]]), np.array([2.0, 401.0])
    found = mb.ThompsonSampling().probabilities(known, seen, t)
    np.testing.assert_array_equal(found[0], [1.0, 0.0])
    np.testing.assert_allclose(found[1], probabilities(known, seen.row(1))[0])
    assert 0.0 < found[1, 1] < 0.5


def test_probabilities_are_not_negative_where_distribution_functions_are_rounded() -> None:
    bounds = mb.MeanBounds(
        [0.36050744523849826, -0.4047727128545032, -0.61],
        [0.4984131059785973, -0.3015278415847276, 0.5464425683026183],
        low=[-0.42, -0.67, -0.61],
        high=[1.04, 0.39, 0.89],
    )
    known = Known.of([mb.Knowledge(bounds, trust=0.3)])
    plays, ones = np.array([[15.0, 0, 221]]), np.array([[10.0, 0, 202]])
    found = mb.ThompsonSampling().probabilities(known, Seen(plays, ones, ones, ones), np.array([241.0]))
    assert (found >= 0.0).all()
    assert found.sum() == pytest.approx(1.0)
