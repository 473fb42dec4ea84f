"""Figure 1: the subgaussian factor of a reward whose mean is known, against the variance of a reward of 0 or 1."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from meanbounds.support.types import Floats
from meanbounds.theory import variance_proxy
from paper.output import Claim, command, verdict, write_csv

__all__ = ["main"]


def main(out: Path, quick: bool) -> Sequence[Claim]:
    """Compute the squared factor in three ways for many means; draw it; check the claims of Section 3."""
    means, steps = np.linspace(0.0, 1.0, 201 if quick else 1_001)[1:-1], 2_001 if quick else 20_001
    columns = {
        "mean": means,
        "variance": means * (1.0 - means),
        "factor": np.asarray(variance_proxy(means)),
        "printed": np.array([searched(m, 2.0 / m, steps) for m in means]),
        "corrected": np.array([searched(m, 2.0 / min(m, 1.0 - m), steps) for m in means]),
    }
    write_csv(out / "factor.csv", ",".join(columns), np.stack([*columns.values()], axis=1).tolist())
    draw(out / "factor.png", columns)
    return claims(columns)


def searched(mean: float, reach: float, steps: int) -> float:
    """The largest value of the printed expression over s with the sign that the proof gives it, up to this size."""
    s = np.linspace(0.0, reach, steps)[1:] * (1.0 if mean < 0.5 else -1.0)
    return float(np.max(2.0 / s**2 * np.logaddexp(np.log(mean) + (1 - mean) * s, np.log1p(-mean) - mean * s)))


def draw(path: Path, columns: dict[str, Floats]) -> None:
    """The factor, the variance, and what the search finds in the printed bracket."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.0, 3.2), layout="constrained")
    ax, mean = figure.subplots(), columns["mean"]
    ax.axhline(0.25, color="#666666", linestyle=":", label="any mean: 1/4")
    steep = np.append(0.0, np.geomspace(1e-300, mean[0], 100))  # towards both ends
    x, factor = np.concatenate([steep, mean]), np.concatenate([variance_proxy(steep), columns["factor"]])
    x, factor = np.append(x, 1.0 - steep[::-1]), np.append(factor, factor[100::-1])
    ax.plot(x, factor, color="#0072b2", linewidth=2.0, label="squared factor, Theorem 3")
    ax.plot(mean, columns["variance"], color="#d55e00", linewidth=2.0, label="variance m(1 - m)")
    ax.plot(mean, columns["printed"], "--", color="#cc79a7", label="searched in the printed bracket")
    ax.set(xlabel="mean m", xlim=(0.0, 1.0), ylim=(0.0, 0.27))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower center", fontsize=9.0)
    figure.savefig(path, dpi=200)


def claims(columns: dict[str, Floats]) -> list[Claim]:
    """The claims of Section 3 and Appendix A about the factor."""
    mean, variance, factor, printed, corrected = columns.values()
    off = mean != 0.5
    over, under = (factor - variance)[off], (0.25 - factor)[off]
    rises, falls = np.diff(factor[mean <= 0.5]), -np.diff(factor[mean >= 0.5])
    short, worst = printed < factor - 1e-5, int(np.argmax(factor - printed))
    found = bool(np.abs(corrected - factor).max() < 1e-5)
    return [
        Claim(
            "Theorem 3",
            "The squared factor is strictly between the variance m(1 - m) and 1/4 unless m = 1/2.",
            f"over {off.sum()} means: least distance to the variance {over.min():.2g}, to 1/4 {under.min():.2g}",
            verdict(bool(np.all(over > 0.0) and np.all(under > 0.0))),
        ),
        Claim(
            "Section 3",
            "It rises up to m = 1/2 and falls from there on.",
            f"least rise between neighbours {rises.min():.2g}, least fall {falls.min():.2g}",
            verdict(bool(np.all(rises > 0.0) and np.all(falls > 0.0))),
        ),
        Claim(
            "Appendix A",
            "For m > 1/2 the maximum over s that defines it lies between -2/m and 0.",
            f"searched there it is too small from m = {mean[short].min(initial=1.0):.3f} on (at m = {mean[worst]:.3f} "
            f"{printed[worst]:.3f} instead of {factor[worst]:.3f}); it is always between -2/(1 - m) and 0: {found}",
            verdict(not short.any(), found),
        ),
    ]


if __name__ == "__main__":
    command(__doc__, main)
