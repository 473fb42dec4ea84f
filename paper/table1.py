"""Table 1: the constant in front of log n of each algorithm, on the instances of Figure 3 and on random ones.

Beside it stands the constant below which no consistent policy gets with rewards of 0 or 1.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import meanbounds as mb
from meanbounds.simulation import INSTANCES
from meanbounds.support.types import Floats
from meanbounds.theory import bernoulli_kl, comparison
from paper.output import Claim, command, verdict, write_csv

__all__ = ["main"]

_ARMS, _SEED = 5, 5
_ORDERS = (
    ("GLUE", "UCB", "Abstract", "GLUE's bound is never worse than that of UCB."),
    ("GLUE", "B-UCB", "Table 1", "GLUE's constant is never above that of B-UCB, which clips alone."),
    ("B-KL-UCB", "GLUE", "Section 5", "B-KL-UCB, optimal for rewards of 0 or 1, is never above GLUE."),
)


def main(out: Path, quick: bool) -> Sequence[Claim]:
    """Compute the constants; draw those of the four instances; check orders, and the lower bound by its program."""
    rng, instances = np.random.default_rng(_SEED), {name: (own.means, own.bounds) for name, own in INSTANCES.items()}
    for number in range(200 if quick else 2_000):
        means, slack = rng.uniform(0.02, 0.98, _ARMS), rng.random((2, _ARMS))
        instances[f"random {number}"] = (means, mb.MeanBounds(means * slack[0], means + (1.0 - means) * slack[1]))
    table = {name: {row.algorithm: row.constant for row in comparison(*own)} for name, own in instances.items()}
    rows = [(name, algorithm, value) for name, own in table.items() for algorithm, value in own.items()]
    write_csv(out / "table1.csv", "instance,algorithm,constant", rows)
    draw(out / "table1.png", table)
    columns = {name: np.array([own[name] for own in table.values()]) for name in next(iter(table.values()))}
    several = list(instances.values())[: 30 if quick else 200]
    solved = np.array([program(means, bounds, rng) for means, bounds in several])
    plain = np.array(
        [bool(np.all(bounds.best_variance_proxy[bounds.possible] == 0.25)) for _, bounds in instances.values()]
    )
    return claims(columns, solved, plain)


def program(means: Floats, bounds: mb.MeanBounds, rng: np.random.Generator) -> float:
    """Solve OSSB's program: the least regret of plays that tell the truth from every alternative.

    Alternatives leave the best arm as it is and make another one best. There are infinitely many; these are each arm
    just above the best mean, at its upper bound and between, the others as they are or drawn within their bounds.
    """
    from scipy.optimize import linprog

    best, gaps, rows = int(np.argmax(means)), means.max() - means, []
    for k in np.flatnonzero((bounds.upper > means[best]) & (gaps > 0.0)).tolist():
        for place in (1e-9, 0.5, 1.0):
            for other in (means.copy(), rng.uniform(bounds.lower, bounds.upper)):
                other[best], other[k] = means[best], means[best] + place * (bounds.upper[k] - means[best])
                rows.append(bernoulli_kl(means, other))
    if not rows:
        return 0.0
    return float(linprog(gaps, A_ub=-np.array(rows), b_ub=-np.ones(len(rows))).fun or 0.0)


def draw(path: Path, table: dict[str, dict[str, float]]) -> None:
    """A bar for each algorithm and instance of Figure 3, with its number."""
    from matplotlib.figure import Figure

    from meanbounds.simulation.plots import colours

    figure = Figure(figsize=(4.0, 2.7 * len(INSTANCES)), layout="constrained")
    for ax, (name, instance) in zip(figure.subplots(len(INSTANCES)), INSTANCES.items(), strict=True):
        algorithms, values = list(table[name]), list(table[name].values())
        own = {**colours(algorithms), "lower bound": "#7f7f7f"}
        bars = ax.barh(algorithms, values, height=0.6, color=[own[label] for label in algorithms])
        ax.bar_label(bars, [f"{value:.2f}" for value in values], padding=3, fontsize=9.0)
        ax.invert_yaxis()
        ax.set_xlim(0.0, 1.25 * max(values))
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_title(textwrap.fill(instance.title, 40), fontsize=9.0, loc="left")
    ax.set_xlabel("bound on regret / log n")
    figure.savefig(path, dpi=200)


def claims(columns: dict[str, Floats], solved: Floats, plain: Floats) -> list[Claim]:
    """Orders over all instances, and the lower bound against its program."""
    found = []
    for smaller, larger, source, text in _ORDERS:
        one, other = columns[smaller], columns[larger]
        above, below = one > other * (1.0 + 1e-12), one < other * (1.0 - 1e-12)
        share = np.median(one[other > 0.0] / other[other > 0.0])
        measured = (
            f"above it in {above.sum()} of {one.size} instances, below in {below.sum()}; median ratio {share:.2f}"
        )
        found.append(Claim(source, text, measured, verdict(not above.any())))
    least = columns["lower bound"][: solved.size]
    off, apart = (
        np.max(np.abs(solved - least) / np.maximum(least, 1e-3)),
        np.abs(columns["GLUE"] - columns["B-UCB"])[plain].max(initial=0.0),
    )
    same = bool(
        np.allclose(solved, least, rtol=1e-5, atol=1e-7) and np.array_equal(columns["OSSB"], columns["B-KL-UCB"])
    )
    return [
        *found,
        Claim(
            "Table 1, Appendix D",
            "With rewards of 0 or 1, OSSB and B-KL-UCB have the same constant, and it is the least possible.",
            f"the program, solved for {solved.size} instances, differs from it by a share of at most {off:.1g}",
            verdict(same and bool(np.allclose(columns["OSSB"], columns["lower bound"], rtol=1e-12))),
        ),
        Claim(
            "Section 5",
            "With bounds that say nothing of the factors GLUE recovers the constant of B-UCB.",
            f"largest difference {apart:.2g} over {plain.sum()} such instances",
            verdict(bool(apart < 1e-9)),
        ),
    ]


if __name__ == "__main__":
    command(__doc__, main)
