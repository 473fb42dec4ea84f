"""The prior of a log: by hand, with few rows, in any range, and never outside the bounds for any expert."""

from math import inf
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.logs import Counts, Experts, bounds, prior
from meanbounds.theory import bernoulli_kl

table: Any = Counts  # from lists
EVERY = (
    Experts(errors=0),
    Experts(errors=0, gap_low=0.02, gap_high=0.9),
    Experts(errors=0.05),
    Experts(loss=0.03),
    Experts(),
    Experts(gap_high=0.8),
    Experts(odds=2),
    Experts(errors=0.1, odds=4),
)


def ones(count: Any, ones_of: Any, low: float = 0.0, high: float = 1.0) -> Counts:
    """Counts whose rewards are at the ends of the range; `ones_of` counts those at the upper end."""
    rows, top = np.array(count, dtype=float), np.array(ones_of, dtype=float)
    sums = low * rows + (high - low) * top, low**2 * rows + (high**2 - low**2) * top
    return table([f"z{z}" for z in range(len(rows))], list(range(rows.shape[1])), rows, *sums, low=low, high=high)


def laws(found: mb.Prior) -> tuple[Any, Any]:
    return np.array(found.mean), np.array(found.strength)


def test_by_hand() -> None:
    """Shares 0.6 and 0.4 of 1,000 rows, means 0.8 and 0.7 where chosen: from 0.48 to 0.76 and from 0.28 to 0.76.

    One other arm has all other rows, so the correlation does not matter.
    """
    mean, strength = laws(prior(ones([[600, 400]], [[480, 280]]), strongest=1e6, wait=inf)["z0"])
    for k, (middle, width) in enumerate(((0.62, 0.28), (0.52, 0.48))):
        centre = (1000 * middle + 1) / 1002
        variance = width**2 / 12 + centre * (1 - centre) / 1003
        assert mean[k] == pytest.approx(centre, rel=1e-9)
        assert strength[k] == pytest.approx(centre * (1 - centre) / variance - 1, rel=1e-9)


def test_correlation_by_hand() -> None:
    """Shares 0.5, 0.3, 0.2: for the first arm the squares of the others' parts of all other rows are 0.36 + 0.16."""
    counts = ones([[5e13, 3e13, 2e13]], [[4e13, 2.4e13, 1.6e13]])
    for r in (0.0, 0.5, 1.0):
        strength = laws(prior(counts, correlation=r, strongest=1e6, wait=inf)["z0"])[1][0]
        assert strength == pytest.approx(0.6 * 0.4 / ((r + (1 - r) * 0.52) * 0.4**2 / 12) - 1, rel=1e-6)


def test_strength_is_limited_by_plays_and_by_the_wait() -> None:
    mean, strength = laws(prior(ones([[6000, 4000]], [[5880, 2000]]), strongest=2.5)["z0"])
    assert strength[0] == pytest.approx(0.688 * 2.5 + 1.0, abs=0.01)  # the other parameter would be 0.78
    assert strength[1] == pytest.approx(2.0, abs=0.02)  # the wait is too long
    mean, strength = laws(prior(ones([[6000, 4000]], [[5880, 3600]]), strongest=1e6, wait=10.0)["z0"])
    best = (5880 + 1) / (6000 + 2)
    limit = np.log(10.0) / np.asarray(bernoulli_kl(mean[1], best))
    assert strength[1] == pytest.approx(limit)


@pytest.mark.parametrize("experts", EVERY, ids=repr)
def test_means_are_inside_the_bounds_for_any_expert(experts: Experts) -> None:
    """And both Beta parameters are at least 1, so that `Knowledge` takes the prior with these bounds."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        count = rng.integers(0, int(rng.choice([3, 40, 3000])), (2, 3))
        top = rng.binomial(count, rng.choice([0.0, 0.02, 0.5, 0.97, 1.0], (2, 3)))
        counts, shift = ones(count, top), float(rng.choice([0.0, 0.1]))
        try:
            found = prior(counts, experts, shift=shift)
        except mb.BoundsError:
            continue
        for context, own in bounds(counts, shift=shift).items():
            mean, strength = laws(found[context])
            assert np.all((own.lower - 1e-8 <= mean) & (mean <= own.upper + 1e-8))
            assert np.all(strength * np.minimum(mean, 1 - mean) >= 1.0)
            assert np.all(strength <= np.maximum(9.0, 1.001 / np.minimum(mean, 1 - mean)))
            mb.Knowledge(own, prior=found[context])


def test_arms_without_rows_contexts_without_rows_and_few_rows() -> None:
    found = prior(ones([[1000, 0], [0, 0]], [[800, 0], [0, 0]]))
    assert laws(found["z0"])[0] == pytest.approx([0.8, 0.4], abs=0.01)  # the other is between 0 and 0.8
    assert laws(found["z1"])[0] == pytest.approx([0.5, 0.5])
    assert laws(found["z1"])[1] == pytest.approx([2.0, 2.0])
    one = prior(ones([[1, 0]], [[1, 0]]))["z0"]
    assert [laws(one)[i][0] for i in (0, 1)] == pytest.approx([2 / 3, 3.0])  # Beta(2, 1), as after one play
    strengths = [laws(prior(ones([[n, 0]], [[0.6 * n, 0]]))["z0"])[1][0] for n in (5, 20, 1000)]
    assert strengths == sorted(strengths)
    assert strengths[-1] == 8.0


@pytest.mark.parametrize(("low", "high"), [(1.0, 5.0), (-3.0, -1.0), (0.0, 1e6)])
def test_any_range(low: float, high: float) -> None:
    count, top, width = [[600, 300, 100], [50, 0, 150]], [[480, 210, 90], [40, 0, 120]], high - low
    for name, number in (("loss", 0.03), ("gap_high", 0.9), ("errors", 0.1)):
        given: Any = {name: number * (1.0 if name == "errors" else width)}
        unit: Any = {name: number}
        scaled = prior(ones(count, top, low, high), Experts(**given))
        for context, own in prior(ones(count, top), Experts(**unit)).items():
            np.testing.assert_allclose(scaled[context].mean, low + width * np.array(own.mean), rtol=1e-6)
            np.testing.assert_allclose(scaled[context].strength, own.strength, rtol=1e-5)


def test_odds_count_the_rows_of_the_arm_and_propensities_their_weights() -> None:
    few = ones([[990, 10]], [[500, 5]])
    assert laws(prior(few, Experts(odds=1.0), strongest=1e6, wait=inf)["z0"])[1][1] < 15.0  # 10 rows and 2
    sums = np.array([[[990, 10]], [[500, 5]], [[500, 5]]])
    weighted = sums[[0, 1, 0, 1, 1]] / np.array([0.99, 0.01]) ** np.array([1, 1, 2, 2, 2])[:, None, None]
    known = table([None], [0, 1], *sums, weighted=weighted, least=0.01)
    mean, strength = laws(prior(known, Experts(), strongest=1e6, wait=inf)[None])
    assert mean[1] == pytest.approx(6 / 12)
    assert 10.0 < strength[1] < 15.0


def test_what_the_log_contradicts_and_wrong_arguments_are_refused() -> None:
    counts = ones([[8000, 2000]], [[7000, 800]])
    with pytest.raises(mb.BoundsError, match="The log allows errors of at least"):
        prior(counts, Experts(errors=0.0, gap_low=0.6))
    for name, wrong in (("strongest", 1.0), ("wait", 1.0), ("correlation", 1.1)):
        given: Any = {name: wrong}
        with pytest.raises(ValueError, match=f"{name} is "):
            prior(counts, **given)
