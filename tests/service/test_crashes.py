"""Nothing that was acknowledged is lost or counted twice: kill -9 of the service or of PostgreSQL, SIGTERM, syncs."""

import re
import signal
from pathlib import Path

from tests.conftest import cluster, find_program
from tests.service.crashing import CLIENTS, Seen, check_acknowledged, killed
from tests.service.losing import kill_store

START = 5.0  # seconds until a service that was killed answers again


def check(address: str, seen: Seen, lives: int) -> None:
    """Everything that was acknowledged is there, and the service was soon back."""
    assert seen.lives == lives
    assert len(seen.rewards) > 3 * lives
    assert seen.slowest < START
    assert not seen.wrong, seen.wrong
    check_acknowledged(address, seen.decisions, seen.rewards)


def test_kill_9_under_load_loses_nothing(address: str) -> None:
    seen = killed(address, 10)
    check(address, seen, 10)
    assert seen.unanswered > 0  # the kills did hit requests
    assert seen.codes == [-signal.SIGKILL] * 10 + [0]


def test_sigterm_under_load_loses_nothing(address: str) -> None:
    seen = killed(address, 4, ending=signal.SIGTERM)
    check(address, seen, 4)
    assert seen.codes == [0] * 5


def test_kill_9_of_postgresql_itself_loses_nothing() -> None:
    """The server and all that it started are killed at once, under load; the service stays and goes on."""
    with cluster() as own:
        seen = kill_store(own, 3)
    assert seen.lives == 3
    assert len(seen.rewards) > 15
    assert seen.refusals
    assert set(seen.refusals) <= {"gone", "failed", "tokens", "busy"}, seen.refusals


def test_each_answer_comes_after_a_sync(tmp_path: Path) -> None:
    """As the system calls of the service show: between a request and its answer, the log of SQLite is synced."""
    strace = find_program("strace", "strace")
    trace, calls = tmp_path / "trace", "trace=recvfrom,read,sendto,write,writev,sendmsg,fdatasync,fsync"
    killed(
        str(tmp_path / "clinic.db"),
        0,
        before=(strace, "-f", "--seccomp-bpf", "-o", str(trace), "-s", "40", "-e", calls),
    )
    answers, without = unsynced(trace.read_text())
    assert answers >= CLIENTS
    assert without == 0


def unsynced(trace: str) -> tuple[int, int]:
    """How many answers a trace shows, and how many of them without a sync that began after their request came in."""
    answers = without = newest = 0  # the newest sync that is finished, by the line on which it began
    asked, begun, reading = dict[tuple[str, str], int](), dict[str, int](), dict[str, str]()
    for number, line in enumerate(trace.splitlines(), 1):
        process = line.split(" ", 1)[0]
        if found := re.search(r'(?:recvfrom|read)\((\d+), "POST ', line):
            asked[process, found[1]] = number
        elif found := re.search(r"(?:recvfrom|read)\((\d+), *<unfinished", line):
            reading[process] = found[1]
        elif re.search(r'(?:recvfrom|read) resumed> *"POST ', line):
            asked[process, reading[process]] = number
        elif re.search(r" f(data)?sync\(", line):
            begun[process] = number
        elif found := re.search(r'(?:sendto|sendmsg|writev?)\((\d+), .*?"HTTP/1\.1 200', line):
            answers += 1
            without += newest <= asked[process, found[1]]
        if re.search(r"f(data)?sync.*= 0$", line):
            newest = max(newest, begun[process])
    return answers, without


def test_a_trace_without_a_sync_is_noticed() -> None:
    asked, sync = '1 recvfrom(8, "POST /v1/rewards HTTP/1.1", 9) = 9', "2 fdatasync(7) = 0"
    told = '1 sendto(8, "HTTP/1.1 200 OK", 9) = 9'
    begun, over = "2 fdatasync(7 <unfinished ...>", "2 <... fdatasync resumed>) = 0"
    assert unsynced("\n".join([asked, sync, told])) == (1, 0)
    assert unsynced("\n".join([asked, begun, over, told])) == (1, 0)
    halves = ["1 read(8,  <unfinished ...>", '1 <... read resumed>"POST /v1/rewards HTTP/1.1", 9) = 9']
    assert unsynced("\n".join([*halves, sync, told])) == (1, 0)
    assert unsynced("\n".join([sync, *halves, told])) == (1, 1)
    assert unsynced("\n".join([sync, asked, told])) == (1, 1)
    assert unsynced("\n".join([begun, asked, over, told])) == (1, 1)  # it was for those before
