"""MovieLens 1M as worlds with hidden contexts: ratings, their completion, and one world for each occupation.

The data are not part of this project: see `load_movielens` for where to get them. `made_up_ratings` has the same shape.
"""

from meanbounds.worlds.movielens.files import Ratings, load_movielens
from meanbounds.worlds.movielens.made_up import made_up_ratings
from meanbounds.worlds.movielens.worlds import AGES, OCCUPATIONS, OccupationWorlds, Recipe, complete, occupation_worlds

__all__ = [
    "AGES",
    "OCCUPATIONS",
    "OccupationWorlds",
    "Ratings",
    "Recipe",
    "complete",
    "load_movielens",
    "made_up_ratings",
    "occupation_worlds",
]
