"""Bounds on arms with features from a log: against the truth, other solvers, and the laws that attain them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse, stats

import meanbounds as mb
from meanbounds.kernels.solvers.simplex import Polytope, maximise_all
from meanbounds.logs import (
    ArmSums,
    LinearBounds,
    LinearSetting,
    linear_agent,
    linear_bounds,
    linear_bounds_from_log,
)
from meanbounds.logs.hidden_parameter import finite
from meanbounds.logs.hidden_parameter.programs import when_best

linprog: Any = importlib.import_module("scipy.optimize").linprog

Floats = NDArray[np.float64]
INTERVALS: tuple[Literal["bernstein", "hoeffding", "kl"], ...] = ("bernstein", "hoeffding", "kl")
RARE = 1e-6  # rate of false failures


@dataclass(frozen=True)
class Laboratory:
    """A hidden parameter with finitely many values, and an expert who sees it and plays the best arm."""

    visible: Floats
    hidden: Floats
    theta_visible: Floats
    atoms: Floats
    weights: Floats
    box_low: Any
    box_high: Any

    @property
    def offset(self) -> Floats:
        return np.asarray(self.visible @ self.theta_visible)

    @property
    def values(self) -> Floats:
        """Mean reward of each arm (column) for each value of the hidden parameter (row)."""
        return np.asarray(self.offset + self.atoms @ self.hidden.T)

    @property
    def means(self) -> Floats:
        return np.asarray(self.weights @ self.values)

    @property
    def chosen(self) -> NDArray[np.int64]:
        return np.asarray(self.values.argmax(axis=1))

    @property
    def share(self) -> Floats:
        return np.asarray(np.bincount(self.chosen, self.weights, len(self.hidden)), dtype=np.float64)

    @property
    def mean_when_played(self) -> Floats:
        total = np.bincount(self.chosen, self.weights * self.values.max(axis=1), len(self.hidden))
        mean: Floats = np.divide(total, self.share, out=np.full(len(self.hidden), np.nan), where=self.share > 0.0)
        return mean

    @property
    def setting(self) -> LinearSetting:
        return known(self.visible, self.hidden, self.theta_visible, self.box_low, self.box_high)

    @property
    def range(self) -> tuple[float, float]:
        """Of two-point rewards that have these means."""
        return float(self.values.min() - 0.1), float(self.values.max() + 0.1)

    def bounds(self, method: Literal["sharp", "corrected", "paper"] = "sharp") -> LinearBounds:
        return linear_bounds(self.setting, share=self.share, mean=self.mean_when_played, method=method)

    def from_log(self, rng: np.random.Generator, rows: int, **more: Any) -> LinearBounds:
        """Bounds from a log of this many rows."""
        return self.from_sums(self.log(rng, rows), **more)

    def from_sums(self, sums: ArmSums, **more: Any) -> LinearBounds:
        low, high = self.range
        return linear_bounds_from_log(self.setting, sums, low=low, high=high, **more)

    def log(self, rng: np.random.Generator, rows: int) -> ArmSums:
        """Count, sum and sum of squares per arm of a log with rewards at the ends of the range."""
        low, high = self.range
        rounds = rng.multinomial(rows, self.weights)
        wins = rng.binomial(rounds, (self.values.max(axis=1) - low) / (high - low))
        count, won = (np.bincount(self.chosen, part, len(self.hidden)) for part in (rounds, wins))
        total, squares = (count * low**power + won * (high**power - low**power) for power in (1, 2))
        return ArmSums(count, total, squares)


def known(visible: Any, hidden: Any, theta_visible: Any, box_low: Any, box_high: Any) -> LinearSetting:
    return LinearSetting(visible, hidden, theta_visible=theta_visible, box_low=box_low, box_high=box_high)


def random_laboratory(rng: np.random.Generator, arms: int | None = None, dimension: int | None = None) -> Laboratory:
    """Any signs; features of few values, which tie, now and then; parameters inside the box, or in its corners."""
    arms = int(rng.integers(2, 7)) if arms is None else arms
    d = int(rng.integers(1, 6)) if dimension is None else dimension
    seen = int(rng.integers(0, 4))
    rough = rng.random() < 0.2
    visible, hidden = (np.round(block) if rough else 0.5 * block for block in (
        rng.normal(size=(arms, seen)), rng.normal(size=(arms, d))
    ))  # fmt: skip
    box_low = rng.uniform(-1.0, 0.5, d)
    box_high = box_low + rng.uniform(0.2, 1.5, d) * (rng.random(d) < 0.9)  # some coordinates are known
    kind = rng.random()
    if kind < 0.3:
        box_low, box_high = np.full(d, box_low[0]), np.full(d, box_low[0] + 0.7)
    count = int(rng.integers(1, 12))
    inside = rng.random((count, d)) if rng.random() < 0.7 else rng.integers(0, 2, (count, d)).astype(np.float64)
    atoms = box_low + inside * (box_high - box_low)
    ends = (float(box_low[0]), float(box_high[0])) if kind < 0.3 else (box_low, box_high)
    theta = rng.normal(size=seen)
    return Laboratory(visible, hidden, theta, atoms, rng.dirichlet(np.ones(count)), *ends)


def contains(bounds: Any, means: Floats) -> bool:
    return bool(np.all(bounds.lower <= means + 1e-12) and np.all(bounds.upper >= means - 1e-12))


def test_no_true_mean_is_outside_and_sharp_is_never_wider() -> None:
    rng = np.random.default_rng(1)
    ratios, excluded = [], 0
    for _ in range(2_000):
        laboratory = random_laboratory(rng)
        sharp, corrected, printed = (laboratory.bounds(method) for method in ("sharp", "corrected", "paper"))
        assert contains(sharp, laboratory.means)
        assert contains(corrected, laboratory.means)
        assert np.all(sharp.lower >= corrected.lower)
        assert np.all(sharp.upper <= corrected.upper)
        wide = corrected.upper - corrected.lower > 1e-6
        ratios += ((sharp.upper - sharp.lower)[wide] / (corrected.upper - corrected.lower)[wide]).tolist()
        excluded += not contains(printed, laboratory.means)
    assert 0.4 < np.mean(ratios) < 0.8
    assert excluded > 500  # the printed theorem fails the same test


def test_the_printed_theorem_excludes_the_truth() -> None:
    """T is (0.6, 0.2) or (0.2, 0.6): each arm has mean 0.4, is played half of the time, and has mean 0.6 then.

    As printed, the mean is at least 0.5 * 0.6 + d m = 0.3 + 2 * 0.2 = 0.7. Corrected, it is between 0.3 + 0.5 * 0.2 =
    0.4 and 0.3 + 0.5 * 0.6 = 0.6; the sharp form says no more, because both arms may be equally good in a round.
    """
    atoms = np.array([[0.6, 0.2], [0.2, 0.6]])
    laboratory = Laboratory(np.zeros((2, 0)), np.eye(2), np.zeros(0), atoms, np.array([0.5, 0.5]), 0.2, 0.6)
    np.testing.assert_allclose(laboratory.means, 0.4)
    np.testing.assert_allclose(laboratory.bounds("paper").lower, 0.7)
    for method in ("sharp", "corrected"):
        np.testing.assert_allclose(laboratory.bounds(method).lower, 0.4)
        np.testing.assert_allclose(laboratory.bounds(method).upper, 0.6)


def joint_program(laboratory: Laboratory, arm: int, sign: float) -> float:
    """The bound by one program over all x_j at once, with equalities, solved by HiGHS."""
    d = laboratory.hidden.shape[1]
    played = np.flatnonzero(laboratory.share)
    target = np.concatenate([laboratory.share[j] * laboratory.hidden[arm] for j in played])
    means = laboratory.mean_when_played
    equal = sparse.block_diag([laboratory.hidden[j][None] for j in played])
    below: Any = sparse.block_diag([laboratory.hidden for _ in played])
    box = np.column_stack([np.broadcast_to(end, d) for end in (laboratory.box_low, laboratory.box_high)])
    found = linprog(
        -sign * target,
        A_eq=equal,
        b_eq=[means[j] - laboratory.offset[j] for j in played],
        A_ub=below,
        b_ub=np.concatenate([means[j] - laboratory.offset for j in played]) + 1e-9,
        bounds=np.tile(box, (len(played), 1)),
    )
    assert found.status == 0
    return float(laboratory.offset[arm] - sign * found.fun)


def test_sharp_equals_one_joint_program() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        laboratory = random_laboratory(rng)
        bounds = laboratory.bounds()
        for arm in range(len(laboratory.hidden)):
            assert bounds.upper[arm] == pytest.approx(joint_program(laboratory, arm, 1.0), abs=1e-6)
            assert bounds.lower[arm] == pytest.approx(joint_program(laboratory, arm, -1.0), abs=1e-6)


def test_every_bound_is_attained_by_a_law_that_leaves_the_same_log() -> None:
    rng = np.random.default_rng(3)
    for _ in range(150):
        laboratory = random_laboratory(rng)
        bounds, share, means = laboratory.bounds(), laboratory.share, laboratory.mean_when_played
        setting = laboratory.setting
        played = np.flatnonzero(share).tolist()
        for arm, sign in [(arm, sign) for arm in range(len(share)) for sign in (-1.0, 1.0)]:
            target = sign * laboratory.hidden[[arm]]
            x = np.vstack([maximise_all(target, when_best(setting, j, means[j], means[j])).point for j in played])
            values = laboratory.offset + x @ laboratory.hidden.T
            attained = share[played] @ values[:, arm]
            assert np.all(x >= setting.box_low - 1e-9)
            assert np.all(x <= setting.box_high + 1e-9)
            np.testing.assert_allclose(values[np.arange(len(played)), played], means[played], atol=1e-8)  # the same nu
            np.testing.assert_allclose(values.max(axis=1), means[played], atol=1e-8)  # and the expert plays j
            assert attained == pytest.approx((bounds.upper if sign > 0.0 else bounds.lower)[arm], abs=1e-7)


def random_polytope(rng: np.random.Generator) -> tuple[Polytope, Floats]:
    d, n = int(rng.integers(1, 9)), int(rng.integers(1, 13))
    rows, targets = rng.normal(size=(n, d)), rng.normal(size=(4, d))
    if rng.random() < 0.4:  # degenerate
        rows, targets = np.round(rows), np.round(targets)
    low = rng.normal(size=d)
    high = low + rng.uniform(0.0, 2.0, d) * (rng.random(d) < 0.9)
    values = rows @ rng.uniform(low, high)
    upper = values + rng.exponential(0.3, n) * (rng.random(n) < 0.7)
    lower = np.where(rng.random(n) < 0.3, values - rng.exponential(0.3, n), -np.inf)
    lower[0] = upper[0] = values[0]
    if rng.random() < 0.2:  # most of these have no solution
        lower[-1], upper[-1] = -np.inf, values[-1] - 1.0
    return Polytope(rows, lower - 1e-10, upper + 1e-10, low, high), targets


def test_programs_agree_with_highs() -> None:
    rng = np.random.default_rng(4)
    infeasible = 0
    for _ in range(400):
        space, targets = random_polytope(rng)
        found = maximise_all(targets, space)
        some = np.isfinite(space.lower)
        limits = np.concatenate([space.upper, -space.lower[some]])
        for target, value, point in zip(targets, found.value, found.point, strict=True):
            rows = np.vstack([space.rows, -space.rows[some]])
            other = linprog(-target, A_ub=rows, b_ub=limits, bounds=np.column_stack([space.low, space.high]))
            if other.status == 2:
                infeasible += 1
                assert value == -np.inf
                continue
            assert value == pytest.approx(-other.fun, abs=1e-6)
            assert target @ point == pytest.approx(value, abs=1e-7)
            assert np.all(rows @ point <= limits + 1e-8)
    assert infeasible > 100


@pytest.mark.parametrize("interval", INTERVALS)
def test_finite_logs_cover_all_means_at_once(interval: Literal["bernstein", "hoeffding", "kl"]) -> None:
    """A log that contradicts itself counts as a miss."""
    rng, missed, estimates_missed, logs = np.random.default_rng(5), 0, 0, 0
    for rows in (100, 1_000, 10_000, 100_000):
        for _ in range(400):
            laboratory = random_laboratory(rng)
            log = laboratory.log(rng, rows)
            logs += 1
            for size in ({"confidence": 0.9}, {"infinite": True}):
                try:
                    found = laboratory.from_sums(log, interval=interval, **size)
                    miss = not contains(found, laboratory.means)
                except mb.BoundsError:
                    miss = True
                missed += miss and "confidence" in size
                estimates_missed += miss and "infinite" in size
    assert missed <= stats.binom.isf(RARE, logs, 0.1)
    assert estimates_missed > stats.binom.isf(RARE, logs, 0.1)  # with estimates in place of intervals it would fail


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("plays", [1, 2, 30, 400])
def test_limits_on_means_hold_by_enumeration(interval: str, plays: int) -> None:
    """For two-point rewards the probability of a miss is a sum over the number of successes."""
    won, failure, low, high = np.arange(plays + 1.0), 0.1, -1.0, 3.0
    total, squares = (plays * low**power + won * (high**power - low**power) for power in (1, 2))
    ends = (np.full(won.size, end) for end in (low, high))
    seen = finite._Seen(np.full(won.size, plays, dtype=np.float64), total, squares, *ends)
    limits = finite._mean_limits(seen, failure, interval)
    lower, upper = limits.low, limits.high
    assert np.all(lower <= upper)
    for chance in np.linspace(0.01, 0.99, 25):
        law, mean = stats.binom.pmf(won, plays, chance), low + chance * (high - low)
        assert law[lower > mean + 1e-12].sum() <= failure
        assert law[upper < mean - 1e-12].sum() <= failure


def test_limits_on_shares_are_those_of_scipy() -> None:
    plays = np.array([0.0, 3.0, 40.0, 957.0])
    lower, upper = finite._share_limits(plays, 0.01)
    for k, count in enumerate(plays.astype(int)):
        expected = stats.binomtest(int(count), 1_000).proportion_ci(0.98, "exact")
        assert (lower[k], upper[k]) == pytest.approx((expected.low, expected.high), rel=1e-9)
    assert finite._share_limits(np.array([0.0, 7.0]), 0.01)[1][1] == 1.0


def test_largest_mean_over_shares_is_that_of_a_linear_program() -> None:
    rng = np.random.default_rng(6)
    for _ in range(50):
        size = int(rng.integers(1, 8))
        share, values = rng.dirichlet(np.ones(size)), np.round(rng.normal(size=size), 1)
        low, high = share * rng.random(size), share + (1.0 - share) * rng.random(size)
        found = linprog(-values, A_eq=np.ones((1, size)), b_eq=[1.0], bounds=np.column_stack([low, high]))
        assert finite._largest(values, low, high) == pytest.approx(-found.fun, abs=1e-9)


@pytest.mark.parametrize("interval", INTERVALS)
def test_width_shrinks_to_that_of_the_infinite_log(interval: Literal["bernstein", "hoeffding", "kl"]) -> None:
    rng = np.random.default_rng(7)
    laboratories = [random_laboratory(rng, arms=4, dimension=3) for _ in range(12)]
    laboratories = [laboratory for laboratory in laboratories if np.ptp(laboratory.share) < 1.0]
    infinite = np.mean([np.mean(one.bounds().upper - one.bounds().lower) for one in laboratories])
    widths = []
    for rows in (100, 1_000, 10_000, 100_000, 10_000_000):
        logs = [(one, one.from_log(rng, rows, interval=interval)) for one in laboratories]
        widths.append(np.mean([np.mean(found.upper - found.lower) for _, found in logs]))
        assert all(contains(found, one.means) for one, found in logs)
    assert np.all(np.diff(widths) < 0.0)
    assert infinite < widths[-1] < 1.02 * infinite
    assert widths[3] < (1.15 if interval == "hoeffding" else 1.1) * infinite  # 100,000 rows


def test_an_empty_log_says_what_the_box_says() -> None:
    setting = known(np.zeros((2, 0)), [[1.0, 1.0], [1.0, -1.0]], [], 0.0, 1.0)
    found = linear_bounds_from_log(setting, ArmSums([0, 0], [0, 0], [0, 0]), low=-2.0, high=2.0)
    np.testing.assert_allclose(found.lower, [0.0, -1.0], atol=1e-8)  # arm 1 is at best as good as arm 0
    np.testing.assert_allclose(found.upper, [2.0, 1.0], atol=1e-8)
    with pytest.raises(ValueError, match="no rows"):
        linear_bounds_from_log(setting, ArmSums([0, 0], [0, 0]), low=-2.0, high=2.0, infinite=True, interval="kl")


def test_an_arm_that_cannot_be_best_has_no_share() -> None:
    """Arm 1 is below arm 0 wherever the parameter is: that it was never played tells nothing new."""
    setting = known([[0.0], [-0.5]], [[1.0], [0.5]], [1.0], 0.0, 1.0)
    found = linear_bounds_from_log(setting, ArmSums([1_000_000, 0], [600_000, 0], [600_000, 0]))
    assert found.upper[0] - found.lower[0] < 0.01
    assert contains(found, np.array([0.6, -0.2]))
    with pytest.raises(mb.BoundsError, match=r"arm 1: its mean reward .* at least as good as arm 0; either the expert"):
        linear_bounds_from_log(setting, ArmSums([500, 5], [300, 0], [300, 0]), low=-1.0, high=1.0)


def wrong_arm() -> Laboratory:
    """Hidden parts 0.9 and 0, known parts -0.8 and 0.5: the second arm is best, though played half of the time only."""
    visible, hidden = np.array([[-0.8], [0.5]]), np.array([[1.0], [0.0]])
    return Laboratory(visible, hidden, np.ones(1), np.array([[0.4], [1.4]]), np.array([0.5, 0.5]), 0.0, 2.0)


def play(agent: mb.Agent, means: Floats, rounds: int, offset: Floats | float = 0.0) -> NDArray[np.int64]:
    """Plays of each arm over some rounds with rewards -1 and 1, the known part taken off."""
    rng = np.random.default_rng(9)
    for _ in range(rounds):
        arm = int(agent.pull())
        reward = 1.0 if rng.random() < (1.0 + means[arm]) / 2.0 else -1.0
        agent.update(arm, reward - float(np.broadcast_to(offset, means.size)[arm]))
    return agent.plays


def test_the_known_part_decides_which_arm_wins() -> None:
    laboratory = wrong_arm()
    np.testing.assert_allclose(laboratory.means, [0.1, 0.5])
    found = laboratory.bounds()
    np.testing.assert_allclose(found.lower, [-0.1, 0.5], atol=1e-8)
    np.testing.assert_allclose(found.upper, [0.55, 0.5], atol=1e-8)
    agent = found.agent(-1.0, 1.0, policy=mb.ROFUL(failure=0.1), seed=1)
    np.testing.assert_allclose(agent.bounds.upper, [0.55, 0.5], atol=1e-6)
    assert play(agent, laboratory.means, 1_500)[1] > 1_000
    hidden_only = mb.MeanBounds(found.lower - found.offset, found.upper - found.offset, low=-2.0, high=2.0)
    misled = mb.Agent(mb.ROFUL(norm_high=2.0), hidden_only, seed=1, features=found.hidden)
    assert play(misled, laboratory.means, 100, found.offset)[0] == 100  # pseudo-rewards alone: the wrong arm wins
    assert [found.pseudo_reward(arm, 0.5) for arm in found.arms] == pytest.approx([1.3, 0.0])


def test_from_a_log_to_an_agent_in_one_call() -> None:
    rng, low, high = np.random.default_rng(8), -1.0, 1.0
    laboratory = wrong_arm()
    rounds = rng.multinomial(20_000, laboratory.weights)
    wins = rng.binomial(rounds, (laboratory.values.max(axis=1) - low) / (high - low))
    count, won = (np.bincount(laboratory.chosen, part, 2) for part in (rounds, wins))
    sums = ArmSums(count, 2.0 * won - count, count)
    policy = mb.ROFUL(failure=0.05, index="clip")
    own = laboratory.setting
    named = LinearSetting(
        own.visible, own.hidden, theta_visible=own.theta_visible, box_low=0.0, box_high=2.0, arms=["new", "old"]
    )
    agent = linear_agent(named, sums, low=low, high=high, confidence=0.99, policy=policy, seed=3)
    assert agent.policy == mb.ROFUL(norm_high=2.0, failure=0.05, index="clip")
    assert agent.bounds.arms == ("new", "old")
    assert contains(agent.bounds, laboratory.means)
    again = mb.Agent.from_dict(agent.to_dict())
    assert [again.pull() for _ in range(5)] == [agent.pull() for _ in range(5)]
    plain = linear_agent(own, sums, low=low, high=high, policy=mb.OFUL(), seed=3)
    assert plain.policy == mb.OFUL(norm_high=2.0)


def test_sharp_bounds_leave_nothing_to_tighten_and_agents_start_from_them() -> None:
    """A law attains each bound, and its mean is a parameter in the box that satisfies all others."""
    rng = np.random.default_rng(10)
    for _ in range(40):
        laboratory = random_laboratory(rng)
        found = laboratory.bounds()
        low, high = min(found.lower) - 1.0, max(found.upper) + 1.0
        given = found.mean_bounds(low, high)
        tight = mb.tighten(found.hidden, given, norm_high=found.norm_high, extra=found.box, offset=found.offset)
        np.testing.assert_allclose(tight.lower, found.lower, atol=1e-5)
        np.testing.assert_allclose(tight.upper, found.upper, atol=1e-5)
        agent = found.agent(low, high, policy=mb.ROFUL(index="clip"), seed=1)
        assert contains(agent.bounds, laboratory.means)
        assert agent.pull() in np.flatnonzero(found.upper >= found.lower.max() - 1e-6)


def test_limits_on_the_norm_are_those_of_the_box() -> None:
    features = (np.zeros((2, 0)), np.eye(2), np.zeros(0))
    setting = known(*features, [-3.0, 1.0], [1.0, 4.0])
    found = linear_bounds(setting, share=[0.5, 0.5], mean=[1.0, 2.0], method="corrected")
    assert (found.norm_low, found.norm_high) == (1.0, 5.0)
    policy = found.agent(-9.0, 9.0, seed=1).policy
    assert isinstance(policy, mb.LinearThompson)
    assert (policy.norm_low, policy.norm_high) == (1.0, 5.0)
    point = linear_bounds(known(*features, 0.0, 0.0), share=[0.5, 0.5], mean=[0.0, 0.0])
    with pytest.raises(ValueError, match="nothing to learn"):
        point.agent(-1.0, 1.0)


KNOWN = {
    "visible": [[0.0], [0.1]],
    "hidden": [[1.0, 0.0], [0.0, 1.0]],
    "theta_visible": [1.0],
    "box_low": 0.0,
    "box_high": 1.0,
}
INFINITE: dict[str, Any] = {**KNOWN, "share": [0.5, 0.5], "mean": [0.75, 0.5]}
FINITE: dict[str, Any] = {**KNOWN, "count": [500, 500], "total": [375.0, 250.0], "squares": [375.0, 250.0]}


def split(arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Those of the setting, and the rest."""
    names = {*KNOWN, "arms"}
    return {k: v for k, v in arguments.items() if k in names}, {k: v for k, v in arguments.items() if k not in names}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"mean": [0.75, 1.2]}, r"arm 'b': its mean reward when it was played is 1\.2, but .* between 0\.1 and 1\.1"),
        ({"mean": [0.05, 0.5]}, r"arm 'a': .* 0\.05; no hidden parameter .* at least as good as arm 'b'; either"),
        ({"share": [0.5, 0.6]}, r"shares must sum to 1; these sum to 1\.1"),
        ({"share": [-0.5, 1.5]}, r"arm 'a': its share must be a probability; got -0\.5"),
        ({"share": [1.0]}, r"share must have one entry for each of 2 arms; got an array of shape \(1,\)"),
        ({"mean": [0.75, np.nan]}, r"arm 'b' was played \(share 0\.5\), but its mean reward is nan"),
        ({"method": "best"}, r'method must be "sharp", "corrected" or "paper"; got \'best\''),
        ({"box_low": 2.0}, r"the box is empty: coordinate 0 is between 2\.0 and 1\.0"),
        ({"box_low": [0.0, -np.inf]}, r"box_low must be one finite number, or one for each of 2 hidden features"),
        ({"hidden": [1.0, 0.0]}, r"hidden must have a row of features for each arm; got an array of shape \(2,\)"),
        ({"hidden": [[1.0, 0.0], [np.nan, 1.0]]}, r"arm 'b': its hidden features \[nan, 1\.0\] are not all finite"),
        ({"visible": [[0.0]]}, r"hidden has 2 rows, visible has shape \(1, 1\), and there are 2 names"),
        ({"arms": ["a"]}, r"there are 1 names"),
        ({"arms": ["a", "a"]}, r"arm 'a' is named twice"),
        ({"theta_visible": [1.0, 2.0]}, r"theta_visible has shape \(2,\); visible has 1 features for each arm"),
        ({"theta_visible": [np.inf]}, r"theta_visible must be finite numbers; got \[inf\]"),
    ],
)
def test_infinite_logs_that_cannot_be(changed: dict[str, Any], message: str) -> None:
    setting, rest = split({**INFINITE, "arms": ["a", "b"], **changed})
    with pytest.raises(ValueError, match=message):
        linear_bounds(LinearSetting(**setting), **rest)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"total": [375.0, 600.0]}, r"arm 'b': 500 rewards in \[0, 1\] cannot sum to 600; correct the range"),
        ({"squares": [375.0, 400.0]}, r"arm 'b': squares of 500 .* sum to between 125 and 250; got 400"),
        ({"squares": None}, r'interval="bernstein" needs the sums of squared rewards'),
        ({"count": [500.5, 500]}, r"arm 'a': its count must be a whole number; got 500\.5"),
        ({"confidence": 1.0}, r"confidence must be a probability such as 0\.95, between 0 and 1; got 1\.0"),
        ({"confidence": None}, r"confidence=None is not accepted: .* infinite=True"),
        ({"confidence": 0.95, "infinite": True}, r"leave confidence=0\.95 or infinite=True out"),
        ({"interval": "normal"}, r'interval must be "bernstein", "hoeffding" or "kl"; got \'normal\''),
        ({"box_high": 0.2}, r"arm 'a': its mean reward when it was played is between 0\.6.* between 0 and 0\.2"),
    ],
)
def test_finite_logs_that_cannot_be(changed: dict[str, Any], message: str) -> None:
    setting, rest = split({**FINITE, "arms": ["a", "b"], **changed})
    sums = ArmSums(*(rest.pop(name) for name in ("count", "total", "squares")))
    for call in (linear_bounds_from_log, linear_agent):
        with pytest.raises(ValueError, match=message):
            call(LinearSetting(**setting), sums, **rest)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_sums_that_cannot_be_are_refused_at_every_scale(scale: float) -> None:
    """Ten rewards of at most 1 do not sum to 10.001, in whatever unit."""
    setting = LinearSetting([[0.0]], [[scale]], theta_visible=[1.0], box_low=0.0, box_high=1.0)
    right: dict[str, Any] = {"count": [10.0], "total": [10.0 * scale], "squares": [10.0 * scale**2]}
    linear_bounds_from_log(setting, ArmSums(**right), high=scale)
    with pytest.raises(ValueError, match="cannot sum to"):
        linear_bounds_from_log(setting, ArmSums(**{**right, "total": [10.001 * scale]}), high=scale)
    with pytest.raises(ValueError, match="sum to between"):
        linear_bounds_from_log(setting, ArmSums(**{**right, "squares": [10.001 * scale**2]}), high=scale)


def test_bounds_outside_the_reward_range_are_refused() -> None:
    setting, rest = split({**INFINITE, "arms": ["a", "b"]})
    found = linear_bounds(LinearSetting(**setting), **rest)
    with pytest.raises(mb.BoundsError, match=r"arm 'a': by the log .* outside its reward range \[5, 6\]"):
        found.mean_bounds(5.0, 6.0)
    np.testing.assert_allclose(found.mean_bounds(0.4, 0.5).upper, 0.5)


@pytest.mark.slow
def test_an_agent_from_a_log_has_less_regret_than_one_from_nothing() -> None:
    """A sign test over 40 laboratories with logs of 5,000 rows; by chance alone it would pass once in a million."""
    rng, better = np.random.default_rng(11), 0
    for _ in range(40):
        laboratory = random_laboratory(rng, arms=6, dimension=4)
        found = laboratory.from_log(rng, 5_000)
        agent = found.agent(*laboratory.range, policy=mb.ROFUL(index="clip"), seed=1)
        parameter = laboratory.weights @ laboratory.atoms
        environment = mb.Linear(
            found.hidden, parameter, low=laboratory.range[0], high=laboratory.range[1], offset=found.offset
        )
        policies = {"cold": mb.OFUL(norm_high=found.norm_high), "log": agent.policy}
        regret = mb.simulate(policies, environment, agent.bounds, horizon=1_000, runs=4, seed=1, progress=False)
        better += regret.mean("log")[-1] <= regret.mean("cold")[-1]
    assert stats.binomtest(better, 40, alternative="greater").pvalue < RARE
