"""The compiled loops against their slow twins: every assumption, method, kind of rewards and number of arms."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.logs import AnyExpert, ErringExpert, MarginalSensitivity, NearlyOptimalExpert, OptimalExpert
from meanbounds.logs.assumptions import Assumption, World
from meanbounds.logs.cells import Cells
from meanbounds.logs.confidence import METHODS
from meanbounds.logs.finite import finite_bounds, finite_checks
from meanbounds.logs.shares import Shares
from tests.logs.naive import naive_bet, naive_bounds, naive_check

ASSUMPTIONS = (
    AnyExpert(),
    AnyExpert(gap_high=0.4),
    OptimalExpert(gap_low=0.1),
    OptimalExpert(gap_low=0.05, gap_high=0.6),
    ErringExpert(0.08, gap_low=0.1, gap_high=0.7),
    NearlyOptimalExpert(0.05, gap_low=0.1),
    MarginalSensitivity(2.5),
    MarginalSensitivity(1.2) & ErringExpert(0.05) & AnyExpert(gap_high=0.5),
)
WORLD = World(("all",), 0.0, 1.0)


def random_cells(rng: np.random.Generator, arms: int, values: int) -> Cells:
    """A log of one context; some arms may have no rows. Two values are 0 and 1, none means sums alone."""
    size = int(10.0 ** rng.uniform(1.0, 5.0))
    shares = rng.dirichlet(np.full(arms, rng.choice([0.3, 1.0, 5.0])))
    edges = np.array([0.0, 1.0]) if values == 2 else np.sort(rng.random(max(values, 3)))
    laws = rng.dirichlet(np.full(edges.size, rng.choice([0.3, 2.0])), arms)
    sizes = rng.multinomial(size, shares)
    counted = np.array([[rng.multinomial(n, law) for n, law in zip(sizes, laws, strict=True)]], dtype=np.float64)
    sums = counted.sum(axis=2), counted @ edges, counted @ edges**2
    if not values:
        return Cells.without_values(*sums)
    if values > 3:  # in bins
        return Cells(*sums, np.maximum(edges - 0.01, 0.0), np.minimum(edges + 0.01, 1.0), counted)
    return Cells(*sums, edges, edges, counted)


def assert_outward(fast: Any, slow: Any, side: int, method: str = "betting") -> None:
    """Equal to rounding, on the safe side: a search may stop a little short, and a variance is rounded up.

    The square root makes 1e-7 of what a variance of 0 loses.
    """
    np.testing.assert_allclose(fast, slow, rtol=0.0, atol=1e-7 if method == "bernstein" else 2e-12)
    assert np.all(side * (np.asarray(fast) - slow) >= -2e-14)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("assumption", ASSUMPTIONS, ids=repr)
def test_every_assumption_and_method(assumption: Assumption, method: str) -> None:
    rng = np.random.default_rng(1)
    claims = assumption.claims(WORLD)
    kinds = ((3, 3), (6, 5)) if method == "betting" else tuple(product((0, 2, 3, 6), (1, 2, 4, 7)))
    for values, arms in kinds:
        cells = random_cells(rng, arms, values)
        shares = Shares.of(0.9, contexts=3, arms=arms, checks=1)
        slow = naive_bounds(cells, claims, shares, method)
        fast = finite_bounds(cells, None, claims, shares, method)
        assert_outward(fast[0][0], slow[0], -1, method)
        assert_outward(fast[1][0], slow[1], 1, method)
        for gap in (0.1, 0.6):
            check = finite_checks(cells, np.array([gap]), shares, method)[0]
            assert_outward(check, naive_check(cells, gap, shares, method), 1, method)


@pytest.mark.parametrize("method", ["bernstein", "hoeffding", "kl"])
def test_forty_and_ninety_arms(method: str) -> None:
    rng = np.random.default_rng(2)
    claims = OptimalExpert(gap_low=0.01, gap_high=0.4).claims(WORLD)
    for arms in (40, 90):
        cells = random_cells(rng, arms, 2)
        shares = Shares.of(0.95, contexts=1, arms=arms, checks=1)
        slow, fast = naive_bounds(cells, claims, shares, method), finite_bounds(cells, None, claims, shares, method)
        assert_outward(fast[0][0], slow[0], -1, method)
        assert_outward(fast[1][0], slow[1], 1, method)


def test_the_betting_limit_is_certain() -> None:
    """A search that stops early is on the safe side: never below the one that halves sixty times."""
    from meanbounds.kernels.logs.limits import upper_from_values

    rng = np.random.default_rng(3)
    for _ in range(100):
        values = np.sort(rng.random(int(rng.integers(1, 9))))
        counts = np.floor(10.0 ** rng.uniform(0.0, 5.0) * rng.dirichlet(np.full(values.size, 0.4))) + 1.0
        goal, rows = float(rng.uniform(0.1, 40.0)), float(counts.sum())
        fast = upper_from_values(values, counts, values.size, rows, goal)
        assert_outward(fast, naive_bet(values, counts, rows, goal), 1)


def test_many_contexts_in_threads_are_those_of_each_alone() -> None:
    rng = np.random.default_rng(4)
    contexts, arms = 9000, 6
    count = rng.multinomial(300, rng.dirichlet(np.ones(arms), contexts)).astype(float)
    total = rng.binomial(count.astype(int), rng.uniform(0.2, 0.9, count.shape)).astype(float)
    names = list(range(contexts))
    counts = mb.logs.Counts(names, ["a", "b", "c", "d", "e", "f"], count=count, total=total, squares=total)
    found = mb.logs.bounds(counts, gap_high=0.5, arms=counts.arms)
    claims, shares = OptimalExpert(gap_high=0.5).claims(WORLD), Shares.of(0.95, contexts=contexts, arms=arms, checks=0)
    for place in (0, 5461, 5462, 8999):
        sums = (part[place : place + 1] for part in (count, total, total))
        lower, upper = finite_bounds(Cells.without_values(*sums), None, claims, shares, "bernstein")
        np.testing.assert_allclose(found[place].lower, np.clip(lower[0], 0.0, 1.0), rtol=0.0, atol=1e-15)
        np.testing.assert_allclose(found[place].upper, np.clip(upper[0], 0.0, 1.0), rtol=0.0, atol=1e-15)
