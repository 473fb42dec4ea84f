"""The log of a service as a table: a row for each decision and each observation, with the probability of the arm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from meanbounds.service import events as kinds
from meanbounds.service.events import Event, decode
from meanbounds.service.store import Store
from meanbounds.support.optional import import_optional
from meanbounds.support.writing import write_atomically

__all__ = ["COLUMNS", "export", "log_table"]

COLUMNS = (
    "position",
    "time",
    "agent",
    "source",
    "id",
    "context",
    "arm",
    "reward",
    "probability",
    "state",
    "reason",
    "share",
    "agent_version",
)
"""The columns of the table; `source` is "decision" or "observation", `id` the id of a decision or observation."""

Rows = Literal["all", "decisions", "observations", "experts"]
_STATES = {kinds.REWARDED: "rewarded", kinds.EXPIRED: "expired", kinds.CENSORED: "censored"}


def log_table(store: Store, *, agent: str | None = None, rows: Rows = "all") -> Any:
    """The decisions and observations of a store, as an Arrow table.

    Parameters
    ----------
    store
        The store; it may be in use.
    agent
        The agent; all by default.
    rows
        ``"decisions"`` that agents made, ``"observations"`` that were reported, ``"experts"``: observations and what
        experts decided where they were asked, only rows with a reward; or ``"all"``.

    Examples
    --------
    >>> from meanbounds.service import log_table, open_store
    >>> log_table(open_store("sqlite::memory:")).num_rows
    0
    """
    arrow = import_optional("pyarrow", "logs", "tables of events")
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for row in _rows(store, agent):
        is_agents = row["source"] == "decision" and row["reason"] != "expert"
        if rows == "experts" and (is_agents or row["reward"] is None):
            continue
        if (rows == "decisions" and not is_agents) or (rows == "observations" and row["source"] != "observation"):
            continue
        for name in COLUMNS:
            columns[name].append(row[name])
    types = {
        "position": arrow.int64(),
        "time": arrow.timestamp("us", tz="UTC"),
        "reward": arrow.float64(),
        "probability": arrow.float64(),
        "share": arrow.float64(),
        "agent_version": arrow.int64(),
    }
    columns["time"] = [int(1e6 * value) for value in columns["time"]]
    return arrow.table({name: arrow.array(own, types.get(name, arrow.string())) for name, own in columns.items()})


def export(store: Store, path: str | Path, *, agent: str | None = None, rows: Rows = "all") -> int:
    """Write the table of `log_table` to a Parquet file, and return how many rows it has.

    Parameters
    ----------
    store, agent, rows
        As for `log_table`.
    path
        The file; ``mb.logs.read(path, context="context", arm="arm", reward="reward")`` counts it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from meanbounds.service import export, open_store
    >>> export(open_store("sqlite::memory:"), pathlib.Path(tempfile.mkdtemp()) / "log.parquet")
    0
    """
    parquet = import_optional("pyarrow.parquet", "logs", "Parquet files")
    table = log_table(store, agent=agent, rows=rows)
    write_atomically(path, lambda partial: parquet.write_table(table, partial))
    return int(table.num_rows)


def _rows(store: Store, agent: str | None) -> Iterator[dict[str, Any]]:
    """A row for each decision and observation, in the order of the log; what became of a decision may come later."""
    last = store.last()
    outcomes = _outcomes(event for event in store.read(0, last) if event.subject is not None)
    for event in store.read(0, last):
        if event.kind not in (kinds.DECIDED, kinds.OBSERVED) or (agent is not None and event.agent != agent):
            continue
        said = decode(event)
        row = {
            "position": event.position,
            "time": event.time,
            "agent": event.agent,
            "context": _text(said.context),
            "arm": _text(said.arm),
        }
        if event.kind == kinds.OBSERVED:
            own = {"source": "observation", "id": event.name, "reward": said.reward, "state": "rewarded"}
            yield row | own | {"probability": None, "reason": "observed", "share": 0.0, "agent_version": None}
            continue
        state, reward, arm = outcomes.get(event.position, ("pending", None, None))
        yield row | {
            "source": "decision",
            "id": store.decision_id(event.position, said.worker),
            "arm": _text(said.arm if said.arm is not None else arm),
            "reward": reward,
            "probability": said.probability,
            "state": state,
            "reason": said.reason,
            "share": said.share,
            "agent_version": said.version,
        }


def _outcomes(events: Iterable[Event]) -> dict[int, tuple[str, float | None, Any]]:
    """What became of each decision; a default reward is none that was observed."""
    found: dict[int, tuple[str, float | None, Any]] = {}
    for event in events:
        assert event.subject is not None
        said = decode(event)
        reward, arm = (said.reward, said.arm) if event.kind == kinds.REWARDED else (None, None)
        found[event.subject] = _STATES[event.kind], reward, arm
    return found


def _text(value: Any) -> str | None:
    """A context or an arm as text: as it is, or as JSON where it is no text."""
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()
