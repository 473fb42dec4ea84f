"""From a confounded log to honest bounds."""

from meanbounds.logs.counts import Counts
from meanbounds.logs.expert import bounds, expert_bounds
from meanbounds.logs.files import load_bounds, save_bounds
from meanbounds.logs.sensitivity import Sensitivity, sensitivity

__all__ = ["Counts", "Sensitivity", "bounds", "expert_bounds", "load_bounds", "save_bounds", "sensitivity"]
