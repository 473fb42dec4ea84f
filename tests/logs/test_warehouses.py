"""The pages about warehouses and clusters run as a whole, with a PostgreSQL server and a Spark session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pytest

import meanbounds as mb
from tests.servers import find_module
from tests.test_docs import blocks


def run_page(upto: str, folder: Path, monkeypatch: pytest.MonkeyPatch, names: dict[str, Any], fill: Any) -> Any:
    """Run the first block, fill the database, and run every block that mentions it; return the last result."""
    monkeypatch.chdir(folder)
    codes = [code for kind, _, code in blocks("docs/warehouses.md") if kind == "python"]
    for number, code in enumerate(codes):
        if number < 2 or upto in code:
            exec(compile(code, f"docs/warehouses.md, block {number}", "exec", dont_inherit=True), names)
        if number == 1:
            fill(names["decisions"])
    return names["found"]


def test_postgres(postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    psycopg = find_module("psycopg", "meanbounds[postgres]")
    with psycopg.connect(postgres, autocommit=True) as connection, connection.cursor() as cursor:

        def fill(decisions: pd.DataFrame) -> None:
            cursor.execute(
                "CREATE TABLE decisions (decided_at timestamp, country text, page text, bought int, chance float)"
            )
            with cursor.copy("COPY decisions FROM STDIN") as copy:
                for row in decisions.sample(frac=1.0, random_state=1).itertuples(index=False):
                    copy.write_row(row)

        names: dict[str, Any] = {"address": postgres}
        try:
            found = run_page('engine="postgres"', tmp_path, monkeypatch, names, fill)
        finally:
            cursor.execute("DROP TABLE IF EXISTS decisions")
    assert [one.name for one in found] == ["agent", "always new", "always old", "the agent now"]
    assert names["events"].time[0] <= names["events"].time[-1]


def test_spark(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(decisions: pd.DataFrame) -> None:
        spark.createDataFrame(pyarrow.Table.from_pandas(decisions)).createOrReplaceTempView("decisions")

    names: dict[str, Any] = {"session": spark}
    found = run_page('engine="spark"', tmp_path, monkeypatch, names, fill)
    spark.catalog.dropTempView("decisions")
    assert names["events"].contexts == ("de",)
    assert found["always new"].lower <= 0.35 <= found["always new"].upper


def run_parts(wanted: str, names: dict[str, Any]) -> None:
    """Run the blocks of docs/clusters.md that mention an engine; the others run with the other pages."""
    names["mb"] = mb
    codes = [code for kind, _, code in blocks("docs/clusters.md") if kind == "python" and wanted in code]
    assert codes, wanted
    for code in codes:
        exec(compile(code, f"docs/clusters.md, {wanted}", "exec", dont_inherit=True), names)


def test_clusters_on_postgres(postgres: str) -> None:
    psycopg = find_module("psycopg", "meanbounds[postgres]")
    names: dict[str, Any] = {"address": postgres}
    try:
        run_parts('engine="postgres"', names)
    finally:
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS visits")
    assert names["counts"].rows == 500


def test_clusters_on_spark(spark: Any) -> None:
    names: dict[str, Any] = {"session": spark}
    run_parts('engine="spark"', names)
    assert set(names["agent"]) == {"at", "de"}
