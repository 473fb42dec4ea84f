"""Every policy satisfies the contract, those of users included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.contract import check_policy

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.policies.base import IndexPolicy, Policy
from meanbounds.support.types import Floats

KINDS = [getattr(mb.policies, name) for name in mb.policies.__all__]
BUILT_IN = [kind for kind in KINDS if isinstance(kind, type) and kind not in (Policy, IndexPolicy)]
IGNORE = ("UCB", "KLUCB")


@dataclass(frozen=True, repr=False)
class EpsilonGreedy(Policy):
    """The policy in the docstring of `Policy`."""

    takes_prior: ClassVar[bool] = False
    epsilon: float = 0.1

    def probabilities(self, known: Known, seen: Seen, t: Floats, cache: Any = None) -> Floats:  # noqa: ARG002
        means = np.where(known.possible, seen.clipped_mean(known), -np.inf)
        greedy = mb.policies.share_of_largest(means)
        spread = known.possible / known.possible.sum(axis=1, keepdims=True)
        return (1.0 - self.epsilon) * greedy + self.epsilon * spread


@dataclass(frozen=True, repr=False)
class MOSS(IndexPolicy):
    """MOSS (Audibert and Bubeck, 2009) for so many rounds."""

    rounds: int = 1000

    def index(self, known: Known, seen: Seen, level: Floats) -> Floats:  # noqa: ARG002
        budget = np.log(np.maximum(1.0, self.rounds / (seen.plays.shape[1] * seen.plays)))
        return np.fmin(np.inf, seen.mean(known) + known.width * np.sqrt(budget / seen.plays))


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.__name__)
def test_built_in(kind: type[Policy]) -> None:
    check_policy(kind(), uses_bounds=kind.__name__ not in IGNORE)


@pytest.mark.parametrize("policy", [mb.GLUE(f="t"), EpsilonGreedy(epsilon=0.3), MOSS(rounds=500)], ids=repr)
def test_with_parameters_and_of_ones_own(policy: Policy) -> None:
    check_policy(policy, uses_bounds=not isinstance(policy, MOSS))
