"""What `benchmarks.compare` times, in a child process that has one revision of meanbounds on its path.

The child is told the name of a job on each line of its input and answers with a line of JSON: the seconds of processor
time that the job took, or why it could not be run. Only the public names of meanbounds are used and nothing else of
this repository is imported, so that the same script drives any revision.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

mb: Any = import_module("meanbounds")  # Any: another revision may have other names
Job = Callable[[], object]

_SEED = 1
_HORIZON = 10_000
_FEW = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
_MANY = np.linspace(0.1, 0.9, 100)


def _around(means: NDArray[np.float64]) -> Any:
    lower, upper = (np.clip(means + shift, 0.0, 1.0) for shift in (-0.2, 0.2))
    return mb.MeanBounds(lower, upper)


def _arms(policy: str, means: NDArray[np.float64], runs: int, **settings: object) -> Callable[[], Job]:
    """Simulate a policy on Bernoulli arms whose means are known up to 0.2, on one thread."""

    def prepare() -> Job:
        chosen, bounds, environment = getattr(mb, policy)(**settings), _around(means), mb.Bernoulli(means)
        return lambda: mb.simulate(chosen, environment, bounds, horizon=_HORIZON, runs=runs, seed=_SEED, workers=1)

    return prepare


class _Linear:
    """Arms of norm 1 with a shared parameter of norm 1, each mean known up to 0.5."""

    def __init__(self, count: int = 100, dimension: int = 10) -> None:
        rng = np.random.default_rng(_SEED)
        features = rng.normal(size=(count, dimension))
        self.features = features / np.linalg.norm(features, axis=1, keepdims=True)
        self.theta = np.arange(float(dimension)) / np.linalg.norm(np.arange(float(dimension)))
        self.means = self.features @ self.theta
        low = np.where(self.means > 0.0, 0.0, -1.0)
        away = rng.uniform(0.0, 0.5, (2, count))
        lower, upper = (np.clip(self.means + side, low, low + 1.0) for side in (-away[0], away[1]))
        self.bounds = mb.MeanBounds(lower, upper, low=low, high=low + 1.0)


def _linear(
    policy: str, offered: int | None, runs: int, horizon: int = _HORIZON, **settings: object
) -> Callable[[], Job]:
    def prepare() -> Job:
        arms, chosen = _Linear(), getattr(mb, policy)(**settings)
        environment = mb.Linear(arms.features, arms.theta, offered=offered, rewards="two-point")
        return lambda: mb.simulate(chosen, environment, arms.bounds, horizon=horizon, runs=runs, seed=_SEED, workers=1)

    return prepare


def _agent(policy: str, means: NDArray[np.float64], rounds: int) -> Callable[[], Job]:
    """Pull and update an agent, one call each a round."""

    def prepare() -> Job:
        bounds, draws = _around(means), np.random.default_rng(_SEED).random(rounds).tolist()
        mean_of = dict(zip(bounds.arms, means.tolist(), strict=True))

        def job() -> None:
            agent = mb.Agent(getattr(mb, policy)(), bounds, seed=_SEED)
            for draw in draws:
                arm = agent.pull()
                agent.update(arm, 1.0 if draw < mean_of[arm] else 0.0)

        return job

    return prepare


def _linear_agent() -> Job:
    """The same with features."""
    arms, draws = _Linear(), np.random.default_rng(_SEED).random(1500).tolist()
    names = arms.bounds.arms
    ends = dict(zip(names, zip(arms.bounds.low.tolist(), arms.means.tolist(), strict=True), strict=True))

    def job() -> None:
        agent = mb.Agent(mb.OFUL(), arms.bounds, seed=_SEED, features=arms.features)
        for draw in draws:
            arm = agent.pull()
            low, mean = ends[arm]
            agent.update(arm, low + 1.0 if draw < mean - low else low)

    return job


def _tighten(count: int, dimension: int) -> Callable[[], Job]:
    def prepare() -> Job:
        arms = _Linear(count, dimension)
        return lambda: mb.tighten(arms.features, arms.bounds, norm_high=1.0)

    return prepare


def _log(rows: int, contexts: int, arms: int) -> Any:
    """A log of 0 and 1, as a file."""
    duckdb = import_module("duckdb")
    folder = tempfile.TemporaryDirectory(prefix="meanbounds-")
    path = Path(folder.name) / "log.parquet"
    connection = duckdb.connect()
    connection.execute("SELECT setseed(0.5)")
    columns = (
        f"CAST(floor(random() * {contexts}) AS INTEGER) AS context, CAST(floor(random() * {arms}) AS INTEGER) AS arm, "
        "CAST(random() < 0.4 AS DOUBLE) AS reward"
    )
    connection.execute(f"COPY (SELECT {columns} FROM range({rows})) TO '{path}' (FORMAT parquet)")
    connection.close()
    return folder, path


def _read(path: Path) -> Any:
    return mb.logs.read(path, context="context", arm="arm", reward="reward")


def _log_counting() -> Job:
    folder, path = _log(2_000_000, 50, 20)
    return lambda: _read(path) if folder else None  # the folder lives as long as the job


def _log_bounds() -> Job:
    folder, path = _log(200_000, 40, 5)
    counts = _read(path)
    folder.cleanup()
    return lambda: mb.logs.bounds(counts, gap_low=0.0, gap_high=1.0, confidence=0.95)


def _many_arms(arms: int) -> Callable[[], Job]:
    """Bounds of one context of a log of 0 and 1, with gap_high below the range, so that sets of other arms count."""

    def prepare() -> Job:
        if arms > 300 and find_spec("meanbounds.logs.shares") is None:
            raise RuntimeError("this revision lists all pairs of arms, which takes gigabytes")
        rng = np.random.default_rng(_SEED)
        count = rng.multinomial(1000 * arms, rng.dirichlet(np.ones(arms)))
        total = rng.binomial(count, rng.uniform(0.3, 0.9, arms))
        names = [f"arm {k}" for k in range(arms)]
        counts = mb.logs.Counts(["all"], names, count=[count], total=[total], squares=[total])
        return lambda: mb.logs.bounds(counts, gap_high=0.5, confidence=0.95, arms=names)

    return prepare


def many_contexts(contexts: int, arms: int) -> Callable[[], Job]:
    """Bounds at 95% of many contexts of a log of 0 and 1; sets of other arms count."""

    def prepare() -> Job:
        if find_spec("meanbounds.kernels.logs") is None and contexts > 1000:
            raise RuntimeError("this revision takes minutes")
        rng = np.random.default_rng(_SEED)
        count = rng.multinomial(1000, rng.dirichlet(np.ones(arms), contexts)).astype(np.float64)
        total = rng.binomial(count.astype(np.int64), rng.uniform(0.3, 0.9, count.shape)).astype(np.float64)
        names = [f"arm {k}" for k in range(arms)]
        counts = mb.logs.Counts(list(range(contexts)), names, count=count, total=total, squares=total)
        return lambda: mb.logs.bounds(counts, gap_high=0.5, confidence=0.95, arms=names)

    return prepare


JOBS: Mapping[str, Callable[[], Job]] = {
    "UCB, 5 arms": _arms("UCB", _FEW, 500),
    "UCB, 100 arms": _arms("UCB", _MANY, 80),
    "GLUE, 5 arms": _arms("GLUE", _FEW, 500),
    "GLUE, 100 arms": _arms("GLUE", _MANY, 80),
    "B-KL-UCB, 5 arms": _arms("BKLUCB", _FEW, 400),
    "B-KL-UCB, 100 arms": _arms("BKLUCB", _MANY, 60),
    "BIMED, 5 arms": _arms("BIMED", _FEW, 400),
    "BIMED, 100 arms": _arms("BIMED", _MANY, 40),
    "BIMED with two moments, 5 arms": _arms("BIMED", _FEW, 200, moments=2),
    "Optimistic Gittins, 5 arms": _arms("OptimisticGittins", _FEW, 100),
    "Optimistic Gittins, 100 arms": _arms("OptimisticGittins", _MANY, 20),
    "Optimistic Gittins with two moments, 5 arms": _arms("OptimisticGittins", _FEW, 10, moments=2),
    "Thompson, 5 arms": _arms("ThompsonSampling", _FEW, 20),
    "Thompson, 100 arms": _arms("ThompsonSampling", _MANY, 3),
    "IDS, 5 arms": _arms("IDS", _FEW, 1),
    "IDS, 100 arms": _arms("IDS", _MANY, 1),
    "OFUL, 10 of 100 arms": _linear("OFUL", 10, 20),
    "OFUL, 100 arms": _linear("OFUL", None, 20),
    "R-OFUL clip, 10 of 100 arms": _linear("ROFUL", 10, 20, index="clip"),
    "R-OFUL clip, 100 arms": _linear("ROFUL", None, 20, index="clip"),
    "R-OFUL exact, 10 of 100 arms": _linear("ROFUL", 10, 2, index="exact"),
    "LinearThompson, 10 of 100 arms": _linear("LinearThompson", 10, 2),
    "agent, GLUE, 5 arms": _agent("GLUE", _FEW, 20_000),
    "agent, UCB, 100 arms": _agent("UCB", _MANY, 10_000),
    "agent, OFUL, 100 arms": _linear_agent,
    "tighten, 100 arms in R^10": _tighten(100, 10),
    "tighten, 400 arms in R^20": _tighten(400, 20),
    "count a log, 2,000,000 rows": _log_counting,
    "bounds at 95%, 40 contexts of 5 arms": _log_bounds,
    "bounds at 95%, 100 arms": _many_arms(100),
    "bounds at 95%, 3,000 arms": _many_arms(3000),
    "bounds at 95%, 300 contexts of 20 arms": many_contexts(300, 20),
    "bounds at 95%, 100,000 contexts of 20 arms": many_contexts(100_000, 20),
}


def main() -> None:
    """Answer until the input ends; each job is run once before its first measurement, to compile what it needs."""
    print(json.dumps({"package": mb.__file__}), flush=True)
    ready: dict[str, Job] = {}
    for line in sys.stdin:
        name = line.strip()
        try:
            if name not in ready:
                ready[name] = JOBS[name]()
                ready[name]()
            start = time.process_time()
            ready[name]()
            answer: dict[str, float | str] = {"seconds": time.process_time() - start}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
