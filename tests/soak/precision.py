"""Very many updates of a linear agent: the width of an arm that was never played, against arbitrary precision."""

from __future__ import annotations

import mpmath
import numpy as np

import meanbounds as mb
from meanbounds.agents.features import FeaturesLearner
from meanbounds.kernels.linear.design import weight_of

FEATURES = np.array([[0.8, 0.6, 0.1], [0.3, -0.7, 0.5], [-0.2, 0.1, 0.9], [0.5, 0.5, -0.6]])
NEVER = 3
REGULARISATION = 0.01
PRECISE = 1e-6


def tired_agent() -> mb.Agent:
    """Weights that differ by a factor of 100: the first arm's rewards hardly vary, those of the last one do."""
    bounds = mb.MeanBounds([0.9989, 0.0, 0.0, 0.0], [0.9991, 1.0, 1.0, 1.0], low=[0.0, 0.0, -1.0, -1.0], high=1.0)
    policy = mb.OFUL(noise="weighted", regularisation=REGULARISATION)
    return mb.Agent(policy, bounds, seed=1, features=FEATURES)


def exact(agent: mb.Agent, counts: list[int], totals: list[float]) -> tuple[float, float]:
    """The never-played arm's x V^-1 x and x . estimate, with fifty digits."""
    learner = agent.inside
    assert isinstance(learner, FeaturesLearner)
    plan = learner.standing.plan
    with mpmath.workdps(50):
        matrix = mpmath.eye(FEATURES.shape[1]) * mpmath.mpf(REGULARISATION)
        moment = mpmath.zeros(FEATURES.shape[1], 1)
        for k, (count, total) in enumerate(zip(counts, totals, strict=True)):
            x, weight = mpmath.matrix(FEATURES[k].tolist()), mpmath.mpf(weight_of(plan.rule, float(plan.pool.proxy[k])))
            matrix += count * weight * x * x.T
            moment += weight * mpmath.mpf(total) * x
        x = mpmath.matrix(FEATURES[NEVER].tolist())
        square = (x.T * mpmath.lu_solve(matrix, x))[0]
        return float(square), float((x.T * mpmath.lu_solve(matrix, moment))[0])


def errors(agent: mb.Agent, counts: list[int], totals: list[float]) -> tuple[float, float]:
    """Relative error of the width of the never-played arm, and the error of its estimate in widths."""
    learner = agent.inside
    assert isinstance(learner, FeaturesLearner)
    design, x = learner.standing.design, FEATURES[NEVER]
    square, mean = exact(agent, counts, totals)
    width = float(np.sqrt(x @ design.inverse @ x))
    return abs(width / square**0.5 - 1.0), abs(float(x @ design.estimate) - mean) / square**0.5


def wear(updates: int) -> list[str]:
    """Update one arm this often, two others a little, and look at the fourth."""
    agent, counts, totals = tired_agent(), [0, 0, 0, 0], [0.0, 0.0, 0.0, 0.0]
    for n in range(updates):
        arm = 0 if n % 1000 else 1 + n // 1000 % 2
        reward = float(n % 7 != 0)
        agent.update(arm, reward)
        counts[arm] += 1
        totals[arm] += reward
    width, mean = errors(agent, counts, totals)
    print(f"after {updates} updates: width off by {width:.1e}, estimate off by {mean:.1e} widths")
    return [f"precision after {updates} updates: width {width:.1e}, estimate {mean:.1e}"] * (max(width, mean) > PRECISE)
