"""Figure 3: GLUE and its rivals on four instances, with rewards of 0 or 1 and with uniform ones.

The paper gives no numbers for its instances; those of `meanbounds.simulation.INSTANCES` have what the captions say. Of
OSSB there is no curve of its own: with rewards of 0 or 1 it has the constant of B-KL-UCB (Appendix D, Table 1).
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import meanbounds as mb
from meanbounds.simulation import INSTANCES, Uniform
from meanbounds.theory import glue_plays, variance_proxy
from paper.output import Claim, command, verdict, write_csv
from paper.verdicts import Pairs, below_bounds, comparable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["main"]

POLICIES = {"B-UCB": mb.BUCB(), "ImprovedUCB": mb.ImprovedUCB(), "GLUE": mb.GLUE(), "B-KL-UCB": mb.BKLUCB()}
VANILLA = {"UCB": mb.UCB(), "KL-UCB": mb.KLUCB()}
LAWS = {"Bernoulli": mb.Bernoulli, "uniform": Uniform}
SEED = 3

Results = Mapping[tuple[str, str], mb.Regret]
"""By the name of the instance and the law of the rewards."""


class Sizes(NamedTuple):
    """How much is simulated."""

    horizon: int = 100_000
    runs: int = 200


FULL, QUICK = Sizes(), Sizes(20_000, 100)


def main(out: Path, quick: bool) -> Sequence[Claim]:
    """Simulate four instances with both laws; write and draw the regret; check the captions and Theorem 6."""
    horizon, runs = QUICK if quick else FULL
    simulate = partial(mb.simulate, horizon=horizon, runs=runs, seed=SEED, compiled=True)
    results = {
        (name, law): simulate(POLICIES | VANILLA, kind(instance.means), instance.bounds)
        for name, instance in INSTANCES.items()
        for law, kind in LAWS.items()
    }
    rows = [
        (*key, label, *numbers)
        for key, regret in results.items()
        for label in regret.labels
        for numbers in zip(regret.checkpoints, regret.mean[label], regret.deviation[label], strict=True)
    ]
    write_csv(out / "panels.csv", "instance,rewards,policy,round,mean,deviation", rows)
    draw(out, results)
    return claims(results)


def draw(out: Path, results: Results) -> None:
    """A picture for each instance, to be read on a phone, and one of all four side by side."""
    from matplotlib.figure import Figure
    from matplotlib.image import imread, imsave

    paths = [out / f"panel-{name}.png" for name in INSTANCES]
    for path, name in zip(paths, INSTANCES, strict=True):
        figure = Figure(figsize=(4.0, 8.2), layout="constrained", dpi=200)
        draw_panel(figure, name, results)
        figure.savefig(path)
    imsave(out / "panels.png", np.hstack([imread(path) for path in paths]))


def draw_panel(figure: Figure, name: str, results: Results) -> None:
    """Draw the bounds and true means of an instance, and below them the regret with both laws."""
    from meanbounds.simulation.plots import draw_bounds, draw_regret

    instance, caption = INSTANCES[name], ""
    axes = figure.subplots(3, 1, height_ratios=(1.0, 1.2, 1.2))
    draw_bounds(axes[0], instance.bounds, instance.means)
    for ax, law in zip(axes[1:], LAWS, strict=True):
        ax.set_title(f"{law} rewards", loc="left", fontsize=10.0)
        caption = draw_regret(ax, results[name, law].select([*POLICIES]), band="deviation")
    figure.suptitle(textwrap.fill(instance.title, 34, break_on_hyphens=False), fontsize=11.0)
    figure.supxlabel(textwrap.fill(caption, 55), x=0.02, ha="left", fontsize=9.0, color="#666666")


def claims(results: Results) -> list[Claim]:
    """The claims of the captions and of Section 5, with both laws."""
    near_one, low = "high-lower-bound", "low-rewards"
    return [
        factors(),
        order(
            "Figure 3a, Section 5",
            "With l_max near 1, GLUE has less regret than B-UCB and ImprovedUCB.",
            near_one,
            (("GLUE", "B-UCB"), ("GLUE", "ImprovedUCB")),
            results,
        ),
        near_optimal(near_one, results),
        meta_pruned("Figure 3a", near_one, 2, results),
        meta_pruned("Figure 3b", "meta-pruned", 1, results),
        equal(
            "Figures 3b and 3d",
            "Bounds that say nothing of the factors only clip: B-UCB, ImprovedUCB and GLUE coincide.",
            ("B-UCB", "ImprovedUCB", "GLUE"),
            [results[name, law] for name in ("meta-pruned", "clipping-only") for law in LAWS],
        ),
        equal(
            "Figure 3c",
            "With all upper bounds below 1/2, ImprovedUCB and GLUE coincide.",
            ("ImprovedUCB", "GLUE"),
            [results[low, law] for law in LAWS],
        ),
        order(
            "Figure 3c, Section 5",
            "With all upper bounds below 1/2, GLUE has less regret than B-UCB, and B-KL-UCB less than GLUE.",
            low,
            (("GLUE", "B-UCB"), ("B-KL-UCB", "GLUE")),
            results,
        ),
        gains(results),
        below_bounds(
            "Theorem 6",
            "Expected regret is below the bound in all rounds (four instances, both laws).",
            list(results.values()),
        ),
    ]


def order(source: str, text: str, name: str, pairs: Sequence[tuple[str, str]], results: Results) -> Claim:
    """The claim that the first policy of each pair has less regret than the second, in this panel."""
    words, shows = [], []
    for one, other in pairs:
        for law in LAWS:
            found = Pairs.of(results[name, law].final[one], results[name, law].final[other])
            words.append(f"{one} and {other}, {law} rewards: {found}")
            shows.append(found.shows)
    return Claim(source, text, "; ".join(words), verdict(all(shows)))


def equal(source: str, text: str, labels: Sequence[str], results: Sequence[mb.Regret]) -> Claim:
    """The claim that policies have the same regret in every run."""
    curves = [np.stack([regret.curves[label] for label in labels]) for regret in results]
    apart = max(np.ptp(own, axis=0).max() for own in curves)
    return Claim(source, text, f"largest difference in any run at any checkpoint: {apart:g}", verdict(apart == 0.0))


def near_optimal(name: str, results: Results) -> Claim:
    """The claim about GLUE and B-KL-UCB in the first panel."""
    final = {law: results[name, law].final for law in LAWS}
    ratios = {law: own["GLUE"].mean() / own["B-KL-UCB"].mean() for law, own in final.items()}
    return Claim(
        "Figure 3a, Section 5",
        "With l_max near 1, GLUE is comparable to B-KL-UCB (here: within a factor of 2).",
        ", ".join(f"{ratio:.2f} times its regret with {law} rewards" for law, ratio in ratios.items()),
        verdict(all(comparable([ratio, 1.0]) for ratio in ratios.values())),
    )


def factors() -> Claim:
    """The claim about the factors in the first panel."""
    bounds = INSTANCES["high-lower-bound"].bounds
    own, lead = bounds.best_variance_proxy[bounds.possible], variance_proxy(bounds.best_lower)
    return Claim(
        "Figure 3a",
        "Every arm is explored at the factor of the arm with the largest lower bound.",
        f"squared factors {own.min():.4f} to {own.max():.4f}; that of l_max = {bounds.best_lower} is {lead:.4f}",
        verdict(bool(np.allclose(own, lead))),
    )


def meta_pruned(source: str, name: str, arm: int, results: Results) -> Claim:
    """The caption's arm, and only that one, is meta-pruned, and is played no more often than the theorem allows."""
    means, bounds = INSTANCES[name].means, INSTANCES[name].bounds
    plays = np.stack([results[name, law].plays["GLUE"][:, arm] for law in LAWS]).mean(axis=1).max()
    horizon = int(results[name, "Bernoulli"].checkpoints[-1])
    allowed = float(glue_plays(means, bounds, horizon)[arm])
    alone = np.flatnonzero(bounds.meta_pruned(means.max())).tolist() == [arm]
    return Claim(
        source,
        f"Arm {arm + 1} is meta-pruned: played a bounded number of times, however long it goes on.",
        f"its upper bound {bounds.upper[arm]} is below the best mean {means.max()}; {plays:.2f} plays in "
        f"{horizon:,} rounds on average, {allowed:.1f} allowed",
        verdict(alone and bool(plays <= allowed)),
    )


def gains(results: Results) -> Claim:
    """The claim about KL-UCB and UCB, which use no bounds."""
    shares = {
        (law, name): results[name, law].mean["KL-UCB"][-1] / results[name, law].mean["UCB"][-1]
        for law in LAWS
        for name in INSTANCES
    }
    ahead = all(Pairs.of(regret.final["KL-UCB"], regret.final["UCB"]).shows for regret in results.values())
    edge = [share for (_, name), share in shares.items() if name in ("high-lower-bound", "low-rewards")]
    middle = [share for (_, name), share in shares.items() if name in ("meta-pruned", "clipping-only")]
    return Claim(
        "Section 5",
        "KL-UCB always outperforms UCB, with larger gains where means are near 0 or 1.",
        "its share of UCB's regret: " + ", ".join(f"{x:.2f} ({name}, {law})" for (law, name), x in shares.items()),
        verdict(ahead and max(edge) < min(middle)),
    )


if __name__ == "__main__":
    command(__doc__, main)
