"""OFUL and what all linear policies share, against their definitions in plain numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.linear import LinearArms, LinearPolicy
from meanbounds.support.streams import Draws, stream
from meanbounds.support.types import Floats

POLICIES = [mb.OFUL(), mb.ROFUL(), mb.ROFUL(index="clip"), mb.ROFUL(index="plain"), mb.LinearThompson()]


def uneven(seed: int, arms: int = 12, d: int = 3) -> tuple[LinearArms, Floats]:
    """Arms of any length, with offsets and several ranges, and the parameter."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(arms, d)) * rng.uniform(0.2, 1.5, size=(arms, 1))
    theta = rng.normal(size=d)
    theta *= 0.9 / np.linalg.norm(theta)
    offset = rng.uniform(-0.3, 0.3, arms)
    means, width = offset + features @ theta, rng.choice([0.5, 2.0], arms)
    low = means - width * rng.uniform(0.2, 0.8, arms)
    lower, upper = (np.clip(means + side * rng.uniform(0.0, 0.5, arms), low, low + width) for side in (-1.0, 1.0))
    return LinearArms(features, mb.MeanBounds(lower, upper, low=low, high=low + width), offset=offset), theta


def play(
    policy: LinearPolicy, arms: LinearArms, theta: Floats, rounds: int, rows: int = 1, seed: int = 1, k: int = 5
) -> tuple[Floats, Any]:
    """The arms played in each round, of k on offer, with rewards at the ends of the ranges; and the state."""
    rng, bounds = np.random.default_rng(seed), arms.bounds
    chance = (arms.offset + arms.features @ theta - bounds.low) / (bounds.high - bounds.low)
    state, keys, played = policy.start(arms, rows), stream(seed, np.arange(rows), "policy"), np.zeros((rounds, rows))
    for t in range(rounds):
        offered = rng.permuted(np.tile(np.arange(len(bounds)), (rows, 1)), axis=1)[:, :k]
        chosen = policy.choose(state, offered, Draws(keys, t))
        assert (offered == chosen[:, None]).any(axis=1).all()
        reward = np.where(rng.random(rows) < chance[chosen], bounds.high[chosen], bounds.low[chosen])
        policy.learn(state, chosen, reward)
        played[t] = chosen
    return played, state


def test_oful_plays_the_largest_index_of_its_definition() -> None:
    arms, theta = uneven(0)
    policy, bounds = mb.OFUL(norm_high=2.0, regularisation=0.7, failure=0.05), arms.bounds
    chance = (arms.offset + arms.features @ theta - bounds.low) / (bounds.high - bounds.low)
    proxy = (bounds.high - bounds.low) ** 2 / 4.0
    sigma, rng = float(proxy.max()), np.random.default_rng(2)
    state, keys = policy.start(arms), stream(1, 0, "policy")
    v, b = 0.7 * np.eye(3), np.zeros(3)
    for t in range(400):
        offered = rng.permutation(12)[:6]
        growth = np.linalg.slogdet(v)[1] - 3.0 * np.log(0.7)
        radius = np.sqrt(0.7) * 2.0 + np.sqrt(sigma * (2.0 * np.log(1.0 / 0.05) + growth))
        width = np.sqrt(np.einsum("ki,ki->k", arms.features, np.linalg.solve(v, arms.features.T).T))
        index = arms.offset + arms.features @ np.linalg.solve(v, b) + radius * width
        (chosen,) = policy.choose(state, offered[None], Draws(keys, t))
        assert index[chosen] >= index[offered].max() - 1e-7
        reward = bounds.high[chosen] if rng.random() < chance[chosen] else bounds.low[chosen]
        policy.learn(state, np.array([chosen]), np.array([reward]))
        x, weight = arms.features[chosen], sigma / proxy[chosen]
        v, b = v + weight * np.outer(x, x), b + weight * (reward - arms.offset[chosen]) * x


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
    arms, theta = uneven(1)
    together, _ = play(policy, arms, theta, 60, rows=4)
    again, _ = play(policy, arms, theta, 60, rows=4)
    np.testing.assert_array_equal(together, again)
    bounds, keys = arms.bounds, stream(1, np.arange(4), "policy")
    whole, parts = policy.start(arms, 4), [policy.start(arms, 1) for _ in range(4)]
    for t in range(60):
        chosen = policy.choose(whole, None, Draws(keys, t))
        reward = np.where((t + chosen) % 3 == 0, bounds.high[chosen], bounds.low[chosen])
        policy.learn(whole, chosen, reward)
        for row, part in enumerate(parts):
            alone = policy.choose(part, None, Draws(keys[row : row + 1], t))
            assert alone[0] == chosen[row]
            policy.learn(part, alone, reward[row : row + 1])


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_the_known_part_of_each_mean_is_added_back(policy: LinearPolicy) -> None:
    """Hidden parts 0.9 and 0, known parts -0.8 and 0.5: the second arm is best, though its hidden part is smaller."""
    bounds = mb.MeanBounds([-0.8, -0.5], [0.2, 1.0], low=-1.0, high=1.0)
    arms = LinearArms([[1.0, 0.0], [0.0, 1.0]], bounds, offset=[-0.8, 0.5])
    played, _ = play(policy, arms, np.array([0.9, 0.0]), 600, rows=5, k=2)
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


def test_the_confidence_set_covers_the_parameter() -> None:
    """Each run misses with probability 0.05 at most; more than 45 of 400 do so with probability 6e-7."""
    arms, theta = uneven(3)
    policy, rows, bounds = mb.ROFUL(index="clip", failure=0.05), 400, arms.bounds
    rng, state = np.random.default_rng(5), policy.start(arms, rows)
    chance = (arms.offset + arms.features @ theta - bounds.low) / (bounds.high - bounds.low)
    keys, missed = stream(5, np.arange(rows), "policy"), np.zeros(rows, dtype=np.bool_)
    for t in range(300):
        error = theta - state.parameter
        missed |= np.einsum("ri,rij,rj->r", error, state.precision, error) > policy.radius(state) ** 2
        chosen = policy.choose(state, None, Draws(keys, t))
        policy.learn(
            state, chosen, np.where(rng.random(rows) < chance[chosen], bounds.high[chosen], bounds.low[chosen])
        )
    assert missed.sum() <= 45


def test_policies_are_saved_by_name_and_refuse_nonsense() -> None:
    for policy in POLICIES:
        assert LinearPolicy.from_dict(policy.to_dict()) == policy
    assert repr(mb.ROFUL(index="clip", failure=0.1)) == "ROFUL(failure=0.1, index='clip')"
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: mb.OFUL(failure=2.0), "failure must be a probability between 0 and 1; got 2.0"),
        (lambda: mb.OFUL(regularisation=0.0), "regularisation must be a positive number; got 0.0"),
        (lambda: mb.ROFUL(index="exactly"), "index must be one of 'exact', 'clip', 'plain'"),
        (lambda: mb.LinearThompson(draws=0), "draws must be a whole number from 1 to 10000; got 0"),
        (lambda: mb.LinearThompson(norm_high=-1.0), "norm_high must be a positive number"),
        (lambda: mb.OFUL().start(LinearArms([[1e6]], mb.MeanBounds.vacuous(1))), "features of length 1e.06 are too"),
    ]
    for make, said in refused:
        with pytest.raises((ValueError, TypeError), match=said):
            make()
    known = mb.Knowledge(mb.MeanBounds.vacuous(1), prior=mb.Prior(0.5, 4.0))
    with pytest.raises(ValueError, match="OFUL makes no use of a prior"):
        mb.OFUL().start(LinearArms([[1.0]], known.bounds), known=known)
