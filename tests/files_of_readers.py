"""The files that the pages take for granted: a reader has them, and the tests of the pages make them up."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import meanbounds as mb
from meanbounds.service import open_store
from meanbounds.service.book import Book
from meanbounds.service.commands import Create, Decide, Observe, Reward
from meanbounds.service.events import Settings
from meanbounds.service.schema import DecisionIn, ObservationIn
from meanbounds.service.writer import carry_out

__all__ = ["FILES"]

AGES = ("under 60", "over 60")


def a_log(*columns: str, contexts: tuple[str, ...] = ("z0", "z1"), rows: int = 2_000) -> pd.DataFrame:
    """A log with these names for its columns of context, arm and reward."""
    probabilities = np.full((len(contexts), 2), 0.5 / len(contexts))
    means = [[[0.9, 0.6], [0.3, 0.5]]] * len(contexts)
    world = mb.HiddenContexts(means, probabilities, contexts=contexts, arms=["tPA", "medical"])
    return world.log(rows, seed=1).set_axis(columns or ["context", "arm", "reward"], axis=1)


def of_readme() -> None:
    a_log("clinic", "treatment", "recovered", contexts=("north", "south")).to_csv("log.csv", index=False)


def of_a_log() -> None:
    a_log().to_parquet("log.parquet")


def of_strokes() -> None:
    a_log("age", "treatment", "recovered").to_csv("strokes.csv", index=False)


def of_ratings() -> None:
    ratings = a_log("occupation", "movie", "rating")
    ratings.assign(rating=1 + 4 * ratings["rating"]).to_csv("ratings.csv", index=False)


def of_doctors() -> None:
    """Two doctors look at each record, and rarely choose the worse option."""
    rng = np.random.default_rng(1)
    best = rng.integers(0, 2, 300)
    choice = np.where(rng.random((2, 300)) < 0.06, 1 - best, best).ravel()
    columns = {"record": np.tile(np.arange(300), 2), "doctor": np.repeat(["Ada", "Bo"], 300)}
    log = pd.DataFrame(columns).assign(choice=np.array(["operate", "wait"])[choice])
    well = rng.random(600) < np.where(choice == np.tile(best, 2), 0.8, 0.4)
    log.assign(well=well.astype(int)).to_csv("log.csv", index=False)


def of_events() -> None:
    """The decisions of an agent, and two policies to evaluate."""
    bounds = {context: mb.MeanBounds.vacuous(["a", "b"]) for context in ("old", "young")}
    agent = mb.ContextualAgent(mb.ThompsonSampling(), bounds, seed=7, floor=0.05)
    agent.save("new_agent.json")
    journal = mb.Journal("new_agent.json", "events.jsonl")
    for number in range(20):
        journal.reward(journal.decide(("old", "young")[number % 2]).id, float(number % 3 == 0))
    with Path("table.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("context", "arm", "probability"), ("old", "a", 1.0), ("young", "b", 1.0)])


def of_a_store() -> None:
    """The store of a service that has an agent, what experts did, and what the agent decided."""
    known = dict.fromkeys(AGES, mb.MeanBounds([0.2, 0.1], [0.9, 0.8], arms=["tPA", "watch"]))
    agent = mb.ContextualAgent(mb.ThompsonSampling(), known, seed=7)
    book = Book(open_store("sqlite:state.db"))
    carry_out(book, Create("agent", agent.to_dict(), Settings(), ""))
    for number in range(40):
        age, arm = AGES[number % 2], ("tPA", "watch")[number // 2 % 2]
        carry_out(book, Observe("agent", f"seen {number}", ObservationIn(arm, number % 3 / 2, context=age)))
        (decision,) = carry_out(book, Decide("agent", f"request {number}", DecisionIn(context=age)))
        carry_out(book, Reward(decision.decision_id, None, 1.0))
    book.store.close()


FILES: dict[str, Callable[[], None]] = {
    "README.md": of_readme,
    "docs/agent.md": of_a_log,
    "docs/ask_experts.md": of_strokes,
    "docs/assumptions.md": of_a_log,
    "docs/evaluate.md": of_events,
    "docs/guide.md": of_ratings,
    "docs/operations.md": of_a_store,
    "docs/refuted.md": of_doctors,
    "docs/service.md": of_a_store,
}
"""What makes the files of a page, in the working folder."""
