"""Bandits that start from bounds on each arm's mean instead of from nothing."""

# Kernels first: numba takes three times as long to import from deep inside the others.
from meanbounds import kernels, logs, theory
from meanbounds.agents import Agent, Candidate, ContextualAgent, NoIndexError, RewardError
from meanbounds.bounds import BoundsError, MeanBounds, UnknownArmError
from meanbounds.divergence import bernoulli_kl, bernoulli_kl_upper
from meanbounds.knowledge import Knowledge
from meanbounds.linear import FeasibleSet, LinearArms, TightBounds, tighten
from meanbounds.policies import (
    BIMED,
    BKLUCB,
    BUCB,
    GLUE,
    KLUCB,
    OFUL,
    OSSB,
    ROFUL,
    UCB,
    ImprovedUCB,
    LinearPolicy,
    OptimisticGittins,
    Plan,
    Policy,
    ThompsonSampling,
    UCBoost,
    make_plan,
)
from meanbounds.simulation import (
    INSTANCES,
    Bernoulli,
    Beta,
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
    "INSTANCES",
    "KLUCB",
    "OFUL",
    "OSSB",
    "ROFUL",
    "UCB",
    "Agent",
    "Bernoulli",
    "Beta",
    "BoundsError",
    "Candidate",
    "ContextualAgent",
    "Environment",
    "FeasibleSet",
    "HiddenContexts",
    "ImprovedUCB",
    "Instance",
    "Knowledge",
    "Linear",
    "LinearArms",
    "LinearInstance",
    "LinearPolicy",
    "MeanBounds",
    "NoIndexError",
    "OptimisticGittins",
    "Plan",
    "Policy",
    "Regret",
    "RewardError",
    "Table",
    "ThompsonSampling",
    "TightBounds",
    "UCBoost",
    "Uniform",
    "UnknownArmError",
    "__version__",
    "bernoulli_kl",
    "bernoulli_kl_upper",
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
