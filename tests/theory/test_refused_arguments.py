"""Every function of the theory names what is wrong with its arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.linear.oful import OFUL

theory: Any = mb.theory  # called with arguments of wrong types
TWO, NAMED, HALF = mb.MeanBounds.vacuous(2), mb.MeanBounds.vacuous(["a", "b"]), [0.5, 0.5]
LOG: dict[str, Any] = {"shares": HALF, "means": [0.2, 0.9], "known": [0.0, 0.5], "hidden": [[1.0], [0.0]]}
CASES: list[tuple[str, Callable[[], object]]] = [
    ("form must be one of 'corrected'", lambda: theory.glue_regret([0.9, 0.8], TWO, 10, form="printed")),
    ("horizon must be a whole number", lambda: theory.glue_regret([0.9, 0.8], TWO, [10, 0])),
    (r"p must lie in \[0, 1\]", lambda: theory.bernoulli_kl(1.2, 0.5)),
    ("needs budget >= 0", lambda: theory.bernoulli_kl_upper(0.2, -1.0)),
    ("horizon must be .* write 10_000", lambda: theory.glue_regret([0.9, 0.8], TWO, 1e4)),
    ("got 1 means for 2 arms", lambda: theory.glue_regret([0.9], TWO, 10)),
    ("is for UCB, BUCB, ImprovedUCB and GLUE", lambda: theory.glue_regret([0.9, 0.8], TWO, 10, policy=mb.KLUCB())),
    (r"did you mean GLUE\(\)\?", lambda: theory.glue_regret([0.9, 0.8], TWO, 10, policy=mb.GLUE)),
    ("the theorem is for f =", lambda: theory.asymptotic_constant(mb.GLUE(f="t"), [0.9, 0.8], TWO)),
    ("no theorem is known for it", lambda: theory.asymptotic_constant("GLUE", [0.9, 0.8], TWO)),
    ("bounds must be MeanBounds", lambda: theory.lower_bound([0.9], [0.5])),
    ("failure must be probabilities", lambda: theory.uncertain_regret(1.0, [0.5, 1.5], 10)),
    ("regret_bound must not be negative", lambda: theory.uncertain_regret(-1.0, 0.5, 10)),
    ("sum to 1; .* Divide counts by their sum", lambda: theory.log_bounds([0.5, 0.4], HALF)),
    ("arm 1 was played", lambda: theory.log_bounds(HALF, [0.5, np.nan])),
    ("arm 1: its mean reward 2 is outside the range", lambda: theory.log_bounds(HALF, [0.5, 2.0])),
    ("reward 0.1 is less than gap_low=0.2 above 0", lambda: theory.log_bounds(HALF, [0.5, 0.1], gap_low=0.2)),
    ("shift is a total variation", lambda: theory.log_bounds(HALF, HALF, shift=2.0)),
    ("box_low <= box_high", lambda: theory.linear_log_bounds(**LOG, box_low=1.0, box_high=0.0)),
    ("arm 'a' has norm 2", lambda: theory.linear_regret(OFUL(), [[2.0], [1.0]], NAMED, 10, form="paper")),
    ("is for OFUL and ROFUL", lambda: theory.linear_regret(mb.GLUE(), [[2.0], [1.0]], NAMED, 10)),
    ("rounds must be a whole number", lambda: theory.linear_regret(OFUL(), [[2.0], [1.0]], NAMED, [0])),
    (r"the result of mb\.simulate", lambda: theory.regret_bounds(mb.Regret)),
]


@pytest.mark.parametrize(("words", "call"), CASES, ids=[words for words, _ in CASES])
def test_wrong_arguments_are_named(words: str, call: Callable[[], object]) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        call()
