"""What is known of the arms before the first round, in one object that policies plan from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import Arm, MeanBounds
from meanbounds.support.saving import Saved

__all__ = ["Knowledge"]


@dataclass(frozen=True)
class Knowledge(Saved):
    """All that is known of the arms' means. Wherever knowledge is taken, bounds alone are taken as well.

    Parameters
    ----------
    bounds
        Bounds on the mean of each arm, which are taken to hold for certain.

    Examples
    --------
    >>> import meanbounds as mb
    >>> known = mb.Knowledge(mb.MeanBounds([0.7, 0.2], [0.95, 0.9], arms=["tPA", "medical"]))
    >>> mb.Agent(mb.GLUE(), known, seed=7).pull()
    'tPA'
    """

    bounds: MeanBounds

    def __post_init__(self) -> None:
        if not isinstance(self.bounds, MeanBounds):
            raise TypeError(f"knowledge needs MeanBounds, such as mb.MeanBounds([0.2], [0.9]); got {self.bounds!r}")

    @classmethod
    def of(cls, known: MeanBounds | Knowledge) -> Knowledge:
        """Knowledge from bounds alone; knowledge is returned as it is.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Knowledge.of(mb.MeanBounds([0.2], [0.9]))
        Knowledge(bounds=MeanBounds([0.2], [0.9]))
        """
        return known if isinstance(known, Knowledge) else cls(known)

    def subset(self, positions: Sequence[int] | NDArray[Any]) -> Knowledge:
        """What is known of some of the arms, chosen by position or by mask."""
        return Knowledge(self.bounds.subset(positions))

    def with_bounds(self, bounds: MeanBounds) -> Knowledge:
        """The same with other bounds."""
        return Knowledge(bounds)

    def with_arm(self, arm: Arm, lower: float | None, upper: float | None, low: float, high: float) -> Knowledge:
        """The same with one more arm; a bound that is None is the end of the range."""
        ends = {"lower": low if lower is None else lower, "upper": high if upper is None else upper}
        columns = {**ends, "low": low, "high": high}
        grown = {name: np.append(getattr(self.bounds, name), value) for name, value in columns.items()}
        return self.with_bounds(MeanBounds(arms=[*self.bounds.arms, arm], **grown))

    def to_dict(self) -> dict[str, Any]:
        """Everything, safe for JSON."""
        return {"bounds": MeanBounds.to_dict(self.bounds)}  # of tightened ones, too, the bounds alone

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the knowledge that `to_dict` described."""
        if set(data) != {"bounds"}:
            raise ValueError(f"saved knowledge has bounds and nothing else; got {sorted(map(str, data))}")
        return cls(MeanBounds.from_dict(data["bounds"]))
