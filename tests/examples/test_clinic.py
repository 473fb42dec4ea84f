"""The invented clinic: what its page says is true of its numbers, and of the log."""

from pathlib import Path

import numpy as np
import pytest
from examples.follow import averages

import meanbounds as mb
from examples import clinic

TABLETS, INFUSION = 0, 1


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> clinic.Story:
    log = clinic.write_log(tmp_path_factory.mktemp("clinic") / "clinic.csv")
    return clinic.tell(log, patients=6_000, runs=8, workers=1)


def test_the_text_is_true_of_the_clinic() -> None:
    truth, value = clinic.CLINIC.marginal_means, clinic.CLINIC.value
    assert (truth[:, TABLETS] < value).all()
    assert truth[0, INFUSION] == truth[0].max() > value[0] + 0.05
    assert truth[1].max() < value[1]


@pytest.mark.parametrize("seed", range(8))
def test_averages_mislead_and_bounds_hold_in_any_log(seed: int, tmp_path: Path) -> None:
    path = clinic.write_log(tmp_path / "clinic.csv", seed=seed)
    counts = mb.logs.read(path, context="age", arm="treatment", reward="recovered", arms=clinic.TREATMENTS)
    assert counts.rows == clinic.ROWS
    found = averages(clinic.CLINIC, counts)
    assert (found.argmax(axis=1) == TABLETS).all()
    assert (found[:, INFUSION] < found[:, TABLETS] - 0.05).all()
    assert (found[:, TABLETS] > clinic.CLINIC.value).all()
    bounds = mb.logs.bounds(counts)
    for age, truth in zip(clinic.AGES, clinic.CLINIC.marginal_means, strict=True):
        assert bounds[age].contains(truth).all()


def test_the_agent_keeps_its_promise_and_gains_later(story: clinic.Story) -> None:
    agent, free = story.followed[clinic.AGENT], story.followed[clinic.NO_LOG]
    assert agent.broken == 0
    assert free.broken == 8
    assert agent.total[:, -1].mean() > 20.0 > abs(agent.after(600).sum(axis=1).mean())
    assert free.gains[:, 1, -1].mean() < -100.0 < -30.0 < agent.gains[:, 1, -1].min()
    assert story.followed[clinic.AVERAGES].total[0, -1] < -200.0


def test_the_paper_s_assumption_would_exclude_the_truth(story: clinic.Story) -> None:
    assert clinic.upper_if_right(story) < clinic.CLINIC.marginal_means[0, INFUSION]
    assert clinic.CLINIC.errors[0] > 0.5


def test_a_real_agent_asks_first(story: clinic.Story) -> None:
    assert story.first[0].endswith("the agent asks the doctors")
    assert len(story.first) == 5
    first = int(story.first[1].split()[1].rstrip(","))
    assert story.first[0].startswith(f"patients 1 to {first - 1}:")


def test_the_terminal_tells_the_story(story: clinic.Story, capsys: pytest.CaptureFixture[str]) -> None:
    clinic.show(story)
    shown = capsys.readouterr().out
    for said in ("take over under a guard", "best average of the log", "below the promised line once in 0 of 8 runs"):
        assert said in shown


def test_pictures_hide_no_curve(story: clinic.Story) -> None:
    figure = clinic.gain_picture(story.followed, clinic.AGES, (4.8, 3.3))
    for axes in figure.axes:
        low, high = axes.get_ylim()
        for line in axes.get_lines():
            assert low <= np.min(line.get_ydata()) <= np.max(line.get_ydata()) <= high
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == [*clinic.LINES, "the doctors", "promised line"]


def test_the_command_writes_the_picture(
    story: clinic.Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(clinic, "tell", lambda log: story if log.exists() else None)
    clinic.main(["--picture", str(tmp_path / "promise.png")])
    assert (tmp_path / "promise.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out == ""
