"""Worlds made from tables: which rewards are drawn, what stays the same however they are drawn, copies, and order."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import meanbounds as mb
from meanbounds.worlds import cells, movielens
from meanbounds.worlds.softimpute import soft_impute

ARMS = ["film a", "film b", "film c"]
COLUMNS: dict[str, Any] = {"visible": "job", "hidden": ["age", "gender"], "arms": ARMS, "low": 1.0, "high": 5.0}


def star_table(rows: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({name: rng.choice(list("xy"), rows) for name in ("job", "age", "gender")})
    frame["size"] = rng.integers(0, 4, rows)
    for arm, liked in zip(ARMS, (frame["age"] == "x", frame["age"] == "y", frame["gender"] == "x"), strict=True):
        stars = rng.choice(np.arange(1, 6), rows, p=[0.1, 0.1, 0.2, 0.25, 0.35])
        frame[arm] = np.where(liked, stars, 6 - stars)
    return frame


@pytest.mark.parametrize("weight", [None, "size"])
def test_rewards_in_the_log_are_the_stars_of_the_table(weight: str | None) -> None:
    """In each visible context and arm, stars are those that people gave for whom the expert plays that arm.

    A chi-squared test for each pair of context and arm, six at most, each at 1e-7: false failures below 1e-6.
    """
    frame = star_table()
    frame["one"] = 1
    world = mb.HiddenContexts.from_table(frame, weight=weight, **COLUMNS)
    log = world.log(20_000, seed=3)
    assert set(log["reward"]) == {1.0, 2.0, 3.0, 4.0, 5.0}
    count = frame[weight or "one"]
    means = {
        cell: {arm: np.average(part[arm], weights=count[part.index]) for arm in ARMS}
        for cell, part in frame.groupby(["job", "age", "gender"])
    }
    best = frame.apply(lambda row: max(ARMS, key=means[row["job"], row["age"], row["gender"]].__getitem__), axis=1)
    pairs = log.groupby(["context", "arm"])
    assert len(pairs) >= 3
    for (job, film), drawn in pairs:
        arm = str(film)
        own = (frame["job"] == job) & (best == arm)
        expected = count[own].groupby(frame.loc[own, arm]).sum().reindex(range(1, 6), fill_value=0)
        seen = drawn["reward"].value_counts().reindex(range(1, 6), fill_value=0)
        possible = expected > 0
        assert seen[~possible].sum() == 0
        shares = expected[possible] / expected.sum() * len(drawn)
        assert stats.chisquare(seen[possible], shares).pvalue > 1e-7


@pytest.mark.parametrize("options", [{}, {"uniform": True}, {"weight": "size"}])
def test_means_shares_and_gaps_do_not_depend_on_the_law(options: dict[str, Any]) -> None:
    frame = star_table()
    stars = mb.HiddenContexts.from_table(frame, **COLUMNS, **options)
    coins = mb.HiddenContexts.from_table(frame, **COLUMNS, **options, rewards="two-point")
    assert stars.values.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert coins.values.tolist() == [1.0, 5.0]
    assert set(coins.log(500, seed=1)["reward"]) == {1.0, 5.0}
    for name in ("means", "probabilities", "marginal_means", "shares", "contributions", "gap_low", "gap_high", "best"):
        np.testing.assert_allclose(getattr(stars, name), getattr(coins, name), err_msg=name)


def test_the_agent_gets_the_stars_of_everyone_in_its_context() -> None:
    frame = star_table()
    environment = mb.HiddenContexts.from_table(frame, **COLUMNS).environment("y")
    mine = frame[frame["job"] == "y"]
    for k, arm in enumerate(ARMS):
        shares = mine[arm].value_counts(normalize=True).reindex(range(1, 6), fill_value=0.0)
        np.testing.assert_allclose(environment.weights[k], shares)
        assert environment.values[k].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_trial_can_be_made_of_coin_flips() -> None:
    frame = pd.DataFrame({"z": 0, "u": [0, 0, 0, 0], "k": [0, 0, 1, 1], "r": [0.2, 0.4, 0.5, 0.7]})
    roles: dict[str, Any] = {"visible": "z", "hidden": "u", "arm": "k", "reward": "r"}
    own = mb.HiddenContexts.from_trial(frame, **roles)
    coins = mb.HiddenContexts.from_trial(frame, **roles, rewards="two-point")
    assert own.values.tolist() == [0.2, 0.4, 0.5, 0.7]
    assert coins.values.tolist() == [0.0, 1.0]
    np.testing.assert_allclose(own.means, coins.means)


def test_mistakes_about_rewards(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: dict[str, Any] = {**COLUMNS, "rewards": "coins"}
    with pytest.raises(ValueError, match="rewards must be 'values' or 'two-point'; got 'coins'"):
        mb.HiddenContexts.from_table(star_table(), **wrong)
    monkeypatch.setattr(cells, "_LARGEST", 100)
    with pytest.raises(ValueError, match=r"5 different rewards in 2 x 4 cells with 3 arms are too many .*two-point"):
        mb.HiddenContexts.from_table(star_table(), **COLUMNS)
    mb.HiddenContexts.from_table(star_table(), **COLUMNS, rewards="two-point")


def test_draws_with_many_values_follow_their_definition() -> None:
    """A row's reward is the first value whose cumulative probability is above a uniform number."""
    rng = np.random.default_rng(2)
    law = rng.dirichlet(np.ones(40), (2, 3, 2))
    values = np.sort(rng.random(40))
    world = mb.HiddenContexts(law @ values, rng.random((2, 3)), values=values, law=law)
    log = world.log(500, seed=9)
    again = np.random.default_rng(9)
    pair = again.choice(6, size=500, p=world.probabilities.ravel())
    for row, (cell, draw) in enumerate(zip(pair.tolist(), again.random(500).tolist(), strict=True)):
        z, u = divmod(cell, 3)
        arm = int(world.best[z, u])
        place = int(np.sum(draw >= np.cumsum(law[z, u, arm])[:-1]))
        assert log.iloc[row].tolist() == [f"z{z}", arm, values[place]]


def test_copies_are_the_same_world() -> None:
    for world in (mb.HiddenContexts.random(seed=1), mb.HiddenContexts.from_table(star_table(), **COLUMNS)):
        for again in (copy.deepcopy(world), pickle.loads(pickle.dumps(world))):
            assert (again.contexts, again.arms, again.low, again.high) == (
                world.contexts,
                world.arms,
                world.low,
                world.high,
            )
            assert again.means is not world.means
            pd.testing.assert_frame_equal(again.log(200, seed=2), world.log(200, seed=2))


def test_copies_of_completions_ratings_and_recipes() -> None:
    completion = soft_impute([0, 0, 1], [0, 1, 0], [1.0, 2.0, 2.0], (2, 2), penalty=0.1)
    recipe = movielens.Recipe(arms=3)
    ratings = movielens.made_up_ratings(1, 50, 60)
    for again in (copy.deepcopy(completion), pickle.loads(pickle.dumps(completion))):
        np.testing.assert_array_equal(again.dense(), completion.dense())
        assert (again.gap, again.tried) == (completion.gap, completion.tried)
    for same in (copy.deepcopy(recipe), pickle.loads(pickle.dumps(recipe))):
        assert same == recipe
    for copied in (copy.deepcopy(ratings), pickle.loads(pickle.dumps(ratings))):
        assert copied.titles == ratings.titles
        np.testing.assert_array_equal(copied.stars, ratings.stars)


def test_categories_give_the_order() -> None:
    frame = star_table().assign(job=lambda table: pd.Categorical(table["job"], categories=["y", "nobody", "x"]))
    assert mb.HiddenContexts.from_table(frame, **COLUMNS).contexts == ("y", "x")
    trial = mb.stroke_trial()
    assert trial.contexts == ("under 65", "65 to 74", "75 to 84", "85 and over")
    doses = ("no heparin", "low heparin", "medium heparin")
    assert trial.arms == tuple(f"{aspirin}, {dose}" for aspirin in ("no aspirin", "aspirin") for dose in doses)


def test_arms_whose_stars_sum_to_the_same_tie() -> None:
    """Both films got 17 stars from six people; the sums of rounded shares differ by 4e-16."""
    stars = pd.DataFrame({"job": "law", "age": "old", "a": [5, 4, 3, 2, 2, 1], "b": [1, 1, 1, 5, 4, 5]})
    world = mb.HiddenContexts.from_table(stars, visible="job", hidden="age", arms=["a", "b"], low=1, high=5)
    assert world.gap_low.tolist() == [0.0]
    assert world.best.tolist() == [[0]]


def test_a_context_that_is_none_gets_the_choices() -> None:
    world = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], contexts=["old"])
    with pytest.raises(ValueError, match="unknown context 'odl'; the contexts of this world are 'old'"):
        world.environment("odl")
