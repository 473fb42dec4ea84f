"""Plans for bounds that may be wrong, made of two plans of the same policy: a policy itself knows nothing of trust."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meanbounds.bounds import MeanBounds
from meanbounds.knowledge import Knowledge
from meanbounds.policies.informed import check_prior
from meanbounds.policies.plan import Plan
from meanbounds.support.types import Booleans, Floats

__all__ = ["check_usable", "doubted_plan", "without_bounds"]


def doubted_plan(prepare: Callable[[Knowledge], Plan], known: Knowledge) -> Plan:
    """The plan of a policy for bounds of which some are not certain.

    Parameters
    ----------
    prepare
        Makes the policy's plan for bounds that are certain.
    known
        The bounds, and how far to trust them.

    Examples
    --------
    >>> import meanbounds as mb
    >>> policy, bounds = mb.GLUE(), mb.MeanBounds([0.6, 0.1], [0.9, 0.5])
    >>> plan = doubted_plan(policy.prepare, mb.Knowledge(bounds, trust=0.99))
    >>> policy.plan(bounds).arms, plan.arms, plan.is_doubted  # arm 1 is pruned, and may have to be tried all the same
    (array([0]), array([0, 1]), True)
    """
    trusts = known.trusts
    believed = known.with_bounds(without_bounds(known.bounds, trusts == 0.0))
    told = prepare(believed)
    doubted = (trusts > 0.0) & (trusts < 1.0)
    if not doubted.any():
        return told
    bare = prepare(known.with_bounds(without_bounds(known.bounds, trusts < 1.0)))
    if told.table.shape == bare.table.shape and np.array_equal(told.table, bare.table):
        return told  # the policy does not look at these bounds
    return Plan(_stacked(told, bare, believed.bounds, known.log_n[bare.arms]), is_doubted=True)


def check_usable(policy: object, known: Knowledge) -> None:
    """Refuse knowledge that a policy for arms with features cannot use: a prior, bounds that age, an assumption.

    Parameters
    ----------
    policy
        The policy.
    known
        The bounds, how far to trust them, and a prior.

    Examples
    --------
    >>> import meanbounds as mb
    >>> check_usable(mb.ROFUL(), mb.Knowledge(mb.MeanBounds([0.2], [0.9])))
    """
    check_prior(policy, known)
    for name in ("expires", "half_life"):
        if getattr(known, name) is not None:
            raise ValueError(
                f"{policy} learns from features and takes bounds to hold for ever; leave {name} out, and replace the "
                f"bounds of an agent when they are too old"
            )
    if known.assumption is not None and not known.is_certain:
        raise ValueError(
            f"{policy} learns from features: one parameter is behind all means, so that all bounds with a trust below "
            f"1 stand or fall together anyhow. Leave assumption out"
        )


def without_bounds(bounds: MeanBounds, some: Booleans) -> MeanBounds:
    """The bounds, those of some arms replaced by the range of their rewards."""
    if not some.any():
        return bounds
    lower, upper = np.where(some, bounds.low, bounds.lower), np.where(some, bounds.high, bounds.upper)
    return MeanBounds(lower, upper, arms=bounds.arms, low=bounds.low, high=bounds.high)


def _stacked(told: Plan, bare: Plan, bounds: MeanBounds, log_n: Floats) -> Floats:
    """Both plans over the arms of the second; the first has the bounds of arms that it leaves out.

    An arm that only the first plan keeps is at most as good as another whatever the doubted bounds are.
    """
    arms, rows = bare.arms, len(bare.table)
    table = np.vstack([bare.table, bare.table, np.zeros(len(arms)), log_n])
    table[3], table[4] = bounds.lower[arms], bounds.upper[arms]
    place = {arm: k for k, arm in enumerate(arms.tolist())}
    for k, arm in enumerate(told.arms.tolist()):
        if arm in place:
            table[:rows, place[arm]] = told.table[:, k]
            table[2 * rows, place[arm]] = 1.0
    return table
