"""Rounds with bounds that may be wrong: what is played if each arm's bounds hold with a probability p below 1 only.

The table of a doubted plan has two plans of the same policy, one above the other: with the bounds, and without those
that may be wrong. Two rows follow: whether the plan with bounds keeps the arm, and log N, where N = 1 / (1 - p); it is
infinite for bounds that are certain.

One idea is behind all of it. A mean outside the bounds of its arm costs log N, in the currency of ``plays * kl``:

- an index policy takes the larger of its index with bounds, and of its index without bounds at the level log f - log N;
- a policy that weighs evidence has to see log N more of it, and gives up bounds against which rewards say log N;
- a policy that draws from posteriors, or expects over them, mixes the one with bounds and the one without, as Bayes'
  rule says (`meanbounds.kernels.arms.doubted_laws`).

Before f(t) reaches N, index policies therefore decide as if bounds were certain. See docs/trust.md.
"""

from __future__ import annotations

import numpy as np

from meanbounds.kernels.arms import codes
from meanbounds.kernels.arms.divergence import kl_between
from meanbounds.kernels.arms.doubted_laws import (
    choose_doubted_draws,
    doubted_gittins,
    doubted_ids_chances,
    doubted_thompson_chances,
)
from meanbounds.kernels.arms.doubted_mints import doubted_mints_chances
from meanbounds.kernels.arms.estimates import estimate, evidence_against, parts_of
from meanbounds.kernels.arms.gittins import chances_by_mean, largest_by_mean
from meanbounds.kernels.arms.ids import draw_from
from meanbounds.kernels.arms.imed import imed_cost
from meanbounds.kernels.arms.index import gaussian_index
from meanbounds.kernels.arms.kl import kl_index
from meanbounds.kernels.arms.logged import min_ucb_index, with_log
from meanbounds.kernels.arms.mixed_priors import (
    choose_mixed_draws,
    mixed_gittins,
    mixed_ids_chances,
    mixed_thompson_chances,
)
from meanbounds.kernels.arms.settle import settle_among
from meanbounds.kernels.arms.tables import Plan, State, clipped_mean, plan_of, seen_of, state_of
from meanbounds.kernels.compiling import compiled, inlined
from meanbounds.support.types import Floats

__all__ = [
    "caps_in_doubt",
    "choose_doubted",
    "doubted_chances",
    "doubted_imed",
    "doubted_indices",
]


# The codes of doubted plans. Functions that look at a code are part of kernels made for one: see `inlined`.
_GAUSSIAN, _BOOST, _MIN_UCB = (codes.DOUBTED + code for code in (codes.GAUSSIAN, codes.BOOST, codes.MIN_UCB))
_IMED, _OSSB, _GITTINS = (codes.DOUBTED + code for code in (codes.IMED, codes.OSSB, codes.GITTINS))
_THOMPSON, _IDS, _MINTS = (codes.DOUBTED + code for code in (codes.THOMPSON, codes.IDS, codes.MINTS))
_MIXED_THOMPSON, _MIXED_GITTINS, _MIXED_IDS = (codes.MIXED + code for code in (_THOMPSON, _GITTINS, _IDS))


@inlined
def _index(code: int, table: Floats, state_table: Floats, k: int, level: float) -> float:
    """The index of one arm under a plan, for a policy of this code."""
    if code == _MIN_UCB:
        index = min_ucb_index(table, state_table, k, level)
    elif code == _GAUSSIAN:
        index = gaussian_index(plan_of(table), state_of(state_table), k, level)
    else:
        index = kl_index(plan_of(table), state_of(state_table), k, level, code == _BOOST)
    return index


@inlined
def _policy_indices(code: int, table: Floats, state_table: Floats, log_f: float, scores: Floats, means: Floats) -> None:
    """Write each arm's index, and the mean by which ties are broken: clipped if the index is that with bounds.

    An arm may also be left out, or have a narrow index, because of what another arm's bounds say. So where these are
    doubted earlier than its own, there is a third index: without bounds, but up to its own cap.
    """
    told, bare, kept, log_n = parts_of(table)
    first, second, state = plan_of(told), plan_of(bare), state_of(state_table)
    least = log_n.min()
    for k in range(scores.size):
        scores[k], means[k], freed = -np.inf, -np.inf, -np.inf
        if kept[k] == 1.0:
            scores[k] = _index(code, told, state_table, k, log_f)
            means[k] = clipped_mean(first, state, k)
        if log_f > log_n[k]:
            freed = _index(code, bare, state_table, k, log_f - log_n[k])
        if least < log_n[k] and log_f > least:
            freed = max(freed, min(first.cap[k], _index(code, bare, state_table, k, log_f - least)))
        if freed > scores[k]:
            scores[k], means[k] = freed, clipped_mean(second, state, k)


@compiled
def caps_in_doubt(table: Floats, state_table: Floats, log_f: float, out: Floats) -> None:
    """Write how good each arm can be: its cap, or what the KL index without bounds says at the level log f - log N."""
    told, bare, kept, log_n = parts_of(table)
    first, second, state = plan_of(told), plan_of(bare), state_of(state_table)
    least = log_n.min()
    for k in range(out.size):
        out[k] = first.cap[k] if kept[k] == 1.0 else -np.inf
        if log_f > log_n[k]:
            out[k] = max(out[k], kl_index(second, state, k, log_f - log_n[k], False))
        if least < log_n[k] and log_f > least:  # as for indices: another arm's bounds may be wrong
            out[k] = max(out[k], min(first.cap[k], kl_index(second, state, k, log_f - least, False)))


@compiled
def _estimates(plan: Plan, state: State, log_n: Floats, out: Floats) -> None:
    for k in range(out.size):
        out[k] = estimate(plan, state, k, log_n[k])


@compiled
def _settled_in_doubt(table: Floats, moments: float, state_table: Floats, log_f: float, scores: Floats) -> bool:
    """`settled_scores` with the caps of `caps_in_doubt` and the means of `estimate`."""
    told, bare, _, log_n = parts_of(table)
    state, caps, means = state_of(state_table), np.empty(scores.size), np.empty(scores.size)
    caps_in_doubt(table, state_table, log_f, caps)
    _estimates(plan_of(told), state, log_n, means)
    return settle_among(plan_of(bare), caps, means, moments, state, log_f, scores)


@inlined
def _settled(code: int, table: Floats, parameters: Floats, state_table: Floats, log_f: float, scores: Floats) -> bool:
    """Whether a leader that may be as good as any arm can be is played."""
    if code == _IMED:
        settles = parameters.size > 1 and parameters[1] == 1.0
        return settles and _settled_in_doubt(table, parameters[0], state_table, log_f, scores)
    if code == _THOMPSON:
        settles = parameters.size > 3 and parameters[3] == 1.0
        return settles and _settled_in_doubt(table, parameters[2], state_table, log_f, scores)
    if code == _MIXED_THOMPSON:
        seen = with_log(parts_of(table)[0], state_table)
        return parameters[3] == 1.0 and _settled_in_doubt(table, 1.0, seen, log_f, scores)
    return False


@compiled
def _reaches(cap: float, kept: float, goal: float) -> bool:
    """Whether an arm may be best within its bounds; one that was left out may be if bounds of others have failed."""
    return cap >= goal if kept == 1.0 else cap > goal


@compiled
def doubted_imed(table: Floats, parameters: Floats, state_table: Floats, scores: Floats) -> None:
    """Write each arm's cost with its sign turned; an arm that its bounds keep below the leader pays log N on top.

    The leader is the largest estimate, see `estimate`. What rewards say against an arm's bounds counts towards its
    log N, so that bounds which are contradicted cost nothing more.
    """
    told, _, kept, log_n = parts_of(table)
    plan, state = plan_of(told), state_of(state_table)
    means = np.empty(scores.size)
    _estimates(plan, state, log_n, means)
    leader = float(means.max())
    for k in range(scores.size):
        arm, fine = int(plan.arm[k]), 0.0
        if not _reaches(plan.cap[k], kept[k], leader):
            fine = np.inf
            if log_n[k] < np.inf:
                fine = max(0.0, log_n[k] - evidence_against(plan, state, k))
        if state.plays[arm] == 0.0:
            scores[k] = -fine if fine > 0.0 else np.inf
        elif fine == np.inf:
            scores[k] = -np.inf
        else:
            goal, lack = (leader - plan.low[k]) / plan.span[k], (plan.high[k] - leader) / plan.span[k]
            scores[k] = -(imed_cost(seen_of(state, arm), goal, lack, parameters[0]) + fine)


@compiled
def _doubted_ossb(table: Floats, parameters: Floats, state_table: Floats, log_f: float, scores: Floats) -> float:
    """Write the scores of OSSB; return 1 if this round explores, else 0.

    It works with the estimates of `estimate`. An arm that its bounds keep below the best one needs plays as the others
    do, but for the level log f - log N; below that it is not even played as the one with the fewest plays.
    """
    told, _, kept, log_n = parts_of(table)
    plan, state, size = plan_of(told), state_of(state_table), scores.size
    means, needs, levels = np.empty(size), np.zeros(size), np.empty(size)
    _estimates(plan, state, log_n, means)
    best, fewest, satisfied = means.max(), np.inf, True
    for k in range(size):
        low, span, high, plays = plan.low[k], plan.span[k], plan.high[k], state.plays[int(plan.arm[k])]
        levels[k] = log_f
        silent = not _reaches(plan.cap[k], kept[k], best)
        if silent:
            levels[k] = -np.inf
            if log_n[k] < np.inf:
                levels[k] = log_f - max(0.0, log_n[k] - evidence_against(plan, state, k))
        if levels[k] > 0.0 or (not silent and kept[k] == 1.0):
            fewest = min(fewest, plays)
            if means[k] < best:
                lack = (high - means[k]) / span, (high - best) / span
                divergence = kl_between((means[k] - low) / span, lack[0], (best - low) / span, lack[1])
                needs[k] = 1.0 / divergence if divergence > 0.0 else 0.0
            if plays < needs[k] * (1.0 + parameters[1]) * levels[k]:
                satisfied = False
        elif kept[k] == 1.0:
            fewest = min(fewest, plays)
    least_played = fewest <= parameters[0] * (state.memory[0] + 1.0)
    for k in range(size):
        plays = state.plays[int(plan.arm[k])]
        if satisfied:
            scores[k] = means[k]
        elif least_played:
            scores[k] = -plays if kept[k] == 1.0 or levels[k] > 0.0 else -np.inf
        else:
            scores[k] = -plays / needs[k] if needs[k] > 0.0 else -np.inf
    return 0.0 if satisfied else 1.0


@compiled
def _gittins_indices(
    table: Floats, parameters: Floats, state_table: Floats, log_f: float, scores: Floats, means: Floats
) -> None:
    told, bare, _, log_n = parts_of(table)
    doubted_gittins(told, bare, log_n, parameters, state_table, log_f, scores, means)


@compiled
def _mixed_indices(table: Floats, state_table: Floats, log_f: float, scores: Floats, means: Floats) -> None:
    told, bare, _, log_n = parts_of(table)
    mixed_gittins(told, bare, log_n, state_table, log_f, scores, means)


@inlined
def doubted_indices(
    code: int, table: Floats, parameters: Floats, state_table: Floats, log_f: float, scores: Floats, means: Floats
) -> None:
    """Write each arm's index, and the mean by which ties are broken; only for the codes that have an index."""
    if code == _GITTINS:
        _gittins_indices(table, parameters, state_table, log_f, scores, means)
    elif code == _MIXED_GITTINS:
        _mixed_indices(table, state_table, log_f, scores, means)
    else:
        _policy_indices(code, table, state_table, log_f, scores, means)


@inlined
def _fill_scores(
    code: int, table: Floats, parameters: Floats, state_table: Floats, log_f: float, scores: Floats, means: Floats
) -> float:
    """Write scores, of which the largest is played, and means, which break ties; return 1 if OSSB explores, else 0."""
    explores = 0.0
    if code == _IMED:
        doubted_imed(table, parameters, state_table, scores)
    elif code == _OSSB:
        explores = _doubted_ossb(table, parameters, state_table, log_f, scores)
    else:
        doubted_indices(code, table, parameters, state_table, log_f, scores, means)
    return explores


@compiled
def _ids_chances(table: Floats, parameters: Floats, state_table: Floats, out: Floats) -> None:
    told, bare, _, log_n = parts_of(table)
    doubted_ids_chances(told, bare, log_n, parameters, state_table, out)


@compiled
def _mixed_ids_chances(table: Floats, parameters: Floats, state_table: Floats, out: Floats) -> None:
    told, bare, _, log_n = parts_of(table)
    mixed_ids_chances(told, bare, log_n, parameters, state_table, out)


@compiled
def _mints_chances(table: Floats, state_table: Floats, out: Floats) -> None:
    told, _, kept, log_n = parts_of(table)
    doubted_mints_chances(told, kept, log_n, state_table, out)


@compiled
def _thompson_chances(table: Floats, parameters: Floats, state_table: Floats, out: Floats) -> float:
    told, bare, _, log_n = parts_of(table)
    return doubted_thompson_chances(told, bare, log_n, parameters, state_table, out)


@compiled
def _mixed_thompson_chances(table: Floats, state_table: Floats, out: Floats) -> float:
    told, bare, _, log_n = parts_of(table)
    return mixed_thompson_chances(told, bare, log_n, state_table, out)


@compiled
def _draw_most_mixed(table: Floats, state_table: Floats, number: int, key: np.uint64) -> int:
    told, bare, _, log_n = parts_of(table)
    return choose_mixed_draws(told, bare, log_n, state_table, number, key)


@compiled
def _draw_most(table: Floats, parameters: Floats, state_table: Floats, number: int, key: np.uint64) -> int:
    told, bare, _, log_n = parts_of(table)
    return choose_doubted_draws(told, bare, log_n, parameters, state_table, number, key)


@inlined
def choose_doubted(
    code: int,
    logged: bool,
    table: Floats,
    parameters: Floats,
    state_table: Floats,
    log_f: float,
    number: int,
    key: np.uint64,
) -> int:
    """Arm to play: its place among all arms; see `meanbounds.kernels.arms.textbook.choose_by`."""
    seen = with_log(parts_of(table)[0], state_table) if logged else state_table
    scores, means = np.empty(table.shape[1]), np.zeros(table.shape[1])
    if _settled(code, table, parameters, seen, log_f, scores):
        k = largest_by_mean(scores, means, key, number)
    elif code == _THOMPSON:
        k = _draw_most(table, parameters, seen, number, key)
    elif code == _IDS:
        _ids_chances(table, parameters, seen, scores)
        k = draw_from(scores, key, number)
    elif code == _MINTS:
        _mints_chances(table, seen, scores)
        k = draw_from(scores, key, number)
    elif code == _MIXED_THOMPSON:
        k = _draw_most_mixed(table, seen, number, key)
    elif code == _MIXED_IDS:
        _mixed_ids_chances(table, parameters, seen, scores)
        k = draw_from(scores, key, number)
    else:
        state_of(state_table).memory[0] += _fill_scores(code, table, parameters, seen, log_f, scores, means)
        k = largest_by_mean(scores, means, key, number)
    return int(table[0, k])


@inlined
def doubted_chances(
    code: int, table: Floats, parameters: Floats, state_table: Floats, log_f: float, out: Floats
) -> float:
    """Write each arm's chance of being the one that `choose_doubted` plays; return the estimated error."""
    scores, means, error = np.empty(out.size), np.zeros(out.size), 0.0
    if _settled(code, table, parameters, state_table, log_f, scores):
        chances_by_mean(scores, means, out)
    elif code == _THOMPSON:
        error = _thompson_chances(table, parameters, state_table, out)
    elif code == _IDS:
        _ids_chances(table, parameters, state_table, out)
    elif code == _MINTS:
        _mints_chances(table, state_table, out)
    elif code == _MIXED_THOMPSON:
        error = _mixed_thompson_chances(table, state_table, out)
    elif code == _MIXED_IDS:
        _mixed_ids_chances(table, parameters, state_table, out)
    else:
        _fill_scores(code, table, parameters, state_table, log_f, scores, means)
        chances_by_mean(scores, means, out)
    return error
