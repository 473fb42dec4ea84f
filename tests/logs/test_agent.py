"""From a log to an agent: what it starts from, that it learns, is saved, and shares its trust among contexts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.logs import AnyExpert, ErringExpert, KnownPropensity, OptimalExpert
from tests.logs.test_prior import log_of, lottery

LAB = mb.HiddenContexts.random(visible=3, hidden=4, arms=3, seed=2)
COUNTS = LAB.sample(6_000, seed=1)


def one(counts: mb.logs.Counts, *arguments: Any, **more: Any) -> mb.Agent:
    """The agent of a log with one context."""
    made = mb.logs.agent(counts, *arguments, **more)
    assert isinstance(made, mb.Agent)
    return made


def several(*arguments: Any, **more: Any) -> mb.ContextualAgent:
    """The agent of the laboratory's log."""
    made = mb.logs.agent(COUNTS, *arguments, **more)
    assert isinstance(made, mb.ContextualAgent)
    return made


def test_bounds_are_those_of_any_expert_and_the_judgement_is_a_prior() -> None:
    agent, certain, likely = (
        several(ErringExpert(0.1), seed=1),
        mb.logs.bounds(COUNTS, AnyExpert()),
        mb.logs.prior(COUNTS, ErringExpert(0.1)),
    )
    for context in COUNTS.contexts:
        known = agent[context].knowledge
        assert known == mb.Knowledge(certain[context], prior=likely[context])


def test_with_trust_the_assumption_gives_the_bounds_and_contexts_share_it() -> None:
    agent, found = several(ErringExpert(0.1), trust=0.95, seed=1), mb.logs.bounds(COUNTS, ErringExpert(0.1))
    name = ErringExpert(0.1).in_words()
    for context in COUNTS.contexts:
        known = agent[context].knowledge
        assert (known.bounds, known.trust, known.assumption) == (found[context], 0.95, name)
    assert agent.assumptions() == {name: 0.0}
    worst = int(found[COUNTS.contexts[0]].upper.argmin())
    with (
        pytest.warns(mb.evidence.AssumptionWarning),
        pytest.warns(mb.evidence.ContradictionWarning, match="in all but at most 10% of the cases"),
    ):
        _praise(agent, COUNTS.contexts[0], worst)
    assert agent.assumptions()[name] > 3.0
    assert mb.ContextualAgent.from_dict(agent.to_dict()).assumptions() == agent.assumptions()


def _praise(agent: mb.ContextualAgent, context: Any, arm: int) -> None:
    for _ in range(60):
        agent.update(context, arm, 1.0)


def test_bounds_of_an_old_log_age() -> None:
    agent = several(ErringExpert(0.1), trust=0.95, half_life=500.0, expires=2_000, seed=1)
    assert {(agent[c].knowledge.half_life, agent[c].knowledge.expires) for c in COUNTS.contexts} == {(500.0, 2_000)}
    certain = one(log_of([[600, 400]], [[480, 280]]), half_life=500.0, seed=1).knowledge
    assert certain == mb.Knowledge(certain.bounds, prior=certain.prior, half_life=500.0)


def test_full_trust_leaves_no_doubt() -> None:
    agent = one(log_of([[600, 400]], [[480, 280]]), trust=1.0, seed=1)
    assert agent.knowledge.is_certain
    assert agent.bounds == mb.logs.bounds(log_of([[600, 400]], [[480, 280]]))["z0"]


def test_one_context_makes_an_agent_that_finds_the_best_arm() -> None:
    world = mb.HiddenContexts([[[0.9, 0.4, 0.1], [0.3, 0.6, 0.5]]], [[0.75, 0.25]], arms=["a", "b", "c"])
    agent, rng = one(world.sample(5_000, seed=1), seed=3), np.random.default_rng(4)
    means = dict(zip(world.arms, world.marginal_means[0].tolist(), strict=True))
    for _ in range(400):
        arm = agent.pull()
        agent.update(arm, float(rng.random() < means[arm]))
    assert agent.plays[0] > 330


def test_saved_agents_go_on(tmp_path: Path) -> None:
    for made, kind in ((several(seed=1), mb.ContextualAgent), (several(trust=0.9, seed=1), mb.ContextualAgent)):
        made.update("z0", 1, 0.0)
        made.save(tmp_path / "agent.json")
        again = kind.load(tmp_path / "agent.json")
        assert again.to_dict() == made.to_dict()
        assert [again.pull(z) for z in again.contexts] == [made.pull(z) for z in made.contexts]
    single = one(log_of([[600, 400]], [[480, 280]]), seed=1)
    single.save(tmp_path / "one.json")
    assert mb.Agent.load(tmp_path / "one.json").to_dict() == single.to_dict()


def test_arms_that_the_log_never_played() -> None:
    world = mb.HiddenContexts([[[0.9, 0.4], [0.7, 0.6]]], arms=["old", "rare"])
    agent = one(world.sample(2_000, seed=1), arms=["rare", "old", "new"], seed=1)
    assert agent.bounds.arms == ("rare", "old", "new")
    assert agent.bounds.upper[2] == 1.0
    assert agent.bounds.lower[2] == 0.0
    prior = agent.knowledge.prior
    assert prior is not None
    assert isinstance(prior.mean, tuple)
    assert prior.mean[2] == pytest.approx(0.4, abs=0.02)  # half of what the expert had


def test_rewards_in_any_range() -> None:
    rows, ones = [[600, 400]], [[480, 280]]
    plain, stars = one(log_of(rows, ones), seed=5), one(log_of(rows, ones, 1.0, 5.0), seed=5)
    rng = np.random.default_rng(6)
    for _ in range(100):
        arm = plain.pull()
        assert stars.pull() == arm
        reward = float(rng.random() < 0.5)
        plain.update(arm, reward)
        stars.update(arm, 1.0 + 4.0 * reward)


def test_propensities_that_a_program_wrote_down_are_certain() -> None:
    counts = lottery()
    drawn = KnownPropensity("p", 0.25)
    agent = one(counts, drawn, seed=1)
    assert agent.bounds == mb.logs.bounds(counts, drawn)["all"]
    assert agent.pull() == "new"


def test_any_policy_that_takes_a_prior_and_no_other() -> None:
    for policy in (mb.ThompsonSampling(), mb.BIMED(), mb.IDS()):
        assert several(policy=policy, seed=1).policy == policy
    with pytest.raises(ValueError, match="GLUE cannot use a prior"):
        several(policy=mb.GLUE())


def test_refused() -> None:
    with pytest.raises(mb.BoundsError, match="The log allows gap_low of at most"):
        mb.logs.agent(log_of([[5000, 5000]], [[500, 4500]]), OptimalExpert(gap_low=0.3))
    with pytest.raises(ValueError, match="trust is the probability"):
        several(trust=1.5)
    given: Any = [[1, 2]]
    with pytest.raises(TypeError, match="counts must be those of a log"):
        mb.logs.agent(given)


def test_unknown_contexts_and_a_floor() -> None:
    agent = several(seed=1, unknown="vacuous", floor=0.05)
    with pytest.warns(UserWarning, match="is new"):
        agent.pull("someone else")
    assert agent["z0"].floor == 0.05
