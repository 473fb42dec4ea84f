"""The agent: pull an arm, tell it the reward, repeat."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.agents.arms import ArmsLearner
from meanbounds.agents.candidate import Candidate
from meanbounds.agents.features import FeaturesLearner
from meanbounds.agents.learner import Learner, Pending
from meanbounds.bounds import Arm, MeanBounds
from meanbounds.evidence.contradictions import WATCHED_ERROR, Contradiction
from meanbounds.knowledge import Knowledge
from meanbounds.policies import AnyPolicy, LinearPolicy, Policy
from meanbounds.policies.informed import former_prior, with_former_prior
from meanbounds.support.checks import as_list
from meanbounds.support.entries import Entries
from meanbounds.support.saving import Saved
from meanbounds.support.seeding import Seed, as_seed
from meanbounds.support.types import Floats, Integers

__all__ = ["Agent"]

_FORMAT = 2


class Agent(Saved):
    """Chooses an arm with `pull`, learns its reward with `update`, and so on.

    Parameters
    ----------
    policy
        How to decide, such as `meanbounds.GLUE`.
    bounds
        The bounds on the arms' means, as `MeanBounds` or `Knowledge`; names and reward ranges come from here.
    seed
        Whole number, numpy Generator or None. With the same seed an agent plays as run 0 of `meanbounds.simulate`.
    features, offset
        For a policy that learns from features, such as `meanbounds.ROFUL`: a row for each arm, and the known part of
        each arm's mean in reward units.
    floor
        The smallest probability with which each arm that can be best is pulled, for example 0.01. With probability
        floor times the number of such arms the agent draws one of them at random instead of asking the policy. This
        costs reward, and makes it possible to estimate later what any other policy would have earned.

    Notes
    -----
    Threads may share an agent: it has a lock, so calls take effect one after the other. An error or an interrupt
    (Ctrl-C) leaves the agent as it was before the call or, if it came at the very end, as it is after it.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.7, 0.2, 0.4], [0.95, 0.9, 0.6], arms=["tPA", "medical", "watch"])
    >>> agent = mb.Agent(mb.GLUE(), bounds, seed=7)
    >>> agent.pull()
    'tPA'
    >>> agent.update("tPA", 1.0)
    >>> agent.plays
    array([1, 0, 0])
    >>> agent.indices().round(3)
    array([0.95, 0.9 , -inf])

    With features, arms may be offered that were never seen before:

    >>> features = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]
    >>> agent = mb.Agent(mb.ROFUL(), bounds, seed=7, features=features)
    >>> agent.pull(["medical", "watch"])
    'medical'
    >>> new = mb.Candidate([0.8, 0.6], name="both")
    >>> agent.pull(["watch", new]).name
    'both'
    >>> agent.update(new, 1.0)
    """

    def __init__(
        self,
        policy: AnyPolicy,
        bounds: MeanBounds | Knowledge,
        *,
        seed: Seed = None,
        features: ArrayLike | None = None,
        offset: ArrayLike = 0.0,
        floor: float = 0.0,
    ) -> None:
        if not (isinstance(policy, Policy | LinearPolicy) and isinstance(bounds, MeanBounds | Knowledge)):
            raise TypeError(f"an agent needs a policy such as mb.GLUE() and MeanBounds; got {policy!r} and {bounds!r}")
        known, number = Knowledge.of(bounds), as_seed(seed)
        self._lock = threading.RLock()
        self._learner: Learner
        if isinstance(policy, LinearPolicy):
            if features is None:
                raise TypeError(f"{policy} learns from features: give features=, a row for each arm")
            self._learner = FeaturesLearner(policy, known, number, floor, features, offset)
        else:
            if features is not None or np.any(offset):
                raise TypeError(
                    f"{policy} does not learn from features; use mb.OFUL() or mb.ROFUL(), or leave them out"
                )
            self._learner = ArmsLearner(policy, known, number, floor)

    @property
    def policy(self) -> AnyPolicy:
        """The policy, which decides."""
        return self._learner.policy

    @property
    def bounds(self) -> MeanBounds:
        """The bounds in use, as given; `replace_bounds` changes them."""
        with self._lock:
            return self._learner.bounds

    @property
    def knowledge(self) -> Knowledge:
        """Everything the agent takes as known about the arms, bounds included."""
        with self._lock:
            return self._learner.known

    @property
    def seed(self) -> int:
        """The number from which all random numbers of the agent follow, also if None was given."""
        return self._learner.seed

    @property
    def floor(self) -> float:
        """The smallest probability with which each arm that can be best is pulled."""
        return self._learner.floor

    @property
    def plays(self) -> Integers:
        """How many rewards each arm has had, in the order of ``bounds.arms``; candidates are not counted.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8], arms=["a", "b"]), seed=7)
        >>> agent.update("b", 1.0)
        >>> dict(zip(agent.bounds.arms, agent.plays.tolist()))
        {'a': 0, 'b': 1}
        """
        with self._lock:
            return self._learner.plays

    @property
    def means(self) -> Floats:
        """The mean reward of each arm so far, in reward units; NaN for an arm without rewards.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8]), seed=7)
        >>> for reward in (1.0, 0.5):
        ...     agent.update(0, reward)
        >>> agent.means
        array([0.75,  nan])
        """
        with self._lock:
            return self._learner.means

    @property
    def pending(self) -> Integers:
        """How many pulls of each arm still wait for their reward, in the order of ``bounds.arms``.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8], arms=["a", "b"]), seed=7)
        >>> first = agent.pull()
        >>> agent.pending
        array([1, 0])
        >>> agent.update(first, 1.0)
        >>> agent.pending
        array([0, 0])
        """
        with self._lock:
            return self._learner.pending

    @property
    def retired(self) -> tuple[Arm, ...]:
        """The arms that were retired, and are therefore not on offer."""
        with self._lock:
            return self._learner.retired_arms

    @property
    def estimate(self) -> Floats:
        """The parameter as estimated from the rewards so far; only for a policy that learns from features.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.OFUL(), mb.MeanBounds.vacuous(2), seed=7, features=[[1.0, 0.0], [0.0, 1.0]])
        >>> agent.update(1, 1.0)
        >>> agent.estimate  # ridge regression with lambda = 1 pulls it half way to 0
        array([0. , 0.5])
        """
        with self._lock:
            return self._with_features("estimate").estimate

    @property
    def tight_bounds(self) -> MeanBounds:
        """The bounds in use, tightened; only for a policy that learns from features.

        With ``mb.ROFUL(online=True)`` rewards narrow them further.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = mb.MeanBounds([0.6, 0.0], [0.9, 1.0])
        >>> agent = mb.Agent(mb.ROFUL(), bounds, seed=7, features=[[1.0, 0.0], [0.0, 1.0]])
        >>> agent.tight_bounds.upper.round(3)  # 0.6^2 + 0.8^2 = 1
        array([0.9, 0.8])
        """
        with self._lock:
            return self._with_features("tight_bounds").tight_bounds

    @overload
    def pull(self, eligible: Iterable[Arm] | None = None, *, pending: Pending | None = None) -> Arm: ...
    @overload
    def pull(self, eligible: Iterable[Candidate], *, pending: Pending | None = None) -> Candidate: ...
    @overload
    def pull(self, eligible: Iterable[Arm | Candidate], *, pending: Pending | None = None) -> Arm | Candidate: ...
    def pull(self, eligible: Any = None, *, pending: Pending | None = None) -> Any:
        """Choose an arm. The agent then waits for its reward: tell it with `update`, or give it up with `cancel`.

        Parameters
        ----------
        eligible
            The arms on offer this time; every arm that is not retired by default. Pruning, l_max and factors are
            computed from the arms on offer. With features, a `meanbounds.Candidate` stands for an arm that was never
            seen before.
        pending
            How to treat pulls that are still unanswered. ``"count"`` treats each as if it had returned the mean reward
            of its arm so far, or the middle of the bounds if there is none, so that a burst of requests spreads over
            the arms; of an arm with rewards, at most as many pulls count as rewards have come. With features, they
            narrow the confidence widths instead. ``"ignore"`` decides from the rewards so far alone. By default
            pending pulls count for the policies that this never made worse when it was measured (docs/pending.md), such
            as GLUE, BIMED and Thompson sampling.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3, 0.1], [0.9, 0.8, 0.7], arms=["a", "b", "c"]), seed=7)
        >>> agent.pull(), agent.pull(["b", "c"])
        ('a', 'b')
        """
        lock = self._lock
        try:  # as "with lock", in half the time
            lock.acquire()
            return self._learner.pull(eligible, pending)
        finally:
            try:
                lock.release()
            except RuntimeError:  # interrupted while it waited for the lock: there is nothing to release
                del lock

    def probabilities(
        self, eligible: Iterable[Arm | Candidate] | None = None, *, pending: Pending | None = None
    ) -> Floats:
        """The probability with which the next pull takes each arm; the agent stays as it is.

        For a policy with an index, the arms that tie for the largest index and, of these, for the largest clipped mean
        share the probability. For Thompson sampling
        the probabilities are integrals over the posteriors, accurate to 1e-6. The floor is included. Record the
        probability of the arm beside each decision: then other policies can be evaluated on the log later.

        Parameters
        ----------
        eligible, pending
            As for `pull`.

        Returns
        -------
        One number for each arm in the order of ``bounds.arms``, or, if `eligible` has a `Candidate`, one for each arm
        that is on offer, in the order given.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = mb.MeanBounds([0.2, 0.2, 0.1], [0.9, 0.9, 0.7])
        >>> mb.Agent(mb.GLUE(), bounds, seed=7).probabilities()
        array([0.5, 0.5, 0. ])
        >>> mb.Agent(mb.GLUE(), bounds, seed=7, floor=0.1).probabilities().round(3)
        array([0.45, 0.45, 0.1 ])
        """
        with self._lock:
            return self._learner.probabilities(eligible, pending)

    def decide(
        self, eligible: Iterable[Arm | Candidate] | None = None, *, pending: Pending | None = None
    ) -> tuple[Arm | Candidate, float]:
        """Choose an arm as `pull` does, and return it with the probability that it had.

        Parameters
        ----------
        eligible, pending
            As for `pull`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = mb.MeanBounds([0.2, 0.2, 0.1], [0.9, 0.9, 0.7], arms=["a", "b", "c"])
        >>> mb.Agent(mb.GLUE(), bounds, seed=7).decide()
        ('a', 0.5)
        """
        offered = None if eligible is None else as_list("eligible", eligible)
        with self._lock:
            return self._learner.decide(offered, pending)

    def update(self, arm: Arm | Candidate, reward: float, *, history: bool = False) -> None:
        """Tell the agent a reward. Rewards may come in any order and however late.

        Parameters
        ----------
        arm
            The arm that the reward came from.
        reward
            A number in the arm's reward range.
        history
            True for a past outcome of an arm that this agent did not choose: the reward counts, and pending pulls keep
            waiting. Feed past outcomes only if the arms were chosen at random. The choices of an expert who saw more
            than you recorded mislead; use `meanbounds.logs.bounds` for these.

        Raises
        ------
        RewardError
            If the reward is no number in the arm's range.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8], arms=["a", "b"]), seed=7)
        >>> agent.update("b", 0.5)
        >>> agent.means
        array([nan, 0.5])
        """
        lock = self._lock
        try:  # as "with lock", in half the time
            lock.acquire()
            self._learner.update(arm, reward, history)
        finally:
            try:
                lock.release()
            except RuntimeError:  # interrupted while it waited for the lock: there is nothing to release
                del lock

    def cancel(self, arm: Arm | Candidate) -> None:
        """Give up one pending pull of this arm: its reward will never come.

        Parameters
        ----------
        arm
            The arm or candidate that was pulled.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8]), seed=7)
        >>> agent.cancel(agent.pull())
        >>> agent.pending
        array([0, 0])
        """
        with self._lock:
            self._learner.cancel(arm)

    def indices(self) -> Floats:
        """The index of each arm after the updates so far, U_k(t) in the paper; minus infinity if pruned or retired.

        The next `pull` without `eligible` takes an arm with the largest index, unless a floor, pending pulls or, with
        features, doubt about the bounds intervene.

        Raises
        ------
        NoIndexError
            If the policy has no index, such as `meanbounds.ThompsonSampling`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Agent(mb.GLUE(), mb.MeanBounds([0.5, 0.3, 0.1], [0.9, 0.8, 0.4]), seed=7).indices()
        array([ 0.9,  0.8, -inf])
        """
        with self._lock:
            return self._learner.indices()

    def contradictions(self, error: float = WATCHED_ERROR) -> list[Contradiction]:
        """The bounds that the rewards so far contradict; see docs/evidence.md on how to read them.

        If all bounds hold, the agent ever names one with probability at most `error`, however often you ask. Each
        update looks at the bounds of its arm, and warns with a `meanbounds.evidence.ContradictionWarning` once for each
        bound that is contradicted at an error of 0.01. Pulls whose reward has not come count for the bounds: as the
        lowest reward against an upper bound, as the highest against a lower one. An agent with features also
        tests all bounds together, with half of the error; see docs/linear.md.

        Parameters
        ----------
        error
            The probability of a false alarm.

        Returns
        -------
        For each contradicted bound the arm, the bound, the rewards, the evidence, and after how many updates the alarm
        was given.

        Examples
        --------
        >>> import warnings
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.5, 0.8], arms=["a", "b"]), seed=7)
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", mb.evidence.ContradictionWarning)
        ...     for _ in range(20):
        ...         agent.update("a", 1.0)
        >>> for found in agent.contradictions():
        ...     print(found, "after", found.updates, "updates")
        arm 'a': 20 rewards with mean 1 contradict its upper bound 0.5 (e-value 5.5e+04) after 13 updates
        """
        with self._lock:
            return self._learner.contradictions(error)

    def assumptions(self) -> dict[str, float]:
        """How strongly rewards speak against the assumption that the bounds rest on; see `ContextualAgent.assumptions`.

        The agent of a context shares the evidence with the other contexts. Empty if there is no assumption.

        Examples
        --------
        >>> import meanbounds as mb
        >>> known = mb.Knowledge(mb.MeanBounds([0.7, 0.2], [0.9, 0.6]), trust=0.9, assumption="optimal expert")
        >>> agent = mb.Agent(mb.GLUE(), known, seed=7)
        >>> for _ in range(8):
        ...     agent.update(1, 1.0)
        >>> round(agent.assumptions()["optimal expert"], 2)
        0.6
        """
        with self._lock:
            ledger = self._learner.ledger if isinstance(self._learner, ArmsLearner) else None
            return {} if ledger is None else {ledger.name: ledger.log_e}

    def replace_bounds(self, bounds: MeanBounds) -> None:
        """Use other bounds from now on (the paper's l_k(t), u_k(t)); the rewards so far stay.

        Parameters
        ----------
        bounds
            Bounds on the same arms, in any order, with the same reward ranges. `contradictions` tests those that differ
            from the old ones anew, on all rewards so far.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8]), seed=7)
        >>> agent.replace_bounds(mb.MeanBounds([0.85, 0.3], [0.9, 0.8]))
        >>> agent.indices()
        array([ 0.9, -inf])
        """
        with self._lock:
            now = self._learner.standing
            self._learner.adopt(now.known.renewed(now.known.bounds.matching(bounds)), now.retired)

    def add(
        self,
        arm: Arm,
        *,
        lower: float | None = None,
        upper: float | None = None,
        low: float = 0.0,
        high: float = 1.0,
        features: ArrayLike | None = None,
        offset: float = 0.0,
    ) -> None:
        """Offer one more arm.

        Parameters
        ----------
        arm
            Its name.
        lower, upper
            Bounds on its mean, in reward units; by default the ends of its range.
        low, high
            The range of its rewards.
        features, offset
            For a policy that learns from features: one number for each feature, and the known part of its mean.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2], [0.5], arms=["old"]), seed=7)
        >>> agent.add("new", upper=0.9)
        >>> agent.pull()
        'new'
        """
        with self._lock:
            self._learner.extend(self._learner.known.with_arm(arm, lower, upper, low, high), features, offset)

    def retire(self, arm: Arm) -> None:
        """Stop offering an arm. Its late rewards are still accepted, and `restore` offers it again.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8], arms=["a", "b"]), seed=7)
        >>> agent.retire("a")
        >>> agent.pull(), agent.retired
        ('b', ('a',))
        """
        with self._lock:
            self._learner.retire(arm)

    def restore(self, arm: Arm) -> None:
        """Offer a retired arm again.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8], arms=["a", "b"]), seed=7)
        >>> agent.retire("a")
        >>> agent.restore("a")
        >>> agent.pull()
        'a'
        """
        with self._lock:
            self._learner.restore(arm)

    def to_dict(self) -> dict[str, Any]:
        """The whole state, in values that JSON can hold; `from_dict` continues the same trajectory.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8]), seed=7)
        >>> agent.update(0, 1.0)
        >>> state = agent.to_dict()
        >>> state["policy"], state["plays"]
        ({'policy': 'GLUE', 'f': '1 + t log(t)^2'}, [1.0, 0.0])
        """
        with self._lock:
            parts = self._learner.parts()
        made_from = {"policy": parts["policy"].to_dict(), "knowledge": parts["knowledge"].to_dict()}
        return {"format": _FORMAT, **parts, **made_from}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the agent that `to_dict` described, of this version or of 0.1; it continues the same trajectory.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8]), seed=7)
        >>> mb.Agent.from_dict(agent.to_dict()).pull() == agent.pull()
        True
        """
        saved = Entries(data, "agent")
        number, parts = data.get("format"), dict(data)
        if number == 1:  # version 0.1
            parts |= {"knowledge": {"bounds": saved["bounds"]}, "floor": 0.0}
        elif number != _FORMAT:
            raise ValueError(
                f"an agent in format {number!r} cannot be read: this version of meanbounds reads 1 and {_FORMAT}"
            )
        saved = Entries(parts, "agent")
        settings, prior = former_prior(saved.mapping("policy"))
        policy, known = Policy.from_saved(settings), Knowledge.from_dict(saved.mapping("knowledge"))
        known = with_former_prior(known, prior, settings.get("moments"))
        kind = FeaturesLearner if isinstance(policy, LinearPolicy) else ArmsLearner
        return cls.around(kind.from_parts({**parts, "policy": policy, "knowledge": known}))

    @classmethod
    def around(cls, learner: Learner, lock: threading.RLock | None = None) -> Self:
        """Make an agent from its learner; for code that keeps learners rather than agents.

        Parameters
        ----------
        learner
            The learner, which from then on only this agent may use.
        lock
            The lock that the agent holds while it uses the learner; its own by default.

        Examples
        --------
        >>> import meanbounds as mb
        >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.3], [0.9, 0.8]), seed=7)
        >>> mb.Agent.around(agent.inside).pull()
        0
        """
        agent = cls.__new__(cls)
        agent._learner = learner
        agent._lock = threading.RLock() if lock is None else lock
        return agent

    def __reduce__(self) -> tuple[Any, ...]:
        own = {name: value for name, value in self.__dict__.items() if name not in ("_learner", "_lock")}
        with self._lock:
            kind, parts = type(self._learner), self._learner.parts()
        return _made, (type(self), kind, parts), own or None

    @property
    def inside(self) -> Learner:
        """The learner, which holds the state and decides; for code that stores agents in another form."""
        return self._learner

    def __repr__(self) -> str:
        return f"Agent({self.policy!r}, {len(self.bounds)} arms, {self._learner.updates} updates)"

    def _with_features(self, what: str) -> FeaturesLearner:
        if not isinstance(self._learner, FeaturesLearner):
            raise TypeError(f"{what} is for policies that learn from features such as mb.ROFUL(), not {self.policy}")
        return self._learner


def _made(kind: type[Agent], learner: type[Learner], parts: Mapping[str, Any]) -> Agent:
    """The agent of which `Agent.__reduce__` took the parts."""
    return kind.around(learner.from_parts(parts))
