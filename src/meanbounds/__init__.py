"""Bandits that start from bounds on each arm's mean instead of from nothing."""

from meanbounds import evidence, linear, logs, policies, simulation, theory
from meanbounds.agents import Agent, Decision
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
from meanbounds.simulation import Bernoulli, Regret, simulate
from meanbounds.support.version import __version__

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
    "Decision",
    "Experts",
    "ImprovedUCB",
    "Knowledge",
    "LinearAgent",
    "LinearThompson",
    "MeanBounds",
    "OptimisticGittins",
    "Prior",
    "Promise",
    "Regret",
    "ThompsonSampling",
    "__version__",
    "evidence",
    "linear",
    "logs",
    "policies",
    "simulate",
    "simulation",
    "theory",
]
