"""The worlds in which promises are measured: experts are what they are called, and tiny runs give a table."""

import argparse

import numpy as np
import pytest
from benchmarks.promise import EXPERTS, WORLDS, table, world


@pytest.mark.parametrize("experts", EXPERTS)
def test_experts_are_what_they_are_called(experts: str) -> None:
    rng = np.random.default_rng(1)
    for matters in WORLDS.values():
        one = world(experts, matters, rng)
        assert one.choices.sum(axis=1) == pytest.approx(1.0)
        right = one.choices[np.arange(6), one.means.argmax(axis=1)]
        if experts == "right":
            assert one.value == pytest.approx(one.shares @ one.means.max(axis=1))
        if experts.startswith("err"):
            assert right == pytest.approx(1.0 - int(experts.removeprefix("err in ").rstrip("%")) / 100)
        if experts == "favour the worst":
            assert one.choices[:, one.options.argmin()].min() >= 0.6


def test_no_promise_breaks_in_a_tiny_run() -> None:
    given = argparse.Namespace(
        worlds=1, runs=1, rounds=200, rows=[1000], policy="bimed", promises=["none", "margin-0.01"], seed=1
    )
    head, _, free, kept = table(given)
    assert head[:4] == ["rows", "decisions", "promise", "broken"]
    assert (free[2:4], kept[3]) == (["none", ""], "0.00%")
