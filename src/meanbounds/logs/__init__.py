"""From a log written by experts who saw more than was recorded to bounds on the mean of each arm (Section 6).

`read` counts a log, `bounds` turns the counts into bounds, and `sensitivity` finds the value of each assumption at
which a different option would look best. `evaluate` says what policies are worth, from a log with probabilities. Arms
with features are in `hidden_parameter`: `linear_bounds`, `linear_bounds_from_log`, `linear_agent`. Worlds whose truth
is known, to try all this on, are in `meanbounds.worlds`.
"""

from meanbounds.logs.agent import agent
from meanbounds.logs.assumptions import (
    AnyExpert,
    Assumption,
    ErringExpert,
    KnownPropensity,
    MarginalSensitivity,
    NearlyOptimalExpert,
    OptimalExpert,
    assumption_from_dict,
)
from meanbounds.logs.baselines import Baseline, baselines
from meanbounds.logs.context_bounds import ContextBounds, load_bounds, save_bounds
from meanbounds.logs.counts import ArmSums, Counts
from meanbounds.logs.errors import BadRows, LogError, LogWarning
from meanbounds.logs.evaluating import (
    Evaluation,
    Events,
    PolicyValue,
    evaluate,
    read_dsjson,
    read_events,
    read_open_bandit,
)
from meanbounds.logs.expert import bounds, expert_bounds
from meanbounds.logs.explaining import Explanation, explain
from meanbounds.logs.hidden_parameter import (
    LinearBounds,
    LinearSetting,
    linear_agent,
    linear_bounds,
    linear_bounds_from_log,
)
from meanbounds.logs.histogram import Histogram
from meanbounds.logs.names import Context, natural_order
from meanbounds.logs.prior import prior
from meanbounds.logs.reading import read
from meanbounds.logs.refuting import Refutation, Refutations, refute
from meanbounds.logs.sensitivity import Sensitivity, TippingPoint, sensitivity

__all__ = [
    "AnyExpert",
    "ArmSums",
    "Assumption",
    "BadRows",
    "Baseline",
    "Context",
    "ContextBounds",
    "Counts",
    "ErringExpert",
    "Evaluation",
    "Events",
    "Explanation",
    "Histogram",
    "KnownPropensity",
    "LinearBounds",
    "LinearSetting",
    "LogError",
    "LogWarning",
    "MarginalSensitivity",
    "NearlyOptimalExpert",
    "OptimalExpert",
    "PolicyValue",
    "Refutation",
    "Refutations",
    "Sensitivity",
    "TippingPoint",
    "agent",
    "assumption_from_dict",
    "baselines",
    "bounds",
    "evaluate",
    "expert_bounds",
    "explain",
    "linear_agent",
    "linear_bounds",
    "linear_bounds_from_log",
    "load_bounds",
    "natural_order",
    "prior",
    "read",
    "read_dsjson",
    "read_events",
    "read_open_bandit",
    "refute",
    "save_bounds",
    "sensitivity",
]
