"""Read a study, a simulation described in a TOML file; errors name the line."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meanbounds.bounds import MeanBounds
from meanbounds.policies import AnyPolicy, Policy
from meanbounds.simulation import environments
from meanbounds.simulation.environments import Environment

__all__ = ["Study", "StudyError", "read_study"]

_ENVIRONMENTS: dict[str, type[Environment]] = {
    kind.__name__.lower(): kind
    for kind in (
        environments.Bernoulli,
        environments.Uniform,
        environments.Beta,
        environments.Table,
        environments.Linear,
    )
}
_KEYS: dict[str, tuple[type, str, int]] = {
    "policies": (list, 'a list such as ["UCB", "GLUE"] or of tables such as { policy = "GLUE", label = "mine" }', 0),
    "environment": (dict, 'a table with kind = "bernoulli" (or uniform, beta, table, linear) and its parameters', 0),
    "bounds": (dict, "a table with lower and upper, and perhaps arms, low, high", 0),
    "horizon": (int, "a whole number of rounds, at least 1", 1),
    "runs": (int, "a whole number of runs, at least 1", 1),
    "seed": (int, "a whole number, at least 0", 0),
    "checkpoints": (int, "a whole number of checkpoints, at least 1", 1),
    "title": (str, "a text", 0),
}
_REQUIRED = ("policies", "environment", "horizon")


class StudyError(ValueError):
    r"""Raised for a study file that cannot be used; the message has the file, the line and what was expected.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "study.toml"
    ...     _ = path.write_text('policies = ["UCB"]\nhorizon = -5\n', encoding="utf-8")
    ...     try:
    ...         read_study(path)
    ...     except StudyError as error:
    ...         print(str(error).removeprefix(folder))
    /study.toml, line 2: horizon must be a whole number of rounds, at least 1; got -5
    """


@dataclass(frozen=True)
class Study:
    """The content of a study file; the fields are those of `meanbounds.simulate`.

    Attributes
    ----------
    policies
        The policies, by label.
    environment, bounds
        Where rewards come from, and the bounds on their means; None for no bounds.
    horizon, runs, seed, checkpoints
        As for `meanbounds.simulate`; 200 runs, seed 0 and 200 checkpoints by default.
    title
        A title for the result; the name of the file by default.

    Examples
    --------
    >>> import meanbounds as mb
    >>> study = Study({"UCB": mb.UCB()}, mb.Bernoulli([0.9, 0.8]), None, 100, 10, 7, 200, "a small one")
    >>> study.horizon, study.title
    (100, 'a small one')
    """

    policies: dict[str, AnyPolicy]
    environment: Environment
    bounds: MeanBounds | None
    horizon: int
    runs: int
    seed: int
    checkpoints: int
    title: str


def read_study(path: str | Path) -> Study:
    """Read a study file.

    Parameters
    ----------
    path
        A TOML file, such as the one below. ``policies``, ``environment`` and ``horizon`` are required.

    Raises
    ------
    StudyError
        If the file cannot be used; the message has the line.

    Examples
    --------
    >>> text = '''
    ... title = "GLUE against UCB"
    ... policies = ["UCB", "GLUE", { policy = "ThompsonSampling", prior = [2.0, 1.0], label = "TS, hopeful" }]
    ... horizon = 20_000
    ... runs = 200
    ... seed = 7
    ...
    ... [environment]
    ... kind = "bernoulli"
    ... means = [0.9, 0.8, 0.5]
    ...
    ... [bounds]
    ... lower = [0.8, 0.1, 0.1]
    ... upper = [0.95, 0.95, 0.7]
    ... '''
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "study.toml"
    ...     _ = path.write_text(text, encoding="utf-8")
    ...     study = read_study(path)
    >>> study.title, list(study.policies), study.horizon
    ('GLUE against UCB', ['UCB', 'GLUE', 'TS, hopeful'], 20000)
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: not a TOML file: {error}") from error

    def fail(key: str, problem: str, section: str = "") -> StudyError:
        return StudyError(f"{path}, line {_line(text, key, section)}: {problem}")

    for key, value in data.items():
        if key not in _KEYS:
            raise fail(key, f"unknown key {key!r}; expected one of {', '.join(_KEYS)}")
        kind, expected, least = _KEYS[key]
        if not isinstance(value, kind) or isinstance(value, bool) or (isinstance(value, int) and value < least):
            raise fail(key, f"{key} must be {expected}; got {value!r}")
    for key in _REQUIRED:
        if key not in data:
            raise StudyError(f"{path}: {key} is missing; it must be {_KEYS[key][1]}")

    def part(key: str, make: Callable[[Any], Any]) -> Any:
        try:
            return make(data[key])
        except (ValueError, TypeError) as error:
            inside = data[key] if isinstance(data[key], dict) else {}
            named = next((name for name in inside if re.search(rf"\b{re.escape(name)}\b", str(error))), key)
            raise fail(named, f"{key}: {error}", "" if named == key else key) from error

    environment = part("environment", _environment)
    bounds = part("bounds", MeanBounds.from_dict) if "bounds" in data else None
    if bounds is not None and len(bounds) != len(environment):
        raise fail("bounds", f"bounds: {len(bounds)} arms, but the environment has {len(environment)}")
    return Study(
        policies=part("policies", _policies),
        environment=environment,
        bounds=bounds,
        horizon=data["horizon"],
        runs=data.get("runs", 200),
        seed=data.get("seed", 0),
        checkpoints=data.get("checkpoints", 200),
        title=data.get("title", Path(path).stem),
    )


def _policies(entries: list[Any]) -> dict[str, AnyPolicy]:
    policies: dict[str, AnyPolicy] = {}
    for entry in entries:
        if not isinstance(entry, str | dict):
            raise ValueError(f'each policy is a name or a table such as {{ policy = "GLUE" }}; got {entry!r}')
        settings = {"policy": entry} if isinstance(entry, str) else dict(entry)
        label = str(settings.pop("label", settings.get("policy") if len(settings) == 1 else ""))
        policy = Policy.from_dict(settings)
        label = label or str(policy)
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
    known = {key: value for key, value in inspect.signature(kind.__init__).parameters.items() if key != "self"}
    for key in settings:
        if key not in known:
            raise ValueError(f"{name} has no parameter {key!r}; expected {', '.join(known)}")
    for key, parameter in known.items():
        if parameter.default is parameter.empty and key not in settings:
            raise ValueError(f"{name} needs {key}, one entry per arm")
    return kind(**settings)


def _line(text: str, key: str, section: str) -> int:
    """The line on which a key is set, in the table of this name or at the top; for a table, the line of its header."""
    here = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[+\s*[\"']?([^\"'\].]+)", line)
        if header:
            here = header[1].strip()
            if not section and here == key:
                return number
        elif here == section and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line):
            return number
    return 1
