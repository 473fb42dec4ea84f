"""Environments pay by the law they say, within their range; offers, delays and instances are what they say.

Statistical tests fail by chance with a probability of at most 1e-6, with another seed.
"""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds.simulation import INSTANCES, Beta, Changing, ClippedGaussian, Delay, Environment, Linear, Table
from meanbounds.simulation.delays import LOST

MEANS, ENDS = [0.9, -1.0, 10.2], {"low": [0.0, -2.0, 10.0], "high": [1.0, 3.0, 10.5]}
LAWS = {
    "bernoulli": mb.Bernoulli(MEANS, **ENDS),
    "uniform": mb.simulation.Uniform(MEANS, **ENDS),
    "beta": Beta(MEANS, concentration=3.0, **ENDS),
    "gaussian": ClippedGaussian([1.4, -1.0, 10.2], variance=0.3, **ENDS),
    "table": Table([[1, 0, 0.5], [-2, 3], [10.2]], weights=[[3, 1, 0], [2, 1], [5]], **ENDS),
    "linear": Linear([[1.0, 0.0], [0.6, 0.8]], [0.5, -0.5], law="beta", offset=[0.1, 0.3]),
}
GRID = (np.arange(4000) + 0.5) / 4000


def paid(environment: Environment, arm: int, u: Any) -> Any:
    return environment.reward(np.full(len(u), arm), np.asarray(u))


def test_a_law_that_was_not_told_its_means_says_so() -> None:
    class Bare(Environment):
        def __init__(self) -> None:
            pass

        def reward(self, arms: Any, u: Any) -> Any:
            return u

    for call in (Bare().check, lambda: mb.simulate(mb.GLUE(), Bare(), horizon=5, runs=2)):
        with pytest.raises(TypeError, match=r"Bare\.__init__ must call super\(\)\.__init__\(means"):
            call()


@pytest.mark.parametrize("name", LAWS)
def test_rewards_have_the_mean_and_range_that_is_stated(name: str) -> None:
    environment, rng = LAWS[name].check(), np.random.default_rng(1)
    arms, u = rng.integers(len(environment), size=50), rng.uniform(size=50)
    together = environment.reward(arms, u)
    assert json.loads(json.dumps(environment.settings())) == environment.settings()
    for arm, (mean, low, high) in enumerate(zip(environment.means, environment.low, environment.high, strict=True)):
        assert paid(environment, arm, u[arms == arm]).tolist() == together[arms == arm].tolist()
        rewards = paid(environment, arm, GRID)
        assert rewards.mean() == pytest.approx(mean, abs=5e-4 * (high - low))
        assert ((rewards >= low) & (rewards <= high)).all()
        steps = np.diff(rewards)
        assert (steps <= 0).all() if name == "bernoulli" else (steps >= 0).all()


def test_rewards_are_quantiles() -> None:
    assert paid(mb.Bernoulli([0.5, 2.5], high=[1.0, 10.0]), 1, [0.249, 0.25]).tolist() == [10, 0]
    law = stats.beta(0.6, 2.4, loc=-2.0, scale=5.0)
    assert paid(LAWS["beta"], 1, GRID) == pytest.approx(law.ppf(GRID), abs=1e-9)
    expected = np.clip(stats.norm(1.4, 0.3**0.5).ppf(GRID), 0.0, 1.0)
    assert paid(LAWS["gaussian"], 0, GRID) == pytest.approx(expected, abs=1e-12)
    assert paid(LAWS["gaussian"], 0, [0.0]) == [0.0]  # the quantile is minus infinity before it is clipped


@pytest.mark.parametrize("centre", [-3.0, 0.05, 0.5, 0.9, 6.0])
def test_the_mean_of_a_clipped_gaussian_is_that_of_quadrature(centre: float) -> None:
    deviation = mpmath.sqrt(0.8)
    inside = mpmath.quad(lambda x: x * mpmath.npdf(x, centre, deviation), [0, 0.5, 1])
    exact = inside + 1 - mpmath.ncdf(1, centre, deviation)
    assert ClippedGaussian([centre]).means[0] == pytest.approx(float(exact), abs=1e-12)


def test_a_table_pays_quantiles_of_its_values() -> None:
    values, last = np.random.default_rng(3).normal(size=37), 1 - 2**-53
    table = Table([[7.0, 8.0], values, [9.0]], low=-10.0, high=10.0)
    expected = np.quantile(values, GRID, method="inverted_cdf")
    assert (paid(table, 1, GRID) == expected).mean() > 0.999  # but for rounding where the quantile jumps
    assert [paid(table, k, [0.0, last]).tolist() for k in (0, 2)] == [[7, 8], [9, 9]]
    assert set(paid(LAWS["table"], 0, GRID)) == {0.0, 1.0}  # a value of weight 0 never comes
    rounded = Table([np.full(49, 1.0), np.full(49, 2.0)])  # 49 weights of 1/49 do not sum to 1 exactly
    assert rounded.reward(np.array([0, 1, 1]), np.array([last, 0.0, 2**-53])).tolist() == [1.0, 2.0, 2.0]


class Power(Environment):
    def reward(self, arms: Any, u: Any) -> Any:
        return u ** (1 / self.means[arms] - 1)


def test_a_law_of_ones_own_is_checked_and_simulated() -> None:
    regret = mb.simulate([mb.UCB(), mb.GLUE()], Power([0.9, 0.4]).check(), horizon=300, runs=20, seed=7)
    assert 0.0 < regret.final["UCB"].mean() < 300 * 0.25
    assert regret.settings["environment"]["kind"] == "Power"


class Wrong(Environment):
    def reward(self, arms: Any, u: Any) -> Any:
        return np.where(self.means[arms] > 0.7, u**2, 3 * u)


def test_linear_means_ranges_and_laws() -> None:
    features = np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]])
    environment = Linear(features, [0.5, 0.5], offset=[0.0, 0.1, 0.0])
    assert environment.means == pytest.approx([0.5, 0.8, -0.5])
    assert (environment.low.tolist(), environment.high.tolist()) == ([0, 0, -1], [1, 1, 0])
    arms = environment.arms()
    assert (arms.features.tolist(), arms.offset.tolist()) == (features.tolist(), [0.0, 0.1, 0.0])
    assert arms.bounds == mb.MeanBounds.vacuous(3, low=environment.low, high=environment.high)
    for law in ("two-point", "uniform", "beta", Power):
        other = Linear(features[:2], [0.5, 0.5], law=law, low=0.0, high=1.0)
        assert (other.rewards.means == other.means).all()
    assert other.settings()["law"] == "Power"
    paper: Any = mb.simulation.paper_linear(3).environment
    assert (
        np.abs(paper.rewards.means - paper.means).max() > 0.2
    )  # clipping moves the means; regret is of the linear ones
    assert paper.gaps == pytest.approx(paper.means.max() - paper.means)


def test_offers_follow_from_seed_run_and_round() -> None:
    environment: Any = mb.simulation.paper_linear(0, offered=15).environment
    table = environment.offers(7, np.arange(40), 3)
    assert {len(set(row)) for row in table.tolist()} == {15}
    assert (environment.offers(7, [5, 39], 3) == table[[5, 39]]).all()
    assert (environment.offers(7, np.arange(40), 4) != table).any()
    small = Linear(np.eye(5), np.full(5, 0.1), offered=2)
    pairs = Counter(tuple(sorted(pair)) for pair in small.offers(1, np.arange(20_000), 1).tolist())
    assert len(pairs) == 10
    assert stats.chisquare(list(pairs.values())).pvalue > 1e-6
    assert Linear(np.eye(5), np.full(5, 0.1)).offers(7, [0, 1], 3).tolist() == [[0, 1, 2, 3, 4]] * 2


def test_a_changing_environment_has_the_gaps_of_the_moment() -> None:
    environment = Changing([(1, mb.Bernoulli([0.9, 0.5])), (101, mb.simulation.Uniform([3.0, 3.5], high=4.0))])
    assert [environment.at(t) is environment.stages[t > 100][1] for t in (1, 100, 101, 500)] == [True] * 4
    assert [*environment.high, *(environment.gaps_from(t)[1] for t in (1, 101))] == [4.0, 4.0, 101, 0]


def test_delays_have_their_law() -> None:
    assert (Delay(3).delays(7, np.arange(10), 5) == 3).all()
    lost = Delay(3, lost=0.25).delays(7, np.arange(4000), 5) == LOST
    assert stats.binomtest(int(lost.sum()), 4000, 0.25).pvalue > 1e-6
    late = Delay(4.0, "geometric").delays(7, np.arange(20_000), 9)
    for d in range(6):
        assert stats.binomtest(int((late == d).sum()), int((late >= d).sum()), 0.2).pvalue > 1e-7
    assert (Delay(4.0, "geometric").delays(7, [19_999, 3], 9) == late[[19_999, 3]]).all()


def test_every_pull_comes_back_once_when_it_is_due() -> None:
    delay, horizon, runs = Delay(2.5, "geometric", lost=0.2), 60, np.arange(8)
    queue, arms, found, expected = delay.queue(7, 100, 8, horizon), runs % 3, [], []
    for t in range(1, horizon + 1):
        for rows, which, numbers, pulled in queue.due(t):
            assert len(set(rows.tolist())) == rows.size
            assert (numbers == pulled).all()
            found += [(t, *entry) for entry in zip(rows.tolist(), which.tolist(), numbers.tolist(), strict=True)]
        queue.send(t, arms, np.full(8, float(t)))
        late = delay.delays(7, 100 + runs, t)
        expected += [(t + 1 + int(late[k]), k, k % 3, float(t)) for k in runs.tolist() if late[k] != LOST]
    assert sorted(found) == sorted(entry for entry in expected if entry[0] <= horizon)


def test_instances_satisfy_the_captions_of_the_papers_figure() -> None:
    drawn = [mb.simulation.random_instance(20, slack=0.2, seed=4), mb.simulation.paper_linear(5)]
    for instance in [*INSTANCES.values(), *drawn]:
        assert instance.bounds.contains(instance.means).all()
    meta = {name: own.bounds.meta_pruned(own.means.max()).nonzero()[0].tolist() for name, own in INSTANCES.items()}
    assert (meta["high-lower-bound"], meta["meta-pruned"]) == ([2], [1])
    assert INSTANCES["high-lower-bound"].bounds.best_lower > 0.5
    assert (INSTANCES["low-rewards"].bounds.upper < 0.5).all()
    for name in ("meta-pruned", "clipping-only"):
        assert INSTANCES[name].bounds.variance_proxy == pytest.approx(0.25)
    assert (mb.simulation.random_instance(20, slack=0.2, seed=4).means == drawn[0].means).all()
    assert (drawn[0].bounds.upper - drawn[0].bounds.lower).max() <= 0.4


REFUSED: dict[str, Callable[[], object]] = {
    r"arm 0: the mean of Wrong.reward is 0.3333, but means\[0\] is 0.9": lambda: Wrong([0.9, 0.5]).check(),
    r"arm 0: Wrong.reward returned 1\.0\d*, outside its range \[0.0, 1.0\]": lambda: Wrong([0.5]).check(),
    r"arm 1: its mean 1.2 is not in its range \[0.0, 1.0\]": lambda: mb.Bernoulli([0.5, 1.2]),
    "high must be one number, or one for each of the 2 arms": lambda: mb.Bernoulli([0.5, 0.6], high=[1, 1, 1]),
    "arm 1: its mean 1.0 is too close to an end of its range": lambda: Beta([0.5, 1.0]),
    "centres must be a sequence with one finite number": lambda: ClippedGaussian([float("inf")]),
    "arm 1: values must be finite numbers, at least one": lambda: Table([[0, 1], []]),
    "arm 0: weights must be one for each of its 2 values": lambda: Table([[0, 1]], weights=[[1, -1]]),
    r"arm 0: values from 0.0 to 2.0 leave the range \[0.0, 1.5\]": lambda: Table([[0, 2]], low=0, high=1.5),
    r"features must have the shape \(arms, 1\), as theta has; got \(1, 2\)": lambda: Linear([[1.0, 0.0]], [0.5]),
    r"arm 0: its mean 1.5 is outside \[-1, 1\]; give low= and high=": lambda: Linear([[3.0]], [0.5]),
    "unknown law 'gauss'.*clipped-gaussian": lambda: Linear([[1.0]], [0.5], law="gauss"),
    r"stages must start in round 1.*got \[5\]": lambda: Changing([(5, mb.Bernoulli([0.5]))]),
    r"a fixed delay must be a whole number of rounds; got 1\.5": lambda: Delay(1.5),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_is_refused(message: str) -> None:
    with pytest.raises(ValueError, match=message):
        REFUSED[message]()
