"""LinearThompson one round at a time, in plain numpy."""

from __future__ import annotations

from math import sqrt

import numpy as np

import meanbounds as mb
from meanbounds.kernels.linear.sample import truncated_mean, truncated_normal
from meanbounds.kernels.random.stream import child, uniform
from meanbounds.linear import FeasibleSet, LinearArms
from meanbounds.linear.interior import sampling_limits
from tests.naive_linear import Floats


class SamplingTwin:
    """LinearThompson as its definition says: everything is solved anew in each round."""

    def __init__(self, policy: mb.LinearThompson, instance: mb.LinearInstance) -> None:
        self.policy, self.instance = policy, instance
        arms = LinearArms(instance.features, instance.bounds, offset=instance.offset)
        feasible = FeasibleSet(arms, norm_high=policy.norm_high, norm_low=policy.norm_low)
        self.tight = feasible.tightened()
        bounds, d = instance.bounds, arms.dimension
        self.worst = float(np.max((bounds.high - bounds.low) ** 2 / 4.0))
        self.variance = policy.noise_of(self.tight.lower, self.tight.upper, bounds.low, bounds.high)
        if policy.noise == "pool-max":
            self.worst = float(self.variance.max())
            self.variance[:] = self.worst
        self.limits = sampling_limits(feasible)
        self.point = self.limits.centre.copy()
        self.data, self.moment = np.zeros((d, d)), np.zeros(d)
        self.steps: list[tuple[int, float, float]] = []  # axis, where the line's mean is, and where the point went

    def shape(self) -> Floats:
        """The precision of the Gaussian, in units of the largest norm."""
        prior = self.policy.regularisation * np.eye(self.moment.size)
        return np.asarray(prior + self.policy.norm_high**2 / self.worst * self.data)

    def line(self, axis: int) -> Floats:
        """The direction of a step: an axis of the factor of the Gaussian's precision and the set's own."""
        d = self.point.size
        factor = np.linalg.cholesky(self.shape() + self.limits.shape[:d])
        unit = np.eye(d)[axis]
        direction = np.linalg.solve(factor.T, unit)
        basis = self.limits.shape[d:]
        return np.asarray(basis.T @ (basis @ direction) if len(basis) else direction)

    def room(self, line: Floats) -> tuple[float, float]:
        """How far the line stays inside all limits."""
        along, length = float(self.point @ line), float(line @ line)
        root = sqrt(max(along**2 + length * (1.0 - float(self.point @ self.point)), 0.0))
        ends = [(-root - along) / length], [(root - along) / length]
        for row, lower, upper in zip(self.limits.rows.T, self.limits.lower, self.limits.upper, strict=True):
            value, slope = float(row @ self.point), float(row @ line)
            steps = sorted(((lower - value) / slope, (upper - value) / slope))
            ends[0].append(steps[0])
            ends[1].append(steps[1])
        return min(max(ends[0]), 0.0), max(min(ends[1]), 0.0)

    def step(self, axis: int, key: np.uint64, place: int) -> int:
        """Draw from the Gaussian on the line."""
        line = self.line(axis)
        low, high = self.room(line)
        if not high > low:
            self.steps.append((axis, 0.0, 0.0))
            return place
        shape = self.shape()
        mean = np.linalg.solve(shape, self.policy.norm_high / self.worst * self.moment)
        bend = float(line @ shape @ line)
        scale, peak = sqrt(bend), float(line @ shape @ (mean - self.point)) / bend
        ends = (low - peak) * scale, (high - peak) * scale
        drawn, place = truncated_normal(*ends, key, place)
        size = min(max(peak + drawn / scale, low), high)
        self.steps.append((axis, min(max(peak + truncated_mean(*ends) / scale, low), high), size))
        self.point = self.point + size * line
        return place

    def expectation(self) -> Floats:
        """Along each axis, the mean over its steps of where the line's mean was."""
        out = self.point.copy()
        for axis in range(out.size):
            means, sizes = np.array([step[1:] for step in self.steps if step[0] == axis]).reshape(-1, 2).T
            if means.size:
                began = np.cumsum(sizes) - sizes
                out += (np.mean(began + means) - sizes.sum()) * self.line(axis)
        return out

    def means(self, point: Floats) -> Floats:
        """Of every arm, within its bounds."""
        means = self.instance.offset + self.policy.norm_high * self.instance.features @ point
        return np.asarray(np.clip(means, self.tight.lower, self.tight.upper))

    def choose(self, offered: list[int], t: int, key: np.uint64) -> int:
        """Arm to play in round t, counted from 1; norm_low is 0."""
        tight, instance = self.tight, self.instance
        best = tight.lower[offered].max()
        slack = 1e-9 * (np.linalg.norm(instance.features, axis=1) * self.policy.norm_high + np.abs(instance.offset))
        kept = [k for k in offered if tight.upper[k] - slack[k] > best or tight.lower[k] == best]
        if len(kept) == 1:
            return kept[0]
        stream, d = np.uint64(child(key, t - 1)), self.point.size
        axis, place, points = int(uniform(stream, 0) * d), 1, []
        for _ in range(20 * d if np.array_equal(self.point, self.limits.centre) else 0):
            place, axis = self.step(axis, stream, place), (axis + 1) % d
        self.steps, optimistic = [], self.policy.optimistic
        for _ in range(max(self.policy.draws, d if optimistic else 0)):
            place, axis = self.step(axis, stream, place), (axis + 1) % d
            points.append(self.point)
        floor = self.means(self.expectation()) if optimistic else np.full(len(tight), -np.inf)
        found = []
        for point in points[-self.policy.draws :]:
            values = np.maximum(self.means(point), floor)
            best, chosen, ties = -np.inf, kept[0], 0
            for k in kept:
                if values[k] > best:
                    best, chosen, ties = values[k], k, 1
                elif values[k] == best:
                    ties, place = ties + 1, place + 1
                    chosen = k if uniform(stream, place - 1) * ties < 1.0 else chosen
            found.append(chosen)
        return found[int(uniform(key, t - 1) * len(found))]

    def observe(self, arm: int, reward: float) -> None:
        weight = self.worst / max(float(self.variance[arm]), 1e-4 * self.worst)
        x, target = self.instance.features[arm], reward - self.instance.offset[arm]
        self.data += weight * np.outer(x, x)
        self.moment += weight * target * x
