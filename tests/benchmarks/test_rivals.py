"""Rivals satisfy the contract of policies, and decide as computed by hand in small cases."""

from math import e, log
from typing import Any

import numpy as np
import pytest
from benchmarks.rivals import MINTS, MINUCB, OSSB, UCBoost, WarmStart
from tests.contract import check_policy

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.policies import Policy
from meanbounds.theory import bernoulli_kl

LOG: dict[str, Any] = {"counts": (5.0,), "totals": (3.0,)}


@pytest.mark.parametrize(
    ("policy", "uses_bounds"),
    [
        *((policy, True) for policy in (UCBoost(), OSSB(), MINTS())),
        *((policy, False) for policy in (MINUCB(**LOG), WarmStart(**LOG))),
        *((WarmStart(base, **LOG), True) for base in (mb.GLUE(), mb.ThompsonSampling())),
    ],
    ids=str,
)
def test_contract(policy: Policy, uses_bounds: bool) -> None:
    check_policy(policy, uses_bounds=uses_bounds, rows=100 if isinstance(policy, MINTS) else 1000)


def known_of(lower: list[float], upper: list[float]) -> Known:
    return Known.of([mb.Knowledge(mb.MeanBounds(lower, upper))])


def seen_of(plays: list[float], total: list[float]) -> Seen:
    return Seen(*(np.array([part]) for part in (plays, total, total, total)))


def probabilities(policy: Policy, known: Known, seen: Seen, t: float = 1.0) -> Any:
    with np.errstate(all="ignore"):
        return policy.probabilities(known, seen, np.array([t]))[0]


def test_ucboost_inverts_the_largest_of_its_four_functions() -> None:
    p, budget = np.array([0.0, 0.1, 0.3, 0.5, 0.7, 0.9]), 0.02 * np.arange(1, 7)
    known, seen = known_of([0.0] * 6, [1.0] * 6), seen_of([10.0] * 6, (10.0 * p).tolist())
    for times in (1.0, 5.0):
        with np.errstate(all="ignore"):
            q = UCBoost().index(known, seen, 10.0 * times * budget)[0]
        entropy = np.where(p > 0.0, p * np.log(np.maximum(p, 1e-300)), 0.0)
        functions = [
            2.0 * (q - p) ** 2 + 4.0 / 9.0 * (q - p) ** 4,
            (np.sqrt(q) - np.sqrt(p)) ** 2 + (np.sqrt(1.0 - q) - np.sqrt(1.0 - p)) ** 2,
            entropy + (1.0 - p) * np.log((1.0 - p) / (1.0 - q)),
            entropy - p * np.log(1.0 + p) + log(2.0 / e) + 2.0 * q / (1.0 + p),  # the tangent
        ]
        np.testing.assert_allclose(np.max(functions, axis=0), times * budget, atol=1e-12)
        assert (bernoulli_kl(p, q) >= times * budget - 1e-12).all()  # never below B-KL-UCB's index


def test_ossb_explores_what_lacks_plays() -> None:
    # kl(0.5, 0.75) = log(4 / 3) / 2 = 0.1438, so at log t = log 30 arm 0 needs 1.01 * 3.401 / 0.1438 = 23.9 plays.
    known = known_of([0.0, 0.0], [1.0, 1.0])
    for plays, arm in ((10.0, 0), (23.0, 0), (24.0, 1)):
        assert probabilities(OSSB(), known, seen_of([plays, 20.0], [plays / 2.0, 15.0]), 30.0)[arm] == 1.0
    assert probabilities(OSSB(), known_of([0.0, 0.0], [0.74, 1.0]), seen_of([10.0, 20.0], [5.0, 15.0]), 30.0)[1] == 1.0
    # Arm 2 lacks most plays, but arm 0 has fewer than a tenth of the 31 that explore.
    known, seen = known_of([0.0] * 3, [1.0] * 3), seen_of([3.0, 20.0, 27.0], [0.0, 15.0, 18.0])
    assert probabilities(OSSB(epsilon=0.01), known, seen, 51.0).tolist() == [0.0, 0.0, 1.0]
    assert probabilities(OSSB(epsilon=0.1), known, seen, 51.0).tolist() == [1.0, 0.0, 0.0]


def test_mints_weighs_arms_by_likelihoods() -> None:
    # Arm 0 paid 1, arm 1 paid 0. Arm 0 is best: likelihood 1. Arm 1 is best: at most m (1 - m) = 1/4, for m = 1/2.
    seen = seen_of([1.0, 1.0], [1.0, 0.0])
    np.testing.assert_allclose(probabilities(MINTS(), known_of([0.0] * 2, [1.0] * 2), seen), [0.8, 0.2])
    # With a mean of at most 0.4 for arm 0: 0.4, and 0.4 * 0.6.
    np.testing.assert_allclose(probabilities(MINTS(), known_of([0.0] * 2, [0.4, 1.0]), seen), [0.625, 0.375])


def test_minucb_takes_the_lesser_limit() -> None:
    # Online 0.5 + sqrt(0.5 * 0.5 / 4) = 0.75; with the log 3 / 16 + sqrt(0.5 * 0.5 / 16), and bias * 12 / 16.
    known, seen = known_of([0.0] * 2, [1.0] * 2), seen_of([4.0, 0.0], [2.0, 0.0])
    own: dict[str, Any] = {"counts": (12.0, 0.0), "totals": (1.0, 0.0)}
    with np.errstate(all="ignore"):
        found = MINUCB(**own, bias=0.2).index(known, seen, 0.5)[0]
        assert found.tolist() == pytest.approx([3.0 / 16.0 + 0.125 + 0.2 * 0.75, np.inf])
        assert MINUCB(**own).index(known, seen, 0.5)[0].tolist() == [0.75, np.inf]


def test_warm_start_decides_as_if_the_log_were_its_own() -> None:
    known, started = known_of([0.0] * 2, [1.0] * 2), WarmStart(mb.BKLUCB(), counts=(20.0, 1.0), totals=(12.0, 1.0))
    own, every = seen_of([4.0, 3.0], [4.0, 0.0]), seen_of([24.0, 4.0], [16.0, 1.0])
    for t, arm in ((2.0, 0), (1e6, 1)):
        found = probabilities(started, known, own, t).tolist()
        assert found == probabilities(mb.BKLUCB(), known, every, t).tolist()
        assert found[arm] == 1.0
