"""Long random comparisons and hostile calls: `make soak`. ARGS="--minutes 5 --seed 3 --parts loops fuzz" says how long
and which.

Each part repeats with fresh random numbers until its share of the time is over, and fails at the first fault:

- loops: compiled loops play as the policies do, on random instances;
- fuzz: hostile arguments give a TypeError, a ValueError or a LookupError with a message, and leave agents as they were;
- saved: agents saved and loaded at random moments go on as if they had not been;
- promises: the guard is tested at its level, 2,000 runs of 1,500 decisions on each hard instance, by exact tests.

Those about stores take as long as they take, 20 minutes together, and print figures:

- crashes: 20 x kill -9 of a service on each store, and of PostgreSQL under a service;
- together: 50 rounds of processes that share a store, on a machine that has other things to do;
- damage: 500 bytes of a store, one after the other;
- tampered: 20,000 requests to a service, most of them not as they should be;
- decisions: two million of 50 agents in 10,000 contexts, then kill -9 and a start; `--decisions` makes it shorter.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from benchmarks.gain import DOCS, write
from scipy import stats

import meanbounds as mb
from meanbounds.simulation import Bernoulli, Uniform
from tests.policies.test_guarded import HARD, broken
from tests.service import soaking
from tests.service.hostile import hostile
from tests.simulation.test_loops import POLICIES as TESTED

POLICIES = [*TESTED, mb.IDS()]
ODD: list[Any] = [None, True, -1, 0, 1, 0.5, 1e308, np.nan, np.inf, "", "a", b"a", [], [0], {}, (), object(), 2**70, 1j]


def instance(rng: np.random.Generator) -> tuple[mb.MeanBounds, Any]:
    """Means and bounds that are narrow, wide, equal at the top, wrong, or in other units."""
    arms = int(rng.integers(2, 12))
    means, reach = rng.uniform(0.02, 0.98, arms), rng.choice([0.02, 0.2, 1.0])
    lower, upper = (np.clip(means + sign * reach * rng.random(arms), 0.0, 1.0) for sign in (-1, 1))
    if rng.random() < 0.3:
        upper[:] = upper.max()
    if rng.random() < 0.2:
        upper = np.maximum(lower, upper - 0.1)
    low, high = (0.0, 1.0) if rng.random() < 0.7 else (-3.0, 7.0)
    lower, upper, means = (low + (high - low) * array for array in (lower, upper, means))
    law = Bernoulli if rng.random() < 0.5 else Uniform
    return mb.MeanBounds(lower, upper, low=low, high=high), law(means, low=low, high=high)


def loops(rng: np.random.Generator) -> None:
    """Play one instance with loops and in numpy."""
    bounds, environment = instance(rng)
    seed, rounds = int(rng.integers(2**40)), int(rng.integers(100, 3_000))
    for policy in POLICIES:
        both = [
            mb.simulate({"p": policy}, environment, bounds, horizon=rounds, runs=3, seed=seed, compiled=compiled)
            for compiled in (True, False)
        ]
        assert np.array_equal(both[0].plays["p"], both[1].plays["p"]), (policy, bounds, environment, seed, rounds)


def fuzz(rng: np.random.Generator) -> None:
    """Call an agent with odd arguments; what is refused changes nothing."""
    bounds, _ = instance(rng)
    agent = mb.Agent(POLICIES[rng.integers(len(POLICIES))], bounds, seed=1)

    def odd() -> Any:
        return ODD[rng.integers(len(ODD))]

    calls: list[Callable[[], Any]] = [
        lambda: agent.update(odd(), odd()),
        lambda: agent.update(0, odd()),
        lambda: agent.pull(odd()),
        lambda: agent.pull(eligible=odd()),
        lambda: agent.probabilities(eligible=odd()),
        lambda: agent.forbid(odd()),
        lambda: agent.retire(odd()),
        lambda: agent.cancel(odd()),
        lambda: agent.know(odd()),
        lambda: agent.contradictions(odd()),
        lambda: mb.MeanBounds(odd(), odd(), low=odd(), high=odd()),
        lambda: mb.Knowledge(bounds, trust=odd()),
        lambda: mb.Prior(odd(), odd()),
        lambda: mb.Agent(odd(), odd(), seed=odd(), floor=odd()),
        lambda: mb.Agent.from_dict({**agent.to_dict(), str(rng.choice(list(agent.to_dict()))): odd()}),
        lambda: mb.simulate(odd(), odd(), odd(), horizon=odd(), runs=2, seed=odd()),
    ]
    for _ in range(50):
        before = json.dumps(agent.to_dict())
        try:
            calls[rng.integers(len(calls))]()
        except (TypeError, ValueError, LookupError):
            assert json.dumps(agent.to_dict()) == before
    for arm in agent.retired:
        agent.restore(arm)
    agent.forbid([])
    agent.pull()


def saved(rng: np.random.Generator) -> None:
    """Two agents with the same seed decide the same, however often one of them is saved and loaded."""
    bounds, environment = instance(rng)
    policy = POLICIES[rng.integers(len(POLICIES))]
    one, other = (mb.Agent(policy, {"a": bounds, "b": bounds}, seed=5) for _ in range(2))
    for _ in range(200):
        context = str(rng.choice(["a", "b"]))
        arm, same = one.pull(context), other.pull(context)
        assert arm == same, (policy, bounds)
        reward = float(environment.reward(np.array([bounds.position(arm)]), rng.random(1))[0])
        for agent in (one, other):
            agent.update(arm, reward, context)
        if rng.random() < 0.1:
            other = mb.Agent.from_dict(json.loads(json.dumps(other.to_dict())))


def promises(rng: np.random.Generator) -> None:
    """One hard instance and one promise."""
    case = str(rng.choice(list(HARD)))
    limits = [
        {"margin": 0.005},
        {"margin": 0.01},
        {"at_least": 0.98},
        {"failures": 0.14},
        {"margin": 0.02, "total": 5.0},
    ]
    promise = mb.Promise(**limits[rng.integers(len(limits))])
    found = broken(case, promise, runs=2000, rounds=1500)
    assert stats.binomtest(found, 2000, 0.1, alternative="greater").pvalue > 1e-6, (case, promise, found)
    print(f"{case}, {promise}: broken in {found} of 2,000 runs at a confidence of 0.9", flush=True)


def main() -> None:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--decisions", type=int, default=2_000_000)
    parts = {part.__name__: part for part in (loops, fuzz, saved, promises)}
    stores = {part.__name__: part for part in (soaking.crashes, soaking.together, soaking.damage)}
    names = [*parts, *stores, "tampered", "decisions"]
    parser.add_argument("--write", action="store_true", help="write what decisions found into docs/service.md")
    parser.add_argument("--parts", nargs="+", default=names, choices=names)
    given = parser.parse_args()
    stores["tampered"] = partial(hostile, 20_000, given.seed)
    stores["decisions"] = partial(soaking.decisions, given.decisions)
    warnings.simplefilter("ignore")
    for part in (part for name, part in parts.items() if name in given.parts):
        rng, end, rounds = np.random.default_rng(given.seed), time.monotonic() + 15.0 * given.minutes, 0
        while time.monotonic() < end:
            part(rng)
            rounds += 1
        print(f"{part.__name__}: {rounds} times, nothing found", flush=True)
    for name, check in stores.items():
        if name in given.parts:
            found = check()
            print(f"{name}: {found}", flush=True)
            if name == "decisions" and given.write:
                rows = [["50 agents with 200 contexts each, SQLite", ""], ["---", "---"]]
                rows += [part.strip().split(": ") for part in found.split(";")]
                write(DOCS / "service.md", "soak: python -m tests.soak --parts decisions --write", rows)


if __name__ == "__main__":
    main()
