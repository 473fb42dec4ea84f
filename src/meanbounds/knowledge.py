"""Everything known about the arms before the first round, in one object that policies plan from."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from math import expm1, floor, isfinite, log, log2
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.bounds import Arm, BoundsError, MeanBounds
from meanbounds.prior import AnyPrior, Prior, PriorMixture, read_prior
from meanbounds.support import clock
from meanbounds.support.checks import as_float, as_floats, as_mapping, as_whole, shown
from meanbounds.support.saving import Saved
from meanbounds.support.types import Booleans, Floats

__all__ = ["Knowledge"]

_SAVED = ("bounds", "prior", "trust", "assumption", "expires", "half_life")
_STEPS = 32  # for each unit of log N, in which trust that decays is brought up to date


@dataclass(frozen=True, init=False, repr=False)
class Knowledge(Saved):
    """Everything known about the arms' means before the first round: bounds, how far to trust them, and a prior.

    Each function that takes knowledge also takes `MeanBounds` alone, which are then certain.

    Parameters
    ----------
    bounds
        Bounds on the mean of each arm.
    prior
        What you expect of the means, and how many plays that is worth: a `Prior`. By default every mean between the
        bounds is equally likely. Only `ThompsonSampling`, `OptimisticGittins`, `IDS`, `BIMED` and `LinearThompson` can
        use a prior; other policies refuse it. The first three also take a `PriorMixture`: several kinds of means, or
        any density.
    trust
        How probable it is that the bounds of an arm hold, from 0 (they say nothing) to 1 (they are certain, the
        default): one number for all arms, or one for each. Below 1, an arm that its bounds exclude is tried now and
        then, and bounds that rewards contradict are given up; docs/trust.md says what that costs and saves.
    doubt_after
        The same as a number of rounds N, in place of `trust`: 100 means a trust of 0.99, ``1 - 1 / N``. An arm that its
        bounds exclude is first tried after about N rounds; by index policies as soon as f(t) exceeds N, which is
        earlier with the default f.
    assumption
        The name of what all bounds that are not certain rest on, such as "the expert is optimal". They then stand or
        fall together: with those of all arms and, in a `ContextualAgent`, of all contexts whose knowledge names the
        same assumption. By default the bounds of each arm stand alone.
    expires
        When the bounds stop to say anything, because the world may have changed; None for never. Either after how many
        rounds, or on which date: a ``datetime`` with a time zone, a ``date`` (as it begins in UTC), or either as ISO
        text. For an agent, rounds are updates. Rewards that have come are kept. `Agent.replace_bounds` takes fresh
        bounds, which do not expire. Simulations have rounds and no dates.
    half_life
        After how many rounds the probability that the bounds still hold has halved; None if it stays. They cease to
        hold with the same probability in every round, so after t rounds the trust is ``trust * 2 ** (-t / half_life)``.
        Below 3% they are left out. docs/trust.md says what that costs and saves.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.7, 0.2], [0.95, 0.6], arms=["tPA", "medical"])
    >>> mb.Agent(mb.GLUE(), mb.Knowledge(bounds), seed=7).pull()
    'tPA'

    The upper bound of the second arm comes from a small study. In round 100 nobody has tried the arm, and GLUE does:

    >>> known = mb.Knowledge(bounds, trust=[1.0, 0.99])
    >>> agent = mb.Agent(mb.GLUE(), known, seed=7)
    >>> for _ in range(99):
    ...     agent.update("tPA", 0.8)
    >>> agent.pull()
    'medical'
    """

    bounds: MeanBounds
    prior: AnyPrior | None
    trust: float | tuple[float, ...]
    assumption: str | None
    expires: int | datetime | None
    half_life: float | None

    def __init__(
        self,
        bounds: MeanBounds,
        *,
        prior: AnyPrior | None = None,
        trust: ArrayLike | None = None,
        doubt_after: ArrayLike | None = None,
        assumption: str | None = None,
        expires: int | date | str | None = None,
        half_life: float | None = None,
    ) -> None:
        if not isinstance(bounds, MeanBounds):
            raise TypeError(f"knowledge needs MeanBounds, such as mb.MeanBounds([0.2], [0.9]); got {shown(bounds)}")
        if trust is not None and doubt_after is not None:
            raise ValueError("give trust or doubt_after, not both: doubt_after=100 is the same as trust=0.99")
        if prior is not None:
            if not isinstance(prior, Prior | PriorMixture):
                raise TypeError(f"prior must be one such as mb.Prior(mean=0.6, strength=10); got {shown(prior)}")
            prior.rows(bounds)  # refuses what does not fit
        object.__setattr__(self, "bounds", bounds)
        object.__setattr__(self, "prior", prior)
        object.__setattr__(self, "trust", _as_trust(bounds, trust, doubt_after))
        object.__setattr__(self, "assumption", _as_assumption(assumption))
        object.__setattr__(self, "expires", _as_expiry(expires))
        object.__setattr__(self, "half_life", _as_half_life(half_life))

    def __repr__(self) -> str:
        trust = self.trust if isinstance(self.trust, float) else list(self.trust)
        prior = "" if self.prior is None else f", prior={self.prior!r}"
        rest = "".join(f", {name}={value!r}" for name, value in self._told_rest().items())
        return f"Knowledge(bounds={self.bounds!r}{prior}{'' if self.is_certain else f', trust={trust}'}{rest})"

    @property
    def _rest(self) -> dict[str, Any]:
        """What is known beyond bounds, prior and trust, where it is given: the same for all arms."""
        return {name: value for name in _SAVED[3:] if (value := getattr(self, name)) is not None}

    def _told_rest(self) -> dict[str, Any]:
        """The same in values that JSON can hold."""
        return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in self._rest.items()}

    @property
    def has_only_bounds(self) -> bool:
        """Whether bounds are all there is: they are certain, do not age, and there is no prior.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = mb.MeanBounds([0.2], [0.9])
        >>> mb.Knowledge(bounds).has_only_bounds, mb.Knowledge(bounds, prior=mb.Prior(0.6, 10)).has_only_bounds
        (True, False)
        """
        return self.is_certain and self.prior is None and not self.ages

    @property
    def ages(self) -> bool:
        """Whether the bounds expire, or the trust in them decays.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = mb.MeanBounds([0.2], [0.9])
        >>> mb.Knowledge(bounds).ages, mb.Knowledge(bounds, half_life=5_000).ages
        (False, True)
        """
        return self.expires is not None or self.half_life is not None

    @property
    def is_certain(self) -> bool:
        """Whether all bounds are fully trusted, to begin with.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = mb.MeanBounds([0.2], [0.9])
        >>> mb.Knowledge(bounds).is_certain, mb.Knowledge(bounds, trust=0.9).is_certain
        (True, False)
        """
        return self.trust == 1.0

    @property
    def trusts(self) -> Floats:
        """The trust in the bounds of each arm, in the order of ``bounds.arms``.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Knowledge(mb.MeanBounds([0.2, 0.3], [0.9, 0.8]), doubt_after=[10, float("inf")]).trusts
        array([0.9, 1. ])
        """
        return np.broadcast_to(np.array(self.trust), len(self.bounds)).copy()

    @property
    def doubted(self) -> Booleans:
        """Which arms have bounds that may be wrong, now or after some rounds, and say something.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Knowledge(mb.MeanBounds([0.2] * 3, [0.9] * 3), trust=[0.0, 0.9, 1.0]).doubted
        array([False,  True, False])
        """
        trusts = self.trusts
        return (trusts > 0.0) & ((trusts < 1.0) | (self.half_life is not None))

    @property
    def log_n(self) -> Floats:
        """The logarithm of N = 1 / (1 - trust) for each arm; infinite for bounds that are certain.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Knowledge(mb.MeanBounds([0.1, 0.2], [0.3, 0.4]), trust=[1.0, 0.9]).log_n.round(3)
        array([  inf, 2.303])
        """
        with np.errstate(divide="ignore"):
            return -np.log1p(-self.trusts)

    @classmethod
    def of(cls, known: MeanBounds | Knowledge) -> Knowledge:
        """Wrap bounds as knowledge; knowledge is returned unchanged.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Knowledge.of(mb.MeanBounds([0.2], [0.9]))
        Knowledge(bounds=MeanBounds([0.2], [0.9]))
        """
        return known if isinstance(known, Knowledge) else cls(known)

    def subset(self, positions: Sequence[int] | NDArray[Any]) -> Knowledge:
        """The knowledge about some of the arms, chosen by position or by mask; see `MeanBounds.subset`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Knowledge(mb.MeanBounds([0.2, 0.3], [0.9, 0.8])).subset([1])
        Knowledge(bounds=MeanBounds([0.3], [0.8], arms=[1]))
        """
        chosen = self.bounds.subset(positions)
        return Knowledge(chosen, **self._rest) if self.has_only_bounds else self.with_bounds(chosen)

    def with_bounds(self, bounds: MeanBounds) -> Knowledge:
        """The same knowledge with other bounds in place of these; trust and prior stay, arm by arm.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Knowledge(mb.MeanBounds([0.2], [0.9])).with_bounds(mb.MeanBounds([0.4], [0.6]))
        Knowledge(bounds=MeanBounds([0.4], [0.6]))
        """
        if not isinstance(bounds, MeanBounds):
            return Knowledge(bounds)
        place = {arm: k for k, arm in enumerate(self.bounds.arms)}
        new = [arm for arm in bounds.arms if arm not in place]
        by_arm = {"trust": "trust in the bounds"} if isinstance(self.trust, tuple) else {}
        by_arm |= {"prior": "prior"} if self.prior is not None and self.prior.is_by_arm else {}
        for name, what in by_arm.items() if new else ():
            raise ValueError(
                f"the {what} of arm {shown(new[0])} is not known; make mb.Knowledge(bounds, {name}=...) with one "
                f"number for each arm"
            )
        positions = [place.get(arm, 0) for arm in bounds.arms]
        trust = self.trust if isinstance(self.trust, float) else [self.trust[k] for k in positions]
        prior = None if self.prior is None else self.prior.subset(positions)
        return Knowledge(bounds, prior=prior, trust=trust, **self._rest)

    def with_arm(self, arm: Arm, lower: float | None, upper: float | None, low: float, high: float) -> Knowledge:
        """The same knowledge with one more arm, at the end.

        Its bounds are trusted as much as those of the other arms, or as the least trusted of these. Where the others
        have a prior, every mean of the new arm is equally likely: the middle of its range with the strength 2.

        Parameters
        ----------
        arm
            The name of the new arm.
        lower, upper
            Bounds on its mean, in the units of the reward; None stands for the end of its range.
        low, high
            The range of its rewards.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Knowledge(mb.MeanBounds([0.2], [0.9], arms=["old"])).with_arm("new", None, 0.7, 0.0, 1.0)
        Knowledge(bounds=MeanBounds([0.2, 0.0], [0.9, 0.7], arms=['old', 'new']))
        """
        ends = {"lower": low if lower is None else lower, "upper": high if upper is None else upper}
        columns = {
            name: as_float(name, value, error=BoundsError)
            for name, value in (ends | {"low": low, "high": high}).items()
        }
        grown = {name: np.append(getattr(self.bounds, name), value) for name, value in columns.items()}
        bounds = MeanBounds(arms=[*self.bounds.arms, arm], **grown)
        middle = 0.5 * columns["low"] + 0.5 * columns["high"]
        prior = None if self.prior is None else self.prior.with_uniform_arm(len(self.bounds), middle)
        return Knowledge(bounds, prior=prior, trust=np.append(self.trusts, self.trusts.min()), **self._rest)

    @property
    def changes(self) -> tuple[int, ...]:
        """After how many rounds what is known changes, in order; with the last one, bounds say nothing any more.

        A trust that decays is brought up to date whenever log N of bounds that were certain would have fallen by 1/32,
        and that of less certain ones by less. In between it stays.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = mb.MeanBounds([0.2], [0.9])
        >>> mb.Knowledge(bounds).changes, mb.Knowledge(bounds, expires=1_000).changes
        ((), (1000,))
        >>> decaying = mb.Knowledge(bounds, half_life=5_000).changes
        >>> len(decaying), decaying[0], decaying[-1]
        (205, 1, 25113)
        """
        steps = () if self.half_life is None else _steps_of(self.half_life)
        if not isinstance(self.expires, int):
            return steps
        return (*steps[: bisect_right(steps, self.expires - 1)], self.expires)

    def after(self, rounds: int, when: datetime | None = None) -> Knowledge:
        """What is still known after so many rounds: bounds that have expired say nothing.

        Parameters
        ----------
        rounds
            How many rounds there were.
        when
            What time it is, for bounds that expire on a date; now by default.

        Examples
        --------
        >>> import meanbounds as mb
        >>> known = mb.Knowledge(mb.MeanBounds([0.2], [0.9]), expires=1_000)
        >>> known.after(999).is_certain, known.after(1_000).trust
        (True, 0.0)
        >>> known = mb.Knowledge(mb.MeanBounds([0.2], [0.9]), trust=0.99, half_life=5_000)
        >>> [round(known.after(rounds).trust, 3) for rounds in (0, 100, 1_000, 5_000, 30_000)]
        [0.99, 0.977, 0.864, 0.508, 0.0]
        """
        changes = self.changes
        passed = bisect_right(changes, rounds)
        dated = isinstance(self.expires, datetime) and (clock.now() if when is None else when) >= self.expires
        if not dated and passed == 0:
            return self
        rest = {name: value for name, value in self._rest.items() if name not in ("expires", "half_life")}
        if dated or passed == len(changes):
            rest.pop("assumption", None)
            return Knowledge(self.bounds, prior=self.prior, trust=0.0, **rest)
        assert self.half_life is not None
        left = 0.5 ** (changes[passed - 1] / self.half_life)
        return Knowledge(self.bounds, prior=self.prior, trust=left * np.array(self.trust), **rest)

    def renewed(self, bounds: MeanBounds) -> Knowledge:
        """The same knowledge with fresh bounds in place of these, which do not age; see `with_bounds`.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Knowledge(mb.MeanBounds([0.2], [0.9]), expires=1_000).renewed(mb.MeanBounds([0.4], [0.6]))
        Knowledge(bounds=MeanBounds([0.4], [0.6]))
        """
        made = self.with_bounds(bounds)
        rest = {name: value for name, value in self._rest.items() if name not in ("expires", "half_life")}
        return Knowledge(made.bounds, prior=made.prior, trust=made.trust, **rest)

    def to_dict(self) -> dict[str, Any]:
        """The knowledge in plain lists that JSON can hold; `from_dict` is the inverse.

        Of `TightBounds`, only the bounds themselves are kept; trust is left out where all bounds are certain, and
        whatever else was not given.

        Examples
        --------
        >>> import meanbounds as mb
        >>> sorted(mb.Knowledge(mb.MeanBounds([0.2], [0.9])).to_dict()["bounds"])
        ['arms', 'high', 'low', 'lower', 'upper']
        """
        told: dict[str, Any] = {"bounds": MeanBounds.to_dict(self.bounds)}  # for TightBounds, too, the bounds alone
        if self.prior is not None:
            told["prior"] = self.prior.to_dict()
        trust = self.trust if isinstance(self.trust, float) else list(self.trust)
        return (told if self.is_certain else told | {"trust": trust}) | self._told_rest()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make the knowledge that `to_dict` described.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.Knowledge.from_dict({"bounds": {"lower": [0.2], "upper": [0.9]}})
        Knowledge(bounds=MeanBounds([0.2], [0.9]))
        """
        if not {"bounds"} <= set(as_mapping("saved knowledge", data)) <= set(_SAVED):
            raise ValueError(
                f"saved knowledge has bounds, and perhaps prior, trust, assumption, expires and half_life; got "
                f"{sorted(map(str, data))}"
            )
        prior = read_prior(data["prior"]) if "prior" in data else None
        rest = {name: data.get(name) for name in _SAVED[2:]}
        return cls(MeanBounds.from_dict(data["bounds"]), prior=prior, **rest)


def _as_trust(bounds: MeanBounds, trust: Any, doubt_after: Any) -> float | tuple[float, ...]:
    """The trust as one number if it is the same for all arms, else as one for each; anything else is refused."""
    name, given = ("trust", 1.0 if trust is None else trust) if doubt_after is None else ("doubt_after", doubt_after)
    values = as_floats(name, given)
    if values.shape not in ((), (len(bounds),)):
        raise ValueError(
            f"{name} is one number or one for each of {len(bounds)} arms; got {shown(given)} of shape {values.shape}"
        )
    if name == "trust" and not np.all((values >= 0.0) & (values <= 1.0)):
        raise ValueError(
            f"trust is the probability that bounds hold, from 0 (they say nothing) to 1 (certain); got {shown(given)}"
        )
    if name == "doubt_after":
        if not np.all(values >= 1.0):
            raise ValueError(
                f"doubt_after is a number of rounds, at least 1, which means that bounds say nothing; got "
                f"{shown(given)}. A chance that bounds hold is called trust"
            )
        values = 1.0 - 1.0 / values
    same = values.ndim == 0 or np.all(values == values[0])
    return float(values.flat[0]) if same else tuple(values.tolist())


def _as_assumption(name: object) -> str | None:
    """The name of an assumption; anything but a text that is not empty is refused."""
    if name is None or (isinstance(name, str) and name):
        return name
    raise TypeError(
        f'assumption is the name of what bounds rest on, such as "the expert is optimal"; got {shown(name)}'
    )


def _as_expiry(expires: Any) -> int | datetime | None:
    """After how many rounds bounds expire, or the time in UTC; anything else is refused."""
    given = expires
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given) if "T" in given or " " in given else date.fromisoformat(given)
        except ValueError:
            raise ValueError(
                f"expires is a number of rounds, or a date such as 2027-01-31; got {shown(expires)}"
            ) from None
    if isinstance(given, datetime):
        if given.utcoffset() is None:
            raise ValueError(
                f"expires has no time zone: {shown(expires)}; give it one, as in datetime(2027, 1, 31, tzinfo=UTC) or "
                f"2027-01-31T00:00:00+00:00"
            )
        return given.astimezone(UTC)
    if isinstance(given, date):
        return datetime(given.year, given.month, given.day, tzinfo=UTC)
    return None if given is None else as_whole("expires", given)


def _as_half_life(half_life: Any) -> float | None:
    """A number of rounds above 0; anything else is refused."""
    if half_life is None:
        return None
    rounds = as_float("half_life", half_life)
    if not (isfinite(rounds) and rounds > 0.0):
        raise ValueError(
            f"half_life is the number of rounds in which trust halves, above 0; leave it out for trust that stays; got "
            f"{shown(half_life)}"
        )
    return rounds


@functools.lru_cache(maxsize=1024)
def _steps_of(half_life: float) -> tuple[int, ...]:
    """After how many rounds a trust that decays is brought up to date; see `Knowledge.changes`.

    Bounds that were certain have log N = -log(1 - 2^(-t / half_life)) after t rounds. It is below j / 32 for t beyond
    -half_life log2(1 - exp(-j / 32)).
    """
    most = -log(-expm1(-log(2.0) / half_life)) if half_life < 1e15 else log(half_life / log(2.0))  # after one round
    levels = np.arange(1, floor(_STEPS * most) + 2) / _STEPS
    return tuple(sorted({1, *(floor(-half_life * log2(-expm1(-level))) + 1 for level in levels.tolist())}))
