"""Measure everything, write RESULTS.md beside this file, and fail if a target is missed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from benchmarks.report import report
from benchmarks.results import measure
from benchmarks.targets import targets


def main() -> int:
    """Exit status: whether a target was missed."""
    load = os.getloadavg()[0]
    results = measure()
    checked = targets(results)
    text = report(results, checked, load)
    Path(__file__).with_name("RESULTS.md").write_text(text)
    print(text)
    return int(not all(target.met for target in checked))


if __name__ == "__main__":
    sys.exit(main())
