"""Both databases keep what they are given, whole or not at all."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from meanbounds.service import database as module
from meanbounds.service.database import ContextRow, Database, StateRow, TokenRow, connect
from meanbounds.service.refusals import StoreError
from tests.service.databases import AGENT, Connect, execute, fill, made, tables

CREATE = """
import sys
from meanbounds.service.database import connect
for line in sys.stdin:
    database = connect(line.strip(), create=True)
    print(database.meta()["secret"], flush=True)
    database.close()
"""


def test_what_was_written_is_read_by_other_connections(address: str, connected: Connect) -> None:
    database = connected(address, create=True)
    assert database.last() is None
    events = fill(database, 2_100)  # more than are read at a time
    other = connect(address)
    with closing(other):
        assert other.last() == events[-1]
        assert list(other.events()) == events
        assert list(other.events(2_000, AGENT, ["reward"])) == events[2_001::2]
        assert list(other.events(agent="else")) == []
        assert other.find([events[3].key or "", "missing"]) == [events[3]]
        assert sorted(other.find([1, 2, 5], "about")) == [events[1], events[5]]
        assert other.find([]) == other.find([], "about") == []
        assert [row.name for row in other.contexts(1)] == ['"south"']
        assert {row.agent: len(row.body) for row in other.states()} == {AGENT: 2, "b": 9000}
        assert other.tokens() == [TokenRow("t1", "ab", '["decide"]', None, "ward ä", 7.0, 1)]
        assert set(other.meta()) == {"format", "secret", "access"}
        assert len(bytes.fromhex(other.meta()["secret"])) == 32
        assert other.check() == []


def test_rows_are_replaced_and_names_erased(address: str, connected: Connect) -> None:
    database = connected(address, create=True)
    fill(database)
    with database.writing():
        database.put("contexts", ContextRow(1, AGENT, None))
        database.put("states", StateRow("b", 5, "h", "new"))
        database.put("tokens", database.tokens()[0]._replace(name="gone", expires=None))
        database.put("meta", ("access", "loopback"))
    database.sweep()
    assert database.contexts() == [ContextRow(1, AGENT, None), ContextRow(2, AGENT, '"south"')]
    assert StateRow("b", 5, "h", "new") in database.states()
    assert len(database.states()) == 2
    assert database.tokens() == [TokenRow("t1", "ab", '["decide"]', None, "gone", None, 1)]
    assert database.meta()["access"] == "loopback"
    assert database.check() == []
    if not address.startswith("postgresql"):
        assert not any(b'rd"' in path.read_bytes() for path in Path(address).parent.iterdir())


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_group_is_written_whole_or_not_at_all(address: str, connected: Connect, error: type[BaseException]) -> None:
    database = connected(address, create=True)
    events = fill(database)
    before = tables(database)

    def interrupted() -> None:
        with database.writing():
            database.insert("events", made(4, events[-1]))
            database.put("meta", ("access", "loopback"))
            raise error

    with pytest.raises(error):
        interrupted()
    assert tables(database) == before
    for again in (events[0]._replace(position=99), events[1]._replace(position=99, key="new")):  # key; about and kind
        with pytest.raises(StoreError, match=r"(?i)unique") as refused, database.writing():
            database.insert("events", [*made(2, events[-1]), again])
        assert refused.value.kind == "failed"
    assert tables(database) == before
    with database.writing():
        database.insert("events", made(2, events[-1]))
    assert len(list(database.events())) == 8


def test_one_writes_and_others_read_meanwhile(
    address: str, connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Database, "patience", 0.1)
    first, second = connected(address, create=True), connected(address)
    events = fill(first)
    with first.writing():
        first.insert("events", made(2, events[-1]))
        with pytest.raises(StoreError, match="another process") as refused, second.writing():
            pass
        assert refused.value.kind == "busy"
        with second.reading():
            assert second.last() == events[-1]
        with pytest.raises(RuntimeError, match="begun already"), first.reading():
            pass
    with second.reading():
        seen = second.last()
        assert seen is not None
        assert seen.position == 8
        with first.writing():
            first.insert("events", made(2, seen))
        assert second.last() == seen
    assert second.last() != seen
    with second.writing():
        second.insert("events", made(1, second.last()))


def test_two_processes_make_a_store_at_once(address: str) -> None:
    start: Any = [sys.executable, "-c", CREATE]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes: list[Any] = [subprocess.Popen(start, **pipes) for _ in range(2)]
    for number in range(10):
        where = address if address.startswith("postgresql") else f"{address}{number}"
        for process in processes:
            print(where, file=process.stdin, flush=True)
        secrets = {process.stdout.readline() for process in processes}
        assert len(secrets) == 1
        assert len(secrets.pop()) == 65
        if where == address:
            execute(address, "DROP SCHEMA meanbounds CASCADE")
    for process in processes:
        process.communicate()
        assert process.returncode == 0


def test_what_is_not_a_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("clinic,treatment,recovered\n" * 9)
    (tmp_path / "empty.db").touch()
    execute(str(tmp_path / "other.db"), "CREATE TABLE meta (name, value, sum)")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()}
    for path in before:
        for create in (False, True):
            with pytest.raises(StoreError, match="is not a store"):
                connect(path, create=create)
    with pytest.raises(StoreError, match="there is no store") as missing:
        connect(tmp_path / "missing.db")
    assert missing.value.kind == "gone"
    for path in (tmp_path, tmp_path / "no folder" / "clinic.db", tmp_path / ("x" * 300)):
        with pytest.raises(StoreError, match="cannot be"):
            connect(path, create=True)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()} == before


def test_an_empty_postgres_database_is_no_store(postgres_database: str) -> None:
    with pytest.raises(StoreError, match="there is no store in postgresql:///test_"):
        connect(postgres_database)


def test_an_older_store_is_migrated_once_and_a_newer_one_refused(
    address: str, connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = fill(connected(address, create=True))
    monkeypatch.setattr(module, "FORMAT", 3)
    steps = {1: ["CREATE TABLE step (n INTEGER)"], 2: ["INSERT INTO step VALUES (1)", "INSERT INTO step VALUES (2)"]}
    monkeypatch.setattr(module, "MIGRATIONS", steps)  # which fail if they run twice
    threads = [threading.Thread(target=connected, args=(address,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    database = connected(address)
    assert database.meta()["format"] == "3"
    assert list(database.events()) == events
    monkeypatch.setattr(module, "FORMAT", 1)
    with pytest.raises(StoreError, match=r"newer version of meanbounds \(format 3\): update"):
        connect(address)


def test_a_file_that_was_removed_or_replaced_is_gone(tmp_path: Path, connected: Connect) -> None:
    for name, other in {"removed.db": None, "replaced.db": "other.db"}.items():
        database = connected(tmp_path / name, create=True)
        if other is None:
            (tmp_path / name).unlink()
        else:
            connect(tmp_path / other, create=True).close()
            (tmp_path / other).replace(tmp_path / name)
        for transaction in (database.writing, database.reading):
            with pytest.raises(StoreError, match="removed or replaced") as gone, transaction():
                pass
            assert gone.value.kind == "gone"


def test_a_lost_connection_is_made_again(postgres_database: str, connected: Connect) -> None:
    database = connected(postgres_database, create=True)
    events = fill(database)
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid() AND datname = "
    end += "current_database()"

    def interrupted() -> None:
        with database.writing():
            database.insert("events", made(2, events[-1]))
            execute(postgres_database, end)
            database.last()

    with pytest.raises(StoreError) as gone:
        interrupted()
    assert gone.value.kind == "gone"
    with database.writing():
        assert database.last() == events[-1]
    execute(postgres_database, end)
    with pytest.raises(StoreError) as gone:
        database.tokens()
    assert gone.value.kind == "gone"
    assert len(database.tokens()) == 1


def test_no_message_contains_a_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    for rest in ("127.0.0.1:1/x", "no host/x", "se%cret@h/x", "h:port/x?y=secret", "h/x%zz", f"/x?host={tmp_path}"):
        for own in ("secret", "se%2", "a/secret", "a:secret@b"):
            with pytest.raises(StoreError) as refused:
                connect(f"postgresql://tester:{own}@{rest}")
            shown = f"{refused.value} {refused.value.__cause__}"
            assert not any(part in shown for part in ("secret", "se%", "a/", "tester:"))


def test_a_full_disk_undoes_the_group(tmp_path: Path, connected: Connect) -> None:
    database = connected(tmp_path / "clinic.db", create=True)
    events = fill(database)
    ((pages,),) = database._run("PRAGMA page_count")
    database._run(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(StoreError, match="full; make room") as full, database.writing():
        database.insert("events", made(2_000, events[-1]))
    assert full.value.kind == "full"
    database._run("PRAGMA max_page_count = 100000")
    assert list(database.events()) == events
    with database.writing():
        database.insert("events", made(2_000, events[-1]))
