"""Bandits that start from bounds on each arm's mean instead of from nothing."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from meanbounds.support.version import __version__

if TYPE_CHECKING:
    from meanbounds import evidence, linear, logs, policies, service, simulation, theory
    from meanbounds.agents import Agent, Guardrail
    from meanbounds.bounds import EXPERT, BoundsError, MeanBounds
    from meanbounds.knowledge import Knowledge, Prior
    from meanbounds.linear import OFUL, ROFUL, Candidate, LinearAgent, LinearThompson
    from meanbounds.logs import Experts
    from meanbounds.policies import (
        BIMED,
        BKLUCB,
        BUCB,
        GLUE,
        IDS,
        KLUCB,
        UCB,
        ImprovedUCB,
        OptimisticGittins,
        Promise,
        ThompsonSampling,
    )
    from meanbounds.service.store import Store
    from meanbounds.simulation import Bernoulli, Regret, simulate

__all__ = [
    "BIMED",
    "BKLUCB",
    "BUCB",
    "EXPERT",
    "GLUE",
    "IDS",
    "KLUCB",
    "OFUL",
    "ROFUL",
    "UCB",
    "Agent",
    "Bernoulli",
    "BoundsError",
    "Candidate",
    "Experts",
    "Guardrail",
    "ImprovedUCB",
    "Knowledge",
    "LinearAgent",
    "LinearThompson",
    "MeanBounds",
    "OptimisticGittins",
    "Prior",
    "Promise",
    "Regret",
    "Store",
    "ThompsonSampling",
    "__version__",
    "evidence",
    "linear",
    "logs",
    "policies",
    "service",
    "simulate",
    "simulation",
    "theory",
]

_HOMES = {
    "agents": ("Agent", "Guardrail"),
    "bounds": ("EXPERT", "BoundsError", "MeanBounds"),
    "knowledge": ("Knowledge", "Prior"),
    "linear": ("OFUL", "ROFUL", "Candidate", "LinearAgent", "LinearThompson"),
    "logs": ("Experts",),
    "policies": (
        *("BIMED", "BKLUCB", "BUCB", "GLUE", "IDS", "KLUCB", "UCB"),
        *("ImprovedUCB", "OptimisticGittins", "Promise", "ThompsonSampling"),
    ),
    "service.store": ("Store",),
    "simulation": ("Bernoulli", "Regret", "simulate"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import what is used for the first time, so that commands answer at once."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOME.get(name)
    found = import_module(f"{__name__}.{name}") if home is None else getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
