"""Simulation: environments, instances to try policies on, and the regret of policies in many runs."""

from meanbounds.simulation.delays import Delay
from meanbounds.simulation.environments import (
    Bernoulli,
    Beta,
    Changing,
    ClippedGaussian,
    Environment,
    Linear,
    Table,
    Uniform,
)
from meanbounds.simulation.hidden_contexts import HiddenContexts
from meanbounds.simulation.instances import INSTANCES, Instance, paper_linear, random_instance
from meanbounds.simulation.plots import plot_bounds
from meanbounds.simulation.regret import Regret
from meanbounds.simulation.run import simulate

__all__ = [
    "INSTANCES",
    "Bernoulli",
    "Beta",
    "Changing",
    "ClippedGaussian",
    "Delay",
    "Environment",
    "HiddenContexts",
    "Instance",
    "Linear",
    "Regret",
    "Table",
    "Uniform",
    "paper_linear",
    "plot_bounds",
    "random_instance",
    "simulate",
]
