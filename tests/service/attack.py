"""What a service answers to those who may not ask, and while its store cannot be used: a table for SECURITY.md.

python -m tests.service.attack --write SECURITY.md asks every operation, of services on SQLite that it starts.
"""

import re
import sqlite3
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import meanbounds as mb
from meanbounds.service.access import SCOPES, make_token
from meanbounds.service.routes import OPERATIONS, Operation
from tests.service import wire
from tests.service.hostile import AGENT, BOUNDS, example
from tests.service.test_serving import served

Reply = tuple[int, str]
SITUATIONS = {  # with what a service does before it starts
    "no token": "",
    "token of another agent": "",
    "token without the scope": "",
    "tokens unreadable": "",
    "store locked": "from meanbounds.service.database import Database as D; D.patience = 0.5; ",
    "disk full": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000)); ",
    "store removed": "",
}
CASE = {"id": "1", "context": "north"}
RIGHT: dict[str, Any] = {"decisions": CASE, "rewards": {"id": "0", "reward": 1}, "changes": {"floor": 0.1}}
RIGHT |= {"observations": CASE | {"arm": "a", "reward": 1}, "rollback": {"to": 1}, "erase": {"context": "south"}}
RIGHT |= {"leaf": {"context": {"age": 81, "clinic": None}}, "{agent}": {"context": CASE}, "flags": {}}
MARKS = "<!-- answers -->", "<!-- end of answers -->"


def ask(port: int, operation: Operation, token: str) -> Reply:
    """The status and the text of the answer to a request that is right."""
    path = operation.path.replace("{agent}", "clinic").replace("{id:path}", "0")
    path += "?name=north" if path.endswith("/context") else ""
    body = RIGHT.get(operation.path.rpartition("/")[2], example(operation.takes, np.random.default_rng(1)))
    reply = wire.ask(port, operation.method, path, body if operation.method == "POST" else None, token)
    return reply.status, reply.body.decode()


def answers(situation: str) -> list[Reply]:
    """What each operation answers in a situation; it is an error if one of them changes something."""
    with tempfile.TemporaryDirectory() as folder:
        path, errors = Path(folder) / "elsewhere.db", Path(folder) / "errors"
        with mb.Store.create(path, "clinic", AGENT) as store:
            store.add("ward", mb.Agent(mb.GLUE(), BOUNDS, seed=7))
            store["clinic"].decide("0", "north", ["a"])
            lacking = {one: make_token(store.database, [each for each in SCOPES if each != one]) for one in SCOPES}
            every, other = (make_token(store.database, SCOPES, agents) for agents in (None, ["ward"]))
        token = {"no token": "", "token of another agent": other}.get(situation, every)
        tokens = [
            token if situation != "token without the scope" else lacking.get(one.scope or "") for one in OPERATIONS
        ]
        with served(SITUATIONS[situation] + wire.SERVE, str(path), errors=errors) as (_, port, _said):
            if situation == "disk full":
                flag = next(one for one in OPERATIONS if one.path.endswith("flags/{agent}"))  # each time a new decision
                tried = (ask(port, flag, every)[0] for _ in range(99))
                assert 503 in tried, "the disk was never full"
            elif situation == "store removed":
                for end in ("-wal", "-shm", ""):
                    Path(f"{path}{end}").rename(f"{folder}/away.db{end}")
                path = Path(folder) / "away.db"
            with closing(sqlite3.connect(path, isolation_level=None)) as behind:
                if situation == "tokens unreadable":
                    behind.execute("UPDATE tokens SET sum = ''")
                if situation in ("tokens unreadable", "store removed"):
                    time.sleep(2.0)  # tokens are read once a second
                last = behind.execute("SELECT max(position), hash FROM events").fetchone()
                if situation == "store locked":
                    behind.execute("BEGIN IMMEDIATE")
                with ThreadPoolExecutor(8) as pool:
                    found = list(pool.map(ask, [port] * len(OPERATIONS), OPERATIONS, [one or "" for one in tokens]))
                assert behind.execute("SELECT max(position), hash FROM events").fetchone() == last
    return found


def table() -> dict[Operation, list[Reply]]:
    """What each operation answers in each situation."""
    with ThreadPoolExecutor(4) as pool:
        return dict(zip(OPERATIONS, map(list, zip(*pool.map(answers, SITUATIONS), strict=True)), strict=True))


def markdown(found: dict[Operation, list[Reply]]) -> str:
    """The table, with a row for all operations that answer alike."""
    rows = defaultdict[tuple[str, ...], list[str]](list)
    for one, cells in found.items():
        codes = [re.search(r'"code":"(\w+)"', text) for _, text in cells]
        shown = (f"{status} {code[1]}" if code else str(status) for (status, _), code in zip(cells, codes, strict=True))
        rows[tuple(shown)].append(f"`{one.method} {one.path.replace('/v1/agents/{agent}', '…')}`")
    lines = [["operation", *SITUATIONS], ["---"] * (1 + len(SITUATIONS))]
    lines += [[", ".join(names), *cells] for cells, names in rows.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    made = markdown(table())
    if sys.argv[1:2] == ["--write"]:
        file = Path(sys.argv[2])
        before, after = (file.read_text().split(mark)[end] for mark, end in zip(MARKS, (0, -1), strict=True))
        file.write_text(f"{before}{MARKS[0]}\n\n{made}\n\n{MARKS[1]}{after}")
    print(made)
