"""Calls that keep no state: every public function, constructor and method, with valid arguments to be spoiled."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import meanbounds as mb
from meanbounds import evidence, logs, theory
from meanbounds.fits.gymnasium import BanditEnv, HiddenContextsEnv, LinearBanditEnv
from meanbounds.fits.obp import action_dist, bandit_feedback
from meanbounds.fits.river import RiverContextualPolicy, RiverPolicy
from meanbounds.simulation import Delay, corrupt, corrupt_log, first_contradictions, simulate_agents
from meanbounds.support.seeding import as_seed
from tests.fuzzing.draw import Call, Draw
from tests.fuzzing.made import (
    NAMES,
    a_bounds,
    a_candidate,
    a_delay,
    a_linear_policy,
    a_log,
    a_policy,
    a_regret,
    a_world,
    an_environment,
    columns,
    features,
    numbers,
)

__all__ = ["CALLS", "a_call"]

Maker = Callable[[Draw], Call]

CALLS: dict[str, Maker] = {}
SLOW = {
    *("simulate", "simulate_agents", "HiddenContexts.simulate", "logs.sensitivity", "logs.bounds", "logs.refute"),
    *("logs.prior", "logs.agent", "logs.linear_bounds", "logs.linear_bounds_from_log", "first_contradictions"),
    *("Journal", "Journal.decide", "Journal.reward", "Journal.cancel", "logs.explain"),
    *("logs.evaluate", "logs.Evaluation.from_dict"),
}
_FOLDER, _NUMBERS = tempfile.TemporaryDirectory(), itertools.count()


def a_call(draw: Draw) -> Call:
    """Any of the calls; the slow ones less often."""
    name = draw.pick(list(CALLS))
    if name in SLOW and draw.chance(0.7):
        name = "MeanBounds"
    call = CALLS[name](draw)
    call.name = name
    return call


def _add(name: str) -> Callable[[Maker], Maker]:
    def keep(maker: Maker) -> Maker:
        CALLS[name] = maker
        return maker

    return keep


def _size(draw: Draw) -> int:
    return draw.integer(1, 4)


# Bounds and what is known


@_add("MeanBounds")
def _(draw: Draw) -> Call:
    size = _size(draw)
    own: dict[str, Any] = columns(draw, size)
    own["arms"] = draw.pick(NAMES)[:size]
    return Call("", mb.MeanBounds, [own.pop("lower"), own.pop("upper")], {k: own[k] for k in draw.some(list(own), 2)})


@_add("TightBounds")
def _(draw: Draw) -> Call:
    size = _size(draw)
    exact = [draw.chance(0.5) for _ in range(size)]
    more = {"lower_exact": exact, "upper_exact": draw.chance(0.5), "peaks": features(draw, size)}
    return Call("", mb.TightBounds, [], {**columns(draw, size), **more})


@_add("MeanBounds.vacuous")
def _(draw: Draw) -> Call:
    arms: Any = draw.pick((2, np.int8(3), ["a", "b"]))
    return Call("", mb.MeanBounds.vacuous, [arms], {"low": 0.0, "high": 1.0})


@_add("MeanBounds.from_dict")
def _(draw: Draw) -> Call:
    return Call("", mb.MeanBounds.from_dict, [a_bounds(draw).to_dict()])


@_add("TightBounds.from_dict")
def _(_draw: Draw) -> Call:
    return Call("", mb.TightBounds.from_dict, [mb.TightBounds([0.1], [0.5], peaks=[[1.0, 0.0]]).to_dict()])


@_add("MeanBounds.from_frame")
def _(draw: Draw) -> Call:
    own: dict[str, Any] = columns(draw, _size(draw))
    for name in draw.some(list(own)) if draw.chance(0.4) else []:
        own[name] = draw.pick((own[name], [draw.hostile_number() for _ in own[name]], ["a"] * len(own[name])))
    return Call(
        "", mb.MeanBounds.from_frame, [pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in own.items()})]
    )


def _method(name: str, arguments: Callable[[Draw, mb.MeanBounds], list[Any]]) -> None:
    def make(draw: Draw) -> Call:
        bounds = a_bounds(draw)
        return Call("", getattr(bounds, name), arguments(draw, bounds))

    CALLS[f"MeanBounds.{name}"] = make


_method("position", lambda draw, bounds: [draw.pick(bounds.arms)])
_method("contains", lambda draw, bounds: [numbers(draw, len(bounds))])
_method("meta_pruned", lambda draw, _bounds: [draw.share()])
_method("subset", lambda draw, bounds: [[draw.integer(0, len(bounds) - 1)]])
_method("matching", lambda draw, bounds: [a_bounds(draw) if draw.chance(0.5) else bounds])
_method("intersect", lambda draw, bounds: [a_bounds(draw) if draw.chance(0.5) else bounds])
_method("__eq__", lambda _draw, bounds: [bounds])
for _name in ("pruned", "to_dict", "to_frame", "__repr__", "__hash__", "__len__", "__reduce__"):
    _method(_name, lambda _draw, _bounds: [])


def _property(name: str) -> None:
    def make(draw: Draw) -> Call:
        bounds = a_bounds(draw)
        return Call("", lambda: getattr(bounds, name))

    CALLS[f"MeanBounds.{name}"] = make


for _name in ("best_lower", "possible", "variance_proxy", "worst_variance_proxy", "best_variance_proxy"):
    _property(_name)


@_add("Knowledge")
def _(draw: Draw) -> Call:
    trust = draw.pick(({}, {"trust": draw.share()}, {"doubt_after": 1.0 + 100.0 * draw.share()}))
    return Call("", mb.Knowledge, [a_bounds(draw)], trust)


@_add("Prior")
def _(draw: Draw) -> Call:
    return Call("", mb.Prior, [draw.pick((draw.share(), [0.2, 0.7])), draw.pick((2, [0.5, 30.0]))])


@_add("Prior.from_dict")
def _(draw: Draw) -> Call:
    return Call("", mb.Prior.from_dict, [mb.Prior(draw.share(), [0.5, 30.0]).to_dict()])


@_add("PriorMixture")
def _(draw: Draw) -> Call:
    laws = [mb.Prior(draw.share(), [0.5, 30.0]), mb.Prior([0.2, 0.7], 8)]
    return Call("", mb.PriorMixture, [laws, draw.pick(([0.9, 0.1], [[0.5, 0.5], [0.0, 1.0]]))])


@_add("Prior.rows")
def _(draw: Draw) -> Call:
    return Call("", mb.Prior([0.4, 0.6], 8).rows, [draw.pick((mb.MeanBounds.vacuous(2), a_bounds(draw)))])


@_add("Prior.subset")
def _(draw: Draw) -> Call:
    return Call("", mb.Prior([0.4, 0.6, 0.7], 8).subset, [[draw.pick((0, 1, 2))]])


@_add("Knowledge.of")
def _(draw: Draw) -> Call:
    return Call("", mb.Knowledge.of, [draw.pick((a_bounds(draw), mb.Knowledge(a_bounds(draw))))])


@_add("Knowledge.subset")
def _(draw: Draw) -> Call:
    return Call("", mb.Knowledge(a_bounds(draw, 3)).subset, [[draw.pick((0, 1, 2))]])


@_add("Knowledge.with_bounds")
def _(draw: Draw) -> Call:
    return Call("", mb.Knowledge(a_bounds(draw), trust=draw.share()).with_bounds, [a_bounds(draw)])


@_add("Knowledge.with_arm")
def _(draw: Draw) -> Call:
    return Call("", mb.Knowledge(a_bounds(draw)).with_arm, ["new", draw.pick((None, 0.2)), 0.7, 0.0, 1.0])


@_add("Knowledge.from_dict")
def _(draw: Draw) -> Call:
    return Call("", mb.Knowledge.from_dict, [mb.Knowledge(a_bounds(draw), trust=draw.share()).to_dict()])


# Distances and variance proxies


@_add("variance_proxy")
def _(draw: Draw) -> Call:
    size = _size(draw)
    mean: Any = draw.share() if draw.chance(0.4) else numbers(draw, size)
    return Call("", mb.variance_proxy, [mean], {"low": 0.0, "high": 1.0})


@_add("variance_proxy_from_bounds")
def _(draw: Draw) -> Call:
    return Call("", mb.variance_proxy_from_bounds, [], columns(draw, _size(draw)))


@_add("bernoulli_kl")
def _(draw: Draw) -> Call:
    size = _size(draw)
    return Call("", mb.bernoulli_kl, [draw.pick((draw.share(), numbers(draw, size))), numbers(draw, size)])


@_add("bernoulli_kl_upper")
def _(draw: Draw) -> Call:
    size = _size(draw)
    return Call("", mb.bernoulli_kl_upper, [draw.pick((draw.share(), numbers(draw, size))), numbers(draw, size)])


@_add("as_seed")
def _(draw: Draw) -> Call:
    return Call("", as_seed, [draw.pick((7, np.random.default_rng(7)))])


# Policies and plans


def _policy(kind: type[Any], parameters: Callable[[Draw], dict[str, Any]]) -> None:
    CALLS[kind.__name__] = lambda draw: Call("", kind, [], parameters(draw))


for _kind in (mb.UCB, mb.BUCB, mb.ImprovedUCB, mb.GLUE, mb.KLUCB, mb.BKLUCB, mb.UCBoost):
    _policy(_kind, lambda draw: {"f": draw.pick(("t", np.exp, "t log(t)^3"))})
_policy(mb.OSSB, lambda draw: {"epsilon": draw.share(), "gamma": draw.share()})
_policy(mb.BIMED, lambda draw: {"moments": draw.pick((1, 2)), "settle": draw.pick((True, False))})
_policy(mb.OptimisticGittins, lambda draw: {"moments": draw.pick((1, 2)), "f": "t"})
_policy(mb.IDS, lambda draw: {"moments": draw.pick((1, 2)), "power": 1.5})
_policy(mb.ThompsonSampling, lambda draw: {"moments": draw.pick((1, 2))})
_policy(mb.MINTS, lambda _draw: {})
_policy(mb.MINUCB, lambda draw: {"log": a_log(draw, 2), "bias": draw.pick((None, 0.1, [0.1, 0.2]))})
_policy(mb.WarmStart, lambda draw: {"base": a_policy(draw, logged=False), "log": a_log(draw, 2)})
_policy(mb.MostFrequentArm, lambda draw: {"log": a_log(draw, 2)})
_LINEAR = {"norm_high": 1.0, "regularisation": 1.0, "failure": 0.01, "noise": "weighted"}
_policy(mb.OFUL, lambda _draw: dict(_LINEAR))
_policy(
    mb.ROFUL,
    lambda _draw: {
        **_LINEAR,
        "norm_low": 0.1,
        "index": "clip",
        "tighten": "cone",
        "online": True,
        "printed": False,
        "settle": True,
    },
)


_policy(mb.LinearThompson, lambda draw: {**_LINEAR, "norm_low": 0.1, "draws": draw.integer(1, 20)})


@_add("LoggedArms")
def _(draw: Draw) -> Call:
    return Call("", mb.LoggedArms, [[3, 0], [1.5, 0.0]], {"arms": draw.pick((None, ["a", 5]))})


@_add("LoggedArms.of")
def _(draw: Draw) -> Call:
    return Call("", mb.LoggedArms.of, [{"a": numbers(draw, 2), "b": []}])


@_add("LoggedArms.read")
def _(draw: Draw) -> Call:
    return Call("", mb.LoggedArms.read, [a_log(draw, 2).to_dict()])


@_add("ROFUL.paper")
def _(draw: Draw) -> Call:
    return Call("", mb.ROFUL.paper, [], {"norm_high": 1.0, "norm_low": draw.share(), "failure": 0.01})


@_add("Policy.from_dict")
def _(draw: Draw) -> Call:
    policy: Any = a_policy(draw) if draw.chance(0.6) else a_linear_policy(draw)
    return Call("", mb.Policy.from_dict, [policy.to_dict()])


@_add("Policy.plan")
def _(draw: Draw) -> Call:
    return Call(
        "", a_policy(draw).plan, [draw.pick((a_bounds(draw), mb.Knowledge(a_bounds(draw), trust=draw.share())))]
    )


# Policy.prepare is left out: it is a hook for those who write policies, and only Policy.plan, which checks, calls it


@_add("Policy.log_f")
def _(draw: Draw) -> Call:
    return Call("", a_policy(draw).log_f, [1, draw.integer(1, 5)], sizes=frozenset((0, 1)))


@_add("Policy.settings")
def _(draw: Draw) -> Call:
    return Call("", a_policy(draw).settings)


@_add("LinearPolicy.plan")
def _(draw: Draw) -> Call:
    return Call("", a_linear_policy(draw).plan, [_linear_arms(draw)], nan=True)  # peaks that are not known


@_add("LinearPolicy.make_plan")
def _(draw: Draw) -> Call:
    arms, more = _linear_arms(draw), {"norm_low": 0.1, "prune": True, "cone": False, "online": False, "printed": False}
    return Call("", a_linear_policy(draw).make_plan, [arms, arms.bounds, "clip", None], more, nan=True)


@_add("LinearPolicy.check_scale")
def _(draw: Draw) -> Call:
    return Call("", a_linear_policy(draw).check_scale, [draw.share()])


@_add("LinearPolicy.noise_of")
def _(draw: Draw) -> Call:
    return Call("", a_linear_policy(draw).noise_of, [[0.1, 0.2], [0.5, 0.9], 0.0, 1.0], nan=True)


@_add("make_plan")
def _(draw: Draw) -> Call:
    bounds = a_bounds(draw)
    more = {"cap": numbers(draw, len(bounds)), "proxy": draw.share(), "lower": numbers(draw, len(bounds))}
    return Call("", mb.make_plan, [bounds, bounds.possible], {k: more[k] for k in draw.some(list(more))})


@_add("Plan.select")
def _(draw: Draw) -> Call:
    plan = mb.make_plan(a_bounds(draw))
    return Call("", plan.select, [np.array([0])])


@_add("Plan.placed")
def _(draw: Draw) -> Call:
    plan = mb.make_plan(a_bounds(draw))
    return Call("", plan.placed, [[draw.integer(0, 9) for _ in range(len(plan))]])


# Arms with features


def _linear_arms(draw: Draw) -> mb.LinearArms:
    size = _size(draw)
    return mb.LinearArms(features(draw, size), mb.MeanBounds.vacuous(size, low=-3.0, high=3.0))


@_add("LinearArms")
def _(draw: Draw) -> Call:
    bounds = a_bounds(draw)
    return Call("", mb.LinearArms, [features(draw, len(bounds)), bounds], {"offset": numbers(draw, len(bounds))})


@_add("FeasibleSet")
def _(draw: Draw) -> Call:
    more = {"norm_high": 1.0, "norm_low": 0.1, "extra": [[[1.0, 0.0]], [-0.5], [0.9]]}
    return Call("", mb.FeasibleSet, [_linear_arms(draw)], more)


@_add("FeasibleSet.bound")
def _(draw: Draw) -> Call:
    return Call("", mb.FeasibleSet(_linear_arms(draw), norm_high=1.0).bound, [features(draw, 1)[0], draw.share()])


@_add("tighten")
def _(draw: Draw) -> Call:
    size = _size(draw)
    bounds = mb.MeanBounds.vacuous(size, low=-3.0, high=3.0)
    more = {"norm_high": 1.0, "norm_low": 0.0, "offset": 0.0, "progress": False}
    return Call("", mb.tighten, [features(draw, size), bounds], more)


@_add("Candidate")
def _(draw: Draw) -> Call:
    ends = {name: values[0] for name, values in columns(draw, 1).items()}
    return Call("", mb.Candidate, features(draw, 1), {**ends, "offset": draw.share(), "name": "new"})


# Agents


@_add("Agent")
def _(draw: Draw) -> Call:
    bounds = a_bounds(draw)
    more: dict[str, Any] = {"seed": draw.integer(0, 9), "floor": draw.pick((0.0, 0.01))}
    if draw.chance(0.5):
        return Call("", mb.Agent, [a_policy(draw), bounds], more)
    more |= {"features": features(draw, len(bounds)), "offset": numbers(draw, len(bounds))}
    return Call("", mb.Agent, [mb.OFUL(), bounds], more)


@_add("ArtificialReplay")
def _(draw: Draw) -> Call:
    agent = mb.Agent(a_policy(draw), mb.MeanBounds.vacuous(2), seed=7)
    return Call("", mb.ArtificialReplay, [agent, {0: [0.5, 1.0], 1: numbers(draw, 2)}])


def a_journal(draw: Draw) -> mb.Journal:
    """The journal of an agent in a folder that ends with the process."""
    path = Path(_FOLDER.name, f"agent {next(_NUMBERS)}.json")
    mb.Agent(a_policy(draw), mb.MeanBounds([0.2, 0.3], [0.9, 0.8]), seed=7).save(path)
    journal = mb.Journal(path)
    journal.decide(id="first")
    return journal


@_add("Journal")
def _(draw: Draw) -> Call:
    return Call("", mb.Journal, [a_journal(draw).path, draw.pick((None, "events.jsonl"))])


@_add("Journal.decide")
def _(draw: Draw) -> Call:
    more = {"eligible": draw.pick((None, [1], [0, 1])), "id": draw.pick((None, "first", "second"))}
    return Call("", a_journal(draw).decide, [None], more)


@_add("Journal.reward")
def _(draw: Draw) -> Call:
    return Call("", a_journal(draw).reward, [draw.pick(("first", "other")), draw.share()])


@_add("Journal.cancel")
def _(draw: Draw) -> Call:
    return Call("", a_journal(draw).cancel, [draw.pick(("first", "other"))])


@_add("ArtificialReplay.pull")
def _(draw: Draw) -> Call:
    replay = mb.ArtificialReplay(mb.Agent(a_policy(draw), mb.MeanBounds.vacuous(2), seed=7), {0: [0.5, 1.0]})
    return Call("", replay.pull, [draw.pick((None, [1], [0, 1]))], {"pending": draw.pick((None, "count"))})


@_add("ArtificialReplay.from_dict")
def _(draw: Draw) -> Call:
    replay = mb.ArtificialReplay(mb.Agent(a_policy(draw), mb.MeanBounds.vacuous(2), seed=7), {0: [0.5, 1.0]})
    return Call("", mb.ArtificialReplay.from_dict, [replay.to_dict()])


@_add("ContextualAgent")
def _(draw: Draw) -> Call:
    more: dict[str, Any] = {"seed": draw.integer(0, 9), "unknown": draw.pick(("error", "vacuous")), "floor": 0.0}
    return Call("", mb.ContextualAgent, [a_policy(draw), {"young": a_bounds(draw), 3: a_bounds(draw)}], more)


@_add("ContextualAgent.from_columns")
def _(draw: Draw) -> Call:
    own = [columns(draw, 2, [(0.0, 1.0)] * 2) for _ in range(2)]
    more: dict[str, Any] = {side: [part[side] for part in own] for side in ("lower", "upper")}
    more |= {"low": 0.0, "high": [1.0, 1.0], "arms": ["a", "b"], "seed": 1, "unknown": "error", "floor": 0.0}
    return Call("", mb.ContextualAgent.from_columns, [a_policy(draw), ["young", "old"]], more)


@_add("Candidate.to_dict")
def _(draw: Draw) -> Call:
    return Call("", a_candidate(draw).to_dict)


# Environments and simulations


def _environment(kind: type[Any]) -> None:
    CALLS[kind.__name__] = lambda draw: Call("", kind, [numbers(draw, _size(draw))], {"low": 0.0, "high": 1.0})


for _world in (mb.Bernoulli, mb.Uniform, mb.Beta):
    _environment(_world)


@_add("Table")
def _(draw: Draw) -> Call:
    size = _size(draw)
    more = {"weights": [[1.0, 2.0]] * size, "low": -1.0, "high": 2.0}
    return Call("", mb.Table, [[numbers(draw, 2) for _ in range(size)]], {k: more[k] for k in draw.some(list(more))})


@_add("Changing")
def _(draw: Draw) -> Call:
    worlds = [(0, mb.Bernoulli([0.2, 0.7])), (draw.integer(1, 9), mb.Bernoulli([0.6, draw.share()]))]
    return Call("", mb.Changing, [worlds])


@_add("Linear")
def _(draw: Draw) -> Call:
    size = _size(draw)
    more: dict[str, Any] = {
        **{
            "offered": draw.integer(1, size),
            "rewards": draw.pick(("two-point", "uniform", "beta", "clipped-gaussian")),
        },
        **{"low": -2.0, "high": 2.0, "offset": 0.1, "concentration": 5.0, "variance": 0.8},
    }
    return Call("", mb.Linear, [features(draw, size), [0.3, 0.4]], more)


@_add("Environment.settings")
def _(draw: Draw) -> Call:
    return Call("", an_environment(draw).settings)


@_add("Environment.rewards")
def _(draw: Draw) -> Call:
    world = an_environment(draw)
    return Call("", lambda: world.rewards(world.low, world.high))


@_add("Delay")
def _(draw: Draw) -> Call:
    return Call("", Delay, [draw.pick((3, 2.5)), draw.pick(("fixed", "geometric"))], {"lost": draw.share()})


@_add("Delay.delays")
def _(draw: Draw) -> Call:
    return Call("", a_delay(draw).delays, [10])


@_add("simulate")
def _(draw: Draw) -> Call:
    world = an_environment(draw)
    known = mb.MeanBounds.vacuous(len(world), low=world.low, high=world.high)
    linear = isinstance(world, mb.Linear) and draw.chance(0.7)
    more: dict[str, Any] = {
        **{"horizon": draw.integer(1, 20), "runs": draw.integer(1, 3), "seed": draw.integer(0, 9), "progress": False},
        **{"checkpoints": draw.integer(1, 20), "workers": 1, "block": draw.integer(1, 3)},
        **({} if linear else {"delay": draw.pick((None, 2, a_delay(draw))), "pending": draw.pick(("ignore", "count"))}),
    }
    sizes = frozenset(("horizon", "runs", "checkpoints", "workers", "block"))
    return Call("", mb.simulate, [a_linear_policy(draw) if linear else a_policy(draw), world, known], more, sizes)


@_add("simulate_agents")
def _(draw: Draw) -> Call:
    world = an_environment(draw)
    known = mb.MeanBounds.vacuous(len(world), low=world.low, high=world.high)
    agents = {"a": lambda seed: mb.Agent(mb.UCB(), known, seed=seed)}
    more = {"horizon": draw.integer(1, 20), "runs": draw.integer(1, 3), "seed": 7, "checkpoints": draw.integer(1, 20)}
    sizes = frozenset(("horizon", "runs", "checkpoints"))
    return Call("", lambda *args, **options: simulate_agents(agents, *args, **options), [world, known], more, sizes)


@_add("corrupt")
def _(draw: Draw) -> Call:
    bounds, kind = a_bounds(draw, 2), draw.pick(("cap-too-low", "best-pruned", "bad-favoured", "shifted", "narrowed"))
    return Call("", corrupt, [bounds, 0.5 * (bounds.lower + bounds.upper), kind, draw.share()], {"seed": 7})


@_add("corrupt_log")
def _(draw: Draw) -> Call:
    kind = draw.pick(("expert-errs", "best-understated"))
    args = [a_log(draw, 2), numbers(draw, 2), mb.MeanBounds.vacuous(2), kind, draw.share()]
    return Call("", corrupt_log, args, {"seed": 7})


def _of_regret(name: str, arguments: Callable[[Draw, mb.Regret], list[Any]]) -> None:
    def make(draw: Draw) -> Call:
        regret = a_regret(draw)
        return Call("", getattr(regret, name), arguments(draw, regret))

    CALLS[f"Regret.{name}"] = make


_of_regret("mean", lambda draw, regret: [draw.pick(regret.labels)])
_of_regret("deviation", lambda draw, regret: [draw.pick(regret.labels)])
_of_regret("band", lambda draw, regret: [draw.pick(regret.labels), 0.9])
_of_regret("quantiles", lambda draw, regret: [draw.pick(regret.labels), numbers(draw, 2)])
_of_regret("select", lambda _draw, regret: [list(regret.labels)])
_of_regret("summary", lambda _draw, _regret: [])
_of_regret("to_frame", lambda _draw, _regret: [])
_of_regret("concat", lambda draw, regret: [[regret, a_regret(draw)]])
_of_regret("beside", lambda draw, regret: [{"a": regret, "b": a_regret(draw)}])


@_add("Regret.from_dict")
def _(draw: Draw) -> Call:
    return Call("", mb.Regret.from_dict, [a_regret(draw).to_dict()])


# Evidence


def _rewards(draw: Draw, size: int) -> tuple[list[int], list[float], list[float]]:
    """Numbers, sums and sums of squares of rewards of 0, 1/2 and 1."""
    values = [[draw.pick((0.0, 0.5, 1.0)) for _ in range(draw.integer(0, 30))] for _ in range(size)]
    return [len(own) for own in values], [sum(own) for own in values], [sum(x * x for x in own) for own in values]


def _against(function: Callable[..., Any]) -> Maker:
    def make(draw: Draw) -> Call:
        plays, total, squares = _rewards(draw, _size(draw))
        more: dict[str, Any] = {"squares": squares, "missing": draw.integer(0, 9), "low": 0.0, "high": 1.0}
        return Call("", function, [plays, total, draw.share()], {k: more[k] for k in draw.some(list(more))})

    return make


CALLS["evidence.log_e_upper"] = _against(evidence.log_e_upper)
CALLS["evidence.log_e_lower"] = _against(evidence.log_e_lower)


@_add("evidence.confidence_sequence")
def _(draw: Draw) -> Call:
    plays, total, squares = _rewards(draw, _size(draw))
    more: dict[str, Any] = {"squares": squares, "missing": draw.integer(0, 9), "error": 0.05, "low": 0.0, "high": 1.0}
    return Call("", evidence.confidence_sequence, [plays, total], {k: more[k] for k in draw.some(list(more))})


@_add("evidence.check_bounds")
def _(draw: Draw) -> Call:
    size = _size(draw)
    own = columns(draw, size, [(0.0, 1.0)] * size)
    bounds = mb.MeanBounds(own["lower"], own["upper"])
    plays, total, squares = _rewards(draw, size)
    more: dict[str, Any] = {"squares": squares, "missing": draw.integer(0, 9), "error": 0.05}
    return Call("", evidence.check_bounds, [bounds, plays, total], {k: more[k] for k in draw.some(list(more))})


@_add("first_contradictions")
def _(draw: Draw) -> Call:
    size = _size(draw)
    own = columns(draw, size, [(0.0, 1.0)] * size)
    bounds, environment = mb.MeanBounds(own["lower"], own["upper"]), mb.Bernoulli(numbers(draw, size))
    more: dict[str, Any] = {"horizon": 20, "runs": 2, "seed": 1, "checkpoints": 3, "error": 0.05}
    return Call("", first_contradictions, [a_policy(draw, logged=False), environment, bounds], more)


# Theory


def _means(draw: Draw) -> list[Any]:
    bounds = a_bounds(draw)
    share = draw.share()
    return [(bounds.lower + share * (bounds.upper - bounds.lower)).tolist(), bounds]


@_add("theory.asymptotic_plays")
def _(draw: Draw) -> Call:
    return Call("", theory.asymptotic_plays, [a_policy(draw), *_means(draw)])


@_add("theory.asymptotic_constant")
def _(draw: Draw) -> Call:
    return Call("", theory.asymptotic_constant, [a_policy(draw), *_means(draw)])


@_add("theory.comparison")
def _(draw: Draw) -> Call:
    return Call("", theory.comparison, _means(draw), {"form": draw.pick(("corrected", "paper"))})


@_add("theory.lower_bound")
def _(draw: Draw) -> Call:
    return Call("", theory.lower_bound, _means(draw))


@_add("theory.arm_status")
def _(draw: Draw) -> Call:
    return Call("", theory.arm_status, _means(draw))


@_add("theory.glue_plays")
def _(draw: Draw) -> Call:
    horizon: Any = draw.pick((100, [10, 20]))
    return Call("", theory.glue_plays, [*_means(draw), horizon], {"policy": a_policy(draw), "form": "corrected"})


@_add("theory.glue_regret")
def _(draw: Draw) -> Call:
    horizon: Any = draw.pick((100, [10, 20]))
    return Call("", theory.glue_regret, [*_means(draw), horizon], {"form": draw.pick(("corrected", "paper"))})


@_add("theory.settling_plays")
def _(draw: Draw) -> Call:
    policy: Any = draw.pick((mb.BIMED(), mb.ThompsonSampling(f="t"), mb.BIMED(settle=False)))
    return Call("", theory.settling_plays, [*_means(draw), draw.pick((10, [1, 1000]))], {"policy": policy})


def _doubted(draw: Draw) -> list[Any]:
    means, bounds, *_ = _means(draw)
    return [means, mb.Knowledge(bounds, trust=draw.pick((0.0, 0.9, 0.9999, 1.0))), draw.pick((10, [1, 1000]))]


@_add("theory.doubt_plays")
def _(draw: Draw) -> Call:
    more = {"policy": a_policy(draw), "form": draw.pick(("proved", "first order"))}
    return Call("", theory.doubt_plays, _doubted(draw), more)


@_add("theory.doubt_regret")
def _(draw: Draw) -> Call:
    return Call("", theory.doubt_regret, _doubted(draw), {"policy": draw.pick((None, mb.BKLUCB(), mb.UCBoost()))})


@_add("theory.doubt_lower_bound")
def _(draw: Draw) -> Call:
    means, bounds, *_ = _means(draw)
    arm = draw.pick(bounds.arms)
    return Call(
        "", theory.doubt_lower_bound, [means, bounds, arm, draw.share(), draw.pick((0.0, [3.0, 4.0])), [10, 20]]
    )


@_add("theory.linear_regret")
def _(draw: Draw) -> Call:
    arms = _linear_arms(draw)
    more = {"offset": 0.0, "form": "corrected"}
    return Call("", theory.linear_regret, [a_linear_policy(draw), arms.features.tolist(), arms.bounds, [10, 20]], more)


@_add("theory.regret_bounds")
def _(draw: Draw) -> Call:
    return Call("", theory.regret_bounds, [a_regret(draw)], {"form": draw.pick(("corrected", "paper"))})


@_add("theory.regret_slopes")
def _(draw: Draw) -> Call:
    return Call("", theory.regret_slopes, [a_regret(draw)])


@_add("theory.uncertain_regret")
def _(draw: Draw) -> Call:
    return Call("", theory.uncertain_regret, [draw.share(), numbers(draw, 2), 100], {"width": 1.0})


# Logs and worlds


@_add("logs.Counts")
def _(draw: Draw) -> Call:
    size = draw.integer(1, 3)
    count = [[float(draw.integer(0, 20)) for _ in range(size)] for _ in range(2)]
    total = [[n * draw.share() for n in row] for row in count]
    more = {"count": count, "total": total, "squares": total, "low": 0.0, "high": 1.0}
    return Call("", logs.Counts, [["young", "old"], ["a", "b", "c"][:size]], more)


@_add("logs.Counts.from_dict")
def _(draw: Draw) -> Call:
    return Call("", logs.Counts.from_dict, [a_world(draw).sample(50, seed=1).to_dict()])


_ASSUMPTIONS = (logs.AnyExpert(), logs.ErringExpert(0.1), logs.NearlyOptimalExpert(0.1), logs.MarginalSensitivity(3.0))


@_add("logs.bounds")
def _(draw: Draw) -> Call:
    counts = a_world(draw).sample(200, seed=draw.integer(0, 9))
    more: dict[str, Any] = {
        **{"confidence": 0.9, "infinite": draw.chance(0.3)},
        **{"method": draw.pick(("bernstein", "kl", "hoeffding")), "shift": draw.pick((0.0, 0.1))},
        **draw.pick(({"gap_low": 0.0, "gap_high": 1.0}, *({"assumption": one} for one in _ASSUMPTIONS))),
    }
    return Call("", logs.bounds, [counts], more)


@_add("logs.baselines")
def _(draw: Draw) -> Call:
    counts = a_world(draw).sample(200, seed=draw.integer(0, 9))
    return Call("", logs.baselines, [counts], {"confidence": 0.9, "method": draw.pick(("bernstein", "kl", "betting"))})


@_add("logs.prior")
def _(draw: Draw) -> Call:
    counts = a_world(draw).sample(200, seed=draw.integer(0, 9))
    more = {"strongest": draw.pick((8.0, 2.0, 1e9)), "wait": 10.0, "correlation": draw.share(), "confidence": 0.9}
    return Call("", logs.prior, [counts, draw.pick(_ASSUMPTIONS)], more)


@_add("logs.agent")
def _(draw: Draw) -> Call:
    counts = a_world(draw).sample(200, seed=draw.integer(0, 9))
    more = {"trust": draw.pick((None, 0.9, 1.0)), "seed": 1, "floor": 0.01, "unknown": "vacuous", "shift": 0.05}
    return Call("", logs.agent, [counts, draw.pick(_ASSUMPTIONS)], more)


@_add("logs.sensitivity")
def _(draw: Draw) -> Call:
    counts = a_world(draw).sample(200, seed=draw.integer(0, 9))
    return Call("", logs.sensitivity, [counts], {"gap_low": [0.0, 0.1], "gap_high": 0.9, "infinite": draw.chance(0.5)})


@_add("logs.refute")
def _(draw: Draw) -> Call:
    counts = a_world(draw).sample(200, seed=draw.integer(0, 9))
    names = counts.context_names
    own: dict[str, Any] = {draw.pick(("equal_cases", "time", "decider")): names[0]} if names else {"randomised": counts}
    more: dict[str, Any] = {"confidence": 0.9, "method": draw.pick(("bernstein", "kl", "hoeffding")), **own}
    return Call("", logs.refute, [counts, draw.pick((logs.OptimalExpert(0.0), *_ASSUMPTIONS))], more)


@_add("logs.explain")
def _(draw: Draw) -> Call:
    counts = a_world(draw).sample(200, seed=draw.integer(0, 9))
    more: dict[str, Any] = {"worlds": 2, "confidence": 0.9, "shift": 0.05, "seed": draw.integer(0, 9)}
    return Call("", logs.explain, [counts, draw.pick(_ASSUMPTIONS)], more)


@_add("logs.Events")
def _(draw: Draw) -> Call:
    return Call("", logs.Events, [], _events(draw))


@_add("logs.evaluate")
def _(draw: Draw) -> Call:
    policy = draw.pick(({"x": "a", "y": "b"}, {"x": {"a": 0.5, "b": 0.5}}, "a"))
    more: dict[str, Any] = {
        **{"arms": ["a"], "confidence": 0.9, "simultaneous": draw.chance(0.5), "anytime": draw.chance(0.5)},
        **{"least": draw.pick((None, 0.1)), "pending": draw.pick(("exclude", "bounds")), "against": "agent"},
    }
    return Call("", partial(logs.evaluate, logs.Events(**_events(draw))), [{"new": policy}], more)


@_add("logs.Evaluation.from_dict")
def _(draw: Draw) -> Call:
    return Call("", logs.Evaluation.from_dict, [logs.evaluate(logs.Events(**_events(draw))).to_dict()])


def _events(draw: Draw) -> dict[str, Any]:
    rows = draw.integer(2, 20)
    columns: dict[str, Any] = {name: [draw.pick(own) for _ in range(rows)] for name, own in _EVENTS.items()}
    return {
        **columns,
        "reward": [1.0, *(draw.pick((0.0, 0.5, None)) for _ in range(rows - 1))],
        "low": 0.0,
        "high": 1.0,
    }


_EVENTS: dict[str, tuple[Any, ...]] = {"context": ("x", "y"), "arm": ("a", "b"), "probability": (0.5, 1.0)}


@_add("logs.expert_bounds")
def _(_draw: Draw) -> Call:
    return Call(
        "", logs.expert_bounds, [[0.75, 0.25], [0.6, 0.2]], {"gap_low": 0.2, "gap_high": 0.4, "arms": ["a", "b"]}
    )


@_add("logs.LinearSetting")
def _(draw: Draw) -> Call:
    return Call("", logs.LinearSetting, [features(draw, 3), features(draw, 3)], {**_SETTING, "arms": ["a", "b", "c"]})


_SETTING: dict[str, Any] = {"theta_visible": [0.2, 0.1], "box_low": [0.0, 0.0], "box_high": [1.0, 1.0]}


@_add("logs.ContextBounds.from_dict")
def _(draw: Draw) -> Call:
    return Call("", logs.ContextBounds.from_dict, [logs.ContextBounds({"young": a_bounds(draw)}).to_dict()])


def _of_counts(name: str, arguments: Callable[[Draw, logs.Counts], list[Any]]) -> None:
    def make(draw: Draw) -> Call:
        counts = a_world(draw).sample(50, seed=1)
        return Call("", getattr(counts, name), arguments(draw, counts))

    CALLS[f"logs.Counts.{name}"] = make


_of_counts("with_arms", lambda _draw, counts: [list(counts.arms)])
_of_counts("position", lambda draw, counts: [draw.pick(counts.contexts)])
_of_counts("sums", lambda draw, counts: [draw.pick(counts.contexts), list(counts.arms)])
_of_counts("__eq__", lambda _draw, counts: [counts])
_of_counts("__add__", lambda _draw, counts: [counts])


@_add("logs.Histogram")
def _(_draw: Draw) -> Call:
    return Call("", logs.Histogram, [[0, 1], [0, 1]], {"count": [[7, 3], [1, 9]]})


@_add("logs.ArmSums")
def _(_draw: Draw) -> Call:
    return Call("", logs.ArmSums, [[10, 20], [5.0, 7.0]], {"squares": [5.0, 7.0]})


@_add("logs.ContextBounds")
def _(draw: Draw) -> Call:
    return Call("", logs.ContextBounds, [{"young": a_bounds(draw)}, {"confidence": 0.9}])


@_add("logs.linear_bounds")
def _(draw: Draw) -> Call:
    method = draw.pick(("sharp", "corrected", "paper"))
    more = {"share": [0.5, 0.3, 0.2], "mean": numbers(draw, 3), "method": method, "progress": False}
    return Call("", logs.linear_bounds, [_setting(draw)], more)


@_add("logs.linear_bounds_from_log")
def _(draw: Draw) -> Call:
    sums = logs.ArmSums([20, 10, 0], [10.0, 5.0, 0.0], [10.0, 5.0, 0.0])
    more = {"low": -2.0, "high": 2.0, "confidence": 0.9, "infinite": False, "interval": "kl", "progress": False}
    return Call("", logs.linear_bounds_from_log, [_setting(draw), sums], more)


def _setting(draw: Draw) -> logs.LinearSetting:
    return logs.LinearSetting(features(draw, 3), features(draw, 3), **_SETTING)


@_add("logs.natural_order")
def _(_draw: Draw) -> Call:
    return Call("", logs.natural_order, ["a10"])


@_add("HiddenContexts")
def _(draw: Draw) -> Call:
    means = [[numbers(draw, 2) for _ in range(2)]]
    return Call(
        "", mb.HiddenContexts, [means, [[0.5, 0.5]]], {"low": 0.0, "high": 1.0, "contexts": ["z"], "arms": [0, 1]}
    )


@_add("HiddenContexts.random")
def _(_draw: Draw) -> Call:
    more = {"arms": 3, "seed": 1, "low": 0.0, "high": 1.0}
    return Call("", mb.HiddenContexts.random, [2, 3], more, frozenset((0, 1, "arms")))


@_add("HiddenContexts.log")
def _(draw: Draw) -> Call:
    return Call("", a_world(draw).log, [20], {"seed": 1}, frozenset((0,)))


@_add("HiddenContexts.sample")
def _(draw: Draw) -> Call:
    return Call("", a_world(draw).sample, [20], {"seed": 1}, frozenset((0,)))


@_add("HiddenContexts.environment")
def _(draw: Draw) -> Call:
    return Call("", a_world(draw).environment, ["z0"])


@_add("HiddenContexts.simulate")
def _(draw: Draw) -> Call:
    more = {"horizon": 5, "runs": 2, "seed": 1}
    return Call("", a_world(draw).simulate, [a_policy(draw), {}], more, frozenset(("horizon", "runs")))


# Other packages


@_add("fits.river.RiverPolicy")
def _(draw: Draw) -> Call:
    known: Any = draw.pick((None, a_bounds(draw)))
    return Call("", RiverPolicy, [a_policy(draw), known], {"seed": 1, "floor": 0.01, "low": 0.0, "high": 1.0})


@_add("fits.river.RiverPolicy.pull")
def _(draw: Draw) -> Call:
    return Call("", RiverPolicy(a_policy(draw), seed=1).pull, [["a", "b"]])


@_add("fits.river.RiverPolicy.update")
def _(draw: Draw) -> Call:
    return Call("", RiverPolicy(a_policy(draw), seed=1).update, ["a", draw.share()])


@_add("fits.river.RiverContextualPolicy")
def _(draw: Draw) -> Call:
    return Call("", RiverContextualPolicy, [a_policy(draw), {"old": a_bounds(draw)}, "age"], {"seed": 1})


@_add("fits.river.RiverContextualPolicy.pull")
def _(draw: Draw) -> Call:
    bounds = a_bounds(draw)
    return Call("", RiverContextualPolicy(mb.GLUE(), {"x": bounds}, "z", seed=1).pull, [list(bounds.arms), {"z": "x"}])


@_add("fits.gymnasium.BanditEnv")
def _(draw: Draw) -> Call:
    return Call("", BanditEnv, [an_environment(draw)], {"horizon": 5})


@_add("fits.gymnasium.BanditEnv.step")
def _(_draw: Draw) -> Call:
    env = BanditEnv(mb.Bernoulli([0.9, 0.5]))
    env.reset(seed=1)
    return Call("", env.step, [1])


@_add("fits.gymnasium.LinearBanditEnv")
def _(draw: Draw) -> Call:
    return Call("", LinearBanditEnv, [mb.Linear(features(draw, 2), [0.3, 0.4], low=-1.0, high=1.0)], {"horizon": 5})


@_add("fits.gymnasium.HiddenContextsEnv")
def _(draw: Draw) -> Call:
    return Call("", HiddenContextsEnv, [a_world(draw)], {"horizon": 5})


@_add("fits.obp.bandit_feedback")
def _(draw: Draw) -> Call:
    return Call("", bandit_feedback, [logs.Events(**_events(draw))], {"arms": ["a", "b", "c"]})


@_add("fits.obp.action_dist")
def _(draw: Draw) -> Call:
    policy = draw.pick(({"x": "a", "y": "b"}, {"x": {"a": 0.5, "b": 0.5}}, "a"))
    return Call("", action_dist, [logs.Events(**_events(draw)), policy], {"arms": ["a", "b"]})


@_add("fits.obp.action_dist of feedback")
def _(draw: Draw) -> Call:
    feedback = {"n_actions": 2, "action": [0, 1], "reward": [1, 0], "pscore": [0.5, 0.5], "position": [0, 1]}
    return Call("", action_dist, [{**feedback, draw.pick(list(feedback)): draw.hostile_number()}, 0])
