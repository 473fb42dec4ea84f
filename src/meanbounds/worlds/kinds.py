"""Made-up worlds of several kinds to compare policies on, with bounds that hold and with bounds that do not.

A world is drawn from its kind, a seed and its number, and from nothing else. Nobody has tuned a policy on them: each
release of the package takes a new seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from meanbounds.bounds import MeanBounds
from meanbounds.logs import Counts
from meanbounds.logs import bounds as bounds_from_log
from meanbounds.simulation.environments import Bernoulli, Beta, Environment
from meanbounds.simulation.instances import INSTANCES
from meanbounds.support.types import Floats
from meanbounds.worlds.hidden_contexts import HiddenContexts
from meanbounds.worlds.stroke import stroke_trial

__all__ = ["KINDS", "VARIANTS", "Kind", "World", "expert_log", "instance_worlds", "stroke_worlds"]

ROWS = 50_000
"""Rows of an expert's log."""

_STARS = np.linspace(0.0, 1.0, 5)  # ratings from 1 to 5 stars, in shares of the range
_WAYS = np.array([1.0, 4.0, 6.0, 4.0, 1.0])  # in which four coins show 0 to 4 heads
_TYPES = 6  # hidden types of cases
_TOP, _BOTTOM = 0.95, 0.05
_LITTLE = 0.06  # by which a hidden type moves an arm's mean, at most, where it matters little


@dataclass(frozen=True, eq=False)
class World:
    """Arms with their rewards, and the bounds that a policy starts from.

    Attributes
    ----------
    name
        What kind of world it is, and its number.
    environment
        Where rewards come from.
    bounds
        What a policy is told.
    log
        Where an expert's log was behind the bounds: ``counts`` and ``totals`` of the logged rewards, and the ``arms``.

    Examples
    --------
    >>> from meanbounds.worlds.kinds import KINDS
    >>> world = KINDS["random bounds"].world(seed=1, number=0)
    >>> world.name, bool(world.bounds.contains(world.environment.means).all())
    ('loose 0', True)
    """

    name: str
    environment: Environment
    bounds: MeanBounds
    log: Mapping[str, list[Any]] | None = None

    @property
    def nothing(self) -> MeanBounds:
        """What a policy is told that knows the ranges of the rewards alone."""
        return MeanBounds.vacuous(self.bounds.arms, low=self.bounds.low, high=self.bounds.high)


@dataclass(frozen=True)
class Kind:
    """A kind of world: what it is, in one sentence, how to draw one, and how surely its bounds hold.

    Attributes
    ----------
    about
        One sentence.
    draw
        Makes a world from a random generator and a number.
    stream
        A number of its own, so that no two kinds share random numbers.
    confidence
        Probability with which all bounds of a world hold: 1 for certain, 0 where they are wrong on purpose.

    Examples
    --------
    >>> from meanbounds.worlds.kinds import KINDS
    >>> KINDS["best arm pruned"].confidence
    0.0
    """

    about: str
    draw: Callable[[np.random.Generator, int], World]
    stream: int
    confidence: float = 1.0

    def world(self, seed: int, number: int) -> World:
        """Draw the world with this number.

        Examples
        --------
        >>> from meanbounds.worlds.kinds import KINDS
        >>> first, again = (KINDS["random bounds"].world(seed=200, number=3) for _ in range(2))
        >>> bool((first.environment.means == again.environment.means).all())
        True
        """
        return self.draw(np.random.default_rng([seed, self.stream, number]), number)


def expert_log(
    name: str, means: Floats, weights: Floats, rng: np.random.Generator, *, errs: float = 0.0, rows: int = ROWS
) -> World:
    """Let an expert write a log of ratings, and return the world of an agent that starts from the log's bounds.

    Parameters
    ----------
    name
        Name of the world.
    means
        Mean reward in [0, 1] of each arm for each hidden type: types x arms. Rewards are ratings of five values.
    weights
        How common each type is.
    rng
        Where the rows come from.
    errs
        Share of the cases in which the expert plays an arm drawn uniformly instead of the best one.
    rows
        Length of the log. Bounds are those at 95%, without any gap.

    Examples
    --------
    >>> import numpy as np
    >>> from meanbounds.worlds.kinds import expert_log
    >>> rng = np.random.default_rng(1)
    >>> world = expert_log("two arms", np.array([[0.9, 0.4], [0.8, 0.5]]), np.array([0.5, 0.5]), rng)
    >>> world.environment.means.round(3), world.bounds.upper.round(2)  # the expert's value is 0.85
    (array([0.85, 0.45]), array([0.85, 0.85]))
    >>> world.log["counts"]
    [50000, 0]
    """
    heads = np.arange(_STARS.size)
    law = _WAYS * means[..., None] ** heads * (1.0 - means[..., None]) ** (_STARS.size - 1 - heads)
    world = HiddenContexts(means[None], weights[None], values=_STARS, law=law[None])
    played = (1.0 - errs) * (np.arange(means.shape[1]) == world.best[0, :, None]) + errs / means.shape[1]
    shares = np.einsum("u,uk,ukv->kv", world.hidden_given_visible[0], played, law)
    histogram = rng.multinomial(rows, shares.ravel() / shares.sum()).reshape(1, *shares.shape).astype(np.float64)
    (agent,) = _after_log(world, world._counted(histogram))
    return replace(agent, name=name)


def _after_log(world: HiddenContexts, counts: Counts) -> list[World]:
    """A world for each visible context, with bounds at 95% from the log and no gaps."""
    found = bounds_from_log(counts, arms=world.arms)
    return [
        World(
            str(context),
            world.environment(context),
            found[context],
            {"counts": count.astype(int).tolist(), "totals": total.tolist(), "arms": list(world.arms)},
        )
        for context, count, total in zip(world.contexts, counts.count, counts.total, strict=True)
    ]


def _log_world(rng: np.random.Generator, number: int, *, arms: tuple[int, int], effect: float, errs: float) -> World:
    """Arms with a general mean, which each hidden type moves by at most `effect`."""
    size = int(rng.integers(arms[0], arms[1] + 1))
    general = rng.normal(0.6, 0.12, size)
    means = np.clip(general + rng.uniform(-effect, effect, (_TYPES, size)), _BOTTOM, _TOP)
    return expert_log(f"log {number}", means, rng.exponential(size=_TYPES), rng, errs=errs)


def _little(rng: np.random.Generator, number: int) -> World:
    return _log_world(rng, number, arms=(10, 20), effect=rng.uniform(0.0, _LITTLE), errs=0.0)


def _errs(rng: np.random.Generator, number: int) -> World:
    return _log_world(rng, number, arms=(10, 20), effect=rng.uniform(0.0, _LITTLE), errs=0.2)


def _much(rng: np.random.Generator, number: int) -> World:
    size = int(rng.integers(5, 11))
    means = rng.uniform(_BOTTOM, _TOP, (_TYPES, size))
    return expert_log(f"log {number}", means, rng.exponential(size=_TYPES), rng)


Drawn = tuple[Floats, Floats, Floats]
"""Means, lower and upper bounds."""


def _around(rng: np.random.Generator, means: Floats, slack: float) -> Drawn:
    below, above = rng.uniform(0.0, slack, (2, means.size))
    return means, np.maximum(means - below, 0.0), np.minimum(means + above, 1.0)


def _means(rng: np.random.Generator, low: float = _BOTTOM, high: float = _TOP) -> Floats:
    return rng.uniform(low, high, int(rng.integers(2, 11)))


def _behind(rng: np.random.Generator) -> Floats:
    """A best arm in the first place, and others at most 0.2 behind it."""
    best = rng.uniform(0.3, 0.9)
    return np.append(best, best - rng.uniform(0.01, 0.2, int(rng.integers(1, 10))))


def _equal_caps(rng: np.random.Generator, slack: float) -> Drawn:
    means, lower, _ = _around(rng, _means(rng), 0.5)
    return means, lower, np.full(means.size, min(1.0, means.max() + rng.uniform(0.0, slack)))


def _equal_lower(rng: np.random.Generator) -> Drawn:
    means, _, upper = _around(rng, _means(rng, 0.3), 0.5)
    return means, np.full(means.size, means.min() * rng.uniform(0.5, 1.0)), upper


def _caps_at_largest_lower(rng: np.random.Generator) -> Drawn:
    """Caps of some worse arms are equal to the largest lower bound, which is the best arm's."""
    means, lower, upper = _around(rng, _behind(rng), 0.4)
    lower[0] = rng.uniform(means[1:].max(), means[0])
    lower[1:] = np.minimum(lower[1:], means[1:])
    upper[1:] = np.where(rng.random(means.size - 1) < 0.5, lower[0], np.maximum(upper[1:], lower[0]))
    return means, lower, upper


def _known_exactly(rng: np.random.Generator) -> Drawn:
    means, lower, upper = _around(rng, _means(rng), 0.5)
    known = rng.integers(means.size)
    lower[known] = upper[known] = means[known]
    return means, lower, upper


def _tight_on(rng: np.random.Generator, best_is_tight: bool) -> Drawn:
    """A tight cap on the best arm and loose ones on the others, or the other way round."""
    means, lower, _ = _around(rng, _behind(rng), 0.1)
    tight, loose = (rng.uniform(0.0, most, means.size) for most in (0.02, 0.2))
    is_tight = (np.arange(means.size) == 0) == best_is_tight
    return means, lower, np.minimum(means + np.where(is_tight, tight, loose), 1.0)


def _vacuous(rng: np.random.Generator) -> Drawn:
    means = _means(rng)
    return means, np.zeros(means.size), np.ones(means.size)


VARIANTS: Mapping[str, Callable[[np.random.Generator], Drawn]] = {
    "loose": lambda rng: _around(rng, _means(rng), 0.5),
    "tight": lambda rng: _around(rng, _means(rng), 0.1),
    "equal caps": lambda rng: _equal_caps(rng, 0.1),
    "caps at the best mean": lambda rng: _equal_caps(rng, 0.0),
    "means near 1": lambda rng: _around(rng, _means(rng, 0.9, 1.0), 0.2),
    "means near 0": lambda rng: _around(rng, _means(rng, 0.0, 0.1), 0.2),
    "equal lower bounds": _equal_lower,
    "caps at the largest lower bound": _caps_at_largest_lower,
    "one arm known": _known_exactly,
    "best arm capped tightly": lambda rng: _tight_on(rng, True),
    "best arm capped loosely": lambda rng: _tight_on(rng, False),
    "no bounds": _vacuous,
}
"""Ways to draw means and bounds that hold, by name; the worlds of "random bounds" take them in turn."""


def _random(rng: np.random.Generator, number: int) -> World:
    """Rewards of 0 and 1 in one turn of the variants, of any size in the next."""
    names = tuple(VARIANTS)
    name = names[number % len(names)]
    means, lower, upper = VARIANTS[name](rng)
    law = Beta if number // len(names) % 2 else Bernoulli
    order = rng.permutation(means.size)
    return World(f"{name} {number}", law(means[order]), MeanBounds(lower[order], upper[order]))


def _five(rng: np.random.Generator) -> Drawn:
    """Five arms, the best one first and the others 0.1 to 0.4 behind, with bounds that hold."""
    best = rng.uniform(0.6, 0.9)
    means = np.append(best, best - rng.uniform(0.1, 0.4, 4))
    return _around(rng, means, 0.3)


def _cap_too_low(rng: np.random.Generator, number: int) -> World:
    means, lower, upper = _five(rng)
    upper[0] = means[0] - 0.08
    lower[0] = min(lower[0], upper[0])
    return World(f"wrong {number}", Bernoulli(means), MeanBounds(lower, upper))


def _best_pruned(rng: np.random.Generator, number: int) -> World:
    means, lower, upper = _five(rng)
    second = 1 + int(means[1:].argmax())
    lower[second] = max(lower[second], means[second] - 0.05)
    upper[0] = lower[second] - 0.02
    lower[0] = min(lower[0], upper[0])
    return World(f"wrong {number}", Bernoulli(means), MeanBounds(lower, upper))


def _bad_thought_best(rng: np.random.Generator, number: int) -> World:
    means, lower, upper = _five(rng)
    worst = int(means.argmin())
    lower[worst], upper[worst] = means[0] + 0.03, 1.0
    return World(f"wrong {number}", Bernoulli(means), MeanBounds(lower, upper))


KINDS: Mapping[str, Kind] = {
    "expert's log": Kind(
        "An expert's log of 50,000 ratings of 10 to 20 arms, where what the log hides moves an arm's mean by at most "
        "0.06: bounds at 95%, without any gap.",
        _little,
        1,
        0.95,
    ),
    "expert's log, much hidden": Kind(
        "The same with 5 to 10 arms, where the mean of each arm is another one for each of six hidden types of cases.",
        _much,
        2,
        0.95,
    ),
    "random bounds": Kind(
        "2 to 10 arms with bounds that hold: loose, tight, with equal caps, at the edges of the range, with one arm "
        "known exactly, and more, in turn.",
        _random,
        3,
    ),
    "expert who errs": Kind(
        "The log of the first kind, written by an expert who plays an arm at random in a fifth of the cases: some "
        "bounds are wrong, and nothing says so.",
        _errs,
        4,
        0.0,
    ),
    "best arm's cap too low": Kind(
        "Five arms; the best one's upper bound is 0.08 below its mean.",
        _cap_too_low,
        5,
        0.0,
    ),
    "best arm pruned": Kind(
        "Five arms; wrong bounds say that the best one cannot be best.",
        _best_pruned,
        6,
        0.0,
    ),
    "worst arm thought best": Kind(
        "Five arms; wrong bounds say that the worst one is above the mean of the best.",
        _bad_thought_best,
        7,
        0.0,
    ),
}
"""The kinds of made-up worlds, by name."""


def instance_worlds() -> list[World]:
    """The four instances of `meanbounds.INSTANCES`, with rewards of 0 and 1.

    Examples
    --------
    >>> from meanbounds.worlds.kinds import instance_worlds
    >>> [world.name for world in instance_worlds()]
    ['high-lower-bound', 'meta-pruned', 'low-rewards', 'clipping-only']
    """
    return [World(name, Bernoulli(instance.means), instance.bounds) for name, instance in INSTANCES.items()]


def stroke_worlds(seed: int, rows: int = ROWS) -> list[World]:
    """The age bands of the stroke trial, with bounds at 95% from an expert's log and no gaps.

    Examples
    --------
    >>> from meanbounds.worlds.kinds import stroke_worlds
    >>> [world.name for world in stroke_worlds(seed=1)]
    ['under 65', '65 to 74', '75 to 84', '85 and over']
    """
    trial = stroke_trial()
    return _after_log(trial, trial.sample(rows, seed=seed))
