"""From a log to a decision: counts, what to assume of the experts who wrote it, bounds, and an agent."""

from meanbounds.logs.counts import Context, Counts
from meanbounds.logs.errors import BadRows, LogError, LogWarning

__all__ = ["BadRows", "Context", "Counts", "LogError", "LogWarning"]
