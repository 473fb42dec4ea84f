"""Worlds of meanbounds as environments of Gymnasium; importing this module registers them by name.

The seed of `reset` means the same as in `meanbounds.simulate`: after ``reset(seed=7)`` an environment of arms gives the
rewards of run 0 of a simulation with the seed 7, after each further ``reset()`` those of the next run. The n-th pull of
an arm gives the same reward whatever was pulled before, so that comparisons are paired.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from functools import partial
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.kernels.linear.play import offer
from meanbounds.kernels.random.rewards import draw
from meanbounds.kernels.random.stream import child, offer_key, reward_key
from meanbounds.simulation.changing import Changing
from meanbounds.simulation.environments import Bernoulli, Beta, Environment, Linear, Table, Uniform
from meanbounds.simulation.instances import INSTANCES
from meanbounds.support.checks import as_whole, check_choice, is_whole, shown
from meanbounds.support.optional import optional
from meanbounds.support.seeding import as_seed
from meanbounds.support.types import Floats
from meanbounds.worlds import HiddenContexts

with optional("gymnasium", "environments for Gymnasium"):
    import gymnasium
    from gymnasium import spaces

__all__ = ["ENVIRONMENTS", "BanditEnv", "HiddenContextsEnv", "LinearBanditEnv"]

Step = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]
Info = dict[str, Any]


class _Env(gymnasium.Env[Any, np.int64]):
    """What all have in common: rounds are counted, and an episode is cut off after `horizon` of them."""

    action_space: spaces.Discrete

    def __init__(self, horizon: int | None) -> None:
        self.horizon = None if horizon is None else as_whole("horizon", horizon)
        self._seed: int | None = None
        self._run = self._round = 0

    def _begin(self, seed: int | None) -> tuple[int, int]:
        """Start the next run, or run 0 of a new seed, and return both numbers."""
        super().reset(seed=seed)
        self._run += 1
        if seed is not None or self._seed is None:
            self._seed, self._run = as_seed(self.np_random if seed is None else seed), 0
        self._round = 0
        return self._seed, self._run

    def _action(self, action: Any) -> int:
        if self._seed is None:
            raise RuntimeError("the environment has not been started: call reset() before step()")
        number = action.item() if isinstance(action, np.ndarray) and not action.ndim else action
        if not is_whole(number) or not 0 <= int(number) < self.action_space.n:
            raise ValueError(f"an action is a whole number from 0 to {self.action_space.n - 1}; got {shown(action)}")
        return int(number)

    def _cut_off(self) -> bool:
        """Count the round; whether it was the last."""
        self._round += 1
        return self.horizon is not None and self._round >= self.horizon


class _Streams:
    """The rewards of one run of a simulation."""

    def __init__(self, environment: Environment, seed: int, run: int) -> None:
        key = np.uint64(reward_key(np.uint64(seed), run))
        self.low, self.high = environment.low, environment.high
        self.keys = [np.uint64(child(key, k)) for k in range(len(environment))]
        self.plays = [0] * len(environment)

    def next(self, law: Any, arm: int) -> float:
        """The next reward of an arm, in reward units; `law` is in units of the ranges."""
        share = draw(law, arm, self.keys[arm], self.plays[arm])
        self.plays[arm] += 1
        return float(min(self.high[arm], self.low[arm] + (self.high[arm] - self.low[arm]) * share))


class BanditEnv(_Env):
    """Arms with fixed laws of rewards as an environment: `Bernoulli`, `Uniform`, `Beta`, `Table`, or `Changing`.

    An action is the place of an arm. There is nothing to observe: the observation is always 0. ``info`` has the mean of
    the arm and the ``regret`` of the step, which is how far this mean is below the best one.

    Parameters
    ----------
    environment
        Where rewards come from.
    horizon
        After how many rounds an episode is cut off (truncated); None for never.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.fits.gymnasium import BanditEnv
    >>> env = BanditEnv(mb.Bernoulli([0.9, 0.5]), horizon=100)
    >>> observation, info = env.reset(seed=7)
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> round(info["regret"], 3)
    0.4
    """

    def __init__(self, environment: Environment, *, horizon: int | None = None) -> None:
        super().__init__(horizon)
        if not isinstance(environment, Environment) or isinstance(environment, Linear):
            raise TypeError(
                f"environment must be one such as mb.Bernoulli([0.9, 0.5]), or mb.Linear for LinearBanditEnv; got "
                f"{shown(environment)}"
            )
        self.environment = environment
        stages = environment.environments if isinstance(environment, Changing) else (environment,)
        self._starts = environment.starts if isinstance(environment, Changing) else (0,)
        self._laws = [stage.rewards(environment.low, environment.high) for stage in stages]
        self._means = [stage.means for stage in stages]
        self.action_space, self.observation_space = spaces.Discrete(len(environment)), spaces.Discrete(1)

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[np.int64, Info]:
        """Start an episode; see the head of the module for what the seed means. There are no options."""
        del options
        self._streams = _Streams(self.environment, *self._begin(seed))
        return np.int64(0), {}

    def step(self, action: Any) -> Step:
        """Pull an arm."""
        arm = self._action(action)
        stage = bisect_right(self._starts, self._round) - 1
        means = self._means[stage]
        info = {"mean": float(means[arm]), "regret": float(means.max() - means[arm])}
        reward = self._streams.next(self._laws[stage], arm)
        return np.int64(0), reward, False, self._cut_off(), info


class LinearBanditEnv(_Env):
    """Arms with features as an environment; in each round some of them are on offer.

    An action is a place among the arms on offer. The observation has the ``"features"`` of these, a row for each, and
    the known part of their means, ``"offset"``. ``info["arms"]`` are their places among all arms.

    Parameters
    ----------
    environment
        The arms, what is on offer, and where rewards come from.
    horizon
        After how many rounds an episode is cut off (truncated); None for never.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.fits.gymnasium import LinearBanditEnv
    >>> env = LinearBanditEnv(mb.Linear([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]], theta=[0.5, 0.5], offered=2))
    >>> observation, info = env.reset(seed=7)
    >>> info["arms"], observation["features"].tolist()
    (array([2, 1]), [[0.0, 1.0], [0.6, 0.8]])
    """

    def __init__(self, environment: Linear, *, horizon: int | None = None) -> None:
        super().__init__(horizon)
        if not isinstance(environment, Linear):
            raise TypeError(f"environment must be mb.Linear, or another one for BanditEnv; got {shown(environment)}")
        self.environment = environment
        self._law = environment.rewards(environment.low, environment.high)
        offered, d = environment.offered, environment.features.shape[1]
        count = offered.shape[1] if isinstance(offered, np.ndarray) else offered or len(environment)
        self.action_space = spaces.Discrete(int(count))
        self.observation_space = spaces.Dict(
            {"features": _box(environment.features, (count, d)), "offset": _box(environment.offset, (count,))}
        )

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Floats], Info]:
        """Start an episode; see the head of the module for what the seed means. There are no options."""
        del options
        number, run = self._begin(seed)
        self._streams = _Streams(self.environment, number, run)
        self._offers = np.uint64(offer_key(np.uint64(number), run))
        return self._offer()

    def _offer(self) -> tuple[dict[str, Floats], Info]:
        """What is on offer in the next round."""
        world, t = self.environment, self._round
        if isinstance(world.offered, np.ndarray):
            self._arms = world.offered[t % len(world.offered)].copy()
        else:
            self._arms = np.arange(world.offered or len(world))
            if world.offered:
                offer(np.uint64(child(self._offers, t + 1)), np.arange(len(world)), self._arms)
        observed = {"features": world.features[self._arms], "offset": world.offset[self._arms]}
        return observed, {"arms": self._arms.copy()}

    def step(self, action: Any) -> Step:
        """Pull an arm that is on offer."""
        place, means = self._action(action), self.environment.means
        arm, best = int(self._arms[place]), float(means[self._arms].max())
        told = {"mean": float(means[arm]), "regret": best - float(means[arm])}
        reward = self._streams.next(self._law, arm)
        cut_off = self._cut_off()
        observed, offered = self._offer()
        return observed, reward, False, cut_off, {**told, **offered}


class HiddenContextsEnv(_Env):
    """A world of hidden contexts as an environment: the agent sees the visible context of each case, and no more.

    The observation is the place of the visible context; an action is the place of an arm. ``info`` has the name of the
    ``"context"``, the arm that the ``"expert"``, who sees more, would choose in this case, and after a step the
    ``"regret"`` against the best arm for the visible context.

    Parameters
    ----------
    world
        The world.
    horizon
        After how many cases an episode is cut off (truncated); None for never.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.fits.gymnasium import HiddenContextsEnv
    >>> world = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], contexts=["old"], arms=["tPA", "watch"])
    >>> env = HiddenContextsEnv(world)
    >>> observation, info = env.reset(seed=7)
    >>> info["context"], info["expert"] in world.arms
    ('old', True)
    """

    def __init__(self, world: HiddenContexts, *, horizon: int | None = None) -> None:
        super().__init__(horizon)
        if not isinstance(world, HiddenContexts):
            raise TypeError(f"world must be mb.HiddenContexts; got {shown(world)}")
        self.world = world
        self._means = world.marginal_means
        self._pairs, self._steps = np.cumsum(world.probabilities.ravel()), np.cumsum(world.law, axis=3)
        self.action_space = spaces.Discrete(len(world.arms))
        self.observation_space = spaces.Discrete(len(world.contexts))

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[np.int64, Info]:
        """Start an episode; the same seed brings the same cases. There are no options."""
        del options
        self._begin(seed)
        return self._case()

    def _case(self) -> tuple[np.int64, Info]:
        """The next case."""
        world = self.world
        pair = _place(self._pairs, self.np_random.random())
        self._visible, self._hidden = divmod(pair, world.means.shape[1])
        best = world.arms[int(world.best[self._visible, self._hidden])]
        return np.int64(self._visible), {"context": world.contexts[self._visible], "expert": best}

    def step(self, action: Any) -> Step:
        """Pull an arm for the case that was observed, and observe the next one."""
        arm = self._action(action)
        means = self._means[self._visible]
        told = {"mean": float(means[arm]), "regret": float(means.max() - means[arm])}
        law = self._steps[self._visible, self._hidden, arm]
        reward = float(self.world.values[_place(law, self.np_random.random())])
        cut_off = self._cut_off()
        observed, case = self._case()
        return observed, reward, False, cut_off, {**told, **case}


def _place(steps: Floats, uniform: float) -> int:
    """Where a draw falls among cumulated probabilities; a last step just below 1 loses nothing."""
    return min(int(np.searchsorted(steps, uniform * steps[-1], side="right")), steps.size - 1)


def _box(values: Floats, shape: tuple[int, ...]) -> spaces.Box:
    """All numbers up to the largest that occur."""
    most = float(np.abs(values).max()) or 1.0
    return spaces.Box(-most, most, shape, np.float64)


def _arms(kind: type[Environment], *, horizon: int | None = None, **given: Any) -> BanditEnv:
    return BanditEnv(kind(**given), horizon=horizon)


def _instance(name: str = "high-lower-bound", *, horizon: int | None = None) -> BanditEnv:
    check_choice("name", name, INSTANCES)
    return BanditEnv(Bernoulli(INSTANCES[name].means), horizon=horizon)


def _linear(features: ArrayLike, theta: ArrayLike, *, horizon: int | None = None, **given: Any) -> LinearBanditEnv:
    return LinearBanditEnv(Linear(features, theta, **given), horizon=horizon)


def _hidden_contexts(means: ArrayLike, *, horizon: int | None = None, **given: Any) -> HiddenContextsEnv:
    return HiddenContextsEnv(HiddenContexts(means, **given), horizon=horizon)


ENVIRONMENTS: dict[str, Any] = {
    **{f"meanbounds/{kind.__name__}-v0": partial(_arms, kind) for kind in (Bernoulli, Uniform, Beta, Table, Changing)},
    "meanbounds/Instance-v0": _instance,
    "meanbounds/Linear-v0": _linear,
    "meanbounds/HiddenContexts-v0": _hidden_contexts,
}
"""Names that `gymnasium.make` knows, with the arguments of the class: ``make(name, means=[0.9, 0.5], horizon=100)``."""

for _name, _maker in ENVIRONMENTS.items():
    if _name not in gymnasium.registry:
        gymnasium.register(_name, _maker)
