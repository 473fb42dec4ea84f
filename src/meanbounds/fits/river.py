"""Policies of meanbounds as policies of river: pull and update through `river.bandit.base.Policy`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike

from meanbounds.agents import Agent, ContextualAgent
from meanbounds.bounds import Arm, MeanBounds, UnknownArmError, check_bounds
from meanbounds.knowledge import Knowledge
from meanbounds.logs import Context
from meanbounds.policies import AnyPolicy, LinearPolicy, Policy
from meanbounds.support.checks import as_list, shown
from meanbounds.support.optional import optional

with optional("river", "policies for river"):
    from river.bandit import base

__all__ = ["RiverContextualPolicy", "RiverPolicy"]


class RiverPolicy(base.Policy):
    """A policy of meanbounds as a policy of river, for `river.bandit.evaluate`, `evaluate_offline` and loops.

    Parameters
    ----------
    policy
        How to decide, such as `meanbounds.BIMED`.
    bounds
        Bounds on the arms' means, as `MeanBounds` or `Knowledge`, in the units of the rewards. Its arms have the names
        that river uses: 0, 1, 2, ... in `river.bandit.evaluate`. None starts from nothing, with rewards from `low` to
        `high` and the arms that river offers.
    seed
        Whole number, or None for a new one in each clone. With the same seed two policies decide alike.
    features, offset
        For a policy that learns from features, see `meanbounds.Agent`; `bounds` are needed then.
    floor
        The smallest probability with which each arm that can be best is pulled.
    low, high
        The range of the rewards where there are no bounds.
    reward_obj
        What river keeps for each arm, for its ranking; the mean by default. It does not affect the decisions.

    Notes
    -----
    A pull that follows another pull without a reward in between gives the earlier one up, since river does not say
    whether a reward will come. If it comes later it counts all the same. There is no burn-in, which would try arms that
    the bounds exclude, and no reward scaler: bounds are in the units of the rewards.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.fits.river import RiverPolicy
    >>> policy = RiverPolicy(mb.BIMED(), mb.MeanBounds([0.7, 0.2, 0.4], [0.95, 0.9, 0.6]), seed=7)
    >>> arm = policy.pull([0, 1, 2])
    >>> policy.update(arm, 1.0)
    >>> arm, policy.ranking, policy.agent.plays
    (0, [0], array([1, 0, 0]))
    """

    def __init__(
        self,
        policy: AnyPolicy,
        bounds: MeanBounds | Knowledge | None = None,
        *,
        seed: int | None = None,
        features: ArrayLike | None = None,
        offset: ArrayLike = 0.0,
        floor: float = 0.0,
        low: float = 0.0,
        high: float = 1.0,
        reward_obj: Any = None,
    ) -> None:
        super().__init__(reward_obj)
        if not isinstance(policy, Policy | LinearPolicy):
            raise TypeError(f"policy must be a policy of meanbounds such as mb.BIMED(); got {shown(policy)}")
        if bounds is not None and not isinstance(bounds, Knowledge):
            check_bounds(bounds)
        if bounds is None and (features is not None or isinstance(policy, LinearPolicy)):
            raise TypeError(f"{policy!r} with features needs bounds; mb.MeanBounds.vacuous(arms) assumes nothing")
        self.policy, self.bounds, self.seed = policy, bounds, seed
        self.features, self.offset, self.floor, self.low, self.high = features, offset, floor, low, high
        self._waiting: Arm | None = None
        self._agent: Agent | None = None
        if bounds is not None:
            self._agent = Agent(policy, bounds, seed=seed, features=features, offset=offset, floor=floor)
        else:
            MeanBounds.vacuous(1, low=low, high=high)  # refuses a range that cannot be, before the first pull

    @property
    def agent(self) -> Agent:
        """The agent that decides, with all it can say: bounds, plays, probabilities, contradictions.

        Without bounds it is made by the first pull, which says what the arms are.

        Examples
        --------
        >>> import meanbounds as mb
        >>> from meanbounds.fits.river import RiverPolicy
        >>> RiverPolicy(mb.GLUE(), mb.MeanBounds([0.2, 0.2], [0.9, 0.9]), seed=7).agent.probabilities()
        array([0.5, 0.5])
        """
        if self._agent is None:
            raise ValueError("this policy has no bounds, and learns what the arms are from its first pull: call pull()")
        return self._agent

    def pull(self, arm_ids: Any) -> Any:
        """Choose one of the arms on offer.

        Examples
        --------
        >>> import meanbounds as mb
        >>> from meanbounds.fits.river import RiverPolicy
        >>> RiverPolicy(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8], arms=["a", "b"]), seed=7).pull(["a", "b"])
        'a'
        """
        return self._pull(arm_ids)

    def _pull(self, arm_ids: Any) -> Any:
        offered = as_list("arm_ids", arm_ids)
        agent = self._knowing(offered)
        if self._waiting is not None:
            agent.cancel(self._waiting)
            self._waiting = None
        plain = all(isinstance(arm, str | int) for arm in offered)
        self._waiting = agent.pull(None if plain and offered == list(agent.bounds.arms) else offered)
        return self._waiting

    def _knowing(self, offered: list[Any]) -> Agent:
        """The agent, with all arms that are on offer."""
        if self._agent is None:
            if not offered:
                raise ValueError("arm_ids must name at least one arm; got none")
            start = MeanBounds.vacuous(offered, low=self.low, high=self.high)
            self._agent = Agent(self.policy, start, seed=self.seed, floor=self.floor)
        for arm in offered if self.bounds is None else ():
            try:
                self._agent.bounds.position(arm)
            except UnknownArmError:
                self._agent.add(arm, low=self.low, high=self.high)
        return self._agent

    def update(self, arm_id: Any, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Tell the policy the reward of an arm.

        Examples
        --------
        >>> import meanbounds as mb
        >>> from meanbounds.fits.river import RiverPolicy
        >>> policy = RiverPolicy(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8], arms=["a", "b"]), seed=7)
        >>> policy.update("b", 1.5)
        Traceback (most recent call last):
        meanbounds.agents.learner.RewardError: arm 'b': the reward 1.5 is not a number in its range [0.0, 1.0]
        """
        reward = _reward(reward_args, reward_kwargs)
        self._knowing([arm_id]).update(arm_id, reward)
        if arm_id == self._waiting:
            self._waiting = None
        keep: Any = super().update  # river has no types for it
        keep(arm_id, float(reward))


class RiverContextualPolicy(base.ContextualPolicy):
    """A policy of meanbounds for each context as a contextual policy of river.

    Parameters
    ----------
    policy
        How to decide, such as `meanbounds.BIMED`.
    bounds
        Bounds by context, such as `meanbounds.logs.bounds` returns.
    context
        Which entries of river's context make up the context: a name such as ``"age"``, or several, whose values then
        make a tuple. None if the bounds have one context alone.
    seed, floor, reward_obj
        As for `RiverPolicy`.
    unknown
        What to do in a context without bounds: ``"error"``, or ``"vacuous"`` to start from nothing there.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.fits.river import RiverContextualPolicy
    >>> bounds = {"young": mb.MeanBounds([0.7, 0.2], [0.9, 0.6]), "old": mb.MeanBounds([0.1, 0.6], [0.5, 0.8])}
    >>> policy = RiverContextualPolicy(mb.BIMED(), bounds, context="age", seed=7)
    >>> policy.pull([0, 1], context={"age": "old", "visit": 3})
    1
    >>> policy.update(1, {"age": "old", "visit": 3}, 1.0)
    >>> policy.agent["old"].plays
    array([0, 1])
    """

    def __init__(
        self,
        policy: Policy,
        bounds: Mapping[Context, MeanBounds | Knowledge],
        context: str | Sequence[str] | None = None,
        *,
        seed: int | None = None,
        unknown: Literal["error", "vacuous"] = "error",
        floor: float = 0.0,
        reward_obj: Any = None,
    ) -> None:
        super().__init__(reward_obj)
        self.policy, self.bounds, self.context = policy, bounds, context
        self.seed, self.unknown, self.floor = seed, unknown, floor
        self.agent = ContextualAgent(policy, bounds, seed=seed, unknown=unknown, floor=floor)
        """The agent that decides in all contexts."""
        if context is None and len(self.agent) != 1:
            raise TypeError(f'bounds have {len(self.agent)} contexts: name the entries of the context, context="age"')
        self._waiting: tuple[Context, Arm] | None = None

    def _place(self, context: Any) -> Any:
        """The name of the context that river gave."""
        if self.context is None:
            return next(iter(self.agent))
        names = [self.context] if isinstance(self.context, str) else list(self.context)
        given = context if isinstance(context, Mapping) else {}
        missing = [name for name in names if name not in given]
        if missing:
            raise ValueError(f"the context has no entry {missing[0]!r}; got {shown(context)}")
        return given[names[0]] if isinstance(self.context, str) else tuple(given[name] for name in names)

    def pull(self, arm_ids: Any, context: Any = None) -> Any:
        """Choose one of the arms on offer, in a context.

        Examples
        --------
        >>> import meanbounds as mb
        >>> from meanbounds.fits.river import RiverContextualPolicy
        >>> policy = RiverContextualPolicy(mb.GLUE(), {"old": mb.MeanBounds([0.2, 0.3], [0.9, 0.8])}, "age", seed=7)
        >>> policy.pull([0, 1], {"age": "old"})
        0
        """
        return self._pull(arm_ids, context)

    def _pull(self, arm_ids: Any, context: Any = None) -> Any:
        offered, place = as_list("arm_ids", arm_ids), self._place(context)
        if self._waiting is not None:
            self.agent.cancel(*self._waiting)
            self._waiting = None
        arm = self.agent.pull(place, offered)
        self._waiting = (place, arm)
        return arm

    def update(self, arm_id: Any, context: Any, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Tell the policy the reward of an arm in a context.

        Examples
        --------
        >>> import meanbounds as mb
        >>> from meanbounds.fits.river import RiverContextualPolicy
        >>> policy = RiverContextualPolicy(mb.GLUE(), {"old": mb.MeanBounds([0.2, 0.3], [0.9, 0.8])}, "age", seed=7)
        >>> policy.update(1, {"age": "old"}, 0.5)
        >>> policy.agent["old"].means
        array([nan, 0.5])
        """
        place, reward = self._place(context), _reward(reward_args, reward_kwargs)
        self.agent.update(place, arm_id, reward)
        if (place, arm_id) == self._waiting:
            self._waiting = None
        keep: Any = super().update
        keep(arm_id, context, float(reward))


def _reward(given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """The one number that is the reward; whether it is one, the agent says."""
    if len(given) != 1 or named:
        raise ValueError(f"update takes one number as the reward; got {shown(given)} and {shown(dict(named))}")
    return float(given[0]) if isinstance(given[0], bool) else given[0]
