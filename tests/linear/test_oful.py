"""OFUL and what all linear policies share, against their definitions in plain numpy."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.playing import bounded, play, rewards

import meanbounds as mb
from meanbounds.linear import LinearArms, LinearPolicy
from meanbounds.support.streams import Draws, stream

POLICIES = [mb.OFUL(), mb.ROFUL(), mb.ROFUL(index="clip"), mb.ROFUL(index="plain"), mb.LinearThompson()]


def test_oful_plays_the_largest_index_of_its_definition() -> None:
    arms, theta = bounded(0, 12, 3, uneven=True)
    policy, rng = mb.OFUL(norm_high=2.0, regularisation=0.7, failure=0.05), np.random.default_rng(2)
    state, keys = policy.start(arms), stream(1, 0, "policy")
    proxy, v, b = (arms.bounds.high - arms.bounds.low) ** 2 / 4.0, 0.7 * np.eye(3), np.zeros(3)
    for t in range(400):
        offered = rng.permutation(12)[:6]
        growth = np.linalg.slogdet(v)[1] - 3.0 * np.log(0.7)
        radius = np.sqrt(0.7) * 2.0 + np.sqrt(proxy.max() * (2.0 * np.log(1.0 / 0.05) + growth))
        width = np.sqrt(np.einsum("ki,ki->k", arms.features, np.linalg.solve(v, arms.features.T).T))
        index = arms.offset + arms.features @ np.linalg.solve(v, b) + radius * width
        chosen = policy.choose(state, offered[None], Draws(keys, t))
        assert chosen[0] in offered
        assert index[chosen[0]] >= index[offered].max() - 1e-7
        reward = rewards(arms, theta, chosen, rng.random(1))
        policy.learn(state, chosen, reward)
        x, weight = arms.features[chosen[0]], proxy.max() / proxy[chosen[0]]
        v, b = v + weight * np.outer(x, x), b + weight * (reward[0] - arms.offset[chosen[0]]) * x


def test_rank_one_updates_do_not_drift() -> None:
    rng = np.random.default_rng(4)
    features = rng.normal(size=(20, 6)) * 10.0 ** rng.uniform(-2.0, 3.0, size=(20, 1))
    width = np.where(np.arange(20) % 2, 1.0, 0.01)  # rewards of some arms count 10,000 times as much as others
    policy = mb.OFUL()
    state = policy.start(LinearArms(features, mb.MeanBounds.vacuous(20, high=width)))
    for _ in range(3_000):
        k = int(rng.integers(20))
        policy.learn(state, np.array([k]), rng.uniform(0.0, width[[k]]))
    square, estimate, growth = state.square.copy(), state.estimate.copy(), state.log_det.copy()
    state.refresh()
    np.testing.assert_allclose(square, state.square, rtol=1e-5)
    np.testing.assert_allclose(estimate, state.estimate, atol=1e-6)
    np.testing.assert_allclose(growth, state.log_det, rtol=1e-9)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_rows_do_not_depend_on_each_other(policy: LinearPolicy) -> None:
    arms, _ = bounded(1, uneven=True)
    bounds, keys, rng = arms.bounds, stream(1, np.arange(4), "policy"), np.random.default_rng(3)
    whole, parts = policy.start(arms, 4), [policy.start(arms, 1) for _ in range(4)]
    for t in range(60):
        offered = rng.permuted(np.tile(np.arange(15), (4, 1)), axis=1)[:, :6]
        chosen = policy.choose(whole, offered, Draws(keys, t))
        reward = np.where((t + chosen) % 3 == 0, bounds.high[chosen], bounds.low[chosen])
        policy.learn(whole, chosen, reward)
        for row, part in enumerate(parts):
            own = slice(row, row + 1)
            assert policy.choose(part, offered[own], Draws(keys[own], t)) == chosen[own]
            policy.learn(part, chosen[own], reward[own])


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_the_known_part_of_each_mean_is_added_back(policy: LinearPolicy) -> None:
    """Hidden parts 0.9 and 0, known parts -0.8 and 0.5: the second arm is best, though its hidden part is smaller."""
    bounds = mb.MeanBounds([-0.8, -0.5], [0.2, 1.0], low=-1.0, high=1.0)
    arms = LinearArms([[1.0, 0.0], [0.0, 1.0]], bounds, offset=[-0.8, 0.5])
    played, _ = play(policy, arms, np.array([0.9, 0.0]), 600, rows=5)
    assert (played[300:] == 1).mean() > 0.9  # without the known parts it would be 0
    sure = mb.MeanBounds([-0.1, 0.3], [0.2, 0.7], low=-1.0, high=1.0)
    agent = mb.LinearAgent(policy, sure, arms.features, offset=[-0.8, 0.5], seed=1)
    if isinstance(policy, mb.OFUL) and not isinstance(policy, mb.ROFUL):
        assert agent.excluded() == []
    else:
        (found,) = agent.excluded()
        assert (found.arm, found.better) == (0, 1)
        np.testing.assert_allclose([found.upper, found.lower], [0.2, 0.3], atol=1e-8)
        assert agent.pull() == 1


def test_policies_are_saved_by_name_and_refuse_nonsense() -> None:
    for policy in POLICIES:
        assert LinearPolicy.from_dict(policy.to_dict()) == policy
    assert repr(mb.ROFUL(index="clip", failure=0.1)) == "ROFUL(failure=0.1, index='clip')"
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: mb.OFUL(failure=2.0), "failure must be a probability between 0 and 1; got 2.0"),
        (lambda: mb.OFUL(regularisation=0.0), "regularisation must be a positive number; got 0.0"),
        (lambda: mb.ROFUL(index="exactly"), "index must be one of 'exact', 'clip', 'plain'"),
        (lambda: mb.LinearThompson(draws=0), "draws must be a whole number from 1 to 10,000; got 0"),
        (lambda: mb.LinearThompson(norm_high=-1.0), "norm_high must be a positive number"),
        (lambda: mb.OFUL().start(LinearArms([[1e6]], mb.MeanBounds.vacuous(1))), "features of length 1e.06 are too"),
    ]
    for make, said in refused:
        with pytest.raises((ValueError, TypeError), match=said):
            make()
    known = mb.Knowledge(mb.MeanBounds.vacuous(1), prior=mb.Prior(0.5, 4.0))
    with pytest.raises(ValueError, match="OFUL makes no use of a prior"):
        mb.OFUL().start(LinearArms([[1.0]], known.bounds), known=known)
