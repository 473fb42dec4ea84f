"""Is an option that harms stopped in time, and one that does not harm left alone?

Usage: python -m benchmarks.guardrails [--runs 2000]. Each run is an agent with four options and experts in two kinds of
cases. The option that pays best has a harmful outcome in 15 points more of the cases than the experts; the guardrail
allows 2 points. Another option is exactly at its limit, and the rest are as safe as the experts.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from scipy.stats import binom

import meanbounds as mb

ARMS = ["tempting", "at its limit", "safe", "safest"]
PAYS: dict[Any, float] = dict(zip(ARMS, (0.6, 0.55, 0.5, 0.45), strict=True))
HARMS: dict[Any, float] = dict(zip(ARMS, (0.15, 0.02, 0.0, 0.0), strict=True)) | {mb.EXPERT: 0.0}  # above the experts
LEVELS = {"well": 0.03, "ill": 0.2}
WORSE, ERROR, ROUNDS, ALLOWED = 0.02, 0.05, 3_000, 30.0


def run(seed: int, known: bool) -> tuple[float, set[str]]:
    """How many harmful outcomes the tempting option has cost beyond the experts', and which options were stopped."""
    rng, bounds = np.random.default_rng(seed), mb.MeanBounds.vacuous([*ARMS, mb.EXPERT])
    rail = mb.Guardrail("harm", WORSE, level=LEVELS if known else None, error=ERROR)
    agent = mb.Agent(mb.UCB(), dict.fromkeys(LEVELS, bounds), seed=seed, guardrails=[rail])
    cost = 0.0
    for _ in range(ROUNDS):
        context = "well" if rng.random() < 0.6 else "ill"
        arm = mb.EXPERT if rng.random() < 0.3 else agent.pull(context, [*ARMS])  # the rest are asked anyway
        harm = float(rng.random() < LEVELS[context] + HARMS[arm])
        agent.report("harm", harm, arm, context)
        if arm is not mb.EXPERT:
            agent.update(arm, float(rng.random() < PAYS[arm]), context)
            cost += (arm == "tempting") * (harm - LEVELS[context])
    return cost, {stop.arm for stop in agent.stops()}


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2_000)
    runs = parser.parse_args().runs
    warnings.simplefilter("ignore")
    for known in (True, False):
        found = [run(seed, known) for seed in range(runs)]
        costs = np.array([cost for cost, _ in found])
        stopped = np.mean(["tempting" in names for _, names in found])
        false = sum(bool(names - {"tempting"}) for _, names in found)
        level = "known levels" if known else "the experts' own cases"
        print(
            f"{level}: stopped in {stopped:.1%}; cost a median of {np.median(costs):.1f} cases, at most {ALLOWED:g} in"
        )
        print(f"  {np.mean(costs <= ALLOWED):.1%} of the runs (in 95%: at most {np.quantile(costs, 0.95):.1f}); false")
        print(f"  stops in {false} of {runs} runs: {binom.isf(0.05, runs, ERROR):.0f} would still be at their level")


if __name__ == "__main__":
    main()
