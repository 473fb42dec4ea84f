"""Ratings of movies: MovieLens 1M from a local folder, or made-up ones of the same shape.

MovieLens 1M is for research, has to be cited, and may not be passed on: this repository holds neither the data nor
tables derived from it. F. M. Harper and J. A. Konstan (2015), The MovieLens Datasets, ACM TiiS 5(4).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from meanbounds.support.types import Integers
from paper.output import FOLDER

__all__ = ["STARS", "Ratings", "find_ratings", "load_movielens", "made_up_ratings"]

STARS = (56_174, 107_557, 261_197, 348_971, 226_310)
"""How often each number of stars was given in MovieLens 1M."""

_USERS, _MOVIES, _NUMBERS = 6_040, 3_883, 3_952  # movies have numbers up to the last of these
_AGE_SHARES = {1: 0.04, 18: 0.18, 25: 0.35, 35: 0.20, 45: 0.09, 50: 0.08, 56: 0.06}
_OCCUPATION_SHARES = (12, 9, 4, 3, 13, 2, 4, 11, 1, 2, 3, 2, 6, 2, 5, 2, 4, 8, 1, 1, 5)
_SOURCE = (
    "MovieLens 1M is at https://grouplens.org/datasets/movielens/1m/; give the folder with its ratings.dat, users.dat "
    f"and movies.dat by --movielens or by the environment variable {FOLDER}"
)


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings, and what is known of the users.

    Attributes
    ----------
    stars
        1 to 5, users x numbers of movies; what is not stored was not rated.
    gender, age, occupation
        Of each user: "M" or "F", the lower end of the age band, and a code from 0 to 20.
    titles
        Of each number, empty if no movie has it.
    made_up
        Whether these are made up; pictures and claims say so.
    """

    stars: sparse.csr_array
    gender: list[str]
    age: Integers
    occupation: Integers
    titles: list[str]
    made_up: bool

    @property
    def rewards(self) -> sparse.csr_array:
        """The stars scaled to [0, 1]; 1 star is a stored 0."""
        return sparse.csr_array(
            ((self.stars.data - 1.0) / 4.0, self.stars.indices, self.stars.indptr), self.stars.shape
        )

    @property
    def times_rated(self) -> Integers:
        """How many users rated each movie."""
        return np.bincount(self.stars.indices, minlength=self.stars.shape[1])

    @property
    def note(self) -> str:
        """What the data are, for pictures and claims."""
        return "Made-up ratings, not MovieLens" if self.made_up else "MovieLens 1M"


def find_ratings(users: int = _USERS, movies: int = _MOVIES) -> Ratings:
    """MovieLens 1M if a folder is given (see `paper.output.FOLDER`), or else made-up ratings of this size."""
    folder = os.environ.get(FOLDER)
    return load_movielens(Path(folder)) if folder else made_up_ratings(users, movies)


def load_movielens(folder: Path, *, complete: bool = True) -> Ratings:
    """Read the three files of MovieLens 1M; unless `complete` is false they must hold all of it."""
    text = {name: _read(folder / name) for name in ("ratings.dat", "users.dat", "movies.dat")}
    people, films = (
        _parts(folder / name, text[name], width, numbers)
        for name, width, numbers in (("users.dat", 5, (0, 2, 3)), ("movies.dat", 3, (0,)))
    )
    try:
        table = np.array(text["ratings.dat"].replace("::", " ").split(), dtype=np.int64).reshape(-1, 4)
    except ValueError:
        _parts(folder / "ratings.dat", text["ratings.dat"], 4, range(4))  # says where
        raise
    place = {int(parts[0]): k for k, parts in enumerate(people)}
    if unknown := set(table[:, 0].tolist()) - place.keys():
        raise ValueError(f"ratings.dat has user {min(unknown)}, whom users.dat does not have. {_SOURCE}")
    titles = [""] * int(max(table[:, 1].max(), *(int(parts[0]) for parts in films)))
    for parts in films:
        titles[int(parts[0]) - 1] = parts[1]
    users = np.array([place[user] for user in table[:, 0].tolist()])
    stars = _matrix(users, table[:, 1] - 1, table[:, 2], (len(place), len(titles)))
    counts = np.bincount(table[:, 2], minlength=6)[1:].tolist()
    if complete and (counts != list(STARS) or stars.shape != (_USERS, _NUMBERS)):
        raise ValueError(
            f"{folder} has {stars.nnz:,} ratings by {stars.shape[0]:,} users, {counts} with 1 to 5 stars; in MovieLens "
            f"1M there are {sum(STARS):,} by {_USERS:,}, {list(STARS)}. {_SOURCE}"
        )
    age, occupation = (np.array([int(parts[k]) for parts in people]) for k in (2, 3))
    return Ratings(stars, [parts[1] for parts in people], age, occupation, titles, False)


def made_up_ratings(users: int = _USERS, movies: int = _MOVIES, seed: int = 0) -> Ratings:
    """Make up ratings: as frequent as in MovieLens 1M, with as many of each number of stars, most for a few movies.

    A score is the sum of the movie's quality, what the user gives on average, tastes that depend on gender, age,
    occupation and user, and noise. In all other ways real ratings differ from these.
    """
    rng, columns = np.random.default_rng(seed), round(movies * _NUMBERS / _MOVIES)
    gender = np.where(rng.random(users) < 0.717, "M", "F")
    age = rng.choice(list(_AGE_SHARES), users, p=list(_AGE_SHARES.values()))
    occupation = rng.choice(21, users, p=np.array(_OCCUPATION_SHARES) / sum(_OCCUPATION_SHARES))
    numbers, popularity = np.sort(rng.choice(columns, movies, replace=False)), rng.normal(size=movies)
    kinds = [np.unique(column, return_inverse=True)[1] for column in (gender, _band(age), occupation)]
    taste, liking = rng.normal(0.0, 0.5, (users, 8)), rng.normal(0.0, 0.4, users)
    for groups, strength in zip(kinds, (0.4, 0.6, 0.3), strict=True):
        taste += rng.normal(0.0, strength, (int(groups.max()) + 1, 8))[groups]
    wishes = rng.lognormal(0.0, 1.1, users)
    share = sum(STARS) / (_USERS * _MOVIES)
    counts = np.clip(wishes / wishes.mean() * share * movies, min(20, movies // 3), 0.6 * movies).astype(np.int64)
    # The largest of popularity plus Gumbel noise: movies in proportion to exp(1.6 popularity), none twice.
    chosen = [np.argsort(-(1.6 * popularity + rng.gumbel(size=movies)))[:count] for count in counts.tolist()]
    user, movie = np.repeat(np.arange(users), counts), np.concatenate(chosen)
    quality = 0.3 * popularity + rng.normal(0.0, 0.4, movies)
    directions = rng.normal(size=(movies, 8)) / np.sqrt(8.0)
    score = quality[movie] + liking[user] + np.einsum("rt,rt->r", taste[user], directions[movie])
    score += rng.normal(0.0, 0.9, score.size)
    stars = 1 + np.searchsorted(np.quantile(score, np.cumsum(STARS)[:-1] / sum(STARS)), score)
    titles = [""] * columns
    for number in numbers.tolist():
        titles[number] = f"made-up movie {number + 1}"
    return Ratings(
        _matrix(user, numbers[movie], stars, (users, columns)), gender.tolist(), age, occupation, titles, True
    )


def _read(path: Path) -> str:
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path}. {_SOURCE}")
    return path.read_text(encoding="latin-1")


def _parts(path: Path, text: str, width: int, numbers: Iterable[int]) -> list[list[str]]:
    """The parts of each line, some of which must be whole numbers."""
    found = [line.split("::") for line in text.replace("\r", "").rstrip("\n").split("\n")]
    for number, parts in enumerate(found, start=1):
        if len(parts) != width or not all(parts[k].isdecimal() for k in numbers):
            raise ValueError(f"{path}, line {number}: {width} parts are wanted with :: between them; got {parts}")
    return found


def _band(age: Integers) -> Integers:
    """The paper's four classes of ages."""
    return np.searchsorted([18, 25, 50], age, side="right")


def _matrix(rows: Integers, columns: Integers, values: Integers, shape: tuple[int, int]) -> sparse.csr_array:
    found = sparse.csr_array((values.astype(np.float64), (rows, columns)), shape)
    if found.nnz < values.size or (found.nnz and found.data.max() > 5.0):
        raise ValueError("some user rates a movie twice, or gives more than 5 stars")
    found.sort_indices()
    return found
