"""What bounds and trust are worth: writes the tables of docs/which_policy.md and docs/trust.md.

Usage: python -m benchmarks.gain [policies] [trust]. It takes some minutes; --quick is for a look, and writes nothing.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import meanbounds as mb
from meanbounds.policies import Policy
from meanbounds.simulation import INSTANCES, Instance, random_instance

DOCS = Path(__file__).parent.parent / "docs"
POLICIES: list[Policy] = [
    *(mb.UCB(), mb.KLUCB(), mb.BUCB(), mb.ImprovedUCB(), mb.GLUE(), mb.BKLUCB()),
    *(mb.BIMED(), mb.ThompsonSampling(), mb.OptimisticGittins(), mb.IDS()),
]
TRAP = Instance("a trap", mb.Bernoulli([0.85, 0.80]), mb.MeanBounds([0.84, 0.79], [0.86, 0.90]))
MEANS = [0.9, 0.8, 0.7, 0.6, 0.5]
BOUNDS = {
    "right": mb.MeanBounds([0.82, 0.7, 0.5, 0.4, 0.3], [0.98, 0.95, 0.81, 0.8, 0.7]),
    "the best arm excluded": mb.MeanBounds([0.5, 0.76, 0.5, 0.4, 0.3], [0.75, 0.95, 0.9, 0.8, 0.7]),
    "a bad arm thought best": mb.MeanBounds([0.6, 0.6, 0.5, 0.91, 0.3], [0.92, 0.9, 0.9, 0.99, 0.7]),
}
TRUSTED: list[Policy] = [
    *(mb.GLUE(), mb.BKLUCB(), mb.BIMED(), mb.ThompsonSampling(), mb.OptimisticGittins(), mb.IDS()),
]


def policies(quick: bool) -> list[list[str]]:
    """Regret with bounds and without, and what a decision costs."""
    rounds, runs, drawn = (200, 4, 3) if quick else (1_000, 20, 20)
    random = [random_instance(5, seed=seed) for seed in range(drawn)]
    rows = [
        ["policy", "four instances", "random instances", "helps", "hurts", "trap", "µs"],
        ["---", *["---:"] * 6],
    ]
    for policy in POLICIES:
        four = [compare(policy, one, rounds, runs) for one in INSTANCES.values()]
        several = [compare(policy, one, rounds, max(runs // 2, 2)) for one in random]
        trap = compare(policy, TRAP, rounds, 2 * runs)
        count = [sum(found[2] == sign for found in several) for sign in (1, -1)] if policy.uses_bounds else ["", ""]
        cells = [shown(found, policy) for found in (average(four), average(several), trap)]
        rows.append([f"`{policy}`", *cells[:2], *map(str, count), cells[2], f"{microseconds(policy):.0f}"])
        print(*rows[-1], flush=True)
    return rows


Found = tuple[float, float, int]
"""Mean regret with bounds and without, and 1 or -1 if bounds help or hurt with 95% confidence."""


def compare(policy: Policy, instance: Instance, rounds: int, runs: int) -> Found:
    """Play a policy with the bounds of an instance and without."""
    known = instance.bounds, mb.MeanBounds.vacuous(len(instance.bounds))
    both = [
        mb.simulate({label: policy}, instance.environment, own, horizon=rounds, runs=runs, seed=1, compiled=False)
        for label, own in zip(("with", "without"), known, strict=True)
    ]
    regret = both[0].beside(both[1])
    gain = regret.difference("without", "with")
    sign = int(gain.lower[-1] > 0.0) - int(gain.upper[-1] < 0.0)
    return float(regret.mean["with"][-1]), float(regret.mean["without"][-1]), sign


def average(found: Sequence[Found]) -> Found:
    """The means over instances."""
    return float(np.mean([one[0] for one in found])), float(np.mean([one[1] for one in found])), 0


def shown(found: Found, policy: Policy) -> str:
    """With bounds (without); for a policy that ignores them only the latter."""
    return f"{found[0]:.1f} ({found[1]:.1f})" if policy.uses_bounds else f"({found[1]:.1f})"


def microseconds(policy: Policy) -> float:
    """How long an agent with five arms takes for a decision and a reward."""
    instance = INSTANCES["high-lower-bound"]
    agent, rewards = mb.Agent(policy, instance.bounds, seed=1), np.random.default_rng(1).random((2_000, 5))
    spent = []
    for u in rewards:
        start = time.process_time()
        arm = agent.pull()
        k = instance.bounds.position(arm)
        agent.update(arm, float(u[k] < instance.means[k]))
        spent.append(time.process_time() - start)
    return 1e6 * float(np.median(spent))


def trust(quick: bool) -> list[list[str]]:
    """Regret by trust, where bounds are right and where they are not."""
    rounds, runs = ([100, 1_000], 4) if quick else ([500, 5_000], 20)
    rows = [["policy", "trust", *BOUNDS], ["---", "---:", *["---:"] * len(BOUNDS)]]
    for policy in TRUSTED:
        for value in (1.0, 0.99, 0.9, 0.0):
            cells = list[str]()
            for bounds in BOUNDS.values():
                if value > 0.0 or not cells:  # without bounds it does not matter which ones
                    known = mb.Knowledge(bounds, trust=value)
                    regret = mb.simulate(
                        {"it": policy},
                        mb.Bernoulli(MEANS),
                        known,
                        horizon=rounds[-1],
                        runs=runs,
                        seed=1,
                        checkpoints=rounds,
                        compiled=False,
                    )
                    cell = " / ".join(f"{mean:.0f}" for mean in regret.mean["it"])
                cells.append(cell)
            rows.append([f"`{policy}`", f"{value:g}" if value else "no bounds", *cells])
            print(*rows[-1], flush=True)
    return rows


TABLES: dict[str, tuple[str, Callable[[bool], list[list[str]]]]] = {
    "policies": ("which_policy.md", policies),
    "trust": ("trust.md", trust),
}


def main(arguments: list[str] | None = None) -> None:
    """Make the tables that are named, and write each into its page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gain", description=__doc__)
    parser.add_argument("tables", nargs="*", choices=[[], *TABLES], help="default: all")
    parser.add_argument("--quick", action="store_true", help="less work, for a look; nothing is written")
    given = parser.parse_args(arguments)
    for name in given.tables or TABLES:
        page, make = TABLES[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of bounds that do not hold, and of rewards that contradict them
            rows = make(given.quick)
        if not given.quick:
            write(DOCS / page, f"{name}: python -m benchmarks.gain {name}", rows)


def write(path: Path, made: str, rows: list[list[str]]) -> None:
    """Put a table into a page, between its two markers; the first says how it was made."""
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    text, marker = path.read_text(encoding="utf-8"), f"<!-- {made} -->"
    parts = re.split(f"({re.escape(marker)}\n).*?(<!-- end -->)", text, flags=re.DOTALL)
    if len(parts) != 4:
        raise ValueError(f"{path} must have the markers {marker} and <!-- end --> once")
    path.write_text(f"{parts[0]}{parts[1]}{table}\n{parts[2]}{parts[3]}", encoding="utf-8")


if __name__ == "__main__":
    main()
