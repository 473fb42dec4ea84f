"""Policies for arms with features: they learn one parameter that all arms share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import MeanBounds, check_bounds
from meanbounds.kernels import linear as kernel
from meanbounds.kernels.linear import Pool, Rule
from meanbounds.kernels.solvers.cone import Known
from meanbounds.linear import FeasibleSet, LinearArms, TightBounds
from meanbounds.linear.arms import check_norms
from meanbounds.policies.described import Described
from meanbounds.subgaussian import variance_proxy_from_bounds
from meanbounds.support.checks import as_flag, as_float, check_choice, shown
from meanbounds.support.types import Floats

__all__ = ["OFUL", "ROFUL", "LinearPlan", "LinearPolicy"]

_NOISE = {
    "running-max": kernel.RUNNING_MAX,
    "pool-max": kernel.POOL_MAX,
    "weighted": kernel.WEIGHTED,
    "restricted-max": kernel.RESTRICTED_MAX,
}
_INDEX = {"plain": kernel.PLAIN, "clip": kernel.CLIP, "exact": kernel.EXACT}
_TIGHTEN = ("exact", "cone", "none")
_LONGEST = 1e9  # squared length of features over the regularisation; weights may add four digits


class LinearPlan(NamedTuple):
    """Everything the kernel needs before the first round of a policy for arms with features.

    Attributes
    ----------
    pool
        Features, ranges, bounds and variance proxies of the arms.
    rule
        The numbers and switches of the policy.
    known
        The bounds in the form that the cone solver takes; empty where it is not used.
    feasible
        The set of parameters that satisfy the bounds, from which bounds for arms outside the pool follow; None where
        bounds are not used.

    Examples
    --------
    >>> import meanbounds as mb
    >>> plan = mb.OFUL().plan(mb.LinearArms([[1.0, 0.0], [0.6, 0.8]], mb.MeanBounds.vacuous(2)))
    >>> plan.rule.norm_high, plan.pool.length, plan.feasible is None
    (1.0, array([1., 1.]), True)
    """

    pool: Pool
    rule: Rule
    known: Known
    feasible: FeasibleSet | None  # bounds arms that are not in the pool; None where bounds are not used


@dataclass(frozen=True, kw_only=True)
class LinearPolicy(Described, ABC):
    """Base of the policies for arms with features: an arm's mean is ``offset + features . parameter``.

    A subclass defines `plan`, usually with `make_plan`.

    Parameters
    ----------
    norm_high
        Upper limit on the Euclidean norm of the parameter, in reward units per unit of feature length.
    regularisation
        The lambda of ridge regression; positive.
    failure
        Probability, in (0, 1), with which the confidence set may miss the parameter in any round at all.
    noise
        How variance proxies that differ between arms are used. ``"weighted"`` weights each reward by the inverse of its
        proxy; ``"running-max"`` takes the largest proxy among the arms played so far, ``"pool-max"`` the largest among
        all arms; ``"restricted-max"`` (the paper) the largest among all arms that were on offer and could be best.

    Examples
    --------
    >>> import meanbounds as mb
    >>> [policy for policy in (mb.OFUL(failure=0.05), mb.ROFUL(), mb.GLUE()) if isinstance(policy, mb.LinearPolicy)]
    [OFUL(failure=0.05), ROFUL()]
    >>> mb.OFUL(failure=2.0)
    Traceback (most recent call last):
    ValueError: OFUL: failure must be a probability between 0 and 1; got 2.0
    """

    theorem: ClassVar[str] = ""
    counts_pending: ClassVar[bool] = False
    takes_prior: ClassVar[bool] = False
    noises: ClassVar[Mapping[str, int]] = _NOISE  # what `noise` may be, and its code

    norm_high: float = 1.0
    regularisation: float = 1.0
    failure: float = 0.01
    noise: str = "weighted"

    def __post_init__(self) -> None:
        self._check_norms()
        self._check_number("regularisation", "a positive number", 0.0, np.inf)
        self._check_number("failure", "a probability between 0 and 1", 0.0, 1.0)
        self._check_choice("noise", self.noises)

    def _check_norms(self) -> None:
        """Refuse limits that no norm can satisfy, and store the others as plain floats."""
        names = [name for name in ("norm_high", "norm_low") if hasattr(self, name)]
        try:
            limits = check_norms(*(getattr(self, name) for name in names))
        except ValueError as error:
            raise ValueError(f"{type(self).__name__}: {error}") from None
        for name, value in zip(names, limits, strict=False):
            object.__setattr__(self, name, value)

    def _check_number(self, name: str, what: str, above: float, below: float) -> None:
        """Refuse a value that is not a number strictly between the two limits, and store the others as plain floats."""
        value = getattr(self, name)
        plain = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        number = as_float(f"{type(self).__name__}: {name}", value) if plain else np.nan
        if not above < number < below:
            raise ValueError(f"{type(self).__name__}: {name} must be {what}; got {shown(value)}")
        object.__setattr__(self, name, number)

    def _check_choice(self, name: str, choices: Iterable[object]) -> None:
        """Refuse a value that is not one of these choices; what numpy calls True is stored as True."""
        value = getattr(self, name)
        if not (isinstance(value, str | bool | np.bool_) and value in list(choices)):
            known = ", ".join(map(repr, choices))
            raise ValueError(f"{type(self).__name__}: {name} must be one of {known}; got {shown(value)}")
        object.__setattr__(self, name, value if isinstance(value, str) else bool(value))

    def check_scale(self, length: float) -> None:
        """Refuse features so long that adding their squares would round the regularisation away.

        Parameters
        ----------
        length
            The Euclidean norm of the longest feature vector.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.OFUL().check_scale(1_000.0)
        >>> mb.OFUL().check_scale(1e9)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: OFUL: features of length 1e+09 against regularisation 1: their squares would round it away...
        """
        length = as_float("length", length)
        if not length * length <= _LONGEST * self.regularisation:
            raise ValueError(
                f"{type(self).__name__}: features of length {length:.3g} against regularisation "
                f"{self.regularisation:g}: their squares would round it away. Divide the features by some number and "
                f"multiply norm_high by it, or raise the regularisation"
            )

    def noise_of(self, lower: ArrayLike, upper: ArrayLike, low: ArrayLike, high: ArrayLike) -> Floats:
        """The variance proxy that the policy takes for rewards of an arm: the least that its bounds imply.

        Parameters
        ----------
        lower, upper
            Bounds on the mean, one number or one for each arm.
        low, high
            The range of the rewards.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.OFUL().noise_of([0.0, 0.9], [1.0, 1.0], 0.0, 1.0).round(3)
        array([0.25 , 0.182])
        """
        return np.atleast_1d(variance_proxy_from_bounds(lower, upper, low=low, high=high))

    @abstractmethod
    def plan(self, arms: LinearArms) -> LinearPlan:
        """Turn features, bounds and offsets into everything the kernel needs; each policy defines this method."""

    def make_plan(
        self,
        arms: LinearArms,
        bounds: MeanBounds,
        index: str = "clip",
        feasible: FeasibleSet | None = None,
        *,
        norm_low: float = 0.0,
        prune: bool = True,
        cone: bool = False,
        online: bool = False,
        printed: bool = False,
        settle: bool = False,
    ) -> LinearPlan:
        """Make the plan for these arms with these bounds; for the `plan` of a subclass.

        Parameters
        ----------
        arms
            Features and offsets.
        bounds
            The bounds to use, which may be tighter than those of `arms`.
        index
            ``"plain"``, ``"clip"`` or ``"exact"``, see `ROFUL`.
        feasible
            The set of parameters that exact indices are limited to.
        norm_low
            Lower limit on the norm of the parameter.
        prune
            Whether arms that cannot be best are skipped.
        cone, online, printed, settle
            See ``tighten="cone"``, ``online``, ``printed`` and ``settle`` of `ROFUL`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> arms = mb.LinearArms([[1.0, 0.0], [0.6, 0.8]], mb.MeanBounds([0.6, 0.0], [0.9, 0.7]))
        >>> plan = mb.OFUL().make_plan(arms, arms.bounds)  # as OFUL, with pruning and clipping
        >>> plan.pool.upper, plan.rule.prune
        (array([0.9, 0.7]), True)
        """
        check_arms(arms)
        check_bounds(bounds)
        check_choice("index", index, _INDEX)
        if len(bounds) != len(arms.bounds):
            raise ValueError(f"there are bounds on {len(bounds)} arms and features of {len(arms.bounds)}")
        if not (feasible is None or isinstance(feasible, FeasibleSet)):
            raise TypeError(f"feasible must be a FeasibleSet, or None; got {shown(feasible)}")
        _, least = check_norms(self.norm_high, norm_low)
        own = self.noise_of(bounds.lower, bounds.upper, bounds.low, bounds.high)
        weighted = self.noises[self.noise] == kernel.WEIGHTED
        fixed = bounds.worst_variance_proxy.max() if weighted else own.max()
        self.check_scale(float(arms.length.max()))
        peaks = bounds.peaks if isinstance(bounds, TightBounds) else np.full(arms.features.shape, np.nan)
        pool = Pool(
            features=arms.features,
            length=arms.length,
            offset=arms.offset.copy(),
            low=bounds.low.copy(),
            high=bounds.high.copy(),
            lower=bounds.lower.copy(),
            upper=bounds.upper.copy(),
            proxy=own.copy(),
            peaks=peaks,
            proofs=np.full((len(bounds), 2 * arms.dimension + 1 if index == "exact" else 0), np.nan),
        )
        rule = Rule(
            norm_high=float(self.norm_high),
            norm_low=least,
            regularisation=float(self.regularisation),
            failure=self.failure,
            noise=self.noises[self.noise],
            proxy=float(fixed),
            index_kind=_INDEX[index],
            prune=as_flag("prune", prune),
            cone=as_flag("cone", cone),
            online=as_flag("online", online),
            printed=as_flag("printed", printed),
            settle=as_flag("settle", settle),
            draws=0,
            optimistic=False,
        )
        nothing = np.zeros(0)
        d = arms.dimension
        empty = Known(np.zeros((0, d)), nothing, nothing, np.zeros(d), np.zeros((0, 0)))
        return LinearPlan(pool, rule, empty if feasible is None else feasible.known, feasible)


@dataclass(frozen=True, kw_only=True)
class OFUL(LinearPolicy):
    """Optimism for linear bandits (Abbasi-Yadkori, Pál and Szepesvári, 2011).

    Plays the arm with the largest ``offset + x . estimate + radius * sqrt(x V^-1 x)``, where the radius is
    ``sqrt(regularisation) * norm_high + sqrt(proxy * (2 log(1 / failure) + log(det V / regularisation^d)))``. Ignores
    the bounds.

    Parameters
    ----------
    norm_high, regularisation, failure, noise
        As for `LinearPolicy`.

    Notes
    -----
    The parameter lies in all confidence sets at once with probability at least ``1 - failure``. This holds for arms of
    any norm, and for any choice of the arms on offer that depends on the past alone.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.OFUL(), mb.MeanBounds.vacuous(["a", "b"]), seed=1, features=[[1.0, 0.0], [0.6, 0.8]])
    >>> agent.update("a", 1.0)
    >>> agent.pull(["a", "b"])  # less is known about b
    'b'
    """

    theorem: ClassVar[str] = "Abbasi-Yadkori et al. 2011"

    def plan(self, arms: LinearArms) -> LinearPlan:
        """Keep every arm; use only the range of the rewards.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.OFUL().plan(mb.LinearArms([[1.0], [0.5]], mb.MeanBounds([0.6, 0.0], [0.9, 0.5]))).pool.upper
        array([1., 1.])
        """
        check_arms(arms)
        bounds = MeanBounds.vacuous(arms.bounds.arms, low=arms.bounds.low, high=arms.bounds.high)
        return self.make_plan(arms, bounds, "plain", prune=False)


@dataclass(frozen=True, kw_only=True)
class ROFUL(LinearPolicy):
    """R-OFUL: `OFUL` with bounds on the means.

    It skips arms that cannot be best, caps each index at the largest mean the bounds allow, and uses narrower
    confidence widths.

    Parameters
    ----------
    norm_high, regularisation, failure, noise
        As for `LinearPolicy`; each arm's variance proxy comes from its bounds.
    norm_low
        Lower limit on the norm of the parameter.
    index
        ``"exact"``: the largest mean over all parameters that lie in the confidence set and satisfy every arm's bounds.
        This solves a cone program for each arm whose index needs it. If no parameter does both, data and bounds
        contradict each other: the round is decided by ``"clip"``, and counted. ``"clip"``: OFUL's index, at most the
        arm's upper bound; never below ``"exact"``, and several times cheaper. ``"plain"``: OFUL's own index.
    tighten
        How bounds on some arms tighten those on others. ``"exact"`` solves for each arm once, see `meanbounds.tighten`.
        ``"cone"`` bounds the arms of a round by the most promising one, for when there are too many arms to solve for.
        ``"none"`` uses the bounds as given: indices clipped at such bounds can lose more than `OFUL`.
    online
        Whether the confidence set also narrows the bounds as rewards come in: it raises l_max, prunes more arms and
        lowers variance proxies. These bounds hold in all rounds at once with probability at least ``1 - failure``,
        since they hold whenever the parameter lies in the confidence sets.
    printed
        Use radius and factor as printed in the paper, see `paper`.
    settle
        Whether, of arms with equal indices, that with the largest estimate is played, and an arm that can at best equal
        the largest lower bound on offer is skipped. Agents saved by older versions do neither: of equal indices they
        take the largest one before clipping.

    Notes
    -----
    Theorem 4 of the paper. Differs from the paper: the radius has log(det V / lambda^d), which holds for arms of any
    norm and for weights; each arm's factor comes from its own bounds in its own range; the cone follows from the norm
    of each arm, and bounds means by ``||a|| M cos(angle + alpha)`` where the paper has the smaller ``m cos(3 alpha)``;
    the norm's lower limit is left out of the cone programs, which would not be convex with it. Bounds with a trust
    below 1 stand or fall together: some rounds are decided without them, see docs/linear.md.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.6, 0.0, 0.0], [0.9, 1.0, 0.5], arms=["a", "b", "c"])
    >>> features = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]
    >>> agent = mb.Agent(mb.ROFUL(), bounds, seed=1, features=features)
    >>> agent.pull(["b", "c"])
    'c'
    >>> agent.tight_bounds.upper.round(3)  # the bound 0.5 on c leaves at most 0.175 for b
    array([0.833, 0.175, 0.5  ])
    """

    theorem: ClassVar[str] = "Theorem 4"
    formerly: ClassVar[Mapping[str, object]] = {"settle": False}

    norm_low: float = 0.0
    index: str = "exact"
    tighten: str = "exact"
    online: bool = False
    printed: bool = False
    settle: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("index", _INDEX)
        self._check_choice("tighten", _TIGHTEN)
        self._check_choice("online", (True, False))
        self._check_choice("printed", (True, False))
        self._check_choice("settle", (True, False))

    @classmethod
    def paper(cls, *, norm_high: float = 1.0, norm_low: float = 0.0, failure: float = 0.01) -> ROFUL:
        """The algorithm as printed in the paper.

        It has the exact index, d log(1 + t / (d lambda)) in the radius, and the factor sigma_t.
        It is for arms of norm 1 without offsets; others are refused. The printed factor is no bound once 3 alpha is
        above pi / 2, and is left out then. Ties are broken at random, as in all policies here.

        Parameters
        ----------
        norm_high, norm_low
            Limits on the Euclidean norm of the parameter.
        failure
            Probability with which the confidence set may miss the parameter in any round at all.

        Examples
        --------
        >>> import meanbounds as mb
        >>> str(mb.ROFUL.paper())
        "ROFUL(noise='restricted-max', printed=True)"
        """
        return cls(norm_high=norm_high, failure=failure, noise="restricted-max", norm_low=norm_low, printed=True)

    def plan(self, arms: LinearArms) -> LinearPlan:
        """Tighten the bounds once, as `tighten` says.

        Examples
        --------
        >>> import meanbounds as mb
        >>> arms = mb.LinearArms([[1.0, 0.0], [0.0, 1.0]], mb.MeanBounds([0.6, 0.0], [0.9, 1.0]))
        >>> mb.ROFUL().plan(arms).pool.upper.round(3), mb.ROFUL(tighten="none", index="clip").plan(arms).pool.upper
        (array([0.9, 0.8]), array([0.9, 1. ]))
        """
        check_arms(arms)
        for k in np.flatnonzero((np.abs(arms.length - 1.0) > 1e-9) | (arms.offset != 0.0)) if self.printed else ():
            raise ValueError(
                f"arm {arms.bounds.arms[k]!r} has norm {arms.length[k]:.6g} and offset {arms.offset[k]:g}; the printed "
                f"algorithm is for arms of norm 1 without offsets: use mb.ROFUL()"
            )
        solves = self.tighten == "exact" or self.index == "exact"
        feasible = FeasibleSet(arms, norm_high=self.norm_high, norm_low=self.norm_low) if solves else None
        tight = feasible is not None and self.tighten == "exact"
        return self.make_plan(
            arms,
            feasible.tightened() if feasible is not None and tight else arms.bounds,
            self.index,
            feasible,
            norm_low=self.norm_low,
            cone=self.tighten == "cone" or (self.online and self.tighten != "none"),
            online=self.online,
            printed=self.printed,
            settle=self.settle,
        )


def check_arms(arms: object) -> None:
    """Refuse anything but arms with features."""
    if not isinstance(arms, LinearArms):
        raise TypeError(f"arms must be LinearArms, such as mb.LinearArms(features, bounds); got {shown(arms)}")
