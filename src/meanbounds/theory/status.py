"""Whether each arm is pruned, played rarely, or played for ever, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import Arm, MeanBounds
from meanbounds.policies import GLUE
from meanbounds.support.tables import text_table
from meanbounds.theory.constants import asymptotic_plays
from meanbounds.theory.given import check_means, check_optimism
from meanbounds.theory.glue import meta_pruned_plays

__all__ = ["ArmStatus", "ArmStatuses", "arm_status"]


@dataclass(frozen=True)
class ArmStatus:
    """How often GLUE plays one arm, and why: one line of `arm_status`.

    Attributes
    ----------
    arm
        Name of the arm.
    kind
        ``"best"``, ``"live"``, ``"meta-pruned"`` or ``"pruned"``; see `arm_status`.
    sentence
        The reason, with the numbers.

    Examples
    --------
    >>> import meanbounds as mb
    >>> (best, rival) = mb.theory.arm_status([0.9, 0.5], mb.MeanBounds([0.7, 0.3], [0.95, 0.75], arms=["a", "b"]))
    >>> rival.kind
    'meta-pruned'
    >>> print(best)
    'a' is best: its mean 0.9 is the largest
    """

    arm: Arm
    kind: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.arm!r} is {self.kind}: {self.sentence}"


@dataclass(frozen=True)
class ArmStatuses:
    """The status of all arms, in the order of the bounds; print it to see a line for each.

    Attributes
    ----------
    rows
        An `ArmStatus` for each arm.

    Examples
    --------
    >>> import meanbounds as mb
    >>> found = mb.theory.arm_status([0.9, 0.4], mb.MeanBounds([0.7, 0.1], [0.95, 0.6], arms=["a", "d"]))
    >>> [row.kind for row in found]
    ['best', 'pruned']
    >>> print(found)
    'a'  best    its mean 0.9 is the largest
    'd'  pruned  its upper bound 0.6 is not above the largest lower bound 0.7 (arm 'a'), so it is never played
    """

    rows: tuple[ArmStatus, ...]

    def __iter__(self) -> Iterator[ArmStatus]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def arms(self, kind: str) -> tuple[Arm, ...]:
        """List the arms of one kind: ``"best"``, ``"live"``, ``"meta-pruned"`` or ``"pruned"``.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.theory.arm_status([0.9, 0.4], mb.MeanBounds([0.7, 0.1], [0.95, 0.6], arms=["a", "d"])).arms("pruned")
        ('d',)
        """
        if kind not in _KINDS:
            raise ValueError(f"kind must be one of {', '.join(map(repr, _KINDS))}; got {kind!r}")
        return tuple(row.arm for row in self.rows if row.kind == kind)

    def __str__(self) -> str:
        return text_table(None, [(repr(row.arm), row.kind, row.sentence) for row in self.rows], align="lll")


_KINDS = ("best", "live", "meta-pruned", "pruned")


def arm_status(means: ArrayLike, bounds: MeanBounds) -> ArmStatuses:
    """Say how often GLUE plays each arm, and which numbers decide that.

    GLUE never plays a pruned arm. It plays a meta-pruned one a bounded number of times, however long it runs, a live
    one a multiple of log n times, and a best one in all other rounds.

    Parameters
    ----------
    means
        The true means, in reward units, in the order of the bounds' arms.
    bounds
        Bounds that hold.

    Returns
    -------
    ArmStatuses
        A line for each arm, in the order of the bounds.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.7, 0.2, 0.3, 0.1], [0.95, 0.93, 0.75, 0.6], arms=["a", "b", "c", "d"])
    >>> found = mb.theory.arm_status([0.9, 0.8, 0.5, 0.4], bounds)
    >>> found.arms("live"), found.arms("meta-pruned")
    (('b',), ('c',))
    >>> print(found.rows[3])
    'd' is pruned: its upper bound 0.6 is not above the largest lower bound 0.7 (arm 'a'), so it is never played
    """
    mu, policy = check_means(means, bounds), GLUE()
    best = float(mu.max())
    first = bounds.arms[int(np.argmax(bounds.lower))]
    often = asymptotic_plays(policy, mu, bounds)
    seldom = meta_pruned_plays(check_optimism(policy, mu, bounds), best - bounds.upper)
    possible, meta_pruned = bounds.possible, bounds.meta_pruned(best)
    rows = []
    for k, arm in enumerate(bounds.arms):
        upper = f"its upper bound {bounds.upper[k]:.6g} is"
        if not possible[k]:
            kind, largest = "pruned", f"the largest lower bound {bounds.best_lower:.6g} (arm {first!r})"
            why = f"{upper} not above {largest}, so it is never played"
        elif mu[k] == best:
            kind, why = "best", f"its mean {best:.6g} is the largest"
        elif meta_pruned[k]:
            kind = "meta-pruned"
            times = f"played at most {seldom[k]:.3g} times in expectation, however long it goes on"
            why = f"{upper} below the best mean {best:.6g}: {times}"
        else:
            kind = "live"
            times = f"played at most about {often[k]:.3g} log n times in the long run"
            why = f"{upper} not below the best mean {best:.6g}: {times}"
        rows.append(ArmStatus(arm, kind, why))
    return ArmStatuses(tuple(rows))
