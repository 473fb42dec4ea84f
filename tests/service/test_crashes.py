"""Nothing that was acknowledged is lost or counted twice: kill -9, a full disk, a store that goes away."""

from __future__ import annotations

import hashlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from meanbounds.service import StoreError, open_store, verify
from meanbounds.service.errors import RefusalError
from meanbounds.service.server import prepare
from meanbounds.service.sqlite import SQLiteStore
from meanbounds.service.store import VERSION
from tests.servers import find_program, postgres_cluster
from tests.service.acknowledged import check_acknowledged, killed
from tests.service.losing import kill_store
from tests.service.made import a_book, decide, play, reloaded, reward, running, state, until


def test_kill_9_under_load_loses_nothing(tmp_path: Path) -> None:
    address = f"sqlite:{tmp_path / 'state.db'}"
    seen = killed(address, 20)
    assert seen["lives"] == 20
    assert seen["unanswered"] > 0  # the kills did hit requests
    assert len(seen["rewards"]) > 60
    store = open_store(address)
    check_acknowledged(store, seen)
    store.close()


def test_each_answer_comes_after_a_sync(tmp_path: Path) -> None:
    """As the system calls of the service show: between a request and its answer, the log is synced."""
    strace = find_program(("strace",), "strace")
    trace = tmp_path / "trace"
    command = [strace, "-f", "--seccomp-bpf", "-o", str(trace), "-s", "40"]
    command += [
        "-e",
        "trace=recvfrom,read,sendto,write,writev,sendmsg,fdatasync,fsync",
        sys.executable,
        "-m",
        "tests.service.crashing",
    ]
    command += [f"sqlite:{tmp_path / 'state.db'}", "0", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    answers, without = unsynced(trace.read_text())
    assert answers >= 12  # each of the clients sent at least one request
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


def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    book = a_book(store=open_store(f"sqlite:{tmp_path / 'state.db'}"))
    assert isinstance(book.store, SQLiteStore)
    run = book.store._run
    with running(book) as client:
        answers = dict[str, Any]()

        def ask(name: str) -> httpx.Response:
            return client.post("/v1/agents/demo/decisions", json={"request_id": name, "context": "c0"})

        answers["first"] = ask("first").json()
        ((pages,),) = run("PRAGMA page_count")
        run(f"PRAGMA max_page_count={pages + 1}")
        number = 0
        while (full := ask(f"{number}")).status_code == 200:
            answers[f"{number}"] = full.json()
            number += 1
            assert number < 2_000
        assert full.status_code == 503
        assert "full" in full.json()["error"]["message"]
        assert client.get("/ready").status_code == 503
        assert ask("another").status_code == 503
        run("PRAGMA max_page_count=1000000")
        again = ask(f"{number}")
        assert again.status_code == 200
        assert client.get("/ready").status_code == 200
        for name, answer in answers.items():
            assert ask(name).json() == answer
        plays = client.get("/v1/agents/demo/contexts/c0").json()["arms"]
        assert sum(arm["pending"] for arm in plays) == len(answers) + 1
        assert sum(arm["plays"] for arm in plays) == 0
    store = open_store(f"sqlite:{tmp_path / 'state.db'}")
    assert verify(store).holds
    store.close()


@contextmanager
def no_longer_files(size: int) -> Iterator[None]:
    """Writing beyond this size fails, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A file system of four megabytes at this folder; False if this machine does not let us mount one."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "meanbounds", str(folder)]
    found = shutil.which("mount") is not None
    mounted = found and subprocess.run(mount, check=False, capture_output=True).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def without_room(folder: Path, left: int, mounted: bool) -> Iterator[None]:
    """Fill the file system but for so many bytes; where there is none of our own, limit the size of files."""
    if not mounted:
        with no_longer_files(Path(folder / "state.db-wal").stat().st_size + left):
            yield
        return
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    with filler.open("rb+") as file:
        file.truncate(max(0, filler.stat().st_size - left))
    try:
        yield
    finally:
        filler.unlink()


def test_a_file_system_that_is_full_again_and_again(tmp_path: Path) -> None:
    """Writing fails at another place each time: in the log of SQLite, while it is copied, or at the first page."""
    folder = tmp_path / "disk"
    with small_disk(folder) as mounted:
        book = a_book(store=open_store(f"sqlite:{folder / 'state.db'}"))
        answers = dict[str, Any]()
        with running(book) as client:

            def ask(name: str) -> httpx.Response:
                return client.post("/v1/agents/demo/decisions", json={"request_id": name, "context": "c0"})

            answers["first"] = ask("first").json()
            for left in range(0, 65_536, 12_288):
                with without_room(folder, left, mounted):
                    number = 0
                    while (full := ask(f"{left} {number}")).status_code == 200:
                        answers[f"{left} {number}"] = full.json()
                        number += 1
                        assert number < 2_000
                    assert full.status_code == 503
                    assert "counts once" in full.json()["error"]["message"]
                    assert client.get("/ready").status_code == 503
                again = ask(f"{left} {number}")
                assert again.status_code == 200
                answers[f"{left} {number}"] = again.json()
            assert {name: ask(name).json() for name in answers} == answers
            view = client.get("/v1/agents/demo/contexts/c0").json()["arms"]
            assert sum(arm["pending"] for arm in view) == len(answers)
        store = open_store(f"sqlite:{folder / 'state.db'}")
        verdict = verify(store)
        store.close()
    assert verdict.holds
    assert verdict.events["decided"] == len(answers)


def test_writes_that_fail_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    book = a_book(store=open_store(f"sqlite:{path}"))
    play(book, 5)
    before = book.position
    with no_longer_files(Path(f"{path}-wal").stat().st_size + 100), pytest.raises(StoreError, match="cannot be used"):
        decide(book, "refused")
    assert book.stale
    answer = decide(book, "after")
    assert book.position == before + 1
    reward(book, answer.decision_id, 1.0)
    assert state(reloaded(book)) == state(book)
    assert verify(book.store).holds
    book.store.close()


def test_a_store_that_is_locked_for_too_long_need_not_be_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a million contexts that would take minutes, in which nobody is answered."""
    monkeypatch.setattr("meanbounds.service.sqlite._PATIENCE", 0.01)
    own, other = (open_store(f"sqlite:{tmp_path / 'state.db'}") for _ in range(2))
    book = a_book(store=own)
    play(book, 5)
    with other.group():
        for attempt in ("first", "second"):
            with pytest.raises(StoreError, match="database is locked"):
                decide(book, attempt)
    assert not book.stale
    reward(book, decide(book, "second").decision_id, 1.0)
    assert state(reloaded(book)) == state(book)
    assert verify(own).holds
    for store in (other, own):
        store.close()


def test_a_backup_while_it_is_written(tmp_path: Path) -> None:
    book = a_book(store=open_store(f"sqlite:{tmp_path / 'state.db'}"))
    play(book, 10)
    reader = open_store(f"sqlite:{tmp_path / 'state.db'}")
    thread = threading.Thread(target=lambda: reader.backup(str(tmp_path / "copy.db")))
    thread.start()
    play(book, 20, seed=2, first=50)
    thread.join()
    copy = open_store(f"sqlite:{tmp_path / 'copy.db'}", create=False)
    assert copy.last() > 10
    assert verify(copy).holds
    with pytest.raises(StoreError, match="does not overwrite"):
        reader.backup(str(tmp_path / "copy.db"))
    for store in (copy, reader, book.store):
        store.close()


def test_a_restored_store_gives_no_id_out_again(tmp_path: Path) -> None:
    """However the copy was made: here the file itself, of a store that was closed."""
    path, kept = tmp_path / "state.db", tmp_path / "copy.db"
    book = prepare(a_book(store=open_store(f"sqlite:{path}")).store)
    before = decide(book, "before")
    book.store.close()
    shutil.copy(path, kept)
    again = prepare(open_store(f"sqlite:{path}"))
    lost = decide(again, "lost")
    again.store.close()
    restored = prepare(open_store(f"sqlite:{kept}"))
    other = decide(restored, "other")
    assert restored.store.position_of(other.decision_id) == restored.store.position_of(lost.decision_id)
    assert other.decision_id != lost.decision_id
    with pytest.raises(RefusalError, match="there is no decision with this id"):
        reward(restored, lost.decision_id, 1.0)
    for answer in (before, other):
        assert not reward(restored, answer.decision_id, 1.0).repeated
    assert verify(restored.store).holds
    restored.store.close()


def test_ids_of_processes_without_a_salt_stay(tmp_path: Path) -> None:
    """Those of decisions that older versions made, and that callers still hold."""
    store = open_store(f"sqlite:{tmp_path / 'state.db'}")
    code = hashlib.blake2b((7).to_bytes(8, "big"), key=store.secret, digest_size=12).hexdigest()
    assert store.decision_id(7, 3) == f"7-{code}"
    assert store.decision_id(7, store.new_worker()) != f"7-{code}"
    store.close()


def test_stores_of_other_versions_and_other_files_are_refused(tmp_path: Path) -> None:
    store = SQLiteStore(str(tmp_path / "new.db"))
    store._run(f"PRAGMA user_version={VERSION + 1}")
    store.close()
    with pytest.raises(StoreError, match="newer version of meanbounds"):
        open_store(f"sqlite:{tmp_path / 'new.db'}")
    (tmp_path / "text.db").write_text("no database at all, but long enough to have a header" * 20)
    with pytest.raises(StoreError, match="not a database"):
        open_store(f"sqlite:{tmp_path / 'text.db'}")
    with pytest.raises(StoreError, match="there is no store"):
        open_store(f"sqlite:{tmp_path / 'missing.db'}", create=False)
    with pytest.raises(StoreError, match="cannot be used"):
        open_store(f"sqlite:{tmp_path / 'no folder' / 'state.db'}")


def test_kill_9_with_postgresql() -> None:
    with postgres_cluster(fsync=True) as cluster, cluster.running():
        seen = killed(cluster.url, 5)
        assert len(seen["rewards"]) > 15
        store = open_store(cluster.url)
        check_acknowledged(store, seen)
        store.close()


def test_kill_9_of_postgresql_itself_loses_nothing() -> None:
    """The server and all that it started are killed at once, under load; the service stays and goes on."""
    with postgres_cluster(fsync=True) as cluster:
        seen = kill_store(cluster, 3)
    assert seen.lives == 3
    assert len(seen.rewards) > 15


def test_a_postgresql_that_is_killed_and_comes_back() -> None:
    """While it is away the service says so; what was acknowledged is there when it is back, and nothing else."""
    with postgres_cluster(fsync=True) as cluster:
        answers = dict[str, Any]()
        with cluster.running() as server:
            book = a_book(store=open_store(cluster.url))
            with running(book) as client:

                def ask(name: str) -> httpx.Response:
                    return client.post("/v1/agents/demo/decisions", json={"request_id": name, "context": "c0"})

                for number in range(10):
                    answers[str(number)] = ask(str(number)).json()
                server.send_signal(signal.SIGQUIT)  # it and all that it started end at once, without a checkpoint
                server.wait(60.0)
                away = ask("away")
                assert away.status_code == 503
                assert "PostgreSQL" in away.json()["error"]["message"]
                assert client.get("/ready").status_code == 503
                assert client.get("/health").status_code == 200
                with cluster.running():
                    until(lambda: ask("away").status_code == 200)
                    assert {name: ask(name).json() for name in answers} == answers
                    view = client.get("/v1/agents/demo/contexts/c0").json()
                    assert sum(arm["pending"] for arm in view["arms"]) == 11
                    store = open_store(cluster.url)
                    assert verify(store).holds
                    store.close()
