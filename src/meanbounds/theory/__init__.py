"""Every theorem of the paper as a function.

- `glue_plays`, `glue_regret`: bounds on plays and regret after n rounds, for GLUE and policies with the same index.
- `linear_regret`: a bound on the regret of OFUL and R-OFUL.
- `asymptotic_plays`, `asymptotic_constant`, `comparison`, `lower_bound`: the constant in front of log n.
- `settling_plays`: a bound on the plays that settling adds to those of BIMED and Thompson sampling.
- `doubt_plays`, `doubt_regret`, `doubt_lower_bound`: what trust below 1 costs, what is lost if bounds are wrong, and
  what nobody can have.
- `uncertain_regret`: the regret to add if the bounds on the means may be wrong.
- `arm_status`: says in words whether each arm is played for ever, rarely or never.
- `regret_bounds`, `regret_slopes`: the theorem that applies to each policy of a simulation, at its checkpoints.

Nothing here simulates or draws; `meanbounds.Regret.plot` puts these bounds beside a simulated curve.
"""

from meanbounds.theory.constants import (
    Comparison,
    ComparisonRow,
    asymptotic_constant,
    asymptotic_plays,
    comparison,
    lower_bound,
)
from meanbounds.theory.doubt import doubt_lower_bound, doubt_plays, doubt_regret
from meanbounds.theory.glue import glue_plays, glue_regret
from meanbounds.theory.guarantees import RegretBound, regret_bounds, regret_slopes
from meanbounds.theory.oful import linear_regret
from meanbounds.theory.settling import settling_plays
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
    "doubt_lower_bound",
    "doubt_plays",
    "doubt_regret",
    "glue_plays",
    "glue_regret",
    "linear_regret",
    "lower_bound",
    "regret_bounds",
    "regret_slopes",
    "settling_plays",
    "uncertain_regret",
]
