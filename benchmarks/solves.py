"""What an exact index costs, in the paper's setting."""

from __future__ import annotations

from benchmarks.timing import Race
from benchmarks.workloads import PAPER, SEED
from meanbounds.paper.compute import EVERY, KEPT, NEEDED, SETTINGS, exact_index_costs

__all__ = ["EVERY", "KEPT", "NEEDED", "OFFERED", "solves"]

OFFERED = SETTINGS.offered


def solves(offered: int) -> Race:
    """Nanoseconds per round of each way, over the same rounds of one agent."""
    return Race(exact_index_costs(PAPER, offered, SETTINGS.linear_rounds, SETTINGS.warm_up, SEED))
