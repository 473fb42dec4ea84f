"""Counter-based random numbers: each follows from a seed and from where it is used, never from what was drawn before.

The reward of an arm's n-th pull in a run is a function of (seed, run, arm, n), a policy's own draws are functions of
(seed, run, decision). So the n-th pull of an arm gives the same reward under every policy, a simulation with
more runs begins with the runs of one with fewer, and an agent in a store can replay each decision. The hash is that of
SplitMix64 (Steele, Lea and Flood, 2014).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.support.checks import is_whole, shown, whole_hint
from meanbounds.support.types import Floats, Keys

__all__ = ["Draws", "Seed", "as_seed", "child", "mix", "stream", "uniform"]

Seed = int | np.random.Generator | None

_STEP = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio: successive numbers of one stream
_NEST = np.uint64(0xD1B54A32D192ED03)  # another odd constant: successive streams of one parent
_SALT = np.uint64(0x8CB92BA72F3D8DD7)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = (np.uint64(n) for n in (30, 27, 31, 11))
_BELOW_ONE = 1.0 / (1 << 53)
_PURPOSES = {"rewards": 1, "policy": 2, "rounding": 3, "offers": 4, "delays": 5, "floor": 6, "share": 7}


def as_seed(seed: Seed) -> int:
    """Turn a seed of any kind into a whole number below 2**63, from which all random numbers follow.

    A whole number is returned unchanged; a numpy Generator draws one; None draws one from the operating system.
    """
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    if seed is None:
        return as_seed(np.random.default_rng())
    if not (is_whole(seed) and 0 <= int(seed) < 2**63):
        raise ValueError(
            f"seed must be a whole number from 0 to 2**63 - 1, a numpy Generator or None; got {shown(seed)}"
            f"{whole_hint(seed)}"
        )
    return int(seed)


def mix(z: Keys) -> Keys:
    """Hash 64 bits to 64 bits, one to one."""
    z = (z ^ (z >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    return z ^ (z >> _S31)


def child(keys: Keys, numbers: ArrayLike) -> Keys:
    """Keys of the streams with these numbers inside the streams of these keys."""
    return mix(mix(keys ^ _SALT) + np.asarray(numbers).astype(np.uint64) * _NEST)


def uniform(keys: Keys, numbers: ArrayLike) -> Floats:
    """The numbers at these places of the streams, uniform on [0, 1) with 53 bits."""
    bits = mix(keys + np.asarray(numbers).astype(np.uint64) * _STEP) >> _S11
    return np.multiply(bits, _BELOW_ONE, dtype=np.float64)


def stream(seed: int, rows: ArrayLike, purpose: str) -> Keys:
    """Keys of the streams for one purpose, one for each row (a run of a simulation, a context of an agent).

    Examples
    --------
    >>> uniform(stream(7, [0, 1], "policy"), 0).round(3)
    array([0.003, 0.066])
    """
    seeds = np.full(1, seed, dtype=np.uint64)
    return child(child(seeds, np.atleast_1d(rows)), _PURPOSES[purpose])


class Draws:
    """The random numbers that a policy may use for one decision in each row: the rows' streams, and its number."""

    __slots__ = ("_keys", "number")

    def __init__(self, keys: Keys, number: ArrayLike) -> None:
        self._keys, self.number = keys, number

    def one(self) -> Floats:
        """One uniform number for each row; it also breaks ties, so a policy that uses it leaves no ties."""
        return uniform(self._keys, self.number)

    def table(self, columns: int) -> Floats:
        """Uniform numbers in a table with this many columns, one row for each row; independent of `one`."""
        return uniform(child(self._keys, self.number)[:, None], np.arange(columns))

    def coin(self) -> Floats:
        """One more uniform number for each row, independent of `one` and `table`, for a policy that wraps another."""
        return uniform(child(self._keys, self.number), 2**63)
