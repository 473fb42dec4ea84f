"""Simulate policies in an environment, many runs each, and collect the regret."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from meanbounds.bounds import MeanBounds
from meanbounds.evidence import Drift
from meanbounds.knowledge import Knowledge
from meanbounds.policies.base import Described
from meanbounds.simulation.blocks import Block, finished
from meanbounds.simulation.delays import Delay
from meanbounds.simulation.environments import Environment
from meanbounds.simulation.players import Task, check_player, play_for
from meanbounds.simulation.regret import Regret
from meanbounds.support.checks import as_flag, as_list, as_whole, is_whole, shown
from meanbounds.support.progress import Progress
from meanbounds.support.streams import Seed, as_seed
from meanbounds.support.types import Floats, Integers

__all__ = ["simulate"]

_LONGEST = 10**9  # rounds, and runs
_ROWS = 256  # runs side by side
_WORTH_COMPILING = 3e6  # decisions: fewer take less time than to load or compile a loop


def simulate(
    policies: Any,
    environment: Environment,
    known: MeanBounds | Knowledge | None = None,
    *,
    horizon: int = 10_000,
    runs: int = 200,
    seed: Seed = None,
    checkpoints: int | Sequence[int] = 200,
    delay: int | Delay | None = None,
    pending: Literal["ignore", "count"] | None = None,
    drift: Drift | None = None,
    considered: bool = False,
    compiled: bool | None = None,
    backend: str | None = None,
    workers: int | None = None,
    resume: str | Path | None = None,
    progress: bool | None = None,
) -> Regret:
    """Play every policy in the environment, many times, and record the regret.

    The n-th pull of an arm in a run gives the same reward under every policy, so comparisons are paired; with more
    runs, the first ones stay the same. The result depends on `seed` alone, not on how it is computed.

    Parameters
    ----------
    policies
        One policy, several, or a mapping from labels to policies. Without a label a policy is called by its name and
        by the parameters that differ from their defaults: ``"GLUE"``, ``"GLUE(f='t')"``. Beside policies: any object
        with ``pull()`` and ``update(arm, reward)``, which is copied for each run, or a function from a seed to such an
        object, which is called once for each run; both need a label.
    environment
        Where rewards come from, such as `meanbounds.Bernoulli`.
    known
        Bounds on the arms' means, or `Knowledge`, in the order of the environment's arms; vacuous bounds by default.
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
        `meanbounds.simulation.Delay` makes delays random or loses some of the rewards.
    pending
        How a policy treats pulls whose reward has not come yet: ``"ignore"`` them, or ``"count"`` them as if each had
        returned the arm's mean so far: by default for policies whose regret it never increased in our tests.
    drift
        How policies treat means that move, see `meanbounds.evidence.Drift`; by default they expect none.
    considered
        Whether to record how many arms were considered in a round, on average up to each checkpoint.
    compiled
        True plays the policies that have a compiled loop with it, False plays all in numpy; decisions are the same. By
        default loops play where numba is installed and the simulation is long enough to be worth loading them.
    backend
        Name of a joblib backend ("loky", "threading", "dask") that plays blocks of runs.
    workers
        How many blocks to play at once: every core by default, or the choice of the joblib backend.
    resume
        A folder that keeps finished blocks of runs. If the simulation is interrupted, call it again with the same
        folder: it continues where it stopped. The folder may be deleted afterwards.
    progress
        True shows how far it is, False does not; by default it is shown on a terminal, after two seconds.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.8, 0.1, 0.1], [0.95, 0.95, 0.7])
    >>> environment = mb.Bernoulli([0.9, 0.8, 0.5])
    >>> regret = mb.simulate([mb.UCB(), mb.GLUE()], environment, bounds, horizon=1000, runs=50, seed=7)
    >>> bool(regret.final["GLUE"].mean() < regret.final["UCB"].mean())
    True
    """
    named = _labelled(policies)
    if not isinstance(environment, Environment):
        hint = f"; did you mean mb.{environment.__name__}(...)?" if isinstance(environment, type) else ""
        raise TypeError(
            f"environment must be an object such as mb.Bernoulli([0.9, 0.8]), or of a class of your own that "
            f"derives from mb.simulation.Environment; got {shown(environment)}{hint}"
        )
    if known is None:
        known = MeanBounds.vacuous(len(environment), low=environment.low, high=environment.high)
    knowledge = Knowledge.of(known)
    _check_fit(environment, knowledge)
    horizon, runs = as_whole("horizon", horizon, most=_LONGEST), as_whole("runs", runs, most=_LONGEST)
    considered = as_flag("considered", considered)
    workers = None if workers is None else as_whole("workers", workers)
    if pending not in (None, "ignore", "count"):
        raise ValueError(
            f'pending must be "ignore" or "count", or None for the choice of the policy; got {shown(pending)}'
        )
    if not (drift is None or isinstance(drift, Drift)):
        raise TypeError(f"drift must be an object such as mb.evidence.Drift(), or None; got {shown(drift)}")
    if not type(environment).__module__.startswith("meanbounds."):
        environment.check()
    number, rounds = as_seed(seed), _rounds(checkpoints, horizon)
    late = delay if isinstance(delay, Delay) else Delay(delay) if delay else None
    if compiled is not None:
        compiled = as_flag("compiled", compiled)
    else:
        compiled = runs * horizon >= _WORTH_COMPILING and find_spec("numba") is not None
    parts, shown_progress = [], Progress(float(len(named)) * runs * horizon, "simulating", progress)
    for label, policy in named.items():
        counts = getattr(policy, "counts_pending", False) if pending is None else pending == "count"
        task = Task(label, policy, environment, knowledge, number, rounds, late, counts, considered, compiled, drift)
        play = play_for(task, shown_progress.say)
        parts += [Block(play, task, first, min(_ROWS, runs - first)) for first in range(0, runs, _ROWS)]
    curves = {label: np.empty((runs, rounds.size)) for label in named}
    plays = {label: np.empty((runs, len(environment)), dtype=np.int64) for label in named}
    measures: dict[str, dict[str, Floats]] = {}
    try:
        for block, played in finished(parts, resume, backend, workers, shown_progress):
            own, part = block.task.label, slice(block.first, block.first + block.runs)
            curves[own][part], plays[own][part] = played.curves, played.plays
            for name, table in played.measures.items():
                measures.setdefault(name, {}).setdefault(own, np.empty((runs, rounds.size)))[part] = table
    finally:
        shown_progress.close()
    _warn_of_contradictions(measures.get("contradictions", {}), runs)
    settings = {
        "policies": {label: _described(policy) for label, policy in named.items()},
        "environment": environment.settings(),
        "known": knowledge.to_dict(),
        "horizon": horizon,
        "runs": runs,
        "seed": number,
        "pending": pending,
        "delay": None if late is None else late.settings(),
        "drift": None if drift is None else drift.to_dict(),
        "versions": {"numpy": np.__version__, "python": platform.python_version()},
    }
    return Regret(rounds, curves, plays, settings, measures)


def _labelled(policies: Any) -> dict[str, Any]:
    """Policies by label; each is checked."""
    if isinstance(policies, Mapping):
        named = dict(policies)
        for label, policy in named.items():
            if not isinstance(label, str):
                raise TypeError(f"the label of a policy must be a text; got {shown(label)}")
            check_player(policy)
    else:
        one = isinstance(policies, type) or not hasattr(policies, "__iter__") or isinstance(policies, str)
        several = [policies] if one else list(policies)
        for policy in several:
            check_player(policy, labelled=False)
        named = {str(policy): policy for policy in several}
        if len(named) < len(several):
            twice = [label for label in named if [str(policy) for policy in several].count(label) > 1]
            raise ValueError(f"several policies are called {twice[0]!r}: give a mapping from labels to policies")
    if not named:
        raise ValueError("give at least one policy")
    return named


def _check_fit(environment: Environment, knowledge: Knowledge) -> None:
    """Refuse bounds that do not fit the environment; warn of means outside them."""
    bounds = knowledge.bounds
    if len(environment) != len(bounds):
        raise ValueError(f"the environment has {len(environment)} arms, the bounds have {len(bounds)}")
    inside, trusts = bounds.contains(environment.means), np.broadcast_to(knowledge.trust, len(bounds))
    for k, arm in enumerate(bounds.arms):
        if environment.low[k] < bounds.low[k] or environment.high[k] > bounds.high[k]:
            raise ValueError(
                f"arm {arm!r}: rewards in [{environment.low[k]:g}, {environment.high[k]:g}] leave the range of the "
                f"bounds, [{bounds.low[k]:g}, {bounds.high[k]:g}]; give the bounds low= and high="
            )
        if not inside[k]:
            so = "no policy that uses them has a guarantee" if trusts[k] == 1.0 else f"their trust is {trusts[k]:g}"
            warnings.warn(
                f"arm {arm!r}: its mean {environment.means[k]:g} is outside its bounds [{bounds.lower[k]:g}, "
                f"{bounds.upper[k]:g}]; {so}",
                stacklevel=3,
            )


def _rounds(checkpoints: Any, horizon: int) -> Integers:
    """The rounds at which the regret is kept; the last one is the horizon."""
    if is_whole(checkpoints):
        several = min(as_whole("checkpoints", checkpoints), horizon)
        return np.unique(-(-horizon * np.arange(1, several + 1) // several)).astype(np.int64)
    rounds = np.asarray(as_list("checkpoints", checkpoints))
    if rounds.size == 0 or rounds.dtype.kind not in "iu" or rounds[0] < 1 or (np.diff(rounds) <= 0).any():
        raise ValueError(f"checkpoints must be whole numbers that increase from 1 on; got {shown(checkpoints)}")
    if rounds[-1] != horizon:
        raise ValueError(f"the last checkpoint must be the horizon, {horizon}; got {rounds[-1]}")
    return rounds.astype(np.int64)


def _described(policy: Any) -> Any:
    try:
        return policy.to_dict() if isinstance(policy, Described) else str(policy)
    except ValueError:  # a function among the parameters
        return str(policy)


def _warn_of_contradictions(tables: Mapping[str, Floats], runs: int) -> None:
    """Say under which policies rewards contradicted bounds."""
    for label, table in tables.items():
        several = int(np.count_nonzero(table[:, -1]))
        if several:
            warnings.warn(
                f"{label}: in {several} of {runs} runs, rewards contradicted bounds on the means. The bounds are "
                f"wrong, or the rewards are not what the policy assumes",
                stacklevel=3,
            )
