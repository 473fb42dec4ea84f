"""Never worse: the bounds of theorems on random instances, and regret on random instances and on one against the claim.

The bounds are never worse than those of policies that ignore what is known. Regret can be: where a worse arm has the
looser upper bound, clipping takes from the best arm the lead that it would have.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

import meanbounds as mb
from meanbounds.simulation import Instance, Linear, paper_linear, random_instance
from meanbounds.support.types import Floats
from meanbounds.theory import glue_regret, linear_regret
from paper.output import Claim, command, verdict, write_csv
from paper.roful import Printed
from paper.verdicts import LEVEL, Pairs, by_chance

__all__ = ["main"]

POLICIES = {"UCB": mb.UCB(), "B-UCB": mb.BUCB(), "GLUE": mb.GLUE(), "KL-UCB": mb.KLUCB(), "B-KL-UCB": mb.BKLUCB()}
ORDERS = {("GLUE", "UCB"): "Conclusion", ("B-UCB", "UCB"): "Section 5", ("B-KL-UCB", "KL-UCB"): "Section 5"}
SLACKS = (0.1, 0.2, 0.3, 0.5, 1.0)
"""How far bounds may be from the means of a random instance."""

ROUNDS = (100, 1_000, 10_000, 100_000, 1_000_000)
AGAINST = Instance(
    "the worse arm has the looser upper bound",
    mb.Bernoulli([0.85, 0.80]),
    mb.MeanBounds([0.84, 0.79], [0.86, 0.90], arms=["better", "worse"]),
)


class Sizes(NamedTuple):
    """Random instances, runs on each and their rounds; then runs and rounds on the instance against the claim."""

    instances: int = 500
    runs: int = 200
    horizon: int = 2_000
    longest: int = 300_000
    draws: int = 20


FULL, QUICK = Sizes(), Sizes(100, 100, 1_000, 50_000, 3)


def main(out: Path, quick: bool) -> Sequence[Claim]:
    """Compare bounds and regret on random instances, and regret on one instance; write, draw and judge."""
    sizes = QUICK if quick else FULL
    simulate = partial(mb.simulate, POLICIES, runs=sizes.runs, compiled=True)
    final: dict[str, list[Floats]] = {label: [] for label in POLICIES}
    for seed in range(sizes.instances):
        instance = drawn(seed)
        regret = simulate(instance.environment, instance.bounds, horizon=sizes.horizon, checkpoints=1, seed=seed)
        for label, runs in regret.final.items():
            final[label].append(runs)
    rounds = np.unique(np.geomspace(1, sizes.longest, 200).round().astype(int)).tolist()
    rounds = sorted({*rounds, 1_000})
    against = simulate(AGAINST.environment, AGAINST.bounds, horizon=sizes.longest, checkpoints=rounds, seed=1)
    rows = [(number, label, own.mean()) for label, runs in final.items() for number, own in enumerate(runs)]
    write_csv(out / "never_worse.csv", "instance,policy,regret", rows)
    draw(out, final, against)
    return [
        bounds_of_glue(sizes.instances),
        bounds_of_roful(sizes.draws),
        *(regret_order(one, other, final, against) for one, other in ORDERS),
    ]


def drawn(seed: int) -> Instance:
    """A random instance of five arms."""
    return random_instance(5, slack=SLACKS[seed % len(SLACKS)], seed=seed)


def bounds_of_glue(instances: int) -> Claim:
    """The claim about the bounds on the regret of GLUE and UCB."""
    largest: dict[str, float] = {}
    for form in ("paper", "corrected"):
        for seed in range(instances):
            own = drawn(seed)
            glue, ucb = (
                np.asarray(glue_regret(own.means, own.bounds, ROUNDS, policy=policy, form=form))
                for policy in (mb.GLUE(), mb.UCB())
            )
            largest[form] = max(largest.get(form, 0.0), float(np.max(glue / ucb)))
    return Claim(
        "Abstract",
        "The bound on GLUE's regret is never worse than that on UCB's.",
        f"largest ratio on {instances} random instances, after 100 to 1,000,000 rounds: as printed "
        f"{largest['paper']:.3f}, corrected {largest['corrected']:.3f}",
        verdict(largest["paper"] <= 1.0 + 1e-12, largest["corrected"] <= 1.0 + 1e-12),
    )


def bounds_of_roful(draws: int) -> Claim:
    """The claim about the bounds on the regret of R-OFUL and OFUL, on draws of the arms of Figure 2."""
    ways: dict[str, tuple[mb.OFUL, Literal["corrected", "paper"]]] = {
        "as printed": (Printed(), "paper"),
        "one factor": (Printed(), "corrected"),
        "weights": (mb.ROFUL(), "corrected"),
    }
    largest = dict.fromkeys(ways, 0.0)
    for draw in range(draws):
        instance = paper_linear(draw)
        assert isinstance(instance.environment, Linear)
        features = instance.environment.features
        for words, (policy, form) in ways.items():
            ours, theirs = (
                linear_regret(own, features, instance.bounds, ROUNDS, form=form) for own in (policy, mb.OFUL())
            )
            largest[words] = max(largest[words], float(np.max(ours / theirs)))
    return Claim(
        "Abstract",
        "The bound on R-OFUL's regret is never worse than that on OFUL's.",
        f"largest ratio on {draws} draws of the arms of Figure 2, after 100 to 1,000,000 rounds: "
        + ", ".join(f"{words} {ratio:.3f}" for words, ratio in largest.items())
        + "; weights enter the logarithm of the bound",
        verdict(largest["as printed"] <= 1.0 + 1e-12),
    )


def regret_order(one: str, other: str, final: Mapping[str, Sequence[Floats]], against: mb.Regret) -> Claim:
    """The claim that a policy with bounds is never worse than one without."""
    pairs = [(Pairs.of(a, b).shows, Pairs.of(b, a).shows) for a, b in zip(final[one], final[other], strict=True)]
    better, worse = (sum(side) for side in zip(*pairs, strict=True))
    chance, largest = by_chance(worse, len(pairs)), max(ratios(one, other, final))
    at, rounds = against.checkpoints.tolist().index(1_000), against.checkpoints
    curves = against.curves[one], against.curves[other]
    early, behind = Pairs.of(*(curve[:, at] for curve in curves)), rounds[against.mean[one] > against.mean[other]]
    last = behind[-1] if behind.size else 0
    still = "still behind" if last == rounds[-1] else "last behind"
    return Claim(
        ORDERS[one, other],
        f"{one} is never worse than {other}.",
        f"less regret on {better} of {len(pairs)} random instances, more on {worse}, by paired tests at level {LEVEL} "
        f"(so many by chance: {chance:.1g}); largest ratio {largest:.2f}. Where {AGAINST.title}: {early} after 1,000 "
        f"rounds, {still} in round {last:,}",
        verdict(early.first <= early.second and chance > LEVEL),
    )


def ratios(one: str, other: str, final: Mapping[str, Sequence[Floats]]) -> list[float]:
    """The mean regret of a policy over that of another, on each instance where the other has any."""
    pairs = zip(final[one], final[other], strict=True)
    return sorted(float(a.mean() / b.mean()) for a, b in pairs if b.any())


def draw(out: Path, final: Mapping[str, Sequence[Floats]], against: mb.Regret) -> None:
    """The instance against the claim, regret there, and the ratios of regret on random instances."""
    from matplotlib.figure import Figure

    from meanbounds.simulation.plots import colours, draw_bounds, draw_regret

    figure = Figure(figsize=(4.0, 8.2), layout="constrained", dpi=200)
    axes = figure.subplots(3, 1, height_ratios=(0.55, 1.2, 1.2))
    draw_bounds(axes[0], AGAINST.bounds, AGAINST.means)
    axes[0].set_xlim(0.75, 0.95)
    caption = draw_regret(axes[1], against, log="x")
    axes[1].set_xticks([1, 100, 10_000])
    axes[2].axvline(1.0, color="#666666", linestyle=":")
    for one, other in ORDERS:
        values = ratios(one, other, final)
        shares = np.arange(1, len(values) + 1) / len(values)
        axes[2].step(values, shares, where="post", color=colours(POLICIES)[one], label=f"{one} / {other}")
    axes[2].set(xlabel="ratio of regret", ylabel="share of random instances", ylim=(0.0, 1.02))
    axes[2].set_xlim(left=0.0)
    axes[2].spines[["top", "right"]].set_visible(False)
    axes[2].legend(fontsize=9.0, loc="lower right", edgecolor="none", framealpha=1.0)
    figure.suptitle(textwrap.fill(AGAINST.title.capitalize(), 26), fontsize=11.0)
    figure.supxlabel(textwrap.fill(caption, 55), x=0.02, ha="left", fontsize=9.0, color="#666666")
    figure.savefig(out / "never_worse.png")


if __name__ == "__main__":
    command(__doc__, main)
