"""How often a guard overrules its policy: the bound against simulations."""

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.policies import Guarded
from meanbounds.support.types import Floats
from meanbounds.theory import guarded_asks
from tests.policies.test_guarded import Always


@pytest.mark.parametrize(("margin", "best"), [(0.05, 0.75), (0.1, 0.7), (0.05, 0.9)])
def test_guard_overrules_no_more_often(margin: float, best: float) -> None:
    """In none of 200 runs is a policy that knows the best option overruled more often than the bound says."""
    known = mb.MeanBounds([0.0, 0.7], [1.0, 0.7], arms=["new", mb.EXPERT])
    guarded, rounds = Guarded(Always(), mb.Promise(margin=margin)), 6000
    found = mb.simulate(guarded, mb.Bernoulli([best, 0.7]), known, horizon=rounds, runs=200, seed=1, checkpoints=1)
    asks = next(iter(found.plays.values()))[:, 1]
    limit = guarded_asks(guarded, value=0.7, best=best, horizon=rounds)
    assert asks.max() <= limit < rounds
    assert asks.mean() > limit / 12


def test_what_a_limit_for_ever_costs() -> None:
    guarded = Guarded(mb.GLUE(), mb.Promise(margin=0.05, total=10.0))
    assert guarded_asks(guarded, value=0.7, best=0.75, horizon=5000) == 5000
    assert guarded_asks(guarded, value=0.2, best=0.99, horizon=5000) < 5000
    wider = Guarded(mb.GLUE(), mb.Promise(margin=5.0))
    same = Guarded(mb.GLUE(), mb.Promise(margin=0.05))
    limits = [guarded_asks(one, 0.7 * s, 0.75 * s, 9000, high=s) for one, s in ((wider, 100.0), (same, 1.0))]
    assert limits[0] == pytest.approx(limits[1])


def slow(plays: Floats) -> Floats:
    return 20.0 * np.sqrt(np.log1p(plays))


def test_regret_of_the_policy_counts() -> None:
    guarded = Guarded(mb.GLUE(), mb.Promise(at_least=0.95))
    limits = [guarded_asks(guarded, 0.7, 0.8, 10_000, regret=own) for own in (0.0, 20.0, slow)]
    assert limits == sorted(limits)
    assert limits[0] < limits[2]
