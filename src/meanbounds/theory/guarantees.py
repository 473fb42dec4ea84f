"""Find the theorem that applies to each policy of a simulation, and evaluate it at the checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from meanbounds.bounds import MeanBounds
from meanbounds.knowledge import Knowledge
from meanbounds.linear.oful import OFUL
from meanbounds.linear.roful import ROFUL
from meanbounds.policies.base import Described
from meanbounds.support.checks import shown
from meanbounds.support.types import Booleans, Floats, Integers
from meanbounds.theory.conditions import Form, check_form, check_means
from meanbounds.theory.finite_time import glue_regret
from meanbounds.theory.linear_bound import bound_and_width

__all__ = ["RegretBound", "regret_bounds"]


@dataclass(frozen=True, eq=False)
class RegretBound:
    """A theorem's bound on the regret of one policy in a simulation, or the reason why no theorem applies.

    Attributes
    ----------
    values
        The bound at each checkpoint, in reward units; None if no theorem applies.
    kind
        ``"expectation"``: compare with the mean over runs. ``"high probability"``: compare with every run, at all
        checkpoints at once; a share of at most `failure` may exceed it. ``""`` if no theorem applies.
    failure
        Probability with which a bound of high probability may fail; 0 for the others.
    theorem
        Its number in the paper, or where it was published.
    reason
        Why there is none; empty otherwise.
    certain
        The most that regret can be whatever is played: the number of rounds times the largest regret of one round.
        Where `values` are not below this, the theorem says nothing.
    """

    values: Floats | None
    kind: str = ""
    failure: float = 0.0
    theorem: str = ""
    reason: str = ""
    certain: Floats | None = None

    @property
    def informative(self) -> Booleans:
        """At which checkpoints the bound is below `certain`, the most that regret can be in any case."""
        if self.values is None or self.certain is None:
            return np.zeros(0, dtype=bool)
        return np.asarray(self.values < self.certain * (1.0 - 1e-9))


def regret_bounds(regret: Any, *, form: Form = "corrected") -> dict[str, RegretBound]:
    """Compute the bound on each policy's regret at the checkpoints of a simulation, or say why no theorem applies.

    Parameters
    ----------
    regret
        The result of `meanbounds.simulate`.
    form
        ``"corrected"``, or ``"paper"`` for the bounds as printed, which can be too small.

    Returns
    -------
    A `RegretBound` for each label.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.theory import regret_bounds
    >>> policies = {"GLUE": mb.GLUE(), "KL-UCB": mb.KLUCB()}
    >>> regret = mb.simulate(policies, mb.Bernoulli([0.9, 0.8]), horizon=1000, runs=10, seed=7, checkpoints=2)
    >>> bounds = regret_bounds(regret)
    >>> bounds["GLUE"].values, bounds["GLUE"].kind, bounds["GLUE"].theorem
    (array([ 50., 100.]), 'expectation', 'Theorem 6')
    >>> bounds["KL-UCB"].reason
    'the theorem is for UCB, BUCB, ImprovedUCB and GLUE with f = 1 + t log(t)^2; got KLUCB()'
    """
    check_form(form)
    if isinstance(regret, type) or not isinstance(getattr(regret, "settings", None), Mapping):
        raise TypeError(f"regret must be the result of mb.simulate; got {shown(regret)}")
    settings, found = regret.settings, {}
    for label, saved in settings.get("policies", {}).items():
        try:
            own = next((part for part in settings.get("parts", ()) if label in part["policies"]), settings)
            if not isinstance(saved, Mapping):
                raise ValueError(f"no theorem is known for {saved}")
            policy = Described.from_dict(saved)
            theorem = _with_features if isinstance(policy, OFUL) else _expected
            found[label] = theorem(policy, own["environment"], _applies(policy, own), regret.checkpoints, form)
        except ValueError as error:
            found[label] = RegretBound(None, reason=str(error))
    return found


def _applies(policy: Described, settings: Mapping[str, Any]) -> MeanBounds:
    """The bounds that a policy was given, if the setting of the simulation is that of the theorems."""
    environment = settings["environment"]
    if "stages" in environment:
        raise ValueError("the theorems are for means that do not change")
    if settings.get("delay") is not None:
        raise ValueError("the theorems are for rewards that come at once")
    paid = environment.get("rewards")
    if isinstance(paid, Mapping) and not np.allclose(paid["means"], environment["means"], rtol=0.0, atol=1e-9):
        raise ValueError("the means of the rewards are not linear in the features: clipping moves them")
    if "known" not in settings:
        raise ValueError("the settings do not say which bounds it had")
    knowledge = Knowledge.from_dict(settings["known"])
    uses = getattr(policy, "uses_bounds", not isinstance(policy, OFUL) or isinstance(policy, ROFUL))
    if uses and not knowledge.is_certain:
        raise ValueError("the theorems are for bounds that are certain")
    return knowledge.bounds


def _expected(
    policy: Any, environment: Mapping[str, Any], bounds: MeanBounds, rounds: Integers, form: Form
) -> RegretBound:
    values = np.asarray(glue_regret(environment["means"], bounds, rounds, policy=policy, form=form))
    certain = np.asarray(np.ptp(environment["means"]) * rounds, dtype=np.float64)
    return RegretBound(values, "expectation", theorem="Theorem 6", certain=certain)


def _with_features(
    policy: Any, environment: Mapping[str, Any], bounds: MeanBounds, rounds: Integers, form: Form
) -> RegretBound:
    norm = float(np.linalg.norm(environment["theta"]))
    if norm > policy.norm_high * (1.0 + 1e-9):
        raise ValueError(f"the norm of the parameter, {norm:.6g}, is above norm_high={policy.norm_high:g}")
    if isinstance(policy, ROFUL):
        check_means(environment["means"], bounds)
    values, width = bound_and_width(policy, environment["features"], bounds, rounds, environment["offset"], form)
    return RegretBound(values, "high probability", policy.failure, "Theorem 4", certain=np.asarray(width * rounds))
