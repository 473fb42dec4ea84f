"""When the rewards of simulated runs contradict bounds that do not hold."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from meanbounds import kernels
from meanbounds.bounds import MeanBounds
from meanbounds.evidence.contradictions import WATCHED_ERROR, level_of, weigh
from meanbounds.evidence.processes import check_error
from meanbounds.kernels.arms.block import Block
from meanbounds.kernels.arms.tables import State
from meanbounds.knowledge import Knowledge
from meanbounds.policies import Policy
from meanbounds.policies.exploration import log_f
from meanbounds.simulation.environments import Environment, Linear
from meanbounds.simulation.run import check_fit, checkpoint_rounds, read_size
from meanbounds.simulation.stages import WINDOW
from meanbounds.support.checks import shown
from meanbounds.support.seeding import Seed, as_seed
from meanbounds.support.types import Floats, Integers

__all__ = ["first_contradictions"]


def first_contradictions(
    policy: Policy,
    environment: Environment,
    bounds: MeanBounds | Knowledge,
    *,
    horizon: int = 10_000,
    runs: int = 200,
    seed: Seed = None,
    checkpoints: int | Sequence[int] = 50,
    error: float = WATCHED_ERROR,
) -> Integers:
    """In which round of each run the rewards contradict each bound, as an agent with this policy would see it.

    The runs are those of `meanbounds.simulate` with the same seed. Bounds are looked at in the checkpoints alone, where
    an agent looks after each reward: it gives the same alarms or more, and none of them later.

    Parameters
    ----------
    policy
        How to decide; a policy without features.
    environment, bounds, horizon, runs, seed
        As for `meanbounds.simulate`. Means outside the bounds are not warned of.
    checkpoints
        How many evenly spaced rounds to look at the bounds in, or the rounds themselves.
    error
        The probability with which an agent ever names a bound although all hold.

    Returns
    -------
    Rounds, runs x 2 x arms, lower bounds first; 0 where the bound is never contradicted.

    Examples
    --------
    A bad arm is thought to be best, so that it is played all the time:

    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.9, 0.0], [1.0, 0.85])
    >>> environment = mb.Bernoulli([0.5, 0.8])
    >>> rounds = mb.simulation.first_contradictions(mb.GLUE(), environment, bounds, horizon=1000, runs=100, seed=7)
    >>> rounds.shape, bool((rounds[:, 0, 0] > 0).all()), int(rounds[:, 0, 0].max())
    ((100, 2, 2), True, 40)
    """
    if not (isinstance(policy, Policy) and isinstance(environment, Environment)):
        raise TypeError(
            f"give a policy without features such as mb.GLUE(), and an environment such as mb.Bernoulli([0.9, 0.8]); "
            f"got {shown(policy)} and {shown(environment)}"
        )
    if isinstance(environment, Linear) and environment.offered is not None:
        raise TypeError(f"{policy} chooses among the same arms in each round: offer all (offered=None)")
    known = Knowledge.of(bounds)
    own = known.bounds
    if known.ages or (known.assumption is not None and not known.is_certain):
        raise ValueError("first contradictions are played with bounds that neither age nor rest on an assumption")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that means are outside their bounds is the point
        check_fit(environment, own)
    rounds = checkpoint_rounds(checkpoints, read_size("horizon", horizon))
    level, first = level_of(own, check_error(error)), np.zeros((read_size("runs", runs), 2, len(own)), dtype=np.int64)
    for t, states in _played(policy, environment, known, as_seed(seed), len(first), rounds):
        found = np.array([weigh(own, total, lack, np.zeros(len(own))) for total, lack in states[:, [1, 5]]]) >= level
        first[found & (first == 0)] = t
    return first


def _played(
    policy: Policy, environment: Environment, known: Knowledge, seed: int, runs: int, rounds: Integers
) -> Iterator[tuple[int, Floats]]:
    """The checkpoints, and the statistics of all runs in each; see `State`."""
    bounds, plan = known.bounds, policy.plan(known)
    states = np.zeros((runs, len(State._fields), len(bounds)))
    law, number, start = environment.rewards(bounds.low, bounds.high), np.uint64(seed), 1
    for stop in rounds.tolist():
        for first in range(start, stop + 1, WINDOW):
            last = min(first + WINDOW - 1, stop)
            table, curves = log_f(policy.f, first, last), np.empty((runs, 1))
            block = Block(states, law, number, 0, table, first, np.array([last]), environment.gaps, curves)
            kernels.play(policy.code(plan), plan.table, policy.parameters_for(known), block)
        start = stop + 1
        yield stop, states
