"""What a linear kernel reads: a table of the arms, and the rule by which the policy chooses among them."""

from __future__ import annotations

from typing import NamedTuple

from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = [
    "CLIP",
    "EXACT",
    "PLAIN",
    "POOL_MAX",
    "RESTRICTED_MAX",
    "RUNNING_MAX",
    "SAMPLE",
    "WEIGHTED",
    "Pool",
    "Rule",
    "own_bounds",
    "with_own_bounds",
]

RUNNING_MAX = 0  # codes of Rule.noise
POOL_MAX = 1
WEIGHTED = 2
RESTRICTED_MAX = 3

PLAIN = 0  # codes of Rule.index_kind
CLIP = 1
EXACT = 2
SAMPLE = 3  # no index: the largest mean at a parameter drawn from the posterior


class Pool(NamedTuple):
    """The arms. `lower`, `upper` and `proxy` change only for a rule that learns bounds as it goes.

    `proofs` are kept for the exact index, see `meanbounds.kernels.linear.proofs`; for others they have no columns.
    """

    features: Floats  # arms x d
    length: Floats  # of each arm's features
    offset: Floats  # known part of the mean
    low: Floats  # reward range
    high: Floats
    lower: Floats  # bounds on the mean, offset included
    upper: Floats
    proxy: Floats  # variance proxy that these bounds give
    peaks: Floats  # arms x d: a parameter at which the upper bound is attained; NaN where none is known
    proofs: Floats  # arms x (2 d + 1): level, slope and point of an earlier solution; NaN where there is none


def with_own_bounds(pool: Pool) -> Pool:
    """The same arms, with bounds that can be changed without changing those of the pool; kernels call `own_bounds`."""
    return pool._replace(
        lower=pool.lower.copy(), upper=pool.upper.copy(), proxy=pool.proxy.copy(), proofs=pool.proofs.copy()
    )


@compiled
def own_bounds(pool: Pool) -> Pool:
    """The same arms, with bounds that can be changed without changing those of the pool."""
    return Pool(
        pool.features,
        pool.length,
        pool.offset,
        pool.low,
        pool.high,
        pool.lower.copy(),
        pool.upper.copy(),
        pool.proxy.copy(),
        pool.peaks,
        pool.proofs.copy(),
    )


class Rule(NamedTuple):
    """How to decide: the numbers of a policy."""

    norm_high: float
    norm_low: float
    regularisation: float
    failure: float
    noise: int
    proxy: float  # of POOL_MAX and WEIGHTED: fixed in advance
    index_kind: int
    prune: bool
    cone: bool  # bound the arms of a round by the most promising one of them
    online: bool  # bound them by the confidence set as well
    printed: bool  # the radius and the factor of the paper, as printed
    settle: (
        bool  # of equal indices the larger estimate; an arm that can at best equal the largest lower bound is skipped
    )
    draws: int  # points that the chain of SAMPLE visits in a round
    optimistic: bool  # of SAMPLE: no arm counts with less than its expected mean
