"""A prior that is learned: what the rewards of all arms say about how their means are spread.

The means come from one law, which is one of a few Beta distributions. By Bayes' rule the probability of a law is its
share times the probability that it gave to the rewards of each arm, and what is believed of an arm is a mixture over
the laws of what would be believed if that law were known: Beta(a + ones, b + zeros), if the law is Beta(a, b). This is
exact, and an arm's own rewards count once. One Beta distribution with the same mean and variance takes the place of
each mixture, truncated to the arm's bounds as any prior is.

So where rewards are rare, or hardly ever fail, arms that were seldom played are expected to be like the rest. Laws are
learned from rewards alone. Bounds that leave an arm less than half of its range, and are more than a cap, say more of
it than a law does, and such an arm has the uniform prior (`Known.shares_law`).
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from meanbounds.support.types import Booleans, Floats

__all__ = ["LAWS", "SHARES", "matched", "weights"]

_SIZES = (3.0, 10.0, 30.0, 100.0)
_PAIRS = [(1.0, 1.0), *((1.0, n) for n in _SIZES), *((n, 1.0) for n in _SIZES), (0.5, 0.5), (4.0, 4.0), (16.0, 16.0)]
LAWS = np.array(_PAIRS).T.reshape(2, -1, 1, 1)
"""Both parameters of each law, shape (2, laws, 1, 1)."""
SHARES = np.array([4.0] + [1.0] * (len(_PAIRS) - 1)).reshape(-1, 1, 1) / (len(_PAIRS) + 3)
"""The prior probability of each law, shape (laws, 1, 1); the uniform one is left only for evidence."""


def _log_beta(pairs: Floats) -> Floats:
    """Log of the Beta function: several times as fast as scipy's, which keeps more digits of large numbers."""
    logs = gammaln(pairs)
    return logs[0] + logs[1] - gammaln(pairs[0] + pairs[1])


_AT_FIRST, _LOG_SHARES = _log_beta(LAWS), np.log(SHARES)


def weights(counts: Floats, shared: Booleans) -> Floats:
    """The probability of each law, shape (laws, rows, 1).

    Parameters
    ----------
    counts
        How many rewards were 1, and how many 0: shape (2, rows, arms).
    shared
        The arms whose means come from the law.
    """
    told = np.where(shared, _log_beta(LAWS + counts[:, None]) - _AT_FIRST, 0.0)
    log_weight = _LOG_SHARES + told.sum(axis=2, keepdims=True)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    return weight / weight.sum(axis=0)


def matched(weight: Floats, counts: Floats) -> Floats:
    """Both parameters of the Beta distribution with the mean and variance of each arm's mixture: (2, rows, arms)."""
    above, below = LAWS + counts[:, None]
    size = above + below
    above, below = above / size, below / size
    mean, rest = (weight * above).sum(axis=0), (weight * below).sum(axis=0)
    variance = (weight * (above * below / (size + 1.0) + (above - mean) ** 2)).sum(axis=0)
    return np.array([mean, rest]) * (mean * rest / variance - 1.0)
