"""What a policy is: a function from what is known and what was seen to scores, of which the largest is played."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from meanbounds.knowledge import Knowledge
from meanbounds.known import Known, Seen
from meanbounds.policies.promise import Promise
from meanbounds.support.checks import as_mapping, shown, unknown
from meanbounds.support.saving import Saved
from meanbounds.support.streams import Draws
from meanbounds.support.types import Booleans, Floats, Integers

__all__ = ["DEFAULT", "EXPLORATION", "Described", "Exploration", "IndexPolicy", "Policy", "chances", "choose"]

Exploration = str | Callable[[Floats], Floats]
"""How fast exploration grows: a name in `EXPLORATION`, or a function of the round."""

# To change a default, add a name and set it in the class, as OptimisticGittins does. Do not edit a function here: its
# name is saved in files, and theorems check it.
DEFAULT = "1 + t log(t)^2"
EXPLORATION: dict[str, Callable[[Floats], Floats]] = {
    DEFAULT: lambda t: 1.0 + t * np.log(t) ** 2,
    "t": lambda t: t,
    "t + 100": lambda t: t + 100.0,
    "t + 1000": lambda t: t + 1000.0,
    "t log(t)^3": lambda t: np.maximum(1.0, t * np.log(t) ** 3),
}
"""Functions f(t) by name: the paper's, KL-UCB's, two that explore more in the first rounds, and OSSB's."""

_ROUNDS = np.concatenate([np.arange(1.0, 9.0), 10.0 ** np.arange(1, 10)])  # at which a function f is tried
_TIE = 1e-12  # scores closer than this, relative to their size, are equal

Cache = dict[str, Any]


@dataclass(frozen=True)
class Described(Saved):
    """Base of all policies, with features or without: the class and its parameters describe the object."""

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Refuse a class whose annotations are not parameters, since nothing made it a dataclass."""
        own = [name for name, kind in inspect.get_annotations(cls).items() if "ClassVar" not in str(kind)]
        if own and "__dataclass_fields__" not in vars(cls):
            raise TypeError(f"{cls.__name__}.{own[0]} is no parameter yet: decorate with @dataclass(frozen=True)")
        return super().__new__(cls)

    def __repr__(self) -> str:
        given = [
            f"{field.name}={value.__name__ if callable(value) else repr(value)}"
            for field in dataclasses.fields(self)
            if (value := getattr(self, field.name)) != field.default
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def __str__(self) -> str:
        return Described.__repr__(self).removesuffix("()")

    def to_dict(self) -> dict[str, Any]:
        """The policy's class and parameters, in values that JSON can hold.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.GLUE(f="t").to_dict()
        {'policy': 'GLUE', 'f': 't'}
        """
        kind = type(self)
        name = kind.__name__ if kind.__module__.startswith("meanbounds.") else f"{kind.__module__}:{kind.__qualname__}"
        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        try:
            return {"policy": name, **{field: _plain(value) for field, value in given.items()}}
        except TypeError:
            raise ValueError(
                f"{self!r} cannot be saved: parameters must be texts, numbers, tuples of these, or policies"
            ) from None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the policy that `to_dict` described.

        A policy of your own is found by its module and name, which must have been imported before: reading a file never
        imports anything.
        """
        data = dict(as_mapping("a saved policy", data))
        kinds = _kinds(Described)
        name = data.pop("policy", None)
        if not (isinstance(name, str) and name in kinds):
            how = "define it in this script" if "__main__:" in str(name) else "import the module that defines it"
            hint = f" ({how} first)" if ":" in str(name) else ""
            raise ValueError(unknown("policy", name, list(_kinds(cls)) or [cls.__name__]) + hint)
        kind: Any = kinds[name]
        fields = [field.name for field in dataclasses.fields(kind)]
        if not issubclass(kind, cls) or not set(data) <= set(fields):
            raise ValueError(f"a saved {name} has the parameters {', '.join(fields)}; got {sorted(data)}")
        return kind(**{field: _parameter(value) for field, value in data.items()})


def check_no_name(policy: object, base: type[Described] = Described) -> None:
    """Refuse the name of a policy, with the policy that was meant."""
    if isinstance(policy, str):
        names, given = {name.lower(): name for name in _kinds(base) if ":" not in name}, policy.lower()
        close = [given] if given in names else [name for name in names if given in name]
        close = close or difflib.get_close_matches(given, names, n=1)
        hint = f"did you mean mb.{names[close[0]]}()?" if close else "docs/which_policy.md lists them"
        raise TypeError(f"a policy is an object, not a name; got {shown(policy)}; {hint}")


def _plain(value: Any) -> Any:
    """A parameter in values that JSON can hold."""
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Described):
        return value.to_dict()
    if isinstance(value, Promise):
        return {"promise": value.to_dict()}
    if not isinstance(value, str | int | float | bool):
        raise TypeError
    return value


def _parameter(value: Any) -> Any:
    """The parameter that `_plain` wrote."""
    if isinstance(value, Mapping):
        return Promise.from_dict(value["promise"]) if "promise" in value else Described.from_dict(value)
    return tuple(map(_parameter, value)) if isinstance(value, list) else value


@dataclass(frozen=True, repr=False)
class Policy(Described):
    """Base of all policies for arms without features. The same object serves an `Agent` and `simulate`.

    A policy is a frozen dataclass with one method, `scores`, over arrays of shape (rows, arms): the rows are the runs
    of a simulation or the contexts of an agent. The arm with the largest score is played. Equal scores (to a relative
    1e-12) are decided by the larger clipped mean, then at random.

    Parameters
    ----------
    f
        How fast exploration grows with the round t: a name in `EXPLORATION`, or a function from an array of rounds to
        an array of values, each at least 1 and never falling.

    Examples
    --------
    A policy of your own: epsilon-greedy that skips what its bounds exclude.

    >>> import numpy as np
    >>> import meanbounds as mb
    >>> @dataclass(frozen=True)
    ... class EpsilonGreedy(mb.policies.Policy):
    ...     epsilon: float = 0.1
    ...
    ...     def probabilities(self, known, seen, t, cache=None):
    ...         known = known.without_doubted  # takes no notice of bounds that may be wrong
    ...         means = np.where(known.possible, seen.clipped_mean(known), -np.inf)
    ...         greedy = mb.policies.share_of_largest(means)
    ...         spread = known.possible / known.possible.sum(1, keepdims=True)
    ...         return (1 - self.epsilon) * greedy + self.epsilon * spread
    >>> agent = mb.Agent(EpsilonGreedy(), mb.MeanBounds([0.6, 0.1, 0.1], [0.9, 0.5, 0.8]), seed=7)
    >>> agent.probabilities()
    array([0.95, 0.  , 0.05])
    """

    uses_bounds: ClassVar[bool] = True  # False for a policy that must see ranges only
    takes_prior: ClassVar[bool] = False  # whether a `Prior` changes anything
    learns_prior: ClassVar[bool] = False  # whether `Prior.learned` changes anything
    may_fall: ClassVar[bool] = False  # whether the level may fall, as it does where the last round is known
    counts_pending: ClassVar[bool] = False  # whether pulls without a reward count by default

    f: Exploration = field(default=DEFAULT, kw_only=True)

    def __post_init__(self) -> None:
        kind = type(self)
        if kind.scores is Policy.scores and kind.probabilities is Policy.probabilities:
            raise TypeError(f"{kind.__name__} must define scores or probabilities; see mb.policies.Policy")
        if not callable(self.f) and self.f not in EXPLORATION:
            raise ValueError(
                f"unknown f {shown(self.f)}; give a function of the round or one of {', '.join(map(repr, EXPLORATION))}"
            )
        try:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                values = np.asarray(self.log_f(_ROUNDS), dtype=np.float64)
                if values.shape != _ROUNDS.shape:
                    raise ValueError(f"{_ROUNDS.size} rounds gave the shape {values.shape}")
                rises = self.may_fall | (np.diff(values, prepend=0.0) >= 0.0)
                f, wrong = np.exp(values), ~(np.isfinite(values) & (values >= 0.0) & rises)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"f gets an array of rounds: use np.log, not math.log, in {shown(self.f)} ({error})"
            ) from None
        if wrong.any():
            own = shown(self.f) if type(self).log_f is Policy.log_f else f"{type(self).__name__}.log_f"
            k = int(wrong.argmax())
            pairs = ", ".join(f"f({_ROUNDS[j]:g}) = {f[j]:.4g}" for j in range(max(k - 1, 0), k + 1))
            raise ValueError(
                f"f must be at least 1, finite and never fall; got {own}, with {pairs}. The level is log f(t), so "
                f'f="t" gives log t; np.maximum(1.0, ...) lifts what is below 1'
            )

    def log_f(self, t: Floats) -> Floats:
        """``log f(t)`` of these rounds, counted from 1."""
        function = EXPLORATION[self.f] if isinstance(self.f, str) else self.f
        return np.log(function(t))

    def scores(
        self, known: Known, seen: Seen, t: Floats, draws: Draws, cache: Cache | None = None
    ) -> Floats | tuple[Floats, Floats]:
        """The score of each arm, the largest of which is played; minus infinity for one that must not be played.

        A policy that is given by its `probabilities` need not define this method: it draws from them.

        Parameters
        ----------
        known, seen
            What is known of the arms and what was seen of them.
        t
            The round, counted from 1: one for each row, or one for all.
        draws
            Random numbers for policies that need them.
        cache
            A dictionary of the policy's own, which lives as long as the rows do; None or empty at first. A policy
            decides the same with it and without.

        Returns
        -------
        The scores, shape (rows, arms). If ties are not to be broken by clipped means: a pair of the scores and the
        numbers that break ties.
        """
        chance = self.checked_probabilities(known, seen, t, cache)
        below = np.cumsum(chance, axis=1)
        drawn = (draws.one()[:, None] * below[:, -1:] >= below).sum(axis=1)
        scores = np.full(chance.shape, -np.inf)
        scores[np.arange(len(drawn)), drawn] = 0.0
        return scores

    def probabilities(self, known: Known, seen: Seen, t: Floats, cache: Cache | None = None) -> Floats:
        """The probability of each arm to be played, shape (rows, arms).

        A policy whose scores use no draws need not define this method.
        """
        return chances(self, known, seen, t, cache)

    def checked_probabilities(self, known: Known, seen: Seen, t: Floats, cache: Cache | None = None) -> Floats:
        """The `probabilities`; refused by the policy's name if they are none."""
        chance = _fitted(self, "probabilities", self.probabilities(known, seen, t, cache), seen)
        if not (chance.min() >= 0.0 and np.abs(chance.sum(axis=1) - 1.0).max() < 1e-6):
            raise ValueError(f"{self}: probabilities must be at least 0 and sum to 1 in each row; got {shown(chance)}")
        return chance

    def decided(
        self, known: Known, seen: Seen, t: Floats, draws: Draws, cache: Cache | None = None
    ) -> tuple[Integers, Floats]:
        """The arm that `choose` plays in each row, and the `probabilities`, with one look at the scores if possible."""
        if type(self).probabilities is not Policy.probabilities:
            return choose(self, known, seen, t, draws, cache), self.checked_probabilities(known, seen, t, cache)
        tied = _tied(self, known, seen, t, draws, cache)
        return _one_of(tied, draws), tied / tied.sum(axis=1, keepdims=True)

    def playable(self, known: Known, seen: Seen) -> Booleans:
        """Which arms a floor on probabilities may play; by default all that bounds do not exclude for certain."""
        return known.without_doubted.possible

    def check_known(self, knowledge: Knowledge) -> None:
        """Refuse a prior that the policy would ignore."""
        prior = knowledge.prior
        if prior is not None and not (self.learns_prior if prior.is_learned else self.takes_prior):
            kind = "a prior that is learned" if prior.is_learned else "a prior"
            raise ValueError(
                f"{self} makes no use of {kind}: leave it out, or take a policy that does, such as "
                f"mb.ThompsonSampling()"
            )

    def score_size(self, known: Known) -> float:
        """The size of the numbers that scores are, which says what is a tie: that of the rewards by default."""
        return known.scale


def _kinds(base: type) -> dict[str, type]:
    """All subclasses that were imported, by the names that `Policy.to_dict` gives them, without abstract ones."""
    for package in ("meanbounds.policies", "meanbounds.linear"):
        importlib.import_module(package)
    found: dict[str, type] = {}
    subclasses: list[type] = base.__subclasses__()
    for kind in subclasses:
        own = kind.__module__.startswith("meanbounds.")
        if not (own and kind.__name__.endswith("Policy")):
            found[kind.__name__ if own else f"{kind.__module__}:{kind.__qualname__}"] = kind
        found |= _kinds(kind)
    return found


class IndexPolicy(Policy):
    """A policy that plays the arm with the largest index: a number for each arm from what was seen of it alone.

    A subclass defines `index`. Bounds that may be wrong are treated by one rule: a mean outside its bounds costs
    ``log N = -log(1 - trust)``, so the index is the larger of the one with bounds at the level log f(t), and the one
    without them at the level log f(t) - log N.
    """

    @abstractmethod
    def index(self, known: Known, seen: Seen, level: Floats) -> Floats:
        """The index of each arm, in reward units; minus infinity for one that must not be played.

        Parameters
        ----------
        known, seen
            What is known of the arms and what was seen of them.
        level
            ``log f(t)``, which broadcasts to (rows, arms).
        """

    def scores(
        self,
        known: Known,
        seen: Seen,
        t: Floats,
        draws: Draws | None = None,
        cache: Cache | None = None,
    ) -> Floats | tuple[Floats, Floats]:
        """The index of each arm, and the larger index without its bounds where these may be wrong."""
        level = self.log_f(t)[:, None]
        index = self.index(known, seen, level)
        if known.log_n is None:
            return index
        means, bare = seen.clipped_mean(known), known.without_doubted
        index, freed = np.where(bare.possible, index, -np.inf), index_of_doubted(self, known, seen, level)
        return np.maximum(index, freed), np.where(freed > index, seen.clipped_mean(bare), means)


def index_of_doubted(policy: IndexPolicy, known: Known, seen: Seen, level: Floats) -> Floats:
    """The index of each arm without the bounds that may be wrong, at a level less what that doubt costs."""
    bare = known.without_doubted
    assert known.log_n is not None
    # An arm may also be left out because of what another arm's bounds say: least is the price of the first doubt.
    least = np.where(bare.possible, known.log_n, np.inf).min(axis=1, keepdims=True)
    own, others = (
        np.where(level > price, policy.index(bare, seen, np.maximum(level - price, 0.0)), -np.inf)
        for price in (known.log_n, least)
    )
    return np.maximum(own, np.where(least < known.log_n, np.minimum(known.upper, others), -np.inf))


def choose(policy: Policy, known: Known, seen: Seen, t: Floats, draws: Draws, cache: Cache | None = None) -> Integers:
    """The arm that the policy plays in each row: the largest score, then the largest clipped mean, then at random."""
    return _one_of(_tied(policy, known, seen, t, draws, cache), draws)


def _one_of(tied: Booleans, draws: Draws) -> Integers:
    """One of the arms in each row, at random."""
    if np.count_nonzero(tied) == len(tied):
        return tied.argmax(axis=1)
    skip = (draws.one() * tied.sum(axis=1)).astype(np.int64)
    return (tied.cumsum(axis=1) == skip[:, None] + 1).argmax(axis=1)


def chances(policy: Policy, known: Known, seen: Seen, t: Floats, cache: Cache | None = None) -> Floats:
    """The probability with which `choose` plays each arm, for a policy whose scores use no draws."""
    draws = NoDraws("the scores of this policy use draws, so it must define probabilities")
    tied = _tied(policy, known, seen, t, draws, cache)
    return tied / tied.sum(axis=1, keepdims=True)


def _tied(policy: Policy, known: Known, seen: Seen, t: Floats, draws: Draws, cache: Cache | None) -> Any:
    """The arms of which one is played at random."""
    known = known if policy.uses_bounds else known.vacuous
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = policy.scores(known, seen, t, draws, cache)
        scores, means = found if isinstance(found, tuple) else (found, None)
        scores = _fitted(policy, "scores", scores, seen)
        scores = scores if known.eligible is None else np.where(known.eligible, scores, -np.inf)
        tied = _largest(scores, policy.score_size(known), policy)
        if np.count_nonzero(tied) == len(tied):
            return tied
        means = np.where(tied, seen.clipped_mean(known) if means is None else means, -np.inf)
        return tied & (means >= means.max(axis=1, keepdims=True) - _TIE * known.scale)


def share_of_largest(values: Floats) -> Floats:
    """A table with 1 at the largest value of each row, shared equally where several are largest.

    Examples
    --------
    >>> share_of_largest(np.array([[0.2, 0.7, 0.7]]))
    array([[0. , 0.5, 0.5]])
    """
    tied = _largest(values, 1.0)
    return tied / tied.sum(axis=1, keepdims=True)


class NoDraws(Draws):
    """Draws for a policy that has to decide without: using them raises a TypeError with this message."""

    def __init__(self, message: str) -> None:
        self._message = message

    def one(self) -> Floats:
        raise TypeError(self._message)

    def table(self, columns: int) -> Floats:
        raise TypeError(self._message)

    def coin(self) -> Floats:
        raise TypeError(self._message)


def _fitted(policy: Policy, what: str, values: Any, seen: Seen) -> Floats:
    """What a policy returned, as an array of shape (rows, arms)."""
    shape = seen.plays.shape
    if getattr(values, "shape", None) == shape:
        return values
    try:
        values = np.asarray(values, dtype=np.float64)
        return np.broadcast_to(values, np.broadcast_shapes(values.shape, shape))
    except (ValueError, TypeError):
        raise ValueError(
            f"{policy}: {what} must be an array with a number for each row and arm, of the shape {shape}; got "
            f"{shown(values)}"
        ) from None


def _largest(scores: Floats, size: float, policy: Policy | None = None) -> Any:
    best = scores.max(axis=1, keepdims=True)
    if not (best > -np.inf).all():
        raise ValueError(
            f"{policy or 'a policy'} gave a score of NaN, or only scores of minus infinity. The mean of an arm without "
            f"rewards is NaN: np.fmin(known.upper, index) takes its upper bound instead"
        )
    return scores >= best - _TIE * size
