"""Made-up ratings in the form of MovieLens 1M, for tests and examples."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from meanbounds.support.seeding import Seed, as_seed
from meanbounds.support.types import Floats
from meanbounds.worlds.movielens.files import IDS, MOVIES, STARS, USERS, Ratings, Whole

__all__ = ["made_up_ratings"]

_AGE_SHARES = {1: 0.04, 18: 0.18, 25: 0.35, 35: 0.20, 45: 0.09, 50: 0.08, 56: 0.06}
_OCCUPATION_SHARES = (12, 9, 4, 3, 13, 2, 4, 11, 1, 2, 3, 2, 6, 2, 5, 2, 4, 8, 1, 1, 5)


def made_up_ratings(seed: Seed = 0, users: int = USERS, movies: int = MOVIES, ratings: int | None = None) -> Ratings:
    """Make up ratings, as many as MovieLens 1M has or fewer.

    Each user has at least 20 ratings (fewer if there are few movies) and some have very many; a few movies have most of
    the ratings. A score is the sum of the movie's mean, the user's mean, tastes that depend on gender, age and
    occupation, the user's own taste, and noise. Scores are cut into stars so that each number of stars is as frequent
    as in MovieLens 1M. In all other ways real ratings differ from these.

    Parameters
    ----------
    seed
        The same seed gives the same ratings.
    users, movies
        Number of users and of movies; as in MovieLens 1M, some numbers up to the largest have no movie.
    ratings
        Number of ratings; by default the same share of all pairs of user and movie as in MovieLens 1M, and enough for
        each user.

    Examples
    --------
    >>> from meanbounds.worlds.movielens import made_up_ratings
    >>> few = made_up_ratings(seed=1, users=100, movies=60)
    >>> few.shape, few.stars.size, few.made_up
    ((100, 61), 2000, True)
    """
    rng = np.random.default_rng(as_seed(seed))
    least, most = min(20, movies // 3), max(1, int(0.6 * movies))
    natural = round(users * movies * sum(STARS) / (USERS * MOVIES))
    total = max(natural, users * least) if ratings is None else ratings
    if users < 1 or movies < 3 or not users * least <= total <= users * most:
        raise ValueError(
            f"{total} ratings of {movies} movies by {users} users are not possible: each gives from {least} to {most}"
        )
    columns = round(movies * IDS / MOVIES)
    ages, shares = np.array(list(_AGE_SHARES)), np.array(list(_AGE_SHARES.values()))
    gender = np.where(rng.random(users) < 0.717, "M", "F")
    age = rng.choice(ages, users, p=shares / shares.sum())
    jobs = np.array(_OCCUPATION_SHARES) / sum(_OCCUPATION_SHARES)
    occupation = rng.choice(jobs.size, users, p=jobs)
    numbers = np.sort(rng.choice(columns, movies, replace=False))
    popularity = rng.normal(size=movies)
    directions = rng.normal(size=(movies, 8)) / np.sqrt(8.0)
    taste = 0.5 * rng.normal(size=(users, 8))
    for groups, strength in (
        (gender == "M", 0.4),
        (np.searchsorted([18, 25, 50], age, "right"), 0.6),
        (occupation, 0.3),
    ):
        taste += strength * rng.normal(size=(int(np.max(groups)) + 1, 8))[np.asarray(groups, dtype=np.int64)]
    counts = _shared_out(rng.lognormal(0.0, 1.1, users), total, least, most)
    # The largest of popularity plus Gumbel noise: movies in proportion to exp(1.6 popularity), none twice.
    chosen = [
        np.argpartition(-(1.6 * popularity + rng.gumbel(size=movies)), count - 1)[:count] for count in counts.tolist()
    ]
    user, movie = np.repeat(np.arange(users), counts), np.concatenate(chosen)
    quality = 0.3 * popularity + 0.4 * rng.normal(size=movies)
    liking = 0.4 * rng.normal(size=users)
    score = quality[movie] + liking[user] + np.einsum("rt,rt->r", taste[user], directions[movie])
    score += rng.normal(0.0, 0.9, total)
    steps = np.quantile(score, np.cumsum(STARS)[:-1] / sum(STARS))
    titles = {int(number) + 1: f"made-up movie {int(number) + 1}" for number in numbers}
    stars = 1 + np.searchsorted(steps, score)
    return Ratings(user, numbers[movie], stars, gender, age, occupation, MappingProxyType(titles), columns, True)


def _shared_out(wishes: Floats, total: int, least: int, most: int) -> Whole:
    """Whole numbers from `least` to `most`, what is above `least` nearly as wished, that add up to `total`."""
    low, high = 0.0, total * most / wishes.min()
    for _ in range(200):
        scale = (low + high) / 2.0
        low, high = (scale, high) if np.minimum(least + scale * wishes, most).sum() < total else (low, scale)
    exact = np.minimum(least + low * wishes, most)
    counts = np.floor(exact).astype(np.int64)
    missing = total - int(counts.sum())
    room = np.flatnonzero(counts < most)
    counts[room[np.argsort(counts[room] - exact[room], kind="stable")[:missing]]] += 1
    return counts
