"""What an agent promises to the people whose decisions it takes over: how far below them it may ever be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from meanbounds.support.checks import as_float, as_mapping, shown
from meanbounds.support.saving import Saved
from meanbounds.support.types import Floats

__all__ = ["Promise"]

_FIELDS = ("margin", "at_least", "failures", "total")


@dataclass(frozen=True)
class Promise(Saved):
    """How much an agent may lose against the experts, in expected rewards, summed over all its decisions so far.

    A promise holds at every moment, so also early, when little is known. Give one limit or several; all that are given
    hold. Compare margins of trials: non-inferiority trials often allow 1 percentage point, or 14% of the failures.

    Parameters
    ----------
    margin
        The average loss of a decision, in reward units: 0.01 allows one more failure in 100 decisions.
    at_least
        The share of the experts' reward, counted from the bottom of the range: 0.98 allows 2% less. Where failures are
        rare this allows many more of them: with 93% successes, 0.98 allows 27% more failures.
    failures
        The share by which there may be more of what the experts lose, counted from the top of the range: with 0.14 and
        7% failures, at most 8% fail.
    total
        The loss in all decisions together, for ever, in reward units. It limits what can be gained, too.

    Examples
    --------
    >>> import meanbounds as mb
    >>> promise = mb.Promise(margin=0.01, total=30)
    >>> print(promise.in_words())
    on average at most 0.01 below the experts, and at most 30 in total
    >>> promise.per_decisions(0.93, 10_000), mb.Promise(at_least=0.98).per_decisions(0.93, 10_000)
    (30.0, 186.0)
    """

    margin: float | None = None
    at_least: float | None = None
    failures: float | None = None
    total: float | None = None

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in _FIELDS if getattr(self, name) is not None}
        if not given:
            raise ValueError("a promise needs a limit, such as mb.Promise(margin=0.01) or mb.Promise(at_least=0.98)")
        for name, value in given.items():
            number = as_float(name, value)
            most = {"at_least": 1.0, "failures": 1.0 + 1e-9}.get(name, float("inf"))
            if isinstance(value, bool) or not 0.0 < number < most:
                limits = {
                    "at_least": "above 0 and below 1, such as 0.98",
                    "failures": "a share up to 1, such as 0.14",
                }.get(name, "above 0 and finite")
                raise ValueError(f"promise: {name} must be {limits}; got {shown(value)}")
            object.__setattr__(self, name, number)

    def __repr__(self) -> str:
        return f"Promise({', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"

    def budgets(self, value: Floats, rounds: Floats, low: Floats, high: Floats) -> list[Floats]:
        """What each limit allows to lose in so many decisions, if the experts earn this value in each."""
        needs = self.needs(np.zeros_like(rounds), rounds, value, value, low, low, high)
        ends = [0.0] * len(needs) if self.total is None else [*[0.0] * (len(needs) - 1), self.total]
        return [end - own for end, own in zip(ends, needs, strict=True)]

    def needs(
        self, plays: Floats, rounds: Floats, upper: Floats, lower: Floats, bottom: Floats, low: Floats, high: Floats
    ) -> list[Floats]:
        """What options must have earned in so many plays, above `bottom`, so that each limit holds after these rounds.

        `upper` and `lower` are limits on the experts' value, which lies between `low` and `high`. `total` is not taken
        off, so that contexts can be added.
        """
        found, need = {}, plays * (upper - bottom)
        if self.margin is not None:
            found["margin"] = need - self.margin * rounds
        if self.at_least is not None:
            share = (1.0 - self.at_least) * rounds
            value = np.where(plays < share, lower, upper)
            found["at_least"] = plays * (value - bottom) - share * (value - low)
        if self.failures is not None:
            found["failures"] = need - self.failures * (high - upper) * rounds
        if self.total is not None:
            found["total"] = need
        return list(found.values())

    def per_decisions(self, value: float, decisions: int, *, low: float = 0.0, high: float = 1.0) -> float:
        """The most that may be lost in so many decisions, in reward units, where the experts earn `value` in each."""
        numbers = (np.array(float(own)) for own in (value, decisions, low, high))
        return round(min(float(own) for own in self.budgets(*numbers)), 9)

    def in_words(self) -> str:
        """The promise as a phrase."""
        said = []
        if self.margin is not None:
            said.append(f"on average at most {self.margin:g} below the experts")
        if self.at_least is not None:
            said.append(f"at least {100 * self.at_least:.6g}% of what the experts would have earned")
        if self.failures is not None:
            said.append(f"at most {100 * self.failures:.6g}% more failures than the experts would have had")
        if self.total is not None:
            said.append(f"at most {self.total:g} in total" if said else f"at most {self.total:g} below them in total")
        return ", and ".join(said)

    def to_dict(self) -> dict[str, Any]:
        """The limits that were given, in values that JSON can hold."""
        return {name: getattr(self, name) for name in _FIELDS if getattr(self, name) is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the promise that `to_dict` described."""
        unknown = set(as_mapping("a saved promise", data)) - set(_FIELDS)
        if unknown:
            raise ValueError(f"a saved promise has some of {', '.join(_FIELDS)}; got {sorted(map(str, data))}")
        return cls(**data)
