"""One agent for each context."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np

from meanbounds.agents.base import Agent
from meanbounds.bounds import Arm, MeanBounds
from meanbounds.policies import Policy
from meanbounds.support.seeding import Seed, as_seed

__all__ = ["ContextualAgent"]

_FORMAT = 1


class ContextualAgent:
    """An agent for each context, each with its own bounds.

    Parameters
    ----------
    policy
        How all of them decide.
    bounds
        What is known of the arms' means in each context, such as what `meanbounds.logs.bounds` returns.
    seed
        Whole number, numpy Generator or None.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.6]), "old": mb.MeanBounds([0.1, 0.2], [0.5, 0.6])}
    >>> agent = mb.ContextualAgent(mb.GLUE(), bounds, seed=7)
    >>> agent.pull("young")
    0
    >>> agent.update("young", 0, 1.0)
    >>> agent["young"].plays
    array([1, 0])
    """

    def __init__(self, policy: Policy, bounds: Mapping[Any, MeanBounds], seed: Seed = None) -> None:
        if not isinstance(bounds, Mapping) or not bounds:
            raise TypeError(f"bounds must be a mapping from contexts to MeanBounds, not empty; got {bounds!r}")
        self._policy, self._seed = policy, as_seed(seed)
        self._agents: dict[Any, Agent] = {
            _plain(context): Agent(policy, own, self._seed_of(k)) for k, (context, own) in enumerate(bounds.items())
        }

    def _seed_of(self, place: int) -> np.random.Generator:
        """Independent random numbers for each context, in the order in which contexts came."""
        return np.random.default_rng([self._seed, place])

    @property
    def contexts(self) -> tuple[Any, ...]:
        """The contexts so far, new ones last."""
        return tuple(self._agents)

    def __getitem__(self, context: Any) -> Agent:
        """The agent of a context that was seen."""
        key = _plain(context)
        if key not in self._agents:
            known = ", ".join(map(repr, list(self._agents)[:10]))
            raise LookupError(f"context {key!r} has not been seen; the contexts are {known}")
        return self._agents[key]

    def _agent(self, context: Any) -> Agent:
        """The agent of a context, a new one if it was never seen: `_keep` adds it."""
        key = _plain(context)
        if key in self._agents:
            return self._agents[key]
        known = next(iter(self._agents.values())).bounds
        vacuous = MeanBounds.vacuous(known.arms, known.low, known.high)
        return Agent(self._policy, vacuous, self._seed_of(len(self._agents)))

    def _keep(self, context: Any, agent: Agent) -> None:
        key = _plain(context)
        if key not in self._agents:
            self._agents[key] = agent
            warnings.warn(f"context {key!r} is new: it starts from bounds that say nothing", stacklevel=3)

    def pull(
        self,
        context: Any,
        eligible: Iterable[Arm] | None = None,
        pending: Literal["ignore", "count"] = "ignore",
    ) -> Arm:
        """Choose an arm in this context; see `meanbounds.Agent.pull`.

        A context that was never seen starts from bounds that say nothing, which is said once.
        """
        agent = self._agent(context)
        arm = agent.pull(eligible, pending)
        self._keep(context, agent)
        return arm

    def update(self, context: Any, arm: Arm, reward: float, history: bool = False) -> None:
        """Tell the agent a reward; see `meanbounds.Agent.update`."""
        agent = self._agent(context)
        agent.update(arm, reward, history)
        self._keep(context, agent)

    def to_dict(self) -> dict[str, Any]:
        """Everything, safe for JSON; `from_dict` continues the same trajectories."""
        agents = [[_listed(context), agent.to_dict()] for context, agent in self._agents.items()]
        return {"format": _FORMAT, "policy": self._policy.to_dict(), "seed": self._seed, "agents": agents}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ContextualAgent:
        """The inverse of `to_dict`."""
        if data.get("format") != _FORMAT or not data.get("agents"):
            raise ValueError(f"this is no contextual agent in format {_FORMAT}: it has {sorted(data)}")
        agents = {_hashable(context): Agent.from_dict(saved) for context, saved in data["agents"]}
        whole = cls(Policy.from_dict(data["policy"]), {c: agent.bounds for c, agent in agents.items()}, data["seed"])
        whole._agents = agents
        return whole

    def __repr__(self) -> str:
        return f"ContextualAgent({self._policy!r}, {len(self._agents)} contexts)"


def _plain(context: Any) -> Any:
    """A context as JSON can hold it, but for tuples."""
    if isinstance(context, tuple):
        return tuple(_plain(part) for part in context)
    return context.item() if isinstance(context, np.generic) else context


def _listed(context: Any) -> Any:
    return [_listed(part) for part in context] if isinstance(context, tuple) else context


def _hashable(context: Any) -> Any:
    return tuple(_hashable(part) for part in context) if isinstance(context, list) else context
