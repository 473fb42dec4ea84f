"""The price of doubt: what it costs to trust bounds less than fully, and what is lost if they are wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import Arm, MeanBounds
from meanbounds.divergence import bernoulli_kl
from meanbounds.kernels.arms import codes
from meanbounds.knowledge import Knowledge
from meanbounds.policies import GLUE, Policy
from meanbounds.support.checks import as_float, broadcast_floats, check_choice, shown
from meanbounds.support.types import Floats
from meanbounds.theory.given import as_means, as_rounds, check_means, check_optimism
from meanbounds.theory.passing import Divergence, plays_until_passed

__all__ = ["doubt_lower_bound", "doubt_plays", "doubt_regret"]

_FORMS = ("proved", "first order")
_PLACES = np.linspace(0.0, 1.0, 102)[1:-1]  # where epsilon is tried, in units of the gap
_SUMMED = 100_000  # rounds t whose 1 / f(t) are added one by one; later ones come in blocks
_BLOCK = 1.01


@dataclass(frozen=True)
class _Index:
    """The divergences d behind an index: without bounds it is the largest q with ``plays * d(mean, q) <= level``.

    `UCBoost` lies between Bernoulli's and the Gaussian one: arms get the weaker one, the best arm Bernoulli's.
    """

    policy: Policy
    bounds: MeanBounds

    def bernoulli(self, k: int) -> Divergence:
        low, width = float(self.bounds.low[k]), float(self.bounds.high[k] - self.bounds.low[k])

        def divergence(x: Floats, y: Floats) -> Floats:
            one, other = (x - low) / width, (y - low) / width
            within = np.asarray(bernoulli_kl(np.clip(one, 0.0, 1.0), np.clip(other, 0.0, 1.0)))
            return np.where(other > 1.0, np.inf, within)  # no reward is beyond the range

        return divergence

    def arm(self, k: int) -> Divergence:
        wide = self.policy.kernel in (codes.GAUSSIAN, codes.BOOST, codes.MIN_UCB)
        return self._gaussian(self._widest(k)) if wide else self.bernoulli(k)

    def best(self, mu: Floats) -> Divergence:
        """That of the best arm: with the proxy of the policy if bounds hold, else with that of the range."""
        k = int(np.argmax(mu))
        if self.policy.kernel != codes.GAUSSIAN:
            return self.bernoulli(k)
        holds = bool(self.bounds.contains(mu).all())
        return self._gaussian(check_optimism(self.policy, mu, self.bounds) if holds else self._widest(k))

    def _widest(self, k: int) -> float:
        return float(np.broadcast_to(self.bounds.worst_variance_proxy, len(self.bounds))[k])

    @staticmethod
    def _gaussian(proxy: float) -> Divergence:
        return lambda x, y: np.square(y - x) / (2.0 * proxy)


def doubt_plays(
    means: ArrayLike,
    known: MeanBounds | Knowledge,
    horizon: int | ArrayLike,
    *,
    policy: Policy | None = None,
    form: str = "proved",
) -> Floats:
    r"""Bound how often doubt is expected to play each suboptimal arm in `horizon` rounds while the bounds hold.

    With trust ``1 - 1 / N`` an arm is also played if its index without bounds, at the level
    :math:`L = (\log f(n) - \log N)_+`, reaches the index of the best arm. That is expected to happen at most

    .. math:: 1 + \min_{\varepsilon, x} \left( \frac{L}{d(x, \mu^* - \varepsilon)} + \frac{e^{-L\, k(x, \mu) /
              d(x, \mu^* - \varepsilon)}}{1 - e^{-k(x, \mu)}} + \frac{\sum_{t:\, f(t) > N} 1 / f(t)}
              {e^{d_1(\mu^* - \varepsilon, \mu^*)} - 1} \right)

    times, and never if f(n) is at most N. Here d is the divergence of the policy's index with the variance proxy of the
    range, :math:`d_1` the one it has for the best arm, and k Bernoulli's. For large n, L / d(μ, μ*) is left.

    Parameters
    ----------
    means
        The true means, in the order of the bounds' arms.
    known
        The bounds, which hold, and how far they are trusted.
    horizon
        Number of rounds n, or an array of them; the result then has a row for each.
    policy
        A policy that uses bounds; GLUE by default. The bound is proved for `BUCB`, `ImprovedUCB`, `GLUE`, `BKLUCB` and
        `UCBoost`.
    form
        ``"first order"``: 1 + L / d(μ, μ*) for the arms whose upper bound is below the best mean, and 0 for others.
        Every policy has it; one without an index has log n in place of log f(n), and Bernoulli's divergence.

    Notes
    -----
    docs/trust.md has the proof. Together with a bound for certain bounds, such as `glue_plays`, it bounds all plays.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.85, 0.1], [0.95, 0.6])  # the second arm is left out while bounds are certain
    >>> for trust in (0.9, 0.99, 0.9999):
    ...     known = mb.Knowledge(bounds, trust=trust)
    ...     print(trust, mb.theory.doubt_plays([0.9, 0.5], known, [100, 10_000])[:, 1].round(1))
    0.9 [ 97.2 152.7]
    0.99 [ 59.8 116.9]
    0.9999 [ 0.  63.2]
    """
    check_choice("form", form, _FORMS)
    policy, known, rounds = _as_policy(policy), Knowledge.of(known), as_rounds(horizon)
    mu = check_means(means, known.bounds)
    plays = np.zeros((*rounds.shape, len(mu)))
    if np.array_equal(policy.plan(known).table, policy.plan(known.bounds).table):
        return plays  # bounds are certain, or the policy does not use them
    best, log_n, level, index = float(mu.max()), known.log_n, _log_f(policy, rounds), _Index(policy, known.bounds)
    if form == "first order":
        for k in np.flatnonzero(known.bounds.upper < best).tolist():
            above = level - log_n[k]
            plays[..., k] = np.where(above > 0.0, 1.0 + above / index.arm(k)(mu[k], best), 0.0)
        return np.minimum(plays, rounds[..., None])
    _check_index(policy)
    least = float(log_n.min())  # what other arms' bounds say about an arm may be doubted before its own bounds
    above, late = np.maximum(0.0, level - least), _inverse_sums(policy, least, rounds)
    lead = index.best(mu)
    for k in np.flatnonzero(mu < best).tolist():
        goals = best - (best - mu[k]) * _PLACES
        met = plays_until_passed(float(mu[k]), goals, above, index.arm(k), index.bernoulli(k))
        found = 1.0 + (met + _product(late[..., None], _missed(lead, best, goals))).min(axis=-1)
        plays[..., k] = np.where(above > 0.0, found, 0.0)
    return np.minimum(plays, rounds[..., None])


@overload
def doubt_regret(
    means: ArrayLike, known: MeanBounds | Knowledge, horizon: int, *, policy: Policy | None = None
) -> float: ...
@overload
def doubt_regret(
    means: ArrayLike, known: MeanBounds | Knowledge, horizon: ArrayLike, *, policy: Policy | None = None
) -> float | Floats: ...
def doubt_regret(
    means: ArrayLike, known: MeanBounds | Knowledge, horizon: int | ArrayLike, *, policy: Policy | None = None
) -> float | Floats:
    r"""Bound the expected regret after `horizon` rounds even if bounds are wrong, for trust below 1.

    Let N be the largest ``1 / (1 - trust)`` of an arm whose bounds miss its mean (1 if there is none), and let
    :math:`\Delta` be the largest gap. Then regret is at most

    .. math:: \Delta \left( \#\{t: f(t) \le N\} + \frac{N \sum_{t:\, f(t) > N} 1 / f(t)}{e^{d_1(\mu^* -
              \varepsilon, \mu^*)} - 1} \right) + \sum_k \Delta_k\, E_k(\varepsilon)

    for every :math:`\varepsilon`, where :math:`E_k` bounds how often the index of arm k, without bounds and at the
    level log f(n), reaches :math:`\mu^* - \varepsilon`. The sum in the middle is of order N / log N, and only the last
    one grows with n, as log n.

    Parameters
    ----------
    means
        The true means, in the order of the bounds' arms. They may lie outside the bounds.
    known
        The bounds, and how far they are trusted. If wrong bounds are trusted fully, no more can be said than that each
        round loses at most the largest gap.
    horizon
        Number of rounds n, or an array of them.
    policy
        `BUCB`, `ImprovedUCB`, `GLUE` (the default), `BKLUCB` or `UCBoost`.

    Notes
    -----
    docs/trust.md has the proof, and what follows for bounds that are wrong with a known probability and any number of
    rounds.

    Examples
    --------
    >>> import meanbounds as mb
    >>> wrong = mb.MeanBounds([0.5, 0.78], [0.75, 0.95])  # the first arm's mean is 0.9, and the bounds leave it out
    >>> for trust in (0.9, 0.99, 1.0):
    ...     known = mb.Knowledge(wrong, trust=trust)
    ...     print(trust, mb.theory.doubt_regret([0.9, 0.8], known, [10_000, 1_000_000, 100_000_000]).round())
    0.9 [509. 616. 706.]
    0.99 [1000. 1245. 1415.]
    1.0 [1.e+03 1.e+05 1.e+07]
    """
    policy, known = _as_policy(policy), Knowledge.of(known)
    _check_index(policy)
    rounds, mu = as_rounds(horizon), as_means(means, known.bounds)
    _check_range(mu, known.bounds)
    gaps = float(mu.max()) - mu
    most = np.asarray(rounds * float(gaps.max()), dtype=np.float64)
    wrong = ~known.bounds.contains(mu)
    log_n = float(known.log_n[wrong].max(initial=0.0))
    if math.isinf(log_n) or gaps.max() == 0.0:
        return float(most) if rounds.ndim == 0 else most
    index = _Index(policy, known.bounds)
    goals = mu.max() - gaps.max() * _PLACES
    early = np.minimum(rounds, _rounds_below(policy, log_n, int(rounds.max())))
    late = math.exp(log_n) * _inverse_sums(policy, log_n, rounds)
    total = early[..., None] + _product(late[..., None], _missed(index.best(mu), float(mu.max()), goals))
    regret = gaps.max() * total
    level = _log_f(policy, rounds)
    for k in np.flatnonzero(gaps > 0.0).tolist():
        below = goals > mu[k]
        plays = np.broadcast_to(rounds[..., None], regret.shape).astype(np.float64)
        met = plays_until_passed(float(mu[k]), goals[below], level, index.arm(k), index.bernoulli(k))
        plays[..., below] = np.minimum(1.0 + met, plays[..., below])
        regret = regret + gaps[k] * plays
    found = np.minimum(regret.min(axis=-1), most)
    return float(found) if rounds.ndim == 0 else np.asarray(found)


@overload
def doubt_lower_bound(
    means: ArrayLike, bounds: MeanBounds, arm: Arm, better: float, plays: float, horizon: int
) -> float: ...
@overload
def doubt_lower_bound(
    means: ArrayLike, bounds: MeanBounds, arm: Arm, better: float, plays: ArrayLike, horizon: ArrayLike
) -> float | Floats: ...
def doubt_lower_bound(
    means: ArrayLike, bounds: MeanBounds, arm: Arm, better: float, plays: ArrayLike, horizon: int | ArrayLike
) -> float | Floats:
    r"""The least sum of two regrets: where bounds exclude an arm rightly, and where that arm is the best.

    .. math:: \frac{n}{4} \min(\mu^* - \mu_k, \mu' - \mu^*)\, e^{-m\, k(\mu_k, \mu')}

    for any policy that is expected to play arm k m times in n rounds of the first world. In the second one, the mean of
    arm k is :math:`\mu' > \mu^*` and all others are the same; k is Bernoulli's divergence. With m = 0 the sum grows
    as n: pruning for free and noticing a mistake exclude each other.

    Parameters
    ----------
    means
        The means of the first world, in the order of the bounds' arms. Rewards are at either end of the range.
    bounds
        The bounds, for the names and ranges of the arms.
    arm
        The arm that is excluded.
    better
        Its mean in the second world, above all means of the first.
    plays
        Expected plays m of the arm in the first world, for example `doubt_plays`.
    horizon
        Number of rounds n; an array if `plays` is one.

    Notes
    -----
    By Bretagnolle and Huber's inequality; docs/trust.md has the few lines of the proof.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.85, 0.1], [0.95, 0.6])
    >>> for plays in (0, 10, 50):
    ...     print(plays, round(mb.theory.doubt_lower_bound([0.9, 0.5], bounds, 1, 0.95, plays, 100_000), 3))
    0 1250.0
    10 0.31
    50 0.0
    """
    mu, (seen, rounds) = as_means(means, bounds), broadcast_floats(plays=plays, horizon=as_rounds(horizon))
    _check_range(mu, bounds)
    goal, k = as_float("better", better), bounds.position(arm)
    if not mu.max() < goal <= bounds.high[k]:
        raise ValueError(
            f"better must be above the largest mean {mu.max()} and within the range of arm {shown(arm)}, up to "
            f"{bounds.high[k]}; got {better!r}"
        )
    if not np.all(seen >= 0.0):
        raise ValueError(f"plays must not be negative; got {shown(plays)}")
    least = min(float(mu.max() - mu[k]), goal - float(mu.max()))
    with np.errstate(invalid="ignore"):
        cost = np.where(seen > 0.0, seen * float(_Index(GLUE(), bounds).bernoulli(k)(mu[k], goal)), 0.0)
    found = rounds / 4.0 * least * np.exp(-cost)
    return float(found) if found.ndim == 0 else np.asarray(found)


def _as_policy(policy: Policy | None) -> Policy:
    """The policy, GLUE by default; one with features is refused."""
    if policy is not None and not isinstance(policy, Policy):
        raise TypeError(f"policy must be one without features such as mb.GLUE(); got {shown(policy)}")
    return GLUE() if policy is None else policy


def _check_index(policy: Policy) -> None:
    """Refuse a policy for which the bounds are not proved."""
    if policy.kernel not in (codes.GAUSSIAN, codes.KL, codes.BOOST):
        raise ValueError(
            f"the bound is proved for BUCB, ImprovedUCB, GLUE, BKLUCB and UCBoost; got {policy!r}. For other policies "
            f"there is doubt_plays(..., form='first order')"
        )


def _check_range(mu: Floats, bounds: MeanBounds) -> None:
    """Refuse means that no rewards can have."""
    for k in np.flatnonzero(~((mu >= bounds.low) & (mu <= bounds.high))).tolist():
        raise ValueError(
            f"arm {bounds.arms[k]!r}: its mean {mu[k]} is outside the range of its rewards, [{bounds.low[k]}, "
            f"{bounds.high[k]}]"
        )


def _log_f(policy: Policy, rounds: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Floats:
    """The policy's level after each of these numbers of rounds: log f(n), or log n without an index."""
    if not policy.has_index:
        return np.asarray(np.log(rounds))
    return np.array([policy.log_f(n, n)[0] for n in rounds.ravel().tolist()]).reshape(rounds.shape)


def _rounds_below(policy: Policy, log_n: float, last: int) -> int:
    """How many rounds t up to the last one have f(t) at most N."""
    low, high = 0, last + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if policy.log_f(middle, middle)[0] <= log_n else (low, middle)
    return low


def _inverse_sums(policy: Policy, log_n: float, rounds: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Floats:
    """The sum of 1 / f(t) over the rounds t with f(t) > N up to each of these, or a little more for late rounds."""
    last = int(rounds.max())
    start = _rounds_below(policy, log_n, last) + 1
    if start > last:
        return np.zeros(rounds.shape)
    far = [min(start + _SUMMED, last)]  # the last round that is summed alone, then the first ones of blocks
    while far[-1] < last:
        far.append(min(last, int(far[-1] * _BLOCK) + 1))
    firsts = np.concatenate([np.arange(start, far[0]), far])
    log_f = np.concatenate([policy.log_f(start, far[0]), *(policy.log_f(t, t) for t in far[1:])])
    whole = np.append(np.diff(firsts), 1) * np.exp(-log_f)
    sums = np.concatenate([[0.0], np.cumsum(whole)])
    found: Floats = sums[np.searchsorted(firsts, rounds, side="right")]
    return found


def _missed(lead: Divergence, best: float, goals: Floats) -> Floats:
    """The sum over s of exp(-s d(goal, best)): how often the best arm's index is below the goal, in units of 1 / f."""
    with np.errstate(over="ignore", divide="ignore"):
        return np.asarray(1.0 / np.expm1(lead(goals, np.full_like(goals, best))))


def _product(times: Floats, values: Floats) -> Floats:
    """A product in which 0 times infinity is 0."""
    with np.errstate(invalid="ignore"):
        return np.where(times > 0.0, times * values, 0.0)
