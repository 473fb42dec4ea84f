"""Theorems 7 and 9: worlds with hidden contexts, the worlds that attain the bounds, and the printed forms."""

from itertools import combinations
from typing import Literal

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.support.types import Floats
from meanbounds.theory import linear_log_bounds, log_bounds

FORMS: tuple[Literal["sharp", "corrected"], ...] = ("sharp", "corrected")


def what_the_log_says(chance: Floats, table: Floats) -> tuple[Floats, Floats]:
    """Shares and mean rewards of an expert who plays the best arm of each hidden context (a row of the table)."""
    played = np.eye(table.shape[1])[table.argmax(axis=1)]
    with np.errstate(invalid="ignore"):
        return chance @ played, chance @ (played * table) / (chance @ played)


def test_means_of_random_worlds_are_within() -> None:
    """Gaps of the world itself, two ranges, with and without a shift of the hidden contexts."""
    rng, tightest = np.random.default_rng(1), np.inf
    for _ in range(400):
        arms, hidden, width = int(rng.integers(2, 6)), int(rng.integers(1, 9)), float(rng.choice([1.0, 4.0]))
        (chance, other), table = rng.dirichlet(np.full(hidden, 0.7), 2), 1 + width * rng.beta(0.6, 0.6, (hidden, arms))
        ordered, log = np.sort(table, axis=1), what_the_log_says(chance, table)
        low, high = (ordered[:, -1] - ordered[:, -2]).min(), (ordered[:, -1] - ordered[:, 0]).max()
        bounds = log_bounds(*log, gap_low=low, gap_high=high, low=1.0, high=1.0 + width)
        assert bounds.contains(chance @ table).all()
        tightest = min(tightest, float((bounds.upper - chance @ table).min()) / width)
        moved = float(np.abs(other - chance).sum() / 2)
        assert moved <= hidden // 2 * np.abs(other - chance).max() + 1e-12  # from the printed largest difference
        wider = log_bounds(*log, gap_low=low, gap_high=high, shift=moved, low=1.0, high=1.0 + width)
        assert wider.contains(other @ table).all()
    assert tightest < 1e-9


def test_both_sides_are_attained() -> None:
    """Proposition 8, with one hidden context for each arm of the log, whose best mean is the average seen there."""
    rng, best = np.random.default_rng(2), np.eye(4, dtype=bool)
    for _ in range(100):
        shares, gap_low = rng.dirichlet(np.ones(4)), rng.uniform(0.0, 0.3)
        means, gap_high = rng.uniform(gap_low, 1.0, 4), rng.uniform(gap_low, 1.0)
        bounds = log_bounds(shares, means, gap_low=gap_low, gap_high=gap_high)
        highest = np.where(best, means[:, None], means[:, None] - gap_low)
        np.testing.assert_allclose(shares @ highest, bounds.upper, atol=1e-12)
        for k in range(4):
            lowest = highest.copy()
            lowest[:, k] = np.where(best[:, k], means, np.maximum(means - gap_high, 0.0))
            assert shares @ lowest[:, k] == pytest.approx(bounds.lower[k], abs=1e-12)
            gaps = (means[:, None] - lowest)[~best]
            assert np.all((gap_low - 1e-12 <= gaps) & (gaps <= gap_high + 1e-12) & (lowest[~best] >= -1e-12))


def test_the_printed_recipe_excludes_the_truth() -> None:
    """Two hidden contexts, 9 to 1, arm means (0.9, 0.5) and (0.2, 0.6), no gaps: the upper bounds are 0.87.

    Averages in place of contributions add up to 1.5, above the range. With one row left for each arm, shares would
    be 1/2 each: the upper bounds would be 0.75, below the true mean 0.83 of arm 0.
    """
    chance, table = np.array([0.9, 0.1]), np.array([[0.9, 0.5], [0.2, 0.6]])
    shares, means = what_the_log_says(chance, table)
    assert log_bounds(shares, means).upper == pytest.approx([0.87, 0.87])
    assert means.sum() == pytest.approx(1.5)
    assert log_bounds([0.5, 0.5], means).upper[0] == pytest.approx(0.75)
    assert chance @ table[:, 0] == pytest.approx(0.83)


def test_the_corrected_linear_form_by_hand_and_a_box_for_each_coordinate() -> None:
    """a = (2, -1), box [0, 1] x [0.5, 1]: <a, T> is between -1 and 1.5; p = 1/4, nu = 0.9, known part 0.1."""
    log = [0.25, 0.75], [0.9, 1.0], [0.1, 1.0], [[2.0, -1.0], [0.0, 0.0]]
    lower, upper = linear_log_bounds(*log, box_low=[0.0, 0.5], box_high=1.0)
    assert lower[0] == pytest.approx(0.25 * 0.9 + 0.75 * (0.1 - 1.0))
    assert upper[0] == pytest.approx(0.25 * 0.9 + 0.75 * (0.1 + 1.5))


def corners(rows: Floats, ends: Floats) -> Floats:
    """Every corner of the polygon of all x with rows x <= ends."""
    found = []
    for i, j in combinations(range(len(rows)), 2):
        pair = rows[[i, j]]
        if abs(np.linalg.det(pair)) > 1e-9:
            x = np.linalg.solve(pair, ends[[i, j]])
            if np.all(rows @ x <= ends + 1e-9):
                found.append(x)
    return np.array(found)


def test_sharp_bounds_by_the_corners_of_each_polygon() -> None:
    """Two hidden coordinates, each with its own box: linear functions are least and largest at corners."""
    rng, narrower = np.random.default_rng(4), 0
    for _ in range(60):
        hidden, known = rng.normal(size=(4, 2)), rng.normal(size=4) * 0.3
        low = rng.uniform(0.0, 0.4, 2)
        high = low + rng.uniform(0.1, 0.6, 2)
        table = known + rng.uniform(low, high, (50, 2)) @ hidden.T
        shares, means = what_the_log_says(np.full(50, 0.02), table)
        expected = np.zeros((2, 4))
        for j in np.flatnonzero(shares):
            rows = np.vstack([hidden - hidden[j], hidden[j], -hidden[j], np.eye(2), -np.eye(2)])
            ends = [*(known[j] - known), means[j] - known[j], known[j] - means[j], *high, *-low]
            values = known + corners(rows, np.array(ends)) @ hidden.T
            expected += shares[j] * np.stack([values.min(axis=0), values.max(axis=0)])
        sharp, corrected = (
            linear_log_bounds(shares, means, known, hidden, box_low=low, box_high=high, form=form) for form in FORMS
        )
        np.testing.assert_allclose(sharp, expected, atol=1e-7)
        assert np.all((corrected[0] <= sharp[0] + 1e-7) & (sharp[1] <= corrected[1] + 1e-7))
        narrower += int(np.sum(sharp[1] - sharp[0]) < 0.9 * np.sum(corrected[1] - corrected[0]))
    assert narrower >= 30


def test_a_log_that_no_hidden_parameter_explains() -> None:
    with pytest.raises(mb.BoundsError, match="arm 0: no hidden parameter in the box"):
        linear_log_bounds([0.5, 0.5], [0.2, 0.9], [0.0, 0.5], [[1.0], [0.0]], box_low=0.0, box_high=1.0, form="sharp")
