"""Policies to evaluate: with which probability each of them plays each arm in each context of a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanbounds.agents import Agent, ContextualAgent
from meanbounds.logs.errors import LogError
from meanbounds.logs.evaluating.events import Events
from meanbounds.support.checks import as_float, as_mapping, shown
from meanbounds.support.types import Floats

__all__ = ["Pairs", "Target", "fixed_arm", "read_targets"]

Places = NDArray[np.int64]
_CLOSE = 1e-6  # by which probabilities may miss 1


@dataclass(frozen=True, eq=False)
class Pairs:
    """The contexts and arms that occur together in a log, and the pair of each row."""

    arms: int
    keys: Places
    row: Places

    @classmethod
    def of(cls, events: Events) -> Pairs:
        """Number the pairs of a log."""
        arms = len(events.arms)
        keys, row = np.unique(events.context * arms + events.arm, return_inverse=True)
        return cls(arms, keys, row.astype(np.int64))

    def find(self, context: Places, arm: Places) -> Places:
        """The number of each pair, -1 for those that never occur."""
        key = context * self.arms + arm
        place = np.minimum(np.searchsorted(self.keys, key), self.keys.size - 1)
        return np.where((arm < self.arms) & (self.keys[place] == key), place, -1)


@dataclass(frozen=True, eq=False)
class Target:
    """A policy on the contexts of a log.

    In context z it plays ``arm[i]`` with probability ``chance[i]`` for i from ``starts[z]`` up to ``starts[z + 1]``;
    ``pair[i]`` is the number of this pair in the log, or -1. `mass` is 1 for each context of which the policy says what
    it plays, else 0. `arms` are the names, those that the log does not have after the others.
    """

    name: str
    starts: Places
    arm: Places
    chance: Floats
    pair: Places
    mass: Floats
    arms: tuple[Any, ...]

    def of_pairs(self, pairs: int) -> Floats:
        """The probability of each pair of the log."""
        found = np.zeros(pairs)
        seen = self.pair >= 0
        found[self.pair[seen]] = self.chance[seen]
        return found

    @property
    def entry_context(self) -> Places:
        """The context of each entry."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    def excess(self, other: Target) -> Floats:
        """In each context by how much the probabilities of this policy exceed those of another one, summed over arms.

        Examples
        --------
        >>> import meanbounds as mb
        >>> from meanbounds.logs.evaluating.targets import Pairs, fixed_arm
        >>> events = mb.logs.Events(arm=["a", "b"], reward=[1, 0], probability=[0.5, 0.5])
        >>> a, b = (fixed_arm(events, Pairs.of(events), k) for k in (0, 1))
        >>> a.excess(b), a.excess(a)
        (array([1.]), array([0.]))
        """
        names = {name: place for place, name in enumerate(dict.fromkeys((*self.arms, *other.arms)))}
        size = len(names)

        def keyed(target: Target) -> Places:
            own = np.array([names[name] for name in target.arms], dtype=np.int64)
            found: Places = target.entry_context * size + own[target.arm]
            return found

        keys, place = np.unique(np.concatenate([keyed(self), keyed(other)]), return_inverse=True)
        signed = np.concatenate([self.chance, -other.chance])
        gap = np.maximum(np.bincount(place, weights=signed, minlength=keys.size), 0.0)
        found: Floats = np.bincount(keys // size, weights=gap, minlength=self.mass.size).astype(np.float64)
        return found


def fixed_arm(events: Events, pairs: Pairs, arm: int) -> Target:
    """The policy that always plays one arm of the log."""
    size = len(events.contexts)
    places, arms = np.arange(size), np.full(size, arm, dtype=np.int64)
    ones = np.ones(size)
    return Target(
        f"always {events.arms[arm]}", np.arange(size + 1), arms, ones, pairs.find(places, arms), ones, events.arms
    )


def read_targets(events: Events, pairs: Pairs, policies: Any) -> list[Target]:
    """The policies that a user gave by name."""
    if policies is None:
        return []
    given = as_mapping("policies", policies, error=LogError)
    for name in given:
        if not isinstance(name, str) or not name:
            raise LogError(f"policies are given by name, such as {{'new': ...}}; got the name {shown(name)}")
    return [_target(events, pairs, name, policy) for name, policy in given.items()]


def _target(events: Events, pairs: Pairs, name: str, policy: Any) -> Target:
    ask = _asked(name, policy)
    known = {arm: place for place, arm in enumerate(events.arms)}
    written = {str(arm): place for arm, place in known.items()}
    arms = list(events.arms)
    starts, arm, chance, mass = [0], [], [], []
    for context in events.contexts:
        played = _checked(name, context, ask(context))
        for one, probability in played.items():
            place = known.get(one, written.get(str(one), -1))
            if place < 0:
                place = known[one] = len(arms)
                arms.append(one)
            arm.append(place)
            chance.append(probability)
        starts.append(len(arm))
        mass.append(1.0 if played else 0.0)
    entry = np.repeat(np.arange(len(events.contexts)), np.diff(starts))
    codes = np.array(arm, dtype=np.int64)
    found = pairs.find(entry, codes) if codes.size else codes
    return Target(name, np.array(starts), codes, np.array(chance), found, np.array(mass), tuple(arms))


def _asked(name: str, policy: Any) -> Callable[[Any], Any]:
    """What a policy plays in a context: an arm, probabilities by arm, or None if it does not say."""
    if isinstance(policy, Agent):
        plays = dict(zip(policy.bounds.arms, policy.probabilities().tolist(), strict=True))
        return lambda _context: plays
    if isinstance(policy, ContextualAgent):
        return lambda context: _of_agent(policy, context)
    if isinstance(policy, Mapping):
        texts = {str(key): value for key, value in policy.items()}
        return lambda context: policy.get(context, texts.get(str(context)))
    if callable(policy):
        return lambda context: _called(name, policy, context)
    if isinstance(policy, str | int) and not isinstance(policy, bool):
        return lambda _context: policy
    raise LogError(
        f"policy {name!r} must be an arm, a mapping from contexts to arms or to probabilities of arms, a function of "
        f"the context, or an agent; got {shown(policy)}"
    )


def _of_agent(agent: ContextualAgent, context: Any) -> Any:
    for name in (context, str(context)):
        if name in agent:
            return dict(zip(agent[name].bounds.arms, agent.probabilities(name).tolist(), strict=True))
    return None


def _called(name: str, policy: Callable[[Any], Any], context: Any) -> Any:
    try:
        return policy(context)
    except (KeyError, IndexError):
        return None
    except Exception as error:
        raise LogError(f"policy {name!r} fails in context {context!r}: {type(error).__name__}: {error}") from error


def _checked(name: str, context: Any, played: Any) -> dict[Any, float]:
    """Probabilities of the arms that are played at all."""
    if played is None:
        return {}
    if isinstance(played, np.generic):
        played = played.item()
    if isinstance(played, str | int) and not isinstance(played, bool):
        return {played: 1.0}
    if not isinstance(played, Mapping):
        raise LogError(
            f"policy {name!r} must give an arm or probabilities by arm; in context {context!r} it gives {shown(played)}"
        )
    found = {}
    for arm, probability in played.items():
        if isinstance(arm, bool) or not isinstance(arm, str | int | np.integer):
            raise LogError(f"arms are text or whole numbers; policy {name!r} has {shown(arm)} in context {context!r}")
        found[arm.item() if isinstance(arm, np.generic) else arm] = as_float(
            f"the probability of arm {arm!r} of policy {name!r} in context {context!r}", probability, error=LogError
        )
    if min(found.values(), default=-1.0) < 0.0 or abs(sum(found.values()) - 1.0) > _CLOSE:
        raise LogError(
            f"the probabilities of policy {name!r} in context {context!r} must not be negative, with the sum 1; got "
            f"{shown(found)}"
        )
    total = sum(found.values())
    return {arm: probability / total for arm, probability in found.items() if probability > 0.0}
