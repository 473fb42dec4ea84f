"""OFUL, and what all policies for arms with features share: ridge regression, the bounds in use, the choice."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, field
from math import log, log1p, sqrt
from typing import Any, ClassVar

import numpy as np

from meanbounds.bounds import MeanBounds
from meanbounds.knowledge import Knowledge
from meanbounds.linear.arms import LinearArms, check_norms
from meanbounds.linear.feasible import Extent, FeasibleSet
from meanbounds.policies.base import Described
from meanbounds.support.checks import as_float, shown
from meanbounds.support.streams import Draws
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["OFUL", "Limits", "LinearPolicy", "LinearState"]

_REFRESH = 1024  # updates after which everything is computed from the sums again
_LEAP = 1e4  # an update that narrows an arm's width by more loses too many digits
_LONGEST = 1e9  # squared length of features over the regularisation
_LEAST_NOISE = 1e-4  # of the largest: no reward counts more than ten thousand times as much as another
_TIE = 1e-10  # indices closer than this, relative to the means that the norm allows, are equal
_PRUNED = 1e-9  # by how much, on the same scale, rounding may have raised an upper bound


@dataclass(eq=False)
class Limits:
    """The bounds that a policy goes by.

    Attributes
    ----------
    extent
        The smallest and the largest mean of each arm; infinite for a policy that uses no bounds.
    feasible
        All parameters that satisfy the bounds; None for a policy that uses no bounds.
    norm_high
        Upper limit on the norm of the parameter.
    memory
        What the policy keeps from round to round.
    complete
        Whether all known arms are there, and no others.
    """

    extent: Extent
    feasible: FeasibleSet | None
    norm_high: float
    memory: dict[str, Any] = field(default_factory=dict)
    complete: bool = True

    def __post_init__(self) -> None:
        self.lower, self.upper = self.extent.lower, self.extent.upper
        self.scale = self.norm_high * np.linalg.norm(self.extent.features, axis=1) + np.abs(self.extent.offset)
        self._top = self.upper - _PRUNED * self.scale

    def kept(self, offered: Integers) -> Booleans:
        """Which arms on offer may be better than all others, or attain the largest lower bound on offer."""
        lower = self.lower.take(offered)
        floor = lower.max(axis=1, keepdims=True)
        return (self._top.take(offered) > floor) | (lower >= floor)

    def offering(self, places: Integers, new: Extent) -> Limits:
        """The same for the known arms at these places, followed by new ones."""
        extent = Extent(*(np.concatenate([old[places], own]) for old, own in zip(self.extent, new, strict=True)))
        return Limits(extent, self.feasible, self.norm_high, self.memory, complete=False)


class LinearState:
    """What a policy for arms with features knows and has learned: one row for each run, or one for an agent.

    Attributes
    ----------
    features, offset
        Of the arms: shapes (arms, d) and (arms,).
    limits
        The bounds in use; and if some may be wrong, after these, those that are certain.
    weight
        How much a reward of each arm counts: one over the variance, or variance proxy, of its noise.
    precision, moment
        V, which is ``ridge`` times the identity plus the sum of weight x features x features', and the sum of weight x
        (reward - offset) x features: shapes (rows, d, d) and (rows, d).
    inverse, parameter
        V^-1, and the estimate of the parameter: V^-1 moment.
    estimate, square
        For each arm the estimate of its mean and features' V^-1 features: shape (rows, arms).
    log_det
        ``log(det V / ridge^d)``, shape (rows,).
    contradictions
        In how many rounds no parameter satisfied the bounds and lay in the confidence set: shape (rows,).
    gains
        Logarithms of what was won by betting against the lower and the upper bound of each arm, shape (rows, 2, arms);
        None if nobody bets. Added up they are the logarithm of an e-process against all bounds together.
    """

    def __init__(self, arms: LinearArms, limits: tuple[Limits, ...], weight: Floats, ridge: float, rows: int) -> None:
        size, d = arms.features.shape
        self.features, self.offset, self.bounds = arms.features, arms.offset, arms.bounds
        self.limits, self.weight, self.ridge, self.log_n = limits, weight, ridge, np.inf
        self.everything, self.first = np.arange(size)[None, :], size * np.arange(rows)[:, None]
        self.precision, self.moment, self.updates = np.tile(ridge * np.eye(d), (rows, 1, 1)), np.zeros((rows, d)), 0
        self.contradictions, self.gains = np.zeros(rows, dtype=np.int64), None
        self.tie = 0.0
        self.refresh()

    gains: Floats | None

    def refresh(self) -> None:
        """Compute everything from V and the moment, without the rounding errors of updates."""
        root = np.linalg.inv(np.linalg.cholesky(self.precision))
        self.log_det = -2.0 * np.log(np.diagonal(root, axis1=1, axis2=2) * sqrt(self.ridge)).sum(axis=1)
        self.inverse = np.swapaxes(root, 1, 2) @ root
        self.parameter = (self.inverse @ self.moment[:, :, None])[:, :, 0]
        self.estimate = self.offset + self.parameter @ self.features.T
        self.square = np.square(root @ self.features.T).sum(axis=1)

    def add(self, x: Floats, target: Floats, weight: Floats) -> None:
        """Add a reward to each row: the features (rows, d), the reward less its offset, and how much it counts."""
        image = (self.inverse @ x[:, :, None])[:, :, 0]
        width = weight * (x * image).sum(axis=1)
        error = target - (x * self.parameter).sum(axis=1)
        weighted = weight[:, None] * x
        self.precision += weighted[:, :, None] * x[:, None, :]
        self.moment += target[:, None] * weighted
        self.updates += 1
        if self.updates % _REFRESH == 0 or width.max() > _LEAP:
            self.refresh()
            return
        factor = (weight / (1.0 + width))[:, None]
        shift = factor * error[:, None]
        product = image @ self.features.T
        self.inverse -= (factor * image)[:, :, None] * image[:, None, :]
        self.parameter += shift * image
        self.log_det += np.log1p(width)
        self.estimate += shift * product
        self.square -= factor * np.square(product, out=product)

    def at(self, table: Floats, offered: Integers) -> Floats:
        """The entries of a table (rows, arms) for the arms on offer."""
        return table.take(offered + self.first)

    def offering(self, places: Integers, features: Floats, offset: Floats, extents: list[Extent]) -> LinearState:
        """The same for one decision among the known arms at these places, followed by new ones."""
        made = copy(self)
        made.features, made.offset = (
            np.vstack([self.features[places], features]),
            np.append(self.offset[places], offset),
        )
        made.limits = tuple(own.offering(places, new) for own, new in zip(self.limits, extents, strict=True))
        made.everything, made.first = (
            np.arange(len(made.offset))[None, :],
            len(made.offset) * np.arange(len(self.moment))[:, None],
        )
        made.estimate = made.offset + made.parameter @ made.features.T
        made.square = np.einsum("rij,ni,nj->rn", made.inverse, made.features, made.features)
        return made

    @property
    def doubt(self) -> Floats:
        """The probability with which a decision does without the bounds that may be wrong, for each row.

        It is ``1 / (1 + (N - 1) / E)`` with N = 1 / (1 - trust): the posterior probability that the bounds fail if E is
        the ratio of what both say about the rewards. E is the e-process of the bets, and counts from 1 on: rewards take
        trust away and give none, since arms that the bounds silence have no say in it.
        """
        assert self.gains is not None
        log_odds = self.log_n + log1p(-np.exp(-self.log_n)) - np.maximum(self.gains.sum(axis=(1, 2)), 0.0)
        return 1.0 / (1.0 + np.exp(np.minimum(log_odds, 700.0)))

    def bet(self, positions: Integers, rewards: Floats) -> None:
        """Bet against the bounds of the arms that were played, and settle the bets by their rewards.

        A bet needs two numbers before the reward X comes: the upper bound u on its mean that follows from all bounds,
        and a forecast q > u; both in units of the range. The wealth is multiplied by
        ``(q / u)^X ((1 - q) / (1 - u))^(1 - X)``, which is convex in X, so that its expectation is at most
        ``1 + (m - u) (q - u) / (u (1 - u)) <= 1`` for a mean m <= u. So the wealth is an e-process against the claim
        that all bounds hold, whatever the forecasts are. They are the estimate of the regression, moved towards the
        bound by its standard error, at most half way from the bound to the end of the range.
        """
        assert self.gains is not None
        estimate = self.at(self.estimate, positions[:, None])[:, 0]
        deviation = np.sqrt(np.maximum(self.at(self.square, positions[:, None])[:, 0], 0.0))
        lower, upper = self.limits[0].lower[positions], self.limits[0].upper[positions]
        for row in np.flatnonzero((estimate + deviation < lower) | (estimate - deviation > upper)).tolist():
            arm = int(positions[row])
            low, high = float(self.bounds.low[arm]), float(self.bounds.high[arm])
            win, lack, side = (rewards[row] - low) / (high - low), (high - rewards[row]) / (high - low), 1
            bound, forecast = (upper[row] - low) / (high - low), (estimate[row] - deviation[row] - low) / (high - low)
            if estimate[row] < lower[row]:
                win, lack, side = lack, win, 0
                bound, forecast = (
                    (high - lower[row]) / (high - low),
                    (high - estimate[row] - deviation[row]) / (high - low),
                )
            if bound < 1.0:
                short = max(1.0 - forecast, (1.0 - bound) / 2.0)
                gain = win * (log1p(-short) - log(max(bound, 1e-300))) if win > 0.0 else 0.0
                self.gains[row, side, arm] += gain + (lack * log(short / (1.0 - bound)) if lack > 0.0 else 0.0)


@dataclass(frozen=True, repr=False, kw_only=True)
class LinearPolicy(Described):
    """Base of the policies for arms with features: the mean of an arm is ``offset + features . parameter``.

    `start` makes the state, with a row for each run of a simulation (one for an agent), `choose` decides in all rows,
    and `learn` takes in one reward for each. A subclass defines `limits`, `noise` and `weigh`.

    Parameters
    ----------
    norm_high
        Upper limit on the Euclidean norm of the parameter, in reward units per unit of feature length.
    regularisation
        The lambda of ridge regression; positive.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds import MeanBounds
    >>> from meanbounds.linear import OFUL, LinearArms
    >>> from meanbounds.support.streams import Draws, stream
    >>> policy = OFUL()
    >>> state = policy.start(LinearArms([[1.0, 0.0], [0.6, 0.8]], MeanBounds.vacuous(2)), rows=3)
    >>> policy.learn(state, np.array([0, 1, 1]), np.array([1.0, 1.0, 0.0]))
    >>> policy.choose(state, None, Draws(stream(7, np.arange(3), "policy"), 0))
    array([0, 1, 0])
    """

    source: ClassVar[str] = ""  # where the policy was published
    takes_prior: ClassVar[bool] = False  # whether a `Prior` changes anything
    has_index: ClassVar[bool] = True  # whether it ranks arms by an index

    norm_high: float = 1.0
    regularisation: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "norm_high", check_norms(self.norm_high)[0])
        self._check_between("regularisation", "a positive number", np.inf)

    def _check_between(self, name: str, what: str, below: float) -> None:
        """Refuse a parameter that is not a number above 0 and below this, and store it as a float."""
        value = as_float(name, getattr(self, name))
        if not 0.0 < value < below:
            raise ValueError(f"{name} must be {what}; got {shown(getattr(self, name))}")
        object.__setattr__(self, name, value)

    @abstractmethod
    def limits(self, arms: LinearArms) -> Limits:
        """The bounds that the policy goes by."""

    @abstractmethod
    def noise(self, extent: Extent, low: Floats, high: Floats) -> Floats:
        """The variance, or variance proxy, of each arm's rewards, given its bounds and its range."""

    @abstractmethod
    def weigh(
        self, state: LinearState, limits: Limits, offered: Integers, kept: Booleans, draws: Draws
    ) -> Floats | Booleans:
        """How likely each arm on offer is to be chosen: numbers in proportion to probabilities, shape (rows, offered).

        Parameters
        ----------
        state, limits
            The rewards so far, and the bounds to go by.
        offered
            Positions of the arms on offer, shape (rows, offered) or (1, offered).
        kept
            Which of them can be best.
        draws
            Random numbers for the decision.
        """

    @property
    def tolerance(self) -> float:
        """Indices closer than this are equal, relative to the means that the norm allows."""
        return _TIE

    def ridge(self, worst: float) -> float:
        """What the matrix V begins with; `worst` is the largest variance proxy that the ranges allow."""
        return self.regularisation / worst

    def start(self, arms: LinearArms, rows: int = 1, known: Knowledge | None = None) -> LinearState:
        """The state before the first reward.

        Bounds with a trust below 1 stand or fall together, since one parameter is behind all means; the least of their
        trusts counts. Some decisions do without them, see `LinearState.doubt`. Noise is then judged by what is certain.

        Parameters
        ----------
        arms
            Features, offsets and bounds.
        rows
            How many runs there are.
        known
            Trust in these bounds, and a prior, for policies that take one.
        """
        known = Knowledge(arms.bounds) if known is None else known
        self.check_known(known)
        trust = np.broadcast_to(known.trust, len(arms.bounds))
        doubted = (trust > 0.0) & (trust < 1.0)
        limits = [self.limits(_without(arms, trust == 0.0))]
        if doubted.any():
            limits.append(self.limits(_without(arms, trust < 1.0)))
        worst = float(arms.bounds.worst_variance_proxy.max())
        self.check_scale(float(arms.length.max()))
        weight = self.weight(limits[-1].extent, arms.bounds.low, arms.bounds.high, worst)
        state = LinearState(arms, tuple(limits), weight, self.ridge(worst), rows)
        state.tie = self.tolerance * float(limits[0].scale.max())
        if doubted.any():
            state.log_n, state.gains = float(known.log_n[doubted].min()), np.zeros((rows, 2, len(arms.bounds)))
        if known.prior is not None:
            _add_prior(state, known)
        return state

    def check_known(self, known: Knowledge) -> None:
        """Refuse a prior that the policy would ignore."""
        if known.prior is not None and not self.takes_prior:
            raise ValueError(
                f"{self} takes no prior: with one its confidence sets would have no guarantee; use "
                f"mb.LinearThompson(), or leave the prior out"
            )

    def check_scale(self, length: float) -> None:
        """Refuse features so long that their squares would round the regularisation away."""
        if not length * length <= _LONGEST * self.regularisation:
            raise ValueError(
                f"features of length {length:.3g} are too long for regularisation={self.regularisation:g}: their "
                f"squares would round it away. Divide the features by some number and multiply norm_high by it, or "
                f"raise the regularisation"
            )

    def weight(self, extent: Extent, low: Floats, high: Floats, worst: float) -> Floats:
        """How much a reward of each arm counts."""
        return 1.0 / np.maximum(self.noise(extent, low, high), _LEAST_NOISE * worst)

    def weights(self, state: LinearState, offered: Integers | None, draws: Draws) -> Floats | Booleans:
        """How likely each arm on offer is to be chosen, in proportion to probabilities.

        A policy that samples draws in this; ask once for each decision.
        """
        offered = state.everything if offered is None else offered
        found = [self._weights(state, limits, offered, draws) for limits in state.limits]
        if len(found) == 1:
            return found[0]
        first, second = (part / part.sum(axis=1, keepdims=True) for part in found)
        doubt = state.doubt[:, None]
        return (1.0 - doubt) * first + doubt * second

    def _weights(self, state: LinearState, limits: Limits, offered: Integers, draws: Draws) -> Floats | Booleans:
        kept = limits.kept(offered)
        if np.count_nonzero(kept) == len(kept):  # one arm in each row
            return kept
        return self.weigh(state, limits, offered, kept, draws)

    def choose(self, state: LinearState, offered: Integers | None, draws: Draws) -> Integers:
        """The position of the arm to play in each row.

        Parameters
        ----------
        state
            The rewards so far.
        offered
            Positions of the arms on offer, shape (rows, offered); None for all arms.
        draws
            Random numbers for the decision.
        """
        places = self.pick(self.weights(state, offered, draws), len(state.moment), draws)
        return places if offered is None else np.take_along_axis(offered, places[:, None], axis=1)[:, 0]

    def pick(self, weights: Floats | Booleans, rows: int, draws: Draws) -> Integers:
        """Draw a column of `weights` for each row."""
        if np.count_nonzero(weights) == len(weights):
            return np.broadcast_to(weights.argmax(axis=1), rows)
        below = weights.cumsum(axis=1)
        return ((draws.one() * below[:, -1])[:, None] >= below).sum(axis=1)

    def learn(self, state: LinearState, positions: Integers, rewards: Floats, among: Booleans | None = None) -> None:
        """Take in one reward for each row.

        Parameters
        ----------
        state
            The rewards so far; it is changed.
        positions, rewards
            The arm that was played in each row, and its reward in reward units.
        among
            The rows that have a reward; all by default.
        """
        weight = state.weight.take(positions)
        if among is not None:
            weight = np.where(among, weight, 0.0)
        if state.gains is not None:
            state.bet(positions, rewards)
        state.add(state.features.take(positions, axis=0), rewards - state.offset.take(positions), weight)


def _without(arms: LinearArms, some: Booleans) -> LinearArms:
    """The arms without the bounds of some."""
    if not some.any():
        return arms
    bounds = arms.bounds
    lower, upper = np.where(some, bounds.low, bounds.lower), np.where(some, bounds.high, bounds.upper)
    wide = MeanBounds(lower, upper, arms=bounds.arms, low=bounds.low, high=bounds.high)
    return LinearArms(arms.features, wide, offset=arms.offset)


def _add_prior(state: LinearState, known: Knowledge) -> None:
    """Count a prior as rewards that came before the first round.

    Beta(a, b) has the density of a uniform prior times the likelihood of a - 1 successes and b - 1 failures.
    """
    assert known.prior is not None
    above, below = known.prior.parameters(known.bounds) - 1.0
    total = above * (known.bounds.high - state.offset) + below * (known.bounds.low - state.offset)
    mass = state.weight * (above + below)
    state.precision += (mass[:, None] * state.features).T @ state.features
    state.moment += (state.weight * total) @ state.features
    state.refresh()


@dataclass(frozen=True, repr=False, kw_only=True)
class OFUL(LinearPolicy):
    """Optimism for arms with features (Abbasi-Yadkori, Pál and Szepesvári, 2011). Ignores the bounds.

    Plays the arm with the largest mean over its confidence set, ``estimate + radius * sqrt(x' V^-1 x)``. Each reward is
    weighted by the inverse of its variance proxy, so with one range for all arms this is the published algorithm.

    Parameters
    ----------
    norm_high, regularisation
        As for `LinearPolicy`.
    failure
        Probability, in (0, 1), with which the confidence set may miss the parameter in any round at all.

    Notes
    -----
    With v the largest variance proxy that the ranges allow, V is ``regularisation / v`` times the identity plus the sum
    of x x' / proxy over the rewards, and the radius is ``sqrt(regularisation / v) * norm_high + sqrt(2 log(1 / failure)
    + log(det V / det V_0))``. It holds for features of any length, and for arms on offer that depend on the past alone.

    Examples
    --------
    >>> import meanbounds as mb
    >>> agent = mb.LinearAgent(mb.OFUL(), mb.MeanBounds.vacuous(["a", "b"]), [[1.0, 0.0], [0.6, 0.8]], seed=1)
    >>> agent.update("a", 1.0)
    >>> agent.pull()  # less is known about b
    'b'
    """

    source: ClassVar[str] = "Abbasi-Yadkori et al. 2011"

    failure: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_between("failure", "a probability between 0 and 1", 1.0)

    def limits(self, arms: LinearArms) -> Limits:
        """No bounds at all."""
        return Limits(self.unlimited(arms.features, arms.offset), None, self.norm_high)

    @staticmethod
    def unlimited(features: Floats, offset: Floats) -> Extent:
        """Infinite bounds on the means of these arms."""
        ends, exact = np.full(len(offset), np.inf), np.zeros(len(offset), dtype=np.bool_)
        return Extent(features, offset, -ends, ends, exact, exact, np.full(features.shape, np.nan))

    def noise(self, extent: Extent, low: Floats, high: Floats) -> Floats:  # noqa: ARG002
        """The variance proxy from the range alone."""
        return (high - low) ** 2 / 4.0

    def radius(self, state: LinearState) -> Floats:
        """The radius of each row's confidence set, in the norm of V."""
        fixed = sqrt(state.ridge) * self.norm_high
        return fixed + np.sqrt(state.log_det - 2.0 * log(self.failure))

    def scores(
        self,
        state: LinearState,
        limits: Limits,
        offered: Integers,
        kept: Booleans,
        every: bool = False,  # noqa: ARG002
    ) -> tuple[Floats, Floats]:
        """The index of each arm on offer, minus infinity for one that is not kept, and the estimate of its mean.

        Parameters
        ----------
        state, limits, offered, kept
            As for `weigh`.
        every
            Whether each index is wanted, and not only the largest.
        """
        estimate = state.at(state.estimate, offered)
        width = np.sqrt(np.maximum(state.at(state.square, offered), 0.0))
        return np.where(kept, estimate + self.radius(state)[:, None] * width, -np.inf), estimate

    def weigh(
        self,
        state: LinearState,
        limits: Limits,
        offered: Integers,
        kept: Booleans,
        draws: Draws,  # noqa: ARG002
    ) -> Booleans:
        """The largest index; of equal ones the largest estimate, moved into the arm's bounds; then all alike."""
        index, estimate = self.scores(state, limits, offered, kept)
        tied = index >= index.max(axis=1, keepdims=True) - state.tie
        if np.count_nonzero(tied) > len(tied):
            means = np.minimum(np.maximum(estimate, limits.lower.take(offered)), limits.upper.take(offered))
            means = np.where(tied, means, -np.inf)
            tied &= means >= means.max(axis=1, keepdims=True) - state.tie
        return tied
