"""LinearThompson: against rejection sampling, its definition, the truth, and what every policy must satisfy."""

from __future__ import annotations

import dataclasses
import json
import pickle

import mpmath
import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import meanbounds as mb
from meanbounds.agents.features import FeaturesLearner
from meanbounds.kernels.linear.sample import expectation, start_walk, step, truncated_mean, truncated_normal
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, reward_key
from meanbounds.kernels.solvers.cone import Known
from meanbounds.linear import FeasibleSet, LinearArms
from meanbounds.linear.interior import sampling_limits
from tests import naive_linear as linear
from tests.children import run_interpreted
from tests.naive_linear import Floats, random_instance
from tests.naive_sampling import SamplingTwin

INTERPRETED = bool(numba.config.DISABLE_JIT)
RARE = 1e-6
POLICIES = [
    mb.LinearThompson(),
    mb.LinearThompson(draws=3, noise="weighted", regularisation=0.1),
    mb.LinearThompson(norm_high=2.0, noise="pool-max"),
    mb.LinearThompson(draws=5, optimistic=False),
]


def inside(agent: mb.Agent) -> FeaturesLearner:
    assert isinstance(agent.inside, FeaturesLearner)
    return agent.inside


def play_both(
    policy: mb.LinearThompson, instance: mb.LinearInstance, offered: int | None, rounds: int, seed: int
) -> None:
    """An agent and the twin are offered the same arms, and told the same rewards; the simulator plays as they do."""
    environment = instance.environment(offered)
    law = environment.rewards(instance.bounds.low, instance.bounds.high)
    streams, key = np.uint64(reward_key(np.uint64(seed), 0)), linear.tie_key(seed)
    agent = mb.Agent(policy, instance.bounds, seed=seed, features=instance.features, offset=instance.offset)
    twin = SamplingTwin(policy, instance)
    for t in range(1, rounds + 1):
        offer = linear.draw_offer(seed, 0, t, len(instance.bounds), offered)
        arm = int(agent.pull(offer))
        assert arm == twin.choose(offer, t, key), f"round {t}"
        unit = draw(law, arm, np.uint64(child(streams, arm)), int(agent.plays[arm]))
        reward = float(instance.bounds.low[arm] + (instance.bounds.high[arm] - instance.bounds.low[arm]) * unit)
        agent.update(arm, reward)
        twin.observe(arm, reward)
    simulated = mb.simulate({"p": policy}, environment, instance.bounds, horizon=rounds, runs=1, seed=seed)
    assert simulated.plays["p"][0].tolist() == agent.plays.tolist()


@pytest.mark.no_cover  # it repeats what other tests do once
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@settings(max_examples=2 if INTERPRETED else 12)
@given(
    seed=st.integers(0, 2**32 - 1),
    arms=st.integers(2, 12),
    dimension=st.integers(1, 5),
    unit=st.booleans(),
    offsets=st.booleans(),
    every=st.booleans(),
)
def test_plays_as_its_definition(
    policy: mb.LinearThompson, seed: int, arms: int, dimension: int, unit: bool, offsets: bool, every: bool
) -> None:
    instance = random_instance(np.random.default_rng(seed), arms, dimension, unit=unit, offsets=offsets)
    play_both(policy, instance, None if every else 1 + arms // 2, 10 if INTERPRETED else 30, seed % 1000)


@pytest.mark.skipif(INTERPRETED, reason="this is the interpreted run that the test starts")
@pytest.mark.slow
def test_interpreted() -> None:
    """The same, with the kernels left as Python."""
    assert f"{len(POLICIES)} passed" in run_interpreted(__file__, "-k", "test_plays_as_its_definition")


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (-9.0, 9.0),
        (-0.5, 0.7),
        (-0.3, 4.0),
        (0.5, 0.9),
        (1.0, 9.0),
        (6.0, 7.0),
        (-40.0, -30.0),
        (3.0, 3.001),
        (-8.0, -2.0),
    ],
)
def test_truncated_normal_numbers(low: float, high: float) -> None:
    """Two thousand of them against the distribution, a Kolmogorov-Smirnov test."""
    found, place = np.empty(2_000), 0
    for k in range(found.size):
        found[k], place = truncated_normal(low, high, np.uint64(11), place)
    assert np.all((found >= low) & (found <= high))
    if abs(low + high) < 50.0:
        assert stats.kstest(found, stats.truncnorm(low, high).cdf).pvalue > RARE
    else:  # the tail beyond 30 is exponential but for a thousandth
        assert stats.kstest(high - found, stats.expon(scale=1.0 / 30.03).cdf).pvalue > RARE


def test_truncated_normal_numbers_far_out() -> None:
    """Data that contradict the bounds put the interval far from the mean."""
    for far in (1e7, 1e9, 1e200):
        value, _ = truncated_normal(far, 2.0 * far, np.uint64(3), 0)
        assert far <= value <= far * (1.0 + 1e-6)
        value, _ = truncated_normal(-2.0 * far, -far, np.uint64(3), 0)
        assert -far * (1.0 + 1e-6) <= value <= -far


@pytest.mark.parametrize("low", [-300.0, -30.0, -6.0, -1.0, -1e-4, 0.0, 0.3, 4.0, 26.0, 400.0])
@pytest.mark.parametrize("width", [1e-6, 1e-4, 1e-3, 1e-2, 0.5, 3.0, 50.0, 1e3])
def test_truncated_means(low: float, width: float) -> None:
    """Against the formula in 100 digits: right to a millionth of how far the numbers spread."""
    high = low + width
    found = truncated_mean(low, high)
    assert truncated_mean(-high, -low) == -found
    with mpmath.workdps(100):
        near, far = (mpmath.mpf(end) for end in ((low, high) if high > -low else (-high, -low)))
        mass = mpmath.erfc(near / mpmath.sqrt(2)) - mpmath.erfc(far / mpmath.sqrt(2))
        right = (mpmath.exp(-(near**2) / 2) - mpmath.exp(-(far**2) / 2)) * mpmath.sqrt(2 / mpmath.pi) / mass
    spread = min(high - low, 1.0, 1.0 / abs(float(near)) if near > 0 else 1.0)
    assert abs(found - float(right) * (1.0 if high > -low else -1.0)) <= 1e-6 * spread


@pytest.mark.parametrize("seed", range(3))
def test_expectation_is_the_mean_of_rejection_sampling(seed: int) -> None:
    """In random polytopes in three dimensions, where limits bind: 4,000 rounds of 4 steps, normal tests (1e-7 each)."""
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, 6, 3, width=0.3 if seed else 1.0, unit=False)
    feasible = FeasibleSet(LinearArms(instance.features, instance.bounds), norm_high=1.0)
    limits, precision, mean = sampling_limits(feasible), 9.0 * np.eye(3), instance.theta + 0.2 * rng.normal(size=3)
    point, place, found = limits.centre.copy(), 0, np.empty((4_000, 3))
    for k in range(-50, len(found)):
        walk = start_walk(limits, precision, precision @ mean, 1.0, 0.0, 1.0, point)
        for axis in (0, 1, 2, 0):
            place = step(walk, limits, axis, 0.0, np.uint64(5), place)
        if k >= 0:
            found[k] = expectation(walk)
    right = rejected(feasible, precision, mean, 0.0, 20_000)
    batches = found.reshape(40, -1, 3).mean(axis=1)  # rounds are not independent, hundreds of rounds are nearly so
    error = np.sqrt(batches.var(axis=0, ddof=1) / len(batches) + right.var(axis=0) / len(right))
    assert np.all(np.abs(batches.mean(axis=0) - right.mean(axis=0)) <= 5.3 * error)
    assert np.all(found.var(axis=0) < right.var(axis=0))


def test_expectation_where_no_limit_is_near_is_the_mean_of_the_gaussian() -> None:
    rng, d = np.random.default_rng(3), 10
    root = rng.normal(size=(d, d))
    precision, mean, nothing = 1e6 * (root @ root.T + np.eye(d)), np.full(d, 0.1), np.zeros(0)
    free = Known(np.zeros((d, 0)), nothing, nothing, np.zeros(d), np.zeros((d, d)))
    walk, place = start_walk(free, precision, precision @ mean, 1.0, 0.0, 1.0, np.full(d, 0.1001)), 0
    for axis in (*range(4, 10), *range(4)):
        place = step(walk, free, axis, 0.0, np.uint64(5), place)
    np.testing.assert_allclose(expectation(walk), mean, rtol=0.0, atol=1e-12)


def walked(limits: Known, precision: Floats, mean: Floats, norm_low: float, points: int, between: int) -> Floats:
    """Points of a chain, with so many steps between them that they are independent."""
    walk = start_walk(limits, precision, precision @ mean, 1.0, 0.0, 1.0, limits.centre.copy())
    out, place = np.empty((points, mean.size)), 0
    for k in range(-20, points):
        for axis in range(between):
            place = step(walk, limits, axis % mean.size, norm_low, np.uint64(5), place)
        if k >= 0:
            out[k] = walk.point
    return out


def rejected(feasible: FeasibleSet, precision: Floats, mean: Floats, norm_low: float, points: int) -> Floats:
    """Points of the box around the set, kept with the density of the Gaussian if they are inside."""
    rng, kept, known = np.random.default_rng(9), list[Floats](), feasible.known
    sides = feasible.sides(np.eye(mean.size))
    while sum(map(len, kept)) < points:
        box = rng.uniform(sides.lower, sides.upper, (100_000, mean.size))
        apart = box - mean
        density = np.exp(-0.5 * np.einsum("ni,ij,nj->n", apart, precision, apart))  # at most 1
        values, size = box @ known.rows.T, np.linalg.norm(box, axis=1)
        inside = ((values >= known.lower) & (values <= known.upper)).all(axis=1) & (size <= 1.0) & (size >= norm_low)
        kept.append(box[inside & (rng.random(len(box)) < density)])
    return np.vstack(kept)[:points]


@pytest.mark.parametrize("norm_low", [0.0, 0.6])
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_points_are_those_of_rejection_sampling(seed: int, dimension: int, norm_low: float) -> None:
    """In random polytopes cut with the ball: every arm's mean and the norm, a two-sample Kolmogorov-Smirnov test."""
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, 5, dimension, width=1.0, unit=False)
    if seed == 2:  # a narrow one
        instance = random_instance(rng, 6, dimension, width=0.3)
    arms = LinearArms(instance.features, instance.bounds)
    feasible = FeasibleSet(arms, norm_high=1.0, norm_low=norm_low)
    root = rng.normal(size=(dimension, dimension))
    precision, mean = 4.0 * root @ root.T + np.eye(dimension), instance.theta + 0.3 * rng.normal(size=dimension)
    found = walked(sampling_limits(feasible), precision, mean, norm_low, 1_500, 40)
    right = rejected(feasible, precision, mean, norm_low, 1_500)
    values = found @ feasible.known.rows.T
    assert np.all((values >= feasible.known.lower - 1e-12) & (values <= feasible.known.upper + 1e-12))
    sizes = np.linalg.norm(found, axis=1)
    assert norm_low - 1e-12 <= sizes.min()
    assert sizes.max() <= 1.0 + 1e-12
    for direction in [*instance.features, *np.eye(dimension)]:
        assert stats.ks_2samp(found @ direction, right @ direction).pvalue > RARE
    assert stats.ks_2samp(sizes, np.linalg.norm(right, axis=1)).pvalue > RARE


def test_points_where_no_limit_is_near_are_those_of_the_gaussian() -> None:
    """A step along each axis makes a new draw: variances and correlations of 4,000, in ten dimensions."""
    rng, d = np.random.default_rng(3), 10
    root = rng.normal(size=(d, d))
    precision, mean = 1e6 * (root @ root.T + np.eye(d)), np.full(d, 0.1)
    nothing = np.zeros(0)
    free = Known(np.zeros((d, 0)), nothing, nothing, mean.copy(), np.zeros((d, d)))
    found = walked(free, precision, mean, 0.0, 4_000, d)
    white = (found - mean) @ np.linalg.cholesky(precision)
    for k in range(d):
        assert stats.kstest(white[:, k], "norm").pvalue > RARE / d
        assert abs(np.mean(white[1:, k] * white[:-1, k])) < 5.3 / np.sqrt(3_999.0)  # 1e-7 each, so 1e-6 for all
    across = white.T @ white / len(white) - np.eye(d)
    assert np.abs(across[np.triu_indices(d, 1)]).max() < 5.6 / np.sqrt(4_000.0)  # 2e-8 each of 45


@pytest.mark.filterwarnings("ignore::meanbounds.evidence.ContradictionWarning")
def test_no_point_is_outside() -> None:
    """After every pull, in sets of all kinds; rewards contradict the bounds as often as not."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        instance = random_instance(rng, 8, 1 + seed % 5, width=(0.5, 0.05, 1e-6)[seed % 3], offsets=seed % 2 == 0)
        policy = mb.LinearThompson(norm_low=0.3 if seed % 4 == 0 else 0.0)
        agent = mb.Agent(policy, instance.bounds, seed=seed, features=instance.features, offset=instance.offset)
        known, learner = FeasibleSet(inside(agent).standing.arms, norm_high=1.0).known, inside(agent)
        for _ in range(60):
            arm = int(agent.pull())
            point = learner.standing.design.point
            values = known.rows @ point
            assert (values >= known.lower - 1e-7).all()
            assert (values <= known.upper + 1e-7).all()
            assert policy.norm_low - 1e-9 <= np.linalg.norm(point) <= 1.0 + 1e-9
            agent.update(arm, float(rng.choice([instance.bounds.low[arm], instance.bounds.high[arm]])))


class TestFlatSets:
    def test_a_known_mean_leaves_the_rest_free(self) -> None:
        """Arm 0 has mean 0.5 for certain; along the other axis points move as the Gaussian on an interval."""
        arms = LinearArms([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.5, 0.1], [0.5, 0.7]))
        limits = sampling_limits(FeasibleSet(arms, norm_high=1.0))
        found = walked(limits, 4.0 * np.eye(2), np.array([0.0, 0.3]), 0.0, 1_500, 4)
        np.testing.assert_allclose(found[:, 0], 0.5, atol=1e-7)
        law = stats.truncnorm((0.1 - 0.3) * 2.0, (0.7 - 0.3) * 2.0, loc=0.3, scale=0.5)
        assert stats.kstest(found[:, 1], law.cdf).pvalue > RARE

    def test_flat_in_a_direction_that_is_no_arms(self) -> None:
        """One point satisfies x + 2 y <= 1.5, 2 x + y <= 1.5 and x + y >= 1, each of which leaves a half-plane."""
        features = [[1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [1.0, -1.0]]
        bounds = mb.MeanBounds([0.0, 0.0, 1.0, -0.5], [1.5, 1.5, 2.0, 0.5], low=-1.0, high=2.0)
        limits = sampling_limits(FeasibleSet(LinearArms(features, bounds), norm_high=1.0))
        assert limits.shape[2:].tolist() == [[0.0, 0.0]]
        point = walked(limits, np.eye(2), np.zeros(2), 0.0, 1, 40)[0]
        np.testing.assert_allclose(point, [0.5, 0.5], atol=1e-6)

    def test_a_single_point(self) -> None:
        """Nothing is left to draw, and the best arm is played."""
        features = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]
        bounds = mb.MeanBounds([0.3, 0.4, 0.0], [0.3, 0.4, 1.0])
        agent = mb.Agent(mb.LinearThompson(), bounds, seed=1, features=features)
        assert [agent.pull() for _ in range(5)] == [2] * 5


class TestContract:
    """What every policy must satisfy; see tests/contract.py."""

    def test_is_data(self) -> None:
        policy = mb.LinearThompson(norm_high=2.0, draws=5)
        assert repr(policy) == "LinearThompson(norm_high=2.0, draws=5)"
        assert mb.Policy.from_dict(policy.to_dict()) == policy
        assert hash(policy) == hash(dataclasses.replace(policy))
        for wrong in (0, 1.5, True, "7", 10**9):
            with pytest.raises(ValueError, match="LinearThompson: draws"):
                mb.Policy.from_dict({**policy.to_dict(), "draws": wrong})
        with pytest.raises(ValueError, match="LinearThompson: optimistic must be one of True, False; got 'yes'"):
            mb.LinearThompson(optimistic="yes")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="LinearThompson: noise must be one of 'variance', 'weighted', 'pool-max'"):
            mb.LinearThompson(noise="running-max")
        with pytest.raises(ValueError, match="OFUL: noise must be one of"):
            mb.OFUL(noise="variance")

    def test_ties_are_uniform(self) -> None:
        """Among equal arms the first pull is uniform (chi-square over 1,000 seeds)."""
        bounds = mb.MeanBounds.vacuous(4)
        for features in (np.eye(4), np.ones((4, 1))):
            pulls = [
                int(mb.Agent(mb.LinearThompson(), bounds, seed=seed, features=features).pull()) for seed in range(500)
            ]
            assert stats.chisquare(np.bincount(pulls, minlength=4)).pvalue > RARE

    def test_order_of_arms(self) -> None:
        """Permuting the arms permutes the plays in law (two-sample test on each arm)."""
        instance = random_instance(np.random.default_rng(2), 8, 3)
        order = np.array([3, 0, 4, 1, 2, 7, 6, 5])
        turned = mb.LinearInstance(
            instance.features[order], instance.theta, instance.bounds.subset(order), instance.offset[order]
        )
        policy = mb.LinearThompson()
        one, other = (
            mb.simulate({"p": policy}, each.environment(4), each.bounds, horizon=200, runs=200, seed=seed).plays["p"]
            for seed, each in enumerate((instance, turned))
        )
        for k, arm in enumerate(order):
            if np.ptp(one[:, arm]) or np.ptp(other[:, k]):
                assert stats.ks_2samp(one[:, arm], other[:, k]).pvalue > RARE

    def test_only_what_can_be_best_is_played(self) -> None:
        instance = random_instance(np.random.default_rng(6), 12, 3, width=0.2)
        agent = mb.Agent(mb.LinearThompson(), instance.bounds, seed=1, features=instance.features)
        tight = mb.tighten(instance.features, instance.bounds, norm_high=1.0)
        rng = np.random.default_rng(7)
        for _ in range(200):
            offer = rng.choice(12, 5, replace=False)
            arm = int(agent.pull(offer.tolist()))
            assert arm in offer
            assert tight.upper[arm] >= tight.lower[offer].max()
            agent.update(arm, float(rng.uniform(instance.bounds.low[arm], instance.bounds.high[arm])))

    @pytest.mark.filterwarnings("ignore::meanbounds.evidence.ContradictionWarning")
    def test_json_and_pickle_go_on_as_they_would(self) -> None:
        instance = random_instance(np.random.default_rng(8), 6, 3)
        agent = mb.Agent(mb.LinearThompson(), instance.bounds, seed=4, features=instance.features)
        agents = [agent]
        for number in range(40):
            if number == 20:
                agents += [
                    mb.Agent.from_dict(json.loads(json.dumps(agent.to_dict()))),
                    pickle.loads(pickle.dumps(agent)),
                ]
            arm, *others = [int(each.pull()) for each in agents]
            assert others == [arm] * (len(agents) - 1)
            for each in agents:
                each.update(arm, float(instance.bounds.low[arm]))
        state = agent.to_dict()
        state["point"] = [5.0, 0.0, 0.0]
        with pytest.raises(ValueError, match=r"point \[5.0, 0.0, 0.0\] does not satisfy the bounds"):
            mb.Agent.from_dict(state)

    def test_it_has_no_index(self) -> None:
        agent = mb.Agent(mb.LinearThompson(), mb.MeanBounds.vacuous(2), seed=1, features=np.eye(2))
        with pytest.raises(mb.NoIndexError, match="LinearThompson has no index"):
            agent.indices()


class TestProbabilities:
    def test_they_are_those_of_the_choice(self) -> None:
        """Of 3,000 pulls, each arm's share less its probability, in standard deviations of the sum (1e-7 each)."""
        instance = random_instance(np.random.default_rng(4), 5, 3, width=0.8)
        for floor in (0.0, 0.05):
            agent = mb.Agent(
                mb.LinearThompson(draws=8), instance.bounds, seed=5, floor=floor, features=instance.features
            )
            excess, variance = np.zeros(5), np.zeros(5)
            for number in range(3_000):
                chances = agent.probabilities()
                assert chances.sum() == pytest.approx(1.0)
                arm = int(agent.pull())
                assert chances[arm] > 0.0
                excess += np.eye(5)[arm] - chances
                variance += chances * (1.0 - chances)
                if number < 50:
                    agent.update(arm, float(instance.bounds.high[arm]))
            assert np.count_nonzero(variance) > 1
            assert np.all(np.abs(excess) <= 5.4 * np.sqrt(variance) + 1e-9)

    def test_asking_changes_nothing(self) -> None:
        agent = mb.Agent(mb.LinearThompson(), mb.MeanBounds.vacuous(3), seed=1, features=np.eye(3))
        agent.pull()
        before = agent.to_dict()
        np.testing.assert_array_equal(agent.probabilities(), agent.probabilities())
        assert agent.to_dict() == before


class TestAgent:
    def test_candidates_new_arms_and_other_bounds(self) -> None:
        bounds = mb.MeanBounds([0.1, 0.0], [0.6, 0.5])
        agent = mb.Agent(mb.LinearThompson(), bounds, seed=1, features=np.eye(2))
        film = mb.Candidate([0.6, 0.6], upper=0.9)
        pulled = {agent.pull([0, 1, film]) for _ in range(50)}
        assert film in pulled
        agent.update(film, 1.0)
        agent.add("third", features=[0.6, 0.6], lower=0.3)
        assert "third" in {agent.pull() for _ in range(50)}
        agent.replace_bounds(mb.MeanBounds([0.5, 0.0, 0.3], [0.6, 0.05, 0.4], arms=[0, 1, "third"]))
        assert {agent.pull() for _ in range(20)} == {0}
        point = inside(agent).standing.design.point
        assert 0.5 - 1e-7 <= point[0] <= 0.6 + 1e-7

    def test_a_candidates_own_cap_counts(self) -> None:
        """Its features promise twice the mean of the arm, its own upper bound less than the arm can have."""
        agent = mb.Agent(mb.LinearThompson(), mb.MeanBounds([0.2], [0.5]), seed=1, features=[[1.0]])
        capped, free = mb.Candidate([2.0], upper=0.45), mb.Candidate([2.0])
        assert {agent.pull([0, capped]) for _ in range(100)} == {0, capped}
        assert {agent.pull([0, free]) for _ in range(100)} == {free}

    def test_pending_pulls_can_be_counted(self) -> None:
        agent = mb.Agent(mb.LinearThompson(), mb.MeanBounds.vacuous(2), seed=1, features=np.eye(2))
        assert {agent.pull(pending="count") for _ in range(40)} == {0, 1}


@pytest.mark.slow
def test_it_learns_where_upper_bounds_bind() -> None:
    """R-OFUL's regret goes on growing there: three fifths of it, in the paper's setting, at 5,000 rounds."""
    instance = mb.LinearInstance.paper(1)
    policies = {"sampling": mb.LinearThompson(), "R-OFUL": mb.ROFUL(index="clip")}
    regret = mb.simulate(policies, instance.environment(10), instance.bounds, horizon=20_000, runs=6, seed=1)
    assert regret.final["sampling"].mean() < 0.7 * regret.final["R-OFUL"].mean()
