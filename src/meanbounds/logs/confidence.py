"""Confidence limits on the mean of a bounded variable, from sums and counts alone: one GROUP BY over the log.

Each limit is one-sided: it fails with probability at most `failure` for a number of rows that is fixed in advance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from meanbounds.divergence import bernoulli_kl_upper
from meanbounds.logs.histogram import Histogram
from meanbounds.support.types import Floats

__all__ = ["DEFAULT_CONFIDENCE", "METHODS", "Sample", "check_confidence", "lower_limit", "upper_limit"]


class _Default(float):
    """A float that can be distinguished, by identity, from an equal one that a user gave."""

    __slots__ = ()


DEFAULT_CONFIDENCE = _Default(0.95)
"""Probability with which all bounds hold at once, unless another one is given."""

_BETS = np.arange(24)
_LARGEST_BET = 0.9  # of the wealth
_FARTHEST = 1e8  # how many widths of the range its ends may be from 0


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a variable in [0, 1]: how many, their sum, the sum of their squares, and perhaps how many of each value.

    Where values were binned, each bin has two ends, and a limit uses the end that is on its safe side.

    Examples
    --------
    Ten rows, seven of them 1 and three of them 0:

    >>> sample = Sample(rows=10, total=7, squares=7)
    >>> sample.mean
    0.7
    """

    rows: float
    total: float
    squares: float
    histogram: Histogram | None = None

    @classmethod
    def scaled(cls, rows: float, total: float, squares: float, low: float, high: float) -> Sample:
        """Make a sample from sums of a variable in [low, high].

        Sums of large numbers have lost digits, so the sum of squares is raised by as much as may be lost; it is at most
        the sum, for numbers in [0, 1].

        Examples
        --------
        Two ratings of 1 and 5 stars are 0 and 1 on the unit scale:

        >>> Sample.scaled(rows=2, total=6, squares=26, low=1, high=5).mean
        0.5
        """
        span, size = high - low, max(abs(low), abs(high))
        if size > _FARTHEST * span:
            raise ValueError(
                f"rewards in [{low}, {high}] are too far from 0 for their width: sums lose too many digits; subtract "
                f"{low} from the rewards, and from the range, before they are counted"
            )
        unit = (total - low * rows) / span
        lost = 16.0 * np.finfo(np.float64).eps * size**2 * rows
        return cls(rows, unit, min((squares - 2.0 * low * total + low**2 * rows + lost) / span**2, max(unit, 0.0)))

    @property
    def mean(self) -> float:
        """Mean of the rows; rounding errors are clipped to [0, 1]."""
        return min(max(self.total / self.rows, 0.0), 1.0)

    def mirrored(self) -> Sample:
        """Replace each value x by 1 - x, so that an upper limit on the new mean is a lower one on the old.

        Examples
        --------
        >>> Sample(rows=10, total=7, squares=7).mirrored()
        Sample(rows=10, total=3, squares=3.0, histogram=None)
        """
        own = self.histogram
        turned = None if own is None else Histogram(1.0 - own.values_high, 1.0 - own.values_low, own.count)
        return Sample(self.rows, self.rows - self.total, self.rows - 2.0 * self.total + self.squares, turned)


def check_confidence(confidence: float, infinite: bool) -> float | None:
    """Check the confidence that a user gave; return None for a log that is treated as infinite.

    Examples
    --------
    >>> check_confidence(0.9, infinite=False)
    0.9
    >>> check_confidence(0.9, infinite=True)
    Traceback (most recent call last):
    ValueError: infinite=True takes the log as it is, without a confidence; leave confidence=0.9 or infinite=True out
    """
    if infinite:
        if confidence is not DEFAULT_CONFIDENCE:
            raise ValueError(
                f"infinite=True takes the log as it is, without a confidence; "
                f"leave confidence={confidence!r} or infinite=True out"
            )
        return None
    if confidence is None:
        raise ValueError(
            "confidence=None is not accepted: give a probability such as 0.95, or infinite=True to treat shares and "
            "means of the log as exact, as if it were infinite"
        )
    if (
        isinstance(confidence, bool)
        or not isinstance(confidence, float | int | np.number)
        or not 0.0 < confidence < 1.0
    ):
        raise ValueError(f"confidence must be a probability such as 0.95, between 0 and 1; got {confidence!r}")
    return float(confidence)


def upper_limit(sample: Sample, failure: float, method: str = "bernstein") -> float:
    """A number that the mean exceeds with probability at most `failure`.

    Parameters
    ----------
    sample
        The rewards so far, scaled to [0, 1].
    failure
        Probability with which the limit may fail.
    method
        ``"hoeffding"`` (1963); ``"bernstein"``, empirical (Maurer and Pontil, 2009), from the second moment;
        ``"kl"``, Chernoff's for the mean alone; ``"betting"`` (Waudby-Smith and Ramdas, 2024): the wealth of a gambler
        who bets against every mean above the limit with a fixed mixture of stakes, so that the order of rows does not
        matter; needs how many there are of each value.

    Examples
    --------
    >>> sample = Sample(rows=100, total=50, squares=50)
    >>> round(upper_limit(sample, 0.05, "hoeffding"), 4), round(upper_limit(sample, 0.05, "kl"), 4)
    (0.6224, 0.6206)

    A variable that hardly varies has a much lower limit by its second moment:

    >>> steady = Sample(rows=1000, total=500, squares=250.1)
    >>> round(upper_limit(steady, 0.05, "hoeffding"), 4), round(upper_limit(steady, 0.05, "bernstein"), 4)
    (0.5387, 0.5095)
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}; got {method!r}")
    if not 0.0 < failure < 1.0:
        raise ValueError(f"failure must be a probability between 0 and 1; got {failure!r}")
    return 1.0 if sample.rows < 1 else float(min(1.0, max(METHODS[method](sample, failure), 0.0)))


def lower_limit(sample: Sample, failure: float, method: str = "bernstein") -> float:
    """A number that the mean is below with probability at most `failure`; parameters as for `upper_limit`.

    Examples
    --------
    >>> sample = Sample(rows=100, total=50, squares=50)
    >>> round(lower_limit(sample, 0.05, "kl"), 4)
    0.3794
    """
    return 1.0 - upper_limit(sample.mirrored(), failure, method)


def _hoeffding(sample: Sample, failure: float) -> float:
    return sample.mean + sqrt(-log(failure) / (2.0 * sample.rows))


def _bernstein(sample: Sample, failure: float) -> float:
    if sample.rows < 2:
        return 1.0
    spread = max(sample.squares - sample.total**2 / sample.rows, 0.0) / (sample.rows - 1.0)
    level = log(2.0 / failure)
    return sample.mean + sqrt(2.0 * spread * level / sample.rows) + 7.0 * level / (3.0 * (sample.rows - 1.0))


def _kl(sample: Sample, failure: float) -> float:
    return float(bernoulli_kl_upper(sample.mean, -log(failure) / sample.rows))


def _betting(sample: Sample, failure: float) -> float:
    """One minus the largest mean of one minus the variable that is ruled out.

    If X in [0, 1] has mean at most m, the wealth 1 + b (X - m) has expectation at most 1 for every stake b in [0, 1/m],
    and so has a fixed mixture over stakes of the products over rows. By Markov's inequality it reaches 1 / failure with
    probability at most `failure`. Each product falls as m grows, so what is ruled out is an interval from 0.

    A stake is best for one variance, sqrt(2 log(1 / failure) / (rows variance)); the mixture has those for variances
    1/4, 1/8, 1/16, ..., none above 0.9 / m, the first ones with more weight.
    """
    own = sample.histogram
    if own is None:
        raise ValueError(
            'method="betting" needs how many rewards there are of each value: read the log with histogram=True'
        )
    seen = own.count > 0.0
    counts, values = own.count[seen], 1.0 - own.values_high[seen]
    goal = -log(failure)
    stakes = np.sqrt(2.0 * goal / sample.rows * 4.0 * 2.0**_BETS)
    below, above = 0.0, float(counts @ values) / sample.rows  # nothing above the sample's mean is ruled out
    for _ in range(60):
        middle = 0.5 * (below + above)
        if middle > 0.0 and _wealth(values, counts, middle, stakes) >= goal:
            below = middle
        else:
            above = middle
    return 1.0 - below


def _wealth(values: Floats, counts: Floats, mean: float, stakes: Floats) -> float:
    """Logarithm of the wealth; weights 1/2, 1/6, 1/12, ... of the stakes sum to less than 1."""
    bets = np.minimum(stakes, _LARGEST_BET / mean)
    gains = np.log1p(bets[:, None] * (values - mean)) @ counts - np.log((_BETS + 1.0) * (_BETS + 2.0))
    top = float(gains.max())
    return top + float(np.log(np.sum(np.exp(gains - top))))


METHODS: dict[str, Callable[[Sample, float], float]] = {
    "hoeffding": _hoeffding,
    "bernstein": _bernstein,
    "kl": _kl,
    "betting": _betting,
}
