"""Settings and results of the experiment, and the names of the methods that it compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import meanbounds as mb
from meanbounds.paper.transfer.world import Draw, World

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ALONE",
    "CORRECTED",
    "NAMES",
    "PLAIN",
    "PRINTED",
    "QUICK",
    "SETTINGS",
    "SHARP",
    "WORST",
    "Results",
    "Settings",
    "Shown",
    "of",
]

NAMES = {"corrected": "corrected", "sharp": "sharp", "paper": "as printed"}
CORRECTED, SHARP, PRINTED, PLAIN = "corrected", "sharp", "as printed", "sharp, no clip"
ALONE = ", only arms left"
WORST = 0.25  # factor of a reward of which nothing is known


@dataclass(frozen=True)
class Settings(World):
    """Settings of the world, and the number of draws of the arms that are searched and compared."""

    logs: int = 100  # draws of the arms for which a finite log is kept
    draws: int = 300  # of the arms
    horizon: int = 5_000
    runs: int = 200
    runs_each: int = 10  # on every draw of the arms; with fewer the sign test cannot tell anything
    left: int = 3  # arms that the bounds leave in both settings, at least
    improvement: float = 0.1  # of some factor in the second setting, at least


SETTINGS = Settings()
QUICK = Settings(values=4_000, rows=20_000, logs=5, draws=40, horizon=500, runs=10, runs_each=10)


@dataclass(frozen=True, eq=False)
class Shown:
    """One of the two settings: the draw of the arms, its bounds, which of them cannot be used and why, and the regret.

    `alone` is the regret where the arms that the corrected bounds exclude are not there in the first place.
    """

    number: int
    draw: Draw
    tight: mb.MeanBounds  # corrected
    unusable: Mapping[str, str]
    regret: mb.Regret
    exact: mb.Regret
    alone: mb.Regret


@dataclass(frozen=True, eq=False)
class Results:
    """Bounds and regret on every draw of the arms, finite logs, and the two settings."""

    settings: Settings
    survey: pd.DataFrame  # draw x box x method: what the bounds are like
    online: pd.DataFrame  # draw x run: regret at the end, for draws whose corrected bounds leave several arms
    logs: pd.DataFrame  # draw: what becomes of bounds from a finite log
    shown: Mapping[str, Shown]


def of(survey: pd.DataFrame, method: str, box: str = "common") -> pd.DataFrame:
    """The rows of one method and one kind of limits on the hidden part."""
    return survey[(survey["method"] == method) & (survey["box"] == box)]
