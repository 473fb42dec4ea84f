r"""Bounds on arms with features from the log of an expert who errs now and then.

Take the rounds in which arm j was played. In a part of them, of mass q_j, j was the best arm by ``gap_low`` or more; in
the others, of mass e_j, the choice was wrong, and the hidden parameter can be anything in the box. Let X_j and Y_j be
the hidden parameter's integrals over both parts: mass times mean. The share of the arm is ``q_j + e_j``, and what it
earned is linear in all of these::

    X_j in q_j box,   (hidden_i - hidden_j) X_j <= (offset_j - offset_i - gap_low) q_j   for each other i
    Y_j in e_j box,   sum_j e_j <= errors,   sum_j (q_j + e_j) = 1
    nu_low_j (q_j + e_j) <= offset_j (q_j + e_j) + <hidden_j, X_j + Y_j> <= nu_high_j (q_j + e_j)
    share_low_j <= q_j + e_j <= share_high_j

So the least and the largest mean of arm k, ``offset_k + sum_j <hidden_k, X_j + Y_j>``, are one linear program each. For
an infinite log both limits of a share, and of a mean, are the same. The bounds are sharp: the hidden parameter
``X_j / q_j`` with probability q_j, and ``Y_j / e_j`` with probability e_j, is a law that leaves this very log. With
``gap_high`` no two means of a round differ by more, which is linear too. Without errors this is the program at the head
of `meanbounds.logs.hidden_parameter`, which is solved arm by arm.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import BoundsError
from meanbounds.logs.assumptions import AnyExpert, Assumption, ErringExpert, OptimalExpert, check_assumption
from meanbounds.logs.hidden_parameter.programs import ROUNDING, MeanLimits
from meanbounds.logs.hidden_parameter.setting import LinearSetting
from meanbounds.support.optional import optional
from meanbounds.support.types import Floats

__all__ = ["Budgets", "erring_bounds"]

_SOLVED = 1e-7  # how far the solver may be off, as a share of the scale: both bounds are moved outwards by as much


@dataclass(frozen=True)
class Budgets:
    """What an assumption says of an expert who sees the hidden parameter: a share of errors, and both gaps.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.hidden_parameter.erring import Budgets
    >>> Budgets.of(mb.logs.ErringExpert(0.05))
    Budgets(errors=0.05, gap_low=0.0, gap_high=inf)
    >>> Budgets.of(mb.logs.OptimalExpert()) is None  # what the programs of an optimal expert assume in any case
    True
    """

    errors: float
    gap_low: float
    gap_high: float

    @classmethod
    def of(cls, assumption: Assumption | None) -> Budgets | None:
        """Read an assumption; None if it is that of an expert who is always right, without gaps."""
        if assumption is None:
            return None
        check_assumption(assumption)
        if not isinstance(assumption, OptimalExpert | ErringExpert | AnyExpert):
            raise BoundsError(
                f"bounds of arms with features can assume OptimalExpert, ErringExpert or AnyExpert; got {assumption!r}"
            )
        errors = assumption.errors if isinstance(assumption, ErringExpert) else float(isinstance(assumption, AnyExpert))
        low = 0.0 if isinstance(assumption, AnyExpert) else assumption.gap_low
        high = float("inf") if assumption.gap_high is None else assumption.gap_high
        found = cls(_one("errors", errors), _one("gap_low", low), _one("gap_high", high))
        if not (0.0 <= found.errors <= 1.0 and 0.0 <= found.gap_low <= found.gap_high):
            raise BoundsError(
                f"errors are a share between 0 and 1, and gaps need 0 <= gap_low <= gap_high; got {assumption!r}"
            )
        return None if found == cls(0.0, 0.0, float("inf")) else found


def _one(name: str, value: object) -> float:
    if not isinstance(value, float):
        raise BoundsError(f"{name} must be one number here, where there is one context; got {value!r}")
    return value


def erring_bounds(
    setting: LinearSetting, means: MeanLimits, share_low: Floats, share_high: Floats, budgets: Budgets
) -> tuple[Floats, Floats]:
    """Both bounds on each arm's mean; refuses a log that contradicts the assumption, and says what it allows.

    Examples
    --------
    With a tenth of errors, bounds are wider than those of an expert who is always right:

    >>> import numpy as np
    >>> import meanbounds as mb
    >>> from meanbounds.logs.hidden_parameter.erring import Budgets, erring_bounds
    >>> from meanbounds.logs.hidden_parameter.programs import MeanLimits
    >>> known = {"theta_visible": [1.0], "box_low": 0.0, "box_high": 1.0}
    >>> setting = mb.logs.LinearSetting([[0.0], [0.0]], [[1.0, 0.0], [0.0, 1.0]], **known)
    >>> share, mean = np.array([0.5, 0.5]), np.array([0.75, 0.5])
    >>> for errors in (0.0, 0.1):
    ...     lower, upper = erring_bounds(setting, MeanLimits(mean, mean), share, share, Budgets(errors, 0.0, np.inf))
    ...     print(lower.round(3), upper.round(3))
    [0.375 0.25 ] [0.625 0.625]
    [0.375 0.25 ] [0.725 0.725]
    """
    program = _Program(setting, means, share_low, share_high, budgets)
    size = len(setting)
    lower, upper = np.empty(size), np.empty(size)
    for k in range(size):
        reward = program.reward(k)
        least, most = program.least(reward), program.least(-reward)
        if least is None or most is None:
            raise BoundsError(program.contradiction())
        scale = float(np.abs(setting.hidden[k]) @ np.maximum(np.abs(setting.box_low), np.abs(setting.box_high)))
        lower[k], upper[k] = least - _SOLVED * scale, -most + _SOLVED * scale
    return setting.offset + lower, setting.offset + upper


@dataclass(frozen=True, eq=False)
class _Program:
    """Variables: for each arm X_j, Y_j, q_j and e_j, one after the other."""

    setting: LinearSetting
    means: MeanLimits
    share_low: Floats
    share_high: Floats
    budgets: Budgets

    @property
    def dimension(self) -> int:
        """Hidden features."""
        return int(self.setting.hidden.shape[1])

    def _row(self, j: int, x: Any = 0.0, y: Any = 0.0, q: float = 0.0, e: float = 0.0) -> Floats:
        """A row of a constraint that is about arm j alone."""
        row = np.zeros((len(self.setting), 2 * self.dimension + 2))
        row[j, : self.dimension], row[j, self.dimension : -2], row[j, -2], row[j, -1] = x, y, q, e
        return row.ravel()

    def reward(self, k: int) -> Floats:
        """The hidden part of an arm's mean."""
        own = self.setting.hidden[k]
        return np.tile(np.concatenate([own, own, [0.0, 0.0]]), len(self.setting))

    @cached_property
    def masses(self) -> tuple[Floats, Floats]:
        """All rounds, and those with an error."""
        every = np.array([self._row(j, q=1.0, e=1.0) for j in range(len(self.setting))]).sum(axis=0)
        wrong = np.array([self._row(j, e=1.0) for j in range(len(self.setting))]).sum(axis=0)
        return every, wrong

    @cached_property
    def rows(self) -> NDArray[np.float64]:
        """Every constraint but those of the masses, as rows whose product is at most 0, relaxed for rounding."""
        setting, budgets = self.setting, self.budgets
        hidden, offset = setting.hidden, setting.offset
        found = []
        largest = np.abs(hidden) @ np.maximum(np.abs(setting.box_low), np.abs(setting.box_high)) + np.abs(offset)
        slack = ROUNDING * (1.0 + largest.max())
        for j in range(len(setting)):
            for axis, end in enumerate(np.eye(self.dimension)):
                low, high = setting.box_low[axis], setting.box_high[axis]
                found += [self._row(j, x=end, q=-high), self._row(j, x=-end, q=low)]
                found += [self._row(j, y=end, e=-high), self._row(j, y=-end, e=low)]
            seen = self.means.low[j] - offset[j] - slack, self.means.high[j] - offset[j] + slack
            found.append(self._row(j, x=-hidden[j], y=-hidden[j], q=seen[0], e=seen[0]))
            found.append(self._row(j, x=hidden[j], y=hidden[j], q=-seen[1], e=-seen[1]))
            for i in range(len(setting)):
                if i == j:
                    continue
                ahead = offset[j] - offset[i] - budgets.gap_low + slack
                found.append(self._row(j, x=hidden[i] - hidden[j], q=-ahead))
                if np.isfinite(budgets.gap_high):
                    found += self._close(j, i, slack)
        return np.array(found)

    def _close(self, j: int, i: int, slack: float) -> list[Floats]:
        """No mean is above another one by more than ``gap_high``, in the rounds of arm j."""
        hidden, offset, found = self.setting.hidden, self.setting.offset, []
        for other in range(len(self.setting)):
            if other != i:
                room = self.budgets.gap_high - offset[i] + offset[other] + slack
                apart = hidden[i] - hidden[other]
                found += [self._row(j, x=apart, q=-room), self._row(j, y=apart, e=-room)]
        return found

    def least(self, cost: Floats, errors: float | None = None) -> float | None:
        """The least value of a linear function; None if nothing satisfies all constraints."""
        with optional("logs", "bounds with errors"):
            from scipy.optimize import linprog

        every, wrong = self.masses
        shares = np.array([self._row(j, q=1.0, e=1.0) for j in range(len(self.setting))])
        budget = self.budgets.errors if errors is None else errors
        rows = np.vstack([self.rows, shares, -shares, wrong[None]])
        top = np.concatenate([np.zeros(len(self.rows)), self.share_high, -self.share_low, [budget]])
        free, mass = (None, None), (0.0, 1.0)
        limits = ([free] * (2 * self.dimension) + [mass] * 2) * len(self.setting)
        found = linprog(cost, A_ub=rows, b_ub=top, A_eq=every[None], b_eq=[1.0], bounds=limits, method="highs")
        return None if found.status or found.fun is None else float(found.fun)

    def contradiction(self) -> str:
        """Why the log cannot have come about, with the least share of errors that would do."""
        least = self.least(self.masses[1], errors=1.0)
        start = f"the log contradicts an expert who errs in at most {self.budgets.errors:g} of the rounds"
        if least is None:
            return f"{start}, and any other: the box, the features, the known parameter or a gap is wrong"
        return f"{start}. The log allows errors of at least {min(least + 1e-6, 1.0):.4g}, all else as it is"
