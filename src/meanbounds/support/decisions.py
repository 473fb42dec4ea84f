"""What all agents share, and what they answer: a decision, and an arm that bounds exclude."""

from __future__ import annotations

import copy
import threading
import warnings
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from meanbounds.support.checks import shown, within
from meanbounds.support.saving import Saved
from meanbounds.support.streams import Seed, as_seed
from meanbounds.support.types import Booleans

__all__ = ["BaseAgent", "Decision", "Excluded", "ExpertsSeen"]


class BaseAgent(Saved):
    """Base of the agents: what they are made with, the floor, warnings that are given once, retired arms, pickling."""

    policy: Any
    seed: int
    floor: float

    _fresh: ClassVar[dict[str, Any]] = {"_lock": threading.RLock}  # attributes that are made again, not copied

    def _begin(self, policy: Any, fits: bool, example: str, seed: Seed, floor: float) -> None:
        if not fits:
            hint = f"; did you mean mb.{policy.__name__}()?" if hasattr(policy, "__name__") else ""
            raise TypeError(f"policy must be an object {example}; got {shown(policy)}{hint}")
        least = None if isinstance(floor, bool) else within(floor, 0.0, 1.0)
        if least is None:
            raise ValueError(f"floor must be a probability such as 0.01, or 0 for none; got {shown(floor)}")
        self.policy, self.seed, self.floor = policy, as_seed(seed), least
        self._lock, self._warned = threading.RLock(), set[str]()

    def retire(self, arm: Any) -> None:
        """Stop offering an arm. Late rewards of it still count, its bounds too, and `restore` offers it again."""
        self._retire(arm, True)

    def restore(self, arm: Any) -> None:
        """Offer a retired arm again."""
        self._retire(arm, False)

    @abstractmethod
    def _retire(self, arm: Any, retired: bool) -> None:
        """Retire or restore an arm."""

    def _spread(self, possible: Booleans) -> Booleans:
        """The arms that are drawn with the floor's probability at least, if there are few enough for it."""
        most = 1.0 / np.count_nonzero(possible)
        if self.floor > most:
            raise ValueError(f"floor={self.floor:g} is too large: with this many arms it can be at most {most:.4g}")
        return possible

    def _warn(self, what: str, message: str | Warning, level: int) -> None:
        """Warn once whoever called the agent, so many calls ago."""
        if what not in self._warned:
            self._warned.add(what)
            warnings.warn(message, stacklevel=level)

    def _warn_unasked(self, arm: Any, level: int = 4) -> None:
        self._warn(
            "unasked",
            f"arm {arm!r} got a reward, but no pull of it is waiting for one; if the agent did not choose this arm "
            f"itself, say so with pulled=False",
            level=level,
        )

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:  # and a copy, to which no other thread may write
            return copy.deepcopy({name: value for name, value in vars(self).items() if name not in self._fresh})

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, **{name: make() for name, make in self._fresh.items()})


class Decision(NamedTuple):
    """What an agent decided. Keep it with the reward: then other policies can be evaluated on the decisions later.

    Attributes
    ----------
    context
        Where; None if the agent has no contexts.
    arm
        The arm to play.
    probability
        With which probability the agent played it.
    reason
        ``"policy"``, ``"floor"`` for an arm that was drawn because of the floor, or ``"only option"``. Where experts
        are asked: ``"better"`` if the policy prefers them, ``"guard"`` if a promise does not allow what it prefers,
        ``"ask"`` if they are asked at random, and ``"support"`` if nothing else may be played in the context.

    Examples
    --------
    >>> import meanbounds as mb
    >>> mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.2], [0.9, 0.9], arms=["a", "b"]), seed=7).decide()
    Decision(context=None, arm='a', probability=0.5, reason='policy')
    """

    context: Any
    arm: Any
    probability: float
    reason: str


class ExpertsSeen(NamedTuple):
    """What the experts earned when they were asked, beside what was known of it before, in reward units.

    Attributes
    ----------
    asked
        How often they were asked and the outcome is known.
    mean
        Their mean reward, less the cost of asking; NaN if there is none yet.
    lower, upper
        Limits on their value that hold at all times at once, from these rewards alone.
    before
        The bounds on it, such as those from the log.
    """

    asked: int
    mean: float
    lower: float
    upper: float
    before: tuple[float, float]

    @property
    def changed(self) -> str | None:
        """``"better"`` or ``"worse"`` if they do better or worse than the bounds say, else None."""
        if self.lower > self.before[1]:
            return "better"
        return "worse" if self.upper < self.before[0] else None


class Excluded(NamedTuple):
    """An arm that bounds exclude: its mean is at most `upper`, and that of the arm `better` at least `lower`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.7, 0.2, 0.4], [0.95, 0.9, 0.6], arms=["tPA", "medical", "watch"])
    >>> mb.Agent(mb.GLUE(), bounds, seed=7).excluded()
    [Excluded(context=None, arm='watch', upper=0.6, better='tPA', lower=0.7)]
    """

    context: Any
    arm: Any
    upper: float
    better: Any
    lower: float
