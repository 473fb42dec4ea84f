"""What the rewards of an arm say against a bound on its mean: e-processes that need the number and the sum of rewards.

Rewards lie in [0, 1], and u is an upper bound on their mean. For 0 < t < 1, ``t^(1 - x)`` is convex in x, so a reward X
has ``E t^(1 - X) <= E[X + (1 - X) t] <= u + (1 - u) t`` given the past, and ``t^(1 - X) / (u + (1 - u) t)`` has
expectation at most 1. The product over rewards depends on their number n and on F, the sum of 1 - X, alone. Averaged
over t in (0, 1) it is

    e = integral from 0 to 1 of t^F / (u + (1 - u) t)^n dt,

a nonnegative process that starts at 1 and falls on average if the bound holds: it ever reaches 1 / error with
probability at most error (Ville's inequality). A factor is the likelihood ratio of rewards of 0 and 1 with mean
q = u / (u + (1 - u) t) against mean u, and t is the odds of u over those of q: an even t suits bounds of all sizes,
those on rare events included. A lower bound is an upper bound on 1 - X.

With s = -log t the integrand is ``exp(-(F + 1) s) / (u + (1 - u) exp(-s))^n``: log-concave, with its peak at s = 0 or
at q = (S - 1) / n, where S is the sum of rewards. Gauss-Legendre panels go from the peak to both sides; all terms are
positive and relative to the peak, which is ``n kl((S - 1) / n, u)`` as a logarithm.
"""

from __future__ import annotations

from math import exp, expm1, log, log1p, sqrt

import numpy as np
from numpy.polynomial import legendre

from meanbounds.kernels.arms.divergence import kl_between
from meanbounds.kernels.compiling import compiled
from meanbounds.support.types import Floats

__all__ = ["fill_log_e", "fill_lowest", "log_e", "log_e_adaptive", "lowest", "may_reach"]

_SIZE = 20  # nodes on a panel
_DEPTH = 34.0  # what is left where the integrand has fallen by exp(-34) is neglected
_WIDEST = 2.0  # width of a panel in s
_NODES = 0.5 * (1.0 + legendre.leggauss(_SIZE)[0])
_WEIGHTS = 0.5 * legendre.leggauss(_SIZE)[1]

_LEAST_ODDS = -700.0  # log-odds of a bound that can hardly be told from 0

_STAKES = 0.5 ** np.arange(1.0, 33.0)
_PRICES = _STAKES + np.log1p(-_STAKES)  # negative: what a squared distance costs
_SHARES = -np.log(np.arange(1.0, 33.0) * np.arange(2.0, 34.0))  # logs of weights 1/2, 1/6, 1/12, ...


@compiled
def _fallen(a: float, b: float, x: float, lack: float, step: float) -> float:
    """Log of ``exp(a s) / (lack + x exp(s))^(a + b)`` for ``lack = 1 - x``, in the form that keeps its digits."""
    if x > 0.5:
        return -b * step - (a + b) * log1p(lack * expm1(-step))
    if step > 700.0:
        return -b * step - (a + b) * log(x + lack * exp(-step))
    return a * step - (a + b) * log1p(x * expm1(step))


@compiled
def _reach(a: float, b: float, x: float, lack: float) -> float:
    """How far the integrand of `_mass` has to be followed: it falls from 0 on, and its logarithm is concave."""
    size = a + b
    slope, bend = min(0.0, a * lack - b * x), size * x * lack
    most = (_DEPTH - size * log(x)) / b  # where b step + size log(x) is as much
    root = sqrt(slope * slope + 2.0 * bend * _DEPTH) - slope
    step = min(most, 2.0 * _DEPTH / root) if root > 0.0 else most
    for _ in range(60):
        fallen = _fallen(a, b, x, lack, step) + _DEPTH
        if -0.2 * _DEPTH <= fallen <= 0.0:
            break
        steep = a - size * (x / (x + lack * exp(-step)))
        following = min(most, step - fallen / steep) if steep < 0.0 else most
        if following == step:
            break
        step = following
    return step


@compiled
def _mass(a: float, b: float, x: float, lack: float, farthest: float) -> float:
    """Integral over s from 0 to `farthest` of ``exp(a s) / (lack + x exp(s))^(a + b)``, for ``lack = 1 - x``.

    It is that of the Beta(a, b) density in the log-odds, relative to its value at x, which is at or beyond the peak.
    """
    width = min(farthest, _reach(a, b, x, lack))
    panels = int(width / _WIDEST) + 2
    panel, total = width / panels, 0.0
    for p in range(panels):
        for i in range(_SIZE):
            step = panel * (p + _NODES[i])
            total += _WEIGHTS[i] * exp(_fallen(a, b, x, lack, step))
    return panel * total


@compiled
def log_e(wins: float, lacks: float, bound: float, rest: float) -> float:
    """Log of the e-process against an upper bound on the mean.

    `wins` is the sum of rewards, `lacks` that of 1 - reward, and `rest` is 1 - `bound`: each is given by itself, for
    where they are tiny. Swap both pairs for a lower bound. It grows with `wins` and falls with `lacks` and `bound`.
    """
    size = wins + lacks
    if not size > 0.0:
        return 0.0
    if not bound > 0.0:
        return np.inf if wins > 0.0 else 0.0
    a, b = wins - 1.0, lacks + 1.0
    if not rest > 0.0:
        return -log(b)
    slope = a * rest - b * bound
    if not slope > 0.0:
        return log(_mass(a, b, bound, rest, np.inf))
    x, lack = a / size, b / size
    below = log1p(slope / size / (bound * lack))  # between the log-odds of x and of the bound
    mass = _mass(a, b, x, lack, np.inf) + _mass(b, a, lack, x, below)
    return size * kl_between(x, lack, bound, rest) + log(mass)


@compiled
def may_reach(wins: float, lacks: float, bound: float, level: float) -> bool:
    """Whether `log_e` may be as large as a level above 0; cheap, and False for most means within their bounds.

    No factor of the mixture exceeds ``exp(n kl(mean, u))``, and ``kl(p, u) <= (p - u)^2 / (u (1 - u))``.
    """
    size = wins + lacks
    ahead = wins - size * bound
    return bool(ahead > 0.0 and ahead * ahead >= level * size * bound * (1.0 - bound) * (1.0 - 1e-9))


@compiled
def log_e_adaptive(wins: float, lacks: float, squares: float, bound: float, rest: float) -> float:
    """The same as `log_e` where the sum of squared rewards is known: larger where rewards vary little.

    For y >= -1 and 0 <= g < 1, ``exp(g y + (g + log(1 - g)) y^2) <= 1 + g y`` (Fan et al., 2015). With y = X - u the
    right side has expectation at most 1 if the mean of X is at most u. The product over rewards depends on their
    number, sum and sum of squares alone. A mixture over stakes g = 1/2, 1/4, ... is averaged with `log_e`, so that
    nothing is lost but log 2 where rewards are 0 and 1. For g <= 1/2 it falls with u.
    """
    plain = log_e(wins, lacks, bound, rest)
    if plain == np.inf:
        return plain
    size = wins + lacks
    ahead = wins * rest - lacks * bound
    spread = max(squares - 2.0 * bound * wins + size * bound * bound, ahead * ahead / size if size > 0.0 else 0.0)
    top = plain
    for j in range(_STAKES.size):
        top = max(top, _SHARES[j] + _STAKES[j] * ahead + _PRICES[j] * spread)
    total = exp(plain - top)
    for j in range(_STAKES.size):
        total += exp(_SHARES[j] + _STAKES[j] * ahead + _PRICES[j] * spread - top)
    return top + log(0.5 * total)


@compiled
def _log_e_at(wins: float, lacks: float, squares: float, odds: float) -> float:
    """The logarithm of the e-process against the bound whose log-odds these are; without squares if they are NaN."""
    bound, rest = 1.0 / (1.0 + exp(-odds)), 1.0 / (1.0 + exp(odds))
    if squares != squares:
        return log_e(wins, lacks, bound, rest)
    return log_e_adaptive(wins, lacks, squares, bound, rest)


@compiled
def lowest(wins: float, lacks: float, squares: float, level: float) -> float:
    """The smallest bound against which the logarithm of the e-process is at most `level`, above 0.

    All smaller ones are contradicted. Brackets in the log-odds, then regula falsi (Illinois); the end that is returned
    is not contradicted.
    """
    if not wins > 0.0:
        return 0.0
    above = log(wins) - log(lacks) if lacks > 0.0 else log(wins + 1.0) + 2.0
    if above < 1.0 + _LEAST_ODDS:
        return 0.0
    while _log_e_at(wins, lacks, squares, above) > level:  # only where there are no lacks
        above += 2.0
    step, below = 0.125, above - 0.125
    low_value, high_value = 0.0, _log_e_at(wins, lacks, squares, above) - level
    while True:
        low_value = _log_e_at(wins, lacks, squares, below) - level
        if low_value > 0.0:
            break
        if below <= _LEAST_ODDS:
            return 0.0
        above, high_value, step = below, low_value, 2.0 * step
        below = max(_LEAST_ODDS, below - step)
    kept = 0
    for _ in range(200):
        if above - below <= 1e-13 * (1.0 + abs(above)):
            break
        middle = below + (above - below) * (low_value / (low_value - high_value))
        if not below < middle < above:
            middle = 0.5 * (below + above)
        value = _log_e_at(wins, lacks, squares, middle) - level
        if value > 0.0:
            below, low_value = middle, value
            high_value = 0.5 * high_value if kept == 1 else high_value
            kept = 1
        else:
            above, high_value = middle, value
            low_value = 0.5 * low_value if kept == -1 else low_value
            kept = -1
        if -1e-12 <= value <= 0.0:
            break
    return 1.0 / (1.0 + exp(-above))


@compiled
def fill_log_e(table: Floats, out: Floats) -> None:
    """Write the logarithms of many e-processes; rows: wins, lacks, squares or NaN, bound, rest, see `log_e`."""
    for k in range(out.size):
        wins, lacks, squares, bound, rest = table[0, k], table[1, k], table[2, k], table[3, k], table[4, k]
        if squares != squares:
            out[k] = log_e(wins, lacks, bound, rest)
        else:
            out[k] = log_e_adaptive(wins, lacks, squares, bound, rest)


@compiled
def fill_lowest(table: Floats, level: float, out: Floats) -> None:
    """Write many smallest bounds that are not contradicted; rows: wins, lacks, squares or NaN, see `lowest`."""
    for k in range(out.size):
        out[k] = lowest(table[0, k], table[1, k], table[2, k], level)
