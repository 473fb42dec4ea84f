"""``meanbounds reproduce``: figures, tables and claims of the paper, computed anew."""

from __future__ import annotations

import argparse
from pathlib import Path

from meanbounds.cli.command import Command
from meanbounds.cli.files import need
from meanbounds.support.tables import text_table

__all__ = ["COMMAND"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the experiments, the data, and the folder."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="what to compute, for example panels; default: all; --list names them"
    )
    parser.add_argument("--list", action="store_true", help="list the names and stop")
    parser.add_argument("--quick", action="store_true", help="few runs, to see whether it works; takes minutes")
    parser.add_argument(
        "--movielens",
        type=Path,
        metavar="PATH",
        help="MovieLens 1M, for example ml-1m.zip or the folder with its files; default: made-up ratings",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="folder to write to; default: reproduce, with --quick reproduce-quick",
    )


def _run(options: argparse.Namespace) -> None:
    """List the names, or compute and write the report."""
    from meanbounds.paper import NAMES, experiment

    if options.list:
        modules = {name: experiment(name) for name in NAMES}
        rows = [(name, f"{module.SOURCE}: {module.TITLE}") for name, module in modules.items()]
        print(text_table(None, rows, align="ll"))
        return
    need("matplotlib", "pandas", "pyarrow", "scipy")
    from meanbounds.paper.report import reproduce

    folder = options.output or Path("reproduce-quick" if options.quick else "reproduce")
    report = reproduce(options.names, folder, quick=options.quick, movielens=options.movielens)
    print(f"written: {report}; pictures and numbers are beside it")


COMMAND = Command(
    name="reproduce",
    help="figures and tables of the paper, and its claims beside what was measured",
    example="meanbounds reproduce --quick",
    add_options=_add_options,
    run=_run,
    resumes=True,
)
