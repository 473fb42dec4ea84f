"""Values of policies: limits hold for adaptive logs, estimates are what they should be, and gaps in a log are named."""

from __future__ import annotations

import itertools
import json
from math import exp, log, log1p
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars
import pytest
from benchmarks.evaluating import AGENTS, INTERVALS, misses
from scipy import stats

import meanbounds as mb
from meanbounds.kernels.logs.wealth import log_growth, lower_limit, predict
from meanbounds.logs import Events, LogError, evaluate
from meanbounds.logs.evaluating.limits import Bets, limit, stakes
from meanbounds.logs.evaluating.targets import Pairs, read_targets

UNTYPED: Any = mb

# ---------------------------------------------------------------------------------------------------------- kernels


def test_growth_and_limit_are_those_of_the_definition() -> None:
    """Sums of logarithms one by one, and the limit by a search of its own."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        rows = int(rng.integers(1, 200))
        values = rng.exponential(size=rows) * (rng.random(rows) < 0.5) * 10.0 ** rng.integers(-3, 6)
        stake, weight = stakes(rows, 3.0, 0.25, anytime=bool(rng.integers(2)))
        grown = log_growth(values, stake)
        naive = [sum(log1p(one * value) for value in values) for one in stake]
        assert grown == pytest.approx(naive, rel=1e-11, abs=1e-11)
        shift = rng.random(stake.size)
        found = lower_limit(grown, stake, weight, shift, float(rows), 5.0, 1.0)

        def wealth(mean: float, own: Any = (naive, stake, weight, shift, rows)) -> float:
            sums, bets, shares, moved, size = own
            parts = zip(sums, bets, shares, moved, strict=True)
            return float(sum(w * exp(g - size * log1p(b * (mean + s))) for g, b, w, s in parts))

        if found == 0.0:
            assert wealth(1e-9) < exp(1.0) * (1 + 1e-6)
        elif found < 5.0:
            assert wealth(found) == pytest.approx(exp(1.0), rel=1e-6)
        else:
            assert wealth(5.0) >= exp(1.0) * (1 - 1e-9)


def test_huge_weights_do_not_overflow() -> None:
    stake, weight = stakes(3, 3.0, 1.0, anytime=False)
    grown = log_growth(np.array([1e12, 1e12, 1e12]), stake)
    assert np.isfinite(grown).all()
    assert lower_limit(grown, stake, weight, np.zeros(stake.size), 3.0, 1.0, 3.0) == 1.0


def test_predictions_use_earlier_rows_alone() -> None:
    """The same numbers as a loop over all earlier rows, and no change by later ones."""
    rng = np.random.default_rng(2)
    events = Events(
        context=rng.integers(0, 3, 80), arm=rng.integers(0, 3, 80), reward=rng.random(80), probability=np.full(80, 0.3)
    )
    pairs = Pairs.of(events)
    (target,) = read_targets(events, pairs, {"x": {0: 0, 1: {1: 0.5, 2: 0.5}, 2: {0: 0.25, 7: 0.75}}})
    known = rng.integers(0, 2, 80)

    def found(reward: Any) -> Any:
        given = (pairs.row, events.arm, events.context, reward, known)
        return predict(*given, target.starts, target.arm, target.pair, target.chance, 2.0)

    def naive(context: int, arm: int, before: int) -> float:
        same_arm = [t for t in range(before) if events.arm[t] == arm and known[t]]
        both = [t for t in same_arm if events.context[t] == context]
        base = (0.5 + sum(events.reward[same_arm])) / (1.0 + len(same_arm))
        return float((2.0 * base + sum(events.reward[both])) / (2.0 + len(both)))

    played, planned = found(events.reward)
    policy = {0: {0: 1.0}, 1: {1: 0.5, 2: 0.5}, 2: {0: 0.25, 7: 0.75}}
    for t in range(80):
        context = int(events.context[t])
        assert played[t] == pytest.approx(naive(context, int(events.arm[t]), t))
        assert planned[t] == pytest.approx(sum(p * naive(context, arm, t) for arm, p in policy[context].items()))
    later = events.reward.copy()
    later[40:] = 1.0 - later[40:]
    assert (found(later)[0][:41] == played[:41]).all()
    assert (found(later)[1][:41] == planned[:41]).all()


# ------------------------------------------------------------------------------------------------------- validity


def path_chances(history: list[tuple[int, float]]) -> list[float]:
    """An agent of two arms that reacts strongly to what it saw."""
    wins = [sum(reward for arm, reward in history if arm == k) for k in (0, 1)]
    first = 0.5 if not history else 0.9 if wins[0] > wins[1] else 0.15
    return [first, 1.0 - first]


@pytest.mark.parametrize(("least", "anytime"), [(None, False), (0.1, False), (None, True)])
def test_limits_hold_exactly_on_every_path_of_a_small_tree(least: float | None, anytime: bool) -> None:
    """All 256 logs of four rows, with their probabilities: no interval misses more often than it may."""
    means = (0.7, 0.2)
    confidence = 0.3
    missed = dict.fromkeys(("agent", "always 0", "mixed", "mixed - agent", "always 0 - agent"), 0.0)
    total = 0.0
    for path in itertools.product(itertools.product((0, 1), (0.0, 1.0)), repeat=4):
        probability, chance, value = 1.0, [], 0.0
        history: list[tuple[int, float]] = []
        for arm, reward in path:
            own = path_chances(history)
            value += sum(p * mean for p, mean in zip(own, means, strict=True)) / 4.0
            probability *= own[arm] * (means[arm] if reward else 1.0 - means[arm])
            chance.append(own[arm])
            history.append((arm, reward))
        events = Events(arm=[a for a, _ in path], reward=[r for _, r in path], probability=chance)
        settings: dict[str, Any] = {"confidence": confidence, "simultaneous": False, "anytime": anytime}
        found = evaluate(events, {"mixed": {"all": {0: 0.4, 1: 0.6}}}, arms=[], least=least, **settings)
        if 0 in events.arms:
            arms = evaluate(events, arms=[0], least=least, **settings)["always 0"]
        else:
            arms = evaluate(events, {"always": {"all": 0}}, arms=[], least=least, **settings)["always"]
        truth = {"agent": value, "mixed": 0.4, "always 0": 0.7}
        ends = {name: (found[name].lower, found[name].upper) for name in ("agent", "mixed")}
        ends["always 0"] = (arms.lower, arms.upper)
        for name, one in (("mixed", found["mixed"]), ("always 0", arms)):
            assert one.difference_lower is not None
            assert one.difference_upper is not None
            ends[f"{name} - agent"] = (one.difference_lower, one.difference_upper)
            truth[f"{name} - agent"] = truth[name] - value
        for name, (lower, upper) in ends.items():
            missed[name] += probability * (not lower - 1e-12 <= truth[name] <= upper + 1e-12)
        total += probability
    assert total == pytest.approx(1.0)
    assert max(missed.values()) <= 1.0 - confidence
    assert max(missed.values()) > 0.0  # the test can fail


@pytest.mark.no_cover  # it repeats what other tests do once
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in AGENTS if "Thompson" not in name])
def test_limits_hold_on_adaptive_logs(name: str) -> None:
    """Each interval misses with probability at most 0.2; the test fails with probability below 1e-6 if that is so."""
    logs = 150
    count = dict.fromkeys(INTERVALS, 0)
    for written in AGENTS[name](logs, 5, 200):
        for interval, missed in misses(written, 0.8, written.least).items():
            count[interval] += missed
    assert max(count.values()) <= stats.binom.isf(1e-6 / len(INTERVALS), logs, 0.2)


def test_limits_hold_where_the_value_drifts() -> None:
    """The mean of what was expected is caught although it moves from 0.1 to 0.9 and the variance with it."""
    rng = np.random.default_rng(4)
    mean = np.linspace(0.1, 0.9, 400)
    missed = 0
    for _ in range(200):
        reward = (rng.random(400) < mean).astype(float)
        missed += limit([Bets(reward, 0.0, 0.25)], 1.0, log(5.0), anytime=False) > 0.5
    assert missed <= stats.binom.isf(1e-6, 200, 0.2)


def test_limits_close_in_on_the_truth() -> None:
    rng = np.random.default_rng(5)
    widths = []
    for rows in (500, 5_000, 50_000):
        arm = (rng.random(rows) < 0.3).astype(int)
        reward = (rng.random(rows) < np.where(arm == 1, 0.7, 0.2)).astype(float)
        events = Events(arm=arm, reward=reward, probability=np.where(arm == 1, 0.3, 0.7))
        one = evaluate(events, least=0.3)["always 1"]
        assert one.lower <= 0.7 <= one.upper
        widths.append(one.upper - one.lower)
    assert widths[1] < 0.5 * widths[0]
    assert widths[2] < 0.5 * widths[1]


def test_a_least_probability_narrows_the_limits() -> None:
    """With few clicks and rare arms, limits from weights alone are far wider."""
    rng = np.random.default_rng(6)
    arm, reward = rng.integers(0, 10, 5_000), (rng.random(5_000) < 0.02).astype(float)
    events = Events(arm=arm, reward=reward, probability=np.full(5_000, 0.1))
    plain, known = (evaluate(events, least=least)["always 3"] for least in (None, 0.1))
    assert known.upper - known.lower < 0.5 * (plain.upper - plain.lower)
    assert (plain.ipw, plain.dr) == (known.ipw, known.dr)


# ------------------------------------------------------------------------------------------------------- estimates


@pytest.fixture
def events() -> Events:
    """Two contexts, three arms, and one pair that never occurs: arm c in context y."""
    rng = np.random.default_rng(7)
    context = rng.choice(["x", "y"], 600)
    chance = {"x": [0.5, 0.3, 0.2], "y": [0.6, 0.4, 0.0]}
    arm = np.array([rng.choice(["a", "b", "c"], p=chance[z]) for z in context])
    own = [chance[z][list("abc").index(k)] for z, k in zip(context, arm, strict=True)]
    return Events(context=context, arm=arm, reward=rng.integers(1, 6, 600), probability=own, low=1, high=5)


def test_estimates_are_those_of_the_formulas(events: Events) -> None:
    policy = {"x": {"a": 0.25, "c": 0.75}, "y": "b"}
    guesses = {z: {"a": 3.0, "b": 2.0 + (z == "x"), "c": 4.5} for z in ("x", "y")}
    one = evaluate(events, {"p": policy}, predictions=guesses)["p"]
    frame = events.to_frame()
    pi = {("x", "a"): 0.25, ("x", "c"): 0.75, ("y", "b"): 1.0}
    weight = np.array([pi.get(pair, 0.0) for pair in zip(frame["context"], frame["arm"], strict=True)])
    weight /= frame["probability"].to_numpy()
    reward = frame["reward"].to_numpy()
    expected = np.array([guesses[z][k] for z, k in zip(frame["context"], frame["arm"], strict=True)])
    planned = np.where(frame["context"] == "x", 0.25 * 3.0 + 0.75 * 4.5, 2.0)
    assert one.ipw == pytest.approx(1.0 + np.mean(weight * (reward - 1.0)), abs=1e-12)
    assert one.dr == pytest.approx(np.mean(planned + weight * (reward - expected)), abs=1e-12)
    assert one.mean_weight == pytest.approx(weight.mean())
    assert one.effective_rows == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert evaluate(events)["agent"].value == pytest.approx(reward.mean())


def test_policies_can_be_given_in_many_ways(events: Events) -> None:
    table = {"x": "a", "y": "b"}
    ways: dict[str, Any] = {
        "table": table,
        "chances": {z: {k: 1.0} for z, k in table.items()},
        "function": table.__getitem__,
    }
    found = evaluate(events, ways)
    numbers = {(one.lower, one.upper, one.ipw, one.dr, one.difference) for one in map(found.__getitem__, ways)}
    assert len(numbers) == 1
    fixed = evaluate(events, {"arm a": "a"})
    assert fixed["arm a"].lower == fixed["always a"].lower
    bounds = {z: mb.MeanBounds([0.6, 0.0, 0.0], [0.9, 0.5, 0.5], arms=["a", "b", "c"]) for z in ("x", "y")}
    agent = mb.ContextualAgent(mb.GLUE(), bounds, seed=1)
    single = mb.Agent(mb.GLUE(), bounds["x"], seed=1)
    of_agents = evaluate(events, {"agents": agent, "one": single})
    assert of_agents["agents"].ipw == of_agents["one"].ipw == of_agents["always a"].ipw


def test_differences_of_two_policies_are_narrower_than_their_limits(events: Events) -> None:
    """Policies that mostly agree: their difference says much more than their values do."""
    near = {"x": {"a": 0.9, "b": 0.1}, "y": "a"}
    found = evaluate(events, {"near": near}, against="always a", simultaneous=False)
    one, base = found["near"], found["always a"]
    assert one.difference_lower is not None
    assert one.difference_upper is not None
    assert one.difference_upper - one.difference_lower < 0.5 * (one.upper - base.lower - (one.lower - base.upper))
    assert base.difference is None
    agent = found["agent"]
    turned = evaluate(events, {"near": near}, simultaneous=False)["always a"]
    assert agent.difference == pytest.approx(-(turned.difference or 0.0))
    assert agent.difference_lower == pytest.approx(-(turned.difference_upper or 0.0))


def test_a_policy_against_itself_differs_by_nothing(events: Events) -> None:
    one = evaluate(events, {"same": {"x": "a", "y": "a"}}, against="always a", simultaneous=False)["same"]
    assert one.difference == pytest.approx(0.0, abs=1e-12)
    assert one.difference_lower is not None
    assert one.difference_upper is not None
    assert one.difference_lower == pytest.approx(0.0, abs=0.1)
    assert one.difference_upper == pytest.approx(0.0, abs=0.1)


# ----------------------------------------------------------------------------------------------- what cannot be said


def test_pairs_that_the_log_never_has_are_named(events: Events) -> None:
    one = evaluate(events)["always c"]
    share = float((events.to_frame()["context"] == "y").mean())
    assert one.unseen == pytest.approx(share)
    assert one.dr is None
    assert f"{share:.1%} of its decisions are ones that the log never has: 'c' in context 'y'." in one.notes[0]
    assert one.upper == pytest.approx(5.0, abs=1.2)
    assert one.lower < one.ipw < one.upper
    assert " to " in evaluate(events).summary().split("always c")[1].splitlines()[0]


def test_unknown_arms_and_contexts_of_a_policy_are_named(events: Events) -> None:
    found = evaluate(events, {"new": {"x": "z", "y": "a"}, "short": {"x": "a"}})
    assert "'z' in context 'x'" in found["new"].notes[0]
    assert "does not say what it plays" in found["short"].notes[0]
    assert "context 'y'" in found["short"].notes[0]
    whole = evaluate(events, {"nothing": dict[str, str]()})["nothing"]
    assert (whole.unseen, whole.lower, whole.upper) == (1.0, 1.0, 5.0)


def test_an_agent_that_draws_nothing_is_told_what_to_do() -> None:
    events = Events(context=["x", "y"] * 200, arm=["a", "b"] * 200, reward=[1, 0] * 200, probability=[1.0] * 400)
    found = evaluate(events)
    assert "Every probability is 1" in found.notes[0]
    assert "floor=0.05" in found.notes[0]
    assert found["agent"].lower > 0.4
    assert found["always a"].unseen == 0.5
    assert found["always a"].lower == pytest.approx(found["agent"].lower, abs=0.05)
    assert found["always a"].upper > 0.95


def test_few_rows_worth_are_said() -> None:
    rare = Events(arm=["a"] * 990 + ["b"] * 10, reward=[1] * 1000, probability=[0.99] * 990 + [0.001] * 10)
    assert "worth about 10.0 rows" in evaluate(rare)["always b"].notes[0]
    given_up = Events(arm=["a", "b"] * 50 + ["a"] * 900, reward=[1] * 1000, probability=[0.5] * 100 + [1.0] * 900)
    assert "Trust the limits, not the value" in " ".join(evaluate(given_up)["always b"].notes)


def test_pending_rows_are_counted_and_can_be_bounded() -> None:
    reward = [1, 0, None, 1] * 100
    events = Events(arm=["a", "b"] * 200, reward=reward, probability=[0.5] * 400)
    assert events.pending == 100
    left_out, bounded = evaluate(events), evaluate(events, pending="bounds")
    assert "100 of 400 rows have no reward yet" in left_out.notes[0]
    assert left_out["agent"].rows == 300
    assert bounded["agent"].rows == 400
    assert bounded["agent"].ipw == pytest.approx(2 / 3)
    for name in ("agent", "always a", "always b"):
        assert bounded[name].upper - bounded[name].lower > left_out[name].upper - left_out[name].lower
    full = [evaluate(Events(arm=["a", "b"] * 200, reward=[1, 0, y, 1] * 100, probability=[0.5] * 400)) for y in (0, 1)]
    assert bounded["always a"].lower == pytest.approx(full[0]["always a"].lower)
    assert bounded["always a"].upper == pytest.approx(full[1]["always a"].upper)
    with pytest.raises(LogError, match="no row has a reward yet"):
        evaluate(Events(arm=["a"], reward=[None], probability=[0.5]))


def test_people_and_agent_are_compared_by_the_column_of_who_decided() -> None:
    rng = np.random.default_rng(8)
    who = np.array(["expert", "agent"])[rng.integers(0, 2, 4_000)]
    reward = (rng.random(4_000) < np.where(who == "agent", 0.8, 0.5)).astype(int)
    chance = [0.5 if name == "agent" else None for name in who]
    events = Events(arm=rng.choice(["a", "b"], 4_000), reward=reward, probability=chance, decider=who)
    found = evaluate(events)
    assert [one.name for one in found] == ["agent", "expert", "always a", "always b"]
    expert = found["expert"]
    assert expert.lower <= 0.5 <= expert.upper
    assert expert.difference_upper is not None
    assert expert.difference_upper < 0.0  # the agent is better
    assert found["always a"].rows == int((who == "agent").sum())
    assert "have no probability" in " ".join(found.notes)
    people = evaluate(Events(arm=["a"] * 9, reward=[1] * 9, probability=None))
    assert [one.name for one in people] == ["agent"]
    with pytest.raises(LogError, match="other policies cannot be evaluated"):
        evaluate(Events(arm=["a"] * 9, reward=[1] * 9, probability=None), {"p": {"all": "a"}})


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda e: evaluate(e, {"p": {"x": {"a": 0.5, "b": 0.4}}}), "with the sum 1"),
        (lambda e: evaluate(e, {"p": {"x": {"a": 1.5, "b": -0.5}}}), "must not be negative"),
        (lambda e: evaluate(e, {"p": 1.5}), "policy 'p' must be an arm"),
        (lambda e: evaluate(e, {"p": lambda _: 1 / 0}), "policy 'p' fails in context 'x': ZeroDivisionError"),
        (lambda e: evaluate(e, {"agent": "a"}), "two policies are called 'agent'"),
        (lambda e: evaluate(e, against="nobody"), "against='nobody' is no policy"),
        (lambda e: evaluate(e, arms=["z"]), "the log has no arm 'z'; its arms are 'a', 'b', 'c'"),
        (lambda e: evaluate(e, least=0.3), "least=0.3 is not true of this log: a row has the probability 0.2"),
        (lambda e: evaluate(e, least=2), "least is a probability above 0"),
        (lambda e: evaluate(e, confidence=1.0), "confidence must be a probability such as 0.95"),
        (lambda e: UNTYPED.logs.evaluate(e, pending="never"), "pending must be one of"),
        (lambda e: evaluate(e, {"p": "a"}, predictions={"x": {}, "y": {}}), "predictions lack arm 'a'"),
    ],
)
def test_what_is_wrong_is_said(events: Events, make: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make(events)


def test_results_are_saved_and_shown(events: Events, tmp_path: Path) -> None:
    found = evaluate(events, {"p": {"x": "a", "y": "b"}}, confidence=0.9, anytime=True)
    found.save(tmp_path / "found.json")
    assert mb.logs.Evaluation.load(tmp_path / "found.json") == found
    assert found.to_frame()["name"].tolist() == ["agent", "always a", "always b", "always c", "p"]
    text = found.summary()
    assert "All limits hold together with 90% confidence, however often you look." in text
    assert "by itself" in evaluate(events, simultaneous=False).summary()
    with pytest.raises(KeyError, match="there is no policy 'q'; there are 'agent'"):
        found["q"]
    broken = found.to_dict()
    broken["values"][0]["ipw"] = "much"
    with pytest.raises(ValueError, match="cannot be read"):
        mb.logs.Evaluation.from_dict(broken)


# --------------------------------------------------------------------------------------------------------- reading


def a_frame() -> pd.DataFrame:
    rng = np.random.default_rng(9)
    return pd.DataFrame(
        {
            "context": rng.choice(["old", "young"], 300),
            "arm": rng.integers(1, 4, 300),
            "reward": rng.integers(0, 2, 300).astype(float),
            "probability": rng.choice([0.25, 0.5], 300),
            "day": pd.date_range("2024-01-01", periods=300, freq="D"),
        }
    )


def same(one: Events, other: Events) -> bool:
    return (
        one.to_frame()
        .drop(columns="time", errors="ignore")
        .equals(other.to_frame().drop(columns="time", errors="ignore"))
    )


def test_all_sources_give_the_same_events(tmp_path: Path) -> None:
    frame = a_frame()
    expected = mb.logs.read_events(frame)
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_parquet(tmp_path / "log.parquet")
    frame.drop(columns="day").to_json(tmp_path / "log.jsonl", orient="records", lines=True)
    for name in ("log.csv", "log.parquet", "log.jsonl"):
        assert same(mb.logs.read_events(tmp_path / name), expected), name
    shuffled = frame.sample(frac=1.0, random_state=1)
    shuffled.to_csv(tmp_path / "shuffled.csv", index=False)
    assert same(mb.logs.read_events(tmp_path / "shuffled.csv", time="day"), expected)
    assert same(mb.logs.read_events(shuffled, time="day"), expected)
    assert same(mb.logs.read_events(polars.from_pandas(frame).lazy()), expected)
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        connection.execute(f"CREATE TABLE log AS SELECT * FROM read_parquet('{tmp_path / 'log.parquet'}')")
    assert same(mb.logs.read_events("log", connection=str(tmp_path / "log.duckdb"), time="day"), expected)
    assert evaluate(tmp_path / "log.csv") == evaluate(expected)


def test_windows_of_time(tmp_path: Path) -> None:
    frame = a_frame()
    frame.to_csv(tmp_path / "log.csv", index=False)
    expected = mb.logs.read_events(frame[31:60])
    for source in (frame, tmp_path / "log.csv"):
        found = mb.logs.read_events(source, time="day", since="2024-02-01", until="2024-03-01")
        assert same(found, expected)
    with pytest.raises(LogError, match="need time="):
        mb.logs.read_events(frame, since="2024-02-01")
    with pytest.raises(LogError, match="no row that can be evaluated in this window"):
        mb.logs.read_events(frame, time="day", since="2030-01-01")


def test_decisions_and_rewards_are_joined_by_id(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    lines = [
        {"kind": "decision", "id": "p1", "time": 1, "context": "old", "arm": "a", "probability": 0.5},
        {"kind": "reward", "id": "p1", "time": 2, "reward": 1.0},
        {"kind": "decision", "id": "p2", "time": 3, "context": "old", "arm": "b", "probability": 0.25},
        {"kind": "decision", "id": "p3", "time": 4, "context": "young", "arm": "a", "probability": 0.75},
        {"kind": "reward", "id": "p3", "time": 9, "reward": 0.25},
    ]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    found = mb.logs.read_events(path)
    assert found.to_frame()["reward"].fillna(-1).tolist() == [1.0, -1.0, 0.25]
    assert found.pending == 1
    lines += [{"kind": "reward", "id": "p1", "reward": 0.0}, {"kind": "reward", "id": "p9", "reward": 0.0}]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n{broken\n[1]\n")
    with pytest.raises(LogError) as caught:
        mb.logs.read_events(path)
    for part in ("second reward of a decision: 1 row", "line='events.jsonl:7'", "line is no JSON object: 2 rows"):
        assert part in str(caught.value)
    with pytest.warns(mb.logs.LogWarning, match="reward without a decision"):
        assert same(mb.logs.read_events(path, on_bad="drop"), found)
    with pytest.raises(LogError, match="has the field 'ward', which context= names; the first has 'kind'"):
        mb.logs.read_events(path, context="ward")


def test_contexts_of_several_columns_and_none(tmp_path: Path) -> None:
    frame = a_frame().assign(ward=[1, 2, 3] * 100)
    found = mb.logs.read_events(frame, context=["context", "ward"])
    assert found.contexts[:2] == (("old", 1), ("old", 2))
    assert found.counts().contexts[:2] == (("old", 1), ("old", 2))
    assert mb.logs.read_events(frame, context=None).contexts == ("all",)
    lines = [{"context": ["old", 1], "arm": "a", "reward": 1, "probability": 0.5}] * 3
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert mb.logs.read_events(tmp_path / "log.jsonl").contexts == (("old", 1),)
    (tmp_path / "log.jsonl").write_text('{"context": null, "arm": "a", "reward": 1, "probability": 0.5}')
    assert mb.logs.read_events(tmp_path / "log.jsonl").contexts == ("all",)


def test_counts_of_events_are_those_of_the_log() -> None:
    frame = a_frame()
    found = mb.logs.read_events(frame)
    assert found.counts().to_dict() == mb.logs.read(frame, context="context", arm="arm", reward="reward").to_dict()
    counts = found.counts(probability=True)
    assert counts.context_names == ("context", "probability")
    assumed = mb.logs.KnownPropensity("probability", least=0.25, adaptive=True)
    assert set(mb.logs.bounds(counts, assumed, method="betting")) == {"old", "young"}


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [
        ("arm", None, "missing arm"),
        ("context", None, "missing context"),
        ("reward", "good", "reward is not a number"),
        ("reward", 2.0, "reward above range"),
        ("reward", -1.0, "reward below range"),
        ("probability", 0.0, "probability is not above 0 and at most 1"),
        ("probability", 1.5, "probability is not above 0 and at most 1"),
        ("probability", None, "missing probability"),
        ("probability", "x", "probability is not a number"),
        ("day", None, "missing time"),
        ("day", "noon", "time cannot be read"),
    ],
)
def test_bad_rows_are_named_and_can_be_dropped(column: str, value: Any, kind: str) -> None:
    frame = a_frame().astype({column: object})
    frame["day"] = frame["day"].map(lambda day: day if column == "day" and isinstance(day, str) else str(day))
    frame.loc[3, column] = value
    with pytest.raises(LogError, match=f"{kind}: 1 row"):
        mb.logs.read_events(frame, time="day")
    found = mb.logs.read_events(frame, time="day", on_bad="drop")
    assert found.dropped == {kind: 1}
    assert len(found) == 299
    assert kind in " ".join(evaluate(found).notes)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Events(arm="ab", reward=[1, 0], probability=None), "arm must be a list"),
        (lambda: Events(arm=["a"], reward=[1, 0], probability=None), "all columns must have as many rows"),
        (lambda: Events(arm=[["a", "b"]], reward=np.zeros((1, 1)), probability=None), "an array of shape"),
        (lambda: mb.logs.read_events(a_frame(), arm="drug"), "the log has no column 'drug'"),
        (lambda: UNTYPED.logs.read_events(a_frame(), context=3), "context is the name of a column"),
        (lambda: mb.logs.read_events("nowhere.jsonl"), "nowhere.jsonl"),
    ],
)
def test_columns_that_do_not_fit_are_refused(make: Any, says: str) -> None:
    with pytest.raises((LogError, OSError), match=says):
        make()


# ------------------------------------------------------------------------------------------------ logs of others


def dsjson_line(number: int = 1, **changes: Any) -> dict[str, Any]:
    line = {
        "_label_cost": -1.0,
        "_label_probability": 0.8,
        "_label_Action": 2,
        "_labelIndex": 1,
        "o": [{"v": 1.0, "EventId": f"e{number}"}],
        "Timestamp": f"2021-02-04T16:31:{number:02d}.2460000Z",
        "Version": "1",
        "EventId": f"e{number}",
        "a": [2, 1, 3],
        "c": {
            "User": [{"age": "old"}, {"city": "Ulm"}],
            "_synthetic": False,
            "_multi": [{"_tag": name, "Topic": {"kind": name}} for name in ("news", "sport", "music")],
        },
        "p": [0.8, 0.1, 0.1],
        "VWState": {"m": "x"},
    }
    return {**line, **changes}


def write_lines(path: Path, *lines: Any) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_dsjson_is_read(tmp_path: Path) -> None:
    younger = {**dsjson_line()["c"], "User": [{"age": "young"}]}
    lines = [
        dsjson_line(3, _label_cost=-0.0),
        dsjson_line(1, _label_Action=1, _labelIndex=0, a=[1, 2, 3]),
        dsjson_line(2, c=younger),
    ]
    path = write_lines(tmp_path / "log.dsjson", *lines)
    found = mb.logs.read_dsjson(path, context="User.age")
    assert found.to_frame()[["context", "arm", "reward", "probability"]].to_numpy().tolist() == [
        ["old", 1, 1.0, 0.8],
        ["young", 2, 1.0, 0.8],
        ["old", 2, 0.0, 0.8],
    ]  # sorted by time
    assert mb.logs.read_dsjson(path, arm="_tag").arms == ("news", "sport")
    assert mb.logs.read_dsjson(path, arm="Topic.kind", context="*").arms == ("news", "sport")
    assert len(mb.logs.read_dsjson(path, context="*").contexts) == 2
    assert mb.logs.read_dsjson(path, context=["User.age", "User.age"][:1]).contexts == ("old", "young")
    assert len(mb.logs.read_dsjson(path, until="2021-02-04 16:31:02")) == 1


def test_costs_of_dsjson_become_rewards_of_a_range(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.dsjson", dsjson_line(_label_cost=3.0), dsjson_line(_label_cost=-5.0))
    with pytest.raises(LogError, match="give low=-3, high=5"):
        mb.logs.read_dsjson(path)
    assert mb.logs.read_dsjson(path, low=-3, high=5).reward.tolist() == [-3.0, 5.0]
    pending = {name: value for name, value in dsjson_line().items() if name != "_label_cost"}
    assert mb.logs.read_dsjson(write_lines(path, pending, dsjson_line())).pending == 1


def test_lines_of_dsjson_that_are_no_decisions_are_counted(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "log.dsjson",
        dsjson_line(),
        {"RewardValue": 1.0, "EventId": "e9"},
        {"something": "else"},
        dsjson_line(pdrop=0.5),
        {**dsjson_line(), "_outcomes": []},
        [1, 2],
    )
    with pytest.raises(LogError) as caught:
        mb.logs.read_dsjson(path)
    for part in (
        "reward without its decision: 1 row",
        "line='log.dsjson:3'",
        "(pdrop)",
        "several decisions in one line",
    ):
        assert part in str(caught.value)
    with pytest.warns(mb.logs.LogWarning):
        found = mb.logs.read_dsjson(path, on_bad="drop")
    assert (len(found), sum(found.dropped.values())) == (1, 5)


def test_open_bandit_columns_are_read(tmp_path: Path) -> None:
    raw = pd.DataFrame(
        {
            "Unnamed: 0": [0, 1, 2],
            "timestamp": [
                "2019-11-24 00:00:17.004101+00:00",
                "2019-11-24 00:00:19.7+00:00",
                "2019-11-24 00:00:18+00:00",
            ],
            "item_id": [79, 14, 7],
            "position": [2, 1, 3],
            "click": [0, 1, 0],
            "propensity_score": [0.087125, 0.006235, 0.5],
            "user_feature_0": ["u", "v", "u"],
        }
    )
    raw.to_csv(tmp_path / "all.csv", index=False)
    raw.to_parquet(tmp_path / "all.parquet")
    for source in (raw, tmp_path / "all.csv", tmp_path / "all.parquet"):
        found = mb.logs.read_open_bandit(source)
        assert found.to_frame()["arm"].tolist() == [79, 7, 14]
        assert found.contexts == (1, 2, 3)
    assert mb.logs.read_open_bandit(raw, context=["position", "user_feature_0"]).contexts[0] == (1, "v")
    package = {"action": np.array([1, 2]), "reward": np.array([0, 1]), "pscore": np.array([0.5, 0.25])}
    assert mb.logs.read_open_bandit({**package, "position": np.array([0, 1]), "n_rounds": 2}).contexts == (0, 1)
    assert mb.logs.read_open_bandit({**package, "position": None}).contexts == ("all",)
    assert mb.logs.read_open_bandit(pd.DataFrame(package), context=None).arms == (1, 2)
    with pytest.raises(LogError, match="none of the columns item_id and action"):
        mb.logs.read_open_bandit(raw.drop(columns="item_id"))
    with pytest.raises(LogError, match="the feedback has no pscore"):
        mb.logs.read_open_bandit({"action": [1], "reward": [1]})
