"""From bounds to decisions, without a log: ``python -m examples.bounds --picture regret.png``.

Five treatments, and bounds on how many patients recover with each. What do the bounds exclude, what do they save, and
what if one is wrong? All numbers are made up, so the truth is known.
"""

from __future__ import annotations

import argparse
import textwrap
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import meanbounds as mb
from examples.page import png

PATIENTS, RUNS, SEED, TRUST = 1_000, 60, 13, 0.9
TREATMENTS = ["exercise", "physiotherapy", "massage", "painkillers", "bed rest"]
TRUTH = [0.78, 0.70, 0.60, 0.50, 0.35]  # the share of patients who recover, which no agent is told
LOWER, UPPER = [0.62, 0.55, 0.40, 0.30, 0.10], [0.85, 0.90, 0.75, 0.60, 0.55]
BOUNDS = mb.MeanBounds(LOWER, UPPER, arms=TREATMENTS)
WRONG = mb.MeanBounds([0.30, *LOWER[1:]], [0.52, *UPPER[1:]], arms=TREATMENTS)  # exercise is better than that
UCB, THOMPSON, GITTINS, GLUE, BOUNDED = "UCB", "Thompson sampling", "Gittins", "GLUE, bounds", "Gittins, bounds"
WORDS = {"mean reward": "share of patients who recover", "regret": "recoveries lost", "round": "patients", "": ""}
CERTAIN, DOUBTED, NOTHING = "trust 1", f"trust {TRUST}", "no bounds"


class Story(NamedTuple):
    """Everything that the terminal tells."""

    saved: mb.Regret  # with bounds and without
    right: mb.Regret  # by trust, with the bounds that hold
    wrong: mb.Regret  # by trust, with those that do not
    alarm: tuple[int, str]  # the patient after whom an agent warned, and what it said


def tell(patients: int = PATIENTS, runs: int = RUNS) -> Story:
    """Compute the story."""
    world = mb.Bernoulli(TRUTH)
    shared: dict[str, Any] = {"horizon": patients, "runs": runs, "seed": SEED, "compiled": False}
    without = {UCB: mb.UCB(), THOMPSON: mb.ThompsonSampling(), GITTINS: mb.OptimisticGittins()}
    within = {GLUE: mb.GLUE(), BOUNDED: mb.OptimisticGittins()}
    saved = mb.simulate(without, world, **shared).beside(mb.simulate(within, world, BOUNDS, **shared))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bounds that do not hold: here that is on purpose
        doubted, fooled, careful = (
            mb.simulate({label: mb.OptimisticGittins()}, world, mb.Knowledge(bounds, trust=trust), **shared)
            for label, bounds, trust in ((DOUBTED, BOUNDS, TRUST), (CERTAIN, WRONG, 1.0), (DOUBTED, WRONG, TRUST))
        )
    nothing = saved.select({GITTINS: NOTHING})
    right = saved.select({BOUNDED: CERTAIN}).beside(doubted, nothing)
    return Story(saved, right, fooled.beside(careful, nothing), first_alarm(patients))


def excluded(bounds: mb.MeanBounds) -> list[str]:
    """What bounds exclude, and why."""
    found = mb.Agent(mb.OptimisticGittins(), bounds).excluded()
    return [f"{one.arm}: at most {one.upper:.0%} recover, with {one.better} at least {one.lower:.0%}" for one in found]


def first_alarm(patients: int) -> tuple[int, str]:
    """Let an agent that does not quite trust a wrong bound decide until it warns."""
    agent, rng = mb.Agent(mb.OptimisticGittins(), mb.Knowledge(WRONG, trust=TRUST), seed=SEED), np.random.default_rng(1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for patient in range(1, patients + 1):
            arm = agent.pull()
            agent.update(arm, float(rng.random() < TRUTH[agent.arms.index(arm)]))
            if caught:
                return patient, str(caught[0].message)
    return patients, "no warning so far"


def show(story: Story) -> None:
    """Print the story."""
    print("\nWhat is known: how many patients recover, at least and at most\n")
    for arm, low, high in zip(TREATMENTS, LOWER, UPPER, strict=True):
        print(f"  {arm:14} {low:4.0%} to {high:4.0%}")
    print("\nWhat that excludes:\n", *excluded(BOUNDS), sep="\n  ")
    print("\nWhat bounds save: recoveries lost (regret)\n")
    print(textwrap.indent(story.saved.summary(), "  "))
    print("\nIf a bad study says that exercise helps at most 52% (it is 78%):", *excluded(WRONG), sep="\n  ")
    print(f"\n  {'recoveries lost':18}{'bounds right':>14}{'exercise wrong':>18}")
    for label in (CERTAIN, DOUBTED, NOTHING):
        print(f"  {label:18}{story.right.mean[label][-1]:>14.0f}{story.wrong.mean[label][-1]:>18.0f}")
    print(f"\n  With trust {TRUST} the agent warned after patient {story.alarm[0]}:")
    print(textwrap.indent(textwrap.fill(story.alarm[1], 90), "    "))


def main(arguments: list[str] | None = None) -> None:
    """Tell the story in the terminal, or write the picture of regret."""
    parser = argparse.ArgumentParser(prog="python -m examples.bounds", description="From bounds to decisions.")
    parser.add_argument("--picture", type=Path, help="write the picture of regret to this file, and nothing else")
    given, story = parser.parse_args(arguments), tell()
    if given.picture is None:
        show(story)
    else:
        for ax in (figure := story.saved.plot(bounds=BOUNDS)).axes:
            ax.set(xlabel=WORDS[ax.get_xlabel()], ylabel=WORDS[ax.get_ylabel()])
        given.picture.write_bytes(png(figure))


if __name__ == "__main__":
    main()
