"""``python -m meanbounds`` is the command `meanbounds`."""

import sys

from meanbounds.cli import main

sys.exit(main())
