"""OFUL, and what all policies for arms with features share: ridge regression, what bounds allow, the choice."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, field
from math import exp, log, log1p, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from meanbounds.bounds import BoundsError, MeanBounds
from meanbounds.knowledge import Knowledge
from meanbounds.linear.arms import LinearArms, check_norm
from meanbounds.linear.feasible import Extent, FeasibleSet
from meanbounds.linear.maximum import TOLERANCE
from meanbounds.policies.base import Described
from meanbounds.support.checks import as_float, shown
from meanbounds.support.streams import Draws
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["OFUL", "Allowed", "LinearPolicy", "LinearState", "Offer", "extent_of", "without_bounds"]

_REFRESH = 1024  # updates after which everything is computed from the sums again
_LEAP = 1e4  # an update that narrows an arm's width by more loses too many digits
_LONGEST = 1e9  # squared length of features over the regularisation
_LEAST_NOISE = 1e-4  # of the largest: no reward counts more than ten thousand times as much as another
_PRUNED = 1e-9  # of the largest mean that the norm allows: rounding may have raised an upper bound by this


@dataclass(eq=False)
class Allowed:
    """What the bounds allow; a policy that uses no bounds has infinite ones."""

    extent: Extent  # the smallest and the largest mean of each arm
    feasible: FeasibleSet | None  # all parameters that satisfy the bounds; None if no bounds are used
    norm_high: float
    memory: dict[str, Any] = field(default_factory=dict)  # what the policy keeps, whichever arms are on offer
    proofs: Any = None  # what is proved about exact indices of these arms

    def __post_init__(self) -> None:
        self.lower, self.upper = self.extent.lower, self.extent.upper
        self.scale = self.norm_high * np.linalg.norm(self.extent.features, axis=1) + np.abs(self.extent.offset)
        self._top = np.maximum(self.upper - _PRUNED * self.scale, np.nextafter(self.lower, np.inf))

    def kept(self, offered: Integers) -> Booleans:
        """Which arms on offer may be better than all others, or attain the largest lower bound on offer."""
        return self._top.take(offered) > np.maximum.reduce(self.lower.take(offered), axis=1, keepdims=True)


class Offer(NamedTuple):
    """The arms on offer in a decision: arrays of shape (rows, offered), or (1, offered) if all rows have the same."""

    arms: Integers  # their positions
    kept: Booleans  # which of them can be best
    allowed: Allowed  # the bounds to go by


class LinearState:
    """What a policy for arms with features has learned: a row for each run, or one for an agent.

    Attributes
    ----------
    features, offset, bounds, allowed
        Of the arms, and what the bounds allow; if some may be wrong, after this, what the certain ones allow.
    weight
        How much a reward of each arm counts: one over the variance, or variance proxy, of its noise.
    precision, moment
        V, which is ``ridge`` times the identity plus the sum of weight x features x features', and the sum of weight x
        (reward - offset) x features: shapes (rows, d, d) and (rows, d).
    inverse, parameter, log_det
        V^-1; the estimate of the parameter, V^-1 moment; and ``log(det V / ridge^d)``, shape (rows,).
    estimate, square
        For each arm the estimate of its mean, and features' V^-1 features: shape (rows, arms).
    contradictions
        In how many rounds no parameter satisfied the bounds and lay in the confidence set: shape (rows,).
    gains
        Logarithms of what was won by betting against the lower and the upper bound of each arm, shape (rows, 2, arms);
        None if nobody bets. Added up they are the logarithm of an e-process against all bounds together.
    """

    gains: Floats | None = None
    log_n = np.inf  # -log(1 - trust), of bounds that may be wrong
    updates = 0

    def __init__(self, allowed: list[Allowed], bounds: MeanBounds, weight: Floats, ridge: float, rows: int) -> None:
        d = allowed[0].extent.features.shape[1]
        self.bounds, self.weight, self.ridge = bounds, weight, ridge
        self.precision, self.moment = np.tile(ridge * np.eye(d), (rows, 1, 1)), np.zeros((rows, d))
        self.begun = self.precision.copy(), self.moment.copy()  # before the first reward
        self.contradictions = np.zeros(rows, dtype=np.int64)
        self._consider(allowed)

    def _consider(self, allowed: list[Allowed]) -> None:
        """Take up these arms, and what is allowed for them."""
        self.allowed, (self.features, self.offset) = allowed, allowed[0].extent[:2]
        size, self.tie = len(self.offset), TOLERANCE * float(allowed[0].scale.max())
        self.everything, self.first = np.arange(size)[None, :], size * np.arange(len(self.moment))[:, None]
        self.refresh()

    def among(self, allowed: list[Allowed]) -> LinearState:
        """The same for a decision among other arms."""
        made = copy(self)
        made._consider(allowed)
        return made

    def at(self, table: Floats, arms: Integers) -> Floats:
        """The entries of a table (rows, all arms) for some arms of each row."""
        return table.take(arms + self.first)

    def refresh(self) -> None:
        """Compute everything from V and the moment, without the rounding errors of updates."""
        root = np.linalg.inv(np.linalg.cholesky(self.precision))
        self.log_det = -2.0 * np.log(np.diagonal(root, axis1=1, axis2=2) * sqrt(self.ridge)).sum(axis=1)
        self.inverse = np.swapaxes(root, 1, 2) @ root
        self.parameter = (self.inverse @ self.moment[:, :, None])[:, :, 0]
        self.estimate = self.offset + self.parameter @ self.features.T
        self.square = np.square(root @ self.features.T).sum(axis=1)

    def add(self, x: Floats, target: Any, weight: Any) -> None:
        """Add a reward to each row: the features (rows, d), the reward less its offset, and how much it counts."""
        one = len(x) == 1  # an agent, whose time is that of calls: products of matrices are the cheapest ones
        if one:
            weight, target, image = weight.item(), target.item(), x.dot(self.inverse[0])
            width, error = weight * image.dot(x.T).item(), target - self.parameter.dot(x.T).item()
        else:
            weight, target, image = weight[:, None], target[:, None], (self.inverse @ x[:, :, None])[:, :, 0]
            width, error = weight * np.vecdot(x, image)[:, None], target - np.vecdot(x, self.parameter)[:, None]
        weighted = weight * x
        self.precision += weighted.T.dot(x) if one else weighted[:, :, None] * x[:, None, :]
        self.moment += target * weighted
        self.updates += 1
        if self.updates % _REFRESH == 0 or (width if one else width.max()) > _LEAP:
            self.refresh()
            return
        factor = weight / (1.0 + width)
        shift, scaled, product = factor * error, factor * image, image.dot(self.features.T)
        self.inverse -= scaled.T.dot(image) if one else scaled[:, :, None] * image[:, None, :]
        self.parameter += shift * image
        self.log_det += np.log1p(width).ravel()
        self.estimate += shift * product
        self.square -= factor * np.square(product, out=product)

    def adopt(self, old: LinearState) -> None:
        """Take over what another state has learned; there may be more arms and bounds now."""
        self.precision += old.precision - old.begun[0]
        self.moment += old.moment - old.begun[1]
        self.updates, self.contradictions = old.updates, old.contradictions
        if self.gains is not None and old.gains is not None:  # what refutes the old bounds refutes more bounds too
            self.gains[:, :, : old.gains.shape[2]] = old.gains
        self.refresh()

    @property
    def doubt(self) -> Floats:
        """The probability with which a decision does without the bounds that may be wrong, for each row.

        It is ``1 / (1 + (N - 1) / E)`` with N = 1 / (1 - trust): the posterior probability that the bounds fail, with
        the e-process of `bet` for the ratio of what both say about the rewards. E counts from 1 on: rewards take trust
        away and give none, since arms that the bounds silence have no say. So a silenced arm is tried in one of N
        rounds; if its bound is wrong, E then grows until the bounds are given up.
        """
        log_e = 0.0 if self.gains is None else np.maximum(self.gains.sum(axis=(1, 2)), 0.0)
        return 1.0 / (1.0 + np.exp(np.minimum(self.log_n + log1p(-exp(-self.log_n)) - log_e, 700.0)))

    def bet(self, positions: Integers, rewards: Floats) -> None:
        """Bet against the bounds of the arms that were played, and let their rewards decide.

        A bet needs two numbers before the reward X comes: the upper bound u on its mean that follows from all bounds,
        and a forecast q > u, in units of the range. The wealth is multiplied by
        ``(q / u)^X ((1 - q) / (1 - u))^(1 - X)``, which is convex in X, so that its expectation is at most
        ``1 + (m - u) (q - u) / (u (1 - u)) <= 1`` for a mean m <= u. So the wealth is an e-process against the claim
        that all bounds hold, whatever the forecasts are. They are the estimate of the regression, moved towards the
        bound by its standard error, and at most half way from the bound to the end of the range.
        """
        for row, (arm, reward) in enumerate(zip(positions.tolist(), rewards.tolist(), strict=True)):
            middle, error = self.estimate.item(row, arm), sqrt(max(self.square.item(row, arm), 0.0))
            lower, upper = self.allowed[0].lower.item(arm), self.allowed[0].upper.item(arm)
            if lower <= middle + error and middle - error <= upper:
                continue
            side, ends = int(middle > upper), (self.bounds.low.item(arm), self.bounds.high.item(arm))
            start, end = ends if side else ends[::-1]  # a lower bound is an upper bound on what a reward lacks
            bound = ((upper if side else lower) - start) / (end - start)
            forecast = (middle - start) / (end - start) - error / abs(end - start)
            win = (reward - start) / (end - start)
            if bound < 1.0 and self.gains is not None:
                short = max(1.0 - forecast, (1.0 - bound) / 2.0)
                gain = win * (log1p(-short) - log(max(bound, 1e-300))) if win > 0.0 else 0.0
                self.gains[row, side, arm] += gain + (1.0 - win) * log(short / (1.0 - bound))


@dataclass(frozen=True, repr=False, kw_only=True)
class LinearPolicy(Described):
    """Base of the policies for arms with features: the mean of an arm is ``offset + features . parameter``.

    `start` makes the state, with a row for each run of a simulation (one for an agent), `choose` decides in all rows,
    and `learn` takes in one reward for each. A subclass defines `allow`, `noise` and `weigh`.

    Parameters
    ----------
    norm_high
        Upper limit on the Euclidean norm of the parameter, in reward units per unit of feature length.
    regularisation
        The lambda of ridge regression; positive.

    Examples
    --------
    >>> import numpy as np
    >>> import meanbounds as mb
    >>> from meanbounds.linear import LinearArms
    >>> from meanbounds.support.streams import Draws, stream
    >>> policy, arms = mb.OFUL(), LinearArms([[1.0, 0.0], [0.6, 0.8]], mb.MeanBounds.vacuous(2))
    >>> state = policy.start(arms, rows=3)
    >>> policy.learn(state, np.array([0, 1, 1]), np.array([1.0, 1.0, 0.0]))
    >>> policy.choose(state, None, Draws(stream(7, np.arange(3), "policy"), 0))
    array([1, 0, 0])
    """

    source: ClassVar[str] = ""  # where the policy was published
    takes_prior: ClassVar[bool] = False  # whether a `Prior` changes anything

    norm_high: float = 1.0
    regularisation: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "norm_high", check_norm(self.norm_high))
        self._check_between("regularisation", "a positive number", np.inf)

    def _check_between(self, name: str, what: str, below: float) -> None:
        """Refuse a parameter that is not a number above 0 and below this, and store it as a float."""
        value = as_float(name, getattr(self, name))
        if not 0.0 < value < below:
            raise ValueError(f"{name} must be {what}; got {shown(getattr(self, name))}")
        object.__setattr__(self, name, value)

    @abstractmethod
    def allow(self, arms: LinearArms) -> Allowed:
        """What the policy makes of the bounds."""

    @abstractmethod
    def noise(self, extent: Extent, low: Floats, high: Floats) -> Floats:
        """The variance, or variance proxy, of each arm's rewards, given its bounds and its range."""

    @abstractmethod
    def weigh(self, state: LinearState, offer: Offer, draws: Draws) -> Floats | Booleans:
        """How likely each arm on offer is to be chosen: numbers in proportion to probabilities, (rows, offered)."""

    def ridge(self, worst: float) -> float:
        """What the matrix V begins with; `worst` is the largest variance proxy that the ranges allow."""
        return self.regularisation / worst

    def weight(self, extent: Extent, low: Floats, high: Floats, worst: float) -> Floats:
        """How much a reward of each arm counts."""
        return 1.0 / np.maximum(self.noise(extent, low, high), _LEAST_NOISE * worst)

    def start(self, arms: LinearArms, rows: int = 1, known: Knowledge | None = None) -> LinearState:
        """The state before the first reward.

        Bounds with a trust below 1 stand or fall together, since one parameter is behind all means; the least of their
        trusts counts. Some decisions do without them, see `LinearState.doubt`, and noise is judged without them.

        Parameters
        ----------
        arms, rows
            Features, offsets and bounds of the arms, and how many runs there are.
        known
            The trust in these bounds, and a prior, for policies that take one.
        """
        known = Knowledge(arms.bounds) if known is None else known
        bounds, trust = arms.bounds, np.broadcast_to(known.trust, len(arms.bounds))
        doubted, worst = (trust > 0.0) & (trust < 1.0), float(bounds.worst_variance_proxy.max())
        self.check_scale(float(arms.length.max()))
        allowed = [self.allow(without_bounds(arms, trust == 0.0))]
        doubts = allowed[0].feasible is not None and doubted.any()
        if doubts:
            allowed.append(self.allow(without_bounds(arms, trust < 1.0)))
        weight = self.weight(allowed[-1].extent, bounds.low, bounds.high, worst)
        state = LinearState(allowed, bounds, weight, self.ridge(worst), rows)
        if doubts:
            state.log_n, state.gains = float(known.log_n[doubted].min()), np.zeros((rows, 2, len(bounds)))
        if known.prior is not None:
            if not self.takes_prior or known.prior.is_learned:
                kind = "a prior that is learned" if known.prior.is_learned else "a prior"
                raise ValueError(
                    f"{self} makes no use of {kind}: leave it out, or take "
                    f"{'mb.Agent' if known.prior.is_learned else 'a policy that does, such as mb.LinearThompson()'}"
                )
            _add_prior(state, known)
        return state

    def check_scale(self, length: float) -> None:
        """Refuse features so long that their squares would round the regularisation away."""
        if not length * length <= _LONGEST * self.regularisation:
            raise ValueError(
                f"features of length {length:.3g} are too long: their squares round regularisation="
                f"{self.regularisation:g} away. Divide the features by a number, and multiply norm_high by it"
            )

    def weights(self, state: LinearState, offered: Integers | None, draws: Draws) -> Floats | Booleans:
        """How likely each arm on offer is to be chosen, in proportion to probabilities.

        A policy that samples draws in this, so ask once for each decision.
        """
        offered, found = state.everything if offered is None else offered, []
        for allowed in state.allowed:
            offer = Offer(offered, allowed.kept(offered), allowed)
            alone = np.count_nonzero(offer.kept) == len(offer.kept)  # one arm in each row
            found.append(offer.kept if alone else self.weigh(state, offer, draws))
        if len(found) == 1:
            return found[0]
        first, second = (part / part.sum(axis=1, keepdims=True) for part in found)
        doubt = state.doubt[:, None]
        return (1.0 - doubt) * first + doubt * second

    def pick(self, weights: Floats | Booleans, rows: int, draws: Draws) -> Integers:
        """Draw a column of `weights` for each row."""
        if np.count_nonzero(weights) == len(weights):
            places = weights.argmax(axis=1)
            return places if len(places) == rows else np.repeat(places, rows)
        below = weights.cumsum(axis=1)
        return ((draws.one() * below[:, -1])[:, None] >= below).sum(axis=1)

    def choose(self, state: LinearState, offered: Integers | None, draws: Draws) -> Integers:
        """The position of the arm to play in each row, of those on offer: shape (rows, offered), or None for all."""
        places = self.pick(self.weights(state, offered, draws), len(state.moment), draws)
        return places if offered is None else np.take_along_axis(offered, places[:, None], axis=1)[:, 0]

    def learn(self, state: LinearState, positions: Integers, rewards: Floats) -> None:
        """Take in one reward for each row: the position of the arm that was played, and the reward."""
        if state.gains is not None:
            state.bet(positions, rewards)
        target = rewards - state.offset.take(positions)
        state.add(state.features.take(positions, axis=0), target, state.weight.take(positions))


def extent_of(arms: LinearArms, feasible: FeasibleSet | None) -> Extent:
    """The bounds on arms that follow from their own and from a feasible set; infinite without a set."""
    bounds = arms.bounds
    if feasible is None:
        ends = np.full(len(bounds), np.inf)
        return Extent(arms.features, arms.offset, -ends, ends, np.full(arms.features.shape, np.nan))
    if arms is feasible.arms:
        return feasible.own
    extent = feasible.extent(arms.features, arms.offset)
    lower, upper = np.maximum(extent.lower, bounds.lower), np.minimum(extent.upper, bounds.upper)
    for k in np.flatnonzero(lower > upper + 1e-9 * (bounds.high - bounds.low)):
        raise BoundsError(
            f"arm {bounds.arms[k]!r}: its mean is said to be in [{bounds.lower[k]:g}, {bounds.upper[k]:g}], but the "
            f"bounds of other arms put it in [{extent.lower[k]:g}, {extent.upper[k]:g}]; at least one of these does "
            f"not hold, or norm_high is too small"
        )
    return extent._replace(lower=np.minimum(lower, upper), upper=np.maximum(lower, upper))


def without_bounds(arms: LinearArms, some: Booleans) -> LinearArms:
    """The arms without the bounds of some."""
    if not some.any():
        return arms
    bounds = arms.bounds
    lower, upper = np.where(some, bounds.low, bounds.lower), np.where(some, bounds.high, bounds.upper)
    wide = MeanBounds(lower, upper, arms=bounds.arms, low=bounds.low, high=bounds.high)
    return LinearArms(arms.features, wide, offset=arms.offset)


def _add_prior(state: LinearState, known: Knowledge) -> None:
    """Count a prior as rewards: Beta(a, b) is a uniform prior after a - 1 successes and b - 1 failures."""
    assert known.prior is not None
    above, below = known.prior.parameters(known.bounds) - 1.0
    total = above * (known.bounds.high - state.offset) + below * (known.bounds.low - state.offset)
    state.precision += ((state.weight * (above + below))[:, None] * state.features).T @ state.features
    state.moment += (state.weight * total) @ state.features
    state.begun = state.precision.copy(), state.moment.copy()
    state.refresh()


@dataclass(frozen=True, repr=False, kw_only=True)
class OFUL(LinearPolicy):
    """Optimism for arms with features (Abbasi-Yadkori, Pál and Szepesvári, 2011). Ignores the bounds.

    Plays the arm with the largest mean over its confidence set, ``estimate + radius * sqrt(x' V^-1 x)``; of equal ones
    the larger estimate. Each reward is weighted by the inverse of its variance proxy, so that with one range for all
    arms this is the published algorithm.

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
    >>> agent.update("a", 1.0, pulled=False)
    >>> agent.pull()  # less is known about b
    'b'
    """

    source: ClassVar[str] = "Abbasi-Yadkori et al. 2011"

    failure: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_between("failure", "a probability between 0 and 1", 1.0)

    def allow(self, arms: LinearArms) -> Allowed:
        """Any mean."""
        return Allowed(extent_of(arms, None), None, self.norm_high)

    def noise(self, extent: Extent, low: Floats, high: Floats) -> Floats:
        """The variance proxy from the range alone."""
        return (high - low) ** 2 / 4.0

    def radius(self, state: LinearState) -> Floats:
        """The radius of each row's confidence set, in the norm of V."""
        return sqrt(state.ridge) * self.norm_high + np.sqrt(state.log_det - 2.0 * log(self.failure))

    def scores(self, state: LinearState, offer: Offer, every: bool = False) -> Floats:
        """The index of each arm on offer; with `every`, not only the largest is wanted."""
        width = np.sqrt(np.maximum(state.at(state.square, offer.arms), 0.0))
        return state.at(state.estimate, offer.arms) + self.radius(state)[:, None] * width

    def weigh(self, state: LinearState, offer: Offer, draws: Draws) -> Booleans:
        """The largest index; of equal ones the largest estimate, moved into the arm's bounds; then all alike."""
        scores = np.where(offer.kept, self.scores(state, offer), -np.inf)
        tied = scores >= scores.max(axis=1, keepdims=True) - state.tie
        if np.count_nonzero(tied) > len(tied):
            lower, upper = offer.allowed.lower.take(offer.arms), offer.allowed.upper.take(offer.arms)
            means = np.minimum(np.maximum(state.at(state.estimate, offer.arms), lower), upper)
            means = np.where(tied, means, -np.inf)
            tied &= means >= means.max(axis=1, keepdims=True) - state.tie
        return tied
