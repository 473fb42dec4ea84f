"""Figures 4 and 6: the log of a recommender who sees age, gender and occupation, and agents who see one of them.

A recommender shows each user the best of fifteen movies, and the log keeps the user's occupation alone (in a second set
of pictures: the age alone). Rewards are ratings, scaled to [0, 1], completed by SoftImpute and averaged over users who
are alike. Bars are the bounds of Theorem 7 from an infinite log, dots true means. Without MovieLens 1M (`--movielens`)
the ratings are made up, and pictures and claims say so.

The paper leaves much of the recipe open; `Recipe` has a field for every choice. Above all it does not say whether the
mean is subtracted before the matrix is completed, on which it depends who is left after the cut at a total reward of
1500. Both are shown, neither is the paper's. The penalty is the one with the least error on a tenth of the ratings,
held out. For the regret the movies are drawn many times, since some draws leave nothing to learn and others much.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

import meanbounds as mb
from meanbounds.simulation import HiddenContexts, Uniform
from meanbounds.support.types import Floats, Integers
from meanbounds.theory import log_bounds
from paper.output import Claim, command, verdict, write_csv
from paper.ratings import Ratings, find_ratings
from paper.roful import pooled
from paper.soft_impute import Completion, choose_penalty
from paper.verdicts import Pairs, below_bounds

__all__ = ["AGES", "OCCUPATIONS", "Logs", "Recipe", "complete", "logs_of", "main"]

AGES = {1: "0-17", 18: "18-25", 25: "25-49", 35: "25-49", 45: "25-49", 50: "50+", 56: "50+"}
"""The paper's four classes, by the lower ends of the bands of the data."""

_CODES = {"Academic": (1,), "Arts": (2, 20), "Law": (11,), "Office": (3, 5, 7, 14), "Others": (0, 8, 9, 16, 18, 19)}
_CODES |= {"Retired": (13,), "Scientific": (6, 12, 15, 17), "Student": (4, 10)}
OCCUPATIONS = {code: name for name, codes in _CODES.items() for code in codes}
"""The paper's eight classes, by the codes of the data. The paper does not give this map; it is ours."""

SHOWN = ("Law", "Academic")
POLICIES = {"B-UCB": mb.BUCB(), "ImprovedUCB": mb.ImprovedUCB(), "GLUE": mb.GLUE(), "B-KL-UCB": mb.BKLUCB()}


@dataclass(frozen=True)
class Recipe:
    """How ratings become logs. The paper's value where it gives one; all others are ours.

    Attributes
    ----------
    centre
        Whether the mean of all ratings is subtracted before the completion.
    penalties, rank, tolerance
        The penalties to choose from, the largest rank, and when the completion stops; see `soft_impute`. Without
        centring users go on crossing the cut for hundreds of steps.
    cut
        Users whose rewards of all movies add up to less are left out (paper: 1500 of 3,952 movies; scaled for others).
    cut_movies, clip
        Whether all numbers count in that total, or only those of movies that were rated; whether completed rewards are
        clipped to [0, 1] before they are added up. Mean rewards are always clipped.
    occupations, ages
        Classes by code.
    visible
        What the log keeps (paper: the occupation). The rest is hidden, gender included.
    weights
        How likely each hidden kind is among users who look alike: as many as there are, or uniform.
    arms, least_ratings
        How many movies are drawn for each log (paper: 15), among those with at least so many ratings.
    law
        The rewards of the agent: at the ends of the range, or uniform.
    """

    centre: bool = False
    penalties: tuple[float, ...] = (20.0, 14.0, 12.0, 10.0, 8.5, 7.5, 6.6, 6.0, 5.25, 4.6, 4.0, 3.5, 3.0, 2.6, 2.2, 1.8)
    rank: int = 100
    tolerance: float = 1e-5
    cut: float = 1500.0
    cut_movies: Literal["all", "rated"] = "all"
    clip: bool = True
    occupations: Mapping[int, str] = field(default_factory=lambda: OCCUPATIONS, hash=False)
    ages: Mapping[int, str] = field(default_factory=lambda: AGES, hash=False)
    visible: Literal["occupation", "age"] = "occupation"
    weights: Literal["counts", "uniform"] = "counts"
    arms: int = 15
    least_ratings: int = 1
    law: Literal["two-point", "uniform"] = "two-point"


class Sizes(NamedTuple):
    """Made-up users and movies, the recipe, and how much is simulated; fewer than 10 draws cannot show an order."""

    users: int = 6_040
    movies: int = 3_883
    recipe: Recipe = Recipe()
    draws: int = 20
    runs: int = 10
    horizon: int = 50_000


FULL = Sizes()
QUICK = Sizes(1_200, 700, Recipe(penalties=(4.6, 3.0, 2.0, 1.4, 1.0), rank=20, tolerance=3e-3), 10, 4, 10_000)


class Logs(NamedTuple):
    """The infinite logs that a recipe gives, by what is visible in them.

    `without` says which classes leave no log, and why; `redrawn` how often movies were drawn again because one of them
    was best for everyone or two tied.
    """

    cases: dict[str, HiddenContexts]
    without: dict[str, str]
    redrawn: int


@dataclass(frozen=True, eq=False)
class Variant:
    """One way of completing: the recipe, the matrix, who is above the cut, and logs of the first draw of movies."""

    recipe: Recipe
    completion: Completion
    kept: Integers
    first: Mapping[str, Logs]


def main(out: Path, quick: bool) -> Sequence[Claim]:
    """Complete the ratings in two ways, bound means from the logs, and let agents start from them."""
    sizes = QUICK if quick else FULL
    ratings = find_ratings(sizes.users, sizes.movies)
    variants, regrets, missing = {}, dict[tuple[str, str], list[mb.Regret]](), Counter[tuple[str, str]]()
    for number, (name, centre) in enumerate((("centred", True), ("uncentred", False))):
        recipe = replace(sizes.recipe, centre=centre)
        completion = complete(ratings, recipe)
        kept = np.flatnonzero(totals(ratings, completion, recipe) >= recipe.cut * ratings.stars.shape[1] / 3952)
        make = partial(logs_of, ratings, completion, kept)
        first = {key: make(replace(recipe, visible=key), 0) for key in ("occupation", "age")}
        variants[name] = Variant(recipe, completion, kept, first)
        for draw in range(sizes.draws):
            logs = make(recipe, draw, SHOWN)
            missing.update((name, job) for job in logs.without)
            for job, cases in logs.cases.items():
                seed = np.random.default_rng([number, SHOWN.index(job), draw])
                regrets.setdefault((name, job), []).append(simulated(cases, recipe, sizes, seed))
    write_tables(out, variants, regrets)
    for name, variant in variants.items():
        for key, logs in variant.first.items():
            draw_logs(out / f"movielens-{key}-{name}.png", f"{ratings.note}; {name}", f"The log keeps the {key}.", logs)
        if any(own == name for own, _ in regrets):
            draw_regrets(out / f"movielens-regret-{name}.png", f"{ratings.note}; {name}", name, regrets)
    found = claims(ratings, variants, regrets, missing)
    return [claim._replace(measured=f"{ratings.note}: {claim.measured}") for claim in found]


def complete(ratings: Ratings, recipe: Recipe) -> Completion:
    """Estimate every rating that was not given, on [0, 1]."""
    choose = partial(choose_penalty, rank=recipe.rank, centre=recipe.centre, tolerance=recipe.tolerance)
    return choose(ratings.rewards, recipe.penalties)


def totals(ratings: Ratings, completion: Completion, recipe: Recipe) -> Floats:
    """The total reward of each user."""
    counted = (ratings.times_rated > 0) | (recipe.cut_movies == "all")
    found = []
    for first in range(0, ratings.stars.shape[0], 500):
        block = completion.entries(slice(first, first + 500))
        found.append((np.clip(block, 0.0, 1.0) if recipe.clip else block) @ counted)
    return np.concatenate(found)


def logs_of(
    ratings: Ratings,
    completion: Completion,
    kept: Integers,
    recipe: Recipe,
    draw: int,
    only: Sequence[str] = (),
    most: int = 1_000,
) -> Logs:
    """Draw movies for each class of users, and average the rewards of users who are alike.

    The bounds assume a positive gap, and a log of one movie says nothing of the others: movies are drawn again while
    one of them is the best for all kinds of users, or two are the best for some kind; at most `most` times.
    """
    jobs = np.array([recipe.occupations[code] for code in ratings.occupation.tolist()])[kept]
    ages = np.array([recipe.ages[code] for code in ratings.age.tolist()])[kept]
    seen, other = (jobs, ages) if recipe.visible == "occupation" else (ages, jobs)
    hidden = np.array([f"{gender} {word}" for gender, word in zip(np.array(ratings.gender)[kept], other, strict=True)])
    pool = np.flatnonzero(ratings.times_rated >= recipe.least_ratings)
    found, redrawn = Logs({}, {}, 0), 0
    for place, name in enumerate(sorted(set((recipe.occupations, recipe.ages)[recipe.visible == "age"].values()))):
        if only and name not in only:
            continue
        kinds, counts = np.unique(hidden[seen == name], return_counts=True)
        if kinds.size < 2:
            found.without[name] = "there are not two kinds of users above the cut"
            continue
        means = np.stack(
            [
                np.clip(completion.entries(kept[(seen == name) & (hidden == kind)], pool), 0.0, 1.0).mean(axis=0)
                for kind in kinds
            ]
        )
        rng = np.random.default_rng([draw, place])
        for _ in range(most):
            drawn = np.sort(rng.choice(pool.size, recipe.arms, replace=False))
            cases = HiddenContexts(
                means[None, :, drawn],
                counts[None] if recipe.weights == "counts" else None,
                contexts=[name],
                arms=[f"{ratings.titles[number]} ({number + 1})" for number in pool[drawn].tolist()],
            )
            if cases.gap_low[0] > 1e-9 and np.ptp(cases.best) > 0:  # a smaller gap is a matter of rounding
                found.cases[name] = cases
                break
            redrawn += 1
        else:
            found.without[name] = f"in each of {most} draws of the movies one is best for everyone or two tie"
    return found._replace(redrawn=redrawn)


def bounds_of(cases: HiddenContexts) -> mb.MeanBounds:
    """The bounds of Theorem 7 from an infinite log of these cases."""
    share = cases.shares[0]
    means = np.divide(cases.contributions[0], share, out=np.zeros_like(share), where=share > 0.0)
    gaps = {"gap_low": float(cases.gap_low[0]), "gap_high": float(cases.gap_high[0])}
    return log_bounds(share / share.sum(), means, **gaps, arms=cases.arms)


def simulated(cases: HiddenContexts, recipe: Recipe, sizes: Sizes, seed: np.random.Generator) -> mb.Regret:
    """Agents who start from the log, and one who starts from nothing."""
    means = cases.marginal_means[0]
    environment = Uniform(means) if recipe.law == "uniform" else mb.Bernoulli(means)
    policies = {"UCB": mb.UCB(), **POLICIES}
    play = partial(mb.simulate, horizon=sizes.horizon, runs=sizes.runs, seed=seed, compiled=True)
    return play(policies, environment, bounds_of(cases))


def write_tables(
    out: Path, variants: Mapping[str, Variant], regrets: Mapping[tuple[str, str], Sequence[mb.Regret]]
) -> None:
    """Bounds and means of every log, the penalties that were tried, and regret on each draw."""
    rows = []
    for (name, variant), key in product(variants.items(), ("occupation", "age")):
        for label, cases in variant.first[key].cases.items():
            bounds = bounds_of(cases)
            columns = cases.shares[0], cases.marginal_means[0], bounds.lower, bounds.upper
            rows += [(name, key, label, k, *numbers) for k, numbers in enumerate(zip(*columns, strict=True), start=1)]
    write_csv(out / "movielens.csv", "completion,visible,class,movie,share,mean,lower,upper", rows)
    tried = [(name, *trial) for name, own in variants.items() for trial in own.completion.trials]
    write_csv(out / "movielens-penalties.csv", "completion,penalty,error", tried)
    final = [
        (*key, draw, label, values.mean())
        for key, parts in regrets.items()
        for draw, regret in enumerate(parts)
        for label, values in regret.final.items()
    ]
    write_csv(out / "movielens-regret.csv", "completion,occupation,draw,policy,regret", final)


def draw_logs(path: Path, title: str, about: str, logs: Logs) -> None:
    """A small panel for each log: bounds and means of the movies."""
    from matplotlib.figure import Figure

    from meanbounds.simulation.plots import draw_bounds

    rows = max(1, -(-len(logs.cases) // 2))
    figure = Figure(figsize=(4.0, 1.3 + 1.9 * rows), layout="constrained", dpi=200)
    axes, keys = figure.subplots(rows, 2, squeeze=False).ravel(), dict[str, Any]()
    for ax in axes[len(logs.cases) :]:
        ax.set_visible(False)
    for ax, (name, cases) in zip(axes, logs.cases.items(), strict=False):
        bounds = bounds_of(cases)
        draw_bounds(ax, bounds, cases.marginal_means[0])
        keys |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
        ax.get_legend().remove()
        ax.set_yticks([])
        ax.set_xlim(max(0.0, float(bounds.lower.min()) - 0.03), min(1.0, float(bounds.upper.max()) + 0.03))
        ax.locator_params(axis="x", nbins=4)
        ax.set_title(name, loc="left", fontsize=10.0)
        ax.set_xlabel("mean reward" if ax in axes[len(logs.cases) - 2 : len(logs.cases)] else "")
    said = [title, about, *(f"{name} leaves no log: {why}." for name, why in logs.without.items())]
    figure.suptitle("\n".join(textwrap.fill(text, 46) for text in said), fontsize=11.0)
    if keys:
        figure.legend(list(keys.values()), list(keys), loc="outside lower center", ncols=2, frameon=False, fontsize=9.0)
    figure.savefig(path)


def draw_regrets(path: Path, title: str, name: str, regrets: Mapping[tuple[str, str], Sequence[mb.Regret]]) -> None:
    """Regret in the two occupations that the paper shows, over all draws of the movies."""
    from matplotlib.figure import Figure

    from meanbounds.simulation.plots import draw_regret

    own, caption = {job: parts for (variant, job), parts in regrets.items() if variant == name}, ""
    figure = Figure(figsize=(4.0, 1.4 + 3.0 * len(own)), layout="constrained", dpi=200)
    for ax, (job, parts) in zip(figure.subplots(len(own), 1, squeeze=False)[:, 0], own.items(), strict=True):
        caption = draw_regret(ax, pooled(parts).select(list(POLICIES)), band="deviation")
        ax.set_title(f"{job}, {len(parts)} draws of the movies", loc="left", fontsize=10.0)
    figure.suptitle(textwrap.fill(title, 46), fontsize=11.0)
    final = [f"{np.mean([part.final['UCB'].mean() for part in parts]):,.0f}" for parts in own.values()]
    caption += f"\nNot shown: UCB, which does not use the log and ends at {' and '.join(final)}."
    words = "\n".join(textwrap.fill(line, 55) for line in caption.split("\n"))
    figure.supxlabel(words, x=0.02, ha="left", fontsize=9.0, color="#666666")
    figure.savefig(path)


def claims(
    ratings: Ratings,
    variants: Mapping[str, Variant],
    regrets: Mapping[tuple[str, str], Sequence[mb.Regret]],
    missing: Mapping[tuple[str, str], int],
) -> list[Claim]:
    """The claims of Section 6 about the data, the bounds, and agents that start from them."""
    source, logs = "Section 6, empirical validation", [own for part in variants.values() for own in part.first.values()]
    cases = [one for own in logs for one in own.cases.values()]
    outside = sum(int(np.count_nonzero(~bounds_of(one).contains(one.marginal_means[0]))) for one in cases)
    gaps, redrawn = [float(one.gap_low[0]) for one in cases], sum(own.redrawn for own in logs)
    without = [
        f"{name} ({why}; {key})" for key, v in variants.items() for name, why in v.first["occupation"].without.items()
    ]
    kept, users = [own.kept.size for own in variants.values()], ratings.stars.shape[0]
    words = ", ".join(
        f"{name} {own.kept.size:,} of {users:,} (penalty {own.completion.penalty:g}, rank {own.completion.sizes.size}"
        f"{', which the limit binds' * own.completion.binds})"
        for name, own in variants.items()
    )
    rated, numbers = int(np.count_nonzero(ratings.times_rated)), ratings.stars.shape[1]
    size = Claim(
        source,
        "6,040 users gave more than a million ratings of 3,952 movies.",
        f"{users:,} users, {ratings.stars.nnz:,} ratings of {rated:,} movies; numbers of movies go up to {numbers:,}",
        verdict(users == 6_040 and ratings.stars.nnz > 1_000_000 and rated == 3_952),
    )
    return [
        *([] if ratings.made_up else [size]),
        Claim(
            source,
            "The recipe says which users are left: those whose completed rewards add up to 1500 or more.",
            f"{words}. Whether to centre is not said, nor the penalty; without centring the number also depends on "
            f"when the completion stops (here at steps of {variants['uncentred'].recipe.tolerance:g} of the norm)",
            verdict(len(set(kept)) == 1),
        ),
        Claim(
            "Figure 6",
            "Each of the eight occupations leaves a log.",
            f"without one: {', '.join(without) or 'none'}",
            verdict(not without),
        ),
        Claim(
            source,
            "Movies drawn at random leave a log that satisfies the separation assumption.",
            f"movies were drawn again {redrawn} times for {len(cases)} logs, since one was best for everyone or two "
            f"tied; then gap_low is {min(gaps):.2g} to {max(gaps):.2g}",
            verdict(redrawn == 0, min(gaps) > 0.0),
        ),
        Claim(
            "Theorem 7, Figure 6",
            "All means are within the bounds that an infinite log gives.",
            f"{outside} of {sum(len(one.arms) for one in cases)} means are outside, in {len(cases)} logs",
            verdict(outside == 0),
        ),
        *(started(f"{job}, {name}", parts, missing.get((name, job), 0)) for (name, job), parts in regrets.items()),
        below_bounds(
            "Theorem 6",
            "Expected regret is below the bound in all rounds (all logs above).",
            [regret for parts in regrets.values() for regret in parts],
        ),
    ]


def started(which: str, parts: Sequence[mb.Regret], missing: int) -> Claim:
    """The claim about GLUE and UCB after this log; draws of the movies are the pairs."""
    final = {label: [part.final[label].mean() for part in parts] for label in parts[0].labels}
    bounds = [mb.MeanBounds.from_dict(part.settings["known"]["bounds"]) for part in parts]
    settled = sum(np.count_nonzero(own.possible) == 1 for own in bounds)
    above = sum(own.best_lower > 0.5 for own in bounds)
    pair = Pairs.of(final["GLUE"], final["UCB"])
    others = ", ".join(f"{label} {np.mean(final[label]):.1f}" for label in POLICIES)
    return Claim(
        f"Figure 4, Conclusion; {which}",
        "GLUE, which starts from the log's bounds, is never worse than UCB, which starts from nothing.",
        f"{pair} (draws of the movies); regret of {others}. The largest lower bound is above 1/2 in {above} draws, and "
        f"{settled} leave a single movie that can be best; {missing} draws leave no log",
        verdict(pair.more == 0 and pair.shows),
    )


if __name__ == "__main__":
    command(__doc__, main)
