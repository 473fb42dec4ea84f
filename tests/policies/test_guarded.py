"""The guard: its rule against a slow one, its guarantee at its level, and what it refuses."""

from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.policies import Guarded
from meanbounds.policies.base import choose
from meanbounds.support.streams import Draws, stream
from meanbounds.support.types import Floats

NAMES: list[Any] = ["a", "b", mb.EXPERT]


def bounds(lower: Any, upper: Any, **ends: Any) -> mb.MeanBounds:
    return mb.MeanBounds(lower, upper, arms=NAMES, **ends)


@dataclass(frozen=True, repr=False)
class Always(mb.policies.Policy):
    """Wants one arm, whatever happens."""

    arm: int = 0

    def probabilities(self, known: Known, seen: Seen, t: Floats, cache: Any = None) -> Floats:
        return np.where(np.arange(seen.plays.shape[1]) == self.arm, 1.0, np.zeros(seen.plays.shape))


def statistics(plays: Any, total: Any, pending: Any = None) -> Seen:
    own, wins = (np.array([part], dtype=float) for part in (plays, total))
    return Seen(own, wins, wins, wins, None if pending is None else np.array([pending], dtype=float))


def largest_refuted(wins: float, size: int, error: float) -> float:
    """The largest average mean that the rewards refute, by bisection on the e-process of `mb.evidence`."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        refuted = middle < wins / max(size, 1) and mb.evidence.log_e(size, wins, upper=middle) >= -log(error)
        low, high = (middle, high) if refuted else (low, middle)
    return low


@pytest.mark.parametrize("seed", range(40))
def test_rule_is_that_of_a_slow_one(seed: int) -> None:
    """C + l_k >= n v - B(t), each of them computed apart, in a range that is not [0, 1]."""
    rng = np.random.default_rng(seed)
    low, high = 1.0, 5.0
    lower, value = rng.uniform(1.0, 3.0, 2), rng.uniform(2.5, 4.5)
    known = Known.of([mb.Knowledge(bounds([*lower, 1.0], [5.0, 5.0, value], low=low, high=high))])
    plays, asks = rng.integers(0, 400, 2), 5
    total = rng.binomial(plays, rng.uniform(0.3, 0.9, 2))
    seen = statistics([*plays, asks], [*total, 3])
    promises = mb.Promise(margin=0.1), mb.Promise(at_least=0.9), mb.Promise(failures=0.2), mb.Promise(total=40.0)
    n, t = plays.sum() + 1.0, plays.sum() + asks + 1.0
    sums = largest_refuted(float(total.sum()), int(plays.sum()), 0.75 * 0.1) * plays.sum()
    certain = ((lower - low) * plays).sum() / (high - low)
    allowed = []
    for promise, budget in zip(
        promises, (0.1 * t, 0.1 * (value - low) * t, 0.2 * (high - value) * t, 40.0), strict=True
    ):
        guarded = Guarded(Always(), promise, confidence=0.9)
        for arm in (0, 1):
            need = (n * (value - low) - (lower[arm] - low) - budget) / (high - low)
            right = max(sums, certain) - need
            if abs(right) > 1e-9:
                assert guarded.allows(known, seen, np.array([arm])) == (right > 0.0)
            allowed.append(right > 0.0)
    joint = Guarded(Always(), mb.Promise(margin=0.1, at_least=0.9, failures=0.2, total=40.0), confidence=0.9)
    assert joint.allows(known, seen, np.array([0])) == all(allowed[::2])


def test_experts_who_do_worse_than_the_log_says_are_easier_to_beat() -> None:
    """Their value is limited by what they earn when asked, too: 300 of 1,000 in place of 0.7."""
    known = Known.of([mb.Knowledge(bounds([0.0, 0.0, 0.5], [1.0, 1.0, 0.7]))])
    guarded, plays = Guarded(Always(), mb.Promise(margin=0.001)), np.array([0])
    assert not guarded.allows(known, statistics([200, 0, 0], [100, 0, 0]), plays)
    assert guarded.allows(known, statistics([200, 0, 1000], [100, 0, 300]), plays)
    later = statistics([200, 0, 1000], [100, 0, 690])
    assert not guarded.allows(known, later, plays)


def test_with_ask_the_log_counts_no_longer() -> None:
    known = Known.of([mb.Knowledge(bounds([0.0, 0.0, 0.5], [1.0, 1.0, 0.5]))])
    seen, arm = statistics([400, 0, 1000], [260, 0, 800]), np.array([0])
    assert Guarded(Always(), mb.Promise(margin=0.01)).allows(known, seen, arm)
    assert not Guarded(Always(), mb.Promise(margin=0.01), ask=0.05).allows(known, seen, arm)
    asked = [
        mb.Agent(Guarded(Always(), mb.Promise(margin=0.5), ask=0.25), known_of(1.0), seed=seed).pull() is mb.EXPERT
        for seed in range(400)
    ]
    assert stats.binomtest(sum(asked), 400, 0.25).pvalue > 1e-6


def known_of(lower: float) -> mb.MeanBounds:
    return bounds([lower, 0.0, 0.2], [1.0, 1.0, 0.3])


def test_answers_of_experts_that_have_not_come_count_as_the_highest() -> None:
    """Deaths are known at once, survival later: 100 answers are failures, and 900 have not come."""
    known, arm = Known.of([mb.Knowledge(bounds([0.0, 0.0, 0.5], [1.0, 1.0, 0.95]))]), np.array([0])
    for ask in (0.0, 0.05):
        guarded = Guarded(Always(), mb.Promise(margin=0.01), ask=ask)
        assert guarded.allows(known, statistics([300, 0, 100], [180, 0, 0]), arm)
        assert not guarded.allows(known, statistics([300, 0, 100], [180, 0, 0], [0, 0, 900]), arm)


def test_late_rewards_count_as_the_lowest() -> None:
    known, arm = Known.of([mb.Knowledge(bounds([0.0, 0.0, 0.4], [1.0, 1.0, 0.6]))]), np.array([0])
    guarded = Guarded(Always(), mb.Promise(margin=0.01))
    assert guarded.allows(known, statistics([300, 0, 0], [220, 0, 0]), arm)
    waiting = statistics([300, 0, 0], [220, 0, 0], [200, 0, 0])
    assert not guarded.allows(known, waiting, arm)
    assert guarded.allows(known, waiting, arm) == guarded.allows(known, statistics([500, 0, 0], [220, 0, 0]), arm)


def test_doubted_bounds_open_no_gate() -> None:
    """A lower bound with a trust below 1 is not used, nor is the experts' upper bound."""
    own = bounds([0.9, 0.0, 0.0], [1.0, 1.0, 0.2])
    for trust, allowed in ((1.0, True), ([0.9, 1.0, 0.9], False)):
        known = Known.of([mb.Knowledge(own, trust=trust)])
        seen = statistics([0, 0, 0], [0, 0, 0])
        assert Guarded(Always(), mb.Promise(margin=0.01)).allows(known, seen, np.array([0])) == allowed


def test_probabilities_put_the_experts_in_the_place_of_what_is_not_allowed() -> None:
    known = Known.of([mb.Knowledge(bounds([0.69, 0.0, 0.6], [1.0, 1.0, 0.7]))])
    seen = Seen.empty(1, 3)
    guarded = Guarded(mb.ThompsonSampling(settle=False), mb.Promise(margin=0.02))
    free = guarded.base.probabilities(known, seen, np.array([1.0]))[0]
    found = guarded.probabilities(known, seen, np.array([1.0]))[0]
    np.testing.assert_allclose(found, [free[0], 0.0, free[1] + free[2]])
    assert 0.1 < found[0] < 0.9
    asked = replace(guarded, ask=0.5).probabilities(known, seen, np.array([1.0]))[0]
    assert asked[2] == 1.0  # nobody has been asked yet, so nothing limits their value
    drawn = [choose(guarded, known, seen, np.array([1.0]), Draws(stream(s, [0], "policy"), 0))[0] for s in range(2000)]
    for k in (0, 2):
        assert stats.binomtest(drawn.count(k), 2000, found[k]).pvalue > 1e-6


HARD = {
    "an option just below": ([0.695, 0.3], 0.7, 0.0),
    "a worse one and a good one": ([0.5, 0.75], 0.7, 0.0),
    "rare successes": ([0.04, 0.04], 0.05, 0.0),
    "rare failures": ([0.93, 0.94], 0.95, 0.0),
    "late rewards, bad ones later": ([0.6, 0.6], 0.7, 40.0),
}


@pytest.mark.parametrize("promise", [mb.Promise(margin=0.01), mb.Promise(at_least=0.95)], ids=["margin", "share"])
@pytest.mark.parametrize("case", HARD)
def test_promise_is_kept_at_its_level(case: str, promise: mb.Promise) -> None:
    """500 runs of 800 decisions, by an exact test (false failures: 1e-6); `make soak` has more of them."""
    runs = 500
    assert stats.binomtest(broken(case, promise, runs, 800), runs, 0.1, alternative="greater").pvalue > 1e-6


def broken(case: str, promise: mb.Promise, runs: int, rounds: int) -> int:
    """In how many runs the promise breaks, made with a confidence of 0.9.

    The policy is as bad as the guard lets it be: it stays with the option that has looked best so far, among the
    two, from the first lucky reward on. Bad rewards come 40 decisions late, good ones at once.
    """
    means, value, late = HARD[case]
    known = Known.of([mb.Knowledge(bounds([0.0, 0.0, value], [1.0, 1.0, value]))])
    guarded, rng = Guarded(Lucky(), promise, confidence=0.9), np.random.default_rng(5)
    truth, rows = np.array([*means, value]), np.arange(runs)
    seen, pulls, earned = Seen.empty(runs, 3), np.zeros((runs, 3)), np.zeros(runs)
    crossed, waiting, keys = np.zeros(runs, dtype=bool), dict[int, list[Any]](), stream(1, rows, "policy")
    for t in range(1, rounds + 1):
        for some, arms in waiting.pop(t, ()):
            seen.add(some, arms, np.zeros(len(some)), np.zeros(len(some)))
        seen.pending = pulls - seen.plays
        arms = choose(guarded, known, seen, np.array([float(t)]), Draws(keys, t))
        pulls[rows, arms] += 1.0
        earned += truth[arms]
        reward = (rng.random(runs) < truth[arms]).astype(float)
        now = (reward == 1.0) | (late == 0.0) | (arms == 2)
        seen.add(rows[now], arms[now], reward[now], 0.0 * reward[now])
        waiting.setdefault(t + int(late), []).append((rows[~now], arms[~now]))
        allowed = promise.budgets(np.full(runs, value), np.full(runs, float(t)), np.zeros(runs), np.ones(runs))
        crossed |= earned < t * value - np.min(allowed, axis=0) - 1e-9
    assert pulls[:, :2].sum() > 0.0
    return int(crossed.sum())


@dataclass(frozen=True, repr=False)
class Lucky(mb.policies.Policy):
    """Plays the option with the largest mean so far, and never the experts."""

    def scores(self, known: Known, seen: Seen, t: Floats, draws: Draws, cache: Any = None) -> Floats:
        mean = np.where(seen.plays > 0.0, seen.total / np.maximum(seen.plays, 1.0), 1.0)
        return np.where(np.arange(3) < 2, mean, -np.inf)


def test_unguarded_the_same_policy_breaks_the_promise() -> None:
    """What the test above would find without a guard: a broken promise in more than half of 200 runs."""
    env = mb.Bernoulli([0.695, 0.3, 0.7])
    known = bounds([0.0, 0.0, 0.7], [1.0, 1.0, 0.7])
    rounds = range(1, 1001)
    regret = mb.simulate(Lucky(), env, known, horizon=1000, runs=200, seed=3, checkpoints=list(rounds))
    below = regret.curves["Lucky"] > 0.01 * np.arange(1, 1001)
    assert below.any(axis=1).mean() > 0.5


def guard(base: Any, promise: Any) -> Guarded:
    return Guarded(base, promise)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (mb.Promise, "needs a limit"),
        (lambda: mb.Promise(at_least=1.0), "at_least must be above 0 and below 1"),
        (lambda: mb.Promise(margin=0), "margin must be above 0"),
        (lambda: mb.Promise(total=float("nan")), "total must be"),
        (lambda: guard("GLUE", mb.Promise(margin=0.1)), "guard a policy"),
        (lambda: guard(mb.GLUE(), 0.01), "promise must be an object"),
        (lambda: Guarded(mb.GLUE(), mb.Promise(margin=0.1), confidence=1.0), "confidence must be a probability"),
        (lambda: Guarded(mb.GLUE(), mb.Promise(margin=0.1), f="t"), "give f to the policy"),
        (
            lambda: mb.Agent(Guarded(mb.GLUE(), mb.Promise(margin=0.1)), mb.MeanBounds([0, 0], [1, 1])),
            "needs them among the arms",
        ),
        (
            lambda: mb.Agent(Guarded(mb.GLUE(), mb.Promise(margin=0.1)), known_of(0.0)).pull(eligible=["a"]),
            "the experts are not eligible",
        ),
        (lambda: mb.Agent(mb.GLUE(), mb.MeanBounds([0], [1])).observe(0, 1.0), "cannot ask experts"),
        (lambda: mb.Agent(mb.GLUE(), known_of(0.0)).observe(mb.EXPERT, 1.0), "the arm that the experts chose"),
    ],
)
def test_refused(make: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        make()
