"""What trust costs and saves for arms with features: regret with right and wrong bounds of several kinds.

`python -m benchmarks.linear_doubt` prints a table. `--kinds cap all --policies ROFUL --horizon 20000 --worlds 3` plays
less. Each world has features of length 1, means around 1/2 and bounds of width 0.3.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

import meanbounds as mb
from benchmarks.contestants.base import Array
from meanbounds.policies import LinearPolicy

POLICIES: Mapping[str, LinearPolicy] = {
    "LinearThompson": mb.LinearThompson(norm_high=0.5),
    "ROFUL": mb.ROFUL(norm_high=0.5, index="clip"),
}
KINDS = {
    "right": "all bounds hold",
    "cap": "the best arm's upper bound is 0.08 too low",
    "dropped": "the best arm's upper bound is below another arm's lower one",
    "bad": "a middling arm is thought to be best",
    "all": "bounds that belong to another parameter",
}
TRUSTS = (1.0, 0.99, 0.9, 0.0)
HALF = 0.15  # half of the width of the bounds
ALARM = float(np.log(2 / 0.01))  # of an agent, by all rewards together


class World(NamedTuple):
    """Arms, the truth, and what is thought of it."""

    environment: mb.Linear
    bounds: mb.MeanBounds


def around(means: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Bounds that hold, with the means anywhere but near the ends."""
    middle = means + 0.8 * rng.uniform(-HALF, HALF, means.size)
    return np.clip(middle - HALF, 0.0, 1.0), np.clip(middle + HALF, 0.0, 1.0)


def make(seed: int, kind: str, arms: int, d: int, offered: int | None) -> World | None:
    """A world with bounds of this kind; None if no parameter satisfies them all."""
    rng = np.random.default_rng([77, seed])
    features = rng.normal(size=(arms, d))
    features /= np.linalg.norm(features, axis=1)[:, None]
    theta, other = (0.4 * v / np.linalg.norm(v) for v in rng.normal(size=(2, d)))
    means = 0.5 + features @ theta
    lower, upper = around(0.5 + features @ other if kind == "all" else means, rng)
    best = int(np.argmax(means))
    if kind == "cap":
        upper[best] = means[best] - 0.08
    elif kind == "dropped":
        upper[best] = np.delete(lower, best).max() - 0.01
    elif kind == "bad":
        middling = int(np.argsort(means)[int(0.6 * arms)])
        wrong = theta + features[middling] * (means[best] + 0.05 - means[middling])
        thought = 0.5 + features @ (wrong * min(1.0, 0.5 / np.linalg.norm(wrong)))
        lower, upper = np.minimum(lower, thought - 0.02), np.maximum(upper, thought + 0.02)
        lower[middling] = thought[middling] - 0.02
    lower[best] = min(lower[best], upper[best] - 0.1)
    bounds = mb.MeanBounds(np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0))
    try:
        mb.FeasibleSet(mb.LinearArms(features, bounds, offset=0.5), norm_high=0.5)
    except mb.BoundsError:
        return None
    return World(mb.Linear(features, theta, offered=offered, offset=0.5, low=0.0, high=1.0), bounds)


def row(policy: LinearPolicy, kind: str, trust: float, given: argparse.Namespace) -> str:
    """Mean regret at a tenth of the rounds and at the end, the ratio, and the share of runs with an alarm."""
    regret, found, seed = list[Array](), list[Array](), 0
    while len(regret) < given.worlds and seed < 100 * given.worlds:
        world, seed = make(seed, kind, given.arms, given.features, given.offered), seed + 1
        if world is None:
            continue
        known, stops = mb.Knowledge(world.bounds, trust=trust), [given.horizon // 10, given.horizon]
        played = mb.simulate(
            {"p": policy},
            world.environment,
            known,
            horizon=given.horizon,
            runs=given.runs,
            seed=seed,
            checkpoints=stops,
        )
        regret.append(played.curves["p"])
        found.append(played.measures.get("evidence", {"p": np.zeros((given.runs, 2))})["p"])
    if not regret:
        return f"| {kind} | {trust} | no world | | | |"
    lost, log_e = np.concatenate(regret).mean(axis=0), np.concatenate(found)[:, -1]
    alarms = f"{np.mean(log_e >= ALARM):.0%}" if 0.0 < trust < 1.0 else ""
    return f"| {kind} | {trust} | {lost[0]:.0f} | {lost[1]:.0f} | {lost[1] / max(lost[0], 1e-9):.1f} | {alarms} |"


def main() -> None:
    """Print a table for each policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=list(POLICIES))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--trusts", nargs="+", type=float, default=list(TRUSTS))
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--worlds", type=int, default=10)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--arms", type=int, default=20)
    parser.add_argument("--features", type=int, default=5)
    parser.add_argument("--offered", type=int, default=None)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of means outside their bounds: that is the point
    for name in given.policies:
        tenth = given.horizon // 10
        print(f"## {name}\n\n| bounds | trust | {tenth:,} rounds | {given.horizon:,} rounds | ratio | alarm |")
        print("|---|---:|---:|---:|---:|---:|")
        for kind in given.kinds:
            for trust in given.trusts:
                print(row(POLICIES[name], kind, trust, given), flush=True)


if __name__ == "__main__":
    main()
