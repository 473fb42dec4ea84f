"""``meanbounds prune``: which arms can be best, given bounds on their means."""

from __future__ import annotations

import argparse

import meanbounds as mb
from meanbounds.cli.command import Command
from meanbounds.support.tables import text_table

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add the bounds of each arm as arguments."""
    parser.add_argument(
        "arm",
        nargs="+",
        metavar="LOWER:UPPER",
        help="bounds on the mean reward of one arm, in [0, 1]; for example 0.7:0.95 for a mean between 0.7 and 0.95",
    )


def _run(options: argparse.Namespace) -> None:
    """Print a row for each arm."""
    bounds = mb.MeanBounds(*zip(*map(_pair, options.arm), strict=True))
    rows = []
    for k, possible in enumerate(bounds.possible):
        factor = f"{bounds.best_variance_proxy[k]:.6f}" if possible else "-"
        ends = (f"{bounds.lower[k]:.4g}", f"{bounds.upper[k]:.4g}")
        rows.append((str(bounds.arms[k]), *ends, "yes" if possible else "no", factor))
    print(text_table(("arm", "lower", "upper", "can be best", "factor of GLUE"), rows, align="lrrlr"))


def _pair(text: str) -> tuple[float, float]:
    """A lower and an upper bound from ``LOWER:UPPER``."""
    try:
        lower, upper = map(float, text.split(":"))
    except ValueError:
        raise ValueError(f"expected LOWER:UPPER, such as 0.2:0.6; got {text!r}") from None
    return lower, upper


COMMAND = Command(
    name="prune",
    help="which arms can be best, from bounds on their means, and the factors GLUE explores them with",
    example="meanbounds prune 0.7:0.95 0.2:0.6 0.5:0.8",
    add_options=_add_options,
    run=_run,
)
