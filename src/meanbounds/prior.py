"""Judgement about the means: what each is expected to be, and how many plays that expectation is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.bounds import MeanBounds, check_bounds
from meanbounds.support.checks import as_floats, as_mapping, as_positions, shown
from meanbounds.support.saving import Saved
from meanbounds.support.types import Floats

__all__ = ["Prior"]

_SAVED = ("mean", "strength")
_STRONGEST = 1e12  # parameter of a Beta law: the peak of a stronger one can be narrower than floats resolve
_WEAKEST = 1e-6  # a weaker one would be a coin that shows one end of the range or the other


@dataclass(frozen=True, init=False)
class Prior(Saved):
    """What you expect of each arm's mean before the first round, and how many plays that is worth.

    In units of the arm's range, with m the mean and s the strength, the prior of an arm is ``Beta(m s, (1 - m) s)``,
    truncated to its bounds. A prior is forgiving where a bound is not: rewards outweigh it as soon as there are more of
    them than its strength. docs/priors.md says what a wrong one costs.

    Parameters
    ----------
    mean
        The expected mean of each arm, in the units of the rewards and inside their range: one number for all arms, or
        one for each. Truncation to the bounds moves it.
    strength
        How many plays the expectation is worth, above 0: one number or one for each arm. Half of the range as the mean,
        with the strength 2, says nothing: it is the uniform prior that policies have without a `Prior`. A strength
        below 2 expects means near the ends of the range.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds.vacuous(["new", "old"])
    >>> known = mb.Knowledge(bounds, prior=mb.Prior(mean=[0.5, 0.8], strength=[2, 20]))
    >>> mb.Agent(mb.ThompsonSampling(), known, seed=7).probabilities().round(3)
    array([0.2, 0.8])

    Having seen 3 successes in 5 plays, after a uniform prior, is the same as this:

    >>> mb.Prior(mean=(1 + 3) / (2 + 5), strength=2 + 5)
    Prior(mean=0.5714285714285714, strength=7.0)
    """

    mean: float | tuple[float, ...]
    strength: float | tuple[float, ...]

    def __init__(self, mean: ArrayLike, strength: ArrayLike) -> None:
        for name, given in (("mean", mean), ("strength", strength)):
            values = as_floats(f"prior: {name}", given)
            if values.ndim > 1 or values.size == 0 or not np.isfinite(values).all():
                raise ValueError(f"the {name} of a prior is one number, or one for each arm; got {shown(given)}")
            if name == "strength" and not np.all(values > 0.0):
                raise ValueError(
                    f"the strength of a prior is a number of plays above 0; got {shown(given)}. To say nothing about "
                    f"an arm, take the middle of its range as the mean and 2 as the strength"
                )
            object.__setattr__(self, name, tuple(values.tolist()) if values.ndim else float(values))

    def rows(self, bounds: MeanBounds) -> Floats:
        """Strength of each of these arms, and how it is shared between the best and the worst reward.

        Raises
        ------
        ValueError
            If the prior has another number of arms, or does not fit the range of an arm.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Prior([2.0, 4.0], 8).rows(mb.MeanBounds([1.0, 1.0], [5.0, 5.0], low=1.0, high=5.0))
        array([[8., 8.],
               [2., 6.],
               [6., 2.]])
        """
        check_bounds(bounds)
        for name in _SAVED:
            given = getattr(self, name)
            if isinstance(given, tuple) and len(given) != len(bounds):
                raise ValueError(
                    f"the {name} of the prior has {len(given)} entries; give one number or one for each of "
                    f"{len(bounds)} arms"
                )
        means, strengths = (np.broadcast_to(np.array(getattr(self, name)), len(bounds)) for name in _SAVED)
        span = bounds.high - bounds.low
        above, below = strengths * ((means - bounds.low) / span), strengths * ((bounds.high - means) / span)
        for k, arm in enumerate(bounds.arms):
            self._check(arm, float(means[k]), (float(bounds.low[k]), float(bounds.high[k])), (above[k], below[k]))
        return np.vstack([strengths, above, below])

    @staticmethod
    def _check(arm: object, mean: float, ends: tuple[float, float], parameters: tuple[float, float]) -> None:
        """Refuse a mean that is not inside its range, and a strength that no law has."""
        low, high = ends
        if not low < mean < high:
            raise ValueError(
                f"the prior mean of arm {shown(arm)} is {mean:g}, not inside its range from {low:g} to {high:g}; give "
                f"it in the units of the rewards. A mean that is known for certain is a bound, not a prior"
            )
        if not (min(parameters) >= _WEAKEST and max(parameters) <= _STRONGEST):
            raise ValueError(
                f"the prior of arm {shown(arm)}: mean and strength give the Beta parameters {parameters[0]:g} and "
                f"{parameters[1]:g}, which have to be from {_WEAKEST:g} to {_STRONGEST:g}. A stronger prior would "
                f"outweigh all rewards: give bounds instead"
            )

    def subset(self, positions: Sequence[int] | NDArray[Any]) -> Prior:
        """The prior of some of the arms, chosen by position or by mask.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Prior([0.2, 0.6], 8).subset([1])
        Prior(mean=(0.6,), strength=8.0)
        """
        parts = [getattr(self, name) for name in _SAVED]
        chosen = [
            part if isinstance(part, float) else np.array(part)[as_positions(positions, len(part))] for part in parts
        ]
        return Prior(*chosen)

    def to_dict(self) -> dict[str, Any]:
        """The prior in plain numbers and lists that JSON can hold; `from_dict` is the inverse.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Prior([0.2, 0.6], 8).to_dict()
        {'mean': [0.2, 0.6], 'strength': 8.0}
        """
        values = {name: getattr(self, name) for name in _SAVED}
        return {name: value if isinstance(value, float) else list(value) for name, value in values.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the prior that `to_dict` described.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Prior.from_dict({"mean": 0.3, "strength": 5})
        Prior(mean=0.3, strength=5.0)
        """
        if set(as_mapping("a saved prior", data)) != set(_SAVED):
            raise ValueError(f"a prior has mean and strength; got {sorted(map(str, data))}")
        return cls(data["mean"], data["strength"])
