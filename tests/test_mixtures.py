"""Mixtures of priors as a user meets them: what is refused, files, agents, contexts, studies, and any density."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import meanbounds as mb
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, reward_key
from meanbounds.simulation.study import StudyError
from tests.test_prior import study

UNTYPED: Any = mb
BOUNDS = mb.MeanBounds([0.0, 0.2, 0.1], [0.95, 0.6, 0.9], arms=["tPA", "medical", "watch"])
DUD, HIT = mb.Prior(0.02, 50.0), mb.Prior(0.1, 50.0)
MIXTURE = mb.Prior.mixture([mb.Prior([0.3, 0.4, 0.5], 20.0), mb.Prior(0.8, 9.0)], [[0.9, 0.1], [0.5, 0.5], [1.0, 0.0]])
USERS = [mb.ThompsonSampling(), mb.OptimisticGittins(), mb.IDS()]


def test_weights_may_be_off_by_rounding() -> None:
    assert mb.Prior.mixture([DUD, HIT], [0.9, 0.1 + 1e-12]).weights[1] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: mb.Prior.mixture([], []), "at least one component and a weight for each"),
        (lambda: mb.Prior.mixture([DUD, HIT], [1.0]), "got 2 components and weights of shape \\(1,\\)"),
        (lambda: mb.Prior.mixture([DUD], 1.0), "weights of shape \\(\\)"),
        (lambda: mb.Prior.mixture([DUD, HIT], [0.5, 0.6]), "sum to 1, for each arm; got \\[0.5, 0.6\\]"),
        (lambda: mb.Prior.mixture([DUD, HIT], [[0.5, 0.5], [0.5, 0.4]]), "sum to 1"),
        (lambda: mb.Prior.mixture([DUD, HIT], [1.5, -0.5]), "probabilities, 0 or more"),
        (lambda: mb.Prior.mixture([DUD, HIT], [float("nan"), 1.0]), "probabilities, 0 or more"),
        (lambda: UNTYPED.Prior.mixture([DUD, HIT], ["a", "b"]), "the weights of a mixture must be numbers"),
        (lambda: mb.PriorMixture.from_dict({"components": []}), "a mixture has components and weights"),
        (lambda: mb.Prior.from_dict(MIXTURE.to_dict()), "this is a mixture, which mb.PriorMixture.from_dict reads"),
        (
            lambda: mb.Knowledge(BOUNDS, prior=mb.Prior.mixture([DUD, HIT], [[0.5, 0.5]])),
            "the weights of the mixture have 1 rows; give one list or one row for each of 3 arms",
        ),
        (
            lambda: mb.Knowledge(BOUNDS, prior=mb.Prior.mixture([DUD, mb.Prior(2.0, 9.0)], [0.5, 0.5])),
            "component 1 of the prior, counted from 0: the prior mean of arm 'tPA' is 2, not inside its range",
        ),
        (
            lambda: mb.Knowledge(BOUNDS, prior=MIXTURE).with_bounds(mb.MeanBounds([0.1], [0.2], arms=["new"])),
            "the prior of arm 'new' is not known",
        ),
        (
            lambda: mb.Agent(mb.BIMED(), mb.Knowledge(BOUNDS, prior=MIXTURE)),
            "BIMED counts a prior as plays.*ThompsonSampling, OptimisticGittins and IDS can use it",
        ),
        (
            lambda: mb.Agent(mb.LinearThompson(), mb.Knowledge(BOUNDS, prior=MIXTURE), features=np.eye(3)),
            "LinearThompson counts a prior as plays",
        ),
        (lambda: mb.Agent(mb.GLUE(), mb.Knowledge(BOUNDS, prior=MIXTURE)), "GLUE cannot use a prior"),
        (
            lambda: mb.Agent(mb.ThompsonSampling(moments=2), mb.Knowledge(BOUNDS, prior=MIXTURE)),
            "two moments.*Take moments=1, or give one law",
        ),
        (
            lambda: mb.simulate(mb.IDS(moments=2), mb.Bernoulli([0.3] * 3), mb.Knowledge(BOUNDS, prior=MIXTURE)),
            "IDS\\(moments=2\\) counts rewards with two moments",
        ),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()


def test_components_are_priors() -> None:
    with pytest.raises(TypeError, match=r"a component of a mixture is one such as mb\.Prior"):
        UNTYPED.Prior.mixture([DUD, 0.5], [0.5, 0.5])
    with pytest.raises(TypeError, match=r"a component of a mixture is one such as mb\.Prior"):
        UNTYPED.Prior.mixture([MIXTURE], [1.0])


def test_a_mixture_is_kept() -> None:
    known = mb.Knowledge(BOUNDS, prior=MIXTURE, trust=0.9)
    chosen = known.subset([2, 0]).prior
    assert chosen == mb.Prior.mixture([mb.Prior([0.5, 0.3], 20.0), mb.Prior(0.8, 9.0)], [[1.0, 0.0], [0.9, 0.1]])
    assert mb.Prior.mixture([DUD, HIT], [0.9, 0.1]).subset([1]) == mb.Prior.mixture([DUD, HIT], [0.9, 0.1])
    grown = known.with_arm("new", None, 2.0, 0.0, 4.0)
    assert grown.prior is not None
    np.testing.assert_allclose(grown.prior.rows(grown.bounds)[:, 3], [2.0, 1.0, 1.0])  # uniform
    np.testing.assert_array_equal(grown.prior.rows(grown.bounds)[:, :3], MIXTURE.rows(BOUNDS))
    assert mb.Prior.mixture(MIXTURE.components, [0.5, 0.5]) != MIXTURE
    for again in (
        mb.Knowledge.from_dict(json.loads(json.dumps(known.to_dict()))),
        pickle.loads(pickle.dumps(known)),
        copy.deepcopy(known),
    ):
        assert again == known
        assert hash(again) == hash(known)
    assert eval(repr(MIXTURE), {"PriorMixture": mb.PriorMixture, "Prior": mb.Prior}) == MIXTURE


def test_what_counts_as_plays_has_the_mean_and_the_variance() -> None:
    """For settling; by scipy's moments of the components."""
    stars = mb.MeanBounds([1.0], [5.0], low=1.0, high=5.0)
    prior = mb.Prior.mixture([mb.Prior(2.0, 8.0), mb.Prior(4.5, 30.0)], [0.25, 0.75])
    laws = [stats.beta(2.0, 6.0), stats.beta(30.0 * 0.875, 30.0 * 0.125)]
    mean = 0.25 * laws[0].mean() + 0.75 * laws[1].mean()
    square = 0.25 * laws[0].moment(2) + 0.75 * laws[1].moment(2)
    strength, above, below = prior.rows(stars)[:, 0]
    assert prior.mean(stars)[0] == pytest.approx(1.0 + 4.0 * mean)
    assert (above / strength, above + below) == (pytest.approx(mean), pytest.approx(strength))
    assert stats.beta(above, below).moment(2) == pytest.approx(square)


@pytest.mark.parametrize("policy", USERS, ids=repr)
@pytest.mark.parametrize("trust", [1.0, 0.99])
def test_saved_agents_go_on_alike(policy: mb.Policy, trust: float) -> None:
    """With arms that come and go, and offers of some arms."""
    agent = mb.Agent(policy, mb.Knowledge(BOUNDS, prior=MIXTURE, trust=trust), seed=7)
    agent.add("surgery", lower=0.1, upper=0.7)
    rng = np.random.default_rng(1)
    rounds = 4 if isinstance(policy, mb.IDS) else 15
    for _ in range(rounds):
        agent.update(agent.pull(), float(rng.random() < 0.5))
    agent.retire("watch")
    again = mb.Agent.from_dict(json.loads(json.dumps(agent.to_dict())))
    assert again.knowledge == agent.knowledge
    for _ in range(rounds):
        offer = ["tPA", "surgery"] if rng.random() < 0.3 else None
        arm, reward = agent.pull(offer), float(rng.random() < 0.5)
        assert again.pull(offer) == arm
        agent.update(arm, reward)
        again.update(arm, reward)
    np.testing.assert_array_equal(again.probabilities(), agent.probabilities())


@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.OptimisticGittins()], ids=repr)
@pytest.mark.parametrize("trust", [1.0, 0.9])
def test_agent_and_simulator_agree(policy: mb.Policy, trust: float) -> None:
    known, environment = mb.Knowledge(BOUNDS, prior=MIXTURE, trust=trust), mb.Bernoulli([0.6, 0.5, 0.55])
    law, key = environment.rewards(BOUNDS.low, BOUNDS.high), np.uint64(reward_key(np.uint64(10), 0))
    agent = mb.Agent(policy, known, seed=10)
    for _ in range(40):
        arm = agent.pull()
        k = BOUNDS.position(arm)
        agent.update(arm, draw(law, k, np.uint64(child(key, k)), int(agent.plays[k])))
    found = mb.simulate({"p": policy}, environment, known, horizon=40, runs=1, seed=10)
    assert agent.plays.tolist() == found.plays["p"][0].tolist()
    assert found.settings["prior"] == MIXTURE.to_dict()


@pytest.mark.parametrize("policy", USERS, ids=repr)
def test_order_of_arms(policy: mb.Policy) -> None:
    known, order = mb.Knowledge(BOUNDS, prior=MIXTURE), [2, 0, 1]
    one, other = mb.Agent(policy, known, seed=1), mb.Agent(policy, known.subset(order), seed=1)
    for agent in (one, other):
        agent.update("tPA", 0.0)
        agent.update("watch", 1.0)
    np.testing.assert_allclose(one.probabilities()[order], other.probabilities(), atol=1e-9)


def test_contexts_have_mixtures_of_their_own() -> None:
    contexts = {"young": mb.Knowledge(BOUNDS, prior=MIXTURE), "old": mb.Knowledge(BOUNDS)}
    agent = mb.ContextualAgent(mb.ThompsonSampling(), contexts, seed=3)
    agent.update("young", "tPA", 1.0)
    again = mb.ContextualAgent.from_dict(json.loads(json.dumps(agent.to_dict())))
    for name, known in contexts.items():
        assert agent[name].knowledge == again[name].knowledge == known
        assert agent.pull(name) == again.pull(name)
    with pytest.raises(ValueError, match="BIMED counts a prior as plays"):
        mb.ContextualAgent(mb.BIMED(), contexts, seed=3)


STUDY = """\
policies = ["ThompsonSampling", "IDS"]
horizon = 20
[environment]
kind = "bernoulli"
means = [0.6, 0.5]
[prior]
weights = [0.9, 0.1]
[[prior.components]]
mean = 0.02
strength = 50
[[prior.components]]
mean = [0.1, 0.2]
strength = 50
"""


def test_study_files_have_mixtures(tmp_path: Path) -> None:
    expected = mb.Prior.mixture([DUD, mb.Prior([0.1, 0.2], 50.0)], [0.9, 0.1])
    assert study(tmp_path, STUDY).known == mb.Knowledge(mb.MeanBounds.vacuous(2), prior=expected)
    rows = STUDY.replace("[0.9, 0.1]", "[[0.9, 0.1], [0.5, 0.5]]")
    assert study(tmp_path, rows).known.prior.weights == ((0.9, 0.1), (0.5, 0.5))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[0.9, 0.1]", "[0.9, 0.2]", "line 7: prior: the weights of a mixture sum to 1"),
        ("[0.9, 0.1]", "[0.9, 'a']", "line 7: prior: weights must be a list of numbers or a list of lists"),
        ("weights = [0.9, 0.1]\n", "", "line 6: prior: weights is missing"),
        ("weights =", "weight =", "line 7: prior: unknown key 'weight'; expected components, weights"),
        ("strength = 50\n[[", "strenght = 50\n[[", "line 10: prior: unknown key 'strenght'; expected mean, strength"),
        ("mean = 0.02\n", "", "prior: mean is missing"),
        ("mean = 0.02", "mean = 'low'", "line 9: prior: mean must be a number or a list of numbers"),
        ('"IDS"', '"BIMED"', "line 6: prior: BIMED counts a prior as plays"),
    ],
)
def test_wrong_mixtures_in_study_files(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(StudyError, match=says):
        study(tmp_path, STUDY.replace(old, new, 1))


def triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(0.0, 1.0 - np.abs(x - 0.4) / 0.3)


DENSITIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "two humps": lambda x: np.exp(-0.5 * ((x - 0.2) / 0.04) ** 2) + 0.5 * np.exp(-0.5 * ((x - 0.6) / 0.1) ** 2),
    "triangle": triangle,
    "infinite at both ends": lambda x: 1.0 / np.sqrt(x * (1.0 - x)),
    "steep": lambda x: 1e300 * np.exp(-40.0 * x),
    "a step": lambda x: np.where((x > 0.2) & (x < 0.6), 1.0, 0.0),
}


@pytest.mark.parametrize("name", DENSITIES)
@pytest.mark.parametrize("tolerance", [0.05, 0.02])
def test_a_mixture_has_the_distribution_function_of_its_density(name: str, tolerance: float) -> None:
    """By scipy's distribution functions, and adaptive integrals of the density."""
    density, bounds = DENSITIES[name], mb.MeanBounds.vacuous(1)
    prior = mb.Prior.from_density(density, bounds, tolerance=tolerance)
    weights, (a, b) = np.array(prior.weights), prior.parts(bounds)[len(prior.weights) :].reshape(2, -1)
    x, ends = np.linspace(0.004, 0.996, 125), [0.1, 0.2, 0.4, 0.6, 0.7]
    below = [integrate.quad(lambda t: float(density(np.array(t))) / 1e200, 0.0, v, points=ends)[0] for v in (*x, 1.0)]
    mixed = weights @ stats.beta.cdf(x, a[:, None], b[:, None])
    assert np.abs(mixed - np.array(below[:-1]) / below[-1]).max() <= tolerance


def test_densities_in_the_units_of_the_rewards_and_by_arm() -> None:
    stars = mb.MeanBounds([1.0, 0.0], [5.0, 10.0], low=[1.0, 0.0], high=[5.0, 10.0])
    prior = mb.Prior.from_density(lambda x: np.exp(-0.5 * ((x - 3.0) / 0.5) ** 2), stars)
    np.testing.assert_allclose(prior.mean(stars), 3.0, atol=0.05)
    two = mb.Prior.from_density([lambda x: x - 1.0, lambda x: 0.0 * x + 1.0], stars)
    np.testing.assert_allclose(two.mean(stars), [1.0 + 4.0 * 2.0 / 3.0, 5.0], atol=0.05)
    assert two.is_by_arm
    assert mb.Agent(mb.ThompsonSampling(), mb.Knowledge(stars, prior=two), seed=1).probabilities()[1] > 0.5


def test_posteriors_of_a_density_are_those_of_the_density() -> None:
    """Expected means after rewards, against the density times the likelihood."""
    bounds, density = mb.MeanBounds([0.1, 0.0], [0.9, 1.0]), DENSITIES["two humps"]
    prior = mb.Prior.from_density(density, bounds, tolerance=0.001)
    agent = mb.Agent(mb.ThompsonSampling(settle=False), mb.Knowledge(bounds, prior=prior), seed=1)
    for reward in (1.0, 0.0, 0.0, 1.0, 0.0):
        agent.update(0, reward)
    x = (np.arange(20_000) + 0.5) / 20_000
    first = density(x) * x**2 * (1.0 - x) ** 3 * ((x > 0.1) & (x < 0.9))
    second = density(x)
    wins = (first / first.sum() * np.cumsum(second / second.sum())).sum()
    assert agent.probabilities()[0] == pytest.approx(wins, abs=0.003)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: mb.Prior.from_density(lambda x: -x, BOUNDS),
            "a density is finite and never negative inside the range",
        ),
        (lambda: mb.Prior.from_density(lambda x: x * np.inf, BOUNDS), "it is inf at"),
        (lambda: mb.Prior.from_density(lambda x: 0.0 * x, BOUNDS), "the density is 0 everywhere in the range from 0"),
        (
            lambda: mb.Prior.from_density(lambda x: x[:3], BOUNDS),
            "returned an array of shape \\(3,\\); return a density",
        ),
        (lambda: mb.Prior.from_density(lambda x: x, BOUNDS, tolerance=0.0), "tolerance is a difference of prob"),
        (
            lambda: mb.Prior.from_density(lambda x: np.exp(-0.5 * ((x - 0.5) / 0.002) ** 2), BOUNDS),
            "no mixture of 1024 components is within 0.01 of the density.*too narrow, or jumps",
        ),
    ],
)
def test_densities_that_are_none_are_refused(make: Callable[[], object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()


def test_a_density_is_a_function() -> None:
    for wrong in (0.5, [np.exp], [0.5] * 3):
        with pytest.raises(TypeError, match="a function from means to densities, or a list with one for each of 3"):
            UNTYPED.Prior.from_density(wrong, BOUNDS)
