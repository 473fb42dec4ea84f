"""Random numbers with addresses: a number depends on what it is for, not on how many were drawn before it.

A key stands for a stream; its n-th number is a hash of (key, n) (SplitMix64's finaliser over a Weyl sequence), so any
number can be had without those before it. Streams are numbered within streams: seed -> run -> arm -> n-th pull.
"""

from __future__ import annotations

import numpy as np

from meanbounds.kernels.compiling import compiled

__all__ = [
    "bits",
    "child",
    "delay_key",
    "floor_key",
    "mix",
    "offer_key",
    "policy_key",
    "reward_key",
    "rounding_key",
    "step_to",
    "uniform",
]

_STEP = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio: successive numbers of one stream
_NEST = np.uint64(0xD1B54A32D192ED03)  # another odd constant: successive streams of one parent
_SALT = np.uint64(0x8CB92BA72F3D8DD7)
_BELOW_ONE = 1.0 / (1 << 53)
_REWARDS = 1
_POLICY = 2
_ROUNDING = 3
_OFFERS = 4
_DELAYS = 5
_FLOOR = 6


@compiled
def mix(z: np.uint64) -> np.uint64:
    """Hash 64 bits to 64 bits, one to one."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def child(key: np.uint64, number: int) -> np.uint64:
    """Key of the stream with this number inside the stream of this key."""
    return mix(mix(key ^ _SALT) + np.uint64(number) * _NEST)


@compiled
def uniform(key: np.uint64, number: int) -> float:
    """The stream's number at this place, uniform on [0, 1) with 53 bits."""
    return np.float64(mix(key + np.uint64(number) * _STEP) >> np.uint64(11)) * _BELOW_ONE


@compiled
def step_to(number: int) -> np.uint64:
    """How far a stream's number at this place is from its first, for `bits`."""
    return np.uint64(number) * _STEP


@compiled
def bits(key: np.uint64, step: np.uint64) -> np.int64:
    """What `uniform` is made of, a whole number below 2**63; to compare it with another one is quicker."""
    return np.int64(mix(key + step) >> np.uint64(1))


@compiled
def reward_key(seed: np.uint64, run: int) -> np.uint64:
    """Stream that all rewards of a run come from; its children are the arms."""
    return child(child(seed, run), _REWARDS)


@compiled
def policy_key(seed: np.uint64, run: int) -> np.uint64:
    """Stream that the policy's own randomness in a run comes from; its children are the rounds."""
    return child(child(seed, run), _POLICY)


@compiled
def rounding_key(seed: np.uint64, run: int) -> np.uint64:
    """Stream that rounds rewards to 0 or 1 in a run, for policies with a Bernoulli posterior."""
    return child(child(seed, run), _ROUNDING)


@compiled
def offer_key(seed: np.uint64, run: int) -> np.uint64:
    """Stream that draws what is on offer in a run; its children are the rounds."""
    return child(child(seed, run), _OFFERS)


@compiled
def delay_key(seed: np.uint64, run: int) -> np.uint64:
    """Stream that says how late each reward of a run comes, two numbers for each round."""
    return child(child(seed, run), _DELAYS)


@compiled
def floor_key(seed: np.uint64, run: int) -> np.uint64:
    """Stream that draws an arm for the floor of an agent, a number for each pull."""
    return child(child(seed, run), _FLOOR)
