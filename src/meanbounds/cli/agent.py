"""``meanbounds agent``: an agent that starts from the log of an expert, in a file that Python loads."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import meanbounds as mb
from meanbounds.cli.assume import add_assume, assumption_of, propensity_columns
from meanbounds.cli.bounds import context_as_text
from meanbounds.cli.command import Command
from meanbounds.cli.log_options import add_log_options, assumptions, listed_arms, read_log
from meanbounds.cli.messages import quantity
from meanbounds.support.tables import text_table

__all__ = ["COMMAND"]

_POLICIES = ("OptimisticGittins", "ThompsonSampling", "IDS", "BIMED")


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the log, what is judged of the expert, and the agent."""
    add_log_options(parser, several=False)
    add_assume(parser)
    parser.add_argument(
        "--trust",
        type=float,
        metavar="PROBABILITY",
        help="probability that what is assumed holds, for example 0.99: the agent then uses the bounds that it gives, "
        "and gives them up if rewards contradict them; default: what is assumed gives a prior alone",
    )
    parser.add_argument(
        "--policy", choices=_POLICIES, help="how the agent decides; default: OptimisticGittins, which measured best"
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="NUMBER",
        help="a whole number from which the agent's random numbers follow, for example 7; default: a fresh one",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="AGENT.json", help="the file, for example agent.json")


def _run(options: argparse.Namespace) -> None:
    """Print what the agent starts from; write the agent if the options ask for it."""
    assumed = assumption_of(options)
    counts = read_log(options, more=propensity_columns(options))
    given = assumptions(options)
    gaps = {name: given.pop(name) for name in ("gap_low", "gap_high")}
    judged = mb.logs.OptimalExpert(**gaps) if assumed is None else assumed
    made = mb.logs.agent(
        counts,
        judged,
        **given,
        trust=options.trust,
        policy=None if options.policy is None else getattr(mb, options.policy)(),
        arms=listed_arms(options, counts),
        seed=options.seed,
    )
    agents: dict[mb.logs.Context, mb.Agent] = (
        {"all": made} if isinstance(made, mb.Agent) else {z: made[z] for z in made}
    )
    arms = {arm for agent in agents.values() for arm in agent.bounds.arms}
    sizes = (quantity(len(part), word) for part, word in ((agents, "context"), (arms, "arm")))
    print(f"{', '.join([quantity(counts.rows, 'row'), *sizes])}; {made.policy}")
    print(_basis(options, judged))
    print()
    print(_table(agents, counts))
    if options.output:
        made.save(options.output)
        kind = type(made).__name__
        print(f"written: {options.output}; load it with meanbounds.{kind}.load({str(options.output)!r})")


def _basis(options: argparse.Namespace, judged: mb.logs.Assumption) -> str:
    """What bounds and prior rest on, in a line each."""
    if options.trust is None:
        return f"bounds: hold whoever chose\nprior: judged that {judged.in_words()}"
    return f"bounds and prior: {judged.in_words()}; trusted with probability {options.trust:.12g}"


def _table(agents: dict[mb.logs.Context, mb.Agent], counts: mb.logs.Counts) -> str:
    """A row for each context and arm: its bounds, and its prior."""
    decimals = min(12, max(0, 4 - math.floor(math.log10(counts.high - counts.low))))
    rows: list[Sequence[str]] = []
    for context, agent in agents.items():
        known = agent.knowledge
        prior = known.prior or mb.Prior(0.5, 2.0)
        means, strengths = (np.broadcast_to(part, len(known.bounds)) for part in (prior.mean, prior.strength))
        for k, arm in enumerate(known.bounds.arms):
            numbers = (known.bounds.lower[k], known.bounds.upper[k], means[k])
            row = [str(arm), *(f"{number:.{decimals}f}" for number in numbers), f"{strengths[k]:.1f}"]
            rows.append(row if len(agents) == 1 else [context_as_text(context), *row])
    header = ["arm", "lower", "upper", "expected", "strength"]
    if len(agents) == 1:
        return text_table(header, rows, align="lrrrr")
    return text_table(["context", *header], rows, align="llrrrr")


COMMAND = Command(
    name="agent",
    help="an agent that starts from the log of an expert, with bounds that hold for anyone and a prior",
    example="meanbounds agent lab/log.parquet --context context --arm arm --reward reward -o agent.json",
    add_options=_add_options,
    run=_run,
)
