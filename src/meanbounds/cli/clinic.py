"""``meanbounds clinic``: a service from end to end, in a clinic that is made up.

It watches doctors for a month, explains their log, starts an agent from it, hands over half of the patients, meets
bounds that have become wrong, and evaluates. Everything goes through the commands and the addresses that anyone would
use.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import meanbounds as mb
from meanbounds.cli.clinic_page import Story, write_page
from meanbounds.cli.clinic_world import AGES, ARMS, Clinic, Day
from meanbounds.cli.command import Command
from meanbounds.cli.files import need
from meanbounds.cli.serve import STORE
from meanbounds.support.locking import locked

if TYPE_CHECKING:
    from meanbounds.service import Client

__all__ = ["COMMAND"]

_KEY = "clinic"
_WATCHED, _SERVED, _NEW_DRUG = 30, 90, 40  # days: until the agent starts, until the end, and until the new drug
_LATE = 3  # days until an outcome is known
_SHARE = 0.5
_PATIENCE = 600.0  # seconds: kernels are compiled in a change of the agent, which takes long on a busy machine


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add options for the folder, the store, and how many serve."""
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("clinic"), metavar="DIR", help="folder to write to; default: clinic"
    )
    parser.add_argument("--store", metavar="ADDRESS", help=f"{STORE}; default: state.db in the folder")
    parser.add_argument(
        "--workers",
        type=int,
        default=1,
        metavar="NUMBER",
        help="number of services that share the store and take turns, for example 2, which needs PostgreSQL; "
        "default: 1",
    )
    parser.add_argument(
        "--patients", type=int, default=120, metavar="NUMBER", help="number of patients a day; default: 120"
    )
    parser.add_argument(
        "--keep", action="store_true", help="go on serving at the end, until Ctrl-C, so that you can open the page"
    )


def _run(options: argparse.Namespace) -> None:
    """Run the clinic, and write the page."""
    need("duckdb", "pyarrow", "pandas")
    service = import_module("meanbounds.service")
    if not 20 <= options.patients <= 500:
        raise ValueError(f"--patients must be between 20 and 500; got {options.patients}")
    if options.workers < 1 or (options.workers > 1 and not str(options.store).startswith("postgres")):
        raise ValueError("--workers above 1 needs --store postgresql://..., which several processes can share")
    store = options.store or f"sqlite:{options.output / 'state.db'}"
    if options.store is not None:
        service.open_store(store).close()  # says what is wrong with it
    elif (options.output / "state.db").exists():
        raise ValueError(f"{options.output} has a clinic already: remove the folder, or give another -o")
    with locked(options.output):
        _Run(options.output, store, options.patients).play(options.workers, keep=options.keep)


class _Run:
    """One run of the clinic."""

    def __init__(self, folder: Path, store: str, patients: int) -> None:
        self.folder, self.store = folder, store
        self.clinic = Clinic(patients, _NEW_DRUG)
        self.story = Story(ARMS, _WATCHED, _SERVED, _NEW_DRUG)
        self._waiting: dict[int, list[dict[str, Any]]] = {}

    def play(self, workers: int, *, keep: bool) -> None:
        """All of it, step by step."""
        blank = self.folder / f"{_KEY}.json"
        nothing = mb.MeanBounds(np.zeros(len(ARMS)), np.ones(len(ARMS)), arms=ARMS)
        mb.ContextualAgent(mb.OptimisticGittins(), dict.fromkeys(AGES, nothing), seed=7).save(blank)
        with _serving(self.store, blank, workers) as clients:
            self._watch(clients[0])
            self._hand_over(clients[0])
            self._serve(clients)
            self._look(clients[0])
            self._after(clients)
            print(f"written: {self.folder / 'index.html'}; open it in a browser")
            if keep:
                print(f"{clients[0].url} shows what the service knows; Ctrl-C ends it", flush=True)
                with contextlib.suppress(KeyboardInterrupt):
                    while True:
                        time.sleep(1.0)

    def _watch(self, client: Client) -> None:
        """A month in which doctors decide, and the service takes notes."""
        for number in range(_WATCHED):
            day = self.clinic.day(number)
            rows = [
                {
                    "observation_id": f"day {number} patient {k}",
                    "context": AGES[day.ages[k]],
                    "arm": ARMS[day.doctors[k]],
                    "reward": day.outcomes[k, day.doctors[k]],
                }
                for k in range(len(day))
            ]
            _sound(client.call("POST", f"/v1/agents/{_KEY}/observations/batch", {"observations": rows}))
            self.story.doctors(number, [row["reward"] for row in rows])
        print(f"{_WATCHED} days observed, {_WATCHED * self.clinic.patients:,} patients; doctors decided all of them")

    def _hand_over(self, client: Client) -> None:
        """Explain the log, start an agent from it, and hand over a share of the patients."""
        names = ["--context", "context", "--arm", "arm", "--reward", "reward"]
        _command("explain", f"{self.store}#{_KEY}", *names, "-o", str(self.folder / "log.html"))
        better = self.folder / "better.json"
        # Doctors choose well: the agent believes it with probability 0.95, and gives it up if outcomes contradict it.
        said = _command(
            *("start", f"{self.store}#{_KEY}", *names, "--trust", "0.95", "--seed", "7", "--floor", "0.02"),
            *("-o", str(better)),
        )
        self.story.started = said
        print(f"\n{said}")
        saved = json.loads(better.read_text(encoding="utf-8"))
        client.call("POST", f"/v1/agents/{_KEY}/changes", {"agent": saved})
        client.call("PATCH", f"/v1/agents/{_KEY}/settings", {"share": _SHARE})
        print(f"\nday {_WATCHED}: the agent decides for {_SHARE:.0%} of the patients, doctors for the others")

    def _serve(self, clients: Sequence[Client]) -> None:
        """Two months in which agent and doctors share the patients; outcomes come days later."""
        for number in range(_WATCHED, _SERVED + _LATE):
            client = clients[number % len(clients)]
            self._report(client, number)
            if number < _SERVED:
                self._decide(client, number, self.clinic.day(number))
            for alarm in client.call("GET", f"/v1/agents/{_KEY}/history")["alarms"]:
                if self.story.alarm(number, alarm):
                    print(f"day {number}: alarm: {alarm}", flush=True)

    def _decide(self, client: Client, number: int, day: Day) -> None:
        asked = [{"request_id": f"day {number} patient {k}", "context": AGES[age]} for k, age in enumerate(day.ages)]
        decided = _sound(client.call("POST", f"/v1/agents/{_KEY}/decisions/batch", {"decisions": asked}))
        rewards = []
        for k, one in enumerate(decided):
            arm = day.doctors[k] if one["arm"] is None else ARMS.index(one["arm"])
            told = {"decision_id": one["decision_id"], "reward": day.outcomes[k, arm]}
            rewards.append(told | ({"arm": ARMS[arm]} if one["arm"] is None else {}))
            self.story.decided(number, AGES[day.ages[k]], one["arm"], day.outcomes[k, arm])
        self._waiting[number + _LATE] = rewards

    def _report(self, client: Client, number: int) -> None:
        rewards = self._waiting.pop(number, [])
        if rewards:
            _sound(client.call("POST", "/v1/rewards/batch", {"rewards": rewards}))

    def _look(self, client: Client) -> None:
        """What the service knows in the end."""
        self.story.history = client.call("GET", f"/v1/agents/{_KEY}/history")
        self.story.views = {age: client.call("GET", f"/v1/agents/{_KEY}/contexts/{age}")["arms"] for age in AGES}
        own, doctors = self.story.history["agent"], self.story.history["expert"]
        print(
            f"\nday {_SERVED}: the agent's patients did well in {own['mean']:.1%} of {own['rewards']:,} cases, those "
            f"of the doctors in {doctors['mean']:.1%} of {doctors['rewards']:,}, the month before included"
        )

    def _after(self, clients: Sequence[Client]) -> None:
        """Export, evaluate, compute every decision again, and write the page."""
        events = self.folder / "events.parquet"
        print(
            "\n" + _command("export", "--store", self.store, "--agent", _KEY, "--rows", "decisions", "-o", str(events))
        )
        self.story.evaluated = _command("evaluate", str(events), "--least", "0.02", "--time", "position")
        print("\n" + self.story.evaluated)
        self.story.verified = _command("verify", "--store", self.store)
        print("\n" + self.story.verified)
        self.story.workers = len(clients)
        write_page(self.story, self.clinic, self.folder / "index.html")


def _sound(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers to a batch, of which none may be a refusal."""
    results: list[dict[str, Any]] = answer["results"]
    for one in results:
        if "error" in one:
            raise ValueError(f"the service refused part of a batch: {one['error']['message']}")
    return results


def _command(*arguments: str) -> str:
    """Run a command as a shell would, and return what it printed."""
    from meanbounds.cli import main

    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = main(list(arguments))
    if code:
        raise ValueError(f"meanbounds {arguments[0]} ended with code {code}; what it said is above")
    return said.getvalue().rstrip()


@contextlib.contextmanager
def _serving(store: str, agent: Path, workers: int) -> Iterator[list[Client]]:
    """Services that share a store, each a process of its own, and a client for each; they end with the block."""
    service = import_module("meanbounds.service")
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(workers):
            command = [sys.executable, "-m", "meanbounds", "serve", str(agent), "--store", store, "--port", "0"]
            log = os.open(
                agent.parent / "service.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644
            )  # grows as it runs
            stack.callback(os.close, log)
            server = subprocess.Popen([*command, "--observe"], stdout=subprocess.PIPE, stderr=log, text=True)
            stack.callback(_stop, server)
            clients.append(stack.enter_context(service.Client(_address(server), agent=_KEY, patience=_PATIENCE)))
        yield clients


def _address(server: subprocess.Popen[str]) -> str:
    """Where a service listens, once it says so."""
    assert server.stdout is not None
    for line in server.stdout:
        found = re.search(r"at (http://\S+);", line)
        if found:
            return found[1]
    raise OSError("the service did not start; service.log in the folder says why")


def _stop(server: subprocess.Popen[str]) -> None:
    server.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(20.0)
    server.kill()
    assert server.stdout is not None
    server.stdout.close()


COMMAND = Command(
    name="clinic",
    help="a service from end to end in a made-up clinic: observe, explain, start, hand over, alarm, evaluate",
    example="meanbounds clinic -o clinic",
    add_options=_add_options,
    run=_run,
)
