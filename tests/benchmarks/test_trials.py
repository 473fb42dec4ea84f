"""Agents in the place of the experts of trials: the page, what is left out, and rewards that come late."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.numeric import Patients
from benchmarks.trials import AGENTS, EXPERTS, LATE, STEP, OwnBound, Trial, jobs, main, play

import meanbounds as mb
from benchmarks import numeric, trials
from meanbounds.known import Known, Seen
from meanbounds.support.streams import stream, uniform


def made_up(folder: Path) -> dict[str, str]:
    """Two trials with the columns of the real ones."""
    rng, size = np.random.default_rng(1), 6000
    columns: dict[str, Any] = {
        "gusto": ("age,sysbp,Killip,tx,day30", ["I", "II", "III", "IV"], ["SK", "SK+tPA", "tPA"], lambda bad: bad * 1),
        "stroke": ("AGE,RSBP,RCONSC,RXASP,OCCODE", ["F", "D", "U"], ["N", "Y"], lambda bad: 4 - 3 * bad),
    }
    for name, (head, severities, arms, outcome) in columns.items():
        severity, arm = rng.integers(len(severities), size=size), rng.integers(len(arms), size=size)
        bad = rng.random(size) < 0.2 + 0.1 * severity - 0.05 * arm
        age, pressure = rng.integers(40, 95, size), np.random.default_rng(2).integers(80, 220, size)
        rows = zip(age, pressure, np.array(severities)[severity], np.array(arms)[arm], outcome(bad), strict=True)
        (folder / f"{name}.csv").write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]))
    return {name: str(folder / f"{name}.csv") for name in columns}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return made_up(tmp_path_factory.mktemp("trials"))


def test_the_page_has_every_agent_and_kind_of_experts(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    given = [f"--{name}={file}" for name, file in files.items()]
    main([*given, "--runs=2", "--decisions", "100", "200", f"--to={tmp_path}"])
    page, few = (tmp_path / "trials.md").read_text(encoding="utf-8"), len(jobs(["gusto"], 2)) - len(AGENTS)
    assert [page.count(f"| {kind} |") for kind in EXPERTS] == [2 * 3] * len(EXPERTS)
    assert page.count("\n| 14% of failures |") + page.count("\n| log, no promise |") == 2 * few
    assert "nan" not in page
    assert (tmp_path / "images" / "trials.png").stat().st_size > 10_000


def test_a_trial_without_a_file_is_left_out(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "images").mkdir()
    monkeypatch.setattr(
        trials, "jobs", lambda names, runs: [((name, "log, no promise", 20_000, ""), runs, {}) for name in names]
    )
    given = ["--gusto=missing.parquet", f"--stroke={files['stroke']}", "--runs=2", "--decisions", "100", "100"]
    main([*given, f"--to={tmp_path}"])
    assert "gusto is left out: give its file with --gusto; there is no missing.parquet" in capsys.readouterr().out
    assert "GUSTO-I, three drugs" not in (tmp_path / "trials.md").read_text(encoding="utf-8")


def test_experts_earn_what_their_choices_do(files: dict[str, str]) -> None:
    trial = Trial("stroke", files["stroke"])
    for kind in EXPERTS:
        own, law = trial.cases.with_experts(choices=trial.choices[kind]), trial.law(kind)
        np.testing.assert_allclose(law @ trial.cases.values[0], np.c_[own.marginal_means, own.value])
        counts = trial.log(kind, 10**7, np.random.default_rng(1))
        np.testing.assert_allclose(counts.total.sum(axis=1) / counts.count.sum(axis=1), own.value, atol=2e-3)


def test_asking_gains_nothing_and_late_rewards_come(files: dict[str, str]) -> None:
    trial = Trial("gusto", files["gusto"])
    found = [play(trial, "14%, 30 in total", 20_000, 2, 600, late) for late in (None, *LATE.values())]
    for own in found:
        assert own.gain.shape == (len(EXPERTS), 2, 600 // STEP)
        assert not own.broken.any()
        assert (own.gain[own.asked == 1.0] == 0.0).all()
    assert len({own.gain.tobytes() for own in found}) == len(found)


def test_a_late_reward_counts_as_its_lower_bound() -> None:
    bounds = mb.MeanBounds([0.5, 0.0, 0.6], [1.0, 1.0, 0.6], arms=["old", "new", mb.EXPERT])
    known, promise = Known.of([mb.Knowledge(bounds)]), mb.Promise(margin=0.05)
    seen = Seen(np.array([[30.0, 0.0, 40.0]]), np.array([[30.0, 0.0, 24.0]]), *np.zeros((2, 1, 3)))
    rules = [rule(mb.OptimisticGittins(), promise) for rule in (mb.policies.Guarded, OwnBound)]
    np.testing.assert_array_equal(rules[0].account(known, seen), rules[1].account(known, seen))
    seen.pending = np.array([[20.0, 5.0, 7.0]])
    (_, size, plays, certain, need), (_, _, own, sure, less) = (rule.account(known, seen)[:, 0] for rule in rules)
    assert (size, plays, own) == (30.0, 55.0, 30.0)
    np.testing.assert_allclose([certain - sure, need - less], 20 * 0.5)
    assert rules[1].allows(known, seen, np.array([0]))[0] >= rules[0].allows(known, seen, np.array([0]))[0]


def test_agents_with_columns_play_as_they_would_one_by_one(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numeric, "ROWS", 3000)
    patients, promise, kind = Patients("stroke", files["stroke"], added=1.0), mb.Promise(margin=0.01), EXPERTS[2]
    played, contexts = numeric.play(patients, numeric.NUMBERS, promise, 1, 400)
    agent, names, leaves = patients.agent(kind, numeric.NUMBERS, promise, 0)
    assert agent.pool
    assert contexts > 1.0
    value, place = (
        (patients.choices[kind] * patients.chance).sum(axis=1),
        np.array([names.index(own) for own in leaves]),
    )
    means = np.array([np.c_[patients.chance, value][place == k].mean(axis=0) for k in range(place.max() + 1)])
    keys, draws, gain = *(stream(numeric.SEED, np.zeros(1, dtype=int), name) for name in ("offers", "rewards")), 0.0
    for t in range(1, 401):
        case, u = int(uniform(keys, t)[0] * len(value)), uniform(draws, t)[0]
        columns: Any = {name: own[case] for name, own in patients.columns.items()}
        arm = agent.pull(columns)
        k = agent.arms.index(arm)
        if arm is mb.EXPERT:
            agent.observe("none", float(u < value[case]), leaves[case])
        else:
            agent.update(arm, float(u < patients.chance[case, k]), leaves[case])
        gain += means[place[case], k] - means[place[case], -1]
    assert played.gain[2, 0, -1] == pytest.approx(gain, abs=1e-9)
    assert gain != 0.0


def test_the_table_of_agents_with_columns_is_written(files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numeric, "ROWS", 500)
    monkeypatch.setattr(numeric, "KNOWS", (numeric.GROUPS,))
    monkeypatch.setattr(numeric, "PROMISES", {"no promise": None})
    found: list[Any] = []
    monkeypatch.setattr(numeric, "write", lambda *given: found.extend(given))
    numeric.main([f"--stroke={files['stroke']}", "--runs=2", "--decisions", "100", "200", "--write"])
    page, made, rows = found
    assert f"<!-- {made} -->" in page.read_text(encoding="utf-8")
    assert [len(row) for row in rows] == [3] * (2 + 2 * (len(EXPERTS) + 4))
    assert [row[2:] for row in rows if row[1] == "contexts"] == [["3.0"]] * 2
