"""OFUL and R-OFUL: against their definitions, a modelling layer, the truth, and each other."""

from __future__ import annotations

import dataclasses
import json
import warnings
from typing import Any, cast

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.patches import Wedge
from scipy import stats

import meanbounds as mb
from meanbounds import plots
from meanbounds.agents.features import FeaturesLearner
from meanbounds.kernels import linear as kernel
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.oful import play_linear
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, reward_key
from meanbounds.kernels.solvers.cone import Known
from meanbounds.policies import AnyPolicy
from meanbounds.simulation.study import read_study
from tests import naive_linear as linear
from tests.children import run_interpreted
from tests.linear.test_feasible import modelled
from tests.naive_linear import Floats, Twin, random_instance
from tests.soak.precision import errors, tired_agent

INTERPRETED = bool(numba.config.DISABLE_JIT)
NOISE = ("running-max", "pool-max", "weighted")
POLICIES: list[mb.OFUL | mb.ROFUL] = [
    mb.OFUL(noise="running-max", norm_high=1.2),
    mb.OFUL(noise="pool-max", regularisation=0.1),
    mb.OFUL(),
    *(mb.ROFUL(noise=noise, tighten=tighten, index="clip") for noise in NOISE for tighten in ("exact", "cone", "none")),
    *(mb.ROFUL(noise=noise, index="clip", online=True) for noise in NOISE),
    mb.ROFUL(index="clip", tighten="cone", online=True),
    mb.ROFUL(index="clip", tighten="none", online=True),
    mb.ROFUL(index="plain", regularisation=3.0, failure=0.2),
    mb.ROFUL(index="clip", settle=False),
]


def inside(agent: mb.Agent) -> FeaturesLearner:
    """Where an agent with features keeps its estimate."""
    assert isinstance(agent.inside, FeaturesLearner)
    return agent.inside


def play_both(
    policy: mb.OFUL | mb.ROFUL, instance: mb.LinearInstance, offered: int | None, rounds: int, seed: int
) -> None:
    """An agent and the twin are offered the same arms, and told the same rewards; the simulator plays as they do."""
    play_agent(policy, instance, offered, rounds, seed, Twin(policy, instance))


def play_agent(
    policy: mb.OFUL | mb.ROFUL,
    instance: mb.LinearInstance,
    offered: int | None,
    rounds: int,
    seed: int,
    twin: Twin | None = None,
) -> None:
    """An agent that is told the simulator's rewards plays as the simulator does, and as its twin, if it has one."""
    environment = instance.environment(offered)
    law = environment.rewards(instance.bounds.low, instance.bounds.high)
    streams, key = np.uint64(reward_key(np.uint64(seed), 0)), linear.tie_key(seed)
    agent = mb.Agent(policy, instance.bounds, seed=seed, features=instance.features, offset=instance.offset)
    for t in range(1, rounds + 1):
        offer = linear.draw_offer(seed, 0, t, len(instance.bounds), offered)
        arm = int(agent.pull(offer))
        assert twin is None or arm == twin.choose(offer, t, key), f"round {t}"
        unit = draw(law, arm, np.uint64(child(streams, arm)), int(agent.plays[arm]))
        reward = float(instance.bounds.low[arm] + (instance.bounds.high[arm] - instance.bounds.low[arm]) * unit)
        agent.update(arm, reward)
        if twin is not None:
            twin.observe(arm, reward)
    simulated = mb.simulate({"p": policy}, environment, instance.bounds, horizon=rounds, runs=1, seed=seed)
    assert simulated.plays["p"][0].tolist() == agent.plays.tolist()


@pytest.mark.no_cover  # it repeats what other tests do once
@pytest.mark.parametrize("policy", POLICIES, ids=str)
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
    policy: mb.OFUL | mb.ROFUL, seed: int, arms: int, dimension: int, unit: bool, offsets: bool, every: bool
) -> None:
    instance = random_instance(np.random.default_rng(seed), arms, dimension, unit=unit, offsets=offsets)
    play_both(policy, instance, None if every else 1 + arms // 2, 20 if INTERPRETED else 60, seed % 1000)


@pytest.mark.skipif(INTERPRETED, reason="this is the interpreted run that the test starts")
@pytest.mark.slow
def test_interpreted() -> None:
    """The same, with the kernels left as Python."""
    said = run_interpreted(__file__, "-k", "test_plays_as_its_definition or test_exact_can_be_far_below_clip")
    assert f"{len(POLICIES) + 1} passed" in said


@pytest.mark.parametrize(
    "policy", [mb.ROFUL(), mb.ROFUL(online=True), mb.ROFUL(tighten="cone"), mb.ROFUL.paper()], ids=str
)
def test_agent_and_simulator_agree_on_exact_indices(policy: mb.ROFUL) -> None:
    for seed in range(3):
        plain = policy.printed  # for arms of norm 1 alone
        instance = random_instance(np.random.default_rng(seed), 15, 3, unit=plain, offsets=seed > 0 and not plain)
        policy = dataclasses.replace(policy, norm_high=1.1)
        play_agent(policy, instance, 6, 150, seed)


class TestContract:
    """What every policy must satisfy; see tests/contract.py."""

    @pytest.mark.parametrize("policy", [mb.OFUL(), mb.ROFUL()], ids=str)
    def test_is_data(self, policy: mb.LinearPolicy) -> None:
        for field in dataclasses.fields(policy):
            changed = dataclasses.replace(policy, norm_high=2.0, regularisation=3.0)
            value = getattr(changed, field.name)
            assert (f"{field.name}={value!r}" in repr(changed)) == (value != field.default)
        assert repr(policy) == f"{policy}()"
        assert hash(policy) == hash(dataclasses.replace(policy))

    @pytest.mark.parametrize("policy", [mb.OFUL(), mb.ROFUL(), mb.ROFUL(index="clip")], ids=str)
    def test_ties_are_uniform(self, policy: mb.LinearPolicy) -> None:
        """Among equal arms the first pull is uniform (chi-square over 1,000 seeds)."""
        bounds = mb.MeanBounds.vacuous(4)
        first = [int(mb.Agent(policy, bounds, seed=seed, features=np.eye(4)).pull()) for seed in range(1000)]
        assert stats.chisquare(np.bincount(first, minlength=4)).pvalue > 1e-6

    @pytest.mark.parametrize("policy", [mb.OFUL(), mb.ROFUL()], ids=str)
    def test_order_of_arms(self, policy: mb.LinearPolicy) -> None:
        """Permuting the arms permutes the plays in law (two-sample test on each arm)."""
        instance = random_instance(np.random.default_rng(2), 8, 3)
        order = np.array([3, 0, 4, 1, 2, 7, 6, 5])
        turned = mb.LinearInstance(
            instance.features[order], instance.theta, instance.bounds.subset(order), instance.offset[order]
        )
        one, other = (
            mb.simulate({"p": policy}, each.environment(4), each.bounds, horizon=200, runs=200, seed=seed).plays["p"]
            for seed, each in enumerate((instance, turned))
        )
        for k, arm in enumerate(order):
            if np.ptp(one[:, arm]) or np.ptp(other[:, k]):
                assert stats.ks_2samp(one[:, arm], other[:, k]).pvalue > 1e-6

    def test_only_what_can_be_best_is_played(self) -> None:
        instance = random_instance(np.random.default_rng(6), 12, 3, width=0.2)
        agent = mb.Agent(mb.ROFUL(), instance.bounds, seed=1, features=instance.features)
        tight = mb.tighten(instance.features, instance.bounds, norm_high=1.0)
        rng = np.random.default_rng(7)
        for _ in range(200):
            offer = rng.choice(12, 5, replace=False)
            arm = int(agent.pull(offer.tolist()))
            assert arm in offer
            assert tight.upper[arm] >= tight.lower[offer].max()
            agent.update(arm, float(rng.uniform(instance.bounds.low[arm], instance.bounds.high[arm])))


@pytest.mark.parametrize("policy", [p for p in POLICIES if not (isinstance(p, mb.ROFUL) and p.online)], ids=str)
def test_fast_and_plain_kernels_agree(policy: mb.OFUL | mb.ROFUL) -> None:
    """Beyond a thousand updates, after which the inverse is computed anew; every arm kept up to date, or not."""
    instance = random_instance(np.random.default_rng(1), 25, 4, unit=False, offsets=True)
    arms = mb.LinearArms(instance.features, instance.bounds, offset=instance.offset)
    plan = policy.plan(arms)
    rule = plan.rule._replace(cone=False)

    def plays(fast: bool, keep_all: bool) -> list[list[float]]:
        stops = np.array([700, 1500])
        room = {name: np.zeros((3, 2)) for name in ("curves", "kept", "best", "strain", "contradictions")}
        environment = instance.environment(5, "beta")
        law = environment.rewards(instance.bounds.low, instance.bounds.high)
        none = np.zeros((0, 0), dtype=np.int64)
        block = kernel.LinearBlock(
            law, instance.theta, none, 5, np.uint64(3), 0, stops, **room, plays=np.zeros((3, len(instance.bounds)))
        )
        if fast:
            play_linear(plan.pool, rule, block, keep_all)
        else:
            kernel.play(plan.pool, rule, plan.known, block, keep_all)
        numbers: list[list[float]] = [block.plays.ravel().tolist(), *(x.ravel().tolist() for x in room.values())]
        return numbers

    first = plays(False, False)
    for fast, keep_all in ((False, True), (True, False), (True, True)):
        other = plays(fast, keep_all)
        assert other[0] == first[0]
        for mine, theirs in zip(other[1:], first[1:], strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9)


class TestIndex:
    @pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
    @pytest.mark.parametrize("seed", range(6))
    def test_exact_is_that_of_a_modelling_layer_and_clip_is_never_below(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        instance = random_instance(rng, 15, 4, unit=seed % 2 == 0, offsets=seed % 3 == 0)
        policies = {name: mb.ROFUL(index=name, norm_high=1.1) for name in ("exact", "clip", "plain")}
        agents = {
            name: mb.Agent(policy, instance.bounds, seed=1, features=instance.features, offset=instance.offset)
            for name, policy in policies.items()
        }
        for arm in rng.integers(0, 15, 40 * 4**seed):
            share = (instance.means[arm] - instance.bounds.low[arm]) / (instance.bounds.high - instance.bounds.low)[arm]
            reward = instance.bounds.high[arm] if rng.random() < share else instance.bounds.low[arm]
            for agent in agents.values():
                agent.update(int(arm), float(reward))
        exact, clip, plain = (agents[name].indices() for name in ("exact", "clip", "plain"))
        assert np.all(clip >= exact - 1e-9)
        assert np.all(plain >= clip)
        exact_agent: Any = agents["exact"]
        design, rule = inside(exact_agent).standing.design, inside(exact_agent).standing.plan.rule
        reach = kernel.radius(design, rule)
        kept = np.flatnonzero(np.isfinite(exact))
        assert kept.size
        for k in kept[:4]:
            ellipsoid = (design.estimate, design.precision, reach)
            expected = instance.offset[k] + modelled(instance.features[k], instance, 1.1, ellipsoid=ellipsoid)
            assert exact[k] == pytest.approx(expected, abs=1e-6)

    def test_exact_can_be_far_below_clip(self) -> None:
        """Two known means fix a third one, which without tightening has no bound of its own."""
        features = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]
        bounds = mb.MeanBounds([0.1, 0.1, 0.0], [0.12, 0.12, 1.0])
        clip, exact = (
            mb.Agent(mb.ROFUL(index=name, tighten="none"), bounds, seed=1, features=features).indices()[2]
            for name in ("clip", "exact")
        )
        assert clip == 1.0
        assert exact == pytest.approx(0.12 * 1.4, abs=1e-6)

    def test_a_contradiction_is_said_once_and_decided_by_clipping(self) -> None:
        """The bound says at least 0.9, a thousand rewards say 0: nothing is in both sets."""
        bounds = mb.MeanBounds([0.9, 0.0], [1.0, 1.0])
        agent = mb.Agent(mb.ROFUL(index="exact"), bounds, seed=1, features=[[1.0, 0.0], [0.9, 0.1]])
        for _ in range(2):
            agent.update(0, 0.0)
        with pytest.warns(mb.evidence.ContradictionWarning, match=r"arm 0: 3 rewards .* lower bound 0\.9") as told:
            agent.update(0, 0.0)
        assert told[0].filename == __file__
        for _ in range(1000):
            agent.update(0, 0.0)  # nothing is said again
        with pytest.warns(UserWarning, match="bounds and data contradict each other") as heard:
            agent.pull()
        assert heard[0].filename == __file__  # where the user's code is
        agent.pull()  # nothing is said again
        environment = mb.Linear([[1.0, 0.0], [0.9, 0.1]], [0.1, 0.5], low=0.0, high=1.0)
        with pytest.warns(UserWarning, match="contradicted each other|outside its bounds") as caught:
            mb.simulate({"R-OFUL": mb.ROFUL()}, environment, bounds, horizon=3000, runs=2, seed=1)
        said = [str(warning.message) for warning in caught]
        assert any("arm 0: its mean 0.1 is outside its bounds" in text for text in said)
        assert any("R-OFUL: bounds and data contradicted each other" in text for text in said)


RUNS = 2000
FAILURE = 0.05
FEW = stats.binom.isf(1e-6, RUNS, FAILURE)
EVERY_NOISE = (*NOISE, "restricted-max")
PART: dict[str, Any] = {
    "regularisation": 1e-3,
    "failure": FAILURE,
}  # hardly any room that the norm gives and noise does not need
MODES: list[mb.OFUL | mb.ROFUL] = [
    *(mb.OFUL(noise=noise, **PART) for noise in EVERY_NOISE),
    *(mb.ROFUL(noise=noise, index="clip", **PART) for noise in EVERY_NOISE),
    *(mb.ROFUL(noise=noise, index="clip", online=True, **PART) for noise in NOISE),
    mb.ROFUL(index="clip", tighten="cone", online=True, **PART),
    mb.ROFUL(**PART),
    mb.ROFUL(online=True, **PART),
]
COVERED = {
    "almost known": random_instance(np.random.default_rng(2), 12, 2, width=0.05),
    "of any norm": random_instance(np.random.default_rng(3), 12, 2, width=0.1, unit=False, offsets=True),
    "all negative": mb.LinearInstance(
        np.eye(2), np.array([-0.5, -0.6]), mb.MeanBounds.vacuous(2, low=-1.0, high=0.0), np.zeros(2)
    ),
}


@compiled
def is_missed(
    pool: kernel.Pool,
    rule: kernel.Rule,
    known: Known,
    design: kernel.Design,
    theta: Floats,
    features: Floats,
    rewards: Floats,
    run: int,
) -> bool:
    """Whether the set misses the parameter in some round, if the noisiest arms on which it errs most are offered.

    `rewards` has a row for each round and a column for each arm.
    """
    image, room = np.empty(theta.size), np.empty((2, features.shape[0]))
    for t in range(rewards.shape[0]):
        error = design.estimate - theta
        reach = kernel.radius(design, rule)
        if error @ (design.precision @ error) > (reach * (1.0 + 1e-9)) ** 2:
            return True
        wrong = (features @ error) ** 2 * pool.proxy if t % 3 else -pool.proxy
        offered = np.argsort(wrong, kind="mergesort")[-3:]  # a stable one
        arm, _, _ = kernel.decide(pool, rule, known, design, offered, room[0], room[1], False, t, np.uint64(run))
        kernel.observe(design, rule, arm, features[arm], rewards[t, arm], pool.proxy[arm], image)
    return False


class TestCoverage:
    """The parameter is in the confidence set in all rounds with probability at least 1 - failure.

    Misses among 2,000 runs are compared with a binomial law that has the promised probability; the test would fail a
    correct policy once in a million.
    """

    @pytest.mark.slow
    @pytest.mark.parametrize("setting", COVERED)
    @pytest.mark.parametrize("policy", MODES, ids=str)
    def test_drawn_offers(self, policy: mb.OFUL | mb.ROFUL, setting: str) -> None:
        """Two dimensions: factors are small, and the set is about as small as it may be."""
        missed, contradicted = self.misses(policy, setting, 400)
        assert missed <= FEW
        assert contradicted <= FEW

    @staticmethod
    def misses(policy: mb.OFUL | mb.ROFUL, setting: str, horizon: int, runs: int = RUNS) -> tuple[int, int]:
        """Runs in which the set missed the parameter, and in which bounds and data contradicted each other."""
        instance = COVERED[setting]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*contradicted each other")
            environment = instance.environment(None if len(instance.bounds) < 4 else 4)
            regret = mb.simulate({"p": policy}, environment, instance.bounds, horizon=horizon, runs=runs, seed=5)
        strain, contradictions = (regret.measures[name]["p"][:, -1] for name in ("strain", "contradictions"))
        return int(np.sum(strain > 1.0 + 1e-9)), int(np.count_nonzero(contradictions))

    @pytest.mark.slow
    @pytest.mark.parametrize("noise", EVERY_NOISE)
    def test_too_small_a_factor_is_noticed(self, noise: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """With every variance proxy a sixteenth of what it is, the same test fails."""
        actual = mb.ROFUL.plan

        def shrunk(self: mb.ROFUL, arms: mb.LinearArms) -> Any:
            plan = actual(self, arms)
            rule = plan.rule._replace(proxy=plan.rule.proxy / 16)
            return plan._replace(pool=plan.pool._replace(proxy=plan.pool.proxy / 16), rule=rule)

        monkeypatch.setattr(mb.ROFUL, "plan", shrunk)
        missed, _ = self.misses(mb.ROFUL(noise=noise, index="clip", **PART), "almost known", 400)
        assert missed > FEW

    def test_the_printed_algorithm(self) -> None:
        """Where the printed factor would be zero: arms on [-1, 0] and no lower limit on the norm."""
        missed, _ = self.misses(mb.ROFUL.paper(failure=FAILURE), "all negative", 300, 500)
        assert missed <= stats.binom.isf(1e-6, 500, FAILURE)

    @pytest.mark.slow
    @pytest.mark.parametrize("policy", MODES, ids=str)
    def test_offers_chosen_by_an_adversary(self, policy: mb.LinearPolicy) -> None:
        """It knows the parameter and the past, and offers what is noisiest where the estimate is most wrong."""
        instance = random_instance(np.random.default_rng(4), 12, 2, width=0.05)
        draws = np.random.default_rng(6).random((RUNS, 60))  # rewards
        plan = policy.plan(mb.LinearArms(instance.features, instance.bounds))
        share = (instance.means - instance.bounds.low) / (instance.bounds.high - instance.bounds.low)
        missed = 0
        for run in range(RUNS):
            design = kernel.new_design(instance.features, float(policy.regularisation))
            pool = plan.pool._replace(**{name: getattr(plan.pool, name).copy() for name in ("lower", "upper", "proxy")})
            low, high = instance.bounds.low, instance.bounds.high
            rewards = np.where(draws[run, :, None] < share, high, low)
            missed += is_missed(pool, plan.rule, plan.known, design, instance.theta, instance.features, rewards, run)
        assert missed <= FEW


class TestPaperSetting:
    """Section 4's figure: 200 runs over five draws of the arms, 2,000 rounds."""

    @staticmethod
    def regret(offered: int, rewards: str) -> tuple[Floats, Floats, Floats]:
        """Regret of OFUL and of R-OFUL in every run, and arms that R-OFUL keeps in a round."""
        plain, restricted, kept = [], [], []
        for draw_of_arms in range(5):
            instance = mb.LinearInstance.paper(draw_of_arms)
            policies = {"OFUL": mb.OFUL(), "R-OFUL": mb.ROFUL()}
            environment = instance.environment(offered, rewards)
            result = mb.simulate(policies, environment, instance.bounds, horizon=2000, runs=40, seed=draw_of_arms)
            plain.append(result.final["OFUL"])
            restricted.append(result.final["R-OFUL"])
            kept.append(result.measures["kept"]["R-OFUL"][:, -1] / 2000)
        return np.concatenate(plain), np.concatenate(restricted), np.concatenate(kept)

    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore:R-OFUL. bounds and data contradicted")  # clipping moves the means
    @pytest.mark.parametrize("offered", [5, 10, 15])
    def test_regret_and_arms_kept(self, offered: int) -> None:
        plain, restricted, kept = self.regret(offered, "clipped-gaussian")
        assert restricted.mean() <= plain.mean() / 10
        assert np.all((kept >= 1.0) & (kept <= 3.0))
        plain, restricted, kept = self.regret(offered, "two-point")
        assert restricted.mean() <= plain.mean() / 5

    @pytest.mark.parametrize("noise", NOISE)
    @pytest.mark.parametrize("seed", range(3))
    def test_without_information_it_is_oful(self, noise: str, seed: int) -> None:
        """Bounds that say nothing, no clipping or tightening; settling would use that ranges end where others begin."""
        instance = mb.LinearInstance.paper(seed)
        vacuous = mb.MeanBounds.vacuous(100, low=instance.bounds.low, high=instance.bounds.high)
        policies = {
            "OFUL": mb.OFUL(noise=noise),
            "R-OFUL": mb.ROFUL(noise=noise, index="plain", tighten="none", settle=False),
        }
        result = mb.simulate(
            policies, instance.environment(10), vacuous, horizon=1500, runs=5, seed=seed, checkpoints=1500
        )
        np.testing.assert_array_equal(result.curves["OFUL"], result.curves["R-OFUL"])
        np.testing.assert_array_equal(result.plays["OFUL"], result.plays["R-OFUL"])

    def test_as_printed(self) -> None:
        """The printed algorithm keeps the same arms, and differs from ours in radius and factor alone."""
        instance = mb.LinearInstance.paper(1)
        policies = {"printed": mb.ROFUL.paper(), "R-OFUL": mb.ROFUL()}
        result = mb.simulate(policies, instance.environment(5), instance.bounds, horizon=300, runs=4, seed=1)
        np.testing.assert_array_equal(result.measures["kept"]["printed"], result.measures["kept"]["R-OFUL"])


class TestPrintedFactor:
    def test_the_factor_of_the_paper(self) -> None:
        """Unit arms on [0, 1], l_max = 0.95, M = m = 1: alpha = 0.3176, cos(3 alpha) = 0.5795; c(0.5795) = 0.24788.

        With l_max = 0.8, 3 alpha = 1.93 is above pi / 2, and the factor is that of the arms.
        """
        bounds = mb.MeanBounds([0.95, 0.0], [1.0, 1.0])
        policy = mb.ROFUL.paper(norm_low=1.0)
        plan = policy.plan(mb.LinearArms([[1.0, 0.0], [0.99, np.sqrt(1 - 0.99**2)]], bounds))
        pool = plan.pool._replace(lower=bounds.lower.copy(), upper=bounds.upper.copy(), proxy=bounds.variance_proxy)
        both = np.arange(2)
        alpha = np.arccos(0.95)
        expected = mb.variance_proxy(float(np.cos(3.0 * alpha)))
        assert kernel.restricted_proxy(pool, plan.rule, both, both) == pytest.approx(expected)
        assert expected == pytest.approx(0.24788, abs=1e-5)
        lower = pool._replace(lower=np.array([0.8, 0.0]))
        assert kernel.restricted_proxy(lower, plan.rule, both, both) == 0.25
        with pytest.raises(ValueError, match=r"arm 1 has norm 0\.5 and offset 0; the printed algorithm"):
            policy.plan(mb.LinearArms([[1.0, 0.0], [0.5, 0.0]], mb.MeanBounds.vacuous(2)))


class TestAgent:
    features = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    bounds = mb.MeanBounds([0.5, 0.1, 0.0], [0.9, 0.95, 0.8], arms=["a", "b", "c"])

    def agent(self, policy: mb.LinearPolicy | None = None, **more: Any) -> Any:
        return mb.Agent(policy or mb.ROFUL(), self.bounds, seed=7, features=self.features, **more)

    def test_bounds_of_a_new_arm_come_from_the_feasible_set(self) -> None:
        """theta_1 >= 0.5 and norm at most 1: -x_1 has mean at most -0.5, below the 0.5 of arm a."""
        agent = self.agent()
        opposite = mb.Candidate([-1.0, 0.0], low=-1.0, high=1.0)
        assert all(agent.pull(["a", opposite]) == "a" for _ in range(20))
        tight = mb.tighten(self.features, self.bounds, norm_high=1.0)
        lower, upper = inside(agent)._bounds_of(mb.Candidate([0.6, 0.8]))
        assert (lower, upper) == pytest.approx((tight.lower[1], tight.upper[1]), abs=1e-8)

    def test_own_bounds_of_a_new_arm_count(self) -> None:
        agent = self.agent(mb.ROFUL(norm_high=2.0))
        sure = mb.Candidate([0.3, 0.3], lower=0.97, upper=0.99, name="sure", offset=0.7)
        assert agent.pull(["a", "c", sure]) is sure
        agent.update(sure, 1.0)
        assert agent.plays.tolist() == [0, 0, 0]
        assert agent.estimate @ np.array([0.3, 0.3]) > 0.0

    def test_a_new_arm_that_cannot_be(self) -> None:
        with pytest.raises(
            mb.BoundsError, match=r"candidate 'odd': its mean is in \[0.9, 1.0\], but the bounds of the other"
        ):
            self.agent().pull(["a", mb.Candidate([-1.0, 0.0], lower=0.9, name="odd")])

    def test_mistakes_are_named_and_change_nothing(self) -> None:
        agent = self.agent()
        before = agent.to_dict()
        cases: list[tuple[Any, type[Exception], str]] = [
            (lambda: agent.pull([[0.1, 0.2]]), TypeError, r"go into mb.Candidate\(features"),
            (lambda: agent.pull(["a", "z"]), mb.UnknownArmError, "unknown arm 'z'"),
            (lambda: agent.pull([]), ValueError, "eligible is empty"),
            (lambda: agent.pull([mb.Candidate([1.0])]), ValueError, "has 1 features; this agent's arms have 2"),
            (lambda: agent.update("a", 1.5), mb.RewardError, "the reward 1.5 is not a number in its range"),
            (lambda: agent.update(mb.Candidate([1, 0], name="n"), -1), mb.RewardError, "arm 'n': the reward -1"),
            (lambda: agent.cancel("a"), ValueError, "no pending pull to cancel"),
            (lambda: agent.add("d", lower=0.5, upper=0.6), TypeError, "give features="),
            (
                lambda: agent.add("d", lower=0.9, upper=1.0, features=[-1.0, 0.0]),
                mb.BoundsError,
                "contradict each other",
            ),
            (lambda: agent.pull(pending="maybe"), ValueError, 'pending must be "ignore" or "count"'),
            (lambda: mb.Agent(mb.OFUL(), self.bounds), TypeError, "give features=, a row for each arm"),
            (
                lambda: mb.Agent(mb.GLUE(), self.bounds, features=self.features),
                TypeError,
                "does not learn from features",
            ),
            (lambda: mb.Candidate([1.0], lower=0.8, upper=0.2), mb.BoundsError, "low <= lower <= upper <= high"),
            (lambda: mb.Candidate([np.inf]), ValueError, "finite numbers"),
            (lambda: mb.OFUL(failure=0.0), ValueError, "OFUL: failure must be a probability"),
            (lambda: mb.OFUL(regularisation=0.0), ValueError, "OFUL: regularisation must be a positive number"),
            (lambda: mb.ROFUL(noise="loud"), ValueError, "ROFUL: noise must be one of 'running-max'"),
            (lambda: mb.ROFUL(index="best"), ValueError, "ROFUL: index must be one of 'plain', 'clip', 'exact'"),
            (lambda: mb.ROFUL(tighten="some"), ValueError, "ROFUL: tighten must be one of"),
            (lambda: mb.ROFUL(norm_low=5.0), ValueError, "ROFUL: norm_low must be between 0 and norm_high = 1.0"),
            (lambda: mb.ROFUL(online=cast(Any, "no")), ValueError, "ROFUL: online must be one of True, False"),
            (lambda: agent.pull(cast(Any, mb.Candidate([1.0, 0.0]))), TypeError, "eligible must be a list"),
            (lambda: mb.Candidate([1.0], lower=cast(Any, "x")), ValueError, "lower must be numbers"),
            (lambda: mb.Candidate([1.0], name=cast(Any, [1])), ValueError, "a candidate's name is a text"),
        ]
        for action, kind, message in cases:
            with pytest.raises(kind, match=message):
                action()
        assert agent.to_dict() == before

    def test_the_largest_factor_must_be_known_for_pool_max(self) -> None:
        agent = self.agent(mb.ROFUL(noise="pool-max"))
        wide = mb.Candidate([0.5, 0.5], low=-5.0, high=5.0, name="wide")
        with pytest.raises(ValueError, match='noise="pool-max" needs all arms in advance'):
            agent.pull(["a", wide])

    @pytest.mark.parametrize("policy", [*POLICIES, mb.ROFUL(), mb.ROFUL.paper()], ids=str)
    def test_a_saved_agent_goes_on_as_the_original_does(self, policy: mb.LinearPolicy) -> None:
        rng = np.random.default_rng(8)
        agent = self.agent(policy)
        new = mb.Candidate([0.5, 0.5], upper=0.85, name="new")
        for _ in range(30):
            offered: list[Any] = ["a", "b", new] if policy.noise != "pool-max" else ["a", "b"]
            agent.update(agent.pull(offered), rng.random())
        agent.pull(offered)
        copy = mb.Agent.from_dict(json.loads(json.dumps(agent.to_dict())))
        assert copy.to_dict() == agent.to_dict()
        for _ in range(50):
            arm, reward = agent.pull(offered), rng.random()
            assert copy.pull(offered) == arm
            for one in (agent, copy):
                one.update(arm, reward)
        assert copy.to_dict() == agent.to_dict()
        assert mb.Policy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy

    def test_a_broken_file_is_refused(self) -> None:
        saved = self.agent().to_dict()
        for name, message in (("moment", "lacks moment"), ("pending", "lacks pending")):
            with pytest.raises(ValueError, match=message):
                mb.Agent.from_dict({key: value for key, value in saved.items() if key != name})
        with pytest.raises(ValueError, match="precision has shape"):
            mb.Agent.from_dict({**saved, "precision": [[1.0]]})

    def test_arms_come_and_go(self) -> None:
        agent = self.agent()
        agent.add("d", lower=0.2, upper=0.9, features=[0.8, 0.6], offset=0.1)
        assert len(agent.bounds) == 4
        agent.retire("a")
        assert agent.pull() != "a"
        assert np.isneginf(agent.indices()[0])
        with pytest.raises(ValueError, match="arm 'a' is retired"):
            agent.pull(["a", "b"])
        agent.update("a", 1.0)
        agent.restore("a")
        agent.replace_bounds(mb.MeanBounds([0.9, 0, 0, 0], [1, 0.8, 0.2, 0.85], arms=["a", "b", "c", "d"]))
        assert agent.pull() == "a"
        assert agent.plays.tolist() == [1, 0, 0, 0]
        assert agent.means[0] == 1.0

    def test_a_burst_of_requests_spreads(self) -> None:
        bounds = mb.MeanBounds.vacuous(["a", "b", "c"])
        agent: Any = mb.Agent(mb.OFUL(), bounds, seed=1, features=np.eye(3))
        burst = [agent.pull(pending="count") for _ in range(9)]
        assert sorted(burst) == ["a"] * 3 + ["b"] * 3 + ["c"] * 3
        new = mb.Candidate([0.0, 0.0, 1.2])
        assert agent.pull([new], pending="count") is new
        before = agent.to_dict()
        agent.pull([new], pending="count")
        assert agent.to_dict()["moment"] == before["moment"]
        agent.cancel(new)

    @pytest.mark.parametrize(
        "policy", [mb.ROFUL(), mb.ROFUL(online=True), mb.ROFUL(tighten="cone", online=True)], ids=str
    )
    def test_pulls_without_answers_teach_nothing(self, policy: mb.LinearPolicy) -> None:
        bounds = mb.MeanBounds([0.8, 0.0], [0.95, 1.0], arms=["a", "b"])
        agent: Any = mb.Agent(policy, bounds, seed=1, features=[[1.0, 0.0], [0.6, 0.8]])
        new = mb.Candidate([0.7, 0.7])
        agent.pull(["a", "b", new])  # with nothing pending this is a pull like any other
        before = agent.to_dict()
        for _ in range(200):
            agent.pull(["a", "b", new], pending="count")
        after = agent.to_dict()
        assert {name for name in before if before[name] != after[name]} <= {"pulls", "pending", "waiting"}

    def test_outcomes_that_no_pull_preceded_count(self) -> None:
        """The radius of every mode knows of the noise in history."""
        for noise in EVERY_NOISE:
            agent = self.agent(mb.OFUL(noise=noise))
            for _ in range(100):
                agent.update("a", 0.7)
            grown = np.log(101.0)
            expected = 1.0 + np.sqrt(0.25 * (grown - 2.0 * np.log(0.01)))
            assert kernel.radius(inside(agent).standing.design, inside(agent).standing.plan.rule) == pytest.approx(
                expected
            )

    def test_oful_takes_no_notice_of_a_candidates_bounds(self) -> None:
        agent = self.agent(mb.OFUL())
        assert inside(agent)._proxy(mb.Candidate([1.0, 0.0], lower=0.99)) == 0.25

    def test_what_was_learned_stays_when_an_arm_is_added(self) -> None:
        agent = self.agent(mb.ROFUL(online=True))
        for _ in range(500):
            agent.update("a", 0.7)
        agent.pull()
        learned = agent.tight_bounds
        agent.add("d", features=[0.8, 0.6])
        assert agent.tight_bounds.lower[0] == learned.lower[0] > 0.55

    def test_a_late_reward_of_a_candidate_that_can_no_longer_be(self) -> None:
        agent = self.agent()
        new = mb.Candidate([0.6, 0.8], lower=0.5)
        agent.pull([new])
        agent.replace_bounds(mb.MeanBounds([0.1, 0.0, 0.0], [0.2, 0.3, 0.2], arms=["a", "b", "c"]))
        agent.update(new, 0.7)
        with pytest.raises(mb.BoundsError):
            agent.pull([new])

    def test_history_and_delays(self) -> None:
        agent = self.agent()
        first = agent.pull()
        agent.update(first, 1.0, history=True)
        assert agent.pending.sum() == 1
        agent.update(first, 1.0)
        assert agent.pending.sum() == 0

    def test_offsets_decide(self) -> None:
        """Hidden parts 0.9 and 0, known parts -0.8 and 0.5: the second arm is best, by its known part alone."""
        bounds = mb.MeanBounds.vacuous(2, low=-1.0, high=1.0)
        agent = mb.Agent(mb.OFUL(), bounds, seed=3, features=np.eye(2), offset=[-0.8, 0.5])
        for _ in range(300):
            arm = agent.pull()
            agent.update(arm, 0.1 if arm == 0 else 0.5)
        assert agent.plays[1] > 200

    @pytest.mark.slow
    @pytest.mark.parametrize("regularisation", [1.0, 1e-6])
    def test_ten_million_updates_leave_the_inverse_sound(self, regularisation: float) -> None:
        """Drift of the inverse, the estimate and the determinant against a fresh solve in exact sums of counts."""
        rng = np.random.default_rng(9)
        d, arms, updates = 6, 8, 10_000_000
        features = rng.normal(size=(arms, d))
        features[0] *= 1e-3  # hardly ever informative
        rule = (
            mb.OFUL(noise="pool-max", regularisation=regularisation)
            .plan(mb.LinearArms(features, mb.MeanBounds.vacuous(arms)))
            .rule
        )
        design = kernel.new_design(features, regularisation)
        counts, ones = linear.observe_many(design, rule, features, updates, np.uint64(1))
        precision = regularisation * np.eye(d) + (features.T * counts) @ features
        moment = features.T @ ones
        assert counts.sum() == updates
        inverse = np.linalg.inv(precision)
        scale = np.sqrt(np.outer(np.diag(inverse), np.diag(inverse)))
        assert np.max(np.abs(design.inverse - inverse) / scale) < 1e-8
        error = design.estimate - np.linalg.solve(precision, moment)
        assert np.sqrt(error @ precision @ error) < 1e-6  # a millionth of a confidence radius
        grown = np.linalg.slogdet(precision)[1] - d * np.log(regularisation)
        assert design.numbers[0] == pytest.approx(grown, abs=1e-8)

    @pytest.mark.slow
    def test_an_arm_that_was_never_played_keeps_its_width(self) -> None:
        """Three million updates of one arm with a hundred times the weight, against fifty digits."""
        agent, updates = tired_agent(), 3_000_000
        now = inside(agent).standing
        ones = linear.observe_one(now.design, now.plan.rule, 0, now.plan.pool.proxy[0], updates, np.uint64(5))
        assert errors(agent, [updates, 0, 0, 0], [ones, 0.0, 0.0, 0.0]) == pytest.approx((0.0, 0.0), abs=1e-6)

    @pytest.mark.parametrize("scale", [1.0, 30.0, 3000.0])
    @pytest.mark.parametrize("noise", ["pool-max", "weighted"])
    def test_the_first_updates_lose_no_digits(self, scale: float, noise: str) -> None:
        """Large features against a small regularisation: the inverse shrinks by many orders at once."""
        rng = np.random.default_rng(10)
        features = rng.normal(size=(12, 5))
        features *= scale / np.linalg.norm(features, axis=1)[:, None]
        bounds = mb.MeanBounds(np.linspace(0.0, 0.98, 12), np.ones(12))
        regularisation = 1e-6 if scale < 3000.0 else 1e-2
        policy = mb.OFUL(noise=noise, regularisation=regularisation)
        plan = policy.plan(mb.LinearArms(features, bounds))
        design, image = kernel.new_design(features, regularisation), np.empty(5)
        for n in range(1, 1001):
            arm = int(rng.integers(12))
            kernel.observe(design, plan.rule, arm, features[arm], float(rng.random()), plan.pool.proxy[arm], image)
            if n in (10, 100, 1000):  # from when every direction was seen
                inverse = np.linalg.inv(design.precision)
                exact = np.einsum("ij,jk,ik->i", features, inverse, features)
                kept = np.einsum("ij,jk,ik->i", features, design.inverse, features)
                np.testing.assert_allclose(kept, exact, rtol=1e-9)
        with pytest.raises(ValueError, match=r"features of length .* against regularisation .* would round it away"):
            policy.plan(mb.LinearArms(1e5 * features, bounds))


class TestEnvironment:
    def test_laws_have_the_means_they_should(self) -> None:
        """Each arm alone, 4,000 pulls: a z test; the clipped Gaussian's mean is that of its definition."""
        features, theta = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), np.array([0.3, 0.8])
        for rewards in ("two-point", "uniform", "beta", "clipped-gaussian"):
            environment = mb.Linear(features, theta, rewards=rewards)
            law = environment.rewards(environment.low, environment.high)
            for arm in range(3):
                key = np.uint64(child(np.uint64(reward_key(np.uint64(1), 0)), arm))
                seen = environment.low[arm] + np.array([draw(law, arm, key, n) for n in range(4000)])
                mean = environment.means[arm]
                if rewards == "clipped-gaussian":
                    normal = stats.norm(mean, np.sqrt(0.8))
                    low, high = environment.low[arm], environment.high[arm]
                    mean = low * normal.cdf(low) + high * normal.sf(high) + normal.expect(lb=low, ub=high)
                assert abs(seen.mean() - mean) < 5.0 * seen.std() / np.sqrt(4000)
                assert seen.min() >= environment.low[arm]
                assert seen.max() <= environment.high[arm]

    def test_offers_are_uniform_and_without_repetition(self) -> None:
        counts = np.zeros(7)
        for t in range(1, 3001):
            offer = linear.draw_offer(1, 0, t, 7, 3)
            assert len(set(offer)) == 3
            counts[offer] += 1
        assert stats.chisquare(counts).pvalue > 1e-6

    def test_a_table_of_offers(self) -> None:
        table = [[0, 1], [2, 1]]
        environment = mb.Linear([[1.0, 0.0], [0.5, 0.0], [0.8, 0.1]], [0.9, 0.0], offered=table)
        regret = mb.simulate({"OFUL": mb.OFUL()}, environment, horizon=400, runs=3, seed=1)
        plays = regret.plays["OFUL"]
        assert np.all(plays[:, 0] + plays[:, 1] + plays[:, 2] == 400)
        assert np.all(plays[:, 0] <= 200)

    def test_the_same_rewards_and_offers_for_every_policy(self) -> None:
        instance = random_instance(np.random.default_rng(3), 10, 3)
        environment = instance.environment(4)
        policies = {
            "one": mb.OFUL(noise="pool-max"),
            "two": mb.ROFUL(noise="pool-max", index="plain", tighten="none", settle=False),
        }
        vacuous = mb.MeanBounds.vacuous(10, low=instance.bounds.low, high=instance.bounds.high)
        regret = mb.simulate(policies, environment, vacuous, horizon=500, runs=4, seed=2)
        np.testing.assert_array_equal(regret.curves["one"], regret.curves["two"])
        again = mb.simulate(
            policies, environment, vacuous, horizon=500, runs=4, seed=2, backend="loky", workers=2, block=1
        )
        np.testing.assert_array_equal(regret.curves["one"], again.curves["one"])
        np.testing.assert_array_equal(regret.measures["kept"]["one"], again.measures["kept"]["one"])

    def test_all_arms_on_offer_suit_other_policies_too(self) -> None:
        instance = random_instance(np.random.default_rng(3), 6, 2)
        regret = mb.simulate(
            [mb.GLUE(), mb.ROFUL()], instance.environment(None), instance.bounds, horizon=300, runs=5, seed=1
        )
        assert set(regret.measures["kept"]) == {"ROFUL"}
        assert "ROFUL" in regret.summary()

    def test_saved_and_resumed(self, tmp_path: Any) -> None:
        instance = random_instance(np.random.default_rng(3), 6, 2)
        policies = {"OFUL": mb.OFUL(), "R-OFUL": mb.ROFUL(online=True)}
        regret = mb.simulate(
            policies, instance.environment(3), instance.bounds, horizon=200, runs=6, seed=1, resume=tmp_path / "parts"
        )
        regret.save(tmp_path / "regret.parquet")
        loaded = mb.Regret.load(tmp_path / "regret.parquet")
        assert loaded.summary() == regret.summary()
        for name, by_label in regret.measures.items():
            for label, values in by_label.items():
                np.testing.assert_array_equal(loaded.measures[name][label], values)

    def test_a_norm_outside_its_limits_is_said(self) -> None:
        environment = mb.Linear(np.eye(2) * 0.2, [3.0, 4.0])
        with pytest.warns(UserWarning, match=r"OFUL: theta has norm 5, outside the limits .* \[0, 1\]"):
            mb.simulate(mb.OFUL(), environment, horizon=5, runs=1, seed=1)

    def test_mistakes_are_named(self) -> None:
        features = [[1.0, 0.0], [0.0, 1.0]]
        cases: list[tuple[Any, type[Exception], str]] = [
            (lambda: mb.Linear(features, [1.0]), ValueError, "a column for each entry of theta"),
            (
                lambda: mb.Linear(features, [2.0, 0.0]),
                ValueError,
                r"arm 0: its mean 2.0 is outside \[-1, 1\]; give low=",
            ),
            (lambda: mb.Linear(features, [0.5, 0.5], offered=3), ValueError, "a number of arms from 1 to 2"),
            (lambda: mb.Linear(features, [0.5, 0.5], offered=[[0, 0]]), ValueError, "row 0 has an arm twice"),
            (lambda: mb.Linear(features, [0.5, 0.5], offered=[[0, 5]]), ValueError, "a table of arms' places"),
            (lambda: mb.Linear(features, [0.5, 0.5], offered=[[0, 1], [1]]), ValueError, "all of one length"),
            (lambda: mb.Linear(features, [0.5, 0.5], rewards="odd"), ValueError, "rewards must be one of 'two-point'"),
            (lambda: mb.Linear(features, [0.5, 0.5], variance=0.0), ValueError, "variance must be a positive number"),
            (
                lambda: mb.simulate(mb.OFUL(), mb.Bernoulli([0.5, 0.6]), horizon=5),
                TypeError,
                "needs arms with features",
            ),
            (
                lambda: mb.simulate(mb.UCB(), mb.Linear(features, [0.5, 0.5], offered=1), horizon=5),
                TypeError,
                "UCB chooses among the same arms in each round",
            ),
        ]
        for action, kind, message in cases:
            with pytest.raises(kind, match=message):
                action()


def test_a_linear_policy_of_ones_own() -> None:
    """Ten lines: R-OFUL that trusts bounds halfway."""

    @dataclasses.dataclass(frozen=True)
    class Half(mb.LinearPolicy):
        def plan(self, arms: mb.LinearArms) -> Any:
            bounds = arms.bounds
            middle = mb.MeanBounds(
                (bounds.lower + bounds.low) / 2,
                (bounds.upper + bounds.high) / 2,
                arms=bounds.arms,
                low=bounds.low,
                high=bounds.high,
            )
            return self.make_plan(arms, middle)

    instance = random_instance(np.random.default_rng(3), 6, 2)
    regret = mb.simulate({"half": Half()}, instance.environment(3), instance.bounds, horizon=200, runs=3, seed=1)
    assert np.all(np.isfinite(regret.final["half"]))
    agent = mb.Agent(Half(failure=0.1), instance.bounds, seed=1, features=instance.features)
    assert mb.Agent.from_dict(agent.to_dict()).policy == Half(failure=0.1)


class TestPictures:
    def test_arms_kept(self) -> None:
        instance = random_instance(np.random.default_rng(3), 10, 2, width=0.2)
        policies: dict[str, AnyPolicy] = {"OFUL": mb.OFUL(), "R-OFUL": mb.ROFUL()}
        regret = mb.simulate(
            policies, instance.environment(5), instance.bounds, horizon=100, runs=4, seed=1, checkpoints=10
        )
        ax = plots.plot_kept(regret)
        lines = [np.asarray(line.get_ydata(), dtype=float) for line in ax.get_lines()]
        np.testing.assert_allclose(lines[0], 5.0)
        expected = regret.measures["kept"]["R-OFUL"][:, -1].mean() / 100
        assert lines[1].mean() == pytest.approx(expected)
        assert [text.get_text() for text in ax.texts] == ["R-OFUL", "OFUL"]
        regret = mb.simulate(mb.UCB(), mb.Bernoulli([0.5, 0.4]), horizon=10, runs=2, seed=1)
        with pytest.raises(ValueError, match="no policy restricts the arms on offer"):
            plots.plot_kept(regret)

    def test_cone(self) -> None:
        """l_max = 0.5 and norm 1: alpha is 60 degrees, and the cone has 120 degrees on either side of the first arm."""
        bounds = mb.MeanBounds([0.5, -1.0, -1.0], [1.0, 1.0, 1.0], arms=["a", "b", "c"], low=-1.0, high=1.0)
        features = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]
        ax = plots.plot_cone(features, bounds, theta=[0.7, 0.3])
        (wedge,) = [patch for patch in ax.patches if isinstance(patch, Wedge)]
        assert (wedge.theta1, wedge.theta2) == pytest.approx((-120.0, 120.0))
        assert [text.get_text() for text in ax.texts] == ["a", "b", "c"]
        with pytest.raises(ValueError, match="plot_cone draws arms with 2 features; these have 3"):
            plots.plot_cone(np.eye(3), mb.MeanBounds.vacuous(3))


def test_a_study_file(tmp_path: Any) -> None:
    text = """
policies = ["OFUL", { policy = "ROFUL", index = "clip", label = "clip" }]
horizon = 50
runs = 3

[environment]
kind = "linear"
features = [[1.0, 0.0], [0.6, 0.8]]
theta = [0.5, 0.5]
offered = 1
"""
    path = tmp_path / "study.toml"
    path.write_text(text)
    study = read_study(path)
    regret = mb.simulate(
        study.policies, study.environment, study.bounds, horizon=study.horizon, runs=study.runs, seed=study.seed
    )
    assert regret.labels == ("OFUL", "clip")
    path.write_text(text.replace("theta = [0.5, 0.5]", "theta = [0.5]"))
    with pytest.raises(ValueError, match="line 8: environment: features need a row for each arm"):
        read_study(path)
