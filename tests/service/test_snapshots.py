"""Snapshots that another process makes while a service writes, in small pieces."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from meanbounds.service import open_store, verify
from meanbounds.service.book import Book
from meanbounds.service.commands import Erase
from meanbounds.service.packing import names_in, pack_all
from meanbounds.service.postgres import PostgresStore
from meanbounds.service.snapshots import Snapshots, make_snapshot
from meanbounds.service.sqlite import SQLiteStore
from tests.servers import postgres_server
from tests.service.made import a_book, decide, one, play, reloaded, running, state, until


def test_a_snapshot_in_pieces_takes_the_place_of_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meanbounds.service.snapshots._PIECE", 300)
    address = f"sqlite:{tmp_path / 'state.db'}"
    book = a_book(store=open_store(address))
    other = open_store(address)
    for first in (0, 100):
        play(book, 10, first=first)
        assert make_snapshot(other, 0.0)
        newest = other.newest()
        assert newest is not None
        assert newest[0] == book.position
        assert len(other.pieces()) > 2
        assert {name for name, _ in other.pieces()} == {newest[1]}
    play(book, 5, first=200)
    assert state(reloaded(book)) == state(book)
    assert verify(book.store).holds
    book.note_snapshot()
    assert newest is not None
    assert book.unsaved == book.position - newest[0]
    other.close()
    book.store.close()


def test_a_snapshot_from_before_a_context_was_erased_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"sqlite:{tmp_path / 'state.db'}"
    book = a_book(store=open_store(address))
    play(book, 5)
    other = open_store(address)

    def slowly(state: dict[str, Any]) -> list[str]:
        one(book, Erase("demo", "c0"))
        return names_in(state)

    with monkeypatch.context() as patch:
        patch.setattr("meanbounds.service.snapshots.names_in", slowly)
        assert not make_snapshot(other, 0.0)
    assert other.newest() is None
    assert other.pieces() == []
    assert make_snapshot(other, 0.0)
    decide(book, "after", "c1")
    assert state(reloaded(book)) == state(book)
    other.close()
    book.store.close()


def test_a_context_that_is_erased_while_the_log_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The first half is read under the old name, and the second under the new: it is read again."""
    address = f"sqlite:{tmp_path / 'state.db'}"
    book = a_book(store=open_store(address))
    for number in range(10):
        decide(book, str(number), "c0")
    apply, done = Book.apply, list[int]()

    def slowly(made: Book, event: Any, said: Any = None) -> None:
        apply(made, event, said)
        if event.position == 5 and not done:
            done.append(1)
            one(book, Erase("demo", "c0"))

    monkeypatch.setattr("meanbounds.service.sqlite._AT_ONCE", 4)
    monkeypatch.setattr(Book, "apply", slowly)
    again = Book(open_store(address))
    again.reload()
    monkeypatch.undo()
    decide(book, "after", "c1")
    again.reload()
    assert done
    assert state(again) == state(book)
    again.store.close()
    book.store.close()


def test_a_service_lets_another_process_make_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meanbounds.service.snapshots._EVERY", 30)
    book = a_book(store=open_store(f"sqlite:{tmp_path / 'state.db'}"))
    other = open_store(f"sqlite:{tmp_path / 'state.db'}")
    with running(book) as client:
        asked = [{"request_id": str(number), "context": "c0"} for number in range(40)]
        client.post("/v1/agents/demo/decisions/batch", json={"decisions": asked})
        until(lambda: other.newest() is not None, 120.0)
        assert other.newest() == (41, other.pieces()[0][0])
        assert state(reloaded(Book(other))) == state(book)
    assert verify(other).holds
    other.close()


def test_a_process_that_is_under_way_ends_with_the_service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("meanbounds.service.snapshots._EVERY", 1)
    started = list[subprocess.Popen[bytes]]()

    def start(_address: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["sleep", "600"]))
        return started[-1]

    monkeypatch.setattr("meanbounds.service.snapshots._spawn", start)
    book = a_book(store=open_store(f"sqlite:{tmp_path / 'state.db'}"))
    snapshots = Snapshots(book)
    snapshots.look_after()
    snapshots.look_after()
    assert len(started) == 1  # one at a time
    snapshots.close()
    assert started[0].poll() is not None
    book.store.close()


def test_a_store_in_memory_has_no_other_process() -> None:
    book = a_book()
    play(book, 3)
    Snapshots(book).look_after()
    assert book.store.shared_address is None


def test_sqlite_stores_of_the_first_version_keep_their_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.db"
    with monkeypatch.context() as patch:
        patch.setattr("meanbounds.service.sqlite.VERSION", 1)
        old = SQLiteStore(str(path))
        old._run("INSERT INTO snapshots VALUES (1, 7, ?)", (pack_all({}, {}),))
        old.close()
    new = open_store(f"sqlite:{path}")
    assert new.snapshot() == (7, pack_all({}, {}))
    assert [number for _, number in new.pieces()] == [0]
    new.close()


def test_postgresql_stores_of_the_first_version_keep_their_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    with postgres_server() as address:
        with monkeypatch.context() as patch:
            patch.setattr("meanbounds.service.postgres.VERSION", 1)
            old = PostgresStore(address)
            old._run("INSERT INTO meanbounds_snapshots VALUES (1, 0, %s)", (pack_all({}, {}),))
            old.close()
        new = PostgresStore(address)
        assert new.snapshot() == (0, pack_all({}, {}))
        book = a_book(store=new)
        play(book, 5)
        assert make_snapshot(new, 0.0)
        assert new.newest() == (book.position, new.pieces()[0][0])
        assert state(reloaded(book)) == state(book)
        one(book, Erase("demo", "c0"))
        assert new.erasures() == 1
        decide(book, "after", "c1")
        assert verify(new).holds
        new.close()
