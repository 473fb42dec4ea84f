"""Arms with features to test on, and the definitions of OFUL and R-OFUL one round at a time, in plain numpy."""

from __future__ import annotations

from math import acos, cos, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

import meanbounds as mb
from meanbounds.kernels.compiling import compiled
from meanbounds.kernels.linear import Design, Rule, observe
from meanbounds.kernels.random.stream import child, offer_key, policy_key, uniform
from meanbounds.linear import FeasibleSet, LinearArms

Floats = NDArray[np.float64]


def random_instance(
    rng: np.random.Generator,
    arms: int,
    dimension: int,
    width: float = 0.5,
    *,
    unit: bool = True,
    offsets: bool = False,
    one_range: bool = False,
) -> mb.LinearInstance:
    """The paper's setting: ranges [0, 1] or [-1, 0] by the sign of the mean, bounds up to `width` away from it.

    Without `unit` arms have norms up to 1.5 or so, with `offsets` a known part of the mean, and with `one_range` all
    rewards are in one range that contains every mean.
    """
    features = rng.normal(size=(arms, dimension))
    features /= np.linalg.norm(features, axis=1)[:, None]
    if not unit:
        features *= rng.uniform(0.2, 1.5, size=(arms, 1))
    theta = np.arange(dimension, dtype=np.float64) + 0.5
    theta /= float(np.linalg.norm(theta)) * rng.uniform(1.0, 1.5)
    offset = rng.uniform(-0.3, 0.3, arms) if offsets else np.zeros(arms)
    means = offset + features @ theta
    top = 1.0 if np.abs(means).max() <= 1.0 else 2.0
    low = np.full(arms, -top) if one_range else np.where(means > 0.0, 0.0, -top)
    high = np.full(arms, top) if one_range else low + top
    lower, upper = (np.clip(means + sign * rng.uniform(0.0, width, arms), low, high) for sign in (-1.0, 1.0))
    return mb.LinearInstance(features, theta, mb.MeanBounds(lower, upper, low=low, high=high), offset)


def cone_bounds(features: Floats, offset: Floats, lower: Floats, norm_high: float) -> tuple[Floats, Floats]:
    """Bounds on each arm from the lower bound of the most promising one, by angles."""
    best = int(np.argmax(lower))
    length = np.linalg.norm(features, axis=1)
    alpha = acos(min(max((lower[best] - offset[best]) / (length[best] * norm_high), -1.0), 1.0))
    least, most = [], []
    for x, size, known in zip(features, length, offset, strict=True):
        angle = acos(min(max(float(x @ features[best] / (size * length[best])), -1.0), 1.0))
        least.append(known + size * norm_high * cos(min(angle + alpha, pi)))
        most.append(known + size * norm_high * cos(max(angle - alpha, 0.0)))
    return np.array(least), np.array(most)


class Twin:
    """OFUL or R-OFUL as its definition says, with a fresh solve in every round."""

    def __init__(self, policy: mb.OFUL | mb.ROFUL, instance: mb.LinearInstance) -> None:
        self.policy, self.instance = policy, instance
        bounds = instance.bounds
        self.restricts = isinstance(policy, mb.ROFUL)
        self.lower, self.upper = bounds.low.copy(), bounds.high.copy()
        if isinstance(policy, mb.ROFUL):
            self.lower, self.upper = bounds.lower.copy(), bounds.upper.copy()
            if policy.tighten == "exact":
                arms = LinearArms(instance.features, bounds, offset=instance.offset)
                tight = FeasibleSet(arms, norm_high=policy.norm_high).tightened()
                self.lower, self.upper = tight.lower.copy(), tight.upper.copy()
        d = instance.features.shape[1]
        self.rows: list[tuple[Floats, float, float]] = []  # features, reward less offset, proxy
        self.worst = float(np.max((bounds.high - bounds.low) ** 2 / 4.0))
        self.pool_max = float(self.proxies().max())
        self.precision, self.moment = policy.regularisation * np.eye(d), np.zeros(d)

    def proxies(self) -> Floats:
        bounds = self.instance.bounds
        return np.atleast_1d(mb.variance_proxy_from_bounds(self.lower, self.upper, low=bounds.low, high=bounds.high))

    def radius(self) -> float:
        policy, d = self.policy, self.moment.size
        growth = np.linalg.slogdet(self.precision)[1] - d * log(policy.regularisation)
        fixed = {"weighted": self.worst, "pool-max": self.pool_max}
        proxy = fixed.get(policy.noise, max((row[2] for row in self.rows), default=0.0))
        return sqrt(policy.regularisation) * policy.norm_high + sqrt(proxy * (growth + 2.0 * log(1.0 / policy.failure)))

    def choose(self, offered: list[int], t: int, key: np.uint64) -> int:
        """Arm to play in round t, counted from 1."""
        policy, features, offset = self.policy, self.instance.features, self.instance.offset
        estimate, reach = np.linalg.solve(self.precision, self.moment), self.radius()
        width = {k: reach * sqrt(features[k] @ np.linalg.solve(self.precision, features[k])) for k in offered}
        plain = {k: offset[k] + features[k] @ estimate + width[k] for k in offered}
        kept = offered
        if isinstance(policy, mb.ROFUL):
            if policy.online:
                for k in offered:
                    self.lower[k] = max(self.lower[k], plain[k] - 2.0 * width[k])
                    self.upper[k] = min(self.upper[k], plain[k])
            if policy.tighten == "cone" or (policy.online and policy.tighten == "exact"):
                least, most = cone_bounds(features[offered], offset[offered], self.lower[offered], policy.norm_high)
                self.lower[offered] = np.maximum(self.lower[offered], least - 1e-12)
                self.upper[offered] = np.minimum(self.upper[offered], most + 1e-12)
            floor = self.lower[offered].max()
            slack = 1e-9 * (np.linalg.norm(features, axis=1) * policy.norm_high + np.abs(offset))
            kept = [k for k in offered if self.upper[k] >= floor]
            if policy.settle:
                kept = [k for k in kept if self.upper[k] - slack[k] > floor or self.lower[k] == floor]
        clips = isinstance(policy, mb.ROFUL) and policy.index != "plain"
        scores = {k: min(plain[k], self.upper[k]) if clips else plain[k] for k in kept}
        best = max(scores.values())
        equal = [k for k in kept if scores[k] >= best - 1e-9]
        value = {k: plain[k] for k in equal}
        if isinstance(policy, mb.ROFUL) and policy.settle:
            value = {k: min(max(offset[k] + features[k] @ estimate, self.lower[k]), self.upper[k]) for k in equal}
        ties = [k for k in equal if value[k] >= max(value.values()) - 1e-9]
        return ties[int(uniform(key, t - 1) * len(ties)) if len(ties) > 1 else 0]

    def observe(self, arm: int, reward: float) -> None:
        proxy = float(self.proxies()[arm])
        weight = self.worst / max(proxy, 1e-4 * self.worst) if self.policy.noise == "weighted" else 1.0
        x, target = self.instance.features[arm], reward - self.instance.offset[arm]
        self.rows.append((x, target, proxy))
        self.precision += weight * np.outer(x, x)
        self.moment += weight * target * x


def draw_offer(seed: int, run: int, t: int, arms: int, offered: int | None) -> list[int]:
    """What is on offer in round t: the first of a shuffle."""
    if offered is None:
        return list(range(arms))
    key = np.uint64(child(np.uint64(offer_key(np.uint64(seed), run)), t))
    order = list(range(arms))
    for k in range(offered):
        other = k + int(uniform(key, k) * (arms - k))
        order[k], order[other] = order[other], order[k]
    return order[:offered]


def tie_key(seed: int, run: int = 0) -> np.uint64:
    return np.uint64(policy_key(np.uint64(seed), run))


@compiled
def observe_many(design: Design, rule: Rule, features: Floats, updates: int, key: np.uint64) -> tuple[Floats, Floats]:
    """Tell a design many rewards of 0 and 1 of random arms: how many of each arm, and how many ones."""
    arms = features.shape[0]
    counts, ones, image = np.zeros(arms), np.zeros(arms), np.empty(features.shape[1])
    for n in range(updates):
        arm = int(uniform(key, 2 * n) * arms)
        reward = 1.0 if uniform(key, 2 * n + 1) < 0.5 else 0.0
        observe(design, rule, arm, features[arm], reward, 0.25, image)
        counts[arm] += 1.0
        ones[arm] += reward
    return counts, ones


@compiled
def observe_one(design: Design, rule: Rule, arm: int, proxy: float, updates: int, key: np.uint64) -> float:
    """Tell a design many rewards of 0 and 1 of one arm of its pool: how many ones."""
    ones, image = 0.0, np.empty(design.features.shape[1])
    for n in range(updates):
        reward = 1.0 if uniform(key, n) < 0.5 else 0.0
        observe(design, rule, arm, design.features[arm], reward, proxy, image)
        ones += reward
    return ones
