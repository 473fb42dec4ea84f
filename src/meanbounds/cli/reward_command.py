"""``meanbounds reward``: what came of a decision."""

from __future__ import annotations

import argparse

from meanbounds.cli.command import Command
from meanbounds.cli.store_options import add_store, agent_name, arm_of, open_store

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "meanbounds reward [-h] [--arm ARM] [--never] STORE [AGENT] ID REWARD"
    add_store(parser)
    what = "the agent, if the store has several; the id of the decision, as decide printed it; and how it went"
    parser.add_argument("words", nargs="+", metavar="[AGENT] ID REWARD", help=what)
    parser.add_argument("--arm", metavar="ARM", help="what the experts chose, if they were asked")
    parser.add_argument("--never", action="store_true", help="the reward will never come: give none")


def _run(options: argparse.Namespace) -> None:
    """Count a reward, once."""
    *names, reward = options.words if not options.never else [*options.words, None]
    if len(names) not in (1, 2) or (options.never and options.arm is not None):
        wanted = "ID, or AGENT ID, and no arm" if options.never else "ID REWARD, or AGENT ID REWARD"
        raise ValueError(f"after the store give {wanted}; got {' '.join(options.words)}")
    value = None if reward is None else _number(reward)
    with open_store(options.store) as store:
        from meanbounds.service.commands import DoneAnswer, Reward

        name = agent_name(store, names[0] if len(names) == 2 else None)
        with store.reading() as states:
            arm = None if options.arm is None else arm_of(states[name].agent.arms, options.arm)
        answer = store.ask(name, Reward(names[-1], reward=value, arm=arm))
    assert isinstance(answer, DoneAnswer)
    done = "given up" if value is None else "counted"
    print(f"{done}{' already' * answer.repeated}: {'no reward will come' if value is None else f'{value:g}'}")


def _number(word: str) -> float:
    """The reward that a word writes."""
    try:
        return float(word)
    except ValueError:
        raise ValueError(
            f"a reward is a number, such as 1 if it went well and 0 if not; got {word!r}. "
            f"If it will never come, give --never"
        ) from None


COMMAND = Command(
    name="reward",
    help="tell an agent in a store what came of a decision; it counts once",
    example="meanbounds reward clinic.db visit-17 1 --arm tPA",
    add_options=_add_options,
    run=_run,
)
