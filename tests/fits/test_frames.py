"""Wherever a frame is taken, pandas and Polars give the same; whatever gives a frame gives one that Polars reads."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import meanbounds as mb

LAB = mb.HiddenContexts.random(visible=2, hidden=3, arms=3, seed=1)
LOG = LAB.log(200, seed=1).assign(probability=0.25)
BOUNDS = pd.DataFrame({"arm": ["tPA", "watch"], "lower": [0.7, 0.4], "upper": [0.9, 0.6], "note": ["x", "y"]})
OPEN = pd.DataFrame({"item_id": [14, 7], "position": [1, 3], "click": [0, 1], "propensity_score": [0.2, 0.1]})
TRIAL = pd.DataFrame(
    {
        "age": ["old"] * 8,
        "severe": ["no"] * 4 + ["yes"] * 4,
        "drug": ["a", "a", "b", "b"] * 2,
        "outcome": [1.0, 0.5, 0.5, 0.5, 0.0, 0.0, 0.5, 0.0],
    }
)
USERS = pd.DataFrame({"job": ["law"] * 3 + ["arts"], "age": ["young", "young", "old", "old"], "Heat": [5, 4, 1, 3]})
USERS = USERS.assign(Big=[2, 3, 3, 4], weight=[1.0, 2.0, 1.0, 1.0])
NAMES: dict[str, Any] = {"context": "context", "arm": "arm", "reward": "reward"}
COUNTS = mb.logs.read(LOG, **NAMES)

KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "polars": pl.from_pandas,
    "polars, lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "arrow": lambda frame: pl.from_pandas(frame).to_arrow(),
}
TAKEN: dict[str, tuple[pd.DataFrame, Callable[[Any], Any]]] = {
    "MeanBounds.from_frame": (BOUNDS, lambda frame: mb.MeanBounds.from_frame(frame).to_dict()),
    "HiddenContexts.from_trial": (
        TRIAL,
        lambda frame: shown(
            mb.HiddenContexts.from_trial(frame, visible="age", hidden="severe", arm="drug", reward="outcome")
        ),
    ),
    "HiddenContexts.from_table": (
        USERS,
        lambda frame: shown(
            mb.HiddenContexts.from_table(
                frame, visible="job", hidden="age", arms=["Heat", "Big"], low=1, high=5, weight="weight"
            )
        ),
    ),
    "logs.read": (LOG, lambda frame: mb.logs.read(frame, **NAMES).to_dict()),
    "logs.read, propensities": (
        LOG,
        lambda frame: mb.logs.read(frame, arm="arm", reward="reward", context=["context", "probability"]).to_dict(),
    ),
    "logs.read_events": (LOG, lambda frame: mb.logs.read_events(frame).to_frame().to_dict("list")),
    "logs.evaluate": (LOG, lambda frame: mb.logs.evaluate(frame).to_dict()),
    "logs.read_open_bandit": (OPEN, lambda frame: mb.logs.read_open_bandit(frame).to_frame().to_dict("list")),
}


def shown(world: mb.HiddenContexts) -> tuple[Any, ...]:
    return world.contexts, world.arms, world.means.tolist(), world.probabilities.tolist(), world.law.tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("use", TAKEN)
def test_a_frame_of_any_package_gives_the_same(use: str, kind: str) -> None:
    frame, call = TAKEN[use]
    assert call(KINDS[kind](frame)) == call(frame)


def test_every_public_function_that_takes_a_frame_is_among_them() -> None:
    """By its signature or its words: whatever says that it takes a table of pandas is tried above with Polars."""
    found = set()
    for info in pkgutil.walk_packages(mb.__path__, "meanbounds."):
        room = info.name.split(".")[1]
        if room in {"paper", "plots", "cli", "service", "support", "__main__"}:
            continue
        module = import_module(info.name)
        for name in getattr(module, "__all__", ()):
            public = getattr(module, name)
            members = vars(public).items() if inspect.isclass(public) else [("", public)]
            for member, made in members:
                function = inspect.unwrap(getattr(made, "__func__", made))
                text = inspect.getdoc(function) or ""
                takes = "pandas, Polars" in text
                if inspect.isfunction(function) and not member.startswith("_") and takes:
                    found.add(f"{name}.{member}" if member else name)
    tried = {use.partition(",")[0].removeprefix("logs.") for use in TAKEN}
    assert found <= tried
    assert {"MeanBounds.from_frame", "HiddenContexts.from_trial", "read", "read_events"} <= found


@pytest.mark.parametrize("lazy", [False, True])
def test_the_order_of_an_enum_counts(lazy: bool) -> None:
    doses, seen = ["low", "medium", "high"], ["high", "low", "low"]
    frame = pl.DataFrame({"dose": pl.Series(seen, dtype=pl.Enum(doses)), "reward": [1.0, 0.0, 1.0]})
    ordered = pd.DataFrame({"dose": pd.Categorical(seen, categories=doses, ordered=True), "reward": [1.0, 0.0, 1.0]})
    found = mb.logs.read(frame.lazy() if lazy else frame, arm="dose", reward="reward")
    assert found.arms == tuple(doses)
    assert found.to_dict() == mb.logs.read(ordered, arm="dose", reward="reward").to_dict()
    trial = pl.from_pandas(TRIAL).with_columns(pl.col("drug").cast(pl.Enum(["b", "a"])))
    world = mb.HiddenContexts.from_trial(trial, visible="age", hidden="severe", arm="drug", reward="outcome")
    assert world.arms == ("b", "a")


@pytest.mark.parametrize("make", [pd.Series, pl.Series])
def test_columns_may_be_series(make: Any) -> None:
    bounds = mb.MeanBounds(make([0.1, 0.2]), make([0.5, 0.6]), arms=make(["a", "b"]))
    assert bounds.to_dict() == mb.MeanBounds([0.1, 0.2], [0.5, 0.6], arms=["a", "b"]).to_dict()
    columns = {name: make(LOG[name].tolist()) for name in ("context", "arm", "reward", "probability")}
    assert mb.logs.Events(**columns).counts().to_dict() == mb.logs.read_events(LOG).counts().to_dict()
    assert mb.LoggedArms(make([20, 5]), make([16.0, 1.0]), arms=make(["a", "b"])).means.tolist() == [0.8, 0.2]
    assert mb.Bernoulli(make([0.9, 0.5])).gaps.tolist() == [0.0, 0.4]
    agent = mb.ContextualAgent.from_columns(
        mb.GLUE(), make(["x", "y"]), lower=np.full((2, 2), 0.1), upper=np.full((2, 2), 0.9), arms=make(["a", "b"])
    )
    assert list(agent) == ["x", "y"]


GIVEN: dict[str, Callable[[], pd.DataFrame]] = {
    "MeanBounds": lambda: mb.MeanBounds([0.1], [0.5]).to_frame(),
    "Counts": COUNTS.to_frame,
    "Events": lambda: mb.logs.read_events(LOG).to_frame(),
    "Evaluation": lambda: mb.logs.evaluate(LOG).to_frame(),
    "Sensitivity": lambda: mb.logs.sensitivity(COUNTS, gap_low=0.0, gap_high=1.0).to_frame(),
    "Refutations": lambda: mb.logs.refute(COUNTS, mb.logs.OptimalExpert(gap_low=0.1)).to_frame(),
    "Comparison": lambda: mb.theory.comparison([0.9, 0.2], mb.MeanBounds.vacuous(2)).to_frame(),
    "Regret": lambda: mb.simulate(mb.UCB(), mb.Bernoulli([0.9, 0.8]), horizon=10, runs=2, seed=1).to_frame(),
    "HiddenContexts.log": lambda: LAB.log(10, seed=1),
}


@pytest.mark.parametrize("what", GIVEN)
def test_polars_reads_every_frame_that_is_given(what: str) -> None:
    frame = GIVEN[what]()
    found = pl.from_pandas(frame)
    assert found.columns == frame.columns.tolist()
    assert found.height == len(frame)


def test_what_is_no_table_is_refused() -> None:
    for wrong in (None, [1, 2], pd.DataFrame, {"age": ["old"]}):
        with pytest.raises(TypeError, match="frame must be a pandas, Polars or Arrow table; got"):
            mb.HiddenContexts.from_trial(wrong, visible="age", hidden="severe", arm="drug", reward="outcome")
