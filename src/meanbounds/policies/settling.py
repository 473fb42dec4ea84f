"""Settling: play the leader while its rewards do not speak against its being as good as any arm can be.

Let c be the largest upper bound among the other arms. A leader whose mean may be c need not be compared with them: if
it is c, no arm is better. So the arm with the largest clipped mean is played as long as its own upper bound is at least
c, and ``plays * kl(mean, c)`` is at most half of log f(t); a quarter of it where its upper bound is above c, since the
best arm may then be one whose bound is tight, and trying that one costs little.

Bounds that may be wrong are given up once the rewards of their arm say ``log N = -log(1 - trust)`` against them; and an
arm can be as good as its KL-UCB index without such bounds at the level log f(t) - log N, if that is above its bound.
"""

from __future__ import annotations

import numpy as np

from meanbounds.divergence import kl
from meanbounds.known import Known, Seen, once
from meanbounds.policies.base import index_of_doubted
from meanbounds.policies.klucb import BKLUCB
from meanbounds.posterior import two_moments, with_prior
from meanbounds.support.types import Booleans, Floats

__all__ = ["against_bounds", "estimates", "evidence_below", "leaders", "settled"]

_EQUAL = 0.5  # the share of log f that evidence may reach where the large upper bounds are equal
_UNEQUAL = 0.25  # where the leader has the largest one alone
_TIE = 1e-12


def settled(known: Known, seen: Seen, log_f: Floats, moments: int) -> Booleans:
    """The leaders that settle, shape (rows, arms); in a row without any, the policy decides by itself.

    Parameters
    ----------
    known, seen
        What is known of the arms and what was seen of them; a prior counts as plays.
    log_f
        ``log f(t)``, which broadcasts to (rows, arms).
    moments
        How many moments of the rewards the divergence takes into account, 1 or 2.
    """
    seen = with_prior(known, seen)
    leads, goal, limit = leaders(known, seen, estimates(known, seen), log_f)
    return leads & (evidence_below(known, seen, goal, moments) <= limit)


def leaders(known: Known, seen: Seen, means: Floats, log_f: Floats) -> tuple[Booleans, Floats, Floats]:
    """Which arms have the largest mean, and an upper bound as large as all others.

    Returns
    -------
    These arms; the largest upper bound of the other arms, for each arm; and the evidence against a mean as large as
    that with which they settle. The statistics include the prior, and the means are those of `estimates`.
    """
    caps, goal, share = _certain_caps(None, known) if known.is_certain else _compared(known, _caps(known, seen, log_f))
    leads = (means >= means.max(axis=1, keepdims=True) - _TIE * known.scale) & (caps >= goal)
    return leads, goal, share * log_f


def evidence_below(known: Known, seen: Seen, goal: Floats, moments: int) -> Floats:
    """``plays * divergence``: what the rewards say against a mean of `goal` or more, in reward units.

    With two moments it is the least divergence of any distribution with the moments seen from one with such a mean.
    """
    mean, goal = seen.total / seen.plays, (goal - known.low) / known.width
    if moments == 2:
        floor, ones = two_moments(seen)
        mean, goal = ones / seen.plays, (goal - floor) / (1.0 - floor)
    found = seen.plays * np.where(goal > 1.0, np.inf, kl(mean, np.minimum(goal, 1.0)))
    return np.where((seen.plays > 0.0) & (goal > mean), found, 0.0)


def against_bounds(known: Known, seen: Seen) -> Floats:
    """``plays * kl(mean, nearest bound)``: what rewards say against the arm's bounds; 0 if these are certain."""
    nearest = (seen.clipped_mean(known) - known.low) / known.width
    told = (seen.plays > 0.0) & (known.log_n != np.inf)
    return np.where(told, seen.plays * kl(seen.total / seen.plays, nearest), 0.0)


def estimates(known: Known, seen: Seen) -> Floats:
    """The clipped mean of each arm; the mean itself where the rewards say log N against bounds that may be wrong.

    It is minus infinity for arms that cannot be best, whatever the bounds that may be wrong are.
    """
    means = seen.clipped_mean(known)
    if known.log_n is not None:
        means = np.where(against_bounds(known, seen) >= known.log_n, seen.mean(known), means)
    return np.where(known.without_doubted.possible, means, -np.inf)


@once
def _certain_caps(_: None, known: Known) -> tuple[Floats, Floats, Floats]:
    return _compared(known, np.where(known.possible, known.upper, -np.inf))


def _caps(known: Known, seen: Seen, log_f: Floats) -> Floats:
    """How good each arm can be: its upper bound, or what the KL-UCB index without doubted bounds says."""
    upper = np.where(known.possible, known.upper, -np.inf)
    return np.maximum(upper, index_of_doubted(BKLUCB(), known, seen, log_f))


def _compared(known: Known, caps: Floats) -> tuple[Floats, Floats, Floats]:
    """The upper bounds, the largest of the other arms (lowered to the arm's own if it is equal), and the share."""
    largest = np.arange(caps.shape[1]) == caps.argmax(axis=1)[:, None]
    rest = np.where(largest, -np.inf, caps).max(axis=1, keepdims=True)
    goal = np.where(largest, rest, caps.max(axis=1, keepdims=True))
    equal = np.abs(goal - caps) <= _TIE * known.scale
    return caps, np.where(equal, caps, goal), np.where(equal, _EQUAL, _UNEQUAL)
