"""Valid objects, drawn at random."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import meanbounds as mb
from meanbounds.simulation import Delay
from tests.fuzzing.draw import Draw

__all__ = [
    "NAMES",
    "a_bounds",
    "a_candidate",
    "a_context",
    "a_contextual_agent",
    "a_delay",
    "a_linear_agent",
    "a_linear_policy",
    "a_policy",
    "a_regret",
    "a_world",
    "an_agent",
    "an_environment",
    "columns",
    "features",
    "numbers",
]

RANGES = [(0.0, 1.0), (0.0, 1.0), (-1.0, 0.0), (1.0, 5.0), (-1e6, 0.0), (0.0, 1e-6)]
NAMES: list[list[str | int]] = [["a", "b", "c", "d"], [0, 1, 2, 3], ["tPA", 7, "watch", -1]]
RATES = ["1 + t log(t)^2", "t", "t + 1000", "t log(t)^3"]


def numbers(draw: Draw, size: int) -> list[float]:
    return [draw.share() for _ in range(size)]


def columns(draw: Draw, size: int, ranges: list[tuple[float, float]] | None = None) -> dict[str, list[float]]:
    """Columns lower, upper, low, high of bounds that can hold."""
    if ranges is None:
        ranges = [draw.pick(RANGES)] * size if draw.chance(0.7) else [draw.pick(RANGES) for _ in range(size)]
    low, high = (list(ends) for ends in zip(*ranges, strict=True))
    pairs = [sorted((draw.share(), draw.share())) for _ in range(size)]
    lower, upper = (
        [min(b, max(a, a + (b - a) * pair[side])) for pair, a, b in zip(pairs, low, high, strict=True)]
        for side in (0, 1)
    )
    return {"lower": lower, "upper": upper, "low": low, "high": high}


def a_bounds(draw: Draw, size: int | None = None, arms: list[str | int] | None = None) -> mb.MeanBounds:
    size = draw.integer(1, 4) if size is None else size
    names = draw.pick(NAMES)[:size] if arms is None else arms
    return mb.MeanBounds(**columns(draw, size), arms=names)


def a_log(draw: Draw, size: int) -> mb.LoggedArms:
    """Names that bounds without names have."""
    counts = [draw.integer(0, 30) for _ in range(size)]
    return mb.LoggedArms(counts, [count * draw.share() for count in counts])


def a_policy(draw: Draw, *, logged: bool = True) -> mb.Policy:
    rate = {} if draw.chance(0.7) else {"f": draw.pick(RATES)}
    moments: dict[str, Any] = {"moments": draw.pick((1, 2))}
    settles = moments | {"settle": draw.pick((True, False))}
    kinds: list[tuple[type[mb.Policy], dict[str, Any]]] = [
        *((kind, rate) for kind in (mb.UCB, mb.BUCB, mb.ImprovedUCB, mb.GLUE, mb.KLUCB, mb.BKLUCB, mb.UCBoost)),
        (mb.OSSB, {"epsilon": draw.pick((0.01, 0.2)), "gamma": draw.pick((0.01, 1.0))}),
        (mb.BIMED, settles),
        (mb.OptimisticGittins, moments | rate),
        (mb.IDS, moments | {"power": draw.pick((1.5, 2.0))}),
        (mb.ThompsonSampling, settles | {"draws": draw.pick(("inversion", "rejection"))}),
        (mb.MINTS, {}),
    ]
    if logged:  # of arms that no bounds name: totals would have to fit their ranges
        log = mb.LoggedArms([draw.integer(0, 9), 0], [0.0, 0.0], arms=["logged", "never"])
        kinds += [(mb.MINUCB, {"log": log, "bias": draw.pick((None, 0.1))}), (mb.MostFrequentArm, {"log": log})]
        kinds.append((mb.WarmStart, {"base": a_policy(draw, logged=False), "log": log}))
    kind, parameters = draw.pick(kinds)
    return kind(**parameters)


def a_linear_policy(draw: Draw) -> mb.LinearPolicy:
    common: dict[str, Any] = {
        "norm_high": draw.pick((1.0, 2.0, 10.0)),
        "regularisation": draw.pick((1.0, 0.1)),
        "noise": draw.pick(("weighted", "running-max", "restricted-max")),
    }
    if draw.chance(0.4):
        return mb.OFUL(**common)
    if draw.chance(0.3):
        return mb.LinearThompson(**{**common, "noise": draw.pick(("variance", "weighted", "pool-max"))})
    index, tighten = draw.pick(("exact", "clip", "plain")), draw.pick(("exact", "cone", "none"))
    return mb.ROFUL(index=index, tighten=tighten, online=draw.chance(0.3), **common)


def features(draw: Draw, size: int) -> list[list[float]]:
    return [[round(2.0 * draw.share() - 1.0, 3), round(2.0 * draw.share() - 1.0, 3)] for _ in range(size)]


def an_agent(draw: Draw) -> mb.Agent:
    floor = draw.pick((0.0, 0.0, 0.01, 0.2))
    return mb.Agent(a_policy(draw), a_bounds(draw), seed=draw.integer(0, 2**62), floor=floor)


def a_linear_agent(draw: Draw) -> mb.Agent:
    """Wide bounds around the means that a parameter of norm below 1 gives, so that they never contradict each other."""
    size = draw.integer(1, 4)
    rows = features(draw, size)
    theta = [0.4, draw.pick((-0.5, 0.0, 0.5))]
    offset = draw.pick((0.0, 0.25))
    means = [offset + float(np.dot(row, theta)) for row in rows]
    lower, upper = [m - draw.share() for m in means], [m + draw.share() for m in means]
    bounds = mb.MeanBounds(lower, upper, arms=draw.pick(NAMES)[:size], low=-3.0, high=3.0)
    floor = draw.pick((0.0, 0.0, 0.05))
    seed = draw.integer(0, 2**62)
    policy, known = a_linear_policy(draw), mb.Knowledge(bounds, trust=draw.pick((1.0, 1.0, 0.9, 0.0)))
    if isinstance(policy, mb.LinearThompson) and draw.chance(0.5):
        known = mb.Knowledge(bounds, trust=known.trust, prior=mb.Prior(draw.pick((-0.5, 0.5)), draw.pick((2.0, 30.0))))
    return mb.Agent(policy, known, seed=seed, features=rows, offset=offset, floor=floor)


def a_candidate(draw: Draw) -> mb.Candidate:
    return mb.Candidate(features(draw, 1)[0], low=-3.0, high=3.0, name=draw.pick((None, "new", 5)))


def a_context(draw: Draw) -> Any:
    return draw.pick(("young", "old", 3, 2.5, ("old", 1)))


def a_contextual_agent(draw: Draw) -> mb.ContextualAgent:
    arms = draw.pick(NAMES)[: draw.integer(1, 4)]
    ranges = [draw.pick(RANGES)] * len(arms)
    contexts = draw.some(("young", "old", 3, 2.5, ("old", 1)), least=1)
    bounds = {c: mb.MeanBounds(**columns(draw, len(arms), ranges), arms=arms) for c in contexts}
    if draw.chance(0.2):
        bounds["other"] = a_bounds(draw)
    unknown: Any = draw.pick(("error", "vacuous"))
    return mb.ContextualAgent(
        a_policy(draw), bounds, seed=draw.integer(0, 2**62), unknown=unknown, floor=draw.pick((0.0, 0.05))
    )


def an_environment(draw: Draw, size: int | None = None) -> mb.Environment:
    size = draw.integer(1, 3) if size is None else size
    shares = [min(0.99, max(0.01, share)) for share in numbers(draw, size)]
    kind = draw.integer(0, 4)
    if kind == 0:
        return mb.Uniform(shares)
    if kind == 1:
        return mb.Beta(shares, concentration=draw.pick((0.5, 5.0)))
    if kind == 2:
        return mb.Table([[share, 0.0, 1.0] for share in shares], low=0.0, high=1.0)
    if kind == 3:
        return mb.Linear(features(draw, size), [0.3, 0.4], low=-1.0, high=1.0)
    return mb.Bernoulli(shares)


def a_delay(draw: Draw) -> Delay:
    return Delay(draw.pick((0, 1, 5)), draw.pick(("fixed", "geometric")), lost=draw.pick((0.0, 0.5)))


@cache
def _regrets() -> list[mb.Regret]:
    """Made once: each holds a few rounds, enough to fuzz what reads them."""
    bounds = mb.MeanBounds([0.5, 0.1], [0.95, 0.9])
    world = mb.Linear([[1.0, 0.0], [0.6, 0.8]], [0.5, 0.5], low=-1.0, high=1.0)
    return [
        mb.simulate([mb.UCB(), mb.GLUE()], mb.Bernoulli([0.9, 0.8]), bounds, horizon=20, runs=3, seed=1),
        mb.simulate({"a": mb.OSSB(), "b": mb.BIMED()}, mb.Uniform([0.9, 0.8]), bounds, horizon=20, runs=3, seed=2),
        mb.simulate([mb.OFUL()], world, horizon=20, runs=2, seed=3),
    ]


def a_regret(draw: Draw) -> mb.Regret:
    return draw.pick(_regrets())


def a_world(draw: Draw) -> mb.HiddenContexts:
    return mb.HiddenContexts.random(
        draw.integer(1, 2), draw.integer(1, 3), arms=draw.integer(2, 3), seed=draw.integer(0, 99)
    )
