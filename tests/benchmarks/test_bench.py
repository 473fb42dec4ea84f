"""The benchmark: a library answers from its own process, limits are scaled, the page names what is missing."""

import numpy as np
import pytest
from benchmarks.contest import Contest, Times
from benchmarks.report import report
from benchmarks.targets import targets
from benchmarks.workloads import LinearArms

import meanbounds as mb


@pytest.fixture
def times() -> Times:
    made = Times(versions={"river": "1.2"}, absent={"coba": "it is too cold"}, failures={("plain", "W1"): "no rewards"})
    made.nanoseconds = {("ours", "W1"): 10.0, ("river", "W1"): 249.0, ("river", "P5"): 7_000.0}
    made.nanoseconds |= {("ours", "agent GLUE P5"): 49_000.0, ("ours", "agent GLUE P50"): 49_000.0}
    return made


def test_a_library_answers_from_its_own_process() -> None:
    with Contest(["plain"], lambda _: None) as played:
        played.play(["W1", "W4a", "P5"], turns=2, share=0.01)
    assert set(played.times.nanoseconds) == {("plain", "W1"), ("plain", "W4a")}
    assert all(10.0 < value < 1e7 for value in played.times.nanoseconds.values())


def test_a_library_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.contest._python_for", lambda _: "/bin/true")
    with Contest(["plain"], lambda _: None) as played:
        played.play(["W1"], turns=1, share=0.01)
    assert played.times.absent == {"plain": "the process ended without an answer"}


def test_limits_are_scaled_by_river(times: Times) -> None:
    found = {target.what: target for target in targets(times, {"Agent, GLUE": 0.9, "LinearAgent, OFUL": 4.0})}
    assert (found["Agent, GLUE, 5 arms"].limit, found["Agent, GLUE, 5 arms"].kept) == (50.0, True)
    assert (found["Agent, GLUE, 50 arms"].limit, found["Agent, GLUE, 50 arms"].kept) == (25.0, False)
    assert not found["Agent, UCB, 5 arms"].kept  # what was not measured
    assert not found["W1: river / meanbounds"].kept  # 24.9 times faster
    assert found["first decision of a process, Agent, GLUE"].kept
    assert not found["first decision of a process, LinearAgent, OFUL"].kept


def test_the_page_has_every_library(times: Times) -> None:
    page = report(["river", "coba", "plain"], times, targets(times, {}))
    assert "| river | **24.9x**, 249 ns | - |" in page
    assert "| coba | cannot be used |" in page
    assert "| plain loop | failed | - |" in page
    assert "it is too cold" in page
    assert "| Agent, GLUE, 50 arms | 49 µs | at most 25 µs | 25 µs | **missed** |" in page
    assert "| W1: river / meanbounds | 24.9x | at least 25x | 25x | **missed** |" in page


def test_features_are_those_of_the_paper() -> None:
    environment, arms = mb.simulation.paper_linear(1).environment, LinearArms.of("W4a")
    np.testing.assert_array_equal(environment.means, arms.features @ arms.theta)
    for offer, features, pay in arms.rounds(3):
        np.testing.assert_array_equal(features, arms.features[offer])
        assert set(np.abs(pay).tolist()) <= {0.0, 1.0}
