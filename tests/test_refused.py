"""Wrong arguments of theory, arms with features and worlds are refused in words, not by errors of numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import meanbounds as mb

ANY: Any = mb  # for calls that the types would refuse already
TWO = mb.MeanBounds([0.2, 0.3], [0.6, 0.9])
ROWS = [[1.0, 0.0], [0.6, 0.8]]
ARMS = mb.LinearArms(ROWS, mb.MeanBounds.vacuous(2))
WORLD: Any = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]])


def linear(**more: Any) -> Any:
    return ANY.tighten(ROWS, TWO, **{"norm_high": 1.0, **more})


def world(**more: Any) -> Any:
    return ANY.HiddenContexts(**{"means": [[[0.9, 0.4], [0.3, 0.6]]], **more})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ANY.theory.lower_bound("a", TWO), "means must be numbers"),
        (lambda: ANY.theory.lower_bound([0.5, 10**400], TWO), "means must be numbers"),
        (lambda: ANY.theory.lower_bound([0.5, np.ma.masked], TWO), "masked"),
        (lambda: ANY.theory.lower_bound([0.5, 0.5], None), "bounds must be MeanBounds"),
        (lambda: ANY.theory.asymptotic_plays(mb.UCB(), [0.5, 0.5], {}), "bounds must be MeanBounds"),
        (lambda: ANY.theory.comparison([0.5, 0.5], TWO, form=np.array(["paper", "a"])), "form must be one of"),
        (lambda: ANY.theory.glue_regret([0.5, 0.5], TWO, 10**400), "horizon must be a whole number"),
        (lambda: ANY.theory.glue_regret([0.5, 0.5], TWO, [[1], [1, 2]]), "horizon must be a whole number"),
        (lambda: ANY.theory.glue_regret([0.5, 0.5], TWO, [3, np.ma.masked]), "horizon must be a whole number"),
        (lambda: ANY.theory.glue_regret(pd.NA, TWO, 10), "means must be numbers"),
        (lambda: ANY.theory.uncertain_regret(1.0, 0.1, 10, width="a"), "width must be numbers"),
        (lambda: ANY.theory.uncertain_regret([1.0, 2.0, 3.0], 0.1, [10, 20]), "fit together"),
        (lambda: ANY.theory.uncertain_regret(1.0, [10**400], 10), "failure must be numbers"),
        (lambda: ANY.theory.regret_bounds(7), "result of mb.simulate"),
        (lambda: ANY.theory.regret_slopes(mb.Regret), "result of mb.simulate"),
        (lambda: ANY.LinearArms([[1.0], [1.0, 2.0]], TWO), "features must be numbers"),
        (lambda: ANY.LinearArms([["a"], ["b"]], TWO), "features must be numbers"),
        (lambda: ANY.LinearArms([[1e200], [1.0]], TWO), "arm 0: its features"),
        (lambda: ANY.LinearArms(ROWS, [0.2, 0.3]), "bounds must be MeanBounds"),
        (lambda: ANY.LinearArms(ROWS, TWO, offset=10**400), "offset must be numbers"),
        (lambda: linear(norm_high=10**400), "norm_high must be numbers"),
        (lambda: linear(norm_high=np.complex128(1)), "norm_high must be a number"),
        (lambda: linear(norm_high=1e200), "norm_high must be a positive number"),
        (lambda: linear(extra=[[[10**400, 0.0]], 0.0, 1.0]), "extra must be"),
        (lambda: linear(extra=[np.zeros((1, 1, 2)), 0.0, 1.0]), "extra: the matrix must have 2"),
        (lambda: ANY.FeasibleSet(TWO, norm_high=1.0), "LinearArms"),
        (lambda: ANY.FeasibleSet(ARMS, norm_high=2.0).bound([1.0]), "features must be 2 numbers"),
        (lambda: ANY.FeasibleSet(ARMS, norm_high=2.0).bound([1.0, 0.0], "a"), "offset must be numbers"),
        (lambda: ANY.TightBounds([0.2], [0.6], lower_exact="yes"), "lower_exact must be numbers"),
        (lambda: ANY.TightBounds([0.2], [0.6], upper_exact=[True, False]), "upper_exact must be True or False"),
        (lambda: ANY.TightBounds([0.2], [0.6], peaks=[["a"]]), "peaks must be numbers"),
        (lambda: world(means=[[[0.9], [0.3, 0.6]]]), "means must be numbers"),
        (lambda: world(low="a"), "low must be numbers"),
        (lambda: world(high=1e200), "must be finite"),
        (lambda: world(probabilities=[["a", "b"]]), "probabilities must be numbers"),
        (lambda: world(contexts=3), "contexts must be a list"),
        (lambda: world(arms=3), "arms must be a list"),
        (lambda: ANY.HiddenContexts.random(2.5), "visible must be a whole number"),
        (lambda: ANY.HiddenContexts.random(high=-1.0), "low below high"),
        (lambda: WORLD.log(2.5), "at least one row"),
        (lambda: WORLD.log(True), "at least one row"),
        (lambda: WORLD.sample(None), "at least one row"),
        (lambda: WORLD.environment("z9"), "unknown context 'z9'"),
        (lambda: WORLD.simulate(mb.UCB(), 0.5), "mapping from contexts"),
    ],
)
def test_wrong_arguments_are_refused_in_words(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_small_integers_of_numpy_are_numbers_of_rows() -> None:
    assert len(WORLD.log(np.int8(100), seed=1)) == 100
    assert ANY.HiddenContexts.random(np.int8(2), np.uint8(3), arms=np.int16(2), seed=1).means.shape == (2, 3, 2)
