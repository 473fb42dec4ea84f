"""Which bounds the rewards contradict, over all arms and contexts at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import EXPERT, Arm
from meanbounds.evidence.processes import against, check_error
from meanbounds.known import Known, Seen
from meanbounds.support.checks import shown
from meanbounds.support.entries import Entries
from meanbounds.support.types import Booleans, Floats

__all__ = ["ERROR", "Contradiction", "ContradictionWarning", "Watch", "contradicted", "weigh"]

ERROR = 0.01
"""The probability with which an agent ever warns of a bound although all of its bounds hold."""

_SIDES = ("lower", "upper")


@dataclass(frozen=True)
class Contradiction:
    """A bound that the rewards of its arm contradict.

    `side` is ``"lower"`` or ``"upper"``; `plays` and `mean` are those of the arm's rewards; `log_e` is the logarithm of
    the e-process against the bound; `since` says after how many rewards of the arm the warning came, None if none came.
    """

    arm: Any  # its position until `named`
    side: str
    bound: float
    plays: int
    mean: float
    log_e: float
    context: Any = None
    since: int | None = None

    def named(self, arm: Arm, context: Any = None) -> Contradiction:
        """The same with the names of the arm and of the context in place of their positions."""
        return replace(self, arm=arm, context=context)

    def __str__(self) -> str:
        where = "" if self.context is None else f"context {self.context!r}, "
        if self.arm is EXPERT:
            how, than = ("better", "most") if self.side == "upper" else ("worse", "least")
            return (
                f"{where}the experts do {how} than the log says: in {self.plays:,} cases they earned {self.mean:.4g}, "
                f"where it was to be at {than} {self.bound:.6g} (e-value {exp(min(self.log_e, 700.0)):.2g})"
            )
        rewards, verb = ("1 reward", "contradicts") if self.plays == 1 else (f"{self.plays:,} rewards", "contradict")
        return (
            f"{where}arm {self.arm!r}: {rewards} with mean {self.mean:.4g} {verb} its {self.side} bound "
            f"{self.bound:.6g} (e-value {exp(min(self.log_e, 700.0)):.2g})"
        )


class ContradictionWarning(UserWarning):
    """Warning that the rewards of an arm contradict a bound on its mean; an agent gives it once for each bound.

    Its attribute `contradiction` has the arm, the bound and the evidence.
    """

    def __init__(self, contradiction: Contradiction) -> None:
        super().__init__(
            f"{contradiction}. The bound is wrong, or the rewards are not what it was made for. Check the log or the "
            f"judgement that it came from; then replace the bounds, or lower the trust in them"
        )
        self.contradiction = contradiction


class Watch:
    """What an agent keeps so that it warns once of each bound that its rewards contradict.

    If all bounds hold, `look` ever finds one with probability at most `error`, however long the agent runs, and as much
    again in contexts that are added later. Contexts have equal shares of the error, and so have the bounds of a context
    that say something. Bounds may be replaced at any time; new ones spend that share again.

    It starts with so many contexts, and with what `to_list` returned.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.known import Known
    >>> known, watch = Known.of([mb.Knowledge(mb.MeanBounds([0.2], [0.5]))]), mb.evidence.Watch()
    >>> for plays in range(1, 20):
    ...     found = watch.look(known, row=0, arm=0, plays=plays, total=plays, squares=plays)
    ...     if found is not None:
    ...         print(found.named("a"))
    arm 'a': 12 rewards with mean 1 contradict its upper bound 0.5 (e-value 3.8e+02)
    """

    __slots__ = ("_found", "_least", "error", "rows")

    def __init__(self, rows: int = 1, error: float = ERROR, found: Iterable[Sequence[Any]] = ()) -> None:
        self.rows, self.error = rows, check_error(error)
        self._least = log(rows / error)  # no level is lower
        self._found = {(row, arm, side): (bound, plays) for row, arm, side, bound, plays in found}

    def look(
        self, known: Known, row: int, arm: int, plays: float, total: float, squares: float, pending: float = 0.0
    ) -> Contradiction | None:
        """The bound of an arm that is contradicted for the first time, if there is one; nearly always cheap.

        `known` has one row for each context, or one for all; `row` and `arm` are positions. The rest is the number of
        the arm's rewards, their sum and that of their squares in units of the arm's range, and how many are to come.
        """
        own = row % known.lower.shape[0]
        low, width, lacks = known.low.item(own, arm), known.width.item(own, arm), plays - total
        upper, lower = (known.upper.item(own, arm) - low) / width, (known.lower.item(own, arm) - low) / width
        over = _may_reach(self._least, total, lacks, upper, 1.0 - upper, squares, pending)
        if not (over or _may_reach(self._least, lacks, total, 1.0 - lower, lower, lacks - total + squares, pending)):
            return None
        side, bound = ("upper", known.upper.item(own, arm)) if over else ("lower", known.lower.item(own, arm))
        if self._found.get((row, arm, side), (None,))[0] == bound:
            return None
        one, numbers = known.row(own), np.zeros((5, 1, known.lower.shape[1]))
        numbers[:, 0, arm] = plays, total, squares, 0.0, pending
        which = contradicted(one, Seen(*numbers[:4]), numbers[4], error=self.error, contexts=self._contexts(row))
        if not which.any():
            return None
        self._found[row, arm, side] = (bound, int(plays))
        (found,) = _described(one, Seen(*numbers[:4]), numbers[4], which)
        return replace(found, context=row, since=int(plays))

    def contradictions(
        self, known: Known, seen: Seen, pending: Floats | None = None, error: float | None = None
    ) -> list[Contradiction]:
        """The bounds that are contradicted now, at this error; without one, also those that `look` has found."""
        contexts = self._contexts(np.arange(len(seen.plays)))
        which = contradicted(known, seen, pending, error=self.error if error is None else error, contexts=contexts)
        since = {}
        for (row, arm, side), (bound, plays) in self._found.items():
            bounds = known.upper if side == "upper" else known.lower
            if bounds[row % len(bounds), arm] == bound:
                since[row, arm, side] = plays
                which[_SIDES.index(side), row, arm] |= error is None
        found = _described(known, seen, pending, which)
        return [replace(one, since=since.get((one.context, one.arm, one.side))) for one in found]

    def forget(self, row: int) -> None:
        """Forget what was found in a context."""
        self._found = {key: value for key, value in self._found.items() if key[0] != row}

    def to_list(self) -> list[list[Any]]:
        """What was found, in values that JSON can hold."""
        return [[*key, *value] for key, value in self._found.items()]

    def _contexts(self, row: ArrayLike) -> Floats:
        """One over a context's share of the error; those added later have ``1 / (1 * 2) + 1 / (2 * 3) + ...``."""
        batch = np.reshape(row, (-1, 1)) // self.rows
        return self.rows * np.maximum(1.0, batch * (batch + 1.0))


def read_found(saved: Entries, rows: Collection[int], arms: int) -> list[Any]:
    """What `Watch.to_list` wrote, from the entry `contradicted` of a saved agent with these rows and so many arms."""
    for one in saved.list("contradicted"):
        kinds = [type(part) for part in one] if isinstance(one, list) else []
        fine = kinds == [int, int, str, float, int] and one[0] in rows and 0 <= one[1] < arms and abs(one[3]) < np.inf
        if not (fine and one[2] in _SIDES):
            raise saved.wrong(f"contradicted must list row, arm, side, bound and rewards; got {shown(one)}")
    return saved.list("contradicted")


def contradicted(
    known: Known, seen: Seen, pending: Floats | None = None, *, error: float = ERROR, contexts: ArrayLike = 1.0
) -> Booleans:
    """Which bounds are contradicted in each row: lower bounds first, shape (2, rows, arms).

    Rewards to come count for the bounds. If all hold, one is ever named with probability at most `error`, which so many
    `contexts` share; runs do not.

    Examples
    --------
    An arm pays 28 of 30, though its upper bound says 26; two runs, with 50 and with 150 plays:

    >>> import meanbounds as mb
    >>> known = Known.of([mb.Knowledge(mb.MeanBounds([0.0], [26.0], high=30.0))])
    >>> plays, pays = np.array([[50.0], [150.0]]), 28 / 30
    >>> contradicted(known, Seen(plays, pays * plays, pays**2 * plays, plays))[1].ravel()
    array([False,  True])
    """
    says = np.count_nonzero(known.lower > known.low, axis=1) + np.count_nonzero(known.upper < known.high, axis=1)
    tests = _tests(known, seen, pending)
    level = np.log(np.maximum(says, 1))[:, None] + np.log(contexts) - log(check_error(error))
    level = np.broadcast_to(level, tests[0].shape)
    which: Booleans = _may_reach(level, *tests)
    which[which] = against(*(part[which] for part in tests)) >= level[which]
    return which


def weigh(known: Known, seen: Seen, pending: Floats | None = None) -> Floats:
    """Logarithms of the e-processes against all bounds, 0 for those that say nothing; shape (2, rows, arms)."""
    tests = _tests(known, seen, pending)
    return np.where(tests[2] < 1.0, against(*tests), 0.0)


def _tests(known: Known, seen: Seen, pending: Floats | None) -> Any:
    """What `against` takes, for lower bounds and for upper bounds: arrays of shape (2, rows, arms)."""
    wins, lacks = seen.total, np.maximum(seen.plays - seen.total, 0.0)
    late = np.zeros(wins.shape) if pending is None else pending
    bound = (known.high - known.lower) / known.width, (known.upper - known.low) / known.width
    rest = (known.lower - known.low) / known.width, (known.high - known.upper) / known.width
    squares = np.maximum(lacks - wins + seen.squares, 0.0), seen.squares
    pairs = (lacks, wins), (wins, lacks), bound, rest, squares, (late, late)
    return [np.array([np.broadcast_to(part, wins.shape) for part in pair]) for pair in pairs]


def _may_reach(level: Any, wins: Any, lacks: Any, bound: Any, rest: Any, squares: Any, late: Any) -> Any:
    """Where an e-process may be as large as a level above 0; cheap, and False for most means within their bounds.

    With m for what the sum of rewards is ahead of the bound u, products of the first kind are at most
    ``exp(n kl(mean, u))``, and ``n kl(mean, u) <= m^2 / (n u (1 - u))``. Those of the second kind are at most
    ``exp(m^2 / (2 v))`` with v for the sum of the squared distances from u, since R >= 1/2.
    """
    size, ahead = wins + lacks + late, wins * rest - (lacks + late) * bound
    spread = squares - 2.0 * bound * wins + size * bound * bound
    square = ahead * ahead * (1.0 + 1e-9)
    return (ahead > 0.0) & ((square >= level * size * bound * rest) | (square >= 2.0 * level * spread))


def _described(known: Known, seen: Seen, pending: Floats | None, which: Booleans) -> list[Contradiction]:
    """Some bounds as contradictions, by row and arm, with positions for names."""
    found = []
    for row, arm, side in np.argwhere(which.transpose(1, 2, 0)).tolist():
        one, own = known.row(row % len(known.lower)), seen.row(row)
        value = weigh(one, own, None if pending is None else pending[row : row + 1]).item(side, 0, arm)
        with np.errstate(invalid="ignore"):  # other arms may have no rewards
            bound, mean = (one.lower, one.upper)[side].item(0, arm), own.mean(one).item(0, arm)
        found.append(Contradiction(arm, _SIDES[side], bound, int(own.plays.item(0, arm)), mean, value, row))
    return found
