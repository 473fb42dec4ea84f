"""Theorems 7 and 9: worlds with hidden contexts, the worlds that attain the bounds, and the printed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.support.types import Floats
from meanbounds.theory import linear_log_bounds, log_bounds


def what_the_log_says(chance: Floats, table: Floats) -> tuple[Floats, Floats]:
    """Shares and mean rewards of an expert who plays the best arm of each hidden context (a row of the table)."""
    played = np.eye(table.shape[1])[table.argmax(axis=1)]
    shares = chance @ played
    with np.errstate(invalid="ignore"):
        return shares, chance @ (played * table) / shares


class TestTheorem7:
    def test_means_of_random_worlds_are_within(self) -> None:
        """Gaps of the world itself, any range, with and without a shift of the hidden contexts."""
        rng, tightest = np.random.default_rng(1), np.inf
        for _ in range(400):
            arms, hidden, width = int(rng.integers(2, 6)), int(rng.integers(1, 9)), rng.choice([1.0, 4.0])
            chance, table = rng.dirichlet(np.full(hidden, 0.7)), 1.0 + width * rng.beta(0.6, 0.6, (hidden, arms))
            ordered = np.sort(table, axis=1)
            gap_low, gap_high = (ordered[:, -1] - ordered[:, -2]).min(), (ordered[:, -1] - ordered[:, 0]).max()
            log = what_the_log_says(chance, table)
            options = {"gap_low": gap_low, "gap_high": gap_high, "low": 1.0, "high": 1.0 + width}
            bounds = log_bounds(*log, **options)
            assert bounds.contains(chance @ table).all()
            tightest = min(tightest, float((bounds.upper - chance @ table).min()) / width)
            other = rng.dirichlet(np.full(hidden, 0.7))
            moved = float(np.abs(other - chance).sum() / 2)
            entry = np.abs(other - chance).max()
            assert moved <= min(1.0, hidden // 2 * entry) + 1e-12  # what follows from the printed largest difference
            assert log_bounds(*log, **options, shift=moved).contains(other @ table).all()
        assert tightest < 1e-9

    def test_both_sides_are_attained(self) -> None:
        """Proposition 8, with one hidden context for each arm of the log, whose best mean is the average seen there."""
        rng = np.random.default_rng(2)
        for _ in range(100):
            shares, gap_low = rng.dirichlet(np.ones(4)), rng.uniform(0.0, 0.3)
            means, gap_high = rng.uniform(gap_low, 1.0, 4), rng.uniform(gap_low, 1.0)
            bounds = log_bounds(shares, means, gap_low=gap_low, gap_high=gap_high)
            best = np.eye(4, dtype=bool)
            highest = np.where(best, means[:, None], means[:, None] - gap_low)
            np.testing.assert_allclose(shares @ highest, bounds.upper, atol=1e-12)
            for k in range(4):
                lowest = highest.copy()
                lowest[:, k] = np.where(best[:, k], means, np.maximum(means - gap_high, 0.0))
                assert shares @ lowest[:, k] == pytest.approx(bounds.lower[k], abs=1e-12)
                gaps = (means[:, None] - lowest)[~best]
                assert np.all((gaps >= gap_low - 1e-12) & (lowest[~best] >= -1e-12))
                assert np.all(gaps <= max(gap_low, gap_high) + 1e-12)

    def test_the_printed_instance_for_the_lower_bound_can_need_negative_means(self) -> None:
        """Arm 1 is best in two hidden contexts with means 0.9 and 0.1: on average 0.5, above gap_high = 0.4.

        The printed instance gives arm 0 the mean 0.1 - 0.4 in the second. The bound is right: 0.5 - 0.4, times 1/2.
        """
        assert min(0.9 - 0.4, 0.1 - 0.4) < 0.0
        found = log_bounds([0.5, 0.5], [0.8, 0.5], gap_low=0.05, gap_high=0.4)
        assert found.lower[0] == pytest.approx(0.5 * 0.8 + 0.5 * (0.5 - 0.4))

    def test_the_printed_recipe_excludes_the_truth(self) -> None:
        """Two hidden contexts, 9 to 1, arm means (0.9, 0.5) and (0.2, 0.6), no gaps: the upper bounds are 0.87.

        Averages in place of contributions add up to 1.5, above the range. With one row left for each arm, shares would
        be 1/2 each: the upper bounds would be 0.75, below the true mean 0.83 of arm 0.
        """
        log = what_the_log_says(np.array([0.9, 0.1]), np.array([[0.9, 0.5], [0.2, 0.6]]))
        assert log_bounds(*log).upper == pytest.approx([0.87, 0.87])
        assert log[1].sum() == pytest.approx(1.5)
        assert log_bounds([0.5, 0.5], log[1]).upper[0] == pytest.approx(0.75)

    @pytest.mark.parametrize(
        ("log", "options", "words"),
        [
            (([0.5, 0.4], [0.5, 0.5]), {}, "shares must be probabilities that sum to 1; .* Divide counts by their sum"),
            (([0.5, 0.5], [0.5]), {}, "one share and one mean for each arm"),
            (([0.5, 0.5], [0.5, np.nan]), {}, "arm 1 was played"),
            (([0.5, 0.5], [0.5, 2.0]), {}, "arm 1: its mean reward 2 is outside the range"),
            (
                ([0.5, 0.5], [0.5, 0.1]),
                {"gap_low": 0.2},
                "arm 1: its mean reward 0.1 is less than gap_low=0.2 above 0,",
            ),
            (([0.5, 0.5], [0.5, 0.5]), {"gap_low": 0.5, "gap_high": 0.2}, "0 <= gap_low <= gap_high"),
            (([0.5, 0.5], [0.5, 0.5]), {"shift": 2.0}, "shift is a total variation"),
            (([0.5, 0.5], [0.5, 0.5]), {"arms": ["a"]}, "1 arm names for 2 shares"),
        ],
    )
    def test_wrong_input_is_named(self, log: Any, options: dict[str, Any], words: str) -> None:
        with pytest.raises(ValueError, match=words):
            log_bounds(*log, **options)


class TestTheorem9:
    def test_means_of_random_worlds_are_within_and_the_printed_bounds_exclude_some(self) -> None:
        """5 dimensions, 6 arms, entries of the hidden parameter in [0.2, 0.6]."""
        rng, excluded, ratios = np.random.default_rng(3), 0, []
        for _ in range(15):
            hidden, known = rng.normal(size=(6, 5)), rng.normal(size=6) * 0.3
            drawn = rng.uniform(0.2, 0.6, (300, 5))
            table, chance = known + drawn @ hidden.T, np.full(300, 1 / 300)
            log, truth = what_the_log_says(chance, table), chance @ table
            sides = {
                form: linear_log_bounds(*log, known, hidden, box_low=0.2, box_high=0.6, form=form)
                for form in ("corrected", "sharp", "paper")
            }
            for form in ("corrected", "sharp"):
                lower, upper = sides[form]
                assert np.all((lower <= truth + 1e-7) & (truth <= upper + 1e-7))
            excluded += int(np.sum((truth < sides["paper"][0] - 1e-7) | (truth > sides["paper"][1] + 1e-7)))
            ratios.append(
                np.sum(sides["sharp"][1] - sides["sharp"][0]) / np.sum(sides["corrected"][1] - sides["corrected"][0])
            )
        assert excluded >= 60  # of 90
        assert 0.4 < min(ratios) < max(ratios) <= 1.0

    def test_the_corrected_form_by_hand_and_a_box_for_each_coordinate(self) -> None:
        """a = (2, -1), box [0, 1] x [0.5, 1]: <a, T> is between -1 and 1.5; p = 1/4, nu = 0.9, known part 0.1."""
        hidden = [[2.0, -1.0], [0.0, 0.0]]
        lower, upper = linear_log_bounds([0.25, 0.75], [0.9, 1.0], [0.1, 1.0], hidden, box_low=[0.0, 0.5], box_high=1.0)
        assert lower[0] == pytest.approx(0.25 * 0.9 + 0.75 * (0.1 - 1.0))
        assert upper[0] == pytest.approx(0.25 * 0.9 + 0.75 * (0.1 + 1.5))

    def test_a_log_that_nothing_explains(self) -> None:
        log: dict[str, Any] = {"shares": [0.5, 0.5], "means": [0.2, 0.9], "known": [0.0, 0.5], "hidden": [[1.0], [0.0]]}
        with pytest.raises(mb.BoundsError, match="arm 0: no hidden parameter in the box"):
            linear_log_bounds(**log, box_low=0.0, box_high=1.0, form="sharp")
        with pytest.raises(ValueError, match="box_low <= box_high"):
            linear_log_bounds(**log, box_low=1.0, box_high=0.0)
        with pytest.raises(ValueError, match="known must have one entry and hidden one row"):
            linear_log_bounds(**{**log, "known": [0.0]}, box_low=0.0, box_high=1.0)
