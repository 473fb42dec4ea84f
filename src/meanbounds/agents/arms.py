"""The learner for arms without features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.agents.candidate import Candidate
from meanbounds.agents.learner import Learner, NoIndexError, Pending, check_has, check_reward
from meanbounds.bounds import Arm
from meanbounds.kernels.arms import delayed, textbook
from meanbounds.kernels.arms.tables import ADDED, State, complete
from meanbounds.kernels.random.stream import rounding_key
from meanbounds.knowledge import Knowledge
from meanbounds.policies import Plan, Policy
from meanbounds.policies.exploration import TABULATED, log_f_table
from meanbounds.support.types import Floats, Integers

__all__ = ["ArmsLearner"]

_REMEMBERED = 1024  # sets of eligible arms whose plan is cached


class ArmsLearner(Learner):
    """The state of an agent whose policy looks at each arm by itself; `meanbounds.Agent` is the public face.

    Parameters
    ----------
    policy
        How to decide.
    known
        The bounds on the arms.
    seed
        Whole number from which all random numbers follow.
    floor
        The smallest probability with which each arm that can be best is pulled.
    table
        Statistics of the rewards so far, a column for each arm; none by default.

    Examples
    --------
    >>> import meanbounds as mb
    >>> learner = ArmsLearner(mb.GLUE(), Knowledge(mb.MeanBounds([0.2, 0.3], [0.9, 0.8])), seed=7)
    >>> learner.update(learner.pull(None, None), 1.0, history=False)
    >>> learner.plays
    array([1, 0])
    """

    def __init__(
        self, policy: Policy, known: Knowledge, seed: int, floor: float = 0.0, table: Floats | None = None
    ) -> None:
        super().__init__(policy, known, seed, floor)
        self._policy = policy
        self._rounding = np.uint64(rounding_key(np.uint64(seed), 0))
        self._kernel = policy.kernel
        self._first, self._log_f = 0, log_f_table(policy.f, 0)
        self._hold(np.zeros((len(State._fields), len(self.bounds))) if table is None else table)
        self.take(known)

    def _hold(self, table: Floats) -> None:
        """Keep the statistics of the rewards in this table; its rows have names."""
        self.table, self._state = table, State(*table)

    def take(self, known: Knowledge) -> None:
        """Adopt this knowledge, and drop the plans made from the old."""
        self.known, self.bounds = known, known.bounds
        self._low, self._high = self.bounds.low.tolist(), self.bounds.high.tolist()
        self._place: dict[Arm | Candidate, int] = {arm: k for k, arm in enumerate(self.bounds.arms)}
        self._middle = delayed.middle_of(self.bounds.lower, self.bounds.upper, self.bounds.low, self.bounds.high)
        self._parameters = self._policy.parameters
        self._plans: dict[tuple[int, ...], Plan] = {}
        offered = tuple(k for k in range(len(self.bounds)) if k not in self.retired)
        self._plan = self._plan_for(offered) if offered else None

    def _plan_for(self, positions: tuple[int, ...]) -> Plan:
        """The plan for these arms; pruning, l_max and factors are computed from them alone."""
        plan = self._plans.get(positions)
        if plan is None:
            plan = self._policy.plan(self.known.subset(positions)).placed(positions)
            if len(self._plans) >= _REMEMBERED:
                self._plans.clear()
            self._plans[positions] = plan
        return plan

    def _offer(self, eligible: Any) -> Plan:
        """The plan for the arms on offer."""
        plan = self._plan if eligible is None else self._plan_for(self._positions(eligible))
        if plan is None:
            raise ValueError("no arm is left on offer: all are retired; add or restore one")
        return plan

    @property
    def policy(self) -> Policy:
        """The policy, which decides."""
        return self._policy

    @property
    def plays(self) -> Integers:
        """How many rewards each arm has had."""
        return self._state.plays.astype(np.int64)

    @property
    def means(self) -> Floats:
        """The mean reward of each arm so far; NaN for an arm without rewards."""
        plays = self._state.plays
        unit = np.divide(self._state.total, plays, out=np.full(plays.shape, np.nan), where=plays > 0)
        means: Floats = self.bounds.low + (self.bounds.high - self.bounds.low) * unit
        return means

    def pull(self, eligible: Any, pending: Pending | None) -> Any:
        """Choose an arm."""
        plan = self._plan if eligible is None and self._plan is not None else self._offer(eligible)
        counted = (pending is not None or self.unanswered > 0) and self._counts(pending)
        table, log_f = self._supposed() if counted else (self.table, self._log_f_at(self.updates + 1))
        k = self._floored(plan.arms) if self.floor else None
        if k is None:
            k = textbook.choose(self._kernel, plan.table, self._parameters, table, log_f, self.pulls, self._key)
            if counted:
                self._state.memory[:] = State(*table).memory  # the kernel's own memory, which the copy would lose
        self.pulls += 1
        self.pending[k] += 1
        self.unanswered += 1
        return self.bounds.arms[k]

    def probabilities(self, eligible: Any, pending: Pending | None) -> Floats:
        """The chance that the next pull takes each arm."""
        plan = self._offer(eligible)
        table, log_f = self._supposed() if self._counts(pending) else (self.table, self._log_f_at(self.updates + 1))
        own = np.empty(len(plan))
        textbook.chances(self._kernel, plan.table, self._parameters, table, log_f, own)
        chances = np.zeros(len(self.bounds))
        chances[plan.arms] = own
        return self._with_floor(chances, plan.arms)

    def update(self, arm: Arm | Candidate, reward: float, history: bool) -> None:
        """Take in a reward."""
        try:
            k = self._place[arm]
        except (KeyError, TypeError):
            if isinstance(arm, Candidate):
                raise TypeError(f"{self._policy} does not learn from features: it has no candidates") from None
            k = self.bounds.position(arm)  # says which arms there are
        low, high = self._low[k], self._high[k]
        value = reward if type(reward) is float and low <= reward <= high else check_reward(arm, reward, low, high)
        span = high - low
        textbook.observe(self.table, k, (value - low) / span, (high - value) / span, self.updates, self._rounding)
        self.updates += 1
        if self.pending[k] and not history:
            self.pending[k] -= 1
            self.unanswered -= 1

    def cancel(self, arm: Any) -> None:
        """Give up one pending pull of an arm."""
        if isinstance(arm, Candidate):
            raise TypeError(f"{self._policy} does not learn from features: it has no pending pull of a candidate")
        super().cancel(arm)

    def indices(self) -> Floats:
        """The index of each arm; minus infinity for arms that are pruned or retired."""
        if not self._policy.has_index:
            raise NoIndexError(
                f"{type(self._policy).__name__} has no index: it does not rank arms by a number of their own"
            )
        indices = np.full(len(self.bounds), -np.inf)
        if self._plan is not None:
            out = np.empty(len(self._plan))
            log_f = self._log_f_at(self.updates + 1)
            textbook.indices(self._kernel, self._plan.table, self.table, log_f, out)
            indices[self._plan.arms] = out
        return indices

    def extend(self, known: Knowledge, features: ArrayLike | None, offset: float) -> None:
        """Adopt knowledge that has one more arm, the last one."""
        if features is not None or offset:
            raise TypeError(f"{self._policy} does not learn from features; leave them out")
        self._hold(np.hstack([self.table, np.zeros((len(self.table), 1))]))
        self.pending.append(0)
        self.take(known)

    def told(self) -> dict[str, Any]:
        """The statistics of the rewards so far, in values that JSON can hold."""
        return {name: row.tolist() for name, row in self._state._asdict().items()}

    @classmethod
    def from_parts(cls, parts: Mapping[str, Any]) -> Self:
        """Make the learner that `parts` described."""
        rows = [name for name in State._fields if name in parts or name not in ADDED]
        check_has(parts, rows)
        table = complete(np.array([parts[name] for name in rows], dtype=np.float64))
        arms = len(parts["knowledge"].bounds)
        if table.shape != (len(State._fields), arms):
            raise ValueError(f"the saved agent has {arms} arms, but statistics of shape {table.shape}")
        learner = cls(parts["policy"], parts["knowledge"], parts["seed"], parts["floor"], table)
        learner._recall(parts)
        if learner.retired:
            learner.take(learner.known)
        return learner

    def _positions(self, eligible: Iterable[Arm]) -> tuple[int, ...]:
        positions = {self.bounds.position(arm) for arm in eligible}
        if not positions:
            raise ValueError("eligible is empty: there is no arm to choose from")
        self._check_offered(positions)
        return tuple(sorted(positions))

    def _log_f_at(self, t: int) -> float:
        place = t - self._first
        if not 0 <= place < TABULATED:
            number, place = divmod(t, TABULATED)
            self._first, self._log_f = number * TABULATED, log_f_table(self._policy.f, number)
        return self._log_f[place]

    def _supposed(self) -> tuple[Floats, float]:
        """The statistics as if pending pulls had returned the arm's mean, or the middle of its bounds without one."""
        table = np.empty_like(self.table)
        delayed.as_if_answered(self.table, np.array(self.pending, dtype=np.float64), self._middle, table)
        return table, self._log_f_at(self.updates + self.unanswered + 1)
