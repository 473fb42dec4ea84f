"""Options that `start` and `explain` share: the log and its columns, the experts, the promise, the agent."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from meanbounds.cli.command import patience

if TYPE_CHECKING:
    from meanbounds.bounds import Arm
    from meanbounds.logs import Counts, Experts

__all__ = ["add_agent", "add_log", "arguments", "experts_of", "listed", "read_log"]


def add_log(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how to read a log."""
    group = parser.add_argument_group("the log")
    group.add_argument("log", metavar="LOG", help="a CSV, Parquet or JSON lines file, a folder of them, or a pattern")
    either = group.add_mutually_exclusive_group()
    either.add_argument("--context", nargs="+", metavar="COLUMN", help="what was recorded of each case, such as clinic")
    what = "in place of --context, also numbers such as age: they are split where the experts chose differently"
    either.add_argument("--columns", nargs="+", metavar="COLUMN", help=what)
    what = "with --columns: whom several rows are about, such as patient, if they are"
    group.add_argument("--unit", metavar="COLUMN", help=what)
    what = "count rows without a reward: how far their mean reward is from that of other rows with the same choice, at "
    what += "most; 0 if rewards are missing at random, inf if nobody knows"
    group.add_argument("--missing", type=float, metavar="NUMBER", help=what)
    what = "what changed the choice and nothing else, such as the doctor on duty"
    group.add_argument("--instrument", metavar="COLUMN", help=what)
    group.add_argument("--arm", default="arm", metavar="COLUMN", help="what the experts chose; default: arm")
    group.add_argument("--reward", default="reward", metavar="COLUMN", help="how it went, a number; default: reward")
    group.add_argument(
        "--range",
        type=float,
        nargs=2,
        default=[0.0, 1.0],
        metavar=("LOW", "HIGH"),
        help="the smallest and the largest reward that are possible, such as 1 5 for stars; default: 0 1",
    )
    group.add_argument("--where", metavar="SQL", help="count only these rows, such as \"day >= '2024-06-01'\"")
    group.add_argument("--drop", action="store_true", help="leave out rows that cannot be counted, and say how many")
    group.add_argument("--arms", nargs="+", metavar="ARM", help="all options, if the log lacks some")
    group.add_argument("--propensity", metavar="COLUMN", help="the probability of the choice, where it is known")
    group.add_argument("--least", type=float, metavar="NUMBER", help="the least propensity that was possible")


def add_agent(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what to assume of the experts, what to promise them, and how the agent decides."""
    group = parser.add_argument_group("what you assume of the experts; by default nothing")
    for name, what in (
        ("errors", "the share of cases in which another option would have been better, at most, such as 0.05"),
        ("loss", "what better choices would have added to the mean reward, at most"),
        ("gap-low", "how much the best option is better than the second best, at least, in every kind of case"),
        ("gap-high", "how far two options are apart, at most, in any kind of case"),
        ("odds", "the factor by which unrecorded facts changed the odds of a choice, at most, such as 1.5"),
    ):
        group.add_argument(f"--{name}", type=float, metavar="NUMBER", help=what)
    group.add_argument(
        "--shift", type=float, default=0.0, metavar="SHARE", help="the share of cases that have changed since, at most"
    )
    group = parser.add_argument_group("what it promises them, all at once; by default a margin of 0.01 of the range")
    for name, what in (
        ("margin", "the average loss of a decision, at most, in reward units, such as 0.01"),
        ("at-least", "the share of the experts' reward that is kept, such as 0.98"),
        ("failures", "how many more failures there may be, as a share of theirs, such as 0.14"),
        ("total", "the loss in all decisions together, for ever, such as 30"),
    ):
        group.add_argument(f"--{name}", type=float, metavar="NUMBER", help=what)
    group = parser.add_argument_group("the agent")
    group.add_argument("--include", nargs="+", default=[], metavar="ARM", help="play these in spite of few rows")
    group.add_argument("--forbid", nargs="+", default=[], metavar="ARM", help="never play these")
    group.add_argument("--no-experts", action="store_true", help="nobody can be asked, so nothing is promised")
    group.add_argument("--cost", type=float, default=0.0, metavar="NUMBER", help="what asking the experts costs")
    group.add_argument(
        "--ask", type=float, default=0.0, metavar="SHARE", help="ask the experts in this share of cases all along"
    )
    group.add_argument(
        "--confidence", type=float, default=0.95, metavar="PROBABILITY", help="of bounds and promise; default: 0.95"
    )
    group.add_argument("--seed", type=int, metavar="NUMBER", help="a whole number from which the agent's draws follow")


def read_log(options: argparse.Namespace) -> Counts:
    """Count the log, and say how many rows were left out; more than 5% are a warning of `read` already."""
    from meanbounds import logs

    if options.unit is not None and not options.columns:
        raise ValueError("--unit says how to halve the log for --columns: give these too")
    names = ("arm", "reward", "where", "arms", "propensity", "least", "missing", "instrument")
    reading: dict[str, Any] = {name: getattr(options, name) for name in names}
    reading |= {"low": options.range[0], "high": options.range[1], "on_bad": "drop" if options.drop else "error"}
    with patience(f"reading {options.log}"):
        if options.columns:
            counts = logs.partition(options.log, options.columns, unit=options.unit, **reading)
        else:
            counts = logs.read(options.log, context=options.context, **reading)
    left = sum(counts.dropped.values())
    if 0 < left <= 0.05 * (left + counts.rows):
        print(f"left out: {', '.join(f'{kind} ({number:,})' for kind, number in counts.dropped.items())}")
    return counts


def experts_of(options: argparse.Namespace) -> Experts:
    """What is assumed of the experts."""
    from meanbounds.logs import Experts

    names = ("errors", "loss", "gap_low", "gap_high", "odds")
    return Experts(**{name: getattr(options, name) for name in names if getattr(options, name) is not None})


def arguments(options: argparse.Namespace, counts: Counts) -> dict[str, Any]:
    """The arguments of `meanbounds.logs.start` that the options stand for."""
    from meanbounds.logs.log_agent import PROMISE
    from meanbounds.policies import Promise

    names = ("margin", "at_least", "failures", "total")
    limits = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return {
        **{name: getattr(options, name) for name in ("shift", "cost", "ask", "confidence", "seed")},
        "promise": Promise(**limits) if limits else PROMISE,
        "expert": not options.no_experts,
        "include": listed(options.include, counts),
        "forbid": listed(options.forbid, counts),
    }


def listed(given: list[str], counts: Counts) -> list[Arm]:
    """Options by name, as whole numbers if those of the log are."""
    whole = all(isinstance(arm, int) for arm in counts.arms)
    return [int(arm) if whole and arm.removeprefix("-").isdigit() else arm for arm in given]
