"""Indices by hand and by definition, ties, settling, and bounds that may be wrong."""

from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.policies.base import choose
from meanbounds.support.streams import Draws, stream
from meanbounds.theory import variance_proxy

CLIPPED: list[mb.policies.IndexPolicy] = [mb.BUCB(), mb.ImprovedUCB(), mb.GLUE(), mb.BKLUCB()]


def told(policy: Any, known: Any, *rewards: tuple[Any, float]) -> mb.Agent:
    agent = mb.Agent(policy, known, seed=1)
    for arm, reward in rewards:
        agent.update(arm, reward, pulled=False)
    return agent


def test_after_t_rewards_the_index_has_f_of_t_plus_1() -> None:
    """After 40 rewards of "tPA" with mean 1/2: 1/2 + sqrt(2 c(0.7) log 41 / 40) = 0.71, below its cap."""
    bounds = mb.MeanBounds([0.7, 0.2], [1.0, 0.9], arms=["tPA", "medical"])
    agent = told(mb.GLUE(f="t"), bounds, *[("tPA", float(n % 2)) for n in range(40)])
    index = 0.5 + np.sqrt(2 * variance_proxy(0.7) * np.log(41) / 40)
    assert agent.indices() == pytest.approx([index, 0.9], rel=1e-14)
    for _ in range(9):  # as if each had returned the mean so far
        agent.pull(eligible=["tPA"])
    assert agent.indices() == pytest.approx([0.5 + np.sqrt(2 * variance_proxy(0.7) * np.log(50) / 49), 0.9], rel=1e-14)


def test_pending_pulls_count_as_the_mean_so_far() -> None:
    """Arm 0: rewards 1 and 0.5, three pulls out, of which two count. Arm 1: no reward, two out, the middle is 0.4."""
    known = Known.of([mb.Knowledge(mb.MeanBounds([1.0, 1.4, 1.0], [3.0, 1.8, 3.0], low=1.0, high=[3.0, 2.5, 3.0]))])
    columns = [2.0, 0, 4], [1.5, 0, 1], [1.25, 0, 1], [1.0, 0, 1], [3.0, 2, 0]
    found = Seen(*(np.array([part]) for part in columns)).with_pending(known)
    for part, expected in (
        ("plays", [4, 2, 4]),
        ("total", [3, 0.8, 1]),
        ("squares", [2.5, 0.8, 1]),
        ("ones", [2, 0.8, 1]),
    ):
        np.testing.assert_allclose(getattr(found, part)[0], expected)


@pytest.mark.parametrize("policy", CLIPPED, ids=str)
def test_with_trust_the_index_is_that_of_the_definition(policy: mb.policies.IndexPolicy) -> None:
    """The larger of: the index with bounds; without the arm's own, for log N; without what excludes it, for the least.

    Bounds that are certain stay, and so does the arm's own cap where it is not the arm's own bounds that are doubted.
    """
    rng, freed = np.random.default_rng(7), 0
    for _ in range(300):
        size = int(rng.integers(2, 6))
        lower, upper = np.sort(rng.random((2, size)), axis=0)
        trust = rng.choice([0.5, 0.9, 0.99, 1.0], size)
        trust[0] = 0.9
        known = Known.of([mb.Knowledge(mb.MeanBounds(lower, upper), trust=trust)])
        certain = Known.of([mb.Knowledge(mb.MeanBounds(lower, upper))])
        free = Known.of([mb.Knowledge(mb.MeanBounds(np.where(trust < 1, 0.0, lower), np.where(trust < 1, 1.0, upper)))])
        plays = rng.integers(0, rng.choice([3, 40, 1000]), size).astype(float)[None]
        seen, t = Seen(plays, *[plays * rng.random(size)] * 3), float(rng.choice([2, 30, 1e4]))
        level = float(policy.log_f(np.array([t]))[0])

        def index(of: Known, at: float, seen: Seen = seen) -> list[float]:
            found: list[float] = policy.index(of, seen, np.array([[at]]))[0].tolist()
            return found

        with np.errstate(divide="ignore", invalid="ignore"):
            (scores, means), plain = policy.scores(known, seen, np.array([t])), index(certain, level)
            price = -np.log1p(-trust)
            least = price[free.possible[0]].min()
            for k in range(size):
                own = index(free, level - price[k])[k] if level > price[k] else -np.inf
                if least < price[k] and level > least:
                    own = max(own, min(upper[k], index(free, level - least)[k]))
                assert scores[0, k] == pytest.approx(max(plain[k], own), rel=1e-12)
                if own > plain[k]:
                    mean = seen.clipped_mean(free)[0, k]
                    freed += abs(mean - seen.clipped_mean(known)[0, k]) > 1e-9
                    assert means[0, k] == mean
    assert freed > 50


@pytest.mark.parametrize("policy", CLIPPED, ids=str)
def test_of_arms_at_a_common_cap_the_better_one_is_played(policy: mb.policies.IndexPolicy) -> None:
    """An arm that was never played counts with its lower bound."""
    bounds = mb.MeanBounds([0.1, 0.2, 0.3], [0.6, 0.6, 0.1 + 0.5])
    assert told(policy, bounds).pull() == 2
    agent = told(policy, bounds, (0, 0.5), (1, 0.4), (2, 0.2))
    assert agent.indices() == pytest.approx([0.6] * 3)
    assert agent.probabilities().tolist() == [1.0, 0.0, 0.0]
    assert {agent.pull() for _ in range(20)} == {0}


def test_costs_of_bimed_that_differ_by_rounding_are_equal() -> None:
    """Three rewards of 0.4 have a sum of 1.2000000000000002 or, told at once, of 1.2: the costs differ by 3e-15."""
    plays, totals = (np.tile(own, (200, 1)) for own in ([3000.0, 3.0, 3.0], [2970.0, 0.4 + 0.4 + 0.4, 1.2]))
    known, seen = Known.of([mb.Knowledge(mb.MeanBounds.vacuous(3))]), Seen(plays, totals, totals, totals)
    policy, t, draws = mb.BIMED(settle=False), np.array([3007.0]), Draws(stream(1, np.arange(200), "policy"), 0)
    costs = policy.scores(known, seen, t)[0][0]
    assert 0.0 < abs(costs[1] - costs[2]) < 1e-13
    assert {*choose(policy, known, seen, t, draws).tolist()} == {1, 2}


@pytest.mark.filterwarnings("ignore::meanbounds.evidence.ContradictionWarning")
@pytest.mark.parametrize(
    "policy", [*CLIPPED, mb.BIMED(), mb.ThompsonSampling(settle=False), mb.OptimisticGittins(), mb.IDS()], ids=str
)
def test_an_arm_that_doubted_bounds_exclude_is_played_once_rewards_speak_for_it(policy: mb.policies.Policy) -> None:
    bounds = mb.MeanBounds([0.5, 0.1], [0.9, 0.45])
    agent = mb.Agent(policy, mb.Knowledge(bounds, trust=0.5), seed=1)
    for n in range(40):
        agent.update(0, float(n % 2), pulled=False)
        agent.update(1, 1.0, pulled=False)
    assert agent.probabilities()[1] > 0.99
    assert [agent.pull(pending="ignore") for _ in range(20)] == [1] * 20
    assert mb.Agent(policy, bounds, seed=1).probabilities().tolist() == [1.0, 0.0]


@pytest.mark.parametrize("policy", [mb.BIMED(), mb.ThompsonSampling()], ids=str)
def test_settling_where_caps_differ_by_rounding_or_an_arm_is_freed_up_to_its_own_cap(
    policy: mb.policies.Policy,
) -> None:
    """With equal caps evidence may reach half of log f, and a quarter with unequal ones.

    In the second case arm 1 is excluded by the bound 0.6, doubted at log 2; its own cap stays, at log 100 > log f.
    """
    for cap, settles in ((0.1 + 0.2, True), (0.3, True), (0.3 - 1e-6, False)):
        agent = told(policy, mb.MeanBounds([0.0, 0.0], [0.3, cap]), *[(0, float(n == 0)) for n in range(12)])
        assert (agent.probabilities()[0] == 1.0) == settles
    known = mb.Knowledge(mb.MeanBounds([0.6, 0.1], [0.8, 0.5]), trust=[0.5, 0.99])
    freed = told(policy, known, *[(0, float(n % 10 < 7)) for n in range(10)])
    assert freed.probabilities().tolist() == [1.0, 0.0]


def test_an_arm_that_can_at_best_tie_with_a_certain_one_is_left_out() -> None:
    known = mb.Knowledge(mb.MeanBounds([1.0, 1.0], [1.0, 1.0]), trust=[1.0, 0.9])
    assert mb.Agent(mb.GLUE(), known, seed=1).indices().tolist() == [1.0, -np.inf]


@pytest.mark.filterwarnings("ignore::meanbounds.evidence.ContradictionWarning")
@pytest.mark.parametrize("policy", CLIPPED, ids=str)
def test_an_arm_that_is_not_on_offer_frees_no_other(policy: mb.policies.IndexPolicy) -> None:
    """What excludes c are the bounds of a, which are hardly doubted; those of b are, and b is not on offer."""
    bounds = mb.MeanBounds([0.7, 0.8, 0.1], [0.9, 0.9, 0.6], arms=["a", "b", "c"])
    agent = mb.Agent(policy, mb.Knowledge(bounds, trust=[0.9999, 0.5, 1.0]), seed=1)
    for _ in range(100):
        assert agent.pull(eligible=["a", "c"]) == "a"
        agent.update("a", 0.2)  # far below what c may be, and below its own bound


def test_with_one_range_glue_has_the_printed_rule() -> None:
    """psi_k is the factor of k_max where l_max > 1/2, else the arm's own."""
    rng = np.random.default_rng(1)
    for size in [*range(1, 7)] * 30:
        lower, upper = np.sort(rng.random((2, size)), axis=0)
        bounds = mb.MeanBounds(lower, upper)
        kept = bounds.subset(bounds.possible)
        sigma = kept.variance_proxy
        expected = np.full(len(kept), sigma[kept.lower.argmax()]) if kept.best_lower > 0.5 else sigma
        assert kept.best_variance_proxy == pytest.approx(expected)
        assert bounds.best_variance_proxy[bounds.possible] == pytest.approx(expected)
        assert bounds.best_variance_proxy[~bounds.possible].tolist() == bounds.variance_proxy[~bounds.possible].tolist()


def test_factors_take_each_arm_in_its_own_range() -> None:
    """Arm 0 on [0, 1] with l = 0.8; arm 1 on [0, 2] has its middle, 1, inside [0.8, 1.5]: the printed rule, which gives
    it the factor of arm 0, would be too small."""
    bounds = mb.MeanBounds([0.8, 0.1], [1.0, 1.5], low=0.0, high=[1.0, 2.0])
    assert bounds.best_variance_proxy.tolist() == bounds.variance_proxy.tolist() == [variance_proxy(0.8), 1.0]
