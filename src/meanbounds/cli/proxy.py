"""``meanbounds proxy``: the variance proxy that a mean, or bounds on it, give."""

from __future__ import annotations

import argparse

import meanbounds as mb
from meanbounds.cli.command import Command
from meanbounds.cli.log_options import add_range

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    """The mean or its bounds, and the range."""
    parser.add_argument(
        "mean",
        type=float,
        nargs="+",
        metavar="MEAN",
        help="the mean in reward units, for example 0.9; or a lower and an upper bound on it, for example 0.6 0.8",
    )
    add_range(parser)


def _run(options: argparse.Namespace) -> None:
    """Print the variance proxy, in squared reward units."""
    low, high = options.range
    if len(options.mean) > 2:
        raise ValueError(f"proxy takes a mean, or a lower and an upper bound; got {len(options.mean)} numbers")
    lower, upper = options.mean[0], options.mean[-1]
    if not low <= lower <= upper <= high:
        given = f"the mean {lower:g} is" if len(options.mean) == 1 else f"the bounds {lower:g} {upper:g} are"
        raise ValueError(f"{given} not in order inside --range {low:g} {high:g}")
    print(f"{mb.variance_proxy_from_bounds(lower, upper, low=low, high=high):.12g}")


COMMAND = Command(
    name="proxy",
    help="the variance proxy of a reward whose mean, or bounds on it, are known",
    example="meanbounds proxy 0.6 0.8",
    add_options=_add_options,
    run=_run,
)
