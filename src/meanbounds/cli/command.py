"""What all commands share: a name and options, messages in the words of the command line, a word about slow work."""

from __future__ import annotations

import argparse
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

__all__ = ["PATIENCE", "Command", "in_options", "patience", "tell", "warnings_told", "writing"]

PATIENCE = 2.0
"""Seconds of work after which a command says on a terminal what it does."""

_NEGATIVE = re.compile(r"-(\d|\.\d|inf|nan)")  # numbers, not options: argparse does not know -1e6
_NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"
_OPTIONS = (
    (rf"\blow={_NUMBER}(?:,| and) high={_NUMBER}", r"--range \1 \2"),
    (r"^low must be less than high", "--range: the first must be less than the second"),
    (r"^(errors|loss|odds|gap_low|gap_high|shift|confidence|cost|least|missing)(?= must| is)", r"--\1"),
    (r'\bon_bad=("drop")?', "--drop"),
    (r"\b(where|unit|instrument)=", r"--\1 "),
    (r"\bgive None \(null in JSON\) where it is not known", "write its name and = where it is not known"),
    (r"\bas context=", "as --context"),
    (r"\binclude=", "--include"),
    (r"\bexpert=False", "--no-experts"),
    (r"\(expert=True\)", "(without --no-experts)"),
    (r"\bmb\.Promise\(margin=([\d.]+)\)", r"--margin \1"),
    (r"\bmb\.Promise\(at_least=([\d.]+)\)", r"--at-least \1"),
    (rf"\b(errors|loss|odds|gap_low|gap_high|shift|confidence|cost|arms|least|missing)=(?:{_NUMBER})?", r"--\1 \2"),
    (r"\b(errors|loss|odds|gap_low|gap_high) of (?=at)", r"--\1 of "),
    (r"\bsay as arm which\b", "say with --arm which"),
    (r"\bdecides by context: say which$", "decides by context: say which with --context"),
    (r"that no reward will come \(null\)", "that no reward will come, with --never"),
    (r"--(gap|at)_", r"--\1-"),
)


@dataclass(frozen=True)
class Command:
    """One command of `meanbounds`.

    Attributes
    ----------
    name, help
        What the user types, and its purpose in one line.
    example
        A command line that works.
    add_options
        Adds the command's options to its parser.
    run
        Does the work, and returns the exit code if that may be another than 0. It imports what it needs, so that help
        is quick.
    """

    name: str
    help: str
    example: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int | None]

    def add_to(self, commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
        """Add the command's own parser, with its example under the options."""
        parser = commands.add_parser(
            self.name,
            help=self.help,
            description=fill(f"{self.help[0].upper()}{self.help[1:]}.", 78),
            epilog=f"example:\n  {self.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser._negative_number_matcher = _NEGATIVE
        self.add_options(parser)
        parser.set_defaults(command=self)


def in_options(message: str) -> str:
    """Name options of the command line where a message of the library names Python arguments.

    Examples
    --------
    >>> in_options('give low=1, high=5, or leave such rows out with on_bad="drop".')
    'give --range 1 5, or leave such rows out with --drop.'
    >>> in_options("The log allows errors of at least 0.07, or gap_low of at most 0.2")
    'The log allows --errors of at least 0.07, or --gap-low of at most 0.2'
    """
    for pattern, option in _OPTIONS:
        message = re.sub(pattern, option, message)
    return message


def tell(message: str) -> None:
    """Print a message to standard error, on one line; where nobody can read it, drop it."""
    line = " ".join(message.split())
    with suppress(OSError, ValueError):
        print(line if line.isprintable() else ascii(line)[1:-1], file=sys.stderr, flush=True)


@contextmanager
def warnings_told() -> Iterator[None]:
    """Print each warning once, when the work is done, also if it fails."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            for said in dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, UserWarning)):
                tell(f"meanbounds: caution: {in_options(said)}")


@contextmanager
def writing(path: Path, log: str = "") -> Iterator[None]:
    """Refuse to write over a store or the log; name the file in an error of writing it, and say what to do."""
    if path.suffix in (".db", ".sqlite"):
        raise ValueError(f"{path} is the name of a store: give another file with -o")
    if log and path.exists() and Path(log).exists() and path.samefile(log):
        raise ValueError(f"{path} is the log, and stays as it is: give another file with -o")
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        said = f"{path} cannot be written: {error.strerror or error}"
        raise OSError(f"{said}; give a file with -o whose folder exists, has room, and lets you write") from error


@contextmanager
def patience(doing: str) -> Iterator[None]:
    """Say what is being done, on a terminal, if it takes long; wipe it at the end."""
    said = threading.Event()

    def say() -> None:
        said.set()
        sys.stderr.write(f"\r{doing} ...")
        sys.stderr.flush()

    timer = threading.Timer(PATIENCE, say)
    timer.daemon = True
    if sys.stderr is not None and sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if said.is_set():
            sys.stderr.write("\r" + " " * (len(doing) + 4) + "\r")
            sys.stderr.flush()
