"""``meanbounds evaluate``: what policies are worth, from a log with the probability of each decision."""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import meanbounds as mb
from meanbounds.agents import load_agent
from meanbounds.agents.journal import EVENTS_SUFFIX
from meanbounds.cli.command import Command
from meanbounds.cli.files import need, save_table
from meanbounds.cli.log_options import add_range
from meanbounds.cli.messages import quantity

__all__ = ["COMMAND"]

_FORMATS = ("table", "dsjson", "open-bandit")


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the log, its columns, the policies and the limits."""
    parser.add_argument(
        "events",
        metavar="EVENTS",
        help="the decisions one by one: a CSV or Parquet file, a folder or pattern of them, or a file with a JSON "
        "object in each line, such as events.jsonl",
    )
    parser.add_argument(
        "--format",
        choices=_FORMATS,
        default="table",
        help="what the file holds: a table or the lines of meanbounds decide (the default), dsjson for the log of "
        "Vowpal Wabbit, open-bandit for the columns of the Open Bandit dataset; default: table",
    )
    _add_columns(parser)
    parser.add_argument(
        "--policy",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a policy to evaluate, once for each: an agent as it was saved, such as agent.json, or a table of "
        "context, arm and probability, such as policy.csv",
    )
    parser.add_argument(
        "--arms",
        nargs="*",
        metavar="ARM",
        help="the arms to evaluate as policies that always play them, for example --arms tPA watch; default: all",
    )
    parser.add_argument(
        "--against", metavar="POLICY", help="the policy to compare with, for example 'always tPA'; default: the agent"
    )
    _add_limits(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write the result, for example to values.csv, or with everything to values.json",
    )
    parser.add_argument(
        "--save-events",
        type=Path,
        metavar="FILE",
        help="write the decisions as a table with the columns context, arm, reward and probability, for the other "
        "commands; for example events.csv",
    )


def _add_columns(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--context",
        nargs="*",
        metavar="COLUMN",
        help="the column or columns of the context, none for a log without contexts; of dsjson a path such as "
        "User.age, or '*' for all shared features; default: context, for dsjson none, for open-bandit position",
    )
    for name, what in (("arm", "the arm that was chosen"), ("reward", "the reward; empty if it has not come yet")):
        parser.add_argument(f"--{name}", metavar="COLUMN", help=f"the column of {what}; default: {name}")
    parser.add_argument(
        "--probability",
        metavar="COLUMN",
        help="the column of the probability with which this arm was chosen; default: probability",
    )
    parser.add_argument(
        "--decider",
        metavar="COLUMN",
        help="the column that says who decided, for example decided_by; where a person did, the probability is empty",
    )
    add_range(parser, default=None, in_words="that of the agent beside EVENTS if there is one, else 0 1")
    parser.add_argument(
        "--time", metavar="COLUMN", help="the column by which rows are sorted, for example day; default: as stored"
    )
    parser.add_argument("--since", metavar="TIME", help="take only the rows from this time on, for example 2024-01-01")
    parser.add_argument(
        "--until", metavar="TIME", help="take only the rows before this time, for example '2024-06-30 12:00'"
    )
    parser.add_argument(
        "--on-bad",
        choices=("error", "drop"),
        default="error",
        help="what to do about rows that cannot be used: stop with an error (the default), or drop and count them",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        metavar="PROBABILITY",
        help="probability with which the limits hold, all of them at once; default: 0.95",
    )
    parser.add_argument(
        "--each",
        action="store_true",
        help="the confidence is for each pair of limits by itself; default: for all of them at once",
    )
    parser.add_argument(
        "--anytime",
        action="store_true",
        help="the limits hold at every number of rows at once, so that you may look as often as you like; default: for "
        "one look",
    )
    parser.add_argument(
        "--least",
        type=float,
        metavar="PROBABILITY",
        help="the smallest probability that the program gave any arm in any row, such as the floor of an agent that "
        "excludes no arm, for example 0.05; the limits can then use predicted rewards. Known from the program, not "
        "from the log",
    )
    parser.add_argument(
        "--pending",
        choices=("exclude", "bounds"),
        default="exclude",
        help="rows without a reward: leave them out (the default), or count them with the lowest and the highest "
        "reward",
    )


def _run(options: argparse.Namespace) -> None:
    """Print the values of the policies, and what cannot be said."""
    tables = [path for path in (options.output, options.save_events) if path and path.suffix != ".json"]
    need(*["pandas"] * bool(tables))
    events = _read(options)
    found = mb.logs.evaluate(
        events,
        _policies(options.policy),
        arms=None if options.arms is None else [_arm(arm, events.arms) for arm in options.arms],
        against=options.against,
        confidence=options.confidence,
        simultaneous=not options.each,
        anytime=options.anytime,
        least=options.least,
        pending=options.pending,
    )
    waiting = f", {events.pending:,} of them pending" if events.pending else ""
    sizes = (quantity(len(part), word) for part, word in ((events.contexts, "context"), (events.arms, "arm")))
    print(f"{quantity(len(events), 'row')}{waiting}, {', '.join(sizes)}")
    print()
    print(_in_options(found.summary()))
    if options.output:
        if options.output.suffix == ".json":
            found.save(options.output)
        else:
            save_table(found.to_frame(), options.output)
        print(f"written: {options.output}")
    if options.save_events:
        save_table(events.to_frame(), options.save_events)
        print(f"written: {options.save_events}")


def _read(options: argparse.Namespace) -> mb.logs.Events:
    """Read the decisions, by the options that the format has."""
    low, high = _range(options)
    more: dict[str, Any] = {"low": low, "high": high, "since": options.since, "until": options.until}
    more["on_bad"] = options.on_bad
    if options.context is not None:
        more["context"] = options.context or None
    if options.format == "table":
        names = ("arm", "reward", "probability", "decider", "time")
        more |= {name: getattr(options, name) for name in names if getattr(options, name) is not None}
        return mb.logs.read_events(options.events, **more)
    taken = ("reward", "probability", "decider", "time", *["arm"] * (options.format == "open-bandit"))
    for name in taken:
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} is for tables; --format {options.format} knows where its {name} is")
    if options.format == "open-bandit":
        return mb.logs.read_open_bandit(options.events, **more)
    return mb.logs.read_dsjson(options.events, arm=options.arm, **more)


def _range(options: argparse.Namespace) -> tuple[float, float]:
    """The range of the rewards: as given, or that of the agent that `meanbounds decide` asked, or 0 to 1."""
    if options.range is not None:
        return options.range[0], options.range[1]
    events = Path(options.events)
    agent = events.with_name(events.name.removesuffix(EVENTS_SUFFIX) + ".json")
    if not events.name.endswith(EVENTS_SUFFIX) or not agent.is_file():
        return 0.0, 1.0
    made = load_agent(agent)
    bounds = made.bounds if isinstance(made, mb.Agent) else made[next(iter(made))].bounds  # contexts share their ranges
    return float(bounds.low.min()), float(bounds.high.max())


def _arm(text: str, arms: Sequence[str | int]) -> str | int:
    """An arm of the log by the text that was typed."""
    return next((arm for arm in arms if str(arm) == text), text)


def _policies(paths: Sequence[Path]) -> dict[str, Any] | None:
    """The policies of some files, by the names of the files."""
    found: dict[str, Any] = {}
    for path in paths:
        if path.name in found:
            raise ValueError(f"two policies are called {path.name}; rename the file {path}")
        found[path.name] = _from_json(path) if path.suffix.lower() == ".json" else _from_csv(path)
    return found or None


def _from_json(path: Path) -> Any:
    """A saved agent, or an object of contexts, each with an arm or with probabilities of arms."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON file: {error}") from error
    if isinstance(data, list):
        return _by_context(path, data)
    if not isinstance(data, dict):
        raise ValueError(f"{path} holds neither an agent nor a table of context, arm and probability")
    if {"format", "policy", "seed"} <= set(data):
        kind = mb.ContextualAgent if "contexts" in data else mb.Agent
        return kind.from_dict(data)
    return data


def _from_csv(path: Path) -> dict[str, dict[str, float]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return _by_context(path, list(csv.DictReader(file)))


def _by_context(path: Path, rows: Sequence[Any]) -> dict[str, dict[str, float]]:
    """Rows of context, arm and probability as probabilities by context; without a probability it is 1."""
    found: dict[str, dict[str, float]] = {}
    for number, row in enumerate(rows, start=1):
        arm = row.get("arm") if isinstance(row, dict) else None
        if arm is None or arm == "":
            raise ValueError(f"{path}, row {number}: a policy has the columns context, arm and probability")
        context, chance = row.get("context"), row.get("probability")
        try:
            probability = 1.0 if chance is None or chance == "" else float(chance)
        except (TypeError, ValueError):
            raise ValueError(f"{path}, row {number}: {chance!r} is no probability") from None
        own = found.setdefault("all" if context is None else str(context), {})
        own[arm] = own.get(arm, 0.0) + probability
    if not found:
        raise ValueError(f"{path} has no rows; a policy has the columns context, arm and probability")
    return found


def _in_options(text: str) -> str:
    """Name options of the command line where a text names Python arguments."""
    for argument, option in (
        ('pending="bounds"', "--pending bounds"),
        ("least=:", "--least:"),
        ("floor=0.05", "--floor 0.05"),
    ):
        text = text.replace(argument, option)
    return text


COMMAND = Command(
    name="evaluate",
    help="what an agent, its arms and other policies are worth, from a log with probabilities",
    example="meanbounds evaluate agent.events.jsonl --policy agent.json",
    add_options=_add_options,
    run=_run,
)
