from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, reward_key
from meanbounds.simulation import first_contradictions

BOUNDS = mb.MeanBounds([0.6, 0.1], [0.9, 0.7])
WORLD = mb.Bernoulli([0.4, 0.5])


def test_as_an_agent_sees_it() -> None:
    """Run 0 is that of an agent with the same seed; looking in every round, both see the same."""
    rounds = first_contradictions(mb.GLUE(), WORLD, BOUNDS, horizon=300, runs=1, seed=5, checkpoints=300)[0]
    agent, counted = mb.Agent(mb.GLUE(), BOUNDS, seed=5), [0, 0]
    law = WORLD.rewards(BOUNDS.low, BOUNDS.high)
    streams = np.uint64(reward_key(np.uint64(5), 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.evidence.ContradictionWarning)
        for _ in range(300):
            arm = int(agent.pull())
            agent.update(arm, float(draw(law, arm, np.uint64(child(streams, arm)), counted[arm])))
            counted[arm] += 1
    assert rounds.any()
    assert {(one.side, one.arm): one.updates for one in agent.contradictions()} == {
        (side, k): int(rounds[row, k]) for row, side in enumerate(("lower", "upper")) for k in (0, 1) if rounds[row, k]
    }


def test_runs_are_those_of_simulate() -> None:
    """An arm of which nothing was played contradicts nothing; fewer looks see no more, and nothing sooner."""
    often = first_contradictions(mb.UCB(), WORLD, BOUNDS, horizon=2_000, runs=40, seed=3, checkpoints=200)
    seldom = first_contradictions(mb.UCB(), WORLD, BOUNDS, horizon=2_000, runs=40, seed=3, checkpoints=[500, 2_000])
    assert set(np.unique(seldom)) <= {0, 500, 2_000}
    assert ((seldom == 0) | ((often > 0) & (often <= seldom))).all()
    assert (seldom[:, 0, 0] > 0).mean() > 0.9
    with pytest.warns(UserWarning, match="outside its bounds"):
        pruned = mb.simulate(mb.GLUE(), WORLD, mb.MeanBounds([0.6, 0.1], [0.9, 0.5]), horizon=100, runs=5, seed=3)
    found = first_contradictions(mb.GLUE(), WORLD, mb.MeanBounds([0.6, 0.1], [0.9, 0.5]), horizon=100, runs=5, seed=3)
    assert not pruned.plays["GLUE"][:, 1].any()
    assert not found[:, :, 1].any()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([mb.OFUL(), WORLD, BOUNDS], "a policy without features"),
        ([mb.GLUE(), [0.4, 0.5], BOUNDS], "an environment such as"),
        ([mb.GLUE(), WORLD, None], "knowledge needs MeanBounds"),
    ],
)
def test_refused(arguments: list[Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        first_contradictions(*arguments)
    with pytest.raises(ValueError, match="the environment has 2 arms, the bounds have 1"):
        first_contradictions(mb.GLUE(), WORLD, BOUNDS.subset([0]))
    with pytest.raises(ValueError, match="error must be"):
        first_contradictions(mb.GLUE(), WORLD, BOUNDS, error=2.0)


def test_what_is_doubted_is_tried_and_found_out() -> None:
    """The best arm is pruned: certain bounds never see it, doubted ones do."""
    wrong, world = mb.MeanBounds([0.5, 0.78], [0.75, 0.95]), mb.Bernoulli([0.9, 0.8])
    size = {"horizon": 3_000, "runs": 20, "seed": 3}
    certain = first_contradictions(mb.GLUE(), world, wrong, **size)
    doubted = first_contradictions(mb.GLUE(), world, mb.Knowledge(wrong, trust=0.9), **size)
    assert not certain[:, 1, 0].any()
    assert np.all(doubted[:, 1, 0] > 0)
