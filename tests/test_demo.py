"""The demo: its page stands alone, the agent beside it decides, and bounds without a log still have their story."""

import re
from pathlib import Path

import numpy as np
import pytest

import meanbounds as mb
from examples import bounds, clinic, demo, stroke


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        tell_clinic, tell_stroke = clinic.tell, stroke.tell
        patch.setattr(clinic, "tell", lambda log: tell_clinic(log, patients=600, runs=3, workers=1))
        patch.setattr(stroke, "tell", lambda: tell_stroke(decisions=(100, 400), runs=2, workers=1))
        demo.main(["--out", str(out)])
    return out


def test_the_page_needs_no_other_file(folder: Path) -> None:
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert page.count('src="data:image/png;base64,') == page.count("<img ") == page.count('alt="') == 6
    links = re.findall(r'(?:href|url)[=(]"?([^")]+)', page)
    assert [link for link in links if not link.startswith("https://")] == ["log.html"]
    assert page.count("<section") == page.count("</section>") == 9
    assert "<script" not in page
    assert not re.findall(r"[{}$]\w+[{}$]|\bnan\b", re.sub(r"<style>.*</style>|<pre>.*?</pre>", "", page, flags=re.S))
    assert len(page) < 400_000


def test_the_page_says_what_it_rests_on(folder: Path) -> None:
    words = re.sub(r"\s+", " ", (folder / "index.html").read_text(encoding="utf-8"))
    for said in ("TMLR 2024", "assume nothing of the doctors", "gap_low=0", "gap_high", "Conservative Bandits"):
        assert said in words


def test_log_page_and_agent_are_beside_it(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["agent.json", "clinic.csv", "index.html", "log.html"]
    agent = mb.Agent.load(folder / "agent.json")
    assert [agent.pull(age) for age in clinic.AGES] == [mb.EXPERT] * 2
    assert (folder / "clinic.csv").read_text(encoding="utf-8").startswith("age,treatment,recovered\n")


def test_bounds_without_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story = bounds.tell(patients=300, runs=10)
    assert story.saved.mean[bounds.BOUNDED][-1] < story.saved.mean[bounds.GITTINS][-1]
    assert story.saved.mean[bounds.GITTINS][-1] < story.saved.mean[bounds.UCB][-1]
    assert story.wrong.mean[bounds.DOUBTED][-1] < story.wrong.mean[bounds.CERTAIN][-1]
    assert np.allclose(story.wrong.final[bounds.CERTAIN], 300 * 0.08, atol=3.0)  # it never plays the best arm
    assert [line.split(":")[0] for line in bounds.excluded(bounds.BOUNDS)] == ["painkillers", "bed rest"]
    assert bounds.excluded(bounds.WRONG)[0].startswith("exercise: at most 52% recover")
    assert "contradict its upper bound 0.52" in story.alarm[1]
    bounds.show(story)
    assert "trust 0.9" in capsys.readouterr().out
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "tell", lambda: story)
        bounds.main(["--picture", str(tmp_path / "regret.png")])
    assert (tmp_path / "regret.png").read_bytes().startswith(b"\x89PNG")
