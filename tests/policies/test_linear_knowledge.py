"""Arms with features: priors, trust below 1, and the evidence of all rewards against all bounds."""

from __future__ import annotations

import json
import pickle
import warnings
from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds.agents.features import FeaturesLearner
from meanbounds.kernels.linear.doubt import LOWER, NO_SIDE, UPPER, bet, share_of
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, reward_key
from meanbounds.simulation.study import StudyError, read_study
from meanbounds.support.types import Floats

RARE = 1e-6
LINEAR = [mb.LinearThompson(norm_high=0.5), mb.ROFUL(norm_high=0.5, index="clip")]
NAMES = ["LinearThompson", "ROFUL"]


def world(seed: int, arms: int = 6, d: int = 3) -> tuple[Floats, Floats, Floats]:
    """Features of length 1, a parameter of norm 0.4, and the means around 1/2 that they give."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(arms, d))
    features /= np.linalg.norm(features, axis=1)[:, None]
    theta = rng.normal(size=d)
    theta *= 0.4 / np.linalg.norm(theta)
    return features, theta, 0.5 + features @ theta


def right(means: Floats, width: float = 0.1) -> mb.MeanBounds:
    return mb.MeanBounds(np.clip(means - width, 0.0, 1.0), np.clip(means + width, 0.0, 1.0))


def capped(means: Floats, by: float = 0.1) -> mb.MeanBounds:
    """Right bounds but for the best arm, whose upper bound is too low."""
    bounds, best = right(means), int(np.argmax(means))
    lower, upper = bounds.lower.copy(), bounds.upper.copy()
    lower[best], upper[best] = means[best] - 0.3, means[best] - by
    return mb.MeanBounds(lower, upper)


def environment(features: Floats, theta: Floats) -> mb.Linear:
    return mb.Linear(features, theta, offset=0.5, low=0.0, high=1.0)


def inside(agent: mb.Agent) -> FeaturesLearner:
    assert isinstance(agent.inside, FeaturesLearner)
    return agent.inside


def agent_for(
    policy: mb.LinearPolicy, known: mb.MeanBounds | mb.Knowledge, features: Floats, seed: int = 1
) -> mb.Agent:
    return mb.Agent(policy, known, seed=seed, features=features, offset=0.5)


class TestPrior:
    def test_it_counts_as_rewards_that_came_before(self) -> None:
        """3 successes in 5 plays after a uniform prior are the prior with mean 4/7 and strength 7."""
        features, _, means = world(1)
        policy, bounds = LINEAR[0], right(means, 0.3)
        told = agent_for(policy, bounds, features)
        for _ in range(3):
            told.update(2, 1.0, history=True)
        for _ in range(2):
            told.update(2, 0.0, history=True)
        mean, strength = np.full(6, 0.5), np.full(6, 2.0)
        mean[2], strength[2] = 4 / 7, 7.0
        known = agent_for(policy, mb.Knowledge(bounds, prior=mb.Prior(mean, strength)), features)
        one, other = inside(told).standing.design, inside(known).standing.design
        for name in ("precision", "moment", "estimate"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9)

    def test_a_uniform_prior_says_nothing(self) -> None:
        features, theta, means = world(2)
        bounds, where = right(means), environment(*world(2)[:2])
        assert theta.size == features.shape[1]
        runs = {
            name: mb.simulate(LINEAR[0], where, known, horizon=200, runs=3, seed=5).curves[str(LINEAR[0])]
            for name, known in (("none", bounds), ("uniform", mb.Knowledge(bounds, prior=mb.Prior(0.5, 2.0))))
        }
        assert (runs["none"] == runs["uniform"]).all()

    def test_a_right_prior_loses_less_and_a_wrong_one_is_forgiven(self) -> None:
        features, theta, means = world(3, arms=20, d=5)
        bounds, where = mb.MeanBounds.vacuous(20), environment(features, theta)
        lost = {}
        for name, known in (
            ("none", mb.Knowledge(bounds)),
            ("right", mb.Knowledge(bounds, prior=mb.Prior(means, 30.0))),
            ("wrong", mb.Knowledge(bounds, prior=mb.Prior(1.0 - means, 12.0))),
        ):
            curves = mb.simulate(LINEAR[0], where, known, horizon=4_000, runs=6, seed=5, checkpoints=[400, 4_000])
            lost[name] = curves.curves[str(LINEAR[0])].mean(axis=0)
        assert lost["right"][1] < 0.7 * lost["none"][1]
        assert lost["wrong"][1] < 5.0 * lost["wrong"][0]  # ten times the rounds

    def test_policies_with_a_guarantee_refuse_it(self) -> None:
        features, _, means = world(1)
        known = mb.Knowledge(right(means), prior=mb.Prior(0.5, 10.0))
        for policy in (mb.OFUL(), mb.ROFUL()):
            with pytest.raises(ValueError, match=r"cannot use a prior.*LinearThompson can"):
                agent_for(policy, known, features)

    def test_it_works_in_study_files(self, tmp_path: Path) -> None:
        path = tmp_path / "study.toml"
        path.write_text(
            """policies = ["LinearThompson"]
            horizon = 50
            runs = 2
            [environment]
            kind = "linear"
            features = [[1.0, 0.0], [0.6, 0.8]]
            theta = [0.5, 0.5]
            [bounds]
            lower = [0.2, 0.2]
            upper = [0.8, 0.9]
            trust = 0.9
            [prior]
            mean = 0.6
            strength = 10
            """
        )
        known = read_study(path).known
        assert known is not None
        assert (known.trust, known.prior) == (0.9, mb.Prior(0.6, 10.0))
        path.write_text(path.read_text().replace("LinearThompson", "ROFUL"))
        with pytest.raises(StudyError, match="ROFUL cannot use a prior"):
            read_study(path)


class TestBets:
    def test_no_bet_gains_on_average_while_the_bounds_hold(self) -> None:
        rng = np.random.default_rng(1)
        sides = set()
        for _ in range(2_000):
            low = float(rng.normal())
            high = low + float(rng.exponential()) + 0.1
            lower, upper = np.sort(rng.uniform(low, high, 2))
            forecast, error = float(rng.uniform(low - 0.5, high + 0.5)), float(rng.exponential(0.1))
            plays = float(rng.integers(0, 50))
            for mean in (lower, upper, rng.uniform(lower, upper)):
                chance = (mean - low) / (high - low)
                gains = [bet(end, low, high, lower, upper, forecast, error, plays) for end in (low, high)]
                sides.add(gains[0][0])
                assert (1.0 - chance) * exp(gains[0][1]) + chance * exp(gains[1][1]) <= 1.0 + 1e-9
                share = float(rng.uniform())  # a reward between the ends gains no more than the line between them
                _, between = bet(low + share * (high - low), low, high, lower, upper, forecast, error, plays)
                assert exp(between) <= (1.0 - share) * exp(gains[0][1]) + share * exp(gains[1][1]) + 1e-9
        assert sides == {NO_SIDE, LOWER, UPPER}

    def test_the_share_of_doubting_rounds(self) -> None:
        assert share_of(log(10.0), -5.0) == pytest.approx(0.1)  # evidence in favour gives no trust
        assert share_of(log(10.0), log(9.0)) == pytest.approx(0.5)
        assert share_of(log(100.0), 50.0) == pytest.approx(1.0)
        assert share_of(0.0, 0.0) == 1.0
        assert share_of(log(1e12), 0.0) == pytest.approx(1e-12)

    @pytest.mark.slow
    @pytest.mark.parametrize("policy", LINEAR, ids=NAMES)
    def test_false_alarms_stay_within_the_error(self, policy: mb.LinearPolicy) -> None:
        """Means at the ends of their bounds, where bets lose least. At most 10% of runs ever reach 10."""
        alarms, runs = 0, 0
        for seed in range(5):
            features, theta, means = world(seed)
            towards = np.where(np.arange(6) % 2 == 0, 0.0, 0.15)
            bounds = mb.MeanBounds(np.clip(means - towards, 0, 1), np.clip(means + 0.15 - towards, 0, 1))
            known = mb.Knowledge(bounds, trust=0.5)
            played = mb.simulate({"p": policy}, environment(features, theta), known, horizon=1_000, runs=60, seed=seed)
            alarms += int((played.measures["evidence"]["p"][:, -1] >= log(10.0)).sum())
            runs += 60
        assert stats.binom.sf(alarms - 1, runs, 0.1) > RARE  # false failures: 1e-6
        assert alarms < runs / 10


class TestTrust:
    @pytest.mark.parametrize("policy", LINEAR, ids=NAMES)
    @pytest.mark.parametrize("prior", [False, True])
    def test_agents_play_as_simulations_do(self, policy: mb.LinearPolicy, prior: bool) -> None:
        features, theta, means = world(4)
        if prior and not policy.takes_prior:
            policy = mb.ROFUL(norm_high=0.5)
        known = mb.Knowledge(
            capped(means), trust=0.8, prior=mb.Prior(means, 8.0) if prior and policy.takes_prior else None
        )
        where, rounds, seed = environment(features, theta), 150, 11
        law = where.rewards(known.bounds.low, known.bounds.high)
        streams = np.uint64(reward_key(np.uint64(seed), 0))
        agent, regret = agent_for(policy, known, features, seed), 0.0
        for _ in range(rounds):
            arm = int(agent.pull())
            regret += float(means.max() - means[arm])
            agent.update(arm, float(draw(law, arm, np.uint64(child(streams, arm)), int(agent.plays[arm]))))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            played = mb.simulate({"p": policy}, where, known, horizon=rounds, runs=1, seed=seed, checkpoints=1)
        assert played.final["p"][0] == pytest.approx(regret, abs=1e-9)
        assert (played.plays["p"][0] == agent.plays).all()

    @pytest.mark.parametrize("policy", LINEAR, ids=NAMES)
    def test_saved_agents_go_on_as_they_would_have(self, policy: mb.LinearPolicy) -> None:
        features, _, means = world(5)
        agent, rng = agent_for(policy, mb.Knowledge(right(1.0 - means), trust=0.7), features), np.random.default_rng(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(60):
                agent.update(int(agent.pull()), float(rng.random() < 0.9))
        same = [mb.Agent.from_dict(json.loads(json.dumps(agent.to_dict()))), pickle.loads(pickle.dumps(agent))]
        assert inside(agent).log_e != 0.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(30):
                arm, reward = agent.pull(), float(rng.random() < 0.9)
                assert all(other.pull() == arm for other in same)
                for one in (agent, *same):
                    one.update(arm, reward)
        assert all(other.to_dict() == agent.to_dict() for other in same)

    @pytest.mark.parametrize("policy", LINEAR, ids=NAMES)
    def test_probabilities_are_the_mixture_that_a_pull_draws_from(self, policy: mb.LinearPolicy) -> None:
        features, _, means = world(5)
        agent = agent_for(policy, mb.Knowledge(capped(means), trust=0.7), features)
        learner = inside(agent)
        certain = agent_for(policy, capped(means), features).probabilities()
        free = agent_for(policy, mb.MeanBounds.vacuous(6), features).probabilities()
        assert learner.doubt == pytest.approx(0.3)
        assert agent.probabilities() == pytest.approx(0.7 * certain + 0.3 * free)
        floored = mb.Agent(policy, agent.knowledge, seed=1, features=features, offset=0.5, floor=0.02)
        assert floored.probabilities().sum() == pytest.approx(1.0)
        assert floored.probabilities().min() >= 0.02  # every arm can be best if bounds are wrong

    def test_a_trust_of_0_is_as_good_as_no_bounds(self) -> None:
        features, theta, means = world(6)
        where = environment(features, theta)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            curves = [
                mb.simulate({"p": policy}, where, known, horizon=300, runs=2, seed=3).curves["p"]
                for policy in LINEAR
                for known in (mb.Knowledge(capped(means), trust=0.0), mb.MeanBounds.vacuous(6))
            ]
        assert (curves[0] == curves[1]).all()
        assert (curves[2] == curves[3]).all()

    @pytest.mark.parametrize("policy", LINEAR, ids=NAMES)
    def test_wrong_bounds_stop_losing(self, policy: mb.LinearPolicy) -> None:
        """Bounds that belong to the opposite parameter: the worst arm is thought to be best."""
        features, theta, means = world(7)
        bounds, where = right(1.0 - means, 0.15), environment(features, theta)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sure, doubted = (
                mb.simulate({"p": policy}, where, mb.Knowledge(bounds, trust=trust), horizon=6_000, runs=4, seed=2)
                for trust in (1.0, 0.9)
            )
        assert doubted.final["p"].mean() < 0.5 * sure.final["p"].mean()
        assert (doubted.measures["evidence"]["p"][:, -1] > log(200.0)).all()

    def test_what_cannot_be_used_is_refused(self) -> None:
        features, _, means = world(1)
        together = mb.Knowledge(right(means), trust=0.9, assumption="the expert is optimal")
        with pytest.raises(ValueError, match="stand or fall together"):
            agent_for(mb.ROFUL(), together, features)
        with pytest.raises(ValueError, match="leave expires out"):
            agent_for(mb.ROFUL(), mb.Knowledge(right(means), expires=100), features)

    def test_candidates_and_pending_pulls(self) -> None:
        features, _, means = world(5)
        new = mb.Candidate([0.5, 0.5, 0.1], offset=0.5, name="new")
        for policy in LINEAR:
            agent = agent_for(policy, mb.Knowledge(right(means), trust=0.5), features)
            for _ in range(40):
                arm = agent.pull([0, new, 1], pending="count")
                agent.update(arm, 0.5)
            assert agent.probabilities([0, new, 1]).sum() == pytest.approx(1.0)
            agent.add("more", features=[0.1, 0.2, 0.3], offset=0.5)
            agent.retire(0)
            assert agent.pull() != 0

    def test_indices_are_those_of_the_plan_that_decides(self) -> None:
        features, _, means = world(7)
        agent = agent_for(LINEAR[1], mb.Knowledge(capped(means, 0.2), trust=0.6), features)
        best = int(np.argmax(means))
        assert agent.indices()[best] == -np.inf or agent.indices()[best] <= agent.bounds.upper[best] + 1e-9
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(200):
                agent.update(best, 1.0)
        assert agent.indices()[best] > agent.bounds.upper[best]


class TestWatch:
    def test_an_agent_warns_once_and_says_when(self) -> None:
        features, _, means = world(7)
        bounds, best = capped(means, 0.2), int(np.argmax(means))
        agent = agent_for(mb.LinearThompson(norm_high=0.5), bounds, features)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(100):
                agent.update(best, 1.0)
        assert [one.category for one in caught] == [mb.evidence.ContradictionWarning] * len(caught)
        said = [one.message for one in caught if isinstance(one.message, mb.evidence.ContradictionWarning)]
        named = [(one.contradiction.arm, one.contradiction.side) for one in said]
        assert (best, "upper") in named
        assert len(set(named)) == len(named)
        found = next(one for one in agent.contradictions() if (one.arm, one.side) == (best, "upper"))
        assert found.updates is not None
        assert 5 < found.updates < 60

    def test_a_warning_that_is_made_an_error_leaves_the_agent_as_it_was(self) -> None:
        features, _, means = world(7)
        agent = agent_for(mb.ROFUL(norm_high=0.5), mb.Knowledge(capped(means, 0.2), trust=0.9), features)
        best = int(np.argmax(means))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(100):
                before = agent.to_dict()
                try:
                    agent.update(best, 1.0)
                except mb.evidence.ContradictionWarning:
                    break
            else:
                pytest.fail("no warning")
            assert agent.to_dict() == before
            agent.update(best, 1.0)  # each bound is warned of once
        assert agent.plays[best] == before["plays"][best] + 1

    def test_a_bound_that_follows_from_others_is_named_with_them(self) -> None:
        """The mean of c is 0.6 a + 0.8 b, so at most 0.46 by the bounds of a and b; its rewards have mean 0.8."""
        bounds = mb.MeanBounds([0.0, 0.0, 0.0], [0.1, 0.5, 1.0], arms=["a", "b", "c"])
        agent = mb.Agent(mb.LinearThompson(), bounds, seed=1, features=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for reward in [1.0, 1.0, 0.0, 1.0, 1.0] * 40:
                agent.update("c", reward)
        (found,) = agent.contradictions()
        assert (found.arm, found.side, found.follows_from) == ("c", "upper", ("a", "b"))
        assert found.bound == pytest.approx(0.46)
        assert "its upper bound 0.46, which follows from the bounds of arms 'a', 'b' (e-value" in str(found)
        assert len(caught) == 1
        again = mb.Agent.from_dict(agent.to_dict())
        assert again.contradictions() == [found]

    def test_other_bounds_are_bet_against_anew(self) -> None:
        features, _, means = world(7)
        agent, best = agent_for(LINEAR[0], mb.Knowledge(capped(means, 0.2), trust=0.9), features), int(np.argmax(means))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(60):
                agent.update(best, 1.0)
        against = inside(agent).log_e
        agent.add("new", features=[0.1, 0.2, 0.3], offset=0.5)
        assert inside(agent).log_e == against > 5.0
        agent.replace_bounds(mb.MeanBounds.vacuous(agent.bounds.arms))
        assert inside(agent).log_e == 0.0
        assert agent.contradictions() == []

    def test_right_bounds_are_not_named(self) -> None:
        features, _, means = world(8)
        for policy in (*LINEAR, mb.OFUL(norm_high=0.5)):
            agent, rng = agent_for(policy, right(means, 0.05), features), np.random.default_rng(4)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                for _ in range(500):
                    arm = int(agent.pull())
                    agent.update(arm, float(rng.random() < means[arm]))
            assert agent.contradictions() == []
