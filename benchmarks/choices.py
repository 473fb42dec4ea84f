"""Which linear policy, noise, index and tightening to use: compared where upper bounds decide, and where they do not.

`python -m benchmarks.choices` writes docs/choices.md and its picture. `--share 0.2` plays a fifth of the draws. `--kept
FOLDER` keeps what each policy showed on each draw there, and reads it from there the next time: remove the files of a
policy that has changed.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import matplotlib as mpl
import numpy as np

import meanbounds as mb
from benchmarks.contestants.base import Array
from meanbounds.policies import AnyPolicy

DRAWS = 5
RUNS = 4
HORIZON = 100_000
SHOWN = (1_000, 10_000, HORIZON)
OFFERED = 10
GOAL = 0.5  # of the least regret of the policies in BEFORE
DOCS = Path(__file__).parents[1] / "docs"

POLICIES: Mapping[str, AnyPolicy] = {
    "OFUL": mb.OFUL(),
    "R-OFUL": mb.ROFUL(),
    "R-OFUL, running-max": mb.ROFUL(noise="running-max"),
    "R-OFUL, pool-max": mb.ROFUL(noise="pool-max"),
    "R-OFUL, online": mb.ROFUL(online=True),
    "R-OFUL, clip": mb.ROFUL(index="clip"),
    "R-OFUL, clip, running-max": mb.ROFUL(index="clip", noise="running-max"),
    "R-OFUL, clip, pool-max": mb.ROFUL(index="clip", noise="pool-max"),
    "R-OFUL, clip, online": mb.ROFUL(index="clip", online=True),
    "R-OFUL, clip, cone": mb.ROFUL(index="clip", tighten="cone"),
    "R-OFUL, clip, not tightened": mb.ROFUL(index="clip", tighten="none"),
    "R-OFUL, as printed": mb.ROFUL.paper(),
    "R-OFUL, not settling": mb.ROFUL(settle=False),
    "R-OFUL, not settling, online": mb.ROFUL(settle=False, online=True),
    "R-OFUL, not settling, clip": mb.ROFUL(settle=False, index="clip"),
    "R-OFUL, not settling, clip, cone": mb.ROFUL(settle=False, index="clip", tighten="cone"),
    "LinearThompson": mb.LinearThompson(),
    "LinearThompson, weighted": mb.LinearThompson(noise="weighted"),
    "LinearThompson, 4 draws": mb.LinearThompson(draws=4),
    "LinearThompson, not optimistic": mb.LinearThompson(optimistic=False),
}
BEFORE = ("OFUL", *(label for label in POLICIES if "not settling" in label))  # all that there was before the others
DRAWN = ("OFUL", "R-OFUL", "R-OFUL, clip", "R-OFUL, as printed", "LinearThompson")

Made = tuple[mb.Linear, mb.MeanBounds]


def _paper(draw: int) -> Made:
    instance = mb.LinearInstance.paper(draw)
    return instance.environment(OFFERED), instance.bounds


def _positive(rng: np.random.Generator) -> tuple[Array, Array]:
    """Features and a parameter with no negative entry, the parameter of norm 0.95."""
    features, theta = np.abs(rng.normal(size=(50, 5))), np.abs(rng.normal(size=5))
    return features / np.linalg.norm(features, axis=1, keepdims=True), 0.95 * theta / np.linalg.norm(theta)


def _lower_bounds(draw: int) -> Made:
    rng = np.random.default_rng(draw)
    features, theta = _positive(rng)
    environment = mb.Linear(features, theta, offered=OFFERED, low=0.0, high=1.0)
    lower = np.maximum(environment.means - rng.uniform(0.0, 0.15, 50), 0.0)
    return environment, mb.MeanBounds(lower, np.ones(50))


def _ranges(draw: int) -> Made:
    rng = np.random.default_rng(draw)
    features, theta = _positive(rng)
    width = rng.choice([0.1, 1.0], 50)
    low = features @ theta - width / 2.0
    environment = mb.Linear(features, theta, offered=OFFERED, low=low, high=low + width)
    return environment, mb.MeanBounds.vacuous(50, low=low, high=low + width)


SETTINGS: Mapping[str, tuple[str, Callable[[int], Made]]] = {
    "bounds decide": ("the paper's setting: 100 arms in R^10, bounds up to 0.5 from the mean on either side", _paper),
    "lower bounds": (
        "50 arms in R^5 with means up to 0.95 on [0, 1]; lower bounds up to 0.15 below the mean, no upper bounds: "
        "nothing caps an index",
        _lower_bounds,
    ),
    "two kinds of arms": (
        "50 arms in R^5, rewards in a range of width 0.1 for some and 1 for others; nothing else is known",
        _ranges,
    ),
}


def play(setting: str, draws: int, folder: Path | None = None) -> mb.Regret:
    """Every policy on several draws of a setting, the runs of all draws in one."""
    curves, plays, kept = {}, {}, {}
    for label in POLICIES:
        played = mb.Regret.concat(play_one(setting, draw, label, folder) for draw in range(draws))
        curves[label], plays[label] = played.curves[label], played.plays[label]
        kept[label] = played.measures["kept"][label]
        print(f"{setting}, {label}", file=sys.stderr, flush=True)
    return mb.Regret(played.rounds, curves, plays, {}, {"kept": kept})


def play_one(setting: str, draw: int, label: str, folder: Path | None) -> mb.Regret:
    """One policy on one draw, or what it showed there before; runs are those of playing all policies at once."""
    path = None if folder is None else folder / f"{setting}, {draw}, {label}.parquet"
    if path is not None and path.exists():
        return mb.Regret.load(path)
    environment, bounds = SETTINGS[setting][1](draw)
    own = {label: POLICIES[label]}
    played = mb.simulate(own, environment, bounds, horizon=HORIZON, runs=RUNS, seed=draw, checkpoints=200)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        played.save(path)
    return played


def _at(regret: mb.Regret, label: str, shown: int) -> Array:
    """Regret of each run at a round."""
    at: Array = regret.curves[label][:, int(np.searchsorted(regret.rounds, shown))]
    return at


def table(regret: mb.Regret) -> str:
    """Mean regret at some rounds, and arms kept."""
    header = ["policy", *(f"{shown:,} rounds" for shown in SHOWN), "arms kept"]
    rows = [header, ["---"] + ["---:"] * (len(header) - 1)]
    for label in POLICIES:
        row = [label]
        for shown in SHOWN:
            at = _at(regret, label, shown)
            row.append(f"{at.mean():.1f} ± {2.0 * at.std(ddof=1) / np.sqrt(at.size):.1f}")
        row.append(f"{regret.measures['kept'][label][:, -1].mean() / regret.rounds[-1]:.1f}")
        rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def verdict(regret: mb.Regret) -> str:
    """What sampling is worth at the end, against the best of those that neither sample nor settle."""
    old = {label: float(_at(regret, label, HORIZON).mean()) for label in BEFORE}
    best, new = min(old, key=old.__getitem__), float(_at(regret, "LinearThompson", HORIZON).mean())
    goal = "reached" if new <= GOAL * old[best] else "missed"
    return textwrap.fill(
        f"At {HORIZON:,} rounds LinearThompson loses {new / old[best]:.2f} times as much as the best policy that "
        f"neither samples nor settles, {best}. The goal, at most {GOAL:g} times, is {goal}.",
        118,
    )


def picture(results: Mapping[str, mb.Regret], path: Path) -> None:
    """Regret in each setting, one below the other."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    from meanbounds.plots import plot_regret

    figure, axes = plt.subplots(len(results), 1, figsize=(6.4, 3.4 * len(results)), layout="constrained")
    for ax, (setting, regret) in zip(axes, results.items(), strict=True):
        some = mb.Regret(regret.rounds, {label: regret.curves[label] for label in DRAWN}, {}, regret.settings)
        plot_regret(some, ax)
        ax.set_title(setting, loc="left", fontsize=10)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Play everything and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of the draws that is played, for example 0.2")
    parser.add_argument("--kept", type=Path, help="folder of what was played before, and is kept there")
    given = parser.parse_args()
    share, draws = given.share, max(1, round(given.share * DRAWS))
    results = {setting: play(setting, draws, given.kept) for setting in SETTINGS}
    picture(results, DOCS / "images" / "choices.png")
    sections = []
    for setting, (what, _) in SETTINGS.items():
        described = textwrap.fill(f"{what[0].upper()}{what[1:]}.", 118)
        sections.append(
            f"## {setting.capitalize()}\n\n{described}\n\n{table(results[setting])}\n\n{verdict(results[setting])}"
        )
    today = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    text = f"""\
# Arms with features: what the choices of a policy are worth

Written by `python -m benchmarks.choices --share {share:g}` on {today} with meanbounds {mb.__version__}. Mean regret
over {draws * RUNS} runs, {RUNS} on each of {draws} draws of the arms, plus or minus two standard errors, with {OFFERED}
arms on offer in a round and rewards at the two ends of their range. `R-OFUL` is `ROFUL()` and `LinearThompson` is
`LinearThompson()`; what differs from them is named. `not settling` is `settle=False`, `not optimistic` is
`optimistic=False`.

![Regret in the three settings](images/choices.png)

{(chr(10) * 2).join(sections)}
"""
    (DOCS / "choices.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
