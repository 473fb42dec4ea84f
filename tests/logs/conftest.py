"""Engines that the tests of logs share: starting one takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests import servers


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    with servers.spark_session() as session:
        yield session


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with servers.postgres_server() as address:
        yield address
