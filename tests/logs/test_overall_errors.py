"""Errors that are a share of the whole log may all be in one context, and its share of the log is estimated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.attaining import WORLDS, World, contained
from scipy import stats

import meanbounds as mb

WORLDS_DRAWN, ROWS, CONFIDENCE = 2_000, 2_000, 0.8
ARMS = [0, 1, 2]


def drawn(rng: np.random.Generator, violated: float) -> tuple[World, World, float, mb.logs.ErringExpert]:
    """A context with all errors, which attains its bounds, one without any, and how much of the log the first is."""
    first, assumed = WORLDS["erring"](rng, violated)
    assert isinstance(assumed, mb.logs.ErringExpert)
    assert isinstance(assumed.errors, float)
    assert isinstance(assumed.gap_low, float)
    share = float(rng.uniform(0.3, 0.8))
    second, _ = WORLDS["optimal"](rng, 1.0)
    gaps: dict[mb.logs.Context, float] = {"first": assumed.gap_low, "second": 0.0}
    return first, second, share, mb.logs.ErringExpert(assumed.errors * share, gaps, overall=True)


def joined(one: mb.logs.Counts, two: mb.logs.Counts, share: float = 0.5) -> mb.logs.Counts:
    """Two contexts as one log; infinite logs by how much of it each is."""
    parts: dict[str, Any] = {}
    for name in ("count", "total", "squares"):
        pair = [getattr(own, name)[0] for own in (one, two)]
        parts[name] = np.stack([2.0 * share * pair[0], 2.0 * (1.0 - share) * pair[1]])
    return mb.logs.Counts(["first", "second"], ARMS, **parts)


@pytest.mark.no_cover  # it repeats what other tests do once
@pytest.mark.slow
def test_all_bounds_hold_at_once() -> None:
    """At least 80% of the logs have bounds that all hold; if so, the test fails with probability below 1e-6."""
    rng, misses = np.random.default_rng(11), 0
    for _ in range(WORLDS_DRAWN):
        first, second, share, assumed = drawn(rng, 1.0)
        rows = int(rng.binomial(ROWS, share))
        counts = joined(first.counts(rows, rng), second.counts(ROWS - rows, rng))
        try:
            found = mb.logs.bounds(counts, assumed, confidence=CONFIDENCE, method="kl", arms=ARMS)
            misses += not (contained(found["first"], first) and contained(found["second"], second))
        except mb.BoundsError:
            misses += 1
    assert misses <= stats.binom.isf(1e-6, WORLDS_DRAWN, 1.0 - CONFIDENCE)


def test_bounds_of_an_infinite_log_are_attained() -> None:
    """They hold where all errors are in one context, and mostly break if there are twice as many."""
    rng, broken = np.random.default_rng(12), 0
    for _ in range(100):
        first, second, share, assumed = drawn(rng, 1.0)
        found = mb.logs.bounds(joined(first.infinite(), second.infinite(), share), assumed, infinite=True)
        assert contained(found["first"], first, 1e-9)
        assert contained(found["second"], second, 1e-9)
        alone = mb.logs.ErringExpert(np.array([assumed.errors, assumed.errors]) / share, assumed.gap_low)
        expected = mb.logs.bounds(joined(first.infinite(), second.infinite(), share), alone, infinite=True)
        np.testing.assert_allclose(found["first"].upper, expected["first"].upper)
        first, second, share, assumed = drawn(rng, 2.0)
        try:
            found = mb.logs.bounds(joined(first.infinite(), second.infinite(), share), assumed, infinite=True)
            broken += not contained(found["first"], first, 1e-9)
        except mb.BoundsError:
            broken += 1
    assert broken >= 50


def test_small_contexts_say_little() -> None:
    count = np.array([[900.0, 90.0], [5.0, 5.0]])
    counts = mb.logs.Counts(["large", "small"], ["a", "b"], count=count, total=count / 2, squares=count / 2)
    overall = mb.logs.ErringExpert(0.02, overall=True)
    found, any_expert = (mb.logs.bounds(counts, one, infinite=True) for one in (overall, mb.logs.AnyExpert()))
    np.testing.assert_allclose(found["small"].upper, any_expert["small"].upper)
    assert np.all(found["large"].upper < any_expert["large"].upper - 0.02)
    finite = mb.logs.bounds(counts, overall)
    by_hand = mb.logs.bounds(counts, mb.logs.ErringExpert({"large": 0.02 / 0.9, "small": 1.0}))
    exact = mb.logs.bounds(counts, mb.logs.ErringExpert({"large": 0.02 / 0.99, "small": 1.0}))
    assert np.all(finite["large"].upper > exact["large"].upper)  # the share of the context is paid for
    assert np.all(finite["large"].upper < by_hand["large"].upper)


def test_saved_and_said_and_refused() -> None:
    three: Any = 3
    overall = mb.logs.ErringExpert(0.02, overall=True)
    assert mb.logs.assumption_from_dict(overall.to_dict()) == overall
    assert repr(overall) == "ErringExpert(0.02, overall=True)"
    assert "overall" not in mb.logs.ErringExpert(0.02).to_dict()
    assert "2% of the cases of the whole log" in overall.in_words()
    assert mb.logs.expert_bounds([0.5, 0.5], [0.2, 0.4], overall) == mb.logs.expert_bounds(
        [0.5, 0.5], [0.2, 0.4], mb.logs.ErringExpert(0.02)
    )
    with pytest.raises(mb.BoundsError, match="errors is one number, for the whole log"):
        mb.logs.ErringExpert({"a": 0.1}, overall=True)
    with pytest.raises(TypeError, match="overall must be True or False"):
        mb.logs.ErringExpert(0.1, overall=three)


def test_a_contradiction_says_what_the_log_allows() -> None:
    count = np.array([[500.0, 500.0], [400.0, 600.0]])
    total = np.array([[50.0, 450.0], [200.0, 300.0]])
    counts = mb.logs.Counts(["first", "second"], ["a", "b"], count=count, total=total, squares=total)
    with pytest.raises(mb.BoundsError, match=r"context 'first'.* The log allows errors of at least 0\.1667 or gap_low"):
        mb.logs.bounds(counts, mb.logs.ErringExpert(0.02, 0.3, overall=True), infinite=True)
    allowed = mb.logs.ErringExpert(0.1668, 0.3, overall=True)
    assert len(mb.logs.bounds(counts, allowed, infinite=True)) == 2
