"""The command `meanbounds`: one module for each of its commands, and here the parser and the exit codes.

Commands read options and print results; the other packages compute them.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence

import meanbounds as mb
from meanbounds.cli import (
    bounds,
    clinic,
    decide,
    demo,
    evaluate,
    explain,
    export,
    lab,
    proxy,
    prune,
    refute,
    reproduce,
    reward,
    sensitivity,
    serve,
    simulate,
    start,
    token,
    verify,
)
from meanbounds.cli.command import Command
from meanbounds.cli.messages import in_options
from meanbounds.cli.streams import guarded_output, tell

__all__ = ["COMMANDS", "main", "make_parser"]

COMMANDS: tuple[Command, ...] = tuple(
    module.COMMAND
    for module in (
        *(demo, lab, bounds, sensitivity, refute, explain, start, decide, reward, evaluate),
        *(simulate, reproduce, proxy, prune),
        *(serve, token, verify, export, clinic),
    )
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    The code is 0 on success, 2 for bad input, 130 if interrupted, and 141 if whoever read the output has gone away, as
    after ``meanbounds bounds ... | head``; files are written nevertheless.

    Examples
    --------
    >>> from meanbounds.cli import main
    >>> main(["proxy", "0.5"])
    0.25
    0
    """
    with guarded_output() as output:
        options = make_parser().parse_args(arguments)
        code = _run(options.command, options)
    return output.exit_code(code)


def _run(command: Command, options: argparse.Namespace) -> int:
    """Run a command; every error that its input can cause is one line."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            command.run(options)
        for warning in caught:
            tell(f"meanbounds: warning: {in_options(str(warning.message))}")
    except MemoryError as error:
        tell(f"meanbounds: not enough memory: {error}")
        return 2
    except RecursionError:
        tell("meanbounds: the input is nested too deeply")
        return 2
    except (ValueError, OSError, ArithmeticError) as error:
        tell(f"meanbounds: {in_options(str(error))}")
        return 2
    except ImportError as error:  # pandas raises its own message, of several lines, where pyarrow is missing
        what = f"{error.name} is not installed" if error.name else str(error).splitlines()[0]
        ours = "pip install" in str(error)  # names the extra that brings the package
        tell(f"meanbounds: {error}" if ours else f'meanbounds: {what}; pip install "meanbounds[all]"')
        return 2
    except KeyboardInterrupt:
        resumes = "; the same command continues where it stopped" if command.resumes else ""
        tell(f"meanbounds: interrupted{resumes}")
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
