"""The one writer of a process: it takes the commands that wait, carries them out in order, and syncs them as a group.

Answers go out after the group is on disk. While a group is being synced, the next one gathers.
"""

from __future__ import annotations

import asyncio
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from meanbounds.evidence import AssumptionWarning, ContradictionWarning
from meanbounds.service.book import Book
from meanbounds.service.commands import Command, Sweep
from meanbounds.service.errors import RefusalError
from meanbounds.service.events import Event
from meanbounds.service.saying import say
from meanbounds.service.snapshots import Snapshots
from meanbounds.service.store import Found, StoreError

__all__ = ["Writer", "carry_out"]

_MOST = 512  # commands in a group
_SWEEP = 1.0  # seconds between two looks for decisions that expire
_TIDY = 0.5  # seconds between two times that the store tidies up
_QUEUE = 20_000  # commands that may wait; more are refused
_Result = TypeVar("_Result")
_Waiting = tuple[Sequence[Command], Callable[[list[Any]], None]]  # commands, and what takes their answers


def carry_out(book: Book, *commands: Command) -> list[Any]:
    """Carry out commands as one group, without a writer; an answer may be a `RefusalError`.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.service import open_store
    >>> from meanbounds.service.book import Book
    >>> from meanbounds.service.commands import Create, Decide
    >>> from meanbounds.service.events import Settings
    >>> from meanbounds.service.schema import DecisionIn
    >>> agent = mb.Agent(mb.GLUE(), mb.MeanBounds([0.2, 0.1], [0.9, 0.5], arms=["a", "b"]), seed=7)
    >>> book = Book(open_store("sqlite::memory:"))
    >>> carry_out(book, Create("demo", agent.to_dict(), Settings(), ""))
    [True]
    >>> carry_out(book, Decide("demo", "request 1", DecisionIn()))[0].arm
    'a'
    """
    store, begun = book.store, False
    if book.stale:
        store.probe()
        book.reload()
    try:
        found = store.begin(book.position, book.wanted(commands))
        begun = True
        while book.is_renamed(found[0]):
            store.rollback()
            book.reload()
            found = store.begin(book.position, book.wanted(commands))
        book.learn(*found)
        answers = _run(book, commands)
        if book.write():
            store.commit()
        else:
            store.rollback()
    except BaseException:
        book.stale |= begun  # else nothing was applied
        store.rollback()
        raise
    book.trim()
    return answers


def _run(book: Book, commands: Sequence[Command]) -> list[Any]:
    """Run commands one by one; what agents warn of is kept."""
    book.start_group()
    answers, heard = list[Any](), 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        for command in commands:
            answers.append(_answer(book, command))
            if len(caught) > heard:
                for warning in caught[heard:]:
                    _tell(book, warning.message)
                heard = len(caught)
    return answers


def _tell(book: Book, warning: Warning | str) -> None:
    """Say what an agent warned of; an alarm is kept for those who look at the agent."""
    if not isinstance(warning, ContradictionWarning | AssumptionWarning):
        say("warning", message=str(warning))
        return
    agent = book.newest_agent
    say("alarm", agent=agent, message=str(warning))
    book.alarms = [*book.alarms[-99:], (agent, str(warning))]
    book.warned += 1


def _answer(book: Book, command: Command) -> Any:
    try:
        return command.run(book)
    except RefusalError as error:
        return error
    except StoreError:
        raise
    except LookupError as error:
        return RefusalError(422, "unknown", str(error))
    except (TypeError, ValueError, ArithmeticError) as error:
        return RefusalError(422, "invalid", str(error))


class _Helper:
    """A thread that works for an event loop, one piece of work after the other; an executor takes longer to ask.

    Parameters
    ----------
    name
        The name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._asked: SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]] | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def do(self, work: Callable[[], _Result]) -> asyncio.Future[_Result]:
        """Let this be done; the future has what came of it."""
        future: asyncio.Future[_Result] = asyncio.get_running_loop().create_future()
        self._asked.put((work, future))
        return future

    def _run(self) -> None:
        while (asked := self._asked.get()) is not None:
            work, future = asked
            result, failed = None, None
            try:
                result = work()
            except BaseException as error:  # it is raised where the work was asked for
                failed = error
            with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits
                future.get_loop().call_soon_threadsafe(_settle, future, result, failed)
            del asked, work, future, result, failed

    def stop(self) -> None:
        """Wait for what was asked, and end the thread."""
        self._asked.put(None)
        self._thread.join()


def _settle(future: asyncio.Future[Any], result: Any, failed: BaseException | None = None) -> None:
    """Give a future what came of its work, unless whoever waited has gone away."""
    if future.done():
        return
    if failed is None:
        future.set_result(result)
    else:
        future.set_exception(failed)


class Writer:
    """Carries out commands for many tasks of an event loop.

    Parameters
    ----------
    book
        The state; from then on only the writer may use it.
    snapshots
        Whether to save snapshots from time to time, and at the end.
    """

    def __init__(self, book: Book, *, snapshots: bool = True) -> None:
        self.book = book
        self.problem: str | None = None  # why the store cannot be used, if it cannot
        self.groups = self.commands = 0
        self._snapshots = Snapshots(book) if snapshots else None
        self._waiting: list[_Waiting] = []
        self._idle: asyncio.Future[None] | None = None  # what `run` waits for while there is nothing to do
        self._closing = False
        self._tidy = self._long = False
        self._behind = False  # decisions that have expired may be left over from the last look
        self._thread = _Helper("meanbounds-store")
        self._tidier = _Helper("meanbounds-tidy")

    def put(self, *commands: Command) -> asyncio.Future[list[Any]]:
        """Let commands be carried out, together and in this order; the future has their answers."""
        future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self.submit(partial(_settle, future), *commands)
        return future

    def submit(self, take: Callable[[list[Any]], None], *commands: Command) -> None:
        """Let commands be carried out as `put` does; `take` is called with their answers."""
        if self._closing:
            raise RefusalError(503, "stopping", "the service is stopping; try again soon")
        if len(self._waiting) >= _QUEUE:
            raise RefusalError(503, "overloaded", "too many requests are waiting; try again later")
        self._waiting.append((commands, take))
        self._wake()

    def _wake(self) -> None:
        """Let `run` go on if it waits."""
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    async def run(self) -> None:
        """Work until `close` is called."""
        loop = asyncio.get_running_loop()
        swept = loop.time()
        self.book.store.defer_tidying()
        tidying = asyncio.create_task(self._keep_tidy())
        while not (self._closing and not self._waiting):
            if not self._waiting and not self._behind:
                self._idle = loop.create_future()
                timer = loop.call_later(_SWEEP, self._wake)
                await self._idle
                timer.cancel()
                self._idle = None
            if self._waiting:
                await self._group(self._take())
            if self._long:
                self._long = False
                with suppress(StoreError):
                    await self._in_thread(self.book.store.finish_tidying)
            if self._tidy:
                self._tidy = False
                with suppress(StoreError):  # somebody reads: the next checkpoint does it
                    await self._in_thread(self.book.store.erase_traces)
            if self._behind or loop.time() - swept >= _SWEEP:
                swept = loop.time()
                await self._look_after()
        tidying.cancel()
        if self._snapshots is not None:
            self._snapshots.close()
            if not self.problem and not self.book.is_large:
                await self._in_thread(self._save)

    async def _keep_tidy(self) -> None:
        """Let the store move what was written to where it stays, beside the groups."""
        while True:
            await asyncio.sleep(_TIDY)
            with suppress(StoreError):  # a full disk: the next group says so
                if await self._tidier.do(self.book.store.tidy):
                    self._long = True

    async def close(self) -> None:
        """Finish what waits, and stop."""
        self._closing = True
        self._wake()

    def _take(self) -> list[_Waiting]:
        """The next group: as many as may be, or one that has to be alone."""
        count = size = 0
        for commands, _ in self._waiting:
            alone = commands[0].alone if len(commands) == 1 else any(command.alone for command in commands)
            if count and (alone or size + len(commands) > _MOST):
                break
            count, size = count + 1, size + len(commands)
            if alone:
                break
        group, self._waiting = self._waiting[:count], self._waiting[count:]
        return group

    async def _group(self, group: list[_Waiting]) -> None:
        """Carry out a group, and answer when it is on disk."""
        commands = [command for own, _ in group for command in own]
        try:
            answers = await self._carry_out(commands)
            self.problem = None
        except StoreError as error:
            if self.problem is None:
                say("store", message=str(error))
            self.problem = str(error)
            refusal = RefusalError(503, "store", f"{error}. Send the same request again: it counts once")
            answers = [refusal] * len(commands)
        except Exception:
            say("error", traceback=traceback.format_exc())
            refusal = RefusalError(500, "internal", "something went wrong here; the same request again counts once")
            answers = [refusal] * len(commands)
        self.groups, self.commands, place = self.groups + 1, self.commands + len(commands), 0
        for own, take in group:
            try:
                take(answers[place : place + len(own)])
            except Exception:  # what is wrong with one of them is no matter of the others
                say("error", traceback=traceback.format_exc())
            place += len(own)

    async def _carry_out(self, commands: Sequence[Command]) -> list[Any]:
        book, store, begun = self.book, self.book.store, False
        try:
            if book.stale:
                await self._in_thread(self._recover)
            found = await self._begin(commands)
            begun = True
            while book.is_renamed(found[0]):
                await self._in_thread(self._read_anew)
                found = await self._begin(commands)
            book.learn(*found)
            # What reads the log itself may take long: the event loop goes on meanwhile.
            work = partial(_run, book, commands)
            is_alone = len(commands) == 1 and commands[0].alone
            answers = await self._in_thread(work) if is_alone else work()
            if not store.is_local:
                await self._in_thread(self._finish)
            elif book.write():
                await self._in_thread(store.commit)
            else:
                store.rollback()
        except BaseException:
            book.stale |= begun  # else nothing was applied: another process held the lock for too long, for example
            await self._in_thread(store.rollback)
            raise
        book.trim()
        return answers

    async def _begin(self, commands: Sequence[Command]) -> tuple[list[Event], Found]:
        book, store = self.book, self.book.store
        wanted = book.wanted(commands)
        if store.is_local:  # faster here than to hand it to a thread
            return store.begin(book.position, wanted)
        return await self._in_thread(lambda: store.begin(book.position, wanted))

    def _read_anew(self) -> None:
        self.book.store.rollback()
        self.book.reload()

    async def erase_traces(self) -> None:
        """Let the database forget rows that were overwritten, when no group is under way."""
        self._tidy = True

    def beside(self, work: Callable[[], _Result]) -> asyncio.Future[_Result]:
        """Do something that takes long and does not need the store, while groups go on; one at a time."""
        return self._tidier.do(work)

    def _finish(self) -> None:
        if self.book.write():
            self.book.store.commit()
        else:
            self.book.store.rollback()

    def _recover(self) -> None:
        """Read the state anew, once the store can be written again."""
        self.book.store.probe()
        self.book.reload()

    async def _look_after(self) -> None:
        """Let decisions expire, and save a snapshot from time to time."""
        if any(served.settings.wait is not None for served in self.book.agents.values()) and not self.book.stale:
            future: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
            await self._group([([Sweep()], future.set_result)])
            self._behind = future.result()[0] is True and not self._closing
        if self._snapshots is not None and not self.book.stale:
            with suppress(StoreError):  # the log is whole: a snapshot only saves time
                self._snapshots.look_after()

    def _save(self) -> None:
        try:
            self.book.save_snapshot()
        except StoreError as error:  # the log is whole: a snapshot only saves time
            self.problem = str(error)

    async def _in_thread(self, work: Callable[[], _Result]) -> _Result:
        return await self._thread.do(work)

    def stop(self) -> None:
        """Let go of the thread and the store."""
        self._tidier.stop()
        self._thread.stop()
        self.book.store.close()
