"""How often an agent was asked and told: its pulls, updates and pending pulls, in one array of whole numbers.

An agent changes only inside machine code: one call decides, and writes to the statistics and to the tally. Python looks
at signals and lets other threads in between two instructions of its own, so an agent that is interrupted stands either
before a call or after it.
"""

from __future__ import annotations

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.random.stream import floor_key, policy_key, rounding_key
from meanbounds.support.types import Integers

__all__ = [
    "FLOOR_KEY",
    "PENDING",
    "POLICY_KEY",
    "PULLS",
    "ROUNDING_KEY",
    "UNANSWERED",
    "UPDATES",
    "count_cancel",
    "count_pull",
    "count_update",
    "new_tally",
]

PULLS = 0  # places in a tally
UPDATES = 1
UNANSWERED = 2  # pending pulls of all places together
POLICY_KEY = 3  # of the policy's own randomness
ROUNDING_KEY = 4  # of the rounding of rewards to 0 and 1
FLOOR_KEY = 5  # of the draws for the floor
PENDING = 6  # the first of the places that hold pending pulls


def new_tally(seed: int, pending: Integers, pulls: int = 0, updates: int = 0) -> Integers:
    """The tally of an agent.

    Parameters
    ----------
    seed
        The seed of the agent, from which its keys follow.
    pending
        The pulls that wait for their reward: a place for each arm, and further ones for candidates.
    pulls, updates
        How many pulls and rewards there were.
    """
    tally = np.zeros(PENDING + pending.size, dtype=np.int64)
    keys = (policy_key, POLICY_KEY), (rounding_key, ROUNDING_KEY), (floor_key, FLOOR_KEY)
    for make, place in keys:
        tally[place] = np.uint64(make(np.uint64(seed), 0)).view(np.int64)
    tally[PULLS], tally[UPDATES], tally[UNANSWERED] = pulls, updates, pending.sum()
    tally[PENDING:] = pending
    return tally


@compiled
def count_pull(tally: Integers, place: int) -> None:
    """Count a pull that waits for its reward."""
    tally[PULLS] += 1
    tally[PENDING + place] += 1
    tally[UNANSWERED] += 1


@compiled
def count_cancel(tally: Integers, place: int) -> bool:
    """Give up a pending pull; False if there is none. The place -1 stands for an arm that does not wait."""
    waits = place >= 0 and tally[PENDING + place] > 0
    if waits:
        tally[PENDING + place] -= 1
        tally[UNANSWERED] -= 1
    return bool(waits)


@compiled
def count_update(tally: Integers, place: int, history: bool) -> None:
    """Count a reward; unless it is history, it answers a pending pull if there is one."""
    tally[UPDATES] += 1
    if not history:
        count_cancel(tally, place)
