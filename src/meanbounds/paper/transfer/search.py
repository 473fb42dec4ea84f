"""Choose the draws of the arms to show: the first ones that agree with the captions of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from meanbounds.paper.transfer.results import CORRECTED, WORST, Settings, of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ahead", "find", "fitting"]


def fitting(survey: pd.DataFrame, settings: Settings, *, improved: bool) -> list[int]:
    """Draws whose corrected bounds leave enough arms, not all, and improve some of their factors, or none."""
    own = survey[(survey["box"] == "common") & (survey["method"] == "corrected")]
    own = own[(own["left"] >= settings.left) & (own["left"] < settings.arms)]
    factor = own["least_factor"]
    fits = own[factor <= (1.0 - settings.improvement) * WORST if improved else factor > WORST - 1e-9]
    if fits.empty:
        raise ValueError(
            f"none of {settings.draws} draws of the arms leaves {settings.left} arms with "
            f"{'an improved factor' if improved else 'no improved factor'}; raise draws in the settings"
        )
    return [int(number) for number in fits["draw"]]


def ahead(online: pd.DataFrame, draws: Sequence[int]) -> list[int]:
    """The draws on which R-OFUL, with corrected bounds, has less regret than OFUL in the mean."""
    means = online.groupby("draw")[["OFUL", CORRECTED]].mean()
    better = means.index[means[CORRECTED] < means["OFUL"]].tolist()
    return [number for number in draws if number in better]


def find(survey: pd.DataFrame, online: pd.DataFrame, settings: Settings, *, improved: bool) -> int:
    """The first draw that fits the caption, and on which R-OFUL is ahead as the text says, if there is one.

    Of these, if there is one, the first whose printed bounds can be used at all.
    """
    draws = fitting(survey, settings, improved=improved)
    better = ahead(online, draws)
    printed = of(survey, "paper")
    playable = set(printed["draw"][printed["usable"]].tolist())
    return ([number for number in better if number in playable] or better or draws)[0]
