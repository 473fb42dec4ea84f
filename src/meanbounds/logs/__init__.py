"""From a log written by experts who saw more than was recorded to bounds on the mean of each arm (Section 6)."""

from meanbounds.logs.counts import Context, Counts, LogError
from meanbounds.logs.expert import bounds, expert_bounds
from meanbounds.logs.files import load_bounds, save_bounds
from meanbounds.logs.hidden_parameter import LinearBounds, linear_agent, linear_bounds, linear_bounds_from_log
from meanbounds.logs.reading import read
from meanbounds.logs.sensitivity import Sensitivity, sensitivity

__all__ = [
    "Context",
    "Counts",
    "LinearBounds",
    "LogError",
    "Sensitivity",
    "bounds",
    "expert_bounds",
    "linear_agent",
    "linear_bounds",
    "linear_bounds_from_log",
    "load_bounds",
    "read",
    "save_bounds",
    "sensitivity",
]
