"""What every policy must satisfy, built in or your own: `check_policy` runs a policy through all of it.

It takes a second or two, and an AssertionError says what is wrong. Tests of frequencies are exact binomial tests with
fixed seeds; a right policy fails one with probability at most 1e-6.
"""

import copy
import json
import pickle
import sys
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from scipy import stats

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.policies.base import Policy, choose
from meanbounds.support.streams import Draws, stream, uniform
from meanbounds.support.types import Booleans, Floats

RARE = 1e-6
ARMS = ["a", "b", "c", "d", "e", "f"]
# Arms c and e cannot be best, b and f are alike, and d has another range.
BOUNDS = mb.MeanBounds(
    [0.5, 0.1, -1.0, 0.2, 0.0, 0.1],
    [0.95, 0.9, 0.3, 1.6, 0.4, 0.9],
    arms=ARMS,
    low=[0.0, 0.0, -1.0, 0.0, 0.0, 0.0],
    high=[1.0, 1.0, 1.0, 2.0, 1.0, 1.0],
)
PRIOR = mb.Prior([0.7, 0.5, -0.2, 1.2, 0.3, 0.5], [8.0, 3.0, 4.0, 6.0, 5.0, 3.0])


@dataclass(frozen=True)
class Checks:
    """The checks of one policy; a user calls `check_policy`."""

    policy: Policy
    uses_bounds: bool  # whether it never plays what its bounds exclude
    accuracy: float  # of its probabilities
    rows: int  # decisions in a test of frequencies

    def knowledge(self) -> list[mb.Knowledge]:
        """What the policy is checked with: certain bounds, doubted ones, and a prior if it takes one."""
        known = [mb.Knowledge(BOUNDS), mb.Knowledge(BOUNDS, trust=[0.9, 1.0, 0.99, 1.0, 0.9, 1.0])]
        known += [mb.Knowledge(BOUNDS, prior=PRIOR)] * self.policy.takes_prior
        return known + [mb.Knowledge(BOUNDS, prior=mb.Prior.learned(), trust=0.9)] * self.policy.learns_prior

    def probabilities(self, known: Known, seen: Seen, t: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(self.policy.probabilities(known, seen, t, None))

    def is_data(self) -> None:
        """Parameters can be read and saved, and are shown unless they are the defaults."""
        policy = self.policy
        for parameter in fields(policy):
            value = getattr(policy, parameter.name)
            if not callable(value):
                assert (f"{parameter.name}={value!r}" in str(policy)) == (value != parameter.default)
        assert copy.deepcopy(policy) == policy
        assert hash(policy) == hash(replace(policy))
        module = sys.modules.get(type(policy).__module__)
        if hasattr(module, type(policy).__qualname__):  # pickle finds a class by its name
            assert pickle.loads(pickle.dumps(policy)) == policy
        assert Policy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy

    def law(self, own: mb.Knowledge, eligible: Booleans | None) -> None:
        """Probabilities add up to 1, are 0 for what must not be played, and are the frequencies of decisions."""
        known, seen, t = Known.of([own]).among(eligible), some_statistics(3, seed=11), np.array([3.0, 40.0, 200.0])
        found = self.probabilities(known, seen, t)
        assert found.shape == seen.plays.shape
        assert (found >= 0.0).all(), "a probability is negative"
        np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=self.accuracy, err_msg="probabilities do not add up")
        allowed = np.ones(6, dtype=np.bool_) if eligible is None else eligible[0]
        if self.uses_bounds:
            allowed = allowed & known.without_doubted.possible[0]
        assert not found[:, ~allowed].any(), "an arm that is not eligible or that bounds exclude has a probability"
        for row in range(3):
            tiled = Seen(*(np.repeat(part[row : row + 1], self.rows, axis=0) for part in parts_of(seen)))
            draws = Draws(stream(row, np.arange(self.rows), "policy"), 5)
            arms = choose(self.policy, known, tiled, t[row : row + 1], draws)
            check_frequencies(found[row], np.bincount(arms, minlength=6))

    def ties(self) -> None:
        """Equal arms are drawn alike."""
        known, seen = Known.of([mb.Knowledge(mb.MeanBounds([0.2] * 4, [0.8] * 4))]), Seen.empty(self.rows, 4)
        one = self.probabilities(known, seen.row(0), np.ones(1))
        np.testing.assert_allclose(one, 0.25, atol=self.accuracy)
        arms = choose(self.policy, known, seen, np.ones(1), Draws(stream(1, np.arange(self.rows), "policy"), 0))
        check_frequencies(one[0], np.bincount(arms, minlength=4))

    def symmetries(self, own: mb.Knowledge) -> None:
        """The order of the arms and the units of the rewards change nothing."""
        seen, t = some_statistics(5, seed=12), np.array([2.0, 10.0, 50.0, 300.0, 1000.0])
        found = self.probabilities(Known.of([own]), seen, t)
        order = [3, 0, 5, 4, 1, 2]
        parts = {name: getattr(Known.of([own]), name) for name in ("lower", "upper", "low", "high", "log_n")}
        turned: dict[str, Any] = {name: None if part is None else part[:, order] for name, part in parts.items()}
        prior, learned = Known.of([own]).prior, Known.of([own]).learned
        permuted = Known(
            **turned, prior=None if prior is None else (prior[0][:, order], prior[1][:, order]), learned=learned
        )
        again = self.probabilities(permuted, Seen(*(part[:, order] for part in parts_of(seen))), t)
        np.testing.assert_allclose(again, found[:, order], atol=self.accuracy, err_msg="the order of the arms matters")
        scaled = self.probabilities(Known.of([in_units(own, -300.0, 50.0)]), seen, t)
        np.testing.assert_allclose(scaled, found, atol=self.accuracy, err_msg="the units of the rewards matter")

    def play(self, own: mb.Knowledge, delay: int, pending: Literal["ignore", "count"]) -> None:
        """Rows played side by side, with a cache and without, decide as an agent does in as many contexts."""
        names, rounds, known = ["x", "y", "z"], 40, Known.of([own])
        agent = mb.Agent(self.policy, dict.fromkeys(names, own), seed=5)
        rows, seen, keys = np.arange(3), Seen.empty(3, 6), stream(5, np.arange(3), "policy")
        pulls, cache, due = np.zeros((3, 6)), dict[str, Any](), list[Any]()
        for t in range(rounds):
            waiting = pulls - seen.plays
            counts = pending == "count" and delay > 0
            seen.pending = waiting
            supposed = seen.with_pending(known) if counts else seen
            clock = seen.plays.sum(axis=1) + 1.0 + (waiting.sum(axis=1) if counts else 0.0)
            arms = choose(self.policy, known, supposed, clock, Draws(keys, t), cache)
            without = choose(self.policy, known, supposed, clock, Draws(keys, t))
            assert arms.tolist() == without.tolist(), f"the cache changes a decision in round {t + 1}"
            pulled = [agent.pull(name, pending=pending) for name in names]
            assert [ARMS[k] for k in arms] == pulled, f"an agent decides otherwise in round {t + 1}"
            pulls[rows, arms] += 1.0
            due.append(arms)
            if len(due) > delay:
                arms = due.pop(0)
                rewards = np.round(uniform(stream(6, rows, "rewards"), t), 1)
                for k, name, x in zip(arms.tolist(), names, rewards.tolist(), strict=True):
                    agent.update(ARMS[k], BOUNDS.low[k] + x * (BOUNDS.high[k] - BOUNDS.low[k]), name)
                seen.add(rows, arms, rewards, uniform(stream(5, rows, "rounding"), t - delay))

    def agents(self, pool: bool = False) -> None:
        """An agent never plays what is not eligible, and a saved one continues as the original does."""
        where = ["x", "y"] if pool else [None]
        agent = mb.Agent(self.policy, dict.fromkeys(where, BOUNDS) if pool else BOUNDS, seed=3, pool=pool)
        rng, allowed = np.random.default_rng(4), {"a", "b", "d", "f"}
        for number in range(30):
            eligible = None if number % 2 else rng.choice(ARMS, size=3, replace=False).tolist()
            context = where[number // 3 % len(where)]
            arm = agent.pull(context, eligible)
            assert eligible is None or arm in eligible, "an arm that is not eligible was played"
            assert not self.uses_bounds or eligible or arm in allowed, "an arm that bounds exclude was played"
            agent.update(arm, float(rng.random()) * 0.9, context)
        agent.pull(where[0])
        other = mb.Agent.from_dict(json.loads(json.dumps(agent.to_dict())))
        assert other.to_dict() == agent.to_dict()
        for number, reward in enumerate(rng.random(10).tolist()):
            context = where[number % len(where)]
            arm = agent.pull(context)
            assert other.pull(context) == arm, "a saved agent does not continue as the original does"
            for one in (agent, other):
                one.update(arm, 0.9 * reward, context)


def check_policy(policy: Policy, *, uses_bounds: bool = True, accuracy: float = 1e-6, rows: int = 2000) -> None:
    """Run all checks.

    Parameters
    ----------
    policy
        The policy to check.
    uses_bounds
        Whether it never plays an arm that bounds exclude, if they are certain.
    accuracy
        How accurate its probabilities are.
    rows
        How many decisions a test of frequencies takes.

    Examples
    --------
    >>> check_policy(mb.GLUE(), rows=200)
    """
    checks = Checks(policy, uses_bounds, accuracy, rows)
    checks.is_data()
    checks.ties()
    for own in checks.knowledge():
        checks.law(own, None)
        checks.law(own, np.array([[False, True, True, True, True, False]]))
        checks.symmetries(own)
        checks.play(own, 0, "ignore")
    checks.play(mb.Knowledge(BOUNDS), 4, "ignore")
    checks.play(mb.Knowledge(BOUNDS), 4, "count")
    checks.agents()
    if policy.takes_prior:
        checks.agents(pool=True)


def some_statistics(rows: int, seed: int) -> Seen:
    """Statistics that rewards may have given; in the first row an arm was never played, in the last all often."""
    rng = np.random.default_rng(seed)
    plays = rng.integers(0, 12, (rows, 6)) * np.linspace(1.0, 9.0, rows).round()[:, None]
    plays[0, 0] = 0.0
    means = rng.uniform(0.2, 0.8, (rows, 6))
    seen = Seen(plays, plays * means, plays * means * rng.uniform(means, 1.0), np.round(plays * means))
    for part in parts_of(seen):
        part[:, 5] = part[:, 1]  # arms b and f tie
    return seen


def parts_of(seen: Seen) -> tuple[Floats, ...]:
    """The arrays of these statistics."""
    return seen.plays, seen.total, seen.squares, seen.ones


def in_units(own: mb.Knowledge, shift: float, factor: float) -> mb.Knowledge:
    """The same knowledge of rewards in other units."""
    bounds, prior = own.bounds, own.prior
    ends = {name: shift + factor * getattr(bounds, name) for name in ("lower", "upper", "low", "high")}
    if prior is not None and not prior.is_learned:
        prior = mb.Prior(shift + factor * np.array(prior.mean), prior.strength)
    return mb.Knowledge(mb.MeanBounds(**ends, arms=bounds.arms), prior=prior, trust=own.trust)


def check_frequencies(chances: Floats, counts: Any) -> None:
    """Exact binomial test for each arm."""
    for chance, count in zip(chances.tolist(), counts.tolist(), strict=True):
        likely = stats.binomtest(count, int(counts.sum()), min(1.0, chance)).pvalue
        assert likely > RARE, f"played {count} times in {counts.sum()}, with a probability of {chance:.4g}"
