"""The optimistic Gittins index of bounds that may be wrong: an arm is held while it surely leads.

After a look at all arms a level is put between the best and the second-best index. Two facts decide how long the leader
is played without another look:

- The index of an arm that is not played grows only with f. It reaches v where ``f E[(mean - v)+] = v - E[mean]``,
  so the f at which another arm may lead takes one integral, and no search.
- A posterior after one more 1 has a larger likelihood ratio everywhere than before it, whatever the prior is, so the
  leader's index grows with every 1. After a 0 one integral says whether it is still above the level.

Everything closer to the level than a margin is left to the next look, which decides as the textbook does.
"""

from __future__ import annotations

from math import exp

import numpy as np

from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.codes import DOUBTED, GITTINS, LOGGED
from meanbounds.kernels.arms.doubted_laws import fill_mixture, index_of_mixture
from meanbounds.kernels.arms.estimates import parts_of
from meanbounds.kernels.arms.gittins import LAW_SIZE, expectation, largest_by_mean, mixed_tail
from meanbounds.kernels.arms.logged import add_log, with_log
from meanbounds.kernels.arms.tables import plan_of, state_of
from meanbounds.kernels.arms.textbook import observe, regret
from meanbounds.kernels.arms.textbook import play as play_textbook
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.fast.search import scale_of
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, policy_key, reward_key, rounding_key
from meanbounds.support.types import Floats

__all__ = ["play_doubted_gittins", "play_doubted_logged_gittins"]

_MARGIN = 1e-7  # between indices, in units of the range of rewards: ten times their precision
_SURE = 1.0 - 1e-7  # of the f at which an index reaches a level


@compiled
def _reaches_at(laws: Floats, weights: Floats, x: float) -> float:
    """The f from which on the index of a mixture is at least x, in units of the arm's range; infinite if none is."""
    mean = weights[0] * expectation(laws[0]) + weights[1] * expectation(laws[1])
    if x <= mean:
        return 0.0
    gain = mixed_tail(laws, weights, x)[1]
    return (x - mean) / gain if gain > 0.0 else np.inf


@compiled
def _put_level(bare: Floats, scores: Floats, chosen: int, laws: Floats, weights: Floats) -> tuple[float, float]:
    """What the leader's index has to be, in units of its range, and the f from which on another arm may lead."""
    whole = plan_of(bare)
    margin, second = _MARGIN * scale_of(whole), scores[chosen] - whole.span[chosen]
    for k in range(scores.size):
        if k != chosen:
            second = max(second, scores[k])
    level, wake = 0.5 * (scores[chosen] + second), np.inf
    for k in range(scores.size):
        if k != chosen:
            x = (level - margin - whole.low[k]) / whole.span[k]
            wake = min(wake, _SURE * _reaches_at(laws[k], weights[k], x))
    needed = (level + margin - whole.low[chosen]) / whole.span[chosen]
    return needed, wake if scores[chosen] - second > 4.0 * margin else 0.0


@compiled
def _play(table: Floats, parameters: Floats, block: Block, logged: bool) -> None:
    """Play all runs; with `logged`, the plays of a log or of a prior are in the last rows of both plans."""
    told, bare, _, log_n = parts_of(table)
    arms, size, log_f, first = plan_of(bare).arm, log_n.size, block.log_f, block.first_round
    laws, weights, stale = np.empty((size, 2, LAW_SIZE)), np.empty((size, 2)), np.empty(size, np.bool_)
    scores, means = np.empty(size), np.empty(size)
    for run in range(block.states.shape[0]):
        number, own, t = block.first_run + run, block.states[run], first
        source, key = reward_key(block.seed, number), policy_key(block.seed, number)
        rounding, state = rounding_key(block.seed, number), state_of(own)
        seen = with_log(told, own) if logged else own
        stale[:] = True
        for c in range(block.stops.size):
            while t <= block.stops[c]:
                for k in range(size):
                    if stale[k]:
                        fill_mixture(told, bare, log_n, parameters, seen, k, -np.inf, laws[k], weights[k])
                        stale[k] = False
                    scores[k], means[k] = index_of_mixture(
                        told, bare, k, laws[k], weights[k], (0.0, 1.0), exp(log_f[t - first])
                    )
                chosen = largest_by_mean(scores, means, key, t - 1)
                needed, wake = _put_level(bare, scores, chosen, laws, weights)
                arm, leads = int(arms[chosen]), True
                while leads:
                    ones = state.ones[arm]
                    reward = draw(block.rewards, arm, child(source, arm), int(state.plays[arm]))
                    observe(own, arm, reward, 1.0 - reward, t - 1, rounding)
                    t += 1
                    leads = t <= block.stops[c] and exp(log_f[t - first]) < wake
                    if leads and state.ones[arm] == ones:
                        if logged:
                            add_log(told, own, seen, chosen)
                        own_laws, own_weights = laws[chosen], weights[chosen]
                        fill_mixture(told, bare, log_n, parameters, seen, chosen, -np.inf, own_laws, own_weights)
                        leads = _reaches_at(own_laws, own_weights, needed) < _SURE * exp(log_f[t - first])
                stale[chosen] = True
                if logged:
                    add_log(told, own, seen, chosen)
            block.curves[run, c] = regret(block.gaps, own)


def play_doubted_gittins(plan_table: Floats, parameters: Floats, block: Block) -> None:
    """`textbook.play` for the optimistic Gittins index of bounds that may be wrong.

    With two moments the textbook plays: an arm's posterior then depends on the rewards of others.
    """
    if parameters[2] == 2.0:
        play_textbook(DOUBTED + GITTINS, plan_table, parameters, block)
    else:
        _play(plan_table, parameters, block, False)


def play_doubted_logged_gittins(plan_table: Floats, parameters: Floats, block: Block) -> None:
    """The same with plays from a log or a prior."""
    if parameters[2] == 2.0:
        play_textbook(DOUBTED + GITTINS + LOGGED, plan_table, parameters, block)
    else:
        _play(plan_table, parameters, block, True)
