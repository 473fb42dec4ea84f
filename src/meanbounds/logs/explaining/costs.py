"""What the first decisions can be expected to cost, with and without a log: simulations over worlds that it allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meanbounds.bounds import BoundsError, MeanBounds
from meanbounds.knowledge import Knowledge
from meanbounds.logs.agent import POLICY, knowledge_of
from meanbounds.logs.assumptions import Assumption
from meanbounds.logs.explaining.basis import Basis
from meanbounds.logs.explaining.ladder import Rung
from meanbounds.logs.names import Context
from meanbounds.policies import Policy, ThompsonSampling
from meanbounds.simulation.environments import Bernoulli
from meanbounds.simulation.run import simulate
from meanbounds.support.types import Floats

__all__ = ["AVERAGE", "DECISIONS", "FREQUENT", "FROM_NOTHING", "WITH_LOG", "Costs", "costs_of"]

DECISIONS = (100, 1_000, 10_000)
"""The numbers of decisions whose cost is estimated."""

WITH_LOG = "the agent that starts from this log"
FROM_NOTHING = "learning from nothing"
AVERAGE = "always the option with the best average"
FREQUENT = "always the option chosen most often"
_SIMULATED = (WITH_LOG, FROM_NOTHING)
_FIXED = (AVERAGE, FREQUENT)


@dataclass(frozen=True, eq=False)
class Costs:
    """What decisions cost in worlds that a log allows: the sum of what the best option would have brought more.

    Attributes
    ----------
    assumption
        What is true of the worlds: each mean is drawn uniformly between the bounds that it gives.
    judged
        What the agent judges of the experts.
    decisions
        Numbers of decisions.
    mean
        For each way to decide the mean cost of so many decisions, in reward units.
    error
        The standard errors of these means: how far they are off because the worlds were drawn by lot.
    worlds
        How many worlds were drawn.
    contexts
        In how many contexts these worlds are; decisions come up in them as rows do in the log.

    Examples
    --------
    >>> import meanbounds as mb
    >>> lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.75, 0.25]], arms=["tPA", "watch"])
    >>> right, _ = mb.logs.explain(lab.sample(10_000, seed=7), worlds=8).costs
    >>> right.decisions
    (100, 1000, 10000)
    >>> bool((right.mean["the agent that starts from this log"] < right.mean["learning from nothing"]).all())
    True
    """

    assumption: Assumption
    judged: Assumption
    decisions: tuple[int, ...]
    mean: dict[str, Floats]
    error: dict[str, Floats]
    worlds: int
    contexts: int

    def saved(self, decisions: int) -> float:
        """The share of the cost that starting from the log saves; 0 where there is nothing to lose.

        Examples
        --------
        >>> import numpy as np
        >>> import meanbounds as mb
        >>> from meanbounds.logs.explaining.costs import FROM_NOTHING, WITH_LOG, Costs
        >>> mean = {WITH_LOG: np.array([3.0]), FROM_NOTHING: np.array([4.0])}
        >>> Costs(mb.logs.AnyExpert(), mb.logs.AnyExpert(), (100,), mean, {}, 8, 1).saved(100)
        0.25
        """
        place = self.decisions.index(decisions)
        nothing = float(self.mean[FROM_NOTHING][place])
        return 1.0 - float(self.mean[WITH_LOG][place]) / nothing if nothing > 0.0 else 0.0


def costs_of(basis: Basis, rungs: Sequence[Rung], worlds: int, seed: int) -> tuple[Costs, ...]:
    """Costs if what is judged is true, and if nothing is known of the experts; only the latter if the log refutes it.

    The first of the rungs assumes nothing; one of them is what is judged.
    """
    nothing, own = rungs[0], next(one for one in rungs if one.assumption == basis.assumption)
    try:
        known, judged = _knowledge(basis, basis.assumption), basis.assumption
    except BoundsError:  # the log contradicts what is judged
        known, judged = _knowledge(basis, nothing.assumption), nothing.assumption
    worlds_of = [own, nothing] if judged == own.assumption != nothing.assumption else [nothing]
    return tuple(_costs(basis, one, nothing, known, judged, worlds, seed) for one in worlds_of)


def _knowledge(basis: Basis, judged: Assumption) -> dict[Context, Knowledge]:
    return knowledge_of(basis.counts, judged, **basis.size, method=basis.method, shift=basis.shift)


def _costs(
    basis: Basis,
    truth: Rung,
    nothing: Rung,
    known: dict[Context, Knowledge],
    judged: Assumption,
    worlds: int,
    seed: int,
) -> Costs:
    """Draw contexts and worlds, play each of them, and add up over contexts."""
    rng = np.random.default_rng(seed)
    places = _places(basis.share, worlds, rng)
    lower = np.maximum(truth.lower, nothing.lower)[places]
    means = rng.uniform(lower, np.maximum(np.minimum(truth.upper, nothing.upper)[places], lower))
    share = basis.share[places]
    cost = {label: np.zeros((len(places), len(DECISIONS))) for label in (*_SIMULATED, *_FIXED)}
    for world, (place, own) in enumerate(zip(places, means, strict=True)):
        environment = Bernoulli(own, low=basis.counts.low, high=basis.counts.high)
        for label, policy, start in (
            (WITH_LOG, POLICY, known[basis.contexts[place]]),
            (FROM_NOTHING, ThompsonSampling(), None),
        ):
            cost[label][world] = _played(policy, environment, start, share[world], seed + world)
        usual = basis.baselines[basis.contexts[place]]
        for label, arm in zip(_FIXED, (usual.naive_best, usual.most_frequent), strict=True):
            lost = own.max() - own[basis.arms.index(arm)]
            cost[label][world] = lost * share[world] * np.array(DECISIONS)
    # A context is drawn as often as its share of the rows says, so its cost counts as many times as it stands for.
    weighted = {label: own / share[:, None] for label, own in cost.items()}
    error = {label: own.std(axis=0, ddof=1) / np.sqrt(len(places)) for label, own in weighted.items()}
    mean = {label: own.mean(axis=0) for label, own in weighted.items()}
    return Costs(truth.assumption, judged, DECISIONS, mean, error, len(places), len(set(places.tolist())))


def _places(share: Floats, worlds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """The context of each world, drawn by its share of the rows; systematically, so that few contexts get their due."""
    ends = np.cumsum(share)
    points = (np.arange(worlds) + rng.random()) / worlds * ends[-1]
    places: NDArray[np.intp] = np.minimum(np.searchsorted(ends, points, side="right"), np.flatnonzero(share)[-1])
    return places


def _played(
    policy: Policy, environment: Bernoulli, start: Knowledge | MeanBounds | None, share: float, seed: int
) -> Floats:
    """Regret after this share of the decisions; between two whole numbers of them, on the line."""
    wanted = share * np.array(DECISIONS, dtype=np.float64)
    rounds = np.unique(np.maximum(np.concatenate([np.floor(wanted), np.ceil(wanted)]), 1.0)).astype(np.int64)
    found = simulate(
        {"it": policy},
        environment,
        start,
        horizon=int(rounds[-1]),
        runs=1,
        seed=seed,
        checkpoints=rounds.tolist(),
        progress=False,
        workers=1,
    )
    cost: Floats = np.interp(wanted, [0.0, *found.rounds.tolist()], [0.0, *found.curves["it"][0].tolist()])
    return cost
