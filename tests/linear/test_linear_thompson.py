"""LinearThompson: the law of its points, expectations, probabilities and priors, against independent samplers."""

import mpmath
import numpy as np
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds.linear import LinearArms
from meanbounds.linear.linear_thompson import _truncated
from meanbounds.linear.oful import LinearState
from meanbounds.support.streams import Draws, stream
from meanbounds.support.types import Floats

KNOWN = mb.MeanBounds([0.05, 0.1, 0.0, -0.2], [0.7, 0.6, 0.5, 0.5], low=[0.0, 0.0, 0.0, -1.0])
ARMS = LinearArms([[1.0, 0.2, 0.1], [0.3, 0.9, 0.0], [-0.5, 0.8, 0.2], [0.7, -0.7, 0.3]], KNOWN, offset=0.05)
FLAT = LinearArms(
    np.vstack([ARMS.features, [[0.0, 0.3, 0.9]]]),
    mb.MeanBounds([*KNOWN.lower, 0.3], [*KNOWN.upper, 0.3], low=[0.0, 0.0, 0.0, -1.0, 0.0]),
    offset=0.05,
)


def after_rewards(policy: mb.LinearThompson, arms: LinearArms, rows: int) -> LinearState:
    """The state of some equal rows that have seen 15 rewards."""
    state = policy.start(arms, rows)
    for k, share in zip([0, 1, 2, 3, 0] * 3, [1, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1], strict=True):
        reward = arms.bounds.low[k] + share
        policy.learn(state, np.full(rows, k), np.full(rows, reward))
    return state


def rejected(state: LinearState, arms: LinearArms, norm_high: float, number: int, along: Floats | None) -> Floats:
    """Draws from the posterior by rejection; on the plane where ``along . parameter`` is 0.25 if that is given."""
    rng, bounds = np.random.default_rng(2), arms.bounds
    precision, shift, basis = state.precision[0], np.zeros(3), np.eye(3)
    if along is not None:
        shift = 0.25 * along / (along @ along)
        basis = np.linalg.svd(along[None])[2][1:].T
    inner = basis.T @ precision @ basis
    mean = np.linalg.solve(inner, basis.T @ (state.moment[0] - precision @ shift))
    drawn = mean + rng.normal(size=(number, len(mean))) @ np.linalg.inv(np.linalg.cholesky(inner))
    points = shift + drawn @ basis.T
    means = arms.offset + points @ arms.features.T
    fits = (means >= bounds.lower - 1e-9) & (means <= bounds.upper + 1e-9)
    kept: Floats = points[fits.all(axis=1) & (np.linalg.norm(points, axis=1) <= norm_high)]
    return kept


@pytest.mark.parametrize(("arms", "norm_high", "along"), [(ARMS, 0.6, None), (FLAT, 0.6, np.array([0.0, 0.3, 0.9]))])
def test_points_have_the_law_of_the_posterior(arms: LinearArms, norm_high: float, along: Floats | None) -> None:
    """Rows are independent; each of 5 tests fails with probability 1e-7 if the law is right."""
    policy, rows = mb.LinearThompson(norm_high=norm_high, draws=1), 3_000
    state, keys = after_rewards(policy, arms, rows), stream(5, np.arange(3_000), "policy")
    for number in range(12):
        policy.weights(state, None, Draws(keys, number))
    ours = state.allowed[0].memory["points"][:, :, 0].T
    theirs = rejected(state, arms, norm_high, 400_000, along)
    assert len(theirs) > 5_000
    for direction in np.vstack([np.eye(3), arms.features[:2]]):
        own, other = ours @ direction, theirs @ direction
        assert stats.ks_2samp(own, other, method="asymp").pvalue > 1e-7
    norms = np.linalg.norm(ours, axis=1)
    assert norms.max() <= norm_high + 1e-9
    assert (norms > 0.9 * norm_high).mean() > 0.05  # so that the norm is tested too


def test_expectations_are_unbiased_and_vary_less_than_points() -> None:
    policy, rows = mb.LinearThompson(norm_high=0.6), 400
    state, keys = after_rewards(policy, ARMS, rows), stream(6, np.arange(400), "policy")
    for number in range(8):
        policy.weights(state, None, Draws(keys, number))
    points, expected = policy._walk(state, state.allowed[0], slice(None), Draws(keys, 8))
    theirs = rejected(state, ARMS, 0.6, 400_000, None)
    error = np.hypot(expected.std(axis=0) / 20.0, theirs.std(axis=0) / np.sqrt(len(theirs)))
    assert (np.abs(expected.mean(axis=0) - theirs.mean(axis=0)) < 5.5 * error).all()  # fails with probability 1e-7
    assert (expected.std(axis=0) < 0.8 * points.mean(axis=2).std(axis=1)).all()


def test_truncated_normal_numbers_are_exact_far_out() -> None:
    low = [-1.0, 3.0, -40.0, 38.0, -np.inf, 0.1, 200.0, -1e-3]
    high = [2.0, 4.0, -39.0, 60.0, 0.5, 0.100001, 201.0, 5.0]
    with mpmath.workdps(40):
        for u in (0.001, 0.5, 0.999):
            drawn, means = _truncated(np.array([low, high]), np.full(len(low), u))
            for a, b, x, mean in zip(low, high, drawn, means, strict=True):
                near, far = (a, b) if a + b > 0.0 else (-b, -a)  # the upper tail from the nearer end
                tail, left = mpmath.erfc(near / mpmath.sqrt(2)), mpmath.erfc(far / mpmath.sqrt(2))
                share = (tail - mpmath.erfc((x if a + b > 0.0 else -x) / mpmath.sqrt(2))) / (tail - left)
                assert abs(share - u) < 1e-8
                density = mpmath.exp(-(mpmath.mpf(near) ** 2) / 2) - mpmath.exp(-(mpmath.mpf(far) ** 2) / 2)
                expected = density * mpmath.sqrt(2 / mpmath.pi) / (tail - left) * (1 if a + b > 0.0 else -1)
                assert abs(mean - expected) < 1e-7


def test_an_arm_is_chosen_as_often_as_its_probability_says() -> None:
    policy, rows = mb.LinearThompson(norm_high=0.6), 2_000
    one = after_rewards(policy, ARMS, 1)
    state, key = after_rewards(policy, ARMS, rows), stream(3, np.zeros(rows), "policy")
    weights = policy.weights(state, None, Draws(key, 0))
    chances = policy.weights(one, None, Draws(key[:1], 0))
    assert np.abs(weights - chances).max() < 1e-12
    assert abs(chances.sum() - 1.0) < 1e-12
    np.testing.assert_allclose(chances * 16, np.round(chances * 16), atol=1e-9)
    picked = policy.pick(weights, rows, Draws(stream(4, np.arange(rows), "policy"), 0))
    for k, chance in enumerate(chances[0]):
        assert stats.binomtest(int((picked == k).sum()), rows, min(chance, 1.0)).pvalue > 1e-7


def test_an_arm_counts_with_its_expectation_at_least() -> None:
    """Without a draw above what is expected of the others, the arm with the largest expectation is played."""
    rows, keys = 300, stream(3, np.arange(300), "policy")
    plain, optimistic = (mb.LinearThompson(norm_high=0.6, optimistic=flag) for flag in (False, True))
    own, other = (
        policy.weights(after_rewards(policy, ARMS, rows), None, Draws(keys, 0)) for policy in (plain, optimistic)
    )
    best = int(own.mean(axis=0).argmax())
    assert other[:, best].mean() > own[:, best].mean() + 0.05


def test_a_prior_counts_as_rewards() -> None:
    bounds = mb.MeanBounds.vacuous(2, high=[1.0, 2.0])
    arms = LinearArms([[1.0, 0.0], [0.6, 0.8]], bounds, offset=[0.1, 0.0])
    known = mb.Knowledge(bounds, prior=mb.Prior([4 / 7, 1.0], [7.0, 2.0]))  # 3 successes in 5 plays; nothing
    state, told = mb.LinearThompson().start(arms, 1, known), mb.LinearThompson().start(arms)
    for reward in (1.0, 1.0, 1.0, 0.0, 0.0):
        mb.LinearThompson().learn(told, np.array([0]), np.array([reward]))
    np.testing.assert_allclose(state.precision, told.precision, rtol=1e-12)
    np.testing.assert_allclose(state.estimate, told.estimate, rtol=1e-9)
    agent = mb.LinearAgent(mb.LinearThompson(), known, arms.features, offset=arms.offset, seed=1)
    again = mb.LinearAgent.from_dict(agent.to_dict())
    np.testing.assert_allclose(again.estimate, state.parameter[0])


@pytest.mark.parametrize("d", [1, 2])
def test_bounds_that_leave_one_parameter(d: int) -> None:
    arms = LinearArms(np.eye(d), mb.MeanBounds([0.4] * d, [0.4] * d))
    state = mb.LinearThompson().start(arms, 2)
    weights = mb.LinearThompson().weights(state, None, Draws(stream(1, np.arange(2), "policy"), 0))
    np.testing.assert_allclose(weights / weights.sum(axis=1, keepdims=True), 1.0 / d)


def test_it_loses_less_than_oful_and_r_oful() -> None:
    rng = np.random.default_rng(0)
    features, theta = np.abs(rng.normal(size=(30, 5))), np.abs(rng.normal(size=5))
    features /= np.linalg.norm(features, axis=1)[:, None]
    environment = mb.simulation.Linear(features, 0.95 * theta / np.linalg.norm(theta), offered=8, low=0.0, high=1.0)
    bounds = mb.MeanBounds(np.maximum(environment.means - rng.uniform(0.0, 0.15, 30), 0.0), np.ones(30))
    policies = [mb.LinearThompson(), mb.ROFUL(index="clip"), mb.OFUL()]
    regret = mb.simulate(policies, environment, bounds, horizon=400, runs=8, seed=1, checkpoints=1)
    ours, clip, free = (regret.final[str(policy)].mean() for policy in policies)
    assert ours < 0.6 * clip < 0.6 * free
