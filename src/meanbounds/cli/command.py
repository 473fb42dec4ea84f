"""The parts of every command: a name, help, options, and a function that runs it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Command"]

# Arguments that are numbers and not options: argparse knows -5 and -0.5, but not -1e6, -inf and -0.5:0.5.
_NEGATIVE = re.compile(r"-(\d|\.\d|inf|nan)")


@dataclass(frozen=True)
class Command:
    """One command of `meanbounds`.

    Attributes
    ----------
    name
        Name that the user types, such as ``"bounds"``.
    help
        Purpose of the command, in one line.
    example
        A command line that works, and shows the options that matter.
    add_options
        Adds the command's options to its parser.
    run
        Does the work, from the options.
    resumes
        Whether the same command, called again after an interruption, continues where it stopped.

    Examples
    --------
    >>> import argparse
    >>> from meanbounds.cli.prune import COMMAND
    >>> COMMAND.run(argparse.Namespace(arm=["0.7:0.95", "0.2:0.6"]))
    arm  lower  upper  can be best  factor of GLUE
    ----------------------------------------------
    0      0.7   0.95  yes                0.236045
    1      0.2    0.6  no                        -
    """

    name: str
    help: str
    example: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]
    resumes: bool = False

    def add_to(self, commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
        """Add the command's own parser, with its example under the options.

        Examples
        --------
        >>> import argparse
        >>> from meanbounds.cli.prune import COMMAND
        >>> parser = argparse.ArgumentParser()
        >>> COMMAND.add_to(parser.add_subparsers())
        >>> parser.parse_args(["prune", "0.7:0.95", "0.2:0.6"]).command.name
        'prune'
        """
        parser = commands.add_parser(
            self.name,
            help=self.help,
            description=self.help[0].upper() + self.help[1:] + ".",
            epilog=f"example:\n  {self.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser._negative_number_matcher = _NEGATIVE
        self.add_options(parser)
        parser.set_defaults(command=self)
