"""The pictures of docs/trust.md and docs/evidence.md: `python -m benchmarks.trust` writes them to docs/images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np

import meanbounds as mb
from benchmarks.doubt import CASES, MEANS
from meanbounds.paper.base import expecting
from meanbounds.support.types import Floats, Integers

FOLDER = Path(__file__).parents[1] / "docs" / "images"
SHOWN = {
    "right, three of five pruned": "Bounds hold, and exclude three of five arms",
    "best arm pruned": "Bounds exclude the best arm",
}
TRUSTS = {"trust 1": 1.0, "trust 0.99": 0.99, "trust 0.9": 0.9, "no bounds": 0.0}
POLICY = mb.ThompsonSampling()


@dataclass(frozen=True)
class Beside:
    """Simulations of one policy that knew different things, as the curves of one picture."""

    parts: Mapping[str, mb.Regret]

    @property
    def rounds(self) -> Integers:
        return next(iter(self.parts.values())).rounds

    @property
    def curves(self) -> Mapping[str, Floats]:
        return {label: part.curves[str(POLICY)] for label, part in self.parts.items()}

    def mean(self, label: str) -> Floats:
        return self.parts[label].mean(str(POLICY))

    def deviation(self, label: str) -> Floats:
        return self.parts[label].deviation(str(POLICY))

    def band(self, label: str) -> tuple[Floats, Floats]:
        return self.parts[label].band(str(POLICY))

    def quantiles(self, label: str, levels: Sequence[float]) -> Floats:
        return self.parts[label].quantiles(str(POLICY), levels)


def played(case: str, runs: int = 200) -> Beside:
    """The policy with the bounds of a case, trusted more or less."""
    parts = {}
    with expecting("is outside its bounds"):
        for label, trust in TRUSTS.items():
            known = mb.Knowledge(mb.MeanBounds(*CASES[case]), trust=trust)
            parts[label] = mb.simulate(POLICY, mb.Bernoulli(MEANS), known, horizon=5_000, runs=runs, seed=7)
    return Beside(parts)


def draw_trust(path: Path, runs: int = 200) -> None:
    """Regret by trust, where bounds hold and where they do not."""
    from matplotlib import pyplot as plt

    from meanbounds.plots import plot_regret
    from meanbounds.plots.style import column, title

    _, axes = column([3.0, 3.0])
    for ax, (case, text) in zip(axes, SHOWN.items(), strict=True):
        plot_regret(played(case, runs), ax=ax)
        title(ax, text)
    plt.savefig(path, dpi=200)
    plt.close()


def draw_alarm(path: Path) -> None:
    """One stream of rewards and a wrong bound: where the mean can be after each reward, and the evidence."""
    from matplotlib import pyplot as plt

    from meanbounds.plots.style import column, tidy, title

    upper, mean, error = 0.6, 0.8, 0.01
    rewards = np.random.default_rng(4).random(200) < mean
    plays, total = np.arange(1.0, rewards.size + 1.0), np.cumsum(rewards).astype(np.float64)
    least, most = mb.evidence.confidence_sequence(plays, total, error=error)
    evidence = np.exp([float(mb.evidence.log_e_upper(n, s, upper)) for n, s in zip(plays, total, strict=True)])
    alarm = int(np.argmax(evidence >= 1.0 / error)) + 1
    _, (means, wealth) = column([2.6, 2.2], share_x=True)
    means.fill_between(plays, least, most, color="C0", alpha=0.2, linewidth=0.0)
    means.plot(plays, total / plays, color="C0")
    means.axhline(upper, color="C3")
    means.set_ylabel("reward")
    means.set_ylim(0.0, 1.0)
    means.text(plays[-1], upper - 0.02, "upper bound 0.6, which is wrong", color="C3", ha="right", va="top")
    means.text(plays[-1], 0.3, "where the mean can be: shaded", color="C0", ha="right")
    title(means, f"Rewards with mean {mean:g}")
    wealth.plot(plays, evidence, color="C3")
    wealth.axhline(1.0 / error, color="0.4", linestyle="--")
    wealth.axvline(alarm, color="0.4", linestyle=":")
    wealth.set_yscale("log")
    wealth.set_ylabel("e-value")
    wealth.set_xlabel("rewards")
    wealth.annotate(f"alarm after {alarm} rewards", (alarm, evidence.min()), xytext=(6, 4), textcoords="offset points")
    for ax in (means, wealth):
        tidy(ax)
    plt.savefig(path, dpi=200)
    plt.close()


def main() -> None:
    """Draw both."""
    mpl.use("Agg")
    draw_trust(FOLDER / "trust.png")
    draw_alarm(FOLDER / "alarm.png")


if __name__ == "__main__":
    main()
