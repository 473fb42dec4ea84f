"""A context that is erased: its name is nowhere, and the state is that of a log which never had it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import meanbounds as mb
from meanbounds.service import open_store, verify
from meanbounds.service.book import Book, saved_state
from meanbounds.service.commands import (
    Change,
    Command,
    Decide,
    Erase,
    Force,
    Look,
    LookAtDecision,
    Observe,
    Reward,
    RollBack,
)
from meanbounds.service.errors import RefusalError
from meanbounds.service.events import CHANGED, context_of, name_of
from meanbounds.service.schema import ChangeIn, DecisionIn, ObservationIn
from meanbounds.service.snapshots import make_snapshot
from meanbounds.service.sqlite import SQLiteStore
from meanbounds.service.store import Store
from meanbounds.service.writer import carry_out
from tests.servers import postgres_cluster
from tests.service.made import BOUNDS, a_book, contextual, decide, one, play, reloaded, reward, state

NAMES: list[Any] = ["c0", "a", 'quoted "é\n', "", 1, 1.0, 2.5, ["c0", 1], ["c0", 1.0], "context", "erased"]
DATA = Path(__file__).parents[1] / "data" / "v0_1" / "contextual"
SECRET = 'Jane "Doe", born 1950-01-01'


def doubted() -> mb.ContextualAgent:
    """Contexts that are agents of their own, because their bounds rest on an assumption that may be wrong."""
    known = mb.Knowledge(BOUNDS, trust=0.9, assumption="the expert is optimal")
    given = {context_of(name): known for name in ("c0", "a", 1)}
    return mb.ContextualAgent(mb.GLUE(), given, seed=7, unknown="vacuous")


@contextmanager
def a_store(kind: str, folder: Path) -> Iterator[str]:
    """The address of an empty store."""
    if kind == "sqlite":
        yield f"sqlite:{folder / 'state.db'}"
        return
    with postgres_cluster() as cluster, cluster.running():
        yield cluster.url


def contents(store: Any) -> bytes:
    """All that the tables of a store hold, unpacked."""
    prefix = "" if isinstance(store, SQLiteStore) else "meanbounds_"
    tables = ("settings", "events", "pieces", "newest", "versions", "contexts")
    return b"\n".join(
        _plain(value) for table in tables for row in store._run(f"SELECT * FROM {prefix}{table}") for value in row
    )


def _plain(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | memoryview):
        with suppress(zlib.error):
            return zlib.decompress(bytes(value))
        return bytes(value)
    return b""


def follow(book: Book) -> Book:
    """Let a book apply what others wrote."""
    carry_out(book, Look("demo", lambda _book, _key: None))
    return book


def replayed(store: Store) -> dict[str, Any]:
    """The state that the log gives from its beginning, without a snapshot."""
    book = Book(store)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # who served has heard them
        for event in store.read():
            book.apply(event)
    return {key: {**own, "swept": 0} for key, own in saved_state(book).items()}


def told(states: dict[str, Any]) -> str:
    """A state as text: 1 and 1.0 are not the same there."""
    return json.dumps(states)


def command_of(step: str, book: Book, ids: list[str], name: Any, number: int) -> Command | None:
    """A step of a random story; None if it cannot be taken yet."""
    match step:
        case "decide":
            return Decide("demo", f"{number} {name}", DecisionIn(context=name))
        case "choose":
            return Decide("demo", f"{number} {name}", DecisionIn(context=name, eligible=["a", "b"]))
        case "reward":
            return Reward(ids[number % len(ids)], None, float(number % 2)) if ids else None
        case "observe":
            return Observe("demo", f"{number}", ObservationIn("b", 0.5, context=name))
        case "force":
            return Force("demo", None if number % 3 == 0 else "b", name)
        case "change":
            return Change("demo", ChangeIn(context=name, retire="c") if number % 2 else ChangeIn(restore="c"))
        case "replace":
            return Change("demo", ChangeIn(agent=agent_of(book).to_dict()))
        case "roll back":
            return RollBack("demo", number % book.agents["demo"].version + 1)
        case _:
            return Erase("demo", context_of(name))


def agent_of(book: Book) -> Any:
    """The agent of all contexts."""
    return book.agents["demo"].agent


STEPS = ["decide", "choose", "reward", "observe", "force", "change", "replace", "roll back", "erase", "save"]


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, len(NAMES) - 1)), min_size=5, max_size=40),
    is_doubted=st.booleans(),
)
def test_the_state_is_that_of_a_replay_whatever_came_before(steps: list[tuple[str, int]], is_doubted: bool) -> None:
    book = a_book(doubted() if is_doubted else contextual(floor=0.05))
    other, ids = reloaded(book), list[str]()
    for number, (step, place) in enumerate(steps):
        if step == "save":
            book.save_snapshot()
            continue
        name = NAMES[place]
        command = command_of(step, book, ids, name, number)
        if command is None:
            continue
        (answer,) = carry_out(book, command)
        if hasattr(answer, "agent_version"):
            ids.append(answer.decision_id)
        if isinstance(command, Erase) and not isinstance(answer, RefusalError):
            assert told(state(book)) == told(state(reloaded(book))) == told(replayed(book.store))
            assert context_of(name) not in [context_of(own) for own in _names_in_use(book)]
            if number % 2:  # else it has several erasures and changes to follow at once
                assert told(state(follow(other))) == told(state(book))
    assert told(state(follow(other))) == told(state(book)) == told(replayed(book.store))
    assert verify(book.store).holds


def _names_in_use(book: Book) -> list[Any]:
    """The names of contexts anywhere in memory and in the table of names; None is for all of them."""
    served = book.agents["demo"]
    named = [json.loads(text) for text in book.store.names("demo").values()]
    decided = [own.said.context for own in book._decisions.values()]
    lines = [name for rows in served.history.saved().values() for name, _ in rows]
    found = [*map(name_of, agent_of(book)), *map(name_of, served.forced), *named, *decided, *lines]
    return [name for name in found if name is not None]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_name_is_nowhere_and_other_processes_need_not_read_the_log_again(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_store(kind, tmp_path) as address:
        book = a_book(store=open_store(address))
        other = Book(open_store(address))
        answer = decide(book, f"request of {SECRET}", SECRET)
        one(book, Observe("demo", f"seen {SECRET}", ObservationIn("b", 0.5, context=SECRET)))
        one(book, Force("demo", "b", SECRET))
        one(book, Change("demo", ChangeIn(context=SECRET, retire="c")))
        one(book, Change("demo", ChangeIn(agent=agent_of(book).to_dict())))
        play(book, 5)
        one(book, RollBack("demo", 2))
        assert make_snapshot(other.store, 0.0)
        follow(other)
        reward(book, answer.decision_id, 1.0)
        book.alarms = [("demo", f"context {SECRET!r}, arm 'a'"), ("demo", "context 'c0', arm 'a'")]
        text = json.dumps(SECRET)[1:-1].encode()
        assert contents(book.store).count(text) > 5
        with monkeypatch.context() as patch:
            patch.setattr(Book, "reload", None)
            erased = one(book, Erase("demo", SECRET)).context
            assert told(state(follow(other))) == told(state(book))
            decide(other, f"request of {SECRET}", erased)  # an id that was erased can be used again
        assert book.alarms == [("demo", "context 'c0', arm 'a'")]
        assert told(state(reloaded(other))) == told(state(follow(book))) == told(replayed(book.store))
        for own in (book, other):
            assert one(own, LookAtDecision(answer.decision_id, None)).context == erased
        one(other, RollBack("demo", 2))
        assert erased in agent_of(other)
        assert verify(book.store).holds
        assert contents(book.store).replace(b"request of " + SECRET.encode(), b"").count(b"1950-01-01") == 0
        other.store.close()
        book.store.close()


def test_no_file_has_the_name_when_traces_are_erased(tmp_path: Path) -> None:
    book = a_book(store=open_store(f"sqlite:{tmp_path / 'state.db'}"))
    for number in range(30):
        decide(book, f"{number} of {SECRET}", SECRET)
        one(book, Change("demo", ChangeIn(context=SECRET, retire="c")))
        one(book, Change("demo", ChangeIn(restore="c")))
    book.save_snapshot()
    assert any(b"1950-01-01" in file.read_bytes() for file in tmp_path.iterdir())
    one(book, Erase("demo", SECRET))
    book.store.erase_traces()
    book.store.close()
    for file in tmp_path.iterdir():
        assert b"1950-01-01" not in file.read_bytes(), file


def test_what_was_written_after_the_search_is_erased_as_well(tmp_path: Path) -> None:
    address = f"sqlite:{tmp_path / 'state.db'}"
    book, beside = a_book(store=open_store(address)), open_store(address)
    for context in (SECRET, "c1"):
        decide(book, context, context)
    one(book, Change("demo", ChangeIn(agent=agent_of(book).to_dict())))
    commands = [Erase("demo", SECRET), Erase("demo", "c1")]
    for command in commands:
        command.look(beside)
    decide(book, "later", SECRET)
    for command in commands:  # what the second has found is from before the first
        one(book, command)
    assert b"1950-01-01" not in contents(book.store)
    assert verify(book.store).holds
    assert told(state(book)) == told(replayed(book.store))
    beside.close()
    book.store.close()


def test_an_agent_that_version_0_1_saved_loses_the_name() -> None:
    saved = json.loads((DATA / "ThompsonSampling.json").read_text(encoding="utf-8"))["agent"]
    assert saved["format"] == 1
    (old, _), *_ = saved["agents"]
    book = a_book(mb.ContextualAgent.from_dict(saved))
    created = next(iter(book.store.read()))
    said = {**json.loads(created.body), "agent": saved}
    book.store.rewrite([(created.position, None, json.dumps(said, separators=(",", ":")).encode())])
    erased = one(book, Erase("demo", context_of(old))).context
    (_, _, _, _, _, _, body), *_ = book.store.read()
    names = [name for name, _ in json.loads(body)["agent"]["agents"]]
    assert names == [erased, *(name for name, _ in saved["agents"][1:])]
    assert told(state(book)) == told(replayed(book.store))


DYING = """
import os, signal, sys
from meanbounds.service import open_store
from meanbounds.service.book import Book
from meanbounds.service.commands import Erase
from meanbounds.service.writer import carry_out

address, name, method, moment = sys.argv[1:]
book = Book(open_store(address))
book.reload()
before = getattr(type(book.store), method)

def die(*given):
    if moment == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    before(book.store, *given)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(book.store, method, die)
carry_out(book, Erase("demo", name))
"""


@pytest.mark.parametrize(
    ("method", "moment", "is_done"),
    [("rewrite", "after", False), ("commit", "before", False), ("commit", "after", True)],
)
def test_a_process_that_is_killed_leaves_all_of_the_name_or_nothing(
    method: str, moment: str, is_done: bool, tmp_path: Path
) -> None:
    address = f"sqlite:{tmp_path / 'state.db'}"
    book = a_book(store=open_store(address))
    for number in range(5):
        decide(book, f"{number}", SECRET)
    before = contents(book.store)
    book.store.close()
    done = subprocess.run([sys.executable, "-c", DYING, address, SECRET, method, moment], check=False, timeout=300.0)
    assert done.returncode == -signal.SIGKILL
    store = open_store(address)
    assert (b"1950-01-01" not in contents(store)) is is_done
    assert is_done or contents(store) == before
    assert verify(store).holds
    assert (SECRET not in agent_of(follow(Book(store)))) is is_done
    store.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_stores_from_before_names_had_numbers(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = a_book()
    play(book, 5)
    decide(book, "first", SECRET)
    one(book, Change("demo", ChangeIn(context=SECRET, retire="c")))
    plain = zlib.compress(json.dumps(saved_state(book)["demo"]).encode())
    every = zlib.compress(json.dumps(saved_state(book)).encode())
    with a_store(kind, tmp_path) as address:
        with monkeypatch.context() as patch:
            for module in ("sqlite", "postgres"):
                patch.setattr(f"meanbounds.service.{module}.VERSION", 3)
            old = open_store(address)
            with old.group():
                old.write(list(book.store.read()))
                old.keep_version("demo", 2, book.position, plain)
                old.keep_snapshot(book.position, every)
            old.close()
        new = open_store(address)
        again = Book(new)
        assert told(state(follow(again))) == told(state(book))
        one(again, Erase("demo", SECRET))
        assert b"1950-01-01" not in contents(new)
        one(again, RollBack("demo", 2))
        assert told(state(again)) == told(replayed(new))
        assert [event.kind for event in new.read()][-1] == CHANGED
        new.close()


TIGHT = mb.MeanBounds([0.2, 0.1], [0.4, 0.3], arms=["a", "b"])


def contexts_of(book: Book) -> tuple[Any, ...]:
    agent = book.agents["demo"].agent
    assert isinstance(agent, mb.ContextualAgent)
    return agent.contexts


def contradict(book: Book, context: Any, rounds: int = 40) -> None:
    """Give good rewards where the bounds say that there are none."""
    for number in range(rounds):
        decided = decide(book, f"{context} {book.position} {number}", context)
        reward(book, decided.decision_id, 1.0)


@pytest.mark.parametrize("step", ["nothing", "snapshot", "erase"])
def test_when_bounds_are_contradicted_does_not_depend_on_who_sleeps(step: str) -> None:
    """The more contexts, the more evidence an alarm takes: one that woke long ago has to know of the new ones."""
    book = a_book(mb.ContextualAgent(mb.GLUE(), {"X": TIGHT}, seed=7, unknown="vacuous"))
    decide(book, "first", "X")
    for number in range(200):
        decide(book, f"new {number}", f"new {number}")
    name: Any = "X"
    if step == "snapshot":
        book.save_snapshot()
    elif step == "erase":
        name = one(book, Erase("demo", "X")).context
    contradict(book, name)
    assert told(state(book)) == told(replayed(book.store))
    assert verify(book.store).differences == []


def test_a_state_with_plain_names_is_read() -> None:
    """A process of an older version may write one to a store that a newer version has opened."""
    book = a_book()
    play(book, 5)
    body = zlib.compress(json.dumps(saved_state(book)).encode())
    with book.store.group(book.position):
        book.store.keep_snapshot(book.position, body)
    again = reloaded(book)
    assert contexts_of(again) == contexts_of(book)
    assert told(state(again)) == told(state(book))


def test_a_rollback_is_made_once_also_after_an_erasure() -> None:
    book = a_book()
    decide(book, "1", "c1")
    one(book, Change("demo", ChangeIn(retire="c")))
    made = one(book, RollBack("demo", 1, "key"))
    one(book, Change("demo", ChangeIn(agent=contextual().to_dict()), "whole"))
    one(book, Erase("demo", "c1"))
    for again in (book, reloaded(book)):
        assert one(again, RollBack("demo", 1, "key")) == made
        with pytest.raises(RefusalError, match="a change with a context that was erased since"):
            one(again, Change("demo", ChangeIn(agent=contextual().to_dict()), "whole"))


def test_changes_do_not_stay_in_memory() -> None:
    book = a_book()
    for number in range(3):
        one(book, RollBack("demo", 1, f"key {number}"))
    decide(book, "1")
    for own in (book, reloaded(book)):
        assert own.named("demo", CHANGED, "key 1") is None
        assert one(own, RollBack("demo", 1, "key 1")).version == 3
        decide(own, "1")
        assert own.named("demo", CHANGED, "key 1") is None


def test_alarms_forget_a_context_under_every_spelling() -> None:
    book = a_book(mb.ContextualAgent(mb.GLUE(), {1: TIGHT, 2: TIGHT}, seed=7))
    contradict(book, 1)
    assert "context 1, " in book.alarms[0][1]
    one(book, Erase("demo", 1.0))
    assert book.alarms == []


def test_alarms_of_a_process_forget_what_another_one_erased(tmp_path: Path) -> None:
    address = f"sqlite:{tmp_path / 'state.db'}"
    agent = mb.ContextualAgent(mb.GLUE(), {SECRET: TIGHT, "c": TIGHT}, seed=7)
    book = a_book(agent, store=open_store(address))
    other = Book(open_store(address))
    contradict(other, SECRET)
    assert other.alarms
    one(book, Change("demo", ChangeIn(agent=book.agents["demo"].agent.to_dict())))
    one(book, Erase("demo", SECRET))
    assert SECRET not in contexts_of(follow(other))
    assert other.alarms == []


def test_a_context_that_is_erased_while_the_log_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"sqlite:{tmp_path / 'state.db'}"
    book = a_book(mb.ContextualAgent(mb.GLUE(), {SECRET: TIGHT, "c": TIGHT}, seed=7), store=open_store(address))
    book.save_snapshot()
    for number in range(3):
        decide(book, f"{number}", SECRET)
    store = open_store(address)
    names = store.names

    def late(agent: str) -> Any:
        found = names(agent)
        monkeypatch.setattr(store, "names", names)
        one(book, Erase("demo", SECRET))
        return found

    monkeypatch.setattr(store, "names", late)
    other = Book(store)
    other.reload()
    assert told(state(other)) == told(state(book))
    assert SECRET not in contexts_of(other)
