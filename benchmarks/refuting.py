"""How often does `meanbounds.logs.refute` refute what is true, and how often what is false?

``python -m benchmarks.refuting`` draws 2,000 logs for each test from a world in which what is assumed is just true, and
tests it with confidence 0.8: it counts the logs in which something is refuted, and computes the chance of as many or
more if each had exactly probability 0.2. Then it draws logs from worlds that break the assumption, and counts again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from scipy import stats

import meanbounds as mb
from meanbounds.logs import Assumption, Counts, ErringExpert, MarginalSensitivity, NearlyOptimalExpert, OptimalExpert
from meanbounds.support.tables import text_table
from meanbounds.support.types import Floats

__all__ = ["CONFIDENCE", "WORLDS", "refuted"]

CONFIDENCE = 0.8
ARMS = ("a", "b")


@dataclass(frozen=True)
class Drawn:
    """One log, what is assumed of it, and the columns that tests may use."""

    counts: Counts
    assumption: Assumption
    columns: dict[str, Any]


World = Callable[[np.random.Generator, float], Drawn]
"""Draws a log. With a factor of 1 the assumption is just true; a larger factor breaks it by as much."""


def counted(arm: Any, reward: Any, **columns: Any) -> Counts:
    """Counts of rows with these arms (0 and 1), rewards in [0, 1], and columns of numbers."""
    names = tuple(columns)
    if names:
        keys, into = np.unique(np.stack([columns[name] for name in names], axis=1), axis=0, return_inverse=True)
        contexts: Sequence[Any] = [tuple(key) if len(names) > 1 else key[0] for key in keys.astype(int).tolist()]
    else:
        contexts, into = ["all"], np.zeros(len(arm), dtype=np.intp)
    cells, shape = into.ravel() * 2 + arm, (len(contexts), 2)

    def add(value: Any) -> Floats:
        return np.bincount(cells, value, 2 * len(contexts)).astype(np.float64).reshape(shape)

    sums: dict[str, Any] = {"count": add(np.ones(len(arm))), "total": add(reward), "squares": add(np.square(reward))}
    return Counts(contexts, ARMS, **sums, context_names=names)


def low_rewards(rng: np.random.Generator, factor: float) -> Drawn:
    """The arm played is worth just gap_low, and nothing in as many errors as are allowed."""
    errors, gap, rows = 0.1, 0.3, 1500
    wrong = rng.random(rows) < errors * factor
    reward = rng.random(rows) < np.where(wrong, 0.0, gap)
    return Drawn(counted(rng.integers(0, 2, rows), reward), ErringExpert(errors, gap_low=gap), {})


def choices_in_pairs(rng: np.random.Generator, factor: float) -> Drawn:
    """Cases are decided twice; an error is never made in both decisions, so that all of them show."""
    errors, cases = 0.05, 150
    differ = rng.random(cases) < 2.0 * errors * factor
    arm = np.concatenate([np.zeros(cases, dtype=int), differ.astype(int)])
    case = np.tile(np.arange(cases), 2)
    reward = rng.random(2 * cases) < 0.7
    return Drawn(counted(arm, reward, case=case), ErringExpert(errors, gap_low=0.2), {"equal_cases": "case"})


def choices_by_rows(rng: np.random.Generator, factor: float) -> Drawn:
    """Rows come from forty descriptions, some of them rare, and each choice is wrong by itself."""
    errors, rows = 0.05, 400
    case = np.minimum(rng.geometric(0.05, rows), 40)
    arm = (rng.random(rows) < errors * factor).astype(int)
    reward = rng.random(rows) < 0.7
    columns = {"equal_cases": "case", "independent_rows": True}
    return Drawn(counted(arm, reward, case=case), ErringExpert(errors, gap_low=0.2), columns)


def choices_of_some_cases(rng: np.random.Generator, factor: float) -> Drawn:
    """Cases are decided five times; in a few hard ones two of five are wrong, in all others none."""
    errors, cases = 0.04, 60
    hard = rng.random(cases) < errors * factor * 5 / 2
    arm = np.concatenate([hard & (turn < 2) for turn in range(5)]).astype(int)
    reward = rng.random(arm.size) < 0.7
    case = np.tile(np.arange(cases), 5)
    return Drawn(counted(arm, reward, case=case), ErringExpert(errors, gap_low=0.2), {"equal_cases": "case"})


def rewards_of_ties(rng: np.random.Generator, factor: float) -> Drawn:
    """Both arms are as good; with a larger factor one is better, and is chosen no more often."""
    cases = 400
    arm = rng.integers(0, 2, 2 * cases)
    mean = 0.5 + 0.15 * (factor - 1.0) * (2 * arm - 1)
    reward = rng.random(2 * cases) < mean
    case = np.tile(np.arange(cases), 2)
    return Drawn(counted(arm, reward, case=case), OptimalExpert(), {"equal_cases": "case"})


def rewards_with_loss(rng: np.random.Generator, factor: float) -> Drawn:
    """Half of the choices lose twice the loss that is allowed on average."""
    loss, cases = 0.1, 1500
    arm = np.concatenate([np.zeros(cases, dtype=int), np.ones(cases, dtype=int)])
    reward = rng.random(2 * cases) < np.where(arm == 0, 0.8, 0.8 - 2.0 * loss * factor)
    case = np.tile(np.arange(cases), 2)
    return Drawn(counted(arm, reward, case=case), NearlyOptimalExpert(loss), {"equal_cases": "case"})


def agreement(rng: np.random.Generator, factor: float) -> Drawn:
    """The chance of an arm is one of the two extremes that the odds allow, with a mean of one half."""
    odds, cases = 2.0, 600
    high = odds * factor / (1.0 + odds * factor)
    chance = np.where(rng.random(cases) < 0.5, high, 1.0 - high)
    arm = (rng.random((2, cases)) < chance).astype(int).ravel()
    case = np.tile(np.arange(cases), 2)
    return Drawn(counted(arm, np.ones(arm.size), case=case), MarginalSensitivity(odds), {"equal_cases": "case"})


def steady_choices(rng: np.random.Generator, factor: float) -> Drawn:
    """Every month is like the others; with a larger factor the share of an arm rises from one half."""
    month = rng.integers(1, 13, 1200)
    arm = (rng.random(month.size) < 0.5 + 0.15 * (factor - 1.0) * (month - 1) / 11).astype(int)
    return Drawn(counted(arm, rng.random(month.size) < 0.6, month=month), OptimalExpert(), {"time": "month"})


def steady_rewards(rng: np.random.Generator, factor: float) -> Drawn:
    """Rewards of 0, 1/2 and 1 whose law never changes; with a larger factor their mean rises."""
    month = rng.integers(1, 13, 1200)
    arm = rng.integers(0, 2, month.size)
    rise = 0.2 * (factor - 1.0) * (month - 1) / 11
    reward = (rng.random(month.size) < 0.4 + rise) * 0.5 + (rng.random(month.size) < 0.4 + rise) * 0.5
    return Drawn(counted(arm, reward, month=month), OptimalExpert(), {"time": "month"})


def means_of_deciders(rng: np.random.Generator, factor: float) -> Drawn:
    """One of two deciders loses just what is allowed."""
    loss, rows = 0.1, 3000
    who = rng.integers(0, 2, rows)
    reward = rng.random(rows) < 0.7 - loss * factor * who
    return Drawn(counted(rng.integers(0, 2, rows), reward, who=who), NearlyOptimalExpert(loss), {"decider": "who"})


def bounds_of_deciders(rng: np.random.Generator, factor: float) -> Drawn:
    """One decider gives an arm to the cases that it suits most, the other to those that it suits least."""
    odds, rows = 2.0, 8000
    high = odds * factor / (1.0 + odds * factor)
    suits, who = rng.random(rows) < 0.5, rng.integers(0, 2, rows)
    arm = (rng.random(rows) < np.where(suits == (who == 0), high, 1.0 - high)).astype(int)
    reward = np.where(arm == 1, suits, 0.5)
    return Drawn(counted(arm, reward, who=who), MarginalSensitivity(odds), {"decider": "who"})


def randomised_part(rng: np.random.Generator, factor: float) -> Drawn:
    """Both arms are always as good; with a larger factor the arm that the expert never plays is better."""
    rows = 1500
    means = np.array([0.5, 0.5 + 0.1 * (factor - 1.0)])
    drawn = rng.integers(0, 2, rows)
    lot = counted(drawn, rng.random(rows) < means[drawn])
    arm = np.zeros(rows, dtype=int)
    return Drawn(counted(arm, rng.random(rows) < 0.5), OptimalExpert(), {"randomised": lot})


def crossing(rng: np.random.Generator, factor: float) -> Drawn:
    """Choices do not depend on what is hidden, and both arms are as good; with a larger factor one is better."""
    rows = 3000
    arm = rng.integers(0, 2, rows)
    reward = rng.random(rows) < 0.5 + 0.1 * (factor - 1.0) * (2 * arm - 1)
    return Drawn(counted(arm, reward), OptimalExpert() & MarginalSensitivity(1.0), {})


WORLDS: dict[str, tuple[World, float]] = {
    "low rewards": (low_rewards, 3.0),
    "choices in pairs of equal cases": (choices_in_pairs, 2.0),
    "choices by description": (choices_by_rows, 2.0),
    "choices in hard cases": (choices_of_some_cases, 3.0),
    "rewards of ties": (rewards_of_ties, 2.0),
    "rewards with loss": (rewards_with_loss, 2.0),
    "agreement in equal cases": (agreement, 3.0),
    "choices over time": (steady_choices, 2.0),
    "rewards over time": (steady_rewards, 2.0),
    "means of deciders": (means_of_deciders, 2.0),
    "bounds of deciders": (bounds_of_deciders, 2.0),
    "randomised part": (randomised_part, 2.0),
    "crossing bounds": (crossing, 2.0),
}
"""The worlds by name, each with the factor by which it is broken."""


def refuted(name: str, factor: float, logs: int, seed: int) -> int:
    """In how many logs of a world something that is assumed is refuted."""
    rng = np.random.default_rng([seed, list(WORLDS).index(name)])
    world, _ = WORLDS[name]
    count = 0
    for _ in range(logs):
        drawn = world(rng, factor)
        count += bool(mb.logs.refute(drawn.counts, drawn.assumption, **drawn.columns, confidence=CONFIDENCE))
    return count


def main() -> None:
    """Print a row for each world."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    table = []
    for name, (_, factor) in WORLDS.items():
        alarms = refuted(name, 1.0, options.logs, options.seed)
        by_chance = float(stats.binom.sf(alarms - 1, options.logs, 1.0 - CONFIDENCE)) if options.logs else nan
        few = max(options.logs // 10, 1)
        found = refuted(name, factor, few, options.seed + 1)
        table.append([name, f"{alarms / options.logs:.2%}", f"{by_chance:.3g}", f"{factor:g}", f"{found / few:.0%}"])
    header = ["world", "refuted though true", "chance", "broken by a factor of", "refuted"]
    print(text_table(header, table, align="lrrrr"))


if __name__ == "__main__":
    main()
