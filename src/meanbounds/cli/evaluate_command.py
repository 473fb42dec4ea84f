"""``meanbounds evaluate``: what an agent earned, beside the experts, and what other policies would have earned."""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meanbounds.cli.command import Command, patience, writing
from meanbounds.cli.store_options import agent_name, is_store, open_store, range_of

if TYPE_CHECKING:
    from meanbounds.agents.tree import Tree

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the decisions")
    what = (
        "a CSV, Parquet or JSON lines file with a row for each decision, a folder of them, or a pattern; or a store, "
    )
    what += "taken as export writes it, without options"
    group.add_argument("decisions", metavar="DECISIONS", help=what)
    group.add_argument("agent", metavar="AGENT", nargs="?", help="the agent, if DECISIONS is a store that has several")
    either = group.add_mutually_exclusive_group()
    either.add_argument("--context", nargs="+", metavar="COLUMN", help="what was recorded of each case, such as clinic")
    what = "in place of --context: a saved agent, or the store of one, whose tree finds the contexts in raw columns"
    either.add_argument("--tree", metavar="AGENT", help=what)
    for name, what in (
        ("arm", "what was played"),
        ("reward", "how it went, a number; empty if it has not come yet"),
        ("probability", "the probability with which the agent chose the arm"),
    ):
        group.add_argument(f"--{name}", default=name, metavar="COLUMN", help=f"{what}; default: {name}")
    what = "what stands in the arm's column where the experts were asked; default: expert"
    group.add_argument("--expert", default="expert", metavar="TEXT", help=what)
    what = "the smallest and the largest reward that are possible, such as 1 5 for stars; default: 0 1"
    what += ", or that of the agent in a store"
    group.add_argument("--range", type=float, nargs=2, metavar=("LOW", "HIGH"), help=what)
    group.add_argument("--where", metavar="SQL", help="take only these rows, such as \"day >= '2024-06-01'\"")
    group.add_argument("--drop", action="store_true", help="leave out rows that cannot be used, and say how many")
    group = parser.add_argument_group("what to compare with")
    what = "an earlier log of the experts, with the same columns of context, arm and reward; beside a store, "
    what += "--context, --arm and --reward name the columns of this log"
    group.add_argument("--log", metavar="LOG", help=what)
    what = "another policy, once for each: an agent as start wrote it, or JSON such as "
    what += '{"old": "watch", "young": {"tPA": 0.9, "watch": 0.1}}'
    group.add_argument("--policy", type=Path, action="append", default=[], metavar="FILE.json", help=what)
    group.add_argument(
        "--arms", nargs="+", default=[], metavar="ARM", help="options to list even if nobody played them"
    )
    group = parser.add_argument_group("the limits")
    what = "the least probability that each option and asking had in every row, if the program guarantees one"
    group.add_argument("--least", type=float, metavar="PROBABILITY", help=what)
    what = "with which all limits hold at once; default: 0.95"
    group.add_argument("--confidence", type=float, default=0.95, metavar="PROBABILITY", help=what)
    parser.add_argument("-o", "--output", type=Path, metavar="RESULT.json", help="the file for all numbers")


def _run(options: argparse.Namespace) -> None:
    """Print what was earned and what would have been; write it."""
    from meanbounds.logs import evaluate, read
    from meanbounds.support.saving import write_atomically

    columns = {name: getattr(options, name) for name in ("context", "arm", "reward")}
    if options.tree:
        columns["context"] = _tree(options.tree)
    with ExitStack() as stack:
        given = (_of_store if is_store(options.decisions) else _of_file)(options, columns, stack)
        ends: dict[str, Any] = {name: given[name] for name in ("low", "high", "on_bad")}
        log = None
        if options.log:
            with patience(f"reading {options.log}"):
                log = read(options.log, **columns, **ends)
        alike = {name: getattr(options, name) for name in ("arms", "least", "confidence", "where")}
        with patience("reading the decisions"):
            found = evaluate(policies=_policies(options.policy), log=log, **alike, **given)
    print(found)
    if log is not None and log.tree:
        print("\nThe log's limits are a little too narrow: its rows count here, too, on which the tree grew.")
    if options.output:
        text = json.dumps(found.to_dict(), allow_nan=False) + "\n"
        with writing(options.output):
            write_atomically(options.output, lambda partial: partial.write_text(text, encoding="utf-8"))
        print(f"\nwritten: {options.output}")


def _of_file(options: argparse.Namespace, columns: dict[str, Any], _stack: ExitStack) -> dict[str, Any]:
    """The arguments of `evaluate` that say what decisions in files are like."""
    if options.agent is not None:
        raise ValueError(f"{options.decisions} is no store, so {options.agent} cannot be the agent in it")
    low, high = options.range or (0.0, 1.0)
    more = {"probability": options.probability, "expert": options.expert, "on_bad": "drop" if options.drop else "error"}
    return {"decisions": options.decisions, **columns, **more, "low": low, "high": high}


def _tree(address: str) -> Tree:
    """The tree of an agent in a file or a store."""
    from meanbounds.agents import Agent

    with ExitStack() as stack:
        store = stack.enter_context(open_store(address)) if is_store(address) else None
        found: Tree | None = (Agent.load(address) if store is None else store[agent_name(store, None)].agent).tree
    if found is None:
        raise ValueError(f"the agent in {address} has no tree: name the columns of its contexts with --context")
    return found


def _of_store(options: argparse.Namespace, columns: dict[str, Any], stack: ExitStack) -> dict[str, Any]:
    """The same for an agent's decisions in a store, which are written to a file until the stack is closed.

    The columns are those of a log to compare with, which the agent's tree knows.
    """
    from tempfile import TemporaryDirectory

    from meanbounds.service import export

    store = stack.enter_context(open_store(options.decisions))
    name, folder = agent_name(store, options.agent), stack.enter_context(TemporaryDirectory(prefix="meanbounds-"))
    path = Path(folder) / "decisions.csv"
    export.export(store.database, name, path)
    contexts = [column for column in export.columns(store.database, name) if column.startswith("context")]
    agent = store[name].agent
    columns["context"] = columns["context"] or getattr(agent, "tree", None)
    low, high = options.range or range_of(agent)
    return {"decisions": str(path), "context": contexts or None, "low": low, "high": high, "on_bad": "drop"}


def _policies(paths: list[Path]) -> dict[str, Any]:
    """Policies by the names of their files: saved agents, or what is played in each context."""
    from meanbounds.agents import Agent
    from meanbounds.bounds import EXPERT
    from meanbounds.support.saving import read_saved

    found: dict[str, Any] = {}
    for path in paths:
        if path.stem in found:
            raise ValueError(f"two policies are called {path.stem!r}; rename one of the files")
        data = read_saved(path, "policy")
        plays = {name: EXPERT if own == {"expert": True} else own for name, own in data.items()}
        found[path.stem] = Agent.from_dict(data) if "agent" in data and "policy" in data else plays
    return found


COMMAND = Command(
    name="evaluate",
    help="say what an agent earned, beside the experts, and what other policies would have earned",
    example="meanbounds evaluate decisions.csv --context clinic --log log.csv",
    add_options=_add_options,
    run=_run,
)
