"""``meanbounds reward``: what came of a decision."""

from __future__ import annotations

import argparse

import meanbounds as mb
from meanbounds.cli.command import Command
from meanbounds.cli.decide import add_agent
from meanbounds.cli.messages import quantity
from meanbounds.support.tables import text_table

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the agent, the decision, and its reward."""
    add_agent(parser)
    parser.add_argument("id", nargs="?", metavar="ID", help="the decision, such as visit-17; without it, who waits")
    parser.add_argument("reward", nargs="?", metavar="REWARD", help="how it went in reward units, such as 1 or -23.5")
    parser.add_argument(
        "--cancel", action="store_true", help="no reward will come for this decision; default: it is waited for"
    )


def _run(options: argparse.Namespace) -> None:
    """Count a reward, or cancel a decision, or list those that wait."""
    journal = mb.Journal(options.agent, options.events)
    if options.id is None:
        _list(journal)
    elif options.cancel == (options.reward is not None):
        raise ValueError(f"give the reward of decision {options.id}, such as 1, or --cancel if none will come")
    elif options.cancel:
        print("cancelled" if journal.cancel(options.id) else "cancelled already")
    else:
        print("counted" if journal.reward(options.id, _number(options.reward)) else "counted already")


def _number(word: str) -> float:
    """The reward that a word writes."""
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"a reward is a number, such as 1 if it went well and 0 if not; got {word!r}") from None


def _list(journal: mb.Journal) -> None:
    """Print the decisions that wait for a reward."""
    waiting = journal.waiting()
    print(f"{quantity(len(waiting), 'decision')} without a reward")
    if waiting:
        rows = [[made.id, "" if made.context is None else str(made.context), str(made.arm)] for made in waiting]
        print(f"\n{text_table(['id', 'context', 'arm'], rows, align='lll')}")


COMMAND = Command(
    name="reward",
    help="tell an agent in a file what came of a decision; each reward is counted once",
    example="meanbounds reward agent.json visit-17 1",
    add_options=_add_options,
    run=_run,
)
