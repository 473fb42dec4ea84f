"""The optimistic Gittins index against its equation, solved by scipy."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.posterior import posterior
from meanbounds.support.types import Floats

pytestmark = pytest.mark.usefixtures("as_the_engine_does")


def scores(policy: mb.OptimisticGittins, known: Known, seen: Seen, t: float) -> tuple[Floats, Floats]:
    return policy.scores(known, seen, np.array([t]))


def random_seen(rng: np.random.Generator, rows: int, arms: int, plays: int) -> Seen:
    counts = rng.integers(0, plays, (rows, arms)).astype(float)
    ones = np.floor(counts * rng.random((rows, arms)))
    return Seen(counts, ones, ones, ones)


@pytest.mark.parametrize("trust", [1.0, [0.9, 0.99, 0.5, 1.0]])
def test_index_solves_its_equation(trust: Any) -> None:
    rng, f = np.random.default_rng(3), 500.0
    lower, upper = [0.1, 0.0, 0.3, 0.45], [0.6, 1.0, 0.31, 0.9]
    known, seen = Known.of([mb.Knowledge(mb.MeanBounds(lower, upper), trust=trust)]), random_seen(rng, 4, 4, 30)
    index, mean = scores(mb.OptimisticGittins(), known, seen, f)
    possible = known.without_doubted.possible[0]
    assert (index[:, ~possible] == -np.inf).all()
    for place in zip(*np.nonzero(np.isfinite(index)), strict=True):
        expected, excess = 0.0, 0.0
        for weight, a, b, low, high in zip(*(own[:, *place] for own in posterior(known, seen).parts), strict=True):
            law, start = stats.beta(a, b), min(high, max(low, index[place]))
            share = weight / (law.cdf(high) - law.cdf(low))
            expected += share * law.expect(lambda x: x, lb=low, ub=high)
            excess += share * law.expect(lambda x: x, lb=start, ub=high, epsabs=1e-14)
            excess -= share * index[place] * (law.cdf(high) - law.cdf(start))
        assert mean[place] == pytest.approx(expected, abs=1e-8)
        assert f * excess == pytest.approx(index[place] - expected, rel=1e-6)


@pytest.mark.parametrize("t", [1.0, 30.0, 1e6, 1e12])
def test_index_of_an_arm_that_was_never_played_has_a_closed_form(t: float) -> None:
    lower, upper = np.array([0.0, 0.2, -3.0]), np.array([1.0, 0.21, 5.0])
    known = Known.of([mb.Knowledge(mb.MeanBounds(lower, upper, low=[0.0, 0.0, -3.0], high=[1.0, 1.0, 5.0]))])
    found = scores(mb.OptimisticGittins(), known.among(np.ones((1, 3), dtype=bool)), Seen.empty(1, 3), t)[0][0]
    room = upper - lower  # t (upper - v)^2 / (2 room) = v - mean
    expected = upper - room * (np.sqrt(1.0 + t) - 1.0) / t
    np.testing.assert_allclose(found[known.possible[0]], expected[known.possible[0]], rtol=1e-8)


def test_index_grows_with_the_round_and_with_each_success() -> None:
    rng = np.random.default_rng(4)
    for trust in (1.0, 0.99):
        known = Known.of([mb.Knowledge(mb.MeanBounds([0.1, 0.2, 0.0], [0.7, 0.9, 1.0]), trust=trust)])
        seen = random_seen(rng, 50, 3, 200)
        index, mean = scores(mb.OptimisticGittins(), known, seen, 100.0)
        assert (index > mean).all()
        assert (scores(mb.OptimisticGittins(), known, seen, 101.0)[0] > index).all()
        if trust == 1.0:
            assert (index < known.upper).all()
            more = Seen(seen.plays + 1.0, *(part + 1.0 for part in (seen.total, seen.squares, seen.ones)))
            less = Seen(seen.plays + 1.0, seen.total, seen.squares, seen.ones)
            assert (scores(mb.OptimisticGittins(), known, more, 100.0)[0] > index).all()
            assert (scores(mb.OptimisticGittins(), known, less, 100.0)[0] < index).all()


def test_large_numbers_of_plays() -> None:
    plays = np.array([[1e8, 1e8, 1e6]])
    ones = plays * [[0.6, 0.5999, 0.599]]
    known = Known.of([mb.Knowledge(mb.MeanBounds.vacuous(3))])
    index, mean = scores(mb.OptimisticGittins(), known, Seen(plays, ones, ones, ones), 2.01e8)
    spread = np.sqrt(0.24 / plays)
    np.testing.assert_allclose(mean, ones / plays, atol=1e-6)
    assert ((index - mean > 4.0 * spread) & (index - mean < 6.0 * spread)).all()


FAR_OUT = [  # Beta parameters, bounds, f
    (1.0, 1.0, 0.6169601383632616, 0.617244986691671, 3e5),
    (41.0, 361.0, 0.9, 1.0, 100.0),  # the mass between the bounds is 1e-301 of all
    (2.5, 1.5, 0.3, 1.0, 1e3),
    (1.3, 1.7, 0.0, 1.0 - 1e-9, 1e8),
    (900.0, 100.0, 0.905, 0.98, 2e4),
    (3e7, 7e7, 0.31, 0.4, 1e8),
    (3e7, 7e7, 0.1, 0.29, 1e8),
    (1e8, 1.0, 0.0, 1.0, 1e3),
]


@pytest.mark.parametrize("case", FAR_OUT, ids=str)
def test_gittins_indices_far_out(case: tuple[float, ...]) -> None:
    """Newton's step from the index is tiny beside the distance of the bounds."""
    a, b, lower, upper, f = case
    known = Known.of([mb.Knowledge(mb.MeanBounds([lower], [upper]))])
    plays, ones = np.array([[a + b - 2.0]]), np.array([[a - 1.0]])
    seen = Seen(plays, ones, ones, ones)
    index, mean = mb.OptimisticGittins().scores(known, seen, np.array([f]))
    believed = posterior(known, seen)  # with other integrals: test_posterior.py
    step = (f * believed.excess(index) - (index - mean)) / (f * believed.tail(index) + 1.0)
    assert lower < mean.item() < index.item() < upper
    assert abs(step.item()) < 1e-11 * (upper - lower)
