"""What evaluate says of decisions: naive formulas, coverage where probabilities follow rewards, words, refusals."""

import itertools
import json
from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

import meanbounds as mb
from meanbounds.cli import main
from meanbounds.logs import Counts, LogError, evaluate
from meanbounds.logs.estimates import Decisions
from meanbounds.logs.evaluation import Evaluation
from meanbounds.support.types import Floats

table: Any = Counts  # from lists
pd: Any = pytest.importorskip("pandas")
UNLIKELY = 1e-6  # how often a test of coverage fails although limits hold as often as they say
Row = tuple[str, str, float, float]


def random_rows(rng: np.random.Generator, size: int) -> list[Row]:
    """Decisions in three contexts with four options and the experts; some options are never played."""
    arms = ["a", "b", "c", "expert"]
    chances = rng.dirichlet(np.ones(4), size=size) * 0.8 + 0.05
    rewards = [0.0, 1.0] if rng.random() < 0.5 else [0.0, 0.3, 0.75, 1.0]
    found = []
    for chance in chances:
        k = int(rng.choice(4, p=chance / chance.sum()))
        found.append((f"c{rng.integers(3)}", arms[k], float(rng.choice(rewards)), float(chance[k])))
    return found


def columns(rows: Sequence[Row]) -> dict[str, Any]:
    return dict(zip(("context", "arm", "reward", "probability"), map(list, zip(*rows, strict=True)), strict=True))


def naive(rows: Sequence[Row], chance: Any) -> dict[str, float]:
    """Estimates by plain loops; `chance` is what a policy plays in each context."""
    arms = sorted({row[1] for row in rows} | {arm for own in chance.values() for arm in own})
    weights = [chance[z].get(a, 0.0) / p for z, a, _, p in rows]

    def mean(z: str, a: str) -> float:
        everywhere = [y for _, arm, y, _ in rows if arm == a]
        here = [y for context, arm, y, _ in rows if (context, arm) == (z, a)]
        base = (sum(everywhere) + 0.5) / (len(everywhere) + 1)
        return (sum(here) + 2 * base) / (len(here) + 2)

    robust = 0.0
    unseen = 0.0
    for (z, a, y, _), w in zip(rows, weights, strict=True):
        robust += sum(chance[z].get(arm, 0.0) * mean(z, arm) for arm in arms) + w * (y - mean(z, a))
        unseen += sum(own for arm, own in chance[z].items() if (z, arm) not in {row[:2] for row in rows})
    size = len(rows)
    return {
        "ipw": sum(w * row[2] for w, row in zip(weights, rows, strict=True)) / size,
        "robust": robust / size,
        "unseen": unseen / size,
        "effective": sum(weights) ** 2 / sum(w * w for w in weights) if any(weights) else 0.0,
        "largest": max(weights),
    }


@pytest.mark.parametrize("seed", range(12))
def test_estimates_equal_plain_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, int(rng.integers(5, 60)))
    contexts = sorted({row[0] for row in rows})
    mixed = {z: dict(zip("abcd", rng.dirichlet(np.ones(4)).tolist(), strict=True)) for z in contexts}
    policies = {"mixed": mixed, "one each": {z: "abc"[k % 3] for k, z in enumerate(contexts)}}
    found = evaluate(columns(rows), policies, context="context")
    played: dict[str, Any] = {"mixed": mixed, "always a": {z: {"a": 1.0} for z in contexts}}
    played["one each"] = {z: {"abc"[k % 3]: 1.0} for k, z in enumerate(contexts)}
    if any(row[1] == "expert" for row in rows):
        played["ask the experts"] = {z: {"expert": 1.0} for z in contexts}
    for name, chance in played.items():
        places = [(found[name], rows, chance)]
        for z in contexts:
            one = next(value for value in found.contexts[z] if value.name == name)
            own = [row for row in rows if row[0] == z]
            places.append((one, own, {z: chance[z]}))
        for value, some, plays in places:
            want = naive(some, plays)
            assert value.unseen == pytest.approx(want["unseen"])
            assert value.ipw == pytest.approx(want["ipw"])
            assert value.effective == pytest.approx(want["effective"])
            assert value.largest == pytest.approx(want["largest"])
            assert (value.robust is None) == (want["unseen"] > 0.0)
        if found[name].robust is not None:
            assert found[name].robust == pytest.approx(naive(rows, chance)["robust"])
    assert found["agent"].value == pytest.approx(np.mean([row[2] for row in rows]))
    for value in (*found.values, *itertools.chain(*found.contexts.values())):
        assert value.lower <= value.value <= value.upper


def test_totals_are_averages_of_contexts_where_an_option_was_never_played() -> None:
    plays = [("a", "drug", 1.0), ("a", "drug", 0.0), ("a", "expert", 0.0), *[("b", "bypass", 1.0)] * 2]
    plays += [("b", "drug", 0.0), ("b", "drug", 0.0), ("b", "expert", 0.0)]
    found = evaluate(columns([(z, arm, y, 1.0) for z, arm, y in plays]), context="context")
    total, there = found["always bypass"], next(one for one in found.contexts["b"] if one.name == "always bypass")
    assert there.value == pytest.approx(0.95)
    assert [total.value, total.unseen] == pytest.approx([5 / 8 * 0.95, 3 / 8])
    assert "always bypass         0.59 to 0.97" in str(found)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("confidence", [0.95, 0.01])
def test_lines_of_contexts_and_totals_do_not_contradict_each_other(seed: int, confidence: float) -> None:
    rng = np.random.default_rng([seed, 9])
    rows = [
        row for row in random_rows(rng, int(rng.integers(6, 200))) if row[:2] not in {("c0", "a"), ("c1", "expert")}
    ]
    mixed = {z: dict(zip("abc", rng.dirichlet(np.ones(3)).tolist(), strict=True)) for z in ("c0", "c1", "c2")}
    counts = table(["c0", "c1"], ["a"], [[9], [4]], [[6], [1]], [[6], [1]])
    least = min(row[3] for row in rows) if seed % 2 else None
    given: Any = {"policies": {"mixed": mixed}, "context": "context", "log": counts, "arms": ["d"], "least": least}
    found = evaluate(columns(rows), **given, confidence=confidence)
    for place, total in enumerate(found.values):
        parts = [own[place] for own in found.contexts.values()]
        shares = np.array([own[0].rows for own in found.contexts.values()]) / found.rows
        assert total.value == pytest.approx(shares @ [one.value for one in parts])
        assert total.unseen == pytest.approx(shares @ [one.unseen for one in parts])
        agents = [found["agent"], *(own[0] for own in found.contexts.values())]
        for one, agent in zip([total, *parts], agents, strict=True):
            low, high = one.difference or (0.0, 0.0)
            assert max(one.lower, low + agent.value) <= one.value + 1e-12
            assert one.value + one.unseen <= min(one.upper, high + agent.value) + 1e-12


def naive_limit(values: Floats, shifts: Sequence[float], nats: float, guess: float, least: float) -> float:
    """The limit by its definition: where the mixture of products is exp(nats)."""
    steps = np.arange(-4, 11)
    weights = 1.0 / (1.0 + np.abs(steps)) ** 2
    stakes = np.sqrt(2.0 * nats / (values.shape[1] * guess)) * 2.0**steps

    def wealth(mean: float) -> float:
        total = 0.0
        for bet, shift in zip(values, shifts, strict=True):
            for stake, weight in zip(stakes, weights / weights.sum() / len(values), strict=True):
                total += weight * np.prod((1.0 + stake * (bet + shift)) / (1.0 + stake * max(mean + shift, 0.0)))
        return log(total) - nats

    if wealth(least) < 0.0:
        return least
    return 1.0 if wealth(1.0) >= 0.0 else float(brentq(wealth, least, 1.0, xtol=1e-13))


@pytest.mark.parametrize("seed", range(6))
def test_limits_equal_their_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, nats = int(rng.integers(3, 80)), float(rng.uniform(0.2, 5.0))
    probability, reward = rng.uniform(0.2, 1.0, size), rng.random(size) * (rng.random(size) < 0.8)
    made = Decisions(np.zeros(size, dtype=np.int64), 1, np.ones(size), reward, probability)
    w = made.weights(np.where(rng.random(size) < 0.5, 1.0, 0.0))
    for y, side in ((reward, 0), (1.0 - reward, 1)):
        assert abs(side - made.own_limits(nats)[side][0]) == pytest.approx(naive_limit(y[None], [0.0], nats, 0.25, 0.0))
        assert abs(side - made.limits(w, nats)[side][0]) == pytest.approx(
            naive_limit((w * y)[None], [0.0], nats, 1.0, 0.0)
        )
        levels = np.arange(5)[:, None] / 4
        bets = levels + w * (y - levels)
        want = naive_limit(bets, (levels[:, 0] * 4.0).tolist(), nats, 1.0, 0.0)
        assert abs(side - made.limits(w, nats, 5.0, np.array([True]))[side][0]) == pytest.approx(want)
        want = naive_limit(((w - 1.0) * y)[None], [1.0], nats, 1.0, -1.0)
        assert made.limits(w, nats, minus=True)[side][0] * (1 - 2 * side) == pytest.approx(want)


@pytest.mark.parametrize("nats", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("means", [(0.5, 0.5), (0.9, 0.2), (0.02, 0.6)])
def test_limits_hold_exactly_where_probabilities_follow_rewards(nats: float, means: tuple[float, float]) -> None:
    """Every sequence of five decisions with its probability: no sampling, so the level must hold to the last digit."""
    size = 5
    outcomes = np.array(list(itertools.product((0, 1, 2, 3), repeat=size)))
    arms, rewards = outcomes // 2, outcomes % 2 * 1.0
    chance, first = np.ones(len(outcomes)), np.empty(outcomes.shape)
    gain = np.zeros((len(outcomes), 3))  # of the agent, and of each option, summed over decisions
    drift = np.zeros(len(outcomes))
    for t in range(size):
        wins = (rewards[:, :t] * (2 * arms[:, :t] - 1)).sum(axis=1)
        first[:, t] = np.where(wins > 0, 0.1, np.where(wins < 0, 0.9, 0.5))  # of option 0: what won is played more
        drift = 0.3 * (wins > 1)  # means follow the past too
        m0, m1 = means[0] * (1.0 - drift), means[1] + drift * (1.0 - means[1])
        mean = np.where(arms[:, t] == 0, m0, m1)
        chance *= np.where(arms[:, t] == 0, first[:, t], 1 - first[:, t]) * np.where(rewards[:, t] > 0, mean, 1 - mean)
        gain += np.column_stack([first[:, t] * m0 + (1 - first[:, t]) * m1, m0, m1])
    assert chance.sum() == pytest.approx(1.0)
    part = np.repeat(np.arange(len(outcomes)), size)
    probability = np.where(arms == 0, first, 1 - first).ravel()
    made = Decisions(part, len(outcomes), np.ones(part.size), rewards.ravel(), probability)
    agent, *options = gain.T / size
    every = np.ones(len(outcomes), dtype=bool)
    checked = [(made.own_limits(nats), agent)]
    for k, value in enumerate(options):
        weight = made.weights((arms == k).ravel() * 1.0)
        for most in (None, 10.0):
            checked.append((made.limits(weight, nats, most, every), value))
            checked.append((made.limits(weight, nats, most, every, minus=True), value - agent))
    for (lower, upper), truth in checked:
        for missed in (lower > truth + 1e-9, upper < truth - 1e-9):
            assert chance[missed].sum() <= np.exp(-nats) + 1e-12


def test_all_values_and_differences_hold_at_once() -> None:
    """Agents that learn, with a floor; the experts among the arms. All limits of a table hold at once."""
    runs, size, missed, contexts = 40, 80, {0.95: np.zeros((40, 3)), 0.5: np.zeros((40, 3))}, ("x", "y")
    for run in range(runs):
        rng = np.random.default_rng([run, 5])
        means = rng.random((2, 3)) ** rng.choice([0.3, 1.0, 3.0])
        known = {z: mb.MeanBounds.vacuous(["a", "b", mb.EXPERT]) for z in contexts}
        agent = mb.Agent(mb.ThompsonSampling(), known, seed=run, floor=0.08)
        rows, expected = [], []
        for _ in range(size):
            z = int(rng.integers(2))
            plays = agent.probabilities(contexts[z])
            arm, reward = agent.pull(contexts[z]), 0.0
            k = agent.arms.index(arm)
            reward = float(rng.random() < means[z, k])
            if arm is mb.EXPERT:
                agent.observe("a", reward, contexts[z])
            else:
                agent.update(arm, reward, contexts[z])
            rows.append((contexts[z], "expert" if arm is mb.EXPERT else str(arm), reward, float(plays[k])))
            expected.append([z, plays @ means[z], means[z, k]])
        which, earned, chosen = np.array(expected).T
        share = np.bincount(which.astype(int), minlength=2) / size
        values = dict(zip(("always a", "always b", "ask the experts"), share @ means, strict=True))
        truth = {"agent": earned.mean(), "experts, asked": values["ask the experts"], **values}
        for confidence, failed in missed.items():
            found = evaluate(columns(rows), context="context", least=0.08 if run % 2 else None, confidence=confidence)
            failed[run, 0] = not all(
                _inside(found, name, value, chosen.mean() if name == "experts, asked" else earned.mean())
                for name, value in truth.items()
            )
            for z, context in enumerate(contexts):
                own = {one.name: one for one in found.contexts[context]}
                ends = zip(("always a", "always b", "ask the experts"), means[z], strict=True)
                failed[run, 1 + z] = not all(own[name].lower <= mean <= own[name].upper for name, mean in ends)
    for confidence, failed in missed.items():
        assert (failed.sum(axis=0) <= binom.isf(UNLIKELY, runs, 1.0 - confidence)).all()


def _inside(found: Evaluation, name: str, value: float, agent: float) -> bool:
    one = found[name]
    low, high = one.difference or (value - agent, value - agent)
    return one.lower <= value <= one.upper and low <= value - agent <= high


def test_difference_from_the_experts_is_that_of_options_where_they_were_played() -> None:
    arms = np.array(["expert"] * 1800 + ["a"] * 200)
    reward = np.tile([1.0, 1.0, 1.0, 0.0], 450).tolist() + [1.0, 0.0, 0.0, 0.0] * 50
    probability = [0.9] * 1800 + [0.1] * 200
    found = evaluate({"arm": arms, "reward": reward, "probability": probability})
    low, high = found["experts, asked"].difference or (0.0, 0.0)
    assert 0.02 < low < 0.05 < high < 0.07  # 10% of a difference of 0.5
    assert "so they did better, by at least 0.0" in found.conclusion()
    assert found["agent"].upper > found["experts, asked"].lower  # what the values alone would not show


@pytest.mark.parametrize(
    ("won", "said"), [(900, "the agent did better"), (100, "they did better"), (510, "it is open")]
)
def test_conclusion_beside_a_log(won: int, said: str) -> None:
    counts = table([None], ["a", "b"], [[2000, 2000]], [[1000, 1000]], [[1000, 1000]])
    made = {"arm": ["a"] * 1000, "reward": [1] * won + [0] * (1000 - won), "probability": [1.0] * 1000}
    found = evaluate(made, log=counts)
    assert said in found.conclusion()
    assert found["always b"].unseen == 1.0
    assert found["always b"].note == "nobody played “b”, 100% of what it does."
    assert (found["always b"].lower, found["always b"].upper) == (0.0, 1.0)
    assert found["experts, log"].rows == 4000


def test_experts_of_a_log_are_weighted_by_the_contexts_of_the_decisions() -> None:
    counts = table(["x", "y"], ["a"], [[9000], [1000]], [[8100], [100]], [[8100], [100]])
    made = {"z": ["x"] * 100 + ["y"] * 300, "arm": ["a"] * 400, "reward": [1] * 400, "probability": [1] * 400}
    found = evaluate(made, context="z", log=counts)
    assert found["experts, log"].value == pytest.approx(0.25 * 0.9 + 0.75 * 0.1)
    by = {name: values[1].value for name, values in found.contexts.items()}
    assert by == {"x": pytest.approx(0.9), "y": pytest.approx(0.1)}
    some = evaluate({**made, "z": ["x"] * 100 + ["new"] * 300}, context="z", log=counts)["experts, log"]
    assert some.unseen == 0.75
    assert some.value == pytest.approx(0.225)
    assert some.upper > 0.9


def test_few_rows_are_called_few_and_rare_ones_rare() -> None:
    two = evaluate({"arm": ["high"] * 2, "reward": [1, 1], "probability": [1, 1]}, arms=["low"])
    assert two["always high"].note == "of 2 rows, 2 speak of it: too few to build on."
    assert two["always low"].unseen == 1.0
    rare = {"arm": ["a"] * 990 + ["b"] * 10, "reward": [1] * 1000, "probability": [0.99] * 990 + [0.01] * 10}
    found = evaluate(rare)
    assert "rarely did what it does (the largest weight is 100), so 1,000 rows are worth 10" in found["always b"].note
    assert found["always a"].note == ""
    gone = {"arm": ["a"] * 990 + ["b"] * 10, "reward": [1] * 1000, "probability": [0.99] * 990 + [0.1] * 10}
    assert "could not be played for a while" not in evaluate(gone)["always a"].note
    half = {"arm": ["a", "b"] * 50 + ["a"] * 900, "reward": [1] * 1000, "probability": [0.5] * 100 + [1.0] * 900}
    assert "its weights average 0.10, and should 1.00" in evaluate(half)["always b"].note


def test_a_least_probability_narrows_limits() -> None:
    rng = np.random.default_rng(4)
    play = rng.random(3000) < 0.1
    made = {"arm": np.where(play, "a", "b"), "reward": (rng.random(3000) < 0.9) * 1.0}
    made["probability"] = np.where(play, 0.1, 0.9)
    wide, narrow = (evaluate(made, least=least)["always a"] for least in (None, 0.1))
    assert narrow.upper - narrow.lower < 0.7 * (wide.upper - wide.lower)
    assert narrow.lower < 0.9 < narrow.upper


def test_rewards_that_have_not_come_are_counted_and_other_ranges_are_units() -> None:
    rng = np.random.default_rng(2)
    rows = random_rows(rng, 200)
    unit = evaluate(columns(rows), context="context")
    stars = pd.DataFrame(columns(rows)).assign(reward=[1.0 + 4.0 * row[2] for row in rows])
    found = evaluate(stars, context="context", low=1, high=5)
    for one, other in zip(unit.values, found.values, strict=True):
        assert other.value == pytest.approx(1.0 + 4.0 * one.value)
        assert (other.lower, other.upper) == pytest.approx((1.0 + 4.0 * one.lower, 1.0 + 4.0 * one.upper))
    late = pd.concat([stars, stars.head(7).assign(reward=None)])
    again = evaluate(late, context="context", low=1, high=5)
    assert (again.pending, again.rows) == (7, 200)
    assert again["always a"].value == pytest.approx(found["always a"].value)
    assert "7 decisions without a reward left out" in str(again)


def test_sources_agents_and_text(tmp_path: Path) -> None:
    rows = random_rows(np.random.default_rng(8), 300)
    frame = pd.DataFrame(columns(rows))
    frame.to_csv(tmp_path / "made.csv", index=False)
    frame.to_parquet(tmp_path / "made.parquet")
    known = mb.MeanBounds.vacuous(["a", "b", "c"])
    plain, agent = (
        mb.Agent(mb.GLUE(), known, seed=1),
        mb.Agent(mb.GLUE(), dict.fromkeys(("c0", "c1", "c2"), known), seed=1),
    )
    policies: dict[str, Any] = {"plain": plain, "agent now": agent, "experts": mb.EXPERT, "[31m" * 9: "b"}
    first = evaluate(frame, policies, context="context")
    for source in (tmp_path / "made.csv", str(tmp_path / "made.parquet"), columns(rows)):
        assert evaluate(source, policies, context="context").to_dict() == first.to_dict()
    sentinel = frame.assign(arm=[mb.EXPERT if arm == "expert" else arm for arm in frame["arm"]])
    assert str(evaluate(sentinel, policies, context="context")) == str(first)
    assert first["plain"].ipw == first["agent now"].ipw
    assert first["experts"].ipw == first["ask the experts"].ipw
    assert json.loads(json.dumps(first.to_dict(), allow_nan=False))["values"][0]["name"] == "agent"
    assert max(map(len, str(first).splitlines())) <= 80
    only = evaluate(frame, context="context", where="context = 'c0'")
    assert list(only.contexts) == ["c0"]
    assert only["agent"].rows == first.contexts["c0"][0].rows


GOOD = {"z": ["x", "y"] * 3, "arm": ["a", "b"] * 3, "reward": [1, 0] * 3, "probability": [0.5] * 6}


@pytest.mark.parametrize(
    ("changed", "options", "said"),
    [
        ({"probability": [0.5, None] * 3}, {}, "missing probability: 3 rows (?s:.*) leave them out with where="),
        ({"probability": [0.5, 0.0] * 3}, {}, "probability is not above 0: 3 rows"),
        ({"probability": [0.5, 50.0] * 3}, {}, "probability above 1: 3 rows"),
        ({"probability": ["0.5", "half"] * 3}, {}, "probability is not a number: 3 rows"),
        ({"reward": [1, 5] * 3}, {}, "reward above range: 3 rows .*(?s:.*)low=1, high=5"),
        ({"reward": [None] * 6}, {}, "no decision has a reward yet: wait for one"),
        ({}, {"probability": "propensity"}, "unknown column 'propensity'"),
        ({}, {"arm": "reward"}, "must be different columns"),
        ({}, {"policies": {"new": {"x": "a"}}}, "policy 'new' in context 'y': nothing is said about it; say what"),
        ({}, {"policies": {"new": {"x": "a", "y": {"a": 0.4}}}}, "from 0 to 1 with the sum 1; got {'a': 0.4}"),
        ({}, {"policies": {"new": 0.5}}, "policy 'new' .* give an option, EXPERT"),
        ({}, {"policies": {"agent": "a"}}, "a policy needs a name of its own"),
        ({}, {"policies": ["a"]}, "policies must be a mapping"),
        ({}, {"least": 0.6}, "least=0.6 is not true of these decisions: one has the probability 0.5"),
        ({}, {"least": 0.0}, "least, the least propensity"),
        ({}, {"log": table(["n"], ["a"], [[3]], [[3]], [[3]])}, "no context in common: .* same columns as context="),
        ({}, {"log": table(["x"], ["a"], [[3]], [[3]], [[3]], high=2)}, "give low=0, high=2 here too"),
        ({}, {"where": "z = 'w'"}, "no decision is left"),
        ({}, {"policies": {"new": 0.5}, "context": None}, "policy 'new': give an option"),
    ],
)
def test_wrong_input_is_refused_with_advice(changed: Any, options: Any, said: str) -> None:
    with pytest.raises(LogError, match=said):
        evaluate({**GOOD, **changed}, **{"context": "z", **options})


def test_bad_rows_can_be_left_out_and_are_counted() -> None:
    found = evaluate({**GOOD, "probability": [0.5, None] * 3}, context="z", on_bad="drop")
    assert found.dropped == {"missing probability": 3}
    assert "3 rows left out: missing probability." in str(found)
    with pytest.raises(LogError, match="the agent does not know it"):
        evaluate(GOOD, {"new": mb.Agent(mb.GLUE(), {"x": mb.MeanBounds.vacuous(2)}, seed=1)}, context="z")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = random_rows(np.random.default_rng(3), 200)
    made, out = tmp_path / "made.csv", tmp_path / "out.json"
    pd.DataFrame(columns(rows)).to_csv(made, index=False)
    agent = mb.Agent(mb.GLUE(), mb.MeanBounds.vacuous(["a", "b"]), seed=1)
    agent.save(tmp_path / "glue.json")
    (tmp_path / "mine.json").write_text('{"c0": "a", "c1": {"b": 0.5, "c": 0.5}, "c2": {"expert": true}}')
    given = [str(made), "--context", "context", "--log", str(made), "-o", str(out)]
    policies = [part for name in ("glue", "mine") for part in ("--policy", str(tmp_path / f"{name}.json"))]
    assert main(["evaluate", *given, *policies]) == 0
    mine: Any = {"c0": "a", "c1": {"b": 0.5, "c": 0.5}, "c2": mb.EXPERT}
    log_ = mb.logs.read(made, context="context")
    found = evaluate(made, {"glue": agent, "mine": mine}, context="context", log=log_)
    assert capsys.readouterr().out == f"{found}\n\nwritten: {out}\n"
    assert json.loads(out.read_text()) == json.loads(json.dumps(found.to_dict()))
    assert main(["evaluate", str(made), "--least", "0.9"]) == 2
    assert "--least 0.9 is not true of these decisions" in capsys.readouterr().err
    assert main(["evaluate", str(made), "--drop", "--where", "1 = 0"]) == 2
    assert capsys.readouterr().err == "meanbounds: no decision is left: look at --where and --drop\n"
