"""Rows that stand for several, and windows of time: every engine counts what a loop counts, and reports the rest."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta, timezone
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import meanbounds as mb
from meanbounds.logs import LogError, LogWarning

pyarrow: Any = import_module("pyarrow")
parquet: Any = import_module("pyarrow.parquet")

START = datetime(2024, 1, 1)
NAMES: dict[str, Any] = {"context": "z", "arm": "arm"}
TYPES = {
    "z": "bigint",
    "arm": "text",
    "few": "double precision",
    "any_number": "double precision",
    "cases": "bigint",
    "portion": "double precision",
    "written": "text",
    "week": "double precision",
    "day": "date",
    "moment": "timestamp",
    "zoned": "timestamptz",
    "iso": "text",
    "number": "text",
}


def made(rows: int = 400) -> pd.DataFrame:
    """A log whose last rows have bad weights and times."""
    draw = np.random.default_rng(8)
    hours = draw.integers(0, 24 * 60, rows)
    moment = [START + timedelta(hours=int(hour)) for hour in hours]
    log = pd.DataFrame(
        {
            "z": draw.integers(0, 4, rows),
            "arm": draw.choice(["a", "b", "c"], rows),
            "few": draw.integers(0, 3, rows) / 2.0,
            "any_number": draw.random(rows),
            "cases": draw.integers(0, 5, rows),
            "portion": draw.integers(0, 9, rows) / 4.0,
            "written": [f" {weight}.0" for weight in draw.integers(0, 5, rows)],
            "week": hours / 168.0,
            "day": [time.date() for time in moment],
            "moment": moment,
            "zoned": [time.replace(tzinfo=UTC) for time in moment],
            "iso": [time.strftime(("%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S.0Z")[i % 2]) for i, time in enumerate(moment)],
            "number": [f"{hour:.1f}" for hour in hours],
        }
    ).astype({"written": object, "iso": object, "number": object})
    log.loc[rows - 3 :, "portion"] = [math.nan, -1.0, math.inf]
    log.loc[rows - 3 :, "written"] = [None, "x", "-2"]
    for column in ("week", "day", "moment", "zoned", "iso", "number"):
        log.loc[rows - 2, column] = None
    log.loc[rows - 1, ["iso", "number"]] = ["30.06.2024", "noon"]
    return log


LOG = made()


def as_it_is(column: Any) -> Any:
    """An array of Arrow; pandas itself would write NaN as missing."""
    return pyarrow.array(column.to_numpy() if column.dtype == np.float64 else column)


@contextmanager
def opened(engine: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """The log in an engine, as arguments of `read`."""
    times = {"moment": "datetime64[us]", "zoned": "datetime64[us, UTC]"}
    if engine == "duckdb":
        yield {"source": LOG.astype(times)}
    elif engine == "spark":
        table = pyarrow.table({name: as_it_is(column) for name, column in LOG.astype(times).items()})
        parquet.write_table(table, folder / "log.parquet")
        yield {"source": folder / "log.parquet", "engine": "spark", "connection": request.getfixturevalue("spark")}
    else:
        import psycopg

        rows = [tuple(None if value is pd.NaT else value for value in row) for row in LOG.itertuples(index=False)]
        columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
        with psycopg.connect(request.getfixturevalue("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE TABLE windows ({columns})".encode())
            places = ", ".join(["%s"] * len(TYPES))
            with connection.cursor() as cursor:
                cursor.executemany(f"INSERT INTO windows VALUES ({places})".encode(), rows)
            yield {"source": "windows", "engine": "postgres", "connection": connection}
            connection.execute("DROP TABLE windows")


def weight_of(written: Any) -> tuple[str, float]:
    """The kind of a bad weight, empty for a good one, and the weight."""
    if written is None:
        return "missing weight", 0.0
    try:
        weight = float(written)
    except ValueError:
        return "weight is not a number", 0.0
    if math.isnan(weight):
        return "weight is not a number", 0.0
    return ("", weight) if 0.0 <= weight < math.inf else ("weight is negative or infinite", 0.0)


def time_of(column: str, written: Any) -> tuple[str, Any]:
    """The kind of a bad time, empty for a good one, and the time as a number or without a zone."""
    if written is None or written is pd.NaT or written != written:
        return "missing time", None
    try:
        if column in ("week", "number"):
            return "", float(written)
        time = datetime.fromisoformat(written) if column == "iso" else pd.Timestamp(written)
    except ValueError:
        return "time cannot be read", None
    return "", time.replace(tzinfo=None)


def by_a_loop(
    reward: str, weight: str | None, time: str | None, inside: Callable[[Any], bool]
) -> tuple[dict[Any, list[tuple[float, float]]], Counter[str]]:
    """Rewards and weights of each cell, and the bad rows by kind."""
    cells, kinds = defaultdict(list), Counter[str]()
    for row in LOG.to_dict("records"):
        when = ("", None) if time is None else time_of(time, row[time])
        if not when[0] and time is not None and not inside(when[1]):
            continue
        heavy = ("", 1.0) if weight is None else weight_of(row[weight])
        if kind := heavy[0] or when[0]:
            kinds[kind] += 1
        elif heavy[1]:
            cells[row["z"], row["arm"]].append((row[reward], heavy[1]))
    return cells, kinds


def everything(_: Any) -> bool:
    return True


FROM, TO = datetime(2024, 1, 9), datetime(2024, 2, 3, 12)
WINDOWS: dict[str, tuple[str, Any, Any, Callable[[Any], bool]]] = {
    "number": ("week", 2, 5.25, lambda t: 2 <= t < 5.25),
    "text that is numbers": ("number", "100", None, lambda t: t >= 100),
    "day": ("day", "2024-01-09", date(2024, 2, 3), lambda t: FROM <= t < datetime(2024, 2, 3)),
    "time": ("moment", FROM, "2024-02-03T12:00", lambda t: FROM <= t < TO),
    "time of numpy": ("moment", None, np.datetime64("2024-02-03T12"), lambda t: t < TO),
    "time zone": ("zoned", pd.Timestamp(FROM), None, lambda t: t >= FROM),
    "another time zone": (
        "zoned",
        FROM.replace(tzinfo=timezone(timedelta(hours=9))),
        TO.replace(tzinfo=UTC),
        lambda t: FROM - timedelta(hours=9) <= t < TO,
    ),
    "text that is times": ("iso", "2024-01-09", "2024-02-03 12:00", lambda t: FROM <= t < TO),
}
CASES: dict[str, tuple[str, str | None, Any, str | None]] = {
    "weights, few rewards": ("few", "cases", "auto", None),
    "weights, any rewards": ("any_number", "cases", "auto", None),
    "weights, bins": ("any_number", "cases", True, None),
    "weights that are parts": ("few", "portion", "auto", None),
    "weights as text, in a window": ("any_number", "written", False, "text that is times"),
    "weights and window, few rewards": ("few", "cases", True, "time"),
    **{f"window by {name}": ("few", None, "auto", name) for name in WINDOWS},
}
SLOW = ("bins", "window, few rewards", "by number", "numpy", "by time zone")  # Spark, which is slow, leaves them out


@pytest.mark.parametrize("engine", ["duckdb", "spark", "postgres"])
def test_engines_count_as_a_loop_does(engine: Any, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with opened(engine, tmp_path, request) as arguments:
        source = arguments.pop("source")
        for name, (reward, weight, histogram, window) in CASES.items():
            if engine == "spark" and name.endswith(SLOW):
                continue
            time, since, until, inside = WINDOWS[window] if window else (None, None, None, everything)
            cells, kinds = by_a_loop(reward, weight, time, inside)
            options = {"weight": weight, "time": time, "since": since, "until": until, "histogram": histogram}
            counts = mb.logs.read(source, **NAMES, reward=reward, on_bad="drop", **options, **arguments)
            assert dict(counts.dropped) == kinds, name
            assert counts.weight_name == weight
            assert counts.whole_weights == (weight != "portion")
            for z, context in enumerate(counts.contexts):
                for k, arm in enumerate(counts.arms):
                    own = cells.get((context, arm), [])
                    expected = [math.fsum(w * r**power for r, w in own) for power in range(3)]
                    found = [array[z, k] for array in (counts.count, counts.total, counts.squares)]
                    assert found == pytest.approx(expected, rel=1e-14, abs=0), name
                    if counts.histogram is not None:
                        assert counts.histogram.count[z, k].sum() == expected[0]
            assert counts.rows == round(sum(w for own in cells.values() for _, w in own))
            if engine == "duckdb" and kinds:
                with pytest.raises(LogError, match="cannot be counted") as caught:
                    mb.logs.read(source, **NAMES, reward=reward, **options, **arguments)
                assert caught.value.bad is not None
                assert dict(caught.value.bad.kinds) == kinds


@pytest.mark.parametrize("reward", ["few", "any_number"])
@pytest.mark.parametrize("histogram", [True, False])
@pytest.mark.parametrize("method", ["bernstein", "kl", "betting"])
def test_whole_weights_are_repeated_rows(reward: str, histogram: bool, method: str) -> None:
    repeated = LOG.loc[LOG.index.repeat(LOG["cases"])]
    weighted = mb.logs.read(LOG, **NAMES, reward=reward, weight="cases", histogram=histogram)
    plain = mb.logs.read(repeated, **NAMES, reward=reward, histogram=histogram)
    assert (weighted.contexts, weighted.arms) == (plain.contexts, plain.arms)
    np.testing.assert_array_equal(weighted.count, plain.count)
    np.testing.assert_allclose(weighted.total, plain.total, rtol=1e-14)
    if histogram:
        assert weighted.histogram is not None
        assert plain.histogram is not None
        np.testing.assert_array_equal(weighted.histogram.count, plain.histogram.count)
    elif method == "betting":
        return
    for assumption in (mb.logs.AnyExpert(), mb.logs.ErringExpert(0.1, gap_low=0.01)):
        one, two = (mb.logs.bounds(counts, assumption, method=method) for counts in (weighted, plain))
        for context, own in one.items():
            np.testing.assert_allclose(own.lower, two[context].lower, atol=1e-12)
            np.testing.assert_allclose(own.upper, two[context].upper, atol=1e-12)


def test_weights_that_are_parts_have_no_confidence() -> None:
    halves = LOG.assign(half=LOG["cases"] / 2.0)
    counts = mb.logs.read(halves, **NAMES, reward="few", weight="half")
    doubled = mb.logs.read(LOG, **NAMES, reward="few", weight="cases")
    assert mb.logs.bounds(counts, infinite=True).keys() == mb.logs.bounds(doubled, infinite=True).keys()
    for context, own in mb.logs.bounds(counts, infinite=True).items():
        np.testing.assert_allclose(own.upper, mb.logs.bounds(doubled, infinite=True)[context].upper)
    even = halves[halves["cases"] % 2 == 1].iloc[:2]  # their sum is whole, they are not
    for wrong in (
        counts,
        counts + doubled,
        mb.logs.read(pd.concat([even] * 2), arm="arm", reward="few", weight="half"),
    ):
        with pytest.raises(mb.BoundsError, match=r"weights of column 'half' are not whole numbers.* infinite=True"):
            mb.logs.bounds(wrong, arms=["a", "b", "c"])
    again = mb.logs.Counts.from_dict(counts.to_dict())
    assert again == counts
    assert (again.weight_name, again.whole_weights) == ("half", False)
    assert "weight_name" not in mb.logs.read(LOG, **NAMES, reward="few").to_dict()


def test_rows_without_a_time_are_said_loudly() -> None:
    log = LOG.assign(week=LOG["week"].where(LOG.index % 5 != 0))
    with pytest.warns(LogWarning, match="missing time, 80 rows"):
        mb.logs.read(log.iloc[:-2], **NAMES, reward="few", time="week", since=1, on_bad="drop")


def test_the_time_may_be_a_column_of_the_context() -> None:
    log = LOG.iloc[:-3]
    found = mb.logs.read(log, **NAMES, reward="few", time="z", since=1, until=3)
    assert found.contexts == (1, 2)
    inside = log[(log["z"] >= 1) & (log["z"] < 3)]
    assert found.rows == len(inside)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"since": 3}, "need time=, the column"),
        ({"time": "week"}, "needs since=, until= or both"),
        ({"time": "week", "since": 3, "until": 3}, "since=3 is not before until=3"),
        ({"time": "week", "since": 3, "until": "2024-01-01"}, "two numbers, two dates"),
        ({"time": "zoned", "since": FROM, "until": TO.replace(tzinfo=UTC)}, "two numbers, two dates"),
        ({"time": "week", "since": "soon"}, "since must be a number, or a date"),
        ({"time": "week", "since": True}, "since must be a number, or a date"),
        ({"time": "week", "until": math.nan}, "until must be a number, or a date"),
        ({"time": "week", "until": [1]}, "until must be a number, or a date"),
        ({"time": "week", "since": "2024-01-01"}, "'week' is of type DOUBLE; give since= and until= as numbers"),
        ({"time": "day", "since": 5}, "'day' is of type DATE; give since= and until= as dates"),
        ({"time": "moment", "since": FROM.replace(tzinfo=UTC)}, "without a time zone; give"),
        ({"time": "number", "since": FROM, "on_bad": "drop"}, "no rows from since= on .* left that can be counted"),
        ({"time": "week", "since": 500}, "no rows from since= on and before until="),
        ({"time": "nowhen", "since": 5}, "no column 'nowhen'"),
        ({"time": "arm", "since": 5}, "'arm' is given twice"),
        ({"weight": "day"}, "'day' is of type DATE; weights must be numbers"),
        ({"weight": "z"}, "'z' is given twice; context, arm, weight and reward"),
        ({"weight": 5}, "names of columns; got 5"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LogError, match=message):
        mb.logs.read(LOG.iloc[:-3], **NAMES, reward="few", **options)
