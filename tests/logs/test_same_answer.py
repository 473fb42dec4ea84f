"""One table of hostile logs: DuckDB, Spark and PostgreSQL count the same rows, or refuse in the same words."""

from __future__ import annotations

import gzip
import math
import os
import socket
import stat
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import meanbounds as mb
from meanbounds.logs import Counts, LogError, LogWarning

pyarrow: Any = import_module("pyarrow")
parquet: Any = import_module("pyarrow.parquet")

NAMES: dict[str, Any] = {"context": "z", "arm": "arm", "reward": "reward"}
ENGINES: list[Any] = ["duckdb", "spark", "postgres"]
NAN, INF = math.nan, math.inf
TYPES = {"text": ("string", "text"), "float": ("float64", "double precision"), "integer": ("int64", "bigint")}
MANY = [*np.random.default_rng(5).random(400).tolist(), NAN, None, NAN]


# ------------------------------------------------------------------------------------------- logs with bad rows


@dataclass(frozen=True)
class Case:
    """A log: its columns as (type, values)."""

    z: tuple[str, list[Any]]
    arm: tuple[str, list[Any]]
    reward: tuple[str, list[Any]]

    @property
    def columns(self) -> dict[str, tuple[str, list[Any]]]:
        return {"z": self.z, "arm": self.arm, "reward": self.reward}

    def arrow(self) -> Any:
        return pyarrow.table(
            {
                name: pyarrow.array(values, type=getattr(pyarrow, TYPES[kind][0])(), from_pandas=False)
                for name, (kind, values) in self.columns.items()
            }
        )


Z, ARM = ("text", ["old", "young"] * 3), ("text", ["x", "x", "y"] * 2)
GOOD = ("float", [0.0, 0.5, 1.0, 0.5, 0.0, 1.0])
CASES = {
    "nothing bad": Case(Z, ARM, GOOD),
    "NaN rewards": Case(Z, ARM, ("float", [0.0, NAN, 1.0, 0.5, NAN, 1.0])),
    "NaN arms": Case(Z, ("float", [1.0, 2.0, NAN, 1.5, 2.0, NAN]), GOOD),
    "NaN contexts": Case(("float", [1.0, NAN, 2.0, 1.0, NAN, 2.0]), ("integer", [7, 8] * 3), GOOD),
    "infinities": Case(("float", [1.0, INF, -INF, 1.0, 2.5, 1.0]), ARM, ("float", [INF, 0.5, 1.0, -INF, 0.0, 1.0])),
    "nulls": Case(
        ("text", ["old", None, "old", "old", "old", "old"]),
        ("integer", [1, 2, None, 1, 2, 1]),
        ("float", [None, 0.5, 1.0, None, 0.0, 1.0]),
    ),
    "nothing good": Case(Z, ARM, ("float", [NAN, None, INF, -INF, 1.5, -0.5])),
    "text": Case(
        ("text", ["old", "  ", "\u00a0", "old", "old", "old"]),
        ("text", ["x", "x", "x", "\u3000", "y", " y"]),
        ("text", ["nan", "1", "1", "1", " -Infinity", "1.0"]),
    ),
    "spaces around numbers": Case(
        Z, ARM, ("text", ["\u00a01", "0.5\u00a0", "\u2009 0\u202f", "\u00a0", "1\u00a00", "\u30001e-1 "])
    ),
    "bad rows among many values": Case(
        ("text", ["old", "young", "none"] * 134 + ["old"]), ("integer", [*range(13)] * 31), ("float", MANY)
    ),
}


def plain_name(name: Any) -> Any:
    """Text, an integer, or None if it is missing."""
    if name is None or name != name or (isinstance(name, str) and not name.strip()):
        return None
    if isinstance(name, float):
        return int(name) if math.isfinite(name) and name == int(name) else repr(name)
    return name


def number(reward: Any) -> tuple[str, float]:
    """The kind of a bad reward, empty for a good one, and the number it is."""
    if reward is None or (isinstance(reward, str) and not reward.strip()):
        return "missing reward", NAN
    try:
        value = float(reward)
    except ValueError:
        return "reward is not a number", NAN
    if math.isnan(value):
        return "reward is NaN", value
    if math.isinf(value):
        return "reward is infinite", value
    return "reward below range" if value < 0 else "reward above range" if value > 1 else "", value


def by_a_loop(case: Case) -> tuple[dict[Any, list[float]], Counter[str]]:
    """Rewards of each cell, and the bad rows by kind."""
    cells, kinds = defaultdict(list), Counter[str]()
    for z, arm, reward in zip(case.z[1], case.arm[1], case.reward[1], strict=True):
        kind, value = number(reward)
        context, name = plain_name(z), plain_name(arm)
        kind = "missing context" if context is None else "missing arm" if name is None else kind
        if kind:
            kinds[kind] += 1
        else:
            cells[context, name].append(value)
    return cells, kinds


def check(case: Case, source: Any, ways: list[tuple[str, Any]], **options: Any) -> None:
    """Read a log in some ways, and compare with the loop."""
    cells, kinds = by_a_loop(case)
    for on_bad, histogram in ways:
        asked = {**NAMES, **options, "on_bad": on_bad, "histogram": histogram}
        if kinds and (on_bad == "error" or not cells):
            with pytest.raises(LogError) as caught:
                mb.logs.read(source, **asked)
            assert caught.value.kind == ("bad rows" if on_bad == "error" else "empty")
            assert caught.value.bad is not None
            assert dict(caught.value.bad.kinds) == kinds
            assert caught.value.bad.rows == len(case.z[1])
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LogWarning)
            counts = mb.logs.read(source, **asked)
        assert dict(counts.dropped) == kinds
        check_counts(counts, cells)
        few = len({value for rewards in cells.values() for value in rewards}) <= 256
        assert (counts.histogram is not None) == (histogram is True or (histogram == "auto" and few))


def check_counts(counts: Counts, cells: dict[Any, list[float]]) -> None:
    assert set(counts.contexts) == {context for context, _ in cells}
    assert set(counts.arms) == {arm for _, arm in cells}
    for z, context in enumerate(counts.contexts):
        for k, arm in enumerate(counts.arms):
            rewards = cells.get((context, arm), [])
            assert counts.count[z, k] == len(rewards)
            assert counts.total[z, k] == pytest.approx(math.fsum(rewards), rel=1e-14, abs=0)
            if counts.histogram is not None:
                assert counts.histogram.count[z, k].sum() == len(rewards)


ALL_WAYS: list[tuple[str, Any]] = [(on_bad, bins) for on_bad in ("error", "drop") for bins in ("auto", True, False)]
TWO_WAYS: list[tuple[str, Any]] = [("error", "auto"), ("drop", True)]


@pytest.mark.parametrize("name", CASES)
def test_duckdb_counts_bad_rows_as_a_loop_does(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    table = case.arrow()
    parquet.write_table(table, tmp_path / "arrow.parquet")
    pl.DataFrame(table).write_parquet(tmp_path / "polars.parquet")
    (tmp_path / "parts").mkdir()
    parquet.write_table(table.slice(0, 2), tmp_path / "parts" / "0.parquet")
    parquet.write_table(table.slice(2), tmp_path / "parts" / "1.parquet")
    check(case, tmp_path / "arrow.parquet", ALL_WAYS)
    for source in (table, pl.DataFrame(table), tmp_path / "polars.parquet", tmp_path / "parts"):
        check(case, source, TWO_WAYS)
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW a_view AS SELECT * FROM '{tmp_path}/arrow.parquet'")
        connection.execute("CREATE TABLE a_table AS SELECT * FROM a_view")
        for source in ("a_view", "a_table"):
            check(case, source, TWO_WAYS, connection=connection)
        settings = ("disabled_optimizers", "autoinstall_known_extensions")
        assert [connection.execute(f"SELECT current_setting('{s}')").fetchone() for s in settings] == [("",), (True,)]


@pytest.mark.parametrize("name", CASES)
def test_spark_counts_bad_rows_as_a_loop_does(name: str, spark: Any, tmp_path: Path) -> None:
    """A query of Spark takes a while: each way of reading is taken in some of the cases."""
    parquet.write_table(CASES[name].arrow(), tmp_path / "log.parquet")
    place = list(CASES).index(name)
    ways: list[tuple[str, Any]] = [("drop", ("auto", True, False)[place % 3])]
    if place % 4 == 1:
        ways.append(("error", "auto"))
    check(CASES[name], tmp_path / "log.parquet", ways, engine="spark", connection=spark)


@pytest.mark.parametrize("name", CASES)
def test_postgres_counts_bad_rows_as_a_loop_does(name: str, postgres: str) -> None:
    import psycopg

    case = CASES[name]
    with psycopg.connect(postgres, autocommit=True) as connection, connection.cursor() as cursor:
        types = ", ".join(f'"{column}" {TYPES[kind][1]}' for column, (kind, _) in case.columns.items())
        cursor.execute(f'CREATE TABLE "case {name}" ({types})'.encode())
        rows = list(zip(*(values for _, values in case.columns.values()), strict=True))
        cursor.executemany(f'INSERT INTO "case {name}" VALUES (%s, %s, %s)'.encode(), rows)
        check(case, f"case {name}", ALL_WAYS, engine="postgres", connection=connection)


# ----------------------------------------------------------------------------------------------- sources refused


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def table_file(path: Path, names: list[str]) -> Path:
    columns = [["old"], ["x"], [1.0], ["y"]]
    parquet.write_table(pyarrow.Table.from_arrays([pyarrow.array(c) for c in columns[: len(names)]], names), path)
    return path


def always(source: Any) -> Callable[[Path], Any]:
    return lambda _: source


def a_pipe(folder: Path) -> Path:
    os.mkfifo(folder / "log.csv")
    return folder / "log.csv"


def a_socket(folder: Path) -> Path:
    """In a folder of its own: names of sockets have at most 107 bytes."""
    short = Path(tempfile.mkdtemp(dir=folder if len(str(folder)) < 60 else None))
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(short / "log.csv"))
    return short / "log.csv"


def a_link_to_nothing(folder: Path) -> Path:
    (folder / "log.csv").symlink_to(folder / "gone.csv")
    return folder


LINES = b"z,arm,reward\n" + b"".join(b"old,x%d,1\n" % i for i in range(50_000))
PACKED = gzip.compress(LINES)
NETWORK = [
    *(
        "http://127.0.0.1:9/log.csv",
        "https://127.0.0.1:9/log.parquet",
        "HTTPS://127.0.0.1:9/log.csv",
        "ftp://h/log.csv",
    ),
    *("s3://bucket/log.parquet", "s3a://bucket/*.parquet", "s3n://bucket/log.csv", "gs://bucket/log.parquet"),
    *("gcs://bucket/log.parquet", "r2://bucket/log.parquet", "hf://datasets/a/b/log.parquet", "hdfs://h/log.parquet"),
    *("az://box/log.parquet", "azure://box/log.parquet", "abfss://box@h/log.parquet", "wasbs://box@h/log.csv"),
    *('"https://127.0.0.1:9/log.parquet"', '"https://127.0.0.1:9/log".parquet', 'parquet."s3a://bucket/log.parquet"'),
    *("https://127.0.0.1:9/**/*.parquet", "s3://bucket/folder", "http:/127.0.0.1:9/log.csv", "file://h/log.csv"),
]
EMPTY = ["", " ", "\t\n", "\0", "log\0.csv", Path(), '""']
REFUSED: dict[str, tuple[Callable[[Path], Any], str, list[Any]]] = {
    **{f"address {text}": (always(text), "is an address on the network", ENGINES) for text in NETWORK},
    **{f"empty path {path!r}": (always(path), "names no log|no name of a", ENGINES) for path in EMPTY},
    "pipe": (a_pipe, r"log\.csv is a named pipe; .* write it to a file", ENGINES),
    "pipe in a folder": (lambda p: a_pipe(p).parent, r"log\.csv is a named pipe", ENGINES),
    "pipe by a pattern": (lambda p: str(a_pipe(p).parent / "*.csv"), r"log\.csv is a named pipe", ENGINES),
    "socket": (a_socket, r"log\.csv is a socket", ENGINES),
    "device": (lambda _: "/dev/zero", "/dev/zero is a device", ENGINES),
    "link to nothing": (a_link_to_nothing, r"log\.csv cannot be read \(No such file", ENGINES),
    "compressed otherwise": (
        lambda p: (written(p / "a.csv", LINES), written(p / "b.csv.xz", b"?"))[1].parent,
        r"b\.csv\.xz is compressed in a way that is not read",
        ENGINES,
    ),
    "bare carriage returns": (
        lambda p: written(p / "log.csv", b"z,arm,reward\rold,x,1\rold,y,0\r"),
        r"log\.csv ends lines with a carriage return alone, .* tr '\\r' '\\n'",
        ENGINES[:2],
    ),
    "mixed line ends": (
        lambda p: written(p / "log.csv", b"z,arm,reward\nold,x,1\rold,y,0\n"),
        r"log\.csv ends lines with a carriage return alone",
        ENGINES[:2],
    ),
    "gzip cut off in its header": (
        lambda p: written(p / "log.csv.gz", PACKED[:25]),
        r"log\.csv\.gz is cut off or damaged .*; copy it again",
        ENGINES[:2],
    ),
    "gzip cut off later": (
        lambda p: written(p / "log.csv.gz", PACKED[: len(PACKED) // 2]),
        r"log\.csv\.gz.* is cut off or damaged; copy it again",
        ENGINES[:2],
    ),
    "no gzip": (lambda p: written(p / "log.csv.gz", LINES), r"log\.csv\.gz is cut off or damaged", ENGINES[:2]),
    "empty file": (lambda p: written(p / "log.csv", b""), r"log\.csv is empty; a CSV file begins with", ENGINES[:2]),
    "column twice": (
        lambda p: written(p / "log.csv", b"z,arm,reward,arm\nold,x,1,y\n"),
        r"log\.csv has the column 'arm' twice; rename",
        ENGINES[:2],
    ),
    "column twice in the second file": (
        lambda p: (written(p / "a.csv", LINES), written(p / "b.csv", b"z,arm,reward,z\nold,x,1,y\n"))[1].parent,
        r"b\.csv has the column 'z' twice",
        ENGINES[:2],
    ),
    "column twice but for case": (
        lambda p: written(p / "log.csv", b"z,Arm,reward,arm\nold,x,1,y\n"),
        r"log\.csv has the columns 'Arm', 'arm', which differ in case alone",
        ENGINES[:2],
    ),
    "column twice in Parquet": (
        lambda p: table_file(p / "log.parquet", ["z", "arm", "reward", "arm"]),
        r"log\.parquet has the column 'arm' twice",
        ENGINES[:2],
    ),
    "column twice in Parquet but for case": (
        lambda p: table_file(p / "log.parquet", ["z", "arm", "reward", "ARM"]),
        r"log\.parquet has the columns 'arm', 'ARM', which differ in case alone",
        ENGINES[:2],
    ),
    "column twice in memory": (
        lambda p: parquet.ParquetFile(table_file(p / "log.parquet", ["z", "arm", "reward", "arm"])).read(),
        "the log has the column 'arm' twice",
        ENGINES[:2],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_engines_refuse_the_same_sources(
    name: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, message, engines = REFUSED[name]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # where DuckDB would put an extension
    source = make(tmp_path)
    for engine in engines:
        fixture = {"spark": "spark", "postgres": "postgres"}.get(engine)
        connection = None if fixture is None else request.getfixturevalue(fixture)
        for own in [connection] if engine != "duckdb" else [None, duckdb.connect()]:
            if own is None and str(source).startswith(('"', "parquet.")) and engine == "duckdb":
                continue  # without a connection there are no tables
            with pytest.raises(LogError, match=message):
                mb.logs.read(source, **NAMES, engine=engine, connection=own)
    assert not (tmp_path / "home").exists()


@contextmanager
def without_privileges() -> Iterator[None]:
    """Root may read everything: be somebody else for a while."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder with two logs that everybody may read: those of pytest are its user's alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "a" / "deep").mkdir(parents=True)
        for path in (folder / "a" / "1.csv", folder / "a" / "deep" / "2.csv"):
            path.write_bytes(b"z,arm,reward\nold,x,1\n")
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
        yield folder
        for path in (folder / "a", folder / "a" / "deep"):
            path.chmod(0o755)


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
@pytest.mark.parametrize(
    ("part", "mode"), [("a/deep", 0), ("a/deep", stat.S_IRUSR | stat.S_IROTH), ("a/deep/2.csv", 0)]
)
@pytest.mark.parametrize("source", ["a", "a/**/*.csv", "*/**", "a/*"])
def test_a_part_that_cannot_be_read_is_an_error(
    open_folder: Path, source: str, part: str, mode: int, engine: Any
) -> None:
    (open_folder / part).chmod(mode)
    with (
        without_privileges(),
        pytest.raises(LogError, match=r"a/deep.* cannot be read \(Permission denied\), and a log"),
    ):
        mb.logs.read(str(open_folder / source), **NAMES, engine=engine)
    with without_privileges(), pytest.raises(LogError, match=r"deep.* cannot be read \(Permission denied\)"):
        mb.logs.read(open_folder / "a" / "deep" / "2.csv", **NAMES, engine=engine)
    (open_folder / part).chmod(0o755)
    assert mb.logs.read(str(open_folder / source), **NAMES).rows == 2


def test_hidden_parts_and_linked_folders_are_left_out(open_folder: Path) -> None:
    for name in (".hidden", "_temporary"):
        (open_folder / "a" / name).mkdir()
        (open_folder / "a" / name / "3.csv").write_bytes(b"?")
        (open_folder / "a" / name).chmod(0)
    (open_folder / "a" / "again").symlink_to(open_folder / "a")
    assert mb.logs.read(open_folder / "a", **NAMES).rows == 2


# ------------------------------------------------------------------------------- the network, and names of tables


@pytest.mark.parametrize("address", ["https://127.0.0.1:9/log.csv", "s3://bucket/log.parquet", "az://box/log.parquet"])
def test_an_address_that_is_asked_for_needs_an_extension_that_is_there(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # where DuckDB looks for extensions: there are none
    message = r"extension '?(httpfs|azure)[^;]*; meanbounds installs no extensions: run duckdb\.sql\('INSTALL"
    for connection in (None, duckdb.connect()):
        with pytest.raises(LogError, match=message):
            mb.logs.read(address, **NAMES, network=True, connection=connection)
    assert not (tmp_path / "home").exists()


def test_a_name_in_quotes_is_a_table_of_the_database_or_refused(tmp_path: Path) -> None:
    log = CASES["nothing bad"].arrow()
    parquet.write_table(log, tmp_path / "log.parquet")
    refused = [f'"{tmp_path}/log.parquet"', f'"{tmp_path}/log".parquet', '"https://127.0.0.1:9/log.parquet"', "log"]
    with duckdb.connect() as connection:
        for name in refused:  # the last is a variable here
            with pytest.raises(LogError, match="has no table or view"):
                mb.logs.read(name, **NAMES, connection=connection, network=True)
        connection.register("log_view", log)
        connection.execute("CREATE SCHEMA ward; CREATE TABLE ward.log AS SELECT * FROM log_view")
        connection.execute("CREATE TABLE visits AS SELECT * FROM log_view; CREATE TEMP TABLE mine AS FROM log_view")
        connection.execute(f'CREATE TABLE "{refused[2][1:-1]}" AS SELECT * FROM log_view')
        for name in ("log_view", "VISITS", "main.visits", "memory.visits", "memory.ward.log", "Ward.Log", "mine"):
            assert mb.logs.read(name, **NAMES, connection=connection).rows == 6
        assert mb.logs.read(refused[2], **NAMES, connection=connection, network=True).rows == 6
        with pytest.raises(LogError, match="has no table or view"):
            mb.logs.read("log", **NAMES, connection=connection)  # it is in another schema


def test_spark_takes_no_name_of_a_table_for_a_file(spark: Any, tmp_path: Path) -> None:
    parquet.write_table(CASES["nothing bad"].arrow(), tmp_path / "log.parquet")
    with pytest.raises(LogError, match="there is no table or view `parquet`"):
        mb.logs.read(f'parquet."{tmp_path}/log.parquet"', **NAMES, engine="spark", connection=spark)


@pytest.mark.parametrize(
    ("connection", "message"),
    [("md:clinic", "is not a local file"), ("https://h/a.duckdb", "is not a local file"), ("", "connection= is empty")],
)
def test_a_database_is_a_local_file_unless_asked_for(connection: str, message: str) -> None:
    with pytest.raises(LogError, match=message):
        mb.logs.read("visits", **NAMES, connection=connection)


def test_a_database_is_no_pipe(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="is a named pipe"):
        mb.logs.read("visits", **NAMES, connection=a_pipe(tmp_path))


def test_addresses_of_local_files_are_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "the log.csv", b"z,arm,reward\nold,x,1\n")
    for address in (f"file://{tmp_path}/the%20log.csv", f"file://localhost{tmp_path}/the log.csv"):
        assert mb.logs.read(address, **NAMES).rows == 1
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:").mkdir()
    written(tmp_path / "s3:" / "log.csv", b"z,arm,reward\nold,x,1\n")
    assert mb.logs.read(Path("s3:/log.csv"), **NAMES).rows == 1
