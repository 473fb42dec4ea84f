"""Which theorems apply to a simulation, and what they say at its checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import MeanBounds
from meanbounds.kernels.textbook import GAUSSIAN
from meanbounds.policies import OFUL, ROFUL, AnyPolicy, LinearPolicy, Policy
from meanbounds.policies.exploration import DEFAULT
from meanbounds.theory.constants import asymptotic_constant
from meanbounds.theory.given import Form, check_means
from meanbounds.theory.glue import glue_regret
from meanbounds.theory.linear import linear_regret

__all__ = ["Promise", "Simulated", "regret_bounds", "regret_slopes"]

Floats = NDArray[np.float64]


class Simulated(Protocol):
    """What is needed of a result: its checkpoints, and the settings that it follows from."""

    @property
    def rounds(self) -> NDArray[np.int64]:
        """The checkpoints."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Policies, environment and bounds."""


@dataclass(frozen=True, eq=False)
class Promise:
    """What a theorem says of one policy in a simulation, or why none does.

    Attributes
    ----------
    values
        At each checkpoint; None if no theorem applies.
    kind
        ``"expectation"``: compare with the mean over runs. ``"high probability"``: compare with every run, at all
        checkpoints at once; a share of at most `failure` may exceed it. ``"asymptotic"``: the constant times log n,
        whose slope is that of the curve in the long run, at most. ``""`` if no theorem applies.
    failure
        Probability with which a bound of high probability may fail; 0 for the others.
    theorem
        Which one.
    reason
        Why there is none; empty otherwise.
    """

    values: Floats | None
    kind: str = ""
    failure: float = 0.0
    theorem: str = ""
    reason: str = ""


class _NoTheoremError(Exception):
    """Its message says why no theorem applies."""


def regret_bounds(regret: Simulated, form: Form = "corrected") -> dict[str, Promise]:
    """The finite-time bound of each policy of a simulation at its checkpoints, or why there is none.

    Parameters
    ----------
    regret
        What `meanbounds.simulate` returned, or `meanbounds.Regret.load` read.
    form
        ``"paper"``: as printed.

    Examples
    --------
    >>> import meanbounds as mb
    >>> policies = {"GLUE": mb.GLUE(), "TS": mb.ThompsonSampling()}
    >>> regret = mb.simulate(policies, mb.Bernoulli([0.9, 0.8]), horizon=1000, runs=10, seed=7, checkpoints=2)
    >>> bounds = mb.theory.regret_bounds(regret)
    >>> bounds["GLUE"].values, bounds["GLUE"].kind, bounds["GLUE"].theorem
    (array([ 50., 100.]), 'expectation', 'Theorem 6')
    >>> bounds["TS"].reason
    'no finite-time theorem is implemented for this policy'
    """

    def promise(policy: AnyPolicy, means: Floats, bounds: MeanBounds) -> Promise:
        if isinstance(policy, OFUL | ROFUL):
            values = _linear(policy, regret, bounds, form)
            return Promise(values, "high probability", policy.failure, policy.theorem)
        if isinstance(policy, LinearPolicy):
            raise _NoTheoremError("no finite-time theorem is implemented for this policy")
        if policy.kernel != GAUSSIAN:
            raise _NoTheoremError("no finite-time theorem is implemented for this policy")
        if policy.f != DEFAULT:
            raise _NoTheoremError(f"the theorem is for f = {DEFAULT}")
        found = np.asarray(glue_regret(means, bounds, regret.rounds, policy, form))
        return Promise(found, "expectation", theorem="Theorem 6")

    return _for_each(regret, promise)


def regret_slopes(regret: Simulated) -> dict[str, Promise]:
    """What remains of each policy's regret over log n, times log n at the checkpoints, or why nothing is known.

    Examples
    --------
    >>> import meanbounds as mb
    >>> regret = mb.simulate({"UCB": mb.UCB()}, mb.Bernoulli([0.9, 0.8]), horizon=1000, runs=10, seed=7, checkpoints=2)
    >>> slope = mb.theory.regret_slopes(regret)["UCB"]
    >>> (slope.values / np.log(regret.rounds)).round(6), slope.kind
    (array([5., 5.]), 'asymptotic')
    """

    def promise(policy: AnyPolicy, means: Floats, bounds: MeanBounds) -> Promise:
        if not isinstance(policy, Policy):
            raise _NoTheoremError("its theorem is not about log n")
        constant = asymptotic_constant(policy, means, bounds)
        return Promise(constant * np.log(regret.rounds), "asymptotic", theorem=policy.theorem)

    return _for_each(regret, promise)


def _for_each(regret: Simulated, promise: Callable[[AnyPolicy, Floats, MeanBounds], Promise]) -> dict[str, Promise]:
    """Apply to each policy of the settings; a theorem that does not apply leaves its reason."""
    settings = regret.settings
    means = np.asarray(settings["environment"]["means"], dtype=np.float64)
    bounds = MeanBounds.from_dict(settings["bounds"])
    found = {}
    for label, text in settings["policies"].items():
        name = text
        try:
            policy = Policy.from_repr(text)
            name = str(policy)
            if settings["environment"].get("rewards") == "clipped-gaussian":
                raise _NoTheoremError("the rewards' means are not linear: clipping moves them")
            found[label] = promise(policy, means, bounds)
        except (_NoTheoremError, ValueError) as error:
            found[label] = Promise(None, reason=str(error).removeprefix(f"{name}: "))
    return found


def _linear(policy: OFUL | ROFUL, regret: Simulated, bounds: MeanBounds, form: Form) -> Floats:
    environment = regret.settings["environment"]
    norm = float(np.linalg.norm(environment["theta"]))
    least = float(getattr(policy, "norm_low", 0.0))
    if not least - 1e-9 <= norm <= policy.norm_high * (1.0 + 1e-9):
        raise _NoTheoremError(f"the parameter's norm {norm:.6g} is outside [{least:g}, {policy.norm_high:g}]")
    if isinstance(policy, ROFUL):
        check_means(environment["means"], bounds)
    return linear_regret(policy, environment["features"], bounds, regret.rounds, environment["offset"], form)
