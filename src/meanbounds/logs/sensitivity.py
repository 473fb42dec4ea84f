"""At which value of each assumption a different option would look best: bounds and decisions over a grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import floor, log10
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from meanbounds.bounds import Arm, BoundsError
from meanbounds.logs.allowed import IN_REWARD_UNITS, joined
from meanbounds.logs.assumptions import Assumption, OptimalExpert, by_context, check_assumption
from meanbounds.logs.confidence import DEFAULT_CONFIDENCE, check_confidence
from meanbounds.logs.counts import Counts
from meanbounds.logs.expert import judged_log, listed_arms
from meanbounds.logs.judged import Judged, Log
from meanbounds.logs.names import Context
from meanbounds.support.checks import as_float, as_list, as_mapping, shown
from meanbounds.support.optional import optional

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Sensitivity", "TippingPoint", "sensitivity"]

_STEPS = 24  # on the way from the base to the end of an assumption
_HALVINGS = 25
_LARGEST = 1000.0  # of a number that has no end
_WEAKEST = {"shift": 1.0, "confidence": 1.0 - 1e-9}  # beside the numbers of assumptions
_STRONGEST = {
    **{"gap_low": 1.0, "gap_high": 0.0, "errors": 0.0, "loss": 0.0, "odds": 1.0},
    **{"shift": 0.0, "confidence": 0.0},
}


@dataclass(frozen=True)
class TippingPoint:
    """The value of one assumption beyond which other arms can be best in a context.

    Attributes
    ----------
    context
        The context.
    assumption
        The number of the assumption that moves: ``"gap_low"``, ``"gap_high"``, ``"errors"``, ``"loss"``, ``"odds"``,
        ``"shift"`` or ``"confidence"``.
    value
        The value beyond which other arms can be best; gaps and losses are in reward units.
    direction
        ``"below"`` or ``"above"``: the side of the value on which they can.
    enter, leave
        Arms that can be best on that side and not at the base; arms that can be best at the base only.

    Examples
    --------
    >>> import meanbounds as mb
    >>> print(mb.logs.TippingPoint("old", "gap_low", 0.241, "below", enter=("heparin",), leave=()))
    below gap_low 0.241: 'heparin' can be best too
    >>> print(mb.logs.TippingPoint("old", "confidence", 0.9998, "above", enter=("heparin", "aspirin"), leave=()))
    above confidence 0.9998: 'heparin' and 'aspirin' can be best too
    >>> print(mb.logs.TippingPoint("old", "gap_low", 0.3, "above", enter=(), leave=("heparin",)))
    above gap_low 0.3: 'heparin' can no longer be best
    """

    context: Context
    assumption: str
    value: float
    direction: Literal["below", "above"]
    enter: tuple[Arm, ...]
    leave: tuple[Arm, ...]

    def __str__(self) -> str:
        ends = ((self.enter, "can be best too"), (self.leave, "can no longer be best"))
        said = [f"{_listing(arms)} {what}" for arms, what in ends if arms]
        return f"{self.direction} {self.assumption} {_number(self.assumption, self.value)}: {', '.join(said)}"


Tips = Mapping[Context, Mapping[str, TippingPoint | None]]


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The bounds and decisions that follow from each assumption on a grid; `sensitivity` returns one.

    Attributes
    ----------
    rows
        One mapping for each context and each point of the grid: the assumptions, ``can_be_best`` (the arms that can),
        ``width`` (mean over arms of upper less lower bound, in reward units), ``pruned`` (how many arms cannot be
        best), ``best_lower`` (the largest lower bound, l_max), ``saved`` (share of the exploration that the bounds
        save, measured by the sum of variance proxies in the regret bounds), and ``impossible`` (the reason why the
        assumptions contradict the log; empty if they do not).
    tipping
        For each context and assumption the nearest weaker value beyond which other arms can be best, as a
        `TippingPoint`; None if there is none.
    stronger
        The same for stronger values, as far as they do not contradict the log.
    base
        The assumptions that tipping points start from: the first of each grid. A confidence of None is an infinite log.

    Examples
    --------
    >>> import meanbounds as mb
    >>> means, arms = [[[0.9, 0.4, 0.1], [0.3, 0.8, 0.2]]], ["tPA", "heparin", "watch"]
    >>> lab = mb.HiddenContexts(means, [[0.8, 0.2]], arms=arms)
    >>> found = mb.logs.sensitivity(lab.counts(), gap_low=[0.5, 0.1], gap_high=0.8, infinite=True)
    >>> [(row["gap_low"], row["can_be_best"]) for row in found.rows]
    [(0.5, ('tPA',)), (0.1, ('tPA', 'heparin', 'watch'))]
    >>> print(found.tipping["z0"]["gap_low"])
    below gap_low 0.2: 'heparin' can be best too
    >>> found.tipping["z0"]["gap_high"] is None  # it is 0.8, and even 1 would change nothing
    True
    """

    rows: tuple[Mapping[str, Any], ...]
    tipping: Tips
    stronger: Tips
    base: Mapping[str, Any]

    def changes(self, context: Context) -> tuple[TippingPoint, ...]:
        """List all tipping points of a context, those of weaker assumptions first.

        Examples
        --------
        >>> import meanbounds as mb
        >>> lab = mb.HiddenContexts([[[0.9, 0.4, 0.1], [0.3, 0.8, 0.2]]], [[0.8, 0.2]])
        >>> found = mb.logs.sensitivity(lab.counts(), gap_low=0.5, gap_high=0.8, infinite=True)
        >>> for point in found.changes("z0"):
        ...     print(point)
        below gap_low 0.2: 1 can be best too
        above shift 0.12: 1 can be best too
        """
        sides = (self.tipping[context], self.stronger[context])
        return tuple(point for side in sides for point in side.values() if point is not None)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame, a row for each context and each point of the grid.

        After the columns of `rows`, ``weaker_gap_low``, ``stronger_gap_low`` and so on hold the values of the tipping
        points (NaN where there is none), and ``changes`` says in words what happens at each.

        Examples
        --------
        >>> import meanbounds as mb
        >>> lab = mb.HiddenContexts([[[0.9, 0.4, 0.1], [0.3, 0.8, 0.2]]], [[0.8, 0.2]])
        >>> frame = mb.logs.sensitivity(lab.counts(), gap_low=0.5, gap_high=0.8, infinite=True).to_frame()
        >>> frame["weaker_gap_low"].round(3).tolist(), frame["can_be_best"].tolist()
        ([0.2], ['0'])
        """
        with optional("frames", "data frames"):
            import pandas as pd

        return pd.DataFrame([self._flat(row) for row in self.rows])

    def _flat(self, row: Mapping[str, Any]) -> dict[str, Any]:
        flat = {**row, "can_be_best": ", ".join(map(str, row["can_be_best"]))}
        for side, tips in (("weaker", self.tipping), ("stronger", self.stronger)):
            for name, point in tips[row["context"]].items():
                flat[f"{side}_{name}"] = np.nan if point is None else point.value
        flat["changes"] = "; ".join(map(str, self.changes(row["context"])))
        return flat

    def summary(self) -> str:
        """Say in words which arms can be best in each context, and at which assumptions others can.

        Examples
        --------
        >>> import meanbounds as mb
        >>> means, arms = [[[0.9, 0.4, 0.1], [0.3, 0.8, 0.2]]], ["tPA", "heparin", "watch"]
        >>> lab = mb.HiddenContexts(means, [[0.8, 0.2]], arms=arms)
        >>> print(mb.logs.sensitivity(lab.counts(), gap_low=0.5, gap_high=0.8, infinite=True).summary())
        gap_low 0.5, gap_high 0.8, an infinite log, shift 0
        <BLANKLINE>
        z0: 'tPA' can be best; l_max 0.720, mean width 0.200, exploration saved 100%
            below gap_low 0.2: 'heparin' can be best too
            above shift 0.12: 'heparin' can be best too
        """
        lines = [_assumptions(self.base)]
        for context in self.tipping:
            row = next(r for r in self.rows if r["context"] == context)
            if row["impossible"]:
                lines += ["", f"{context}: {row['impossible']}"]
                continue
            lines += ["", f"{context}: {_outcome(row)}"]
            changes = self.changes(context) or ("no value of any one assumption changes this",)
            lines += [f"    {change}" for change in changes]
        return "\n".join(lines)

    def plot(self, value: str = "can_be_best", *, context: Context | None = None, ax: Axes | None = None) -> Axes:
        """Draw a heat map over two numbers of what is assumed: which options can be best under each pair of them.

        These are the first two that have several values; both gaps if they have, or none has.

        Parameters
        ----------
        value
            The number that cells show: ``"can_be_best"`` or ``"pruned"`` (options that can, or cannot, be best),
            ``"width"``, ``"best_lower"`` or ``"saved"``; see `meanbounds.plots.plot_sensitivity`.
        context
            Show this context alone; all of them together by default.
        ax
            Axes of matplotlib to draw on; new ones by default.

        Examples
        --------
        >>> import meanbounds as mb
        >>> from matplotlib import pyplot as plt
        >>> lab = mb.HiddenContexts([[[0.9, 0.4, 0.1], [0.3, 0.8, 0.2]]], [[0.8, 0.2]], arms=["a", "b", "c"])
        >>> ax = mb.logs.sensitivity(lab.counts(), gap_low=[0.5, 0.1], gap_high=0.8, infinite=True).plot()
        >>> [text.get_text().split() for text in ax.texts]  # for gap_low 0.1 and 0.5
        [['all', '3'], ['a']]
        >>> plt.close()
        """
        from meanbounds.plots import plot_sensitivity

        return plot_sensitivity(self, value, context=context, ax=ax)


Grid = float | Mapping[Context, float] | Sequence[float | Mapping[Context, float]]
"""One value, or a list of values to try; a value is one number, or one for each context."""


def sensitivity(
    counts: Counts,
    assumption: Assumption | None = None,
    *,
    values: Mapping[str, Grid] | None = None,
    gap_low: Grid | None = None,
    gap_high: Grid | None = None,
    confidence: float | Sequence[float] = DEFAULT_CONFIDENCE,
    infinite: bool = False,
    shift: float | Sequence[float] = 0.0,
    method: str = "bernstein",
    arms: Sequence[Arm] | None = None,
    contexts: Sequence[Context] | None = None,
    numbers: Sequence[str] | None = None,
) -> Sensitivity:
    """Find at which value of each assumption a different option would look best, and which one.

    It computes bounds at each point of a grid of assumptions, and from its first point moves one assumption at a time,
    to weaker and to stronger values, until other arms can be best.

    Parameters
    ----------
    counts
        The counts of a log, from `meanbounds.logs.read`.
    assumption
        What is assumed of who wrote the log, as for `meanbounds.logs.bounds`; by default
        ``OptimalExpert(gap_low, gap_high)``. Every number of it is moved.
    values
        Values to try for numbers of the assumption, such as ``{"errors": [0.05, 0.1]}``; others stay as they are. A
        number that several joined assumptions have is the same in all of them.
    gap_low, gap_high
        Short for ``values`` of these two, in reward units (0.5 is half a star), where `assumption` is not given.
    confidence, shift
        As for `meanbounds.logs.bounds`, each one value or a list of values to try. Gaps that differ by context are one
        value: a mapping. Tipping points start from the first value of each. A smaller ``gap_low`` and a larger value
        of everything else assume less.
    infinite
        True treats the log as infinite; there is no confidence then.
    method, arms
        As for `meanbounds.logs.bounds`.
    contexts
        Look at these contexts alone, for logs with thousands of them; the confidence is still that of all contexts at
        once. All by default.
    numbers
        Find the tipping points of these numbers alone, such as ``["errors", "shift"]``. All by default.

    Examples
    --------
    >>> import meanbounds as mb
    >>> lab = mb.HiddenContexts([[[0.9, 0.4, 0.1], [0.3, 0.8, 0.2]]], [[0.8, 0.2]])
    >>> found = mb.logs.sensitivity(lab.counts(), gap_low=[0.5, 0.1], gap_high=0.8, infinite=True)
    >>> found.rows[0]["can_be_best"], found.rows[1]["can_be_best"]
    ((0,), (0, 1, 2))
    >>> print(found.tipping["z0"]["gap_low"])  # 0.88 - g 0.2 = 0.72 for the first arm, 0.88 - g 0.8 for the second
    below gap_low 0.2: 1 can be best too

    How many errors may the expert have made, before the second arm can be best too?

    >>> erring = mb.logs.ErringExpert(0.0, gap_low=0.5)
    >>> found = mb.logs.sensitivity(lab.counts(), erring, values={"errors": [0.0, 0.2, 0.4]}, infinite=True)
    >>> [row["can_be_best"] for row in found.rows]
    [(0,), (0,), (0, 1)]
    >>> print(found.tipping["z0"]["errors"])
    above errors 0.32: 1 can be best too
    """
    counts = listed_arms(counts, arms)
    span = counts.high - counts.low
    assumed, tried = _tried(assumption, values, gap_low, gap_high)
    levels = [check_confidence(level, infinite) for level in _listed(confidence)]
    log = judged_log(counts, assumed, levels[0], method, 0.0).log
    every = log.world.contexts
    grids: dict[str, list[Any]] = {
        **{name: _several(name, given, every) for name, given in _numbers_of(assumed, tried, every, span).items()},
        "confidence": levels,
        "shift": _several("shift", shift, every),
    }
    looked_at = set(every if contexts is None else _chosen("context", contexts, every))
    moved = list(grids) if numbers is None else _chosen("number", numbers, list(grids))
    questions = [
        _Question(context, log.at(place), assumed) for place, context in enumerate(every) if context in looked_at
    ]
    rows = []
    for point in product(*grids.values()):
        here = dict(zip(grids, point, strict=True))
        rows += [{"context": ask.context, **ask.own(here), **ask.judge(here)} for ask in questions]
    base = {name: grid[0] for name, grid in grids.items()}
    weaker, stronger = (
        {
            ask.context: {name: ask.tip(base, name, ends[name]) for name in moved if base[name] is not None}
            for ask in questions
        }
        for ends in ends_of(assumed, span)
    )
    return Sensitivity(tuple(rows), weaker, stronger, base)


def ends_of(assumed: Assumption, span: float) -> tuple[dict[str, float], dict[str, float]]:
    """How far each number of an assumption can move, to the weakest and to the strongest; gaps in reward units.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.sensitivity import ends_of
    >>> weakest, strongest = ends_of(mb.logs.OptimalExpert(), span=4.0)
    >>> weakest["gap_high"], strongest["gap_high"], strongest["shift"]
    (4.0, 0.0, 0.0)
    """
    nothing = {name: min(end, _LARGEST) for part in assumed.parts for name, end in part.weaker.items()}
    weakest, strongest = (
        {name: end * (span if name in IN_REWARD_UNITS else 1.0) for name, end in ends.items()}
        for ends in ({**nothing, **_WEAKEST}, _STRONGEST)
    )
    return weakest, strongest


def _chosen(what: str, names: Sequence[Any], known: Sequence[Any]) -> list[Any]:
    """Names that a user picks out of those that there are."""
    wanted = as_list(f"{what}s", names)
    for name in wanted:
        if name not in known:
            some = ", ".join(map(repr, known[:10])) + ", ..." * (len(known) > 10)
            raise ValueError(f"{what}s has {shown(name)}, which is none of {some}")
    return wanted


def _tried(
    assumption: Assumption | None, values: Mapping[str, Grid] | None, gap_low: Grid | None, gap_high: Grid | None
) -> tuple[Assumption, dict[str, Grid]]:
    """What is assumed, and the values to try for some of its numbers."""
    tried = dict(as_mapping("values", {} if values is None else values))
    gaps = {name: given for name, given in (("gap_low", gap_low), ("gap_high", gap_high)) if given is not None}
    if assumption is not None and gaps:
        raise ValueError(
            f"with an assumption give gaps to try as values={{'gap_low': [0.0, 0.1]}}; got {', '.join(gaps)} beside it"
        )
    assumed = OptimalExpert() if assumption is None else check_assumption(assumption)
    known = list(dict.fromkeys(name for part in assumed.parts for name in part.weaker))
    for name in tried:
        if name not in known:
            raise ValueError(
                f"{shown(name)} has values to try, but is no number of {assumed!r}; its numbers are "
                f"{', '.join(map(repr, known)) or 'none'}"
            )
    return assumed, {**gaps, **tried}


def _numbers_of(
    assumed: Assumption, tried: Mapping[str, Grid], contexts: Sequence[Context], span: float
) -> dict[str, Any]:
    """Every number of an assumption by name: the values to try, or the one that it has."""
    found: dict[str, Any] = {}
    for part in assumed.parts:
        for name in part.weaker:
            own = getattr(part, name)
            if own is None:
                found.setdefault(name, span)
            else:
                found[name] = (
                    own if isinstance(own, float) else dict(zip(contexts, by_context(name, own, contexts), strict=True))
                )
    return {name: tried.get(name, own) for name, own in found.items()}


def _several(name: str, value: Any, contexts: Sequence[Context]) -> list[float | dict[Context, float]]:
    """The values of an assumption to try: each one number, or one for each context."""
    values: list[float | dict[Context, float]] = []
    for part in _listed(value):
        own = by_context(name, part, contexts) if isinstance(part, Mapping) else [as_float(name, part)]
        if not np.isfinite(own).all():
            raise ValueError(f"{name} must be finite numbers; got {shown(value)}")
        values.append(dict(zip(contexts, own, strict=True)) if isinstance(part, Mapping) else own[0])
    return values


def _listed(value: Any) -> list[Any]:
    one = isinstance(value, str | bytes | Mapping | np.generic) or (isinstance(value, np.ndarray) and not value.ndim)
    values = [value] if one or not isinstance(value, Iterable) else list(value)
    if not values:
        raise ValueError("each assumption needs at least one value to try; one of the lists is empty")
    return values


def _number(name: str, value: float) -> str:
    """Three digits; for a confidence as many as distinguish it from 1."""
    if name != "confidence" or not 0.9 < value < 1.0:
        return f"{value:.3g}"
    return f"{value:.{1 - floor(log10(1.0 - value))}f}".rstrip("0")


def _listing(arms: Sequence[Arm]) -> str:
    shown = [repr(arm) for arm in arms]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _assumptions(base: Mapping[str, Any]) -> str:
    def say(name: str, value: Any) -> str:
        if value is None:
            return "an infinite log"
        return f"{name} by context" if isinstance(value, Mapping) else f"{name} {_number(name, value)}"

    return ", ".join(say(name, value) for name, value in base.items())


def _outcome(row: Mapping[str, Any]) -> str:
    return (
        f"{_listing(row['can_be_best'])} can be best; l_max {row['best_lower']:.3f}, "
        f"mean width {row['width']:.3f}, exploration saved {row['saved']:.0%}"
    )


@dataclass(frozen=True)
class _Question:
    """One context of one log, with the settings that are not varied."""

    context: Context
    log: Log
    assumption: Assumption

    def own(self, assumed: Mapping[str, Any]) -> dict[str, Any]:
        """The assumptions with those of this context, where they differ by context."""
        return {name: value[self.context] if isinstance(value, Mapping) else value for name, value in assumed.items()}

    def judged(self, assumed: Mapping[str, Any]) -> Judged:
        own = self.own(assumed)
        if not 0.0 <= own["shift"] <= 1.0:
            raise ValueError(f"shift is a total variation distance between 0 and 1; got {own['shift']!r}")
        log = replace(self.log, confidence=own["confidence"], shift=own["shift"])
        parts = [replace(part, **{name: own[name] for name in part.weaker}) for part in self.assumption.parts]
        return Judged(log, joined(parts))

    def judge(self, assumed: Mapping[str, Any]) -> dict[str, Any]:
        """Bounds and decision under these assumptions, as a row of `Sensitivity.rows`."""
        try:
            found = self.judged(assumed).bounds()[self.context]
        except BoundsError as error:
            unknown = dict.fromkeys(("width", "pruned", "best_lower", "saved"), np.nan)
            return {"can_be_best": (), **unknown, "impossible": str(error)}
        explored = found.best_variance_proxy[found.possible].sum() if found.possible.sum() > 1 else 0.0
        return {
            "can_be_best": found.pruned().arms,
            "width": float(np.mean(found.upper - found.lower)),
            "pruned": int(np.sum(~found.possible)),
            "best_lower": found.best_lower,
            "saved": float(1.0 - explored / found.worst_variance_proxy.sum()),
            "impossible": "",
        }

    def decision(self, assumed: Mapping[str, Any]) -> tuple[Arm, ...] | None:
        """Which arms can be best; None if the assumptions cannot hold."""
        try:
            judged = self.judged(assumed)
            return None if judged.contradiction() else judged.bounds()[self.context].pruned().arms
        except BoundsError:  # gaps that cannot be
            return None

    def tip(self, base: Mapping[str, Any], name: str, end: float) -> TippingPoint | None:
        """The value nearest to the base, on the way to the end, at which the decision is another and possible."""
        decided = self.decision(base)
        start: float = float(self.own(base)[name])
        same, other = start, None
        way = np.geomspace if name == "odds" else np.linspace
        for value in way(start, end, _STEPS + 1)[1:].tolist():
            found = self.decision({**base, name: value})
            if found is not None and found != decided:
                other = value
                break
            same = value if found == decided else same
        if decided is None or other is None:
            return None
        for _ in range(_HALVINGS):
            middle = 0.5 * (same + other)
            if self.decision({**base, name: middle}) in (decided, None):
                same = middle
            else:
                other = middle
        return self._point(base, name, other)

    def _point(self, base: Mapping[str, Any], name: str, value: float) -> TippingPoint | None:
        before, after = self.decision(base), self.decision({**base, name: value})
        if before is None or after is None:
            return None
        enter = tuple(arm for arm in after if arm not in before)
        leave = tuple(arm for arm in before if arm not in after)
        direction: Literal["below", "above"] = "below" if value < float(self.own(base)[name]) else "above"
        return TippingPoint(self.context, name, value, direction, enter, leave)
