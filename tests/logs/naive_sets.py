"""Which sets of other arms promise the best lower limit for an arm, with numpy; the twin of `kernels.logs.sets`.

The kernel explains the search.
"""

from __future__ import annotations

from functools import lru_cache
from math import log

import numpy as np
from numpy.typing import NDArray

from meanbounds.support.types import Booleans, Floats

__all__ = ["promising_sets"]

_FEW = 4  # arms up to which all sets are tried
_SORTS = 3
_OF_EACH = 2  # sizes taken from each sort


def promising_sets(
    rows: Floats,
    total: Floats,
    squares: Floats,
    arms: NDArray[np.intp],
    gap: float,
    price: Floats,
    method: str,
) -> tuple[Booleans, NDArray[np.intp]]:
    """For each of these arms a few sets of other arms whose lower limits look best, and the sizes of the sets.

    Parameters
    ----------
    rows, total, squares
        Of each arm in one context, with rewards in [0, 1].
    arms
        The places of the arms that get sets.
    gap
        The largest gap between the best and the worst arm.
    price
        Minus the logarithm of the share of each set of s other arms, for s = 0, 1, 2, ...
    method
        The method of the limits.

    Returns
    -------
    Sets, arms x tried x all arms, and sizes, arms x tried.

    Examples
    --------
    Of five arms only the means of the second and the third, 0.9 and 0.8, are above the gap:

    >>> import numpy as np
    >>> from tests.logs.naive_sets import promising_sets
    >>> rows, total = np.full(5, 1000.0), np.array([500.0, 900.0, 800.0, 100.0, 100.0])
    >>> sets, sizes = promising_sets(rows, total, total, np.array([0]), 0.5, np.full(5, 5.0), "bernstein")
    >>> sets[0, 0], sizes[0].tolist()
    (array([False,  True,  True, False, False]), [2, 1, 2, 1, 2, 1])
    """
    if rows.size <= _FEW:
        sets = every_set(rows.size)[arms]
        return sets, sets.sum(axis=2)
    everyone, count = np.arange(rows.size), rows.sum()
    adds = (total - gap * rows) / count
    adds_square = (squares - 2.0 * gap * total + gap * gap * rows) / count
    own = arms[:, None] == everyone
    tilt: Floats = np.zeros((arms.size, 1))
    kept: list[tuple[Booleans, NDArray[np.intp]]] = []
    for _ in range(_SORTS):
        score = adds - tilt * adds_square
        score[own] = -np.inf  # last, and left out
        order = np.argsort(-score, axis=1)[:, :-1]
        mean = total[arms, None] / count + np.cumsum(adds[order], axis=1)
        square = squares[arms, None] / count + np.cumsum(adds_square[order], axis=1)
        look = _look(mean, square, gap, count, price[1:], method)
        best = _largest(look)
        rank = np.full(own.shape, everyone.size)
        np.put_along_axis(rank, order, everyone[None, :-1], axis=1)
        kept.append((rank[:, None, :] <= best[:, :, None], best + 1))
        top = best[:, :1]
        at_mean, at_square = (np.take_along_axis(part, top, axis=1) for part in (mean, square))
        tilt = _tilt(at_mean, at_square, 2.0 * price[top + 1] / count)
    sets, sizes = (np.concatenate(parts, axis=1) for parts in zip(*kept, strict=True))
    return sets, sizes


@lru_cache(maxsize=_FEW)
def every_set(size: int) -> Booleans:
    """Return all non-empty sets of other arms for each of so many arms: arms x sets x arms.

    Examples
    --------
    >>> every_set(3)[0].astype(int)  # the second arm, the third, both
    array([[0, 1, 0],
           [0, 0, 1],
           [0, 1, 1]])
    """
    among_others = np.arange(1, 2 ** (size - 1))[:, None] >> np.arange(size - 1) & 1 == 1
    return np.array([np.insert(among_others, k, False, axis=1) for k in range(size)])


def _largest(look: Floats) -> NDArray[np.intp]:
    """The places of the few largest in each row, the largest first."""
    last = look.shape[1]
    some = min(_OF_EACH, last)
    places = np.argpartition(look, last - some, axis=1)[:, last - some :]
    order = np.argsort(-np.take_along_axis(look, places, axis=1), axis=1)
    return np.take_along_axis(places, order, axis=1)


def _look(mean: Floats, square: Floats, gap: float, count: float, price: Floats, method: str) -> Floats:
    """About the limits of sets with these means and mean squares."""
    width = 1.0 + gap
    if method == "hoeffding":
        return mean - width * np.sqrt(price / (2.0 * count))
    if method == "kl":
        square = (mean + gap) * width - 2.0 * gap * mean - gap * gap  # as if all mass were at the ends of the range
    level = price + log(2.0) if method == "bernstein" else price
    free = max(count - 1.0, 0.5)
    beyond = (7.0 / 3.0 if method == "bernstein" else 1.0 / 3.0) * width * level / free
    return mean - np.sqrt(np.maximum(square - mean * mean, 0.0) * (2.0 * level / free)) - beyond


def _tilt(mean: Floats, square: Floats, slope: Floats) -> Floats:
    """By how much a unit of square outweighs a unit of mean, at sets with this mean and square."""
    spread = np.sqrt(slope * np.maximum(square - mean * mean, 0.0))
    below = 2.0 * (spread + slope * mean)
    return np.divide(slope, below, out=np.zeros_like(slope), where=below > 0.0)
