"""The decisions of an agent as a table: what `meanbounds.logs.evaluate` reads."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from meanbounds.service.database import Database
from meanbounds.support.optional import import_optional
from meanbounds.support.saving import write_atomically

__all__ = ["columns", "export"]


def columns(database: Database, agent: str) -> list[str]:
    """The columns of an agent's table: context, or context_1, context_2, ... where contexts have several parts."""
    names = [json.loads(row.name) for row in database.contexts() if row.agent == agent and row.name is not None]
    parts = max((len(name) for name in names if isinstance(name, list)), default=0)
    contexts = [f"context_{part + 1}" for part in range(parts)] or ["context"] * bool(names)
    return ["position", "time", *contexts, "arm", "chosen", "reward", "probability", "reason", "version"]


def export(database: Database, agent: str, path: Path) -> int:
    """Write a row for each decision to a CSV, JSON lines or Parquet file, and return how many there are.

    `arm` is what was decided, "expert" where the experts were asked, and `chosen` what they chose. A context whose name
    was erased is empty, and so is the reward of a decision that has none.
    """
    if path.suffix == ".parquet":
        duckdb = import_optional("duckdb", "logs", "Parquet files")
        with TemporaryDirectory(prefix="meanbounds-") as folder, duckdb.connect() as connection:
            count = export(database, agent, lines := Path(folder) / "rows.jsonl")
            types = dict.fromkeys(columns(database, agent), "VARCHAR")
            rows = connection.read_json(str(lines), columns=types, format="newline_delimited")
            write_atomically(path, lambda partial: rows.write_parquet(str(partial)))
        return count
    if path.suffix not in (".csv", ".jsonl"):
        raise ValueError(f"{path}: give a file that ends in .csv, .jsonl or .parquet")
    count = 0

    def write(partial: Path) -> None:
        nonlocal count
        with database.reading(), partial.open("w", encoding="utf-8", newline="") as file:
            names = columns(database, agent)
            table = csv.DictWriter(file, names, lineterminator="\n")
            if path.suffix == ".csv":
                table.writeheader()
            for row in _rows(database, agent, names):
                count += 1
                table.writerow(row) if path.suffix == ".csv" else file.write(f"{json.dumps(row)}\n")

    write_atomically(path, write)
    return count


def _rows(database: Database, agent: str, names: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of the table with these columns."""
    contexts = {row.id: json.loads(row.name or "null") for row in database.contexts() if row.agent == agent}
    parts, found = [name for name in names if "context" in name], database.events(agent=agent, kinds=("decision",))
    while chunk := list(islice(found, 1_000)):
        answers = {event.about: event.said for event in database.find([event.position for event in chunk], "about")}
        for event in chunk:
            said, answer, context = event.said, answers.get(event.position), contexts.get(event.said.context)
            time = datetime.fromtimestamp(event.time, UTC)
            row = {"position": event.position, "time": f"{time:%Y-%m-%dT%H:%M:%S.%fZ}", **dict.fromkeys(parts)}
            row |= zip(parts, context if isinstance(context, list) else [context], strict=False)
            row["arm"] = said.arm.get("name", "expert") if isinstance(said.arm, dict) else said.arm
            row |= {"chosen": answer and answer.chosen, "reward": answer and answer.reward}
            yield row | {"probability": said.probability, "reason": said.reason, "version": said.version}
