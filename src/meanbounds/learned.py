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

__all__ = ["LAWS", "SHARES", "matched"]

_SIZES = (3.0, 10.0, 30.0, 100.0)
_PAIRS = [(1.0, 1.0), *((1.0, n) for n in _SIZES), *((n, 1.0) for n in _SIZES), (0.5, 0.5), (4.0, 4.0), (16.0, 16.0)]
LAWS = np.array(_PAIRS).T.reshape(2, -1, 1, 1)
"""Both parameters of each law, shape (2, laws, 1, 1)."""
SHARES = np.array([4.0] + [1.0] * (len(_PAIRS) - 1)).reshape(-1, 1, 1) / (len(_PAIRS) + 3)
"""The prior probability of each law, shape (laws, 1, 1); the uniform one is left only for evidence."""


def _log_beta(pairs: Floats, sizes: Floats) -> Floats:
    """Log of the Beta function: several times as fast as scipy's, which keeps more digits of large numbers."""
    logs = gammaln(pairs)
    logs[0] += logs[1]
    logs[0] -= gammaln(sizes)
    return logs[0]


_LOG_SHARES, _AT_FIRST = np.log(SHARES), _log_beta(LAWS, LAWS[0] + LAWS[1])


def matched(told: Floats, counts: Floats, learned: Booleans) -> Floats:
    """Both parameters of the Beta distribution with the mean and variance of each arm's mixture: (2, rows, arms).

    Parameters
    ----------
    told
        How many rewards were 1, and how many 0: shape (2, rows, arms). They say how probable each law is.
    counts
        The same; perhaps with pulls that wait for a reward, counted as if they had returned the arm's mean so far.
    learned
        The arms whose means come from the law.
    """
    pairs = LAWS + told[:, None]
    sizes = pairs[0] + pairs[1]
    gained = _log_beta(pairs, sizes) - _AT_FIRST
    if not learned.all():
        gained = np.where(learned, gained, 0.0)
    log_weight = _LOG_SHARES + np.add.reduce(gained, axis=2, keepdims=True)
    weight = np.exp(log_weight - np.maximum.reduce(log_weight, axis=0))
    weight /= np.add.reduce(weight, axis=0)
    if counts is not told:
        pairs = LAWS + counts[:, None]
        sizes = pairs[0] + pairs[1]
    means = pairs / sizes
    mean = np.add.reduce(weight * means, axis=1)
    spread = means[0] * means[1] / (sizes + 1.0) + (means[0] - mean[0]) ** 2
    return mean * (mean[0] * mean[1] / np.add.reduce(weight * spread, axis=0) - 1.0)
