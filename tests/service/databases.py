"""What the tests of databases write, read and break."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

from meanbounds.service.database import TABLES, ContextRow, Database, StateRow, TokenRow
from meanbounds.service.events import START, Event, digest

AGENT = "Zürich 北 🩺 'x' \"y\" % ?"
Connect = Callable[..., Database]


def made(count: int, last: Event | None = None, agent: str = AGENT) -> list[Event]:
    """Events that follow the last one: decisions, and a reward for each."""
    events, before = list[Event](), last
    for _ in range(count):
        position = before.position + 1 if before else 1
        kind = "decision" if position % 2 else "reward"
        about = None if position % 2 else position - 1
        row = (position, 0.1 * position, kind, agent, f"{position:032x}", about, '{"arm":"naïve"}')
        before = Event(*row, digest(before.hash if before else START, *row))
        events.append(before)
    return events


def fill(database: Database, count: int = 6) -> list[Event]:
    """Something in each table."""
    events = made(count)
    with database.writing():
        database.insert("events", events)
        database.put("contexts", ContextRow(1, AGENT, '"n\\u00f6rd"'), ContextRow(2, AGENT, '"south"'))
        database.put("states", StateRow(AGENT, count, events[-1].hash, "{}"), StateRow("b", 1, "", "x" * 9000))
        database.put("tokens", TokenRow("t1", "ab", '["decide"]', None, "ward ä", 7.0, 1))
    return events


def tables(database: Database) -> dict[str, list[Any]]:
    return {table: list(database.rows(table)) for table in TABLES}


def execute(address: str, statement: str) -> list[Any]:
    """Run SQL behind the store's back."""
    if address.startswith("postgresql"):
        import psycopg

        with psycopg.connect(address, options="-c search_path=meanbounds", autocommit=True) as server:
            cursor = server.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []
    with closing(sqlite3.connect(address)) as file, file:
        return file.execute(statement).fetchall()
