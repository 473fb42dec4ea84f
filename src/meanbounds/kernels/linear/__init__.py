"""Arms with features: one parameter is shared by all of them, and any set of arms may be on offer in a round.

`pool` describes the arms and the rule of a policy, `design` the ridge regression, `restrict` which arms can be best,
`decide` a round, `settle` ties, `play` whole simulated runs, and `agent` the pulls and updates of an agent. The cone
programs behind exact indices are in `meanbounds.kernels.solvers`; checks of what a user gives in `meanbounds.linear`.
"""

from meanbounds.kernels.linear.agent import floored, pull, pull_new
from meanbounds.kernels.linear.chances import chances, possible
from meanbounds.kernels.linear.decide import decide, indices
from meanbounds.kernels.linear.design import (
    CONTRADICTIONS,
    PROXY,
    UPDATES,
    Design,
    fresh_design,
    new_design,
    observe,
    put,
    radius,
    refresh,
    suppose,
    weight_of,
)
from meanbounds.kernels.linear.doubt import doubts, share_of
from meanbounds.kernels.linear.knowing import Side, play_knowing
from meanbounds.kernels.linear.play import LinearBlock, offer, play
from meanbounds.kernels.linear.pool import (
    CLIP,
    EXACT,
    PLAIN,
    POOL_MAX,
    RESTRICTED_MAX,
    RUNNING_MAX,
    SAMPLE,
    WEIGHTED,
    Pool,
    Rule,
    own_bounds,
    with_own_bounds,
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
    "SAMPLE",
    "UPDATES",
    "WEIGHTED",
    "Design",
    "LinearBlock",
    "Pool",
    "Rule",
    "Side",
    "chances",
    "decide",
    "doubts",
    "floored",
    "fresh_design",
    "indices",
    "narrow",
    "new_design",
    "observe",
    "offer",
    "own_bounds",
    "play",
    "play_knowing",
    "possible",
    "pull",
    "pull_new",
    "put",
    "radius",
    "refresh",
    "restricted_proxy",
    "share_of",
    "suppose",
    "weight_of",
    "with_own_bounds",
]
