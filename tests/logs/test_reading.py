"""Logs from everywhere give the counts that a plain loop gives; what cannot be counted is never lost silently."""

from __future__ import annotations

import copy
import gzip
import io
import json
import math
import pickle
import re
from collections import defaultdict
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import meanbounds as mb
from meanbounds.logs import Counts, Histogram, LogError, LogWarning, engines
from meanbounds.logs.histogram import bin_edges
from meanbounds.support.progress import Progress

pyarrow: Any = import_module("pyarrow")
NAMES: dict[str, Any] = {"context": "occupation", "arm": "movie", "reward": "rating"}
KINDS = [
    "missing context",
    "missing arm",
    "missing reward",
    "reward is not a number",
    "reward is NaN",
    "reward is infinite",
    "reward below range",
    "reward above range",
]


def small_log(rows: int = 600, values: int | None = 5, seed: int = 3) -> pd.DataFrame:
    """Text and integers as names, rewards on [0, 1]: few values, or any."""
    draw = np.random.default_rng(seed)
    rewards = draw.random(rows) if values is None else draw.integers(0, values, rows) / (values - 1)
    return pd.DataFrame(
        {
            "occupation": draw.choice(["artist", "lawyer", "none of them"], rows),
            "movie": draw.integers(-2, 12, rows),
            "rating": rewards,
            "row": np.arange(rows),
        }
    )


def plain_counts(log: pd.DataFrame, context: list[str], arm: str, reward: str) -> dict[Any, list[float]]:
    """Rewards of each cell, by a loop."""
    cells: dict[Any, list[float]] = defaultdict(list)
    for *key, name, value in log[[*context, arm, reward]].itertuples(index=False):
        cells[(tuple(key) if len(key) > 1 else key[0] if key else "all"), name].append(float(value))
    return cells


def check(counts: Counts, log: pd.DataFrame, context: list[str], arm: str, reward: str) -> None:
    """Compare with the loop, and the histogram with the rewards."""
    cells = plain_counts(log, context, arm, reward)
    assert set(counts.contexts) == {key[0] for key in cells}
    assert set(counts.arms) == {key[1] for key in cells}
    assert counts.rows == len(log)
    for z, name in enumerate(counts.contexts):
        for k, choice in enumerate(counts.arms):
            rewards = cells.get((name, choice), [])
            assert counts.count[z, k] == len(rewards)
            assert counts.total[z, k] == pytest.approx(math.fsum(rewards), rel=1e-14, abs=1e-300)
            assert counts.squares[z, k] == pytest.approx(math.fsum(x * x for x in rewards), rel=1e-14, abs=1e-300)
            if counts.histogram is not None:
                check_cell(counts.histogram.at((z, k)), rewards)


def check_cell(histogram: Histogram, rewards: list[float]) -> None:
    """The i-th smallest reward is in the bin that holds the i-th row."""
    bins = np.repeat(np.arange(len(histogram)), histogram.count.astype(int))
    assert np.all(histogram.values_low[bins] <= np.sort(rewards))
    assert np.all(np.sort(rewards) <= histogram.values_high[bins])


def same(one: Counts, other: Counts) -> None:
    """Counts and histograms equal, sums to 1e-12, and the bounds that follow to 1e-10."""
    assert (one.contexts, one.arms, one.dropped) == (other.contexts, other.arms, other.dropped)
    np.testing.assert_array_equal(one.count, other.count)
    np.testing.assert_allclose(one.total, other.total, rtol=1e-12, atol=0)
    np.testing.assert_allclose(one.squares, other.squares, rtol=1e-12, atol=0)
    assert (one.histogram is None) == (other.histogram is None)
    if one.histogram is not None and other.histogram is not None:
        assert one.histogram.to_dict() == other.histogram.to_dict()
    if len(one.contexts) < 20:
        mine, theirs = (mb.logs.bounds(counts, confidence=0.9) for counts in (one, other))
        for context, found in mine.items():
            np.testing.assert_allclose(found.lower, theirs[context].lower, rtol=0, atol=1e-10)
            np.testing.assert_allclose(found.upper, theirs[context].upper, rtol=0, atol=1e-10)


def test_every_source_gives_the_same_counts(tmp_path: Path) -> None:
    log = small_log()
    halves = log[:250], log[250:]
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    (tmp_path / "texts").mkdir()
    for place, half in zip(
        (tmp_path / "folder" / "a.parquet", tmp_path / "folder" / "deep" / "b.pq"), halves, strict=True
    ):
        half.to_parquet(place)
    (tmp_path / "folder" / "_SUCCESS.csv").write_text("not a log")
    for number, half in enumerate(halves):
        columns = list(half.columns)[:: 1 - 2 * number]  # the order of the columns plays no part
        half[columns].to_csv(tmp_path / "texts" / f"part {number}.csv", index=False)
    log.to_parquet(tmp_path / "odd '[1]*.parquet")
    log.to_parquet(tmp_path / "parquet without a suffix")
    log.to_csv(tmp_path / "semicolons.csv", sep=";", index=False)
    log.to_csv(tmp_path / "tabs.tsv.gz", sep="\t", index=False)
    table = pyarrow.table(log.to_dict("list"))
    sources: list[Any] = [
        log,
        log.astype({"occupation": "category", "movie": "Int64", "rating": object}),
        pl.from_pandas(log),
        pl.from_pandas(log).lazy(),
        table,
        tmp_path / "folder",
        str(tmp_path / "folder"),
        str(tmp_path / "folder" / "**" / "*.p*q*"),
        tmp_path / "texts",
        str(tmp_path / "texts" / "*.csv"),
        tmp_path / "odd '[1]*.parquet",
        tmp_path / "parquet without a suffix",
        tmp_path / "semicolons.csv",
        tmp_path / "tabs.tsv.gz",
    ]
    first = mb.logs.read(log, **NAMES)
    check(first, log, ["occupation"], "movie", "rating")
    assert first.exact
    assert first.arms == tuple(range(-2, 12))
    for source in sources:
        same(first, mb.logs.read(source, **NAMES))


def test_a_table_of_a_database(tmp_path: Path) -> None:
    log = small_log()
    path = tmp_path / "logs.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", log)
        connection.execute('CREATE SCHEMA "the logs"')
        connection.execute('CREATE TABLE "the logs"."a.b""c" AS SELECT * FROM frame')
        counts = mb.logs.read('the logs."a.b""c"', connection=connection, **NAMES)
        assert connection.execute('SELECT count(*) FROM "the logs"."a.b""c"').fetchall() == [(len(log),)]
    same(counts, mb.logs.read(log, **NAMES))
    same(counts, mb.logs.read('the logs."a.b""c"', connection=path, **NAMES))
    with pytest.raises(FileNotFoundError, match="connection="):
        mb.logs.read("logs", **NAMES)
    with pytest.raises(LogError, match="no name of a table"):
        mb.logs.read('a"b', connection=path, **NAMES)
    with pytest.raises(LogError, match="DuckDB cannot read this log"):
        mb.logs.read('x"; DROP TABLE y; --'.replace('"', ""), connection=path, **NAMES)


ODD = ["select", 'a "quoted" name', "it's", "two words", "semi;colon --", "Größe", "back`tick", "{brace} %s"]


@pytest.mark.parametrize("histogram", ["auto", True, False])
def test_odd_names_and_any_number_of_contexts(histogram: Any, tmp_path: Path) -> None:
    log = small_log(300)
    log["second"] = log["row"] % 3
    for place, name in enumerate(ODD):
        arm, reward, first, second = (ODD[(place + step) % len(ODD)] for step in range(4))
        renamed = log.rename(columns={"movie": arm, "rating": reward, "occupation": first, "second": second})
        renamed.to_csv(tmp_path / "log.csv", index=False)
        assert name == arm
        for context in ([], [first], [first, second]):
            for source in (renamed, tmp_path / "log.csv"):
                counts = mb.logs.read(source, context=context, arm=arm, reward=reward, histogram=histogram)
                check(counts, renamed, context, arm, reward)
                assert counts.context_names == tuple(context)
                assert (counts.histogram is None) == (histogram is False)
    none = mb.logs.read(log, context=None, arm="movie", reward="rating")
    assert none.contexts == ("all",)
    assert list(none.to_frame().columns) == ["context", "movie", "count", "total", "squares", "mean"]


@pytest.mark.parametrize(("values", "bins"), [(2, 2), (5, 5), (200, 200), (400, 256), (None, None)])
def test_histogram_holds_values_while_they_are_few(values: int | None, bins: int | None) -> None:
    log = small_log(4_000, values)
    asked = mb.logs.read(log, **NAMES, histogram=True)
    check(asked, log, ["occupation"], "movie", "rating")
    assert asked.histogram is not None
    assert len(asked.histogram) == (bins or 256)
    assert asked.exact == (values is not None and values <= 256)
    by_itself = mb.logs.read(log, **NAMES)
    if values is not None and values <= 256:
        same(by_itself, asked)
    else:
        assert by_itself.histogram is None
    np.testing.assert_allclose(by_itself.total, asked.total, rtol=1e-14)
    np.testing.assert_array_equal(by_itself.count, mb.logs.read(log, **NAMES, histogram=False).count)


def test_a_sample_that_misleads(monkeypatch: pytest.MonkeyPatch) -> None:
    log = small_log(6_000, None)
    log.loc[:3_000, "rating"] = 0.5
    counts = mb.logs.read(log, **NAMES)
    check(counts, log, ["occupation"], "movie", "rating")
    assert counts.histogram is not None  # all groups were there: bins cost nothing more
    assert len(counts.histogram) == 256
    monkeypatch.setattr("meanbounds.logs.reading._MOST_GROUPS", 1_000)
    check(mb.logs.read(log, **NAMES), log, ["occupation"], "movie", "rating")
    assert mb.logs.read(log, **NAMES).histogram is None
    check(mb.logs.read(log, **NAMES, histogram=True), log, ["occupation"], "movie", "rating")


def bad_log(rows: int = 1_000) -> tuple[pd.DataFrame, dict[str, int]]:
    """A log as text with 1% bad rows of each kind, on [1, 5]."""
    log = small_log(rows).astype({"occupation": object, "movie": object})
    log["rating"] = pd.Series([repr(1 + 4 * x) for x in log["rating"]], dtype=object)
    spoiled: list[tuple[str, str, list[Any]]] = [
        ("missing context", "occupation", [None, "", "  "]),
        ("missing arm", "movie", [None]),
        ("missing reward", "rating", [None, "", " "]),
        ("reward is not a number", "rating", ["abc", "1,5", "0x1", "1_0", "1e999", "-", "3 stars", "TRUE", "1d"]),
        ("reward is NaN", "rating", ["NaN", "nan", "-nan"]),
        ("reward is infinite", "rating", ["inf", "-Infinity"]),
        ("reward below range", "rating", ["0.999999", "-1e3"]),
        ("reward above range", "rating", ["5.000001", "1e+005"]),
    ]
    each = rows // 100
    for number, (_, column, values) in enumerate(spoiled):
        for i in range(each):
            log.loc[7 + number + i * 17, column] = values[i % len(values)]
    log.loc[rows - 1, ["movie", "rating"]] = [None, "abc"]  # wrong in two ways, counted in one
    kinds = {kind: each for kind, _, _ in spoiled}
    kinds["missing arm"] += 1
    return log, kinds


def good_rows(log: pd.DataFrame) -> pd.DataFrame:
    """Those of `bad_log` that can be counted."""
    number = pd.to_numeric(log["rating"], errors="coerce")
    named = log["movie"].notna() & log["occupation"].notna() & (log["occupation"].fillna("").str.strip() != "")
    good = log[named & (number >= 1) & (number <= 5)]
    return good.assign(rating=number).astype({"movie": int, "rating": float})


def check_bad(source: Any, log: pd.DataFrame, kinds: dict[str, int], **options: Any) -> Counts:
    """The error lists all; dropping remembers all and keeps the rest."""
    with pytest.raises(LogError) as caught:
        mb.logs.read(source, **NAMES, low=1, high=5, **options)
    error, bad = caught.value, sum(kinds.values())
    lines = str(error).splitlines()
    assert lines[0] == f"{bad} of {len(log):,} rows ({bad / len(log):.1%}) cannot be counted:"
    assert len(lines) == len(kinds) + 3
    for line, (kind, number) in zip(lines[1:-2], kinds.items(), strict=True):
        assert line.startswith(f"  {kind}: {number} rows (1") or number != len(log) // 100
        assert "%), such as occupation=" in line
    assert lines[-2].startswith("The rewards of this log go from -1000 to 100000, and the range is 1 to 5.")
    assert lines[-1].endswith('or leave such rows out with on_bad="drop".')
    assert (error.kind, error.seen) == ("bad rows", (-1000.0, 100_000.0))
    assert error.bad is not None
    assert (error.bad.kinds, error.bad.rows, error.bad.number) == (kinds, len(log), bad)
    with pytest.warns(
        LogWarning, match=rf"^{bad} of {len(log):,} rows \({bad / len(log):.1%}\) were dropped: .*-1000 to"
    ):
        counts = mb.logs.read(source, **NAMES, low=1, high=5, on_bad="drop", **options)
    assert dict(counts.dropped) == kinds
    assert counts.rows + sum(kinds.values()) == len(log)
    check(counts, good_rows(log), ["occupation"], "movie", "rating")
    return counts


@pytest.mark.parametrize("histogram", ["auto", True, False])
def test_bad_rows_are_listed_or_dropped_by_kind(histogram: Any, tmp_path: Path) -> None:
    log, kinds = bad_log()
    assert list(kinds) == KINDS
    log.to_csv(tmp_path / "log.csv", index=False)
    pyarrow_table = pyarrow.table({name: pyarrow.array(log[name], from_pandas=True) for name in log})
    counts = [
        check_bad(source, log, kinds, histogram=histogram)
        for source in (tmp_path / "log.csv", pyarrow_table, pl.from_arrow(pyarrow_table))
    ]
    same(counts[0], counts[1])
    same(counts[0], counts[2])


def test_bad_numbers_in_tables() -> None:
    bad = [None, math.nan, math.inf, -math.inf, -0.1, 1.1]
    table = pyarrow.table({"arm": [1] * 7 + [None], "reward": [*bad, 0.5, 0.5]})
    expected = {
        "missing arm": 1,
        "missing reward": 1,
        "reward is NaN": 1,
        "reward is infinite": 2,
        "reward below range": 1,
        "reward above range": 1,
    }
    with pytest.warns(LogWarning, match="go from -0.1 to 1.1"):
        counts = mb.logs.read(table, arm="arm", reward="reward", on_bad="drop")
    assert (counts.dropped, counts.rows, counts.arms) == (expected, 1, (1,))
    frame = table.to_pandas()  # NaN and None are one in pandas, and arms become floats
    with pytest.warns(LogWarning, match="were dropped"):
        again = mb.logs.read(frame, arm="arm", reward="reward", on_bad="drop")
    assert again.arms == (1,)
    assert sum(again.dropped.values()) == 7
    mixed = pd.DataFrame({"arm": ["a", "a", "a", "a"], "reward": [0.5, "abc", None, True]})
    with pytest.warns(LogWarning, match=r"3 of 4 rows \(75%\) were dropped: missing reward, 1 row; reward is not a"):
        counts = mb.logs.read(mixed, arm="arm", reward="reward", on_bad="drop")
    assert counts.dropped == {"missing reward": 1, "reward is not a number": 2}
    with pytest.raises(LogError, match=r"can be counted; dropped: reward above range, 2 rows\. .* low=2, high=3"):
        mb.logs.read(pa_rewards([2.0, 3.0]), arm="arm", reward="reward", on_bad="drop")
    with pytest.raises(LogError, match="the log has no rows"):
        mb.logs.read(pa_rewards([]), arm="arm", reward="reward")


def pa_rewards(rewards: list[float]) -> Any:
    return pyarrow.table({"arm": ["a"] * len(rewards), "reward": np.array(rewards, dtype=float)})


@pytest.mark.parametrize(
    ("given_values", "names"),
    [
        ([True, False], ("false", "true")),
        ([1.0, 2.0], (1, 2)),
        ([1.5, 2.0], ("1.5", 2)),
        ([Decimal("1.50"), Decimal("2.00")], ("1.5", 2)),
        ([math.inf, 2.0], (2, "inf")),
        (["10", "9"], ("9", "10")),
        (["arm 10", "arm 9"], ("arm 9", "arm 10")),
        (["b", "A"], ("A", "b")),
        (["65 to 74", "under 65"], ("under 65", "65 to 74")),
        (np.array(["2020-01-02", "2019-01-01"], dtype="datetime64[D]"), ("2019-01-01", "2020-01-02")),
        (["Ä", "a"], ("a", "Ä")),
    ],
)
def test_names_are_text_or_integers(given_values: Any, names: tuple[Any, ...]) -> None:
    log = pyarrow.table({"arm": pyarrow.array(given_values), "reward": [True, False]})
    counts = mb.logs.read(log, arm="arm", reward="reward")
    assert counts.arms == names
    assert counts.total.sum() == 1


def test_text_of_csv_is_integers_only_if_all_of_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    for arms, names in (["10", "9"], (9, 10)), (["10", "x"], ("10", "x")), (["007", "8"], ("007", "8")):
        path.write_text("arm,reward\n" + "".join(f'"{arm}",1\n' for arm in arms))
        assert mb.logs.read(path, arm="arm", reward="reward").arms == names


def test_what_is_asked_for_must_make_sense(tmp_path: Path) -> None:
    log = small_log()

    def refused(message: str, source: Any = log, error: type[Exception] = LogError, **options: Any) -> None:
        with pytest.raises(error, match=message):
            mb.logs.read(source, **{**NAMES, **options})

    refused("no column 'ratin'; did you mean 'rating'", reward="ratin")
    refused("given twice", context=["movie", "occupation"])
    refused("engine must be one of", engine="excel")
    refused("on_bad must be one of", on_bad="ignore")
    refused("histogram must be one of", histogram="yes")
    refused("must be finite, with low below high", low=1.0)
    refused("must be finite, with low below high", high=math.nan)
    refused("low and high must be numbers", low="a")
    refused("got list", source=[1, 2])
    refused("needs connection=", source="table", engine="postgres")
    refused("no file, folder", source=tmp_path / "missing.csv", error=FileNotFoundError)
    refused("neither Parquet nor CSV files", source=tmp_path)
    refused("names of columns; got 3", reward=3)
    refused("rewards must be numbers", source=pyarrow.table({**dict(log), "rating": np.zeros(600, "datetime64[s]")}))
    mixed = log.astype({"movie": object})
    mixed.loc[3, "movie"] = "x"
    refused("mixes values of different types", source=mixed)
    log.to_csv(tmp_path / "a.csv")
    log.to_parquet(tmp_path / "a.parquet")
    refused("both Parquet and CSV", source=tmp_path)
    refused("both Parquet and CSV", source=str(tmp_path / "a.*"))
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    refused("neither Parquet nor CSV by its name", source=tmp_path / "a.xlsx")
    for ragged in ("a,b,1\na,b\na,b,0,7\n", "a,b,1\na,b,0,7\n", "a,b,1\na,b\n", "a,b,1\n" * 50_000 + "a,b\n"):
        (tmp_path / "ragged.csv").write_text("occupation,movie,rating\n" + ragged)
        refused("each line of a CSV file needs as many fields", source=tmp_path / "ragged.csv")
    (tmp_path / "hash.csv").write_text("occupation,movie,rating\na,b,1\n#,b,1\n#c,b,1\n")
    assert mb.logs.read(tmp_path / "hash.csv", **NAMES).contexts == ("#", "#c", "a")


@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["x", "y", "z"]),
            st.integers(-3, 3),
            st.one_of(st.floats(-2, 3, width=32), st.sampled_from([-2.0, 0.1, 3.0])),
        ),
        min_size=1,
        max_size=60,
    ),
    histogram=st.sampled_from(["auto", True, False]),
)
def test_any_log_is_counted_as_a_loop_counts_it(rows: list[tuple[str, int, float]], histogram: Any) -> None:
    log = pd.DataFrame(rows, columns=["occupation", "movie", "rating"])
    counts = mb.logs.read(log, **NAMES, low=-2, high=3, histogram=histogram)
    cells = plain_counts(log, ["occupation"], "movie", "rating")
    for (context, arm), rewards in cells.items():
        z, k = counts.position(context), counts.arms.index(arm)
        assert counts.count[z, k] == len(rewards)
        assert counts.total[z, k] == pytest.approx(math.fsum(rewards), rel=1e-12, abs=1e-13)
        assert counts.squares[z, k] == pytest.approx(math.fsum(x * x for x in rewards), rel=1e-12)
        if counts.histogram is not None:
            check_cell(counts.histogram.at((z, k)), rewards)
    assert counts.rows == len(rows)
    assert Counts.from_dict(json.loads(json.dumps(counts.to_dict()))) == counts


@given(low=st.floats(-1e6, 1e6), width=st.floats(1e-3, 1e6), seed=st.integers(0, 2**32 - 1))
def test_no_reward_is_outside_its_bin(low: float, width: float, seed: int) -> None:
    high = low + width
    edges = np.linspace(low, high, 257)
    near = np.concatenate([edges, np.nextafter(edges, -math.inf), np.nextafter(edges, math.inf)])
    rewards = np.clip(np.concatenate([near, np.random.default_rng(seed).uniform(low, high, 50)]), low, high)
    counts = mb.logs.read(pa_rewards(list(rewards)), arm="arm", reward="reward", low=low, high=high, histogram=True)
    assert counts.histogram is not None
    check_cell(counts.histogram.at((0, 0)), list(rewards))
    lower, upper = bin_edges(low, high)
    assert (lower[0], upper[-1]) == (low, high)
    assert float(np.max(upper - lower)) < 1.01 * width / 256


def test_counts_round_trip(tmp_path: Path) -> None:
    log = small_log()
    log["second"] = log["row"] % 2
    for context in (None, "occupation", ["occupation", "second"]):
        for histogram in (False, True):
            counts = mb.logs.read(log, context=context, arm="movie", reward="rating", histogram=histogram)
            counts.save(tmp_path / "counts.json")
            again = Counts.load(tmp_path / "counts.json")
            assert again == counts
            assert hash(again) == hash(counts)
            assert repr(again) == repr(counts)
            same(again, counts)
    frame = counts.to_frame()
    assert list(frame.columns) == ["occupation", "second", "movie", "count", "total", "squares", "mean"]
    assert len(frame) == 6 * 14
    assert frame["count"].sum() == len(log)
    assert repr(counts) == "Counts(600 rows, 6 contexts, 14 arms, rewards in [0.0, 1.0], 5 values)"
    with pytest.raises(LookupError, match="unknown context 'x'; the contexts are"):
        counts.position("x")
    with pytest.raises(LogError, match="missing arms; unknown arm"):
        Counts.from_dict({**{k: v for k, v in counts.to_dict().items() if k != "arms"}, "arm": 3})
    with pytest.raises(LogError, match="format 9"):
        Counts.from_dict({**counts.to_dict(), "format": 9})


@pytest.mark.parametrize("values", [3, 200, 400, None])
def test_counts_of_two_logs_add_up(values: int | None) -> None:
    one, other = small_log(1_500, values, seed=1), small_log(1_000, values, seed=2)
    other = other[other["occupation"] != "artist"].assign(movie=lambda frame: frame["movie"] + 3)
    if values == 200:
        other["rating"] = other["rating"] * 0.9  # together more than 256 values
    whole = pd.concat([one, other])
    for histogram in (True, False):
        parts = [mb.logs.read(log, **NAMES, histogram=histogram) for log in (one, other)]
        for total in (parts[0] + parts[1], parts[1] + parts[0]):
            same(total, mb.logs.read(whole, **NAMES, histogram=histogram))
    few = mb.logs.read(small_log(values=2), **NAMES)
    assert (few + parts[0]).histogram is None
    if values is None:
        mixed = few + mb.logs.read(one, **NAMES, histogram=True)
        check(mixed, pd.concat([small_log(values=2), one]), ["occupation"], "movie", "rating")


def test_counts_that_do_not_fit_are_not_added() -> None:
    log = small_log()
    counts = mb.logs.read(log, **NAMES)
    with pytest.raises(LogError, match="whose high differ"):
        _ = counts + mb.logs.read(log, **NAMES, high=2.0)
    with pytest.raises(LogError, match="whose context names differ"):
        _ = counts + mb.logs.read(log, arm="movie", reward="rating")
    with pytest.raises(LogError, match="number in one log and text in the other"):
        _ = counts + mb.logs.read(log.assign(movie=log["movie"].astype(str)), **NAMES)
    bad = log.assign(rating=log["rating"] + 0.25)
    with pytest.warns(LogWarning, match=r"go from 0\.25 to 1\.25"):
        two = mb.logs.read(bad, **NAMES, on_bad="drop")
    assert (two + two + counts).dropped == {"reward above range": 2 * two.dropped["reward above range"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": [[-1]]}, "negative number of rows"),
        ({"total": [[3]]}, "a total that rewards in"),
        ({"squares": [[3]]}, "a sum of squares that"),
        ({"total": [[math.nan]]}, "not finite"),
        ({"total": [1]}, "must have the shape"),
        ({"total": "x"}, "must be an array"),
        ({"arms": ["a", "a"]}, "named twice"),
        ({"arms": []}, "at least one arm"),
        ({"arms": [1.5]}, "text or integers"),
        ({"contexts": [True]}, "text or integers"),
        ({"histogram": Histogram([0], [0], [2])}, r"must have the shape \(1, 1, 1\)"),
        ({"histogram": Histogram([0], [0], [[[1]]])}, "add up to count"),
        ({"histogram": Histogram([1, 0], [1, 1], [[[1, 1]]])}, "increasing"),
    ],
)
def test_counts_that_cannot_be_are_refused(change: dict[str, Any], message: str) -> None:
    whole: dict[str, Any] = {"contexts": ["z"], "arms": ["a"], "count": [[2]], "total": [[1]], "squares": [[1]]}
    assert Counts(**whole).rows == 2
    with pytest.raises(LogError, match=message):
        Counts(**{**whole, **change})


def test_a_histogram_needs_a_count_for_each_value() -> None:
    with pytest.raises(LogError, match=r"both edges of each bin and as many counts"):
        Histogram([0, 1], [0, 1], [2])
    with pytest.raises(LogError, match="values_low holds a number that is not finite"):
        Histogram([math.nan], [0], [2])


def test_counts_of_version_0_1_still_load() -> None:
    counts = Counts.load(Path(__file__).parents[1] / "data" / "v0_1" / "counts-by-hand.json")
    total = [[1, 0], [0, 2]]
    histogram = Histogram([0, 1], [0, 1], [[[1, 1], [1, 0]], [[0, 0], [1, 2]]])
    names: dict[str, Any] = {"context_names": ["age"], "arm_name": "treatment", "reward_name": "outcome"}
    sums: dict[str, Any] = {"count": [[2, 1], [0, 3]], "total": total, "squares": total}
    dropped = {"missing reward": 2}
    assert counts == Counts(["old", "young"], ["tPA", "watch"], **sums, **names, dropped=dropped, histogram=histogram)


def test_counts_are_copied_whole() -> None:
    counts = mb.logs.read(small_log(), **NAMES)
    for again in (copy.deepcopy(counts), pickle.loads(pickle.dumps(counts))):
        same(again, counts)
        assert again == counts
        with pytest.raises(ValueError, match="read-only"):
            again.count[0, 0] = 7.0
        assert again.histogram is not None
        assert not again.histogram.count.flags.writeable


STARS = pd.DataFrame({"user": ["a"] * 20, "movie": ["x", "y"] * 10, "stars": [1, 2, 3, 4, 5, 3, 4, 5, 3, 4] * 2})


def test_stars_on_the_default_range_say_which_range_to_give() -> None:
    """18 of 20 ratings are above 1; the first of them is a 2 for movie y."""
    with pytest.raises(LogError) as caught:
        mb.logs.read(STARS, context="user", arm="movie", reward="stars")
    assert str(caught.value).splitlines() == [
        "18 of 20 rows (90%) cannot be counted:",
        "  reward above range: 18 rows (90%), such as user='a', movie='y', stars=2.",
        "The rewards of this log go from 1 to 5, and the range is 0 to 1. "
        "If 1 to 5 is their scale, give low=1, high=5; where less is better, as with costs, count their negatives: "
        "write -5 for 5, and give low=-5, high=-1.",
        'Otherwise correct the log, or leave such rows out with on_bad="drop".',
    ]
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.kind, again.seen, again.bad) == ("bad rows", (1.0, 5.0), caught.value.bad)
    assert mb.logs.read(STARS, context="user", arm="movie", reward="stars", low=1, high=5).rows == 20


def test_dropping_more_than_a_twentieth_is_said_loudly() -> None:
    with pytest.warns(
        LogWarning, match=r"18 of 20 rows \(90%\) were dropped: .* go from 1 to 5, .* low=1, high=5"
    ) as said:
        mb.logs.read(STARS, arm="movie", reward="stars", on_bad="drop")
    warning = said[0].message
    assert isinstance(warning, LogWarning)
    assert warning.bad is not None
    assert (warning.bad.share, warning.bad.seen) == (0.9, (1.0, 5.0))
    assert said[0].filename == __file__
    one_in_twenty = STARS.assign(stars=[7, *[1] * 19])
    assert mb.logs.read(one_in_twenty, arm="movie", reward="stars", on_bad="drop").rows == 19  # without a warning


LEVELS = pd.DataFrame(
    {"age": ["under 65", "65 to 74", "100 and over", "75 to 84"], "dose": ["low", "high", "low", "high"]}
)
LEVELS["reward"] = [0, 1, 1, 0]


def test_the_order_of_arms_and_contexts_is_natural_or_given(tmp_path: Path) -> None:
    names: dict[str, Any] = {"context": "age", "arm": "dose", "reward": "reward"}
    counts = mb.logs.read(LEVELS, **names)
    assert counts.contexts == ("under 65", "65 to 74", "75 to 84", "100 and over")
    doses, ages = ["low", "medium", "high"], ["100 and over", "75 to 84", "65 to 74", "under 65", "unknown"]
    LEVELS.to_csv(tmp_path / "log.csv", index=False)
    for source in (LEVELS, tmp_path / "log.csv"):
        given = mb.logs.read(source, **names, arms=doses, contexts=ages)
        assert (given.arms, given.contexts) == (tuple(doses), tuple(ages))
        assert given.count.sum(axis=0).tolist() == [2, 0, 2]
        assert given.count.sum(axis=1).tolist() == [1, 1, 1, 1, 0]
        found = mb.logs.bounds(given)
        assert found["under 65"].arms == tuple(doses)
        assert found["unknown"] == mb.MeanBounds.vacuous(doses)
    with pytest.raises(LogError, match="the log has arms that arms= leaves out: 'high'"):
        mb.logs.read(LEVELS, **names, arms=["low"])
    with pytest.raises(LogError, match="the log has contexts that contexts= leaves out: '65 to 74'"):
        mb.logs.read(LEVELS, **names, contexts=ages[:2] + ages[3:])
    with pytest.raises(LogError, match="arms must be a list of names"):
        mb.logs.read(LEVELS, **names, arms="low")


def test_ordered_categoricals_keep_their_order() -> None:
    names: dict[str, Any] = {"context": "age", "arm": "dose", "reward": "reward"}
    dose = pd.CategoricalDtype(["low", "medium", "high"], ordered=True)
    age = pd.CategoricalDtype(["100 and over", "75 to 84", "65 to 74", "under 65", "unknown"], ordered=True)
    log = LEVELS.astype({"dose": dose, "age": age})
    counts = mb.logs.read(log, **names)
    assert counts.arms == ("low", "medium", "high")
    assert counts.contexts == ("100 and over", "75 to 84", "65 to 74", "under 65")
    assert counts.count.sum(axis=0).tolist() == [2, 0, 2]
    two = mb.logs.read(log.assign(kind="x"), context=["kind", "age"], arm="dose", reward="reward")
    assert two.contexts == tuple(("x", name) for name in counts.contexts)
    assert mb.logs.read(log, **names, arms=["high", "low"]).arms == ("high", "low")
    unordered = LEVELS.astype({"dose": pd.CategoricalDtype(["low", "medium", "high"])})
    assert mb.logs.read(unordered, **names).arms == ("high", "low")


def test_listed_names_of_csv_are_integers_as_those_of_the_log_are(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("z,arm,reward\n1,10,1\n2,9,0\n")
    names: dict[str, Any] = {"context": "z", "arm": "arm", "reward": "reward"}
    for listed in ([9, 10, 11], ["9", "10", "11"]):
        assert mb.logs.read(path, **names, arms=listed, contexts=["2", 1]).arms == (9, 10, 11)
        assert mb.logs.read(path, **names, arms=listed, contexts=["2", 1]).contexts == (2, 1)
    assert mb.logs.read(path, **names, arms=["9", "10", "none"]).arms == ("9", "10", "none")
    assert mb.logs.read(path, arm="arm", reward="reward", arms=[10, 9], contexts=["all"]).arms == (10, 9)
    with pytest.raises(LogError, match="needs one value for each of"):
        mb.logs.read(path, **names, contexts=[(1, 2)])


def test_arms_without_rows_stay_when_counts_are_added_and_saved() -> None:
    one = mb.logs.read(LEVELS, arm="dose", reward="reward", arms=["low", "medium", "high"])
    assert (one + one).arms == ("low", "medium", "high")
    assert (one + one).arms_listed
    assert (one + mb.logs.read(LEVELS, arm="dose", reward="reward")).arms == ("low", "medium", "high")
    again = Counts.from_dict(json.loads(json.dumps(one.to_dict())))
    assert (again.arms, again.arms_listed, again.count.tolist()) == (one.arms, True, [[2, 0, 2]])


@given(st.lists(st.one_of(st.integers(), st.text()), unique_by=lambda name: (type(name), name)))
def test_natural_order_is_an_order(names: list[Any]) -> None:
    ordered = sorted(names, key=mb.logs.natural_order)
    backwards = ordered[::-1]
    assert [str(name) for name in sorted(backwards, key=mb.logs.natural_order)] == [*map(str, ordered)]
    numbers = [name for name in ordered if isinstance(name, int)]
    assert [float(number) for number in numbers] == sorted(map(float, numbers))


def test_sums_do_not_depend_on_the_order_of_a_million_rows() -> None:
    rewards = np.full(1_000_000, 0.1)
    assert abs(rewards.cumsum()[-1] - 1e5) > 1e-7  # what adding one after the other gives
    for histogram in (False, True):
        counts = mb.logs.read(pa_rewards(rewards.tolist()), arm="arm", reward="reward", histogram=histogram)
        assert counts.total[0, 0] == pytest.approx(1e5, rel=1e-15)
        assert counts.squares[0, 0] == pytest.approx(1e4, rel=1e-15)


# Added one after the other, the tenths are off by more than 1e-12.
LOGS = {
    "few": small_log(2_000),
    "many": small_log(2_000, None),
    "tenths": small_log(200_000).assign(rating=0.1, movie=1),
}


def test_spark_counts_as_duckdb_does(spark: Any, tmp_path: Path) -> None:
    for name, log in LOGS.items():
        for histogram in ("auto", True, False):
            mine = mb.logs.read(log, **NAMES, histogram=histogram)
            same(mine, mb.logs.read(log, **NAMES, engine="spark", connection=spark, histogram=histogram))
        (tmp_path / name).mkdir()
        log[:1_000].to_parquet(tmp_path / name / "a b [1].parquet")
        log[1_000:].to_parquet(tmp_path / name / "b'.parquet")
        log.to_csv(tmp_path / f"{name}.csv", index=False, sep=";")
        for source in (tmp_path / name, tmp_path / f"{name}.csv"):
            same(mb.logs.read(source, **NAMES), mb.logs.read(source, **NAMES, engine="spark"))  # the active session
    log, kinds = bad_log()
    log.to_csv(tmp_path / "bad.csv", index=False)
    same(check_bad(tmp_path / "bad.csv", log, kinds, engine="spark"), check_bad(tmp_path / "bad.csv", log, kinds))
    text = small_log().rename(columns={"movie": "back`tick", "rating": "it's {x}"})
    odd: dict[str, Any] = {"context": ["occupation", "row"], "arm": "back`tick", "reward": "it's {x}"}
    mine = mb.logs.read(text, **odd)
    same(mine, mb.logs.read(pl.from_pandas(text), **odd, engine="spark"))
    frame = spark.createDataFrame(pyarrow.Table.from_pandas(text))
    same(mine, mb.logs.read(frame, **odd, engine="spark"))
    frame.createOrReplaceTempView("a_view")
    same(mine, mb.logs.read("a_view", **odd, engine="spark"))
    with pytest.raises(LogError, match='engine="spark"'):
        mb.logs.read(frame, **odd)
    with pytest.raises(LogError, match="Spark cannot read this log"):
        mb.logs.read("no_view", **odd, engine="spark")
    (tmp_path / "ragged.csv").write_text("occupation,movie,rating\na,b,1\na,b,0,7\n")
    with pytest.raises(LogError, match="Spark cannot read this log"):
        mb.logs.read(tmp_path / "ragged.csv", **NAMES, engine="spark")


def test_postgres_counts_as_duckdb_does(postgres: str) -> None:
    import psycopg

    def store(name: str, log: pd.DataFrame, types: str) -> None:
        """A table with the columns of a log."""
        buffer = io.StringIO()
        log.to_csv(buffer, index=False, header=False)
        with psycopg.connect(postgres) as connection, connection.cursor() as cursor:
            cursor.execute(f'CREATE TABLE "{name}" ({types})'.encode())
            with cursor.copy(f'COPY "{name}" FROM STDIN (FORMAT csv)'.encode()) as copy:
                copy.write(buffer.getvalue())

    with psycopg.connect(postgres) as connection:
        for name, log in LOGS.items():
            store(name, log, "occupation text, movie smallint, rating double precision, row bigint")
            for histogram in ("auto", True, False):
                mine = mb.logs.read(log, **NAMES, histogram=histogram)
                same(mine, mb.logs.read(name, **NAMES, engine="postgres", connection=connection, histogram=histogram))
        assert connection.info.transaction_status == 0
        log, kinds = bad_log()
        store("bad", log, "occupation text, movie integer, rating text, row integer")
        bad = check_bad("bad", log, kinds, engine="postgres", connection=postgres)
        text = pyarrow.table({name: pyarrow.array(log[name], from_pandas=True) for name in log})
        same(bad, check_bad(text, log, kinds))
        odd: dict[str, Any] = {"context": ['a "q" %s', "b"], "arm": "it's", "reward": "Rating"}
        log = small_log().rename(columns=dict(zip(small_log(), ['a "q" %s', "it's", "Rating", "b"], strict=True)))
        columns = '"a ""q"" %s" varchar(20), "it\'s" numeric, "Rating" real, b double precision'
        store("Odd one", log, columns)
        read = mb.logs.read("public.Odd one", **odd, engine="postgres", connection=connection)
        same(read, mb.logs.read(log.assign(Rating=log["Rating"].astype(np.float32)), **odd))
        with pytest.raises(LogError, match="PostgreSQL cannot read this log"):
            mb.logs.read("absent", **NAMES, engine="postgres", connection=connection)
        with pytest.raises(LogError, match="no column 'occupation'"):
            mb.logs.read("Odd one", **NAMES, engine="postgres", connection=connection)
        with pytest.raises(LogError, match="leave it out"):
            mb.logs.read(log, **NAMES, engine="postgres", connection=connection)
        assert connection.info.transaction_status == 0


def test_progress_is_shown_while_an_engine_works(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    log = small_log()
    same(mb.logs.read(log, **NAMES, progress=True), mb.logs.read(log, **NAMES, progress=False))
    with pytest.raises(LogError, match="cannot be counted"):
        mb.logs.read(log, **NAMES, high=0.5, progress=True)
    assert capsys.readouterr().err == ""  # it took less than two seconds

    def impatient(total: int, title: str, show: bool) -> Progress:
        return Progress(total, title, show, patience=-1.0)

    monkeypatch.setattr(engines, "Progress", impatient)
    shares = iter([0.25, 0.5, 1.0])

    def slow() -> int:
        import time

        time.sleep(0.35)
        return 7

    assert engines._watched(slow, True, lambda: next(shares, 1.0)) == 7
    assert re.fullmatch(r"counting \S+ +\d+% \S+ left\n", capsys.readouterr().err)
    assert engines._watched(slow, True) == 7
    assert re.fullmatch(r"counting \d:\d\d:\d\d\n", capsys.readouterr().err)


def test_reading_of_logs_is_light_until_it_is_used() -> None:
    import subprocess
    import sys

    heavy = "{'duckdb', 'pandas', 'pyarrow', 'pyspark', 'polars', 'psycopg'}"
    code = f"import sys, meanbounds as mb; mb.logs.Counts; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_gzipped_text_with_a_mark_in_front(tmp_path: Path) -> None:
    log = small_log()
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + log.to_csv(index=False).encode()))
    same(mb.logs.read(path, **NAMES), mb.logs.read(log, **NAMES))
