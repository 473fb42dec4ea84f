"""Plans for arms with features from all that is known of them: bounds, how far to trust them, and a prior."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from meanbounds.kernels import linear as kernel
from meanbounds.knowledge import Knowledge
from meanbounds.linear import LinearArms
from meanbounds.policies.doubted import check_usable, without_bounds
from meanbounds.policies.oful import LinearPlan, LinearPolicy
from meanbounds.support.types import Booleans, Floats

__all__ = ["Believed", "believe", "pseudo_rewards", "root_of"]

_UNIFORM = 2.0  # the strength of a prior that says nothing


class Believed(NamedTuple):
    """What a policy for arms with features starts from.

    Attributes
    ----------
    plan
        The plan with the bounds.
    bare
        The plan without the bounds that may be wrong; None if all are certain, or if the policy ignores them.
    log_n
        The logarithm of N = 1 / (1 - trust); infinite where there is no second plan.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.2, 0.6], [0.5, 0.9])
    >>> arms, known = mb.LinearArms([[1.0, 0.0], [0.0, 1.0]], bounds), mb.Knowledge(bounds, trust=0.9)
    >>> made = believe(mb.ROFUL(), arms, known)
    >>> made.plan.pool.upper.round(3), made.bare.pool.upper.round(3), round(made.log_n, 3)
    (array([0.5, 0.9]), array([1., 1.]), 2.303)
    """

    plan: LinearPlan
    bare: LinearPlan | None
    log_n: float


def believe(policy: LinearPolicy, arms: LinearArms, known: Knowledge) -> Believed:
    """The plans of a policy for these arms; knowledge that it cannot use is refused.

    Bounds that may be wrong stand or fall together, as one parameter is behind all means. The least trust among them
    counts. Bounds with a trust of 0 are left out.

    Parameters
    ----------
    policy
        How to decide.
    arms
        Features and offsets.
    known
        What is known of the same arms.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.2, 0.6], [0.5, 0.9])
    >>> arms = mb.LinearArms([[1.0, 0.0], [0.0, 1.0]], bounds)
    >>> believe(mb.ROFUL(), arms, mb.Knowledge(bounds)).bare is None
    True
    """
    check_usable(policy, known)
    trusts = known.trusts
    plan = policy.plan(_with_bounds(arms, known, trusts == 0.0))
    doubted = (trusts > 0.0) & (trusts < 1.0)
    if not doubted.any():
        return Believed(plan, None, np.inf)
    bare = policy.plan(_with_bounds(arms, known, trusts < 1.0))
    if all(np.array_equal(getattr(plan.pool, name), getattr(bare.pool, name)) for name in ("lower", "upper", "proxy")):
        return Believed(plan, None, np.inf)  # the policy does not look at these bounds
    return Believed(plan, bare, float(known.log_n[doubted].min()))


def _with_bounds(arms: LinearArms, known: Knowledge, some: Booleans) -> LinearArms:
    """The arms without the bounds of some."""
    if not some.any():
        return arms
    return LinearArms(arms.features, without_bounds(known.bounds, some), offset=arms.offset)


def pseudo_rewards(known: Knowledge) -> tuple[Floats, Floats]:
    """How many rewards the prior of each arm is worth, and their mean in reward units.

    Beta(a, b) has the density of a uniform prior times the likelihood of a - 1 successes and b - 1 failures. So it is
    worth the strength less 2 in plays, and says nothing if it is uniform. Where one of the two numbers is negative, it
    is taken to be none.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds.vacuous(2)
    >>> pseudo_rewards(mb.Knowledge(bounds, prior=mb.Prior([0.5, 4 / 7], [2.0, 7.0])))  # 3 successes in 5 plays
    (array([0., 5.]), array([0.5, 0.6]))
    """
    bounds = known.bounds
    if known.prior is None:
        return np.zeros(len(bounds)), 0.5 * (bounds.low + bounds.high)
    _, above, below = known.prior.rows(bounds)
    wins, lacks = np.maximum(above - 0.5 * _UNIFORM, 0.0), np.maximum(below - 0.5 * _UNIFORM, 0.0)
    number = wins + lacks
    share = np.divide(wins, number, out=np.full(number.shape, 0.5), where=number > 0.0)
    return number, bounds.low + (bounds.high - bounds.low) * share


def root_of(plan: LinearPlan, known: Knowledge) -> Floats:
    """The root of the regression before the first reward: the rewards that the prior is worth are in it.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds.vacuous(1)
    >>> plan = mb.LinearThompson().plan(mb.LinearArms([[1.0]], bounds))
    >>> root = root_of(plan, mb.Knowledge(bounds, prior=mb.Prior(0.75, 10.0)))
    >>> (root[0, 0] ** 2).round(6), (root[0, 1] / root[0, 0]).round(6)  # 1 + 8, and 6.5 / 9
    (np.float64(9.0), np.float64(0.722222))
    """
    pool, rule = plan.pool, plan.rule
    root = kernel.fresh_design(pool.features, rule.regularisation).root
    number, means = pseudo_rewards(known)
    for k in np.flatnonzero(number > 0.0):
        weight = float(number[k]) * kernel.weight_of(rule, float(pool.proxy[k]))
        kernel.put(root, pool.features[k], weight, weight * float(means[k] - pool.offset[k]), np.empty(root.shape[1]))
    return root
