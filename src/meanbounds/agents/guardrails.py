"""Guardrails: outcomes beside the reward that no option may make worse than the experts, or than a level, for long.

For each option an e-process tests whether the mean of an outcome is within its limit in every context. With n cases in
context l that sum up to S, and u for the limit there, a stake s has won ``exp(s S) / (1 - u + u exp(s))^n``. The
product over contexts, averaged over stakes, ever reaches 1 / error with probability at most `error` while all means
are within their limits: evidence from many contexts adds up, and any mixture of cases is compared like with like.
Where the experts' own cases are the level, `_beside` has the e-process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import exp, log, pi
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import betaln, xlog1py, xlogy

from meanbounds.agents.contexts import Contexts
from meanbounds.bounds import EXPERT, Arm, plain_arms
from meanbounds.evidence.processes import check_error
from meanbounds.support.checks import as_float, as_mapping, fits_range, shown, unknown, within
from meanbounds.support.entries import Entries
from meanbounds.support.types import Floats, Integers

__all__ = ["Guardrail", "GuardrailWarning", "Outcomes", "Stop"]

_STAKES = 2.0 ** np.arange(-3, 4)  # logarithms of the odds ratios that are looked for
_LOG_WEIGHT = -log(len(_STAKES))
_LOOKS = 64  # looks in the time in which an option's cases double


@dataclass(frozen=True)
class Guardrail:
    """An outcome that no option may make worse than the experts do, or than a level, by more than a stated amount.

    An option that breaks a guardrail is stopped: it is retired everywhere, and `Agent.stops` says why.

    Parameters
    ----------
    outcome
        What it is called, such as ``"bleeding"``. Larger values are worse.
    worse
        By how much an option's mean may be worse, in units of the outcome.
    level
        The mean to compare with: one number, or one for each context, such as the experts' in a log; in contexts that
        are added later without one nothing is said. None compares with what experts have when the agent asks them.
    low, high
        The range of the outcome.
    error
        The probability with which an option that is within its limit is ever stopped, for all options together.

    Examples
    --------
    >>> import warnings
    >>> import meanbounds as mb
    >>> rail = mb.Guardrail("bleeding", worse=0.02, level=0.05)
    >>> agent = mb.Agent(mb.UCB(), mb.MeanBounds.vacuous(["tPA", "watch"]), seed=7, guardrails=[rail])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     for value in [1.0, 0.0, 0.0] * 20:
    ...         agent.report("bleeding", value, "tPA")
    >>> print(agent.stops()[0])
    'tPA' is stopped: bleeding has the mean 0.375 in 16 cases, where 0.07 is allowed (e-value 74)
    >>> agent.pull()
    'watch'
    """

    outcome: str
    worse: float
    level: float | Mapping[Any, float] | None = None
    low: float = 0.0
    high: float = 1.0
    error: float = 0.05

    def __post_init__(self) -> None:
        if not (isinstance(self.outcome, str) and 0 < len(self.outcome) <= 200):
            raise ValueError(f"outcome is a name such as 'bleeding'; got {shown(self.outcome)}")
        if not fits_range(np.array(as_float("low", self.low)), np.array(as_float("high", self.high))):
            raise ValueError(f"low must be less than high; got low={shown(self.low)}, high={shown(self.high)}")
        if within(self.worse, 0.0, self.high - self.low) is None:
            raise ValueError(f"worse is a difference of means within the range, at least 0; got {shown(self.worse)}")
        check_error(self.error)
        levels = self.level.values() if isinstance(self.level, Mapping) else [self.level]
        for level in levels if self.level is not None else ():
            if within(level, self.low, self.high) is None:
                raise ValueError(f"level is a mean between {self.low:g} and {self.high:g}; got {shown(level)}")

    def share(self, value: float) -> float:
        """A value of the outcome in units of its range."""
        number = None if isinstance(value, bool) else within(value, self.low, self.high)
        if number is None:
            raise ValueError(f"{self.outcome} is a number from {self.low:g} to {self.high:g}; got {shown(value)}")
        return (number - self.low) / (self.high - self.low)

    def to_dict(self) -> dict[str, Any]:
        """What it was made of, in values that JSON can hold."""
        level: Any = self.level
        if isinstance(level, Mapping):
            level = [[list(name) if isinstance(name, tuple) else name, value] for name, value in level.items()]
        return {**asdict(self), "level": level}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make what `to_dict` described."""
        given = {**as_mapping("a saved Guardrail", data)}
        if isinstance(given.get("level"), list):
            given["level"] = {tuple(name) if isinstance(name, list) else name: own for name, own in given["level"]}
        return cls(**given)


class Stop(NamedTuple):
    """An option that a guardrail has stopped: in so many cases the outcome had this mean, where `limit` is allowed."""

    arm: Any
    outcome: str
    cases: int
    mean: float
    limit: float
    log_e: float

    @property
    def why(self) -> str:
        """The reason in words."""
        return (
            f"{self.outcome} has the mean {self.mean:.3g} in {self.cases:,} cases, where {self.limit:.3g} is allowed "
            f"(e-value {exp(min(self.log_e, 700.0)):.2g})"
        )

    def __str__(self) -> str:
        return f"{self.arm!r} is stopped: {self.why}"


class GuardrailWarning(UserWarning):
    """Warning that an option has broken a guardrail and is stopped; its attribute `stop` is the `Stop`."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(f"{stop}. restore({stop.arm!r}) offers it again, and counts from then on")
        self.stop = stop


class Outcomes:
    """What an agent has been told of the outcomes that have guardrails, and the options that were stopped."""

    def __init__(self, guardrails: Sequence[Guardrail]) -> None:
        self.guardrails = {one.outcome: one for one in guardrails}
        if len(self.guardrails) < len(guardrails):
            raise ValueError("two guardrails have the same outcome: give the stricter one")
        self.seen = np.zeros((len(guardrails), 2, 0, 0))  # cases, and sums in units of the range: (rows, arms)
        self.stops: list[Stop] = []

    def share(self, name: str, value: float) -> float:
        """A value of an outcome in units of its range."""
        if name not in self.guardrails:
            raise ValueError(unknown("guardrail", name, [*self.guardrails]))
        return self.guardrails[name].share(value)

    def add(self, name: str, value: float, row: int, arm: int, contexts: Contexts) -> Stop | None:
        """Take one value of an outcome, and return why the option has to stop, if it has to."""
        share = self.share(name, value)
        rail, place = self.guardrails[name], [*self.guardrails].index(name)
        expert = contexts.expert if rail.level is None else contexts.position.get(EXPERT, -1)
        more = [max(0, size - own) for size, own in zip(contexts.seen.shape[::2], self.seen.shape[2:], strict=True)]
        if any(more):
            self.seen = np.pad(self.seen, ((0, 0), (0, 0), *((0, own) for own in more)))
        self.seen[place, :, row, arm] += 1.0, share
        n, total = self.seen[place, :, :, arm]
        cases = int(n.sum())
        is_out = any(one.arm == contexts.arms[arm] and one.outcome == name for one in self.stops)
        if arm == expert or is_out or cases % max(1, cases // _LOOKS):
            return None
        rows = np.flatnonzero(n)
        n, total, worse = n[rows], total[rows], rail.worse / (rail.high - rail.low)
        if rail.level is None:
            asked, theirs = self.seen[place][:, rows, expert]
            log_e, level = _beside(n, total, asked, theirs, worse)
        else:
            level = self._levels(rail, rows, contexts)
            log_e = float(_LOG_WEIGHT + np.logaddexp.reduce(_won(n, total, level + worse).sum(axis=1)))
        if log_e < log((len(contexts.arms) - (expert >= 0)) / rail.error):
            return None
        sums = total.sum(), n @ np.minimum(1.0, level + worse)
        mean, most = (rail.low + (rail.high - rail.low) * float(own) / cases for own in sums)
        stop = Stop(contexts.arms[arm], name, cases, mean, most, log_e)
        self.stops.append(stop)
        return stop

    @staticmethod
    def _levels(rail: Guardrail, rows: Integers, contexts: Contexts) -> Floats:
        """The level in each of these rows, in units of the range."""
        names: dict[int, Any] = {row: name for name, row in contexts.rows.items()}
        own = rail.level
        found = [own.get(names[row], rail.high) if isinstance(own, Mapping) else own for row in rows.tolist()]
        return np.asarray((np.array(found, dtype=np.float64) - rail.low) / (rail.high - rail.low))

    def forget(self, row: int) -> None:
        """Forget a context."""
        self.seen[:, :, row : row + 1] = 0.0

    def restart(self, arm: int, name: Arm) -> None:
        """Start anew with an option."""
        self.seen[:, :, :, arm : arm + 1] = 0.0
        self.stops = [stop for stop in self.stops if stop.arm != name]

    def to_dict(self) -> dict[str, Any]:
        """Everything, in values that JSON can hold."""
        rows = np.flatnonzero(self.seen.any(axis=(0, 1, 3)))
        stops = [[*plain_arms([stop.arm]), *stop[1:]] for stop in self.stops]
        rails = [one.to_dict() for one in self.guardrails.values()]
        return {"guardrails": rails, "rows": rows.tolist(), "seen": self.seen[:, :, rows].tolist(), "stops": stops}

    @classmethod
    def from_dict(cls, data: Any, contexts: Contexts) -> Self:
        """Make what `to_dict` described."""
        saved = Entries("Outcomes", data, ("guardrails", "rows", "seen", "stops"))
        self = cls([Guardrail.from_dict(one) for one in saved.list("guardrails")])
        rows = saved.wholes("rows", (len(saved.list("rows")),), most=contexts.size - 1)
        size, arms = len(self.guardrails), len(contexts.arms)
        seen = saved.numbers("seen", (size, 2, len(rows), arms)) if len(rows) else np.zeros((size, 2, 0, arms))
        self.seen = np.zeros((size, 2, contexts.size, arms))
        self.seen[:, :, rows] = seen
        if not ((seen[:, 1] >= 0.0) & (seen[:, 1] <= seen[:, 0] * (1.0 + 1e-9))).all():
            raise saved.wrong("no values in the range give these sums")
        for stop in saved.list("stops"):
            fine = isinstance(stop, list) and len(stop) == len(Stop._fields)
            fine = fine and stop[0] in contexts.arms and stop[1] in self.guardrails
            if not fine or any(within(own, -1e300, 1e300) is None for own in stop[2:]):
                raise saved.wrong(f"stops must list arm, outcome, cases, mean, limit and log_e; got {shown(stop)}")
            self.stops.append(Stop(*stop))
        return self


def _won(n: Floats, total: Floats, limit: Floats) -> Floats:
    """What each stake has won against these limits: logarithms, shape (stakes, contexts)."""
    stakes = _STAKES[:, None]
    found: Floats = stakes * total - n * np.log1p(np.minimum(1.0, limit) * np.expm1(stakes))
    return found


def _beside(n: Floats, total: Floats, asked: Floats, theirs: Floats, worse: float) -> tuple[float, Floats]:
    """The logarithm of an e-process against being within the limit beside the experts' own cases, and their means.

    For each mean m of the experts, what a stake has won against ``m + worse`` times the likelihood ratio of their cases
    against m, averaged over means, is an e-process if m is theirs. The least over m, for the best stake, is below it.
    """
    lacks, growth = asked - theirs, np.expm1(_STAKES)[:, None]
    low, high = np.zeros((len(_STAKES), len(n))), np.ones((len(_STAKES), len(n)))
    for _ in range(40):  # the logarithm is convex in m
        m = 0.5 * (low + high)
        fall = np.where(m + worse < 1.0, n * growth / (1.0 + growth * (m + worse)), 0.0)  # no limit is above 1
        slope = lacks / (1.0 - m) - theirs / m - fall
        low, high = np.where(slope < 0.0, m, low), np.where(slope < 0.0, high, m)
    m = 0.5 * (low + high)
    mixture = betaln(theirs + 0.5, lacks + 0.5) - log(pi)
    ratio = mixture - xlogy(theirs, m) - xlog1py(lacks, -m)
    log_e = float(_LOG_WEIGHT + (_won(n, total, m + worse) + ratio).sum(axis=1).max())
    return log_e, np.where(asked > 0.0, theirs / np.maximum(asked, 1.0), 1.0)
