"""A study in a TOML file: read it, and say which line is wrong if one is."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meanbounds import environments
from meanbounds.bounds import MeanBounds
from meanbounds.environments import Environment
from meanbounds.policies import Policy

__all__ = ["Study", "StudyError", "read_study"]

_ENVIRONMENTS: dict[str, type[Environment]] = {
    kind.__name__.lower(): kind
    for kind in (environments.Bernoulli, environments.Uniform, environments.Beta, environments.Table)
}
_KEYS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "policies": (
        list,
        'a list such as ["UCB", "GLUE"] or of tables such as { policy = "GLUE", label = "mine" }',
    ),
    "environment": (dict, 'a table with kind = "bernoulli" (or uniform, beta, table) and its parameters'),
    "bounds": (dict, "a table with lower and upper, and perhaps arms, low, high"),
    "horizon": (int, "a whole number of rounds"),
    "runs": (int, "a whole number of runs"),
    "seed": (int, "a whole number"),
    "checkpoints": (int, "a whole number of checkpoints"),
    "title": (str, "a text"),
}
_REQUIRED = ("policies", "environment", "horizon")


class StudyError(ValueError):
    """A study file that cannot be used; the message has the file, the line and what was expected."""


@dataclass(frozen=True)
class Study:
    """What a study file says; the fields are those of `meanbounds.simulate`."""

    policies: dict[str, Policy]
    environment: Environment
    bounds: MeanBounds | None
    horizon: int
    runs: int
    seed: int
    checkpoints: int
    title: str


def read_study(path: str | Path) -> Study:
    """Read a study file.

    Examples
    --------
    A study file looks like this::

        title = "GLUE against UCB"
        policies = ["UCB", "GLUE", { policy = "ThompsonSampling", prior = [2.0, 1.0], label = "TS, hopeful" }]
        horizon = 20_000
        runs = 200
        seed = 7

        [environment]
        kind = "bernoulli"
        means = [0.9, 0.8, 0.5]

        [bounds]
        lower = [0.8, 0.1, 0.1]
        upper = [0.95, 0.95, 0.7]
    """
    text = Path(path).read_text(encoding="utf-8")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{path}: not a TOML file: {error}") from error

    def fail(key: str, problem: str) -> StudyError:
        return StudyError(f"{path}, line {_line(text, key)}: {problem}")

    for key, value in data.items():
        if key not in _KEYS:
            raise fail(key, f"unknown key {key!r}; expected one of {', '.join(_KEYS)}")
        kind, expected = _KEYS[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise fail(key, f"{key} must be {expected}; got {value!r}")
    for key in _REQUIRED:
        if key not in data:
            raise StudyError(f"{path}: {key} is missing; it must be {_KEYS[key][1]}")
    return Study(
        policies=_part(fail, "policies", _policies, data["policies"]),
        environment=_part(fail, "environment", _environment, data["environment"]),
        bounds=_part(fail, "bounds", MeanBounds.from_dict, data["bounds"]) if "bounds" in data else None,
        horizon=data["horizon"],
        runs=data.get("runs", 200),
        seed=data.get("seed", 0),
        checkpoints=data.get("checkpoints", 200),
        title=data.get("title", Path(path).stem),
    )


def _part(fail: Callable[[str, str], StudyError], key: str, make: Callable[[Any], Any], value: Any) -> Any:
    try:
        return make(value)
    except (ValueError, TypeError) as error:
        raise fail(key, f"{key}: {error}") from error


def _policies(entries: list[Any]) -> dict[str, Policy]:
    policies: dict[str, Policy] = {}
    for entry in entries:
        settings = {"policy": entry} if isinstance(entry, str) else dict(entry)
        label = str(settings.pop("label", settings.get("policy") if len(settings) == 1 else ""))
        policy = Policy.from_dict(settings)
        label = label or repr(policy)
        if label in policies:
            raise ValueError(f"the label {label!r} is used twice; give one of them another label")
        policies[label] = policy
    if not policies:
        raise ValueError("expected at least one policy")
    return policies


def _environment(entry: Mapping[str, Any]) -> Environment:
    settings = dict(entry)
    name = str(settings.pop("kind", ""))
    if name not in _ENVIRONMENTS:
        raise ValueError(f"unknown kind {name!r}; expected one of {', '.join(_ENVIRONMENTS)}")
    kind = _ENVIRONMENTS[name]
    known = [parameter for parameter in inspect.signature(kind.__init__).parameters if parameter != "self"]
    for key in settings:
        if key not in known:
            raise ValueError(f"{name} has no parameter {key!r}; expected {', '.join(known)}")
    return kind(**settings)


def _line(text: str, key: str) -> int:
    """Line on which a top-level key or table is set."""
    pattern = re.compile(rf"^\s*(\[+\s*)?[\"']?{re.escape(key)}[\"']?\s*(=|\]|\.)")
    for number, line in enumerate(text.splitlines(), start=1):
        if pattern.match(line):
            return number
    return 1
