"""Tipping values: by a search with `bounds` alone, and in words."""

from math import inf
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.logs import Counts, Experts, Tip, bounds, tipping

table: Any = Counts  # from lists
BASES = (
    Experts(),
    Experts(errors=0.05),
    Experts(errors=0.02, gap_low=0.2, gap_high=0.8),
    Experts(loss=0.05, gap_low=0.1),
    Experts(odds=1.4),
    Experts(errors=0.1, odds=3.0, gap_high=0.7),
)


def random_log(rng: np.random.Generator) -> Counts:
    count = np.round(rng.dirichlet([8.0, 1.0, 1.0], 2) * rng.choice([2000, 20_000]))
    total = rng.binomial(count.astype(int), rng.uniform([0.75, 0.3, 0.2], [0.95, 0.9, 0.6], (2, 3)))
    low, high = (1.0, 5.0) if rng.random() < 0.5 else (0.0, 1.0)
    sums = low * count + (high - low) * total, low**2 * count + (high**2 - low**2) * total
    return table(["x", "y"], ["a", "b", "c"], count, *sums, low=low, high=high)


def possible(counts: Counts, experts: Experts, shift: float, context: str) -> tuple[bool, ...] | None:
    """Which arms can be best; None if the log contradicts what is assumed."""
    try:
        return tuple(bounds(counts, experts, shift=shift)[context].possible.tolist())
    except mb.BoundsError:
        return None


def scaled(experts: Experts, width: float) -> dict[str, Any]:
    return {name: x * width if name in ("loss", "gap_low", "gap_high") else x for name, x in vars(experts).items()}


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_by_a_search_with_bounds(base: Experts) -> None:
    """At each tip other arms can be best, a little before they are the same; without a tip the ends agree."""
    rng, tips, ends = np.random.default_rng(1), 0, 0
    for _ in range(7):
        counts = random_log(rng)
        width = counts.high - counts.low
        given = scaled(base, width)
        if possible(counts, Experts(**given), 0.0, "x") is None:
            continue
        found = tipping(counts, Experts(**given))
        for context in ("x", "y"):
            alone = Experts(**given)
            before = possible(counts, alone, 0.0, context)
            assert before is not None
            for tip in found[context]:
                start = 0.0 if tip.field == "shift" else given[tip.field]
                start = min(start, width) if tip.field in ("loss", "gap_high") else start
                nearly = tip.value + 1e-4 * (min(start, 1e6) - tip.value) if tip.field != "odds" else tip.value
                if tip.field == "odds":
                    nearly = 1 / (1 / tip.value + 1e-4 * (1 / start - 1 / tip.value))
                after, same = (
                    possible(counts, alone, value, context)
                    if tip.field == "shift"
                    else _of_one(counts, given, tip.field, value, context)
                    for value in (tip.value, nearly)
                )
                assert same == before
                arms = np.array(counts.arms)
                assert tip.enter == tuple(arms[np.array(after) & ~np.array(before)].tolist())
                assert tip.leave == tuple(arms[np.array(before) & ~np.array(after)].tolist())
                tips += 1
            weaker = {tip.field for tip in found[context] if tip.weaker}
            for field, end in (("errors", 1.0), ("loss", inf), ("gap_low", 0.0), ("gap_high", inf), ("odds", inf)):
                if field not in weaker and given[field] != end:
                    nearly_end = {"errors": 1.0 - 1e-9, "loss": width * (1 - 1e-9), "gap_high": width * (1 - 1e-9)}
                    last = nearly_end.get(field, 1e9 if field == "odds" else 1e-9)
                    assert _of_one(counts, given, field, last, context) == before
                    ends += 1
    assert tips >= 3
    assert ends >= 2 or base == Experts()


def _of_one(counts: Counts, given: dict[str, Any], field: str, value: float, context: str) -> Any:
    """The decision if the field has this value in this context alone; the other keeps what is assumed."""
    other = "y" if context == "x" else "x"
    return possible(counts, Experts(**{**given, field: {context: value, other: given[field]}}), 0.0, context)


def test_shift_by_hand() -> None:
    """With bounds [0.72, 0.9] and [0, 0.5] of an infinite log, a shift of 0.11 lets the second arm be best."""
    count, total = [[8e13, 2e13]], [[7.2e13, 0.8e13]]
    counts = table([None], ["a", "b"], count, total, total)
    tips = tipping(counts, Experts(errors=0, gap_low=0.3))[None]
    own = bounds(counts, Experts(errors=0, gap_low=0.3))[None]
    (moved,) = (tip for tip in tips if tip.field == "shift")
    assert moved.value == pytest.approx((own.lower[0] - own.upper[1]) / 2, abs=1e-6)
    assert (moved.enter, moved.leave, moved.weaker) == (("b",), (), True)
    assert str(moved) == f"shift {moved.value:.3g} or more: “b” can be best too"


def test_some_contexts_keep_the_confidence_of_all() -> None:
    rng = np.random.default_rng(2)
    counts = random_log(rng)
    every = tipping(counts, Experts(errors=0.05))
    assert tipping(counts, Experts(errors=0.05), contexts=["y"]) == {"y": every["y"]}
    with pytest.raises(LookupError, match="unknown context 'z'"):
        tipping(counts, contexts=["z"])


def test_words_and_nothing_to_say() -> None:
    tip = Tip("x", "gap_low", 0.25, weaker=False, enter=("a",), leave=("b", "c"))
    assert str(tip) == "gap_low 0.25 or more: “a” can be best too, and “b” and “c” can no longer be best"
    alone = table([None], ["a"], [[10]], [[5]], [[5]])
    assert tipping(alone, Experts(errors=0.1)) == {None: ()}
    with pytest.raises(mb.BoundsError, match="contradicts"):
        tipping(table([None], ["a", "b"], [[8000, 2000]], [[7000, 800]], [[7000, 800]]), Experts(0.0, gap_low=0.6))
