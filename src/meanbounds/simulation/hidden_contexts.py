"""Logs of experts who saw more than was recorded, where every mean is known."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.bounds import EXPERT, Arm, MeanBounds
from meanbounds.knowledge import Knowledge
from meanbounds.simulation.environments import Bernoulli, Environment, Table
from meanbounds.simulation.regret import Regret
from meanbounds.simulation.run import simulate
from meanbounds.support.checks import as_floats, as_list, as_whole, shown, unknown
from meanbounds.support.streams import Seed, as_seed
from meanbounds.support.types import Floats, Integers

__all__ = ["HiddenContexts"]


class HiddenContexts:
    """Cases with a visible and a hidden context, experts who see both, and a log without the hidden one.

    An expert sees the visible context of a case (an age band) and the hidden one (the type of stroke), and chooses an
    arm, by default the best one for the pair. The log records the visible context, the arm and the reward. An agent
    comes after the experts, sees the visible context alone, and starts from bounds that the log gives. Use this to
    check such bounds, and agents that start from them, against the true means.

    Parameters
    ----------
    means
        Mean reward of each arm in each pair of contexts, an array of shape (visible, hidden, arms).
    probabilities
        How likely each pair is, (visible, hidden), or only each hidden context if that is the same for all visible
        ones. Scaled to sum to 1; equally likely by default.
    errors
        Share of the cases in which the experts choose one of the other arms at random: one number, or one for each
        visible context.
    choices
        The experts' own policy in place of that: probability of each arm in each pair, of the shape of `means`.
    low, high
        Range of the rewards, one number for all arms or one for each.
    contexts, arms
        Names of the visible contexts and of the arms; "z0", "z1", ... and 0, 1, ... by default.
    values, law
        The rewards that can occur, and the probability of each: (visible, hidden, arms, values). By default a reward is
        at one of the two ends of its range.

    Examples
    --------
    One visible context and two hidden ones that are equally likely: arm 0 is best in the first, arm 1 in the second.

    >>> import meanbounds as mb
    >>> cases = mb.simulation.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]])
    >>> cases.marginal_means  # what the agent has to learn: (0.9 + 0.3) / 2 and (0.4 + 0.6) / 2
    array([[0.6, 0.5]])

    Averages of the log are far off, because experts choose each arm where it is best:

    >>> cases.contributions / cases.shares
    array([[0.9, 0.6]])
    >>> cases.log(3, seed=1)
    {'context': array(['z0', 'z0', 'z0'], dtype='<U2'), 'arm': array([1, 1, 0]), 'reward': array([0., 1., 1.])}
    """

    def __init__(
        self,
        means: ArrayLike,
        probabilities: ArrayLike | None = None,
        *,
        errors: ArrayLike = 0.0,
        choices: ArrayLike | None = None,
        low: ArrayLike = 0.0,
        high: ArrayLike = 1.0,
        contexts: Sequence[Hashable] | None = None,
        arms: Sequence[Arm] | None = None,
        values: ArrayLike | None = None,
        law: ArrayLike | None = None,
    ) -> None:
        self.means: Floats = as_floats("means", means).copy()
        if self.means.ndim != 3 or not self.means.size or self.means.shape[2] < 2:
            raise ValueError(f"means must have the shape (visible, hidden, 2 arms or more); got {self.means.shape}")
        visible, hidden, size = self.means.shape
        ends = Bernoulli(self.means.mean(axis=(0, 1)), low=low, high=high)  # checks the ranges
        self.low, self.high = ends.low, ends.high
        if not np.all((self.means >= self.low) & (self.means <= self.high)):
            raise ValueError(f"all means must be inside the range from {shown(low)} to {shown(high)}")
        given = np.ones((visible, hidden)) if probabilities is None else as_floats("probabilities", probabilities)
        if given.shape not in ((visible, hidden), (hidden,)) or not np.all((given >= 0.0) & (given < np.inf)):
            raise ValueError(f"probabilities must be {(visible, hidden)} numbers, none negative; got {shown(given)}")
        weights = np.broadcast_to(given, (visible, hidden))
        if not np.all(weights.sum(axis=1) > 0.0):
            raise ValueError("probabilities: a visible context never occurs; leave it out")
        self.probabilities: Floats = weights / weights.sum()
        self.contexts = _names("contexts", contexts, [f"z{z}" for z in range(visible)])
        self.arms = _names("arms", arms, list(range(size)))
        self.choices = self._experts(errors) if choices is None else _shares("choices", choices, self.means.shape)
        if (law is None) != (values is None):
            raise ValueError("give values and law together, or neither")
        self._two_point = law is None
        if law is None:
            share = (self.means - self.low) / (self.high - self.low)
            self.values, self.law = np.stack([self.low, self.high], axis=1), np.stack([1.0 - share, share], axis=-1)
        else:
            listed = as_floats("values", values).ravel()
            self.values, self.law = np.tile(listed, (size, 1)), _shares("law", law, (*self.means.shape, listed.size))
            inside = np.all((self.values >= self.low[:, None]) & (self.values <= self.high[:, None]))
            if not (inside and np.allclose(np.einsum("zukv,kv->zuk", self.law, self.values), self.means)):
                raise ValueError("values must be inside the range, and the law must have the means that are given")

    @classmethod
    def random(
        cls, visible: int = 2, hidden: int = 5, *, arms: int = 4, errors: ArrayLike = 0.0, seed: Seed = None
    ) -> HiddenContexts:
        """Draw uniform means in [0, 1], and probabilities that are uniform on the simplex.

        Examples
        --------
        >>> import meanbounds as mb
        >>> cases = mb.simulation.HiddenContexts.random(visible=2, hidden=5, arms=4, seed=1)
        >>> cases.contexts, cases.means.shape
        (('z0', 'z1'), (2, 5, 4))
        """
        shape = tuple(as_whole(*pair) for pair in (("visible", visible), ("hidden", hidden), ("arms", arms)))
        rng = np.random.default_rng(as_seed(seed))
        return cls(rng.uniform(size=shape), rng.exponential(size=shape[:2]), errors=errors)

    @classmethod
    def from_trial(
        cls,
        visible: Sequence[Hashable],
        hidden: Sequence[Hashable],
        arm: Sequence[Arm],
        reward: ArrayLike,
        *,
        low: float = 0.0,
        high: float = 1.0,
        errors: ArrayLike = 0.0,
    ) -> HiddenContexts:
        """Take means and rewards from a randomised trial that tried every arm on every kind of person.

        Each argument is a column with one entry for each person: what the log will record, what only the experts see
        (tuples, if it is several columns), the arm that was drawn and the outcome. A reward is the outcome of a person
        of the same contexts and arm. Contexts and arms are in the order of the rows.

        Examples
        --------
        >>> import meanbounds as mb
        >>> severe, drug = ["no"] * 4 + ["yes"] * 4, ["a", "a", "b", "b"] * 2
        >>> outcome = [1.0, 0.5, 0.5, 0.5, 0.0, 0.0, 0.5, 0.0]
        >>> cases = mb.simulation.HiddenContexts.from_trial(["old"] * 8, severe, drug, outcome)
        >>> cases.means[0]  # drug a is better for mild cases, b for severe ones
        array([[0.75, 0.5 ],
               [0.  , 0.25]])
        """
        outcomes, place = np.unique(as_floats("reward", reward), return_inverse=True)
        columns = [as_list(*pair) for pair in (("visible", visible), ("hidden", hidden), ("arm", arm))]
        if any(len(column) != len(place) for column in columns) or not len(place):
            raise ValueError(f"columns must be equally long; got {[len(c) for c in columns]} and {len(place)} rewards")
        names = [list(dict.fromkeys(column)) for column in columns]
        places = [{entry: k for k, entry in enumerate(own)} for own in names]
        spots = [[own[entry] for entry in column] for own, column in zip(places, columns, strict=True)]
        tally = np.zeros((*map(len, names), outcomes.size))
        np.add.at(tally, tuple(np.array([*spots, place])), 1.0)
        people = tally.sum(axis=3)
        for z, u, k in np.argwhere((people == 0.0) & (people.sum(axis=2, keepdims=True) > 0.0)):
            raise ValueError(
                f"arm {names[2][k]!r} was never tried where visible is {names[0][z]!r} and hidden is {names[1][u]!r}; "
                f"merge that kind of people with another"
            )
        empty = people[..., None] == 0.0  # never drawn: any distribution will do
        law = np.where(empty, 1.0 / outcomes.size, tally / np.where(empty, 1.0, people[..., None]))
        # A sum divided once: arms whose outcomes add up to the same are exactly equal.
        means = np.where(people == 0.0, outcomes.mean(), (tally @ outcomes) / np.where(people == 0.0, 1.0, people))
        parts: dict[str, Any] = {"contexts": names[0], "arms": names[2], "values": outcomes, "law": law}
        return cls(np.clip(means, low, high), people.sum(axis=2), errors=errors, low=low, high=high, **parts)

    def __repr__(self) -> str:
        visible, hidden, arms = self.means.shape
        return f"HiddenContexts({visible} visible x {hidden} hidden contexts, {arms} arms)"

    def with_experts(self, *, errors: ArrayLike = 0.0, choices: ArrayLike | None = None) -> HiddenContexts:
        """The same cases with other experts; see `errors` and `choices` of the class.

        Examples
        --------
        >>> import meanbounds as mb
        >>> cases = mb.simulation.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]])
        >>> cases.value, cases.with_experts(errors=0.2).value.round(3)
        (array([0.75]), array([0.67]))
        """
        same: dict[str, Any] = {name: getattr(self, name) for name in ("low", "high", "contexts", "arms")}
        if not self._two_point:
            same |= {"values": self.values[0], "law": self.law}
        return HiddenContexts(self.means, self.probabilities, errors=errors, choices=choices, **same)

    def _experts(self, errors: ArrayLike) -> Floats:
        """The choices of experts who err in this share of the cases."""
        share = as_floats("errors", errors)
        if share.shape not in ((), (len(self.means),)) or not np.all((share >= 0.0) & (share <= 1.0)):
            raise ValueError(
                f"errors must be a share from 0 to 1, or one for each visible context; got {shown(errors)}"
            )
        wrong = np.broadcast_to(share, len(self.means))[:, None, None]
        best = np.arange(self.means.shape[2]) == self.best[..., None]
        return np.where(best, 1.0 - wrong, wrong / (self.means.shape[2] - 1))

    @property
    def best(self) -> Integers:
        """Position of the best arm in each pair of contexts, (visible, hidden)."""
        return self.means.argmax(axis=2)

    @cached_property
    def hidden_given_visible(self) -> Floats:
        """Probability of each hidden context given the visible one, P(u | z): (visible, hidden)."""
        return self.probabilities / self.probabilities.sum(axis=1, keepdims=True)

    @property
    def marginal_means(self) -> Floats:
        """Each arm's mean reward given the visible context alone, the truth for the agent: (visible, arms)."""
        return np.einsum("zu,zuk->zk", self.hidden_given_visible, self.means)

    @property
    def shares(self) -> Floats:
        """How often experts choose each arm in a visible context, p_z(k) in the paper: (visible, arms)."""
        return np.einsum("zu,zuk->zk", self.hidden_given_visible, self.choices)

    @property
    def contributions(self) -> Floats:
        """Share of each arm times its mean reward when experts choose it, mu_z(k) in the paper: (visible, arms)."""
        return np.einsum("zu,zuk->zk", self.hidden_given_visible, self.choices * self.means)

    @property
    def value(self) -> Floats:
        """The experts' mean reward in each visible context: the sum of the contributions."""
        return self.contributions.sum(axis=1)

    @property
    def gap_low(self) -> Floats:
        """Least gap between the best and the second-best arm over the hidden contexts that occur: (visible,)."""
        ordered = np.sort(self.means, axis=2)
        gaps = np.where(self.probabilities > 0.0, ordered[..., -1] - ordered[..., -2], np.inf)
        return gaps.min(axis=1)

    @property
    def gap_high(self) -> Floats:
        """Largest gap between the best and the worst arm over the hidden contexts that occur: (visible,)."""
        return np.where(self.probabilities > 0.0, np.ptp(self.means, axis=2), 0.0).max(axis=1)

    @property
    def errors(self) -> Floats:
        """Share of the cases in which another arm would have been better than the experts' choice: (visible,)."""
        worse = self.means < self.means.max(axis=2, keepdims=True)
        return np.einsum("zu,zuk->z", self.hidden_given_visible, self.choices * worse)

    @property
    def loss(self) -> Floats:
        """The experts' average loss against always choosing the best arm for both contexts: (visible,)."""
        return (self.hidden_given_visible * self.means.max(axis=2)).sum(axis=1) - self.value

    def log(self, rows: int, seed: Seed = None) -> dict[str, NDArray[Any]]:
        """Draw the experts' log of this many rows: columns "context", "arm" and "reward".

        ``pandas.DataFrame(cases.log(1000))`` makes a data frame of it. The first rows of a longer log are the rows of a
        shorter one with the same seed.
        """
        rng = np.random.default_rng(as_seed(seed))
        joint = (self.probabilities[..., None] * self.choices)[..., None] * self.law
        ends = np.cumsum(joint)
        drawn = np.searchsorted(ends / ends[-1], rng.random(as_whole("rows", rows)), side="right")
        z, _, k, v = np.unravel_index(drawn, joint.shape)
        return {"context": _column(self.contexts)[z], "arm": _column(self.arms)[k], "reward": self.values[k, v]}

    def environment(self, context: Hashable, *, experts: bool = False, cost: float = 0.0) -> Environment:
        """What an agent meets that sees this context only: rewards of its hidden contexts, as they occur.

        With `experts` there is one more arm at the end, as for `meanbounds.EXPERT`: the experts choose, and asking them
        costs so much.

        Examples
        --------
        >>> import meanbounds as mb
        >>> cases = mb.simulation.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]])
        >>> cases.environment("z0").means, cases.environment("z0", experts=True, cost=0.1).means
        (array([0.6, 0.5]), array([0.6 , 0.5 , 0.65]))
        """
        if context not in self.contexts:
            raise ValueError(unknown("context", context, self.contexts))
        z, shares, low, high = self.contexts.index(context), self.hidden_given_visible, self.low, self.high
        weights, values = np.einsum("u,ukv->kv", shares[z], self.law[z]), self.values
        if experts:
            if np.ptp(low) or np.ptp(high):
                raise ValueError("experts as an arm need one range of rewards for all arms")
            choices = np.einsum("u,uk,ukv->v", shares[z], self.choices[z], self.law[z])
            weights, values = np.vstack([weights, choices]), np.vstack([values, values[:1] - cost])
            low, high = np.append(low, low[0] - cost), np.append(high, high[0] - cost)
        if self._two_point:
            means = np.einsum("kv,kv->k", weights / weights.sum(axis=1, keepdims=True), values)
            return Bernoulli(np.clip(means, low, high), low=low, high=high)
        return Table(list(values), weights=list(weights), low=low, high=high)

    def simulate(
        self,
        policies: Any,
        known: Mapping[Any, MeanBounds | Knowledge] | None = None,
        *,
        seed: Seed = None,
        **settings: Any,
    ) -> dict[Hashable, Regret]:
        """Let agents learn in each visible context by itself: a `Regret` for each context.

        Parameters
        ----------
        policies, settings
            As for `meanbounds.simulate`; `horizon` is the number of rounds in each context.
        known
            Bounds or knowledge by context, such as bounds from the log; in a context without, agents start from
            nothing. Where `EXPERT` is the last arm, the experts are asked.
        seed
            The seed, from which those of the contexts follow.

        Examples
        --------
        >>> import meanbounds as mb
        >>> cases = mb.simulation.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]])
        >>> cases.simulate(mb.UCB(), horizon=100, runs=2, seed=1)
        {'z0': Regret(UCB: 2 runs of 100 rounds)}
        """
        known, number, found = known or {}, as_seed(seed), {}
        for context in known:
            self.environment(context)  # refuses unknown ones
        for z, context in enumerate(self.contexts):
            own = np.random.default_rng([number, z])
            asked: dict[str, Any] = {}
            if context in known:
                bounds = Knowledge.of(known[context]).bounds
                if EXPERT in bounds.arms:
                    asked = {"experts": True, "cost": float(self.high[0] - bounds.high[bounds.position(EXPERT)])}
            played = self.environment(context, **asked)
            found[context] = simulate(policies, played, known.get(context), seed=own, **settings)
        return found


def _names(what: str, names: Any, default: list[Any]) -> tuple[Any, ...]:
    found = default if names is None else as_list(what, names)
    if len(found) != len(default) or len(set(found)) < len(found):
        raise ValueError(f"{what} must be {len(default)} different names; got {shown(found)}")
    return tuple(found)


def _shares(what: str, given: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Probabilities of this shape, which sum to 1 along the last axis."""
    table = as_floats(what, given)
    if table.shape != shape or not (np.all(table >= 0.0) and np.allclose(table.sum(axis=-1), 1.0)):
        raise ValueError(f"{what} must be probabilities of the shape {shape} that sum to 1 along the last axis")
    return table / table.sum(axis=-1, keepdims=True)


def _column(names: tuple[Any, ...]) -> NDArray[Any]:
    """Names as an array: texts or whole numbers as such, others (tuples, both kinds) as objects."""
    if len({type(name) for name in names}) == 1 and isinstance(names[0], str | int):
        return np.array(names)
    column = np.empty(len(names), dtype=object)
    column[:] = names
    return column
