"""Kill PostgreSQL without warning while a service writes to it, again and again, and look whether anything was lost."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np

from meanbounds.service import open_store
from meanbounds.service.events import Settings
from meanbounds.service.server import add_agent, prepare
from tests.servers import Cluster
from tests.service.acknowledged import check_acknowledged
from tests.service.crashing import CLIENTS, Seen, client, some_rewards
from tests.service.made import contextual, running

__all__ = ["kill_store"]

PATIENCE = 30.0


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # one that has ended meanwhile
            if int(path.read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(path.parent.name))
    return found


def strike(server: subprocess.Popen[bytes]) -> None:
    """Kill a server and all that it started: none of them writes another byte, or tells the others."""
    server.send_signal(signal.SIGSTOP)  # it must not start others meanwhile
    doomed = children(server.pid)
    for process in (*doomed, server.pid):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    server.wait(PATIENCE)  # as long as it is listed a new server takes it for running
    end = time.monotonic() + PATIENCE
    while any(_runs(process) for process in doomed) and time.monotonic() < end:
        time.sleep(0.005)  # a new server refuses to start as long as one of them has its memory


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def _run(cluster: Cluster, stack: ExitStack, port: int, kills: int, seed: int) -> Seen:
    rng, seen, stop = np.random.default_rng(seed), Seen(), asyncio.Event()
    server = stack.enter_context(cluster.running())
    clients = [asyncio.create_task(client(port, number, stop, seen)) for number in range(CLIENTS)]
    for _ in range(kills):
        await some_rewards(seen)
        await asyncio.sleep(float(rng.exponential(0.03)))
        await asyncio.to_thread(strike, server)
        seen.lives += 1
        server = await asyncio.to_thread(stack.enter_context, cluster.running())
    await some_rewards(seen)
    stop.set()
    await asyncio.gather(*clients)
    return seen


def kill_store(cluster: Cluster, kills: int, seed: int = 1) -> Seen:
    """Kill the server of a cluster under the load of a service; everything that was acknowledged must be there."""
    with cluster.running():
        book = prepare(open_store(cluster.url))
        add_agent(book, "demo", contextual(contexts=4, floor=0.1).to_dict(), Settings())
    with ExitStack() as stack:
        with running(book) as made:
            seen = asyncio.run(_run(cluster, stack, made.base_url.port or 80, kills, seed))
        store = open_store(cluster.url)
        check_acknowledged(store, seen.__dict__)
        store.close()
    return seen
