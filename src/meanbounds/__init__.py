"""Bandits that start from bounds on each arm's mean instead of from nothing.

``import meanbounds`` alone is quick. A room of the package is imported when one of its names is first asked for: who
needs an agent does not wait for what reads logs, and who asks for the version does not wait for numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from meanbounds import evidence, kernels, logs, theory
    from meanbounds.agents import (
        Agent,
        ArtificialReplay,
        Candidate,
        ContextualAgent,
        Decision,
        Journal,
        JournalError,
        NoIndexError,
        RewardError,
    )
    from meanbounds.bounds import BoundsError, MeanBounds, UnknownArmError
    from meanbounds.divergence import bernoulli_kl, bernoulli_kl_upper
    from meanbounds.knowledge import Knowledge
    from meanbounds.linear import FeasibleSet, LinearArms, TightBounds, tighten
    from meanbounds.policies import (
        BIMED,
        BKLUCB,
        BUCB,
        GLUE,
        IDS,
        KLUCB,
        MINTS,
        MINUCB,
        OFUL,
        OSSB,
        ROFUL,
        UCB,
        ImprovedUCB,
        LinearPolicy,
        LinearThompson,
        LoggedArms,
        MostFrequentArm,
        OptimisticGittins,
        Plan,
        Policy,
        ThompsonSampling,
        UCBoost,
        WarmStart,
        make_plan,
    )
    from meanbounds.prior import Prior, PriorMixture
    from meanbounds.simulation import (
        INSTANCES,
        Bernoulli,
        Beta,
        Changing,
        Environment,
        Instance,
        Linear,
        LinearInstance,
        Regret,
        Table,
        Uniform,
        simulate,
    )
    from meanbounds.subgaussian import variance_proxy, variance_proxy_from_bounds
    from meanbounds.support.version import __version__
    from meanbounds.worlds import HiddenContexts, stroke_trial

__all__ = [
    "BIMED",
    "BKLUCB",
    "BUCB",
    "GLUE",
    "IDS",
    "INSTANCES",
    "KLUCB",
    "MINTS",
    "MINUCB",
    "OFUL",
    "OSSB",
    "ROFUL",
    "UCB",
    "Agent",
    "ArtificialReplay",
    "Bernoulli",
    "Beta",
    "BoundsError",
    "Candidate",
    "Changing",
    "ContextualAgent",
    "Decision",
    "Environment",
    "FeasibleSet",
    "HiddenContexts",
    "ImprovedUCB",
    "Instance",
    "Journal",
    "JournalError",
    "Knowledge",
    "Linear",
    "LinearArms",
    "LinearInstance",
    "LinearPolicy",
    "LinearThompson",
    "LoggedArms",
    "MeanBounds",
    "MostFrequentArm",
    "NoIndexError",
    "OptimisticGittins",
    "Plan",
    "Policy",
    "Prior",
    "PriorMixture",
    "Regret",
    "RewardError",
    "Table",
    "ThompsonSampling",
    "TightBounds",
    "UCBoost",
    "Uniform",
    "UnknownArmError",
    "WarmStart",
    "__version__",
    "bernoulli_kl",
    "bernoulli_kl_upper",
    "evidence",
    "kernels",
    "logs",
    "make_plan",
    "simulate",
    "stroke_trial",
    "theory",
    "tighten",
    "variance_proxy",
    "variance_proxy_from_bounds",
]

_ROOMS = (
    "support",
    "subgaussian",
    "bounds",
    "prior",
    "kernels",
    "knowledge",
    "divergence",
    "evidence",
    "linear",
    "policies",
    "agents",
    "theory",
    "simulation",
    "logs",
    "worlds",
)
"""In the order of their imports: to look for a name in them imports little that its own room would not import."""


def _found(name: str) -> Any:
    """Import a room, or the room that has a name, when it is first asked for."""
    if name == "__version__":
        return import_module(f"{__name__}.support.version").__version__
    if name not in __all__ and name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    import_module(f"{__name__}.kernels")  # numba takes three times as long to import from deep inside other rooms
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    rooms = (import_module(f"{__name__}.{room}") for room in _ROOMS)
    value = globals()[name] = next(getattr(room, name) for room in rooms if name in getattr(room, "__all__", ()))
    return value


def _names() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})


if not TYPE_CHECKING:  # to a type checker, `__getattr__` would mean that any name is one of the package
    __getattr__, __dir__ = _found, _names
