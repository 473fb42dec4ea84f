"""The agent for arms with features, and candidates: arms that it has not seen before."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from math import log
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from meanbounds.bounds import Arm, BoundsError, MeanBounds, share_of_range
from meanbounds.evidence.contradictions import ERROR, Contradiction, ContradictionWarning, Watch, read_found
from meanbounds.evidence.processes import check_error
from meanbounds.knowledge import Knowledge
from meanbounds.known import Known, Seen
from meanbounds.linear.arms import LinearArms
from meanbounds.linear.feasible import Extent
from meanbounds.linear.oful import OFUL, Allowed, LinearPolicy, LinearState, Offer, extent_of, without_bounds
from meanbounds.policies.base import check_no_name
from meanbounds.support.checks import as_flag, as_list, as_whole, shown
from meanbounds.support.decisions import BaseAgent, Decision, Excluded
from meanbounds.support.entries import Entries
from meanbounds.support.streams import Draws, Seed, stream, uniform
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["Candidate", "LinearAgent", "Together"]

_FORMAT = 1
_REMEMBERED = 1024  # candidates after which their bounds are forgotten
_CLOSE = 1e-6  # of the largest mean that the norm allows: as near to its bound is a mean that holds others back
_ENDS = ("lower", "upper", "low", "high")
_GIVEN = ("linear_agent", "policy", "known", "features", "offset", "seed", "floor", "retired", "decisions", "updates")
_LEARNED = ("seen", "pending", "candidates", "precision", "moment", "gains", "points", "contradicted", "warned")


@dataclass(frozen=True)
class Candidate:
    """An arm that an agent has not seen before, on offer for one decision.

    Parameters
    ----------
    name
        A text or a whole number.
    features
        One number for each feature.
    lower, upper
        Bounds on its mean in reward units, offset included; by default the ends of its range. They are combined with
        the bounds that follow from those of the agent's arms.
    offset
        The known part of its mean.
    low, high
        The range of its rewards.

    Examples
    --------
    >>> import meanbounds as mb
    >>> film = mb.Candidate("new film", [0.6, 0.8], upper=0.7)
    >>> agent = mb.LinearAgent(mb.ROFUL(), mb.MeanBounds([0.2], [0.3], arms=["old"]), [[0.5, 0.0]], seed=7)
    >>> agent.pull(["old", film]) == film
    True
    """

    name: Arm
    features: Sequence[float]
    lower: float | None = None
    upper: float | None = None
    offset: float = 0.0
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        arms = _pool([self])
        object.__setattr__(self, "features", tuple(arms.features[0].tolist()))


def _pool(candidates: list[Candidate]) -> LinearArms:
    """Candidates as arms."""
    lower = [one.low if one.lower is None else one.lower for one in candidates]
    upper = [one.high if one.upper is None else one.upper for one in candidates]
    low, high, names = zip(*((one.low, one.high, one.name) for one in candidates), strict=True)
    bounds = MeanBounds(lower, upper, arms=names, low=low, high=high)
    return LinearArms([one.features for one in candidates], bounds, offset=[one.offset for one in candidates])


@dataclass(frozen=True)
class Together(Contradiction):
    """The bound against which most was won, where all rewards contradict all bounds of a `LinearAgent` together.

    It is wrong, or one of those that it follows from, or ``norm_high`` is too small. `log_e` is that of all bets, see
    `LinearState.bet`; `follows_from` names the arms whose bounds imply this one, and is empty if it was given.
    """

    follows_from: tuple[Arm, ...] = ()

    def __str__(self) -> str:
        rest = f", which follows from the bounds of {', '.join(map(repr, self.follows_from[:5]))}"
        return f"with all other rewards, {super().__str__()}{rest if self.follows_from else ''}"


class LinearAgent(BaseAgent):
    """Chooses an arm with `pull` and learns from its reward with `update`, where arms have features.

    Parameters
    ----------
    policy
        How to decide: `OFUL`, `ROFUL` or `LinearThompson`.
    known
        What is known of the arms: `MeanBounds` or `Knowledge`.
    features
        A row for each arm.
    offset
        The known part of each arm's mean in reward units: one number or one for each arm.
    seed
        Whole number, numpy Generator or None. An agent decides as run 0 of `simulate` with this seed.
    floor
        The least probability of each eligible arm that its bounds do not exclude, such as 0.01; see `Agent`.

    Notes
    -----
    Rewards are looked at in two ways, with half of an error of 1% for each: an arm's own rewards against its own
    bounds, and all rewards against all bounds together. Bounds that they contradict are warned of once.

    Threads may share an agent; see `Agent`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.3, 0.2, 0.1], [0.8, 0.7, 0.9], arms=["a", "b", "c"])
    >>> agent = mb.LinearAgent(mb.ROFUL(), bounds, [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], seed=7)
    >>> agent.pull(["a", "c"])
    'c'
    >>> agent.update("c", 1.0)
    >>> agent.estimate.round(2)
    array([0.3, 0.4])
    """

    _state: LinearState

    def __init__(
        self,
        policy: LinearPolicy,
        known: MeanBounds | Knowledge,
        features: ArrayLike,
        *,
        offset: ArrayLike = 0.0,
        seed: Seed = None,
        floor: float = 0.0,
    ) -> None:
        check_no_name(policy, LinearPolicy)
        self._begin(policy, isinstance(policy, LinearPolicy), "for features, such as mb.ROFUL()", seed, floor)
        self._decisions = 0
        self._draws, self._floor = (stream(self.seed, 0, purpose) for purpose in ("policy", "floor"))
        self._waiting: Counter[Any] = Counter()  # pulls without a reward, of arms by name and of candidates
        self._watch = Watch(1, ERROR / 2.0)
        self._know(Knowledge.of(known), features, offset)
        self._seen, self._retired = np.zeros((3, len(self.arms))), np.zeros(len(self.arms), dtype=np.bool_)

    def _know(self, known: Knowledge, features: ArrayLike, offset: ArrayLike) -> None:
        """Go by this knowledge."""
        self._state = self.policy.start(LinearArms(features, known.bounds, offset=offset), 1, known)
        if self._state.allowed[0].feasible is not None and self._state.gains is None:
            self._state.gains = np.zeros((1, 2, len(known.bounds)))
        self._known, self._row = known, Known.of([known]).row(0)
        self._position = {arm: k for k, arm in enumerate(known.bounds.arms)}
        self._extents: dict[Candidate, list[Extent]] = {}

    def pull(self, eligible: Iterable[Arm | Candidate] | None = None) -> Any:
        """Choose an arm: its name, or the `Candidate`.

        Of the `eligible` arms, all by default, some may be new. Those that are retired are left out. Only the bounds of
        the rest exclude arms.
        """
        with self._lock:
            arm = self._choose(eligible)[0]
            self._count(arm)
            return arm

    def decide(self, eligible: Iterable[Arm | Candidate] | None = None) -> Decision:
        """Choose an arm as `pull` does, and return it with its probability and the reason; see `Decision`."""
        with self._lock:
            decision = self.propose(eligible)
            self._count(decision.arm)
            return decision

    def propose(self, eligible: Iterable[Arm | Candidate] | None = None) -> Decision:
        """What `decide` would return, without counting a pull; `play` says that the arm was played."""
        with self._lock:
            arm, k, reason, asked = self._choose(eligible)
            return Decision(None, arm, self._chances(*asked).item(k), reason)

    def play(self, arm: Arm | Candidate) -> None:
        """Count a pull of this arm, which `propose` chose."""
        with self._lock:
            self._place(arm)
            self._count(arm)

    def _choose(self, eligible: Iterable[Arm | Candidate] | None) -> tuple[Any, int, str, Any]:
        """An arm, its place on offer, why it is chosen, and what `_chances` takes."""
        arms, state, offered = self._ask(eligible)
        draws, reason = Draws(self._draws, self._decisions), "policy" if len(arms) > 1 else "only option"
        weights, floored = self.policy.weights(state, offered, draws), None
        if self.floor:
            kept = np.flatnonzero(self._spread(state.allowed[-1].kept(offered)[0]))
            place = int(uniform(self._floor, self._decisions)[0] / self.floor)
            floored = int(kept[place]) if place < kept.size else None
        k = int(self.policy.pick(weights, 1, draws)[0]) if floored is None else floored
        if state.contradictions[0] and "empty" not in self._warned:
            self._warn_of_empty()
        return arms[k], k, reason if floored is None else "floor", (state, offered, weights)

    def _count(self, arm: Arm | Candidate) -> None:
        """Count a pull."""
        self._waiting[arm] += 1
        self._decisions += 1

    def probabilities(self, eligible: Iterable[Arm | Candidate] | None = None) -> Floats:
        """The probability with which the next `pull` takes each arm; the agent stays as it is.

        One number for each of the agent's arms; if a candidate is on offer, one for each arm on offer, in that order.
        """
        with self._lock:
            given = None if eligible is None else as_list("eligible", eligible)
            arms, state, offered = self._ask(given, aside=True)
            weights = self.policy.weights(state, offered, Draws(self._draws, self._decisions))
            return self._in_order(given, arms, self._chances(state, offered, weights), 0.0)

    def indices(self, eligible: Iterable[Arm | Candidate] | None = None) -> Floats:
        """The index of each arm, of which `pull` takes the largest; minus infinity for an arm that it would not take.

        Candidates as in `probabilities`. If bounds may be wrong, those indices by which more decisions are made.
        """
        if not isinstance(self.policy, OFUL):
            raise TypeError(f"{self.policy} decides by draws, not by an index; see probabilities()")
        with self._lock:
            given = None if eligible is None else as_list("eligible", eligible)
            arms, state, offered = self._ask(given, aside=True)
            allowed = state.allowed[int(state.doubt.max() > 0.5)]
            offer = Offer(offered, allowed.kept(offered), allowed)
            scores = np.where(offer.kept, self.policy.scores(state, offer, every=True), -np.inf)[0]
            return self._in_order(given, arms, scores, -np.inf)

    def _ask(
        self, eligible: Iterable[Arm | Candidate] | None, aside: bool = False
    ) -> tuple[list[Any], LinearState, Integers]:
        """The arms on offer, known ones first, the state to decide by, and their positions in it.

        Whatever a policy writes to a state that is put `aside` has no effect on later decisions.
        """
        given = self.arms if eligible is None else as_list("eligible", eligible)
        try:
            places = [*dict.fromkeys(map(self._position.__getitem__, given))]
        except (KeyError, TypeError):
            places = [*dict.fromkeys(map(self._place, given))]
        new = [*dict.fromkeys(arm for arm in given if isinstance(arm, Candidate))] if -1 in places else []
        if new or np.count_nonzero(self._retired):
            places = [k for k in places if k >= 0 and not self._retired[k]]
        if not places and not new:
            why = "no eligible arm is left: all are retired; see restore()" if given else "eligible is empty"
            raise ValueError(f"{why}, so there is no arm to choose from")
        names, state, offered = self.arms, self._state, np.array(places, dtype=np.int64)
        arms: list[Any] = [names[k] for k in places]
        if aside:
            state = copy(state)
            state.contradictions = state.contradictions.copy()
            state.allowed = [replace(way, memory=dict(way.memory)) for way in state.allowed]
        if new:
            self._solve(new)
            ways = []
            for number, way in enumerate(state.allowed):
                parts = [Extent._make(part[offered] for part in way.extent)]
                parts += [self._extents[arm][number] for arm in new]
                joined = Extent._make(map(np.concatenate, zip(*parts, strict=True)))
                ways.append(Allowed(joined, way.feasible, way.norm_high, way.memory))
            arms, state = [*arms, *new], state.among(ways)
            return arms, state, state.everything
        return arms, state, offered[None]

    def _place(self, arm: Any) -> int:
        """The position of an arm; -1 for a candidate."""
        try:
            return self._position[arm]
        except (KeyError, TypeError):
            return -1 if isinstance(arm, Candidate) else self._known.bounds.position(arm)  # raises

    def _solve(self, candidates: list[Candidate]) -> None:
        """Find out what the bounds say of candidates, for each of the ways to go by bounds."""
        if len(self._extents) > _REMEMBERED:
            self._extents.clear()
        fresh, dimension = [arm for arm in candidates if arm not in self._extents], self._state.features.shape[1]
        if not fresh:
            return
        for arm in fresh:
            if len(arm.features) != dimension:
                raise ValueError(f"candidate {arm.name!r} has {len(arm.features)} features; give {dimension}")
        arms = _pool(fresh)
        self.policy.check_scale(float(arms.length.max()))
        ways = zip((arms, without_bounds(arms, arms.length >= 0.0)), self._state.allowed, strict=False)
        found = [extent_of(own, way.feasible) for own, way in ways]
        for k, arm in enumerate(fresh):
            self._extents[arm] = [Extent._make(part[k : k + 1] for part in extent) for extent in found]

    def _in_order(self, given: Any, arms: list[Any], values: Floats, rest: float) -> Floats:
        """Values of the arms on offer, for all arms; if there are candidates, in the order given."""
        if isinstance(arms[-1], Candidate):
            found = dict(zip(arms, values.tolist(), strict=True))
            return np.array([found[arm] for arm in dict.fromkeys(given) if arm in found])
        every = np.full(len(self.arms), rest)
        every[[self._position[arm] for arm in arms]] = values
        return every

    def _chances(self, state: LinearState, offered: Integers, weights: Floats | Booleans) -> Floats:
        """Probabilities of the arms on offer."""
        chances: Floats = weights[0] / weights[0].sum()
        if self.floor:
            kept = self._spread(state.allowed[-1].kept(offered)[0])
            chances = chances * (1.0 - self.floor * np.count_nonzero(kept)) + self.floor * kept
        return chances

    def update(self, arm: Arm | Candidate, reward: float, *, pulled: bool = True) -> None:
        """Tell the agent a reward. Rewards may come late and in any order.

        Warns once of each bound that the rewards contradict, see `contradictions`. Give ``pulled=False`` for a reward
        of an arm that this agent did not choose, see `Agent.update`.
        """
        with self._lock:
            k, state, bounds = self._place(arm), self._state, self._known.bounds
            new = arm if isinstance(arm, Candidate) else None
            name = bounds.arms[k] if new is None else new.name
            low, high = (bounds.low.item(k), bounds.high.item(k)) if new is None else (new.low, new.high)
            x, value = share_of_range(name, reward, low, high), float(reward)
            answered = as_flag("pulled", pulled) and self._waiting[arm] > 0
            if pulled and not answered:
                self._warn_unasked(name)
            if new is None:
                plays, total, squares = self._seen[:, k].tolist()
                plays, total, squares = sums = plays + 1.0, total + x, squares + x * x
                found = self._watch.look(self._row, 0, k, plays, total, squares, float(self._waiting[arm] - answered))
                if found is not None:
                    warnings.warn(ContradictionWarning(found.named(name)), stacklevel=2)
                self._seen[:, k] = sums
                self.policy.learn(state, np.array([k]), np.array([value]))
            else:
                self._learn_of(new, value)
            if answered:
                self._answer(arm)
            for one in [] if "together" in self._warned else self._together(ERROR / 2.0):
                self._warned.add("together")
                warnings.warn(ContradictionWarning(one), stacklevel=2)

    def _learn_of(self, arm: Candidate, value: float) -> None:
        """Take in the reward of a candidate."""
        try:
            self._solve([arm])
            extent = self._extents[arm][-1]
        except BoundsError:  # the agent's arms have changed since it was pulled
            extent = extent_of(_pool([arm]), None)
        worst = float(self._known.bounds.worst_variance_proxy.max())
        weight = self.policy.weight(extent, np.array([arm.low]), np.array([arm.high]), worst)
        self._state.add(extent.features, np.array([value - arm.offset]), weight)

    def cancel(self, arm: Arm | Candidate) -> None:
        """Give up one pull of this arm that waits for a reward, which will never come."""
        with self._lock:
            self._place(arm)
            if not self._waiting[arm]:
                raise ValueError(f"no pull of arm {arm!r} waits for a reward")
            self._answer(arm)

    def _answer(self, arm: Arm | Candidate) -> None:
        """One pull of this arm waits no longer."""
        self._waiting[arm] -= 1
        if not self._waiting[arm]:
            del self._waiting[arm]

    def add(self, known: MeanBounds, features: ArrayLike, offset: ArrayLike = 0.0) -> None:
        """Offer more arms: these bounds name them, and are certain; with a row of features for each."""
        with self._lock:
            more, old, state = LinearArms(features, known, offset=offset), self._known, self._state
            if old.prior is not None:
                raise ValueError("this agent has a prior on its arms; new ones can be offered as candidates")
            ends = {end: np.append(getattr(old.bounds, end), getattr(known, end)) for end in _ENDS}
            trust = np.append(np.broadcast_to(old.trust, len(old.bounds)), np.ones(len(known)))
            bounds = MeanBounds(**ends, arms=[*old.bounds.arms, *known.arms])
            given = Knowledge(bounds, trust=trust, assumption=old.assumption)
            self._know(given, np.vstack([state.features, more.features]), np.append(state.offset, more.offset))
            self._state.adopt(state)
            self._seen = np.hstack([self._seen, np.zeros((3, len(known)))])
            self._retired = np.append(self._retired, np.zeros(len(known), dtype=np.bool_))

    def _retire(self, arm: Arm, retired: bool) -> None:
        with self._lock:
            self._retired[self._known.bounds.position(arm)] = retired

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The names of the arms, retired ones included."""
        return self._known.bounds.arms

    @property
    def retired(self) -> tuple[Arm, ...]:
        """The arms that are retired."""
        return tuple(self.arms[k] for k in np.flatnonzero(self._retired))

    @property
    def estimate(self) -> Floats:
        """The parameter as estimated from the rewards so far, without regard to bounds."""
        return self._state.parameter[0].copy()

    @property
    def tight_bounds(self) -> MeanBounds:
        """The bounds on each mean that follow from all bounds together; those given, if the policy ignores bounds."""
        bounds, own = self._known.bounds, self._state.allowed[0]
        if own.feasible is None:
            return bounds
        lower, upper = (np.clip(end, bounds.low, bounds.high) for end in (own.lower, own.upper))
        return MeanBounds(lower, upper, arms=bounds.arms, low=bounds.low, high=bounds.high)

    def knowledge(self) -> Knowledge:
        """What is known of the arms."""
        return self._known

    def plays(self) -> Integers:
        """How many rewards each arm has had."""
        return self._seen[0].astype(np.int64)

    def means(self) -> Floats:
        """The mean reward of each arm; NaN for an arm without rewards."""
        with np.errstate(invalid="ignore"):
            return self._row.low[0] + self._row.width[0] * (self._seen[1] / self._seen[0])

    def pending(self) -> Integers:
        """How many pulls of each arm wait for a reward."""
        return np.array([self._waiting[arm] for arm in self.arms], dtype=np.int64)

    def updates(self) -> int:
        """How many rewards have come, those of candidates included."""
        return self._state.updates

    def excluded(self) -> list[Excluded]:
        """The arms that bounds which are certain exclude; see `Agent.excluded`."""
        with self._lock:
            own, arms = self._state.allowed[-1], np.flatnonzero(~self._retired)
            if not arms.size:
                return []
            best, out = int(arms[own.lower[arms].argmax()]), arms[~own.kept(arms[None])[0]].tolist()
            lower = float(own.lower[best])
            return [Excluded(None, self.arms[k], float(own.upper[k]), self.arms[best], lower) for k in out]

    def contradictions(self, error: float | None = None) -> list[Contradiction]:
        """The bounds that the rewards contradict, those included of which `update` has warned.

        First those that the rewards of their own arm contradict; then, if all rewards together contradict all bounds
        together, that against which most was won: a `Together`. If all bounds hold, one is ever named with probability
        at most `error`, by default that of the warnings, 0.01.
        """
        half = None if error is None else check_error(error) / 2.0
        with self._lock:
            plays, total, squares = self._seen[:, None]
            waiting = self.pending()[None].astype(np.float64)
            own = self._watch.contradictions(self._row, Seen(plays, total, squares, total), waiting, half)
            return [*(one.named(self.arms[int(one.arm)]) for one in own), *self._together(half)]

    def _together(self, error: float | None) -> list[Contradiction]:
        """The bound against which most was won, if all that was won reaches the level, or did so before."""
        state, own = self._state, self._state.allowed[0]
        if state.gains is None or own.feasible is None:
            return []
        log_e, level = float(state.gains.sum()), -log(ERROR / 2.0 if error is None else error)
        if log_e < level and not (error is None and "together" in self._warned):
            return []
        side, k = divmod(int(state.gains[0].argmax()), len(self.arms))
        peak = own.extent.peaks[k] if side else own.feasible.extent(-state.features[k : k + 1]).peaks[0]
        means, near, bounds = state.offset + state.features @ peak, _CLOSE * own.scale, self._known.bounds
        held = (means >= bounds.upper - near) | (means <= bounds.lower + near)
        behind = () if held[k] else tuple(self.arms[j] for j in np.flatnonzero(held))
        bound, plays, mean = (own.upper if side else own.lower).item(k), int(self._seen[0, k]), self.means().item(k)
        return [Together(self.arms[k], "upper" if side else "lower", bound, plays, mean, log_e, follows_from=behind)]

    def _warn_of_empty(self) -> None:
        """Say that no parameter satisfies all that is known, and which arm shows it most."""
        state, own = self._state, self._state.allowed[0]
        assert isinstance(self.policy, OFUL)
        width = self.policy.radius(state)[0] * np.sqrt(np.maximum(state.square[0], 0.0))
        low, high = state.estimate[0] - width, state.estimate[0] + width
        k = int(np.maximum(low - own.upper, own.lower - high).argmax())
        self._warn(
            "empty",
            f"bounds and rewards contradict each other: no parameter lies in the confidence set and satisfies all "
            f"bounds. Arm {self.arms[k]!r} shows it most: its mean is from {low[k]:.4g} to {high[k]:.4g} by the "
            f"rewards, from {own.lower[k]:.4g} to {own.upper[k]:.4g} by the bounds. Check the bounds, norm_high and "
            f"the range of the rewards; until then such decisions are made by the clip index",
            level=5,
        )

    def to_dict(self) -> dict[str, Any]:
        """The whole state, in values that JSON can hold; the agent that `from_dict` makes of it decides the same."""
        with self._lock:
            state = self._state
            state.refresh()  # as `from_dict` does, so that both agents go on with the same numbers
            for way in state.allowed:
                way.memory.pop("axes", None)
            points = [way.memory["points"].tolist() for way in state.allowed if "points" in way.memory]
            candidates = [[asdict(arm), number] for arm, number in self._waiting.items() if isinstance(arm, Candidate)]
            return {
                "linear_agent": _FORMAT,
                "policy": self.policy.to_dict(),
                "known": self._known.to_dict(),
                "features": state.features.tolist(),
                "offset": state.offset.tolist(),
                "seed": self.seed,
                "floor": self.floor,
                "retired": self._retired.tolist(),
                "decisions": self._decisions,
                "updates": state.updates,
                "seen": self._seen.tolist(),
                "pending": self.pending().tolist(),
                "candidates": candidates,
                "precision": state.precision[0].tolist(),
                "moment": state.moment[0].tolist(),
                "gains": [] if state.gains is None else state.gains[0].tolist(),
                "points": points,
                "contradicted": self._watch.to_list(),
                "warned": sorted(self._warned),
            }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the agent that `to_dict` described; everything is checked."""
        if isinstance(data, Mapping) and "agent" in data:
            raise ValueError("this is a saved Agent: use mb.Agent.load")
        saved = Entries("LinearAgent", data, (*_GIVEN, *_LEARNED))
        if saved["linear_agent"] != _FORMAT:
            raise saved.wrong(f"its format is {shown(saved['linear_agent'])}, not {_FORMAT}")
        try:
            policy, known = LinearPolicy.from_dict(saved["policy"]), Knowledge.from_dict(saved["known"])
            own = {name: saved[name] for name in ("offset", "seed", "floor")}
            agent = cls(policy, known, saved["features"], **own)
            waiting = {Candidate(**one): as_whole("candidates", number) for one, number in saved.list("candidates")}
        except (TypeError, ValueError) as error:
            raise saved.wrong(str(error)) from None
        state, (arms, d), ways = agent._state, agent._state.features.shape, agent._state.allowed
        agent._seen, agent._retired = saved.numbers("seen", (3, arms)), saved.wholes("retired", (arms,), most=1) > 0
        plays, total, squares = agent._seen
        slack = 1e-9 * (1.0 + plays)
        fine = (plays >= 0.0) & (plays <= 2.0**53) & (plays == np.floor(plays)) & (total >= 0.0) & (squares >= 0.0)
        fine &= (total <= plays + slack) & (squares <= total + slack)
        if not fine.all():
            raise saved.wrong(f"seen: no rewards in their ranges have the sums {shown(saved['seen'])}")
        agent._waiting.update(waiting | dict(zip(agent.arms, saved.wholes("pending", (arms,)).tolist(), strict=True)))
        agent._decisions, state.updates = saved.whole("decisions"), saved.whole("updates")
        state.precision, state.moment = saved.numbers("precision", (d, d))[None], saved.numbers("moment", (d,))[None]
        rest = state.precision[0] - state.begun[0][0]
        size = np.abs(rest).max()
        if np.abs(rest - rest.T).max() > 1e-12 * size or np.linalg.eigvalsh(rest)[0] < -1e-9 * size:
            raise saved.wrong("precision is not what the policy begins with plus a sum of squares")
        state.refresh()
        if state.gains is not None:
            state.gains[0] = saved.numbers("gains", (2, arms))
        chains = [way for way in ways if way.feasible is not None] if saved.list("points") else []
        points = saved.numbers("points", (len(chains), d, 1, getattr(policy, "draws", 0)))
        for way, point in zip(chains, points, strict=True):
            assert way.feasible is not None
            (rows, ends), unit = way.feasible.needed, point[:, 0] / way.norm_high
            if (rows @ unit > ends[:, None] + _CLOSE).any() or (np.linalg.norm(unit, axis=0) > 1.0 + _CLOSE).any():
                raise saved.wrong("a point does not satisfy the bounds of the arms")
            way.memory["points"] = point
        agent._watch = Watch(1, ERROR / 2.0, read_found(saved, {0}, arms))
        if not all(isinstance(one, str) for one in saved.list("warned")):
            raise saved.wrong(f"warned must hold texts; got {shown(saved['warned'])}")
        agent._warned = set(saved["warned"])
        return agent

    def __repr__(self) -> str:
        return f"LinearAgent({self.policy!r}, {len(self.arms)} arms, {self.updates()} updates)"
