"""Options that commands about logs share: how to read a log, and assumptions about the expert who wrote it."""

from __future__ import annotations

import argparse
import csv
import math
import textwrap
import warnings
import zlib
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

import meanbounds as mb
from meanbounds.cli.messages import banner, in_options, quantity
from meanbounds.cli.streams import tell

__all__ = [
    "add_arms",
    "add_columns",
    "add_log_options",
    "add_range",
    "assumptions",
    "listed_arms",
    "naive_means",
    "name_notes",
    "read_log",
]

_MISSING = ("n/a", "#n/a", "na", "nan", "null", "missing", "-", "?")  # what programs and people write for no value
_MOST_NOTES = 5


def add_log_options(parser: argparse.ArgumentParser, *, several: bool) -> None:
    """Add the options for a log; with `several` each assumption takes a list of values to try."""
    add_columns(parser)
    _add_assumptions(parser, several)
    parser.add_argument(
        "--method",
        choices=("bernstein", "betting", "kl", "hoeffding"),
        default="bernstein",
        help="how the size of the log is allowed for: bernstein (the default) for many rows, betting is the narrowest "
        "as a rule but slower to read, kl for few rows, hoeffding is the simplest",
    )
    add_arms(parser)


def add_arms(parser: argparse.ArgumentParser) -> None:
    """Add the option that lists all arms."""
    parser.add_argument(
        "--arms",
        nargs="+",
        metavar="ARM",
        help="every arm, also those that were never played, in the order to show them; for example --arms low medium "
        "high. List them before you look at the log: picking them from the log voids the confidence",
    )


def add_range(
    parser: argparse.ArgumentParser, default: tuple[float, float] | None = (0.0, 1.0), in_words: str = "0 1"
) -> None:
    """Add the option for the range of the rewards; `in_words` says what counts without it."""
    parser.add_argument(
        "--range",
        type=float,
        nargs=2,
        default=default,
        metavar=("LOW", "HIGH"),
        help="the smallest and the largest reward that are possible, for example 1 5 for star ratings; default: "
        f"{in_words}",
    )


def add_columns(parser: argparse.ArgumentParser) -> None:
    """Add options for the log, its columns and the range of its rewards."""
    parser.add_argument(
        "log",
        metavar="LOG",
        help="a Parquet or CSV file, a folder of them, a pattern such as 'logs/*.parquet', or the store of a service, "
        "such as sqlite:state.db or sqlite:state.db#stroke for one of its agents: then what experts did is read",
    )
    parser.add_argument(
        "--context",
        nargs="+",
        metavar="COLUMN",
        help="the column or columns of what was recorded about each case, for example --context clinic age_band; "
        "without it all rows are one context",
    )
    parser.add_argument(
        "--arm",
        default="arm",
        metavar="COLUMN",
        help="the column of what the expert chose, for example treatment; default: arm",
    )
    parser.add_argument(
        "--reward",
        default="reward",
        metavar="COLUMN",
        help="the column of how it went, a number, more is better; for example recovered; default: reward",
    )
    add_range(parser)
    parser.add_argument(
        "--weight",
        metavar="COLUMN",
        help="a column that says how many rows each row stands for, for example cases: 3 counts as three rows",
    )
    parser.add_argument(
        "--time",
        metavar="COLUMN",
        help="the column of when each row was written, for --since and --until; such as day. The command refute also "
        "asks whether anything changed with it",
    )
    parser.add_argument(
        "--since",
        metavar="TIME",
        help="count only the rows from this time on: a date, a date with a time of day, or a number; for example "
        "2024-01-01",
    )
    parser.add_argument(
        "--until", metavar="TIME", help="count only the rows before this time, for example '2024-06-30 12:00'"
    )
    parser.add_argument(
        "--on-bad",
        choices=("error", "drop"),
        default="error",
        help="what to do about rows with an empty field or a reward outside --range: stop with an error (the default), "
        "or drop them",
    )


def _add_assumptions(parser: argparse.ArgumentParser, several: bool) -> None:
    """Add options for gaps, confidence and shift."""
    values = "+" if several else None
    some = "; several values are tried in turn, and the first is the one judged" if several else ""

    def start(value: float) -> float | list[float]:
        """A default, as a list where several values can be given."""
        return [value] if several else value

    parser.add_argument(
        "--gap-low",
        type=float,
        nargs=values,
        default=start(0.0),
        metavar="GAP",
        help="if the expert always played the best arm: how much better than the second best it is, at least: the "
        "least gap over every hidden type of case, in reward units (with --range 1 5, 0.5 is half a star); for "
        "example 0.05; default: 0, which assumes "
        f"nothing{some}",
    )
    parser.add_argument(
        "--gap-high",
        type=float,
        nargs=values,
        default=None,
        metavar="GAP",
        help="how much better than the worst the best arm is, at most: the largest gap over every hidden type of case, "
        "in reward units; for example 0.6 with --range 0 1; default: the width of the range, which assumes "
        f"nothing{some}",
    )
    confidence = parser.add_mutually_exclusive_group()
    confidence.add_argument(
        "--confidence",
        type=float,
        nargs=values,
        default=start(0.95),
        metavar="PROBABILITY",
        help=f"probability, between 0 and 1, that all bounds of all contexts hold at once; default: 0.95{some}",
    )
    confidence.add_argument(
        "--infinite",
        action="store_true",
        help="treat the log as infinitely long: its shares and averages count as exact, and there is no confidence",
    )
    parser.add_argument(
        "--shift",
        type=float,
        nargs=values,
        default=start(0.0),
        metavar="SHARE",
        help="how many of the hidden cases may have changed since the log was written, as a share of them: 0.1 is at "
        f"most 10%%; default: 0{some}",
    )


def assumptions(options: argparse.Namespace) -> dict[str, Any]:
    """Return the assumptions as arguments of `meanbounds.logs.bounds` and `meanbounds.logs.sensitivity`.

    Examples
    --------
    >>> from meanbounds.cli import make_parser
    >>> from meanbounds.cli.log_options import assumptions
    >>> given = "bounds log.csv --arm arm --reward reward --gap-low 0.1 --infinite".split()
    >>> assumptions(make_parser().parse_args(given))
    {'gap_low': 0.1, 'gap_high': None, 'infinite': True, 'shift': 0.0, 'method': 'bernstein'}
    """
    for name in ("gap_low", "gap_high", "confidence", "shift"):
        for number in np.ravel(getattr(options, name) if getattr(options, name) is not None else 0.0):
            if not 0.0 <= number < math.inf:
                raise ValueError(f"--{name.replace('_', '-')} must be a number that is not negative; got {number:g}")
    size = {"infinite": True} if options.infinite else {"confidence": options.confidence}
    gaps = {"gap_low": options.gap_low, "gap_high": options.gap_high}
    return {**gaps, **size, "shift": options.shift, "method": options.method}


def read_log(options: argparse.Namespace, more: Sequence[str] = ()) -> mb.logs.Counts:
    """Count the log, by more columns than those of the context if others are needed.

    Print how many rows were dropped, with a banner if more than 5% were.
    """
    low, high = options.range
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            counts = mb.logs.read(
                _source(options.log),
                context=[*(options.context or ()), *more] or None,
                arm=options.arm,
                reward=options.reward,
                low=low,
                high=high,
                weight=options.weight,
                time=options.time,
                since=options.since,
                until=options.until,
                on_bad=options.on_bad,
                histogram=True if options.method == "betting" else "auto",
            )
        except mb.logs.LogError as error:
            if error.kind == "missing column":
                raise ValueError(f"{error}. Name yours with --context, --arm and --reward") from error
            raise
        except (csv.Error, zlib.error, EOFError) as error:
            raise ValueError(f"{options.log} cannot be read: {error}; is it a CSV or Parquet file?") from error
    for kind, number in counts.dropped.items():
        print(f"dropped: {quantity(number, 'row')}, {kind}")
    for line in name_notes(counts):
        print(f"names: {line}")
    for warning in caught:
        if isinstance(warning.message, mb.logs.LogWarning):
            tell(banner(textwrap.fill(in_options(str(warning.message)), 100)), lines=True)
        warnings.warn(warning.message, stacklevel=2)  # also at the end, where a long table does not hide it
    return counts


def name_notes(counts: mb.logs.Counts) -> list[str]:
    """What looks like one name written in two ways, or like a missing value, among arms and values of the context.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.cli.log_options import name_notes
    >>> sums = {"count": [[4, 1]] * 2, "total": [[3, 0]] * 2, "squares": [[3, 0]] * 2}
    >>> counts = mb.logs.Counts(["n/a", "north"], ["tPA", "TPA"], **sums)
    >>> for line in name_notes(counts):
    ...     print(line)
    'tPA' and 'TPA' count as different arms; if they are one, write it in one way in the log
    the context 'n/a' counts like any other; if it says that a value is missing, leave the field empty
    >>> print(*name_notes(mb.logs.Counts(["north", "south"], ["tPA ", "rest"], **sums)))
    the arm 'tPA ' begins or ends with a space, which is part of its name; remove it in the log
    """
    columns = zip(*(name if isinstance(name, tuple) else (name,) for name in counts.contexts), strict=True)
    kinds = [("arm", counts.arms), *(("context", tuple(dict.fromkeys(column))) for column in columns)]
    notes = []
    for kind, names in kinds:
        alike: dict[str, list[str]] = {}
        for name in names:
            alike.setdefault(" ".join(str(name).split()).casefold(), []).append(repr(name))
        pairs = [ways for ways in alike.values() if len(ways) > 1]
        notes += [
            f"{' and '.join(ways)} count as different {kind}s; if they are one, write it in one way in the log"
            for ways in pairs[:_MOST_NOTES]
        ]
        if len(pairs) > _MOST_NOTES:
            notes.append(f"{len(pairs) - _MOST_NOTES:,} more {kind}s are written in several ways")
        spaced = [repr(name) for name in names if str(name) != str(name).strip()]
        if spaced and not pairs:
            more = f" (so do {len(spaced) - 1:,} more)" if len(spaced) > 1 else ""
            notes.append(
                f"the {kind} {spaced[0]} begins or ends with a space{more}, which is part of its name; remove it in "
                "the log"
            )
        notes += [
            f"the {kind} {alike[word][0]} counts like any other; if it says that a value is missing, "
            "leave the field empty"
            for word in _MISSING
            if word in alike
        ]
    return notes


def _source(log: str) -> Any:
    """The log itself, or a table of what experts did if it is the store of a service."""
    if not log.startswith(("sqlite:", "postgresql:")):
        return log
    address, _, agent = log.partition("#")
    service = import_module("meanbounds.service")
    store = service.open_store(address, create=False)
    try:
        return service.log_table(store, agent=agent or None, rows="experts")
    finally:
        store.close()


def listed_arms(options: argparse.Namespace, counts: mb.logs.Counts) -> list[str | int] | None:
    """Return the arms of ``--arms``, as integers if all arms of the log are; None without ``--arms``.

    Examples
    --------
    >>> import argparse
    >>> import meanbounds as mb
    >>> from meanbounds.cli.log_options import listed_arms
    >>> counts = mb.logs.Counts(["all"], [1, 2], count=[[4, 0]], total=[[3, 0]], squares=[[3, 0]])
    >>> listed_arms(argparse.Namespace(arms=["2", "1", "7"]), counts)
    [2, 1, 7]
    """
    if options.arms is None:
        return None
    whole = all(isinstance(arm, int) for arm in counts.arms)
    return [int(arm) if whole and arm.lstrip("-").isdigit() else arm for arm in options.arms]


def naive_means(
    counts: mb.logs.Counts, context: mb.logs.Context, arms: Sequence[str | int]
) -> list[tuple[float, float | None]]:
    """Rows of each arm in one context, and their plain average; None for an arm that was never played.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.cli.log_options import naive_means
    >>> counts = mb.logs.Counts(["all"], ["a", "b"], count=[[4, 0]], total=[[3, 0]], squares=[[3, 0]])
    >>> naive_means(counts, "all", ["b", "a"])
    [(0.0, None), (4.0, 0.75)]
    """
    sums = counts.sums(context, arms)
    return [
        (float(rows), float(total / rows) if rows else None) for rows, total in zip(sums.count, sums.total, strict=True)
    ]
