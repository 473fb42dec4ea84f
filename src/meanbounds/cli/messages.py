"""Messages to the user, with the names of the command line."""

from __future__ import annotations

import re

__all__ = ["banner", "in_options", "quantity"]

_NUMBER = r"(-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf|nan))"
_OPTIONS = (
    (rf"\blow={_NUMBER}(?:,| and) high={_NUMBER}", lambda found: f"--range {_short(found[1])} {_short(found[2])}"),
    (r"""\bon_bad=["'](\w+)["']""", r"--on-bad \1"),
    (r"""\bmethod=["'](\w+)["']""", r"--method \1"),
    (r"""\bgive unknown=["'](\w+)["']""", r"give --unknown \1 to meanbounds start"),
    (r"\binfinite=True|\bconfidence=None", "--infinite"),
    (r"( such as 0\.95), or None\b", r"\1"),
    (rf"\b(gap_low|gap_high|confidence|shift)=(?:{_NUMBER})?", lambda found: _option(found[1], found[2])),
    (r"\b(arms|contexts|context|arm|reward)=(?!\S)", r"--\1"),
    (r"\b(time|since|until)=(?:'([^']*)')?(?=[\s,;]|$)", lambda found: _option(found[1], found[2])),
    (r"\b(since|until)=(?=\d)", r"--\1 "),
    (r"^(since|until)(?= must)", r"--\1"),
    (r"(?<![\w-])(gap_low|gap_high)(?!\w)", lambda found: _option(found[1])),
    (r"(?<![\w-])(confidence|shift)(?= \d)", r"--\1"),
    (r"\bhigh - low\b", "the width of --range"),
    (r"^(confidence|shift|method)(?= (?:must|is))", r"--\1"),
    (r"^context, arm and reward\b", "--context, --arm and --reward"),
)


def in_options(message: str) -> str:
    """Name options of the command line where a message of the library names Python arguments.

    Examples
    --------
    >>> from meanbounds.cli.messages import in_options
    >>> in_options('Change low=0.0 and high=1.0, or leave such rows out with on_bad="drop".')
    'Change --range 0 1, or leave such rows out with --on-bad drop.'
    >>> in_options("gap_low=0.2 is more than the log allows")
    '--gap-low 0.2 is more than the log allows'
    """
    for pattern, option in _OPTIONS:
        message = re.sub(pattern, option, message)
    return message


def _option(name: str, value: str | None = None) -> str:
    """The option that an argument is called on the command line, with its value if there is one."""
    return f"--{name.replace('_', '-')}" + (f" {value}" if value else "")


def _short(number: str) -> str:
    """A number as people write it: 0 rather than 0.0."""
    return f"{float(number):.12g}"


def quantity(number: int, word: str) -> str:
    """Write a number with its noun, in the plural if needed.

    Examples
    --------
    >>> from meanbounds.cli.messages import quantity
    >>> quantity(1, "arm"), quantity(20_000, "row")
    ('1 arm', '20,000 rows')
    """
    return f"{number:,} {word}" + "s" * (number != 1)


def banner(text: str) -> str:
    """A warning between two heavy lines, for what must not be overlooked.

    Examples
    --------
    >>> from meanbounds.cli.messages import banner
    >>> print(banner("19 of 20 rows were dropped."))
    ====================================
    WARNING: 19 of 20 rows were dropped.
    ====================================
    """
    lines = f"WARNING: {text}".splitlines()
    rule = "=" * max(map(len, lines))
    return "\n".join([rule, *lines, rule])
