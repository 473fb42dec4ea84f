"""Bounds that may be wrong, for arms with features: what rewards say against all of them, and how far to doubt them.

A bet against the bounds needs two numbers before the reward comes: the bound of the arm that was played, and a forecast
outside it. Rewards lie in [0, 1], u is an upper bound that follows from all bounds together, and q > u is the forecast.
The wealth is multiplied by ``(q / u)^X ((1 - q) / (1 - u))^(1 - X)``, which is convex in the reward X, so that its
expectation given the past is at most ``m q / u + (1 - m) (1 - q) / (1 - u) = 1 + (m - u) (q - u) / (u (1 - u)) <= 1``
for a mean m <= u. So the wealth is an e-process against "all bounds hold", however the forecasts are made. They come
from the ridge regression: its estimate, moved towards the bound by its standard error.
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.linear.design import Design, spread
from meanbounds.kernels.linear.pool import Rule
from meanbounds.kernels.random.stream import child, uniform
from meanbounds.support.types import Floats

__all__ = ["LOWER", "NO_SIDE", "UPPER", "bet", "doubts", "foresee", "share_of"]

NO_SIDE, LOWER, UPPER = -1, 0, 1  # which bound of an arm a bet is against
_COIN = 2**41  # number of the stream that decides which rounds doubt: beyond all rounds
_LEAST = 1e-300  # a bound at the very end of the range counts as this


@compiled
def _gain(win: float, lack: float, bound: float, rest: float, guess: float, short: float) -> float:
    """Logarithm of what a bet against an upper bound is multiplied by; all in units of the range."""
    gain = win * (log(guess) - log(max(bound, _LEAST))) if win > 0.0 else 0.0
    return gain + (lack * (log(short) - log(rest)) if lack > 0.0 else 0.0)


@compiled
def bet(
    reward: float, low: float, high: float, lower: float, upper: float, forecast: float, error: float, plays: float
) -> tuple[int, float]:
    """Which bound of an arm is bet against, and the logarithm of what the wealth is multiplied by.

    `plays` is how many rewards the arm has had: nobody bets on a mean at the end of the range after a few.
    """
    span = high - low
    win, lack = max(reward - low, 0.0) / span, max(high - reward, 0.0) / span
    if forecast - error > upper and upper < high:
        bound, rest = (upper - low) / span, (high - upper) / span
        short = max((high - forecast + error) / span, rest / (plays + 2.0))
        return UPPER, _gain(win, lack, bound, rest, 1.0 - short, short)
    if forecast + error < lower and lower > low:
        bound, rest = (high - lower) / span, (lower - low) / span
        short = max((forecast + error - low) / span, rest / (plays + 2.0))
        return LOWER, _gain(lack, win, bound, rest, 1.0 - short, short)
    return NO_SIDE, 0.0


@compiled
def foresee(design: Design, rule: Rule, x: Floats) -> tuple[float, float]:
    """The estimate of an arm's mean without its offset, and its standard error."""
    value = 0.0
    for i in range(x.size):
        value += x[i] * design.estimate[i]
    return value, float(np.sqrt(rule.proxy * spread(design, x, np.empty(x.size))))


@compiled
def share_of(log_n: float, log_e: float) -> float:
    """The probability with which a round is decided without the bounds, 1 / (1 + (N - 1) / E); E counts from 1 on."""
    if log_n <= 0.0:
        return 1.0
    return 1.0 / (1.0 + exp(min(log_n - max(log_e, 0.0), 700.0)) * (1.0 - exp(-log_n)))


@compiled
def doubts(log_n: float, log_e: float, number: int, key: np.uint64) -> bool:
    """Whether the round of this number is decided without the bounds."""
    return bool(uniform(child(key, _COIN), number) < share_of(log_n, log_e))
