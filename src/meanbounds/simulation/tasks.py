"""Tasks: one policy in one environment, ready to be played in any thread or process."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from meanbounds import kernels
from meanbounds.bounds import MeanBounds
from meanbounds.kernels import linear
from meanbounds.kernels.arms import delayed, together
from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.tables import State
from meanbounds.kernels.random.rewards import Rewards
from meanbounds.kernels.random.stream import child, offer_key
from meanbounds.kernels.solvers.cone import Known
from meanbounds.knowledge import Knowledge
from meanbounds.linear import LinearArms
from meanbounds.policies import AnyPolicy, LinearPolicy, Policy
from meanbounds.policies.believed import believe, root_of
from meanbounds.policies.exploration import Exploration
from meanbounds.simulation.changing import Changing
from meanbounds.simulation.delay import Delay
from meanbounds.simulation.environments import Environment, Linear
from meanbounds.simulation.stages import WINDOW, StagedTask, check_undated, shared_log_f, stages_of
from meanbounds.support.types import Floats

__all__ = ["Played", "Task", "task_for"]

_MEASURES = ("kept", "best", "strain", "contradictions")  # of linear policies


class Played(NamedTuple):
    """The result of playing some runs.

    Attributes
    ----------
    curves
        The regret: runs x checkpoints.
    plays
        How often each arm was played: runs x arms.
    measures
        Further quantities, by name: runs x checkpoints.

    Examples
    --------
    >>> import meanbounds as mb
    >>> environment, bounds = mb.Bernoulli([0.9, 0.8]), mb.MeanBounds.vacuous(2)
    >>> played = task_for(mb.UCB(), environment, bounds, 7, np.array([50, 100])).play(0, 3)
    >>> played.curves.shape, played.plays.sum(axis=1)
    ((3, 2), array([100, 100, 100]))
    """

    curves: Floats  # runs x checkpoints: regret
    plays: NDArray[np.int64]  # runs x arms
    measures: Mapping[str, Floats]  # whatever else was counted: runs x checkpoints


class Task(Protocol):
    """Plays any of its runs, with the same result in whichever thread or process.

    Examples
    --------
    >>> import meanbounds as mb
    >>> task = task_for(mb.UCB(), mb.Bernoulli([0.9, 0.8]), mb.MeanBounds.vacuous(2), 7, np.array([100]))
    >>> all_at_once, last = task.play(0, 3), task.play(2, 1)
    >>> bool(all_at_once.curves[2, 0] == last.curves[0, 0])
    True
    """

    @property
    def rounds_at_once(self) -> int:
        """About how many rounds to play in one block: enough for some 20 to 100 ms."""

    def play(self, first_run: int, runs: int) -> Played:
        """Play `runs` runs, starting with number `first_run`."""


def task_for(
    policy: AnyPolicy,
    environment: Environment,
    bounds: MeanBounds | Knowledge,
    seed: int,
    rounds: NDArray[np.int64],
    textbook: bool = False,
    delay: Delay | None = None,
    counts_pending: bool = False,
) -> Task:
    """The task of playing this policy in this environment.

    Parameters
    ----------
    policy, environment, bounds
        As for `meanbounds.simulate`.
    seed
        Whole number from which all random numbers follow.
    rounds
        The checkpoints at which the regret is kept; the last one is the horizon.
    textbook
        Compute every index in every round, as the definition says: the same decisions, more slowly. Ignored for linear
        policies, and implied by a delay.
    delay
        How late rewards come; only for policies without features.
    counts_pending
        With a delay, whether unanswered pulls count as answered.

    Examples
    --------
    >>> import meanbounds as mb
    >>> environment, bounds, rounds = mb.Bernoulli([0.9, 0.8]), mb.MeanBounds([0.7, 0.1], [1.0, 0.9]), np.array([100])
    >>> fast, slow = (task_for(mb.GLUE(), environment, bounds, 7, rounds, textbook) for textbook in (False, True))
    >>> bool((fast.play(0, 5).plays == slow.play(0, 5).plays).all())
    True
    """
    known = Knowledge.of(bounds)
    bounds = known.bounds
    check_undated(known)
    changes = isinstance(environment, Changing) or known.ages
    if isinstance(policy, Policy) and changes:
        if delay is None and known.assumption is None:
            return _arms_task(policy, environment, known, seed, rounds, textbook)
        if known.ages:
            raise ValueError(
                "bounds that expire, or that are trusted less and less, cannot be simulated with a delay or an "
                "assumption; leave expires and half_life, or these, out"
            )
    law = environment.rewards(bounds.low, bounds.high)
    if isinstance(policy, LinearPolicy):
        if delay is not None:
            raise TypeError(
                f"{policy} cannot be simulated with a delay, only policies without features can; leave delay out"
            )
        if not isinstance(environment, Linear):
            raise TypeError(f"{policy} needs arms with features: an environment such as mb.Linear(features, theta)")
        _check_norm(policy, float(np.linalg.norm(environment.theta)))
        made = believe(policy, LinearArms(environment.features, bounds, offset=environment.offset), known)
        parts = made.plan.pool, made.plan.rule, made.plan.known
        task = _LinearTask(*parts, law, environment.theta, *_offers(environment), seed, rounds)
        if made.bare is None and known.prior is None:
            return task
        told, bare = (
            linear.Side(plan.pool, plan.rule, plan.known, root_of(plan, known))
            for plan in (made.plan, made.plan if made.bare is None else made.bare)
        )
        return _KnowingTask(task, told, bare, made.log_n)
    if isinstance(environment, Linear) and environment.offered is not None:
        raise TypeError(
            f"{policy} chooses among the same arms in each round; where only some are on offer, use OFUL or ROFUL, or "
            f"offer all (offered=None)"
        )
    plan = policy.plan(known)
    code, plan_table, parameters = policy.code(plan), plan.table, policy.parameters_for(known)
    if known.assumption is not None and plan.is_doubted:
        if delay is not None:
            raise ValueError(
                "bounds that rest on an assumption cannot be simulated with a delay; leave one of them out"
            )
        limits = _limits(known)
        return _TogetherTask(code, plan_table, limits, parameters, policy.f, law, environment.gaps, seed, rounds)
    if delay is not None:
        delays = delay.delays(int(rounds[-1]))
        middle = delayed.middle_of(bounds.lower, bounds.upper, bounds.low, bounds.high)
        return _DelayedTask(
            *(code, plan_table, parameters, policy.f, law, environment.gaps, seed, rounds),
            *(delays, middle, counts_pending),
        )
    return _arms_task(policy, environment, known, seed, rounds, textbook)


def _arms_task(
    policy: Policy, environment: Environment, known: Knowledge, seed: int, rounds: NDArray[np.int64], textbook: bool
) -> _ArmsTask:
    stages = stages_of(policy, environment, known, int(rounds[-1]))
    return _ArmsTask(StagedTask(stages, policy.parameters_for(known), policy.f, seed, rounds, textbook))


class _ArmsTask(NamedTuple):
    """Arms without features, all of them on offer in each round; in one stage, unless something changes."""

    staged: StagedTask

    @property
    def rounds_at_once(self) -> int:
        """Some 20 ms of an index policy, a second of posterior sampling."""
        return 4_000_000

    def play(self, first_run: int, runs: int) -> Played:
        """Play stage after stage."""
        return Played(*self.staged.curves_and_plays(first_run, runs), {})


def _check_norm(policy: LinearPolicy, norm: float) -> None:
    least = float(getattr(policy, "norm_low", 0.0))
    if not least - 1e-9 <= norm <= policy.norm_high * (1.0 + 1e-9):
        warnings.warn(
            f"{policy}: theta has norm {norm:.6g}, outside the limits that the policy was given, [{least:g}, "
            f"{policy.norm_high:g}]; it has no guarantee. Give it norm_high= (and norm_low=) that hold",
            stacklevel=4,
        )


def _limits(known: Knowledge) -> Floats:
    """What `meanbounds.kernels.arms.together.play_for` needs to know of the bounds that rest on an assumption."""
    bounds, log_n = known.bounds, known.log_n
    span, doubted = bounds.high - bounds.low, (log_n > 0.0) & (log_n < np.inf)
    groups = np.where(doubted, np.cumsum(doubted) - 1, together.NO_GROUP)
    return np.array([(bounds.high - bounds.lower) / span, (bounds.upper - bounds.low) / span, log_n, groups])


class _TogetherTask(NamedTuple):
    """Arms without features whose bounds stand or fall together."""

    kernel: int
    plan: Floats
    limits: Floats
    parameters: Floats
    f: Exploration
    rewards: Rewards
    gaps: Floats
    seed: int
    rounds: NDArray[np.int64]

    @property
    def rounds_at_once(self) -> int:
        """Some seconds."""
        return 100_000

    def play(self, first_run: int, runs: int) -> Played:
        """Play the runs one after the other, all rounds at once: the ledger goes from the first round to the last."""
        states = np.zeros((runs, len(State._fields), self.gaps.size))
        curves = np.empty((runs, self.rounds.size))
        table = shared_log_f(self.f, 1, int(self.rounds[-1]))
        block = Block(states, self.rewards, np.uint64(self.seed), first_run, table, 1, self.rounds, self.gaps, curves)
        together.play_for(self.kernel)(self.plan, self.limits, self.parameters, block)
        return Played(curves, states[:, 0].astype(np.int64), {})


class _DelayedTask(NamedTuple):
    """Arms without features, with rewards that come late."""

    kernel: int
    plan: Floats
    parameters: Floats
    f: Exploration
    rewards: Rewards
    gaps: Floats
    seed: int
    rounds: NDArray[np.int64]
    delays: delayed.Delays
    middle: Floats
    counts_pending: bool

    @property
    def rounds_at_once(self) -> int:
        """Some 50 ms of an index policy."""
        return 200_000

    def play(self, first_run: int, runs: int) -> Played:
        """Play one run after the other: the unanswered pulls of several runs would take too much memory."""
        curves, plays = np.empty((runs, self.rounds.size)), np.empty((runs, self.gaps.size), dtype=np.int64)
        for run in range(runs):
            plays[run] = self._play(first_run + run, curves[run : run + 1])
        return Played(curves, plays, {})

    def _play(self, run: int, curves: Floats) -> Floats:
        """Fill in the regret of one run and return the pulls of each arm; log f is tabulated a window at a time."""
        states = np.zeros((1, len(State._fields), self.gaps.size))
        unanswered = delayed.unanswered_for(self.gaps.size, self.delays.longest)
        horizon, t = int(self.rounds[-1]), 1
        for first in range(1, horizon + 1, WINDOW):
            table = shared_log_f(self.f, first, min(first + WINDOW - 1, horizon))
            block = Block(states, self.rewards, np.uint64(self.seed), run, table, first, self.rounds, self.gaps, curves)
            t = delayed.play(
                *(self.kernel, self.plan, self.parameters, block, self.delays, self.middle, unanswered),
                *(self.counts_pending, t),
            )
        pulls: Floats = states[0, 0] + unanswered.waiting
        return pulls


class _LinearTask(NamedTuple):
    """Arms with features, some of them on offer in each round."""

    pool: linear.Pool
    rule: linear.Rule
    known: Known
    rewards: Rewards
    theta: Floats
    offers: NDArray[np.int64]
    drawn: int
    seed: int
    rounds: NDArray[np.int64]

    @property
    def rounds_at_once(self) -> int:
        """Fewer where a round may have to solve a cone program, or to walk through the feasible set."""
        return {linear.EXACT: 2_000, linear.SAMPLE: 10_000}.get(self.rule.index_kind, 400_000)

    def play(self, first_run: int, runs: int) -> Played:
        """Play whole runs."""
        block = self.block(first_run, runs)
        kernels.play_linear(self.pool, self.rule, self.known, block, self._keeps_all())
        return Played(block.curves, block.plays.astype(np.int64), _measures(block))

    def block(self, first_run: int, runs: int) -> linear.LinearBlock:
        """Room for what some runs show."""
        rooms = {name: np.empty((runs, self.rounds.size)) for name in ("curves", *_MEASURES)}
        return linear.LinearBlock(
            self.rewards,
            self.theta,
            self.offers,
            self.drawn,
            np.uint64(self.seed),
            first_run,
            self.rounds,
            **rooms,
            plays=np.zeros((runs, self.pool.length.size)),
        )

    def _keeps_all(self) -> bool:
        """Whether it is cheaper to keep every arm's index up to date than to compute those that a round needs.

        The first is one pass over all features. The second is a pass over d x d numbers, with less regular memory
        access, for each arm whose index is needed: all arms on offer, or those of them that can be best.
        """
        if self.rule.index_kind == linear.SAMPLE:
            return False  # it needs none
        arms, d = self.pool.features.shape
        count, few = self.drawn or arms, 50
        asked = float(self.offers.shape[1] if self.offers.size else count)
        if self.rule.prune and not self.rule.online and not self.rule.cone:
            key, order, offered = np.uint64(offer_key(np.uint64(self.seed), 0)), np.arange(arms), np.arange(count)
            asked = 0.0
            for t in range(few):
                if self.offers.size:
                    offered = self.offers[t % len(self.offers)]
                elif self.drawn:
                    linear.offer(np.uint64(child(key, t + 1)), order, offered)
                asked += float(np.sum(self.pool.upper[offered] >= self.pool.lower[offered].max())) / few
        return bool(3.0 * asked * d > arms)


class _KnowingTask(NamedTuple):
    """The same with a prior, or with bounds that may be wrong."""

    task: _LinearTask
    told: linear.Side
    bare: linear.Side
    log_n: float

    @property
    def rounds_at_once(self) -> int:
        """About as many as with certain bounds."""
        return min(self.task.rounds_at_once, 100_000)

    def play(self, first_run: int, runs: int) -> Played:
        """Play whole runs."""
        block = self.task.block(first_run, runs)
        evidence = np.zeros_like(block.curves)
        linear.play_knowing(self.told, self.bare, self.log_n, block, evidence)
        told = _measures(block) | ({"evidence": evidence} if self.log_n < np.inf else {})
        return Played(block.curves, block.plays.astype(np.int64), told)


def _measures(block: linear.LinearBlock) -> dict[str, Floats]:
    """What was counted in the runs of a block."""
    return {name: getattr(block, name) for name in _MEASURES}


def _offers(environment: Linear) -> tuple[NDArray[np.int64], int]:
    """A table of the arms on offer in each round, or how many arms to draw."""
    if isinstance(environment.offered, np.ndarray):
        return environment.offered, 0
    return np.zeros((0, 0), dtype=np.int64), environment.offered or 0
