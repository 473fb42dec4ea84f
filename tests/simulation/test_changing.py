"""A world that changes in the middle of a simulation, and bounds that expire."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime
from math import inf, log
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, reward_key
from meanbounds.simulation.tasks import task_for
from meanbounds.support import clock

UNTYPED: Any = mb
FIRST, SECOND = mb.Bernoulli([0.9, 0.5, 0.4]), mb.Bernoulli([0.3, 0.5, 0.8])
WORLD = mb.Changing([(0, FIRST), (120, SECOND)])
BOUNDS = mb.MeanBounds([0.8, 0.3, 0.2], [0.95, 0.7, 0.6])  # right before the change
POLICIES = [mb.GLUE(), mb.BKLUCB(), mb.BIMED(), mb.ThompsonSampling(), mb.OptimisticGittins()]


def followed(policy: mb.Policy, known: mb.Knowledge, horizon: int, seed: int) -> tuple[list[float], mb.Agent]:
    """The regret of an agent in each round, in the world that changes."""
    agent, key = mb.Agent(policy, known, seed=seed), np.uint64(reward_key(np.uint64(seed), 0))
    lost, curve = 0.0, []
    for t in range(horizon):
        stage = WORLD.environments[int(t >= WORLD.starts[1])]
        law, arm = stage.rewards(known.bounds.low, known.bounds.high), int(agent.pull())
        agent.update(arm, float(draw(law, arm, np.uint64(child(key, arm)), int(agent.plays[arm]))))
        lost += float(stage.gaps[arm])
        curve.append(lost)
    return curve, agent


@pytest.mark.filterwarnings("ignore:.*contradict")
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@pytest.mark.parametrize(
    "ages",
    [{}, {"expires": 70}, {"expires": 150}, {"half_life": 60}, {"trust": 0.9, "half_life": 500, "expires": 160}],
    ids=str,
)
def test_an_agent_plays_as_run_0_of_a_simulation(policy: mb.Policy, ages: dict[str, Any]) -> None:
    """Regret is against the best arm of the moment, and bounds count until they expire, less and less."""
    known = mb.Knowledge(BOUNDS, **ages)
    curve, agent = followed(policy, known, 200, seed=6)
    fast, slow = (task_for(policy, WORLD, known, 6, np.arange(1, 201), textbook) for textbook in (False, True))
    for task in (fast, slow):
        played = task.play(0, 2)
        assert played.curves[0] == pytest.approx(curve)
        assert played.plays[0].tolist() == agent.plays.tolist()


def test_runs_and_windows_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_for(
        mb.ThompsonSampling(), WORLD, mb.Knowledge(BOUNDS, trust=0.9, expires=50), 3, np.arange(10, 201, 10)
    )
    whole = task.play(0, 3)
    assert np.array_equal(task.play(2, 1).curves[0], whole.curves[2])
    monkeypatch.setattr("meanbounds.simulation.stages.WINDOW", 37)
    assert task.play(0, 3).curves == pytest.approx(whole.curves)


def test_a_world_that_stays_the_same_is_the_one_it_was() -> None:
    same = mb.Changing([(0, FIRST), (30, FIRST)])
    regret = [mb.simulate([mb.UCB(), mb.BIMED()], world, horizon=90, runs=4, seed=2) for world in (FIRST, same)]
    for label in ("UCB", "BIMED"):
        assert regret[0].curves[label] == pytest.approx(regret[1].curves[label])
    assert regret[1].settings["environment"]["starts"] == [0, 30]
    assert "-" in regret[1].summary()  # no share of rounds in which the best arm was played: it changes


def test_a_change_after_the_end_never_comes() -> None:
    late = mb.Changing([(0, FIRST), (500, SECOND)])
    lost = [mb.simulate(mb.UCB(), world, horizon=90, runs=4, seed=2).final["UCB"] for world in (FIRST, late)]
    assert lost[0] == pytest.approx(lost[1])


def test_expiry_is_kept_and_fresh_bounds_do_not_expire() -> None:
    known = mb.Knowledge(BOUNDS, expires=3)
    assert "expires=3" in repr(known)
    for made in (known.subset([0, 1]), known.with_bounds(BOUNDS), mb.Knowledge.from_dict(known.to_dict())):
        assert made.expires == 3
    agent = mb.Agent(mb.GLUE(), known, seed=1)
    for _ in range(2):
        agent.update(0, 1.0)
    assert agent.indices()[2] == -np.inf
    others = [mb.Agent.from_dict(json.loads(json.dumps(agent.to_dict()))), pickle.loads(pickle.dumps(agent))]
    for some in (agent, *others):
        some.update(0, 1.0)
        assert some.indices().tolist() == [1.0, 1.0, 1.0]
        assert some.probabilities([1, 2]).tolist() == [0.0, 0.5, 0.5]
    agent.replace_bounds(BOUNDS)
    assert agent.indices()[2] == -np.inf
    assert agent.knowledge.expires is None


@pytest.mark.parametrize("half_life", [0.3, 7.0, 5_000.0, 1e9])
@pytest.mark.parametrize("trust", [1.0, 0.99, 0.3])
def test_trust_decays_as_a_constant_hazard_has_it(half_life: float, trust: float) -> None:
    """Log N is that of the trust p 2^(-t / h), up to 1/32 more in between; bounds that were certain are so at first."""
    known, rounds = (
        mb.Knowledge(BOUNDS, trust=trust, half_life=half_life),
        np.unique(np.geomspace(1, 1e10, 200).round()),
    )
    assert known.after(0) is known
    for t in map(int, rounds):
        exact = trust * 0.5 ** (t / half_life)
        left = known.after(t)
        assert not left.ages
        if t >= known.changes[-1]:
            assert left.trust == 0.0
            assert exact < 0.031
        else:
            lag = left.log_n[0] + log(1.0 - exact)
            assert -1e-9 <= lag <= 1 / 32 + (1e-9 if t > 32 else 1.0)  # at first every round counts
    assert list(known.changes) == sorted(set(known.changes))


def test_decaying_trust_is_kept_and_fresh_bounds_do_not_decay() -> None:
    known = mb.Knowledge(BOUNDS, trust=[0.9, 1.0, 0.5], half_life=40, assumption="a")
    assert "half_life=40.0" in repr(known)
    for made in (known.subset([0, 1]), known.with_bounds(BOUNDS), mb.Knowledge.from_dict(known.to_dict())):
        assert made.half_life == 40.0
    assert known.with_arm("new", 0.1, 0.2, 0.0, 1.0).half_life == 40.0
    assert known.after(40).assumption == "a"
    assert known.after(40).trusts == pytest.approx(0.5 * known.trusts, rel=0.05)
    assert known.after(10_000).assumption is None
    assert known.renewed(BOUNDS).half_life is None
    assert known.doubted.all()
    plain = {name: value for name, value in known.to_dict().items() if name != "half_life"}
    assert mb.Knowledge.from_dict(plain).half_life is None  # as in older files


@pytest.mark.filterwarnings("ignore:.*contradict")
@pytest.mark.parametrize("assumption", [None, "the expert is optimal"])
def test_agents_with_decaying_trust_go_on_after_they_were_saved(assumption: str | None) -> None:
    known = mb.Knowledge(BOUNDS, half_life=20, assumption=assumption)
    agent = mb.ContextualAgent(mb.ThompsonSampling(), dict.fromkeys("ab", known), seed=3)
    rng = np.random.default_rng(1)
    for t in range(120):
        context = "ab"[t % 2]
        agent.update(context, agent.pull(context), float(rng.integers(2)))
        if t % 40 == 20:
            other = mb.ContextualAgent.from_dict(json.loads(json.dumps(agent.to_dict())))
            assert other.probabilities("a").tolist() == agent.probabilities("a").tolist()
            decided = agent.decide("b")
            assert other.decide("b") == decided
            agent.cancel("b", decided[0])


def test_an_arm_that_certain_bounds_exclude_is_tried_once_they_may_have_ceased_to_hold() -> None:
    """Certain bounds have N = 1 / (1 - 2^(-t / h)) after t rounds: 72.6 after 100 of a half-life of 5,000."""
    ages, stays = (mb.Agent(mb.GLUE(), mb.Knowledge(BOUNDS, half_life=h), seed=1) for h in (5_000, None))
    for _ in range(100):
        for agent in (ages, stays):
            agent.update(0, 0.8)
    assert stays.indices()[1:].tolist() == [-inf, -inf]
    assert stays.pull() == 0
    assert ages.indices()[1:].min() > ages.indices()[0]
    assert ages.pull() in (1, 2)


DAY = datetime(2027, 1, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    "expires", [DAY, date(2027, 1, 31), "2027-01-31", "2027-01-31T00:00:00+00:00", "2027-01-31 03:00:00+03:00"]
)
def test_bounds_expire_on_a_date(expires: date | str) -> None:
    known = mb.Knowledge(BOUNDS, expires=expires)
    assert known.expires == DAY
    assert mb.Knowledge.from_dict(json.loads(json.dumps(known.to_dict()))) == known
    assert "expires='2027-01-31T00:00:00+00:00'" in repr(known)
    agent = mb.ContextualAgent(mb.GLUE(), {"a": known, "b": mb.Knowledge(BOUNDS)}, seed=1)
    agent = mb.ContextualAgent.from_dict(json.loads(json.dumps(agent.to_dict())))
    for seconds, index in ((-0.001, -inf), (0.0, 1.0), (-1.0, -inf), (1e9, 1.0)):  # a clock may be set back
        with clock.at(DAY.timestamp() + seconds):
            assert agent.indices("a")[2] == index
            assert agent.indices("b")[2] == -inf
            assert (known.after(0).trust == 0.0) == (index == 1.0)


def test_bounds_of_contexts_expire_by_their_own_rounds() -> None:
    agent = mb.ContextualAgent(mb.GLUE(), dict.fromkeys("ab", mb.Knowledge(BOUNDS, expires=2)), seed=1)
    for _ in range(2):
        agent.update("a", 0, 1.0)
    other = mb.ContextualAgent.from_dict(json.loads(json.dumps(agent.to_dict())))
    for some in (agent, other):
        assert some.indices("a")[2] == 1.0
        assert some.indices("b")[2] == -np.inf


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: UNTYPED.Changing([]), "pairs of a number of rounds and an environment"),
        (lambda: UNTYPED.Changing([(0, 3)]), "pairs of a number of rounds and an environment"),
        (lambda: mb.Changing([(0, WORLD)]), "pairs of a number of rounds and an environment"),
        (lambda: mb.Changing([(1, FIRST)]), "must start after 0 rounds"),
        (lambda: mb.Changing([(0, FIRST), (0, SECOND)]), "each later than the one before"),
        (lambda: mb.Changing([(0, FIRST), (9, mb.Bernoulli([0.5]))]), "the same number of arms; got"),
        (lambda: mb.simulate(mb.UCB(), WORLD, horizon=9, runs=1, delay=2), "by mb.simulate alone"),
        (lambda: UNTYPED.Knowledge(BOUNDS, expires=0), "expires must be a whole number, at least 1"),
        (lambda: mb.Knowledge(BOUNDS, expires="soon"), "a number of rounds, or a date such as 2027-01-31; got 'soon'"),
        (lambda: mb.Knowledge(BOUNDS, expires=datetime(2027, 1, 31)), "expires has no time zone"),
        (lambda: mb.Knowledge(BOUNDS, half_life=0.0), "half_life is the number of rounds in which trust halves"),
        (lambda: mb.Knowledge(BOUNDS, half_life=inf), "leave it out for trust that stays"),
        (
            lambda: mb.simulate(mb.UCB(), FIRST, mb.Knowledge(BOUNDS, expires=DAY), horizon=9, runs=1),
            "rounds and no dates: give expires as a number of rounds, not 2027-01-31",
        ),
        (
            lambda: mb.simulate(mb.GLUE(), FIRST, mb.Knowledge(BOUNDS, half_life=9, assumption="a"), horizon=9, runs=1),
            "leave expires and half_life, or these, out",
        ),
        (
            lambda: mb.Agent(mb.ROFUL(), mb.Knowledge(BOUNDS, half_life=5), features=np.eye(3)),
            "takes bounds to hold for ever; leave half_life out",
        ),
        (
            lambda: mb.simulate(mb.UCB(), FIRST, mb.Knowledge(BOUNDS, expires=5), horizon=9, runs=1, delay=2),
            "cannot be simulated with a delay",
        ),
        (
            lambda: mb.Agent(mb.ROFUL(), mb.Knowledge(BOUNDS, expires=5), features=np.eye(3)),
            "takes bounds to hold for ever; leave expires out",
        ),
    ],
)
def test_what_cannot_be_is_refused(make: Callable[[], object], says: str) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        make()
