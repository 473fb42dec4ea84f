"""Compute a whole log again: every arm, every probability, and the state at its end."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from meanbounds.service import events as kinds
from meanbounds.service.book import REMEMBERED, Book, saved_state
from meanbounds.service.erasing import undisturbed
from meanbounds.service.events import NAMES, Event, context_of
from meanbounds.service.store import Store

__all__ = ["Verdict", "verify"]

_SHOWN = 10


@dataclass
class Verdict:
    """What a computation from the beginning of a log showed.

    Attributes
    ----------
    position
        The last event that was looked at.
    events
        How many events there are of each kind.
    differences
        What came out otherwise, in words; the first ten of each kind of difference.
    different
        How many decisions came out otherwise.

    Examples
    --------
    >>> from meanbounds.service import Verdict
    >>> Verdict(differences=["position 7: ..."]).holds
    False
    """

    position: int = 0
    events: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    different: int = 0

    @property
    def holds(self) -> bool:
        """Whether everything came out the same."""
        return not self.differences


class _Verifier(Book):
    """A book that decides anew, and compares."""

    def __init__(self, store: Store, verdict: Verdict) -> None:
        super().__init__(store)
        self.verdict = verdict

    def _decided(self, event: Event, said: kinds.Decided) -> None:
        served = self.agents[event.agent]
        choice = served.decide(event.position, context_of(said.context), said.eligible, said.candidates)
        logged = (said.reason, said.arm, said.probability, said.chosen)
        if tuple(choice) == logged:
            return
        self.verdict.different += 1
        if self.verdict.different <= _SHOWN:
            self.verdict.differences.append(
                f"position {event.position}, agent {event.agent!r}: the log has {logged}, computed anew {tuple(choice)}"
            )
        arm = (
            None if choice.arm is None else choice.arm if choice.chosen is None else self._new_arms(said)[choice.chosen]
        )
        self._correct(served, said, arm)

    def apply(self, event: Event, said: Any = None) -> None:
        """Apply an event, and count it."""
        self.verdict.events[NAMES[event.kind]] += 1
        super().apply(event, said)


def verify(store: Store) -> Verdict:
    """Compute everything that the log of a store says anew, from its beginning and without its snapshot.

    Parameters
    ----------
    store
        The store; it may be in use.

    Returns
    -------
    Verdict
        Whether every arm and every probability came out the same, and whether the state at the end is that of the
        snapshot and the events after it, to the last bit.

    Examples
    --------
    >>> from meanbounds.service import open_store, verify
    >>> verify(open_store("sqlite::memory:")).holds
    True
    """
    _, (served, anew, verdict) = undisturbed(store, lambda: _both(store))
    before, after = _comparable(served), _comparable(anew)
    for key in before:
        if before[key] != after.get(key):
            verdict.differences.append(f"agent {key!r}: the state at position {served.position} came out otherwise")
    return verdict


def _both(store: Store) -> tuple[Book, Book, Verdict]:
    """The state as a service has it, the one that is computed anew, and what came out otherwise on the way."""
    served = Book(store)
    served.reload()
    verdict = Verdict(position=served.position)
    anew = _Verifier(store, verdict)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for event in store.read(0, served.position):
            anew.apply(event)
            if not event.position % REMEMBERED:
                anew.trim()
    return served, anew, verdict


def _comparable(book: Book) -> dict[str, Any]:
    """The state without what does not follow from the log: how far somebody has looked for what expires."""
    return {key: {**state, "swept": 0} for key, state in saved_state(book).items()}
