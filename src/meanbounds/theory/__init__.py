"""Every theorem of the paper as a function; nothing here simulates or draws.

- `variance_proxy`, `variance_proxy_from_bounds`: Theorem 3 and Corollary 3.1.
- `linear_regret`: Theorem 4, for OFUL and R-OFUL.
- `glue_plays`, `glue_regret`, `uncertain_regret`: Theorem 6 and Corollary 6.1, after n rounds.
- `asymptotic_plays`, `asymptotic_constant`, `comparison`, `lower_bound`, `arm_status`: in the long run, Table 1.
- `log_bounds`, `linear_log_bounds`: Theorems 7 and 9.
- `guarded_asks`: how often a promise to experts overrules a policy.
- `regret_bounds`: the theorem that applies to each policy of a simulation, at its checkpoints.
- `bernoulli_kl`, `bernoulli_kl_upper`: the divergence behind KL-UCB.
"""

from meanbounds.divergence import bernoulli_kl, bernoulli_kl_upper
from meanbounds.subgaussian import variance_proxy, variance_proxy_from_bounds
from meanbounds.theory.asymptotic import (
    ArmStatus,
    ComparisonRow,
    arm_status,
    asymptotic_constant,
    asymptotic_plays,
    comparison,
    lower_bound,
)
from meanbounds.theory.expert_log import log_bounds
from meanbounds.theory.finite_time import glue_plays, glue_regret, meta_pruned_plays, uncertain_regret
from meanbounds.theory.guarantees import RegretBound, regret_bounds
from meanbounds.theory.guard_cost import guarded_asks
from meanbounds.theory.linear_bound import linear_regret
from meanbounds.theory.linear_log import linear_log_bounds

__all__ = [
    "ArmStatus",
    "ComparisonRow",
    "RegretBound",
    "arm_status",
    "asymptotic_constant",
    "asymptotic_plays",
    "bernoulli_kl",
    "bernoulli_kl_upper",
    "comparison",
    "glue_plays",
    "glue_regret",
    "guarded_asks",
    "linear_log_bounds",
    "linear_regret",
    "log_bounds",
    "lower_bound",
    "meta_pruned_plays",
    "regret_bounds",
    "uncertain_regret",
    "variance_proxy",
    "variance_proxy_from_bounds",
]
