"""Guardrails: harmful options are stopped in time, harmless ones are not, and both survive being saved."""

import json
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import meanbounds as mb
from meanbounds.agents.guardrails import GuardrailWarning


def stopped_after(agent: mb.Agent, harm: dict[Any, float], cases: int, rng: np.random.Generator) -> int | None:
    """After how many cases of the option it is stopped, in contexts that take turns; None if it never is."""
    contexts = agent.contexts
    for case in range(cases):
        context = contexts[case % len(contexts)]
        agent.report("bleeding", float(rng.random() < harm[context]), "new", context)
        if agent.stops():
            return case + 1
    return None


def an_agent(**given: Any) -> mb.Agent:
    bounds = mb.MeanBounds.vacuous(["new", "old", mb.EXPERT])
    own: dict[str, Any] = {"worse": 0.02, "level": {"well": 0.04, "ill": 0.3}}
    rail = mb.Guardrail("bleeding", **own | given)
    return mb.Agent(mb.UCB(), {"well": bounds, "ill": bounds}, seed=7, guardrails=[rail])


@pytest.mark.filterwarnings("ignore::meanbounds.agents.guardrails.GuardrailWarning")
def test_an_option_at_its_limit_is_stopped_at_most_as_often_as_stated() -> None:
    rng, runs = np.random.default_rng(1), 150
    at_limit = {"well": 0.06, "ill": 0.32}
    stops = [stopped_after(an_agent(error=0.2), at_limit, 600, rng) is not None for _ in range(runs)]
    assert sum(stops) <= binom.isf(1e-6, runs, 0.2)


@pytest.mark.filterwarnings("ignore::meanbounds.agents.guardrails.GuardrailWarning")
def test_a_harmful_option_is_stopped_soon_by_what_all_contexts_say_together() -> None:
    rng = np.random.default_rng(2)
    found = [stopped_after(an_agent(), {"well": 0.16, "ill": 0.42}, 2_000, rng) for _ in range(40)]
    assert None not in found
    assert np.median([one for one in found if one]) < 500


@pytest.mark.filterwarnings("ignore::meanbounds.agents.guardrails.GuardrailWarning")
@pytest.mark.parametrize(("harm", "often"), [(0.1, False), (0.3, True)])
def test_the_experts_own_cases_are_the_level_where_none_is_given(harm: float, often: bool) -> None:
    rng, found = np.random.default_rng(3), 0
    for _ in range(20):
        agent = an_agent(level=None)
        for _ in range(400):
            for context in agent.contexts:
                agent.report("bleeding", float(rng.random() < 0.1), mb.EXPERT, context)
        found += stopped_after(agent, {"well": harm, "ill": harm}, 400, rng) is not None
    assert found >= 15 if often else found <= binom.isf(1e-6, 20, 0.05)


def test_no_option_is_stopped_where_the_experts_are_so_bad_that_everything_is_within_the_limit() -> None:
    agent = an_agent(level=None, worse=0.2)
    for case in range(400):
        agent.report("bleeding", float(case % 10 > 0), mb.EXPERT, "ill")
        agent.report("bleeding", 1.0, "new", "ill")
    assert not agent.stops()


def test_a_stop_is_said_once_saved_and_lifted_by_restore() -> None:
    agent = an_agent(level=0.05)
    with pytest.warns(GuardrailWarning, match="'new' is stopped: bleeding has the mean 1 in"):
        stopped_after(agent, {"well": 1.0, "ill": 1.0}, 50, np.random.default_rng(0))
    again = mb.Agent.from_dict(json.loads(json.dumps(agent.to_dict())))
    for one in (agent, again):
        (stop,) = one.stops()
        assert (stop.arm, stop.outcome, one.retired) == ("new", "bleeding", ("new",))
        assert "new" not in {one.pull("well", ["new", "old"]) for _ in range(5)}
        one.restore("new")
        assert not one.stops()
        one.report("bleeding", 1.0, "new", "well")  # counts anew
        assert one.retired == ()
    assert agent.to_dict() == again.to_dict()


def test_contexts_and_options_may_come_later() -> None:
    agent = an_agent(level=0.05)
    agent.report("bleeding", 1.0, "old", "ill")
    agent.know({"new ward": mb.MeanBounds.vacuous(["new", "old", mb.EXPERT])})
    agent.add(mb.MeanBounds.vacuous(["newest"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(60):
            agent.report("bleeding", 1.0, "newest", "new ward")
    assert agent.retired == ("newest",)
    agent.forget_context("new ward")
    assert agent.to_dict()["outcomes"]["rows"] == [1]


def test_nonsense_is_refused() -> None:
    alone = mb.Agent(mb.UCB(), mb.MeanBounds.vacuous(2), guardrails=[mb.Guardrail("bleeding", worse=0.02)])
    with pytest.raises(ValueError, match="cannot ask experts"):
        alone.report("bleeding", 1.0, 0)
    agent = an_agent()
    for outcome, value in (("blood", 1.0), ("bleeding", 1.5), ("bleeding", float("nan")), ("bleeding", True)):
        with pytest.raises(ValueError, match=r"unknown guardrail|is a number from 0 to 1"):
            agent.report(outcome, value, "new", "well")
    given: dict[str, Any] = {"outcome": "bleeding", "worse": 0.02}
    for wrong in ({"worse": -0.1}, {"level": 2.0}, {"low": 1.0}, {"error": 0.0}, {"outcome": ""}):
        with pytest.raises(ValueError, match=r"worse is|level is|low must|error must|outcome is"):
            mb.Guardrail(**given | wrong)
    with pytest.raises(ValueError, match="no level for the context 'ill'"):
        an_agent(level={"well": 0.05, "Ill": 0.3})
    data = agent.to_dict()
    data["outcomes"]["stops"] = [["nobody", "bleeding", 1, 1, 1, 1]]
    with pytest.raises(ValueError, match="stops must list"):
        mb.Agent.from_dict(data)
