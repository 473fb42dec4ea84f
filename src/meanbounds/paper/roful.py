"""R-OFUL against OFUL, with rewards as printed and with rewards that the theorem covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import meanbounds as mb
from meanbounds.paper.base import Claim, Work, bound_claim, expecting
from meanbounds.paper.verdicts import comparable, less, same, verdict, within
from meanbounds.plots import column, fold, plot_regret, title
from meanbounds.simulation.pairs import sign_test
from meanbounds.theory.given import Form

TITLE = "R-OFUL against OFUL"
SOURCE = "Figure 2"
ABOUT = (
    "100 arms drawn uniformly from the sphere in ten dimensions; 5, 10 or 15 of them are on offer in each round. The "
    "paper does not say whether all runs share one draw of the arms: here there are several draws, and the runs of all "
    "are taken together; orders are tested over draws, whose runs share their arms. "
    "Printed rewards are Gaussian and clipped to [0, 1] or [-1, 0]. Clipping moves their means, "
    "which are then not linear in the features, so that no theorem covers them: the same is done with rewards at the "
    "two ends of their range, whose means are exactly linear. R-OFUL as printed takes the largest factor of all arms "
    "that could be best, R-OFUL weights each reward by its own. Shading: one standard deviation."
)

PRINTED = "clipped-gaussian"
CLIPPED, PLAIN = "R-OFUL, clipped at the range", "R-OFUL, nothing clipped or tightened"
UNINFORMED = {
    "OFUL": mb.OFUL(),
    CLIPPED: mb.ROFUL(index="clip"),
    PLAIN: mb.ROFUL(index="plain", tighten="none", settle=False),
}
POLICIES = {"OFUL": mb.OFUL(), "R-OFUL": mb.ROFUL(), "R-OFUL as printed": mb.ROFUL.paper()}


@dataclass(frozen=True)
class Settings:
    """Sizes of the offer, draws of the arms and runs on each, and the rewards that are compared with the printed.

    Orders are tested over draws: with fewer than 10 the sign test cannot tell anything.
    """

    offered: tuple[int, ...] = (5, 10, 15)
    horizon: int = 2_000
    draws: int = 20
    runs: int = 10
    seed: int = 0
    linear_rewards: str = "two-point"


SETTINGS = Settings()
QUICK = Settings(draws=10, runs=2)


@dataclass(frozen=True, eq=False)
class Results:
    """For each kind of rewards and size of the offer the runs on each draw of the arms."""

    settings: Settings
    draws: Mapping[tuple[str, int], Sequence[mb.Regret]]
    uninformed: Sequence[mb.Regret]  # with bounds that say nothing, on each draw, rewards with linear means

    @cached_property
    def regret(self) -> dict[tuple[str, int], mb.Regret]:
        """The runs of all draws together."""
        return {key: mb.Regret.concat(parts) for key, parts in self.draws.items()}


def run(settings: Settings, work: Work) -> Results:
    """Simulate every draw by itself; that bounds and data contradict each other is among the measures."""
    draws = {}
    for rewards in (PRINTED, settings.linear_rewards):
        for offered in settings.offered:
            parts = []
            for draw in range(settings.draws):
                seed = settings.seed + draw
                instance = mb.LinearInstance.paper(seed)
                environment = instance.environment(offered, rewards)
                with expecting("bounds and data contradicted each other"):
                    parts.append(
                        work.regret(
                            f"{rewards}-{offered}-{draw}",
                            POLICIES,
                            environment,
                            instance.bounds,
                            settings.horizon,
                            settings.runs,
                            seed,
                            checkpoints=100,
                        )
                    )
            draws[rewards, offered] = parts
    return Results(settings, draws, [_uninformed(settings, draw, work) for draw in range(settings.draws)])


def _uninformed(settings: Settings, draw: int, work: Work) -> mb.Regret:
    """OFUL and R-OFUL with nothing but the range of each arm's rewards."""
    seed, offered = settings.seed + draw, settings.offered[len(settings.offered) // 2]
    instance = mb.LinearInstance.paper(seed)
    vacuous = mb.MeanBounds.vacuous(instance.bounds.arms, low=instance.bounds.low, high=instance.bounds.high)
    environment = instance.environment(offered, settings.linear_rewards)
    return work.regret(
        f"uninformed-{draw}", UNINFORMED, environment, vacuous, settings.horizon, settings.runs, seed, checkpoints=100
    )


def plot(results: Results) -> Mapping[str, Figure]:
    """A picture for each kind of rewards, the sizes of the offer one below the other."""
    contradictions = sum(_contradictions(results, PRINTED, "R-OFUL"))
    runs = results.settings.draws * results.settings.runs * len(results.settings.offered)
    linear = results.settings.linear_rewards
    return {
        "printed": _picture(
            results,
            PRINTED,
            "Rewards as printed: Gaussian, clipped. Theorem 4 does not cover these rewards: clipping moves "
            "their means, they are not linear. Bounds and data "
            f"contradict each other in {contradictions} of {runs} runs of R-OFUL.",
        ),
        "well-specified": _picture(results, linear, f"Rewards whose means are linear ({linear}).", bounds=True),
    }


def _picture(results: Results, rewards: str, note: str, *, bounds: bool = False) -> Figure:
    """The sizes of the offer, and below them, where there is such a thing, the bound of the theorem."""
    sizes = results.settings.offered
    figure, axes = column([2.6] * len(sizes) + [3.3] * bounds, extra=0.8)
    for ax, offered in zip(axes, sizes, strict=False):
        plot_regret(results.regret[rewards, offered], ax, band="deviation")
        title(ax, f"{offered} arms on offer")
        ax.set_xlabel("")
    if bounds:
        results.regret[rewards, sizes[-1]].plot(axes[-1], band=None, theory="bounds")
        title(axes[-1], f"Theorem 4: {sizes[-1]} arms on offer")
    axes[-1].set_xlabel("round")
    figure.suptitle(fold(note, 48), fontsize=10, x=0.02, ha="left")
    return figure


def _count(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _contradictions(results: Results, rewards: str, label: str) -> list[int]:
    """For each size of the offer, in how many runs bounds and data contradicted each other."""
    measures = [
        results.regret[rewards, offered].measures["contradictions"][label] for offered in results.settings.offered
    ]
    return [int(np.count_nonzero(contradictions[:, -1])) for contradictions in measures]


def _kept(regret: mb.Regret, label: str) -> float:
    """Arms that were considered in a round, in the mean over rounds and runs."""
    return float(regret.measures["kept"][label][:, -1].mean() / regret.rounds[-1])


def claims(results: Results) -> Sequence[Claim]:
    """The claims of Section 4 about the experiment, and of Theorem 4."""
    sizes = results.settings.offered
    linear = results.settings.linear_rewards
    listed = f"{', '.join(map(str, sizes[:-1]))} and {sizes[-1]}"
    found = []
    for rewards, words, label in (
        (PRINTED, "rewards and algorithm as printed", "R-OFUL as printed"),
        (linear, "rewards with linear means", "R-OFUL"),
    ):
        plain, restricted = (
            [_of_draws(results, rewards, offered, own) for offered in sizes] for own in ("OFUL", label)
        )
        found += [
            Claim(
                "Section 4, empirical evaluations",
                f"R-OFUL has much lower regret than OFUL ({words}).",
                "; ".join(
                    f"{offered} on offer: {_paired(a, b)}"
                    for offered, a, b in zip(sizes, restricted, plain, strict=True)
                ),
                verdict(all(less(a, b) for a, b in zip(restricted, plain, strict=True))),
            ),
            Claim(
                "Figure 2, caption",
                f"R-OFUL's regret is comparable whatever the number of arms on offer ({words}).",
                f"mean regret with {listed} on offer: {_numbers(restricted)}; comparable means within a factor of 2",
                verdict(comparable([a.mean() for a in restricted])),
            ),
            Claim(
                "Figure 2, caption",
                f"OFUL's regret grows with the number of arms on offer ({words}).",
                f"mean regret with {listed} on offer: {_numbers(plain)}; "
                + "; ".join(f"{a} and {b}: {_paired(x, y)}" for (a, x), (b, y) in _steps(sizes, plain)),
                verdict(all(less(x, y) for (_, x), (_, y) in _steps(sizes, plain))),
            ),
        ]
    kept = [_kept(results.regret[PRINTED, offered], "R-OFUL") for offered in sizes]
    numbers = ", ".join(f"{value:.2f}" for value in kept)
    misfit, runs = _misfit(results.settings), results.settings.draws * results.settings.runs
    contradictions, linear_contradictions = (
        _contradictions(results, rewards, "R-OFUL") for rewards in (PRINTED, linear)
    )
    found += [
        Claim(
            "Section 4, empirical evaluations",
            "R-OFUL restricts the arms: it considers at most 3 in a round, on average.",
            f"of {listed} on offer it considers {numbers}",
            verdict(within(kept, 1.0, 3.0)),
        ),
        Claim(
            "Figure 2, caption",
            "R-OFUL only chooses between 2 and 3 arms in a round, on average.",
            f"of {listed} on offer it considers {numbers}; the printed algorithm keeps the same arms: "
            f"{'yes' if _same_kept(results) else 'no'}",
            verdict(within(kept, 2.0, 3.0)),
        ),
        Claim(
            "Section 4, empirical evaluations",
            "The rewards of the experiment are those of a linear bandit.",
            f"no parameter has the means of the clipped rewards: the best fit misses some by {misfit:.2f}. Bounds and "
            f"data contradict each other in {_count(contradictions)} of {runs} runs with {listed} on offer (R-OFUL as "
            f"printed: {_count(_contradictions(results, PRINTED, 'R-OFUL as printed'))}); with linear means, in "
            f"{_count(linear_contradictions)}",
            verdict(misfit < 1e-9, sum(linear_contradictions) <= mb.ROFUL().failure * runs * len(sizes)),
        ),
        _uninformed_claim(results),
        _bounds_claim(results),
        bound_claim(
            "Theorem 4",
            "With probability 1 - delta the regret is below the bound in all rounds (rewards with linear means; "
            "each draw of the arms has its own).",
            [part for (rewards, _), parts in results.draws.items() if rewards == linear for part in parts],
        ),
    ]
    return found


def _uninformed_claim(results: Results) -> Claim:
    """The claim about R-OFUL with vacuous bounds."""
    means = {label: np.mean([part.final[label].mean() for part in results.uninformed]) for label in UNINFORMED}

    def equal(label: str) -> bool:
        return all(same(part.curves[label], part.curves["OFUL"]) for part in results.uninformed)

    return Claim(
        "Section 4, comparisons",
        "If no informative bounds are present, R-OFUL matches OFUL exactly.",
        f"regret {means[CLIPPED]:.1f} against {means['OFUL']:.1f} with nothing but the ranges [0, 1] and [-1, 0], "
        f"which OFUL does not use; without clipping, tightening and settling {means[PLAIN]:.1f}, "
        f"the same in each run: {'yes' if equal(PLAIN) else 'no'}",
        verdict(equal(CLIPPED), equal(PLAIN)),
    )


def _bounds_claim(results: Results) -> Claim:
    """The claim about the regret bounds of R-OFUL and OFUL: their ratios, as printed and as corrected here."""
    rounds = np.array([1_000, 10_000, 100_000, 1_000_000])
    ways: dict[str, tuple[mb.ROFUL, Form]] = {
        "as printed": (mb.ROFUL.paper(), "paper"),
        "largest factor of all arms": (mb.ROFUL(noise="pool-max"), "corrected"),
        "weights": (mb.ROFUL(), "corrected"),
    }
    ratios = {}
    for words, (policy, form) in ways.items():
        found = []
        for draw in range(results.settings.draws):
            own = mb.LinearInstance.paper(results.settings.seed + draw)
            ours, theirs = (
                mb.theory.linear_regret(each, own.features, own.bounds, rounds, form=form)
                for each in (policy, mb.OFUL())
            )
            found.append(ours / theirs)
        ratios[words] = float(np.max(found))
    return Claim(
        "Abstract",
        "The bound on R-OFUL's regret is never worse than that on OFUL's.",
        "largest ratio over all draws of the arms, at 1,000 to 1,000,000 rounds: "
        + ", ".join(f"{words} {ratio:.3f}" for words, ratio in ratios.items())
        + "; weights enter the logarithm of their bound",
        verdict(ratios["as printed"] <= 1.0 + 1e-12),
    )


def _of_draws(results: Results, rewards: str, offered: int, label: str) -> NDArray[np.float64]:
    """Regret on each draw of the arms, in the mean over its runs: runs that share their arms are not independent."""
    return np.array([part.final[label].mean() for part in results.draws[rewards, offered]])


def _paired(first: NDArray[np.float64], second: NDArray[np.float64]) -> str:
    return sign_test(first, second).over("draws of the arms")


def _numbers(samples: Sequence[NDArray[np.float64]]) -> str:
    return ", ".join(f"{sample.mean():.1f}" for sample in samples)


def _steps(
    sizes: Sequence[int], samples: Sequence[NDArray[np.float64]]
) -> list[tuple[tuple[int, NDArray[np.float64]], tuple[int, NDArray[np.float64]]]]:
    """Each size of the offer with the next one; draw n has the same arms in both."""
    return list(pairwise(zip(sizes, samples, strict=True)))


def _same_kept(results: Results) -> bool:
    kept = [results.regret[PRINTED, offered].measures["kept"] for offered in results.settings.offered]
    return all(np.array_equal(own["R-OFUL"], own["R-OFUL as printed"]) for own in kept)


def _misfit(settings: Settings) -> float:
    """How far the means of the printed rewards are from linear: the largest distance from the best fit, in any draw."""
    return max(_distance_from_linear(mb.LinearInstance.paper(settings.seed + draw)) for draw in range(settings.draws))


def _distance_from_linear(instance: mb.LinearInstance) -> float:
    environment = instance.environment(None, PRINTED)
    means = clipped_mean(instance.means, environment.variance, instance.bounds.low, instance.bounds.high)
    fitted = instance.features @ np.linalg.lstsq(instance.features, means, rcond=None)[0]
    return float(np.abs(means - fitted).max())


def clipped_mean(
    mean: NDArray[np.float64], variance: float, low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mean of a Gaussian variable after it was clipped to a range.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.paper.roful import clipped_mean
    >>> clipped_mean(np.array([0.5, 0.9]), 0.8, np.zeros(2), np.ones(2)).round(3)
    array([0.5  , 0.665])
    """
    standard, deviation = NormalDist(), np.sqrt(variance)
    below, above = (low - mean) / deviation, (high - mean) / deviation
    left, right = (np.array([standard.cdf(z) for z in side]) for side in (below, above))
    heights = [np.array([standard.pdf(z) for z in side]) for side in (below, above)]
    clipped: NDArray[np.float64] = (
        low * left + high * (1.0 - right) + mean * (right - left) + deviation * (heights[0] - heights[1])
    )
    return clipped
