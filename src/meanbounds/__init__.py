"""Bandits that start from bounds on each arm's mean instead of from nothing."""

from meanbounds import policies, simulation, theory
from meanbounds.bounds import BoundsError, MeanBounds
from meanbounds.knowledge import Knowledge, Prior
from meanbounds.policies import BKLUCB, BUCB, GLUE, KLUCB, UCB, ImprovedUCB
from meanbounds.simulation import Bernoulli, Regret, simulate

__version__ = "0.3.0.dev0"

__all__ = [
    "BKLUCB",
    "BUCB",
    "GLUE",
    "KLUCB",
    "UCB",
    "Bernoulli",
    "BoundsError",
    "ImprovedUCB",
    "Knowledge",
    "MeanBounds",
    "Prior",
    "Regret",
    "policies",
    "simulate",
    "simulation",
    "theory",
]
