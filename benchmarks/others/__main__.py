"""`python -m benchmarks.others` writes docs/others.md; `--collect` first looks at the newest releases of the others."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.others.facts import collect, read_facts
from benchmarks.others.page import PAGE, written
from meanbounds.support.writing import write_text_atomically


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description="Where meanbounds stands beside others, into docs/others.md.")
    parser.add_argument(
        "--collect", action="store_true", help="download the newest releases and look again; needs a network"
    )
    parser.add_argument("-o", "--output", type=Path, default=PAGE, help="the page to write; docs/others.md by default")
    given = parser.parse_args(arguments)
    if given.collect:
        collect()
    write_text_atomically(given.output, written(*read_facts()))


if __name__ == "__main__":
    main()
