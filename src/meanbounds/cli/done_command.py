"""``meanbounds done``: whether an agent in a store knows enough, in each context."""

from __future__ import annotations

import argparse

from meanbounds.cli.command import Command, patience
from meanbounds.cli.store_options import add_store, agent_name, open_store, range_of

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_store(parser, "that is asked")
    what = "done is a context in which an option is best with this probability; default: 0.95"
    parser.add_argument("--probability", type=float, default=0.95, metavar="P", help=what)
    what = "or in which going on is worth at most so much a decision; default: 0.005 of the range of rewards"
    parser.add_argument("--worth", type=float, metavar="W", help=what)


def _run(options: argparse.Namespace) -> int:
    """Print the verdict of each context; 1 if any is not done."""
    if not (0.0 <= options.probability <= 1.0 and (options.worth is None or options.worth >= 0.0)):
        raise ValueError("--probability is between 0 and 1, and --worth at least 0")
    with open_store(options.store) as store:
        from meanbounds.agents import Agent
        from meanbounds.logs.words import name_of, quantity

        name = agent_name(store, options.agent)
        with store.reading() as states, patience(f"looking at {name}"):
            state = states[name]
            if not isinstance(state.agent, Agent):
                raise ValueError(f"{name} has arms with features, of which there is no verdict yet")
            low, high = range_of(state.agent)
            least = 0.005 * (high - low) if options.worth is None else options.worth
            wheres: dict[str, str | None] = {name_of(own): str(number) for own, number in state.ids.items()} or {
                "all cases": None
            }
            found = {where: state.verdict(number) for where, number in wheres.items()}
    width, missing = max(map(len, found)), 0
    for where, verdict in found.items():
        done = verdict is None or verdict.done(options.probability, least)
        missing += not done
        print(f"{where:{width}}  {'done' if done else 'not yet'}: {verdict or 'no option may be played'}")
    print(f"\n{quantity(missing, 'context')} of {len(found)} not done" if missing else "\ndone")
    return int(missing > 0)


COMMAND = Command(
    name="done",
    help="say in which contexts an agent in a store knows enough",
    example="meanbounds done clinic.db",
    add_options=_add_options,
    run=_run,
)
