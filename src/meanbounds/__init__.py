"""Bandits that start from bounds on each arm's mean instead of from nothing."""

from meanbounds._version import __version__
from meanbounds.bounds import BoundsError, MeanBounds
from meanbounds.divergence import bernoulli_kl, bernoulli_kl_upper
from meanbounds.environments import Bernoulli, Beta, Environment, Table, Uniform
from meanbounds.instances import INSTANCES
from meanbounds.policies import (
    BIMED,
    BKLUCB,
    BUCB,
    GLUE,
    KLUCB,
    OSSB,
    UCB,
    ImprovedUCB,
    Policy,
    ThompsonSampling,
    UCBoost,
)
from meanbounds.regret import Regret
from meanbounds.simulate import simulate
from meanbounds.subgaussian import variance_proxy, variance_proxy_from_bounds
