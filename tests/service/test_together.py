"""Several processes on one store give the figures of one, and the clock cannot lead them astray."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.service import writer
from meanbounds.service.refusals import StoreError
from tests.service.together import check_together, figures, open_store, play

Fresh = Callable[[str], str]


@pytest.mark.parametrize("seed", range(3))
def test_processes_on_one_postgresql(postgres_database: str, seed: int) -> None:
    check_together(postgres_database, 2, 60, 10 * seed)


@pytest.mark.parametrize("seed", range(2))
def test_processes_on_one_file(tmp_path: Path, seed: int) -> None:
    check_together(str(tmp_path / "clinic.db"), 2, 60, 10 * seed)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_stores_that_take_turns_decide_as_one(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """And whatever is sent again, to the other one, changes nothing."""
    with open_store(str(tmp_path / "alone.db")) as store:
        due = play(lambda: store, 1, 60)
        with store.reading() as states:
            alone = figures(states)
    address = str(tmp_path / "clinic.db") if kind == "sqlite" else request.getfixturevalue("postgres_database")
    rng = np.random.default_rng(1)
    with open_store(address) as one, open_store(address) as other:

        def choose() -> Any:
            return Twice(one, other) if rng.random() < 0.3 else [one, other][rng.integers(2)]

        assert play(choose, 1, 60) == due
        for store in (one, other):
            with store.reading() as states:
                assert figures(states) == alone


class Twice:
    """A store to which an answer was lost, so that all is sent again to another one."""

    def __init__(self, one: mb.Store, other: mb.Store) -> None:
        self._one, self._other = one, other

    def run(self, orders: Any) -> Any:
        self._one.run(orders)
        return self._other.run(orders)


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
