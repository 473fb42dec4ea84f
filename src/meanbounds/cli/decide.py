"""``meanbounds decide``: which arm now? Asked of an agent in a file."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

import meanbounds as mb
from meanbounds.agents.contexts import as_lists
from meanbounds.cli.command import Command
from meanbounds.cli.streams import tell

__all__ = ["COMMAND", "add_agent"]


def add_agent(parser: argparse.ArgumentParser) -> None:
    """Add the options for the agent's file and for that of its events."""
    parser.add_argument("agent", type=Path, metavar="AGENT", help="the agent's file, such as agent.json")
    parser.add_argument(
        "--events",
        type=Path,
        metavar="FILE",
        help="the file of decisions and rewards; default: beside the agent, such as agent.events.jsonl",
    )


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the agent and for the case."""
    add_agent(parser)
    parser.add_argument(
        "--context",
        nargs="+",
        metavar="VALUE",
        help="what is known of the case, for example --context north; several values if the log had several columns",
    )
    parser.add_argument(
        "--eligible", nargs="+", metavar="ARM", help="the arms that can be chosen now, such as tPA watch; default: all"
    )
    parser.add_argument(
        "--id",
        metavar="NAME",
        help="a name for the decision, for example visit-17; asked again, it gets the same answer; default: a number",
    )
    parser.add_argument("--json", action="store_true", help="print everything as one line of JSON; default: the arm")


def _run(options: argparse.Namespace) -> None:
    """Print the arm, and say on standard error how to report what came of it."""
    journal = mb.Journal(options.agent, options.events)
    context = None if options.context is None else _context(journal.agent, options.context)
    eligible = None if options.eligible is None else _arms(journal.agent, options.eligible)
    made = journal.decide(context, eligible=eligible, id=options.id)
    if options.json:
        parts = {"id": made.id, "context": as_lists(made.context), "arm": made.arm, "probability": made.probability}
        print(json.dumps(parts))
        return
    print(made.arm)
    more = [] if options.events is None else ["--events", str(options.events)]
    report = shlex.join(["meanbounds", "reward", str(options.agent), made.id])
    tell(f"decision {made.id}, probability {made.probability:.3g}; report with: {' '.join([report, 'REWARD', *more])}")


def _context(agent: mb.Agent | mb.ContextualAgent, words: list[str]) -> mb.logs.Context:
    """The context that is written so, of those the agent has; a new one is the words themselves."""
    if isinstance(agent, mb.ContextualAgent):
        context: mb.logs.Context
        for context in agent:
            parts = context if isinstance(context, tuple) else (context,)
            if [str(part) for part in parts] == words:
                return context
    return words[0] if len(words) == 1 else tuple(words)


def _arms(agent: mb.Agent | mb.ContextualAgent, words: list[str]) -> list[str | int]:
    """The arms that are written so."""
    named = {str(arm): arm for arm in (agent.bounds.arms if isinstance(agent, mb.Agent) else agent.arms)}
    return [named.get(word, word) for word in words]


COMMAND = Command(
    name="decide",
    help="ask an agent in a file which arm to take now; the decision is written down beside it",
    example="meanbounds decide agent.json --context north --id visit-17",
    add_options=_add_options,
    run=_run,
)
