"""Logs of many contexts: engines group the rows, and answers are columns. A small twin of benchmarks.million."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import fsum
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import meanbounds as mb
from meanbounds.logs.names import natural_order, natural_ranks
from meanbounds.logs.tally import count_up

CONTEXTS, ARMS = 20_000, 3
ROWS = 3 * CONTEXTS
COLUMNS = {
    "z": f"i % {CONTEXTS}",
    "region": "i % 7",
    "arm": f"(i * 31 + i / {CONTEXTS}) % {ARMS}",
    "few": "CAST((i * 48271 % 65537) % 2 AS DOUBLE)",
    "any_number": "CAST(i * 48271 % 65537 AS DOUBLE) / 65536",
}
"""SQL of the columns of a log; i counts the rows."""


def columns(whole_division: str) -> str:
    written = {name: sql.replace(f"i / {CONTEXTS}", f"i {whole_division} {CONTEXTS}") for name, sql in COLUMNS.items()}
    return ", ".join(f"{sql} AS {name}" for name, sql in written.items())


@contextmanager
def opened(engine: str, request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """The log in an engine, as arguments of `read`; the rows are made there."""
    if engine == "duckdb":
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE many AS SELECT {columns('//')} FROM range({ROWS}) AS numbers(i)")
            yield {"source": "many", "connection": connection}
    elif engine == "spark":
        session = request.getfixturevalue("spark")
        frame = session.sql(f"SELECT {columns('DIV')} FROM (SELECT id AS i FROM range({ROWS}))")
        yield {"source": frame, "engine": "spark", "connection": session}
    else:
        import psycopg

        address = request.getfixturevalue("postgres")
        with psycopg.connect(address, autocommit=True) as connection:
            rows = f"generate_series(0::bigint, {ROWS - 1}) AS numbers(i)"
            connection.execute("DROP TABLE IF EXISTS many")  # seen once after a worker had been ended
            connection.execute(
                f"CREATE TABLE many AS SELECT {columns('/').replace('DOUBLE', 'DOUBLE PRECISION')} FROM {rows}".encode()
            )
            yield {"source": "many", "engine": "postgres", "connection": connection}
            connection.execute("DROP TABLE many")


def in_pandas() -> pd.DataFrame:
    i = np.arange(ROWS)
    spread = i * 48271 % 65537
    return pd.DataFrame(
        {
            "z": i % CONTEXTS,
            "region": i % 7,
            "arm": (i * 31 + i // CONTEXTS) % ARMS,
            "few": spread % 2 * 1.0,
            "any_number": spread / 65536.0,
        }
    )


@pytest.mark.parametrize("engine", ["duckdb", "spark", "postgres"])
def test_engines_count_many_contexts_as_pandas_does(engine: Any, request: pytest.FixtureRequest) -> None:
    log = in_pandas()
    with opened(engine, request) as arguments:
        source = arguments.pop("source")
        few = mb.logs.read(source, context="z", arm="arm", reward="few", **arguments)
        several = mb.logs.read(source, context=["region", "z"], arm="arm", reward="any_number", **arguments)
    for counts, by, reward in ((few, ["z"], "few"), (several, ["region", "z"], "any_number")):
        one = log.assign(count=1.0, total=log[reward], squares=log[reward] ** 2)
        wide = one.groupby([*by, "arm"])[["count", "total", "squares"]].sum().unstack().fillna(0.0)
        assert list(counts.contexts) == list(wide.index)  # in the order of the numbers
        assert counts.arms == tuple(range(ARMS))
        for name in ("count", "total", "squares"):
            np.testing.assert_allclose(getattr(counts, name), wide[name].to_numpy(), rtol=1e-14, atol=0)
    assert few.exact
    found = mb.logs.bounds(few, mb.logs.ErringExpert(0.05), arms=range(ARMS))
    alone = mb.logs.Counts(
        few.contexts, few.arms, count=few.count, total=few.total, squares=few.squares, histogram=few.histogram
    )
    assert found == mb.logs.bounds(alone, mb.logs.ErringExpert(0.05), arms=range(ARMS))


def test_a_histogram_that_nobody_asked_for_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    log = pd.DataFrame({"z": [1, 2, 3, 4], "arm": [1, 2, 1, 2], "reward": [0.0, 1.0, 0.0, 1.0]})
    names: dict[str, Any] = {"context": "z", "arm": "arm", "reward": "reward"}
    assert mb.logs.read(log, **names).histogram is not None
    monkeypatch.setattr("meanbounds.logs.reading._MOST_NUMBERS", 15)
    counts = mb.logs.read(log, **names)
    assert counts.histogram is None
    assert counts.total.tolist() == [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0]]
    assert mb.logs.read(log, **names, histogram=True).histogram is not None


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-1e9, 1e9)), min_size=1, max_size=40))
def test_sums_lose_no_digits(terms: list[tuple[int, float]]) -> None:
    places, values = np.array([place for place, _ in terms]), np.array([value for _, value in terms])
    found = count_up(places, [values, values / 3.0], (2, 2)).ravel()
    for place in range(4):
        own = values[places == place].tolist()
        exact = fsum([*own, *(value / 3.0 for value in own)])
        assert found[place] == pytest.approx(exact, rel=1e-15, abs=1e-15 * max(map(abs, own), default=0.0))


NUMBERED = st.from_regex(r"(under|over|up to|<|>=|a|m)? ?0?[0-9]{0,3}(a| to |-)?[0-9]{0,2}", fullmatch=True)


@given(st.lists(st.one_of(st.text(max_size=9), NUMBERED), unique=True), st.lists(st.integers(), unique=True))
def test_ranks_are_those_of_the_natural_order(texts: list[str], numbers: list[int]) -> None:
    cases: list[list[str | int]] = [[*texts], [*numbers], [*texts, *numbers]]
    for names in cases:
        keys = sorted(map(natural_order, names))
        assert [keys[rank] for rank in natural_ranks(names)] == list(map(natural_order, names))
