"""What the pages that commands write have in common: tables, lists, paragraphs."""

from __future__ import annotations

import datetime
import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 118


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown with numbers to the right of a first column of names."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def listed(labels: Sequence[str]) -> str:
    """Policies as a list in a sentence."""
    return ", ".join(f"`{label}`" for label in labels) if labels else "no policy"


def paragraph(text: str) -> str:
    """A paragraph in lines that fit into a window."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def items(parts: Iterable[str]) -> str:
    """A list with an item for each part."""
    return "\n".join(textwrap.fill(f"- {part}", WIDTH, subsequent_indent="  ") for part in parts)


def today() -> str:
    """The date, as in 2026-11-15."""
    return f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
