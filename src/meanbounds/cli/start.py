"""``meanbounds start``: an agent that starts from the log of an expert, and what one would do without it."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import meanbounds as mb
from meanbounds.agents.journal import EVENTS_SUFFIX
from meanbounds.cli.assume import add_assume, assumption_of, propensity_columns
from meanbounds.cli.bounds import context_as_text
from meanbounds.cli.command import Command
from meanbounds.cli.log_options import add_log_options, assumptions, listed_arms, read_log
from meanbounds.cli.messages import quantity
from meanbounds.logs.merging import without_column
from meanbounds.support.tables import text_table

__all__ = ["COMMAND"]

_MEANING = """
The last column says whether one arm, for all cases of the context, is better than what the experts got. They chose
case by case and saw more: where it is worse, keep them. Open means that the bounds do not tell yet."""
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
        "--half-life",
        type=float,
        metavar="ROUNDS",
        help="after how many rounds of a context the probability that the world is as in the log has halved, for "
        "example 5000: bounds are given up as they age; default: they do not age",
    )
    parser.add_argument(
        "--expires",
        type=_rounds_or_date,
        metavar="WHEN",
        help="when bounds stop to say anything: after so many rounds, for example 20000, or on a date, for example "
        "2027-01-31; default: never",
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
    parser.add_argument(
        "--floor",
        type=float,
        default=0.0,
        metavar="PROBABILITY",
        help="every arm that can be best is chosen with at least this probability, for example 0.02, so that the "
        "decisions can say later how others would have done (meanbounds evaluate); default: 0",
    )
    parser.add_argument(
        "--unknown",
        choices=("error", "vacuous"),
        default="error",
        help="what to do about a context that the log does not have: refuse it (error, the default), or start it from "
        "nothing (vacuous)",
    )
    parser.add_argument(
        "--show",
        type=int,
        default=10,
        metavar="NUMBER",
        help="the number of contexts to print, those with the most rows first, for example 50; default: 10",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="AGENT.json", help="the file, for example agent.json")


def _run(options: argparse.Namespace) -> None:
    """Print what the agent starts from; write the agent if the options ask for it."""
    _keep_what_was_decided(options.output)
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
        half_life=options.half_life,
        expires=options.expires,
        policy=None if options.policy is None else getattr(mb, options.policy)(),
        arms=listed_arms(options, counts),
        seed=options.seed,
        floor=options.floor,
        unknown=options.unknown,
    )
    for column in set(propensity_columns(options)):
        counts, _ = without_column(counts, column)
    found = mb.logs.baselines(counts, **{name: given[name] for name in given if name != "shift"})
    contexts = sorted(found, key=lambda context: -found[context].rows)[: max(options.show, 0)]
    agents = {context: made if isinstance(made, mb.Agent) else made[context] for context in contexts}
    arms = made.bounds.arms if isinstance(made, mb.Agent) else made.arms
    sizes = [quantity(counts.rows, "row"), quantity(len(found), "context"), quantity(len(arms), "arm")]
    print(", ".join(sizes))
    print(_basis(options, judged))
    print(f"decides by: {made.policy}")
    if agents:
        print(f"\n{_table(agents, counts)}")
        print("\nTo compare with, not to act on: what the log says at its face value.\n")
        print(_baselines({context: found[context] for context in contexts}, agents, counts))
        print(_MEANING)
    if len(agents) < len(found):
        print(f"\n{len(found) - len(agents):,} more contexts are not shown; --show {len(found)} prints all of them")
    if options.output:
        made.save(options.output)
        print(f"\nwritten: {options.output}; next: {_next(options.output, made, contexts)}")


def _keep_what_was_decided(output: Path | None) -> None:
    """Refuse to replace an agent that has decided: its decisions would follow from a file that is gone."""
    events = None if output is None else output.with_suffix(EVENTS_SUFFIX)
    if events is not None and events.exists():
        raise ValueError(
            f"{events} has decisions of the agent in {output}, which would be lost: give another name with -o, or move "
            "both files away"
        )


def _next(path: Path, made: mb.Agent | mb.ContextualAgent, contexts: Sequence[mb.logs.Context]) -> str:
    """The command that asks for the first decision."""
    words = ["meanbounds", "decide", str(path)]
    if isinstance(made, mb.ContextualAgent) and contexts:
        first = contexts[0]
        words += ["--context", *map(str, first if isinstance(first, tuple) else (first,))]
    return shlex.join(words)


def _basis(options: argparse.Namespace, judged: mb.logs.Assumption) -> str:
    """What bounds and prior rest on, in a line each."""
    size = "the log is infinitely long" if options.infinite else f"all at once with probability {options.confidence:g}"
    ages = _ageing(options)
    if options.trust is None:
        return f"bounds: hold whoever chose; {size}\nprior: judged that {judged.in_words()}{ages}"
    trusted = f"trusted with probability {options.trust:.12g}"
    return f"bounds and prior: {judged.in_words()}; {trusted}\nif that holds, the bounds do: {size}{ages}"


def _ageing(options: argparse.Namespace) -> str:
    """How the bounds age, in a line, if they do."""
    words = []
    if options.half_life is not None:
        words.append(f"trust in the bounds halves every {options.half_life:,g} rounds of a context")
    if options.expires is not None:
        after = options.expires
        words.append(f"the bounds expire {f'after {after:,} rounds' if isinstance(after, int) else f'on {after}'}")
    return f"\nage: {'; '.join(words)}" if words else ""


def _rounds_or_date(text: str) -> int | str:
    """A number of rounds, or a date in ISO form, which `Knowledge` reads."""
    return int(text) if text.isdigit() else text


def _decimals(counts: mb.logs.Counts) -> int:
    return min(12, max(0, 4 - math.floor(math.log10(counts.high - counts.low))))


def _with_contexts(header: list[str], rows: list[tuple[mb.logs.Context, list[str]]], align: str) -> str:
    """A table with a column of contexts, if there are several."""
    if len({context for context, _ in rows}) == 1:
        return text_table(header, [row for _, row in rows], align=align)
    named = [[context_as_text(context), *row] for context, row in rows]
    return text_table(["context", *header], named, align=f"l{align}")


def _table(agents: dict[mb.logs.Context, mb.Agent], counts: mb.logs.Counts) -> str:
    """A row for each context and arm: its bounds, and its prior."""
    rows = []
    for context, agent in agents.items():
        known = agent.knowledge
        prior = known.prior if isinstance(known.prior, mb.Prior) else mb.Prior(0.5, 2.0)
        means, strengths = (np.broadcast_to(part, len(known.bounds)) for part in (prior.mean, prior.strength))
        for k, arm in enumerate(known.bounds.arms):
            numbers = (known.bounds.lower[k], known.bounds.upper[k], means[k])
            cells = [f"{number:.{_decimals(counts)}f}" for number in numbers]
            rows.append((context, [str(arm), *cells, f"{strengths[k]:.1f}"]))
    return _with_contexts(["arm", "lower", "upper", "expected", "worth plays"], rows, "lrrrr")


def _baselines(
    found: dict[mb.logs.Context, mb.logs.Baseline], agents: dict[mb.logs.Context, mb.Agent], counts: mb.logs.Counts
) -> str:
    """A row for each context: the arm that looks best, the usual one, and what the experts got."""
    digits, rows = max(2, _decimals(counts) - 2), []
    for context, own in found.items():
        limits = f"{own.expert:.{digits}f} ({own.expert_lower:.{digits}f} to {own.expert_upper:.{digits}f})"
        row = [f"{own.naive_best} ({own.naive_mean:.{digits}f})", f"{own.most_frequent} ({own.share:.0%})", limits]
        rows.append((context, [f"{own.rows:,.0f}", *row, own.verdict(agents[context].bounds)]))
    header = ["rows", "looks best (naive mean)", "chosen most often", "what the experts got", "best single arm"]
    return _with_contexts(header, rows, "rllll")


COMMAND = Command(
    name="start",
    help="an agent that starts from the log of an expert, with bounds that hold for anyone and a prior",
    example="meanbounds start lab/log.parquet --context context --arm arm --reward reward -o agent.json",
    add_options=_add_options,
    run=_run,
)
