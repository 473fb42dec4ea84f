"""The command `meanbounds`: one module for each of its commands, and here the parser and the exit codes.

Commands read options and print results; the other packages compute them.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence

import meanbounds as mb
from meanbounds.cli import bounds, demo, lab, proxy, prune, reproduce, sensitivity, simulate
from meanbounds.cli.command import Command
from meanbounds.cli.messages import in_options

__all__ = ["COMMANDS", "main", "make_parser"]

COMMANDS: tuple[Command, ...] = tuple(
    module.COMMAND for module in (demo, lab, bounds, sensitivity, simulate, reproduce, proxy, prune)
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 on success, 2 for bad input, 130 if interrupted.

    Examples
    --------
    >>> from meanbounds.cli import main
    >>> main(["proxy", "0.5"])
    0.25
    0
    """
    options = make_parser().parse_args(arguments)
    command: Command = options.command
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            command.run(options)
        for warning in caught:
            print(f"meanbounds: warning: {in_options(str(warning.message))}", file=sys.stderr)
    except (ValueError, OSError) as error:
        print(f"meanbounds: {in_options(str(error))}", file=sys.stderr)
        return 2
    except ImportError as error:  # pandas raises its own message, of several lines, where pyarrow is missing
        what = f"{error.name} is not installed" if error.name else str(error).splitlines()[0]
        print(f'meanbounds: {what}; pip install "meanbounds[all]"', file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        resumes = "; the same command continues where it stopped" if command.resumes else ""
        print(f"meanbounds: interrupted{resumes}", file=sys.stderr)
        return 130
    return 0


def make_parser() -> argparse.ArgumentParser:
    """Make the parser of the whole command line.

    Examples
    --------
    >>> from meanbounds.cli import make_parser
    >>> make_parser().parse_args(["proxy", "3", "--range", "1", "5"]).range
    [1.0, 5.0]
    """
    parser = argparse.ArgumentParser(
        prog="meanbounds",
        description="Bandits that start from bounds on each arm's mean.",
        epilog="\n  ".join(["examples:", *(command.example for command in COMMANDS)])
        + "\n\nmeanbounds COMMAND --help explains the options of a command",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"meanbounds {mb.__version__}", help="print the version")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(commands)
    return parser
