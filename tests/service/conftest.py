"""Stores for the tests of the service."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from meanbounds.service.database import Database, connect
from tests.service.databases import Connect


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store can be made."""
    return str(tmp_path / "clinic.db") if request.param == "sqlite" else request.getfixturevalue("postgres_database")


@pytest.fixture
def connected() -> Iterator[Connect]:
    """`connect`, with connections that are closed at the end of the test."""
    opened = list[Database]()

    def connected(*address: Any, **options: Any) -> Database:
        opened.append(connect(*address, **options))
        return opened[-1]

    yield connected
    for database in opened:
        database.close()
