"""Every policy satisfies the contract, those of users included; broken ones do not."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.contract import check_policy, some_statistics

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.policies.base import IndexPolicy, Policy
from meanbounds.support.types import Floats

KINDS = [getattr(mb.policies, name) for name in mb.policies.__all__]
POLICIES = [kind for kind in KINDS if isinstance(kind, type) and issubclass(kind, Policy)]
BUILT_IN = [kind for kind in POLICIES if kind not in (Policy, IndexPolicy, mb.policies.Guarded)]
IGNORE_BOUNDS = ("UCB", "KLUCB")
SLOW = ("IDS",)


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.__name__)
def test_built_in(kind: type[Policy]) -> None:
    rows = 200 if kind.__name__ in SLOW else 2000
    check_policy(kind(), uses_bounds=kind.__name__ not in IGNORE_BOUNDS, rows=rows)


@dataclass(frozen=True, repr=False)
class EpsilonGreedy(Policy):
    """The policy in the docstring of `Policy`."""

    epsilon: float = 0.1

    def probabilities(self, known: Known, seen: Seen, t: Floats, cache: Any = None) -> Floats:
        greedy = mb.policies.share_of_largest(np.where(known.possible, seen.clipped_mean(known), -np.inf))
        spread = known.possible / known.possible.sum(axis=1, keepdims=True)
        return (1.0 - self.epsilon) * greedy + self.epsilon * spread


@dataclass(frozen=True, repr=False)
class MOSS(IndexPolicy):
    """MOSS (Audibert and Bubeck, 2009) for so many rounds."""

    rounds: int = 1000

    def index(self, known: Known, seen: Seen, level: Floats) -> Floats:
        budget = np.log(np.maximum(1.0, self.rounds / (seen.plays.shape[1] * seen.plays)))
        return np.fmin(np.inf, seen.mean(known) + known.width * np.sqrt(budget / seen.plays))


OTHERS = [mb.GLUE(f="t"), mb.OptimisticGittins(moments=2), EpsilonGreedy(epsilon=0.3), MOSS(rounds=500)]


@pytest.mark.parametrize("policy", OTHERS, ids=repr)
def test_with_parameters_and_of_ones_own(policy: Policy) -> None:
    check_policy(policy, uses_bounds=not isinstance(policy, MOSS))


class PrefersTheFirst(mb.GLUE):
    def index(self, known: Known, seen: Seen, level: Floats) -> Floats:
        return super().index(known, seen, level) - 0.01 * np.arange(known.lower.shape[1])


class KnowsOneUnit(mb.UCB):
    def index(self, known: Known, seen: Seen, level: Floats) -> Floats:
        return np.fmin(np.inf, seen.mean(known) + np.sqrt(level / seen.plays))


class Remembers(mb.GLUE):
    def scores(self, known: Known, seen: Seen, t: Floats, draws: Any = None, cache: Any = None) -> Any:
        cache = {} if cache is None else cache
        cache["rounds"] = cache.get("rounds", 0) + 1
        return super().scores(known, seen, t, draws) if cache["rounds"] < 9 else -seen.plays + 0.0 * known.lower


class SaysSomethingElse(mb.GLUE):
    def probabilities(self, known: Known, seen: Seen, t: Floats, cache: Any = None) -> Floats:
        chances = super().probabilities(known, seen, t, cache)
        return 0.5 * chances + 0.5 * known.possible / known.possible.sum(axis=1, keepdims=True)


class AddsUpWrong(EpsilonGreedy):
    def probabilities(self, known: Known, seen: Seen, t: Floats, cache: Any = None) -> Floats:
        return 0.9 * super().probabilities(known, seen, t, cache)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (PrefersTheFirst(), "Not equal to tolerance"),
        (KnowsOneUnit(), "the units of the rewards matter"),
        (Remembers(), "the cache changes a decision in round"),
        (SaysSomethingElse(), "with a probability of"),
        (AddsUpWrong(), "Not equal to tolerance"),
        (mb.UCB(), "that bounds exclude"),
    ],
    ids=repr,
)
def test_what_is_broken_is_found(policy: Policy, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_policy(policy, uses_bounds=not isinstance(policy, KnowsOneUnit))


def test_bounds_that_say_nothing_make_three_policies_one() -> None:
    known, seen, t = (
        Known.of([mb.Knowledge(mb.MeanBounds.vacuous(6))]),
        some_statistics(50, seed=3),
        np.arange(1.0, 51.0),
    )
    with np.errstate(all="ignore"):
        bucb, improved, glue = (policy.scores(known, seen, t) for policy in (mb.BUCB(), mb.ImprovedUCB(), mb.GLUE()))
    np.testing.assert_array_equal(bucb, improved)
    np.testing.assert_array_equal(bucb, glue)
