"""What an exact index costs: solved for every arm on offer, for those that can be best, or only where it has to be."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import numpy as np

import meanbounds as mb
from benchmarks.contestants.base import Array, LinearArms
from benchmarks.timing import Race
from benchmarks.workloads import LINEAR_WORKLOADS, SEED, LinearWorkload
from meanbounds.kernels.linear import Design, new_design, observe, radius
from meanbounds.kernels.program import Known, maximise

OFFERED = (5, 10, 15)
EVERY, KEPT, NEEDED = "every arm on offer", "arms that can be best", "meanbounds: only where it has to be"
_ROUNDS = 400
_WARM_UP = 5


def solves(offered: int) -> Race:
    """Nanoseconds per round of each way, over the same rounds of one agent, and the means of what was solved."""
    arms = LINEAR_WORKLOADS[0].arms
    workload = LinearWorkload("W4", LinearArms(arms.features, arms.theta, offered))
    environment, bounds = workload.environment, workload.bounds
    policy = mb.ROFUL()
    plan = policy.plan(mb.LinearArms(arms.features, bounds))
    agent = mb.Agent(policy, bounds, SEED, features=arms.features)
    design = new_design(arms.features.shape[1], policy.regularisation)
    image = np.empty(arms.features.shape[1])
    rng = np.random.default_rng(SEED)
    spent = dict.fromkeys((EVERY, KEPT, NEEDED), 0.0)
    for t in range(_ROUNDS + _WARM_UP):
        offer = rng.choice(len(arms.features), offered, replace=False)
        kept = offer[plan.pool.upper[offer] >= plan.pool.lower[offer].max()]
        inside = _inside(plan.known, design, radius(design, plan.rule), policy.norm_high)

        ways: dict[str, Callable[[], object]] = {
            EVERY: functools.partial(_solve, arms.features[offer], inside),
            KEPT: functools.partial(_solve, arms.features[kept], inside),
            NEEDED: functools.partial(agent.pull, offer.tolist()),
        }
        for label, way in ways.items():
            start = time.perf_counter()
            arm = way()
            spent[label] += (time.perf_counter() - start) * (t >= _WARM_UP)
        chosen = int(str(arm))
        unit = float(rng.random() < abs(environment.means[chosen]))
        reward = unit * float(np.sign(environment.means[chosen]))
        agent.update(chosen, reward)
        observe(design, plan.rule, arms.features[chosen], reward, plan.pool.proxy[chosen], image)
    return Race({label: 1e9 * seconds / _ROUNDS for label, seconds in spent.items()})


def _solve(targets: Array, known: Known) -> None:
    for target in targets:
        maximise(target, known)


def _inside(known: Known, design: Design, reach: float, norm_high: float) -> Known:
    """What is known, and the confidence set."""
    return known._replace(centre=design.estimate / norm_high, shape=design.precision * (norm_high / reach) ** 2)
