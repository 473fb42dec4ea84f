"""Bounds from logs: by loops over rows and sets, by linear programs, and what holds of all of them."""

import itertools
import time
from math import inf, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import meanbounds as mb
from meanbounds.logs import Bounds, Counts, Experts, LogWarning, bounds, value
from meanbounds.support.types import Floats
from tests.logs.naive_bounds import FIELDS, Rows, naive_bounds, naive_lower, naive_upper

table: Any = Counts  # from lists
MIXED = [(), *itertools.combinations(FIELDS, 1), *itertools.combinations(FIELDS, 2), tuple(FIELDS)]


def counted(rows: Rows, arms: int, low: float = 0.0, high: float = 1.0) -> Counts:
    """Counts of rows whose rewards are in units of the range."""
    sums = np.zeros((3, 1, arms))
    for arm, unit in rows:
        reward = low + (high - low) * unit
        sums[:, 0, arm] += 1.0, reward, reward**2
    return table([None], list(range(arms)), *sums, low=low, high=high)


def many(share: Floats, mean: Floats) -> Counts:
    """A log so long that it is nearly infinite, with rewards of 0 and 1."""
    count = np.round(share * 1e13)
    total = np.round(count * mean)
    return table([None], list(range(share.size)), [count], [total], [total])


def random_rows(rng: np.random.Generator, arms: int, size: int) -> Rows:
    means = rng.uniform(0.35, 0.9, arms)
    chosen = rng.choice(arms, size, p=rng.dirichlet(np.full(arms, 1.5)))
    if rng.random() < 0.5:
        return [(int(k), float(rng.random() < means[k])) for k in chosen]
    return [(int(k), float(np.round(rng.beta(8 * means[k], 8 * (1 - means[k])), 2))) for k in chosen]


@pytest.mark.parametrize("names", MIXED, ids="+".join)
def test_by_loops_over_rows_and_sets(names: tuple[str, ...]) -> None:
    """All sets are tried for both limits. Only the Bernstein limit of a set that is not a prefix can be better."""
    rng, equal, compared = np.random.default_rng([1, *map(ord, "".join(names))]), 0, 0
    for _ in range(28):
        arms, size = int(rng.integers(1, 6)), int(rng.choice([1, 7, 60, 250]))
        rows = random_rows(rng, arms, size)
        experts = Experts(**{name: float(rng.choice(FIELDS[name])) for name in names})
        try:
            found = bounds(counted(rows, arms), experts)[None]
        except mb.BoundsError:
            continue
        k = int(rng.integers(arms))
        least, most = naive_bounds(rows, arms, k, experts, "both")
        fewer = naive_bounds(rows, arms, k, experts, "chernoff")
        assert max(fewer[0], 0.0) - 1e-9 <= found.lower[k] <= least + 1e-9
        assert most - 1e-9 <= found.upper[k] <= fewer[1] + 1e-9
        equal += int(abs(found.lower[k] - least) < 1e-9) + int(abs(found.upper[k] - most) < 1e-9)
        compared += 2
    assert compared >= 40
    assert equal >= 0.95 * compared


def kinds_of_case(gap_low: float, gap_high: float) -> Floats:
    """Every kind of case on a grid, of arms 0 (whose mean is bounded), 1 and 2: played, its mean, mean of 0, best."""
    grid, found = np.arange(11) / 10, []
    for played, y, v, best in itertools.product(range(3), grid, grid, grid):
        known = [y] if played == 0 else [v, y]
        if played == 0 and v != y:
            continue
        others = 3 - len(known)
        reached = sum(abs(best - mean) < 1e-9 for mean in known)
        fits = all(best - gap_high - 1e-9 <= mean <= best + 1e-9 for mean in known)
        apart = all(abs(best - mean) < 1e-9 or mean <= best - gap_low + 1e-9 for mean in known)
        below = max(0.0, best - gap_high) <= best - gap_low + 1e-9  # there is room for an arm that is not best
        if not (fits and apart) or (reached > 1 and gap_low > 0.0) or (not reached and not others):
            continue
        if others - (not reached) > 0 and not below:
            continue
        found.append((played, y, v, best))
    return np.array(found)


def test_an_infinite_log_gives_what_linear_programs_over_kinds_of_cases_give() -> None:
    """Means where an arm was chosen are at least gap_low from both ends: see the head of `claims`."""
    rng, compared, narrow = np.random.default_rng(2), 0, 0
    tables: dict[tuple[float, float], Floats] = {}
    for _ in range(120):
        share = rng.multinomial(20, rng.dirichlet([1.0, 1.0, 0.6])) / 20
        gap_low, gap_high = float(rng.choice([0.0, 0.1, 0.2])), float(rng.choice([0.3, 0.5, 0.8, 1.0]))
        mean = rng.integers(round(10 * gap_low), round(10 - 10 * gap_low) + 1, 3) / 10
        errors, loss = float(rng.choice([0.0, 0.1, 0.2, 0.5, 1.0])), float(rng.choice([0.0, 0.05, 0.1, 0.3, inf]))
        kinds = tables.setdefault((gap_low, gap_high), kinds_of_case(gap_low, gap_high))
        played, y, v, best = kinds.T
        same = [row for a in range(3) for row in ((played == a) * 1.0, (played == a) * y)]
        sums = [number for a in range(3) for number in (share[a], share[a] * mean[a])]
        most = [(best - y > 1e-9) * 1.0, best - y]
        ends: list[float] = []
        for sign in (1.0, -1.0):
            limits = [errors, min(loss, 1.0)]
            solved = linprog(-sign * v, A_ub=most, b_ub=limits, A_eq=same, b_eq=sums, method="highs")
            ends.append(np.nan if solved.fun is None else -sign * solved.fun)
        if np.isnan(ends).any():
            continue
        found = bounds(many(share, mean), Experts(errors, loss, gap_low, gap_high))[None]
        assert [found.lower[0], found.upper[0]] == pytest.approx([ends[1], ends[0]], abs=2e-5)
        compared, narrow = compared + 1, narrow + int(ends[0] < share[0] * mean[0] + 1.0 - share[0] - 0.01)
    assert compared >= 80
    assert narrow >= 40


def test_theorem_7_and_the_formulas_of_each_field_on_an_infinite_log() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        share, mean = rng.dirichlet(np.ones(4)), rng.uniform(0.3, 1.0, 4)
        low, high = float(rng.uniform(0.0, 0.25)), float(rng.uniform(0.3, 1.0))
        log_of, part, own = many(share, mean), share * mean, mean * share + 1.0 - share
        found = bounds(log_of, Experts(errors=0, gap_low=low, gap_high=high), shift=0.05)[None]
        exact = mb.theory.log_bounds(share, mean, gap_low=low, gap_high=high, shift=0.05)
        np.testing.assert_allclose([found.lower, found.upper], [exact.lower, exact.upper], atol=5e-5)
        expected: dict[Experts, Floats] = {
            Experts(): own,
            Experts(errors=0.1): np.minimum(part.sum() + 0.1, own),
            Experts(loss=0.03): np.minimum(part.sum() + 0.03, own),
            Experts(odds=2): part + (1.0 - share) * np.minimum(2.0 * mean, 0.5 + 0.5 * mean),
        }
        for experts, upper in expected.items():
            np.testing.assert_allclose(bounds(log_of, experts)[None].upper, upper, atol=5e-5)
        lower = part + (1.0 - share) * np.maximum(mean / 2.0, 2.0 * mean - 1.0)
        np.testing.assert_allclose(bounds(log_of, Experts(odds=2))[None].lower, lower, atol=5e-5)


@pytest.mark.parametrize("field", FIELDS)
def test_a_stronger_assumption_gives_bounds_inside(field: str) -> None:
    """Of a short log a larger gap_low can gain less than the noise that it adds, so its log is long."""
    rng, steps = np.random.default_rng(4), {"errors": (0.9, 0.5, 0.2, 0.05, 0.0), "loss": (0.9, 0.4, 0.1, 0.02)}
    steps |= {"gap_low": (0.01, 0.05, 0.1), "gap_high": (0.95, 0.7, 0.5, 0.4), "odds": (50.0, 6.0, 2.5, 1.7)}
    for _ in range(25):
        log_of = counted(random_rows(rng, 4, 400), 4)
        if field == "gap_low":
            log_of = many(log_of.shares[0], log_of.means[0])
        others = {"errors": 0.3, "loss": 0.2, "gap_low": 0.005, "gap_high": 0.97, "odds": 60.0}
        chosen = [name for name in others if name != field and rng.random() < 0.5]
        if field == "gap_low" and not {"errors", "loss"} & set(chosen):
            chosen.append("errors")
        before = None
        for step in steps[field]:
            try:
                found = bounds(log_of, Experts(**{name: others[name] for name in chosen}, **{field: step}))[None]
            except mb.BoundsError:
                break
            if before is not None:
                assert np.all(found.lower >= before.lower - 1e-12)
                assert np.all(found.upper <= before.upper + 1e-12)
            before = found


def test_odds_use_how_little_rewards_vary() -> None:
    """Rewards 0.4 and 0.6: with weights between 1/2 and 2 a mean of 0.5 moves by at most 0.1 times sqrt(1/2)."""
    half = [[5e12, 5e12]]
    found = bounds(table([None], [0, 1], half, [[2.5e12, 2.5e12]], [[1.3e12, 1.3e12]]), Experts(odds=2.0))[None]
    np.testing.assert_allclose(found.upper, 0.5 + 0.5 * 0.1 * sqrt(0.5), atol=1e-5)
    np.testing.assert_allclose(found.lower, 0.5 - 0.5 * 0.1 * sqrt(0.5), atol=1e-5)


def test_more_confidence_and_more_shift_give_wider_bounds() -> None:
    log_of = counted(random_rows(np.random.default_rng(5), 3, 300), 3)
    widths = [
        (own := bounds(log_of, Experts(errors=0.1), confidence=c, shift=s)[None]).upper - own.lower
        for c, s in ((0.5, 0.0), (0.9, 0.0), (0.99, 0.0), (0.99, 0.02), (0.99, 1.0))
    ]
    assert all(np.all(one < two) for one, two in itertools.pairwise(widths))
    np.testing.assert_array_equal(widths[-1], 1.0)


@pytest.mark.parametrize("names", MIXED, ids="+".join)
@pytest.mark.parametrize(("low", "high"), [(1.0, 5.0), (-3.0, -1.0), (0.0, 1e6)])
def test_other_ranges_are_the_unit_range_rescaled(names: tuple[str, ...], low: float, high: float) -> None:
    rows, width = random_rows(np.random.default_rng(6), 3, 500), high - low
    experts = {name: FIELDS[name][-1] for name in names} | ({"gap_low": 0.03} if "gap_low" in names else {})
    scaled = {name: x * width if name in ("loss", "gap_low", "gap_high") else x for name, x in experts.items()}
    unit, found = (
        bounds(counted(rows, 3, *ends), Experts(**given))
        for ends, given in (((0.0, 1.0), experts), ((low, high), scaled))
    )
    for side in ("lower", "upper"):
        np.testing.assert_allclose(getattr(found[None], side), low + width * getattr(unit[None], side), rtol=1e-7)
    np.testing.assert_allclose(found.value[None], low + width * np.array(unit.value[None]), rtol=1e-7)


@pytest.mark.parametrize(
    ("experts", "count", "total", "said"),
    [
        (Experts(errors=0.01, gap_low=0.6), [8000, 2000], [7000, 800], r"arm 'b'.*gap_low=0.6 above 0"),
        (Experts(errors=0.0, odds=1.2), [2000, 2000], [1900, 500], r"arm 'a'.*at least 0.92\d+ and at most 0.62"),
        (Experts(gap_high=0.05, odds=1.0), [2000, 2000], [1900, 500], r"arm 'a'.*at least 0.93\d+ and at most 0.65"),
    ],
)
def test_what_the_log_contradicts_is_refused_with_what_it_allows(
    experts: Experts, count: list[int], total: list[int], said: str
) -> None:
    log_of = table(["fine", "bad"], ["a", "b"], [[50, 50], count], [[25, 30], total], [[25, 30], total])
    with pytest.raises(mb.BoundsError, match=f"context 'bad', {said}.*The log allows ") as caught:
        bounds(log_of, experts)
    ways = str(caught.value).split("The log allows ")[1].removesuffix(", all else as it is").split(", or ")
    assert ways
    for way in ways:
        field, _, _, side, number = way.split()
        allowed = {**vars(experts), field: float(number)}
        bounds(log_of, Experts(**allowed))
        nearly = float(number) * (1.002 if side == "most" else 0.998)
        with pytest.raises(mb.BoundsError, match="contradicts"):
            bounds(log_of, Experts(**{**allowed, field: nearly}))


def test_bounds_of_two_periods_that_cross_are_a_contradiction() -> None:
    early, late = (table(["x"], ["a", "b"], [[950, 50]], [[total, 20]], [[total, 20]]) for total in (850, 300))
    with pytest.raises(mb.BoundsError, match="context 'x', arm 'a': the two sets of bounds contradict each other"):
        bounds(early) & bounds(late)
    both = bounds(early) & bounds(early, Experts(errors=0.1), confidence=0.99)
    assert both.confidence == pytest.approx(0.94)
    assert (both.rows, both.experts) == (2000, Experts(errors=0.1))
    assert both["x"] == bounds(early)["x"] & bounds(early, Experts(errors=0.1), confidence=0.99)["x"]


def test_arms_that_nobody_chose_and_contexts_without_rows() -> None:
    log_of = table(["x", "y"], ["a", "b"], [[90, 10], [0, 0]], [[60, 5], [0, 0]], [[60, 5], [0, 0]])
    found = bounds(log_of, Experts(errors=0.1), arms=["c", "b", "a"])
    assert found["x"].arms == ("c", "b", "a")
    assert found["x"].lower[0] == 0.0
    assert found["x"].upper[0] < 1.0  # the experts would have chosen it where it is best
    assert np.all(found["y"].lower == 0.0)
    assert np.all(found["y"].upper == 1.0)
    assert found.value["y"] == (0.0, 1.0)
    with pytest.raises(mb.BoundsError, match="arm 'a' has rows in the log, and is not among arms="):
        bounds(log_of, arms=["b"])


@pytest.mark.parametrize("wrong", [0.0, 1.0, 1.5, float("nan"), "0.9"])
def test_confidence_and_shift_are_checked(wrong: Any) -> None:
    no_counts: Any = [[1, 2]]
    log_of = counted([(0, 1.0), (1, 0.0)], 2)
    with pytest.raises(ValueError, match="confidence"):
        bounds(log_of, confidence=wrong)
    with pytest.raises(ValueError, match="confidence"):
        value(log_of, confidence=wrong)
    with pytest.raises(ValueError, match=r"shift is a total variation distance, from 0 to 1; got -0.1"):
        bounds(log_of, shift=-0.1)
    with pytest.raises(ValueError, match="shift is a total variation distance"):
        value(log_of, shift=-0.1)
    with pytest.raises(TypeError, match=r"counts must be those of a log, from meanbounds.logs.read"):
        bounds(no_counts)


def test_saved_and_loaded(tmp_path: Path) -> None:
    log_of = table([("x", "1"), ("y", "2")], ["a", "b"], [[90, 10], [5, 5]], [[60, 5], [2, 3]], [[60, 5], [2, 3]])
    found = bounds(log_of, Experts(errors=0.1, odds={("x", "1"): 2.0, ("y", "2"): 3.0}), shift=0.01)
    found.save(tmp_path / "bounds.json")
    again = Bounds.load(tmp_path / "bounds.json")
    assert again == found
    assert again.to_dict() == found.to_dict()
    with pytest.raises(ValueError, match="Bounds"):
        Bounds.from_dict({"contexts": []})


def test_value_by_rows() -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        rows = random_rows(rng, 3, int(rng.choice([1, 30, 400])))
        lower, upper = value(counted(rows, 3), confidence=0.9)
        moved = value(counted(rows, 3), confidence=0.9, shift=0.1)
        np.testing.assert_allclose(moved, (np.maximum(lower - 0.1, 0.0), np.minimum(upper + 0.1, 1.0)))
        y = [reward for _, reward in rows]
        assert lower[0] == pytest.approx(naive_lower(y, 0.0, log(20.0)), abs=1e-9)
        assert upper[0] == pytest.approx(naive_upper(y, 0.0, log(20.0)), abs=1e-9)


def test_known_propensities_by_rows() -> None:
    """The best over c = 0, 1/2 and 1; with both kinds of bounds, 0.9 of the weight and 0.1."""
    rng = np.random.default_rng(8)
    case = rng.random(400) < 0.5
    chance = np.where(case, 0.7, 0.2)
    arm = (rng.random(400) < chance).astype(int)
    given = np.where(arm == 1, chance, 1.0 - chance)
    reward = (rng.random(400) < 0.3 + 0.4 * case).astype(float)
    w, own = 1.0 / given, arm[:, None] == np.arange(2)
    parts = np.array([w, w * reward, w**2, w**2 * reward, w**2 * reward**2])
    sums = [(column[:, None] * own).sum(axis=0)[None] for column in (np.ones(400), reward, reward)]
    weighted = (parts[:, :, None] * own).sum(axis=1)[:, None, :]
    found = bounds(table([None], [0, 1], *sums, weighted=weighted, least=0.2))[None]
    nats = log(2.0) - log(0.05) + log(2.0) - log(0.98) - log(0.9) + log(3.0)
    for k in range(2):
        upper, lower = 1.0, 0.0
        for c in (0.0, 0.5, 1.0):
            unit = [c + 0.2 * (y - c) * v * (a == k) for y, v, a in zip(reward, w, arm, strict=True)]
            upper = min(upper, c + 5.0 * (naive_upper(unit, 0.0, nats) - c))
            lower = max(lower, c + 5.0 * (naive_lower(unit, 0.0, nats) - c))
        assert [found.lower[k], found.upper[k]] == pytest.approx([lower, upper], abs=1e-9)
    wrong = table([None], [0, 1], *sums, weighted=weighted * np.array([2, 2, 4, 4, 4])[:, None, None], least=0.1)
    with pytest.raises(mb.BoundsError, match="one over its propensity should average 1"):
        bounds(wrong)
    with pytest.warns(LogWarning, match="read it with least="):
        bounds(table([None], [0, 1], *sums, weighted=weighted))


def test_a_hundred_thousand_contexts_and_three_hundred_arms() -> None:
    """Within 10 seconds, and the bounds of one context do not depend on the parts that are computed at once."""
    rng = np.random.default_rng(9)
    count = rng.integers(0, 100, (100_000, 5))
    total = rng.binomial(count, 0.6)
    log_of = table([str(z) for z in range(100_000)], list("abcde"), count, total, total)
    start = time.process_time()
    found = bounds(log_of, Experts(errors=0.3, gap_high=0.9))
    assert time.process_time() - start < 10.0
    few = log_of.select(["99999"])
    alone = bounds(few, Experts(errors=0.3, gap_high=0.9), confidence=1.0 - 0.05 / 100_000)["99999"]
    np.testing.assert_allclose([found["99999"].lower, found["99999"].upper], [alone.lower, alone.upper], atol=1e-12)
    count = rng.integers(0, 100, (1, 300))
    total = rng.binomial(count, 0.6)
    start = time.process_time()
    wide = bounds(table([None], list(range(300)), count, total, total), Experts(gap_high=0.4))[None]
    assert time.process_time() - start < 5.0
    assert np.all(wide.lower > 0.1)  # sets of nearly all arms are worth their price
