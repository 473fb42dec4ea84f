"""One meaning of `seed` everywhere: a whole number, a numpy Generator, or None for a fresh one."""

from __future__ import annotations

import numpy as np

from meanbounds.support.checks import is_whole, shown

__all__ = ["Seed", "as_seed"]

Seed = int | np.random.Generator | None


def as_seed(seed: Seed) -> int:
    """Turn a seed of any kind into a whole number below 2**63, from which all random numbers follow.

    Parameters
    ----------
    seed
        A whole number is returned unchanged; a numpy Generator draws one; None draws one from the operating system.

    Examples
    --------
    >>> import numpy as np
    >>> as_seed(7)
    7
    >>> as_seed(np.random.default_rng(7)) == as_seed(np.random.default_rng(7))
    True
    >>> as_seed(-1)
    Traceback (most recent call last):
    ValueError: seed must be a whole number from 0 to 2**63 - 1, a numpy Generator or None; got -1
    """
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    if seed is None:
        return as_seed(np.random.default_rng())
    if not (is_whole(seed) and 0 <= int(seed) < 2**63):
        raise ValueError(
            f"seed must be a whole number from 0 to 2**63 - 1, a numpy Generator or None; got {shown(seed)}"
        )
    return int(seed)
