"""``python -m meanbounds``: the command line."""

import sys

from meanbounds.cli import main

if __name__ == "__main__":
    sys.exit(main())
