"""Policies for arms with features: one parameter, shared by all arms, is learned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from meanbounds.bounds import MeanBounds
from meanbounds.kernels import linear as kernel
from meanbounds.kernels.linear import Pool, Rule
from meanbounds.kernels.solvers.cone import Known
from meanbounds.linear import FeasibleSet, LinearArms, TightBounds
from meanbounds.linear.arms import check_norms
from meanbounds.policies.described import Described

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
    """What the kernel needs to know before the first round."""

    pool: Pool
    rule: Rule
    known: Known
    feasible: FeasibleSet | None  # bounds arms that are not in the pool; None where bounds are not used


@dataclass(frozen=True, kw_only=True)
class LinearPolicy(Described, ABC):
    """Base of the policies for arms with features.

    Parameters
    ----------
    norm_high
        Upper limit on the Euclidean norm of the parameter.
    regularisation
        The lambda of ridge regression.
    failure
        Probability with which the confidence set may miss the parameter, in any round.
    noise
        How the variance proxies of arms that differ enter: ``"weighted"`` weights each reward by the inverse of its
        proxy; ``"running-max"`` takes the largest proxy among the arms played so far, ``"pool-max"`` the largest among
        all arms; ``"restricted-max"`` (the paper) the largest among all arms that were on offer and could be best.
    """

    theorem: ClassVar[str] = ""
    counts_pending: ClassVar[bool] = False

    norm_high: float = 1.0
    regularisation: float = 1.0
    failure: float = 0.01
    noise: str = "weighted"

    def __post_init__(self) -> None:
        self._check_norms()
        self._check_number("regularisation", "a positive number", 0.0, np.inf)
        self._check_number("failure", "a probability between 0 and 1", 0.0, 1.0)
        self._check_choice("noise", _NOISE)

    def _check_norms(self) -> None:
        """Refuse limits that no norm is between, and keep the others as plain numbers."""
        names = [name for name in ("norm_high", "norm_low") if hasattr(self, name)]
        try:
            limits = check_norms(*(getattr(self, name) for name in names))
        except ValueError as error:
            raise ValueError(f"{type(self).__name__}: {error}") from None
        for name, value in zip(names, limits, strict=False):
            object.__setattr__(self, name, value)

    def _check_number(self, name: str, what: str, above: float, below: float) -> None:
        """Refuse what is no number between the two, and keep the others as plain numbers."""
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not above < value < below:
            raise ValueError(f"{type(self).__name__}: {name} must be {what}; got {value!r}")
        object.__setattr__(self, name, float(value))

    def _check_choice(self, name: str, choices: Iterable[object]) -> None:
        """Refuse what is none of these."""
        value = getattr(self, name)
        if value not in list(choices):
            known = ", ".join(map(repr, choices))
            raise ValueError(f"{type(self).__name__}: {name} must be one of {known}; got {value!r}")

    def check_scale(self, length: float) -> None:
        """Refuse features so long that adding their squares would round the regularisation away."""
        if length**2 > _LONGEST * self.regularisation:
            raise ValueError(
                f"{type(self).__name__}: features of length {length:.3g} against regularisation "
                f"{self.regularisation:g}: their squares would round it away. Divide the features by some number and "
                f"multiply norm_high by it, or raise the regularisation"
            )

    @abstractmethod
    def plan(self, arms: LinearArms) -> LinearPlan:
        """What the kernel needs, from features, bounds and offsets."""

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
    ) -> LinearPlan:
        """Plan for these arms with these bounds; `feasible` is what exact indices are limited to."""
        own = bounds.variance_proxy
        fixed = bounds.worst_variance_proxy.max() if self.noise == "weighted" else own.max()
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
        )
        rule = Rule(
            norm_high=float(self.norm_high),
            norm_low=float(norm_low),
            regularisation=float(self.regularisation),
            failure=self.failure,
            noise=_NOISE[self.noise],
            proxy=float(fixed),
            index_kind=_INDEX[index],
            prune=prune,
            cone=cone,
            online=online,
            printed=printed,
        )
        nothing = np.zeros(0)
        d = arms.dimension
        empty = Known(np.zeros((0, d)), nothing, nothing, np.zeros(d), np.zeros((0, 0)))
        return LinearPlan(pool, rule, empty if feasible is None else feasible.known, feasible)


@dataclass(frozen=True, kw_only=True)
class OFUL(LinearPolicy):
    """Optimism for linear bandits (Abbasi-Yadkori, Pál and Szepesvári, 2011).

    Plays the arm with the largest ``offset + x . estimate + radius * sqrt(x V^-1 x)``, where the radius is
    ``sqrt(regularisation) * norm_high + sqrt(proxy * (2 log(1 / failure) + log(det V / regularisation^d)))``. Takes no
    notice of bounds.

    Notes
    -----
    The parameter lies in all confidence sets at once with probability at least ``1 - failure``, for arms of any norm
    and for any choice of what is on offer that depends on the past alone.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.Agent(mb.OFUL(), mb.MeanBounds.vacuous(["a", "b"]), seed=1, features=[[1.0, 0.0], [0.6, 0.8]])
    >>> agent.update("a", 1.0)
    >>> agent.pull(["a", "b"])  # less is known of b
    'b'
    """

    theorem: ClassVar[str] = "Abbasi-Yadkori et al. 2011"

    def plan(self, arms: LinearArms) -> LinearPlan:
        """Every arm, no bounds but the range of the rewards."""
        bounds = MeanBounds.vacuous(arms.bounds.arms, low=arms.bounds.low, high=arms.bounds.high)
        return self.make_plan(arms, bounds, "plain", prune=False)


@dataclass(frozen=True, kw_only=True)
class ROFUL(LinearPolicy):
    """R-OFUL: `OFUL` that plays only what can be best, expects no more than can be, and explores less.

    Parameters
    ----------
    norm_high, regularisation, failure, noise
        As for `OFUL`; each arm's variance proxy comes from its bounds.
    norm_low
        Lower limit on the norm of the parameter.
    index
        ``"exact"``: the largest mean over all parameters that lie in the confidence set and satisfy every arm's bounds;
        a cone program for each arm whose index that takes. Where nothing satisfies both, data and bounds contradict
        each other: the round is decided by ``"clip"``, and counted. ``"clip"``: OFUL's index, at most the arm's upper
        bound; never below ``"exact"``, and a hundred times cheaper. ``"plain"``: OFUL's own.
    tighten
        How bounds inform each other: ``"exact"`` solves for each arm once, see `meanbounds.tighten`. ``"cone"`` bounds
        the arms of a round by the most promising one, where there are too many to solve for. ``"none"``: not at all.
        Clipped at bounds that are not tightened, an index can lose more than that of `OFUL`.
    online
        Whether the confidence set bounds the means as well: it raises l_max, shrinks what is left of an offer, and
        lowers variance proxies. These bounds hold in all rounds at once with probability at least ``1 - failure``:
        it is the same event as that the parameter lies in the confidence sets.
    printed
        Radius and factor as in the paper, see `paper`.

    Notes
    -----
    Theorem 4 of the paper. Differs from the paper: the radius has log(det V / lambda^d), which holds for arms of any
    norm and for weights; each arm's factor comes from its own bounds in its own range; the cone follows from the norm
    of each arm, and bounds means by ``||a|| M cos(angle + alpha)`` where the paper has the smaller ``m cos(3 alpha)``;
    the norm's lower limit is left out of the cone programs, which are not convex with it.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.6, 0.0, 0.0], [0.9, 1.0, 0.5], arms=["a", "b", "c"])
    >>> features = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]
    >>> agent = mb.Agent(mb.ROFUL(), bounds, seed=1, features=features)
    >>> agent.pull(["b", "c"])
    'c'
    """

    theorem: ClassVar[str] = "Theorem 4"

    norm_low: float = 0.0
    index: str = "exact"
    tighten: str = "exact"
    online: bool = False
    printed: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_choice("index", _INDEX)
        self._check_choice("tighten", _TIGHTEN)
        self._check_choice("online", (True, False))
        self._check_choice("printed", (True, False))

    @classmethod
    def paper(cls, *, norm_high: float = 1.0, norm_low: float = 0.0, failure: float = 0.01) -> ROFUL:
        """The algorithm as printed: exact index, d log(1 + t / (d lambda)) in the radius, the factor sigma_t.

        It is for arms of norm 1 without offsets; others are refused. The printed factor is no bound once 3 alpha is
        above pi / 2, and is left out then. Ties are settled as everywhere here.

        Examples
        --------
        >>> import meanbounds as mb
        >>> str(mb.ROFUL.paper())
        "ROFUL(noise='restricted-max', printed=True)"
        """
        return cls(norm_high=norm_high, failure=failure, noise="restricted-max", norm_low=norm_low, printed=True)

    def plan(self, arms: LinearArms) -> LinearPlan:
        """Tighten the bounds, once."""
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
        )
