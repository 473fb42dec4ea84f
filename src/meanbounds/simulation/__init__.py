"""Simulation: environments, instances to try policies on, and the regret of policies in many runs."""

from meanbounds.simulation.delays import Delay
from meanbounds.simulation.environments import Bernoulli, Beta, ClippedGaussian, Environment, Table, Uniform
from meanbounds.simulation.regret import Regret

__all__ = [
    "Bernoulli",
    "Beta",
    "ClippedGaussian",
    "Delay",
    "Environment",
    "Regret",
    "Table",
    "Uniform",
]
