"""What a user knows of the arms before the first round: bounds, a prior, and how far to trust the bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import MeanBounds, check_bounds
from meanbounds.support.checks import as_floats, as_mapping, shown
from meanbounds.support.saving import Saved
from meanbounds.support.types import Floats

__all__ = ["Knowledge", "Prior"]

_STRONGEST = 1e12  # Beta parameter: the peak of a stronger one can be narrower than floats resolve
_ROUNDING = 1e-9
_LEARNED = 0.0, -1.0  # mean and strength that stand for a prior that is learned


@dataclass(frozen=True, init=False)
class Prior(Saved):
    """What you expect of each arm's mean, and how many plays that expectation is worth.

    In units of the arm's range, with m the mean and s the strength, the prior of an arm is ``Beta(m s, (1 - m) s)``,
    truncated to its bounds. A prior is forgiving where a bound is not: rewards outweigh it as soon as there are more of
    them than its strength.

    Parameters
    ----------
    mean
        The expected mean of each arm, in the units of the rewards and inside their range: one number for all arms, or
        one for each. Truncation to the bounds moves it.
    strength
        How many plays the expectation is worth: one number or one for each arm. The middle of the range with strength 2
        says nothing: it is the uniform prior that policies have without a `Prior`. Both Beta parameters must be at
        least 1; weaker priors expect means at the ends of the range.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds.vacuous(["new", "old"])
    >>> known = mb.Knowledge(bounds, prior=mb.Prior(mean=[0.5, 0.8], strength=[2, 20]))
    >>> mb.Agent(mb.ThompsonSampling(), known, seed=7).probabilities().round(3)
    array([0.2, 0.8])

    Where nobody knows what to expect, `learned` finds out.
    """

    mean: float | tuple[float, ...]
    strength: float | tuple[float, ...]

    def __init__(self, mean: ArrayLike, strength: ArrayLike) -> None:
        for name, given in (("mean", mean), ("strength", strength)):
            values = as_floats(f"prior: {name}", given)
            if values.ndim > 1 or values.size == 0 or not np.isfinite(values).all():
                raise ValueError(f"the {name} of a prior is one number, or one for each arm; got {shown(given)}")
            object.__setattr__(self, name, tuple(values.tolist()) if values.ndim else float(values))

    @classmethod
    def learned(cls) -> Self:
        """A prior that is learned from the rewards of all arms together: whether means are low, high or alike.

        In units of the ranges, the means are expected to come from one Beta distribution, of a few that
        `meanbounds.learned` lists, the uniform one among them. Take it where rewards are rare, such as conversions, or
        hardly ever fail. What experts earn when asked is not learned, and says nothing about the arms. Policies with
        ``moments=2`` learn from rewards of 0 and 1 alone, and have the uniform prior once others came. How credible
        doubted bounds are is judged by the uniform prior.

        Examples
        --------
        >>> import meanbounds as mb
        >>> known = mb.Knowledge(mb.MeanBounds.vacuous(3), prior=mb.Prior.learned())
        >>> agent = mb.Agent(mb.OptimisticGittins(), known, seed=7)
        >>> for arm in [0, 1] * 20:
        ...     agent.update(arm, 0.0, pulled=False)
        >>> agent.indices().round(2)  # by the uniform prior, 0.87 for arm 2, which was never tried
        array([0.06, 0.06, 0.28])
        """
        return cls(*_LEARNED)

    @property
    def is_learned(self) -> bool:
        """Whether this is `learned()`."""
        return (self.mean, self.strength) == _LEARNED

    def __repr__(self) -> str:
        return "Prior.learned()" if self.is_learned else f"Prior(mean={self.mean!r}, strength={self.strength!r})"

    def parameters(self, bounds: MeanBounds) -> Floats:
        """Both Beta parameters of each of these arms: two rows.

        Raises
        ------
        ValueError
            If the prior has another number of arms, or does not fit the range of an arm.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Prior([2.0, 4.0], 8).parameters(mb.MeanBounds([1.0, 1.0], [5.0, 5.0], low=1.0, high=5.0))
        array([[2., 6.],
               [6., 2.]])
        """
        check_bounds(bounds)
        if self.is_learned:
            return np.ones((2, len(bounds)))
        columns = []
        for name in ("mean", "strength"):
            values = np.array(getattr(self, name))
            if values.ndim and values.size != len(bounds):
                raise ValueError(
                    f"the {name} of the prior has {values.size} entries; give one number or one for each of "
                    f"{len(bounds)} arms"
                )
            columns.append(np.broadcast_to(values, len(bounds)))
        means, strengths = columns
        width = bounds.high - bounds.low
        above, below = strengths * (means - bounds.low) / width, strengths * (bounds.high - means) / width
        for k, arm in enumerate(bounds.arms):
            if not (bounds.low[k] < means[k] < bounds.high[k]):
                raise ValueError(
                    f"the prior mean of arm {shown(arm)} is {means[k]:g}, not inside its range from {bounds.low[k]:g} "
                    f"to {bounds.high[k]:g}; give it in the units of the rewards. A mean that is known for certain is "
                    f"a bound, not a prior"
                )
            if not (min(above[k], below[k]) >= 1.0 - _ROUNDING and max(above[k], below[k]) <= _STRONGEST):
                least = float(width[k] / min(means[k] - bounds.low[k], bounds.high[k] - means[k]))
                raise ValueError(
                    f"the prior of arm {shown(arm)} has the Beta parameters {above[k]:g} and {below[k]:g}; both must "
                    f"be from 1 to {_STRONGEST:g}. With this mean, give a strength of at least {least:.4g}"
                )
        return np.maximum(np.vstack([above, below]), 1.0)

    def to_dict(self) -> dict[str, Any]:
        """The prior in plain numbers and lists; `from_dict` is the inverse."""
        values = {name: getattr(self, name) for name in ("mean", "strength")}
        return {name: value if isinstance(value, float) else list(value) for name, value in values.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the prior that `to_dict` described."""
        if set(as_mapping("a saved prior", data)) != {"mean", "strength"}:
            raise ValueError(f"a saved prior has mean and strength; got {sorted(map(str, data))}")
        return cls(data["mean"], data["strength"])


@dataclass(frozen=True, init=False, repr=False)
class Knowledge(Saved):
    """Everything known about the arms' means before the first round: bounds, how far to trust them, and a prior.

    Each function that takes knowledge also takes `MeanBounds` alone, which are then certain.

    Parameters
    ----------
    bounds
        Bounds on the mean of each arm.
    prior
        What you expect of the means, and how many plays that is worth: a `Prior`. By default every mean between the
        bounds is equally likely. `ThompsonSampling`, `OptimisticGittins`, `IDS`, `BIMED` and `LinearThompson` use it;
        other policies refuse it.
    trust
        How probable it is that the bounds of an arm hold, from 0 (they say nothing) to 1 (they are certain, the
        default): one number for all arms, or one for each. Below 1, an arm that its bounds exclude is tried now and
        then, and bounds that rewards contradict are given up.
    assumption
        The name of what all bounds that are not certain rest on, such as "the expert is optimal". They then stand or
        fall together, in all contexts of an `Agent` whose knowledge names the same assumption.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.7, 0.2], [0.95, 0.6], arms=["tPA", "medical"])
    >>> mb.Agent(mb.GLUE(), mb.Knowledge(bounds), seed=7).pull()
    'tPA'

    The upper bound of the second arm comes from a small study. In round 100 nobody has tried the arm, and GLUE does:

    >>> known = mb.Knowledge(bounds, trust=[1.0, 0.99])
    >>> agent = mb.Agent(mb.GLUE(), known, seed=7)
    >>> for _ in range(99):
    ...     agent.update("tPA", 0.8, pulled=False)
    >>> agent.pull()
    'medical'
    """

    bounds: MeanBounds
    prior: Prior | None
    trust: float | tuple[float, ...]
    assumption: str | None

    def __init__(
        self,
        bounds: MeanBounds,
        *,
        prior: Prior | None = None,
        trust: ArrayLike = 1.0,
        assumption: str | None = None,
    ) -> None:
        if not isinstance(bounds, MeanBounds):
            raise TypeError(f"knowledge needs MeanBounds, such as mb.MeanBounds([0.2], [0.9]); got {shown(bounds)}")
        if prior is not None:
            if not isinstance(prior, Prior):
                raise TypeError(f"prior must be an object such as mb.Prior(mean=0.6, strength=10); got {shown(prior)}")
            prior.parameters(bounds)  # refuses what does not fit
        if not (assumption is None or (isinstance(assumption, str) and assumption)):
            raise TypeError(
                f'assumption is the name of what bounds rest on, such as "the expert is optimal"; got '
                f"{shown(assumption)}"
            )
        object.__setattr__(self, "bounds", bounds)
        object.__setattr__(self, "prior", prior)
        object.__setattr__(self, "trust", _as_trust(trust, len(bounds)))
        object.__setattr__(self, "assumption", assumption)

    def __repr__(self) -> str:
        given = {
            "prior": self.prior,
            "trust": None if self.is_certain else self.trust,
            "assumption": self.assumption,
        }
        rest = "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)
        return f"Knowledge({self.bounds!r}{rest})"

    @classmethod
    def of(cls, known: object) -> Knowledge:
        """Knowledge as it is, or bounds alone as knowledge that is certain; anything else is refused."""
        if isinstance(known, Knowledge):
            return known
        if isinstance(known, MeanBounds):
            return cls(known)
        raise TypeError(f"give mb.MeanBounds or mb.Knowledge; got {shown(known)}")

    @property
    def is_certain(self) -> bool:
        """Whether all bounds are fully trusted."""
        return self.trust == 1.0

    @property
    def log_n(self) -> Floats:
        """What it costs an arm to have a mean outside its bounds, ``-log(1 - trust)``: infinite if they are certain."""
        with np.errstate(divide="ignore"):
            return -np.log1p(-np.broadcast_to(np.asarray(self.trust), len(self.bounds)))

    def to_dict(self) -> dict[str, Any]:
        """The knowledge in values that JSON can hold; `from_dict` is the inverse.

        Examples
        --------
        >>> import meanbounds as mb
        >>> sorted(mb.Knowledge(mb.MeanBounds([0.2], [0.9]), trust=0.9).to_dict())
        ['bounds', 'trust']
        """
        data: dict[str, Any] = {"bounds": self.bounds.to_dict()}
        if self.prior is not None:
            data["prior"] = self.prior.to_dict()
        if not self.is_certain:
            data["trust"] = self.trust if isinstance(self.trust, float) else list(self.trust)
        if self.assumption is not None:
            data["assumption"] = self.assumption
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the knowledge that `to_dict` described."""
        if not {"bounds"} <= set(as_mapping("saved knowledge", data)) <= {"bounds", "prior", "trust", "assumption"}:
            raise ValueError(
                f"saved knowledge has bounds, and perhaps prior, trust and assumption; got {sorted(map(str, data))}"
            )
        prior = Prior.from_dict(data["prior"]) if "prior" in data else None
        bounds = MeanBounds.from_dict(data["bounds"])
        return cls(bounds, prior=prior, trust=data.get("trust", 1.0), assumption=data.get("assumption"))


def _as_trust(trust: ArrayLike, size: int) -> float | tuple[float, ...]:
    """One number if the trust is the same for all arms, else one for each."""
    values = as_floats("trust", trust)
    if values.shape not in ((), (size,)):
        raise ValueError(f"trust is one number or one for each of {size} arms; got {shown(trust)}")
    if not np.all((values >= 0.0) & (values <= 1.0)):
        raise ValueError(
            f"trust is the probability that bounds hold, from 0 (they say nothing) to 1 (certain); got {shown(trust)}"
        )
    same = values.ndim == 0 or np.all(values == values.flat[0])
    return float(values.flat[0]) if same else tuple(values.tolist())
