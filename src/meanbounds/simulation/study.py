"""Read a study, a simulation described in a TOML file; errors name the line."""

from __future__ import annotations

import inspect
import math
import re
import reprlib
import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meanbounds.bounds import MeanBounds
from meanbounds.policies import AnyPolicy, LinearPolicy, Policy
from meanbounds.simulation import environments
from meanbounds.simulation.environments import Environment
from meanbounds.simulation.run import LONGEST, check_fit
from meanbounds.simulation.toml_lines import Place, line_of
from meanbounds.support.text import one_line

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
_KEYS: dict[str, tuple[type, str, int, int]] = {
    "policies": (list, 'a list such as ["UCB", "GLUE"] or of tables such as { policy = "GLUE", label = "mine" }', 0, 0),
    "environment": (dict, 'a table with kind = "bernoulli" (or uniform, beta, table, linear) and its parameters', 0, 0),
    "bounds": (dict, "a table with lower and upper, and perhaps arms, low, high", 0, 0),
    "horizon": (int, "a whole number of rounds, at least 1", 1, LONGEST),
    "runs": (int, "a whole number of runs, at least 1", 1, 10**7),
    "seed": (int, "a whole number, at least 0", 0, 2**63 - 1),
    "checkpoints": (int, "a whole number of checkpoints, at least 1", 1, 10**7),
    "title": (str, "a text", 0, 0),
}
_REQUIRED = ("policies", "environment", "horizon")
_DEPTHS: dict[str, tuple[int, ...]] = {  # 0 for a number, 1 for a list of numbers, 2 for a list of such lists
    "means": (1,),
    "theta": (1,),
    "features": (2,),
    "values": (2,),
    "weights": (2,),
    "offered": (0, 2),
    "lower": (0, 1),
    "upper": (0, 1),
    "low": (0, 1),
    "high": (0, 1),
    "offset": (0, 1),
    "concentration": (0,),
    "variance": (0,),
}
_SHAPES = ("a number", "a list of numbers", "a list of lists of numbers")
_BOUNDS = ("lower", "upper", "arms", "low", "high")


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
    text, data = _parsed(path)
    try:
        return _study(data, Path(path).stem)
    except _WrongError as wrong:
        line = f", line {line_of(text, wrong.place)}" if wrong.place else ""
        raise StudyError(f"{path}{line}: {one_line(str(wrong))}") from wrong.__cause__


class _WrongError(ValueError):
    """A mistake, and where it is."""

    def __init__(self, place: Place, problem: str) -> None:
        super().__init__(problem)
        self.place = place


def _parsed(path: str | Path) -> tuple[str, dict[str, Any]]:
    """The file as text, and its content."""
    raw = Path(path).read_bytes()
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
        return text, tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise StudyError(f"{path}, line {line}: not a TOML file: it is not text in UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        said = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", str(error), re.DOTALL)
        problem, line = (said[1], said[2]) if said else (str(error), None)
        last = text.rstrip("\n").count("\n") + 1
        raise StudyError(f"{path}, line {line or last}: not a TOML file: {one_line(problem)}") from error
    except RecursionError as error:
        raise StudyError(f"{path}: lists or tables are nested too deeply") from error
    except ValueError as error:  # a whole number of thousands of digits
        long = re.search(r"\d{4000,}", text.replace("_", ""))
        line = text.replace("_", "").count("\n", 0, long.start() if long else 0) + 1
        raise StudyError(f"{path}, line {line}: a number has too many digits") from error


def _study(data: Mapping[str, Any], stem: str) -> Study:
    """The study that the content of a file describes."""
    for key, value in data.items():
        if key not in _KEYS:
            raise _WrongError((key,), f"unknown key {key!r}; expected one of {', '.join(_KEYS)}")
        kind, expected, least, most = _KEYS[key]
        if not isinstance(value, kind) or isinstance(value, bool) or (kind is int and value < least):
            raise _WrongError((key,), f"{key} must be {expected}; got {_shown(value)}")
        if kind is int and value > most:
            raise _WrongError((key,), f"{key} must be {expected}, and at most {most:,}; got {_shown(value)}")
    for key in _REQUIRED:
        if key not in data:
            raise _WrongError((), f"{key} is missing; it must be {_KEYS[key][1]}")
    environment = _environment(data["environment"])
    bounds = _bounds(data["bounds"], environment) if "bounds" in data else None
    return Study(
        policies=_policies(data["policies"], environment),
        environment=environment,
        bounds=bounds,
        horizon=data["horizon"],
        runs=data.get("runs", 200),
        seed=data.get("seed", 0),
        checkpoints=data.get("checkpoints", 200),
        title=data.get("title", stem),
    )


def _policies(entries: list[Any], environment: Environment) -> dict[str, AnyPolicy]:
    """The policies by label; each one fits the environment."""
    policies: dict[str, AnyPolicy] = {}
    for position, entry in enumerate(entries):
        place = ("policies", position)
        if not isinstance(entry, str | dict):
            example = 'a name or a table such as { policy = "GLUE" }'
            raise _WrongError(place, f"policies: each policy is {example}; got {_shown(entry)}")
        settings = {"policy": entry} if isinstance(entry, str) else dict(entry)
        for key in ("policy", "label"):
            if not isinstance(settings.get(key, ""), str):
                raise _WrongError((*place, key), f"policies: {key} must be a text; got {_shown(settings[key])}")
        label = settings.pop("label", settings.get("policy", "") if len(settings) == 1 else "")
        policy = _made(place, "policies", settings, Policy.from_dict)
        if isinstance(policy, LinearPolicy) and not isinstance(environment, environments.Linear):
            raise _WrongError(place, f'policies: {policy} needs arms with features, an environment of kind = "linear"')
        if isinstance(policy, Policy) and getattr(environment, "offered", None) is not None:
            raise _WrongError(
                place, f"policies: {policy} needs all arms in each round; use OFUL or ROFUL, or leave offered out"
            )
        label = label or str(policy)
        if label in policies:
            raise _WrongError(
                (*place, "label"), f"policies: the label {label!r} is used twice; give one of them another label"
            )
        policies[label] = policy
    if not policies:
        raise _WrongError(("policies",), "policies: expected at least one policy")
    return policies


def _environment(entry: Mapping[str, Any]) -> Environment:
    """The environment, of the kind that the entry names."""
    place: Place = ("environment",)
    settings = dict(entry)
    name = settings.pop("kind", None)
    if name is None:
        raise _WrongError(place, f"environment: kind is missing; expected one of {', '.join(_ENVIRONMENTS)}")
    if not isinstance(name, str) or name not in _ENVIRONMENTS:
        kinds = ", ".join(_ENVIRONMENTS)
        raise _WrongError((*place, "kind"), f"environment: unknown kind {_shown(name)}; expected one of {kinds}")
    kind = _ENVIRONMENTS[name]
    known = {key: value for key, value in inspect.signature(kind.__init__).parameters.items() if key != "self"}
    for key, value in settings.items():
        if key not in known:
            raise _WrongError(
                (*place, key), f"environment: {name} has no parameter {key!r}; expected {', '.join(known)}"
            )
        if key in _DEPTHS:
            _check_numbers((*place, key), value)
    for key, parameter in known.items():
        if parameter.default is parameter.empty and key not in settings:
            shape = _SHAPES[_DEPTHS[key][0]]
            raise _WrongError(place, f"environment: {name} needs {key}, {shape}")
    made: Environment = _made(place, "environment", settings, lambda given: kind(**given))
    return made


def _bounds(entry: Mapping[str, Any], environment: Environment) -> MeanBounds:
    """The bounds, which fit the environment."""
    place: Place = ("bounds",)
    for key, value in entry.items():
        if key not in _BOUNDS:
            raise _WrongError((*place, key), f"bounds: unknown key {key!r}; expected {', '.join(_BOUNDS)}")
        if key in _DEPTHS:
            _check_numbers((*place, key), value)
    for key in ("lower", "upper"):
        if key not in entry:
            raise _WrongError(place, f"bounds: {key} is missing; it must be {_SHAPES[1]}, one for each arm")
    if "arms" in entry:
        _check_names((*place, "arms"), entry["arms"], len(environment))
    bounds: MeanBounds = _made(place, "bounds", entry, MeanBounds.from_dict)
    if len(bounds) != len(environment):
        raise _WrongError(place, f"bounds: {len(bounds)} arms, but the environment has {len(environment)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of means outside the bounds; the simulation warns of them
            check_fit(environment, bounds)
    except ValueError as error:
        ends = [key for key in ("low", "high") if key in entry]
        raise _WrongError((*place, *ends[:1]), f"bounds: {error}") from error
    return bounds


def _check_names(place: Place, names: Any, arms: int) -> None:
    """Refuse names of arms that are no list of different texts or whole numbers, one for each arm."""
    if not isinstance(names, list):
        raise _WrongError(place, f"bounds: arms must be a list of names; got {_shown(names)}")
    for position, name in enumerate(names):
        if isinstance(name, bool) or not isinstance(name, str | int):
            problem = f"arm names must be texts or whole numbers; got {_shown(name)}"
        elif name in names[:position]:
            problem = f"arm {_shown(name)} is named twice"
        else:
            continue
        raise _WrongError((*place, position), f"bounds: {problem}")
    if len(names) != arms:
        raise _WrongError(place, f"bounds: {len(names)} names for {arms} arms")


def _check_numbers(place: Place, value: Any) -> None:
    """Refuse values that are no finite numbers, or not nested as the key needs it."""
    section, key = str(place[0]), str(place[1])
    allowed = _DEPTHS[key]
    expected = " or ".join(_SHAPES[depth] for depth in allowed)

    def check(here: Place, part: Any, depth: int) -> None:
        """Refuse a part of the value, which is inside as many lists."""
        if isinstance(part, list) and depth < max(allowed):
            if not part or (depth == 0 and 1 not in allowed and not isinstance(part[0], list)):
                raise _WrongError(here, f"{section}: {key} must be {expected}; got {_shown(part)}")
            for position, inside in enumerate(part):
                check((*here, position), inside, depth + 1)
            return
        if isinstance(part, list | bool) or not isinstance(part, int | float) or depth not in allowed:
            raise _WrongError(here, f"{section}: {key} must be {expected}; got {_shown(part)}")
        if not _is_finite(part):
            raise _WrongError(here, f"{section}: {key} must be finite numbers; got {_shown(part)}")

    check(place, value, 0)
    if allowed[-1] == 2 and isinstance(value, list) and key in ("features", "offered"):
        for position, row in enumerate(value):
            if len(row) != len(value[0]):
                raise _WrongError(
                    (*place, position), f"{section}: {key}: a row of {len(row)} numbers below one of {len(value[0])}"
                )


def _made(place: Place, section: str, settings: Mapping[str, Any], make: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Make a part of the study; a mistake is placed at the key, and the arm, that its message names."""
    try:
        return make(settings)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        raise _WrongError((*place, *_blamed(str(error), settings)), f"{section}: {error}") from error


def _blamed(message: str, settings: Mapping[str, Any]) -> Place:
    """The key that a message names first, in the singular or the plural, and the position of the arm that it names."""
    position = _position(message, settings.get("arms"))
    words = {key: rf"(?<![\w'\"]){re.escape(key.removesuffix('s'))}s?\b" for key in settings if key != "arms"}
    mentions = {key: re.search(word, message) for key, word in words.items()}
    named = sorted((match.start(), key) for key, match in mentions.items() if match)
    if named:
        key = named[0][1]
    elif position is not None:  # no key: the first one that has an entry for each arm
        key = next((key for key, value in settings.items() if key != "arms" and isinstance(value, list)), "")
    else:
        return ()
    if key == "lower" and position is not None and "leave the reward range" in message:
        key = "lower" if _entry(settings, "lower", position) < _entry(settings, "low", position) else "upper"
    value = settings.get(key)
    return (key, position) if position is not None and isinstance(value, list) else (key,)


def _position(message: str, names: Sequence[str | int] | None) -> int | None:
    """The position of the arm, or the row, that a message names."""
    found = re.search(r"\b(?:arm|row) (\d+|'(?:[^'\\]|\\.)*')", message)
    if found is None:
        return None
    if names is not None:
        return next((position for position, name in enumerate(names) if repr(name) == found[1]), None)
    return int(found[1]) if found[1].isdigit() else None


def _entry(settings: Mapping[str, Any], key: str, position: int) -> float:
    """The number of one arm, where the key has one for each, one for all, or is left out: then 0."""
    value = settings.get(key, 0.0)
    return float(value[position] if isinstance(value, list) else value)


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(float(number))
    except OverflowError:
        return False


def _shown(value: Any) -> str:
    """A value in a message: short, and on one line."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python shows no whole number of thousands of digits
        return "a number of thousands of digits"
