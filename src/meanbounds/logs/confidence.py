"""Confidence limits on the mean of a bounded variable, from sums and counts alone: one GROUP BY over the log.

Each limit is one-sided and holds for a number of rows that is fixed in advance. The probability with which it may fail
is given in nats, as minus its natural logarithm: the shares of sets of arms can be too small for a float.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, nan

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.divergence import bernoulli_kl_upper
from meanbounds.kernels.logs.limits import upper_from_values
from meanbounds.logs.histogram import Histogram
from meanbounds.support.checks import as_flag, as_float, shown
from meanbounds.support.types import Floats

__all__ = ["DEFAULT_CONFIDENCE", "METHODS", "Samples", "check_confidence", "lower_limit", "nats", "upper_limit"]


class _Default(float):
    """A float that can be distinguished, by identity, from an equal one that a user gave."""

    __slots__ = ()


DEFAULT_CONFIDENCE = _Default(0.95)
"""Probability with which all bounds hold at once, unless another one is given."""

_FARTHEST = 1e8  # how many widths of the range its ends may be from 0


@dataclass(frozen=True, eq=False)
class Samples:
    """One or many samples of variables in [0, 1]: for each its rows, their sum, and the sum of their squares.

    Parameters
    ----------
    rows, total, squares
        One number, or one for each sample; they broadcast together.
    histogram
        How many rows there are of each value, samples x values. Where values were binned, each bin has two ends, and a
        limit uses the end that is on its safe side.

    Examples
    --------
    Ten rows, seven of them 1 and three of them 0:

    >>> Samples(rows=10, total=7, squares=7).mean
    array([0.7])
    """

    rows: Floats
    total: Floats
    squares: Floats
    histogram: Histogram | None

    def __init__(
        self, rows: ArrayLike, total: ArrayLike, squares: ArrayLike, histogram: Histogram | None = None
    ) -> None:
        for name, part in (("rows", rows), ("squares", squares)):
            object.__setattr__(self, name, np.asarray(part, dtype=np.float64))
        object.__setattr__(self, "total", np.atleast_1d(np.asarray(total, dtype=np.float64)))
        object.__setattr__(self, "histogram", histogram)

    @classmethod
    def scaled(
        cls, rows: ArrayLike, total: ArrayLike, squares: ArrayLike, *, low: ArrayLike = 0.0, high: ArrayLike = 1.0
    ) -> Samples:
        """Make samples from sums of variables in [low, high].

        Sums of large numbers have lost digits, so the sum of squares is raised by as much as may be lost; it is at most
        the sum, for numbers in [0, 1].

        Examples
        --------
        Two ratings of 1 and 5 stars are 0 and 1 on the unit scale:

        >>> Samples.scaled(rows=2, total=6, squares=26, low=1, high=5).mean
        array([0.5])
        """
        raw = cls(rows, total, squares)
        bottom, top = (np.asarray(end, dtype=np.float64) for end in (low, high))
        span, size = top - bottom, np.maximum(np.abs(bottom), np.abs(top))
        far = size > _FARTHEST * span
        if far.any():
            least, most = (np.broadcast_to(end, far.shape)[far][0] for end in (bottom, top))
            raise ValueError(
                f"rewards in [{least}, {most}] are too far from 0 for their width: sums lose too many digits; "
                f"subtract {least} from the rewards, and from the range, before they are counted"
            )
        unit = (raw.total - bottom * raw.rows) / span
        lost = 16.0 * np.finfo(np.float64).eps * size**2 * raw.rows
        moved = (raw.squares - 2.0 * bottom * raw.total + bottom**2 * raw.rows + lost) / span**2
        return cls(raw.rows, unit, np.minimum(moved, np.maximum(unit, 0.0)))

    @property
    def mean(self) -> Floats:
        """Mean of the rows of each sample; rounding errors are clipped to [0, 1]."""
        return _in_unit(self.total / self.rows)

    def mirrored(self) -> Samples:
        """Replace each value x by 1 - x, so that an upper limit on the new mean is a lower one on the old.

        Examples
        --------
        >>> Samples(rows=10, total=7, squares=7).mirrored().total
        array([3.])
        """
        own = self.histogram
        turned = None if own is None else Histogram(1.0 - own.values_high, 1.0 - own.values_low, own.count)
        return Samples(self.rows, self.rows - self.total, self.rows - 2.0 * self.total + self.squares, turned)


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
    if as_flag("infinite", infinite):
        if confidence is not DEFAULT_CONFIDENCE:
            raise ValueError(
                f"infinite=True takes the log as it is, without a confidence; "
                f"leave confidence={shown(confidence)} or infinite=True out"
            )
        return None
    if confidence is None:
        raise ValueError(
            "confidence=None is not accepted: give a probability such as 0.95, or infinite=True to treat shares and "
            "means of the log as exact, as if it were infinite"
        )
    try:
        value = as_float("confidence", confidence)
    except ValueError:
        value = nan
    if isinstance(confidence, bool) or not 0.0 < value < 1.0:
        raise ValueError(f"confidence must be a probability such as 0.95, between 0 and 1; got {shown(confidence)}")
    return value


def nats(failure: float) -> float:
    """Minus the natural logarithm of a failure probability: the strictness of a limit, as the limits take it.

    Examples
    --------
    >>> round(nats(0.05), 4)
    2.9957
    """
    if not 0.0 < failure < 1.0:
        raise ValueError(f"failure must be a probability between 0 and 1; got {failure!r}")
    return -log(failure)


def upper_limit(samples: Samples, strictness: float | Floats, method: str = "bernstein") -> Floats:
    """A number for each sample that its mean exceeds with probability at most ``exp(-strictness)``.

    Parameters
    ----------
    samples
        The rewards so far, scaled to [0, 1].
    strictness
        Minus the logarithm of the probability with which a limit may fail, one for all samples or one for each; see
        `nats`.
    method
        ``"hoeffding"`` (1963); ``"bernstein"``, empirical (Maurer and Pontil, 2009), from the second moment;
        ``"kl"``, Chernoff's for the mean alone; ``"betting"`` (Waudby-Smith and Ramdas, 2024): the wealth of a gambler
        who bets against every mean above the limit with a fixed mixture of stakes, so that the order of rows does not
        matter; needs how many there are of each value.

    Examples
    --------
    >>> sample = Samples(rows=100, total=50, squares=50)
    >>> upper_limit(sample, nats(0.05), "hoeffding").round(4), upper_limit(sample, nats(0.05), "kl").round(4)
    (array([0.6224]), array([0.6206]))

    A variable that hardly varies has a much lower limit by its second moment:

    >>> steady = Samples(rows=1000, total=500, squares=250.1)
    >>> upper_limit(steady, nats(0.05), "hoeffding").round(4), upper_limit(steady, nats(0.05), "bernstein").round(4)
    (array([0.5387]), array([0.5095]))
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}; got {method!r}")
    seen = samples.rows >= 1.0
    if seen.all():
        return _in_unit(METHODS[method](samples, strictness))
    some = Samples(np.where(seen, samples.rows, 1.0), samples.total, samples.squares, samples.histogram)
    return np.where(seen, upper_limit(some, strictness, method), 1.0)  # without a row nothing is known


def lower_limit(samples: Samples, strictness: float | Floats, method: str = "bernstein") -> Floats:
    """A number for each sample that its mean is below with probability at most ``exp(-strictness)``.

    Parameters as for `upper_limit`.

    Examples
    --------
    >>> sample = Samples(rows=100, total=50, squares=50)
    >>> lower_limit(sample, nats(0.05), "kl").round(4)
    array([0.3794])
    """
    return 1.0 - upper_limit(samples.mirrored(), strictness, method)


def _in_unit(values: Floats) -> Floats:
    return np.minimum(np.maximum(values, 0.0), 1.0)  # several times faster than np.clip for a few numbers


def _hoeffding(samples: Samples, goals: float | Floats) -> Floats:
    return samples.mean + np.sqrt(goals / (2.0 * samples.rows))


def _bernstein(samples: Samples, goals: float | Floats) -> Floats:
    rows, level = samples.rows, goals + log(2.0)
    free = np.maximum(rows - 1.0, 0.5)  # a single row has no variance; its limit is above 1 in any case
    spread = np.maximum(samples.squares - samples.total**2 / rows, 0.0) / free
    return samples.mean + np.sqrt(2.0 * spread * level / rows) + 7.0 * level / (3.0 * free)


def _kl(samples: Samples, goals: float | Floats) -> Floats:
    return np.atleast_1d(bernoulli_kl_upper(samples.mean, goals / samples.rows))


def _betting(samples: Samples, goals: float | Floats) -> Floats:
    own = samples.histogram
    if own is None:
        raise ValueError(
            'method="betting" needs how many rewards there are of each value: read the log with histogram=True'
        )
    counts, values = np.array(np.atleast_2d(own.count)), np.array(own.values_high)
    sizes, levels = (np.broadcast_to(part, len(counts)).tolist() for part in (samples.rows, goals))
    return np.array(
        [
            upper_from_values(values, one, values.size, rows, goal)
            for one, rows, goal in zip(counts, sizes, levels, strict=True)
        ]
    )


METHODS: dict[str, Callable[[Samples, float | Floats], Floats]] = {
    "hoeffding": _hoeffding,
    "bernstein": _bernstein,
    "kl": _kl,
    "betting": _betting,
}
