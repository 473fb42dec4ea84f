"""``meanbounds done``: whether an agent in a store knows enough, in each context."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from meanbounds.cli.command import Command, patience
from meanbounds.cli.store_options import add_store, agent_name, open_store, range_of

if TYPE_CHECKING:
    from meanbounds.service.state import State

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
            idle = {name_of(own): said for own, said in _idle(state).items()}
    width, missing = max(map(len, found)), 0
    for where, verdict in found.items():
        done = where in idle or verdict is None or verdict.done(options.probability, least)
        missing += not done
        said = idle.get(where) or f"{'done' if done else 'not yet'}: {verdict or 'no option may be played'}"
        print(f"{where:{width}}  {said}")
    print(f"\n{quantity(missing, 'context')} of {len(found) - len(idle)} not done" if missing else "\ndone")
    return int(missing > 0)


def _idle(state: State) -> dict[Any, str]:
    """The contexts that are not judged since no cases come there, and why."""
    if (tree := state.tree) is None:
        return {}
    idle = {own: "left out: of an earlier tree" for own in state.ids if own not in tree.contexts}
    agent: Any = state.agent
    for own in set(tree.contexts[-len(tree.columns) :] if tree.columns else ()).intersection(state.ids):
        if not (agent.plays(number := str(state.ids[own])).any() or agent.observed(number)[0].any()):
            idle[own] = "left out: no case yet"
    return idle


COMMAND = Command(
    name="done",
    help="say in which contexts an agent in a store knows enough",
    example="meanbounds done clinic.db",
    add_options=_add_options,
    run=_run,
)
