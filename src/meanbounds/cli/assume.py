"""``--assume``: what is assumed of who wrote the log, as text."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import meanbounds as mb

__all__ = ["add_assume", "assumption_of", "propensity_columns"]

_GAPS = {"gap-low", "gap-high"}
_FLAGS = {"adaptive", "overall"}
_KINDS: dict[str, tuple[Callable[..., mb.logs.Assumption], str | None, set[str]]] = {
    "optimal": (mb.logs.OptimalExpert, None, _GAPS),
    "erring": (mb.logs.ErringExpert, "errors", _GAPS | {"overall"}),
    "nearly-optimal": (mb.logs.NearlyOptimalExpert, "loss", _GAPS),
    "any": (mb.logs.AnyExpert, None, {"gap-high"}),
    "odds": (mb.logs.MarginalSensitivity, "odds", set()),
    "propensity": (mb.logs.KnownPropensity, "column", {"least", "adaptive"}),
}
"""For each word its assumption, the argument that its own value is, and the names that may follow."""


def add_assume(parser: argparse.ArgumentParser) -> None:
    """Add the option; given several times, all of what it says is assumed."""
    parser.add_argument(
        "--assume",
        action="append",
        type=_read,
        metavar="ASSUMPTION",
        help="what is assumed of who wrote the log. optimal: the best arm in every case (the default; --gap-low and "
        "--gap-high are short for it). erring=0.05: the best arm in all but at most 5%% of the cases of each context "
        "(add overall for 5%% of the whole log). "
        "nearly-optimal=0.02: the best choices would raise the mean by at most 0.02, in reward units. any: nothing. "
        "odds=2: what was hidden changed the odds of a choice by at most a factor of 2. propensity=COLUMN,least=0.1: "
        "the column says how likely each choice was, never below 0.1 (add adaptive if a program that learns chose). "
        "Gaps follow a comma, for example erring=0.05,gap-low=0.1,gap-high=0.6. Given several times, all is assumed",
    )


def assumption_of(options: argparse.Namespace) -> mb.logs.Assumption | None:
    """What the options assume; None if they do not say.

    Examples
    --------
    >>> from meanbounds.cli import make_parser
    >>> from meanbounds.cli.assume import assumption_of
    >>> given = "bounds log.csv --arm a --reward r --assume erring=0.05,gap-low=0.1 --assume odds=3".split()
    >>> assumption_of(make_parser().parse_args(given))
    ErringExpert(0.05, gap_low=0.1) & MarginalSensitivity(3.0)
    """
    if not options.assume:
        return None
    if options.gap_low or options.gap_high is not None:
        raise ValueError("--gap-low and --gap-high go into --assume, for example --assume erring=0.05,gap-low=0.1")
    found: mb.logs.Assumption = options.assume[0]
    for other in options.assume[1:]:
        found &= other
    return found


def propensity_columns(options: argparse.Namespace) -> list[str]:
    """The columns of propensities, which are read with those of the context."""
    given: list[mb.logs.Assumption] = options.assume or []
    return [part.column for part in given if isinstance(part, mb.logs.KnownPropensity)]


def _read(text: str) -> mb.logs.Assumption:
    """One assumption from its text; argparse shows the message of the error."""
    first, *rest = text.split(",")
    word, _, own = first.strip().partition("=")
    if word not in _KINDS:
        raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(_KINDS)}")
    make, main, names = _KINDS[word]
    if bool(own) != (main is not None):
        needs = f"{word}=..." if main else f"{word} alone"
        raise argparse.ArgumentTypeError(f"write {needs}, and gaps after a comma; got {first!r}")
    given: dict[str, Any] = {} if main is None else {main: own if main == "column" else _number(word, own)}
    for part in rest:
        name, _, value = part.strip().partition("=")
        if name not in names:
            allowed = ", ".join(sorted(names)) or "nothing"
            raise argparse.ArgumentTypeError(f"after {word} may follow {allowed}; got {part.strip()!r}")
        given[name.replace("-", "_")] = True if name in _FLAGS else _number(name, value)
    if word == "propensity" and "least" not in given:
        raise argparse.ArgumentTypeError(f"say how small a probability can be: propensity={own},least=0.1")
    try:
        return make(**given)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0.0:
        raise argparse.ArgumentTypeError(f"{name} needs a number that is not negative; got {text!r}")
    return value
