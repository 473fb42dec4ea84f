"""Compiled twins of `meanbounds.support.streams`, and the rewards that loops can draw."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["child", "pick", "reward", "row_key", "uniform"]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_NEST = np.uint64(0xD1B54A32D192ED03)
_SALT = np.uint64(0x8CB92BA72F3D8DD7)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_BELOW_ONE = 1.0 / (1 << 53)


@njit(cache=True, inline="always")
def _mix(z):
    z = (z ^ (z >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    return z ^ (z >> _S31)


@njit(cache=True)
def child(key, number):
    """Key of the stream with this number inside the stream of this key."""
    return _mix(_mix(key ^ _SALT) + np.uint64(number) * _NEST)


@njit(cache=True)
def row_key(seed, row, purpose):
    """Key of a row's stream for one purpose: 1 rewards, 2 policy, 3 rounding."""
    return child(child(np.uint64(seed), row), purpose)


@njit(cache=True, inline="always")
def uniform(key, number):
    """The number at this place of a stream, uniform on [0, 1)."""
    return np.float64(_mix(key + np.uint64(number) * _STEP) >> _S11) * _BELOW_ONE


@njit(cache=True, inline="always")
def reward(law, arm, u):
    """The reward of this arm in units of its range, from the rows of `loops.law_of`."""
    if law[0, arm] == 0.0:
        return law[2, arm] if u < law[1, arm] else law[3, arm]
    return (law[1, arm] + law[2, arm] * u - law[3, arm]) / law[4, arm]


@njit(cache=True)
def pick(tied, key, number):
    """Place of one of the marked entries: the only one, or one at random."""
    ties = 0
    for k in range(tied.size):
        ties += tied[k]
    skip = int(uniform(key, number) * ties) if ties > 1 else 0
    for k in range(tied.size):
        if tied[k]:
            if skip == 0:
                return k
            skip -= 1
    return 0
