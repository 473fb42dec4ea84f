"""Simulations, environments and saved results refuse what they cannot use, and say why."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import meanbounds as mb
from meanbounds.simulation import Delay
from meanbounds.simulation.pairs import sign_test


@cache
def regret() -> mb.Regret:
    return mb.simulate([mb.UCB(), mb.GLUE()], mb.Bernoulli([0.9, 0.8]), horizon=20, runs=3, seed=1, checkpoints=4)


@cache
def linear_regret() -> mb.Regret:
    world = mb.Linear([[1.0, 0.0], [0.6, 0.8]], [0.5, 0.5], low=-1.0, high=1.0)
    return mb.simulate([mb.OFUL()], world, horizon=20, runs=2, seed=3, checkpoints=4)


ANY: Any = mb  # hostile arguments have none of the types that are asked for
CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "means that are complex": (lambda: ANY.Bernoulli([0.5j]), "means must be numbers; got [0.5j]"),
    "a masked mean": (lambda: ANY.Uniform(np.ma.array([0.5, 0.6], mask=[True, False])), "some are masked"),
    "an infinite range": (lambda: mb.Uniform([math.inf], high=math.inf), "must be finite, with low below high"),
    "a range that is too narrow": (lambda: mb.Bernoulli([0.0], high=1e-200), "at least 1e-150 wide"),
    "a concentration of text": (lambda: ANY.Beta([0.5], concentration="5"), "concentration must be numbers"),
    "a shape that is 0": (lambda: mb.Beta([1e-310], concentration=1e-10), "too close to an end of its range"),
    "values of no arm": (lambda: mb.Table([]), "at least one; got none"),
    "values that are a number": (lambda: ANY.Table(np.uint32(1)), "values must be a list; got"),
    "values of text": (lambda: ANY.Table([[0, 1], ["a"]]), "arm 1: values must be numbers; got ['a']"),
    "values whose sum overflows": (lambda: mb.Table([[1e308, 1e308, 0.0]]), "between -1e+150 and 1e+150"),
    "weights of text": (lambda: ANY.Table([[0, 1]], weights=[["a", "b"]]), "arm 0: weights must be numbers"),
    "features of two lengths": (lambda: mb.Linear([[1.0], [1.0, 2.0]], [1.0]), "features must be numbers"),
    "features that are not finite": (lambda: mb.Linear([[math.inf]], [1.0]), "features must be finite numbers"),
    "a law in a list": (lambda: ANY.Linear([[1.0]], [0.5], rewards=["beta"]), "rewards must be one of 'two-point'"),
    "a variance that is a tuple": (lambda: ANY.Linear([[1.0]], [0.5], variance=(1,)), "variance must be one number"),
    "a delay beyond all floats": (lambda: Delay(10**400), "at least 0; got 1000"),
    "a law of delays that is an array": (
        lambda: ANY.simulation.Delay(1, np.zeros(2)),
        'law must be "fixed" or "geometric"',
    ),
    "delays up to a text": (
        lambda: ANY.simulation.Delay.delays(Delay(1), "x"),
        "horizon must be a whole number, at least 1",
    ),
    "policies that are a number": (lambda: ANY.simulate(3, mb.Bernoulli([0.5])), "policies must be a list; got 3"),
    "a label that is a number": (lambda: ANY.simulate({3: mb.UCB()}, mb.Bernoulli([0.5])), "must be a text; got 3"),
    "ragged checkpoints": (
        lambda: ANY.simulate(mb.UCB(), mb.Bernoulli([0.5]), horizon=5, checkpoints=[[1], [2, 5]]),
        "checkpoints must be numbers; got [[1], [2, 5]]",
    ),
    "progress that is a list": (lambda: ANY.simulate(mb.UCB(), mb.Bernoulli([0.5]), progress=[]), "progress must be"),
    "an unknown label": (lambda: regret().mean("TS"), "no policy is labelled 'TS'; there are ('UCB', 'GLUE')"),
    "a label that is a list": (lambda: ANY.Regret.deviation(regret(), []), "no policy is labelled []"),
    "a level above 1": (lambda: regret().quantiles("UCB", [0.5, 1.5]), "levels must be a list of probabilities"),
    "complete confidence": (lambda: regret().band("UCB", 1.0), "confidence must be a probability between 0 and 1"),
    "a text of labels": (lambda: regret().select("UCB"), "labels must be a list; got 'UCB'"),
    "parts that are no simulations": (lambda: ANY.Regret.concat(["a"]), "a Regret; got 'a'"),
    "parts that are a list": (lambda: ANY.Regret.beside([regret()]), "parts must be a mapping"),
    "pairs with NaN": (lambda: sign_test([math.nan], [1.0]), "pairs need finite numbers"),
}


@pytest.mark.parametrize("name", CALLS)
def test_hostile_arguments_are_refused_in_words(name: str) -> None:
    call, words = CALLS[name]
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        call()


CHANGES: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "format of text": (("format",), "2", "format '2' cannot be read"),
    "rounds that are a number": (("rounds",), -1.0, "rounds must be a list; got -1.0"),
    "rounds that fall": (("rounds", 1), 3, "rounds must be increasing"),
    "curves that are a text": (("curves",), "0.5", "curves must be a mapping; got '0.5'"),
    "no curves": (("curves",), {}, "'UCB', which is no label of a policy"),
    "a curve that is too short": (("curves", "UCB", 0), [0.1], "UCB must be numbers"),
    "a curve that is not finite": (("curves", "UCB", 0, 3), math.inf, "UCB must hold finite numbers"),
    "regret that falls": (("curves", "UCB", 0, 0), 1e6, "the regret of UCB falls"),
    "negative regret": (("curves", "UCB", 0, 0), -0.1, "the regret of UCB falls"),
    "plays with a fraction": (("plays", "UCB", 0, 0), 0.5, "the plays of UCB must be whole numbers"),
    "plays that do not add up": (("plays", "UCB", 0, 0), 100, "the plays of UCB do not add up to 20 rounds"),
    "plays beyond all integers": (("plays", "UCB", 0, 0), 1e300, "the plays of UCB must be whole numbers"),
    "plays of other policies": (("plays",), {}, "plays are of ()"),
    "settings that are a list": (("settings",), [], "settings must be a mapping"),
    "settings with a set": (("settings", "seed"), {1}, "values that JSON can hold"),
    "a seed of text": (("settings", "seed"), "7", "seed must be a whole number"),
    "an environment of other arms": (("settings", "environment", "means"), [0.9], "means has shape (1,)"),
    "settings of other policies": (("settings", "policies"), {}, "it lacks UCB, GLUE"),
    "parts that are a number": (("settings", "parts"), 1, "parts must be a list"),
    "measures that are a truth": (("measures",), True, "measures must be a mapping; got True"),
    "a measure of another policy": (("measures", "kept"), {"x": [[1.0]]}, "'x', which is no label of a policy"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_saved_result_that_was_tampered_with_is_refused(name: str) -> None:
    path, value, words = CHANGES[name]
    saved = copy.deepcopy(regret().to_dict())
    inside: Any = saved
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    with pytest.raises(ValueError, match=re.escape(words)):
        mb.Regret.from_dict(saved)


@pytest.mark.parametrize("entry", ["format", "rounds", "curves", "plays", "settings", "measures"])
def test_a_saved_result_without_an_entry_is_refused(entry: str) -> None:
    saved = {name: value for name, value in regret().to_dict().items() if name != entry}
    with pytest.raises(ValueError, match="format None cannot be read" if entry == "format" else f"it lacks {entry}"):
        mb.Regret.from_dict(saved)


def test_results_that_were_put_together_are_read_again() -> None:
    parts = {"a": regret().select(["UCB"]), "b": linear_regret()}
    both = mb.Regret.beside(parts)
    pooled = mb.Regret.concat([regret(), regret()])
    for made in (both, pooled, linear_regret(), both.select(["b"]), mb.Regret.concat([both, both])):
        text = json.dumps(made.to_dict())
        assert json.dumps(mb.Regret.from_dict(json.loads(text)).to_dict()) == text


def test_results_with_different_numbers_of_arms(tmp_path: Path) -> None:
    """Side by side they can be saved; their runs cannot be pooled."""
    two, three = (
        mb.simulate(mb.UCB(), mb.Bernoulli(means), horizon=20, runs=runs, seed=1, checkpoints=4)
        for means, runs in (([0.9, 0.8], 3), ([0.9, 0.8, 0.7], 2))
    )
    both = mb.Regret.beside({"two": two, "three": three})
    both.save(tmp_path / "both.parquet")
    for again in (mb.Regret.load(tmp_path / "both.parquet"), mb.Regret.from_dict(both.to_dict())):
        for label in both.labels:
            np.testing.assert_array_equal(again.plays[label], both.plays[label])
            np.testing.assert_array_equal(again.curves[label], both.curves[label])
    with pytest.raises(ValueError, match="only if the number of arms is the same"):
        mb.Regret.concat([two, three])


def test_a_file_without_a_checksum_has_to_be_lawful(tmp_path: Path) -> None:
    """As the first versions wrote them."""
    path = tmp_path / "regret.parquet"
    regret().save(path)
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[b"meanbounds"])
    del header["digest"]
    for rounds, words in (([5, 10, 15, 20], None), ([5, 10, 20], "UCB has shapes"), ([5, 10, 15, 21], "do not add up")):
        described = table.replace_schema_metadata({"meanbounds": json.dumps({**header, "rounds": rounds})})
        pq.write_table(described, path)
        if words is None:
            assert mb.Regret.load(path).to_dict() == regret().to_dict()
        else:
            with pytest.raises(ValueError, match=f"is damaged .*{words}"):
                mb.Regret.load(path)


def test_parts_may_come_from_a_generator() -> None:
    assert mb.Regret.concat(part for part in (regret(), regret())).settings["runs"] == 6


def test_tiny_and_huge_weights_are_shares() -> None:
    for unit in (5e-324, 1.0, 1e308):
        assert mb.Table([[0.25, 0.75]], weights=[[unit, unit]], low=0, high=1).means.tolist() == [0.5]


def test_the_mean_of_equal_values_is_that_value() -> None:
    assert mb.Table([[0.1] * 3], low=0.0, high=0.1).means.tolist() == [0.1]


def test_rewards_of_the_widest_range_have_a_finite_deviation() -> None:
    world = mb.Bernoulli([1e149, -1e149], low=-9e149, high=9e149)
    wide = mb.simulate(mb.UCB(), world, horizon=1000, runs=5, seed=1, checkpoints=2)
    narrow = mb.simulate(mb.UCB(), mb.Bernoulli([1.0, -1.0], low=-9.0, high=9.0), horizon=1000, runs=5, seed=1)
    np.testing.assert_allclose(wide.deviation("UCB")[-1], 1e149 * narrow.deviation("UCB")[-1], rtol=1e-9)


def test_delays_of_narrow_types_are_computed_in_full() -> None:
    narrow: tuple[Any, Any] = (np.float16(2.3), np.int8(100))
    assert Delay(narrow[0], "geometric").delays(1000) == Delay(float(narrow[0]), "geometric").delays(1000)
    assert Delay(narrow[1]).settings() == Delay(100).settings()
