"""Shared by the two experiments on ratings: the completions, and a world for each occupation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import meanbounds as mb
from meanbounds.paper.base import Claim, Work
from meanbounds.worlds.movielens import (
    OccupationWorlds,
    Ratings,
    Recipe,
    complete,
    load_movielens,
    made_up_ratings,
    occupation_worlds,
)
from meanbounds.worlds.softimpute import Completion

__all__ = ["VARIANTS", "Source", "Variant", "bounds_of", "note", "noted", "variants"]

VARIANTS: Mapping[str, Literal["mean", "none"]] = {"centred": "mean", "uncentred": "none"}
"""Names of the two completions, with the way in which each is centred."""


@dataclass(frozen=True)
class Source:
    """The source of the ratings, the completion of their matrix, and the draw of the movies.

    Attributes
    ----------
    movielens
        Files of MovieLens 1M; None for made-up ratings.
    users, movies
        Size of made-up ratings.
    quick
        Whether a rough completion is enough.
    recipe
        Every choice between ratings and worlds; it is completed with and without centring.
    draw
        Seed of the movies, of the first draw if there are several.
    """

    movielens: str | None = None
    users: int = 6_040
    movies: int = 3_883
    quick: bool = False
    recipe: Recipe = field(default_factory=Recipe)
    draw: int = 7

    def ratings(self) -> Ratings:
        """Read the ratings, or make them up if there is no path."""
        if self.movielens is not None:
            return load_movielens(self.movielens)
        return made_up_ratings(0, self.users, self.movies)


@dataclass(frozen=True, eq=False)
class Variant:
    """One completion, and the worlds that follow from it, for each draw of the movies."""

    completion: Completion
    draws: tuple[OccupationWorlds, ...]


def variants(source: Source, ratings: Ratings, work: Work, draws: int = 1) -> dict[str, Variant]:
    """Both completions, or what was kept of them, and their worlds."""
    shared = Source(**{name: getattr(source, name) for name in Source.__dataclass_fields__})
    kept = work.beside("completions", shared)
    found = {}
    for name, centre in VARIANTS.items():
        recipe = replace(source.recipe, centre=centre)
        path = kept.path(name, ".npz")
        if not kept.is_finished(path.name):
            kept.write(path.name, complete(ratings, recipe, quick=source.quick, progress=work.progress).save)
        completion = Completion.load(path)
        seeds = range(source.draw, source.draw + draws)
        worlds = tuple(occupation_worlds(ratings, completion, recipe, seed=seed) for seed in seeds)
        found[name] = Variant(completion, worlds)
    return found


def bounds_of(world: mb.HiddenContexts) -> mb.MeanBounds:
    """Bounds from an infinite log of this world (Theorem 7)."""
    (bounds,) = mb.logs.bounds(
        world.counts(), gap_low=world.gap_low, gap_high=world.gap_high, infinite=True, arms=world.arms
    ).values()
    return bounds


def note(made_up: bool) -> str:
    """A note for each picture on the data that it shows."""
    return "Made-up ratings, not MovieLens" if made_up else "MovieLens 1M"


def noted(claims: Sequence[Claim], made_up: bool) -> list[Claim]:
    """Add to each claim the data that it was measured on, for reports without pictures."""
    return [replace(claim, measured=f"{note(made_up)}: {claim.measured}") for claim in claims]
