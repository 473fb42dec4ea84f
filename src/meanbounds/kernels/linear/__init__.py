"""Arms with features: one parameter is shared by all of them, and any set of arms may be on offer in a round.

`pool` describes the arms and the rule of a policy, `design` the ridge regression, `restrict` which arms can be best,
`decide` a round, `settle` ties, and `play` whole simulated runs. An agent uses `decide` and `observe`. The cone
programs behind exact indices are in `meanbounds.kernels.solvers`; checks of what a user gives in `meanbounds.linear`.
"""

from meanbounds.kernels.linear.chances import chances, possible
from meanbounds.kernels.linear.decide import decide, indices
from meanbounds.kernels.linear.design import CONTRADICTIONS, PROXY, Design, new_design, observe, radius
from meanbounds.kernels.linear.play import LinearBlock, offer, play
from meanbounds.kernels.linear.pool import (
    CLIP,
    EXACT,
    PLAIN,
    POOL_MAX,
    RESTRICTED_MAX,
    RUNNING_MAX,
    WEIGHTED,
    Pool,
    Rule,
    own_bounds,
)
from meanbounds.kernels.linear.restrict import narrow, restricted_proxy

__all__ = [
    "CLIP",
    "CONTRADICTIONS",
    "EXACT",
    "PLAIN",
    "POOL_MAX",
    "PROXY",
    "RESTRICTED_MAX",
    "RUNNING_MAX",
    "WEIGHTED",
    "Design",
    "LinearBlock",
    "Pool",
    "Rule",
    "chances",
    "decide",
    "indices",
    "narrow",
    "new_design",
    "observe",
    "offer",
    "own_bounds",
    "play",
    "possible",
    "radius",
    "restricted_proxy",
]
