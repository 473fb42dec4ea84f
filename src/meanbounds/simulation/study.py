"""Read a study, a simulation described in a TOML file; errors name the line."""

from __future__ import annotations

import inspect
import re
import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meanbounds.bounds import MeanBounds
from meanbounds.knowledge import Knowledge
from meanbounds.policies import AnyPolicy, LinearPolicy, Policy
from meanbounds.policies.doubted import check_usable
from meanbounds.policies.informed import check_prior
from meanbounds.prior import AnyPrior, read_prior
from meanbounds.simulation import environments
from meanbounds.simulation.environments import Environment
from meanbounds.simulation.run import LONGEST, check_fit
from meanbounds.simulation.stages import check_undated
from meanbounds.simulation.study_checks import DEPTHS, SHAPES, WrongError, check_names, check_numbers, made, shown
from meanbounds.simulation.study_corrupt import corrupted
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
    "bounds": (
        dict,
        "a table with lower and upper, and perhaps arms, low, high, trust, assumption, expires, half_life",
        0,
        0,
    ),
    "prior": (dict, "a table with mean and strength, each a number or one for each arm, or with components", 0, 0),
    "corrupt": (dict, 'a table with kind = "cap-too-low" (or another kind), by, and perhaps seed', 0, 0),
    "horizon": (int, "a whole number of rounds, at least 1", 1, LONGEST),
    "runs": (int, "a whole number of runs, at least 1", 1, 10**7),
    "seed": (int, "a whole number, at least 0", 0, 2**63 - 1),
    "checkpoints": (int, "a whole number of checkpoints, at least 1", 1, 10**7),
    "title": (str, "a text", 0, 0),
}
_REQUIRED = ("policies", "environment", "horizon")
_TRUSTED = ("trust", "assumption", "expires", "half_life")
_BOUNDS = ("lower", "upper", "arms", "low", "high", *_TRUSTED)
_PRIOR = ("mean", "strength")
_MIXTURE = ("components", "weights")


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
        Where rewards come from, and the bounds on their means, corrupted if the file says so; None for no bounds.
    horizon, runs, seed, checkpoints
        As for `meanbounds.simulate`; 200 runs, seed 0 and 200 checkpoints by default.
    title
        A title for the result; the name of the file by default.
    trust
        How far to trust the bounds, as for `meanbounds.Knowledge`; 1, certain, by default.
    prior
        What is expected of the means, as for `meanbounds.Knowledge`; None for no prior.
    assumption
        What the bounds rest on, as for `meanbounds.Knowledge`; None if those of each arm stand alone.
    expires
        After how many rounds the bounds say nothing any more; None for never.
    half_life
        In how many rounds the trust in the bounds halves; None if it stays.

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
    trust: float | tuple[float, ...] = 1.0
    prior: AnyPrior | None = None
    assumption: str | None = None
    expires: int | None = None
    half_life: float | None = None

    @property
    def known(self) -> Knowledge | None:
        """The bounds, how far to trust them, and the prior; None if there is nothing of it.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = mb.MeanBounds([0.5, 0.1], [0.95, 0.9])
        >>> Study({"UCB": mb.UCB()}, mb.Bernoulli([0.9, 0.8]), bounds, 100, 10, 7, 200, "", trust=0.9).known
        Knowledge(bounds=MeanBounds([0.5, 0.1], [0.95, 0.9]), trust=0.9)
        """
        if self.bounds is None and self.prior is None:
            return None
        return Knowledge(
            _or_range(self.bounds, self.environment),
            prior=self.prior,
            trust=self.trust,
            assumption=self.assumption,
            expires=self.expires,
            half_life=self.half_life,
        )


def read_study(path: str | Path) -> Study:
    """Read a study file.

    Parameters
    ----------
    path
        A TOML file, such as the one below. ``policies``, ``environment`` and ``horizon`` are required. A table
        ``corrupt`` makes the bounds, or the logs that policies start from, wrong on purpose: ``kind`` and ``by`` are
        those of `meanbounds.simulation.corrupt` and `corrupt_log`, ``seed`` is that of the study by default. Keys
        ``trust``, ``assumption``, ``expires`` and ``half_life`` in the table of the bounds, and a table ``prior`` with
        ``mean`` and ``strength``, are those of `meanbounds.Knowledge`. For `meanbounds.Prior.mixture`, the table
        ``prior`` has ``weights`` and a list ``components`` of such tables.

    Raises
    ------
    StudyError
        If the file cannot be used; the message has the line.

    Examples
    --------
    >>> text = '''
    ... title = "GLUE against UCB"
    ... policies = ["UCB", "GLUE", { policy = "ThompsonSampling", moments = 2, label = "TS, graded" }]
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
    ('GLUE against UCB', ['UCB', 'GLUE', 'TS, graded'], 20000)
    """
    text, data = _parsed(path)
    try:
        return _study(data, Path(path).stem)
    except WrongError as wrong:
        line = f", line {line_of(text, wrong.place)}" if wrong.place else ""
        raise StudyError(f"{path}{line}: {one_line(str(wrong))}") from wrong.__cause__


def _parsed(path: str | Path) -> tuple[str, dict[str, Any]]:
    """The file as text, and its content."""
    raw = Path(path).read_bytes()
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise StudyError(f"{path}, line {line}: not a TOML file: it is not text in UTF-8") from error
    try:
        return text, tomllib.loads(text)
    except RecursionError as error:
        raise StudyError(f"{path}: lists or tables are nested too deeply") from error
    except ValueError as error:
        raise StudyError(f"{path}, line {_line_of_error(str(error), text)}: not a TOML file: {error}") from error


def _line_of_error(message: str, text: str) -> int:
    """The line of a mistake against TOML: the one that the message of `tomllib` names, or the last."""
    if said := re.search(r"\(at line (\d+), column \d+\)$", message):
        return int(said[1])
    plain = text.replace("_", "")
    long = re.search(r"\d{4000,}", plain)  # of a number with too many digits the message names no line
    return plain.count("\n", 0, long.start() if long else len(plain.rstrip("\n"))) + 1


def _study(data: Mapping[str, Any], stem: str) -> Study:
    """The study that the content of a file describes."""
    for key, value in data.items():
        if key not in _KEYS:
            raise WrongError((key,), f"unknown key {key!r}; expected one of {', '.join(_KEYS)}")
        kind, expected, least, most = _KEYS[key]
        number = value if isinstance(value, int) else least
        if not isinstance(value, kind) or isinstance(value, bool) or number < least:
            raise WrongError((key,), f"{key} must be {expected}; got {shown(value)}")
        if number > most:
            raise WrongError((key,), f"{key} must be {expected}, and at most {most:,}; got {shown(value)}")
    for key in _REQUIRED:
        if key not in data:
            raise WrongError((), f"{key} is missing; it must be {_KEYS[key][1]}")
    environment = _environment(data["environment"])
    bounds = _bounds(data["bounds"], environment) if "bounds" in data else None
    policies = _policies(data["policies"], environment)
    if "corrupt" in data:
        policies, bounds = corrupted(data["corrupt"], policies, environment, bounds, data.get("seed", 0))
    trusted = None if bounds is None else _trusted(data["bounds"], bounds, policies)
    return Study(
        policies=policies,
        environment=environment,
        bounds=bounds,
        horizon=data["horizon"],
        runs=data.get("runs", 200),
        seed=data.get("seed", 0),
        checkpoints=data.get("checkpoints", 200),
        title=data.get("title", stem),
        trust=1.0 if trusted is None else trusted.trust,
        prior=_prior(data["prior"], _or_range(bounds, environment), policies) if "prior" in data else None,
        assumption=None if trusted is None else trusted.assumption,
        expires=trusted.expires if trusted is not None and isinstance(trusted.expires, int) else None,
        half_life=None if trusted is None else trusted.half_life,
    )


def _policies(entries: list[Any], environment: Environment) -> dict[str, AnyPolicy]:
    """The policies by label; each one fits the environment."""
    policies: dict[str, AnyPolicy] = {}
    for position, entry in enumerate(entries):
        place = ("policies", position)
        if not isinstance(entry, str | dict):
            example = 'a name or a table such as { policy = "GLUE" }'
            raise WrongError(place, f"policies: each policy is {example}; got {shown(entry)}")
        settings = {"policy": entry} if isinstance(entry, str) else dict(entry)
        for key in ("policy", "label"):
            if not isinstance(settings.get(key, ""), str):
                raise WrongError((*place, key), f"policies: {key} must be a text; got {shown(settings[key])}")
        label = settings.pop("label", settings.get("policy", "") if len(settings) == 1 else "")
        policy = made(place, "policies", settings, Policy.from_dict)
        if isinstance(policy, LinearPolicy) and not isinstance(environment, environments.Linear):
            raise WrongError(place, f'policies: {policy} needs arms with features, an environment of kind = "linear"')
        if isinstance(policy, Policy) and getattr(environment, "offered", None) is not None:
            raise WrongError(
                place, f"policies: {policy} needs all arms in each round; use OFUL or ROFUL, or leave offered out"
            )
        label = label or str(policy)
        if label in policies:
            raise WrongError(
                (*place, "label"), f"policies: the label {label!r} is used twice; give one of them another label"
            )
        policies[label] = policy
    if not policies:
        raise WrongError(("policies",), "policies: expected at least one policy")
    return policies


def _environment(entry: Mapping[str, Any]) -> Environment:
    """The environment, of the kind that the entry names."""
    place: Place = ("environment",)
    settings = dict(entry)
    name = settings.pop("kind", None)
    if name is None:
        raise WrongError(place, f"environment: kind is missing; expected one of {', '.join(_ENVIRONMENTS)}")
    if not isinstance(name, str) or name not in _ENVIRONMENTS:
        kinds = ", ".join(_ENVIRONMENTS)
        raise WrongError((*place, "kind"), f"environment: unknown kind {shown(name)}; expected one of {kinds}")
    kind = _ENVIRONMENTS[name]
    known = {key: value for key, value in inspect.signature(kind.__init__).parameters.items() if key != "self"}
    for key, value in settings.items():
        if key not in known:
            raise WrongError(
                (*place, key), f"environment: {name} has no parameter {key!r}; expected {', '.join(known)}"
            )
        if key in DEPTHS:
            check_numbers((*place, key), value)
    for key, parameter in known.items():
        if parameter.default is parameter.empty and key not in settings:
            shape = SHAPES[DEPTHS[key][0]]
            raise WrongError(place, f"environment: {name} needs {key}, {shape}")
    environment: Environment = made(place, "environment", settings, lambda given: kind(**given))
    return environment


def _bounds(entry: Mapping[str, Any], environment: Environment) -> MeanBounds:
    """The bounds, which fit the environment."""
    place: Place = ("bounds",)
    for key, value in entry.items():
        if key not in _BOUNDS:
            raise WrongError((*place, key), f"bounds: unknown key {key!r}; expected {', '.join(_BOUNDS)}")
        if key in DEPTHS:
            check_numbers((*place, key), value)
    for key in ("lower", "upper"):
        if key not in entry:
            raise WrongError(place, f"bounds: {key} is missing; it must be {SHAPES[1]}, one for each arm")
    if "arms" in entry:
        check_names((*place, "arms"), entry["arms"], len(environment))
    ends = {key: value for key, value in entry.items() if key not in _TRUSTED}
    bounds: MeanBounds = made(place, "bounds", ends, MeanBounds.from_dict)
    if len(bounds) != len(environment):
        raise WrongError(place, f"bounds: {len(bounds)} arms, but the environment has {len(environment)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of means outside the bounds; the simulation warns of them
            check_fit(environment, bounds)
    except ValueError as error:
        wrong = [key for key in ("low", "high") if key in entry]
        raise WrongError((*place, *wrong[:1]), f"bounds: {error}") from error
    return bounds


def _trusted(entry: Mapping[str, Any], bounds: MeanBounds, policies: Mapping[str, AnyPolicy]) -> Knowledge:
    """How far to trust the bounds, what they rest on and how they age; each policy can take that into account."""
    known: dict[str, Any] = {}
    for key in _TRUSTED:
        if key in entry:
            known[key] = entry[key]
            try:
                for policy in policies.values():
                    if isinstance(policy, LinearPolicy):
                        check_usable(policy, Knowledge(bounds, **known))
                check_undated(Knowledge(bounds, **known))
            except (TypeError, ValueError) as error:
                raise WrongError(("bounds", key), f"bounds: {error}") from error
    for key, how in (("expires", "that expire"), ("half_life", "whose trust decays")):
        if {"assumption", key} <= set(known):
            raise WrongError(
                ("bounds", key), f"bounds: bounds {how} cannot be simulated with an assumption; leave one out"
            )
    return Knowledge(bounds, **known)


def _prior(entry: Mapping[str, Any], bounds: MeanBounds, policies: Mapping[str, AnyPolicy]) -> AnyPrior:
    """The prior, which fits the arms, and which each policy can use."""
    place: Place = ("prior",)
    mixed = not set(_MIXTURE).isdisjoint(entry)
    if mixed:
        _check_mixture(place, entry)
    else:
        _check_law(place, entry)
    named = {**entry, "arms": list(bounds.arms)}
    prior: AnyPrior = made(place, "prior", named, lambda _: read_prior(entry))
    known: Knowledge = made(place, "prior", named, lambda _: Knowledge(bounds, prior=prior))
    for policy in policies.values():
        try:
            check_prior(policy, known)
        except ValueError as error:
            raise WrongError(place, f"prior: {error}") from error
    return prior


def _check_law(place: Place, entry: Mapping[str, Any]) -> None:
    """Refuse a table that has not mean and strength alone."""
    _check_keys(place, entry, _PRIOR)
    for key, value in entry.items():
        check_numbers((*place, key), value)
    for key in _PRIOR:
        if key not in entry:
            raise WrongError(
                place, f"prior: {key} is missing; it must be {SHAPES[0]}, or {SHAPES[1]}, one for each arm"
            )


def _check_mixture(place: Place, entry: Mapping[str, Any]) -> None:
    """Refuse a table that has not weights and a list of tables with mean and strength."""
    _check_keys(place, entry, _MIXTURE)
    components = entry.get("components")
    if not (isinstance(components, list) and components and all(isinstance(one, dict) for one in components)):
        raise WrongError(
            (*place, "components") if "components" in entry else place,
            "prior: a mixture has components, a list of tables with mean and strength: [[prior.components]]",
        )
    for position, component in enumerate(components):
        _check_law((*place, "components", position), component)
    if "weights" not in entry:
        raise WrongError(place, "prior: weights is missing; it must be a list of numbers, one for each component")
    check_numbers((*place, "weights"), entry["weights"])


def _check_keys(place: Place, entry: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    for key in entry:
        if key not in allowed:
            raise WrongError((*place, key), f"prior: unknown key {key!r}; expected {', '.join(allowed)}")


def _or_range(bounds: MeanBounds | None, environment: Environment) -> MeanBounds:
    """The bounds; without any, those that say nothing."""
    if bounds is not None:
        return bounds
    return MeanBounds.vacuous(len(environment), low=environment.low, high=environment.high)
