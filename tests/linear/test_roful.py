"""R-OFUL: tightening, the three indices, bounds that contradict the rewards, bounds that may be wrong."""

import warnings

import numpy as np
import pytest
from tests.cones import Instance, largest
from tests.playing import bounded, play, rewards

import meanbounds as mb
from meanbounds.linear import LinearArms, LinearPolicy
from meanbounds.linear.oful import Offer
from meanbounds.support.streams import Draws, stream


def test_without_knowledge_it_is_oful() -> None:
    """Ranges so wide that they exclude no mean that the norm allows."""
    rng = np.random.default_rng(1)
    features, theta = rng.normal(size=(30, 5)), rng.normal(size=5)
    features /= np.linalg.norm(features, axis=1)[:, None]
    arms = LinearArms(features, mb.MeanBounds.vacuous(30, low=-3.0, high=3.0))
    theta /= np.linalg.norm(theta)
    ours, _ = play(mb.ROFUL(index="plain"), arms, theta, 500, rows=5)
    theirs, _ = play(mb.OFUL(), arms, theta, 500, rows=5)
    np.testing.assert_array_equal(ours, theirs)


def test_the_exact_index_is_that_of_another_solver() -> None:
    arms, theta = bounded(2)
    own = Instance(arms.features, arms.bounds.lower, arms.bounds.upper, arms.offset, 1.0, theta)
    exact, clip, plain = (mb.ROFUL(index=kind) for kind in ("exact", "clip", "plain"))
    state, rng, keys = exact.start(arms), np.random.default_rng(3), stream(3, 0, "policy")
    for t in range(60):
        allowed = state.allowed[0]
        offer = Offer(state.everything, allowed.kept(state.everything), allowed)
        chosen = exact.choose(state, None, Draws(keys, t))
        if t % 6 == 0:
            ours, capped, free = (policy.scores(state, offer, every=True)[0] for policy in (exact, clip, plain))
            inside, kept = (
                (state.parameter[0], state.precision[0], exact.radius(state).item()),
                np.flatnonzero(offer.kept),
            )
            found = np.array([largest(arms.features[k], own, inside) for k in kept])
            np.testing.assert_allclose(ours[kept], found, atol=1e-6)
            assert found[kept == chosen[0]] >= found.max() - 1e-6
            assert (ours[kept] <= capped[kept] + 1e-9).all()
            assert (capped <= free).all()
        exact.learn(state, chosen, rewards(arms, theta, chosen, rng.random(1)))


def test_excluded_arms_are_never_played_and_bounds_are_tight() -> None:
    arms, theta = bounded(5)
    tight = mb.linear.tighten(arms.features, arms.bounds)
    possible = tight.upper > tight.best_lower
    assert 0 < possible.sum() < 15
    for index in ("exact", "clip", "plain"):
        played, state = play(mb.ROFUL(index=index), arms, theta, 100)
        np.testing.assert_allclose(state.allowed[0].upper, tight.upper, atol=1e-9)
        assert possible[played].all()


def test_of_equal_indices_the_largest_estimate_wins() -> None:
    bounds = mb.MeanBounds([0.0, 0.0, 0.0], [0.3, 0.3, 0.2], arms=["a", "b", "c"])
    for index in ("exact", "clip"):
        agent = mb.LinearAgent(mb.ROFUL(index=index), bounds, np.eye(3), seed=1)
        np.testing.assert_allclose(agent.indices(), [0.3, 0.3, 0.2], atol=1e-6)
        np.testing.assert_allclose(agent.probabilities(), [0.5, 0.5, 0.0])
        agent.update("b", 1.0, pulled=False)
        np.testing.assert_allclose(agent.probabilities(), [0.0, 1.0, 0.0])


def test_an_empty_intersection_is_counted_and_decided_by_clip() -> None:
    """Both means are said to be at most 0.1; rewards of the first have the mean 0.9."""
    arms = LinearArms(np.eye(2), mb.MeanBounds([0.0, 0.0], [0.1, 0.1]))
    theta = np.array([0.9, 0.05])
    exact, state = play(mb.ROFUL(), arms, theta, 400, rows=3)
    clip, _ = play(mb.ROFUL(index="clip"), arms, theta, 400, rows=3)
    assert (state.contradictions > 0).all()
    np.testing.assert_array_equal(exact[-100:] == 0, clip[-100:] == 0)
    agent = mb.LinearAgent(mb.ROFUL(), arms.bounds, arms.features, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.evidence.ContradictionWarning)
        for _ in range(400):
            agent.update(0, 1.0, pulled=False)
    with pytest.warns(
        UserWarning, match=r"Arm 0 shows it most: its mean is from 0\.\d+ to 1\.\d+ by the rewards, from 0"
    ):
        agent.pull()
    assert agent.pull() == 0  # said once


@pytest.mark.parametrize("policy", [mb.ROFUL(), mb.ROFUL(index="clip"), mb.LinearThompson()], ids=str)
def test_a_trust_below_one_recovers_from_wrong_bounds(policy: LinearPolicy) -> None:
    """The best arm has the mean 0.8, and is said to be below 0.45; with a trust of 1 it is never played."""
    bounds = mb.MeanBounds([0.0, 0.5, 0.0], [0.45, 0.7, 1.0])
    arms, theta = LinearArms(np.eye(3), bounds), np.array([0.8, 0.52, 0.1])
    believed, _ = play(policy, arms, theta, 50, rows=2)
    assert (believed != 0).all()
    doubted, state = play(policy, arms, theta, 400, rows=2, known=mb.Knowledge(bounds, trust=0.9))
    assert (doubted[-100:] == 0).mean() > 0.9
    assert (state.doubt > 0.99).all()
    right, state = play(policy, arms, np.array([0.3, 0.6, 0.3]), 200, rows=2, known=mb.Knowledge(bounds, trust=0.9))
    assert (right == 1).mean() > 0.55
    assert (state.doubt < 0.5).all()


def test_the_doubt_is_a_posterior_probability() -> None:
    bounds = mb.MeanBounds([0.0, 0.5], [0.45, 0.7])
    arms = LinearArms(np.eye(2), bounds)
    state = mb.ROFUL().start(arms, 3, mb.Knowledge(bounds, trust=[0.9, 0.99]))
    assert state.gains is not None
    state.gains[:, 1, 0] = [-5.0, 0.0, np.log(9.0)]
    np.testing.assert_allclose(state.doubt, [0.1, 0.1, 0.5])
    assert len(mb.ROFUL().start(arms, 1, mb.Knowledge(bounds, trust=[1.0, 0.0])).allowed) == 1


def test_very_many_arms_are_tightened_by_the_narrowest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meanbounds.linear.roful._MOST", 40)
    arms, theta = bounded(6, 300)
    state, means, bounds = mb.ROFUL().start(arms), arms.features @ theta, arms.bounds
    own = state.allowed[0]
    assert ((own.lower <= means + 1e-9) & (own.upper >= means - 1e-9)).all()
    assert (own.upper - own.lower).mean() < 0.7 * (bounds.upper - bounds.lower).mean()
    assert mb.ROFUL().choose(state, None, Draws(stream(1, 0, "policy"), 0)) == np.argmax(own.upper)
