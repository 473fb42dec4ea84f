"""Trees that grow on half of a log, and counts of the other half: the same in all engines, and never dishonest."""

import math
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from scipy.stats import binom

from meanbounds import logs
from meanbounds.agents.tree import Split, Tree
from meanbounds.logs import Counts, LogError, LogWarning
from meanbounds.logs.growing import grow
from tests.logs.engines import in_engine

NAN, INF = math.nan, math.inf
TYPES: dict[str, tuple[str, list[Any]]] = {  # of columns, and values that are not as nice as they should be
    "age": ("text", ["75", " 80 ", "7.4e1", "74.999", "NA", "none", "", None, "yes", "old", "1_0", "-3"]),
    "weight": ("float", [50.0, 49.999999999999993, 0.1, -0.0, NAN, INF, -INF, None, 1e300]),
    "visits": ("whole", [0, 1, 2, 3, -1, 2**53 + 1, None]),
    "dose": ("decimal", [Decimal("0.10"), Decimal("0.30"), Decimal("12.50"), None]),
    "smoker": ("boolean", [True, False, None]),
    "clinic": ("text", ["a", "A", "a ", "b'c", "d\\e", "d\\\\e", 'x"y`z', "ü%s", "NA", " ", "", None, "new"]),
    "arm": ("text", []),
    "reward": ("float", []),
}
CLINICS = Split("clinic", left=("a", "d\\e", "ü%s"), right=("A", "b'c", 'x"y`z'), missing="right")
TREE = Tree(
    (
        *(CLINICS, Split("age", 75.0, missing="left"), Split("weight", 50.0, missing="right"), None, None),
        *(Split("dose", 0.3), None, None),
        *(Split("visits", 2.0, missing="left"), Split("smoker", left=("true",), right=("false",)), None, None),
        *(Split("weight", missing="left"), None, Split("weight", 0.1), None, Split("age", 1.0), None, None),
    )
)


def dirty_rows(size: int) -> list[dict[str, Any]]:
    random = np.random.default_rng(7)
    columns = {name: [own[k] for k in random.integers(0, len(own), size)] for name, (_, own) in TYPES.items() if own}
    columns |= {"arm": [f"arm {row}" for row in range(size)], "reward": [1.0] * size}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
def test_engines_find_the_leaves_that_the_tree_finds(engine: str, request: pytest.FixtureRequest) -> None:
    rows = dirty_rows(400)
    values = [tuple(row[name] for name in TYPES) for row in rows]
    with in_engine(engine, request, {name: kind for name, (kind, _) in TYPES.items()}, values) as (source, connection):
        counts = logs.read(source, connection=connection, context=TREE)
    assert counts.contexts == TREE.contexts
    assert counts.columns == TREE.columns
    assert counts.tree == TREE
    place = {arm: k for k, arm in enumerate(counts.arms)}
    found = [counts.contexts[int(counts.count[:, place[row["arm"]]].argmax())] for row in rows]
    assert found == [leaf_of(row) for row in rows]
    assert len(set(found)) > len(TREE.contexts) - 4


def leaf_of(row: dict[str, Any]) -> str:
    try:
        return TREE.leaf(row)
    except ValueError as error:
        return str(error).replace("age must be a number", "unknown: age")[:12]


def a_log(size: int, seed: int, columns: int = 3) -> dict[str, Any]:
    """Experts who choose by age from 60 on, and by severity, beside columns that say nothing."""
    random = np.random.default_rng(seed)
    log: dict[str, Any] = {"age": random.integers(20, 90, size), "severity": random.choice(["low", "high"], size)}
    log |= {f"noise {k}": random.random(size) for k in range(columns)}
    old = (log["age"] >= 60) & (log["severity"] == "high")
    log["arm"] = np.where(random.random(size) < np.where(old, 0.8, 0.3), "treat", "wait")
    log["reward"] = (random.random(size) < np.where((log["arm"] == "treat") == old, 0.7, 0.4)).astype(float)
    return log


COLUMNS = ["noise 0", "age", "severity", "noise 1", "noise 2"]


def test_a_split_that_is_there_is_found_and_counted_on_the_other_half(tmp_path: Path) -> None:
    log = a_log(20_000, 1)
    counts = logs.partition(log, COLUMNS)
    assert sorted(map(str, counts.contexts[:3])) == [
        "age < 60",
        "age >= 60 and severity = high",
        "age >= 60 and severity = low",
    ]
    whole = logs.read(log, context=counts.tree)
    assert whole.rows == 20_000
    half = counts.count / np.maximum(whole.count, 1)
    assert 9_500 < counts.rows < 10_500  # 7 standard deviations
    assert np.all((half > 0.4) & (half < 0.6) | (whole.count < 1000))
    counts.save(tmp_path / "counts.json")
    again = Counts.load(tmp_path / "counts.json")
    assert again == counts
    assert again.tree == counts.tree
    assert (again + counts).tree == counts.tree
    assert counts.select(counts.contexts[:1]).tree is None
    with pytest.raises(LogError, match="differ in columns"):
        counts + logs.partition(log, COLUMNS, leaves=2)
    assert len(logs.partition(log, COLUMNS, leaves=2).contexts) == 3
    with pytest.raises(ValueError, match="must be those of the tree, in its order"):
        Counts.from_dict({**counts.to_dict(), "contexts": [*counts.contexts[::-1]]})


def test_logs_of_noise_stay_whole() -> None:
    """If a tree splits noise in 5% of logs at most, this fails with a probability below 1e-6."""
    split = 0
    for seed in range(400):
        random = np.random.default_rng(seed)
        x = random.random((1000, 3))
        x[:100, 0] = NAN
        categories = [*map(str, random.integers(0, 8, 1000))]
        arms, rewards = random.integers(0, 3, 1000), random.integers(0, 2, 1000).astype(float)
        tree = grow({"a": x[:, 0], "b": x[:, 1], "c": np.round(5 * x[:, 2]), "d": categories}, arms, rewards)
        split += len(tree.nodes) > 1
    assert split <= binom.isf(1e-6, 400, 0.05)


def sources(log: dict[str, Any], folder: Path) -> dict[str, Any]:
    """One log in several ways, each with numbers of its rows."""
    frame = pytest.importorskip("pandas").DataFrame(log)
    for name, rows in (("whole", frame), ("part 1", frame[:1000]), ("part 2", frame[1000:])):
        rows.to_csv(folder / f"{name}.csv", index=False)
        duckdb.from_df(rows).write_parquet(str(folder / f"{name}.parquet"))
    with duckdb.connect(str(folder / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE visits AS FROM frame")
    return {
        **{"memory": log, "frame": frame, "csv": folder / "whole.csv", "parquet": folder / "whole.parquet"},
        **{"files": folder / "part*.parquet", "csv files": folder / "part*.csv"},
    }


def test_equal_rows_are_in_both_halves_and_halves_stay_the_same(tmp_path: Path) -> None:
    size = 4000
    log = {"age": [50.0] * size, "arm": ["a"] * size, "reward": [1] * size}
    rows: dict[str, float] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogWarning)
        for name, source in sources(log, tmp_path).items():
            rows[name] = logs.partition(source, ["age"]).rows
            assert 1700 < rows[name] < 2300  # 9 standard deviations
            assert logs.partition(source, ["age"]).rows == rows[name]
        table = logs.partition("visits", ["age"], connection=tmp_path / "a.duckdb").rows
        assert len({rows["memory"], rows["frame"], rows["csv"], rows["parquet"], table}) == 1
        seeds = [logs.partition(log, ["age"], seed=seed).rows for seed in range(20)]
    assert len(set(seeds)) > 10


def test_what_is_counted_never_moves_the_tree() -> None:
    log = a_log(6000, 3)
    half = {**log, "arm": [f"{arm} {row}" for row, arm in enumerate(log["arm"])]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogWarning)
        shown = logs.partition(half, ["age"], rows_per_leaf=3001)
    counted = [int(str(arm).split()[1]) for arm, rows in zip(shown.arms, shown.count.sum(axis=0), strict=True) if rows]
    assert 2700 < len(counted) < 3300
    first = logs.partition(log, COLUMNS)
    assert first.tree is not None
    for name, other in (("age", 1e9), ("noise 1", NAN), ("severity", "none of them"), ("reward", 0.0), ("arm", "wait")):
        changed = {**log, name: np.array(log[name], dtype=object if isinstance(other, str) else float)}
        changed[name][counted] = other
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LogWarning)
            again = logs.partition(changed, COLUMNS)
        assert again.tree == first.tree
        rows = [first.tree.leaf({column: changed[column][row] for column in COLUMNS}) for row in counted]
        assert again.count.sum(axis=1).tolist() == [rows.count(str(context)) for context in again.contexts]


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
def test_all_rows_of_a_unit_are_in_one_half(engine: str, request: pytest.FixtureRequest) -> None:
    rows = [(row % 300, row % 7, f"patient {row % 300}", row % 2) for row in range(1200)]
    asked: dict[str, Any] = {"columns": ["x"], "unit": "patient", "rows_per_leaf": 1200}
    columns = {"patient": "whole", "x": "whole", "arm": "text", "reward": "whole"}
    with in_engine(engine, request, columns, rows) as (source, connection):
        view: Any = source
        if engine != "spark":
            view = "a_view"
            connection.execute("CREATE VIEW a_view AS SELECT * FROM a_log")
            connection.commit()
            by_row = logs.partition(source, ["x"], connection=connection, rows_per_leaf=1200)
            assert 400 < by_row.rows < 800
            assert set(by_row.count.sum(axis=0)) > {0, 4}
        with pytest.raises(LogError, match="no numbers that stay: give unit="):
            logs.partition(view, ["x"], connection=connection)
        counts = logs.partition(view, **asked, connection=connection)
    assert counts.contexts == ("all cases",)
    assert set(counts.count[0]) == {0, 4}
    assert counts.rows == 628  # the same in all engines


def test_texts_that_are_numbers_are_split_as_numbers(tmp_path: Path) -> None:
    log = a_log(8000, 5)
    log["age"] = [f"{age},5" for age in log["age"]]
    log["age"][::10] = [""] * 800
    pytest.importorskip("pandas").DataFrame(log).to_csv(tmp_path / "log.csv", index=False)
    counts = logs.partition(tmp_path / "log.csv", ["age", "severity"])
    assert counts.tree is not None
    assert {node.column: node.numeric for node in counts.tree.nodes if node} == {"age": True, "severity": False}
    whole = logs.read(tmp_path / "log.csv", context=counts.tree)
    found = [
        counts.tree.leaf({"age": age, "severity": own}) for age, own in zip(log["age"], log["severity"], strict=True)
    ]
    assert [found.count(str(name)) for name in whole.contexts] == whole.count.sum(axis=1).tolist()


def test_bounds_by_a_tree_of_noise_hold_where_they_are_attained() -> None:
    """Bounds that hold with probability 0.5 at least fail more often than this with a probability below 1e-6."""
    shares, means = np.array([0.5, 0.3, 0.2]), np.array([0.5, 0.3, 0.7])
    failed = leaves = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        log: dict[str, Any] = {f"noise {k}": random.random(1200) for k in range(12)}
        log["arm"] = random.choice(3, 1200, p=shares)
        log["reward"] = (random.random(1200) < means[log["arm"]]).astype(float)
        counts = logs.partition(log, [f"noise {k}" for k in range(12)], p=math.inf, leaves=8, rows_per_leaf=20)
        leaves += len(counts.contexts)
        low, high = shares * means, shares * means + 1.0 - shares
        found = logs.bounds(counts, confidence=0.5).values()
        failed += any(np.any(own.lower[:3] > low) or np.any(own.upper[:3] < high) for own in found)
    assert leaves > 300
    assert failed <= binom.isf(1e-6, 40, 0.5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"columns": []}, "columns must be at least one name"),
        ({"columns": ["ages"]}, "unknown column 'ages', did you mean 'age'"),
        ({"columns": ["age", "arm"]}, "must be different columns"),
        ({"columns": "age"}, "columns must be a list"),
        ({"p": 0.0}, "p above 0"),
        ({"leaves": 0}, "leaves must be a whole number"),
        ({"columns": ["name"]}, "'name' has more than 1,000 different texts, such as 'name "),
        ({"columns": ["day"]}, "'day' is neither numbers nor texts"),
        ({"columns": ["written"]}, "'written' holds dates, such as '2024-0"),
        ({"unit": "familie"}, "unknown column 'familie', did you mean 'family'"),
        ({"unit": "family"}, r"'family' is missing in 3 of 3,000 rows"),
        ({"high": 0.5}, "reward above range: .*, such as leaf of the tree='"),
    ],
)
def test_what_is_refused(change: dict[str, Any], said: str) -> None:
    log = pytest.importorskip("pandas").DataFrame(a_log(3000, 2))
    log["name"] = [f"name {row}" for row in range(3000)]
    log["family"] = [None] * 3 + ["a", "b", "c"] * 999
    log["day"] = np.datetime64("2024-01-01") + np.arange(3000).astype("timedelta64[h]")
    log["written"] = log["day"].dt.strftime("%Y-%m-%d")
    with pytest.raises((LogError, ValueError, TypeError), match=said):
        logs.partition(log, **{"columns": ["age"], **change})


def test_a_split_that_only_parts_missing_numbers_says_so() -> None:
    row = np.arange(4000)
    lab = np.where(row % 5 == 0, np.nan, row % 97)  # where it is low, only missing ones are treated otherwise
    choice = np.where(np.isnan(lab), row // 5 % 5 == 0, lab >= 50)
    log = {"lab": [None if value != value else float(value) for value in lab], "arm": choice.astype(int).tolist()}
    counts = logs.partition({**log, "reward": [0] * 4000}, ["lab"])
    assert counts.contexts == ("lab missing", "lab < 50", "lab >= 50", "unknown: lab")
