"""`meanbounds clinic`: a service from end to end, as its demo and its acceptance test."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from meanbounds.cli import main
from meanbounds.cli.clinic_world import ARMS, Clinic
from meanbounds.service import log_table, open_store
from meanbounds.service.events import CHANGED, DECIDED, decode
from tests.servers import browser, postgres_cluster

READ = "() => [document.documentElement.scrollWidth <= innerWidth, document.querySelectorAll('svg').length]"


def play(folder: Path, *more: str) -> str:
    with redirect_stdout(io.StringIO()) as said:
        assert main(["clinic", "-o", str(folder), "--patients", "60", *more]) == 0
    return said.getvalue()


@dataclass(frozen=True)
class Played:
    """A clinic that was played with one service: what it said, and where it wrote."""

    said: str
    folder: Path

    @property
    def means(self) -> tuple[float, float]:
        """In how many cases the patients of the agent and of doctors did well, in percent."""
        ((own, doctors),) = re.findall(r"did well in ([\d.]+)%.* doctors in ([\d.]+)%", self.said)
        return float(own), float(doctors)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("played") / "clinic"
    return Played(play(folder), folder)


@pytest.fixture
def postgres() -> Iterator[str]:
    with postgres_cluster() as cluster, cluster.running():
        yield cluster.url


def test_a_clinic_from_end_to_end(played: Played) -> None:
    said = played.said
    assert "30 days observed, 1,800 patients" in said
    own, doctors = played.means
    assert own > doctors  # half of the time doctors do not know of the new drug
    alarms = re.findall(r"day (\d+): alarm: context '(.*)', arm '(\w+)'", said)
    assert alarms
    assert all(int(day) > 40 and arm == "medical" for day, _, arm in alarms)  # the bounds that have become wrong
    assert "every arm, every probability and the state came out the same, to the last bit" in said
    store = open_store(f"sqlite:{played.folder}/state.db", create=False)
    assert log_table(store).num_rows == 90 * 60
    store.close()


def test_the_page_of_a_clinic(played: Played) -> None:
    with browser() as window:
        for width in (390, 1_200):
            page = window.new_page(viewport={"width": width, "height": 900})
            errors: list[str] = []
            page.on("console", lambda message, errors=errors: errors.append(message.text))
            page.goto((played.folder / "index.html").as_uri())
            assert page.evaluate(READ) == [True, 4]
            assert f"{played.means[0]}%" in page.locator(".box").inner_text()
            page.click("text=What the log says, and what it leaves open")
            assert page.title().endswith("says, and what it leaves open")
            assert errors == []
            page.close()


def test_two_services_that_take_turns_are_as_good_as_one(played: Played, tmp_path: Path, postgres: str) -> None:
    shared = play(tmp_path / "shared", "--store", postgres, "--workers", "2")
    assert _figures(shared) == _figures(played.said)
    assert len(_workers(postgres)) == 2
    store = open_store(postgres, create=False)
    changes = [event for event in store.read() if event.kind == CHANGED]
    store.close()
    assert len(changes) == 1  # however often a client had to ask: on a busy machine the agent is changed slowly


def _figures(said: str) -> list[str]:
    return [line for line in said.splitlines() if re.match(r"day|agent |always |\d+,\d+ events", line)]


def _workers(address: str) -> set[int]:
    """The services that decided."""
    store = open_store(address, create=False)
    found = {decode(event).worker for event in store.read() if event.kind == DECIDED}
    store.close()
    return found


def test_what_cannot_be_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "state.db").touch()
    for more, message in (
        (["--workers", "2"], "needs --store postgresql"),
        (["--patients", "7"], "--patients must be between 20 and 500"),
        ([], "has a clinic already"),
    ):
        assert main(["clinic", "-o", str(tmp_path), *more]) == 2
        assert message in capsys.readouterr().err


def test_doctors_see_more_than_is_written_down() -> None:
    clinic = Clinic(5_000, new_drug=1)
    before, after = clinic.day(0), clinic.day(1)
    assert (clinic.day(0).outcomes == before.outcomes).all()
    chosen = before.outcomes[range(5_000), before.doctors].mean()
    assert chosen > before.outcomes.mean(axis=0).max() + 0.02  # no single treatment does as well
    medical = ARMS.index("medical")
    assert abs(after.outcomes[:, medical].mean() - 0.93) < 0.02
    assert abs(before.outcomes[before.ages == 0][:, medical].mean() - clinic.means(0)[0, medical]) < 0.05
