"""Plans with a prior, which a policy itself knows nothing of: rows of the plan hold it.

A Beta law counts as plays that came before the first round; a mixture of them has rows of its own as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from meanbounds.kernels.arms.codes import LOGGED, MIXED
from meanbounds.knowledge import Knowledge
from meanbounds.policies.plan import Plan
from meanbounds.prior import Prior, PriorMixture
from meanbounds.support.checks import shown
from meanbounds.support.types import Floats

__all__ = [
    "FORMER_PRIOR",
    "check_prior",
    "former_prior",
    "prior_code",
    "with_former_prior",
    "with_prior",
    "without_prior",
]

_USERS = "ThompsonSampling, OptimisticGittins, IDS, BIMED and LinearThompson"
_MIXTURE_USERS = "ThompsonSampling, OptimisticGittins and IDS"
_FORMER_USERS = ("ThompsonSampling", "OptimisticGittins", "IDS")
_UNIFORM = (1.0, 1.0)

FORMER_PRIOR = (
    "a prior is no longer a parameter of a policy: it belongs to what is known of the arms. Give mb.Knowledge(bounds, "
    "prior=mb.Prior(mean, strength)) in place of the bounds, or a table [prior] in a study file. What was Beta(a, b) "
    "has the mean low + (high - low) * a / (a + b) and the strength a + b"
)
"""What whoever still gives a policy its prior is told."""


def check_prior(policy: object, known: Knowledge) -> None:
    """Refuse a prior that a policy cannot use.

    Examples
    --------
    >>> import meanbounds as mb
    >>> check_prior(mb.GLUE(), mb.Knowledge(mb.MeanBounds([0.2], [0.9])))
    """
    if known.prior is None:
        return
    if not getattr(policy, "takes_prior", False):
        raise ValueError(
            f"{policy} cannot use a prior: its guarantee rests on bounds alone. {_USERS} can; for {policy} leave prior "
            f"out of the knowledge, or say what is certain as bounds"
        )
    if not isinstance(known.prior, PriorMixture):
        return
    if not getattr(policy, "takes_mixture", False):
        raise ValueError(
            f"{policy} counts a prior as plays, and a mixture of priors is worth no number of plays. {_MIXTURE_USERS} "
            f"can use it; for {policy} give one law, such as mb.Prior(mean=0.6, strength=10)"
        )
    if getattr(policy, "moments", 1) == 2:
        raise ValueError(
            f"{policy} counts rewards with two moments, which say nothing of how likely they are under each component "
            f"of a mixture of priors. Take moments=1, or give one law, such as mb.Prior(mean=0.6, strength=10)"
        )


def prior_code(known: Knowledge) -> int:
    """What is added to the code of a policy's kernel for a plan with this prior.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds, one = mb.MeanBounds.vacuous(1), mb.Prior(0.75, 8)
    >>> [prior_code(mb.Knowledge(bounds, prior=prior)) for prior in (None, one, mb.Prior.mixture([one], [1.0]))]
    [0, 32, 16]
    """
    if known.prior is None:
        return 0
    return MIXED if isinstance(known.prior, PriorMixture) else LOGGED


def with_prior(plan: Plan, known: Knowledge) -> Plan:
    """The plan with the prior of its arms in three more rows, as kernels take the plays of a log.

    Before these, a mixture has three rows for each component, see `PriorMixture.parts`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> known = mb.Knowledge(mb.MeanBounds([0.2], [0.9]), prior=mb.Prior(0.75, 8))
    >>> with_prior(mb.BIMED().prepare(known), known).table[-3:, 0]
    array([8., 6., 2.])
    """
    if known.prior is None:
        return plan
    rows = known.prior.rows(known.bounds)
    if isinstance(known.prior, PriorMixture):
        rows = np.vstack([known.prior.parts(known.bounds), rows])
    return Plan(np.vstack([plan.table, rows[:, plan.arms]]))


def without_prior(parameters: Floats) -> Floats:
    """The numbers of a posterior whose prior is in its plan: nothing comes on top of it.

    Examples
    --------
    >>> import meanbounds as mb
    >>> without_prior(mb.IDS().parameters)
    array([0. , 0. , 1. , 1.5])
    """
    out = parameters.copy()
    out[:2] = 0.0
    return out


def former_prior(settings: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[float, float]]:
    """The parameters of a saved policy without the prior that older versions saved there, and this prior.

    Examples
    --------
    >>> former_prior({"policy": "ThompsonSampling", "prior": [2.0, 1.0]})
    ({'policy': 'ThompsonSampling'}, (2.0, 1.0))
    """
    rest = dict(settings)
    if rest.get("policy") not in _FORMER_USERS:
        return rest, _UNIFORM
    try:
        first, second = (float(value) for value in rest.pop("prior", _UNIFORM))
    except (TypeError, ValueError):
        raise ValueError(f"{FORMER_PRIOR}; got prior={shown(settings['prior'])}") from None
    return rest, (first, second)


def with_former_prior(known: Knowledge, prior: tuple[float, float], moments: object) -> Knowledge:
    """What an agent knew whose policy had this prior.

    Examples
    --------
    >>> import meanbounds as mb
    >>> with_former_prior(mb.Knowledge(mb.MeanBounds([0.2], [0.9])), (6.0, 2.0), 1).prior
    Prior(mean=0.75, strength=8.0)
    """
    if prior == _UNIFORM:
        return known
    if known.prior is not None or moments == 2:
        raise ValueError(
            f"{FORMER_PRIOR}; a saved agent with two moments and a prior of its own cannot go on as it did"
        )
    bounds, strength = known.bounds, prior[0] + prior[1]
    means = bounds.low + (bounds.high - bounds.low) * (prior[0] / strength)
    same = np.all(means == means[0])
    return Knowledge(bounds, prior=Prior(means[0] if same else means, strength), trust=known.trust)
