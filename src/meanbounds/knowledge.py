"""Everything known about the arms before the first round, in one object that policies plan from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.support.checks import as_float, as_mapping, shown
from meanbounds.support.saving import Saved

__all__ = ["Knowledge"]


@dataclass(frozen=True)
class Knowledge(Saved):
    """Everything known about the arms' means before the first round.

    Today this is the bounds. Each function that takes knowledge also takes `MeanBounds` alone.

    Parameters
    ----------
    bounds
        Bounds on the mean of each arm, which policies take to be certain.

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
            raise TypeError(
                f"knowledge needs MeanBounds, such as mb.MeanBounds([0.2], [0.9]); got {shown(self.bounds)}"
            )

    @classmethod
    def of(cls, known: MeanBounds | Knowledge) -> Knowledge:
        """Wrap bounds as knowledge; knowledge is returned unchanged.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Knowledge.of(mb.MeanBounds([0.2], [0.9]))
        Knowledge(bounds=MeanBounds([0.2], [0.9]))
        """
        return known if isinstance(known, Knowledge) else cls(known)

    def subset(self, positions: Sequence[int] | NDArray[Any]) -> Knowledge:
        """The knowledge about some of the arms, chosen by position or by mask; see `MeanBounds.subset`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Knowledge(mb.MeanBounds([0.2, 0.3], [0.9, 0.8])).subset([1])
        Knowledge(bounds=MeanBounds([0.3], [0.8], arms=[1]))
        """
        return Knowledge(self.bounds.subset(positions))

    def with_bounds(self, bounds: MeanBounds) -> Knowledge:
        """The same knowledge with other bounds in place of these.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Knowledge(mb.MeanBounds([0.2], [0.9])).with_bounds(mb.MeanBounds([0.4], [0.6]))
        Knowledge(bounds=MeanBounds([0.4], [0.6]))
        """
        return Knowledge(bounds)

    def with_arm(self, arm: Arm, lower: float | None, upper: float | None, low: float, high: float) -> Knowledge:
        """The same knowledge with one more arm, at the end.

        Parameters
        ----------
        arm
            The name of the new arm.
        lower, upper
            Bounds on its mean, in the units of the reward; None stands for the end of its range.
        low, high
            The range of its rewards.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Knowledge(mb.MeanBounds([0.2], [0.9], arms=["old"])).with_arm("new", None, 0.7, 0.0, 1.0)
        Knowledge(bounds=MeanBounds([0.2, 0.0], [0.9, 0.7], arms=['old', 'new']))
        """
        ends = {"lower": low if lower is None else lower, "upper": high if upper is None else upper}
        columns = {
            name: as_float(name, value, error=BoundsError)
            for name, value in (ends | {"low": low, "high": high}).items()
        }
        grown = {name: np.append(getattr(self.bounds, name), value) for name, value in columns.items()}
        return self.with_bounds(MeanBounds(arms=[*self.bounds.arms, arm], **grown))

    def to_dict(self) -> dict[str, Any]:
        """The knowledge in plain lists that JSON can hold; `from_dict` is the inverse.

        Of `TightBounds`, only the bounds themselves are kept.

        Examples
        --------
        >>> import meanbounds as mb
        >>> sorted(mb.Knowledge(mb.MeanBounds([0.2], [0.9])).to_dict()["bounds"])
        ['arms', 'high', 'low', 'lower', 'upper']
        """
        return {"bounds": MeanBounds.to_dict(self.bounds)}  # for TightBounds, too, the bounds alone

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the knowledge that `to_dict` described.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Knowledge.from_dict({"bounds": {"lower": [0.2], "upper": [0.9]}})
        Knowledge(bounds=MeanBounds([0.2], [0.9]))
        """
        if set(as_mapping("saved knowledge", data)) != {"bounds"}:
            raise ValueError(f"saved knowledge has bounds and nothing else; got {sorted(map(str, data))}")
        return cls(MeanBounds.from_dict(data["bounds"]))
