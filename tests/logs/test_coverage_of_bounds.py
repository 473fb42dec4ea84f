"""Bounds from finite logs contain the true means as often as they say, also where the truth is at a bound."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import meanbounds as mb
from meanbounds.logs import Counts, Experts, bounds, value
from meanbounds.simulation import HiddenContexts
from meanbounds.support.types import Floats

table: Any = Counts  # from lists
ARMS, ERROR, UNLIKELY = 3, 0.05, 1e-6  # `UNLIKELY` is how often a test fails although bounds hold as often as they say
Made = tuple[Floats, Any, Floats, Experts]


def counted(cases: HiddenContexts, rows: int, rng: np.random.Generator) -> Counts:
    """Counts of a log of this many rows, with all that the log does not show summed out."""
    joint = (cases.probabilities[..., None] * cases.choices)[..., None] * cases.law
    drawn = rng.multinomial(rows, joint.ravel() / joint.sum()).reshape(joint.shape).sum(axis=1)
    sums = [(drawn * cases.values**power).sum(axis=2) for power in (0, 1, 2)]
    low, high = float(cases.low[0]), float(cases.high[0])
    return table(cases.contexts, cases.arms, *sums, low=low, high=high)


def true_assumptions(cases: HiddenContexts, rng: np.random.Generator) -> Experts:
    """Some of what is true of these cases and of those who decided them, by context."""
    names = ("errors", "loss", "gap_low", "gap_high")
    numbers = {name: np.maximum(getattr(cases, name), 0.0).tolist() for name in names}  # a loss of 0 may be -1e-16
    truth = {name: dict(zip(cases.contexts, own, strict=True)) for name, own in numbers.items()}
    given: Any = {name: part for name, part in truth.items() if rng.random() < 0.5}
    return Experts(**given)


@pytest.mark.parametrize("graded", [False, True])
def test_random_worlds(graded: bool) -> None:
    """Two contexts with experts who err at random: all bounds of all contexts hold at once in 95% of the logs."""
    rng, missed, runs = np.random.default_rng([1, graded]), 0, 600
    for _ in range(runs):
        values = np.array([1.0, 2.5, 5.0]) if graded else np.array([0.0, 1.0])
        law = rng.dirichlet(np.full(values.size, 0.5), (2, 4, ARMS))
        ends = {"low": values[0], "high": values[-1], "values": values, "law": law}
        errors = float(rng.choice([0.0, 0.1, 0.4]))
        cases = HiddenContexts(law @ values, rng.dirichlet(np.ones(4), 2), errors=errors, **ends)
        experts = true_assumptions(cases, rng)
        log = counted(cases, int(rng.choice([30, 300, 3000])), rng)
        try:
            found = bounds(log, experts)
        except mb.BoundsError:
            missed += 1
            continue
        truth = zip(cases.contexts, cases.marginal_means, strict=True)
        missed += int(not all(found[context].contains(means).all() for context, means in truth))
    assert binom.sf(missed - 1, runs, ERROR) > UNLIKELY


def test_experts_of_whom_nothing_is_assumed_may_do_anything() -> None:
    rng, missed, runs = np.random.default_rng(2), 0, 600
    for _ in range(runs):
        means = rng.beta(0.5, 0.5, (1, 4, ARMS))
        choices = rng.dirichlet(np.full(ARMS, 0.3), (1, 4))
        cases = HiddenContexts(means, rng.dirichlet(np.ones(4)), choices=choices)
        found = bounds(counted(cases, int(rng.choice([10, 100, 1000])), rng))
        missed += int(not found["z0"].contains(cases.marginal_means[0]).all())
    assert binom.sf(missed - 1, runs, ERROR) > UNLIKELY


def test_limits_on_what_experts_earn() -> None:
    """Five contexts, all limits at once."""
    rng, missed, runs = np.random.default_rng(3), 0, 1000
    for _ in range(runs):
        cases = HiddenContexts(rng.uniform(size=(5, 3, ARMS)), rng.dirichlet(np.ones(3), 5), errors=0.2)
        lower, upper = value(counted(cases, int(rng.choice([50, 2000])), rng), confidence=0.95)
        missed += int(not np.all((lower <= cases.value) & (cases.value <= upper)))
    assert binom.sf(missed - 1, runs, ERROR) > UNLIKELY


# Worlds in which the truth is at a bound of an infinite log. Each kind of case has a probability, the arm that is
# chosen there, and the mean of each arm. With a factor above 1 what is assumed is false by this factor.


def right(rng: np.random.Generator, factor: float) -> Made:
    """Every other arm is gap_low below the best one, and gap_high too."""
    share, gap = rng.dirichlet(np.full(ARMS, 2.0)), float(rng.uniform(0.05, 0.2))
    best = rng.uniform(0.5, 0.9, ARMS)
    means = np.where(np.eye(ARMS, dtype=bool), best[:, None], best[:, None] - gap / factor)
    return share, np.arange(ARMS), means, Experts(errors=0.0, gap_low=gap)


def alike(rng: np.random.Generator, factor: float) -> Made:
    """Others are gap_high below the arm that was chosen, whoever chose it."""
    share, gap = rng.dirichlet(np.full(ARMS, 2.0)), float(rng.uniform(0.2, 0.4))
    best = rng.uniform(0.7, 0.95, ARMS)
    means = np.where(np.eye(ARMS, dtype=bool), best[:, None], np.maximum(best[:, None] - factor * gap, 0.0))
    return share, np.arange(ARMS), means, Experts(gap_high=gap)


def erring(rng: np.random.Generator, factor: float) -> Made:
    """Where the experts err the reward is 0, and others would have had 1; else others are gap_low below."""
    errors, gap = float(rng.uniform(0.02, 0.15)), float(rng.uniform(0.0, 0.2))
    share = (1.0 - factor * errors) * rng.dirichlet(np.full(ARMS, 2.0))
    best = rng.uniform(0.4, 0.9, ARMS)
    means = np.where(np.eye(ARMS, dtype=bool), best[:, None], best[:, None] - gap)
    wrong = np.array([[0.0, 1.0, 1.0 - gap]])
    chosen = np.array([*range(ARMS), 0])
    return np.append(share, factor * errors), chosen, np.vstack([means, wrong]), Experts(errors=errors, gap_low=gap)


def losing(rng: np.random.Generator, factor: float) -> Made:
    """One arm is never chosen, and everywhere better by the loss."""
    loss, target = float(rng.uniform(0.02, 0.1)), int(rng.integers(ARMS))
    chosen = np.array([k for k in range(ARMS) if k != target])
    share, own = rng.dirichlet(np.full(chosen.size, 2.0)), rng.uniform(0.3, 0.7, chosen.size)
    means = np.tile(own[:, None], (1, ARMS))
    means[:, target] += factor * loss
    return share, chosen, means, Experts(loss=loss)


def erring_and_losing(rng: np.random.Generator, factor: float) -> Made:
    """In a share of the cases arm 0 is better by the loss, which is 0.4 there; else others are gap_low below."""
    errors, gap = float(rng.uniform(0.1, 0.3)), float(rng.uniform(0.05, 0.15))
    loss = errors * 0.4
    best = rng.uniform(0.3, 0.55, 2)
    share = np.array([0.3, 0.7 - factor * errors, factor * errors])
    means = np.array(
        [
            [best[0], best[0] - gap, best[0] - gap],
            [best[1] - gap, best[1], best[1] - gap],
            [best[1] + 0.4, best[1], best[1]],
        ]
    )
    return share, np.array([0, 1, 1]), means, Experts(errors=errors, loss=loss, gap_low=gap)


def odds(rng: np.random.Generator, factor: float) -> Made:
    """Arm 0 earns 1 in one kind of case and 0 in another, which gets it less often, by the odds."""
    given = float(rng.uniform(1.3, 3.0))
    true, share, mean = given * factor, float(rng.uniform(0.3, 0.7)), float(rng.uniform(0.15, 0.85))
    up = min(true, 1.0 / mean * (1.0 - (1.0 - mean) / true))
    down = (1.0 - mean * up) / (1.0 - mean)
    rest = 1.0 - share
    probability = np.array([share * mean, share * (1.0 - mean), rest * mean * up, rest * (1.0 - mean) * down])
    means = np.array([[1.0, 0.4, 0.0], [0.0, 0.4, 0.0], [1.0, 0.4, 0.0], [0.0, 0.4, 0.0]])
    return probability, np.array([0, 0, 1, 1]), means, Experts(odds=given)


WORLDS: list[Callable[[np.random.Generator, float], Made]] = [right, alike, erring, losing, erring_and_losing, odds]


def log_of(share: Floats, chosen: Any, means: Floats, rows: int, rng: np.random.Generator | None) -> Counts:
    """Counts of a log with rewards of 0 and 1; without a generator, of one that is nearly infinite."""
    mean = means[np.arange(share.size), chosen]
    cells = (share[:, None] * np.stack([1.0 - mean, mean], axis=1)).ravel()
    drawn = np.round(cells * 1e13) if rng is None else rng.multinomial(rows, cells / cells.sum())
    sums = np.zeros((ARMS, 2))
    np.add.at(sums, chosen, drawn.reshape(-1, 2))
    return table([None], list(range(ARMS)), [sums.sum(axis=1)], [sums[:, 1]], [sums[:, 1]])


@pytest.mark.parametrize("make", WORLDS)
def test_worlds_at_the_bounds(make: Callable[[np.random.Generator, float], Made]) -> None:
    """An infinite log puts a bound at the truth, and finite logs miss it as seldom as they say.

    If what is assumed is false by half, long logs miss the truth, or say that it is false.
    """
    rng, runs = np.random.default_rng(4), 300
    for _ in range(20):
        share, chosen, means, experts = make(rng, 1.0)
        found, truth = bounds(log_of(share, chosen, means, 0, None), experts)[None], share @ means
        assert min(np.min(found.upper - truth), np.min(truth - found.lower)) == pytest.approx(0.0, abs=5e-5)
    for factor, rows in ((1.0, 200), (1.0, 5000), (1.5, 200_000)):
        missed = 0
        for _ in range(runs):
            share, chosen, means, experts = make(rng, factor)
            try:
                found = bounds(log_of(share, chosen, means, rows, rng), experts)[None]
                missed += int(not found.contains(share @ means).all())
            except mb.BoundsError:
                missed += 1
        if factor == 1.0:
            assert binom.sf(missed - 1, runs, ERROR) > UNLIKELY
        else:
            assert missed > 0.8 * runs


def test_known_propensities_in_two_groups() -> None:
    """Arms suit groups that the log does not record, and are chosen by known chances that differ between them."""
    rng, missed, runs, narrow = np.random.default_rng(5), 0, 500, 0.0
    for _ in range(runs):
        chances = rng.dirichlet(np.full(ARMS, 4.0), 2) * 0.7 + 0.1
        group, means = rng.dirichlet([2.0, 2.0]), rng.uniform(0.1, 0.9, (2, ARMS))
        rows = int(rng.choice([100, 3000]))
        cells = (group[:, None] * chances)[..., None] * np.stack([1.0 - means, means], axis=2)
        drawn = rng.multinomial(rows, cells.ravel()).reshape(2, ARMS, 2)
        w, n, y = 1.0 / chances, drawn.sum(axis=2), drawn[..., 1]
        weighted = [(part).sum(axis=0)[None] for part in (w * n, w * y, w**2 * n, w**2 * y, w**2 * y)]
        one = [n.sum(axis=0)], [y.sum(axis=0)], [y.sum(axis=0)]
        found = bounds(table([None], list(range(ARMS)), *one, weighted=weighted, least=0.1))[None]
        missed += int(not found.contains(group @ means).all())
        narrow += float(np.mean(found.upper - found.lower)) / runs * (rows == 3000)
    assert binom.sf(missed - 1, runs, ERROR) > UNLIKELY
    assert narrow < 0.2
