"""Saved agents: what is read continues as it was, and what was tampered with is refused by name."""

import copy
import json
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import meanbounds as mb

BOUNDS = mb.MeanBounds([0.2, 0.3, 0.1], [0.9, 0.8, 0.7], arms=["a", "b", "c"])
LOOSE = mb.MeanBounds([0.0, 0.1, 0.1], [0.95, 0.9, 0.9], arms=["a", "b", "c"])


ODD: list[Any] = [None, -1, 2, 0.5, True, 1e300, float("nan"), "x", [], [[]], {}, {"x": 1}]


class Informed(mb.GLUE):
    takes_prior = True


@pytest.fixture(scope="module")
def saved() -> Any:
    """An agent in which every entry is used."""
    known = {
        "north": mb.Knowledge(BOUNDS, trust=[0.9, 1.0, 0.5], assumption="experts see more"),
        ("south", "young"): mb.Knowledge(LOOSE, prior=mb.Prior([0.5, 0.6, 0.4], 8.0)),
    }
    agent = mb.Agent(Informed(), known, seed=7, floor=0.01)
    for n in range(12):
        context = agent.contexts[n % 2]
        agent.update(agent.pull(context), 0.25 * (n % 5), context)
    agent.pull("north")
    agent.retire("c")
    agent.forbid(["b"], "north")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(200):
            agent.update("b", 1.0, ("south", "young"), pulled=False)
    assert agent.contradictions()
    return json.loads(json.dumps(agent.to_dict()))


def test_what_is_read_is_what_was_saved(saved: Any, tmp_path: Path) -> None:
    agent = mb.Agent.from_dict(saved)
    assert json.loads(json.dumps(agent.to_dict())) == saved
    agent.save(tmp_path / "agent.json")
    assert [path.name for path in tmp_path.iterdir()] == ["agent.json"]
    assert mb.Agent.load(tmp_path / "agent.json").to_dict() == agent.to_dict()


@pytest.mark.parametrize("kind", [mb.Agent, mb.LinearAgent, mb.Knowledge, mb.MeanBounds, mb.Regret, mb.GLUE])
def test_the_error_names_the_file(kind: Any, tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(f"{tmp_path / 'it.json'}")):
        kind.load(tmp_path / "it.json")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside, those of lists and mappings included."""
    yield path
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, own in items:
        yield from places(own, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    other = copy.deepcopy(value)
    inner = other
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return other


def test_whatever_is_put_in_place_of_whatever_is_read_or_refused(saved: Any) -> None:
    """A ValueError, or an agent that decides: never another error, and never an agent that fails later."""
    for path in list(places(saved))[1:]:
        for new in ODD:
            try:
                agent = mb.Agent.from_dict(replaced(saved, path, new))
            except ValueError:
                continue
            for context in agent.contexts:
                agent.probabilities(context)
            agent.contradictions()
            json.dumps(agent.to_dict(), allow_nan=False)


def test_entries_that_are_missing_or_foreign_are_named(saved: Any) -> None:
    for name in saved:
        rest = {other: value for other, value in saved.items() if other != name}
        if name in ("trust", "prior_mean", "prior_strength", "assumption", "assumptions", "forbidden"):
            continue  # these are optional, and refused together
        with pytest.raises(
            ValueError, match=f"it lacks {name}" if name != "agent" else "not an Agent saved in format 1"
        ):
            mb.Agent.from_dict(rest)
    with pytest.raises(ValueError, match="it should not have extra"):
        mb.Agent.from_dict(saved | {"extra": 1})


TAMPERED: list[tuple[Callable[[Any], object], str]] = [
    (lambda data: data.update(agent=99), "not an Agent saved in format 1: 'agent' is 99"),
    (lambda data: data["policy"].update(policy="GLEU"), "unknown policy 'GLEU', did you mean 'GLUE'?"),
    (lambda data: data["policy"].update(policy="mine:Policy"), "import the module that defines it first"),
    (lambda data: data.update(seed=-1), "seed must be a whole number"),
    (lambda data: data["lower"][1].__setitem__(2, 0.99), "context ['south', 'young']: arm 'c': lower=0.99 is above"),
    (lambda data: data["trust"][0].__setitem__(0, 1.5), "context 'north': trust is the probability"),
    (lambda data: data["total"][0].__setitem__(0, 99.0), "context 'north', arm 'a': no rewards in its range give"),
    (lambda data: data["plays"].pop(), "plays has shape (1, 3); expected (2, 3)"),
    (lambda data: data["contexts"].__setitem__(1, "north"), "contexts and rows must differ"),
    (lambda data: data.update(retired=["z"]), "retired and forbidden must list arms: unknown arm 'z'"),
    (lambda data: data["assumption"][0].__setitem__(0, 7), "assumption must hold numbers of the assumptions"),
    (lambda data: data["assumptions"]["experts see more"][0].__setitem__(0, 9.0), "its sums are not those of the rew"),
    (lambda data: data["contradicted"][0].__setitem__(2, "middle"), "contradicted must list row, arm, side"),
]


def test_what_would_not_fit_is_refused() -> None:
    many = mb.Agent(mb.GLUE(), mb.MeanBounds.vacuous(1000), seed=1).to_dict()
    with pytest.raises(ValueError, match="10,000,000 rows of 1,000 arms are more than fit in memory"):
        mb.Agent.from_dict(many | {"size": 10**7})
    deep: Any = {"policy": "GLUE"}
    for _ in range(2000):
        deep = {"policy": "GLUE", "f": deep}
    with pytest.raises(ValueError, match="the saved Agent cannot be read"):
        mb.Agent.from_dict(many | {"policy": deep})


@pytest.mark.parametrize(("tamper", "words"), TAMPERED, ids=[words[:30] for _, words in TAMPERED])
def test_what_was_tampered_with_is_refused_by_name(saved: Any, tamper: Callable[[Any], object], words: str) -> None:
    data = copy.deepcopy(saved)
    tamper(data)
    with pytest.raises(ValueError, match=re.escape(words)):
        mb.Agent.from_dict(data)


def test_files_that_hold_something_else(tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    BOUNDS.save(path)
    with pytest.raises(ValueError, match=re.escape("in format 1: it lacks the key 'agent'; got ['arms', 'lower'")):
        mb.Agent.load(path)
