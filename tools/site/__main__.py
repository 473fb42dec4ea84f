"""Build the site: `python -m tools.site`, or `make docs`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.site.build import build

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tools.site", description="Build the documentation site.")
    parser.add_argument("-o", "--output", type=Path, default=Path("site"), metavar="DIR", help="default: site")
    parser.add_argument("--quick", action="store_true", help="draw pictures from fewer runs, for a look at the pages")
    options = parser.parse_args()
    index = build(options.output, quick=options.quick)
    if index is None:
        sys.exit("the site was not built: each line above says which page to mend")
    print(f"written: {index}")
