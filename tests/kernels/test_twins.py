"""Every policy plays exactly as its naive twin: compiled, interpreted, held, interrupted, with few and many arms."""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import meanbounds as mb
from meanbounds import kernels
from meanbounds.kernels.arms import textbook
from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.tables import State
from tests import naive, strategies
from tests.children import run_interpreted

Twin = Callable[[naive.Round], int]
INTERPRETED = bool(numba.config.DISABLE_JIT)
EXAMPLES = 10 if INTERPRETED else 100
FEW_ROUNDS, MANY_ROUNDS = (60, 60) if INTERPRETED else (300, 150)


def states_after(
    policy: mb.Policy, case: strategies.Case, stops: list[int], fast: bool, prior: tuple[float, float] | None = None
) -> np.ndarray:
    """State of run 0 after ``stops[-1]`` rounds, interrupted at the other stops; `prior` is a Beta law of all arms."""
    state = np.zeros((1, len(State._fields), len(case.bounds)))
    law = case.environment.rewards(case.bounds.low, case.bounds.high)
    curves = np.empty((1, len(stops)))
    seed, table = np.uint64(case.seed), policy.log_f(1, stops[-1])
    block = Block(state, law, seed, 0, table, 1, np.array(stops), case.environment.gaps, curves)
    parameters = policy.parameters if prior is None else np.array([*prior, *policy.parameters[2:]])
    if fast:
        kernels.play(policy.kernel, policy.plan(case.bounds).table, parameters, block)
    else:
        textbook.play(policy.kernel, policy.plan(case.bounds).table, parameters, block)
    after: np.ndarray = state[0]
    return after


def check(policy: mb.Policy, case: strategies.Case, shares: list[float], twin: Twin | None = None) -> None:
    case = case._replace(horizon=naive.rounds_of(policy, case.horizon))
    history = naive.play(policy, case.environment, case.bounds, case.horizon, case.seed, twin=twin)
    horizon = len(history)
    if not horizon:
        return
    stops = sorted({max(1, round(share * horizon)) for share in shares} | {horizon})
    for stop in stops:  # each played in one go, so that a hold may last as long as it likes
        plays, total = states_after(policy, case, [stop], fast=True)[:2]
        assert plays.tolist() == history[stop - 1].plays, f"after {stop} rounds"
        assert total.tolist() == history[stop - 1].total
    for fast in (True, False):
        plays, total = states_after(policy, case, stops, fast)[:2]
        assert plays.tolist() == history[-1].plays
        assert total.tolist() == history[-1].total


def with_settings(examples: int) -> settings:
    return settings(max_examples=examples, suppress_health_check=list(HealthCheck))


SHARES = st.lists(st.floats(0.0, 1.0), min_size=2, max_size=5)
BY_NAME = pytest.mark.parametrize("policy", naive.TWINS, ids=repr)


@BY_NAME
@with_settings(EXAMPLES)
@given(case=strategies.cases(most_arms=6, horizon=FEW_ROUNDS), shares=SHARES)
def test_few_arms(policy: mb.Policy, case: strategies.Case, shares: list[float]) -> None:
    check(policy, case, shares)


@BY_NAME
@with_settings(EXAMPLES // 5)
@given(case=strategies.cases(most_arms=40, horizon=MANY_ROUNDS), shares=SHARES)
def test_many_arms(policy: mb.Policy, case: strategies.Case, shares: list[float]) -> None:
    check(policy, case, shares)


def both(
    policy: mb.Policy, case: strategies.Case, prior: tuple[float, float] | None = None
) -> tuple[list[float], list[float]]:
    """Plays after the last round, in one go and round by round."""
    fast, slow = (states_after(policy, case, [case.horizon], fast, prior)[0].tolist() for fast in (True, False))
    return fast, slow


@pytest.mark.skipif(INTERPRETED, reason="too many rounds for Python")
@pytest.mark.parametrize("policy", [mb.BIMED(), mb.BIMED(moments=2)], ids=repr)
def test_a_rival_that_cannot_reach_the_leader_can_become_it(policy: mb.Policy) -> None:
    """Arm 0 has mean and upper bound 0.6; while arm 1 is held above, its mean is what arm 1 must not fall below."""
    bounds, environment = mb.MeanBounds([0.0, 0.0], [0.6, 1.0]), mb.Bernoulli([0.6, 0.5])
    for seed in range(3000):
        fast, slow = both(policy, strategies.Case(environment, bounds, 80, seed))
        assert fast == slow, seed


@pytest.mark.skipif(INTERPRETED, reason="too many rounds for Python")
@BY_NAME
def test_constant_rewards(policy: mb.Policy) -> None:
    """Rewards without spread: the floor of the second moment is the mean, up to rounding."""
    rng = np.random.default_rng(7)
    for seed in range(40):
        values = rng.random((int(rng.integers(2, 5)), 1)).round(3)
        environment = mb.Table(values.tolist(), low=0.0, high=1.0)
        rounds = naive.rounds_of(policy, 1500)
        fast, slow = both(policy, strategies.Case(environment, mb.MeanBounds.vacuous(len(values)), rounds, seed))
        assert fast == slow, values


@pytest.mark.skipif(INTERPRETED, reason="too many rounds for Python")
@pytest.mark.parametrize("rate", [0.0, 1e-9, 1e-3])
def test_almost_no_exploration(rate: float) -> None:
    """With f near 1 the KL index is the mean, where the divergence is flat."""
    policies = [mb.UCB(f=lambda t: 1.0 + rate * t), mb.KLUCB(f=lambda t: 1.0 + rate * t)]
    tables = [[[0.1], [0.1]], [[0.1, 0.3], [0.2]], [[0.0, 1.0], [1.0, 0.0], [0.5]]]
    for policy in policies:
        for values in tables:
            for seed in range(20):
                environment = mb.Table(values, low=0.0, high=1.0)
                case = strategies.Case(environment, mb.MeanBounds.vacuous(len(values)), 1000, seed)
                fast, slow = both(policy, case)
                assert fast == slow, (values, seed)


def test_rewards_too_small_to_divide() -> None:
    """A mean that cannot be divided by 4 without becoming 0 gave a parabola of NaN, which held the arm for ever."""
    means = np.array([0.9, 5e-324])
    bounds = mb.MeanBounds([0.9, 5e-324], [0.9, 1.0])
    check(mb.BKLUCB(), strategies.Case(mb.Uniform(means), bounds, 6, 1), [0.0, 0.0])


@pytest.mark.skipif(INTERPRETED, reason="this is the interpreted run that the test starts")
@pytest.mark.slow
def test_interpreted() -> None:
    """The same, with the kernels left as Python."""
    said = run_interpreted(__file__)
    assert f"{2 * len(naive.TWINS) + 1} passed" in said  # all that is not skipped there
