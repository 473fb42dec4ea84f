"""From the counts of a log to an agent that asks the experts and takes over only what it may."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from meanbounds.agents import Agent, Guardrail
from meanbounds.bounds import EXPERT, Arm, MeanBounds, UnknownArmError
from meanbounds.evidence import Drift
from meanbounds.knowledge import Knowledge, Prior
from meanbounds.logs.assumed import check_confidence, check_counts
from meanbounds.logs.counts import Context, Counts
from meanbounds.logs.errors import LogError
from meanbounds.logs.experts import ANYONE, Experts, where
from meanbounds.logs.log_bounds import bounds, value
from meanbounds.logs.prior import prior
from meanbounds.policies import Guarded, OptimisticGittins, Policy, Promise
from meanbounds.support.checks import as_flag, as_list, shown, unknown, within
from meanbounds.support.streams import Seed
from meanbounds.support.types import Booleans

__all__ = ["FEWEST", "LEAST_SHARE", "OF_BOUNDS", "OF_GUARD", "OF_VALUE", "PROMISE", "agent", "with_observed"]

PROMISE = Promise(margin=0.01)
"""What an agent of a log promises unless it is told otherwise."""

FEWEST, LEAST_SHARE = 30, 0.02
"""An option with fewer rows in a context, or a smaller share of its choices, has too little support to be played."""

_SEVERAL = 10  # contexts from which on they learn from each other: it pays where they are many
_STRONGEST = 1e9  # rows that the experts' prior counts: more change nothing
_TRUST = 0.99  # in bounds that rest on what is assumed of experts
OF_BOUNDS, OF_VALUE, OF_GUARD = 0.25, 0.25, 0.5
"""The shares of the probability that something fails: bounds, limits on what the experts earn, the guard."""

Arms = Iterable[Arm] | Mapping[Context, Iterable[Arm]]
"""Some arms in every context, or by context."""


def agent(
    counts: Counts,
    experts: Experts = ANYONE,
    *,
    shift: float = 0.0,
    policy: Policy | None = None,
    trust: float | None = None,
    confidence: float = 0.95,
    promise: Promise | None = PROMISE,
    ask: float = 0.0,
    cost: float = 0.0,
    expert: bool = True,
    include: Arms = (),
    forbid: Arms = (),
    floor: float = 0.0,
    arms: Iterable[Arm] | None = None,
    pool: bool | None = None,
    pooled: bool | None = None,
    drift: Drift | None = None,
    guardrails: Iterable[Guardrail] = (),
    seed: Seed = None,
) -> Agent:
    """Make an agent that starts from a log and never falls further below the experts than promised.

    The experts are one of its arms: `Agent.pull` may return `meanbounds.EXPERT`. Then let them choose, and tell the
    agent with `Agent.observe` what they chose and how it went.

    Parameters
    ----------
    counts
        The counts of a log, from `meanbounds.logs.read`.
    experts
        What you assume of the experts. By default nothing: the bounds hold whoever wrote the log, and that experts
        mostly choose well is only a prior, which rewards correct.
    shift
        How far the hidden cases may have changed since the log was written; see `meanbounds.logs.bounds`.
    policy
        How to decide; by default ``OptimisticGittins(f="t + 1000")``, which measured best.
    trust
        The probability that the bounds hold; by default 1 where nothing is assumed of the experts, and 0.99 otherwise.
    confidence
        The probability with which bounds, the experts' value and the promise hold at once; the promise in each context
        by itself, or for all contexts together if it is `pooled`.
    promise
        What the agent may lose against the experts; by default a margin of 0.01 of the range. None for no promise, with
        the experts as an arm all the same.
    ask
        The share of the cases in which the experts are asked at random, all along. Then the promise compares with what
        they earn now, and not with what the log says; see `meanbounds.policies.Guarded`.
    cost
        What it costs to ask the experts, in reward units. All comparisons are with what they earn less this.
    expert
        False leaves the experts out: the agent has to decide alone, and promises nothing.
    include, forbid
        Options to play in spite of little support, and options never to play: for all contexts, or by context. Without
        a word an option is not played in a context where it has fewer than 30 rows or 2% of the choices; see
        `Agent.forbidden`. In the leaves of a tree its share counts as far as there are rows enough to tell, and the 30
        rows may be in all leaves together.
    floor, seed, drift, guardrails
        As for `Agent`. With `drift` contexts do not learn from each other, and the promise is one for all contexts.
    arms
        All options, if the log lacks some.
    pool
        Whether each context learns from the rewards of the others, too; see `Agent`. By default if there are at least
        10 contexts, or the leaves of a tree from `meanbounds.logs.partition`, and the policy takes a prior.
    pooled
        Whether the promise is one for all contexts together: then the gains of one pay for what another tries. By
        default if the contexts are the leaves of a tree and `ask` is 0.

    Examples
    --------
    >>> import meanbounds as mb
    >>> count, total = [[6000, 4000, 20]], [[4800, 2000, 19]]
    >>> counts = mb.logs.Counts(["north"], ["tPA", "watch", "new"], count, total, total)
    >>> agent = mb.logs.agent(counts, promise=mb.Promise(margin=0.01), seed=7)
    >>> agent.pull("north")
    EXPERT
    >>> agent.observe("tPA", 1.0, "north")
    >>> agent.forbidden("north")
    ('new',)
    """
    alone = not as_flag("expert", expert)
    promise = _promised(counts, promise, not alone)
    if ask and promise is None:
        raise ValueError(f"ask={shown(ask)} belongs to a promise, and nothing is promised to the experts: leave it out")
    price = within(cost, 0.0, np.inf)
    if price is None or (alone and price):
        raise ValueError(f"cost is what asking the experts costs, in reward units, at least 0; got {shown(cost)}")
    if not counts.rows:
        raise LogError("the log has no rows: there is nothing to start from")
    plays: Policy = OptimisticGittins(f="t + 1000") if policy is None else policy
    tree, promised = counts.tree, promise is not None
    several = drift is None and (tree is not None or len(counts.contexts) >= _SEVERAL)
    pool = (several and plays.takes_prior) if pool is None else as_flag("pool", pool)
    together = (tree is not None or drift is not None) and promised and not ask
    pooled = together if pooled is None else as_flag("pooled", pooled)
    if pooled and not promised:
        raise ValueError("pooled=True belongs to a promise, and nothing is promised to the experts: leave it out")
    error = 1.0 - check_confidence(confidence)
    found = bounds(counts, experts, confidence=1.0 - OF_BOUNDS * error, shift=shift, arms=arms)
    assumes = experts != ANYONE
    expected = prior(counts, experts if assumes else Experts(errors=0.0), arms=arms)
    sure = (_TRUST if assumes else 1.0) if trust is None else trust
    least, most = value(counts, confidence=1.0 - OF_VALUE * error, joint=pooled, shift=shift)
    if promise is not None:
        plays = Guarded(plays, promise, confidence=1.0 - OF_GUARD * error, ask=ask, pooled=pooled)
    names = found[counts.contexts[0]].arms
    known: dict[Context, Knowledge] = {}
    rows, earned = counts.count.sum(axis=1), counts.unit[0].sum(axis=1)
    if counts.missing is not None:  # as many rows as have a reward, with the mean of all
        earned = rows * np.nan_to_num((counts.value - counts.low) / (counts.high - counts.low))
    for place, context in enumerate(counts.contexts):
        limits, likely = found[context], expected[context]
        if not alone:
            limits, likely = _with_experts(
                limits, likely, (earned[place], rows[place]), (least[place], most[place]), price
            )
        known[context] = Knowledge(
            limits,
            prior=likely if plays.takes_prior else None,
            trust=sure if alone or sure == 1.0 else [*np.broadcast_to(sure, len(names)), 1.0],
            assumption=experts.in_words() if assumes and sure < 1.0 and len(found) > 1 else None,
        )
    more: dict[str, Any] = {"pool": pool, "tree": tree, "drift": drift, "guardrails": guardrails}
    made = Agent(plays, known.get(None, known), seed=seed, floor=floor, **more)
    backed = _supported(counts, names)
    for place, context in enumerate(counts.contexts):
        wanted, never = (_mask(given, context, counts, names) for given in (include, forbid))
        out = ~(backed[place] | wanted) | never
        if alone and out.all():
            raise ValueError(
                f"{where(context)}: every option is forbidden or has fewer than {FEWEST} rows or {LEAST_SHARE:.0%} of "
                f"the choices; name those to play with include=, or let the agent ask the experts (expert=True)"
            )
        made.forbid([names[k] for k in np.flatnonzero(out)], context)
    return made


def _promised(counts: Counts, promise: Promise | None, expert: bool) -> Promise | None:
    """The promise of an agent from this log: `PROMISE` in its range, and nothing without experts."""
    check_counts(counts)
    width = counts.high - counts.low
    if promise is None or not expert:
        if promise is not None and promise is not PROMISE:
            raise ValueError("expert=False leaves nobody to ask, so nothing can be promised: leave out the promise")
        return None
    if promise is not PROMISE and (promise.margin or 0.0) >= width:
        raise ValueError(f"margin={promise.margin:g} is the whole range of the rewards, which promises nothing")
    return Promise(margin=0.01 * width) if promise is PROMISE else promise


def with_observed(counts: Counts, agent: Agent) -> Counts:
    """The counts of a log with what an agent's experts chose since, when it asked them.

    Bounds from them are sharper; give them to the agent with `Agent.know`. Bounds are for a number of rows that was
    fixed in advance, so decide when to do this before you look at the rewards.

    Examples
    --------
    >>> import meanbounds as mb
    >>> counts = mb.logs.Counts((None,), ("a", "b"), [[600, 400]], [[480, 200]], [[480, 200]])
    >>> agent = mb.logs.agent(counts, seed=7)
    >>> agent.pull()
    EXPERT
    >>> agent.observe("b", 1.0)
    >>> mb.logs.with_observed(counts, agent).count
    array([[600., 401.]])
    """
    names = [k for k, arm in enumerate(agent.arms) if arm is not EXPERT]
    found = np.array([agent.observed(context)[:, names] for context in counts.contexts])
    arms = tuple(agent.arms[k] for k in names)
    count, total, squares = found.swapaxes(0, 1)
    sums: dict[str, Any] = {"count": count, "total": total, "squares": squares, "weighted": None}
    if counts.missing is not None:
        sums["missing"] = np.zeros(count.shape)
    if counts.instrument is not None:  # the agent does not record it
        none = np.zeros((*counts.instrument.sums.shape[:3], len(arms)))
        sums["instrument"] = replace(counts.instrument, sums=none)
    return counts + replace(counts, arms=arms, dropped={}, **sums)


def _supported(counts: Counts, arms: tuple[Arm, ...]) -> Booleans:
    """Which options have enough rows in each context to be played, (contexts, arms)."""
    rows = counts.over(counts.contexts, arms).chosen
    shares, whole = LEAST_SHARE * rows.sum(axis=1, keepdims=True), rows.sum(axis=0)
    if counts.tree is None:
        return np.asarray((rows >= FEWEST) & (rows >= shares))
    return np.asarray((whole >= FEWEST) & (whole >= shares.sum()) & (rows >= np.floor(shares)))


def _with_experts(
    bounds: MeanBounds, prior: Prior, row: tuple[float, float], limits: tuple[float, float], cost: float
) -> tuple[MeanBounds, Prior]:
    """Bounds and prior with the experts as one more arm: what they earn, less the cost of asking them."""
    low, high = float(bounds.low[0]), float(bounds.high[0])
    total, count = row
    grown = MeanBounds(
        [*bounds.lower, limits[0] - cost],
        [*bounds.upper, limits[1] - cost],
        arms=[*bounds.arms, EXPERT],
        low=[*bounds.low, low - cost],
        high=[*bounds.high, high - cost],
    )
    mean = low + (high - low) * (total + 1.0) / (count + 2.0) - cost
    means, strengths = np.broadcast_to(prior.mean, len(bounds)), np.broadcast_to(prior.strength, len(bounds))
    return grown, Prior([*means, mean], [*strengths, min(count + 2.0, _STRONGEST)])


def _mask(given: Arms, context: Context, counts: Counts, arms: tuple[Arm, ...]) -> Booleans:
    """Which options are named for a context; unknown names are refused."""
    if isinstance(given, Mapping):
        for name in given:
            if name not in counts.contexts:
                raise LookupError(unknown("context", name, counts.contexts))
        given = given.get(context, ())
    mask = np.zeros(len(arms), dtype=np.bool_)
    for arm in as_list("include and forbid", given):
        if arm not in arms:
            raise UnknownArmError(unknown("arm", arm, arms))
        mask[arms.index(arm)] = True
    return mask
