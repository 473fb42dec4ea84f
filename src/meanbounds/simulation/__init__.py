"""Play policies in environments whose true means are known, many times, and record the regret.

Environments, instances with their bounds, `simulate`, `Regret`, study files and bounds that are wrong on purpose live
here; worlds that write logs are in `meanbounds.worlds`.
"""

from meanbounds.simulation.agents import simulate_agents
from meanbounds.simulation.alarms import first_contradictions
from meanbounds.simulation.blocks import Blocks
from meanbounds.simulation.changing import Changing
from meanbounds.simulation.corrupt import corrupt, corrupt_log
from meanbounds.simulation.delay import Delay
from meanbounds.simulation.environments import Bernoulli, Beta, Environment, Linear, Table, Uniform
from meanbounds.simulation.instances import INSTANCES, Instance, LinearInstance
from meanbounds.simulation.regret import Regret
from meanbounds.simulation.run import simulate

__all__ = [
    "INSTANCES",
    "Bernoulli",
    "Beta",
    "Blocks",
    "Changing",
    "Delay",
    "Environment",
    "Instance",
    "Linear",
    "LinearInstance",
    "Regret",
    "Table",
    "Uniform",
    "corrupt",
    "corrupt_log",
    "first_contradictions",
    "simulate",
    "simulate_agents",
]
