"""Several processes on one store give the figures of one, and the clock cannot lead them astray."""

import time
from pathlib import Path

import pytest

from meanbounds.service import writer
from meanbounds.service.refusals import StoreError
from tests.service.together import check_together, open_store


@pytest.mark.parametrize("seed", range(3))
def test_processes_on_one_postgresql(postgres_database: str, seed: int) -> None:
    check_together(postgres_database, 2, 60, 10 * seed)


@pytest.mark.parametrize("seed", range(2))
def test_processes_on_one_file(tmp_path: Path, seed: int) -> None:
    check_together(str(tmp_path / "clinic.db"), 2, 60, 10 * seed)


def test_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_PAUSE", 0.0)
    now, ahead = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: now() + ahead[0])
    with open_store(str(tmp_path / "clinic.db")) as store:

        def decide(id: str, seconds: float) -> float:
            ahead[0] = seconds
            store["demo"].decide(id, "c1")
            last = store.database.last()
            assert last is not None
            return last.time - now()

        assert abs(decide("1", 0.0)) < 60.0
        assert abs(decide("2", -7_200.0)) < 60.0  # never before the last event
        with pytest.raises(StoreError, match=r"the clock has jumped ahead by 1\.1 hours: set it, or start again"):
            decide("3", 3_900.0)
        assert abs(decide("3", 0.0)) < 60.0
        assert 3_400.0 < decide("4", 3_500.0) < 3_600.0
        assert 3_400.0 < decide("5", 0.0) < 3_600.0
        times = [event.time for event in store.database.events()]
        assert times == sorted(times)
