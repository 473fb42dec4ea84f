"""``meanbounds bounds``: bounds on every arm's mean from the log of an expert who saw more than was recorded."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import meanbounds as mb
from meanbounds.cli.assume import add_assume, assumption_of, propensity_columns
from meanbounds.cli.command import Command
from meanbounds.cli.files import need, save_picture
from meanbounds.cli.log_options import add_log_options, assumptions, listed_arms, naive_means, read_log
from meanbounds.cli.messages import quantity
from meanbounds.logs.merging import without_column
from meanbounds.support.tables import text_table

__all__ = ["COMMAND", "context_as_text"]

_NAIVE = (
    "naive mean: the plain average of the arm's rows. It is not an estimate of the arm's mean, because the expert "
    "chose which cases got the arm."
)


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the log, the assumptions, and the files to write."""
    add_log_options(parser, several=False)
    add_assume(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="BOUNDS.json", help="write the bounds, for example to bounds.json"
    )
    parser.add_argument(
        "--plot", type=Path, metavar="PICTURE.png", help="draw the bounds of each context, for example to bounds.png"
    )


def _run(options: argparse.Namespace) -> None:
    """Print the bounds; write and draw them if the options ask for it."""
    if options.plot:
        need("matplotlib")
    assumed = assumption_of(options)
    counts = read_log(options, more=propensity_columns(options))
    given = assumptions(options)
    if assumed is not None:
        given |= {"assumption": assumed, "gap_low": None, "gap_high": None}
    found = mb.logs.bounds(counts, **given, arms=listed_arms(options, counts))
    print(_header(options, counts, found))
    print()
    print(_table(options, counts, found))
    print()
    print(_NAIVE)
    if options.output:
        found.save(options.output)
        print(f"written: {options.output}")
    if options.plot:
        from meanbounds.plots import plot_contexts

        print(f"written: {save_picture(plot_contexts(found), options.plot)}")


def _header(options: argparse.Namespace, counts: mb.logs.Counts, found: mb.logs.ContextBounds) -> str:
    """The numbers of rows, contexts and arms, and the assumptions behind the bounds."""
    arms = next(iter(found.values())).arms
    played = {arm for arm, rows in zip(counts.arms, counts.count.sum(axis=0), strict=True) if rows}
    never = [str(arm) for arm in arms if arm not in played]
    sizes = f"{quantity(counts.rows, 'row')}, {quantity(len(found), 'context')}, {quantity(len(arms), 'arm')}"
    if never:
        sizes += f" ({', '.join(never)} never played)"
    elif options.arms is None:
        sizes += " (those in the log; if there are others, list all of them with --arms)"
    if dropped := sum(counts.dropped.values()):
        everything = counts.rows + dropped
        sizes += f"; {dropped:,} of {quantity(everything, 'row')} were dropped ({dropped / everything:.1%})"
    return "\n".join([sizes, _assumed(options, found)])


def _assumed(options: argparse.Namespace, found: mb.logs.ContextBounds) -> str:
    """The assumptions, in one line."""
    parts = [found.assumption.in_words()]
    if options.shift:
        parts.append(f"at most {100 * options.shift:.12g}% of the hidden cases have changed since")
    if options.infinite:
        parts.append("the log is infinitely long")
        return f"assumed: {', '.join(parts)}"
    return f"assumed: {', '.join(parts)}; then all bounds hold at once with probability {options.confidence:.12g}"


def _table(options: argparse.Namespace, counts: mb.logs.Counts, found: mb.logs.ContextBounds) -> str:
    """A row for each context and arm: its rows, share and naive mean in the log, and its bounds."""
    for column in set(propensity_columns(options)):
        counts, _ = without_column(counts, column)
    decimals = min(12, max(0, 4 - math.floor(math.log10(counts.high - counts.low))))
    header = ["arm", "rows", "share", "naive mean", "lower", "upper", "can be best"]
    rows: list[Sequence[str]] = []
    for context, own in found.items():
        naive = naive_means(counts, context, own.arms)
        everything = max(sum(played for played, _ in naive), 1.0)
        for k, (played, mean) in enumerate(naive):
            average = "never played" if mean is None else f"{mean:.{decimals}f}"
            row = [str(own.arms[k]), f"{played:,.0f}", f"{played / everything:.1%}", average]
            row += [f"{end:.{decimals}f}" for end in (own.lower[k], own.upper[k])]
            row.append("yes" if own.possible[k] else "no")
            rows.append(row if options.context is None else [context_as_text(context), *row])
    if options.context is None:
        return text_table(header, rows, align="lrrrrrl")
    return text_table(["context", *header], rows, align="llrrrrrl")


def context_as_text(context: mb.logs.Context) -> str:
    """A context as text; several columns are joined by a slash.

    Examples
    --------
    >>> from meanbounds.cli.bounds import context_as_text
    >>> context_as_text(("old", 3))
    'old / 3'
    """
    return " / ".join(map(str, context)) if isinstance(context, tuple) else str(context)


COMMAND = Command(
    name="bounds",
    help="bounds on every arm's mean from the log of an expert who saw more than was recorded",
    example="meanbounds bounds lab/log.parquet --context context --arm arm --reward reward",
    add_options=_add_options,
    run=_run,
)
