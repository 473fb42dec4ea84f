"""Statistics behind verdicts: a paired test of which policy has less regret, and regret beside the theorems' bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtrc

import meanbounds as mb
from meanbounds.support.types import Floats
from meanbounds.theory import RegretBound
from paper.output import Claim, verdict

__all__ = ["LEVEL", "Pairs", "below_bounds", "by_chance", "comparable"]

LEVEL = 1e-3
"""Level of the sign test: with this probability it reports an order where there is none."""


class Pairs(NamedTuple):
    """Paired samples: their means, in how many pairs the first was less and more, and how likely that is by chance."""

    first: float
    second: float
    less: int
    more: int
    total: int
    chance: float

    @classmethod
    def of(cls, first: ArrayLike, second: ArrayLike) -> Pairs:
        """Compare two samples by the exact one-sided sign test of whether the first is less."""
        a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
        less, more = int(np.sum(a < b)), int(np.sum(a > b))
        return cls(float(a.mean()), float(b.mean()), less, more, a.size, by_chance(less, less + more, 0.5))

    @property
    def shows(self) -> bool:
        """Whether the first is less: in the mean, and by the test."""
        return self.first < self.second and self.chance <= LEVEL

    def __str__(self) -> str:
        ties = f", equal in {tied}" if (tied := self.total - self.less - self.more) else ""
        return f"{self.first:.1f} against {self.second:.1f}, less in {self.less} of {self.total} pairs{ties}"


def by_chance(count: int, trials: int, level: float = LEVEL) -> float:
    """The probability that at least so many of the trials succeed, each with the probability `level`."""
    return float(bdtrc(count - 1, trials, level)) if count else 1.0


def comparable(values: ArrayLike, factor: float = 2.0) -> bool:
    """Whether the largest is at most this factor times the least."""
    numbers = np.asarray(values, dtype=np.float64)
    return bool(numbers.max() <= factor * numbers.min())


def below_bounds(source: str, text: str, results: Sequence[mb.Regret]) -> Claim:
    """Judge whether simulated regret stays below the theorems' bounds at every checkpoint of every simulation.

    The mean over runs is compared with a bound on the expectation; every run with a bound that may fail with some
    probability, and at most that share may exceed it. As printed it holds if, besides, no printed bound is below the
    one that its proof gives.
    """
    shares: dict[str, list[float]] = {}
    exceeded: dict[str, list[bool]] = {}
    starts: dict[str, float] = {}
    allowed, printed = {}, True
    for regret in results:
        forms = mb.theory.regret_bounds(regret), mb.theory.regret_bounds(regret, form="paper")
        for label, bound in forms[0].items():
            if bound.values is None:
                continue
            share = _shares(regret.curves[label], bound)
            shares.setdefault(label, []).append(share.max())
            exceeded.setdefault(label, []).extend(share.max(axis=1) > 1.0 + 1e-12)
            says = regret.checkpoints[bound.informative]
            starts[label] = min(starts.get(label, np.inf), says[0] if says.size else np.inf)
            allowed[label], theirs = bound.failure, forms[1][label].values
            printed &= theirs is not None and bool(np.all(theirs >= bound.values * (1.0 - 1e-12)))
    where = {label: "nowhere" if np.isinf(start) else f"from round {start:,} on" for label, start in starts.items()}
    ratios = ", ".join(f"{label} {max(own):.2g} ({where[label]})" for label, own in shares.items())
    measured = (
        f"largest ratio of regret to the corrected bound, and where that bound is below what any arms could cost: "
        f"{ratios}; above it: {sum(map(sum, exceeded.values()))} curves"
    )
    measured += "" if printed else "; the printed bound is below what its proof gives"
    holds = all(np.mean(own) <= allowed[label] for label, own in exceeded.items())
    return Claim(source, text, measured, verdict(holds and printed, holds))


def _shares(curves: Floats, bound: RegretBound) -> Floats:
    """Each curve over the bound, at each checkpoint; a bound of 0 is met by a regret of 0."""
    values = np.asarray(bound.values)
    curves = curves.mean(axis=0, keepdims=True) if bound.kind == "expectation" else curves
    with np.errstate(divide="ignore"):
        return np.divide(curves, values, out=np.zeros_like(curves), where=curves > 0.0)
