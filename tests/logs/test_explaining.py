"""What an explanation says is what the library computes: bounds, decisions, tipping points and costs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.logs.agent import POLICY, knowledge_of
from meanbounds.logs.explaining.costs import AVERAGE, FREQUENT, FROM_NOTHING, WITH_LOG
from meanbounds.logs.explaining.turning import Turn
from meanbounds.logs.explaining.words import total
from meanbounds.logs.judged import Judged
from meanbounds.support.theme import DARK, LIGHT

LAB = mb.HiddenContexts(
    [[[0.9, 0.4, 0.1], [0.3, 0.8, 0.2]], [[0.85, 0.3, 0.2], [0.5, 0.6, 0.1]]],
    [[0.4, 0.1], [0.3, 0.2]],
    contexts=["north", "south"],
    arms=["tPA", "heparin", "watch"],
)
COUNTS = LAB.sample(20_000, seed=3)
ASSUMPTIONS = (
    mb.logs.ErringExpert(0.02, gap_low=0.3, gap_high=0.8),
    mb.logs.OptimalExpert(gap_low=0.3),
    mb.logs.OptimalExpert(gap_low={"north": 0.3, "south": 0.25}, gap_high=0.85),
    mb.logs.NearlyOptimalExpert(0.01, gap_low=0.3),
    mb.logs.MarginalSensitivity(1.5) & mb.logs.AnyExpert(),
    mb.logs.AnyExpert(gap_high=0.8),  # without a gap every option can be best, whoever chose
)


@cache
def explained(place: int) -> mb.logs.Explanation:
    """The log under one of the assumptions."""
    return mb.logs.explain(COUNTS, ASSUMPTIONS[place], worlds=2)


def can_be_best(counts: mb.logs.Counts, turn: Turn, value: float, **given: Any) -> tuple[str | int, ...]:
    """Which options can be best when one number of what is assumed has this value, from the bounds themselves."""
    name, context = turn.point.assumption, turn.point.context
    assumed = turn.assumption
    if name in ("shift", "confidence"):
        given[name] = value
    else:
        numbers = {each: value if each == context else _start(turn, each) for each in counts.contexts}
        parts = [replace(part, **{name: numbers}) if name in part.weaker else part for part in assumed.parts]
        assumed = parts[0]
        for part in parts[1:]:
            assumed &= part
    return mb.logs.bounds(counts, assumed, **given)[context].pruned().arms


def _start(turn: Turn, context: mb.logs.Context) -> float:
    """What is assumed in another context."""
    own = getattr(turn.assumption, turn.point.assumption, None)
    return float(own[context]) if isinstance(own, dict) else turn.start


@pytest.mark.parametrize("place", range(len(ASSUMPTIONS)))
def test_the_bounds_just_before_and_after_each_tipping_point_give_the_two_decisions(place: int) -> None:
    found, assumption = explained(place), ASSUMPTIONS[place]
    assert bool(found.turns) == (place < 5)
    for turn in found.turns:
        value, little = turn.point.value, step(turn)
        assert turn.before != turn.after
        if turn.assumption == assumption or not isinstance(assumption, mb.logs.OptimalExpert):
            assert turn.before == found.own.best(turn.point.context)
        assert can_be_best(COUNTS, turn, value - little) == turn.before
        assert can_be_best(COUNTS, turn, value + 0.01 * little) == turn.after


def step(turn: Turn) -> float:
    """A small step over the tipping point, which starts no earlier than where the number starts."""
    way = turn.point.value - turn.start
    return float(np.copysign(min(1e-6, abs(way)), way))


def test_an_infinite_log() -> None:
    found = mb.logs.explain(LAB.counts(), mb.logs.OptimalExpert(0.2), infinite=True, worlds=2)
    assert all(turn.point.assumption != "confidence" for turn in found.turns)
    assert all(one.refuted is None for one in found.rungs)
    for turn in found.turns:
        little = step(turn)
        assert can_be_best(LAB.counts(), turn, turn.point.value - little, infinite=True) == turn.before
        assert can_be_best(LAB.counts(), turn, turn.point.value + little, infinite=True) == turn.after


@pytest.mark.parametrize("seed", [0, 4, 5])
def test_each_rung_has_the_bounds_of_the_library_and_implies_the_one_before(seed: int) -> None:
    lab = mb.HiddenContexts.random(visible=3, hidden=3, arms=4, seed=seed)
    counts = lab.sample(6_000, seed=seed)
    found = mb.logs.explain(counts, worlds=2)
    exact = mb.logs.explain(lab.counts(), infinite=True, worlds=2)
    for one in found.rungs:
        if one.contradicted.any():
            with pytest.raises(mb.BoundsError, match="context"):
                mb.logs.bounds(counts, one.assumption)
            assert any(one.reason(context) for context in counts.contexts)
            continue
        expected = mb.logs.bounds(counts, one.assumption)
        for place, (context, own) in enumerate(expected.items()):
            assert one.lower[place].tolist() == own.lower.tolist()
            assert one.upper[place].tolist() == own.upper.tolist()
            assert one.best(context) == own.pruned().arms == one.bounds(context).pruned().arms
            assert {*one.best(context), *one.out(context)} == set(own.arms)
    for weak, strong in zip(exact.rungs, exact.rungs[1:], strict=False):
        if strong.contradicted.any():
            break
        assert (strong.lower >= weak.lower - 1e-12).all()
        assert (strong.upper <= weak.upper + 1e-12).all()


def test_what_is_judged_is_one_of_the_rungs() -> None:
    for place, assumption in enumerate(ASSUMPTIONS):
        found = explained(place)
        assert found.own.assumption == assumption
        assert found.rungs[0].assumption == mb.logs.AnyExpert()


def test_a_log_that_contradicts_the_judgement_is_explained_nevertheless() -> None:
    found = mb.logs.explain(COUNTS, mb.logs.OptimalExpert(gap_low=0.95), worlds=2)
    assert found.own.contradicted.all()
    assert found.own.best("north") == ()
    assert found.own.refuted is not None
    assert found.own.refuted.found
    (only,) = found.costs  # worlds in which the judgement is true do not exist
    assert only.assumption == only.judged == mb.logs.AnyExpert()
    page = found.html()
    assert "The log contradicts this" in page
    assert "The log itself speaks against this" in page
    assert "contradicts" in found.sentences[0]


def test_costs_of_fixed_options_are_those_of_uniform_means() -> None:
    """The expected cost of an option that is always taken, against an integral by many draws; 5 standard errors."""
    found = mb.logs.explain(COUNTS, ASSUMPTIONS[0], worlds=60)
    right, nothing = found.costs
    rng = np.random.default_rng(1)
    for one, rung in ((right, found.own), (nothing, found.rungs[0])):
        expected = {AVERAGE: 0.0, FREQUENT: 0.0}
        for place in range(2):
            means = rng.uniform(rung.lower[place], rung.upper[place], (200_000, 3))
            naive = COUNTS.total[place] / np.maximum(COUNTS.count[place], 1.0)
            for label, arm in ((AVERAGE, int(naive.argmax())), (FREQUENT, int(COUNTS.count[place].argmax()))):
                share = COUNTS.count[place].sum() / COUNTS.rows
                expected[label] += share * float((means.max(axis=1) - means[:, arm]).mean())
        for label, each in expected.items():
            for place, decisions in enumerate(one.decisions):
                assert one.mean[label][place] == pytest.approx(decisions * each, abs=5.0 * one.error[label][place])
    assert right.mean[WITH_LOG][0] < right.mean[FROM_NOTHING][0]


def test_costs_are_those_of_the_agent_of_the_log() -> None:
    """One context and two worlds, played once more by hand."""
    count = np.array([[1e9, 1e9]])
    total = np.array([[0.9e9, 0.2e9]])
    counts = mb.logs.Counts(["all"], ["a", "b"], count=count, total=total, squares=total)
    found = mb.logs.explain(counts, mb.logs.OptimalExpert(), infinite=True, worlds=2, seed=5)
    known = knowledge_of(counts, infinite=True)["all"]
    rng = np.random.default_rng(5)
    rng.random()
    bounds = mb.logs.bounds(counts, infinite=True)["all"]
    means = rng.uniform(np.tile(bounds.lower, (2, 1)), np.tile(bounds.upper, (2, 1)))
    costs = [
        mb.simulate(
            {"it": policy},
            mb.Bernoulli(own),
            start,
            horizon=10_000,
            runs=1,
            seed=5 + world,
            checkpoints=[100, 1_000, 10_000],
        ).curves["it"][0]
        for world, own in enumerate(means)
        for policy, start in ((POLICY, known), (mb.ThompsonSampling(), None))
    ]
    with_log, nothing = np.mean(costs[::2], axis=0), np.mean(costs[1::2], axis=0)
    np.testing.assert_allclose(found.costs[0].mean[WITH_LOG], with_log, rtol=1e-12)
    np.testing.assert_allclose(found.costs[0].mean[FROM_NOTHING], nothing, rtol=1e-12)


def test_the_same_seed_gives_the_same_page() -> None:
    pages = [mb.logs.explain(COUNTS, worlds=4, seed=seed).html("log.csv") for seed in (1, 1, 2)]
    assert pages[0] == pages[1] != pages[2]


def test_contexts_that_tip_first_are_those_that_tip_first() -> None:
    """Of sixteen contexts, the coarse search puts those first that are first by their exact tipping points."""
    lab = mb.HiddenContexts.random(visible=16, hidden=2, arms=3, seed=2)
    counts = lab.sample(32_000, seed=1)
    found = mb.logs.explain(counts, worlds=2)
    assert found.first is not None
    assert len(found.shown) == 12
    exact = mb.logs.sensitivity(counts, mb.logs.OptimalExpert(), numbers=["gap_low"])
    for place, context in enumerate(counts.contexts):
        points = exact.changes(context)
        if points:
            assert points[0].value <= found.first[place] <= points[0].value + 1.0 / 12.0 + 1e-9
        else:
            assert not np.isfinite(found.first[place])
    hidden = [place for place, context in enumerate(counts.contexts) if context not in found.shown]
    late = max(found.first[counts.position(context)] for context in found.shown[6:])
    assert late <= min(found.first[place] for place in hidden)


def test_one_context_of_many_keeps_the_confidence_of_all() -> None:
    lab = mb.HiddenContexts.random(visible=4, hidden=2, arms=3, seed=2)
    counts = lab.sample(8_000, seed=1)
    every = mb.logs.sensitivity(counts, gap_low=0.1)
    one = mb.logs.sensitivity(counts, gap_low=0.1, contexts=["z2"], numbers=["gap_low"])
    assert list(one.tipping) == ["z2"]
    assert one.tipping["z2"] == {"gap_low": every.tipping["z2"]["gap_low"]}
    assert one.stronger["z2"]["gap_low"] == every.stronger["z2"]["gap_low"]
    with pytest.raises(ValueError, match="contexts has 'z9', which is none of 'z0'"):
        mb.logs.sensitivity(counts, contexts=["z9"])
    with pytest.raises(ValueError, match="numbers has 'errors', which is none of 'gap_low'"):
        mb.logs.sensitivity(counts, numbers=["errors"])


def test_refused() -> None:
    with pytest.raises(ValueError, match=r"use logs\.bounds"):
        mb.logs.explain(COUNTS, mb.logs.KnownPropensity("context", least=0.1))
    with pytest.raises(ValueError, match="worlds must be at least 2"):
        mb.logs.explain(COUNTS, worlds=1)
    empty = mb.logs.Counts(["all"], ["a", "b"], count=[[0, 0]], total=[[0, 0]], squares=[[0, 0]])
    with pytest.raises(mb.logs.LogError, match="nothing to explain"):
        mb.logs.explain(empty)


def test_small_and_odd_logs() -> None:
    """One option, two options, an option without rows, a context without rows, another range, numbers as names."""
    one = mb.logs.Counts(["all"], [7], count=[[4]], total=[[2]], squares=[[2]])
    assert "1 option" in mb.logs.explain(one, worlds=2).html()
    count, total = [[40, 0], [0, 0], [3, 9]], [[80, 0], [0, 0], [7, 41]]
    counts = mb.logs.Counts(
        [1, 2, 3], ["", "b"], count=count, total=total, squares=[[240, 0], [0, 0], [19, 190]], low=1.0, high=5.0
    )
    found = mb.logs.explain(counts, mb.logs.NearlyOptimalExpert(0.4), worlds=4)
    assert "from 1 to 5" in found.html()
    assert np.isfinite([own.mean[WITH_LOG] for own in found.costs]).all()


def luminance(colour: str) -> float:
    tone = np.array([int(colour[place : place + 2], 16) / 255.0 for place in (1, 3, 5)])
    linear = np.where(tone <= 0.04045, tone / 12.92, ((tone + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_can_be_told_from_the_page(colours: dict[str, str]) -> None:
    def contrast(one: str, other: str) -> float:
        low, high = sorted((luminance(colours[one]), luminance(colours[other])))
        return (high + 0.05) / (low + 0.05)

    for name in colours:
        if name not in ("page", "tint", "line"):
            assert contrast(name, "page") >= (4.5 if name in ("ink", "soft", "accent", "naive") else 3.0), name
    assert contrast("ink", "tint") >= 4.5
    marks = [name for name in colours if name not in ("page", "tint", "line")]
    assert len({colours[name] for name in marks}) == len(marks)


def test_decisions_at_once_are_those_one_by_one() -> None:
    """A rung is computed for all contexts at once, the bounds of one context by themselves."""
    found = explained(0)
    one = found.own.judged_at("south")
    assert isinstance(one, Judged)
    assert one.bounds()["south"].upper.tolist() == found.own.upper[1].tolist()


def test_the_last_sentence_has_both_kinds_of_worlds() -> None:
    """Whoever reads only the sentences also reads what the log costs where the judgement is wrong."""
    found = explained(0)
    for costs in found.costs:
        numbers = [costs.mean[label][1] for label in (WITH_LOG, FROM_NOTHING)]
        assert "{} with this log and {} without it".format(*map(total, numbers)) in found.sentences[2]
