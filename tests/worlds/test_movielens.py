"""MovieLens 1M: reading it, made-up ratings of its shape, and the worlds of the recipe.

Real data are not part of the project. Tests that need them look for MEANBOUNDS_MOVIELENS, the path of ml-1m.zip or of
its folder.
"""

from __future__ import annotations

import dataclasses
import os
import zipfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import meanbounds as mb
from meanbounds.worlds import movielens, softimpute
from meanbounds.worlds.movielens import Ratings, Recipe
from meanbounds.worlds.movielens.worlds import _tilted
from tests.test_docs import blocks

FEW = movielens.made_up_ratings(seed=3, users=600, movies=120)
RECIPE = Recipe(penalty=3.0, cut=None, arms=6)
COMPLETION = movielens.complete(FEW, RECIPE)

FILES = {
    "ratings.dat": "2::5::3::0\n9::1::1::0\n2::1::5::978300760\n",
    "users.dat": "9::F::1::10::48067\n2::M::56::16::70072-1234\n",
    "movies.dat": "1::Film: a (2000)::Drama\n5::Caf\xe9 b (1999)::Comedy|Drama\n7::c::Drama\n",
}


def write(folder: Path, changes: dict[str, str] | None = None) -> Path:
    for name, text in {**FILES, **(changes or {})}.items():
        (folder / name).write_text(text, encoding="latin-1")
    return folder


class TestReading:
    """Invented files in the form of the real ones."""

    def check(self, found: Ratings) -> None:
        """By hand: user 9 is first in users.dat, user 2 second."""
        assert found.user.tolist() == [1, 0, 1]
        assert found.movie.tolist() == [4, 0, 0]
        assert found.stars.tolist() == [3, 1, 5]
        assert found.rewards.tolist() == [0.5, 0.0, 1.0]
        assert (found.gender.tolist(), found.age.tolist(), found.occupation.tolist()) == (["F", "M"], [1, 56], [10, 16])
        assert (found.titles[5], found.shape, found.made_up) == ("Caf\xe9 b (1999)", (2, 7), False)
        assert found.ratings_of_movie.tolist() == [2, 0, 0, 0, 1, 0, 0]

    def test_a_folder(self, tmp_path: Path) -> None:
        self.check(movielens.load_movielens(write(tmp_path), check=False))
        windows = {name: text.replace("\n", "\r\n") for name, text in FILES.items()}
        self.check(movielens.load_movielens(write(tmp_path, windows), check=False))

    def test_a_zip_file(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "ml-1m.zip", "w") as archive:
            for name, text in FILES.items():
                archive.writestr(f"ml-1m/{name}", text.encode("latin-1"))
        self.check(movielens.load_movielens(tmp_path / "ml-1m.zip", check=False))

    def test_a_damaged_zip_file(self, tmp_path: Path) -> None:
        path = tmp_path / "ml-1m.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in FILES.items():
                archive.writestr(f"ml-1m/{name}", text.encode("latin-1"))
        path.write_bytes(path.read_bytes().replace(b"2::5::3::0", b"2::5::4::0"))
        with pytest.raises(ValueError, match=r"ratings.dat cannot be read from .*get the file again"):
            movielens.load_movielens(path, check=False)

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("ratings.dat", "2::5::3::0\n2::1::6::0\n", "ratings.dat, line 2: expected user::movie::1 to 5::time"),
            ("ratings.dat", "2::5::3::0\n2::1::-1::0\n", "ratings.dat, line 2: expected"),
            ("ratings.dat", "2::5::3::0\n2::1\n", "ratings.dat, line 2: expected .* got '2::1'"),
            ("ratings.dat", "2::5::3\n0::9::1::2::8\n", "ratings.dat, line 1: expected .* got .2::5::3"),
            ("ratings.dat", "2::5 3::0\n", "ratings.dat, line 1: expected"),
            ("ratings.dat", "", "ratings.dat, line 1: expected"),
            ("ratings.dat", "2::5::3::0\n2::5::4::0\n", "ratings.dat, lines 1 and 2: one user rates one movie twice"),
            ("ratings.dat", "2::5::3::0\n3::5::4::0\n", "ratings.dat, line 2: user 3 is not in users.dat"),
            ("users.dat", "9::F::1::10::0\n2::X::1::10::0\n", "users.dat, line 2: expected number::M or F"),
            ("users.dat", "9::F::1::10::0\n9::M::1::10::0\n", "users.dat has number 9 more than once"),
            ("users.dat", "9::F::1::21::0\n", "users.dat, line 1: expected"),
            ("movies.dat", "1::a::Drama\nb\n", "movies.dat, line 2: expected number::title::genres, got 'b'"),
        ],
    )
    def test_mistakes_are_named_with_file_and_line(self, tmp_path: Path, name: str, text: str, message: str) -> None:
        with pytest.raises(ValueError, match=message) as error:
            movielens.load_movielens(write(tmp_path, {name: text}), check=False)
        assert "grouplens.org" in str(error.value)

    def test_what_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"there is no ratings.dat in .*not to be passed on"):
            movielens.load_movielens(tmp_path)
        with pytest.raises(FileNotFoundError, match="there is nothing at"):
            movielens.load_movielens(tmp_path / "ml-1m")
        (tmp_path / "text").write_text("text")
        with pytest.raises(ValueError, match="neither a folder nor a zip file"):
            movielens.load_movielens(tmp_path / "text")
        with pytest.raises(ValueError, match="there are 2 users, and MovieLens 1M has 6040"):
            movielens.load_movielens(write(tmp_path))


class TestMadeUp:
    def test_the_same_seed_gives_the_same(self) -> None:
        again = movielens.made_up_ratings(seed=3, users=600, movies=120)
        np.testing.assert_array_equal(again.stars, FEW.stars)
        other = movielens.made_up_ratings(seed=4, users=600, movies=120)
        assert not np.array_equal(other.movie, FEW.movie)

    def test_the_shape_of_movielens(self) -> None:
        full = movielens.made_up_ratings(seed=0)
        assert full.made_up
        assert full.shape == (6040, 3952)
        assert (full.stars.size, len(full.titles)) == (1_000_209, 3883)
        assert np.bincount(full.user).min() >= 20
        assert np.unique(full.user * 3952 + full.movie).size == full.stars.size
        known = np.array([56_174, 107_557, 261_197, 348_971, 226_310])
        assert np.abs(np.bincount(full.stars)[1:] - known).max() <= 5  # quantiles, to a rating or so
        assert set(full.occupation.tolist()) == set(movielens.OCCUPATIONS)
        assert set(full.age.tolist()) == set(movielens.AGES)
        counts = np.sort(full.ratings_of_movie)[::-1]
        assert (
            counts[:388].sum() > 0.4 * counts.sum()
        )  # a tenth of the movies has most ratings, as it is in the real ones

    def test_what_cannot_be(self) -> None:
        with pytest.raises(ValueError, match="7000 ratings of 60 movies by 100 users are not possible"):
            movielens.made_up_ratings(users=100, movies=60, ratings=7000)

    @settings(max_examples=20)
    @given(st.integers(1, 40), st.integers(3, 40), st.integers(0, 2**32), st.floats(0.0, 1.0))
    def test_as_many_as_asked_for(self, users: int, movies: int, seed: int, share: float) -> None:
        least, most = min(20, movies // 3), int(0.6 * movies)
        total = users * least + int(share * users * (most - least)) if most >= least else users * least
        assume(users * least <= total <= users * most)
        found = movielens.made_up_ratings(seed, users, movies, total)
        counts = np.bincount(found.user, minlength=users)
        assert found.stars.size == total
        assert least <= counts.min() <= counts.max() <= most


def occupation_of(world: mb.HiddenContexts) -> str:
    (name,) = world.contexts
    return str(name)


class TestWorlds:
    @pytest.mark.parametrize(
        "changes",
        [{}, {"weights": "uniform"}, {"noise": "stars"}, {"least_ratings": 0}, {"least_ratings": 40, "arms": 3}],
        ids=str,
    )
    def test_bounds_contain_the_truth(self, changes: dict[str, Any]) -> None:
        recipe = dataclasses.replace(RECIPE, **changes)
        found = movielens.occupation_worlds(FEW, COMPLETION, recipe, seed=5)
        assert set(found.worlds) | set(found.left_out) == set(movielens.OCCUPATIONS.values())
        assert len(found.worlds) >= 7
        for job, world in found.worlds.items():
            assert occupation_of(world) == job
            assert world.gap_low[0] > 0.0
            assert np.sum(world.shares[0] > 0.0) > 1
            bounds = mb.logs.bounds(world.counts(), gap_low=world.gap_low, gap_high=world.gap_high, infinite=True)[job]
            assert np.all(bounds.lower <= world.marginal_means[0] + 1e-12)
            assert np.all(bounds.upper >= world.marginal_means[0] - 1e-12)
            np.testing.assert_allclose(world.environment(job).means, world.marginal_means[0], atol=1e-12)

    def test_means_are_averages_of_completed_entries(self) -> None:
        """Recomputed for one occupation from the dense matrix, user by user."""
        found = movielens.occupation_worlds(FEW, COMPLETION, RECIPE, seed=5)
        world = found.worlds["Office"]
        columns = [int(str(arm).rsplit(" ", 1)[-1]) - 1 for arm in world.arms]
        dense = np.clip(COMPLETION.dense(), 0.0, 1.0)[:, columns]
        mine = np.array([movielens.OCCUPATIONS[code] == "Office" for code in FEW.occupation.tolist()])
        np.testing.assert_allclose(world.marginal_means[0], dense[mine].mean(axis=0))
        assert sum(found.cells["Office"].values()) == mine.sum()
        old_men = mine & (FEW.gender == "M") & (FEW.age >= 50)
        assert found.cells["Office"]["M", "50+"] == old_men.sum()
        assert np.any(np.all(np.isclose(world.means[0], dense[old_men].mean(axis=0)), axis=1))

    def test_uniform_weights(self) -> None:
        world = movielens.occupation_worlds(
            FEW, COMPLETION, dataclasses.replace(RECIPE, weights="uniform"), seed=5
        ).worlds
        share = world["Office"].hidden_given_visible[0]
        np.testing.assert_allclose(share[share > 0.0], 1.0 / np.sum(share > 0.0))

    def test_stars_as_noise(self) -> None:
        """The same means, five values, and all shares are right if the mean is that of all ratings."""
        plain = movielens.occupation_worlds(FEW, COMPLETION, RECIPE, seed=5).worlds["Office"]
        starry = movielens.occupation_worlds(FEW, COMPLETION, dataclasses.replace(RECIPE, noise="stars"), seed=5)
        world = starry.worlds["Office"]
        np.testing.assert_allclose(world.means, plain.means, atol=1e-9)
        assert world.values.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
        shares = np.bincount(FEW.stars, minlength=6)[1:] / FEW.stars.size
        means = np.array([0.0, FEW.rewards.mean(), 1.0])
        law = _tilted(shares, world.values, means)
        np.testing.assert_allclose(law[1], shares, atol=1e-9)
        np.testing.assert_allclose(law @ world.values, means, atol=1e-9)

    def test_the_cut(self) -> None:
        dense = COMPLETION.dense()
        rated = FEW.ratings_of_movie > 0
        line = float(np.median(dense.sum(axis=1)))
        for clip, movies, table in (
            (False, "all", dense),
            (True, "all", np.clip(dense, 0.0, 1.0)),
            (True, "rated", np.clip(dense, 0.0, 1.0)[:, rated]),
        ):
            changes: dict[str, Any] = {"cut": line, "clip_before_cut": clip, "cut_movies": movies}
            recipe = dataclasses.replace(RECIPE, **changes)
            found = movielens.occupation_worlds(FEW, COMPLETION, recipe, seed=5)
            assert abs(found.kept - int(np.sum(table.sum(axis=1) >= line))) <= 1  # the median user is on the line
            assert sum(sum(cells.values()) for cells in found.cells.values()) == found.kept
        nobody = movielens.occupation_worlds(FEW, COMPLETION, dataclasses.replace(RECIPE, cut=1e9), seed=5)
        assert not nobody.worlds
        assert nobody.kept == 0
        assert "left out: users of two kinds are needed" in nobody.summary()

    def test_draws_that_break_the_assumptions_are_made_again_and_counted(self) -> None:
        """Movies that all have the same completion tie everywhere; one that all like best is all that is logged."""
        flat = dataclasses.replace(COMPLETION, singular_values=0.0 * COMPLETION.singular_values)
        tied = movielens.occupation_worlds(FEW, flat, RECIPE, seed=5, max_draws=20)
        assert not tied.worlds
        assert tied.left_out["Law"] == "left out: 20 draws of movies, and in each one is best for all or two tie"
        loved = np.zeros(FEW.shape[1])
        loved[: FEW.shape[1] // 2] = np.arange(FEW.shape[1] // 2) * 0.1
        half = dataclasses.replace(COMPLETION, column_effects=loved, mean=-5.0)
        assert not movielens.occupation_worlds(FEW, half, RECIPE, seed=5, max_draws=20).worlds
        pairs = movielens.occupation_worlds(FEW, COMPLETION, dataclasses.replace(RECIPE, arms=2), seed=5)
        assert sum(pairs.redraws.values()) > 0
        assert "made-up" in pairs.summary()
        assert "movies drawn again" in pairs.summary()

    def test_occupations_do_not_affect_each_other(self) -> None:
        one = movielens.occupation_worlds(FEW, COMPLETION, RECIPE, seed=5).worlds["Student"]
        more = {code: "Arts" if name == "Law" else name for code, name in movielens.OCCUPATIONS.items()}
        same = {**more, 11: "Law"}
        again = movielens.occupation_worlds(FEW, COMPLETION, dataclasses.replace(RECIPE, occupations=same), seed=5)
        assert again.worlds["Student"].arms == one.arms

    def test_mistakes(self) -> None:
        with pytest.raises(ValueError, match=r"the completion is of shape \(600, 122\), the ratings of"):
            movielens.occupation_worlds(movielens.made_up_ratings(1, 50, 60), COMPLETION)
        with pytest.raises(ValueError, match="the recipe's ages do not say what code 1 is"):
            movielens.occupation_worlds(FEW, COMPLETION, dataclasses.replace(RECIPE, ages={18: "a"}))
        with pytest.raises(ValueError, match="movies have 9999 ratings or more; 6 are to be drawn"):
            movielens.occupation_worlds(FEW, COMPLETION, dataclasses.replace(RECIPE, least_ratings=9999))
        wrong: dict[str, Any] = {"centre": "yes"}
        with pytest.raises(ValueError, match="centre must be one of 'none', 'mean', 'effects'"):
            Recipe(**wrong)
        with pytest.raises(ValueError, match="a world needs 2 arms or more"):
            Recipe(arms=1)


@pytest.mark.parametrize("centre", ["none", "mean", "effects"])
def test_the_completion_predicts_what_was_held_out(centre: Literal["none", "mean", "effects"]) -> None:
    """Better than the mean of all ratings, whichever centring; quick is nearly as good."""
    recipe = Recipe(centre=centre, penalties=(20.0, 8.0, 5.0, 3.0, 2.0))
    found = movielens.complete(FEW, recipe)
    quick = movielens.complete(FEW, recipe, quick=True)
    assert min(trial.error for trial in found.tried) < FEW.rewards.std()
    assert min(trial.error for trial in quick.tried) < FEW.rewards.std()
    assert quick.rank == 20


class TestTable:
    users = pd.DataFrame(
        {
            "job": ["law", "law", "law", "arts", "arts"],
            "age": ["young", "young", "old", "old", "old"],
            "gender": ["F", "F", "F", "M", "F"],
            "a": [0.9, 0.7, 0.2, 0.5, 0.1],
            "b": [0.4, 0.6, 0.5, 0.6, 0.4],
            "size": [1.0, 3.0, 4.0, 1.0, 0.0],
        }
    )

    def test_rows_count_alike(self) -> None:
        """By hand: young in law 0.8 and 0.5, two of three; the old 0.2 and 0.5."""
        world = mb.HiddenContexts.from_table(self.users, visible="job", hidden=["age"], arms=["a", "b"])
        np.testing.assert_allclose(world.hidden_given_visible, [[1.0, 0.0], [1 / 3, 2 / 3]])
        np.testing.assert_allclose(world.probabilities.sum(axis=1), [0.4, 0.6])
        np.testing.assert_allclose(world.means[1], [[0.2, 0.5], [0.8, 0.5]])
        np.testing.assert_allclose(world.marginal_means, [[0.3, 0.5], [0.6, 0.5]])
        np.testing.assert_allclose(world.gap_low, [0.2, 0.3])

    def test_weights(self) -> None:
        """By hand: young in law (0.9 + 3 x 0.7) / 4 = 0.75 and 0.55, half of the weight."""
        world = mb.HiddenContexts.from_table(self.users, visible="job", hidden="age", arms=["a", "b"], weight="size")
        np.testing.assert_allclose(world.means[1], [[0.2, 0.5], [0.75, 0.55]])
        np.testing.assert_allclose(world.hidden_given_visible[1], [0.5, 0.5])
        np.testing.assert_allclose(world.marginal_means[0], [0.5, 0.6])

    def test_uniform(self) -> None:
        world = mb.HiddenContexts.from_table(
            self.users, visible="job", hidden=["age", "gender"], arms=["a", "b"], uniform=True
        )
        np.testing.assert_allclose(world.hidden_given_visible, [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]])
        np.testing.assert_allclose(world.probabilities.sum(axis=1), [0.4, 0.6])

    @settings(max_examples=25)
    @given(st.integers(0, 2**32))
    def test_the_agent_sees_the_average_over_all_units(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({"z": rng.integers(0, 3, 40), "u": rng.integers(0, 5, 40)})
        frame[["a", "b", "c"]] = rng.uniform(-1.0, 2.0, (40, 3))
        world = mb.HiddenContexts.from_table(frame, visible="z", hidden="u", arms=["a", "b", "c"], low=-1.0, high=2.0)
        np.testing.assert_allclose(world.marginal_means, frame.groupby("z")[["a", "b", "c"]].mean())
        np.testing.assert_allclose(
            world.probabilities.sum(axis=1), frame["z"].value_counts(sort=False).sort_index() / 40
        )
        bounds = mb.logs.bounds(world.counts(), gap_low=world.gap_low, gap_high=world.gap_high, infinite=True)
        for z, context in enumerate(world.contexts):
            assert np.all(bounds[context].lower <= world.marginal_means[z] + 1e-9)
            assert np.all(bounds[context].upper >= world.marginal_means[z] - 1e-9)

    def test_mistakes(self) -> None:
        table = mb.HiddenContexts.from_table
        with pytest.raises(ValueError, match="there is no column 'c'; there are 'job', 'age'"):
            table(self.users, visible="job", hidden="age", arms=["a", "c"])
        with pytest.raises(ValueError, match="column 'a' is there, or is asked for, more than once"):
            table(self.users, visible="job", hidden="age", arms=["a", "a"])
        with pytest.raises(ValueError, match=r"column 'b' has rewards from 0\.4 to 0\.6, outside \[0\.0, 0\.5\]"):
            table(self.users.assign(a=0.5), visible="job", hidden="age", arms=["a", "b"], high=0.5)
        with pytest.raises(ValueError, match="column 'a' has 1 missing values"):
            table(self.users.assign(a=[0.1, np.nan, 0.2, 0.2, 0.2]), visible="job", hidden="age", arms=["a", "b"])
        with pytest.raises(ValueError, match="weights that are not negative; see column 'size'"):
            table(self.users.assign(size=-1.0), visible="job", hidden="age", arms=["a", "b"], weight="size")
        with pytest.raises(ValueError, match="all rows where job is 'arts' have weight 0"):
            table(
                self.users.assign(size=[1.0, 1.0, 1.0, 0.0, 0.0]),
                visible="job",
                hidden="age",
                arms=["a", "b"],
                weight="size",
            )
        with pytest.raises(ValueError, match="at least one row"):
            table(self.users.iloc[:0], visible="job", hidden="age", arms=["a", "b"])


REAL = os.environ.get("MEANBOUNDS_MOVIELENS")


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason="MEANBOUNDS_MOVIELENS is not set to the path of ml-1m.zip or its folder")
class TestRealRatings:
    def test_quick_completion_and_worlds(self) -> None:
        """Predictions are off by less than 0.9 stars, and the bounds of every occupation hold."""
        ratings = movielens.load_movielens(str(REAL))
        for centre in ("mean", "none"):
            recipe = Recipe(centre=centre)
            completion = movielens.complete(ratings, recipe, quick=True)
            assert 4.0 * min(trial.error for trial in completion.tried) < 0.9
            found = movielens.occupation_worlds(ratings, completion, recipe, seed=1)
            assert found.worlds
            for job, world in found.worlds.items():
                gaps: dict[str, Any] = {"gap_low": world.gap_low, "gap_high": world.gap_high}
                bounds = mb.logs.bounds(world.counts(), **gaps, infinite=True)[job]
                assert np.all(bounds.lower <= world.marginal_means[0] + 1e-12)
                assert np.all(bounds.upper >= world.marginal_means[0] - 1e-12)


def test_the_guide_runs_with_few_ratings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The block of docs/guide.md that needs the real file, with made-up ratings in its place."""
    monkeypatch.chdir(tmp_path)
    few = movielens.made_up_ratings(seed=3, users=60, movies=40)
    monkeypatch.setattr(movielens, "load_movielens", {"ml-1m.zip": few}.__getitem__)
    (code,) = [code for kind, skipped, code in blocks("docs/guide.md") if kind == "python" and skipped]
    exec(compile(code, "docs/guide.md", "exec", dont_inherit=True), {"movielens": movielens})
    assert capsys.readouterr().out.count("of 60 users kept") == 2
    assert softimpute.Completion.load(tmp_path / "completion-none.npz").tried
