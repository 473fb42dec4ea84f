"""Stores for longer: many kills, many processes, much damage, and millions of decisions. `make soak` runs it.

python -m tests.service.soaking PATH DECISIONS makes that many decisions and says every now and then what it needs; then
it goes on until it is killed.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np

import meanbounds as mb
from meanbounds.service import commands as c
from meanbounds.service.database import connect
from tests.conftest import cluster
from tests.service.crashing import BOUNDS, check_acknowledged, killed
from tests.service.losing import kill_store
from tests.service.test_damage import check_damage
from tests.service.together import check_together

__all__ = ["crashes", "damage", "decisions", "together"]

AGENTS, CONTEXTS = 50, 200  # contexts of each agent
ORDERS = 256  # decisions in a group


def crashes(kills: int = 20) -> str:
    """Kill a service on each store, and PostgreSQL under one."""
    said = []
    with tempfile.TemporaryDirectory() as folder, cluster() as own:
        for address in (f"{folder}/clinic.db", own.url):
            with ExitStack() as stack:
                stack.enter_context(own.running())
                seen = killed(address, kills, seed=2)
                check_acknowledged(address, seen.decisions, seen.rewards)
            figures = f"{len(seen.decisions):,} decisions, {len(seen.rewards):,} rewards, {seen.unanswered} unanswered"
            said.append(
                f"{address.partition(':')[0][-10:]}: {seen.lives} kills, {figures}, back in {seen.slowest:.2f} s"
            )
    with cluster() as own:
        seen = kill_store(own, kills, seed=2)
    return "\n".join([*said, f"the server: {seen.lives} kills, {len(seen.decisions):,} decisions, {seen.refusals}"])


def together(rounds: int = 50) -> str:
    """Let two and four processes share a store, on a machine that has other things to do."""
    import psycopg

    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        with cluster() as own, own.running(), tempfile.TemporaryDirectory() as folder:
            for number in range(rounds):
                with psycopg.connect(own.url, autocommit=True) as connection:
                    connection.execute("DROP SCHEMA IF EXISTS meanbounds CASCADE")
                check_together(own.url, 2 + 2 * (number % 2), 100, 100 * number)
                check_together(f"{folder}/{number}.db", 2 + 2 * (number % 2), 100, 100 * number)
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    return f"{rounds} rounds on PostgreSQL and on SQLite, two and four processes: the figures of one"


def damage(count: int = 500) -> str:
    """Damage one byte after the other."""
    with tempfile.TemporaryDirectory() as folder:
        changed, reported, wrong = check_damage(Path(folder), count, 2)
    assert wrong == [], wrong
    return f"{count} bytes damaged: {changed} change something, {reported} are reported, none is missed"


def decisions(count: int = 2_000_000, folder: Path | None = None) -> str:
    """Decide and learn for long, be killed, and start again."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        path, said = f"{name}/clinic.db", list[str]()
        command = [sys.executable, "-m", "tests.service.soaking", path, str(count)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if line == "done\n":
                    break
                print(line, end="", flush=True)
                said.append(line)
            time.sleep(1.0)
            process.kill()
        assert len(said) == 20, "the process ended"
        begun = time.monotonic()
        with mb.Store(path) as store:
            store["agent-0"].decide("after the crash", "c0")
            start = time.monotonic() - begun
            position = store.writer.last.position
        begun = time.monotonic()
        with mb.Store(path) as store:
            store["agent-0"].decide("after a stop", "c0")
        again = time.monotonic() - begun
        size = sum(file.stat().st_size for file in Path(name).iterdir())
        with closing(connect(path)) as database:
            made = sum(1 for _ in database.events(kinds=["decision"]))
    half, last = (json.loads(said[place])["rss"] for place in (9, 19))
    assert last < 1.1 * half + 20, "memory grows"
    assert start < 5.0, f"starting took {start:.1f} s"
    return (
        f"decisions, events: {made:,}, {position:,}; memory after half, after all: {half:.0f} MB, {last:.0f} MB; "
        f"start after kill -9, after a stop: {start:.2f} s, {again:.2f} s; "
        f"on disk, for a decision with its reward: {size / made:.0f} bytes"
    )


def main(path: str, count: int) -> None:
    """Decide until this process is killed."""
    warnings.simplefilter("ignore")
    rng, begun, marks = np.random.default_rng(1), time.monotonic(), [count * k // 20 for k in range(20, 0, -1)]
    store, made = mb.Store(path, create=True), 0
    for number in range(AGENTS):
        known = {f"c{k}": BOUNDS for k in range(CONTEXTS)}
        policy = [mb.GLUE(), mb.UCB(), mb.ThompsonSampling()][number % 3]
        store.add(f"agent-{number}", mb.Agent(policy, known, seed=number))
    waiting: list[tuple[str, str]] = []
    while True:
        asked = [(f"agent-{rng.integers(AGENTS)}", f"{made + k}") for k in range(ORDERS)]
        orders = [c.Order(agent, c.Decide(id, f"c{rng.integers(CONTEXTS)}")) for agent, id in asked]
        orders += [c.Order(agent, c.Reward(id, reward=float(rng.random() < 0.5))) for agent, id in waiting]
        assert all(isinstance(answer, c.DecideAnswer | c.DoneAnswer) for answer in store.run(orders))
        made, waiting = made + ORDERS, asked
        while marks and made >= marks[-1]:
            marks.pop()
            rss = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
            size = sum(file.stat().st_size for file in Path(path).parent.iterdir()) / 1e6
            seconds = time.monotonic() - begun
            print(json.dumps({"decisions": made, "seconds": round(seconds), "rss": round(rss, 1), "disk": round(size)}))
            if not marks:
                print("done")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
