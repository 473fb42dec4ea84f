"""Policies of a user's own: what they may return, and what is said of mistakes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import meanbounds as mb

BOUNDS, WORLD = mb.MeanBounds([0.7, 0.2], [0.9, 0.95]), mb.Bernoulli([0.8, 0.5])


@dataclass(frozen=True)
class Returning(mb.policies.IndexPolicy):
    kind: str = "row"

    def index(self, known: Any, seen: Any, level: Any) -> Any:
        kinds = {"row": known.upper, "list": [0.5, 1.0], "short": np.zeros(3), "text": "b", "means": seen.mean(known)}
        return kinds[self.kind]


def test_what_broadcasts_to_rows_and_arms_will_do() -> None:
    for kind in ("row", "list"):
        regret = mb.simulate({"own": Returning(kind)}, WORLD, BOUNDS, horizon=20, runs=3, seed=1)
        assert regret.plays["own"].tolist() == [[0, 20]] * 3
        assert mb.Agent(Returning(kind), BOUNDS, seed=1).pull() == 1


@pytest.mark.parametrize("kind", ["short", "text"])
def test_scores_of_another_shape_are_refused_by_name(kind: str) -> None:
    with pytest.raises(ValueError, match=r"Returning\(kind='\w+'\): scores must be .* of the shape \(3, 2\)"):
        mb.simulate({"own": Returning(kind)}, WORLD, BOUNDS, horizon=20, runs=3, seed=1)


def test_means_of_arms_without_rewards_are_explained() -> None:
    with pytest.raises(ValueError, match=r"Returning\(kind='means'\) gave .* without rewards is NaN: np.fmin"):
        mb.Agent(Returning("means"), BOUNDS, seed=1).pull()


def test_the_first_parameter_is_the_policys_own() -> None:
    assert Returning("list") == Returning(kind="list", f="1 + t log(t)^2")


def test_a_policy_for_features_is_sent_to_its_agent() -> None:
    policy: Any = mb.ROFUL()
    with pytest.raises(TypeError, match=r"use mb\.LinearAgent for arms with features; got ROFUL\(\)"):
        mb.Agent(policy, BOUNDS)


def test_a_parameter_without_the_decorator_is_refused() -> None:
    class Undecorated(Returning):
        horizon: int = 5

    with pytest.raises(TypeError, match=r"Undecorated\.horizon .* decorate with @dataclass\(frozen=True\)"):
        Undecorated()


def test_a_function_that_cannot_be_f_is_told_where() -> None:
    with pytest.raises(ValueError, match=r'got <ufunc .log.>, with f\(1\) = 0\. .* f="t" gives log t'):
        mb.GLUE(f=np.log)
    with pytest.raises(ValueError, match=r"with f\(1\) = 5, f\(2\) = 4\."):
        mb.GLUE(f=lambda t: 5.5 - 0.5 * t)


def test_an_unknown_policy_is_met_with_those_that_can_be_made() -> None:
    with pytest.raises(ValueError, match=r"^unknown policy 'm:Own'(?!.*Policy').*import the module"):
        mb.policies.Policy.from_dict({"policy": "m:Own"})
    with pytest.raises(ValueError, match="define it in this script first"):
        mb.policies.Policy.from_dict({"policy": "__main__:Own"})


def test_a_function_as_f_is_named_without_its_address() -> None:
    def slowly(t: Any) -> Any:
        return 1.0 + np.log(t)

    for f, label in ((slowly, "GLUE(f=slowly)"), (lambda t: t**2, "GLUE(f=<lambda>)")):
        regret = mb.simulate(mb.GLUE(f=f), WORLD, BOUNDS, horizon=20, runs=2, seed=1)
        assert regret.labels == (label,)
        assert "0x" not in regret.summary()
