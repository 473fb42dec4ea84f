"""The stroke trial: the extract, its attribution, and what its page says."""

import csv
import re

import numpy as np
import pytest
from examples.follow import averages

from examples import stroke


@pytest.fixture(scope="module")
def story() -> stroke.Story:
    return stroke.tell(decisions=(300, 1_500), runs=2, workers=1)


def test_the_extract_is_the_trial_with_its_attribution() -> None:
    with stroke.FILE.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert sum(int(line["patients"]) for line in lines) == 19_285
    aspirin = sum(int(line["patients"]) for line in lines if line["treatment"] == "aspirin")
    assert abs(aspirin - 19_285 / 2) < 100  # drawn at random
    words = stroke.FILE.with_suffix(".md").read_text(encoding="utf-8")
    for said in ("Sandercock", "10.7488/ds/104", "ODC-By", "licenses/by/1-0"):
        assert said in words


def test_the_text_is_true_of_the_trial() -> None:
    right = stroke.trial()
    reserve = stroke.reserving(right)
    aspirin, none = right.arms.index("aspirin"), right.arms.index("no aspirin")
    assert (right.arms, right.contexts) == (("aspirin", "no aspirin"), ("under 65", "65 to 74", "75 and over"))
    naive, truth = reserve.contributions / reserve.shares, reserve.marginal_means
    assert (naive[:, aspirin] < naive[:, none]).all()
    assert (truth[:, aspirin] > truth[:, none]).all()
    assert (right.value >= truth.max(axis=1) - 1e-12).all()  # nobody who sees the age band only can beat them
    assert (reserve.value < truth.max(axis=1)).all()
    alert = 0
    assert (right.means[:, alert, aspirin] > right.means[:, alert, none]).all()
    assert (right.means[[0, 2], 1, aspirin] < right.means[[0, 2], 1, none]).all()  # drowsy: under 65, 75 and over


def test_differences_are_as_small_as_the_page_says() -> None:
    right = stroke.trial()
    scores: dict[tuple[str, str], list[float]] = {}
    with stroke.FILE.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            own = scores.setdefault((line["age"], line["treatment"]), [])
            own += [stroke.SCORES[line["outcome"]]] * int(line["patients"])
    assert sum(len(own) for own in scores.values()) == stroke.PATIENTS
    for age, (gap, error) in zip(right.contexts, stroke.differences(right, stroke.PATIENTS), strict=True):
        aspirin, none = scores[age, "aspirin"], scores[age, "no aspirin"]
        plain = np.hypot(np.std(aspirin) / len(aspirin) ** 0.5, np.std(none) / len(none) ** 0.5)
        assert error == pytest.approx(plain, rel=0.01)
        assert 0.0 < gap == pytest.approx(np.mean(aspirin) - np.mean(none), abs=0.004)  # the mixes differ by chance
        assert gap < 3.0 * error


def test_agents_keep_their_promises(story: stroke.Story) -> None:
    for found in story.followed.values():
        assert [found[label].broken for label in stroke.PROMISES] == [0, 0]
    assert (averages(story.cases[stroke.RESERVE], story.counts).argmax(axis=1) == 1).all()
    assert story.followed[stroke.RIGHT][stroke.AVERAGES].total[0, -1] < 0.0


def test_each_age_band_ends_in_a_decision(story: stroke.Story) -> None:
    assert [row[-1] for row in stroke.line_rows(story)] == ["ask the experts"] * 3
    rows = stroke.decided(story)
    assert len(rows) == 6
    for row in rows:
        assert abs(sum(int(cell.rstrip("%")) for cell in row[-3:]) - 100) <= 1
    page = "".join(stroke.parts(story))
    for said in ("did worse", "It says nothing about aspirin", "doi.org/10.7488/ds/104", "broken in 0 of 8 runs"):
        assert re.search(r"\s+".join(map(re.escape, said.split())), page)
    assert "Under 65, 65 to 74, 75 and over: take over under a guard, and first ask the experts" in page


def test_the_terminal_tells_the_story(story: stroke.Story, capsys: pytest.CaptureFixture[str]) -> None:
    stroke.show(story)
    shown = capsys.readouterr().out
    for label in (*stroke.PROMISES, stroke.NO_LOG, stroke.AVERAGES):
        assert shown.count(f"    {label} ") == 2
    assert "75 and over, 95%" in shown
