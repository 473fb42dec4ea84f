"""What the theorems promise, as functions, tables, curves and sentences.

- `glue_plays`, `glue_regret`: the finite-time bound of GLUE and of the other index policies of its kind.
- `linear_regret`: that of OFUL and R-OFUL.
- `asymptotic_plays`, `asymptotic_constant`, `comparison`, `lower_bound`: what remains of regret over log n.
- `uncertain_regret`: bounds on the means that hold with a probability alone.
- `arm_status`: what becomes of each arm, in words.
- `regret_bounds`, `regret_slopes`: all that applies to a simulation.
"""

from meanbounds.theory.constants import (
    Comparison,
    ComparisonRow,
    asymptotic_constant,
    asymptotic_plays,
    comparison,
    lower_bound,
)
from meanbounds.theory.glue import glue_plays, glue_regret
from meanbounds.theory.guarantees import RegretBound, regret_bounds, regret_slopes
from meanbounds.theory.oful import linear_regret
from meanbounds.theory.status import ArmStatus, ArmStatuses, arm_status
from meanbounds.theory.uncertain import uncertain_regret

__all__ = [
    "ArmStatus",
    "ArmStatuses",
    "Comparison",
    "ComparisonRow",
    "RegretBound",
    "arm_status",
    "asymptotic_constant",
    "asymptotic_plays",
    "comparison",
    "glue_plays",
    "glue_regret",
    "linear_regret",
    "lower_bound",
    "regret_bounds",
    "regret_slopes",
    "uncertain_regret",
]
