"""Play a linear policy against rewards at the ends of the ranges."""

from typing import Any

import numpy as np

import meanbounds as mb
from meanbounds.linear import LinearArms, LinearPolicy
from meanbounds.support.streams import Draws, stream
from meanbounds.support.types import Floats, Integers


def bounded(seed: int, arms: int = 15, d: int = 4, *, uneven: bool = False) -> tuple[LinearArms, Floats]:
    """Arms with means on [-1, 1], bounds up to 0.5 away, and the parameter; `uneven` in length, offset and range."""
    rng = np.random.default_rng(seed)
    features, theta, offset = rng.normal(size=(arms, d)), rng.normal(size=d), np.zeros(arms)
    features /= np.linalg.norm(features, axis=1)[:, None]
    theta *= 0.9 / np.linalg.norm(theta)
    low, width = np.full(arms, -1.0), np.full(arms, 2.0)
    if uneven:
        features *= rng.uniform(0.2, 1.5, size=(arms, 1))
        offset, width = rng.uniform(-0.3, 0.3, arms), rng.choice([0.5, 2.0], arms)
        low = offset + features @ theta - width * rng.uniform(0.2, 0.8, arms)
    means = offset + features @ theta
    lower, upper = (np.clip(means + side * rng.uniform(0.0, 0.5, arms), low, low + width) for side in (-1.0, 1.0))
    return LinearArms(features, mb.MeanBounds(lower, upper, low=low, high=low + width), offset=offset), theta


def rewards(arms: LinearArms, theta: Floats, chosen: Integers, u: Floats) -> Floats:
    """Rewards with the right means, at the ends of the ranges."""
    low, high = arms.bounds.low, arms.bounds.high
    chance = (arms.offset + arms.features @ theta - low) / (high - low)
    return np.where(u < chance[chosen], high[chosen], low[chosen])


def play(
    policy: LinearPolicy, arms: LinearArms, theta: Floats, rounds: int, rows: int = 1, known: Any = None
) -> tuple[Integers, Any]:
    """The arms played in each round, with all on offer; and the state."""
    rng, state = np.random.default_rng(7), policy.start(arms, rows, known)
    keys, played = stream(7, np.arange(rows), "policy"), np.zeros((rounds, rows), dtype=np.int64)
    for t in range(rounds):
        played[t] = policy.choose(state, None, Draws(keys, t))
        policy.learn(state, played[t], rewards(arms, theta, played[t], rng.random(rows)))
    return played, state
