"""All tests of an assumption against a log, with one probability of a false alarm for all of them together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import Arm, BoundsError
from meanbounds.logs.allowed import in_context, nearest_allowed
from meanbounds.logs.assumptions import Assumption, KnownPropensity, MarginalSensitivity, World, check_assumption
from meanbounds.logs.cells import Cells
from meanbounds.logs.confidence import DEFAULT_CONFIDENCE, check_confidence
from meanbounds.logs.counts import Counts
from meanbounds.logs.errors import LogError
from meanbounds.logs.expert import listed_arms
from meanbounds.logs.judged import Judged, Log
from meanbounds.logs.merging import column_of, without_column
from meanbounds.logs.refuting.alone import low_rewards
from meanbounds.logs.refuting.budgets import Budget
from meanbounds.logs.refuting.equal_cases import EqualCases
from meanbounds.logs.refuting.over_time import OverTime
from meanbounds.logs.refuting.result import Refutation, Refutations
from meanbounds.logs.refuting.sources import Deciders, Sources, lot_limits
from meanbounds.logs.refuting.strike import Strike
from meanbounds.support.checks import as_flag, check_choice, shown

__all__ = ["refute"]

_METHODS = ("kl", "bernstein", "hoeffding")
_Test = Callable[[Assumption, float], Iterator[Strike]]


def refute(
    counts: Counts,
    assumption: Assumption,
    *,
    equal_cases: str | None = None,
    independent_rows: bool = False,
    time: str | None = None,
    decider: str | None = None,
    randomised: Counts | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
    method: str = "kl",
    arms: Sequence[Arm] | None = None,
) -> Refutations:
    """Find what a log speaks against: numbers of an assumption that it refutes, and what it would still allow.

    Nothing here confirms an assumption. A log that refutes nothing may have been too short, or be wrong in a way that
    no test sees. With the columns of one log alone little can be refuted; equal cases, time, several deciders and a
    randomised part each say more.

    Parameters
    ----------
    counts
        The counts of a log, from `meanbounds.logs.read`, with the columns that are named below among those of
        ``context=``.
    assumption
        What is assumed of who wrote the log; several joined by ``&`` are tested one by one and together.
    equal_cases
        Column with the same value in cases that were the same to the expert and were decided independently: a record
        that was shown twice, a second opinion. If cases were picked by lot for that, give those rows alone.
    independent_rows
        Whether equal cases came up by chance, row by row, as those with the same description do. By default cases may
        also have been drawn first and then decided several times, with errors that come together in hard ones; where
        many rows are equal, that refutes much less.
    time
        Column that sorts the rows by time, such as a month. It tests that all rows follow one law.
    decider
        Column that says who decided, where cases went to deciders as if by lot. The assumption is about each of them.
    randomised
        Counts of rows of the same kind in which arms were drawn by lot, with the same chances for all cases of a
        context.
    confidence
        If all that is assumed is true, nothing is refuted with this probability, or more, by all tests together.
    method
        How limits on means are computed: ``"kl"`` refutes most from logs of some thousand rows, ``"bernstein"`` from
        larger ones whose rewards vary little; ``"hoeffding"`` is the simplest.
    arms
        All arms, as for `meanbounds.logs.bounds`.

    Raises
    ------
    BoundsError
        If a column is missing, or the counts are no counts of rows.

    Notes
    -----
    Every test is valid for any number of rows. docs/refuted.md derives them. The tests share the probability of a false
    alarm equally; inside of each, contexts and arms do.

    Examples
    --------
    Two doctors looked at each of 200 cases, and chose differently in 30 of them:

    >>> import pandas as pd
    >>> import meanbounds as mb
    >>> second = ["operate"] * 100 + ["wait"] * 30 + ["operate"] * 70
    >>> opinions = pd.DataFrame({"case": [*range(200), *range(200)], "choice": ["operate"] * 200 + second})
    >>> log = opinions.assign(well=1)
    >>> counts = mb.logs.read(log, context="case", arm="choice", reward="well")
    >>> found = mb.logs.refute(counts, mb.logs.ErringExpert(0.03, gap_low=0.1), equal_cases="case")
    >>> for refutation in found.found:
    ...     print(refutation.reason)
    choices in 200 groups of equal cases differ: at least 30 of 400 were not the best one, too many for a share of 0.03
    >>> found.found[0].allowed
    ('errors of at least 0.04946', 'gap_low of at most 0')
    """
    check_assumption(assumption)
    if assumption.needs_shares:
        raise BoundsError("refute tests what is assumed of each context; leave overall=True out")
    check_choice("method", method, _METHODS)
    level = check_confidence(confidence, infinite=False) or 0.0
    counts = listed_arms(counts, arms)
    columns = {"equal_cases": equal_cases, "time": time, "decider": decider}
    _check_columns(counts, {name: given for name, given in columns.items() if given is not None})
    _check_rows(counts)
    by_rows = as_flag("independent_rows", independent_rows)
    evidence = _Evidence(counts, assumption, equal_cases, by_rows, time, decider, method)
    trial = None if randomised is None else evidence.matched(randomised)
    tests = evidence.tests(trial)
    goal = log(max(len(tests), 1)) - log(1.0 - level)
    found = [one for name, test in tests.items() for one in evidence.refuted(name, test, goal)]
    return Refutations(tuple(found), tuple(tests), assumption, level)


def _check_columns(counts: Counts, columns: dict[str, str]) -> None:
    for name, column in columns.items():
        if column not in counts.context_names:
            known = ", ".join(map(repr, counts.context_names)) or "none"
            raise BoundsError(
                f"{name} is a column that the log was read with among those of context=; got {shown(column)}, and the "
                f"columns of the context are {known}"
            )
    if len(set(columns.values())) < len(columns):
        raise BoundsError(f"each column can be one of {', '.join(columns)}; got {shown(list(columns.values()))}")


def _check_rows(counts: Counts) -> None:
    if not counts.whole_weights:
        raise BoundsError(
            f"the weights of column {counts.weight_name!r} are not whole numbers: they do not say how many rows were "
            f"seen, which every test needs; read the log without weight="
        )
    if not np.all(counts.count == np.floor(counts.count)):
        raise BoundsError("the counts are shares, not whole numbers of rows; a log that is infinite cannot be tested")


@dataclass(frozen=True, eq=False)
class _Evidence:
    """A log with the columns that tests use, under an assumption."""

    counts: Counts
    assumption: Assumption
    equal_cases: str | None
    independent_rows: bool
    time: str | None
    decider: str | None
    method: str

    @property
    def special(self) -> list[str]:
        """Columns that are no part of the context."""
        return [name for name in (self.equal_cases, self.time, self.decider) if name is not None]

    @property
    def propensities(self) -> list[str]:
        """Columns of propensities, which bounds use and other tests do not."""
        names = dict.fromkeys(part.column for part in self.assumption.parts if isinstance(part, KnownPropensity))
        return [name for name in names if name in self.counts.context_names]

    @cached_property
    def plain(self) -> Counts:
        """The counts of the contexts themselves."""
        return self._only([])

    @cached_property
    def world(self) -> World:
        """The contexts and the range."""
        return World(self.plain.contexts, self.counts.low, self.counts.high)

    def _only(self, kept: Sequence[str]) -> Counts:
        """The counts with these of the special columns alone."""
        found = self.counts
        for name in (*self.special, *self.propensities):
            if name not in kept:
                found, _ = without_column(found, name)
        return found

    def by(self, column: str) -> tuple[Counts, NDArray[np.intp]]:
        """The counts of each context and value of a column, and the place of the context of each."""
        own = self._only([column])
        shorter, into = without_column(own, column)
        place = {context: at for at, context in enumerate(self.plain.contexts)}
        return own, np.array([place[context] for context in shorter.contexts])[into]

    def matched(self, trial: Counts) -> Counts:
        """The randomised part with the contexts and arms of the log, refusing what cannot be compared."""
        if not isinstance(trial, Counts):
            raise TypeError(
                f"randomised must be the counts of a log, as meanbounds.logs.read returns; got {shown(trial)}"
            )
        for name in (*self.special, *self.propensities):
            if name in trial.context_names:
                trial, _ = without_column(trial, name)
        _check_rows(trial)
        plain = self.plain
        same = (trial.low, trial.high, trial.context_names) == (plain.low, plain.high, plain.context_names)
        if not (same and set(trial.contexts) <= set(plain.contexts)):
            raise BoundsError(
                "randomised must be counts of the same range, columns and contexts as those of the log; read it with "
                "the same context=, low= and high="
            )
        try:
            return trial.with_arms(plain.arms)
        except LogError as error:
            raise BoundsError(f"the randomised part has other arms than the log: {error}") from error

    def tests(self, trial: Counts | None) -> dict[str, _Test]:
        """The tests that can say something, by name; which ones these are does not depend on the rows."""
        parts = self.assumption.parts
        budgets = [own for own in (Budget.of(part, self.world) for part in parts) if own is not None]
        gap = any(own.gap_low.any() for own in budgets)
        odds = any(isinstance(part, MarginalSensitivity) for part in parts)
        found: dict[str, _Test] = {}
        if gap:
            found["low rewards"] = self._each(self._low_rewards)
        if any(isinstance(part, KnownPropensity) for part in parts) or (odds and len(parts) > 1):
            found["crossing bounds"] = self._crossing
        if self.equal_cases is not None:
            cases = self._cases(self.equal_cases)
            if gap:
                found["choices in equal cases"] = self._each(cases.choices)
            if budgets:
                found["rewards in equal cases"] = self._each(cases.rewards)
            if odds:
                found["agreement in equal cases"] = self._each(cases.agreement)
        if self.time is not None:
            own, into = self.by(self.time)
            log_of = OverTime(self.world, own.arms, Cells.of(own), into, column_of(own, self.time))
            found["choices over time"] = lambda _, goal: log_of.choices(goal)
            found["rewards over time"] = lambda _, goal: log_of.rewards(goal)
        if self.decider is not None:
            if budgets:
                found["means of deciders"] = self._each(self._means)
            found["bounds of deciders"] = self._between
        if trial is not None:
            found["randomised part"] = lambda assumed, goal: self._lot(trial, assumed, goal)
        return found

    def _each(self, test: _Test) -> _Test:
        """A test of one part at a time: the parts share its probability of a false alarm."""
        return lambda part, goal: test(part, goal + log(len(self.assumption.parts)))

    def refuted(self, name: str, test: _Test, goal: float) -> Iterator[Refutation]:
        """What one test refutes."""
        timeless = name.endswith("over time")
        alone = name in ("low rewards", "means of deciders") or "equal" in name
        for assumed in self.assumption.parts if alone else (self.assumption,):
            for strike in test(assumed, goal):
                allowed = [] if strike.holds is None else self._allowed(assumed, strike)
                context = None if strike.place is None else self.world.contexts[strike.place]
                what = None if timeless else assumed
                yield Refutation(what, name, context, strike.reason, tuple(allowed))

    def _allowed(self, assumed: Assumption, strike: Strike) -> list[str]:
        contexts, span = self.world.contexts, self.world.high - self.world.low
        here = assumed.listed(contexts) if strike.place is None else in_context(assumed, strike.place, contexts)
        return [] if strike.holds is None else nearest_allowed(here, span, strike.holds)

    def _low_rewards(self, part: Assumption, goal: float) -> Iterator[Strike]:
        return low_rewards(part, self.world, Cells.of(self.plain), goal, self.method)

    def _log(self, counts: Counts, goal: float) -> Log:
        return Log.of(counts, self.assumption, 1.0 - exp(-goal), self.method, 0.0)

    def _crossing(self, assumed: Assumption, goal: float) -> Iterator[Strike]:
        own = self._log(self._only(self.propensities), goal)
        for wrong in Judged(own, assumed).contradictions():
            place = self.world.contexts.index(own.world.contexts[wrong.place])
            here = own.at(wrong.place)
            yield Strike(place, f"arm {own.arms[wrong.arm]!r}: {_reason(wrong.reason)}", _passes(here))

    def _cases(self, column: str) -> EqualCases:
        own, into = self.by(column)
        return EqualCases(self.world, own.arms, Cells.of(own), into, self.independent_rows)

    def _means(self, part: Assumption, goal: float) -> Iterator[Strike]:
        own, into = self.by(self.decider or "")
        return Deciders(self.world, Cells.of(own), into, column_of(own, self.decider or "")).means(
            part, goal, self.method
        )

    def _between(self, assumed: Assumption, goal: float) -> Iterator[Strike]:
        column = self.decider or ""
        own, into = self.by(column)
        log_of = self._log(self._only([column, *self.propensities]), goal)
        place = {context: at for at, context in enumerate(own.contexts)}
        order = np.array([place[context] for context in log_of.world.contexts])
        names = column_of(own, column)
        return Sources(log_of, self.world.contexts, into[order], [names[at] for at in order]).crossing(assumed)

    def _lot(self, trial: Counts, assumed: Assumption, goal: float) -> Iterator[Strike]:
        log_of = self._log(self._only(self.propensities), goal + log(2.0))
        place = {context: at for at, context in enumerate(self.world.contexts)}
        into = np.array([place[context] for context in log_of.world.contexts])
        cells, shape = Cells.of(trial), self.plain.count.shape
        lower, upper = np.zeros(shape), np.ones(shape)
        rows = [place[context] for context in trial.contexts]
        lower[rows], upper[rows] = lot_limits(cells, goal + log(2.0), self.method)
        return Sources(log_of, self.world.contexts, into, lot=(lower, upper)).crossing(assumed)


def _passes(here: Log) -> Callable[[Assumption], bool]:
    return lambda other: Judged(here, other).contradiction() is None


def _reason(text: str) -> str:
    """The reason of a contradiction, which ends with the word that introduces what was assumed."""
    return text.removesuffix(" Assumed").removesuffix(".")
