"""Agents for arms that have nothing in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.agents.base import Agent, NoIndexError, check_has, check_reward
from meanbounds.agents.candidate import Candidate
from meanbounds.bounds import Arm, MeanBounds
from meanbounds.kernels.arms import textbook
from meanbounds.kernels.arms.tables import State
from meanbounds.kernels.random.stream import rounding_key
from meanbounds.policies import Policy

__all__ = ["ArmsAgent"]

_TABULATED = 4096  # rounds for which log f is at hand
_REMEMBERED = 1024  # sets of eligible arms whose plan is at hand


class ArmsAgent(Agent, policies=Policy):
    """What `meanbounds.Agent` is for a policy that looks at each arm by itself."""

    _policy: Policy

    def _start(self, features: ArrayLike | None, offset: ArrayLike) -> None:
        if features is not None or np.any(offset):
            raise TypeError(
                f"{self._policy} does not learn from features; use mb.OFUL() or mb.ROFUL(), or leave them out"
            )
        self._state = np.zeros((len(State._fields), len(self._bounds)))
        self._rounding = np.uint64(rounding_key(np.uint64(self._seed), 0))
        self._first, self._log_f = 1, self._policy.log_f(1, _TABULATED).tolist()
        self._take(self._bounds)

    def _take(self, bounds: MeanBounds) -> None:
        """Adopt bounds, and forget the plans made from others."""
        self._bounds = bounds
        self._low, self._high = bounds.low.tolist(), bounds.high.tolist()
        self._parameters = self._policy.parameters
        self._plans: dict[tuple[int, ...], NDArray[np.float64]] = {}
        self._all = tuple(k for k in range(len(bounds)) if k not in self._retired)
        self._plan = self._plan_for(self._all) if self._all else None

    def _plan_for(self, positions: tuple[int, ...]) -> NDArray[np.float64]:
        """Plan for the arms on offer: pruning, l_max and factors are theirs."""
        plan = self._plans.get(positions)
        if plan is None:
            plan = self._policy.plan(self._bounds.subset(positions))
            plan[0] = np.asarray(positions)[plan[0].astype(np.intp)]
            if len(self._plans) >= _REMEMBERED:
                self._plans.clear()
            self._plans[positions] = plan
        return plan

    @property
    def plays(self) -> NDArray[np.int64]:
        """Rewards seen from each arm, in the order of ``bounds.arms``."""
        plays: NDArray[np.int64] = self._state[0].astype(np.int64)
        return plays

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean reward seen from each arm; NaN where there was none."""
        plays = self._state[0]
        unit = np.divide(self._state[1], plays, out=np.full(plays.shape, np.nan), where=plays > 0)
        means: NDArray[np.float64] = self._bounds.low + (self._bounds.high - self._bounds.low) * unit
        return means

    def pull(self, eligible: Any = None, pending: Literal["ignore", "count"] = "ignore") -> Any:
        """Choose an arm; see `meanbounds.Agent.pull`."""
        plan = self._plan if eligible is None else self._plan_for(self._positions(eligible))
        if plan is None:
            raise ValueError("no arm is left on offer: all are retired; add or restore one")
        state, unanswered = self._state, 0
        if pending == "count":
            state, unanswered = self._as_if_answered(), sum(self._pending)
        elif pending != "ignore":
            raise ValueError(f'pending must be "ignore" or "count"; got {pending!r}')
        log_f = self._log_f_at(self._updates + unanswered + 1)
        k = textbook.choose(self._policy.kernel, plan, self._parameters, state, log_f, self._pulls, self._key)
        if state is not self._state:
            self._state[-1] = state[-1]  # what the kernel remembers of its own
        self._pulls += 1
        self._pending[k] += 1
        return self._bounds.arms[k]

    def update(self, arm: Arm | Candidate, reward: float, history: bool = False) -> None:
        """Tell the agent a reward; see `meanbounds.Agent.update`."""
        if isinstance(arm, Candidate):
            raise TypeError(f"{self._policy} does not learn from features: it cannot be told of a candidate")
        k = self._bounds.position(arm)
        low, high = self._low[k], self._high[k]
        value = reward if type(reward) is float and low <= reward <= high else check_reward(arm, reward, low, high)
        textbook.observe(self._state, k, (value - low) / (high - low), self._updates, self._rounding)
        self._updates += 1
        if self._pending[k] and not history:
            self._pending[k] -= 1

    def indices(self) -> NDArray[np.float64]:
        """Index of each arm; see `meanbounds.Agent.indices`."""
        if not self._policy.has_index:
            raise NoIndexError(
                f"{type(self._policy).__name__} has no index: it does not rank arms by a number of their own"
            )
        indices = np.full(len(self._bounds), -np.inf)
        if self._plan is not None:
            out = np.empty(self._plan.shape[1])
            textbook.indices(self._policy.kernel, self._plan, self._state, self._log_f_at(self._updates + 1), out)
            indices[self._plan[0].astype(np.intp)] = out
        return indices

    def _extend(self, bounds: MeanBounds, features: ArrayLike | None, offset: float) -> None:
        if features is not None or offset:
            raise TypeError(f"{self._policy} does not learn from features; leave them out")
        self._state = np.hstack([self._state, np.zeros((len(self._state), 1))])
        self._take(bounds)

    def _seen(self) -> dict[str, Any]:
        return {name: row.tolist() for name, row in zip(State._fields, self._state, strict=True)}

    def _recall(self, data: Mapping[str, Any]) -> None:
        check_has(data, State._fields)
        state = np.array([data[name] for name in State._fields], dtype=np.float64)
        if state.shape != self._state.shape:
            raise ValueError(f"the saved agent has {len(self._bounds)} arms, but statistics of shape {state.shape}")
        self._state = state
        self._take(self._bounds)

    def _positions(self, eligible: Iterable[Arm]) -> tuple[int, ...]:
        positions = {self._bounds.position(arm) for arm in eligible}
        if not positions:
            raise ValueError("eligible is empty: there is no arm to choose from")
        self._check_offered(positions)
        return tuple(sorted(positions))

    def _log_f_at(self, t: int) -> float:
        place = t - self._first
        if not 0 <= place < _TABULATED:
            self._first, place = t, 0
            self._log_f = self._policy.log_f(t, t + _TABULATED - 1).tolist()
        return float(self._log_f[place])

    def _as_if_answered(self) -> NDArray[np.float64]:
        """What would have been seen if every pending pull had returned the arm's mean, or the middle of its bounds."""
        state = self._state.copy()
        plays, waiting = self._state[0], np.array(self._pending, dtype=np.float64)
        middle = (0.5 * (self._bounds.lower + self._bounds.upper) - self._bounds.low) / (
            self._bounds.high - self._bounds.low
        )
        for row in (1, 2, 3):
            mean = np.divide(self._state[row], plays, out=middle.copy(), where=plays > 0)
            state[row] += waiting * mean
        state[0] += waiting
        return state
