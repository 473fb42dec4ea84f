"""Random numbers and simulated rewards.

`stream` gives the n-th number of a stream by its address, without those before it. `rewards` draws an arm's n-th reward
from such a stream. The laws of rewards that a user writes down are in `meanbounds.simulation`, and what a policy does
with a random number is in `meanbounds.kernels.arms`.
"""
