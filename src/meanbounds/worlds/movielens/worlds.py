"""From ratings to a world for each occupation, by the paper's recipe; choices that it leaves open are settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from meanbounds.support.optional import optional
from meanbounds.support.seeding import Seed, as_seed
from meanbounds.support.types import Floats
from meanbounds.worlds.hidden_contexts import HiddenContexts
from meanbounds.worlds.movielens.files import Ratings, Whole
from meanbounds.worlds.softimpute import Completion, choose_penalty, soft_impute

__all__ = ["AGES", "OCCUPATIONS", "OccupationWorlds", "Recipe", "complete", "occupation_worlds"]

_MAX_ITER = 3_000  # steps of a completion: without centring it takes hundreds

AGES: Mapping[int, str] = MappingProxyType(
    {1: "0-17", 18: "18-25", 25: "25-49", 35: "25-49", 45: "25-49", 50: "50+", 56: "50+"}
)
"""Age codes (lower ends of the bands of the data) to the paper's four classes."""

OCCUPATIONS: Mapping[int, str] = MappingProxyType(
    {
        0: "Others",  # other or not specified
        1: "Academic",  # academic, educator
        2: "Arts",  # artist
        3: "Office",  # clerical, admin
        4: "Student",  # college, graduate student
        5: "Office",  # customer service
        6: "Scientific",  # doctor, health care
        7: "Office",  # executive, managerial
        8: "Others",  # farmer
        9: "Others",  # homemaker
        10: "Student",  # pupils up to the twelfth year of school
        11: "Law",  # lawyer
        12: "Scientific",  # programmer
        13: "Retired",  # retired
        14: "Office",  # sales, marketing
        15: "Scientific",  # scientist
        16: "Others",  # self-employed
        17: "Scientific",  # technician, engineer
        18: "Others",  # tradesman, craftsman
        19: "Others",  # unemployed
        20: "Arts",  # writer
    }
)
"""The 21 occupations of the data to the paper's eight classes. The paper does not give this map; it is ours."""


@dataclass(frozen=True)
class Recipe:
    """How ratings become worlds: every choice is a setting, with the paper's value where the paper gives one.

    Differs from the paper: settings without "paper" beside them are ours. The most important one is `centre`, whether
    the matrix is centred before it is completed.

    Attributes
    ----------
    centre
        The numbers to subtract before the completion: "none"; "mean", the mean of all ratings; or "effects", also how
        much higher than the mean each user rates and each movie is rated.
    penalty, ranks
        Penalty and rank of the completion, for ratings on [0, 1] (paper). With penalty None, `penalties` and `ranks`
        are tried and the pair with the least error on a tenth of the ratings is used. With a penalty the last rank is
        used.
    penalties
        Penalties to try where `penalty` is None.
    tolerance
        Tolerance of the completion. Keep it small without centring: users go on crossing the cut for hundreds of steps.
    cut
        Users whose total reward over all movies is below this are left out (paper: 1500); None keeps all.
    cut_movies
        Which movies count in that total: "all" 3,952 numbers, as in the paper, or only those that are "rated".
    clip_before_cut
        Whether entries are clipped to [0, 1] before they are added up. Mean rewards are always clipped.
    occupations, ages
        Codes to classes; 8 and 4 in the paper.
    weights
        How likely each pair of gender and age is within an occupation: "counts", as many users as there are; or
        "uniform", the same for all pairs that occur.
    arms
        Movies drawn for each occupation (paper: 15).
    least_ratings
        Movies with fewer ratings are not drawn; 0 also draws numbers that no movie has.
    noise
        Rewards to draw: "two-point", 0 or 1; or "stars", the values 0, 1/4, ..., 1 in the proportions of all
        ratings, tilted until the mean is right. For uniform rewards simulate with
        ``mb.Uniform(world.marginal_means[0])``.

    Examples
    --------
    >>> from meanbounds.worlds import movielens
    >>> movielens.Recipe(centre="none", noise="stars").cut
    1500.0
    """

    centre: Literal["none", "mean", "effects"] = "mean"
    penalty: float | None = None
    ranks: tuple[int, ...] = (20, 100)
    penalties: tuple[float, ...] = (20.0, 14.0, 12.0, 10.0, 8.5, 7.5, 6.6, 6.0, 5.25, 4.6, 4.0, 3.5, 3.0, 2.6, 2.2, 1.8)
    tolerance: float = 1e-5
    cut: float | None = 1500.0
    cut_movies: Literal["all", "rated"] = "all"
    clip_before_cut: bool = True
    occupations: Mapping[int, str] = field(default_factory=lambda: OCCUPATIONS, hash=False, repr=False)
    ages: Mapping[int, str] = field(default_factory=lambda: AGES, hash=False, repr=False)
    weights: Literal["counts", "uniform"] = "counts"
    arms: int = 15
    least_ratings: int = 1
    noise: Literal["two-point", "stars"] = "two-point"

    def __post_init__(self) -> None:
        for name, allowed in (
            ("centre", ("none", "mean", "effects")),
            ("cut_movies", ("all", "rated")),
            ("weights", ("counts", "uniform")),
            ("noise", ("two-point", "stars")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {getattr(self, name)!r}")
        if not self.ranks or not self.penalties:
            raise ValueError("ranks and penalties need at least one number each")
        if self.arms < 2 or self.least_ratings < 0:
            raise ValueError(f"a world needs 2 arms or more, and least_ratings from 0 on; got {self}")

    def __getstate__(self) -> dict[str, Any]:
        # Read-only views cannot be copied or pickled.
        return {**self.__dict__, "occupations": dict(self.occupations), "ages": dict(self.ages)}


def complete(
    ratings: Ratings, recipe: Recipe | None = None, *, quick: bool = False, seed: Seed = 0, progress: bool | None = None
) -> Completion:
    """Estimate every rating that was not given, on [0, 1], as the recipe says.

    Parameters
    ----------
    ratings, recipe
        The ratings, and how to complete them; None for the default recipe.
    quick
        A rough answer in seconds: the first rank alone, every other penalty, and a tolerance of 3e-3. Predictions are
        nearly as good, but without centring totals are far too low, and so too few users are above the cut.
    seed
        Which ratings are held out if the penalty has to be chosen.
    progress
        Whether to show progress; None shows it on a terminal.

    Examples
    --------
    >>> from meanbounds.worlds import movielens
    >>> few = movielens.made_up_ratings(seed=1, users=100, movies=60)
    >>> movielens.complete(few, movielens.Recipe(penalty=2.0)).shape
    (100, 61)
    """
    how = Recipe() if recipe is None else recipe
    places = (ratings.user, ratings.movie, ratings.rewards, ratings.shape)
    ranks, tolerance = (how.ranks[:1], max(how.tolerance, 3e-3)) if quick else (how.ranks, how.tolerance)
    centre, damping = how.centre != "none", 5.0 if how.centre == "effects" else np.inf
    if how.penalty is not None:
        return soft_impute(
            *places,
            penalty=how.penalty,
            rank=ranks[-1],
            centre=centre,
            damping=damping,
            tolerance=tolerance,
            max_iter=_MAX_ITER,
            progress=progress,
        )
    return choose_penalty(
        *places,
        penalties=how.penalties[::2] if quick else how.penalties,
        ranks=ranks,
        centre=centre,
        damping=damping,
        tolerance=tolerance,
        max_iter=_MAX_ITER,
        trial_max_iter=12 if quick else 30,
        low=0.0,
        high=1.0,
        seed=seed,
        progress=progress,
    )


@dataclass(frozen=True, eq=False)
class OccupationWorlds:
    """A world for each occupation, and a record of who was left out and why.

    In the world of an occupation that occupation is the one visible context; the expert also sees gender and age.

    Attributes
    ----------
    worlds
        By occupation. Hidden contexts are pairs of gender and age, arms are movies.
    left_out
        Occupations without a world, and why.
    users, kept
        How many users there were, and how many are above the cut.
    cells
        For each occupation, how many users are kept of each gender and age; 0 where there are none.
    redraws
        For each occupation, how often movies were drawn again because one was best for everyone or two tied for best.
    made_up
        Whether the ratings are made up.

    Examples
    --------
    >>> from meanbounds.worlds import movielens
    >>> few = movielens.made_up_ratings(seed=1, users=200, movies=60)
    >>> recipe = movielens.Recipe(penalty=2.0, cut=None, arms=5)
    >>> found = movielens.occupation_worlds(few, movielens.complete(few, recipe), recipe, seed=1)
    >>> found.users, found.kept
    (200, 200)
    >>> len(found.worlds["Student"].arms)
    5
    """

    worlds: Mapping[str, HiddenContexts]
    left_out: Mapping[str, str]
    users: int
    kept: int
    cells: Mapping[str, Mapping[tuple[str, str], int]]
    redraws: Mapping[str, int]
    made_up: bool

    def summary(self) -> str:
        """Return text to print: the users kept, and for each occupation its users, or the reason why it has no world.

        Examples
        --------
        >>> from meanbounds.worlds import movielens
        >>> few = movielens.made_up_ratings(seed=1, users=200, movies=60)
        >>> recipe = movielens.Recipe(penalty=2.0, cut=None, arms=5)
        >>> found = movielens.occupation_worlds(few, movielens.complete(few, recipe), recipe, seed=1)
        >>> print(found.summary().splitlines()[0])
        200 of 200 users kept (made-up ratings)
        """
        lines = [f"{self.kept} of {self.users} users kept" + (" (made-up ratings)" if self.made_up else "")]
        for name, cells in self.cells.items():
            empty = [" ".join(cell) for cell, count in cells.items() if not count]
            note = self.left_out.get(name, f"movies drawn again {self.redraws.get(name, 0)} times")
            nobody = f"; nobody is {', '.join(empty)}" if empty and name in self.worlds else ""
            lines.append(f"{name}: {sum(cells.values())} users; {note}{nobody}")
        return "\n".join(lines)


def occupation_worlds(
    ratings: Ratings, completion: Completion, recipe: Recipe | None = None, *, seed: Seed = 0, max_draws: int = 1000
) -> OccupationWorlds:
    """Make a world for each occupation: the expert sees gender and age too, the log records the occupation (Section 6).

    Users below the cut are left out, movies are drawn for each occupation, and users of the same gender and age are
    averaged. The bounds assume a positive gap and more than one arm in the log, so a draw in which one movie is best
    for everyone, or two tie for best, is made again.

    Parameters
    ----------
    ratings, completion, recipe
        As for, and from, `complete`.
    seed
        Seed of the movies; each occupation has its own draw.
    max_draws
        Leave an occupation out after this many draws.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.worlds import movielens
    >>> few = movielens.made_up_ratings(seed=1, users=300, movies=60)
    >>> recipe = movielens.Recipe(penalty=2.0, cut=None, arms=5)
    >>> found = movielens.occupation_worlds(few, movielens.complete(few, recipe), recipe, seed=1)
    >>> world = found.worlds["Student"]
    >>> bounds = mb.logs.bounds(
    ...     world.counts(), gap_low=world.gap_low, gap_high=world.gap_high, infinite=True
    ... )["Student"]
    >>> bool((bounds.lower <= world.marginal_means[0] + 1e-12).all())
    True
    """
    with optional("worlds", "data frames"):
        import pandas as pd

    how = Recipe() if recipe is None else recipe
    if completion.shape != ratings.shape:
        raise ValueError(f"the completion is of shape {completion.shape}, the ratings of {ratings.shape}: not the same")
    _check_codes(ratings, how)
    number, counts = as_seed(seed), ratings.ratings_of_movie
    kept = _totals(ratings, completion, how) >= (-np.inf if how.cut is None else how.cut)
    pool = np.flatnonzero(counts >= how.least_ratings)
    if pool.size < how.arms:
        raise ValueError(f"{pool.size} movies have {how.least_ratings} ratings or more; {how.arms} are to be drawn")
    jobs = np.array([how.occupations[code] for code in ratings.occupation.tolist()])
    ages = np.array([how.ages[code] for code in ratings.age.tolist()])
    pairs = [(gender, age) for gender in ("F", "M") for age in sorted(set(how.ages.values()))]
    worlds: dict[str, HiddenContexts] = {}
    left_out: dict[str, str] = {}
    cells: dict[str, dict[tuple[str, str], int]] = {}
    redraws: dict[str, int] = {}
    for place, job in enumerate(sorted(set(how.occupations.values()))):
        members = np.flatnonzero(kept & (jobs == job))
        cells[job] = {(g, a): int(np.sum((ratings.gender[members] == g) & (ages[members] == a))) for g, a in pairs}
        if sum(count > 0 for count in cells[job].values()) < 2:
            left_out[job] = "left out: users of two kinds are needed for anything to be hidden"
            continue
        rewards = np.clip(completion.dense(members, pool), 0.0, 1.0)
        kinds = [(ratings.gender[members] == g) & (ages[members] == a) for (g, a), many in cells[job].items() if many]
        means = np.array([rewards[kind].mean(axis=0) for kind in kinds])
        rng = np.random.default_rng([number, place])
        for draw in range(max_draws):
            drawn = np.sort(rng.choice(pool.size, how.arms, replace=False))
            if _separated(means[:, drawn]):
                names = _names(ratings, pool[drawn])
                people = {"occupation": job, "gender": ratings.gender[members], "age": ages[members]}
                table = pd.DataFrame({**people, **dict(zip(names, rewards[:, drawn].T, strict=True))})
                uniform = how.weights == "uniform"
                world = HiddenContexts.from_table(
                    table,
                    visible="occupation",
                    hidden=["gender", "age"],
                    arms=names,
                    uniform=uniform,
                    rewards="two-point",  # completed entries are expected rewards; `_noisy` says which are drawn
                )
                worlds[job], redraws[job] = _noisy(world, ratings, how), draw
                break
        else:
            left_out[job] = f"left out: {max_draws} draws of movies, and in each one is best for all or two tie"
    return OccupationWorlds(worlds, left_out, kept.size, int(kept.sum()), cells, redraws, ratings.made_up)


def _separated(means: Floats) -> bool:
    """Whether each row has one largest entry, not in the same column in all rows."""
    ordered = np.sort(means, axis=1)
    gap = np.min(ordered[:, -1] - ordered[:, -2])
    return bool(gap > 1e-9 and np.unique(np.argmax(means, axis=1)).size > 1)  # less is a matter of rounding


def _check_codes(ratings: Ratings, recipe: Recipe) -> None:
    for name, codes, known in (
        ("occupations", ratings.occupation, recipe.occupations),
        ("ages", ratings.age, recipe.ages),
    ):
        for code in np.unique(codes).tolist():
            if code not in known:
                raise ValueError(f"the recipe's {name} do not say what code {code} is; add it to the map")


def _names(ratings: Ratings, movies: Whole) -> list[str]:
    """Titles, with the number where there is none or where it is there twice."""
    titles = [ratings.titles.get(int(movie) + 1, "movie without a title") for movie in movies]
    many = {title: titles.count(title) for title in titles}
    odd = {"movie without a title", "occupation", "gender", "age"}
    return [
        title if many[title] == 1 and title not in odd else f"{title} ({int(movie) + 1})"
        for title, movie in zip(titles, movies, strict=True)
    ]


def _totals(ratings: Ratings, completion: Completion, recipe: Recipe) -> Floats:
    """Total reward of each user, some users at a time."""
    counted = ratings.ratings_of_movie > 0 if recipe.cut_movies == "rated" else np.ones(ratings.columns, dtype=bool)
    totals = np.empty(ratings.shape[0])
    for first in range(0, totals.size, 500):
        block = completion.dense(slice(first, first + 500))
        if recipe.clip_before_cut:
            np.clip(block, 0.0, 1.0, out=block)
        totals[first : first + 500] = block @ counted
    return totals


def _noisy(world: HiddenContexts, ratings: Ratings, recipe: Recipe) -> HiddenContexts:
    """The same world with the noise that the recipe asks for."""
    if recipe.noise == "two-point":
        return world
    values = np.arange(5) / 4.0
    law = _tilted(np.bincount(ratings.stars, minlength=6)[1:] / ratings.stars.size, values, world.means)
    return HiddenContexts(
        law @ values, world.probabilities, contexts=world.contexts, arms=world.arms, values=values, law=law
    )


def _tilted(shares: Floats, values: Floats, means: Floats) -> Floats:
    """The law nearest to `shares` with each of these means: shares x exp(tilt x values), the tilt found by bisection.

    Nearest in relative entropy. Means within 1e-9 of either end are at it.
    """
    logs = np.log(np.maximum(shares, 1e-12))
    low, high = np.full(means.shape, -700.0), np.full(means.shape, 700.0)
    for _ in range(80):
        tilt = (low + high) / 2.0
        weights = logs + tilt[..., None] * values
        law: Floats = np.exp(weights - weights.max(axis=-1, keepdims=True))
        law /= law.sum(axis=-1, keepdims=True)
        above = law @ values > means
        low, high = np.where(above, low, tilt), np.where(above, tilt, high)
    return law
