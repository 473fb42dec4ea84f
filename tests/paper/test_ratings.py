"""The experiments on ratings, with made-up ones."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import meanbounds as mb
from meanbounds.paper import movielens, occupations, ratings
from meanbounds.paper.base import Claim, Work
from meanbounds.paper.verdicts import Verdict
from meanbounds.worlds import movielens as data
from meanbounds.worlds.softimpute import Completion

RECIPE = data.Recipe(penalties=(3.0, 1.5), ranks=(4, 6), tolerance=1e-3, cut=None, arms=5)
SMALL = occupations.Settings(users=400, movies=80, recipe=RECIPE)
SHORT = movielens.Settings(users=400, movies=80, recipe=RECIPE, horizon=3000, draws=10, runs=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ratings")


@pytest.fixture(scope="module")
def found(folder: Path) -> occupations.Results:
    return occupations.run(SMALL, Work(folder / "occupations", SMALL))


@pytest.fixture(scope="module")
def learned(folder: Path, found: occupations.Results) -> movielens.Results:
    assert len(found.facts) == 2  # completions are there
    return movielens.run(SHORT, Work(folder / "movielens", SHORT))


def words(figure: Figure) -> str:
    """All titles of a picture."""
    parts = [figure.get_suptitle(), *(ax.get_title(loc="left") for ax in figure.axes)]
    plt.close(figure)
    return " ".join(parts)


def claim(claims: list[Claim], text: str) -> Claim:
    (one,) = [c for c in claims if text in c.text]
    return one


class TestOccupations:
    def test_both_completions_and_every_occupation(self, found: occupations.Results) -> None:
        assert set(found.bounds["variant"]) == {"centred", "uncentred"}
        for variant, table in found.bounds.groupby("variant"):
            left_out = found.facts[found.facts["variant"] == variant]["left_out"].iloc[0]
            assert table["occupation"].nunique() + str(left_out).count("left out") == 8
        assert found.trials.groupby("variant")["chosen"].sum().tolist() == [1, 1]
        best = found.trials.loc[found.trials.groupby("variant")["error"].idxmin()]
        assert best["chosen"].all()

    def test_claims_follow_the_numbers(self, found: occupations.Results) -> None:
        claims = list(occupations.claims(found))
        assert claim(claims, "All means are within").verdict == Verdict.HOLDS
        assert all(c.measured.startswith("Made-up ratings, not MovieLens: ") for c in claims)
        (missing,) = {c.verdict for c in claims if "leaves a log" in c.text}
        assert missing == Verdict.FAILS  # so few users that of some occupation all are alike
        whole = found._replace(facts=found.facts.assign(left_out=""))
        assert not any("leaves a log" in c.text for c in occupations.claims(whole))
        assert not any("The recipe says" in c.text or "6040" in c.text for c in claims)
        shifted = found._replace(bounds=found.bounds.assign(mean=found.bounds["upper"] + 0.01))
        assert claim(list(occupations.claims(shifted)), "All means are within").verdict == Verdict.FAILS
        for redraws, verdict in ((0, Verdict.HOLDS), (3, Verdict.CORRECTED)):
            again = found._replace(facts=found.facts.assign(redraws=redraws))
            assert claim(list(occupations.claims(again)), "separation").verdict == verdict
        tied = found._replace(bounds=found.bounds.assign(gap_low=0.0), facts=found.facts.assign(redraws=3))
        assert claim(list(occupations.claims(tied)), "separation").verdict == Verdict.FAILS
        for kept, verdict in (([400, 400], Verdict.HOLDS), ([400, 100], Verdict.FAILS)):
            cut = found._replace(facts=found.facts.assign(cut=1500.0, kept=kept))
            assert claim(list(occupations.claims(cut)), "The recipe says").verdict == verdict
        for rated, verdict in ((3952, Verdict.HOLDS), (3706, Verdict.FAILS)):
            facts = found.facts.assign(made_up=False, users=6040, ratings=1_000_209, rated=rated)
            assert claim(list(occupations.claims(found._replace(facts=facts))), "6040").verdict == verdict

    def test_each_picture_says_that_ratings_are_made_up(self, found: occupations.Results) -> None:
        figures = occupations.plot(found)
        assert set(figures) == {"centred", "uncentred", "completion"}
        assert all("Made-up ratings, not MovieLens" in words(figure) for figure in figures.values())
        real = occupations.plot(found._replace(facts=found.facts.assign(made_up=False)))
        assert all("Made-up" not in text and "MovieLens 1M" in text for text in map(words, real.values()))


class TestMovielens:
    def test_completions_are_shared(
        self, folder: Path, learned: movielens.Results, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Both experiments, run again, complete nothing; other settings do."""
        assert sorted(path.name for path in (folder / "completions").glob("*.npz")) == ["centred.npz", "uncentred.npz"]
        completed = []

        def complete(*args: Any, **more: Any) -> Completion:
            completed.append(1)
            return data.complete(*args, **more)

        monkeypatch.setattr(ratings, "complete", complete)
        again = movielens.run(SHORT, Work(folder / "movielens", SHORT))
        assert not completed
        for key, regret in learned.regret.items():
            np.testing.assert_array_equal(regret.curves["GLUE"], again.regret[key].curves["GLUE"])
        other = dataclasses.replace(SMALL, recipe=dataclasses.replace(RECIPE, penalties=(2.0,)))
        occupations.run(other, Work(folder / "other" / "occupations", other))
        assert len(completed) == 2

    def test_claims_follow_the_numbers(self, learned: movielens.Results) -> None:
        assert learned.made_up
        assert {regret.curves["GLUE"].shape[0] for regret in learned.regret.values()} == {20}

        def made(share: float) -> list[Verdict]:
            """The same with regret of GLUE that is this share of that of UCB."""
            draws = {
                key: [dataclasses.replace(p, curves={**p.curves, "GLUE": share * p.curves["UCB"]}) for p in parts]
                for key, parts in learned.draws.items()
            }
            return [c.verdict for c in movielens.claims(dataclasses.replace(learned, draws=draws))]

        assert list(movielens.claims(learned))[-1].verdict == Verdict.CORRECTED  # Theorem 6
        assert made(0.1)[:4] == [Verdict.HOLDS] * 4
        assert made(1.0)[:4] == made(2.0)[:4] == [Verdict.FAILS] * 4
        assert made(100.0) == [Verdict.FAILS] * 5
        some = dataclasses.replace(learned, missing={("centred", "Law"): ["left out: nobody is there"]})
        missing = claim(list(movielens.claims(some)), "leaves a log to start from")
        assert missing.verdict == Verdict.FAILS
        assert "nobody is there" in missing.measured

    def test_pictures(self, learned: movielens.Results) -> None:
        figures = movielens.plot(learned)
        assert set(figures) == {"centred", "uncentred"}
        assert all("Made-up ratings, not MovieLens" in words(figure) for figure in figures.values())


def test_bounds_of_a_world_contain_its_means() -> None:
    world = mb.HiddenContexts.random(visible=1, hidden=4, arms=5, seed=3)
    bounds = ratings.bounds_of(world)
    assert np.all((bounds.lower <= world.marginal_means[0] + 1e-12) & (world.marginal_means[0] <= bounds.upper + 1e-12))
