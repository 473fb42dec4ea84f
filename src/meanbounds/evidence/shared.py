"""Evidence against one assumption, shared by all contexts whose bounds rest on it.

The assumption says that all of its bounds hold. With e_j the e-process against bound j, and q the share of the bounds
that are wrong if it fails, the average over q of the product over j of ``1 - q + q e_j`` is an e-process against it:
each reward changes one factor, which does not grow on average. It is taken over all bounds, and over those of each arm
in all contexts, since an assumption often fails in the same way everywhere; the average of both halves counts.
"""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, sqrt

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.evidence.contradictions import ERROR, weigh
from meanbounds.known import Known, Seen

__all__ = ["AssumptionWarning", "Ledger"]

_SHARES = 0.5 ** np.arange(20.0)  # the q that are tried: all bounds are wrong, half of them, ..., one of very many
_LOG_WEIGHTS = -np.log(np.arange(1.0, 21.0) * np.arange(2.0, 22.0) * (20.0 / 21.0))
_MOST = 300.0  # of the logarithm of one e-process, either way: a single bound can say no more
_GOLDEN = 0.5 * (sqrt(5.0) - 1.0)  # multiples of it, modulo 1, are spread evenly
_CONTROLS = 0.2  # share of contexts that are controls, over the root of the probability that the assumption fails
_LEAST = 1e-12  # log N where no trust is left


class AssumptionWarning(UserWarning):
    """Warning that rewards, taken together, refute what bounds rest on; given once for each assumption.

    While the assumption holds it is ever given with probability at most `ERROR`. No single bound need be contradicted:
    a little evidence from each of many contexts adds up. Its attributes are `assumption`, the name, and `log_e`, the
    logarithm of the e-process against it.
    """

    def __init__(self, assumption: str, log_e: float) -> None:
        super().__init__(
            f"the rewards so far, taken together, refute the assumption {assumption!r} (e-value "
            f"{exp(min(log_e, 700.0)):.2g}). Bounds that rest on it are given up in all contexts; replace them by "
            f"bounds that rest on something else"
        )
        self.assumption, self.log_e = assumption, log_e


class Ledger:
    """What the rewards of all contexts say against one assumption, and the trust that is left in its bounds.

    Pulls without a reward are not counted, so a delay that depends on the reward may cause doubt. An agent that saves
    `sums` continues identically: for each arm and each q, the sum of ``log(1 - q + q e_j)``.

    Examples
    --------
    >>> import meanbounds as mb
    >>> known = Known.of([mb.Knowledge(mb.MeanBounds([0.5, 0.2], [0.9, 0.4]), trust=0.9)])
    >>> ledger, seen = Ledger("the expert is optimal", arms=2), Seen.empty(rows=1, arms=2)
    >>> for _ in range(20):  # the second arm pays 1 in each round
    ...     ledger.enter(known, seen, sign=-1)
    ...     seen.add(np.array([0]), np.array([1]), np.array([1.0]), np.array([0.0]))
    ...     ledger.enter(known, seen)
    >>> round(ledger.log_e, 1)
    13.8
    >>> known.log_n.round(3), ledger.doubted(known, 5).log_n.round(3)
    (array([[2.303, 2.303]]), array([[0., 0.]]))
    """

    def __init__(self, name: str, arms: int) -> None:
        self.name, self.sums = name, np.zeros((arms, _SHARES.size))
        self._announced = False

    @property
    def log_e(self) -> float:
        """The logarithm of the e-process against the assumption."""
        whole = np.logaddexp.reduce(self.sums.sum(axis=0) + _LOG_WEIGHTS)
        each = np.logaddexp.reduce(self.sums + _LOG_WEIGHTS, axis=None) - log(len(self.sums))
        return float(np.logaddexp(whole, each) - log(2.0))

    def enter(self, known: Known, seen: Seen, *, sign: float = 1.0) -> None:
        """Add what the rewards of these contexts say against bounds that may be wrong; ``sign=-1`` takes it back.

        Take back what a context says before its statistics or bounds change, and enter it afterwards.
        """
        if known.log_n is None:
            return
        values = np.where(np.isinf(known.log_n), 0.0, np.clip(weigh(known, seen), -_MOST, _MOST))
        with np.errstate(divide="ignore"):
            terms = np.logaddexp(np.log1p(-_SHARES), np.log(_SHARES) + values[..., None])
        self.sums += sign * terms.sum(axis=(0, 1))

    def news(self) -> AssumptionWarning | None:
        """A warning that the assumption is refuted, at the first call after that has happened; None at all others."""
        if self._announced or self.log_e < -log(ERROR):
            return None
        self._announced = True
        return AssumptionWarning(self.name, self.log_e)

    def doubted(self, known: Known, row: ArrayLike) -> Known:
        """What is known of these contexts with the trust that is left: the prior odds that bounds hold, over E.

        E below 1 changes nothing, so that right contexts do not vouch for wrong ones. Some contexts are controls, which
        play without the bounds, for else nobody would try what bounds exclude: more of them, the less trust is left.
        """
        if known.log_n is None:
            return known
        against = max(0.0, self.log_e)
        log_odds = known.log_n + np.log(-np.expm1(-known.log_n)) - against
        places = (np.reshape(row, (-1, 1)) + 1) * _GOLDEN % 1.0
        controls = places > 1.0 - _CONTROLS * np.exp(-0.5 * np.logaddexp(0.0, log_odds))
        if against == 0.0 and not controls.any():
            return known
        left = np.where(controls, 0.0, np.minimum(known.log_n, np.logaddexp(0.0, log_odds)))
        return replace(known, log_n=np.where(np.isinf(known.log_n), np.inf, np.maximum(left, _LEAST)))
