"""Which policy to use for arms with features: after the log of an expert, and where bounds decide, for a long time.

`python -m benchmarks.linear_agents` writes docs/linear_measured.md. `--share 0.1` plays a tenth of the draws and runs.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import meanbounds as mb
from benchmarks.contestants.base import Array
from meanbounds.paper.transfer import SETTINGS
from meanbounds.paper.transfer.world import Draw, make_draw, usable
from meanbounds.policies import LinearPolicy

PAGE = Path(__file__).parents[1] / "docs" / "linear_measured.md"
POLICIES: Mapping[str, LinearPolicy] = {
    "OFUL": mb.OFUL(),
    "R-OFUL": mb.ROFUL(),
    "R-OFUL, plain": mb.ROFUL(index="plain"),
    "LinearThompson": mb.LinearThompson(),
}
RUNS = 4
FRESH = 20_261_116  # seed of the draws that no choice was made on
STOPS = (2_000, 20_000, 200_000)
SHORT = STOPS[1]  # the horizon of policies that solve cone programs


@dataclass(frozen=True)
class Sizes:
    """How much is played."""

    old: int = 300  # draws of the transfer experiment that are looked at
    fresh: int = 200  # new draws that are played
    instances: int = 6


def draws(seed: int, looked_at: int, played: int) -> Iterator[tuple[int, Draw]]:
    """Draws of the transfer experiment whose corrected bounds leave something to learn."""
    found = 0
    for number in range(looked_at):
        draw = make_draw(replace(SETTINGS, seed=seed), number)
        tight, _ = usable(draw, draw.bounds("corrected"))
        if tight is not None and tight.possible.sum() > 1 and found < played:
            found += 1
            yield number, draw


def after_logs(seed: int, looked_at: int, played: int) -> Array:
    """Mean regret of each policy on each draw, from sharp bounds: draws x policies."""
    rows = []
    for number, draw in draws(seed, looked_at, played):
        found, known = draw.bounds("sharp"), draw.known
        tight = found.tightened(known, known + 1.0)
        vacuous = mb.MeanBounds.vacuous(found.arms, low=known, high=known + 1.0)
        row = []
        for label, policy in POLICIES.items():
            bounds = vacuous if label == "OFUL" else tight
            own = {label: found.limited(policy)}
            kept = mb.simulate(own, draw.environment(), bounds, horizon=SETTINGS.horizon, runs=RUNS, seed=number)
            row.append(float(kept.final[label].mean()))
        rows.append(row)
        print(f"log {len(rows)}", file=sys.stderr, flush=True)
    return np.array(rows)


def logs_table(regret: Array) -> str:
    """Mean regret, on how many draws it is less than OFUL's, and the largest ratio."""
    rows = ["| policy | mean regret | less than OFUL | at most times OFUL | of R-OFUL's |", "|---|---:|---:|---:|---:|"]
    names = list(POLICIES)
    base, today = regret[:, names.index("OFUL")], regret[:, names.index("R-OFUL")]
    for name, column in zip(names, regret.T, strict=True):
        less, ratio = np.mean(column < base - 1e-9), np.max(column / np.maximum(base, 1e-9))
        rows.append(f"| {name} | {column.mean():.1f} | {less:.0%} | {ratio:.2f} | {column.mean() / today.mean():.2f} |")
    return "\n".join(rows)


def instance(width: float, seed: int) -> mb.LinearInstance:
    """The paper's setting with bounds up to `width` from the mean on either side."""
    drawn, rng = mb.LinearInstance.paper(seed), np.random.default_rng([seed, 1])
    if width == 0.5:
        return drawn
    low, high = drawn.bounds.low, drawn.bounds.high
    lower, upper = (np.clip(drawn.means + sign * rng.uniform(0.0, width, low.size), low, high) for sign in (-1.0, 1.0))
    return mb.LinearInstance(drawn.features, drawn.theta, mb.MeanBounds(lower, upper, low=low, high=high), drawn.offset)


def long_table(width: float, instances: int) -> str:
    """Regret at some rounds, and how much it grows in the last nine tenths."""
    rows = [
        "| policy | " + " | ".join(f"{stop:,} rounds" for stop in STOPS) + " | last / one before |",
        "|---|---:|---:|---:|---:|",
    ]
    for label, policy in POLICIES.items():
        horizon = SHORT if label == "R-OFUL" else STOPS[-1]
        curves = []
        for seed in range(instances):
            drawn = instance(width, seed)
            stops = [stop for stop in STOPS if stop <= horizon]
            kept = mb.simulate(
                {label: policy},
                drawn.environment(10),
                drawn.bounds,
                horizon=horizon,
                runs=2,
                seed=seed,
                checkpoints=stops,
            )
            curves.append(kept.curves[label])
            print(f"{width} {label} {seed}", file=sys.stderr, flush=True)
        mean = np.concatenate(curves).mean(axis=0)
        shown = [f"{value:.1f}" for value in mean] + [""] * (len(STOPS) - mean.size)
        ratio = f"{mean[2] / mean[1]:.1f}" if mean.size == len(STOPS) else ""
        rows.append(f"| {label} | {' | '.join(shown)} | {ratio} |")
    return "\n".join(rows)


def main() -> None:
    """Play everything and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of the draws that is played, for example 0.1")
    share = parser.parse_args().share
    full = Sizes()
    sizes = Sizes(*(max(1, round(share * size)) for size in (full.old, full.fresh, full.instances)))
    old = after_logs(SETTINGS.seed, sizes.old, sizes.old)
    fresh = after_logs(FRESH, 10 * full.fresh, sizes.fresh)
    today = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    PAGE.write_text(
        f"""\
# Arms with features: which policy to use, measured

Written by `python -m benchmarks.linear_agents --share {share:g}` on {today} with meanbounds {mb.__version__}.
`R-OFUL` is `ROFUL()`, and `R-OFUL, plain` is `ROFUL(index="plain")`, which clips no index.

## After the log of an expert
The transfer experiment of the paper: 12 arms, {SETTINGS.horizon:,} rounds, {RUNS} runs on each draw of the arms whose
bounds leave something to learn. Bounds are the sharp ones of an infinite log; OFUL ignores them.

{len(old)} draws of the experiment:

{logs_table(old)}

{len(fresh)} draws with a fresh seed:

{logs_table(fresh)}

## Where bounds decide
100 arms in R^10, 10 on offer in a round, {2 * sizes.instances} runs on {sizes.instances} draws of arms and bounds.

Bounds up to 0.5 from the mean on either side (the paper's setting):

{long_table(0.5, sizes.instances)}

Bounds up to 0.3 from the mean:

{long_table(0.3, sizes.instances)}
""",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
