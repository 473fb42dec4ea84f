"""The table ``corrupt`` of a study file, which makes bounds or logs wrong on purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from meanbounds.bounds import MeanBounds
from meanbounds.policies import AnyPolicy
from meanbounds.policies.rivals import LoggedPolicy
from meanbounds.simulation.corrupt import BOUNDS_KINDS, LOG_KINDS, corrupt, corrupt_log
from meanbounds.simulation.environments import Environment
from meanbounds.simulation.study_checks import WrongError, check_numbers, made, shown
from meanbounds.simulation.toml_lines import Place

__all__ = ["corrupted"]

_PLACE: Place = ("corrupt",)
_KEYS = ("kind", "by", "seed")


def corrupted(
    entry: Mapping[str, Any],
    policies: dict[str, AnyPolicy],
    environment: Environment,
    bounds: MeanBounds | None,
    seed: int,
) -> tuple[dict[str, AnyPolicy], MeanBounds | None]:
    """The policies and bounds of a study, of which the logs of the ones or the others are wrong as the entry says.

    Parameters
    ----------
    entry
        The table of the file.
    policies, environment, bounds, seed
        Those of the study.
    """
    kind, by, seed = _read(entry, seed)
    if kind in BOUNDS_KINDS:
        if bounds is None:
            raise WrongError((*_PLACE, "kind"), f"corrupt: {kind} needs bounds to make wrong: add a table [bounds]")
        right = bounds
        wrong = made(_PLACE, "corrupt", entry, lambda _: corrupt(right, environment.means, kind, by, seed=seed))
        return policies, wrong
    arms = bounds
    if arms is None:
        arms = MeanBounds.vacuous(len(environment), low=environment.low, high=environment.high)
    if not any(isinstance(policy, LoggedPolicy) and policy.log.counts for policy in policies.values()):
        raise WrongError((*_PLACE, "kind"), f"corrupt: {kind} needs a policy with a log to make wrong, such as MINUCB")
    kept = dict(policies)
    for label, policy in policies.items():
        if isinstance(policy, LoggedPolicy) and policy.log.counts:
            kept[label] = _with_wrong_log(entry, policy, environment, arms, seed)
    return kept, bounds


def _with_wrong_log(
    entry: Mapping[str, Any], policy: LoggedPolicy, environment: Environment, arms: MeanBounds, seed: int
) -> LoggedPolicy:
    def make(given: Mapping[str, Any]) -> LoggedPolicy:
        log = corrupt_log(policy.log, environment.means, arms, given["kind"], given["by"], seed=seed)
        return replace(policy, log=log)

    wrong: LoggedPolicy = made(_PLACE, "corrupt", entry, make)
    return wrong


def _read(entry: Mapping[str, Any], seed: int) -> tuple[str, float, int]:
    """Kind, size and seed; anything else is refused."""
    for key in entry:
        if key not in _KEYS:
            raise WrongError((*_PLACE, key), f"corrupt: unknown key {key!r}; expected {', '.join(_KEYS)}")
    for key, example in (("kind", '"cap-too-low"'), ("by", "0.05")):
        if key not in entry:
            raise WrongError(_PLACE, f"corrupt: {key} is missing; give {key} = {example}, for example")
    kind, kinds = entry["kind"], (*BOUNDS_KINDS, *LOG_KINDS)
    if not (isinstance(kind, str) and kind in kinds):
        raise WrongError((*_PLACE, "kind"), f"corrupt: unknown kind {shown(kind)}; expected one of {', '.join(kinds)}")
    check_numbers((*_PLACE, "by"), entry["by"])
    number = entry.get("seed", seed)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**63:
        raise WrongError((*_PLACE, "seed"), f"corrupt: seed must be a whole number, at least 0; got {shown(number)}")
    return kind, float(entry["by"]), number
