"""Evidence against bounds: what rewards say about a bound that may be wrong, at every look and in any order.

- `log_e_upper`, `log_e_lower`: how strongly rewards speak against one bound.
- `check_bounds`: which bounds of a `meanbounds.MeanBounds` the rewards contradict, and whether all can be right.
- `confidence_sequence`: limits on a mean that hold at all times at once.

`meanbounds.Agent.contradictions` keeps watch while an agent learns. Nothing here decides what to do about an alarm.
"""

from meanbounds.evidence.contradictions import (
    WATCHED_ERROR,
    AssumptionWarning,
    Contradiction,
    ContradictionWarning,
    Evidence,
    check_bounds,
)
from meanbounds.evidence.processes import confidence_sequence, log_e_lower, log_e_upper

__all__ = [
    "WATCHED_ERROR",
    "AssumptionWarning",
    "Contradiction",
    "ContradictionWarning",
    "Evidence",
    "check_bounds",
    "confidence_sequence",
    "log_e_lower",
    "log_e_upper",
]
