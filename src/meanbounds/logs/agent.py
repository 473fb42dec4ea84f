"""From a log to an agent, in one call: hard bounds from what is certain, a prior from what is judged."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from datetime import date
from typing import Any, Literal

from meanbounds.agents import Agent, ContextualAgent
from meanbounds.bounds import Arm
from meanbounds.knowledge import Knowledge
from meanbounds.logs.assumptions import AnyExpert, Assumption, KnownPropensity, OptimalExpert, check_assumption
from meanbounds.logs.confidence import DEFAULT_CONFIDENCE, check_confidence
from meanbounds.logs.counts import Counts
from meanbounds.logs.expert import judged_log, listed_arms
from meanbounds.logs.names import Context
from meanbounds.logs.prior import found_prior
from meanbounds.policies import OptimisticGittins, Policy
from meanbounds.support.checks import as_float
from meanbounds.support.seeding import Seed

__all__ = ["POLICY", "TRUSTING", "agent", "knowledge_of"]

POLICY = OptimisticGittins(f="t + 1000")
"""The policy that measured best with bounds for any expert, see docs/agents_of_logs.md."""

TRUSTING = OptimisticGittins()
"""The one that measured best with bounds that the assumption gives: they leave less to explore in the first rounds."""


def agent(
    counts: Counts,
    assumption: Assumption | None = None,
    *,
    trust: float | None = None,
    half_life: float | None = None,
    expires: int | date | str | None = None,
    policy: Policy | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
    infinite: bool = False,
    method: str = "bernstein",
    shift: float = 0.0,
    arms: Iterable[Arm] | None = None,
    seed: Seed = None,
    unknown: Literal["error", "vacuous"] = "error",
    floor: float = 0.0,
) -> Agent | ContextualAgent:
    """Make an agent that starts from a log.

    Its bounds hold whoever wrote the log. What you judge of the experts goes into a prior, which rewards correct. Say
    how far you `trust` the judgement, and it gives bounds as well: they save far more where they hold.

    Parameters
    ----------
    counts
        The counts of a log, from `meanbounds.logs.read`.
    assumption
        What you judge of who wrote the log, such as ``ErringExpert(0.05)``. By default ``OptimalExpert()``: the arm
        that was played was the best one for its case, by whatever gap.
    trust
        How probable it is that the assumption holds, such as 0.99. The agent then starts from the bounds that it gives.
        If there are several contexts, they share the evidence against it (docs/trust.md); in a single one the bounds of
        each arm are doubted by themselves. By default the assumption gives no bounds, only the prior.
    half_life, expires
        How bounds from an old log age, as for `meanbounds.Knowledge`; in each context by its own rounds. By default
        they do not.
    policy
        How to decide: one that can use a prior. By default the one that measured best (docs/agents_of_logs.md):
        ``OptimisticGittins(f="t + 1000")`` without `trust`, ``OptimisticGittins()`` with it.
    confidence, infinite, method, shift, arms
        As for `meanbounds.logs.bounds`.
    seed, floor
        As for `meanbounds.Agent`.
    unknown
        As for `meanbounds.ContextualAgent`; not used if the log has a single context.

    Returns
    -------
    Agent or ContextualAgent
        An `Agent` for a log with one context, and a `ContextualAgent` for one with several.

    Raises
    ------
    BoundsError
        If the log contradicts the assumption; the message says what the log would allow.

    See Also
    --------
    meanbounds.logs.prior : the prior alone.
    meanbounds.logs.bounds : bounds alone, for any policy.

    Examples
    --------
    >>> import meanbounds as mb
    >>> world = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.75, 0.25]], arms=["tPA", "watch"])
    >>> agent = mb.logs.agent(world.sample(10_000, seed=7), seed=1)
    >>> agent.pull()
    'tPA'
    >>> agent.update("tPA", 1.0)
    >>> agent.bounds.upper.round(2)  # whoever wrote the log
    array([0.94, 0.91])

    The same for an expert who may have erred in one case of twenty, which you think is true with probability 0.99:

    >>> trusting = mb.logs.agent(world.sample(10_000, seed=7), mb.logs.ErringExpert(0.05), trust=0.99, seed=1)
    >>> trusting.bounds.upper.round(2)
    array([0.89, 0.89])
    """
    known = knowledge_of(
        counts,
        assumption,
        trust=trust,
        half_life=half_life,
        expires=expires,
        confidence=confidence,
        infinite=infinite,
        method=method,
        shift=shift,
        arms=arms,
    )
    usual = POLICY if trust is None else TRUSTING
    plays = usual if policy is None else policy
    if len(known) == 1:
        (only,) = known.values()
        return Agent(plays, only, seed=seed, floor=floor)
    return ContextualAgent(plays, known, seed=seed, unknown=unknown, floor=floor)


def knowledge_of(
    counts: Counts,
    assumption: Assumption | None = None,
    *,
    trust: float | None = None,
    half_life: float | None = None,
    expires: int | date | str | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
    infinite: bool = False,
    method: str = "bernstein",
    shift: float = 0.0,
    arms: Iterable[Arm] | None = None,
) -> dict[Context, Knowledge]:
    """What the agent of each context starts from: the parameters are those of `agent`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.logs.agent import knowledge_of
    >>> counts = mb.HiddenContexts.random(visible=2, seed=1).counts()
    >>> knowledge_of(counts, trust=0.9, infinite=True)["z0"].assumption
    'the expert always played the best arm'
    """
    level = check_confidence(confidence, infinite)
    judged = OptimalExpert() if assumption is None else check_assumption(assumption)
    sure = None if trust is None else as_float("trust", trust)
    counts = listed_arms(counts, arms)
    weigh = functools.partial(judged_log, counts, level=level, method=method, shift=shift)
    likely = weigh(assumed=judged)
    priors = found_prior(likely)
    found = (weigh(assumed=_certain(judged)) if sure is None else likely).bounds()
    name = judged.in_words() if sure is not None and len(found) > 1 else None
    rest: dict[str, Any] = {"trust": sure, "assumption": name, "half_life": half_life, "expires": expires}
    return {context: Knowledge(own, prior=priors[context], **rest) for context, own in found.items()}


def _certain(judged: Assumption) -> Assumption:
    """What holds whoever chose: nothing of experts, and the propensities of a program, which were written down."""
    parts: list[Assumption] = [part for part in judged.parts if isinstance(part, KnownPropensity)]
    return functools.reduce(lambda one, other: one & other, parts) if parts else AnyExpert()
