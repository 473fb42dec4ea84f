"""Figure 2: OFUL and R-OFUL with 100 arms in ten dimensions, of which 5, 10 or 15 are on offer in a round.

The paper does not say whether all runs share one draw of the arms. Here there are several draws, shown together, and
orders are tested over draws. Printed rewards are Gaussian, then clipped to [0, 1] or [-1, 0]. That moves their means,
which are then not linear in the features, so that no theorem covers them. Beside them stand rewards at the two ends of
the range, whose means are exactly linear.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import meanbounds as mb
from meanbounds.simulation import Linear, paper_linear
from meanbounds.support.types import Floats
from paper.output import Claim, command, verdict, write_csv
from paper.verdicts import Pairs, below_bounds, comparable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["main"]


@dataclass(frozen=True, repr=False, kw_only=True)
class Printed(mb.ROFUL):
    """R-OFUL as printed: rewards of all arms count alike, by the largest factor that one of them may have."""

    def noise(self, extent: Any, low: Floats, high: Floats) -> Floats:
        """The largest variance proxy, for every arm."""
        return np.full_like(low, super().noise(extent, low, high).max())


OFFERED = (5, 10, 15)
LAWS = {"clipped-gaussian": "rewards and algorithm as printed", "two-point": "rewards with linear means"}
POLICIES = {
    law: {"OFUL": mb.OFUL(), "R-OFUL": policy, "R-OFUL, clip": mb.ROFUL(index="clip")}
    for law, policy in (("clipped-gaussian", Printed()), ("two-point", mb.ROFUL()))
}

Results = Mapping[tuple[str, int], Sequence[mb.Regret]]
"""For each law of the rewards and number of arms on offer, the runs on each draw of the arms."""


class Sizes(NamedTuple):
    """Draws of the arms, runs on each, and rounds; fewer than 10 draws cannot show an order."""

    draws: int = 20
    runs: int = 10
    horizon: int = 2_000


FULL, QUICK = Sizes(), Sizes(10, 2, 250)


def main(out: Path, quick: bool) -> Sequence[Claim]:
    """Simulate each draw, with both laws; write and draw the regret; check Section 4 and Theorem 4."""
    draws, runs, horizon = QUICK if quick else FULL
    simulate = partial(mb.simulate, horizon=horizon, runs=runs, checkpoints=100, considered=True)
    results: dict[tuple[str, int], list[mb.Regret]] = {}
    with warnings.catch_warnings():  # contradictions are counted below
        warnings.filterwarnings("ignore", message=".*rewards contradicted bounds", category=UserWarning)
        for law in LAWS:
            for offered in OFFERED:
                drawn = [paper_linear(draw, offered=offered, law=law) for draw in range(draws)]
                results[law, offered] = [
                    simulate(POLICIES[law], own.environment, own.bounds, seed=draw) for draw, own in enumerate(drawn)
                ]
    rows = [
        (law, offered, label, *numbers)
        for (law, offered), parts in results.items()
        for label, regret in ((label, pooled(parts)) for label in POLICIES[law])
        for numbers in zip(regret.checkpoints, regret.mean[label], regret.deviation[label], strict=True)
    ]
    write_csv(out / "roful.csv", "rewards,offered,policy,round,mean,deviation", rows)
    draw_all(out, results)
    return claims(results)


def pooled(parts: Sequence[mb.Regret]) -> mb.Regret:
    """The runs of all draws together."""
    first = parts[0]
    curves = {label: np.concatenate([part.curves[label] for part in parts]) for label in first.labels}
    plays = {label: np.concatenate([part.plays[label] for part in parts]) for label in first.labels}
    return mb.Regret(first.checkpoints, curves, plays)


def considered(parts: Sequence[mb.Regret]) -> float:
    """How many arms R-OFUL considered in a round, on average."""
    return float(np.mean([part.measures["considered"]["R-OFUL"][:, -1].mean() for part in parts]))


def draw_all(out: Path, results: Results) -> None:
    """A picture for each law, to be read on a phone: regret with 5, 10 and 15 arms on offer, and arms considered."""
    from matplotlib.figure import Figure

    from meanbounds.simulation.plots import draw_regret

    for law, words in LAWS.items():
        figure, caption = Figure(figsize=(4.0, 9.0), layout="constrained", dpi=200), ""
        axes = figure.subplots(len(OFFERED) + 1, 1, height_ratios=(*(1.0 for _ in OFFERED), 0.55))
        for ax, offered in zip(axes, OFFERED, strict=False):
            ax.set_title(f"{offered} arms on offer", loc="left", fontsize=10.0)
            regret = pooled(results[law, offered]).select(["OFUL", "R-OFUL"])
            caption = draw_regret(ax, regret, band="deviation")
        draw_considered(axes[-1], [considered(results[law, offered]) for offered in OFFERED])
        figure.suptitle(words.capitalize(), fontsize=11.0)
        figure.supxlabel(textwrap.fill(caption, 55), x=0.02, ha="left", fontsize=9.0, color="#666666")
        figure.savefig(out / f"roful-{law}.png")


def draw_considered(ax: Axes, values: Sequence[float]) -> None:
    """Bars for the number of arms that R-OFUL considers, beside the 2 to 3 of the paper."""
    from meanbounds.simulation.plots import colours

    ax.axvspan(2.0, 3.0, color="#eeeeee")
    bars = ax.barh(
        [f"{offered} on offer" for offered in OFFERED], values, height=0.55, color=colours(["R-OFUL"])["R-OFUL"]
    )
    ax.bar_label(bars, [f"{value:.2f}" for value in values], padding=3, fontsize=9.0)
    ax.invert_yaxis()
    ax.set(xlim=(0.0, 3.4), xlabel="shaded: as the paper says")
    ax.set_title("Arms that R-OFUL considers in a round", loc="left", fontsize=10.0)
    ax.spines[["top", "right"]].set_visible(False)


def claims(results: Results) -> list[Claim]:
    """The claims of Section 4 about the experiment, and Theorem 4."""
    draws = results["two-point", OFFERED[0]]
    kept = [considered(results["two-point", offered]) for offered in OFFERED]
    empty = {law: [contradicted(results[law, offered]) for offered in OFFERED] for law in LAWS}
    apart = max(distance_from_linear(draw) for draw in range(len(draws)))
    runs = sum(len(part.plays["OFUL"]) for part in draws)
    return [
        *(claim for law in LAWS for claim in orders(results, law)),
        Claim(
            "Figure 2, caption",
            "R-OFUL only chooses between 2 and 3 arms in a round, on average.",
            f"of {listed(OFFERED)} on offer it considers {listed(kept, '.2f')}",
            verdict(all(2.0 <= value <= 3.0 for value in kept)),
        ),
        Claim(
            "Section 4, empirical evaluations",
            "The rewards of the experiment are those of a linear bandit.",
            f"no parameter has the means of the clipped rewards: the best fit misses some by {apart:.2f}. Bounds and "
            f"data contradict each other in {listed(empty['clipped-gaussian'])} of {runs} runs with "
            f"{listed(OFFERED)} on offer; with linear means, in {listed(empty['two-point'])}",
            verdict(apart < 1e-9, sum(empty["two-point"]) <= mb.ROFUL().failure * runs * len(OFFERED)),
        ),
        uninformed(results),
        below_bounds(
            "Theorem 4",
            f"With probability 1 - delta the regret is below the bound in all rounds (rewards with linear means, "
            f"{OFFERED[-1]} arms on offer).",
            results["two-point", OFFERED[-1]],
        ),
    ]


def orders(results: Results, law: str) -> list[Claim]:
    """The claims about regret with this law of the rewards."""
    plain, restricted, clipped = (
        [means(results[law, offered], label) for offered in OFFERED] for label in POLICIES[law]
    )
    less = [Pairs.of(*pair) for pair in zip(restricted, plain, strict=True)]
    averages = [[float(sample.mean()) for sample in own] for own in (plain, restricted, clipped)]
    words = f"({LAWS[law]})"
    return [
        Claim(
            "Section 4, empirical evaluations",
            f"R-OFUL has much lower regret than OFUL {words}.",
            "; ".join(f"{offered} on offer: {pair}" for offered, pair in zip(OFFERED, less, strict=True))
            + f' (pairs: draws of the arms). With index="clip": {listed(averages[2], ".1f")}',
            verdict(all(pair.shows for pair in less)),
        ),
        Claim(
            "Figure 2, caption",
            f"R-OFUL's regret is comparable whatever the number of arms on offer {words}.",
            f"{listed(averages[1], '.1f')} with {listed(OFFERED)} on offer; here: within a factor of 2",
            verdict(comparable(averages[1])),
        ),
        Claim(
            "Figure 2, caption",
            f"OFUL's regret grows with the number of arms on offer {words}.",
            f"{listed(averages[0], '.1f')} with {listed(OFFERED)} on offer",
            verdict(all(Pairs.of(*pair).shows for pair in pairwise(plain))),
        ),
    ]


def means(parts: Sequence[mb.Regret], label: str) -> Floats:
    """Regret on each draw of the arms: runs that share their arms are not independent."""
    return np.array([part.final[label].mean() for part in parts])


def contradicted(parts: Sequence[mb.Regret]) -> int:
    """In how many runs no parameter satisfied both bounds and data."""
    return sum(int(np.count_nonzero(part.measures["contradictions"]["R-OFUL"][:, -1])) for part in parts)


def distance_from_linear(draw: int) -> float:
    """How far the means of the printed rewards are from the nearest linear ones, at most."""
    environment = paper_linear(draw).environment
    assert isinstance(environment, Linear)
    features, paid = environment.features, environment.rewards.means
    return float(np.abs(features @ np.linalg.lstsq(features, paid, rcond=None)[0] - paid).max())


def uninformed(results: Results) -> Claim:
    """The claim about R-OFUL without informative bounds: with nothing but the norm, and with each arm's range."""
    some = results["two-point", OFFERED[1]][:5]
    simulate = partial(mb.simulate, horizon=int(some[0].checkpoints[-1]), runs=len(some[0].plays["OFUL"]))
    indices = {key: mb.ROFUL(index=key) for key in ("exact", "clip", "plain")}
    words, same = [], dict.fromkeys(indices, True)
    for ranges in (False, True):
        regrets = []
        for draw in range(len(some)):
            environment = paper_linear(draw, offered=OFFERED[1], law="two-point").environment
            low, high = (environment.low, environment.high) if ranges else (-1.0, 1.0)
            bounds = mb.MeanBounds.vacuous(len(environment), low=low, high=high)
            regret = simulate({"OFUL": mb.OFUL(), **indices}, environment, bounds, seed=draw)
            for key in indices:
                same[key] &= ranges or np.array_equal(regret.curves[key], regret.curves["OFUL"])
            regrets.append(regret)
        numbers = [f"{key} {means(regrets, key).mean():.1f}" for key in regrets[0].labels]
        words.append(f"knowing {'the ranges [0, 1] and [-1, 0]' if ranges else 'only the norm'}: {', '.join(numbers)}")
    return Claim(
        "Section 4, comparisons",
        "Without informative bounds, R-OFUL matches OFUL exactly.",
        f"regret by R-OFUL's index, {'; '.join(words)}. The same as OFUL in every run where only the norm is known: "
        f"{listed([key for key in same if same[key]]) or 'none'}",
        verdict(same["exact"], same["plain"]),
    )


def listed(values: Sequence[object], form: str = "") -> str:
    """Values in words."""
    return ", ".join(format(value, form) for value in values)


if __name__ == "__main__":
    command(__doc__, main)
