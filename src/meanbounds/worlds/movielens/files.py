"""Ratings, and MovieLens 1M from its files."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanbounds.support.types import Floats

__all__ = ["IDS", "MOVIES", "STARS", "USERS", "Ratings", "load_movielens"]

Whole = NDArray[np.int64]

STARS = (56_174, 107_557, 261_197, 348_971, 226_310)
"""How often each number of stars was given in MovieLens 1M."""
USERS, MOVIES, IDS = 6_040, 3_883, 3_952
_RATED = 3_706
_SOURCE = (
    "MovieLens 1M is at https://grouplens.org/datasets/movielens/1m/ (ml-1m.zip; for research, to be cited as Harper "
    "and Konstan 2015, not to be passed on); give the path of that file, or of the folder with "
    "ratings.dat, users.dat and movies.dat"
)


@dataclass(frozen=True, eq=False)
class Ratings:
    """The ratings of users for movies, with gender, age and occupation of each user.

    Attributes
    ----------
    user, movie, stars
        Of each rating: the user's place in the lists below, the movie's number less 1, and 1 to 5 stars.
    gender, age, occupation
        Of each user: "M" or "F", the lower end of the age band, and 0 to 20; see `AGES` and `OCCUPATIONS`.
    titles
        Names of movies by number. Not all numbers have one.
    columns
        The largest number of a movie; there is a column for each number up to it.
    made_up
        Whether these are made up. Pictures and tables of them have to say so.

    Examples
    --------
    >>> from meanbounds.worlds.movielens import made_up_ratings
    >>> ratings = made_up_ratings(seed=1, users=100, movies=60)
    >>> ratings.stars.size, sorted(set(ratings.stars.tolist()))
    (2000, [1, 2, 3, 4, 5])
    >>> ratings
    Ratings(columns=61, made_up=True)
    """

    user: Whole = field(repr=False)
    movie: Whole = field(repr=False)
    stars: Whole = field(repr=False)
    gender: NDArray[np.str_] = field(repr=False)
    age: Whole = field(repr=False)
    occupation: Whole = field(repr=False)
    titles: Mapping[int, str] = field(repr=False)
    columns: int
    made_up: bool

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "titles": dict(self.titles)}  # read-only views cannot be copied or pickled

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users, and number of columns for movies: the largest number that a movie has."""
        return self.gender.size, self.columns

    @property
    def rewards(self) -> Floats:
        """The stars of each rating scaled to [0, 1]: 1 star is 0, 5 stars are 1.

        Examples
        --------
        >>> from meanbounds.worlds.movielens import made_up_ratings
        >>> ratings = made_up_ratings(seed=1, users=100, movies=60)
        >>> sorted(set(ratings.rewards.tolist()))
        [0.0, 0.25, 0.5, 0.75, 1.0]
        """
        scaled: Floats = (self.stars - 1) / 4.0
        return scaled

    @property
    def ratings_of_movie(self) -> Whole:
        """Number of ratings in each column; 0 where no movie has that number, or nobody rated it."""
        return np.bincount(self.movie, minlength=self.columns)


def load_movielens(path: str | Path, *, check: bool = True) -> Ratings:
    """Read MovieLens 1M from its zip file, or from the folder that is in it.

    Parameters
    ----------
    path
        ``ml-1m.zip``, or a folder with ``ratings.dat``, ``users.dat`` and ``movies.dat``.
    check
        Whether to compare the numbers of users, movies and ratings with those of the published data; a difference is a
        ValueError.

    Notes
    -----
    The data are for research, have to be cited, and may not be passed on: F. M. Harper and J. A. Konstan (2015), The
    MovieLens Datasets: History and Context, ACM TiiS 5(4), https://doi.org/10.1145/2827872.

    Examples
    --------
    A folder in the same format, with one rating:

    >>> import pathlib, tempfile
    >>> from meanbounds.worlds.movielens import load_movielens
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "users.dat").write_text("1::F::25::11::55117")
    >>> _ = (folder / "movies.dat").write_text("2::Jumanji (1995)::Adventure")
    >>> _ = (folder / "ratings.dat").write_text("1::2::4::978302268")
    >>> ratings = load_movielens(folder, check=False)
    >>> ratings.stars, ratings.titles[2]
    (array([4]), 'Jumanji (1995)')
    """
    names = ("ratings.dat", "users.dat", "movies.dat")
    ratings, users, movies = (_read(Path(path), name) for name in names)
    people = list(_lines(users, "users.dat", r"(\d+)::([MF])::(1|18|25|35|45|50|56)::(1?\d|20)::(.+)", _USER))
    films = list(_lines(movies, "movies.dat", r"(\d+)::(.+)::(.*)", "number::title::genres"))
    numbers = np.array([int(person[0]) for person in people])
    table = _table(ratings)
    titles = {int(film[0]): film[1] for film in films}
    for name, given in (("users.dat", numbers), ("movies.dat", np.array([int(film[0]) for film in films]))):
        values, counts = np.unique(given, return_counts=True)
        if values.size < given.size or not given.size or values[0] < 1:
            raise ValueError(
                f"{name} has number {values[np.argmax(counts)]} more than once, or one below 1. {_SOURCE}"
                if given.size
                else f"{name} is empty. {_SOURCE}"
            )
    order = np.argsort(numbers)
    place = np.minimum(np.searchsorted(numbers[order], table[:, 0]), numbers.size - 1)
    unknown = np.flatnonzero((numbers[order][place] != table[:, 0]) | (table[:, 1] < 1))
    if unknown.size:
        raise ValueError(
            f"ratings.dat, line {unknown[0] + 1}: user {table[unknown[0], 0]} is not in users.dat, or movie "
            f"{table[unknown[0], 1]} is no number from 1 on. {_SOURCE}"
        )
    found = Ratings(
        order[place],
        table[:, 1] - 1,
        table[:, 2].copy(),
        np.array([person[1] for person in people]),
        np.array([int(person[2]) for person in people]),
        np.array([int(person[3]) for person in people]),
        MappingProxyType(titles),
        int(max(table[:, 1].max(), *titles)),
        False,
    )
    if check:
        _check(found)
    return found


_USER = "number::M or F::age code::occupation 0 to 20::zip code"
_RATING = re.compile(r"\d+::\d+::[1-5]::\d+")


def _read(path: Path, name: str) -> str:
    """One file of the folder or of the archive; Latin-1, in which every byte is a character."""
    if path.is_dir():
        file = path / name
        if not file.is_file():
            raise FileNotFoundError(f"there is no {name} in {path}. {_SOURCE}")
        return file.read_text(encoding="latin-1")
    if not path.is_file():
        raise FileNotFoundError(f"there is nothing at {path}. {_SOURCE}")
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is neither a folder nor a zip file. {_SOURCE}")
    with zipfile.ZipFile(path) as archive:
        inside = [entry for entry in archive.namelist() if entry.rsplit("/", 1)[-1] == name]
        if len(inside) != 1:
            raise ValueError(f"{path} has {len(inside)} files named {name}, not one. {_SOURCE}")
        try:
            return archive.read(inside[0]).decode("latin-1")
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
            raise ValueError(f"{name} cannot be read from {path} ({error}): get the file again. {_SOURCE}") from error


def _lines(text: str, name: str, pattern: str, expected: str) -> Iterator[tuple[str, ...]]:
    form = re.compile(pattern)
    for number, line in enumerate(text.replace("\r", "").rstrip("\n").split("\n"), start=1):
        match = form.fullmatch(line)
        if match is None:
            raise ValueError(f"{name}, line {number}: expected {expected}, got {line[:80]!r}. {_SOURCE}")
        yield match.groups()


def _table(text: str) -> Whole:
    """Numbers of ratings.dat, all at once; if they are not what they should be, a look at each line says where."""
    lines = text.replace("\r", "").rstrip("\n")
    digits = lines.replace("::", "").replace("\n", "").isdecimal()
    marked = lines.replace("::", " ").replace("\n", " -1 ") + " -1"  # where each line ends
    numbers = np.fromstring(marked, dtype=np.int64, sep=" ") if digits else np.zeros(0, dtype=np.int64)
    table = numbers.reshape(-1, 5) if numbers.size % 5 == 0 else np.zeros((0, 5), dtype=np.int64)
    ends = len(table) == lines.count("\n") + 1 and bool(np.all(table[:, 4] == -1))
    if not ends or table[:, :4].min() < 0 or table[:, 2].min() < 1 or table[:, 2].max() > 5:
        for number, line in enumerate(lines.split("\n"), start=1):
            if not _RATING.fullmatch(line):
                raise ValueError(
                    f"ratings.dat, line {number}: expected user::movie::1 to 5::time, got {line[:80]!r}. {_SOURCE}"
                )
    table = table[:, :4]
    pairs = table[:, 0] * (table[:, 1].max() + 1) + table[:, 1]
    order = np.argsort(pairs, kind="stable")
    twice = np.flatnonzero(np.diff(pairs[order]) == 0)
    if twice.size:
        first, second = order[twice[0]] + 1, order[twice[0] + 1] + 1
        raise ValueError(f"ratings.dat, lines {first} and {second}: one user rates one movie twice. {_SOURCE}")
    return table


def _check(found: Ratings) -> None:
    stars = tuple(np.bincount(found.stars, minlength=6)[1:].tolist())
    for what, count, known in (
        ("users", found.shape[0], USERS),
        ("movies", len(found.titles), MOVIES),
        ("ratings", found.stars.size, sum(STARS)),
        ("movies that are rated", np.unique(found.movie).size, _RATED),
        ("ratings with 1, 2, 3, 4 and 5 stars", stars, STARS),
    ):
        if count != known:
            raise ValueError(
                f"there are {count} {what}, and MovieLens 1M has {known}: some of it is missing, or this is another "
                f"data set (check=False takes it as it is). {_SOURCE}"
            )
