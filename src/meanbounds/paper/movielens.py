"""Agents that start from the log of an occupation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from matplotlib.figure import Figure

import meanbounds as mb
from meanbounds.paper.base import Claim, Work, bound_claim
from meanbounds.paper.panels import POLICIES
from meanbounds.paper.ratings import VARIANTS, Source, bounds_of, note, noted, variants
from meanbounds.paper.verdicts import less, verdict
from meanbounds.plots import bounds_height, column, fold, plot_bounds, plot_regret, title
from meanbounds.simulation.pairs import sign_test
from meanbounds.worlds.movielens import Recipe

TITLE = "Learning after the log: Law and Academic"
SOURCE = "Figure 4"
ABOUT = (
    "The worlds of Figure 6, for two occupations: an agent who sees the occupation alone recommends one of fifteen "
    "movies a round, and starts from the bounds that the expert's log gives. The paper shows one draw of the movies, "
    "without numbers; some draws leave nothing to learn and others much, so runs are spread over several draws. Bars "
    "and dots are those of the first one, shading is one standard deviation over all. Rewards are 0 or 1, since the "
    "paper does not say what they are. UCB, which takes no notice of the log, is far above, and left out of "
    "the picture as in the paper."
)


@dataclass(frozen=True)
class Settings(Source):
    """Settings of the ratings, the occupations, the number of draws of the movies, and of runs on each draw."""

    occupations: tuple[str, ...] = ("Law", "Academic")
    horizon: int = 50_000
    draws: int = 20
    runs: int = 10
    seed: int = 11


SETTINGS = Settings()
QUICK = Settings(users=1_500, movies=900, quick=True, recipe=Recipe(cut=None), horizon=10_000, draws=10, runs=4)


@dataclass(frozen=True, eq=False)
class Results:
    """Regret on each draw by completion and occupation, why some are missing, and whether the ratings are made up."""

    draws: Mapping[tuple[str, str], Sequence[mb.Regret]]
    missing: Mapping[tuple[str, str], Sequence[str]]
    made_up: bool

    @cached_property
    def regret(self) -> dict[tuple[str, str], mb.Regret]:
        """The runs of all draws together."""
        return {key: mb.Regret.concat(parts) for key, parts in self.draws.items()}


def run(settings: Settings, work: Work) -> Results:
    """Simulate both occupations after each completion."""
    draws: dict[tuple[str, str], list[mb.Regret]] = {}
    missing: dict[tuple[str, str], list[str]] = {}
    ratings = settings.ratings()
    for name, variant in variants(settings, ratings, work, settings.draws).items():
        for (place, job), (number, found) in product(enumerate(settings.occupations), enumerate(variant.draws)):
            seed = [settings.seed, number, place, list(VARIANTS).index(name)]
            if job not in found.worlds:
                missing.setdefault((name, job), []).append(found.left_out[job])
                continue
            world = found.worlds[job]
            regret = work.regret(
                f"{name}-{job.lower()}-{number}",
                {"UCB": mb.UCB(), **POLICIES},
                world.environment(job),
                bounds_of(world),
                settings.horizon,
                settings.runs,
                int(np.random.SeedSequence(seed).generate_state(1)[0]),
            )
            draws.setdefault((name, job), []).append(regret)
    return Results(draws, missing, ratings.made_up)


def plot(results: Results) -> Mapping[str, Figure]:
    """For each completion bounds and regret of each occupation, one below the other."""
    figures = {}
    for name in VARIANTS:
        own = {job: regret for (variant, job), regret in results.regret.items() if variant == name}
        if not own:
            continue
        first = {job: results.draws[name, job][0].settings for job in own}
        known = {job: mb.MeanBounds.from_dict(settings["bounds"]) for job, settings in first.items()}
        heights = [height for bounds in known.values() for height in (bounds_height(bounds), 2.9)]
        figure, axes = column(heights, extra=0.4)
        for (job, regret), upper, lower in zip(own.items(), axes[::2], axes[1::2], strict=True):
            plot_bounds(known[job], first[job]["environment"]["means"], ax=upper)
            upper.set_yticks(range(len(known[job])), [str(k + 1) for k in range(len(known[job]))])
            upper.set_ylabel("movie")
            title(upper, f"{job}: bounds of the first draw")
            plot_regret(regret.select(POLICIES), lower, band="deviation")
            title(lower, f"{job}: regret over {len(results.draws[name, job])} draws")
        figure.suptitle(fold(f"{note(results.made_up)}; {name}", 44), fontsize="medium")
        figures[name] = figure
    return figures


def claims(results: Results) -> Sequence[Claim]:
    """The claims about agents that start from the log."""
    found = []
    for (name, job), parts in results.draws.items():
        final = {label: np.array([part.final[label].mean() for part in parts]) for label in parts[0].labels}
        known = [mb.MeanBounds.from_dict(part.settings["bounds"]) for part in parts]
        settled = sum(int(np.sum(bounds.possible) == 1) for bounds in known)
        above = sum(bounds.best_lower > 0.5 for bounds in known)
        others = ", ".join(f"{label} {final[label].mean():.2f}" for label in POLICIES)
        against = sign_test(final["GLUE"], final["UCB"])
        found.append(
            Claim(
                f"Figure 4, Conclusion; {job}, {name}",
                "GLUE, which starts from the log's bounds, is never worse than UCB, which starts from nothing, and "
                "loses less where the bounds say something.",
                f"{against.over('draws of the movies')}; regret of {others}. The largest "
                f"lower bound is above 1/2 in {above} of {len(known)} draws, and {settled} leave a single movie that "
                "can be best",
                verdict(against.lost == 0 and less(final["GLUE"], final["UCB"])),
            )
        )
    for (name, job), reasons in results.missing.items():
        text = "Every draw of the movies leaves a log to start from."
        found.append(
            Claim(f"Figure 4, {job}, {name}", text, f"not {len(reasons)} of them: {reasons[0]}", verdict(False))
        )
    found.append(
        bound_claim(
            "Theorem 6",
            "Expected regret is below the bound in all rounds (all logs above).",
            [part for parts in results.draws.values() for part in parts],
        )
    )
    return noted(found, results.made_up)
