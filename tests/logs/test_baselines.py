"""What a log says at its face value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import meanbounds as mb


@pytest.mark.parametrize("method", ["bernstein", "kl", "hoeffding"])
def test_limits_hold_in_all_contexts_at_once(method: str) -> None:
    """At 80% in 400 logs of random worlds, by an exact test; and they are no wider than they need to be."""
    failures, widths = 0, []
    for seed in range(400):
        world = mb.HiddenContexts.random(visible=3, hidden=4, arms=3, seed=seed)
        found = mb.logs.baselines(world.sample(600, seed=seed), confidence=0.8, method=method)
        values = {z: own.expert for z, own in mb.logs.baselines(world.counts(), infinite=True).items()}
        inside = [own.expert_lower <= values[context] <= own.expert_upper for context, own in found.items()]
        widths += [own.expert_upper - own.expert_lower for own in found.values()]
        failures += not all(inside)
    assert stats.binomtest(failures, 400, 0.2, alternative="greater").pvalue > 0.001
    assert np.mean(widths) < 0.4


def test_an_infinite_log_has_no_limits_and_weights_that_are_not_whole_have_those_of_the_range() -> None:
    count, total, squares = [[9.0, 3.0], [0.0, 0.0]], [[20.0, 9.0], [0.0, 0.0]], [[50.0, 29.0], [0.0, 0.0]]
    counts = mb.logs.Counts(["a", "empty"], [1, 2], count=count, total=total, squares=squares, low=1.0, high=5.0)
    (own,) = mb.logs.baselines(counts, infinite=True).values()
    assert own.expert_lower == own.expert == own.expert_upper == pytest.approx(29 / 12)
    assert (own.naive_best, own.naive_mean, own.most_frequent, own.share, own.rows) == (2, 3.0, 1, 0.75, 12.0)
    frame = pd.DataFrame({"arm": [1, 2], "reward": [0.0, 1.0], "n": [1.5, 2.0]})
    weighted = mb.logs.read(frame, arm="arm", reward="reward", weight="n")
    (own,) = mb.logs.baselines(weighted).values()
    assert (own.expert_lower, own.expert_upper) == (0.0, 1.0)


def test_verdicts() -> None:
    total = [[900.0, 0.0]]
    counts = mb.logs.Counts(["all"], ["a", "b"], count=[[1000.0, 0.0]], total=total, squares=total)
    own = mb.logs.baselines(counts)["all"]
    for lower, upper, says in ((0.2, 0.8, "worse than"), (0.95, 1.0, "better than"), (0.2, 0.95, "open")):
        assert says in own.verdict(mb.MeanBounds([0.1, lower], [0.2, upper]))
