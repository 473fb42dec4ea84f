"""What the pages that commands write have in common: tables, lists, paragraphs, and parts that take long."""

from __future__ import annotations

import datetime
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from meanbounds.support.writing import write_text_atomically

WIDTH = 118


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown with numbers to the right of a first column of names."""
    return table_rows([header, ["---"] + ["---:"] * (len(header) - 1), *rows])


def table_rows(rows: Iterable[Sequence[str]]) -> str:
    """Rows of a table of Markdown, without a header."""
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


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


def kept_part(folder: Path | None, name: str, write: Callable[[], str]) -> str:
    """The text of a part of a page, from the folder if it was written there before; else it is written, and kept."""
    path = None if folder is None else folder / f"{name}.md"
    if path is not None and path.exists():
        return path.read_text(encoding="utf-8")
    text = write()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text_atomically(path, text)
    return text
