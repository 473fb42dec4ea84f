"""The demo: it runs, its page stands alone, and it says what its figures show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from examples import demo

import meanbounds as mb
from tests.contract import check_policy


@pytest.fixture(scope="module")
def story() -> demo.Story:
    return demo.tell(patients=300, runs=10)


def test_the_story_is_what_the_page_says(story: demo.Story) -> None:
    assert story.saved.mean[demo.BOUNDED][-1] < story.saved.mean[demo.GITTINS][-1] < story.saved.mean[demo.UCB][-1]
    assert story.wrong.mean[demo.DOUBTED][-1] < story.wrong.mean[demo.CERTAIN][-1]
    assert not story.wrong.plays[demo.CERTAIN][:, 0].any()  # it never plays the best arm
    assert [line.split(":")[0] for line in story.excluded] == ["painkillers", "bed rest"]
    assert story.silenced[0].startswith("exercise: at most 52% recover, with physiotherapy at least 55%")
    assert "contradict its upper bound 0.52" in story.alarm[1]
    for one in story.decisions:
        assert one.indices[one.given] == max(one.indices)


def test_the_page_needs_no_other_file(story: demo.Story) -> None:
    page = demo.page(story)
    assert not re.findall(r"(?:src|href|url)[=(]\W?(?!data:)[\w/.]", page.replace('src="data:', "data:"))
    assert page.count('src="data:image/png;base64,') == 3
    assert page.count("<section") == page.count("</section>") == 6
    assert len(page) < 400_000


def test_the_command_writes_page_and_picture(
    story: demo.Story, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "tell", lambda patients, runs: story if (patients, runs) == (300, 10) else None)
    monkeypatch.setattr(demo, "page", lambda *_: "the page")
    demo.main(["--out", str(tmp_path / "demo"), "--patients", "300", "--runs", "10"])
    shown = capsys.readouterr().out
    assert all(f"\n{number}. " in shown for number in range(1, 7))
    assert "[0.7" in shown
    assert shown.isascii()
    assert (tmp_path / "demo" / "index.html").read_text(encoding="utf-8") == "the page"
    assert (tmp_path / "demo" / "regret.png").read_bytes().startswith(b"\x89PNG")


def test_the_policy_of_the_demo_keeps_the_contract() -> None:
    check_policy(demo.ClippedMOSS(), rows=300)
    agent = mb.Agent(demo.ClippedMOSS(), demo.BOUNDS, seed=1)
    assert agent.pull() == "physiotherapy"  # the largest upper bound
