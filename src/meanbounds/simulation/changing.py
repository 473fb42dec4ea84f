"""A world that changes: one environment after another."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from meanbounds.simulation.environments import Environment, Linear
from meanbounds.support.checks import as_list, as_whole, shown
from meanbounds.support.types import Floats

__all__ = ["Changing"]


class Changing(Environment):
    """An environment that becomes another one after some rounds, and perhaps another one later.

    Regret is measured against the best arm of the moment. The n-th reward of an arm in a run is drawn with the same
    random number in every stage, so comparisons stay paired. Policies are not told of the change. Only `simulate`
    plays it, with policies without features, and without a delay or an assumption.

    Parameters
    ----------
    stages
        Pairs of a number of rounds and the environment that starts after as many: ``[(0, first), (5_000, second)]``.
        All have the same number of arms. The range of an arm's rewards is the smallest that contains those of all
        stages.

    Attributes
    ----------
    starts, environments
        After how many rounds each stage starts, and what it is. Means and gaps are those of the first stage.

    Examples
    --------
    >>> import meanbounds as mb
    >>> world = mb.Changing([(0, mb.Bernoulli([0.9, 0.5])), (1_000, mb.Bernoulli([0.3, 0.5]))])
    >>> regret = mb.simulate(mb.UCB(), world, horizon=2_000, runs=20, seed=7, checkpoints=[1_000, 2_000])
    >>> before, after = regret.curves["UCB"].mean(axis=0)
    >>> bool(before < 60 and after > before + 40)  # the old best arm has to be unlearnt
    True
    """

    starts: tuple[int, ...]
    environments: tuple[Environment, ...]

    def __init__(self, stages: Iterable[tuple[int, Environment]]) -> None:
        pairs = as_list("stages", stages)
        if not pairs or not all(_is_stage(pair) for pair in pairs):
            raise TypeError(
                f"stages must be pairs of a number of rounds and an environment that offers the same arms in each "
                f"round, such as [(0, mb.Bernoulli([0.9])), (5_000, mb.Bernoulli([0.2]))]; got {shown(stages)}"
            )
        starts = tuple(as_whole("the start of a stage", start, least=0) for start, _ in pairs)
        worlds = tuple(world for _, world in pairs)
        if starts[0] != 0 or any(later <= start for start, later in itertools.pairwise(starts)):
            raise ValueError(f"stages must start after 0 rounds, and each later than the one before; got {starts}")
        if len({len(world) for world in worlds}) > 1:
            raise ValueError(f"all stages need the same number of arms; got {[len(world) for world in worlds]}")
        low, high = np.min([world.low for world in worlds], axis=0), np.max([world.high for world in worlds], axis=0)
        super().__init__(worlds[0].means, low=low, high=high)
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "environments", worlds)

    def rewards(self, low: Floats, high: Floats) -> NoReturn:
        """There is no single distribution: what cannot play stages is refused here.

        Examples
        --------
        >>> import numpy as np
        >>> import meanbounds as mb
        >>> mb.Changing([(0, mb.Bernoulli([0.9]))]).rewards(np.zeros(1), np.ones(1))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        TypeError: a world that changes is played by mb.simulate alone, ...
        """
        del low, high
        raise TypeError(
            "a world that changes is played by mb.simulate alone, with policies without features such as mb.GLUE(), "
            "and without a delay or an assumption; play its stages one by one"
        )

    def settings(self) -> dict[str, Any]:
        """The parameters, with those of each stage.

        Examples
        --------
        >>> import meanbounds as mb
        >>> settings = mb.Changing([(0, mb.Bernoulli([0.9])), (10, mb.Uniform([0.2]))]).settings()
        >>> settings["starts"], [stage["kind"] for stage in settings["stages"]]
        ([0, 10], ['Bernoulli', 'Uniform'])
        """
        stages = [world.settings() for world in self.environments]
        return {**super().settings(), "starts": list(self.starts), "stages": stages}


def _is_stage(pair: Any) -> bool:
    """Whether this is a start and an environment in which all arms are on offer and nothing changes."""
    if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[1], Environment)):
        return False
    return not isinstance(pair[1], Changing) and not (isinstance(pair[1], Linear) and pair[1].offered is not None)
