"""One table of dirty logs: DuckDB, PostgreSQL and Spark count the same rows, and refuse the same ones."""

import math
import warnings
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from meanbounds import logs
from meanbounds.logs import Counts, LogError, LogWarning
from tests.logs.engines import in_engine
from tests.logs.naive_counts import Naive, check_against

NAN, INF = math.nan, math.inf
MANY = np.random.default_rng(5).random(600).tolist()


@dataclass(frozen=True)
class Case:
    """A log of three columns, each of a type and with values, and the range of its rewards."""

    z: tuple[str, list[Any]]
    arm: tuple[str, list[Any]]
    reward: tuple[str, list[Any]]
    low: float = 0.0
    high: float = 1.0
    commas: bool = False

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return list(zip(self.z[1], self.arm[1], self.reward[1], strict=True))

    @property
    def types(self) -> dict[str, str]:
        return {"z": self.z[0], "arm": self.arm[0], "reward": self.reward[0]}


Z, ARM = ("text", ["old", "young"] * 3), ("text", ["x", "x", "y"] * 2)
GOOD = ("float", [0.0, 0.5, 1.0, 0.5, 0.0, 1.0])
LONG_Z, LONG_ARM = ("text", ["old", "young", "none"] * 200), ("whole", [*range(5), 10] * 100)
CASES = {
    "missing floats": Case(
        ("float", [1.0, NAN, 2.0, 2.5, None, 1e20]),
        ("float", [1.0, 2.0, NAN, 1.0, 2.0, 2.0]),
        ("float", [NAN, *MANY[:5]]),
    ),
    "infinite and outside": Case(Z, ARM, ("float", [INF, -INF, 1.5, -0.5, 0.25, -0.0])),
    "nulls": Case(("text", ["old", None] * 3), ("whole", [1, 2, None] * 2), ("whole", [None, 0, 1] * 2)),
    "blank and missing text": Case(
        ("text", ["old", "  ", "NA", "N/A", "none", "old "]), ("text", ["x", "x", "y", "", " y", "y"]), GOOD
    ),
    "words": Case(Z, ARM, ("text", ["True", "no", "YES", " false ", "maybe", "NA"])),
    "numbers as text": Case(Z, ARM, ("text", ["1", " 0.5 ", "1e-1", "1_0", "0,5", "-inf"])),
    "decimal commas": Case(Z, ARM, ("text", ["1", " 0,5 ", ",25", "0", "null", "1,5"]), commas=True),
    "thousands": Case(Z, ARM, ("text", ["1,000", "2,500", "1", "2", "3", "4"]), high=5000.0),
    "booleans": Case(("boolean", [True, False, None] * 2), Z, ("boolean", [True, None, False] * 2)),
    "decimals": Case(
        ("decimal", [Decimal("1.50"), Decimal("2.00"), None] * 2), ARM, ("decimal", [Decimal("0.10"), None] * 3)
    ),
    "dates": Case(("date", [date(2024, 2, 29), date(2024, 3, 1), None] * 2), ("text", ["007", "7"] * 3), GOOD),
    "midnights": Case(("time", [datetime(2024, 2, 29), datetime(2024, 3, 1), None] * 2), ARM, GOOD),
    "times": Case(("time", [datetime(2024, 2, 29), datetime(2024, 3, 1, 12, 30), None] * 2), ARM, GOOD),
    "dates as rewards": Case(Z, ARM, ("date", [date(2024, 2, 29), None] * 3)),
    "many values": Case(
        LONG_Z, LONG_ARM, ("float", [*MANY[:590], NAN, None, INF, -INF, 1.5, -0.5, 2.5, 0.0, 1.0, NAN])
    ),
    "many values far from 0": Case(LONG_Z, LONG_ARM, ("float", [1e6 + one for one in MANY]), low=1e6, high=1e6 + 1),
    "many costs": Case(LONG_Z, LONG_ARM, ("float", [-30.0 * one for one in MANY]), low=-30.0, high=0.0),
    "many texts": Case(
        LONG_Z,
        ("text", ["a", "b", " "] * 200),
        ("text", [*map(str, MANY[:590]), "NA", None, "yes", "F", "1.5", " 1", "x", "\u00a00.5", "0,5", "inf"]),
    ),
    "many texts with commas": Case(
        LONG_Z, LONG_ARM, ("text", [*(f"{one:.9f}".replace(".", ",") for one in MANY[:598]), "half", "1"]), commas=True
    ),
}


def check(case: Case, source: Any, connection: Any, *, refuse: bool = True) -> None:
    naive = Naive(case.rows, case.low, case.high, commas=case.commas)
    asked: dict[str, Any] = {"context": "z", "low": case.low, "high": case.high, "connection": connection}
    if naive.kinds and (refuse or not naive.cells):
        with pytest.raises(LogError) as caught:
            logs.read(source, **asked)
        assert caught.value.bad is not None
        assert dict(caught.value.bad.kinds) == naive.kinds
        assert set(caught.value.bad.examples) == set(naive.kinds)
    if naive.cells:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LogWarning)
            check_against(logs.read(source, **asked, on_bad="drop"), naive)


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
@pytest.mark.parametrize("name", CASES)
def test_engines_count_as_a_loop_does(name: str, engine: str, request: pytest.FixtureRequest) -> None:
    with in_engine(engine, request, CASES[name].types, CASES[name].rows) as (source, connection):
        check(CASES[name], source, connection, refuse=engine != "spark")  # a query of Spark takes a while
        assert engine != "postgres" or connection.info.transaction_status == 0  # idle, as before


def log_with_propensities(rows: int, distinct: int) -> list[tuple[str, str, float, float, str]]:
    random = np.random.default_rng(rows)
    numbers = [random.integers(start, distinct, rows) / distinct for start in (0, 1)]
    names = [random.choice(own, rows) for own in (["z0", "z1", "z2"], ["a0", "a1"], ["2024-01-01", "2024-01-02"])]
    return list(zip(*(own.tolist() for own in (*names[:2], *numbers, names[2])), strict=True))


@pytest.mark.parametrize("distinct", [4, 1000])
def test_engines_agree_on_propensities_and_conditions(distinct: int, request: pytest.FixtureRequest) -> None:
    rows = log_with_propensities(700, distinct)
    asked: dict[str, Any] = {"context": ["z", "day"], "propensity": "p", "where": "day >= '2024-01-02' -- later ones"}
    columns, found = {"z": "text", "arm": "text", "reward": "float", "p": "float", "day": "text"}, list[Counts]()
    for engine in ("duckdb", "postgres", "spark"):
        with in_engine(engine, request, columns, rows) as (source, connection):
            found.append(logs.read(source, connection=connection, **asked))
            if engine == "spark":
                source.createOrReplaceTempView("a_log")
        if engine != "duckdb":  # by its address, or the session
            found.append(logs.read("a_log", connection=request.getfixturevalue(engine), **asked))
    request.getfixturevalue("spark").catalog.dropTempView("a_log")
    for counts in found:
        assert counts.weighted is not None
        assert counts.contexts == found[0].contexts
        np.testing.assert_array_equal(counts.count, found[0].count)
        for z, context in enumerate(counts.contexts):
            own = np.array([row[2:4] for row in rows if (row[0], row[4]) == context and row[1] == "a1"])
            y, w = own[:, 0], 1.0 / own[:, 1]
            sums = [w.sum(), (w * y).sum(), (w * w).sum(), (w * w * y).sum(), (w * w * y * y).sum()]
            np.testing.assert_allclose(counts.weighted[:, z, 1], sums, rtol=1e-12)
            np.testing.assert_allclose(counts.total[z, 1], y.sum(), rtol=1e-13)


@pytest.mark.parametrize("values", [4, 1000])
def test_propensities_outside_their_range_are_bad(values: int) -> None:
    chances = [0.5, 1.0, 0.0, 1.5, None, float("nan"), 0.25, 0.01] * 100
    rewards = [(row % values) / values for row in range(800)]
    log = pytest.importorskip("pandas").DataFrame({"arm": ["a", "b"] * 400, "reward": rewards, "p": chances})
    with pytest.raises(LogError, match="cannot be counted") as caught:
        logs.read(log, propensity="p", least=0.2)
    kinds = {"missing propensity": 200, "propensity above 1": 100, "propensity below least=0.2": 200}
    assert caught.value.bad is not None
    assert caught.value.bad.kinds == kinds
    with pytest.raises(LogError, match=r"propensity is not above 0: 100 rows .*, p='0"):
        logs.read(log[log.p < 1.1], propensity="p")
    with pytest.warns(LogWarning, match="500 of 800 rows"):
        counts = logs.read(log, propensity="p", least=0.2, on_bad="drop")
    assert counts.weighted is not None
    assert counts.least == 0.2
    assert counts.weighted[0].tolist() == [[600.0, 100.0]]  # 100 rows each with 0.5 and 0.25, and 100 with 1


def test_errors_of_engines_say_what_to_do(spark: Any, postgres: str, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute("CREATE TABLE visits AS SELECT 'a' AS arm, 1 AS reward UNION ALL SELECT 'b', 0")
        for table, options, said in (
            ("visit", {}, "unknown table 'visit', did you mean 'visits'"),
            ("visits", {"reward": "rewrad"}, "unknown column 'rewrad', did you mean 'reward'"),
            ("visits", {"where": "rewad = 1"}, 'DuckDB .*"rewad" not found.*check the names of columns in where='),
            ("visits", {"where": "reward >"}, "where= is a condition in SQL"),
        ):
            with pytest.raises(LogError, match=said):
                logs.read(table, connection=connection, **dict[str, Any](options))
    assert logs.read("main.visits", connection=tmp_path / "clinic.duckdb").rows == 2
    refused: tuple[tuple[Any, Any, Any, str], ...] = (
        ("visits", postgres, None, 'PostgreSQL .*relation "visits" does not exist'),
        ({"arm": ["a"], "reward": [1]}, postgres, None, "PostgreSQL counts a table"),
        ("visits", spark, None, "Spark .*visits"),
        ("visits", spark, "postgres", "belongs to spark; leave engine= out"),
        ("visits", spark, "sparc", "engine must be one of 'duckdb', 'postgres', 'spark'"),
    )
    for source, connected, engine, said in refused:
        with pytest.raises(ValueError, match=said):
            logs.read(source, connection=connected, engine=engine)
