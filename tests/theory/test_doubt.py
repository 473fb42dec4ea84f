"""The price of doubt: bounds on plays and regret against simulations, and the numbers they are made of."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meanbounds as mb
from meanbounds.theory.doubt import _inverse_sums
from meanbounds.theory.passing import plays_until_passed

INDICES = (mb.BUCB(), mb.ImprovedUCB(), mb.GLUE(), mb.BKLUCB(), mb.UCBoost())
RIGHT = mb.MeanBounds([0.75, 0.65, 0.5, 0.3], [0.95, 0.85, 0.74, 0.6])
MEANS = np.array([0.9, 0.8, 0.7, 0.5])


def played(policy: mb.Policy, known: mb.Knowledge, means: np.ndarray, horizon: int, runs: int) -> mb.Regret:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mb.simulate(policy, mb.Bernoulli(means), known, horizon=horizon, runs=runs, seed=3, progress=False)


@pytest.mark.parametrize("policy", INDICES, ids=str)
@pytest.mark.parametrize("trust", [0.9, 0.99])
def test_pruned_arms_are_played_no_more_often(policy: mb.Policy, trust: float) -> None:
    known = mb.Knowledge(RIGHT, trust=trust)
    found = played(policy, known, MEANS, 3_000, 40)
    plays = found.plays[str(policy)].mean(axis=0)
    allowed = mb.theory.doubt_plays(MEANS, known, 3_000, policy=policy)
    first = mb.theory.doubt_plays(MEANS, known, 3_000, policy=policy, form="first order")
    pruned = ~RIGHT.possible
    assert pruned.sum() == 2
    assert np.all(plays[pruned] <= allowed[pruned])
    assert np.all(plays[pruned] > 0.0)
    assert np.all(first[pruned] <= allowed[pruned])


@pytest.mark.slow
def test_the_bounds_hold_in_random_worlds() -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        means = rng.uniform(0.05, 0.95, 4)
        off = rng.uniform(0.0, 0.3, (2, 4))
        wrong = rng.random() < 0.6
        centre = np.clip(means + (rng.uniform(-0.4, 0.4, 4) if wrong else 0.0), 0.0, 1.0)
        bounds = mb.MeanBounds(np.maximum(0.0, centre - off[0]), np.minimum(1.0, centre + off[1]))
        policy = INDICES[rng.integers(len(INDICES))]
        known = mb.Knowledge(bounds, trust=float(rng.choice([0.5, 0.9, 0.99])))
        found = played(policy, known, means, 2_000, 20).final[str(policy)]
        most = mb.theory.doubt_regret(means, known, 2_000, policy=policy)
        assert found.mean() - 3.0 * found.std() / math.sqrt(found.size) <= most


@pytest.mark.parametrize("policy", INDICES, ids=str)
def test_wrong_bounds_cost_what_ends(policy: mb.Policy) -> None:
    known = mb.Knowledge(mb.MeanBounds([0.5, 0.78], [0.75, 0.95]), trust=0.9)
    rounds = [10_000, 1_000_000, 100_000_000]
    most = np.asarray(mb.theory.doubt_regret([0.9, 0.8], known, rounds, policy=policy))
    assert np.all(np.diff(most) > 0.0)
    assert most[2] < 1.3 * most[1]  # as log n
    assert played(policy, known, np.array([0.9, 0.8]), 10_000, 10).final[str(policy)].mean() <= most[0]


def test_certain_bounds_that_are_wrong_may_cost_all() -> None:
    wrong = mb.MeanBounds([0.5, 0.78], [0.75, 0.95])
    assert mb.theory.doubt_regret([0.9, 0.8], mb.Knowledge(wrong), 10_000) == pytest.approx(1_000.0)
    assert mb.theory.doubt_regret([0.9, 0.9], mb.Knowledge(wrong, trust=0.9), 10_000) == 0.0


def test_more_trust_costs_less_while_bounds_hold_and_more_if_they_do_not() -> None:
    trusts = (0.5, 0.9, 0.99, 0.999, 1.0)
    plays = [mb.theory.doubt_plays(MEANS, mb.Knowledge(RIGHT, trust=trust), 10_000)[3] for trust in trusts]
    wrong = mb.MeanBounds([0.1, 0.65, 0.5, 0.3], [0.6, 0.85, 0.74, 0.6])
    loss = [mb.theory.doubt_regret(MEANS, mb.Knowledge(wrong, trust=trust), 10_000_000) for trust in trusts]
    assert np.all(np.diff(plays) < 0.0)
    assert plays[-1] == 0.0
    assert np.all(np.diff(loss) > 0.0)


def test_there_is_no_price_before_f_reaches_n() -> None:
    known = mb.Knowledge(RIGHT, doubt_after=10_000)
    early, late = mb.theory.doubt_plays(MEANS, known, [305, 307])[:, 3]
    assert mb.GLUE().log_f(305, 305)[0] < math.log(10_000) < mb.GLUE().log_f(307, 307)[0]
    assert early == 0.0 < late


@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.BIMED(), mb.OptimisticGittins()], ids=str)
def test_policies_without_a_proof_have_the_first_order(policy: mb.Policy) -> None:
    known = mb.Knowledge(RIGHT, trust=0.99)
    with pytest.raises(ValueError, match="first order"):
        mb.theory.doubt_plays(MEANS, known, 100, policy=policy)
    with pytest.raises(ValueError, match="proved for BUCB"):
        mb.theory.doubt_regret(MEANS, known, 100, policy=policy)
    level = policy.log_f(1_000, 1_000)[0] if policy.has_index else math.log(1_000)
    plays = mb.theory.doubt_plays(MEANS, known, 1_000, policy=policy, form="first order")
    assert plays[3] == pytest.approx(1.0 + (level - math.log(100)) / mb.bernoulli_kl(0.5, 0.9))
    assert plays[0] == 0.0
    assert np.all(np.diff(plays[1:]) < 0.0)  # the further below the best arm, the fewer


def test_a_policy_that_ignores_bounds_pays_nothing() -> None:
    assert np.all(mb.theory.doubt_plays(MEANS, mb.Knowledge(RIGHT, trust=0.9), 100, policy=mb.UCB()) == 0.0)


def test_nobody_can_have_both() -> None:
    better = 0.95
    for plays, horizon in [(0.0, 1_000), (3.0, 1_000), (3.0, 50_000)]:
        found = mb.theory.doubt_lower_bound(MEANS, RIGHT, 3, better, plays, horizon)
        expected = horizon / 4 * 0.05 * math.exp(-plays * mb.bernoulli_kl(0.5, better))
        assert found == pytest.approx(expected)
    assert np.shape(mb.theory.doubt_lower_bound(MEANS, RIGHT, 3, better, [0.0, 1.0], [10, 10])) == (2,)
    with pytest.raises(ValueError, match="above the largest mean"):
        mb.theory.doubt_lower_bound(MEANS, RIGHT, 3, 0.85, 1.0, 10)
    with pytest.raises(ValueError, match="plays must not be negative"):
        mb.theory.doubt_lower_bound(MEANS, RIGHT, 3, better, -1.0, 10)


@pytest.mark.parametrize("trust", [0.9, 0.99])
def test_policies_respect_the_lower_bound(trust: float) -> None:
    two = mb.MeanBounds([0.5, 0.1], [0.9, 0.45])
    known, worlds = mb.Knowledge(two, trust=trust), (np.array([0.6, 0.4]), np.array([0.6, 0.8]))
    for policy in (mb.GLUE(), mb.BKLUCB(), mb.ThompsonSampling()):
        right, wrong = (played(policy, known, means, 2_000, 40) for means in worlds)
        plays = float(right.plays[str(policy)].mean(axis=0)[1])
        least = mb.theory.doubt_lower_bound(worlds[0], two, 1, 0.8, plays, 2_000)
        assert right.final[str(policy)].mean() + wrong.final[str(policy)].mean() >= least


@settings(max_examples=30)
@given(st.floats(0.02, 0.8), st.floats(0.05, 1.0), st.floats(0.5, 20.0), st.integers(0, 2**32 - 1))
def test_a_mean_passes_as_rarely_as_said(mean: float, share: float, level: float, seed: int) -> None:
    goal = mean + (0.98 - mean) * share
    rewards = np.random.default_rng(seed).random((200, 3_000)) < mean
    s = np.arange(1, 3_001)
    means = np.cumsum(rewards, axis=1) / s
    near = (means >= goal) | (s * np.asarray(mb.bernoulli_kl(means, goal)) <= level)
    found = near.sum(axis=1)
    most = plays_until_passed(mean, np.array([goal]), np.array(level), mb.bernoulli_kl, mb.bernoulli_kl)[0]
    assert found.mean() - 4.0 * found.std() / math.sqrt(200) <= most


def test_late_rounds_are_summed_in_blocks() -> None:
    rounds = np.array([1, 10, 5_000, 300_000])
    inverse = np.where(mb.GLUE().log_f(1, 300_000) > math.log(100), np.exp(-mb.GLUE().log_f(1, 300_000)), 0.0)
    exact = np.cumsum(inverse)[rounds - 1]
    found = _inverse_sums(mb.GLUE(), math.log(100), rounds)
    assert found == pytest.approx(exact, rel=1e-3)
    assert np.all(found >= exact - 1e-12)


def test_an_arm_that_cannot_reach_the_best_one_is_tried_once() -> None:
    apart = mb.Knowledge(mb.MeanBounds([0.1, 3.0], [0.5, 4.0], low=[0.0, 0.0], high=[1.0, 5.0]), trust=0.9)
    plays = mb.theory.doubt_plays([0.3, 3.5], apart, 1_000, policy=mb.BKLUCB(), form="first order")
    assert plays.tolist() == [1.0, 0.0]


def test_means_outside_the_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"arm 3: its mean -1.0 is outside the range of its rewards, \[0.0, 1.0\]"):
        mb.theory.doubt_regret([0.9, 0.8, 0.7, -1.0], mb.Knowledge(RIGHT, trust=0.9), 10)
