"""The comparison of asymptotic regret, as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import meanbounds as mb
from meanbounds.paper.base import Claim, Work
from meanbounds.paper.verdicts import verdict
from meanbounds.plots import SMALL, column, looks, title
from meanbounds.support.optional import optional

if TYPE_CHECKING:
    import pandas as pd

TITLE = "Asymptotic regret of each algorithm, as numbers"
SOURCE = "Table 1"
ABOUT = (
    "The constant in front of log n that each algorithm's regret is known to stay below, for each of the four "
    "instances of Figure 3 and for instances drawn at random; beside it the constant below which no consistent "
    "algorithm can get with rewards of 0 or 1 (Lai and Robbins, with mean bounds)."
)


@dataclass(frozen=True)
class Settings:
    """How many random instances, how many arms they have, and for how many instances OSSB's program is solved."""

    instances: int = 2_000
    solved: int = 200
    arms: int = 5
    seed: int = 5


SETTINGS = Settings()
QUICK = Settings(instances=200, solved=30)

LEAST, PROGRAM = "least possible", "least possible, solved"
_ORDERS = (
    ("GLUE", "UCB", "Abstract", "GLUE's bound is never worse than that of UCB."),
    ("GLUE", "B-UCB", "Table 1", "GLUE's constant is never above that of B-UCB, which clips alone."),
    ("B-KL-UCB", "GLUE", "Section 5", "B-KL-UCB, optimal for rewards of 0 or 1, is never above GLUE."),
)


def run(settings: Settings, work: Work) -> pd.DataFrame:
    """A row for each instance and algorithm."""
    return work.frame("constants", lambda: _table(settings))


def _table(settings: Settings) -> pd.DataFrame:
    import pandas as pd

    instances = {name: (instance.means, instance.bounds) for name, instance in mb.INSTANCES.items()}
    rng = np.random.default_rng(settings.seed)
    for number in range(settings.instances):
        drawn = rng.uniform(0.02, 0.98, settings.arms)
        lower, upper = drawn * rng.random(settings.arms), drawn + (1.0 - drawn) * rng.random(settings.arms)
        instances[f"random {number}"] = (tuple(drawn.tolist()), mb.MeanBounds(lower, upper))
    rows: list[dict[str, object]] = []
    for number, (name, (means, bounds)) in enumerate(instances.items()):
        found = mb.theory.comparison(means, bounds)
        constants = {row.algorithm: row.constant for row in found.rows} | {LEAST: found.lower_bound}
        if number < settings.solved:
            constants[PROGRAM] = _program(np.array(means), bounds, rng)
        common = {"instance": name, "informed": bool(np.any(bounds.best_variance_proxy[bounds.possible] < 0.25))}
        rows += [{**common, "algorithm": label, "constant": value} for label, value in constants.items()]
    return pd.DataFrame(rows)


def _program(means: NDArray[np.float64], bounds: mb.MeanBounds, rng: np.random.Generator) -> float:
    """Solve OSSB's program: the least regret of plays that distinguish the truth from every alternative.

    Alternatives leave the best arm as it is and make another one best. There are infinitely many; these are each arm
    just above the best mean, at its upper bound and between, the others as they are or drawn within their bounds.
    """
    with optional("worlds", "linear programs"):
        from scipy.optimize import linprog

    best, gaps = int(np.argmax(means)), means.max() - means
    rows = []
    for k in np.flatnonzero((bounds.upper > means[best]) & (gaps > 0.0)).tolist():
        for place in (1e-9, 0.5, 1.0):
            other = means.copy()
            other[k] = means[best] + place * (bounds.upper[k] - means[best])
            rows.append(other)
            drawn = rng.uniform(bounds.lower, bounds.upper)
            drawn[best], drawn[k] = means[best], other[k]
            rows.append(drawn)
    if not rows:
        return 0.0
    told = np.array([[mb.bernoulli_kl(p, q) for p, q in zip(means, other, strict=True)] for other in rows])
    solved = linprog(gaps, A_ub=-told, b_ub=-np.ones(len(rows)))
    return float(gaps @ solved.x)


def plot(results: pd.DataFrame) -> Mapping[str, Figure]:
    """A bar for each algorithm and instance of Figure 3, with its number."""
    algorithms = [label for label in dict.fromkeys(results["algorithm"]) if label != PROGRAM]
    figure, axes = column([2.7] * len(mb.INSTANCES))
    policies = looks([label for label in algorithms if label != LEAST])
    for ax, (name, instance) in zip(axes, mb.INSTANCES.items(), strict=True):
        own = results[results["instance"] == name].set_index("algorithm")["constant"]
        values = [float(own[label]) for label in algorithms]
        colours = [policies[label].colour if label in policies else "#7f7f7f" for label in algorithms]
        bars = ax.barh(algorithms, values, height=0.6, color=colours)
        ax.bar_label(bars, [f"{value:.2f}" for value in values], padding=3, fontsize=SMALL)
        ax.invert_yaxis()
        ax.set_xlim(0, 1.25 * max(values))
        ax.spines[["top", "right"]].set_visible(False)
        title(ax, instance.title)
    axes[-1].set_xlabel("bound on regret / log n")
    return {"constants": figure}


def claims(results: pd.DataFrame) -> Sequence[Claim]:
    """Orders over all instances."""
    wide = results.pivot(index="instance", columns="algorithm", values="constant")
    found = []
    for smaller, larger, source, text in _ORDERS:
        a, b = wide[smaller].to_numpy(), wide[larger].to_numpy()
        found.append(
            Claim(
                source,
                text,
                f"above it in {np.sum(a > b * (1 + 1e-12))} of {len(a)} instances, below in "
                f"{np.sum(a < b * (1 - 1e-12))}; in the median {np.median(_ratios(a, b)):.2f} of it",
                verdict(bool(np.all(a <= b * (1 + 1e-12)))),
            )
        )
    both = wide.dropna(subset=[PROGRAM])
    program, kl = both[PROGRAM].to_numpy(), both["B-KL-UCB"].to_numpy()
    found.append(
        Claim(
            "Table 1, Appendix D",
            "With rewards of 0 or 1, OSSB and B-KL-UCB have the same constant, and it is the least possible.",
            f"OSSB's program, solved for {len(both)} instances with several alternatives for each arm, differs from "
            f"the constant of B-KL-UCB by a share of at most "
            f"{np.abs(program - kl).max() / max(kl.max(), 1e-300):.1g}",
            verdict(bool(np.allclose(program, kl, rtol=1e-5, atol=1e-7))),
        )
    )
    plain = results[~results["informed"]].pivot(index="instance", columns="algorithm", values="constant")
    found.append(
        Claim(
            "Section 5",
            "With bounds that say nothing of the factors GLUE recovers the constant of B-UCB.",
            f"largest difference {np.abs(plain['GLUE'] - plain['B-UCB']).max():.2g} over {len(plain)} such instances",
            verdict(bool(np.allclose(plain["GLUE"], plain["B-UCB"], rtol=1e-12))),
        )
    )
    return found


def _ratios(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ratio of two constants, where there is one: if all other arms are meta-pruned both are 0."""
    ratios: NDArray[np.float64] = a[b > 0.0] / b[b > 0.0]
    return ratios
