"""The policies that pages about policies compare: a new one joins by being exported by the package."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import meanbounds as mb

RECOMMENDED = "BIMED"
"""The policy that README recommends."""

COUNTERPARTS: Mapping[str, str] = MappingProxyType(
    {"BUCB": "UCB", "ImprovedUCB": "UCB", "GLUE": "UCB", "BKLUCB": "KLUCB", "UCBoost": "KLUCB"}
)
"""The classical policy that each policy with bounds comes from."""

VARIANTS: Mapping[str, Any] = MappingProxyType(
    {"moments": 2, "settle": False, "power": 2.0, "base": mb.ThompsonSampling()}
)
"""Values of parameters that are played beside the default, wherever a policy has the parameter."""

EFFORT: Mapping[str, float] = MappingProxyType({"IDS": 0.1, "MINTS": 0.2, "WarmStart": 0.2})
"""Share of the runs or of the worlds that slow policies play, by the name of the class."""

FEWEST_RUNS = 10
"""With fewer, a sign test at the usual level cannot show anything."""


def contenders() -> dict[str, mb.Policy]:
    """Every policy for arms without features that needs no argument, and its variants, by label."""
    found: list[mb.Policy] = []
    for exported in mb.__all__:
        made = getattr(mb, exported)
        if not (inspect.isclass(made) and issubclass(made, mb.Policy)) or inspect.isabstract(made) or _needs(made):
            continue
        policy = made()
        changes: list[dict[str, Any]] = [{name: value} for name, value in VARIANTS.items() if hasattr(policy, name)]
        found += [policy, *(dataclasses.replace(policy, **change) for change in changes)]
    return {str(policy): policy for policy in found}


def _needs(made: type[mb.Policy]) -> bool:
    """Whether some parameter has no default."""
    missing = dataclasses.MISSING
    return any(field.default is missing and field.default_factory is missing for field in dataclasses.fields(made))


def starts_from_log(policy: mb.Policy) -> bool:
    """Whether a policy takes counts and totals of a log, so that it can be compared only where there is one."""
    return hasattr(policy, "log")


def slow_ones(labels: Iterable[str], spare: str, fewest: int = 1) -> str:
    """A sentence about those of these policies that play fewer runs or worlds, as `spare` says."""
    names = dict.fromkeys(label.partition("(")[0] for label in labels)
    slow = [f"{name} {EFFORT[name]:.0%}" for name in names if name in EFFORT]
    least = f", at least {fewest}" if fewest > 1 else ""
    return f"Slow policies play fewer of the {spare}{least}: {', '.join(slow)}." if slow else ""


def share_of(policy: mb.Policy, size: int, fewest: int) -> int:
    """How many of so many runs or worlds a policy plays: no fewer than `fewest`, if there are so many."""
    return max(min(size, fewest), round(size * EFFORT.get(type(policy).__name__, 1.0)))
