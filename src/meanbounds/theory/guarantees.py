"""Find the theorem that applies to each policy of a simulation, and evaluate it at the checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import MeanBounds
from meanbounds.kernels.arms.textbook import GAUSSIAN
from meanbounds.policies import OFUL, ROFUL, AnyPolicy, LinearPolicy, Policy
from meanbounds.policies.exploration import DEFAULT
from meanbounds.support.checks import shown
from meanbounds.support.types import Floats
from meanbounds.theory.constants import asymptotic_constant
from meanbounds.theory.given import Form, check_form, check_means
from meanbounds.theory.glue import glue_regret
from meanbounds.theory.oful import bound_and_width

__all__ = ["RegretBound", "Simulated", "regret_bounds", "regret_slopes"]

_Theorem = Callable[[AnyPolicy, Mapping[str, Any], MeanBounds], "RegretBound"]


class Simulated(Protocol):
    """A result with its checkpoints and settings; `meanbounds.Regret` is one."""

    @property
    def rounds(self) -> NDArray[np.int64]:
        """The checkpoints: after how many rounds regret was recorded."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The policies, environment and bounds of the simulation, as plain dictionaries."""


@dataclass(frozen=True, eq=False)
class RegretBound:
    """A theorem's bound on the regret of one policy in a simulation, or the reason why no theorem applies.

    Attributes
    ----------
    values
        The bound at each checkpoint, in reward units; None if no theorem applies.
    kind
        ``"expectation"``: compare with the mean over runs. ``"high probability"``: compare with every run, at all
        checkpoints at once; a share of at most `failure` may exceed it. ``"asymptotic"``: the constant times log n,
        whose slope is that of the curve in the long run, at most. ``""`` if no theorem applies.
    failure
        Probability with which a bound of high probability may fail; 0 for the others.
    theorem
        Its number in the paper.
    reason
        Why there is none; empty otherwise.
    certain
        The most that regret can be whatever is played: the number of rounds times the largest regret of one round.
        Where `values` are not below this, the theorem says nothing. None for slopes.

    Examples
    --------
    >>> import meanbounds as mb
    >>> regret = mb.simulate({"UCB": mb.UCB()}, mb.Bernoulli([0.9, 0.5]), horizon=5000, runs=10, seed=7, checkpoints=3)
    >>> bound = mb.theory.regret_bounds(regret)["UCB"]
    >>> bound.theorem, bound.informative.tolist()
    ('Theorem 6', [True, True, True])
    """

    values: Floats | None
    kind: str = ""
    failure: float = 0.0
    theorem: str = ""
    reason: str = ""
    certain: Floats | None = None

    @property
    def informative(self) -> NDArray[np.bool_]:
        """Tell at which checkpoints the bound is below `certain`, the most that regret can be in any case.

        Examples
        --------
        >>> import numpy as np
        >>> import meanbounds as mb
        >>> mb.theory.RegretBound(np.array([10.0, 30.0]), "expectation", certain=np.array([10.0, 100.0])).informative
        array([False,  True])
        """
        if self.values is None or self.certain is None:
            return np.zeros(0 if self.values is None else self.values.shape, dtype=bool)
        return np.asarray(self.values < self.certain * (1.0 - 1e-9))


class _NoTheoremError(Exception):
    """Its message says why no theorem applies."""


def regret_bounds(regret: Simulated, *, form: Form = "corrected") -> dict[str, RegretBound]:
    """Compute the bound on each policy's regret at the checkpoints of a simulation, or say why no theorem applies.

    Parameters
    ----------
    regret
        The result of `meanbounds.simulate` or `meanbounds.Regret.load`.
    form
        ``"corrected"``, or ``"paper"`` for the bounds as printed, which can be too small.

    Returns
    -------
    dict
        A `RegretBound` for each label.

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
    check_form(form)

    def guarantee(policy: AnyPolicy, settings: Mapping[str, Any], bounds: MeanBounds) -> RegretBound:
        if isinstance(policy, OFUL | ROFUL):
            values, width = _linear(policy, settings["environment"], bounds, regret.rounds, form)
            return RegretBound(
                values,
                "high probability",
                policy.failure,
                policy.theorem,
                certain=np.asarray(width * regret.rounds, dtype=np.float64),
            )
        if isinstance(policy, LinearPolicy):
            raise _NoTheoremError("no finite-time theorem is implemented for this policy")
        if policy.kernel != GAUSSIAN:
            raise _NoTheoremError("no finite-time theorem is implemented for this policy")
        if policy.f != DEFAULT:
            raise _NoTheoremError(f"the theorem is for f = {DEFAULT}")
        found = np.asarray(
            glue_regret(settings["environment"]["means"], bounds, regret.rounds, policy=policy, form=form)
        )
        gap = float(np.ptp(settings["environment"]["means"]))
        return RegretBound(
            found, "expectation", theorem="Theorem 6", certain=np.asarray(gap * regret.rounds, dtype=np.float64)
        )

    return _for_each(regret, guarantee)


def regret_slopes(regret: Simulated) -> dict[str, RegretBound]:
    """Compute how each policy's regret grows in the long run: `asymptotic_constant` times log n at the checkpoints.

    Compare only the slope with a simulated curve: the regret itself may be larger. Where no theorem applies, ``reason``
    says why.

    Parameters
    ----------
    regret
        The result of `meanbounds.simulate` or `meanbounds.Regret.load`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> regret = mb.simulate({"UCB": mb.UCB()}, mb.Bernoulli([0.9, 0.8]), horizon=1000, runs=10, seed=7, checkpoints=2)
    >>> slope = mb.theory.regret_slopes(regret)["UCB"]
    >>> (slope.values / np.log(regret.rounds)).round(6), slope.kind
    (array([5., 5.]), 'asymptotic')
    """

    def guarantee(policy: AnyPolicy, settings: Mapping[str, Any], bounds: MeanBounds) -> RegretBound:
        if not isinstance(policy, Policy):
            raise _NoTheoremError("its theorem is not about log n")
        constant = asymptotic_constant(policy, settings["environment"]["means"], bounds)
        return RegretBound(constant * np.log(regret.rounds), "asymptotic", theorem=policy.theorem)

    return _for_each(regret, guarantee)


def _for_each(regret: Simulated, guarantee: _Theorem) -> dict[str, RegretBound]:
    """Apply to each policy; a theorem that does not apply leaves its reason.

    A result that was put together from several has the settings of each: by label for `Regret.beside`, one after the
    other for `Regret.concat`.
    """
    if isinstance(regret, type) or not isinstance(getattr(regret, "settings", None), Mapping):
        raise TypeError(f"regret must be the result of mb.simulate; got {shown(regret)}")
    return _of_settings(regret.settings, guarantee)


def _of_settings(settings: Mapping[str, Any], guarantee: _Theorem) -> dict[str, RegretBound]:
    parts = settings.get("parts")
    if isinstance(parts, Mapping):
        return {label: next(iter(_of_settings(own, guarantee).values())) for label, own in parts.items()}
    if parts is None:
        return _each_policy(settings, guarantee)
    found = [_of_settings(own, guarantee) for own in parts]
    weights = np.array([own["runs"] for own in parts], dtype=np.float64)
    return {label: _together([own[label] for own in found], weights / weights.sum()) for label in found[0]}


def _each_policy(settings: Mapping[str, Any], guarantee: _Theorem) -> dict[str, RegretBound]:
    bounds = MeanBounds.from_dict(settings["bounds"])
    found = {}
    for label, saved in settings["policies"].items():
        name = label
        try:
            policy = _read_back(saved)
            name = str(policy)
            if settings["environment"].get("rewards") == "clipped-gaussian":
                raise _NoTheoremError("the rewards' means are not linear: clipping moves them")
            found[label] = guarantee(policy, settings, bounds)
        except (_NoTheoremError, ValueError) as error:
            found[label] = RegretBound(None, reason=str(error).removeprefix(f"{name}: "))
    return found


def _read_back(saved: Mapping[str, Any] | str) -> AnyPolicy:
    """The policy that a result was made with."""
    if isinstance(saved, str):
        raise _NoTheoremError("version 0.1 kept no policy that can be read back; simulate again")
    try:
        policy: AnyPolicy = Policy.from_saved(saved)
    except ValueError as error:
        raise _NoTheoremError(f"the policy cannot be read back: {error}") from error
    return policy


def _together(parts: Sequence[RegretBound], weights: Floats) -> RegretBound:
    """Of runs that are pooled: the mean of bounds on the mean, the largest of bounds on every run."""
    values = [part.values for part in parts if part.values is not None]
    if len(values) < len(parts):
        return next(part for part in parts if part.values is None)
    largest = parts[0].kind == "high probability"

    def join(lines: Sequence[Floats]) -> Floats:
        return np.asarray(np.max(lines, axis=0) if largest else weights @ np.array(lines))

    certain = [part.certain for part in parts if part.certain is not None]
    return replace(parts[0], values=join(values), certain=join(certain) if certain else None)


def _linear(
    policy: OFUL | ROFUL,
    environment: Mapping[str, Any],
    bounds: MeanBounds,
    rounds: NDArray[np.int64],
    form: Form,
) -> tuple[Floats, float]:
    norm = float(np.linalg.norm(environment["theta"]))
    least = float(getattr(policy, "norm_low", 0.0))
    if not least - 1e-9 <= norm <= policy.norm_high * (1.0 + 1e-9):
        raise _NoTheoremError(f"the parameter's norm {norm:.6g} is outside [{least:g}, {policy.norm_high:g}]")
    if isinstance(policy, ROFUL):
        check_means(environment["means"], bounds)
    return bound_and_width(policy, environment["features"], bounds, rounds, environment["offset"], form)
