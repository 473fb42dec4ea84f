"""Whether policies with bounds are ever worse than without: random instances, after so many rounds and in the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

import meanbounds as mb
from meanbounds.paper.base import Claim, Work
from meanbounds.paper.verdicts import LEVEL, by_chance, less, verdict
from meanbounds.plots import column, fold, looks
from meanbounds.simulation.pairs import sign_test
from meanbounds.worlds.kinds import KINDS, World

if TYPE_CHECKING:
    import pandas as pd

TITLE = "Never worse? Random instances with bounds that hold"
SOURCE = "Section 5"
ABOUT = (
    "Section 5 says that a policy that clips its indices at the upper bounds is never worse than the one that does "
    "not. On instances drawn at random, with bounds that hold (loose, tight, equal, at the edges of the range), both "
    "play the same rewards. The picture shows in which share of the instances the policy with bounds is significantly "
    "worse after so many rounds, and significantly better. In the long run the constants in front of log n decide: "
    "the claim holds after correction if it is true of these alone."
)

PAIRS = {"B-UCB": "UCB", "GLUE": "UCB", "B-KL-UCB": "KL-UCB"}
"""Each policy with bounds, and the one that it is compared with."""

_POLICIES = {"UCB": mb.UCB(), "B-UCB": mb.BUCB(), "GLUE": mb.GLUE(), "KL-UCB": mb.KLUCB(), "B-KL-UCB": mb.BKLUCB()}
_HALF = LEVEL / 2.0  # level of each of two tests: for one sure exception, and for more of them than chance makes


@dataclass(frozen=True)
class Settings:
    """Number of instances, runs on each, and the rounds after which regret is compared."""

    instances: int = 240
    runs: int = 40
    rounds: tuple[int, ...] = (1_000, 10_000, 100_000)
    seed: int = 11


SETTINGS = Settings()
QUICK = Settings(instances=60, runs=20, rounds=(1_000, 10_000))


def run(settings: Settings, work: Work) -> pd.DataFrame:
    """A row for each instance, pair of policies and number of rounds."""
    return work.frame("finite", lambda: _table(settings))


def _table(settings: Settings) -> pd.DataFrame:
    import pandas as pd

    kind = KINDS["random bounds"]
    rows: list[dict[str, object]] = []
    for number in range(settings.instances):
        rows += _compared(kind.world(settings.seed, number), number, settings)
    return pd.DataFrame(rows)


def _compared(world: World, number: int, settings: Settings) -> list[dict[str, object]]:
    """Play one instance and compare each pair of policies on it."""
    regret = mb.simulate(
        _POLICIES,
        world.environment,
        world.bounds,
        horizon=settings.rounds[-1],
        runs=settings.runs,
        seed=settings.seed + number,
        checkpoints=settings.rounds,
        progress=False,
    )
    constants = {
        row.algorithm: row.constant for row in mb.theory.comparison(world.environment.means, world.bounds).rows
    }
    rows: list[dict[str, object]] = []
    for policy, plain in PAIRS.items():
        for place, rounds in enumerate(settings.rounds):
            own, other = (regret.curves[label][:, place] for label in (policy, plain))
            test = sign_test(other, own)  # whether the policy without bounds has less
            rows.append(
                {
                    "instance": world.name,
                    "policy": policy,
                    "rounds": rounds,
                    "regret": float(own.mean()),
                    "plain": float(other.mean()),
                    "p_value": test.p_value if test.first < test.second else 1.0,
                    "worse": less(other, own),
                    "better": less(own, other),
                    "constant": constants[policy],
                    "plain_constant": constants[plain],
                }
            )
    return rows


def plot(results: pd.DataFrame) -> Mapping[str, Figure]:
    """Shares of instances in which bounds make a policy worse, and better, by the number of rounds."""
    figure, axes = column([2.8, 2.8], share_x=True)
    colours = looks(PAIRS)
    rounds = sorted(results["rounds"].unique())
    places = np.arange(len(rounds))
    for ax, side in zip(axes, ("worse", "better"), strict=True):
        for offset, policy in zip((-0.26, 0.0, 0.26), PAIRS, strict=True):
            own = results[results["policy"] == policy].groupby("rounds")[side].mean()
            label = f"{policy} than {PAIRS[policy]}"
            ax.bar(places + offset, [100.0 * own[t] for t in rounds], 0.24, color=colours[policy].colour, label=label)
        ax.set_ylabel("% of instances")
        ax.set_title(fold(f"significantly {side} with bounds", 40), loc="left", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylim(top=1.5 * max(axes[0].get_ylim()[1], 1.0))  # room for the key
    axes[0].legend(frameon=False, loc="upper left")
    axes[1].set_xticks(places, [f"{t:,}" for t in rounds])
    axes[1].set_xlabel("rounds")
    return {"finite": figure}


def claims(results: pd.DataFrame) -> Sequence[Claim]:
    """One for each pair: what holds after so many rounds, and in the long run."""
    return [_claim(results[results["policy"] == policy], policy, plain) for policy, plain in PAIRS.items()]


def _claim(own: pd.DataFrame, policy: str, plain: str) -> Claim:
    stages = own.groupby("rounds")
    parts, as_printed = [], bool(own["p_value"].min() > _HALF / len(own))  # one sure exception is enough
    for rounds, rows in stages:
        count, size = int(rows["worse"].sum()), len(rows)
        as_printed &= by_chance(count, size) > _HALF / stages.ngroups
        parts.append(f"after {rounds:,} rounds in {count} of {size} ({count / size:.1%})")
    most = own.iloc[int(np.argmax(own["regret"].to_numpy() - own["plain"].to_numpy()))]
    first = own.drop_duplicates("instance")
    above = int((first["constant"] > first["plain_constant"] * (1.0 + 1e-12)).sum())
    return Claim(
        "Section 5",
        f"{policy} is never worse than {plain}.",
        f"significantly worse {', '.join(parts)}, where at most {LEVEL:.1%} would be by chance; the largest increase "
        f"in mean regret is from {most['plain']:.1f} to {most['regret']:.1f} after {most['rounds']:,} rounds "
        f"({most['instance']}); least p-value {own['p_value'].min():.0e}. In the long run: its constant in front "
        f"of log n is above that of {plain} in {above} of {len(first)}",
        verdict(as_printed, above == 0),
    )
