"""Bandits that start from bounds on each arm's mean instead of from nothing."""

# Kernels first: numba takes three times as long to import from deep inside the others.
from meanbounds import kernels, logs, theory
from meanbounds._version import __version__
from meanbounds.agent import Agent, Candidate, ContextualAgent, NoIndexError, RewardError
from meanbounds.bounds import BoundsError, MeanBounds, UnknownArmError
from meanbounds.divergence import bernoulli_kl, bernoulli_kl_upper
from meanbounds.environments import Bernoulli, Beta, Environment, Linear, Table, Uniform
from meanbounds.geometry import FeasibleSet, LinearArms, TightBounds, tighten
from meanbounds.instances import INSTANCES, Instance, LinearInstance
from meanbounds.laboratory import HiddenContexts
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
    Policy,
    ThompsonSampling,
    UCBoost,
    make_plan,
)
from meanbounds.regret import Regret
from meanbounds.simulate import simulate
from meanbounds.stroke import stroke_trial
from meanbounds.subgaussian import variance_proxy, variance_proxy_from_bounds

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
    "Linear",
    "LinearArms",
    "LinearInstance",
    "LinearPolicy",
    "MeanBounds",
    "NoIndexError",
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
