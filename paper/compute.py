"""What decisions cost: the ratios of the captions of Figures 2 and 3, computed as the paper does, and by meanbounds.

A plain loop over arms computes B-KL-UCB's indices, each by solving an equation, and GLUE's by its closed form. A
general solver finds the largest mean of every arm on offer over confidence set and bounds, or only of those arms that
can be best. Beside these stand meanbounds' compiled loops, and its R-OFUL, which solves few programs. Times are of CPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from math import exp, log, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import meanbounds as mb
from meanbounds.linear.oful import LinearState
from meanbounds.simulation import INSTANCES, Instance, Linear, paper_linear
from meanbounds.support.streams import Draws, stream
from meanbounds.support.types import Floats
from paper.output import Claim, command, verdict, write_csv
from paper.roful import OFFERED
from paper.verdicts import comparable

__all__ = ["main"]

SEED = 1
CLOSED, NEWTON, BISECTION = "GLUE", "B-KL-UCB, Newton", "B-KL-UCB, bisection"
OURS, OURS_KL = "our GLUE", "our B-KL-UCB"
EVERY, KEPT, NEEDED = "solver, every arm", "solver, arms kept", "our R-OFUL"

Index = Callable[[float, float, float], float]
"""From the mean reward of an arm, ``log f(t) / plays`` and a variance proxy to the arm's index."""


class Sizes(NamedTuple):
    """Rounds without features, rounds of our loops, and how often they are timed: the fastest counts.

    Then rounds with features, of which one in `step` is timed.
    """

    rounds: int = 20_000
    loops: int = 200_000
    turns: int = 5
    linear: int = 1_000
    step: int = 10


FULL, QUICK = Sizes(), Sizes(2_000, 50_000, 2, 200, 10)


def main(out: Path, quick: bool) -> Sequence[Claim]:
    """Measure times in each way; write and draw them; compare the ratios with those of the paper."""
    sizes = QUICK if quick else FULL
    plain, linear = without_features(sizes), {offered: with_features(offered, sizes) for offered in OFFERED}
    times = {"5 arms without features": plain}
    times |= {f"{offered} of 100 arms with features": own for offered, (own, _) in linear.items()}
    rows = [(group, way, seconds) for group, ways in times.items() for way, seconds in ways.items()]
    write_csv(out / "compute.csv", "arms,way,seconds per round", rows)
    draw(out, times)
    return claims(plain, linear)


def closed_form(mean: float, budget: float, proxy: float) -> float:
    """The index of B-UCB, ImprovedUCB and GLUE, but for clipping."""
    return mean + sqrt(2.0 * proxy * budget)


def newton(mean: float, budget: float, _: float) -> float:
    """The largest q with kl(mean, q) <= budget: steps that fall to the root from above."""
    if mean >= 1.0:
        return 1.0
    entropy = (mean * log(mean) if mean > 0.0 else 0.0) + (1.0 - mean) * log(1.0 - mean)
    q = min(mean + sqrt(budget / 2.0), 1.0 - exp((entropy - budget) / (1.0 - mean)))
    while q > mean:
        step = (kl(mean, q) - budget) * q * (1.0 - q) / (q - mean)
        q -= step
        if step < 1e-9:
            break
    return q


def bisection(mean: float, budget: float, _: float) -> float:
    """The same, by halving an interval."""
    below, above = mean, min(1.0, mean + sqrt(budget / 2.0))
    while above - below > 1e-6:
        middle = (below + above) / 2.0
        below, above = (middle, above) if kl(mean, middle) <= budget else (below, middle)
    return below


def kl(p: float, q: float) -> float:
    """The divergence of two Bernoulli laws, for 0 < q < 1."""
    one = p * log(p / q) if p > 0.0 else 0.0
    return one + ((1.0 - p) * log((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0)


def play(instance: Instance, index: Index, rounds: int) -> float:
    """Play by the definition, all indices in every round, and return the seconds per round."""
    bounds, means = instance.bounds, instance.means.tolist()
    upper, proxies = bounds.upper.tolist(), bounds.best_variance_proxy.tolist()
    kept = np.flatnonzero(bounds.possible).tolist()
    draws = np.random.default_rng(SEED).random(rounds).tolist()
    plays, total = [0] * len(means), [0.0] * len(means)
    start = time.process_time()
    for t, draw in enumerate(draws, start=1):
        level, best, chosen = log(1.0 + t * log(t) ** 2), -1.0, -1
        for k in kept:
            value = upper[k]
            if plays[k]:
                value = min(value, index(total[k] / plays[k], level / plays[k], proxies[k]))
            if value > best:
                best, chosen = value, k
        plays[chosen] += 1
        total[chosen] += draw < means[chosen]
    return (time.process_time() - start) / rounds


def loop(instance: Instance, policy: mb.policies.Policy, rounds: int) -> float:
    """Play by a compiled loop, and return the seconds per round."""
    simulate = partial(mb.simulate, policy, instance.environment, instance.bounds, seed=SEED, compiled=True)
    start = time.process_time()
    simulate(horizon=rounds, runs=1, checkpoints=1)
    return (time.process_time() - start) / rounds


def without_features(sizes: Sizes) -> dict[str, float]:
    """Seconds per round in each way, on average over the four instances of Figure 3."""
    ways: dict[str, Callable[[Instance], float]] = {
        CLOSED: partial(play, index=closed_form, rounds=sizes.rounds),
        NEWTON: partial(play, index=newton, rounds=sizes.rounds),
        BISECTION: partial(play, index=bisection, rounds=sizes.rounds),
        OURS: partial(loop, policy=mb.GLUE(), rounds=sizes.loops),
        OURS_KL: partial(loop, policy=mb.BKLUCB(), rounds=sizes.loops),
    }
    return {
        name: float(np.mean([min(way(own) for _ in range(sizes.turns)) for own in INSTANCES.values()]))
        for name, way in ways.items()
    }


def with_features(offered: int, sizes: Sizes) -> tuple[dict[str, float], float]:
    """Seconds per round in each way, and how far our arm is from the solver's largest mean, at most."""
    instance, policy, rng = (
        paper_linear(SEED, offered=offered, law="two-point"),
        mb.ROFUL(),
        np.random.default_rng(SEED),
    )
    environment, bounds = instance.environment, instance.bounds
    assert isinstance(environment, Linear)
    state, keys = policy.start(environment.arms(bounds)), stream(SEED, [0], "policy")
    spent, short, timed = dict.fromkeys((EVERY, KEPT, NEEDED), 0.0), 0.0, 0
    for t in range(1, sizes.linear + 1):
        arms = environment.offers(SEED, [0], t)
        start = time.thread_time()
        chosen = policy.choose(state, arms, Draws(keys, t - 1))
        took = time.thread_time() - start
        if t % sizes.step == 0:
            radius, kept = float(policy.radius(state)[0]), arms[0, state.allowed[0].kept(arms)[0]]
            solved = {}
            for arm in arms[0].tolist():
                solve = partial(largest_mean, environment.features, bounds, arm, state, radius)
                seconds, solved[arm] = faster_of_two(solve)
                spent[EVERY] += seconds
                spent[KEPT] += seconds * (arm in kept)
            spent[NEEDED] += took
            short, timed = max(short, max(solved.values()) - solved[int(chosen[0])]), timed + 1
        policy.learn(state, chosen, environment.reward(chosen, rng.random(1)))
    return {way: seconds / timed for way, seconds in spent.items()}, short


def faster_of_two(call: Callable[[], float]) -> tuple[float, float]:
    """The seconds that a call takes, the lesser of two measurements, and its result."""
    starts = [time.thread_time()]
    for _ in range(2):
        value = call()
        starts.append(time.thread_time())
    return float(np.diff(starts).min()), value


def largest_mean(features: Floats, bounds: mb.MeanBounds, arm: int, state: LinearState, radius: float) -> float:
    """The largest mean of an arm over the confidence set and the feasible set, by a solver for any smooth program."""
    from scipy.optimize import minimize

    x, centre, precision = features[arm], state.parameter[0], state.precision[0] / radius**2
    within = [
        {"fun": lambda p: 1.0 - p @ p, "jac": lambda p: -2.0 * p},
        {
            "fun": lambda p: 1.0 - (p - centre) @ precision @ (p - centre),
            "jac": lambda p: -2.0 * precision @ (p - centre),
        },
        {
            "fun": lambda p: np.concatenate([features @ p - bounds.lower, bounds.upper - features @ p]),
            "jac": lambda _: np.concatenate([features, -features]),
        },
    ]
    solver: Any = minimize
    constraints = [{"type": "ineq", **one} for one in within]
    found = solver(lambda p: -x @ p, centre, jac=lambda _: -x, method="SLSQP", constraints=constraints)
    return float(x @ found.x)


def draw(out: Path, times: dict[str, dict[str, float]]) -> None:
    """Bars on a logarithmic scale for the ways of each group, ours in the colour of our policies."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.0, 6.4), layout="constrained", dpi=200)
    heights = [1.5 + len(ways) for ways in times.values()]
    for ax, (title, ways) in zip(figure.subplots(len(times), 1, height_ratios=heights), times.items(), strict=True):
        values = list(ways.values())
        bars = ax.barh([*ways], values, height=0.62, color=["#009e73" if "our" in way else "#a8a8a8" for way in ways])
        ax.bar_label(bars, [in_words(value) for value in values], padding=3, fontsize=9.0)
        ax.set_title(title, loc="left", fontsize=10.0)
        ax.set_xscale("log")
        ax.set_xlim(min(values) / 3.0, 10.0 * max(values))
        ax.xaxis.set_visible(False)
        ax.tick_params(axis="y", length=0.0, labelsize=9.0)
        ax.invert_yaxis()
        ax.spines[["top", "right", "bottom"]].set_visible(False)
    figure.suptitle("CPU time per round, logarithmic", fontsize=11.0)
    figure.savefig(out / "compute.png")


def in_words(seconds: float) -> str:
    """A time to two digits, with its unit."""
    unit, scale = next((unit for unit in (("ms", 1e3), ("µs", 1e6)) if seconds * unit[1] >= 1.0), ("ns", 1e9))
    return f"{float(f'{seconds * scale:.2g}'):g} {unit}"


def claims(plain: dict[str, float], linear: dict[int, tuple[dict[str, float], float]]) -> list[Claim]:
    """The claims of both captions; machines and solvers differ, so a ratio within a factor of 2 agrees."""
    solved = {way: plain[way] / plain[CLOSED] for way in (NEWTON, BISECTION)}
    restricted = [own[EVERY] / own[KEPT] for own, _ in linear.values()]
    needed = [own[KEPT] / own[NEEDED] for own, _ in linear.values()]
    short = max(short for _, short in linear.values())
    return [
        Claim(
            "Figure 3, caption",
            "B-UCB, ImprovedUCB and GLUE choose arms 11 times as fast as B-KL-UCB (here: within a factor of 2).",
            f"where an equation is solved for each arm in each round, GLUE is {solved[NEWTON]:.1f} times as fast with "
            f"Newton's method, {solved[BISECTION]:.1f} with bisection. In our loops {plain[OURS_KL] / plain[OURS]:.1f} "
            f"times, and B-KL-UCB takes {1e9 * plain[OURS_KL]:.0f} ns per round",
            verdict(any(comparable([ratio, 11.0]) for ratio in solved.values())),
        ),
        Claim(
            "Figure 2, caption",
            "Restricting the arms makes R-OFUL's updates 6 to 6.7 times as fast (here: 3 to 13.4 on average).",
            f"{', '.join(f'{x:.1f}' for x in restricted)} times with {', '.join(map(str, linear))} arms on offer, if a "
            f"solver is called for each arm. Our R-OFUL is {', '.join(f'{x:,.0f}' for x in needed)} times as fast "
            f"again; the index of its arm is at most {short:.1g} below the largest that the solver finds",
            verdict(3.0 <= float(np.mean(restricted)) <= 13.4),
        ),
    ]


if __name__ == "__main__":
    command(__doc__, main)
