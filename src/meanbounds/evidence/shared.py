"""Evidence against one assumption, shared by all contexts whose bounds rest on it."""

from __future__ import annotations

import numpy as np

from meanbounds.evidence.processes import SHARES
from meanbounds.known import Known, Seen

__all__ = ["AssumptionWarning", "Ledger"]


class AssumptionWarning(UserWarning):
    """Warning that rewards, taken together, refute what bounds rest on; given once for each assumption.

    Attributes
    ----------
    assumption
        The name of the assumption, see `meanbounds.Knowledge`.
    log_e
        The logarithm of the e-process against it.
    """

    assumption: str
    log_e: float

    def __init__(self, assumption: str, log_e: float) -> None:
        super().__init__(f"the rewards so far, taken together, refute the assumption {assumption!r}")
        self.assumption, self.log_e = assumption, log_e


class Ledger:
    """What the rewards of all contexts say against one assumption.

    Parameters
    ----------
    name
        The name of the assumption.
    arms
        How many arms there are.
    """

    def __init__(self, name: str, arms: int) -> None:
        self.name, self.sums = name, np.zeros((arms, SHARES.size))

    @property
    def log_e(self) -> float:
        """The logarithm of the e-process against the assumption."""
        raise NotImplementedError

    def enter(self, known: Known, seen: Seen, arm: int | None = None, *, sign: float = 1.0) -> None:
        """Add what these rows say (of one arm or of all), or take it back with ``sign=-1``.

        Before a reward is added to an arm, take back what the arm says; afterwards, enter it. Likewise for new bounds.
        """
        raise NotImplementedError

    def news(self) -> AssumptionWarning | None:
        """A warning that the assumption is refuted, at the first call after that has happened; None at all others."""
        raise NotImplementedError

    def doubted(self, known: Known, row: int) -> Known:
        """The knowledge of one context with the trust that the evidence leaves."""
        raise NotImplementedError
