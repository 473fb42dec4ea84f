"""Rows without a reward: engines count them alike, and bounds hold whatever their rewards were, within what is said."""

from collections import Counter
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import meanbounds as mb
from meanbounds.logs import Counts, Experts, LogError, bounds, value
from meanbounds.support.types import Floats
from tests.logs.engines import in_engine

table: Any = Counts  # from lists
pytestmark = pytest.mark.filterwarnings("ignore::meanbounds.logs.LogWarning")  # that rewards are missing
ERROR, UNLIKELY = 0.05, 1e-6  # `UNLIKELY` is how often a test fails although bounds hold as often as they say


@pytest.mark.parametrize("distinct", [2, 1000])
def test_engines_count_rows_without_a_reward_and_values_of_an_instrument(
    distinct: int, request: pytest.FixtureRequest
) -> None:
    random = np.random.default_rng(distinct)
    names = [random.choice(own, 900).tolist() for own in (["w2", "w10", "w1"], ["old", "young"], ["x", "y"])]
    earned = (random.integers(0, distinct, 900) / (distinct - 1)).tolist()
    lost = random.choice(3, 900, p=[0.8, 0.1, 0.1]).tolist()
    rewards = [(one, None, nan)[place] for one, place in zip(earned, lost, strict=True)]
    rows = list(zip(*names, rewards, strict=True))
    asked: dict[str, Any] = {"context": "z", "missing": 0.25, "instrument": "ward"}
    columns, found = {"ward": "text", "z": "text", "arm": "text", "reward": "float"}, []
    for engine in ("duckdb", "postgres", "spark"):
        with in_engine(engine, request, columns, rows) as (source, connection):
            found.append(mb.logs.read(source, connection=connection, **asked))
    number = Counter((*own[:3], own[3] is None or own[3] != own[3]) for own in rows)
    for counts in found:
        assert counts.instrument is not None
        assert counts.missing is not None
        assert counts.instrument.values == ("w1", "w2", "w10")
        assert (counts.apart, counts.contexts, counts.arms) == (0.25, ("old", "young"), ("x", "y"))
        for (i, k, j), _ in np.ndenumerate(counts.instrument.sums[0]):
            key = counts.instrument.values[i], counts.contexts[k], counts.arms[j]
            own = [row[3] for row in rows if row[:3] == key and row[3] == row[3] and row[3] is not None]
            assert counts.instrument.sums[[0, 3], i, k, j].tolist() == [number[*key, False], number[*key, True]]
            assert counts.instrument.sums[1, i, k, j] == pytest.approx(sum(own))
        np.testing.assert_array_equal(counts.instrument.sums[[0, 3]].sum(axis=1), [counts.count, counts.missing])
        np.testing.assert_allclose(counts.instrument.sums[1:3].sum(axis=1), [counts.total, counts.squares])


def test_counts_with_missing_rewards_and_an_instrument_are_saved_added_and_selected(tmp_path: Path) -> None:
    log = {"ward": ["e", "w", "w", "e"], "z": [*"abab"], "arm": [*"xyxy"], "reward": [1.0, None, 0.0, 1.0]}
    counts = mb.logs.read(log, context="z", missing=inf, instrument="ward")
    counts.save(tmp_path / "counts.json")
    assert Counts.load(tmp_path / "counts.json") == counts
    assert (counts.apart, counts.rows, counts.chosen.sum()) == (inf, 3, 4)
    more = mb.logs.read({**log, "ward": [*"nnee"]}, context="z", missing=inf, instrument="ward")
    both = (counts + more).select(["b"])
    assert both.instrument is not None
    assert both.instrument.values == ("e", "w", "n")
    assert both.instrument.sums[[0, 3], :, 0, 1].tolist() == [[2.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
    assert counts.missing_in_words() == "1 of 4 rows (25%) have no reward: nothing is assumed of what they were."
    assert "missing at random" in mb.logs.read(log, missing=0).missing_in_words()


def test_what_missing_rewards_do_not_go_with_is_refused() -> None:
    log = {"arm": ["a", "b"], "reward": [1.0, None], "p": [0.5, 0.5], "ward": ["e", None]}
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"missing": -1.0}, "0 if they are missing at random, inf if they may be anything"),
        ({"missing": 0.0, "propensity": "p"}, "missing= does not go with propensity="),
        ({}, "missing reward: 1 row .*count such rows with missing=inf"),
        ({"missing": 0.0, "where": "reward IS NULL"}, "no row has a reward"),
        ({"missing": 0.0, "instrument": "ward"}, "missing instrument: 1 row"),
        ({"missing": 0.0, "instrument": "arm"}, "must be different columns"),
    )
    for asked, said in refused:
        with pytest.raises(LogError, match=said):
            mb.logs.read(log, **asked)
    one = table([None], ["a"], [[2]], [[1]], [[1]], missing=[[1]], apart=0.0)
    with pytest.raises(LogError, match="differ in apart"):
        one + table([None], ["a"], [[2]], [[1]], [[1]])
    for wrong in ({"missing": [[0.5]]}, {"apart": 0.0}, {"missing": [[-1]]}):
        with pytest.raises(LogError, match="missing"):
            table([None], ["a"], [[2]], [[1]], [[1]], **wrong)


EVERY = [Experts(), Experts(errors=0.2, gap_low=0.05), Experts(gap_high=0.3), Experts(loss=0.1), Experts(odds=2.0)]


@pytest.mark.parametrize("experts", EVERY)
def test_infinite_logs_have_the_best_of_what_missing_rewards_can_be(experts: Experts) -> None:
    """Bounds are those of two logs that have the missing rewards, at their least and at their most."""
    rows, means, share = np.array([[6e11, 3e11, 1e11]]), np.array([[0.7, 0.6, 0.4]]), np.array([[0.1, 0.3, 0.5]])
    arms, seen = ["a", "b", "c"], rows * (1.0 - share)
    for apart in (0.0, 0.15, inf):
        ends = np.maximum(means - apart, 0.0), np.minimum(means + apart, 1.0)
        least, most = (seen * means + rows * share * end for end in ends)
        log = table([None], arms, seen, seen * means, seen * means, missing=rows * share, apart=apart)
        found = bounds(log, experts)[None]
        low, high = (bounds(table([None], arms, rows, total, total), experts)[None] for total in (least, most))
        np.testing.assert_allclose(found.lower, low.lower, atol=2e-5)
        np.testing.assert_allclose(found.upper, high.upper, atol=2e-5)
        np.testing.assert_allclose(
            [*zip(*value(log), strict=True)], [[least.sum() / 1e12, most.sum() / 1e12]], atol=1e-5
        )


@pytest.mark.parametrize("experts", EVERY)
def test_no_missing_reward_changes_nothing(experts: Experts) -> None:
    sums = [[60, 30], [10, 20]], [[50, 20], [5, 10]], [[45, 15], [5, 8]]
    plain, with_none = (table(["z", "y"], ["a", "b"], *sums, **more) for more in ({}, {"missing": np.zeros((2, 2))}))
    for one, two in zip(bounds(plain, experts).values(), bounds(with_none, experts).values(), strict=True):
        assert one == two
    assert np.array_equal(value(plain), value(with_none))


def lost(rng: np.random.Generator, kind: str, means: Floats) -> tuple[Floats, float]:
    """How often rewards of 0 and 1 of each kind of case and arm are missing, and how far apart that puts the means."""
    if kind == "random":
        return np.broadcast_to(rng.uniform(0.0, 0.7, (1, means.shape[1], 1)), (*means.shape, 2)), 0.0
    return np.stack([rng.uniform(0.0, 0.2, means.shape), rng.uniform(0.5, 0.9, means.shape)], axis=2), inf


@pytest.mark.parametrize(("kind", "said"), [("worst", "inf"), ("worst", "apart"), ("worst", "0"), ("random", "0")])
def test_bounds_hold_where_rewards_are_missing(kind: str, said: str) -> None:
    """Good rewards are missing most: bounds hold whatever is missing, or if the difference of means that is given is
    true; bounds of rewards missing at random hold if they are, and else miss the truth in most long logs."""
    rng, missed, runs = np.random.default_rng(7), 0, 300
    for _ in range(runs):
        means = rng.beta(2.0, 2.0, (4, 3))
        share = rng.dirichlet(np.ones(4))
        chosen = 0.9 * np.eye(3)[means.argmax(axis=1)] + 0.1 * rng.dirichlet(np.ones(3), 4)
        absent, apart = lost(rng, kind, means)
        cells = (share[:, None] * chosen)[..., None] * np.stack([1.0 - means, means], axis=2)
        cells = np.stack([cells * (1.0 - absent), cells * absent], axis=3)  # kinds, arms, rewards, missing
        if said == "apart":
            both = cells.sum(axis=0)
            apart = float(np.abs(np.diff(both[:, 1] / both.sum(axis=1))).max())
        rows = 100_000 if kind == "worst" and said == "0" else int(rng.choice([50, 500, 5000]))
        drawn = rng.multinomial(rows, cells.ravel() / cells.sum()).reshape(cells.shape).sum(axis=0)
        count, total, without = ([part.sum(axis=1)] for part in (drawn[:, :, 0], drawn[:, 1:, 0], drawn[..., 1]))
        apart = 0.0 if said == "0" else apart
        log = table([None], [*"abc"], count, total, total, missing=without, apart=apart)
        wrong = 1.0 - (chosen * (means == means.max(axis=1, keepdims=True))).sum(axis=1)
        lower, upper = (side.item() for side in value(log))
        earned = float(cells[:, :, 1].sum())
        try:
            found = bounds(log, Experts(errors=float(share @ wrong)))[None]
            missed += int(not (found.contains(share @ means).all() and lower <= earned <= upper))
        except mb.BoundsError:
            missed += 1
    if kind == "worst" and said == "0":
        assert missed > 0.8 * runs
    else:
        assert binom.sf(missed - 1, runs, 2.0 * ERROR) > UNLIKELY  # the bounds and the limits on the value


def test_priors_and_agents_take_missing_rewards_into_account() -> None:
    sums = [[600, 400]], [[480, 200]], [[480, 200]]
    found = mb.logs.prior(table([None], ["a", "b"], *sums, missing=[[300, 200]]))[None]
    highest = (480 + 300 + 200 + 200) / 1500  # of what experts who are always right can have earned
    middle = (480 / 1500 + highest) / 2, (200 / 1500 + highest) / 2
    np.testing.assert_allclose(found.mean, middle, atol=1e-3)
    agent = mb.logs.agent(table([None], ["a", "b"], *sums, missing=[[30, 20]]), seed=1)
    assert agent.pull() is mb.EXPERT
    agent.observe("b", 1.0)
    grown = mb.logs.with_observed(table([None], ["a", "b"], *sums, missing=[[30, 20]]), agent)
    assert grown.chosen.tolist() == [[630.0, 421.0]]


def test_evaluation_takes_missing_rewards_of_an_earlier_log_into_account() -> None:
    """Half of what the experts earned is not known, so the agent cannot be said to earn more, or less."""
    decisions = {"arm": ["a", "b"] * 500, "reward": [1.0, 0.0] * 500, "probability": [0.5] * 1000}
    sums = [[500, 500]], [[100, 50]], [[100, 50]]
    rows = []
    for more in ({}, {"missing": [[0, 0]]}, {"missing": [[500, 500]]}, {"missing": [[500, 500]], "apart": 0.0}):
        found = mb.logs.evaluate(decisions, log=table([None], ["a", "b"], *sums, **more))
        rows.append(next(own for own in found.values if "log" in own.name))
    assert rows[0] == rows[1]
    assert [own.value for own in rows] == pytest.approx([0.15] * 4)
    low, high = (np.array([getattr(own, side) for own in rows]) for side in ("lower", "upper"))
    assert high[0] < 0.2
    assert low[2] < 0.075 < 0.575 < high[2]
    assert 0.08 < low[3] < high[3] < 0.25
