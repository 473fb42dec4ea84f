"""Follow agents, experts and rules through the same cases, and add up what each gains on the experts.

What is added up are the *means* of what was chosen, which is what a promise is about: for each case, the mean reward of
the chosen option among all cases of its context, less the experts' mean reward there. Outcomes vary much more.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

import meanbounds as mb
from meanbounds.known import Known, Seen
from meanbounds.policies.base import choose
from meanbounds.simulation import HiddenContexts
from meanbounds.support.streams import Draws, stream
from meanbounds.support.types import Floats, Integers

CHUNK = 500  # cases of each context drawn at once


@dataclass(frozen=True)
class Followed:
    """What agents gained on the experts, each run in each context.

    Attributes
    ----------
    moments
        After how many decisions, in all contexts together, the gains are kept.
    gains
        The sum of means less that of the experts, (runs, contexts, moments), in reward units.
    played
        The share of the decisions for each arm at the end, (runs, contexts, arms), in the order of the agent's arms.
    lowest
        The least sum of the gain and what the promise allows to lose, over all times, (runs, contexts); where it is
        negative, the promise was broken.
    """

    moments: Integers
    gains: Floats
    played: Floats
    lowest: Floats

    @property
    def total(self) -> Floats:
        """The gain in all contexts together, (runs, moments)."""
        return self.gains.sum(axis=1)

    def after(self, decisions: int) -> Floats:
        """The gain of each run in each context after so many decisions in all, (runs, contexts)."""
        found: Floats = self.gains[:, :, int(np.searchsorted(self.moments, decisions))]
        return found

    def select(self, runs: slice) -> Followed:
        """Some of the runs."""
        return Followed(self.moments, self.gains[runs], self.played[runs], self.lowest[runs])

    @property
    def broken(self) -> int:
        """In how many runs the promise was broken at any time in any context."""
        return int((self.lowest < -1e-9).any(axis=1).sum())


def follow(
    cases: Sequence[HiddenContexts],
    agents: Sequence[mb.Agent],
    moments: Integers,
    seed: int,
    promise: mb.Promise | None = None,
) -> Followed:
    """Follow one agent in each run; with the same seed all of them meet the same cases and potential outcomes.

    The runs may differ in their experts only. Cases come in the contexts' proportions. All runs and contexts go forward
    together, one row of an array for each; agents decide as they would by `Agent.pull`, `observe` and `update`.
    """
    contexts, names, runs = cases[0].contexts, agents[0].arms, len(agents)
    columns = [len(names) - 1 if arm is mb.EXPERT else cases[0].arms.index(arm) for arm in names]
    known = Known.of([agent.knowledge(context) for agent in agents for context in contexts])
    out = [[arm in agent.forbidden(context) for arm in names] for agent in agents for context in contexts]
    known = known.among(~np.array(out))
    shares = cases[0].probabilities.sum(axis=1)
    ends = np.tile(np.rint(shares[:, None] * moments).astype(np.int64), (runs, 1))  # (rows, moments)
    value = np.concatenate([own.value for own in cases])
    worth = np.hstack([np.tile(cases[0].marginal_means, (runs, 1)), value[:, None]])[:, columns]
    draw, rows = Draw.of(cases), np.arange(len(ends))
    seen, gain, cache = Seen.empty(len(rows), len(names)), np.zeros(len(rows)), dict[str, Any]()
    keys, gains, lowest = stream(seed, rows, "policy"), np.zeros(ends.shape), np.zeros(len(rows))
    played = np.zeros(seen.plays.shape)
    low, width, rng = known.low.min(), known.width.max(), np.random.default_rng(seed)
    ends_of_range = np.full(len(rows), low), np.full(len(rows), low + width)
    for t in range(1, int(ends.max()) + 1):
        if t % CHUNK == 1:
            rewards, roundings = draw(CHUNK, rng)
            rewards = (rewards[..., columns] - low) / width
        arms = choose(agents[0].policy, known, seen, np.array([float(t)]), Draws(keys, t - 1), cache)
        seen.add(rows, arms, rewards[(t - 1) % CHUNK, rows, arms], roundings[(t - 1) % CHUNK])
        gain += worth[rows, arms] - value
        if promise is not None:
            allowed = np.min(promise.budgets(value, np.full(len(rows), float(t)), *ends_of_range), axis=0)
            lowest = np.where(t <= ends[:, -1], np.minimum(lowest, gain + allowed), lowest)
        if (ends == t).any():
            gains = np.where(ends == t, gain[:, None], gains)
            played = np.where(ends[:, -1:] == t, seen.plays / t, played)
    shape = (runs, len(contexts), -1)
    return Followed(moments, gains.reshape(shape), played.reshape(shape), lowest.reshape(shape[:2]))


def follow_all(tasks: Mapping[str, tuple[Any, ...]], workers: int = 2) -> dict[str, Followed]:
    """Follow several kinds of agents, the arguments of `follow` by label, in processes side by side."""
    if workers < 2:
        return {label: follow(*task) for label, task in tasks.items()}
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        found = {label: pool.submit(follow, *task) for label, task in tasks.items()}
        return {label: one.result() for label, one in found.items()}


def rule(cases: HiddenContexts, places: Integers, moments: Integers) -> Followed:
    """Follow a rule that always plays this arm in each context: its gain is known."""
    worth = cases.marginal_means[np.arange(len(places)), places] - cases.value
    ends = cases.probabilities.sum(axis=1)[:, None] * moments
    played = np.eye(len(cases.arms))[places]
    return Followed(moments, (worth[:, None] * ends)[None], played[None], np.zeros((1, len(places))))


def averages(cases: HiddenContexts, counts: mb.logs.Counts) -> Floats:
    """The average of a log for each arm in each context, in the order of the cases."""
    rows, columns = map(counts.contexts.index, cases.contexts), list(map(counts.arms.index, cases.arms))
    found: Floats = counts.means[list(rows)][:, columns]
    return found


@dataclass
class Draw:
    """Draws cases for each row: what is hidden, what the experts choose, and how it goes with each option."""

    hidden: Floats  # (rows, hidden), as sums along the last axis like the other two
    choices: Floats  # (rows, hidden, arms)
    law: Floats  # (rows, hidden, arms, values)
    values: Floats  # (arms, values)

    @classmethod
    def of(cls, cases: Sequence[HiddenContexts]) -> Draw:
        parts = [(own.hidden_given_visible, own.choices, own.law) for own in cases]
        hidden, choices, law = (np.cumsum(np.concatenate(own), axis=-1)[..., :-1] for own in zip(*parts, strict=True))
        return cls(hidden, choices, law, cases[0].values)

    def __call__(self, rounds: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """The reward of each arm and of the experts' choice, (rounds, rows, arms + 1), and a number for rounding.

        The better the luck of a case, the better it does with any option.
        """
        rows = np.arange(len(self.hidden))
        kind, choice, luck, rounding = rng.random((4, rounds, len(rows)))
        hidden = (kind[..., None] > self.hidden).sum(axis=-1)
        chosen = (choice[..., None] > self.choices[rows, hidden]).sum(axis=-1)
        place = (luck[..., None, None] > self.law[rows, hidden]).sum(axis=-1)
        rewards = self.values[np.arange(len(self.values)), place]
        return np.concatenate([rewards, np.take_along_axis(rewards, chosen[..., None], axis=2)], axis=2), rounding
