"""The watch finds contradicted bounds: once, at the right reward, rarely by mistake."""

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds.evidence import Contradiction, ContradictionWarning, Watch, contradicted, log_e
from meanbounds.known import Known, Seen
from meanbounds.support.types import Integers

STARS = mb.MeanBounds([1.8, 2.2, 1.0], [3.0, 5.0, 2.6], low=1.0, high=5.0)  # four of the bounds say something


class Told:
    """A watch that is told rewards one by one, in units of the range."""

    def __init__(self, *bounds: mb.MeanBounds) -> None:
        self.know(*bounds)
        self.watch, self.seen = Watch(len(bounds)), Seen.empty(len(bounds), len(bounds[0]))
        self.pending = np.zeros((len(bounds), len(bounds[0])))

    def know(self, *bounds: mb.MeanBounds) -> None:
        self.known = Known.of([mb.Knowledge(own) for own in bounds])

    def tell(self, arm: int, *rewards: float, row: int = 0) -> list[Contradiction]:
        found = []
        for x in rewards:
            self.seen.add(np.array([row]), np.array([arm]), np.array([x]), np.array([0.5]))
            self.pending[row, arm] = max(0.0, self.pending[row, arm] - 1.0)
            plays, total, squares = (
                part.item(row, arm) for part in (self.seen.plays, self.seen.total, self.seen.squares)
            )
            found.append(self.watch.look(self.known, row, arm, plays, total, squares, self.pending.item(row, arm)))
        return [one for one in found if one is not None]

    def found(self, error: float | None = None) -> list[Contradiction]:
        return self.watch.contradictions(self.known, self.seen, self.pending, error)


def crossing(rewards: list[float], tests: float, missing: int = 0, **bound: float) -> int:
    """After how many rewards the e-process reaches the level; `missing` counts those to come before the first one."""
    n, x = np.arange(1, len(rewards) + 1), np.array(rewards)
    late = np.maximum(0, missing - n)
    values = np.asarray(log_e(n, x.cumsum(), squares=(x * x).cumsum(), missing=late, **bound))
    return int(np.flatnonzero(values >= math.log(tests / 0.01))[0]) + 1


def test_found_once_at_the_reward_that_crosses() -> None:
    told, rewards = Told(STARS), [1.0, 1.0, 0.25, 1.0] * 10
    n = crossing(rewards, 4, upper=0.5)
    assert told.tell(0, *rewards[: n - 1]) == told.found() == []
    assert [one.since for one in told.found(0.05)] == [None]
    (one,) = told.tell(0, *rewards[n - 1 :])
    assert (one.arm, one.side, one.bound, one.plays, one.since, one.context) == (0, "upper", 3.0, n, n, 0)
    squares, total = sum(x * x for x in rewards[:n]), sum(rewards[:n])
    assert (one.mean, one.log_e) == pytest.approx((1 + 4 * total / n, log_e(n, total, upper=0.5, squares=squares)))
    assert [(one.since, one.plays) for one in told.found()] == [(n, 40)]
    text = str(ContradictionWarning(told.found()[0].named("tPA", "north")))
    assert text.startswith(
        "context 'north', arm 'tPA': 40 rewards with mean 4.25 contradict its upper bound 3 (e-value"
    )
    assert "replace the bounds, or lower the trust" in text
    (lower,) = told.tell(0, *[0.0] * 800)
    assert [(one.side, one.since) for one in told.found()] == [("lower", lower.plays), ("upper", n)]  # the alarm stays
    assert [one.side for one in told.found(0.01)] == ["lower"]  # what is contradicted now
    with pytest.raises(ValueError, match="error must be a probability"):
        told.found(0)


@pytest.mark.parametrize(("side", "x"), [("upper", 1.0), ("lower", 0.0)])
def test_pulls_without_a_reward_count_for_the_bound(side: str, x: float) -> None:
    """Only rewards that speak against the bound come back, at once: those that are missing may all speak for it."""
    told = Told(mb.MeanBounds([0.5 * (side == "lower")], [1.0 - 0.5 * (side == "upper")]))
    told.pending[:] = 100.0
    assert told.tell(0, *[x] * 50) == told.found() == []
    waiting, told.pending = told.pending, np.zeros((1, 1))
    assert len(told.found()) == 1  # if all were cancelled
    told.pending = waiting
    (one,) = told.tell(0, *[x] * 40)
    assert one.since == crossing([x] * 100, 1, missing=100, **{side: 0.5})


def test_what_was_found_is_saved_and_other_bounds_are_looked_at_afresh() -> None:
    told = Told(STARS)
    n = told.tell(0, *[1.0] * 20)[0].since
    saved = json.loads(json.dumps(told.watch.to_list()))
    assert saved == [[0, 0, "upper", 3.0, n]]
    told.watch = Watch(1, found=saved)
    told.know(mb.MeanBounds([1.4, 2.2, 1.0], [3.0, 5.0, 2.6], low=1.0, high=5.0))
    assert told.tell(0, 1.0) == []
    assert [one.since for one in told.found()] == [n]  # a bound that stays
    told.know(mb.MeanBounds([1.8, 2.2, 1.0], [4.8, 5.0, 2.6], low=1.0, high=5.0))
    assert told.found() == told.tell(0, 1.0) == []
    told.know(mb.MeanBounds([1.8, 2.2, 1.0], [3.2, 5.0, 2.6], low=1.0, high=5.0))
    assert [(one.bound, one.plays) for one in told.tell(0, 1.0)] == [(3.2, 23)]
    told.watch.forget(0)
    assert told.watch.to_list() == []


def test_contexts_share_the_error() -> None:
    told = Told(STARS, STARS, mb.MeanBounds([1.0] * 3, [3.0, 5.0, 5.0], low=1.0, high=5.0))
    for row, tests in ((1, 3 * 4), (2, 3 * 1)):
        (one,) = told.tell(0, *[1.0] * 30, row=row)
        assert (one.context, one.since) == (row, crossing([1.0] * 30, tests, upper=0.5))
    assert [one.context for one in told.found()] == [1, 2]
    late, many = Told(STARS), 1 + crossing([1.0] * 40, 6 * 4, upper=0.5)  # rows 1 and 2 came later: shares 1/2 and 1/6
    assert [late.watch.look(late.known, 2, 0, n, n, n) is None for n in (many - 2, many - 1)] == [True, False]


def test_runs_are_looked_at_as_a_watch_would() -> None:
    """All rows in one call, with pending pulls."""
    rng, bounds = np.random.default_rng(3), mb.MeanBounds([0.5, 0.1, 0.0], [0.8, 0.4, 0.6])
    plays, pending = rng.integers(1, 200, (40, 3)).astype(float), rng.integers(0, 3, (40, 3)).astype(float)
    total, known = np.floor(plays * rng.random((40, 3))), Known.of([mb.Knowledge(bounds)])
    seen = Seen(plays, total, 0.8 * total + 0.2 * total**2 / plays, total)
    for row, which in enumerate(contradicted(known, seen, pending).transpose(1, 2, 0)):
        sums = zip(plays[row], total[row], seen.squares[row], pending[row], strict=True)
        found = [Watch().look(known, 0, k, *own) for k, own in enumerate(sums)]
        assert [one and one.side for one in found] == [("lower" if a else "upper" if b else None) for a, b in which]


RIGHT = [0.6, 1.0, 0.8, 0.2]  # upper bounds


def first_alarms(upper: list[float], means: list[float], error: float, runs: int, rounds: int, **how: Any) -> Integers:
    """In which round of each run a bound is contradicted, `rounds` for never; mostly the arm that looks best is played.

    Rewards are 0 and 1, or graded: uniform on the widest interval around the mean.
    """
    rng, known = np.random.default_rng(2), Known.of([mb.Knowledge(mb.MeanBounds([0.0, 0.3, 0.5, 0.05], upper))])
    seen, first, rows, mu = Seen.empty(runs, 4), np.full(runs, rounds), np.arange(runs), np.array(means)
    for t in range(rounds):
        best = np.where(seen.plays > 0.0, seen.total / np.maximum(seen.plays, 1.0), 1.0).argmax(axis=1)
        arms, u = np.where(rng.random(runs) < 0.8, best, rng.integers(4, size=runs)), rng.random(runs)
        wide, noise = np.minimum(mu, 1.0 - mu)[arms], 2.0 * u - 1.0
        x = mu[arms] + wide * noise if how.get("graded") else np.asarray(u < mu[arms], dtype=np.float64)
        seen.add(rows, arms, x, u)
        if t % how.get("step", 1) == 0:
            first[contradicted(known, seen, error=error).any(axis=(0, 2)) & (first == rounds)] = t + 1
            if (first < rounds).all():
                break
    return first


@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("means", [[0.6, 0.3, 0.8, 0.2], [0.6, 0.3, 0.5, 0.05]])
def test_few_false_alarms(means: list[float], graded: bool) -> None:
    """Means at the bounds, which is worst: 400 runs of 10,000 rounds, error 0.1. False-failure rate 1e-6."""
    found = first_alarms(RIGHT, means, 0.1, 400, 10_000, graded=graded, step=10) < 10_000
    assert stats.binom.sf(np.count_nonzero(found) - 1, 400, 0.1) > 1e-6


@pytest.mark.parametrize(
    ("means", "soon"),
    [([0.7, 0.5, 0.6, 0.1], 1_500), ([0.5, 0.5, 0.9, 0.1], 800), ([0.5, 0.5, 0.6, 0.4], 2_500)],
)
def test_wrong_bounds_are_found(means: list[float], soon: int) -> None:
    """The mean of one arm is 0.1 or 0.2 above its bound: all of 200 runs give the alarm, half of them soon."""
    found = first_alarms(RIGHT, means, 0.01, 200, 20_000, step=10)
    assert (found < 20_000).all()
    assert np.median(found) < soon
