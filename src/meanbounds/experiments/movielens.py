"""Agents that start from the log of an occupation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import meanbounds as mb
from meanbounds.experiments.base import Claim, Work, bound_claim
from meanbounds.experiments.panels import POLICIES
from meanbounds.experiments.ratings import VARIANTS, Source, bounds_of, note, variants
from meanbounds.experiments.verdicts import less, verdict
from meanbounds.movielens import Recipe
from meanbounds.paired import paired
from meanbounds.plots import bounds_height, plot_bounds, plot_regret

TITLE = "Learning after the log: Law and Academic"
SOURCE = "Figure 4"
ABOUT = (
    "The worlds of Figure 6, for two occupations: an agent who sees the occupation alone recommends one of fifteen "
    "movies a round, and starts from the bounds that the expert's log gives. Rewards are 0 or 1, since the paper does "
    "not say what they are. Gaps between the two best movies are tiny for some users, so all upper bounds are close to "
    "each other; what helps is a largest lower bound above 1/2. Shading: one standard deviation. UCB takes no notice "
    "of the log."
)


@dataclass(frozen=True)
class Settings(Source):
    """Those of the source, which occupations, and the runs."""

    occupations: tuple[str, ...] = ("Law", "Academic")
    horizon: int = 50_000
    runs: int = 200
    seed: int = 11


SETTINGS = Settings()
QUICK = Settings(users=1_500, movies=900, quick=True, recipe=Recipe(cut=None), horizon=10_000, runs=40)


@dataclass(frozen=True, eq=False)
class Results:
    """Regret by completion and occupation, why some are missing, and whether the ratings are made up."""

    regret: Mapping[tuple[str, str], mb.Regret]
    missing: Mapping[tuple[str, str], str]
    made_up: bool


def run(settings: Settings, work: Work) -> Results:
    """Simulate both occupations after each completion."""
    regret: dict[tuple[str, str], mb.Regret] = {}
    missing: dict[tuple[str, str], str] = {}
    ratings = settings.ratings()
    for name, variant in variants(settings, ratings, work).items():
        for job in settings.occupations:
            if job not in variant.found.worlds:
                missing[name, job] = variant.found.left_out[job]
                continue
            world = variant.found.worlds[job]
            regret[name, job] = work.regret(
                f"{name}-{job.lower()}",
                {"UCB": mb.UCB(), **POLICIES},
                world.environment(job),
                bounds_of(world),
                settings.horizon,
                settings.runs,
                settings.seed,
            )
    return Results(regret, missing, ratings.made_up)


def plot(results: Results) -> Mapping[str, Figure]:
    """For each completion bounds and regret of each occupation, one below the other."""
    figures = {}
    for name in VARIANTS:
        own = {job: regret for (variant, job), regret in results.regret.items() if variant == name}
        if not own:
            continue
        known = {job: mb.MeanBounds.from_dict(regret.settings["bounds"]) for job, regret in own.items()}
        heights = [height for bounds in known.values() for height in (bounds_height(bounds), 3.6)]
        figure, axes = plt.subplots(
            len(heights), 1, figsize=(6.4, 0.6 + sum(heights)), height_ratios=heights, layout="constrained"
        )
        for (job, regret), upper, lower in zip(own.items(), axes[::2], axes[1::2], strict=True):
            plot_bounds(known[job], regret.settings["environment"]["means"], upper)
            upper.set_yticks(range(len(known[job])), [str(k + 1) for k in range(len(known[job]))], fontsize=8)
            upper.set_ylabel("movie")
            upper.set_title(job, loc="left", fontsize=12)
            plot_regret(regret, lower, band="deviation")
        figure.suptitle(f"{note(results.made_up)}; {name}", fontsize=11)
        figures[name] = figure
    return figures


def claims(results: Results) -> Sequence[Claim]:
    """What the log is worth."""
    found = []
    for (name, job), regret in results.regret.items():
        final = regret.final
        bounds = mb.MeanBounds.from_dict(regret.settings["bounds"])
        found.append(
            Claim(
                f"Figure 4, {job}, {name}",
                "An agent who starts from the log's bounds loses less than UCB, which starts from nothing.",
                f"GLUE {paired(final['GLUE'], final['UCB'])}; the largest lower bound is {bounds.best_lower:.2f}, "
                f"{int(np.sum(~bounds.possible))} of {len(bounds)} movies cannot be best",
                verdict(less(final["GLUE"], final["UCB"])),
            )
        )
        found.append(
            Claim(
                f"Conclusion, {job}, {name}",
                "GLUE is never worse than B-UCB, which clips alone.",
                f"{paired(final['GLUE'], final['B-UCB'])}; B-KL-UCB {final['B-KL-UCB'].mean():.1f}",
                verdict(not less(final["B-UCB"], final["GLUE"])),
            )
        )
    for (name, job), why in results.missing.items():
        text = "An agent can start from this log."
        found.append(Claim(f"Figure 4, {job}, {name}", text, why, verdict(False)))
    found.append(
        bound_claim(
            "Theorem 6",
            "Expected regret is below the bound in all rounds (all logs above; the bound in its corrected form).",
            list(results.regret.values()),
        )
    )
    return found
