"""Whatever damage to a file changes what a reader sees, `verify` reports, and says where."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.service.access import make_token
from meanbounds.service.database import TABLES, connect
from meanbounds.service.events import Event, digest
from meanbounds.service.refusals import StoreError
from meanbounds.service.verify import verify

PLACE = re.compile(r"(event|page|Page) \d+|(table|index|TABLE) \w+|schema \(\w+\)|cannot be opened")


def make(path: Path, decisions: int = 120) -> bytes:
    """The bytes of a store with events of all kinds, tokens and saved agents."""
    rng, bounds = np.random.default_rng(1), mb.MeanBounds([0.1, 0.2, 0.3], [0.9, 0.9, 0.8], arms=["a", "b", mb.EXPERT])
    with mb.Store.create(path, "demo", mb.Agent(mb.GLUE(), dict.fromkeys(["c0", "c1"], bounds), seed=7)) as store:
        agent = store["demo"]
        make_token(store.database, ["decide", "read"], ["demo"], "ward 3", days=7)
        make_token(store.database, ["admin"])
        for number in range(decisions):
            arm = agent.decide(str(number), f"c{rng.integers(4)}").arm
            if number % 5:
                agent.reward(str(number), float(rng.integers(2)), "b" if arm is mb.EXPERT else None)
            if number % 20 == 0:
                agent.observe(str(number), "b", 0.5, "c1")
                agent.change(floor=0.01 * (number % 3))
            if number == decisions // 2:
                agent.erase("c3")
                store.writer.save()
        agent.cancel("0")
    return path.read_bytes()


def seen(path: Path) -> Any:
    """All that a reader sees: the rows of all tables, and those that are looked up; or that this fails."""
    rows = dict[str, Any]()
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            for table in TABLES:
                found = connection.execute(f"SELECT * FROM {table} NOT INDEXED ORDER BY rowid")
                rows[table], columns = found.fetchall(), [column for column, *_ in found.description]
                for column in {columns[0], *{"key", "about"}.intersection(columns)}:
                    asked = f"SELECT {columns[0]} FROM {table} WHERE {column} = ?"
                    for row in rows[table]:
                        given = row[columns.index(column)]
                        rows[f"{table} {column} {given}"] = connection.execute(asked, (given,)).fetchall()
            return rows, connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall()
    except (sqlite3.Error, UnicodeDecodeError, OverflowError):
        return "nothing"


def faults(path: Path) -> list[str]:
    """What is reported: by `verify`, or when the store is opened."""
    try:
        with closing(connect(path)) as database:
            return verify(database)
    except StoreError as error:
        return [f"cannot be opened: {error}"]


def check_damage(folder: Path, bytes_: int, seed: int) -> tuple[int, int, list[str]]:
    """Damage one byte after the other; how many changed something, how many were reported, and what went wrong."""
    rng, path = np.random.default_rng(seed), folder / "clinic.db"
    whole = make(path)
    before, changed, reported, wrong = seen(path), 0, 0, list[str]()
    assert faults(path) == []
    for place, flip in zip(rng.integers(len(whole), size=bytes_), rng.integers(1, 256, size=bytes_), strict=True):
        damaged = bytearray(whole)
        damaged[place] ^= flip
        for beside in folder.glob("clinic.db-*"):
            beside.unlink()
        path.write_bytes(damaged)
        matters, found = seen(path) != before, faults(path)
        changed, reported = changed + matters, reported + bool(found)
        if matters and not any(PLACE.search(line) for line in found):
            wrong.append(f"byte {place} xor {flip}: {found}")
    return changed, reported, wrong


def test_any_byte(tmp_path: Path) -> None:
    changed, reported, wrong = check_damage(tmp_path, 100, 1)
    assert wrong == []
    assert changed > 25
    assert reported >= changed


Edit = Callable[[sqlite3.Connection], object]


def edited(path: Path, edit: str | Edit) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(edit) if isinstance(edit, str) else edit(connection)
        connection.commit()
    return faults(path)


def swap(connection: sqlite3.Connection) -> None:
    """Exchange two events that follow each other, all but their positions."""
    one, other = (connection.execute("SELECT * FROM events WHERE position = ?", (n,)).fetchone() for n in (40, 41))
    connection.execute("DELETE FROM events WHERE position IN (40, 41)")
    for row, position in ((one, 41), (other, 40)):
        connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (position, *row[1:]))


def change_last_reward(connection: sqlite3.Connection) -> None:
    last = "(SELECT max(position) FROM events WHERE kind = 'reward' AND body LIKE '%\"reward\":1.0%')"
    connection.execute(f"UPDATE events SET body = replace(body, '1.0', '0.0') WHERE position = {last}")


LAST = "position = (SELECT max(position) FROM events)"
EDITS: list[tuple[str | Edit, str]] = [
    (change_last_reward, r"event \d+ \(reward\): its content does not match its hash"),
    (swap, r"event 40 \(\w+\): its content"),
    ("UPDATE events SET agent = 'other' WHERE position = 50", "event 50 "),
    ("UPDATE events SET time = time + 1 WHERE position = 50", "event 50 "),
    (f"UPDATE events SET about = about - 1 WHERE {LAST}", r"event \d+ "),
    ("DELETE FROM events WHERE position = 60", "event 60: missing"),
    (f"DELETE FROM events WHERE {LAST}", "table states, row 'demo': .* no event"),
    ("DELETE FROM contexts WHERE id = 2", r"event \d+ \(\w+\): context 2 is not one of demo"),
    ("UPDATE states SET body = replace(body, '\"share\":1.0', '\"share\":0.5')", "table states, row 'demo'"),
    ("UPDATE meta SET value = replace(value, 'a', 'b') WHERE name = 'secret'", "row 'secret'"),
]


@pytest.mark.parametrize(("edit", "where"), EDITS)
def test_what_is_changed_on_purpose(tmp_path: Path, edit: str | Edit, where: str) -> None:
    path = tmp_path / "clinic.db"
    make(path, 60)
    found = edited(path, edit)
    assert any(re.search(where, line) for line in found), found


def test_what_nobody_can_see(tmp_path: Path) -> None:
    """Events at the end that are gone without a trace, and a chain that was made again by somebody who knows how."""
    path = tmp_path / "clinic.db"
    make(path, 30)
    store = mb.Store(path)
    store["demo"].decide("last", "c0")
    store.database.close()  # as a crash would: nothing is saved
    assert edited(path, f"DELETE FROM events WHERE {LAST}") == []

    def forge(connection: sqlite3.Connection) -> None:
        """Change a reward, and compute the chain from there on."""
        connection.execute("DELETE FROM states")
        change_last_reward(connection)
        before = "0" * 40
        for row in connection.execute("SELECT * FROM events ORDER BY position").fetchall():
            event = Event(*row)
            before = digest(before, *event[:-1])
            connection.execute("UPDATE events SET hash = ? WHERE position = ?", (before, event.position))

    assert edited(path, forge) == []
