"""Some simulated runs that are played in one call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meanbounds.kernels.random.rewards import Rewards
from meanbounds.support.types import Floats, Integers

__all__ = ["Block"]


class Block(NamedTuple):
    """Rounds `first_round` to ``stops[-1]`` of some runs, for any policy."""

    states: Floats  # runs x rows x arms: where each run stands; brought up to date
    rewards: Rewards
    seed: np.uint64
    first_run: int
    log_f: Floats  # log f(t) at place t - first_round
    first_round: int
    stops: Integers  # rounds at which the regret is kept
    gaps: Floats
    curves: Floats  # runs x stops: the regret, filled in
