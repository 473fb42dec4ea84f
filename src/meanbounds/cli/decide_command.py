"""``meanbounds decide``: which arm now? Asked of an agent in a store, which keeps the decision."""

from __future__ import annotations

import argparse
import json
import shlex

from meanbounds.cli.command import Command
from meanbounds.cli.store_options import add_store, agent_name, arm_of, context_of, open_store, typed

__all__ = ["COMMAND"]

_REASONS = {
    "policy": "the agent's policy prefers it",
    "floor": "drawn at random, as the floor wants in some cases",
    "only option": "nothing else may be played",
    "better": "the policy expects more of them than of any option",
    "guard": "the promise does not allow what the policy would play",
    "ask": "drawn at random, to compare with what they earn now",
    "support": "no option has enough behind it here",
    "share": "the agent makes only a share of the decisions",
    "forced": "somebody forced it",
}


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_store(parser, "that decides")
    what = "what is known of the case, such as north; several values if the log had several columns; age=81 sex=m if "
    what += "the agent came from --columns, with age= if that is not known"
    parser.add_argument("--context", nargs="+", metavar="VALUE", help=what)
    what = "the arms that are possible now, with expert if the experts can be asked; default: all"
    parser.add_argument("--eligible", nargs="+", metavar="ARM", help=what)
    what = "your own name for the decision, such as visit-17; asked again, it gets the same answer; default: a new one"
    named = parser.add_mutually_exclusive_group()
    named.add_argument("--id", metavar="ID", help=what)
    what = "a person or device, such as user-17, that gets the same answer until its time is over"
    named.add_argument("--unit", metavar="UNIT", help=what)
    parser.add_argument("--json", action="store_true", help="print the answer as one line of JSON")


def _run(options: argparse.Namespace) -> None:
    """Print the decision, and how to report what came of it."""
    with open_store(options.store) as store:
        import uuid

        import msgspec

        from meanbounds.bounds import EXPERT
        from meanbounds.logs.words import name_of, some
        from meanbounds.service.state import plain

        name = agent_name(store, options.agent)
        with store.reading() as states:
            state = states[name]
            arms, known, tree = state.agent.arms, tuple(state.names.values()), state.tree
        eligible = None if options.eligible is None else [arm_of(arms, word) for word in options.eligible]
        context = context_of(known, options.context, tree)
        own = uuid.uuid4().hex if options.id is options.unit is None else options.id
        made = store[name].decide(own, context, eligible, unit=options.unit)
    if options.json:
        print(json.dumps({**msgspec.structs.asdict(made), "arm": plain([made.arm])[0]}))
        return
    asked = made.arm is EXPERT
    again = " (asked before: this is the same answer)" if made.repeated else ""
    if context is not None:
        new = "" if context in known else f" (new to the agent, which knows {some([*map(name_of, known)], 2)})"
        print(f"context      {name_of(context)}{new}")
    print(f"arm          {'ask the experts' if asked else name_of(getattr(made.arm, 'name', made.arm))}")
    print(f"probability  {made.probability:.4g}\nreason       {made.reason}: {_REASONS[made.reason]}")
    print(f"id           {made.id}{again}\n\nOnce you know how it went{', and what they chose' * asked}:")
    words = ["meanbounds", "reward", typed(options.store), *[name] * (options.agent is not None), made.id]
    print(f"  {shlex.join(words)} REWARD{' --arm ARM' * asked}")


COMMAND = Command(
    name="decide",
    help="ask an agent in a store which arm to play now",
    example="meanbounds decide clinic.db --context north",
    add_options=_add_options,
    run=_run,
)
