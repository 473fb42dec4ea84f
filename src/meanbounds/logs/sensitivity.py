"""How much hangs on what nobody knows: bounds and decisions over a grid of assumptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.logs.counts import Context, Counts
from meanbounds.logs.expert import bounds_in

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Sensitivity", "sensitivity"]

_STEPS = 24  # on the way from the base to the end of an assumption
_HALVINGS = 25


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """What `sensitivity` found.

    Attributes
    ----------
    rows
        One mapping for each context and each point of the grid: the assumptions, ``width`` (mean over arms of upper
        less lower bound), ``pruned`` (arms that cannot be best), ``best_lower`` (l_max), ``saved`` (share of the
        exploration that the bounds save, by the variance proxies that the theory multiplies it with), and
        ``impossible``, why no bounds follow, where none do.
    tipping
        For each context and assumption the weaker value, nearest to that of `base`, at which the set of arms that can
        be best is another; None if none is.
    stronger
        The same for stronger values, as far as they are possible.
    base
        The assumptions that `tipping` starts from: the first of each grid.
    """

    rows: tuple[Mapping[str, Any], ...]
    tipping: Mapping[Context, Mapping[str, float | None]]
    stronger: Mapping[Context, Mapping[str, float | None]]
    base: Mapping[str, Any]

    def to_frame(self) -> pd.DataFrame:
        """A pandas data frame, a row for each context and each point of the grid."""
        import pandas as pd

        return pd.DataFrame(list(self.rows))

    def summary(self) -> str:
        """Table: for each context what the base assumptions give, and what would change the decision."""
        header = ("context", "width", "pruned", "l_max", "saved", "the decision changes at")
        lines = [header]
        for context, tips in self.tipping.items():
            row = next(r for r in self.rows if r["context"] == context)
            changes = ", ".join(
                f"{name} {value:.3g}"
                for side in (tips, self.stronger[context])
                for name, value in side.items()
                if value is not None
            )
            if row["impossible"]:
                lines.append((str(context), "-", "-", "-", "-", str(row["impossible"])))
                continue
            numbers = (f"{row['width']:.3f}", str(row["pruned"]), f"{row['best_lower']:.3f}", f"{row['saved']:.0%}")
            lines.append((str(context), *numbers, changes or "no value of any one assumption"))
        widths = [max(len(line[c]) for line in lines) for c in range(len(header))]
        text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([text[0], "-" * len(text[0]), *text[1:]])

    def plot(self, value: str = "width", ax: Axes | None = None) -> Axes:
        """Heat map over both gaps; see `meanbounds.plots.plot_sensitivity`."""
        from meanbounds.plots import plot_sensitivity

        return plot_sensitivity(self, value, ax)


def sensitivity(
    counts: Counts,
    gap_low: float | Mapping[Context, float] | Sequence[float | Mapping[Context, float]],
    gap_high: float | Mapping[Context, float] | Sequence[float | Mapping[Context, float]] | None = None,
    confidence: float | Sequence[float | None] | None = None,
    shift: float | Sequence[float] = 0.0,
    method: str = "bernstein",
    arms: Sequence[Arm] | None = None,
) -> Sensitivity:
    """Bounds over a grid of assumptions, and the smallest change of each that changes the decision.

    Parameters
    ----------
    counts
        What `meanbounds.logs.read` returned.
    gap_low, gap_high, confidence, shift
        What `meanbounds.logs.bounds` takes, each one value or a list of values to try. Gaps that differ by context are
        one value: a mapping. The first of each is what the decision is judged from: smaller ``gap_low``, larger
        ``gap_high``, ``shift`` and ``confidence`` assume less.
    method, arms
        As for `meanbounds.logs.bounds`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> lab = mb.HiddenContexts([[[0.9, 0.4, 0.1], [0.3, 0.8, 0.2]]], [[0.8, 0.2]])
    >>> found = mb.logs.sensitivity(lab.counts(), gap_low=[0.5, 0.1], gap_high=0.8)
    >>> found.rows[0]["pruned"], found.rows[1]["pruned"]
    (2, 0)
    >>> round(found.tipping["z0"]["gap_low"], 3)  # 0.88 - g 0.2 = 0.72 for the first arm, 0.88 - g 0.8 for the second
    0.2
    """
    span = counts.high - counts.low
    grids: dict[str, list[Any]] = {
        "gap_low": _several(gap_low),
        "gap_high": _several(span if gap_high is None else gap_high),
        "confidence": _several(confidence),
        "shift": _several(shift),
    }
    rows = []
    for point in product(*grids.values()):
        assumed = dict(zip(grids, point, strict=True))
        for context in counts.contexts:
            ask = _Question(counts, context, method, arms)
            rows.append({"context": context, **ask.own(assumed), **ask.judge(assumed)})
    base = {name: grid[0] for name, grid in grids.items()}
    questions = {context: _Question(counts, context, method, arms) for context in counts.contexts}
    ends = (
        {"gap_low": 0.0, "gap_high": span, "shift": 1.0, "confidence": 1.0 - 1e-9},
        {"gap_low": span, "gap_high": 0.0, "shift": 0.0, "confidence": 0.0},
    )
    tipping, stronger = (
        {
            context: {name: ask.tip(base, name, end) for name, end in towards.items() if base[name] is not None}
            for context, ask in questions.items()
        }
        for towards in ends
    )
    return Sensitivity(tuple(rows), tipping, stronger, base)


def _several(value: Any) -> list[Any]:
    values = list(value) if isinstance(value, Sequence | np.ndarray) else [value]
    if not values:
        raise ValueError("each assumption needs at least one value to try; one of the lists is empty")
    return values


@dataclass(frozen=True)
class _Question:
    """One context of one log, with all that is not varied."""

    counts: Counts
    context: Context
    method: str
    arms: Sequence[Arm] | None

    def own(self, assumed: Mapping[str, Any]) -> dict[str, Any]:
        """The assumptions with those of this context, where they differ by context."""
        return {name: value[self.context] if isinstance(value, Mapping) else value for name, value in assumed.items()}

    def bounds(self, assumed: Mapping[str, Any]) -> MeanBounds:
        return bounds_in(self.counts, self.context, method=self.method, arms=self.arms, **self.own(assumed))

    def judge(self, assumed: Mapping[str, Any]) -> dict[str, Any]:
        """What these assumptions give."""
        try:
            found = self.bounds(assumed)
        except BoundsError as error:
            return {"width": np.nan, "pruned": np.nan, "best_lower": np.nan, "saved": np.nan, "impossible": str(error)}
        explored = found.best_variance_proxy[found.possible].sum() if found.possible.sum() > 1 else 0.0
        return {
            "width": float(np.mean(found.upper - found.lower)),
            "pruned": int(np.sum(~found.possible)),
            "best_lower": found.best_lower,
            "saved": float(1.0 - explored / found.worst_variance_proxy.sum()),
            "impossible": "",
        }

    def decision(self, assumed: Mapping[str, Any]) -> tuple[bool, ...] | None:
        """Which arms can be best; None if the assumptions cannot hold."""
        try:
            return tuple(self.bounds(assumed).possible.tolist())
        except ValueError:
            return None

    def tip(self, base: Mapping[str, Any], name: str, end: float) -> float | None:
        """The value nearest to the base, on the way to the end, at which the decision is another and possible."""
        decided = self.decision(base)
        same: float = float(self.own(base)[name])
        other: float | None = None
        for value in np.linspace(same, end, _STEPS + 1)[1:].tolist():
            found = self.decision({**base, name: value})
            if found is not None and found != decided:
                other = value
                break
            same = value if found == decided else same
        if decided is None or other is None:
            return None
        for _ in range(_HALVINGS):
            middle = 0.5 * (same + other)
            if self.decision({**base, name: middle}) == decided:
                same = middle
            else:
                other = middle
        return other
