"""Logs that an agent wrote while it learned: limits by martingales hold, those for independent rows are not used.

Each simulation writes 2,000 logs at once, by an agent whose probabilities depend on earlier rewards. The logs are the
contexts of one table, and each has the whole failure probability for itself, so that one call bounds all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

import meanbounds as mb
from meanbounds.logs.judged import Judged, Log
from tests.logs.naive import naive_bet

LOGS, ROUNDS, LEAST, CONFIDENCE = 2_000, 150, 0.1, 0.8
MEANS = np.array([0.8, 0.5, 0.55])
Floats = NDArray[np.float64]
Agent = Callable[[np.random.Generator, Floats, Floats, Floats], Floats]


def mixed(wanted: Any) -> Floats:
    """Probabilities of which a part is the same for all arms."""
    found: Floats = LEAST + (1.0 - LEAST * len(MEANS)) * wanted
    return found


def greedy(rng: np.random.Generator, plays: Floats, wins: Floats, weighted: Floats) -> Floats:
    """Epsilon-greedy: the probabilities of each log's arms."""
    del weighted
    score = (wins + 1.0) / (plays + 2.0) + 1e-9 * rng.random(plays.shape)
    best = score == score.max(axis=1, keepdims=True)
    return mixed(best)


def thompson(rng: np.random.Generator, plays: Floats, wins: Floats, weighted: Floats) -> Floats:
    """Thompson sampling, by how often each arm is best in eight draws, and a part of exploration."""
    del weighted
    draws = rng.beta(wins + 1.0, plays - wins + 1.0, (8, *plays.shape))
    best = (draws == draws.max(axis=2, keepdims=True)).mean(axis=0)
    return mixed(best)


def spiteful(rng: np.random.Generator, plays: Floats, wins: Floats, weighted: Floats) -> Floats:
    """Keeps an estimate where it is wrong: an arm whose weighted mean is too high is hardly played any more."""
    del rng, wins
    rounds = np.maximum(plays.sum(axis=1, keepdims=True), 1.0)
    wrong = weighted / rounds < MEANS
    wrong[:, 2] = ~wrong[:, :2].any(axis=1) | wrong[:, 2]
    return mixed(wrong / wrong.sum(axis=1, keepdims=True))


AGENTS: dict[str, Agent] = {"greedy": greedy, "thompson": thompson, "spiteful": spiteful}


def written(agent: Agent, seed: int) -> mb.logs.Counts:
    """The counts of all logs; their contexts are the number of the log and the probability."""
    rng = np.random.default_rng(seed)
    plays, wins, weighted = (np.zeros((LOGS, len(MEANS))) for _ in range(3))
    one, parts = np.arange(LOGS), []
    for _ in range(ROUNDS):
        chance = agent(rng, plays, wins, weighted).round(9)
        arm = (rng.random((LOGS, 1)) > np.cumsum(chance, axis=1)).sum(axis=1).clip(0, len(MEANS) - 1)
        reward = (rng.random(LOGS) < MEANS[arm]).astype(float)
        plays[one, arm] += 1.0
        wins[one, arm] += reward
        weighted[one, arm] += reward / chance[one, arm]
        parts.append(pd.DataFrame({"log": one, "chance": chance[one, arm], "arm": arm, "reward": reward}))
    return mb.logs.read(pd.concat(parts), context=["log", "chance"], arm="arm", reward="reward", histogram=True)


def bounded(counts: mb.logs.Counts, method: str) -> tuple[Floats, Floats]:
    """Bounds of each log, as if it were the only one."""
    assumed = mb.logs.KnownPropensity("chance", LEAST, adaptive=True)
    log = Log.of(counts, assumed, CONFIDENCE, method, 0.0)
    return Judged(replace(log, sharing=1), assumed).limits


@pytest.mark.no_cover  # it repeats what other tests do once
@pytest.mark.slow
@pytest.mark.parametrize("name", AGENTS)
def test_all_bounds_hold_at_once(name: str) -> None:
    """Limits fail together with probability at most 0.2; the test fails with probability below 1e-6 if that is so."""
    counts = written(AGENTS[name], seed=list(AGENTS).index(name))
    widths = {}
    for method in ("betting", "kl", "hoeffding"):
        lower, upper = bounded(counts, method)
        misses = int(((lower > MEANS) | (upper < MEANS)).any(axis=1).sum())
        assert misses <= stats.binom.isf(1e-6, LOGS, 1.0 - CONFIDENCE), method
        widths[method] = np.mean(np.minimum(upper, 1.0) - np.maximum(lower, 0.0), axis=0)
    assert np.all(widths["betting"] < widths["hoeffding"])
    assert widths["betting"][0] < 0.8 * widths["kl"][0]  # the best arm was mostly far more likely than the least


@pytest.mark.parametrize("arm", [0, 1])
def test_bets_are_those_of_every_single_row(arm: int) -> None:
    """Counted by propensity and reward, rows give the limit that they give one by one."""
    rng = np.random.default_rng(4)
    chance = rng.choice([0.2, 0.5, 0.8], 60)
    played = (rng.random(60) > chance).astype(int)  # arm 0 with the chance
    own = np.where(played == 0, chance, 1.0 - chance).round(6)
    reward = rng.integers(0, 3, 60) / 2.0
    log = pd.DataFrame({"chance": own, "arm": played, "reward": reward})
    counts = mb.logs.read(log, context="chance", arm="arm", reward="reward", histogram=True)
    assumed = mb.logs.KnownPropensity("chance", 0.2, adaptive=True)
    weights = Log.of(counts, assumed, 0.8, "betting", 0.0).weights
    assert weights is not None
    assert weights.bets is not None
    lower, upper = weights.bets.limits(0.2, 2.0)
    price = 2.0 + np.log(2.0)
    mine = (played == arm) / own * 0.2

    def limit(rewards: Any) -> float:
        one = np.ones(60)
        return min(c + (naive_bet(c + (rewards - c) * mine, one, 60.0, price) - c) / 0.2 for c in (1.0, 0.5))

    assert upper[0, arm] == pytest.approx(min(limit(reward), 1.0), abs=1e-9)
    assert lower[0, arm] == pytest.approx(max(1.0 - limit(1.0 - reward), 0.0), abs=1e-9)


def test_limits_for_independent_rows_are_refused() -> None:
    log = pd.DataFrame({"arm": ["a", "b"] * 50, "chance": 0.5, "reward": [0, 1] * 50})
    counts = mb.logs.read(log, context="chance", arm="arm", reward="reward")
    mb.logs.bounds(counts, mb.logs.KnownPropensity("chance", 0.5))
    with pytest.raises(mb.BoundsError, match="independent rows"):
        mb.logs.bounds(counts, mb.logs.KnownPropensity("chance", 0.5, adaptive=True))


def test_a_log_of_an_agent_narrows_that_of_experts() -> None:
    """The agent tried everything for a while; its bounds and the experts' are narrower together."""
    lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]])
    means = lab.marginal_means[0]
    agent = mb.Agent(mb.KLUCB(), mb.MeanBounds.vacuous(2), seed=3)
    rng, rows = np.random.default_rng(3), []
    for _ in range(400):
        chance = 0.8 * np.asarray(agent.probabilities(), dtype=float) + 0.1
        arm = int(rng.random() < chance[1])
        reward = float(rng.random() < means[arm])
        agent.update(arm, reward)
        rows.append({"z": "z0", "arm": arm, "chance": round(float(chance[arm]), 9), "reward": reward})
    seen = mb.logs.read(pd.DataFrame(rows), context=["z", "chance"], arm="arm", reward="reward", histogram=True)
    learned = mb.logs.KnownPropensity("chance", least=0.1, adaptive=True)
    own = mb.logs.bounds(seen, learned, confidence=0.975, method="betting", arms=[0, 1])
    experts = mb.logs.bounds(lab.sample(10_000, seed=7), mb.logs.AnyExpert(), confidence=0.975)
    renamed = mb.logs.ContextBounds(
        {z: mb.MeanBounds(found.lower, found.upper) for z, found in experts.items()}, experts.assumptions
    )
    both = own & renamed
    assert both.assumptions["confidence"] == 0.95
    assert both.assumption == learned & mb.logs.AnyExpert()
    assert both["z0"].contains(means).all()
    for part in (own["z0"], renamed["z0"]):
        assert np.all(both["z0"].lower >= part.lower)
        assert np.all(both["z0"].upper <= part.upper)
    assert (both["z0"].upper - both["z0"].lower).sum() < (own["z0"].upper - own["z0"].lower).sum() - 0.01
    again = mb.logs.ContextBounds.from_dict(both.to_dict())
    assert again == both
    assert again.assumptions == both.assumptions


def test_two_logs_that_cannot_be_joined() -> None:
    def of(lower: float, upper: float, confidence: float = 0.975, **options: Any) -> mb.logs.ContextBounds:
        own = mb.MeanBounds([lower], [upper], arms=["a"], **options)
        return mb.logs.ContextBounds({"old": own}, {"confidence": confidence})

    with pytest.raises(
        mb.BoundsError, match=r"context 'old', arm 'a': the two logs contradict .* 0\.5 and at most 0\.4"
    ):
        of(0.1, 0.4) & of(0.5, 0.9)
    with pytest.raises(mb.BoundsError, match="different ranges"):
        of(0.1, 0.4) & of(0.1, 0.4, high=2.0)
    with pytest.raises(mb.BoundsError, match="no confidence is left"):
        of(0.1, 0.4, 0.5) & of(0.1, 0.4, 0.5)
    young = mb.logs.ContextBounds({"young": mb.MeanBounds([0.2], [0.3], arms=["b"])}, {"infinite": True})
    joined = of(0.1, 0.4) & young
    assert (joined["old"], joined["young"]) == (of(0.1, 0.4)["old"], young["young"])
    assert joined.assumptions["confidence"] == 0.975
