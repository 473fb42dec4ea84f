"""One meaning of `seed` everywhere."""

from __future__ import annotations

import numpy as np

__all__ = ["Seed", "as_seed"]

Seed = int | np.random.Generator | None


def as_seed(seed: Seed) -> int:
    """A whole number below 2**63 that reproduces everything: the one given, or a fresh one.

    Examples
    --------
    >>> as_seed(7)
    7
    """
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    if seed is None:
        return as_seed(np.random.default_rng())
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= int(seed) < 2**63:
        raise ValueError(f"seed must be a whole number from 0 to 2**63 - 1, a numpy Generator or None; got {seed!r}")
    return int(seed)
