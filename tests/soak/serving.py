"""Services for longer: many lives on both stores, and two processes that share a PostgreSQL."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.serving import MAKE, SERVICE, service

from meanbounds.service import open_store, verify
from tests.servers import postgres_cluster
from tests.service.acknowledged import check_acknowledged, killed
from tests.service.losing import kill_store

__all__ = ["crashes", "losses", "together"]

CONTEXTS = 50


@contextmanager
def _stores() -> Iterator[list[str]]:
    with tempfile.TemporaryDirectory() as folder, postgres_cluster(fsync=True) as cluster, cluster.running():
        yield [f"sqlite:{Path(folder) / 'state.db'}", cluster.url]


def crashes(kills: int, seed: int) -> list[str]:
    """Kill a service on each store again and again; what was lost, or counted twice."""
    found = []
    with _stores() as stores:
        for address in stores:
            seen = killed(address, kills, seed)
            store = open_store(address)
            try:
                check_acknowledged(store, seen)
            except AssertionError as error:
                found.append(f"{address.split(':')[0]}: {error}")
            store.close()
    return found


def losses(kills: int, seed: int) -> list[str]:
    """Kill PostgreSQL itself again and again under a service; what was lost, or counted twice."""
    with postgres_cluster(fsync=True) as cluster:
        try:
            kill_store(cluster, kills, seed)
        except AssertionError as error:
            return [f"PostgreSQL killed: {error}"]
    return []


def together(seconds: int) -> list[str]:
    """Two processes on one PostgreSQL under load; requests that failed, and decisions that a replay takes otherwise."""
    with _stores() as stores, ExitStack() as stack:
        address = stores[1]
        subprocess.run([sys.executable, "-c", MAKE, address, str(CONTEXTS)], check=True, stdout=subprocess.DEVNULL)
        ports = [stack.enter_context(service(SERVICE, address))[0] for _ in range(2)]
        own = ["--seconds", str(seconds), "--connections", "16", "--contexts", str(CONTEXTS)]
        command = [sys.executable, "-m", "benchmarks.serving", *own, "--generate"]
        loads = [subprocess.Popen([*command, str(port)], stdout=subprocess.PIPE, text=True) for port in ports]
        said = [load.communicate(timeout=seconds + 300)[0] for load in loads]
        store = open_store(address)
        verdict = verify(store)
        store.close()
        failed = [text for text in said if '"failures": []' not in text]
        return failed + verdict.differences
