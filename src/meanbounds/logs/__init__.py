"""From a log written by experts who saw more than was recorded to bounds on the mean of each arm (Section 6)."""

from meanbounds.logs.counts import Context, Counts, LogError
from meanbounds.logs.reading import read

__all__ = ["Context", "Counts", "LogError", "read"]
