"""A prior that is learned: its weights and laws against brute force, what it is worth, and that it is kept."""

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.learned import LAWS, SHARES
from meanbounds.policies import Policy
from meanbounds.posterior import BetaPosterior, posterior
from meanbounds.support.types import Floats


def learned(lower: Any, upper: Any, **more: Any) -> mb.Knowledge:
    return mb.Knowledge(mb.MeanBounds(lower, upper, **more), prior=mb.Prior.learned())


def believed(known: mb.Knowledge, plays: Any, ones: Any, moments: int = 1) -> BetaPosterior:
    return posterior(Known.of([known]), Seen(*(own[None].astype(float) for own in (plays, ones, ones, ones))), moments)


def brute_force(plays: Any, ones: Any) -> tuple[Floats, Floats]:
    """Mean and variance of each mean without bounds: sums over a fine grid, in which no density has a pole."""
    angle = (np.arange(20_000) + 0.5) / 20_000 * np.pi / 2
    x, weight = np.sin(angle) ** 2, np.sin(2 * angle)
    laws, shares = LAWS.reshape(2, -1).T, SHARES.ravel().copy()
    like = x ** ones[:, None] * (1 - x) ** (plays - ones)[:, None]
    moments = np.empty((len(laws), 3, len(plays)))
    for own, (a, b) in zip(moments, laws, strict=True):
        prior = weight * x ** (a - 1) * (1 - x) ** (b - 1)
        own[:] = [like @ (prior / prior.sum() * x**n) for n in range(3)]
    joint = shares * moments[:, 0].prod(axis=1)
    mean, square = np.einsum("g,gnk->nk", joint / joint.sum(), moments[:, 1:] / moments[:, :1])
    return mean, square - mean**2


def test_weights_and_laws_are_those_of_brute_force() -> None:
    rng = np.random.default_rng(1)
    for number in range(16):
        arms = int(rng.integers(1, 6))
        plays = rng.integers(0, 40, arms)
        ones = rng.binomial(plays, rng.random())
        upper = rng.random(arms)
        known = mb.MeanBounds.vacuous(arms) if number % 2 else mb.MeanBounds(np.zeros(arms), upper)
        for trust in (1.0, 0.9):
            found = believed(mb.Knowledge(known, prior=mb.Prior.learned(), trust=trust), plays, ones)
            mean, variance = brute_force(plays, ones)
            for a, b in zip(found.parts.a[:, 0], found.parts.b[:, 0], strict=True):
                np.testing.assert_allclose(a / (a + b), mean, rtol=1e-6)
                np.testing.assert_allclose(a * b / (a + b) ** 2 / (a + b + 1), variance, rtol=1e-5)
            np.testing.assert_array_equal(
                found.parts.upper[0], believed(mb.Knowledge(known), plays, ones).parts.upper[0]
            )


def test_arms_with_narrow_bounds_have_the_uniform_prior_and_teach_the_others() -> None:
    plays, ones = np.array([300, 300, 0]), np.array([6, 5, 0])
    found = believed(learned([0.01, 0.01, 0.0], [0.3, 0.3, 1.0]), plays, ones)
    np.testing.assert_allclose(found.parts.a[0, 0, :2], ones[:2] + 1)
    assert found.mean[0, 2] < 0.1 < 0.4 < believed(learned([0.0] * 3, [1.0] * 3), plays * 0, ones * 0).mean[0, 2]


def test_what_experts_earn_is_not_learned_and_teaches_nothing() -> None:
    plays, ones = np.array([0, 500]), np.array([0, 3])
    known = learned([0.0, 0.0], [1.0, 1.0], arms=["new", mb.EXPERT])
    found = believed(known, plays, ones).parts
    np.testing.assert_allclose([found.a[0, 0, 1], found.b[0, 0, 1]], [4.0, 498.0])
    np.testing.assert_allclose(found.a[0, 0, 0], found.b[0, 0, 0])


def test_pulls_without_a_reward_say_nothing_of_laws() -> None:
    known = Known.of([learned([0.0] * 3, [1.0] * 3)])
    seen = Seen.empty(1, 3)
    seen.pending = np.array([[50.0, 50.0, 0.0]])
    late = posterior(known, seen.with_pending(known)).parts
    np.testing.assert_allclose(late.a[0, 0, 2], posterior(known, Seen.empty(1, 3)).parts.a[0, 0, 2])


def test_two_moments_of_rewards_of_0_and_1_change_nothing() -> None:
    plays, ones = np.array([30, 4, 0]), np.array([2, 0, 0])
    one, two = (believed(learned([0.0] * 3, [1.0] * 3), plays, ones, moments) for moments in (1, 2))
    np.testing.assert_allclose(two.mean, one.mean, rtol=1e-12)


def test_with_two_moments_an_arm_is_tried_however_wide_the_range() -> None:
    bounds = mb.MeanBounds.vacuous(3, low=-1000.0, high=0.0)
    agent = mb.Agent(
        mb.OptimisticGittins(f="t + 100", moments=2), mb.Knowledge(bounds, prior=mb.Prior.learned()), seed=1
    )
    for _ in range(200):
        arm = agent.pull()
        agent.update(arm, [-3.0, -4.0, -2.0][bounds.position(arm)] + (-0.5, 0.5)[agent.plays().sum() % 2])
    assert agent.plays().argmax() == 2


@pytest.mark.parametrize("means", [(0.01,) * 9 + (0.08,), (0.9,) * 14 + (0.99,)])
def test_it_beats_the_uniform_prior_where_rewards_are_rare_or_nearly_sure(means: tuple[float, ...]) -> None:
    bounds, policy = mb.MeanBounds.vacuous(len(means)), {"it": mb.OptimisticGittins(f="t + 100")}
    uniform, own = (
        mb.simulate(policy, mb.Bernoulli(means), known, horizon=400, runs=60, seed=3, compiled=False).final["it"]
        for known in (mb.Knowledge(bounds), mb.Knowledge(bounds, prior=mb.Prior.learned()))
    )
    wins, losses = int(np.count_nonzero(own < uniform)), int(np.count_nonzero(own > uniform))
    assert stats.binomtest(wins, wins + losses, 0.5, "greater").pvalue < 1e-6
    assert own.mean() < 0.75 * uniform.mean()


def test_it_is_simulated_as_an_agent_decides() -> None:
    known = learned([0.0] * 3, [1.0, 1.0, 0.6])
    for policy in (mb.OptimisticGittins(horizon=50), mb.ThompsonSampling()):
        environment = mb.Bernoulli([0.3, 0.1, 0.2])
        players = {"own": policy, "agent": lambda _, policy=policy: mb.Agent(policy, known, seed=5)}
        found = mb.simulate(players, environment, known, horizon=50, runs=1, seed=5)
        np.testing.assert_array_equal(found.plays["own"], found.plays["agent"])


def test_it_is_saved_and_given_to_new_arms() -> None:
    known = {"x": learned([0.0] * 3, [1.0] * 3), "y": mb.Knowledge(mb.MeanBounds.vacuous(3))}
    agent = mb.Agent(mb.OptimisticGittins(f="t + 100"), known, seed=4)
    agent.add(mb.Knowledge(mb.MeanBounds.vacuous(["new"])))
    for number in range(60):
        for context in ("x", "y"):
            agent.update(agent.pull(context), float(number % 20 == 0), context)
    other = mb.Agent.from_dict(json.loads(json.dumps(agent.to_dict())))
    assert other.to_dict() == agent.to_dict()
    for context in ("x", "y"):
        np.testing.assert_allclose(other.indices(context), agent.indices(context))
    assert not np.allclose(agent.indices("x"), agent.indices("y"))
    one = mb.Prior.learned()
    assert mb.Prior.from_dict(one.to_dict()) == one
    assert mb.Knowledge.from_dict(known["x"].to_dict()).prior == one
    assert "Prior.learned()" in repr(known["x"])


@pytest.mark.parametrize("policy", [mb.GLUE(), mb.BIMED()])
def test_policies_that_would_ignore_it_refuse_it(policy: Policy) -> None:
    with pytest.raises(ValueError, match="makes no use of a prior that is learned"):
        mb.Agent(policy, learned([0.0] * 2, [1.0] * 2))


def test_a_horizon_is_what_is_left() -> None:
    policy = mb.OptimisticGittins(horizon=500)
    np.testing.assert_allclose(policy.log_f(np.array([1.0, 499.0, 500.0, 900.0])), np.log([499.0, 1.0, 1.0, 1.0]))
    assert Policy.from_dict(policy.to_dict()) == policy
    with pytest.raises(ValueError, match="not both"):
        mb.OptimisticGittins(horizon=500, f="t + 100")
    with pytest.raises(ValueError, match="horizon"):
        mb.OptimisticGittins(horizon=-5)
