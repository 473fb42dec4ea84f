"""Arms without features: one round of every policy, written as its definition says, and the tables that it reads.

`textbook` is where to start: it chooses an arm, takes in a reward and plays whole runs, for any policy by its code. An
agent runs on these functions. Loops that save work over many rounds are in `meanbounds.kernels.fast`.
"""
