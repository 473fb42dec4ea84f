"""Bounds on the means of fifteen movies for each of eight occupations."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import meanbounds as mb
from meanbounds.paper.base import Claim, Work
from meanbounds.paper.ratings import VARIANTS, Source, bounds_of, note, noted, variants
from meanbounds.paper.verdicts import verdict
from meanbounds.plots import COLOURS, SMALL, WIDTH, column, fold, plot_bounds
from meanbounds.worlds.movielens import Recipe

if TYPE_CHECKING:
    import pandas as pd

TITLE = "What the log of each occupation says"
SOURCE = "Figure 6"
ABOUT = (
    "An expert sees occupation, gender and age of a user and recommends the best of fifteen movies; the log keeps the "
    "occupation. Rewards are a matrix of ratings, scaled to [0, 1], completed by SoftImpute and averaged over users of "
    "one gender and age. Penalty and rank are those with the least error on a tenth of the ratings, held out (last "
    "picture). The paper does not say whether the mean is taken off before the matrix is completed, and the cut at a "
    "total reward of 1500 keeps other users then: both are shown, neither is the paper's. Bars: bounds of Theorem 7 "
    "from an infinite log. Dots: true means. Grey: cannot be best."
)


@dataclass(frozen=True)
class Settings(Source):
    """Settings of the ratings, their completion and the draw of movies; see `Source`."""


SETTINGS = Settings()
QUICK = Settings(users=1_500, movies=900, quick=True, recipe=Recipe(cut=None))


TRIALS = ("variant", "penalty", "rank", "error", "chosen")


class Results(NamedTuple):
    """Bounds from the logs, the users kept, and the penalties that were tried."""

    bounds: pd.DataFrame  # variant, occupation, arm, mean, lower, upper, gap_low
    facts: pd.DataFrame  # for each variant its completion, who was kept, and what happened
    trials: pd.DataFrame  # variant, penalty, rank, error (in stars), chosen


def run(settings: Settings, work: Work) -> Results:
    """Complete the ratings in two ways, draw movies, and find bounds."""
    found: dict[str, pd.DataFrame] = {}

    def make(part: str) -> pd.DataFrame:
        if not found:
            found.update(_tables(settings, work))
        return found[part]

    return Results(*(work.frame(part, functools.partial(make, part)) for part in Results._fields))


def _tables(settings: Settings, work: Work) -> dict[str, pd.DataFrame]:
    import pandas as pd

    ratings = settings.ratings()
    bounds, facts, trials = [], [], []
    for name, variant in variants(settings, ratings, work).items():
        own = variant.draws[0]
        facts.append(
            {
                "variant": name,
                "cut": settings.recipe.cut,
                "penalty": variant.completion.penalty,
                "rank": variant.completion.rank,
                "rank_binds": variant.completion.rank_binds,
                "tolerance": settings.recipe.tolerance,
                "users": own.users,
                "kept": own.kept,
                "ratings": len(ratings.user),
                "rated": int(np.sum(ratings.ratings_of_movie > 0)),
                "numbers": ratings.shape[1],
                "redraws": sum(own.redraws.values()),
                "left_out": "; ".join(f"{job}: {why}" for job, why in own.left_out.items()),
                "made_up": own.made_up,
            }
        )
        for trial in variant.completion.tried:
            chosen = (trial.penalty, trial.rank) == (variant.completion.penalty, variant.completion.rank)
            error = 4.0 * trial.error  # rewards are stars from 1 to 5 on [0, 1]
            trials.append(
                {"variant": name, "penalty": trial.penalty, "rank": trial.rank, "error": error, "chosen": chosen}
            )
        for job, world in own.worlds.items():
            log = bounds_of(world)
            for k, arm in enumerate(world.arms):
                bounds.append(
                    {
                        "variant": name,
                        "occupation": job,
                        "arm": str(arm),
                        "mean": world.marginal_means[0, k],
                        "lower": log.lower[k],
                        "upper": log.upper[k],
                        "gap_low": world.gap_low[0],
                    }
                )
    return {
        "bounds": pd.DataFrame(bounds),
        "facts": pd.DataFrame(facts),
        "trials": pd.DataFrame(trials, columns=TRIALS),
    }


def plot(results: Results) -> Mapping[str, Figure]:
    """Eight small panels for each completion, and the error of each penalty."""
    figures = {name: _panels(results, name) for name in VARIANTS}
    figure, (ax,) = column([3.2])
    for number, ((name, rank), own) in enumerate(results.trials.groupby(["variant", "rank"])):
        ax.plot(own["penalty"], own["error"], "o-", color=COLOURS[number], label=f"{name}, rank {rank}", markersize=4)
    best = results.trials[results.trials["chosen"]]
    ax.plot(best["penalty"], best["error"], "*", color="black", markersize=14, label="chosen")
    ax.set_xscale("log")
    low, high = results.trials["penalty"].min(), results.trials["penalty"].max()
    ticks = [tick for tick in (1, 2, 3, 5, 7, 10, 15, 20, 30) if low <= tick <= high]
    ax.set_xticks(ticks, [str(tick) for tick in ticks], minor=False)
    ax.set_xticks([], minor=True)
    ax.set_xlabel("penalty")
    ax.set_ylabel("error on ratings held out, in stars")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=SMALL)
    ax.set_title(fold(note(bool(results.facts["made_up"].any())), 44), loc="left", fontsize="medium")
    return figures | {"completion": figure}


def _panels(results: Results, variant: str) -> Figure:
    table = results.bounds[results.bounds["variant"] == variant]
    jobs = sorted(table["occupation"].unique())
    rows = max(1, -(-len(jobs) // 2))
    facts = results.facts.set_index("variant").loc[variant]
    words = f"{note(bool(facts['made_up']))}; {variant}: {facts['kept']:,} of {facts['users']:,} users kept"
    words = "\n".join([fold(words, 44), fold(str(facts["left_out"]), 44)]).strip()
    height = 0.5 + 0.18 * (1 + words.count("\n")) + 2.0 * rows
    figure, axes = plt.subplots(rows, 2, figsize=(WIDTH, height), layout="constrained", sharex=True, squeeze=False)
    for ax in axes.flat[len(jobs) :]:
        ax.set_visible(False)
    for number, (ax, job) in enumerate(zip(axes.flat, jobs, strict=False)):
        own = table[table["occupation"] == job]
        plot_bounds(mb.MeanBounds(own["lower"], own["upper"]), own["mean"].tolist(), ax=ax)
        ax.get_legend().remove()
        ax.set_yticks([])
        ax.set_xlim(table["lower"].min() - 0.02, table["upper"].max() + 0.02)
        ax.set_title(job, loc="left", fontsize="medium")
        if number < len(jobs) - 2:
            ax.set_xlabel("")
    figure.suptitle(words, fontsize="medium")
    return figure


def claims(results: Results) -> Sequence[Claim]:
    """The claims of Section 6 about the data and the bounds."""
    table, facts = results.bounds, results.facts.set_index("variant")
    outside = ~mb.MeanBounds(table["lower"], table["upper"]).contains(table["mean"])
    kept = {name: int(facts.loc[name, "kept"]) for name in facts.index}
    redraws = int(facts["redraws"].sum())
    gaps = table.groupby(["variant", "occupation"])["gap_low"].first()
    found = [
        Claim(
            "Theorem 7",
            "All means are within the bounds that an infinite log gives.",
            f"{int(outside.sum())} of {len(table)} means are outside, in {len(gaps)} logs",
            verdict(not outside.any()),
        ),
        Claim(
            "Section 6, empirical validation",
            "Fifteen movies drawn at random leave a log that satisfies the separation assumption.",
            f"movies had to be drawn again {redraws} times, since one was best for all or two tied; then gap_low is "
            f"{gaps.min():.2g} to {gaps.max():.2g}",
            verdict(redraws == 0, bool(np.all(gaps > 0.0))),
        ),
    ]
    for name, why in facts["left_out"].items():
        if why:
            text = f"Each of the eight occupations leaves a log ({name})."
            found.append(Claim("Figure 6", text, str(why), verdict(False)))
    if facts["cut"].notna().all():
        found.append(
            Claim(
                "Section 6, empirical validation",
                "The recipe says which users are left: those whose completed rewards add up to "
                f"{facts['cut'].iloc[0]:g} or more.",
                "; ".join(
                    f"{name} {count:,} of {int(facts['users'].iloc[0]):,} (penalty {facts.loc[name, 'penalty']:g}, "
                    f"rank {facts.loc[name, 'rank']}{', which binds' if facts.loc[name, 'rank_binds'] else ''})"
                    for name, count in kept.items()
                )
                + f"; which of the two is meant is not said, nor penalty and rank. Without centring the number also "
                f"depends on when the completion stops (here at a step of {facts['tolerance'].iloc[0]:g} of its norm)",
                verdict(len(set(kept.values())) == 1),
            )
        )
    if not facts["made_up"].any():
        first = facts.iloc[0]
        found.append(
            Claim(
                "Section 6, empirical validation",
                "6040 users gave more than a million ratings of 3952 movies.",
                f"{first['users']:,} users, {first['ratings']:,} ratings of {first['rated']:,} movies; numbers go up "
                f"to {first['numbers']:,}",
                verdict(first["users"] == 6040 and first["ratings"] > 1_000_000 and first["rated"] == 3952),
            )
        )
    return noted(found, bool(facts["made_up"].any()))
