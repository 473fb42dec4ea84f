"""Kill PostgreSQL without warning while a service writes to it, again and again, and look whether anything was lost."""

from __future__ import annotations

import asyncio
import os
import pwd
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import PATIENCE, find_program, wait_for
from tests.service.crashing import Seen, check_acknowledged, load, make_store

__all__ = ["Cluster", "cluster", "kill_store", "serving"]


@dataclass
class Cluster:
    """A PostgreSQL database in a temporary folder, of which a server can be started again and again."""

    folder: Path
    program: str
    who: dict[str, Any]

    @property
    def url(self) -> str:
        return f"postgresql://tester@/postgres?host={self.folder}"

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """A server that has started, which syncs what it commits; it is stopped at the end unless it was killed."""
        import psycopg

        command = [self.program, "-D", str(self.folder / "data"), "-c", "listen_addresses="]
        command += ["-c", f"unix_socket_directories={self.folder}", "-c", "max_connections=20"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.who) as server:
            try:
                wait_for(lambda: psycopg.connect(self.url).close(), psycopg.OperationalError, server)
                yield server
            finally:
                if server.poll() is None:
                    server.send_signal(signal.SIGINT)  # disconnects clients and stops
                    server.wait(PATIENCE)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A new database without a server yet."""
    initdb, program = (find_program(name, "postgresql") for name in ("initdb", "postgres"))
    with tempfile.TemporaryDirectory(prefix="meanbounds-postgres-", ignore_cleanup_errors=True) as name:
        folder, who = Path(name), dict[str, Any](cwd=name)
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            account = pwd.getpwnam("postgres")
            os.chown(folder, account.pw_uid, account.pw_gid)
            who |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        command = [initdb, "-D", f"{name}/data", "-U", "tester", "--auth=trust", "--encoding=UTF8", "--locale=C"]
        subprocess.run([*command, "--no-sync"], check=True, capture_output=True, timeout=PATIENCE, **who)
        yield Cluster(folder, program, who)


@contextmanager
def serving(address: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`meanbounds serve`, and the port where it listens."""
    code = (
        "import sys, socket, meanbounds as mb; from meanbounds.service.app import make_app; "
        "from meanbounds.service.serving import run\n"
        "with socket.create_server(('127.0.0.1', 0)) as listening, mb.Store(sys.argv[1]) as store:\n"
        "    run(make_app(store, log=False), listening, str(listening.getsockname()[1]))"
    )
    with subprocess.Popen([sys.executable, "-c", code, address], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server, int(server.stdout.readline())
        finally:
            server.terminate()
            with suppress(subprocess.TimeoutExpired):
                server.wait(PATIENCE)
            server.kill()


def _children(process: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # one that has ended meanwhile
            if int(path.read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(path.parent.name))
    return found


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _strike(server: subprocess.Popen[bytes]) -> None:
    """Kill a server and all that it started: none of them writes another byte, or tells the others."""
    server.send_signal(signal.SIGSTOP)  # it must not start others meanwhile
    doomed = _children(server.pid)
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

        with serving(own.url) as (_, port):
            seen = asyncio.run(load(port, kills, seed, end_life))
        check_acknowledged(own.url, seen)
    return seen
