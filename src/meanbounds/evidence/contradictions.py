"""Which bounds the rewards contradict, over all arms and contexts at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import exp, inf, log
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import Arm, MeanBounds, check_bounds
from meanbounds.evidence.processes import check_error, in_units, log_e
from meanbounds.known import Known, Seen
from meanbounds.support.types import Booleans, Floats

__all__ = [
    "ERROR",
    "Contradiction",
    "ContradictionWarning",
    "Watch",
    "contradicted",
    "excluded",
    "find_contradictions",
    "log_e_of_bounds",
]

ERROR = 0.01
"""The probability with which an agent ever warns of a bound although all of its bounds hold."""

Side = Literal["lower", "upper"]
_SIDES: tuple[Side, Side] = ("lower", "upper")


@dataclass(frozen=True)
class Contradiction:
    """A bound that the rewards of its arm contradict.

    Attributes
    ----------
    arm
        The name of the arm.
    side
        ``"upper"`` or ``"lower"``.
    bound
        The bound, in reward units.
    plays, mean
        How many rewards the arm has had, and their mean.
    log_e
        The logarithm of the e-process against the bound after these rewards.
    context
        The name of the context; None for an agent without contexts.
    since
        After how many rewards of the arm the warning came; None if there was none.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.2], [0.5], arms=["a"])
    >>> print(*mb.evidence.find_contradictions(bounds, plays=[100], total=[80]))
    arm 'a': 100 rewards with mean 0.8 contradict its upper bound 0.5 (e-value 3.7e+07)
    """

    arm: Arm
    side: Side
    bound: float
    plays: int
    mean: float
    log_e: float
    context: Any = None
    since: int | None = None

    @property
    def e_value(self) -> float:
        """The e-process itself; infinite if it is too large for a float."""
        return exp(self.log_e) if self.log_e < 709.0 else inf

    def named(self, arm: Arm, context: Any = None) -> Contradiction:
        """The same with the names of the arm and of the context."""
        return replace(self, arm=arm, context=context)

    def __str__(self) -> str:
        where = "" if self.context is None else f"context {self.context!r}, "
        rewards = "1 reward" if self.plays == 1 else f"{self.plays:,} rewards"
        verb = "contradicts" if self.plays == 1 else "contradict"
        size = f"e-value {self.e_value:.2g}" if self.e_value < inf else f"e-value exp({self.log_e:.4g})"
        strength = size if self.log_e < inf else "for certain"
        return (
            f"{where}arm {self.arm!r}: {rewards} with mean {self.mean:.4g} {verb} its {self.side} bound "
            f"{self.bound:.6g} ({strength})"
        )


class ContradictionWarning(UserWarning):
    """Warning that the rewards of an arm contradict a bound on its mean; an agent gives it once for each bound.

    Attributes
    ----------
    contradiction
        The arm, the bound and the evidence, as a `Contradiction`.
    """

    contradiction: Contradiction

    def __init__(self, contradiction: Contradiction) -> None:
        super().__init__(
            f"{contradiction}. The bound is wrong, or the rewards are not what it was made for. Check the log or the "
            f"judgement that it came from; then replace the bounds, or lower the trust in them"
        )
        self.contradiction = contradiction


class Watch:
    """What an agent keeps to warn once of each bound that its rewards contradict.

    If all bounds hold, `look` ever finds one with probability at most `error`, however long the agent runs, and with
    at most as much again in contexts that are added later. Each context has an equal share of the error, in it each
    bound that says something. Bounds may be replaced at any time: the watch looks at those it is given.

    Parameters
    ----------
    rows
        How many contexts there are at the start.
    error
        The probability of a false alarm.
    found
        The contradictions found so far, as `to_list` returned them.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.known import Known
    >>> known = Known.of([mb.Knowledge(mb.MeanBounds([0.2], [0.5]))])
    >>> watch = Watch()
    >>> print(watch.look(known, row=0, arm=0, plays=5.0, total=5.0, squares=5.0))
    None
    >>> print(watch.look(known, row=0, arm=0, plays=20.0, total=20.0, squares=20.0).named("a"))
    arm 'a': 20 rewards with mean 1 contradict its upper bound 0.5 (e-value 4.3e+04)
    >>> print(watch.look(known, row=0, arm=0, plays=21.0, total=21.0, squares=21.0))  # it was found before
    None
    """

    __slots__ = ("_found", "error", "rows")

    def __init__(self, rows: int = 1, error: float = ERROR, found: Iterable[Any] = ()) -> None:
        self.rows, self.error = rows, check_error(error)
        self._found = {(row, arm, side): (bound, plays) for row, arm, side, bound, plays in found}

    def look(
        self, known: Known, row: int, arm: int, plays: float, total: float, squares: float, pending: float = 0.0
    ) -> Contradiction | None:
        """The bound of an arm that is contradicted now for the first time, if there is one; cheap.

        Parameters
        ----------
        known
            What is known: one row for each context, or one for all.
        row, arm
            The positions of the context and of the arm, which are also the names in the answer; see
            `Contradiction.named`.
        plays, total, squares
            The number of the arm's rewards, their sum and that of their squares, in units of the arm's range.
        pending
            How many rewards are still to come; they count for the bound.
        """
        raise NotImplementedError

    def contradictions(
        self, known: Known, seen: Seen, pending: Floats | None = None, error: float = ERROR
    ) -> list[Contradiction]:
        """All bounds that are contradicted now, and those that `look` has found if `error` is at least its own."""
        raise NotImplementedError

    def forget(self, row: int) -> None:
        """Forget what was found in a context."""
        self._found = {key: value for key, value in self._found.items() if key[0] != row}

    def to_list(self) -> list[list[Any]]:
        """What was found, in values that JSON can hold."""
        return [[*key, *value] for key, value in self._found.items()]


def contradicted(
    known: Known, seen: Seen, pending: Floats | None = None, *, error: float = ERROR, contexts: int | None = None
) -> Booleans:
    """Which bounds are contradicted in each row, as a `Watch` finds them: lower ones first, shape (2, rows, arms).

    Parameters
    ----------
    known, seen, pending
        What is known of the arms, what was seen of them, and how many rewards are still to come.
    error
        The probability of a false alarm.
    contexts
        How many contexts share the error; 1 where rows are runs of a simulation.
    """
    raise NotImplementedError


def log_e_of_bounds(known: Known, seen: Seen, pending: Floats | None = None) -> Floats:
    """Logarithms of the e-processes against all bounds: lower ones first, shape (2, rows, arms).

    A bound at the end of the range says nothing, and has 0.
    """
    raise NotImplementedError


def find_contradictions(
    bounds: MeanBounds,
    plays: ArrayLike,
    total: ArrayLike,
    *,
    squares: ArrayLike | None = None,
    missing: ArrayLike = 0,
    error: float = ERROR,
) -> list[Contradiction]:
    """The bounds that rewards contradict; rewards may come from anywhere.

    Parameters
    ----------
    bounds
        The bounds, made without looking at these rewards.
    plays, total
        For each arm the number of rewards and their sum.
    squares, missing
        As for `log_e_upper`, for each arm.
    error
        The probability with which any bound is ever named if all hold, however often you look.
    """
    raise NotImplementedError


def excluded(known: Known) -> Booleans:
    """Which arms their bounds alone exclude, for certain: they are never played, so nothing can contradict them.

    Examples
    --------
    >>> import meanbounds as mb
    >>> excluded(Known.of([mb.Knowledge(mb.MeanBounds([0.5, 0.1, 0.1], [0.9, 0.4, 0.3]), trust=1.0)]))
    array([[False,  True,  True]])
    """
    return ~known.possible
