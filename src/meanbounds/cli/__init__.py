"""The command `meanbounds`: a file for each of its commands, and here the parser and the exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper

from meanbounds.cli.command import Command, in_options, tell, warnings_told
from meanbounds.support.version import __version__

__all__ = ["COMMANDS", "main", "make_parser"]

COMMANDS = (
    "start_command",
    "explain_command",
    "decide_command",
    "reward_command",
    "done_command",
    "evaluate_command",
    "serve_command",
    "token_command",
    "export_command",
    "verify_command",
    "backup_command",
    "restore_command",
)
"""The modules of the commands, in the order of the help; each has a COMMAND."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    That is 0, 1 if `verify` finds faults or `done` says not yet, 2 for bad input, 130 if interrupted, 141 if nobody
    reads the output.

    Examples
    --------
    >>> from meanbounds.cli import main
    >>> main(["start", "nosuchfile.csv"])
    2
    """
    options = make_parser().parse_args(arguments)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names that the terminal's encoding lacks
    try:
        with warnings_told():
            code: int | None = options.command.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to complain at the end
        return 141
    except KeyboardInterrupt:
        tell("meanbounds: interrupted")
        return 130
    except MemoryError:
        tell("meanbounds: not enough memory")
        return 2
    except (ValueError, OSError, ImportError, LookupError) as error:
        if isinstance(error, KeyError | IndexError):  # a bug: names that do not exist are plain LookupErrors
            raise
        tell(f"meanbounds: {in_options(str(error))}")
        return 2
    return code or 0


def make_parser() -> argparse.ArgumentParser:
    """Make the parser of the whole command line.

    Examples
    --------
    >>> from meanbounds.cli import make_parser
    >>> make_parser().parse_args(["start", "log.csv", "--range", "-17", "0"]).range
    [-17.0, 0.0]
    """
    commands: list[Command] = [import_module(f"{__name__}.{name}").COMMAND for name in COMMANDS]
    parser = argparse.ArgumentParser(
        prog="meanbounds",
        description="From a log of decisions to an agent that takes over\nonly what it does at least as well.",
        epilog="\n  ".join(["examples:", *(command.example for command in commands)])
        + "\n\nmeanbounds COMMAND --help explains the options of a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"meanbounds {__version__}", help="print the version")
    parts = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in commands:
        command.add_to(parts)
    return parser
