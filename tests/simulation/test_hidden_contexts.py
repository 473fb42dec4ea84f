"""Hidden contexts: what experts' logs contain, compared with plain loops over the definitions.

Statistical tests fail by chance with a probability of at most 1e-6, with another seed.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds.simulation import HiddenContexts

MEANS: Any = [[[0.9, 0.4], [0.3, 0.6]]]
SMALL = HiddenContexts(MEANS, [[0.75, 0.25]], contexts=["old"], arms=["tPA", "watch"])
WRONG = [0.0, 0.1, 0.5]  # share of errors by visible context


def cases(seed: int) -> HiddenContexts:
    rng = np.random.default_rng(seed)
    chances = rng.uniform(size=(3, 4))
    chances[0, 2] = 0.0  # a pair that never occurs
    means = rng.uniform([0, -1, 2], [1, 1, 5], (3, 4, 3))
    return HiddenContexts(means, chances, errors=WRONG, low=[0, -1, 2], high=[1, 1, 5])


@pytest.mark.parametrize("seed", range(4))
def test_everything_by_plain_loops(seed: int) -> None:
    own = cases(seed)
    for z, given in enumerate(own.probabilities):
        weight = [p / sum(given) for p in given]
        loss, errors, occurring = 0.0, 0.0, []
        shares, contributions, marginal = np.zeros((3, 3))
        for u, k in itertools.product(range(4), range(3)):
            mean, best = own.means[z, u, k], max(own.means[z, u])
            choice = 1 - WRONG[z] if mean == best else WRONG[z] / 2
            shares[k] += weight[u] * choice
            contributions[k] += weight[u] * choice * mean
            marginal[k] += weight[u] * mean
            loss += weight[u] * choice * (best - mean)
            errors += weight[u] * choice * (mean < best)
            if weight[u] > 0.0:
                occurring.append(sorted(own.means[z, u]))
        assert own.shares[z] == pytest.approx(shares)
        assert own.contributions[z] == pytest.approx(contributions)
        assert own.value[z] == pytest.approx(contributions.sum())
        assert own.marginal_means[z] == pytest.approx(marginal)
        assert own.environment(f"z{z}").check().means == pytest.approx(marginal)
        assert (own.loss[z], own.errors[z]) == pytest.approx((loss, errors))
        assert own.gap_low[z] == pytest.approx(min(three[2] - three[1] for three in occurring))
        assert own.gap_high[z] == pytest.approx(max(three[2] - three[0] for three in occurring))


def test_a_log_has_the_frequencies_of_its_law() -> None:
    own = cases(1).with_experts(choices=np.random.default_rng(2).dirichlet([1, 1, 1], (3, 4)))
    log = own.log(40_000, seed=3)
    expected = own.shares * own.probabilities.sum(axis=1, keepdims=True) * 40_000
    counts = np.zeros((3, 3))
    for z, k in itertools.product(range(3), range(3)):
        rewards = log["reward"][(log["context"] == f"z{z}") & (log["arm"] == k)]
        counts[z, k] = rewards.size
        assert set(rewards) <= {own.low[k], own.high[k]}
        mean = (own.contributions[z, k] / own.shares[z, k] - own.low[k]) / (own.high[k] - own.low[k])
        assert stats.binomtest(int((rewards == own.high[k]).sum()), rewards.size, mean).pvalue > 1e-7
    assert stats.chisquare(counts.ravel(), expected.ravel()).pvalue > 1e-7


def test_the_first_rows_of_a_longer_log_are_those_of_a_shorter_one() -> None:
    short, long = SMALL.log(50, seed=9), SMALL.log(500, seed=9)
    assert all(column.tolist() == long[name][:50].tolist() for name, column in short.items())
    assert set(long["arm"]) == {"tPA", "watch"}
    names: dict[str, Any] = {"contexts": [("north", "old"), 7], "arms": ["a", 1]}  # stay what they are
    assert set(HiddenContexts(MEANS * 2, **names).log(50, seed=1)["context"]) == {("north", "old"), 7}


def test_rewards_of_more_than_two_values() -> None:
    law = [[[[0.5, 0.5, 0.0], [0.0, 0.4, 0.6]], [[0.0, 0.0, 1.0], [0.2, 0.2, 0.6]]]]
    own = HiddenContexts(np.asarray(law) @ [0.0, 0.5, 1.0], values=[0.0, 0.5, 1.0], law=law)
    environment: Any = own.environment("z0").check()
    assert environment.means == pytest.approx(own.marginal_means[0])
    assert environment.weights[0] == pytest.approx([0.25, 0.25, 0.5])
    assert set(own.log(300, seed=1)["reward"]) == {0.5, 1.0}  # of arm 1 in the first case, arm 0 in the second
    other = own.with_experts(errors=1.0)
    assert set(other.log(300, seed=1)["reward"]) == {0.0, 0.5, 1.0}
    assert other.shares == pytest.approx(1 - own.shares)


def test_a_trial_makes_cases() -> None:
    rng = np.random.default_rng(5)
    age, severe, drug = (rng.choice(list(names), 400).tolist() for names in ("oy", "ns", "abc"))
    outcome = rng.integers(4, size=400) / 3
    own = HiddenContexts.from_trial(age, severe, drug, outcome, errors=0.1)
    assert own.contexts == tuple(dict.fromkeys(age))
    for z, (u, hidden) in itertools.product(range(2), enumerate(dict.fromkeys(severe))):
        people = [(a, s) == (own.contexts[z], hidden) for a, s in zip(age, severe, strict=True)]
        assert own.probabilities[z, u] == pytest.approx(np.mean(people))
        for k, arm in enumerate(own.arms):
            mine = [o for o, here, d in zip(outcome, people, drug, strict=True) if here and d == arm]
            assert own.means[z, u, k] == pytest.approx(np.mean(mine))
    assert own.errors == pytest.approx(0.1)
    assert own.environment("o").check().means == pytest.approx(own.marginal_means[own.contexts.index("o")])


def test_agents_learn_in_each_context() -> None:
    own = HiddenContexts.random(visible=2, hidden=3, arms=3, seed=4)
    known = {"z1": mb.MeanBounds(own.marginal_means[1] - 1e-6, own.marginal_means[1] + 1e-6)}
    found, again = (own.simulate([mb.UCB(), mb.GLUE()], known, horizon=300, runs=5, seed=1) for _ in range(2))
    assert {z: own.final["GLUE"].any() for z, own in found.items()} == {"z0": True, "z1": False}  # its bounds tell all
    assert found["z0"].seed != found["z1"].seed
    assert (again["z0"].curves["UCB"] == found["z0"].curves["UCB"]).all()


REFUSED: dict[str, Callable[[], object]] = {
    "the shape .visible, hidden, 2 arms or more.; got .1, 2": lambda: HiddenContexts([[0.9, 0.4]]),
    "all means must be inside the range from 0.35 to 1.0": lambda: HiddenContexts(MEANS, low=0.35),
    "a visible context never occurs": lambda: HiddenContexts(MEANS * 2, [[0.5, 0.5], [0.0, 0.0]]),
    "errors must be a share from 0 to 1": lambda: HiddenContexts(MEANS, errors=1.5),
    "choices must be probabilities of the shape": lambda: HiddenContexts(MEANS, choices=[[[0.5, 0.4], [1.0, 0.0]]]),
    "give values and law together": lambda: HiddenContexts(MEANS, values=[0, 0.5, 1]),
    "the law must have the means": lambda: HiddenContexts(MEANS, values=[0, 1], law=np.full((1, 2, 2, 2), 0.5)),
    "unknown context 'Old', did you mean 'old'": lambda: SMALL.environment("Old"),
    "unknown context 'young'": lambda: SMALL.simulate(mb.UCB(), {"young": mb.MeanBounds.vacuous(2)}),
    "visible must be a list": lambda: HiddenContexts.from_trial("zzz", "uvv", "aab", [0, 1, 1]),
    "arm 'b' was never tried where visible is 'z' and hidden is 'u'": lambda: HiddenContexts.from_trial(
        [*"zzz"], [*"uvv"], [*"aab"], [0, 1, 1]
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_is_refused(message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        REFUSED[message]()


@pytest.mark.parametrize("graded", [False, True])
def test_experts_are_an_arm_of_their_own(graded: bool) -> None:
    """Their arm earns what they earn, less the cost, and a promise to them is kept in simulations."""
    law = [[[[0.1, 0.2, 0.7], [0.5, 0.2, 0.3]], [[0.6, 0.2, 0.2], [0.2, 0.4, 0.4]]]]
    laws: dict[str, Any] = {"values": [0.0, 0.5, 1.0], "law": law}
    means = [[[0.8, 0.4], [0.3, 0.6]]]
    cases = HiddenContexts(means, [0.4, 0.6], errors=0.2, **(laws if graded else {}))
    environment = cases.environment("z0", experts=True, cost=0.1)
    assert environment.means[:2] == pytest.approx(cases.marginal_means[0])
    assert environment.means[2] == pytest.approx(cases.value[0] - 0.1)
    assert environment.high[2] == 0.9
    value = float(environment.means[2])
    known = mb.MeanBounds([0, 0, value], [1, 1, value], arms=[0, 1, mb.EXPERT], low=[0, 0, -0.1], high=[1, 1, 0.9])
    guarded = mb.policies.Guarded(mb.GLUE(), mb.Promise(margin=0.05))
    found = cases.simulate(guarded, {"z0": known}, horizon=400, runs=20, seed=1, checkpoints=list(range(1, 401)))["z0"]
    gained = np.arange(1, 401) * (environment.means.max() - value) - next(iter(found.curves.values()))
    assert (gained >= -0.05 * np.arange(1, 401) - 1e-9).all()
