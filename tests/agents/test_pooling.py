"""Contexts that learn from each other: the exact posterior, agents that continue as they were, and what it is worth."""

import copy
import json
import time
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.contract import RARE
from tests.policies.test_guarded import Always

import meanbounds as mb
from meanbounds.agents import pooling
from meanbounds.agents.pooling import ROWS, pooled
from meanbounds.agents.tree import Split, Tree
from meanbounds.known import Known, Seen
from meanbounds.policies import Guarded
from meanbounds.support.types import Floats

ARMS: list[Any] = ["a", "b", "c"]


def known_of(a: Floats, b: Floats, expert: int | None = None) -> Known:
    zero = np.zeros(a.shape)
    return Known(zero, zero + 1.0, zero, zero + 1.0, None, (a, b), None, expert)


def dense(a: Floats, b: Floats, plays: Floats, total: Floats, expert: int | None) -> tuple[Floats, Floats]:
    """Mean and variance of each option given the other contexts' rewards, from the joint covariance of all cells."""
    strength, mean = a + b, a / (a + b)
    rows = np.repeat(strength[:, [expert]] - 2.0, a.shape[1], axis=1) if expert is not None else strength - 2.0
    weight = (rows + 1e-6) / (rows + 1e-6).sum(axis=0)
    centre, wide = (weight * mean).sum(axis=0), (weight * mean * (1.0 - mean) / (strength + 1.0)).sum(axis=0)
    options = [k for k in range(a.shape[1]) if k != expert]
    level, share = np.zeros(len(a)), np.ones(len(a))
    if expert is not None:
        share = rows[:, 0] / (rows[:, 0] + ROWS)
        level = share * (mean[:, expert] - (weight[:, 0] * mean[:, expert]).sum())
    own = (mean - centre)[:, options]
    apart = 2.0 * share[:, None] * (own - own.mean(axis=1, keepdims=True))
    cells = [(row, k) for row in range(len(a)) for k in range(len(options))]
    plays, total, centre, wide = plays[:, options], total[:, options], centre[options], wide[options]
    chance = (total.sum(axis=0) + 1.0) / (plays.sum(axis=0) + 2.0)
    noise = np.array([chance[k] * (1.0 - chance[k]) / max(plays[row, k], 1.0) for row, k in cells])
    seen = np.array([total[row, k] / max(plays[row, k], 1.0) for row, k in cells])
    some = [n for n, cell in enumerate(cells) if plays[cell] > 0.0]

    def law(gamma: float, beta: float, variance: float) -> tuple[Floats, Floats]:
        middle = np.array([centre[k] + gamma * level[row] + beta * apart[row, k] for row, k in cells])
        joint = [[(k == j) * (wide[k] + variance * (row == other)) for other, j in cells] for row, k in cells]
        return middle, np.array(joint)

    found = []
    for spread in pooling._SPREADS:
        for gamma in (0.0, 0.5, 1.0):
            for beta in (0.0, 0.5, 1.0):
                middle, joint = law(gamma, beta, spread**2)
                likely = 0.0
                if some:
                    observed = (joint + np.diag(noise))[np.ix_(some, some)]
                    likely = stats.multivariate_normal(middle[some], observed).logpdf(seen[some])
                found.append((likely, gamma, beta, spread**2))
    table = np.array(found)
    weights = np.exp(table[:, 0] - table[:, 0].max())
    middle, joint = law(*(weights @ table[:, 1:] / weights.sum()))
    means, variances = middle.copy(), np.diag(joint).copy()
    for n, (row, _) in enumerate(cells):
        other = [m for m in some if cells[m][0] != row]
        if other:
            gain = np.linalg.solve((joint + np.diag(noise))[np.ix_(other, other)], joint[other, n])
            means[n] += gain @ (seen[other] - middle[other])
            variances[n] -= gain @ joint[other, n]
    return means.reshape(len(a), -1), variances.reshape(len(a), -1)


@pytest.mark.parametrize("seed", range(16))
def test_prior_is_the_exact_posterior_given_the_other_contexts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(2, 6)), int(rng.integers(2, 5))
    (a, b), expert = rng.uniform(1.0, 6.0, (2, *shape)), shape[1] - 1 if seed % 2 else None
    if expert is not None:
        rows, value = rng.integers(0, 200, shape[0]), rng.random(shape[0])
        a[:, expert], b[:, expert] = 1.0 + value * rows, 1.0 + (1.0 - value) * rows
    plays = rng.integers(0, 20, shape).astype(float)
    total = np.floor(plays * rng.random(shape))
    found = pooled(known_of(a, b, expert), Seen(plays, total, total, total))
    options = np.arange(shape[1]) != expert
    above, below = (own[:, options] for own in found)
    mean, variance = dense(a, b, plays, total, expert)
    near = 0.5 * np.sqrt(variance)
    mean = np.clip(mean, near, 1.0 - near)
    strength = np.maximum(mean * (1.0 - mean) / variance - 1.0, 1.0 / np.minimum(mean, 1.0 - mean))
    np.testing.assert_allclose(above / (above + below), mean, rtol=1e-9)
    np.testing.assert_allclose(above + below, strength, rtol=1e-9)
    assert min(above.min(), below.min()) >= 1.0
    if expert is not None:  # moved towards the average of the log, as if by 30 rows
        rows, value = a[:, expert] + b[:, expert] - 2.0, a[:, expert] / (a[:, expert] + b[:, expert])
        middle = (rows * value).sum() / rows.sum()
        np.testing.assert_allclose(found[0][:, expert], a[:, expert] + ROWS * middle, rtol=1e-6)


def test_own_rewards_do_not_count_twice() -> None:
    """The prior of the only context with rewards hardly moves with them, and that of the others does."""
    a, plays = np.full((3, 2), 2.0), np.zeros((3, 2))
    before = pooled(known_of(a, a), Seen(plays, plays, plays, plays))
    plays[0], total = 400.0, np.array([[400.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    after = pooled(known_of(a, a), Seen(plays, total, total, total))
    means = [own[0] / (own[0] + own[1]) for own in (before, after)]
    np.testing.assert_allclose(means[1][0], means[0][0], atol=1e-12)
    assert (means[1][1:, 0] > 0.7).all()
    assert (means[1][1:, 1] < 0.3).all()
    alone = pooled(known_of(a[:1], 3.0 * a[:1]), Seen(plays[:1], total[:1], total[:1], total[:1]))
    np.testing.assert_array_equal(alone, [a[:1], 3.0 * a[:1]])


def test_a_prior_is_worth_fewer_rewards_where_two_moments_count_and_rewards_vary_little() -> None:
    a, plays = np.full((8, 2), 2.0), np.full((8, 2), 500.0)
    binary, graded = Seen(*[plays] + [0.5 * plays] * 3), Seen(plays, 0.5 * plays, 0.251 * plays, 0.5 * plays)
    np.testing.assert_array_equal(pooled(known_of(a, a), binary), pooled(known_of(a, a), binary, moments=2))
    strength = [np.add(*pooled(known_of(a, a), graded, moments)).mean() for moments in (1, 2)]
    assert strength[0] > 50.0 * strength[1] > 50.0 * 2.0


POLICIES = [
    mb.OptimisticGittins(f="t + 1000"),
    mb.ThompsonSampling(moments=2),
    mb.IDS(),
    Guarded(mb.OptimisticGittins(), mb.Promise(margin=0.2)),
    Guarded(mb.ThompsonSampling(), mb.Promise(margin=0.2), pooled=True),
]


def pooled_agent(policy: mb.policies.Policy, contexts: int = 5, seed: int = 3) -> mb.Agent:
    """Contexts with bounds that may be wrong, with and without a prior; with experts if they are to be asked."""
    expert = isinstance(policy, Guarded)
    arms, ends = [*ARMS, *[mb.EXPERT] * expert], ([0.1, 0.2, 0.0], [0.9, 0.8, 0.7])
    bounds = mb.MeanBounds(ends[0] + [0.4] * expert, ends[1] + [0.6] * expert, arms=arms)
    prior = mb.Prior([0.5, 0.4, 0.6] + [0.5] * expert, [6.0, 4.0, 3.0] + [60.0] * expert)
    trust = [0.9, 0.9, 1.0] + [1.0] * expert
    known = {f"c{n}": mb.Knowledge(bounds, prior=prior if n or expert else None, trust=trust) for n in range(contexts)}
    return mb.Agent(policy, known, seed=seed, floor=0.02, pool=True)


def play(one: mb.Agent, rounds: int, seed: int, means: Any = (0.3, 0.6, 0.4)) -> list[Any]:
    rng, done = np.random.default_rng(seed), []
    for _ in range(rounds):
        context = one.contexts[int(rng.integers(len(one.contexts)))]
        decision, u, choice = one.decide(context), rng.random(), ARMS[int(rng.integers(3))]
        if decision.arm is mb.EXPERT:
            one.observe(choice, float(u < 0.5), context)
        else:
            one.update(decision.arm, round(float(u < means[ARMS.index(decision.arm)]) * 0.9, 2), context)
        done.append(decision)
    return done


@pytest.mark.filterwarnings("ignore::meanbounds.evidence.ContradictionWarning")
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_saved_copied_and_replayed_agents_decide_the_same(policy: mb.policies.Policy) -> None:
    """At any time between two fits: the prior is that of the last one in all of them."""
    one = pooled_agent(policy)
    play(one, 37, seed=1)
    asked = [copy.deepcopy(one), mb.Agent.from_dict(json.loads(json.dumps(one.to_dict())))]
    again = pooled_agent(policy)
    for context in again.contexts:  # questions change nothing
        again.probabilities(context)
    play(again, 37, seed=1)
    expected = play(one, 25, seed=2)
    for other in (*asked, again):
        assert play(other, 25, seed=2) == expected
        assert other.to_dict() == one.to_dict()
    for other in (one, again):
        other.know({"new": one.knowledge("c1")})
        other.forget_context("c2")
    other = mb.Agent.from_dict(json.loads(json.dumps(again.to_dict())))
    assert play(one, 20, seed=4) == play(again, 20, seed=4) == play(other, 20, seed=4)


def test_a_new_context_starts_from_what_the_others_have_learned() -> None:
    bounds = mb.MeanBounds.vacuous(ARMS)
    chances = []
    for pool in (False, True):
        one = mb.Agent(mb.ThompsonSampling(), {f"c{n}": bounds for n in range(6)}, seed=1, pool=pool)
        play(one, 600, seed=5, means=(0.2, 0.8, 0.3))
        one.know({"new": bounds})
        chances.append(one.probabilities("new")[1])
    assert chances[0] == pytest.approx(1.0 / 3.0, abs=1e-6)
    assert chances[1] > 0.9


def test_wrong_priors_are_corrected_in_all_contexts_together() -> None:
    """Each of 40 contexts gets 15 decisions, after which one alone still believes its prior; p-value at most 1e-6."""
    prior, found = mb.Prior([0.7, 0.35, 0.35], 8.0), []
    for pool in (False, True):
        known = {f"c{n}": mb.Knowledge(mb.MeanBounds.vacuous(ARMS), prior=prior) for n in range(40)}
        one = mb.Agent(mb.OptimisticGittins(), known, seed=1, pool=pool)
        play(one, 600, seed=6, means=(0.3, 0.65, 0.3))
        found.append(sum(decision.arm == "b" for decision in play(one, 200, seed=7, means=(0.3, 0.65, 0.3))))
    assert stats.binomtest(found[1], 200, found[0] / 200, alternative="greater").pvalue < RARE
    assert found[1] > 150


def test_a_shared_promise_is_kept_while_the_value_of_the_experts_is_learned() -> None:
    """8 agents want an option that is worse in two of four contexts, and no log bounds the experts' value.

    Each breaks its promise with probability at most 0.05: 6 do with probability at most 1e-6.
    """
    means, values = np.array([0.9, 0.8, 0.2, 0.1]), np.array([0.3, 0.4, 0.5, 0.3])
    names, broken, asked = ["w", "x", "y", "z"], 0, []
    for seed in range(8):
        guard = Guarded(Always(), mb.Promise(margin=0.05), pooled=True)
        bounds = mb.MeanBounds([0.0, 0.0], [1.0, 1.0], arms=["new", mb.EXPERT])
        one, rng = mb.Agent(guard, dict.fromkeys(names, bounds), seed=seed), np.random.default_rng(seed)
        lost, worst, late = 0.0, 0.0, 0
        for t in range(1, 601):
            place = int(rng.integers(4))
            arm = one.pull(names[place])
            mean = values[place] if arm is mb.EXPERT else means[place]
            lost += values[place] - mean
            worst = max(worst, lost - 0.05 * t)
            late += t > 500 and arm is mb.EXPERT
            if arm is mb.EXPERT:
                one.observe("new", float(rng.random() < mean), names[place])
            else:
                one.update(arm, float(rng.random() < mean), names[place])
        broken += worst > 1e-9
        asked.append(late)
    assert broken < 6
    assert np.mean(asked) < 70  # of 100: with the value at most 1 all along, an option would be allowed in 5%


def test_a_hundred_thousand_contexts_are_pooled() -> None:
    """Made, played, fitted and saved in seconds: a test on a busy machine allows a minute."""
    started, rng = time.process_time(), np.random.default_rng(2)
    known = mb.Knowledge(mb.MeanBounds([0.1] * 4, [0.9] * 4), prior=mb.Prior([0.5, 0.4, 0.6, 0.5], 6.0))
    names = [f"customer {n}" for n in range(100_000)]
    one = mb.Agent(mb.ThompsonSampling(), dict.fromkeys(names, known), seed=1, pool=True)
    for n in rng.integers(0, 100_000, 400).tolist():
        one.update(one.pull(names[n]), float(rng.random() < 0.5), names[n])
    plays = rng.integers(0, 9, (100_000, 4)).astype(float)
    total, fit = np.floor(0.5 * plays), time.process_time()
    pooled(known_of(plays * 0.0 + 3.0, plays * 0.0 + 2.0), Seen(plays, total, total, total))
    assert time.process_time() - fit < 5.0
    assert time.process_time() - started < 60.0


TREE = Tree((Split("age", 75.0, missing="right"), Split("clinic", left=("north",), right=("east",)), None, None, None))


def test_raw_columns_stand_for_a_context_wherever_one_is_given() -> None:
    case, name = {"age": 62, "clinic": "north", "weight": 81.5}, "age < 75 and clinic = north"
    bounds = mb.MeanBounds([0.2, 0.8, 0.0, 0.5], [0.9, 0.9, 0.5, 0.5], arms=[*ARMS, mb.EXPERT])
    guard = Guarded(mb.OptimisticGittins(), mb.Promise(margin=0.01))
    one, other = (mb.Agent(guard, dict.fromkeys(TREE.contexts, bounds), seed=7, pool=True, tree=TREE) for _ in range(2))
    assert one.decide(case) == other.decide(name)
    assert one.pull(case, ["a", mb.EXPERT]) == other.pull(name, ["a", mb.EXPERT])
    assert one.propose(case).context == name
    for own, where in ((one, case), (other, name)):
        own.update("b", 1.0, where)
        own.play("c", where)
        own.cancel("c", where)
        own.observe("a", 0.0, where, pulled=False)
        own.forbid(["c"], where)
    assert one.to_dict() == other.to_dict()
    np.testing.assert_array_equal(one.probabilities(case), other.probabilities(name))
    assert (one.plays(case).tolist(), one.updates(case), one.forbidden(case)) == ([0, 1, 0, 1], 2, ("c",))
    assert one.knowledge(case).to_dict() == other.knowledge(name).to_dict()
    assert one.excluded(case) == other.excluded(name)
    assert (one.budget(case), one.experts(case).asked) == (other.budget(name), 1)
    again = mb.Agent.from_dict(json.loads(json.dumps(one.to_dict())))
    assert again.tree == TREE
    assert again.decide({"age": None, "clinic": "west"}).context == "age >= 75 (or missing)"
    assert again.decide({"age": 20, "clinic": "west"}).context == "unknown: clinic"
    again.forget_context(case)
    again = mb.Agent.from_dict(again.to_dict())
    with pytest.raises(LookupError, match="age < 75 and clinic = north"):
        again.pull(case)
    with pytest.raises(ValueError, match="the tree asks about 'clinic'"):
        one.pull({"age": 62})


def test_what_does_not_go_together_is_refused() -> None:
    bounds = mb.MeanBounds.vacuous(ARMS)
    with pytest.raises(ValueError, match=r"pool=True gives each context a prior, and GLUE makes no use of one"):
        mb.Agent(mb.GLUE(), {"x": bounds}, pool=True)
    with pytest.raises(TypeError, match="pool must be True or False"):
        mb.Agent(mb.IDS(), {"x": bounds}, pool="yes")  # type: ignore[arg-type]
    one = mb.Agent(mb.IDS(), {"x": bounds, "y": bounds}, pool=True)
    with pytest.raises(ValueError, match="makes no use of one"):
        one.follow(mb.GLUE())
    one.follow(mb.GLUE(), pool=False)
    assert not one.pool
    with pytest.raises(TypeError, match="made without a tree"):
        one.pull({"age": 62})
    with pytest.raises(ValueError, match="the tree has the context 'age < 75 and clinic = east'"):
        mb.Agent(mb.GLUE(), dict.fromkeys(TREE.contexts[::2], bounds), tree=TREE)
    with pytest.raises(TypeError, match="tree must be one that"):
        mb.Agent(mb.GLUE(), {"x": bounds}, tree="age")  # type: ignore[arg-type]
    saved = mb.Agent(mb.IDS(), {"x": bounds, "y": bounds}, pool=True).to_dict()
    for name, value in (("pooled", [[[0.5] * 3] * 2] * 2), ("pooled", [1.0]), ("rewards_left", 0), ("pool", "yes")):
        with pytest.raises(ValueError, match=name):
            mb.Agent.from_dict({**saved, name: value})
