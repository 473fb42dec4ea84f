"""Both databases keep what they are given, whole or not at all."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from meanbounds.service import database as module
from meanbounds.service.database import ContextRow, Database, StateRow, TokenRow, connect
from meanbounds.service.refusals import StoreError
from tests.service.databases import AGENT, Connect, execute, fill, made, tables


def test_what_one_connection_writes_another_reads(address: str, connected: Connect) -> None:
    database, other = connected(address, create=True), connected(address)
    assert database.last() is None
    events = fill(database, 2_100)  # more than are read at a time
    assert other.last() == events[-1]
    assert list(other.events()) == events
    assert list(other.events(2_000, AGENT, ["reward"])) == events[2_001::2]
    assert other.find([events[3].key, "missing"]) == [events[3]]
    assert sorted(other.find([1, 2, 5], "about")) == [events[1], events[5]]
    assert list(other.events(agent="else")) == other.find([]) == []
    token = TokenRow("t1", "ab", '["decide"]', None, "ward ä", 7.0, 1)
    assert other.tokens() == [token]
    assert len(bytes.fromhex(other.meta()["secret"])) == 32
    assert other.check() == []
    with database.writing():
        database.put("contexts", ContextRow(1, AGENT, None))
        database.put("states", StateRow("b", 5, "h", "new"))
        database.put("tokens", token._replace(name="gone", expires=None))
        database.put("meta", ("access", "loopback"))
    database.sweep()
    assert other.contexts() == [ContextRow(1, AGENT, None), *other.contexts(1)]
    assert [row.name for row in other.contexts(1)] == ['"south"']
    assert other.states() == [StateRow(AGENT, 2_100, events[-1].hash, "{}"), StateRow("b", 5, "h", "new")]
    assert other.tokens() == [token._replace(name="gone", expires=None)]
    assert {**other.meta(), "secret": ""} == {"format": "1", "secret": "", "access": "loopback"}
    assert other.check() == []
    if not address.startswith("postgresql"):
        assert not any(b"u00f6rd" in path.read_bytes() for path in Path(address).parent.iterdir())


def test_a_group_is_written_whole_or_not_at_all(address: str, connected: Connect) -> None:
    database = connected(address, create=True)
    events = fill(database)
    before, good = tables(database), made(2, events[-1])

    def interrupted(error: type[BaseException]) -> None:
        with database.writing():
            database.put("meta", ("access", "loopback"))
            database.insert("events", good)
            raise error

    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            interrupted(error)
    for again in (events[0]._replace(position=99), events[1]._replace(position=99, key="new")):  # key; about and kind
        with pytest.raises(StoreError, match=r"(?i)unique") as refused, database.writing():
            database.insert("events", [*good, again])
        assert refused.value.kind == "failed"
    if not address.startswith("postgresql"):
        ((pages,),) = execute(address, "PRAGMA page_count")
        database._run(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(StoreError, match="full; make room") as refused, database.writing():
            database.insert("events", made(2_000, events[-1]))
        assert refused.value.kind == "full"
        database._run("PRAGMA max_page_count = 100000")
    assert tables(database) == before
    with database.writing():
        database.insert("events", good)
    assert list(database.events()) == events + good


def test_one_writes_while_others_read(address: str, connected: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
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
        with first.writing():
            first.insert("events", made(2, seen))
        assert second.last() == seen == made(8)[-1]
    with second.writing():
        second.insert("events", made(1, second.last()))
    assert [*first.events()] == made(11)


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


def test_a_store_is_made_and_migrated_once(address: str, connected: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda where: connected(where, create=True), [address] * 4))
        assert len({database.meta()["secret"] for database in stores}) == 1
        events = fill(stores[0])
        steps = ["CREATE TABLE step (n INTEGER)"], ["INSERT INTO step VALUES (1)", "INSERT INTO step VALUES (2)"]
        monkeypatch.setattr(module, "FORMAT", 3)
        monkeypatch.setattr(module, "MIGRATIONS", dict(enumerate(steps, start=1)))  # which fail if they run twice
        stores = list(pool.map(connected, [address] * 4))
    assert {database.meta()["format"] for database in stores} == {"3"}
    assert list(stores[0].events()) == events
    assert execute(address, "SELECT n FROM step") == [(1,), (2,)]
    monkeypatch.setattr(module, "FORMAT", 1)
    with pytest.raises(StoreError, match=r"newer version \(format 3\): update"):
        connect(address)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_was_removed_or_replaced_is_gone(tmp_path: Path, connected: Connect, replaced: bool) -> None:
    database = connected(tmp_path / "clinic.db", create=True)
    connected(tmp_path / "other.db", create=True)
    (tmp_path / "clinic.db").unlink()
    if replaced:
        (tmp_path / "other.db").rename(tmp_path / "clinic.db")
    for transaction in (database.writing, database.reading):
        with pytest.raises(StoreError, match="removed or replaced") as gone, transaction():
            pass
        assert gone.value.kind == "gone"


def test_a_lost_connection_is_made_again(postgres_database: str, connected: Connect) -> None:
    with pytest.raises(StoreError, match="there is no store in postgresql:///test_"):
        connect(postgres_database)
    database = connected(postgres_database, create=True)
    events = fill(database)
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid() AND datname = "
    end += "current_database()"

    def interrupted() -> None:
        with database.writing():
            database.insert("events", made(2, events[-1]))
            execute(postgres_database, end)
            database.last()

    for ask in (interrupted, lambda: execute(postgres_database, end) and database.tokens()):
        with pytest.raises(StoreError) as gone:
            ask()
        assert gone.value.kind == "gone"
        with database.writing():
            assert database.last() == events[-1]
    assert len(database.tokens()) == 1


def test_no_message_contains_a_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    for rest in ("127.0.0.1:1/x", "no host/x", "se%cret@h/x", "h:port/x?y=secret", "h/x%zz", f"/x?host={tmp_path}"):
        for own in ("secret", "se%2", "a/secret", "a:secret@b"):
            with pytest.raises(StoreError) as refused:
                connect(f"postgresql://tester:{own}@{rest}")
            shown = f"{refused.value} {refused.value.__cause__}"
            assert not any(part in shown for part in ("secret", "se%", "a/", "tester:"))
