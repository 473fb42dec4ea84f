"""Many contexts with the same arms, stored in columns: a row for each context, an array for each quantity."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanbounds.agents.arms import ArmsLearner, check_statistics, means_of
from meanbounds.agents.watch import found, read_seen, told_seen
from meanbounds.bounds import Arm, BoundsError, MeanBounds, checked_before
from meanbounds.evidence.contradictions import WATCHED_ERROR, Contradiction
from meanbounds.kernels.arms.tables import ADDED, State, complete
from meanbounds.kernels.tally import new_tally
from meanbounds.knowledge import Knowledge
from meanbounds.policies import Policy
from meanbounds.prior import Prior
from meanbounds.support.entries import Entries
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["Columns", "check_columns"]

_NO_SEED = -1
_TOLD = ("pulls", "updates")
_BY_ROW = ("lower", "upper", "_state", "pending", "retired", "pulls", "updates", "seed")


class Columns:
    """The bounds and the rewards so far of many contexts; `wake` makes a learner of a row, `rest` writes it back.

    A million contexts with five arms take a few hundred megabytes; as many agents would take several gigabytes.

    Parameters
    ----------
    like
        Bounds with the arms and reward ranges that all contexts have.
    lower, upper
        Bounds on the means: contexts x arms.

    Examples
    --------
    >>> import meanbounds as mb
    >>> columns = Columns(mb.MeanBounds.vacuous(2), np.array([[0.7, 0.2]]), np.array([[0.9, 0.6]]))
    >>> learner = columns.wake(0, mb.GLUE(), floor=0.0, seed=7)
    >>> learner.update(0, 1.0, history=False)
    >>> columns.rest(0, learner)
    >>> columns.plays
    array([[1, 0]])
    """

    def __init__(self, like: MeanBounds, lower: Floats, upper: Floats) -> None:
        size = len(lower)
        self._place = {arm: k for k, arm in enumerate(like.arms)}
        self.low, self.high = like.low.copy(), like.high.copy()
        self.lower, self.upper = lower, upper
        self._state = np.zeros((size, len(State._fields), len(like)))
        self.pending: Integers = np.zeros(lower.shape, dtype=np.int64)
        self.retired: Booleans = np.zeros(lower.shape, dtype=np.bool_)
        self.pulls, self.updates = (np.zeros(size, dtype=np.int64) for _ in range(2))
        self.seed: Integers = np.full(size, _NO_SEED, dtype=np.int64)
        self._prior: Floats | None = None  # mean and strength, contexts x 2 x arms; NaN where there is no prior
        self.seen: dict[int, Floats] = {}  # of the few contexts with contradicted bounds: see `ArmsLearner`
        self.size = size

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms, which all contexts share."""
        return tuple(self._place)

    @property
    def plays(self) -> Integers:
        """How many rewards each arm has had: contexts x arms."""
        plays: Integers = self._state[:, State._fields.index("plays")].astype(np.int64)
        return plays

    def fits(self, bounds: MeanBounds) -> bool:
        """Whether a row can hold these bounds: the same arms in the same order, with the same ranges.

        Examples
        --------
        >>> import meanbounds as mb
        >>> columns = Columns(mb.MeanBounds.vacuous(2), np.array([[0.7, 0.2]]), np.array([[0.9, 0.6]]))
        >>> columns.fits(mb.MeanBounds([0.1, 0.2], [0.3, 0.4])), columns.fits(mb.MeanBounds.vacuous(3))
        (True, False)
        """
        return (
            tuple(self._place) == bounds.arms
            and np.array_equal(self.low, bounds.low)
            and np.array_equal(self.high, bounds.high)
        )

    def takes(self, known: Knowledge) -> bool:
        """Whether a row can hold all of this: bounds that fit and stay certain, and perhaps a prior for each arm.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = mb.MeanBounds([0.1, 0.2], [0.3, 0.4])
        >>> columns = Columns(mb.MeanBounds.vacuous(2), np.array([[0.7, 0.2]]), np.array([[0.9, 0.6]]))
        >>> columns.takes(mb.Knowledge(bounds)), columns.takes(mb.Knowledge(bounds, trust=0.9))
        (True, False)
        """
        prior = known.prior
        listed = prior is None or (
            isinstance(prior, Prior) and isinstance(prior.mean, tuple) and isinstance(prior.strength, tuple)
        )
        return listed and known.is_certain and not known.ages and self.fits(known.bounds)

    def put(self, row: int, known: Knowledge) -> None:
        """Write what is known of a context, which `takes` allows, to its row."""
        self.lower[row], self.upper[row] = known.bounds.lower, known.bounds.upper
        if isinstance(known.prior, Prior):
            self._priors()[row] = known.prior.mean, known.prior.strength
        elif self._prior is not None:
            self._prior[row] = np.nan

    def _priors(self) -> Floats:
        """The column of priors, which is made when the first one comes."""
        if self._prior is None:
            self._prior = np.full((len(self.lower), 2, len(self._place)), np.nan)
        return self._prior

    def place(self, arm: Arm) -> int | None:
        """The column of an arm; None if there is no such arm."""
        return self._place.get(arm)

    def reserve(self, row: int) -> None:
        """Make room for a context in this row, the next one or one further on.

        Examples
        --------
        >>> import meanbounds as mb
        >>> columns = Columns(mb.MeanBounds.vacuous(2), np.array([[0.7, 0.2]]), np.array([[0.9, 0.6]]))
        >>> learner = columns.wake(0, mb.GLUE(), floor=0.0, seed=7)
        >>> columns.reserve(1)
        >>> columns.rest(1, learner)
        >>> columns.bounds(1)
        MeanBounds([0.7, 0.2], [0.9, 0.6])
        """
        if row >= len(self.lower):
            grown = {name: _longer(getattr(self, name), row) for name in _BY_ROW}
            grown["seed"][len(self.seed) :] = _NO_SEED
            if self._prior is not None:
                grown["_prior"] = _longer(self._prior, row)
                grown["_prior"][len(self._prior) :] = np.nan
            self.__dict__.update(grown)

    def bounds(self, row: int) -> MeanBounds:
        """The bounds of a context."""
        return checked_before(self._place, self.lower[row].copy(), self.upper[row].copy(), self.low, self.high)

    def knowledge(self, row: int) -> Knowledge:
        """What is known of a context.

        Examples
        --------
        >>> import meanbounds as mb
        >>> columns = Columns(mb.MeanBounds.vacuous(1), np.array([[0.7]]), np.array([[0.9]]))
        >>> columns.put(0, mb.Knowledge(mb.MeanBounds([0.6], [0.9]), prior=mb.Prior([0.8], [3])))
        >>> columns.knowledge(0)
        Knowledge(bounds=MeanBounds([0.6], [0.9]), prior=Prior(mean=(0.8,), strength=(3.0,)))
        """
        if self._prior is None or np.isnan(self._prior[row, 0, 0]):
            return Knowledge(self.bounds(row))
        return Knowledge(self.bounds(row), prior=Prior(*self._prior[row]))

    def wake(
        self, row: int, policy: Policy, floor: float, seed: int, *, error: float = WATCHED_ERROR, where: str = ""
    ) -> ArmsLearner:
        """Make the learner of a context.

        Parameters
        ----------
        row
            The context.
        policy, floor
            As for `meanbounds.Agent`.
        seed
            The seed of a context that has none yet; one that was used before keeps its own.
        error, where
            As for `ArmsLearner`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> columns = Columns(mb.MeanBounds.vacuous(2), np.array([[0.7, 0.2]]), np.array([[0.9, 0.6]]))
        >>> columns.wake(0, mb.GLUE(), floor=0.0, seed=7).pull(None, None)
        0
        """
        own = int(self.seed[row])
        used = seed if own == _NO_SEED else own
        return ArmsLearner(
            policy,
            self.knowledge(row),
            used,
            floor,
            table=self._state[row].copy(),
            tally=new_tally(used, self.pending[row], int(self.pulls[row]), int(self.updates[row])),
            retired=frozenset(np.flatnonzero(self.retired[row]).tolist()),
            seen=self.seen.get(row),
            error=error,
            where=where,
        )

    def rest(self, row: int, learner: ArmsLearner) -> None:
        """Write a learner back to its row; the inverse of `wake`."""
        self.put(row, learner.known)
        self._state[row] = learner.table
        self.pending[row] = learner.pending
        self.retired[row] = False
        self.retired[row, list(learner.standing.retired)] = True
        self.pulls[row], self.updates[row] = learner.pulls, learner.updates
        self._keep_seen(row, learner.seen)
        if learner.pulls or learner.updates:  # else the next to wake it gives the same seed: looking leaves no trace
            self.seed[row] = learner.seed

    def clear(self, row: int) -> None:
        """Erase the bounds and the rewards of a context; its row stays, empty."""
        for column in (self.lower, self.upper, self._state, self.pending, self.retired, self.pulls, self.updates):
            column[row] = 0
        self.seed[row] = _NO_SEED
        if self._prior is not None:
            self._prior[row] = np.nan
        self.seen.pop(row, None)

    def _keep_seen(self, row: int, seen: Floats) -> None:
        if seen.any():
            self.seen[row] = seen
        else:
            self.seen.pop(row, None)

    def contradictions(self, row: int, errors: tuple[float, float]) -> list[Contradiction]:
        """The contradicted bounds of a context; see `meanbounds.agents.watch.found`."""
        state, bounds = State(*self._state[row]), self.bounds(row)
        rewards, seen = (state.plays.astype(np.int64), means_of(state, bounds)), np.zeros((2, len(bounds)))
        sums = state.total, state.shortfall
        return found(bounds, sums, rewards, self.pending[row], self.seen.get(row, seen), errors)

    def extended(self, bounds: MeanBounds) -> Columns:
        """The same contexts with one more arm in each.

        Parameters
        ----------
        bounds
            Bounds on this arm alone, the same in every context; its name is theirs.

        Examples
        --------
        >>> import meanbounds as mb
        >>> columns = Columns(mb.MeanBounds.vacuous(1), np.array([[0.7], [0.1]]), np.array([[0.9], [0.5]]))
        >>> columns.extended(mb.MeanBounds([0.0], [0.6], arms=["new"])).bounds(1)
        MeanBounds([0.1, 0.0], [0.5, 0.6], arms=[0, 'new'])
        """
        grown = copy.copy(self)
        grown._place = {**self._place, bounds.arms[0]: len(self._place)}
        grown.low, grown.high = np.append(self.low, bounds.low), np.append(self.high, bounds.high)
        for name, value in (("lower", bounds.lower[0]), ("upper", bounds.upper[0]), ("pending", 0), ("retired", False)):
            old = getattr(self, name)
            setattr(grown, name, np.column_stack([old, np.full(len(old), value, dtype=old.dtype)]))
        grown.seen = {row: np.hstack([seen, np.zeros((2, 1))]) for row, seen in self.seen.items()}
        grown._state = np.concatenate([self._state, np.zeros((*self._state.shape[:2], 1))], axis=2)
        if self._prior is not None:
            nothing = np.array([0.5 * (bounds.low[0] + bounds.high[0]), 2.0])  # as `Knowledge.with_arm` has it
            new = np.where(np.isnan(self._prior[:, :, 0]), np.nan, nothing)
            grown._prior = np.concatenate([self._prior, new[:, :, None]], axis=2)
        return grown

    def with_own_bounds(self) -> Columns:
        """The same contexts, with bounds and retired arms that can be changed without changing these."""
        own = copy.copy(self)
        own.lower, own.upper, own.retired = self.lower.copy(), self.upper.copy(), self.retired.copy()
        own._prior = None if self._prior is None else self._prior.copy()
        own.seen = dict(self.seen)
        return own

    def told_priors(self, rows: list[int]) -> dict[str, Any]:
        """The priors of these contexts in values that JSON can hold, None where there is none; nothing if all are."""
        if self._prior is None or np.isnan(self._prior[rows]).all():
            return {}
        listed = [None if np.isnan(own[0, 0]) else own.tolist() for own in self._prior[rows]]
        return {"priors": listed}

    def recall_priors(self, rows: list[int], saved: Entries) -> None:
        """Restore priors from the result of `told_priors`; the policy must be able to use them."""
        listed, shape = saved.sequence("priors"), (2, len(self._place))
        if len(listed) != len(rows):
            raise saved.fail(f"priors has {len(listed)} entries for {len(rows)} contexts")
        for row, own in zip(rows, listed, strict=True):
            if own is not None:
                numbers = Entries({"priors": own}, saved.what).numbers("priors", shape)
                self._priors()[row] = numbers
        like = MeanBounds.vacuous(self.arms, low=self.low, high=self.high)
        for row in self._suspects(rows):
            Prior(*self._priors()[row]).rows(like)

    def _suspects(self, rows: list[int]) -> list[int]:
        """Contexts whose prior may be refused; to make an object of every one would take minutes for a million."""
        prior = self._priors()
        some = [row for row in rows if not np.isnan(prior[row, 0, 0])]
        mean, strength = prior[some, 0], prior[some, 1]
        share = (mean - self.low) / (self.high - self.low)
        least = strength * np.minimum(share, 1.0 - share)
        usual = np.all((share > 0.0) & (share < 1.0) & (least >= 1e-5) & (strength <= 1e11), axis=1)
        return [some[k] for k in np.flatnonzero(~usual)]

    def first_prior(self) -> int | None:
        """The first row that has a prior; None if there is none."""
        if self._prior is None:
            return None
        found = np.flatnonzero(~np.isnan(self._prior[:, 0, 0]))
        return int(found[0]) if found.size else None

    def told(self, row: int) -> dict[str, Any] | None:
        """The rewards and pulls of a context, in values that JSON can hold; None if it was never used.

        Examples
        --------
        >>> import meanbounds as mb
        >>> columns = Columns(mb.MeanBounds.vacuous(2), np.array([[0.7, 0.2]]), np.array([[0.9, 0.6]]))
        >>> columns.told(0) is None
        True
        >>> learner = columns.wake(0, mb.GLUE(), floor=0.0, seed=7)
        >>> learner.update(0, 1.0, history=False)
        >>> columns.rest(0, learner)
        >>> columns.told(0)["updates"]
        1
        """
        if not self._is_used(row):
            return None
        return {
            "seed": int(self.seed[row]),
            **{name: int(getattr(self, name)[row]) for name in _TOLD},
            "pending": self.pending[row].tolist(),
            "retired": np.flatnonzero(self.retired[row]).tolist(),
            "state": self._state[row].tolist(),
            **(told_seen(self.seen[row]) if row in self.seen else {}),
        }

    def told_all(self, rows: list[int]) -> dict[int, dict[str, Any]]:
        """What `told` says of each of these contexts that was ever used; the others take next to no time."""
        used = np.array(rows, dtype=np.int64)[self._is_used(rows)]
        return {row: told for row in used.tolist() if (told := self.told(row)) is not None}

    def _is_used(self, rows: int | list[int]) -> Booleans:
        """Whether contexts were ever pulled, updated, had an arm retired, or were given a seed of their own."""
        used: Booleans = (self.pulls[rows] > 0) | (self.updates[rows] > 0) | (self.seed[rows] != _NO_SEED)
        return used | self.retired[rows].any(axis=-1)

    def recall(self, row: int, told: Mapping[str, Any]) -> None:
        """Restore the rewards and pulls of a context from the result of `told`."""
        saved, arms = Entries(told, f"context number {row}"), len(self._place)
        whole = len(saved.sequence("state")) == len(State._fields)
        rows = len(State._fields) - (0 if whole else len(ADDED))  # versions up to 0.2 had fewer
        state, pending = complete(saved.numbers("state", (rows, arms))), saved.wholes("pending", arms)
        pulls, updates = (saved.whole(name) for name in _TOLD)
        check_statistics(saved, state, updates)
        if pending.sum() > pulls:
            raise saved.fail(f"{int(pending.sum())} pulls are pending, but there were only {pulls}")
        retired = saved.sequence("retired")
        if any(isinstance(k, bool) or not isinstance(k, int) or not 0 <= k < arms for k in retired):
            raise saved.fail(f"retired must list positions from 0 to {arms - 1}; got {retired}")
        self._state[row], self.pending[row], self.seed[row] = (
            state,
            pending,
            saved.whole("seed", low=_NO_SEED, high=2**63 - 1),
        )
        self.retired[row, retired] = True
        self.pulls[row], self.updates[row] = pulls, updates
        self._keep_seen(row, read_seen(saved, arms, updates))


def _longer(column: NDArray[Any], row: int) -> NDArray[Any]:
    """The column with zeros at its end: twice as long, and long enough for this row."""
    room = np.zeros((max(16, len(column), row + 1 - len(column)), *column.shape[1:]), dtype=column.dtype)
    return np.concatenate([column, room])


def check_columns(like: MeanBounds, lower: Floats, upper: Floats) -> None:
    """Refuse bounds, contexts x arms, unless ``low <= lower <= upper <= high`` for each.

    Examples
    --------
    >>> check_columns(MeanBounds.vacuous(1), np.array([[0.2], [0.6]]), np.array([[0.9], [0.5]]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    meanbounds.bounds.BoundsError: context number 1, arm 0: needs low <= lower <= upper <= high; got lower=0.6, ...
    """
    wrong = ~((like.low <= lower) & (lower <= upper) & (upper <= like.high))
    for row, k in np.argwhere(wrong).tolist():
        raise BoundsError(
            f"context number {row}, arm {like.arms[k]!r}: needs low <= lower <= upper <= high; got "
            f"lower={lower[row, k]}, upper={upper[row, k]} in the range [{like.low[k]}, {like.high[k]}]"
        )
