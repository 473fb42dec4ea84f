"""Reading logs from files and tables in memory; `test_engines` compares engines."""

import contextlib
import gzip
import json
import os
import warnings
from collections.abc import Iterator
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from meanbounds import logs
from meanbounds.logs import Counts, LogError, LogWarning
from tests.logs.naive_counts import Naive, check_against

pd: Any = pytest.importorskip("pandas")
pyarrow: Any = pytest.importorskip("pyarrow")

TEXT = "clinic,drug,cured\nnorth,a,1\nsouth,b,0\nnorth,b,0.5\n"
NAMES: dict[str, Any] = {"context": "clinic", "arm": "drug", "reward": "cured"}


def written(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def check_text(counts: Counts) -> None:
    """The counts of TEXT."""
    assert counts.contexts == ("north", "south")
    assert counts.arms == ("a", "b")
    assert counts.count.tolist() == [[1, 1], [0, 1]]
    assert counts.total.tolist() == [[1, 0.5], [0, 0]]
    assert counts.squares.tolist() == [[1, 0.25], [0, 0]]
    assert (counts.columns, counts.arm, counts.reward) == (("clinic",), "drug", "cured")


@contextlib.contextmanager
def cautioned(*texts: str) -> Iterator[None]:
    """One warning, with these texts."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    assert [one.category for one in caught] == [LogWarning] * bool(texts)
    assert all(text in str(caught[0].message) for text in texts)
    assert all(one.filename == __file__ for one in caught)


# ------------------------------------------------------------------------------------------------------------ sources

FRAME = pd.read_csv(StringIO(TEXT))
IN_MEMORY = {
    "pandas": FRAME,
    "pandas objects": FRAME.astype(object),
    "pandas categories": FRAME.astype({"drug": "category"}),
    "polars": pl.from_pandas(FRAME),
    "lazy polars": pl.from_pandas(FRAME).lazy(),
    "arrow": pyarrow.Table.from_pandas(FRAME),
    "dictionary": FRAME.to_dict("list"),
}


@pytest.mark.parametrize("name", IN_MEMORY)
def test_tables_in_memory(name: str) -> None:
    check_text(logs.read(IN_MEMORY[name], **NAMES))
    only = logs.read(IN_MEMORY[name], arm="drug", reward="cured", where="clinic = 'north'")
    assert (only.contexts, only.rows) == ((None,), 2)


FILES: dict[str, Any] = {
    "log.csv": TEXT,
    "semicolons.csv": TEXT.replace(",", ";"),
    "excel.csv": b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode(),
    "tabs.tsv": TEXT.replace(",", "\t"),
    "quoted.csv": '"note, with\nlines",clinic,drug,cured\n"a ""quote"", here",north,a,1\n,south,b,0\n,"north",b,0.5\n',
    "decimal commas.csv": TEXT.replace(",", ";").replace("0.5", "0,5"),
    "packed.csv.gz": gzip.compress(TEXT.encode()),
    "it's [1].csv": TEXT,
    "log.jsonl": "".join(json.dumps(row) + "\n" for row in FRAME.to_dict("records")),
}


@pytest.mark.parametrize("name", FILES)
def test_files(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / "logs" / name, FILES[name])
    for source in (path, str(path), tmp_path, str(tmp_path / "*" / "*"), str(tmp_path / "**")):
        check_text(logs.read(source, **NAMES))


def test_parts_of_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns in another order; partitions in the names of folders; hidden files are left out."""
    written(tmp_path / "1" / "a.csv", "clinic,drug,cured\nnorth,a,1\n")
    written(tmp_path / "2" / "b.csv", "cured;clinic;drug\n0;south;b\n".replace(";", ","))
    written(tmp_path / "2" / "c.csv", "drug,clinic,note,cured\nb,north,x,0.5\n")
    written(tmp_path / "2" / ".hidden.csv", "a,b\n1,2\n")
    check_text(logs.read(tmp_path, **NAMES))
    for clinic, part in FRAME.groupby("clinic"):
        (tmp_path / f"clinic={clinic}").mkdir()
        part.drop(columns="clinic").to_parquet(tmp_path / f"clinic={clinic}" / "part.parquet")
    check_text(logs.read(str(tmp_path / "clinic=*" / "*.parquet"), **NAMES))
    with pytest.raises(LogError, match=r"has CSV and Parquet files; give a pattern for one kind, such as '.*parquet'"):
        logs.read(tmp_path, **NAMES)
    monkeypatch.chdir(tmp_path / "2")
    with cautioned("1 row"):
        assert logs.read("b.csv", **NAMES).contexts == ("south",)


REFUSED: dict[str, tuple[str | bytes, str]] = {
    "empty.csv": ("", r"empty\.csv is empty; a CSV file begins with a line that names its columns"),
    "none.csv": ("clinic,drug,cured\n", "the log has no rows"),
    "twice.csv": ("clinic,drug,cured,drug\na,b,1,c\n", r"twice\.csv has the column 'drug' more than once"),
    "case.csv": ("clinic,Drug,cured,drug\na,b,1,c\n", r"case\.csv has the column 'drug' more than once"),
    "short.csv": (TEXT + "north,a\n", r"Line: 5 .*Expected Number of Columns: 3 Found: 2 in .*short\.csv; each line"),
    "long.csv": (TEXT + "north,a,1,2\n", r"Line: 5 .*Found: 4 in .*long\.csv; each line of a CSV file"),
    "latin.csv": (TEXT.replace("south", "süd").encode("latin-1"), "not utf-8 encoded.*; save the file with .* UTF-8"),
    "utf-16.csv": (TEXT.encode("utf-16"), r"utf-16\.csv is UTF-16: save it as UTF-8"),
    "utf-16.jsonl": ('{"drug": "a"}'.encode("utf-16"), "UTF-16 encoding is not supported.* the encoding UTF-8"),
    "old mac.csv": (TEXT.replace("\n", "\r"), r"old mac\.csv, line 1: new-line .*Save it as CSV with line feeds"),
    "binary.csv": (b"x" * 200_000, r"binary\.csv, line 1: field larger than .*; is it a CSV file\?"),
    "cut.csv.gz": (gzip.compress(TEXT.encode() * 999)[:-99], "cut off or damaged"),
    "no.csv.gz": (TEXT, "cut off or damaged"),
    "log.xlsx": ("?", r"log\.xlsx: such files are not read; .*Save it as CSV"),
    "other.csv": (TEXT.replace("cured", "Cured"), "unknown column 'cured', did you mean 'Cured'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_files_that_cannot_be_read(name: str, tmp_path: Path) -> None:
    content, message = REFUSED[name]
    with pytest.raises(LogError, match=message):
        logs.read(written(tmp_path / name, content), **NAMES)


NOT_LOGS: list[tuple[Any, Any, str]] = [
    ("nothing.csv", None, "no file, folder or match of a pattern 'nothing.csv'"),
    ("visits", None, "is not a file or folder; if it is a table of a database, give connect"),
    (".", None, "holds no log"),
    *(
        (address, None, "is an address on the network: copy the file to this machine")
        for address in ("https://127.0.0.1:9/log.csv", "s3://bucket/log.parquet", "hf://datasets/a/b.csv")
    ),
    (3, None, "a log is the path of .*; got 3"),
    ({"arm": ["a"], "reward": [1, 2]}, None, "the column 'reward' must have .* lists of the same length"),
    ({"arm": ["a", "b"], "reward": [[1], [0]]}, None, "the column 'reward' must have one value a row"),
    ({"arm": [["a"], ["b", "c"]], "reward": [1, 0]}, None, "the column 'arm' must have one value a row"),
    ("visits", 3, "PostgreSQL database, or a Spark session; got 3"),
    ("visits", "no.duckdb", "no DuckDB database"),
    (pd.DataFrame([["a", 1, 2]], columns=["arm", "reward", "reward"]), None, "the column 'reward' more than once"),
]


@pytest.mark.parametrize(("source", "connection", "said"), NOT_LOGS)
def test_sources_that_are_none(
    source: Any, connection: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((LogError, FileNotFoundError), match=said):
        logs.read(source, connection=connection)


def test_a_pipe_is_no_log(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(LogError, match=r"pipe\.csv is not a regular file"):
        logs.read(tmp_path / "pipe.csv")


# ------------------------------------------------------------------------------------------------- options and values


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arm": "cured"}, "must be different columns"),
        ({"context": ["clinic", "clinic"]}, "must be different columns"),
        ({"arm": "durg"}, "unknown column 'durg', did you mean 'drug'"),
        ({"low": 1.0}, "low must be less than high"),
        ({"least": 0.1}, "give their column as propensity="),
        ({"propensity": "p", "least": 0.0}, "unknown column 'p'"),
        ({"where": " "}, "where must be a condition in SQL"),
        ({"where": "clinic = 'east'"}, "the log has no rows that fulfil where="),
        ({"on_bad": "ignore"}, "on_bad must be one of 'error', 'drop'"),
        ({"arms": "ab"}, "arms must be a list of names"),
        ({"arms": ["a", "a", "b"]}, "each only once"),
        ({"arms": ["a", None, "b"]}, "arms must be a list of names"),
        ({"arms": ["A", "b"]}, "arms= must list every arm of the log: unknown arm 'a', did you mean 'A'"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        logs.read(FRAME, **{**NAMES, **options})


def test_arms_are_in_the_order_given() -> None:
    counts = logs.read(FRAME, **{**NAMES, "arms": ["b", "c", "a"]})
    assert counts.arms == ("b", "c", "a")
    assert counts.count.sum(axis=0).tolist() == [2, 0, 1]
    whole = {"arm": ["10", "9", "9"], "reward": [0, 1, 1]}
    assert logs.read(whole).arms == (9, 10)
    assert logs.read(whole, arms=[10, int(np.int64(9)), 2]).arms == (10, 9, 2)


def test_frames_as_pandas_users_have_them() -> None:
    doses = pd.Categorical(["low", "high"], ["low", "medium", "high"], ordered=True)
    assert logs.read(pd.DataFrame({"arm": doses, "reward": [1, 0]})).arms == ("low", "medium", "high")
    days = pd.to_datetime(["2024-01-01", "2024-01-02"])
    log = pd.DataFrame({"day": days, 0: ["x", "y"], "arm": [1.0, 2.0], "reward": pd.array([True, False], "boolean")})
    counts = logs.read(log, context=["day", "0"])
    assert counts.contexts == (("2024-01-01", "x"), ("2024-01-02", "y"))
    assert counts.arms == (1, 2)
    zoned = logs.read(log.assign(day=days.tz_localize("Europe/Berlin")), context="day")
    assert zoned.contexts == ("2023-12-31 23:00:00+00", "2024-01-01 23:00:00+00")
    late = pd.DataFrame({"arm": ["a", "b"] * 1500, "reward": [*[0] * 2998, "yes", 1.0]}, dtype=object)
    assert logs.read(late).total.tolist() == [[1, 1]]


def test_conditions_that_do_not_fit_say_how_to_write_them(tmp_path: Path) -> None:
    path = written(tmp_path / "log.csv", "age,arm,reward\n9,a,1\n70,b,0\n100,a,1\n")
    with pytest.raises(LogError, match=r"fields of CSV files are text: write CAST\(age AS int\) > 65 in where="):
        logs.read(path, where="age > 65")
    assert logs.read(path, where="CAST(age AS int) > 65").rows == 2
    with pytest.raises(LogError, match="requires the extension httpfs"):
        logs.read(path, where="arm IN (SELECT arm FROM read_csv('https://127.0.0.1:9/x.csv'))")


def test_bad_rows_are_told_with_an_example_and_advice() -> None:
    log = {"arm": ["a", "b", None, "b", "a"] * 2, "reward": ["1", "5", "0.5", "0,5", ""] * 2}
    with pytest.raises(LogError) as caught:
        logs.read(log)
    assert str(caught.value).splitlines() == [
        "8 of 10 rows (80%) cannot be counted:",
        "  missing arm: 2 rows (20%), such as arm=None, reward='0.5' (empty fields, NULL, NaN and NA are missing; if "
        "NA is a name in this log, write another name);",
        "  missing reward: 2 rows (20%), such as arm='a', reward='' (a reward that is missing is not 0: find out why, "
        "or count such rows with missing=inf);",
        "  reward above range: 2 rows (20%), such as arm='b', reward='5';",
        "  reward is not a number: 2 rows (20%), such as arm='b', reward='0,5' (rewards are numbers, or True and "
        "False, yes and no; write 0.5, or 0,5 in all rows, and 1000 rather than 1,000).",
        "The rewards go from 0.5 to 5, and the range is 0 to 1. If 0.5 to 5 is their scale, give low=0.5, high=5.",
        'Otherwise correct the log, or leave such rows out with on_bad="drop".',
    ]
    assert caught.value.bad is not None
    assert caught.value.bad.seen == (0.5, 5.0)


def test_dropped_rows_are_remembered_and_warned_of_once() -> None:
    log = pd.DataFrame({"arm": ["a", "b"] * 50, "reward": [0.0, 1.0] * 50})
    log.loc[:3, "reward"] = 7.0
    with cautioned():
        assert logs.read(log, on_bad="drop").dropped == {"reward above range": 4}
    log.loc[:5, "reward"] = 7.0
    with cautioned("6 of 100 rows (6%) were dropped: reward above range, 6 rows. The rewards go from 0 to 7"):
        logs.read(log, on_bad="drop")
    with pytest.raises(LogError, match="no rows that can be counted; dropped: reward above range, 100 rows"):
        logs.read(log.assign(reward=7.0), on_bad="drop")


def test_cautions_of_logs_that_say_little() -> None:
    with cautioned("The log has 1 row"):
        logs.read({"arm": ["a"], "reward": [1]})
    with cautioned("All rows have the option “a”", "List all options with arms="):
        logs.read({"arm": ["a", "a"], "reward": [1, 0]})
    with cautioned():
        logs.read({"arm": ["a", "a"], "reward": [1, 0]}, arms=["a", "b"])
    many = {"id": [f"p{row}" for row in range(3000)], "arm": ["a", "b"] * 1500, "reward": [0, 1] * 1500}
    with cautioned("3,000 contexts have 3,000 rows, less than 2 each", "“id” may name each row"):
        logs.read(many, context="id")
    with cautioned("The options “a” and “a␣” are counted apart (and 1 more pair like this)"):
        logs.read({"arm": ["a", "a ", "B", "b"], "reward": [1, 0, 1, 0]})


def test_where_says_which_rows_it_cannot_judge() -> None:
    days = [datetime(2024, 1, 1), datetime(2024, 1, 2), None, datetime(2024, 1, 3)]
    log = pd.DataFrame({"day": days, "arm": ["a", "b", "b", "b"], "reward": [1, 0, 9, 1]})
    with cautioned("where= is NULL for 1 row, as with a missing date"):
        counts = logs.read(log, where="day < '2024-01-03'")
    assert counts.count.tolist() == [[1, 1]]
    with cautioned():
        assert logs.read(log, where="day >= '2024-01-01' AND day IS NOT NULL").rows == 3
    chances = {"arm": ["a", "b"] * 400, "reward": np.linspace(0, 1, 800), "day": [1.0, np.nan] * 400}
    with cautioned("where= is NULL for 400 rows"):
        assert logs.read(pl.DataFrame(chances).fill_nan(None), where="day = 1", arms=["a", "b"]).rows == 400


def test_a_random_log_is_counted_as_by_hand(tmp_path: Path) -> None:
    """Logs with some of everything, as CSV and as Parquet, with few rewards and with many."""
    for seed, distinct in enumerate((2, 11, 5000, 5000)):
        random = np.random.default_rng(seed)
        size = 3000
        names = np.array(["n", "s", "s ", "", "10", "9", "NA", "ü", 'a "b"', "x,y"])
        table = pd.DataFrame(
            {
                "z": random.choice(names, size),
                "y": random.choice(["1", "2", "007"], size),
                "arm": random.choice(["3", "-12", "0"] if seed % 2 else ["a", "B", "c\nd"], size),
                "reward": [f"{one:.17g}" for one in random.integers(0, distinct, size) / (distinct - 1)],
            }
        )
        table.loc[random.integers(0, size, 9), "reward"] = ["", "NaN", "yes", "No", "x", "inf", "-1", "7", " 1 "]
        naive = Naive(table.itertuples(index=False))
        table.to_csv(tmp_path / "log.csv", index=False)
        table.to_parquet(tmp_path / "log.parquet")
        for source in (table, tmp_path / "log.csv", tmp_path / "log.parquet"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LogWarning)
                check_against(logs.read(source, context=["z", "y"], on_bad="drop"), naive)


def test_many_contexts_and_rewards_are_counted_in_the_engine(tmp_path: Path) -> None:
    """More groups than are taken from an engine: sums it must be, even if the first rewards are few."""
    path = tmp_path / "log.parquet"
    rewards = "CASE WHEN i < 3000 THEN 0.5 ELSE i / 1500000 END"
    duckdb.execute(f"COPY (SELECT i % 3 AS arm, {rewards} AS reward FROM range(1500000) AS t(i)) TO '{path}'")
    counts = logs.read(path)
    assert counts.count.tolist() == [[500_000] * 3]
    assert counts.total.sum() == pytest.approx(1500 + sum(range(3000, 1_500_000)) / 1.5e6, rel=1e-14)
    duckdb.execute(f"COPY (SELECT 'r' || i AS arm, 1 AS reward FROM range(1000001) AS t(i)) TO '{path}'")
    with pytest.raises(LogError, match="more than 1,000,000 combinations"):
        logs.read(path)


def test_a_users_connection_is_left_as_it_was() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.visits AS SELECT 'a' AS arm, 1 AS reward, 'b' AS other")
        before = connection.execute("SELECT name, value FROM duckdb_settings()").fetchall()
        for name in ("s.visits", '"s"."visits"', "memory.s.visits"):
            with cautioned("1 row"):
                assert logs.read(name, connection=connection).arms == ("a",)
        with cautioned("1 row"):
            logs.read({"arm": ["a"], "reward": [1]}, connection=connection)
        assert connection.execute("SELECT name, value FROM duckdb_settings()").fetchall() == before
        assert connection.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchone() == (0,)
        source = "visits"  # not to be taken for a table by DuckDB
        with pytest.raises(LogError, match="unknown table 'source'"):
            logs.read("source", connection=connection)
        assert source
