"""From a log to a decision: counts, what to assume of the experts who wrote it, bounds, and an agent."""

from meanbounds.agents.tree import Tree
from meanbounds.logs.counts import Context, Counts
from meanbounds.logs.errors import BadRows, LogError, LogWarning
from meanbounds.logs.evaluate import evaluate
from meanbounds.logs.evaluation import Evaluation, Value
from meanbounds.logs.experts import Experts
from meanbounds.logs.explain import Page, explain
from meanbounds.logs.log_agent import agent, with_observed
from meanbounds.logs.log_bounds import Bounds, bounds, value
from meanbounds.logs.partition import partition
from meanbounds.logs.prior import prior
from meanbounds.logs.read import read
from meanbounds.logs.start import Start, start
from meanbounds.logs.tipping import Tip, tipping

__all__ = [
    "BadRows",
    "Bounds",
    "Context",
    "Counts",
    "Evaluation",
    "Experts",
    "LogError",
    "LogWarning",
    "Page",
    "Start",
    "Tip",
    "Tree",
    "Value",
    "agent",
    "bounds",
    "evaluate",
    "explain",
    "partition",
    "prior",
    "read",
    "start",
    "tipping",
    "value",
    "with_observed",
]
