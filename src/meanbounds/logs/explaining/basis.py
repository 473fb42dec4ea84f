"""A log and how it is judged: what every part of an explanation starts from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from meanbounds.bounds import Arm
from meanbounds.logs.assumptions import Assumption
from meanbounds.logs.baselines import Baseline, baselines
from meanbounds.logs.counts import Counts
from meanbounds.logs.expert import judged_log
from meanbounds.logs.judged import Judged
from meanbounds.logs.names import Context
from meanbounds.support.types import Floats

__all__ = ["Basis"]


@dataclass(frozen=True, eq=False)
class Basis:
    """The counts of a log, what is judged of who wrote it, and how limits are computed.

    Attributes
    ----------
    counts, assumption, method, shift
        As for `meanbounds.logs.bounds`.
    level
        The confidence; None for a log that is treated as infinite.
    """

    counts: Counts
    assumption: Assumption
    level: float | None
    method: str
    shift: float

    @property
    def contexts(self) -> tuple[Context, ...]:
        """The contexts of the log."""
        return self.counts.contexts

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The options."""
        return self.counts.arms

    @property
    def span(self) -> float:
        """The width of the range of rewards."""
        return self.counts.high - self.counts.low

    @cached_property
    def rows(self) -> Floats:
        """Rows of each context."""
        rows: Floats = self.counts.count.sum(axis=1)
        return rows

    @property
    def whole(self) -> bool:
        """Whether the counts are numbers of rows, rather than shares of an infinite log."""
        return bool(np.all(self.counts.count == np.floor(self.counts.count)))

    @cached_property
    def share(self) -> Floats:
        """Each context's share of all rows."""
        return self.rows / max(float(self.rows.sum()), np.finfo(np.float64).tiny)

    @cached_property
    def naive(self) -> Floats:
        """The plain average of each option's rewards, contexts x options; NaN where it was never chosen."""
        count = self.counts.count
        return np.where(count > 0.0, self.counts.total / np.where(count > 0.0, count, 1.0), np.nan)

    @cached_property
    def baselines(self) -> dict[Context, Baseline]:
        """What the log says at its face value, for each context that has rows."""
        return baselines(self.counts, **self.size, method=self.method)

    @property
    def size(self) -> dict[str, Any]:
        """The confidence as an argument of `meanbounds.logs.bounds` and `meanbounds.logs.sensitivity`."""
        return {"infinite": True} if self.level is None else {"confidence": self.level}

    def judged(self, assumption: Assumption | None = None) -> Judged:
        """The log under an assumption; under the one that is judged by default."""
        return judged_log(
            self.counts, self.assumption if assumption is None else assumption, self.level, self.method, self.shift
        )
