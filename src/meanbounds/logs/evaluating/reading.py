"""Read decisions one by one: from tables, and from the lines that ``meanbounds decide`` and ``reward`` write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from meanbounds.logs.engines import ENGINES, Log, open_log
from meanbounds.logs.errors import LogError
from meanbounds.logs.evaluating.columns import from_arrow
from meanbounds.logs.evaluating.events import Columns, Events
from meanbounds.logs.evaluating.lines import Lost, as_path, json_lines, named_in_lines
from meanbounds.logs.reading import Time
from meanbounds.logs.sources import Files, Frame, find_source
from meanbounds.support.checks import check_choice, shown

__all__ = ["as_names", "read_events"]

_CONTEXT = "context"
_PASSED_OVER = ("agent", "cancel")  # which agent a journal is of, and that no reward will come of a decision


def read_events(
    source: Any,
    *,
    context: str | Sequence[str] | None = _CONTEXT,
    arm: str = "arm",
    reward: str = "reward",
    probability: str | None = "probability",
    decider: str | None = None,
    time: str | None = None,
    since: Time | None = None,
    until: Time | None = None,
    low: float = 0.0,
    high: float = 1.0,
    on_bad: Literal["error", "drop"] = "error",
    engine: Literal["duckdb", "spark", "postgres"] = "duckdb",
    connection: Any = None,
    network: bool = False,
    progress: bool | None = None,
) -> Events:
    r"""Read the decisions of a log one by one, with the probability of each.

    Parameters
    ----------
    source
        What `meanbounds.logs.read` takes: a Parquet or CSV file, a folder or pattern of them, a pandas, Polars or Arrow
        table, or a table of a database. Or a file with a JSON object in each line (``.jsonl``, ``.ndjson``, ``.json``):
        one with all fields for each decision, or a line for the decision and a later one for its reward, as
        ``meanbounds decide`` and ``meanbounds reward`` write them.
    context, arm, reward, probability
        Columns of the context (several, or None for a log without contexts), the arm, the reward, and the probability
        with which this arm was chosen. An empty reward has not come yet: the row is pending. ``probability=None`` if
        the log has none; then only those who decided can be evaluated.
    decider
        Column that says who decided, an agent or a person. Where a person decided, the probability may be empty.
    time
        Column by which the rows are sorted; without it they count in the order in which they are stored. Tables of
        Spark and PostgreSQL have no order, and need it.
    since, until
        Take only the rows from this time on, and before that one: a number, or a date such as ``"2024-06-30"``.
    low, high
        The range of the rewards.
    on_bad
        ``"error"`` lists rows that cannot be used by kind, ``"drop"`` leaves them out and counts them.
    engine, connection, network, progress
        As for `meanbounds.logs.read`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import meanbounds as mb
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "events.jsonl"
    >>> _ = path.write_text(
    ...     '{"kind": "decision", "id": 1, "context": "old", "arm": "tPA", "probability": 0.8}\n'
    ...     '{"kind": "decision", "id": 2, "context": "old", "arm": "watch", "probability": 0.2}\n'
    ...     '{"kind": "reward", "id": 1, "reward": 1.0}\n'
    ... )
    >>> mb.logs.read_events(path)
    Events(2 rows, 1 pending, 1 context, 2 arms, rewards in [0.0, 1.0])
    """
    names = as_names("context", context)
    columns = {"arm": arm, "reward": reward, "probability": probability, "decider": decider, "time": time}
    for name, column in columns.items():
        if column is None and name in ("probability", "decider", "time"):
            continue
        if not isinstance(column, str) or not column or "\0" in column:
            raise LogError(f"{name} is the name of a column; got {shown(column)}")
    if isinstance(source, Events):
        raise LogError("these are events already; give them as they are")
    if (since is not None or until is not None) and time is None:
        raise LogError("since= and until= need time=, the column that says when each row was written")
    check_choice("engine", engine, ENGINES)
    path = as_path(source)
    if engine == "duckdb" and path is not None and named_in_lines(path):
        found = _from_lines(path, names, arm, reward, probability, decider, time)
    else:
        found = _from_table(source, names, columns, engine, connection, network, progress)
    return Events.of(found, since, until, low, high, on_bad)


def as_names(what: str, given: Any) -> tuple[str, ...]:
    """Names of columns: one, several or none.

    Examples
    --------
    >>> from meanbounds.logs.evaluating.reading import as_names
    >>> as_names("context", "age"), as_names("context", ["age", "ward"]), as_names("context", None)
    (('age',), ('age', 'ward'), ())
    """
    listed = () if given is None else (given,) if isinstance(given, str) else given
    try:
        names = tuple(listed)
    except TypeError:
        names = (None,)
    if not all(isinstance(name, str) and name and "\0" not in name for name in names):
        raise LogError(f"{what} is the name of a column, or several; got {shown(given)}")
    if len(set(names)) < len(names):
        raise LogError(f"{what} names a column twice: {shown(given)}")
    return names


# ---------------------------------------------------------------------------------------------------------- tables


def _from_table(
    source: Any,
    context: tuple[str, ...],
    columns: dict[str, Any],
    engine: str,
    connection: Any,
    network: bool,
    progress: bool | None,
) -> Columns:
    given = {name: column for name, column in columns.items() if column is not None}
    wanted = list(dict.fromkeys((*context, *given.values())))
    if engine != "duckdb" and "time" not in given:
        raise LogError(f'rows of engine="{engine}" have no order: give time=, the column of when each was decided')
    if engine == "postgres" and connection is None:
        raise LogError('engine="postgres" needs connection=, a connection of psycopg or a connection string')
    found = find_source(source, connection is not None or engine == "spark", network)
    numbers = [given[name] for name in ("reward", "probability") if name in given]
    if isinstance(found, Frame) and engine == "duckdb":
        by_name = _columns(found.arrow(wanted, numbers), wanted)
    else:
        with open_log(engine, found, connection, wanted, numbers, progress, network, ordered=True) as log:
            listed = ", ".join(log.dialect.name(name) for name in wanted)
            by_name = _fetched(log, f"SELECT {listed} FROM {log.table}", wanted)
    own = {name: by_name[column] for name, column in given.items()}
    untyped = isinstance(found, Files) and found.format == "csv"
    more = {name: own.get(name) for name in ("probability", "decider", "time")}
    contexts = [by_name[name] for name in context]
    return Columns(contexts, own["arm"], own["reward"], **more, names=context, untyped=untyped)


def _fetched(log: Log, sql: str, wanted: Sequence[str]) -> dict[str, Any]:
    if log.arrow is not None:
        return _columns(log.arrow(sql), wanted)
    parts: dict[str, list[Any]] = {name: [] for name in wanted}
    for batch in log.batches(sql):
        for name, values in zip(wanted, batch, strict=True):
            parts[name].extend(values)
    return dict(parts)


def _columns(table: Any, wanted: Sequence[str]) -> dict[str, Any]:
    return {name: from_arrow(column) for name, column in zip(wanted, table.columns, strict=True)}


# ----------------------------------------------------------------------------------------------------------- lines


def _from_lines(
    path: str,
    context: tuple[str, ...],
    arm: str,
    reward: str,
    probability: str | None,
    decider: str | None,
    time: str | None,
) -> Columns:
    """Decisions and rewards, joined by their id; lines without a kind have all of it."""
    lost = Lost()
    fields = (*context, arm, reward, *(name for name in (probability, decider, time) if name is not None))
    parts: dict[str, list[Any]] = {name: [] for name in fields}
    by_id: dict[Any, int] = {}
    rewards: list[tuple[str, int, Any, Any]] = []
    present: set[str] = set()
    first: list[str] = []
    rows = 0
    for file, number, line in json_lines(path, lost):
        kind = line.get("kind", "decision")
        if kind == "reward":
            rewards.append((file, number, line.get("id"), line.get(reward)))
            continue
        if kind in _PASSED_OVER:
            continue
        known = _key(line.get("id"))
        if kind != "decision":
            lost.add("line of another kind than decision and reward", file, number, line)
        elif "kind" in line and known is not None and known in by_id:
            lost.add("decision with an id that came before", file, number, line)
        else:
            if known is not None:
                by_id[known] = rows
            for name, part in parts.items():
                part.append(line.get(name))
            if len(present) < len(parts):
                present.update(line)
                first = first or list(line)
            rows += 1
    if context == (_CONTEXT,) and _CONTEXT not in present:  # as an agent without contexts writes it
        context = ()
    _check_fields(path, rows, present, first, context, {"arm": arm, "probability": probability})
    _add_rewards(parts[reward], rewards, by_id, lost)
    contexts = [parts[name] for name in context]
    if len(contexts) == 1 and all(value is None for value in contexts[0]):
        contexts, context = [], ()
    if len(contexts) == 1:
        contexts = _spread(contexts[0])
    chance, who, when = (None if name is None else parts[name] for name in (probability, decider, time))
    return Columns(contexts, parts[arm], parts[reward], chance, who, when, context, lost.kinds, lost.examples)


def _add_rewards(
    outcome: list[Any], rewards: Sequence[tuple[str, int, Any, Any]], by_id: Mapping[Any, int], lost: Lost
) -> None:
    """Write each reward into the row of its decision."""
    came: set[int] = set()
    for file, number, known, reward in rewards:
        place = by_id.get(_key(known))
        if place is None:
            lost.add("reward without a decision", file, number, f"id {known!r}, reward {reward!r}")
        elif place in came:
            lost.add("second reward of a decision", file, number, f"id {known!r}, reward {reward!r}")
        else:
            came.add(place)
            outcome[place] = reward


def _key(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _spread(column: list[Any]) -> list[list[Any]]:
    """Contexts that are lists, of equally many values each, as one column for each value."""
    lengths = {len(value) if isinstance(value, list) else -1 for value in column}
    if len(lengths) == 1 and min(lengths) > 0:
        return [list(part) for part in zip(*column, strict=True)]
    return [column]


def _check_fields(
    path: str, rows: int, present: set[str], first: list[str], context: tuple[str, ...], fields: dict[str, Any]
) -> None:
    """An error for a field that no line has: its name is wrong, rather than all lines."""
    for name, field in (*(("context", one) for one in context), *fields.items()):
        if rows and field is not None and field not in present:
            shown_fields = ", ".join(map(repr, first[:30]))
            raise LogError(
                f"no line of {path} has the field {field!r}, which {name}= names; the first has {shown_fields}"
            )
