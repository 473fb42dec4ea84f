"""Theorem 7 and Proposition 8: what a log says that lacks a part of what the expert saw, on random cases.

There are four arms and five hidden contexts, whose probabilities and mean rewards are drawn at random; gaps are the
true ones. Finite logs are compared with the infinite one: with estimates in place of shares and contributions, and with
the limits of `meanbounds.logs.bounds` at 95%. They come from cases that attain the bounds, for which that is hardest.
The picture shows how wide the bounds are, and in how many logs some mean is outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc

import meanbounds as mb
from meanbounds.simulation import HiddenContexts
from meanbounds.support.types import Floats
from meanbounds.theory import log_bounds
from paper.output import Claim, command, verdict, write_csv
from paper.verdicts import LEVEL

__all__ = ["attaining", "infinite_log", "main", "moved"]

ARMS, HIDDEN = 4, 5
ROWS = (300, 3_000, 30_000)
CONFIDENCE = 0.95


class Sizes(NamedTuple):
    """Random cases, and those with a log of each size."""

    cases: int = 1_000
    logs: int = 400


FULL, QUICK = Sizes(), Sizes(300, 60)


class Logged(NamedTuple):
    """Bounds from a log: their mean width and whether some true mean is outside."""

    case: int
    rows: int
    kind: str
    width: float
    missed: bool


def main(out: Path, quick: bool) -> Sequence[Claim]:
    """Bound the means of random cases by infinite logs and finite ones, and build the cases that attain the bounds."""
    sizes = QUICK if quick else FULL
    cases = [HiddenContexts.random(1, HIDDEN, arms=ARMS, seed=number) for number in range(sizes.cases)]
    hard = [attaining(own, (None, *range(ARMS))[k % (ARMS + 1)]) for k, own in enumerate(cases[: sizes.logs])]
    logged = [row for number, own in enumerate(hard) for rows in ROWS for row in finite(own, number, rows)]
    infinite = float(np.mean([np.mean(ends.upper - ends.lower) for ends in map(bounds_of, hard)]))
    write_csv(out / "theorem7.csv", ",".join(Logged._fields), logged)
    draw(out / "theorem7.png", logged, infinite)
    return [contained(cases), recipe(cases), tight(cases), readily(logged, infinite), shifts(cases)]


def infinite_log(cases: HiddenContexts) -> tuple[Floats, Floats]:
    """The share of each arm, and its mean reward where the expert plays it."""
    share = cases.shares[0]
    return share, np.divide(cases.contributions[0], share, out=np.zeros_like(share), where=share > 0.0)


def bounds_of(cases: HiddenContexts, log: tuple[Floats, Floats] | None = None, shift: float = 0.0) -> mb.MeanBounds:
    """Theorem 7 with the true gaps, by default from the infinite log."""
    share, mean = infinite_log(cases) if log is None else log
    gap_low, gap_high = float(cases.gap_low[0]), float(cases.gap_high[0])
    return log_bounds(share / share.sum(), mean, gap_low=gap_low, gap_high=gap_high, shift=shift)


def misses(bounds: mb.MeanBounds | None, cases: HiddenContexts) -> bool:
    """Whether some mean is outside; no bounds at all, because the log contradicts the gaps, are a miss."""
    return bounds is None or not bounds.contains(cases.marginal_means[0]).all()


def finite(cases: HiddenContexts, number: int, rows: int) -> list[Logged]:
    """Bounds from a log of so many rows: with estimates for the truth, and with limits."""
    log = cases.log(rows, seed=np.random.default_rng([number, rows]))
    tally = partial(np.bincount, log["arm"], minlength=ARMS)
    count, total = (tally(part).astype(np.float64) for part in (np.ones(rows), log["reward"]))
    mean = np.divide(total, count, out=np.zeros(ARMS), where=count > 0.0)
    try:
        plugged = bounds_of(cases, (count, mean))
    except mb.BoundsError:
        plugged = None
    gaps = {"gap_low": float(cases.gap_low[0]), "gap_high": float(cases.gap_high[0])}
    sums = count[None], total[None], total[None]  # rewards are 0 or 1: their squares are the same
    counts = mb.logs.Counts((None,), tuple(range(ARMS)), *sums)
    limits = mb.logs.bounds(counts, mb.logs.Experts(errors=0.0, **gaps), confidence=CONFIDENCE)[None]
    return [
        Logged(number, rows, kind, np.nan if own is None else float(np.mean(own.upper - own.lower)), misses(own, cases))
        for kind, own in (("estimates", plugged), ("limits", limits))
    ]


def draw(path: Path, logged: Sequence[Logged], infinite: float) -> None:
    """Widths above, logs that miss a mean below."""
    from matplotlib.figure import Figure

    from meanbounds.simulation.plots import COLOURS

    figure = Figure(figsize=(4.0, 5.6), layout="constrained", dpi=200)
    above, below = figure.subplots(2, 1, sharex=True)
    for kind, shade, mark in (("estimates", COLOURS[1], "s"), ("limits", COLOURS[0], "o")):
        own = [[row for row in logged if (row.kind, row.rows) == (kind, rows)] for rows in ROWS]
        label = "estimates for the truth" if kind == "estimates" else f"limits at {CONFIDENCE:.0%}"
        widths = [float(np.nanmean([row.width for row in rows])) for rows in own]
        above.plot(ROWS, widths, f"{mark}-", color=shade, label=label)
        below.plot(ROWS, [100.0 * np.mean([row.missed for row in rows]) for rows in own], f"{mark}-", color=shade)
    above.axhline(infinite, color="#666666", linestyle="--", linewidth=1.2, label="infinite log")
    above.set(xscale="log", ylim=(0.0, 1.0))
    above.set_title("Mean width of the bounds", loc="left", fontsize=10.0)
    above.legend(frameon=False, fontsize=9.0)
    below.axhline(100.0 * (1.0 - CONFIDENCE), color="#666666", linestyle=":", linewidth=1.2)
    below.set(xlabel="rows of the log\n(dotted: what 95% allows)")
    below.set_title("% of logs in which some mean is outside", loc="left", fontsize=10.0)
    below.set_xticks(ROWS, [f"{rows:,}" for rows in ROWS])
    below.minorticks_off()
    for ax in (above, below):
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def contained(cases: Sequence[HiddenContexts]) -> Claim:
    """The claim of Theorem 7."""
    missed = sum(misses(bounds_of(own), own) for own in cases)
    widths = [float(np.mean(own.upper - own.lower)) for own in map(bounds_of, cases)]
    return Claim(
        "Theorem 7",
        "All means are within the bounds that an infinite log gives.",
        f"some mean is outside in {missed} of {len(cases)} random cases; bounds have a width of {np.mean(widths):.2f}",
        verdict(missed == 0),
    )


def recipe(cases: Sequence[HiddenContexts]) -> Claim:
    """The claim about how to compute the quantities; the collapsed table has one row for each arm."""
    missed = 0
    for own in cases:
        share, mean = infinite_log(own)
        seen, gap_low, gap_high = share > 0.0, float(own.gap_low[0]), float(own.gap_high[0])
        p, parts = seen / seen.sum(), np.where(seen, mean, 0.0)  # mu_z(k) is the mean reward in all rows with k
        gain = np.maximum(parts - gap_high * p, 0.0)
        lower, upper = parts + gain.sum() - gain, parts.sum() - gap_low * (1.0 - p)
        missed += bool(np.any((own.marginal_means[0] < lower - 1e-9) | (own.marginal_means[0] > upper + 1e-9)))
    corrected = sum(misses(bounds_of(own), own) for own in cases)
    return Claim(
        "Section 6, quantities from log data",
        "Shares and contributions are counted in a table with one row for each context and arm.",
        f"counted so, the bounds exclude some mean in {missed} of {len(cases)} cases; with shares of all rows, and "
        f"contributions as share times mean reward, in {corrected}",
        verdict(missed == 0, corrected == 0),
    )


def attaining(cases: HiddenContexts, low: int | None = None) -> HiddenContexts:
    """A case with the same log and gaps whose means are the upper bounds, or in which arm `low` is at its lower one.

    There is a hidden context for each arm that the expert plays, in which that arm has its mean reward.
    """
    share, mean = infinite_log(cases)
    seen, gap_low, gap_high = np.flatnonzero(share), float(cases.gap_low[0]), float(cases.gap_high[0])
    means = np.repeat(mean[seen, None] - gap_low, ARMS, axis=1)
    if low is not None:
        means[:, low] = np.maximum(mean[seen] - gap_high, 0.0)
    means[np.arange(seen.size), seen] = mean[seen]
    return HiddenContexts(np.clip(means, 0.0, 1.0)[None], share[None, seen])


def tight(cases: Sequence[HiddenContexts]) -> Claim:
    """The claim of Proposition 8."""
    apart, same = 0.0, True
    for own in cases:
        bounds = bounds_of(own)
        for low in (None, *range(ARMS)):
            other = attaining(own, low)
            reached = other.marginal_means[0] - (bounds.upper if low is None else bounds.lower)
            apart = max(apart, float(np.abs(reached if low is None else reached[low]).max()))
            logs = zip(infinite_log(own), infinite_log(other), strict=True)
            same &= all(np.allclose(one, two, atol=1e-9) for one, two in logs)
            same &= bool(other.gap_low[0] >= own.gap_low[0] - 1e-9 and other.gap_high[0] <= own.gap_high[0] + 1e-9)
    return Claim(
        "Proposition 8",
        "An instance with the same log attains all upper bounds at once, and another one each lower bound.",
        f"built for {len(cases)} random cases: means and bounds differ by at most {apart:.1g}; logs and gaps "
        f"{'agree' if same else 'differ'}",
        verdict(apart < 1e-9 and same),
    )


def readily(logged: Sequence[Logged], infinite: float) -> Claim:
    """The remark about finite logs."""
    words, fine, plugged = [], True, True
    for rows in ROWS:
        parts = {
            kind: [row for row in logged if (row.rows, row.kind) == (rows, kind)] for kind in ("estimates", "limits")
        }
        missed = {kind: sum(row.missed for row in own) for kind, own in parts.items()}
        size, width = len(parts["limits"]), np.mean([row.width for row in parts["limits"]])
        words.append(f"{rows:,} rows: {missed['estimates']} and {missed['limits']} of {size}, width {width:.2f}")
        fine &= missed["limits"] == 0 or bool(bdtrc(missed["limits"] - 1, size, 1.0 - CONFIDENCE) > LEVEL)
        plugged &= missed["estimates"] == 0
    return Claim(
        "Section 6, remark 1",
        "Confidence limits make the bounds hold for finite logs, with the probability that is asked for.",
        f"logs in which some mean is outside, with estimates and with limits at {CONFIDENCE:.0%}: {'; '.join(words)} "
        f"(infinite log: {infinite:.2f})",
        verdict(fine),
    )


def moved(cases: HiddenContexts, most: float, seed: int) -> HiddenContexts:
    """The same cases, of which hidden ones occur with other probabilities, each different by at most `most`."""
    rng, p = np.random.default_rng(seed), cases.hidden_given_visible[0].copy()
    for one, other in rng.permutation(HIDDEN)[: HIDDEN - HIDDEN % 2].reshape(-1, 2):
        step = min(most, p[one], 1.0 - p[other])
        p[one], p[other] = p[one] - step, p[other] + step
    return HiddenContexts(cases.means, p[None])


def shifts(cases: Sequence[HiddenContexts], most: float = 0.1) -> Claim:
    """The remark about hidden contexts that occur with other probabilities than in the log."""
    after = [moved(own, most, number) for number, own in enumerate(cases)]
    plain, wider = (
        sum(misses(bounds_of(old, shift=shift), new) for old, new in zip(cases, after, strict=True))
        for shift in (0.0, min(1.0, HIDDEN // 2 * most))
    )
    return Claim(
        "Section 6, remark 2",
        "Bounds can be modified for hidden contexts whose probabilities change by at most s each.",
        f"after changes of {most} some mean is outside the plain bounds in {plain} of {len(cases)} cases; with each "
        f"side wider by floor(U/2) s, where U is the number of hidden contexts, in {wider}",
        verdict(wider == 0),
    )


if __name__ == "__main__":
    command(__doc__, main)
