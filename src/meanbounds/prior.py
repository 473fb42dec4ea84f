"""Judgement about the means: what each is expected to be, and how many plays that expectation is worth.

A `Prior` is one Beta law for each arm, a `PriorMixture` several of them with weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.bounds import MeanBounds, check_bounds
from meanbounds.support.bernstein import MOST_COMPONENTS, Bernstein, bernstein_form
from meanbounds.support.checks import as_float, as_floats, as_list, as_mapping, as_positions, shown
from meanbounds.support.saving import Saved
from meanbounds.support.types import Floats

__all__ = ["AnyPrior", "Prior", "PriorMixture", "read_prior"]

_SAVED = ("mean", "strength")
_SAVED_MIXTURE = ("components", "weights")
_UNIFORM = 2.0  # strength of a prior that says nothing, with the middle of the range as its mean
_ROUNDING = 1e-9  # of a sum of weights
_STRONGEST = 1e12  # parameter of a Beta law: the peak of a stronger one can be narrower than floats resolve
_WHOLE = 1e-14  # how far a parameter is off at most by rounding, as a part of the strength
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

    See Also
    --------
    Prior.mixture : several such laws with weights, such as "a dud at 2% or a hit at 10%".
    Prior.from_density : any other density.
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

    @staticmethod
    def mixture(components: Sequence[Prior], weights: ArrayLike) -> PriorMixture:
        """The prior of means that are of one kind or another: each component with its probability.

        Parameters
        ----------
        components
            What you expect of a mean of each kind.
        weights
            How probable each kind is: one list for all arms, or one row for each arm. Each sums to 1.

        Examples
        --------
        A new offer is either a dud at 2% or a hit at 10%. Thirty failures speak for a dud:

        >>> import meanbounds as mb
        >>> prior = mb.Prior.mixture([mb.Prior(0.02, 200), mb.Prior(0.1, 200)], weights=[0.9, 0.1])
        >>> known = mb.Knowledge(mb.MeanBounds.vacuous(["offer", "new"]), prior=prior)
        >>> agent = mb.Agent(mb.ThompsonSampling(), known, seed=7)
        >>> agent.probabilities().round(3)
        array([0.5, 0.5])
        >>> for _ in range(30):
        ...     agent.update("offer", 0.0)
        >>> agent.probabilities().round(3)
        array([0.386, 0.614])
        """
        return PriorMixture(components, weights)

    @staticmethod
    def from_density(
        density: Callable[[Floats], ArrayLike] | Sequence[Callable[[Floats], ArrayLike]],
        bounds: MeanBounds,
        *,
        tolerance: float = 0.01,
    ) -> PriorMixture:
        """The prior that has this density, as a mixture of Beta laws.

        Every continuous density on a range is a limit of mixtures of the laws with the strength n + 1 and the means
        j / (n + 1) of the way through the range, j = 1, ..., n (Bernstein). n doubles until the distribution function
        of the mixture differs nowhere by more than `tolerance` from that of the density.

        Parameters
        ----------
        density
            A function from an array of means, in the units of the rewards and inside the range, to an array of
            densities there; a constant factor does not matter. One for all arms, or a list with one for each.
        bounds
            The arms, for the ranges of their rewards; the bounds themselves are not used, since they cut any prior.
        tolerance
            The largest difference of the distribution functions, at least 0.0001.

        Raises
        ------
        ValueError
            If a density is negative or not finite somewhere, is 0 everywhere, or is so narrow or jumps so much that
            1,024 components do not reach the tolerance.

        Examples
        --------
        >>> import numpy as np
        >>> import meanbounds as mb
        >>> bounds = mb.MeanBounds.vacuous(2)
        >>> prior = mb.Prior.from_density(lambda x: np.exp(-0.5 * ((x - 0.7) / 0.15) ** 2), bounds)
        >>> len(prior.components), prior.mean(bounds).round(3)  # the normal law, cut to the range, has the mean 0.692
        (16, array([0.691, 0.691]))
        """
        return _mixture_of(density, bounds, tolerance)

    @property
    def is_by_arm(self) -> bool:
        """Whether the prior has entries for the arms one by one, rather than the same for all.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Prior(0.5, 2).is_by_arm, mb.Prior([0.5, 0.6], 2).is_by_arm
        (False, True)
        """
        return any(isinstance(getattr(self, name), tuple) for name in _SAVED)

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

    def with_uniform_arm(self, size: int, middle: float) -> Prior:
        """The prior of `size` arms and of one more, at the end, of which nothing is expected.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Prior(0.8, 10).with_uniform_arm(1, 0.5)
        Prior(mean=(0.8, 0.5), strength=(10.0, 2.0))
        """
        means, strengths = (np.broadcast_to(np.array(getattr(self, name)), size) for name in _SAVED)
        return Prior(np.append(means, middle), np.append(strengths, _UNIFORM))

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
            mixed = "; this is a mixture, which mb.PriorMixture.from_dict reads" if "components" in data else ""
            raise ValueError(f"a prior has mean and strength; got {sorted(map(str, data))}{mixed}")
        return cls(data["mean"], data["strength"])


@dataclass(frozen=True, init=False, repr=False)
class PriorMixture(Saved):
    """Several priors with weights: the mean of an arm has each of these laws with its probability.

    `Prior.mixture` and `Prior.from_density` make one. In units of the arm's range its density is the weighted sum of
    the components' Beta densities, cut to the bounds as a whole. `ThompsonSampling`, `OptimisticGittins` and `IDS` take
    it; docs/priors.md has the formulas.

    Parameters
    ----------
    components, weights
        As for `Prior.mixture`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.PriorMixture([mb.Prior(0.02, 50), mb.Prior(0.1, 50)], [0.9, 0.1])
    PriorMixture([Prior(mean=0.02, strength=50.0), Prior(mean=0.1, strength=50.0)], weights=[0.9, 0.1])
    """

    components: tuple[Prior, ...]
    weights: tuple[float, ...] | tuple[tuple[float, ...], ...]

    def __init__(self, components: Sequence[Prior], weights: ArrayLike) -> None:
        given = as_list("the components of a mixture", components)
        for component in given:
            if not isinstance(component, Prior):
                raise TypeError(
                    f"a component of a mixture is one such as mb.Prior(mean=0.6, strength=10); got {shown(component)}"
                )
        shares = as_floats("the weights of a mixture", weights)
        if not given or shares.ndim not in (1, 2) or shares.size == 0 or shares.shape[-1] != len(given):
            raise ValueError(
                f"a mixture has at least one component and a weight for each: one list for all arms, or one row for "
                f"each arm; got {len(given)} components and weights of shape {shares.shape}"
            )
        if not (np.isfinite(shares).all() and np.all(shares >= 0.0)):
            raise ValueError(f"the weights of a mixture are probabilities, 0 or more; got {shown(weights)}")
        if np.any(np.abs(shares.sum(axis=-1) - 1.0) > _ROUNDING):
            raise ValueError(f"the weights of a mixture sum to 1, for each arm; got {shown(weights)}")
        listed = shares.tolist()
        object.__setattr__(self, "components", tuple(given))
        object.__setattr__(self, "weights", tuple(listed) if shares.ndim == 1 else tuple(map(tuple, listed)))

    def __repr__(self) -> str:
        return f"PriorMixture({list(self.components)!r}, weights={np.array(self.weights).tolist()})"

    @property
    def is_by_arm(self) -> bool:
        """Whether the mixture has entries for the arms one by one; see `Prior.is_by_arm`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Prior.mixture([mb.Prior(0.1, 9), mb.Prior(0.2, 9)], [[0.5, 0.5], [0.0, 1.0]]).is_by_arm
        True
        """
        return isinstance(self.weights[0], tuple) or any(component.is_by_arm for component in self.components)

    def _laws(self, bounds: MeanBounds) -> tuple[Floats, Floats, Floats]:
        """The weights, and both parameters of each Beta law, for these arms: components x arms."""
        check_bounds(bounds)
        shares = np.array(self.weights)
        if shares.ndim == 2 and len(shares) != len(bounds):
            raise ValueError(
                f"the weights of the mixture have {len(shares)} rows; give one list or one row for each of "
                f"{len(bounds)} arms"
            )
        found = []
        for number, component in enumerate(self.components):
            try:
                found.append(component.rows(bounds))
            except ValueError as error:
                raise ValueError(f"component {number} of the prior, counted from 0: {error}") from error
        shares = np.broadcast_to(shares, (len(bounds), len(self.components)))
        strengths, above, below = np.array(found).transpose(1, 0, 2)
        # Laws with whole parameters are smooth at the ends of the range, which rounding errors must not hide.
        above, below = (np.where(np.abs(p - np.rint(p)) < _WHOLE * strengths, np.rint(p), p) for p in (above, below))
        return (shares / shares.sum(axis=1, keepdims=True)).T, above, below

    def parts(self, bounds: MeanBounds) -> Floats:
        """For kernels: the log weights of each of these arms, then the two parameters of its Beta laws.

        Raises
        ------
        ValueError
            If the mixture has another number of arms, or a component does not fit the range of an arm.

        Examples
        --------
        >>> import meanbounds as mb
        >>> prior = mb.Prior.mixture([mb.Prior(0.5, 2), mb.Prior(0.25, 8)], weights=[0.0, 1.0])
        >>> prior.parts(mb.MeanBounds.vacuous(1))[:, 0]
        array([-inf,   0.,   1.,   2.,   1.,   6.])
        """
        shares, above, below = self._laws(bounds)
        with np.errstate(divide="ignore"):
            return np.vstack([np.log(shares), above, below])

    def rows(self, bounds: MeanBounds) -> Floats:
        """`Prior.rows` of the Beta law with the same mean and variance, for what counts a prior as plays.

        Examples
        --------
        >>> import meanbounds as mb
        >>> prior = mb.Prior.mixture([mb.Prior(0.25, 1000), mb.Prior(0.75, 1000)], weights=[0.5, 0.5])
        >>> prior.rows(mb.MeanBounds.vacuous(1)).round(2)[:, 0]  # two peaks that far apart are worth three plays
        array([2.99, 1.49, 1.49])
        """
        shares, above, below = self._laws(bounds)
        sums = above + below
        mean, lack = (shares * (above / sums)).sum(axis=0), (shares * (below / sums)).sum(axis=0)
        within = (above / sums) * (below / sums) / (sums + 1.0)
        variance = (shares * (within + (above / sums - mean) ** 2)).sum(axis=0)
        strength = np.maximum(mean * lack / variance - 1.0, _WEAKEST)
        return np.vstack([strength, strength * mean, strength * lack])

    def mean(self, bounds: MeanBounds) -> Floats:
        """The expected mean of each of these arms, before the bounds cut the law, in reward units.

        Examples
        --------
        >>> import meanbounds as mb
        >>> prior = mb.Prior.mixture([mb.Prior(0.02, 50), mb.Prior(0.1, 50)], weights=[0.75, 0.25])
        >>> prior.mean(mb.MeanBounds.vacuous(2)).round(6)
        array([0.04, 0.04])
        """
        shares, above, below = self._laws(bounds)
        mean: Floats = bounds.low + (bounds.high - bounds.low) * (shares * (above / (above + below))).sum(axis=0)
        return mean

    def subset(self, positions: Sequence[int] | NDArray[Any]) -> PriorMixture:
        """The prior of some of the arms, chosen by position or by mask.

        Examples
        --------
        >>> import meanbounds as mb
        >>> prior = mb.Prior.mixture([mb.Prior(0.1, 9), mb.Prior([0.2, 0.3], 9)], [[0.5, 0.5], [0.0, 1.0]])
        >>> prior.subset([1])
        PriorMixture([Prior(mean=0.1, strength=9.0), Prior(mean=(0.3,), strength=9.0)], weights=[[0.0, 1.0]])
        """
        shares = np.array(self.weights)
        if shares.ndim == 2:
            shares = shares[as_positions(positions, len(shares))]
        return PriorMixture([component.subset(positions) for component in self.components], shares)

    def with_uniform_arm(self, size: int, middle: float) -> PriorMixture:
        """The prior of `size` arms and of one more, at the end, of which nothing is expected.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Prior.mixture([mb.Prior(0.1, 9)], [1.0]).with_uniform_arm(1, 0.5)
        PriorMixture([Prior(mean=(0.1, 0.5), strength=(9.0, 2.0))], weights=[1.0])
        """
        shares = np.array(self.weights)
        if shares.ndim == 2:
            shares = np.vstack([shares, shares[-1:]])  # of components that are the same for this arm
        return PriorMixture([component.with_uniform_arm(size, middle) for component in self.components], shares)

    def to_dict(self) -> dict[str, Any]:
        """The mixture in plain numbers and lists that JSON can hold; `from_dict` is the inverse.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Prior.mixture([mb.Prior(0.1, 9)], [1.0]).to_dict()
        {'components': [{'mean': 0.1, 'strength': 9.0}], 'weights': [1.0]}
        """
        return {
            "components": [component.to_dict() for component in self.components],
            "weights": np.array(self.weights).tolist(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the mixture that `to_dict` described.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.PriorMixture.from_dict({"components": [{"mean": 0.1, "strength": 9}], "weights": [1]})
        PriorMixture([Prior(mean=0.1, strength=9.0)], weights=[1.0])
        """
        if set(as_mapping("a saved mixture", data)) != set(_SAVED_MIXTURE):
            raise ValueError(f"a mixture has components and weights; got {sorted(map(str, data))}")
        components = as_list("the components of a mixture", data["components"])
        return cls([Prior.from_dict(component) for component in components], data["weights"])


AnyPrior = Prior | PriorMixture
"""What knowledge can have as its prior."""


def read_prior(data: Mapping[str, Any]) -> AnyPrior:
    """Make the prior that `Prior.to_dict` or `PriorMixture.to_dict` described.

    Examples
    --------
    >>> read_prior({"mean": 0.3, "strength": 5})
    Prior(mean=0.3, strength=5.0)
    """
    mixed = not set(_SAVED_MIXTURE).isdisjoint(as_mapping("a saved prior", data))
    return PriorMixture.from_dict(data) if mixed else Prior.from_dict(data)


def _mixture_of(density: Any, bounds: MeanBounds, tolerance: float) -> PriorMixture:
    """`Prior.from_density`."""
    check_bounds(bounds)
    allowed = as_float("tolerance", tolerance)
    if not 1e-4 <= allowed < 1.0:
        raise ValueError(f"tolerance is a difference of probabilities from 0.0001 to below 1; got {shown(tolerance)}")
    each = isinstance(density, list | tuple)
    densities = list(density) if each else [density]
    if not all(map(callable, densities)) or (each and len(densities) != len(bounds)):
        raise TypeError(
            f"density is a function from means to densities, or a list with one for each of {len(bounds)} arms; got "
            f"{shown(density)}"
        )
    ranges = list(zip(bounds.low.tolist(), bounds.high.tolist(), strict=True))
    if not each and len(set(ranges)) == 1:
        ranges = ranges[:1]
    functions = densities if each else densities * len(ranges)
    forms = [_form_of(function, *ends, allowed) for function, ends in zip(functions, ranges, strict=True)]
    size = max(len(form.j) for form in forms)
    shares, means, strengths = np.zeros((3, len(forms), size))
    for k, (form, (low, high)) in enumerate(zip(forms, ranges, strict=True)):
        shares[k, : len(form.j)] = form.weights
        j = np.append(form.j, np.full(size - len(form.j), form.j[-1]))  # those that are added have the weight 0
        means[k], strengths[k] = low + (high - low) * ((j + 1.0) / (form.n + 1.0)), form.n + 1.0
    if len(forms) == 1:
        return PriorMixture([Prior(means[0, i], strengths[0, i]) for i in range(size)], shares[0])
    return PriorMixture([Prior(means[:, i], strengths[:, i]) for i in range(size)], shares)


def _form_of(function: Callable[[Floats], ArrayLike], low: float, high: float, tolerance: float) -> Bernstein:
    """The mixture for one density over one range."""

    def checked(x: Floats) -> Floats:
        values = as_floats("density", function(low + (high - low) * x))
        if values.shape not in ((), x.shape):
            raise ValueError(
                f"the density got an array of {len(x)} means and returned an array of shape {values.shape}; return a "
                f"density for each, for instance with numpy's functions"
            )
        wrong = ~(np.isfinite(values) & (values >= 0.0))
        if wrong.any():
            at, value = (float(np.broadcast_to(part, x.shape)[np.argmax(wrong)]) for part in (x, values))
            raise ValueError(
                f"a density is finite and never negative inside the range; it is {value:g} at "
                f"{low + (high - low) * at:g}"
            )
        if not values.max() > 0.0:
            raise ValueError(f"the density is 0 everywhere in the range from {low:g} to {high:g}")
        scaled: Floats = np.broadcast_to(values / values.max(), x.shape)
        return scaled

    found = bernstein_form(checked, tolerance)
    if found is None:
        raise ValueError(
            f"no mixture of {MOST_COMPONENTS} components is within {tolerance:g} of the density over the range from "
            f"{low:g} to {high:g}: it is too narrow, or jumps. Give a larger tolerance, say where means cannot be as "
            f"bounds, or make a mixture yourself with mb.Prior.mixture"
        )
    return found
