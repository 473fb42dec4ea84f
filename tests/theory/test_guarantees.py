"""The theorem that applies to each policy of a simulation."""

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.linear.arms import LinearArms
from meanbounds.linear.oful import OFUL
from meanbounds.linear.roful import ROFUL
from meanbounds.simulation import INSTANCES, Changing, Environment, Linear
from meanbounds.theory import glue_regret, linear_regret, regret_bounds
from meanbounds.theory.linear_bound import largest_regret

BEST = INSTANCES["high-lower-bound"]
POLICIES = {"UCB": mb.UCB(), "GLUE": mb.GLUE(), "own f": mb.GLUE(f="t"), "KL": mb.BKLUCB()}


def simulated(known: mb.MeanBounds | mb.Knowledge, environment: Environment, delay: int = 0) -> mb.Regret:
    return mb.simulate(POLICIES, environment, known, horizon=300, runs=4, seed=1, checkpoints=5, delay=delay)


def test_arms_without_features() -> None:
    regret = simulated(BEST.bounds, BEST.environment)
    alone = mb.simulate(mb.BUCB(), BEST.environment, horizon=300, runs=4, seed=1, checkpoints=5)  # with no bounds
    found, n = regret_bounds(regret.beside(alone)), regret.checkpoints
    for label in ("UCB", "GLUE"):
        expected = glue_regret(BEST.means, BEST.bounds, n, policy=POLICIES[label])
        np.testing.assert_array_equal(np.asarray(found[label].values), expected)
        assert (found[label].kind, found[label].theorem, found[label].reason) == ("expectation", "Theorem 6", "")
        assert found[label].informative.tolist() == (expected < 0.4 * n * (1 - 1e-9)).tolist()
    np.testing.assert_array_equal(np.asarray(found["BUCB"].values), np.asarray(found["UCB"].values))
    assert found["own f"].values is found["KL"].values is None
    assert "with f = 1 + t log(t)^2; got GLUE(f='t')" in found["own f"].reason
    assert np.asarray(regret_bounds(regret, form="paper")["GLUE"].values)[-1] > 0.4 * 300  # has no such limit


def test_where_no_theorem_applies() -> None:
    with pytest.warns(UserWarning, match="outside its bounds"):
        wrong = regret_bounds(simulated(mb.MeanBounds([0.0] * 5, [0.85, 1, 1, 1, 1]), BEST.environment))
    doubted = regret_bounds(simulated(mb.Knowledge(BEST.bounds, trust=0.9), BEST.environment))
    assert wrong["GLUE"].reason == "arm 0: its mean 0.9 is outside its bounds [0, 0.85], so no theorem applies"
    assert doubted["GLUE"].reason == "the theorems are for bounds that are certain"
    assert all(found["UCB"].values is not None for found in (wrong, doubted))  # it ignores bounds
    late = regret_bounds(simulated(BEST.bounds, BEST.environment, delay=5))
    assert {bound.reason for bound in late.values()} == {"the theorems are for rewards that come at once"}
    changing = Changing([(1, BEST.environment), (100, mb.Bernoulli(BEST.means[::-1]))])
    found = regret_bounds(simulated(mb.MeanBounds.vacuous(5), changing))
    assert {bound.reason for bound in found.values()} == {"the theorems are for means that do not change"}


def test_arms_with_features() -> None:
    features, bounds = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]], mb.MeanBounds([0.5, 0.4, 0.1], [0.7, 0.9, 0.5])
    policies = {"OFUL": OFUL(), "R-OFUL": ROFUL(index="clip"), "short": OFUL(norm_high=0.1)}
    linear, clipped = (
        mb.simulate(policies, Linear(features, [0.6, 0.3], law=law), bounds, horizon=30, runs=2, seed=1, checkpoints=3)
        for law in ("two-point", "clipped-gaussian")
    )
    found = regret_bounds(linear)
    for label in ("OFUL", "R-OFUL"):
        expected = linear_regret(policies[label], features, bounds, linear.checkpoints)
        np.testing.assert_array_equal(np.asarray(found[label].values), expected)
        width = largest_regret(policies[label], LinearArms(features, bounds))
        np.testing.assert_allclose(np.asarray(found[label].certain), width * linear.checkpoints)
        assert (found[label].kind, found[label].failure) == ("high probability", 0.01)
    assert "is above norm_high=0.1" in found["short"].reason
    assert "clipping moves them" in regret_bounds(clipped)["OFUL"].reason
