"""Snapshots that hold up no request: another process reads the log, and writes the state in small pieces.

The address of the store comes on the standard input of that process, because it may hold a password, and arguments can
be read by everybody on the machine.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from meanbounds.service.book import Book, saved_state
from meanbounds.service.packing import names_in, pack_all
from meanbounds.service.store import END, Store, open_store

__all__ = ["COMMAND", "Snapshots", "main", "make_snapshot"]

COMMAND = (sys.executable, "-c", "from meanbounds.service.snapshots import main; main()")
"""What makes a snapshot of the store whose address comes on its standard input."""

_PIECE = 131_072  # bytes that are written at a time: other writers wait for about a millisecond
_NAMES = 1_000  # names that are looked up at a time, for the same reason
_PAUSE = 0.01  # seconds between two pieces
_EVERY = 100_000  # events between two snapshots
_NICE = 5  # how much the processor time that a snapshot takes counts for less than that of others


def make_snapshot(store: Store, pause: float = _PAUSE, nice: int = 0) -> bool:
    """Make a snapshot of a store that others write to; False if a context was erased meanwhile.

    Parameters
    ----------
    store
        The store, opened for this alone.
    pause
        How many seconds to leave to others after each piece.
    nice
        By how much to lower the priority while the state is computed.

    Examples
    --------
    >>> from meanbounds.service import open_store
    >>> from meanbounds.service.snapshots import make_snapshot
    >>> make_snapshot(open_store("sqlite::memory:"))
    True
    """
    erasures, book, name = store.erasures(), Book(store), secrets.token_hex(8)
    # Niceness is that of a thread, on Linux. What writes is not nice: others wait while it holds the lock of the store.
    with ThreadPoolExecutor(1, initializer=os.nice, initargs=(nice,)) as gently:
        states = gently.submit(_states, book).result()
        store.relax()
        try:
            numbers = {key: _number(store, key, names_in(own), erasures, pause) for key, own in states.items()}
        except _ErasedError:
            return False
        body = gently.submit(pack_all, states, numbers).result()
    starts = range(0, len(body), _PIECE)
    for number, start in enumerate(starts):
        with store.group(END):
            store.add_piece(name, number, body[start : start + _PIECE])
        time.sleep(pause)
    with store.group(END):
        is_used = sum(own == name for own, _ in store.pieces()) == len(starts)  # nobody has dropped some of them
        if is_used:
            store.use_pieces(book.position, name)
    for piece in store.pieces():
        if piece[0] != (name if is_used else ""):
            _drop(store, piece)
            time.sleep(pause)
    return is_used


def _states(book: Book) -> dict[str, Any]:
    """The state of a store."""
    book.reload()
    return saved_state(book)


class _ErasedError(Exception):
    """Raised where a context was erased meanwhile: its name must not come back."""


def _number(store: Store, agent: str, names: list[str], erasures: int, pause: float) -> dict[str, int]:
    """The numbers of names, some at a time, so that nobody waits for long; from then on an erasure renames them."""
    found = dict[str, int]()
    for start in range(0, len(names), _NAMES):
        with store.group(END):
            if store.erasures() != erasures:
                raise _ErasedError
            found |= store.number(agent, names[start : start + _NAMES])
        time.sleep(pause)
    return found


def _drop(store: Store, piece: tuple[str, int]) -> None:
    """Delete a piece unless it is one of the newest snapshot."""
    with store.group(END):
        newest = store.newest()
        if newest is None or piece[0] != newest[1]:
            store.drop_piece(*piece)


class Snapshots:
    """Starts a process that makes a snapshot whenever there are many events since the last.

    Parameters
    ----------
    book
        The state of the service.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        self._process: subprocess.Popen[bytes] | None = None
        self._tried = 0  # the position at which the last one was begun

    def look_after(self) -> None:
        """Begin a snapshot if one is due, and take note of one that is done; returns at once."""
        book, address = self._book, self._book.store.shared_address
        if self._process is not None:
            if self._process.poll() is None:
                return
            self._process = None
            book.note_snapshot()
        if address is not None and min(book.unsaved, book.position - self._tried) >= _EVERY:
            self._tried = book.position
            self._process = _spawn(address)

    def close(self) -> None:
        """Stop a process that is under way."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _spawn(address: str) -> subprocess.Popen[bytes]:
    """A process that makes a snapshot of the store at an address."""
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stdin is not None
    with process.stdin:
        process.stdin.write(address.encode())
    return process


def main() -> None:
    """Make a snapshot of the store whose address is on the standard input, with what other programs leave over."""
    store = open_store(sys.stdin.read(), create=False)
    make_snapshot(store, nice=_NICE)
    store.close()
