"""Simulate policies in an environment, many runs each, and collect the regret."""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from meanbounds.agents import Pending
from meanbounds.bounds import MeanBounds
from meanbounds.knowledge import Knowledge
from meanbounds.policies import AnyPolicy, LinearPolicy, Policy
from meanbounds.simulation.blocks import Block, Blocks, Finished, Store
from meanbounds.simulation.delay import Delay, as_delay, check_pending
from meanbounds.simulation.environments import Environment
from meanbounds.simulation.regret import Regret
from meanbounds.simulation.tasks import Task, task_for
from meanbounds.support.checks import as_flag, as_floats, as_list, as_whole, shown
from meanbounds.support.optional import import_optional
from meanbounds.support.progress import Progress
from meanbounds.support.seeding import Seed, as_seed
from meanbounds.support.version import __version__

__all__ = ["LONGEST", "check_fit", "checkpoint_rounds", "describe", "read_size", "simulate"]

LONGEST = 10**12
"""The longest horizon, and the largest number of runs: far beyond what can be computed."""

_FEWEST_BLOCKS = 4
_FEWEST_RUNS = 8  # in a block, if there are enough runs: they share tables


def simulate(
    policies: AnyPolicy | Sequence[AnyPolicy] | Mapping[str, AnyPolicy],
    environment: Environment,
    bounds: MeanBounds | Knowledge | None = None,
    *,
    horizon: int = 10_000,
    runs: int = 200,
    seed: Seed = None,
    checkpoints: int | Sequence[int] = 200,
    delay: int | Delay | None = None,
    pending: Pending = "ignore",
    backend: str | None = None,
    workers: int | None = None,
    block: int | None = None,
    resume: str | Path | Blocks | None = None,
    progress: bool | None = None,
) -> Regret:
    """Play every policy in the environment, many times, and record the regret.

    The n-th pull of an arm in a run gives the same reward under every policy, so comparisons are paired. The result
    depends on `seed` alone: `backend`, `workers` and `block` change how fast it comes, and nothing else.

    Parameters
    ----------
    policies
        One policy, several, or a mapping from labels to policies. Without a label a policy is called by its
        name, and by the parameters that differ from their defaults: ``"GLUE"``, ``"GLUE(f='t')"``.
    environment
        Where rewards come from, such as `meanbounds.Bernoulli`.
    bounds
        Bounds on the arms' means, or `Knowledge`, in the order of the environment's arms; vacuous by default.
    horizon
        Rounds in a run.
    runs
        Independent runs of each policy.
    seed
        Whole number, numpy Generator or None for a fresh one; ``Regret.seed`` reproduces the result.
    checkpoints
        How many evenly spaced rounds to keep the regret at, or the rounds themselves.
    delay
        How many rounds late rewards come: with 10, the reward of round t can be used from round t + 11 on. A
        `meanbounds.simulation.Delay` makes delays random or loses some of the rewards. None or 0: at once. Only for
        policies without features; slower, since each round is then played by itself.
    pending
        How a policy treats pulls whose reward has not come yet, as in `meanbounds.Agent.pull`: ``"ignore"`` them, or
        ``"count"`` them as if each had returned the arm's mean so far, at most as many as rewards have come.
    backend
        Name of a joblib backend ("loky", "dask", "ray", ...) that plays blocks of runs; threads of this process by
        default.
    workers
        How many blocks to play at once; every core by default, or the choice of the joblib backend.
    block
        Runs in a block; chosen from the horizon by default.
    resume
        Folder that holds finished blocks of runs until the simulation ends. If it is interrupted, call it again with
        the same folder: it continues where it stopped. One process at a time can use a folder. To keep the blocks until
        the result is saved, give a `meanbounds.simulation.Blocks` instead.
    progress
        True shows a progress bar, False does not; by default it is shown on a terminal, after two seconds.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.8, 0.1, 0.1], [0.95, 0.95, 0.7])
    >>> environment = mb.Bernoulli([0.9, 0.8, 0.5])
    >>> regret = mb.simulate([mb.UCB(), mb.GLUE()], environment, bounds, horizon=1000, runs=50, seed=7)
    >>> regret.curves["GLUE"].shape
    (50, 200)
    >>> bool(regret.final["GLUE"].mean() < regret.final["UCB"].mean())
    True

    Rewards that come 100 rounds late, without and with counting the pulls that are still unanswered:

    >>> for pending in ("ignore", "count"):
    ...     late = mb.simulate(
    ...         mb.GLUE(), environment, bounds, horizon=1000, runs=50, seed=7, delay=100, pending=pending
    ...     )
    ...     print(pending, late.final["GLUE"].mean().round(1))
    ignore 1.3
    count 0.3
    """
    named = _labelled(policies)
    if not isinstance(environment, Environment):
        raise TypeError(f"environment must be one such as mb.Bernoulli([0.9, 0.8]); got {shown(environment)}")
    if bounds is None:
        bounds = MeanBounds.vacuous(len(environment), low=environment.low, high=environment.high)
    known = Knowledge.of(bounds)
    bounds = known.bounds
    check_fit(environment, known)
    horizon, runs = read_size("horizon", horizon), read_size("runs", runs)
    block = None if block is None else read_size("block", block)
    workers = None if workers is None else read_size("workers", workers)
    progress = None if progress is None else as_flag("progress", progress)
    if not (backend is None or isinstance(backend, str)):
        raise TypeError(f"backend must be the name of a joblib backend, or None; got {shown(backend)}")
    if backend == "dask":
        import_optional("distributed", "distributed", "simulations on Dask")
    rounds = checkpoint_rounds(checkpoints, horizon)
    number = as_seed(seed)
    late = as_delay(delay)
    check_pending(pending)
    curves = {label: np.empty((runs, rounds.size)) for label in named}
    plays = {label: np.empty((runs, len(bounds)), dtype=np.int64) for label in named}
    parts = []
    for label, policy in named.items():
        task = task_for(policy, environment, known, number, rounds, delay=late, counts_pending=pending == "count")
        size = block or _block(task, runs, horizon)
        parts += [Block(label, first, min(size, runs - first), task) for first in range(0, runs, size)]
    described = {label: policy.settings() for label, policy in named.items()}
    settings = describe(described, environment, bounds, horizon, runs, number)
    if not known.is_certain:
        settings["trust"] = known.trusts.tolist()
    if known.prior is not None:
        settings["prior"] = known.prior.to_dict()
    settings |= {
        name: value for name in ("assumption", "expires", "half_life") if (value := getattr(known, name)) is not None
    }
    if late is not None:
        settings |= {"delay": late.settings(), "pending": pending}
    counted: dict[str, dict[str, NDArray[np.float64]]] = {label: {} for label in named}
    with ExitStack() as stack:
        store = None
        if resume is not None:
            blocks = resume if isinstance(resume, Blocks) else stack.enter_context(Blocks(resume))
            store = Store(blocks, {**settings, "rounds": rounds.tolist()}, named)
        bar = stack.enter_context(Progress(len(named) * runs, "simulating", progress))
        for label, first, played in _finished(parts, store, backend, workers):
            rows = slice(first, first + len(played.curves))
            curves[label][rows], plays[label][rows] = played.curves, played.plays
            for name, values in played.measures.items():
                counted[label].setdefault(name, np.empty_like(curves[label]))[rows] = values
            bar.advance(len(played.curves))
    measures: dict[str, dict[str, NDArray[np.float64]]] = {}
    for label, own in counted.items():  # in the order of the policies, whichever block was finished first
        for name, table in own.items():
            measures.setdefault(name, {})[label] = table
    for label, table in measures.get("contradictions", {}).items():
        if table[:, -1].any():
            warnings.warn(
                f"{label}: bounds and data contradicted each other {table[:, -1].sum():.0f} times, in "
                f"{np.count_nonzero(table[:, -1])} of {runs} runs; such rounds were decided without the bounds that "
                f"were contradicted. The bounds, norm_high or the rewards may not be what the policy assumes",
                stacklevel=2,
            )
    return Regret(rounds, curves, plays, settings, measures)


def read_size(name: str, value: Any) -> int:
    """A whole number from 1 to `LONGEST`."""
    size = as_whole(name, value)
    if size > LONGEST:
        raise ValueError(f"{name} must be at most {LONGEST:,}")
    return size


def _block(task: Task, runs: int, horizon: int) -> int:
    """Runs in a block: enough blocks for every worker, and not too few runs in each."""
    fine = -(-runs // min(runs, max(_FEWEST_BLOCKS, runs * horizon // task.rounds_at_once)))
    return max(fine, min(_FEWEST_RUNS, -(-runs // _FEWEST_BLOCKS), task.rounds_at_once // horizon))


def _labelled(policies: AnyPolicy | Sequence[AnyPolicy] | Mapping[str, AnyPolicy]) -> dict[str, AnyPolicy]:
    if isinstance(policies, Mapping):
        named = dict(policies)
        for label, policy in named.items():
            if not isinstance(label, str):
                raise TypeError(f"the label of a policy must be a text; got {shown(label)}")
            _check_policy(repr(label), policy)
    else:
        several = [policies] if isinstance(policies, Policy | LinearPolicy) else as_list("policies", policies)
        for place, policy in enumerate(several):
            _check_policy(f"number {place}", policy)
        named = {str(policy): policy for policy in several}
        if len(named) < len(several):
            raise ValueError(
                "the same policy is given twice; give a mapping from labels to policies to tell them apart"
            )
    if not named:
        raise ValueError("give at least one policy")
    return named


def _check_policy(which: str, policy: object) -> None:
    if not isinstance(policy, Policy | LinearPolicy):
        raise TypeError(f"{which} is not a policy but {shown(policy)}; give an object such as mb.GLUE()")


def check_fit(environment: Environment, known: MeanBounds | Knowledge) -> None:
    """Refuse bounds that do not fit the environment; warn of means outside them."""
    known = Knowledge.of(known)
    bounds, trusts = known.bounds, known.trusts
    if len(environment) != len(bounds):
        raise ValueError(f"the environment has {len(environment)} arms, the bounds have {len(bounds)}")
    inside = bounds.contains(environment.means)
    for k, arm in enumerate(bounds.arms):
        if environment.low[k] < bounds.low[k] or environment.high[k] > bounds.high[k]:
            raise ValueError(
                f"arm {arm!r}: rewards in [{environment.low[k]}, {environment.high[k]}] leave the range of the bounds, "
                f"[{bounds.low[k]}, {bounds.high[k]}]; give the bounds low= and high="
            )
        if not inside[k]:
            so = (
                "no policy that uses them has a guarantee"
                if trusts[k] == 1.0
                else f"they have a trust of {trusts[k]:g}"
            )
            warnings.warn(
                f"arm {arm!r}: its mean {environment.means[k]} is outside its bounds [{bounds.lower[k]}, "
                f"{bounds.upper[k]}]; {so}",
                stacklevel=3,
            )


def checkpoint_rounds(checkpoints: int | Sequence[int], horizon: int) -> NDArray[np.int64]:
    """The rounds at which the regret is kept; the last one is the horizon."""
    if isinstance(checkpoints, int | np.integer):
        checkpoints = min(as_whole("checkpoints", checkpoints), horizon)  # there are no more rounds than that
        if horizon * checkpoints >= 2**63:
            raise ValueError(f"{checkpoints:,} checkpoints in {horizon:,} rounds are too many; ask for fewer")
        return np.unique(-(-horizon * np.arange(1, checkpoints + 1) // checkpoints)).astype(np.int64)
    as_floats("checkpoints", checkpoints)  # refuses whatever is no number
    given = np.asarray(checkpoints)
    rounds = given.astype(np.int64) if given.ndim == 1 and np.issubdtype(given.dtype, np.integer) else np.empty(0, int)
    if rounds.size == 0 or rounds[0] < 1 or rounds[-1] != horizon or np.any(np.diff(rounds) <= 0):
        raise ValueError(
            f"checkpoints must be increasing rounds from 1 on, the last one the horizon {horizon}; got "
            f"{shown(checkpoints)}"
        )
    return rounds


def describe(
    policies: Mapping[str, Any],
    environment: Environment,
    bounds: MeanBounds,
    horizon: int,
    runs: int,
    seed: int,
) -> dict[str, Any]:
    """The settings of a simulation, as a result keeps them."""
    versions = {"meanbounds": __version__, "numpy": np.__version__, "numba": numba.__version__}
    return {
        "policies": dict(policies),
        "environment": environment.settings(),
        "bounds": MeanBounds.to_dict(bounds),  # of tightened ones, too, the bounds alone
        "horizon": horizon,
        "runs": runs,
        "seed": seed,
        "versions": {**versions, "python": platform.python_version()},
    }


def _play(part: Block) -> Finished:
    return Finished(part.label, part.first_run, part.task.play(part.first_run, part.runs))


def _finished(parts: list[Block], store: Store | None, backend: str | None, workers: int | None) -> Iterator[Finished]:
    """Results in the order they come, those of an earlier attempt first."""
    todo = []
    for part in parts:
        known = None if store is None else store.find(part)
        if known is None:
            todo.append(part)
        else:
            yield known
    for result in _computed(todo, backend, workers):
        if store is not None:
            store.keep(result)
        yield result


def _computed(parts: list[Block], backend: str | None, workers: int | None) -> Iterator[Finished]:
    if backend is not None:
        from joblib import Parallel, delayed, parallel_config

        with parallel_config(backend=backend, n_jobs=-1 if workers is None else workers):
            try:
                pool = Parallel(return_as="generator_unordered")
            except ValueError:  # a backend that can only return everything at once
                pool = Parallel(return_as="list")
            yield from pool(delayed(_play)(part) for part in parts)
        return
    with ThreadPoolExecutor(workers or _cores()) as threads:
        futures = [threads.submit(_play, part) for part in parts]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
