"""Copies are whole, replace nothing, and damage to a store is found."""

import threading
from pathlib import Path

import pytest

from meanbounds.service.copies import backup, restore
from meanbounds.service.database import ContextRow, connect
from meanbounds.service.refusals import StoreError
from tests.service.databases import AGENT, Connect, execute, fill, made, tables


def test_a_backup_during_writing_is_a_beginning_of_the_log(address: str, connected: Connect, tmp_path: Path) -> None:
    database, other = connected(address, create=True), connected(address)
    fill(database)
    enough, grown = threading.Event(), threading.Event()

    def write() -> None:
        for _ in range(5_000):
            with other.writing():
                other.insert("events", made(7, other.last()))
            grown.set()
            if enough.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    for number in range(4):
        grown.clear()
        assert grown.wait(10)
        backup(address, tmp_path / f"{number}.backup")
    enough.set()
    writer.join()
    written = list(database.events())
    copies = [list(connected(tmp_path / f"{number}.backup").events()) for number in range(4)]
    assert all(copy == written[: len(copy)] and len(copy) % 7 == 6 for copy in copies)  # whole groups
    assert len(copies[0]) < len(copies[1]) < len(copies[2]) < len(copies[3])


def test_a_copy_that_goes_around_is_equal(tmp_path: Path, postgres_database: str, connected: Connect) -> None:
    database = connected(tmp_path / "clinic.db", create=True)
    fill(database, 2_100)
    with database.writing():
        database.put("contexts", ContextRow(2, AGENT, None))
    backup(tmp_path / "clinic.db", tmp_path / "one.db")
    restore(tmp_path / "one.db", postgres_database)
    backup(postgres_database, tmp_path / "two.db")
    restore(tmp_path / "two.db", tmp_path / "three.db")
    assert tables(connected(tmp_path / "three.db")) == tables(database)
    assert (tmp_path / "three.db").stat().st_mode & 0o777 == 0o600
    with pytest.raises(StoreError, match="has content"):
        restore(tmp_path / "one.db", postgres_database)


def test_a_copy_replaces_nothing(tmp_path: Path, connected: Connect) -> None:
    source = tmp_path / "clinic.db"
    database = connected(source, create=True)
    fill(database)
    (tmp_path / "there.db").write_text("mine")
    (tmp_path / "left.db-wal").write_text("mine too")
    names = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(StoreError, match="there already and stays"):
        backup(source, tmp_path / "there.db")
    with pytest.raises(StoreError, match=r"left\.db-wal belong"):
        backup(source, tmp_path / "left.db")
    with pytest.raises(StoreError, match=r"left\.db-wal belong"):
        connect(tmp_path / "left.db", create=True)
    database._run("UPDATE contexts SET name = '1' WHERE id = 2")
    with pytest.raises(StoreError, match="is damaged: table contexts, row 2: ") as damaged:
        backup(source, tmp_path / "new.db")
    assert damaged.value.kind == "damaged"
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_each_changed_row_is_named(address: str, connected: Connect) -> None:
    database = connected(address, create=True)
    fill(database)
    execute(address, "UPDATE contexts SET name = '1' WHERE id = 2")
    execute(address, "UPDATE states SET position = 4 WHERE agent = 'b'")
    execute(address, "UPDATE tokens SET revoked = 0")
    execute(address, "UPDATE meta SET value = 'loopback' WHERE name = 'access'")
    rows = ["contexts, row 2:", "states, row 'b':", "tokens, row 't1':", "meta, row 'access':"]
    assert database.check() == [f"table {row} the content does not match its checksum" for row in rows]
    for read in (database.contexts, database.states, database.tokens, database.meta):
        with pytest.raises(StoreError, match="does not match") as damaged:
            read()
        assert damaged.value.kind == "damaged"
    with pytest.raises(StoreError, match="table meta, row 'access'"):
        connect(address)


def test_damage_on_a_server_is_named(postgres: str, postgres_database: str, connected: Connect) -> None:
    database = connected(postgres_database, create=True)
    fill(database, 100)
    assert database.check() == []
    database.close()
    name = postgres_database.partition("?")[0].rpartition("/")[2]
    execute(postgres, f"CREATE DATABASE copy_{name} TEMPLATE {name} STRATEGY file_copy")  # which nothing has read yet
    address = postgres_database.replace(name, f"copy_{name}")
    query = "SELECT current_setting('data_directory') || '/' || pg_relation_filepath('meanbounds.' || t) FROM "
    (index,), (table,) = execute(address, query + "unnest(ARRAY['events_key_key', 'states']) AS t")
    content = Path(index).read_bytes()
    assert b"%032x" % 50 in content
    Path(index).write_bytes(content.replace(b"%032x" % 50, b"z" * 32))
    Path(table).write_bytes(b"damaged!" * 3 + Path(table).read_bytes()[24:])
    found = connected(address).check()
    assert any(line.startswith("table events: ") and 'index "events_key_key"' in line for line in found)
    assert any(line.startswith("table states: ") for line in found)
    assert "page" in found[-1]
