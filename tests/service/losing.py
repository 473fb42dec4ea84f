"""Kill PostgreSQL without warning while a service writes to it, again and again, and look whether anything was lost."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.conftest import PATIENCE, Cluster
from tests.service.crashing import Seen, check_acknowledged, load, make_store

__all__ = ["kill_store"]


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _strike(server: subprocess.Popen[bytes]) -> None:
    """Kill a server and all that it started: none of them writes another byte, or tells the others."""
    server.send_signal(signal.SIGSTOP)  # it must not start others meanwhile
    doomed = list(map(int, Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()))
    for process in (*doomed, server.pid):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    server.wait(PATIENCE)  # as long as it is listed a new server takes it for running
    end = time.monotonic() + PATIENCE
    while any(_runs(process) for process in doomed) and time.monotonic() < end:
        time.sleep(0.005)  # a new server refuses to start as long as one of them has its memory


def kill_store(own: Cluster, kills: int, seed: int = 1) -> Seen:
    """Kill the server of a cluster under the load of a service; everything that was acknowledged must be there."""
    with ExitStack() as stack:
        server = stack.enter_context(own.running())
        make_store(own.url)

        def end_life(_seen: Seen) -> None:
            nonlocal server
            _strike(server)
            server = stack.enter_context(own.running())

        command = [sys.executable, "-m", "meanbounds", "serve", own.url, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as service:
            assert service.stdout is not None
            try:
                port = re.search(r":(\d+) ", service.stdout.readline().partition(" at ")[2])
                assert port is not None
                seen = asyncio.run(load(int(port[1]), kills, seed, end_life))
            finally:
                service.terminate()
        assert not seen.wrong, seen.wrong
        check_acknowledged(own.url, seen.decisions, seen.rewards)
    return seen
