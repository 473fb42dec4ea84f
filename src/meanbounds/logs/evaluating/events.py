"""Decisions one by one, in the order of time: who decided what, how probable it was, and how it went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from meanbounds.bounds import Arm
from meanbounds.logs.counts import Counts, check_range
from meanbounds.logs.errors import BadRows, LogError
from meanbounds.logs.evaluating.columns import Encoded, Places, as_codes, as_numbers
from meanbounds.logs.evaluating.times import as_times
from meanbounds.logs.names import EVERYTHING, Context
from meanbounds.logs.reading import Time, read, refuse_bad_rows, warn_of_dropped
from meanbounds.logs.window import Window, read_window
from meanbounds.support.checks import check_choice, shown
from meanbounds.support.optional import optional
from meanbounds.support.types import Booleans, Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Columns", "Events", "as_columns"]

Column = Sequence[Any] | Encoded
_ROUNDING = 1e-9  # by which a probability may exceed 1


@dataclass(frozen=True)
class Columns:
    """What a reader found: a value for each row and column, not yet checked.

    `context` has a sequence for each column of the context. `lost` are rows that could not even become a row, by kind,
    with an example of each. `untyped` says that all fields are text, as in CSV.
    """

    context: Sequence[Column]
    arm: Column
    reward: Column
    probability: Column | None = None
    decider: Column | None = None
    time: Column | None = None
    names: tuple[str, ...] = ()
    lost: Mapping[str, int] | None = None
    lost_examples: Mapping[str, Mapping[str, Any]] | None = None
    untyped: bool = False


class Events:
    """The decisions of a log one by one, in the order of time; `read_events` and its siblings read them.

    Parameters
    ----------
    context, arm, reward, probability
        A value for each row: the context (None for a log without contexts), the arm that was chosen, the reward, and
        the probability with which this arm was chosen in this row. A reward that is None or NaN has not come yet. Where
        a person decided, the probability is None or NaN; ``probability=None`` if it is known of no row.
    decider
        Who decided, a name for each row; None if one agent decided all of them.
    time
        When it was decided: numbers or dates, by which the rows are sorted. Without it the order of the rows counts.
    since, until
        Take only the rows whose time is at `since` or later, and before `until`.
    low, high
        The range of the rewards.
    on_bad
        What to do about rows that cannot be used: ``"error"`` lists them by kind, ``"drop"`` leaves them out, and
        `dropped` says how many.

    Attributes
    ----------
    contexts, arms, deciders
        The names that occur, in natural order.
    context, arm, decider
        Of each row the place of its name among these.
    reward, probability
        Of each row, NaN where it is not known.
    time
        Seconds since 1970, or the numbers given; None without times.
    low, high, dropped
        The range of the rewards, and how many rows were left out, by kind.

    Examples
    --------
    >>> import meanbounds as mb
    >>> events = mb.logs.Events(
    ...     context=["old", "old", "young"],
    ...     arm=["tPA", "watch", "tPA"],
    ...     reward=[1, 0, None],
    ...     probability=[0.5, 0.5, 0.9],
    ... )
    >>> events
    Events(3 rows, 1 pending, 2 contexts, 2 arms, rewards in [0.0, 1.0])
    >>> events.arms, events.arm
    (('tPA', 'watch'), array([0, 1, 0]))
    """

    contexts: tuple[Context, ...]
    arms: tuple[Arm, ...]
    deciders: tuple[str | int, ...]

    def __init__(
        self,
        *,
        context: Iterable[Any] | None = None,
        arm: Iterable[Any],
        reward: Iterable[Any],
        probability: Iterable[Any] | None,
        decider: Iterable[Any] | None = None,
        time: Iterable[Any] | None = None,
        since: Time | None = None,
        until: Time | None = None,
        low: float = 0.0,
        high: float = 1.0,
        on_bad: Literal["error", "drop"] = "error",
    ) -> None:
        columns = as_columns(context, arm, reward, probability, decider, time)
        self._fill(columns, since, until, low, high, on_bad)

    @classmethod
    def of(
        cls, columns: Columns, since: Any, until: Any, low: float, high: float, on_bad: Literal["error", "drop"]
    ) -> Events:
        """The events that a reader found."""
        made = cls.__new__(cls)
        made._fill(columns, since, until, low, high, on_bad)
        return made

    def _fill(self, columns: Columns, since: Any, until: Any, low: float, high: float, on_bad: str) -> None:
        check_choice("on_bad", on_bad, ("error", "drop"))
        self.low, self.high = check_range(low, high)
        window = _window(columns, since, until)
        found = _Found(columns, self.low, self.high)
        kept, self.dropped = found.kept(on_bad)
        if window is not None:
            kept &= _inside(window, found.time)
        rows = np.flatnonzero(kept)
        if found.time is not None:
            rows = rows[np.argsort(found.time[rows], kind="stable")]
        if not rows.size:
            raise LogError("the log has no row that can be evaluated" + " in this window" * (window is not None))
        self.time = None if found.time is None else found.time[rows]
        self.reward, self.probability = found.reward[rows], found.probability[rows]
        self.contexts, self.context = _shortened(found.contexts, found.context[rows])
        self.arms, self.arm = _shortened(found.arms, found.arm[rows])
        self.deciders, self.decider = _shortened(found.deciders, found.decider[rows])

    @property
    def pending(self) -> int:
        """Number of rows whose reward has not come yet.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.logs.Events(arm=["a", "b"], reward=[1, None], probability=[0.5, 0.5]).pending
        1
        """
        return int(np.isnan(self.reward).sum())

    def __len__(self) -> int:
        return int(self.arm.size)

    def __repr__(self) -> str:
        waiting = f", {self.pending:,} pending" if self.pending else ""
        sizes = ", ".join(_quantity(names, word) for names, word in ((self.contexts, "context"), (self.arms, "arm")))
        return f"Events({len(self):,} rows{waiting}, {sizes}, rewards in [{self.low}, {self.high}])"

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame with a row for each decision.

        Examples
        --------
        >>> import meanbounds as mb
        >>> events = mb.logs.Events(arm=["a", "b"], reward=[1, 0], probability=[0.5, 0.25])
        >>> events.to_frame().columns.tolist()
        ['context', 'arm', 'reward', 'probability']
        """
        with optional("frames", "data frames"):
            import pandas as pd

        columns: dict[str, Any] = {
            "context": _named(self.contexts, self.context),
            "arm": _named(self.arms, self.arm),
            "reward": self.reward,
            "probability": self.probability,
        }
        if self.deciders:
            columns["decider"] = _named(self.deciders, self.decider)
        if self.time is not None:
            columns["time"] = self.time
        return pd.DataFrame(columns)

    def counts(self, *, probability: bool = False) -> Counts:
        """Count the rows that have a reward, as `meanbounds.logs.read` does, for bounds and agents.

        Parameters
        ----------
        probability
            Whether to count by probability too, for ``KnownPropensity("probability", least=...)``. Rows without one
            are left out then.

        Examples
        --------
        >>> import meanbounds as mb
        >>> events = mb.logs.Events(context=["x", "y"], arm=["a", "b"], reward=[1, 0], probability=[0.5, 0.25])
        >>> events.counts()
        Counts(2 rows, 2 contexts, 2 arms, rewards in [0.0, 1.0], 2 values)
        """
        frame = self.to_frame()
        frame = frame[frame["reward"].notna()]
        if probability:
            frame = frame[frame["probability"].notna()]
        parts = [name for name in frame.columns if name == "context" and self.contexts != (EVERYTHING,)]
        if any(isinstance(name, tuple) for name in self.contexts):
            width = max(len(name) for name in self.contexts if isinstance(name, tuple))
            parts = [f"context_{place + 1}" for place in range(width)]
            for place, name in enumerate(parts):
                frame[name] = [context[place] for context in frame["context"]]
        columns = [*parts, *["probability"] * probability]
        return read(frame, context=columns or None, arm="arm", reward="reward", low=self.low, high=self.high)


def as_columns(context: Any, arm: Any, reward: Any, probability: Any, decider: Any = None, time: Any = None) -> Columns:
    """Read columns that a user gave as sequences, all of one length."""
    given = {"arm": arm, "reward": reward, "context": context, "probability": probability}
    given |= {"decider": decider, "time": time}
    listed = {name: _sequence(name, value) for name, value in given.items() if value is not None}
    for name in ("arm", "reward"):
        if name not in listed:
            raise LogError(f"{name} must be a list with a value for each row; got None")
    lengths = {name: len(column) for name, column in listed.items()}
    if len(set(lengths.values())) > 1:
        raise LogError(f"all columns must have as many rows; got {', '.join(f'{n} {k}' for k, n in lengths.items())}")
    contexts = [listed["context"]] if "context" in listed else []
    chance, who, when = (listed.get(name) for name in ("probability", "decider", "time"))
    return Columns(contexts, listed["arm"], listed["reward"], chance, who, when, ("context",) * len(contexts))


def _sequence(name: str, value: Any) -> Any:
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
        raise LogError(f"{name} must be a list with a value for each row; got {shown(value)}")
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, np.ndarray):
        if value.ndim != 1:
            raise LogError(f"{name} must be a list with a value for each row; got an array of shape {value.shape}")
        return value
    return list(value)


def _window(columns: Columns, since: Any, until: Any) -> Window | None:
    if since is None and until is None:
        return None
    return read_window(None if columns.time is None else "time", since, until)


def _inside(window: Window, time: Floats | None) -> Booleans:
    """Which rows are in the window; times and its ends become seconds in the same way."""
    ends = []
    for end, open_end in ((window.since, -inf), (window.until, inf)):
        found = None if end is None else as_times([end])[0]
        ends.append(open_end if found is None else float(found[0]))
    assert time is not None
    inside: Booleans = (time >= ends[0]) & (time < ends[1])
    return inside


class _Found:
    """The columns as numbers, and what is wrong with each row."""

    def __init__(self, columns: Columns, low: float, high: float) -> None:
        self.columns, self.low, self.high = columns, low, high
        self.size = len(columns.arm)
        self.kinds: list[tuple[str, Booleans]] = []
        self.contexts, self.context = self._contexts()
        self.arms, self.arm = as_codes(columns.arm, columns.untyped)
        self._refuse("missing arm", self.arm < 0)
        self.reward = self._rewards()
        self.probability = self._probabilities()
        none: Places = np.zeros(self.size, dtype=np.int64)
        self.deciders, self.decider = (), none
        if columns.decider is not None:
            self.deciders, self.decider = as_codes(columns.decider, columns.untyped)
            self._refuse("missing decider", self.decider < 0)
        self.time = self._times()

    def _refuse(self, kind: str, rows: Booleans) -> None:
        if rows.any():
            self.kinds.append((kind, rows))

    def _contexts(self) -> tuple[tuple[Any, ...], Places]:
        coded = [as_codes(column, self.columns.untyped) for column in self.columns.context]
        if not coded:
            return (EVERYTHING,), np.zeros(self.size, dtype=np.int64)
        for _, codes in coded:
            self._refuse("missing context", codes < 0)
        if len(coded) == 1:
            return coded[0]
        together = np.zeros(self.size, dtype=np.int64)
        for names, codes in coded:
            together = together * (len(names) + 1) + codes + 1
            _, together = np.unique(together, return_inverse=True)
        _, first, inverse = np.unique(together, return_index=True, return_inverse=True)
        parts = [[names[code] if code >= 0 else None for code in codes[first]] for names, codes in coded]
        return tuple(zip(*parts, strict=True)), inverse.astype(np.int64)

    def _rewards(self) -> Floats:
        number, missing, unreadable = as_numbers(self.columns.reward)
        self._refuse("reward is not a number", unreadable)
        fine = ~(missing | unreadable)
        self._refuse("reward below range", fine & (number < self.low))
        self._refuse("reward above range", fine & (number > self.high))
        return number

    def _probabilities(self) -> Floats:
        if self.columns.probability is None:
            return np.full(self.size, nan)
        number, missing, unreadable = as_numbers(self.columns.probability)
        self._refuse("probability is not a number", unreadable)
        if self.columns.decider is None:
            self._refuse("missing probability", missing)
        fine = ~(missing | unreadable)
        self._refuse("probability is not above 0 and at most 1", fine & ~((number > 0.0) & (number <= 1 + _ROUNDING)))
        return np.minimum(number, 1.0)

    def _times(self) -> Floats | None:
        if self.columns.time is None:
            return None
        time, missing, unreadable = as_times(self.columns.time)
        self._refuse("missing time", missing)
        self._refuse("time cannot be read", unreadable)
        return time

    def kept(self, on_bad: str) -> tuple[Booleans, dict[str, int]]:
        """Which rows are kept, and how many of which kind are not; an error if there are any and it says so."""
        kept = np.ones(self.size, dtype=bool)
        kinds, examples = dict(self.columns.lost or {}), dict(self.columns.lost_examples or {})
        for kind, rows in self.kinds:
            new = rows & kept
            if new.any():
                kinds[kind] = kinds.get(kind, 0) + int(new.sum())
                examples.setdefault(kind, self._row(int(np.argmax(new))))
                kept &= ~rows
        if kinds:
            rows_seen = self.size + sum((self.columns.lost or {}).values())
            finite = self.reward[np.isfinite(self.reward)]
            seen = (float(finite.min()), float(finite.max())) if finite.size else None
            bad = BadRows(rows_seen, kinds, examples, seen, self.low, self.high)
            if on_bad == "error":
                refuse_bad_rows(bad)
            warn_of_dropped(bad)
        return kept, kinds

    def _row(self, place: int) -> dict[str, Any]:
        columns = dict(zip(self.columns.names, self.columns.context, strict=False))
        columns |= {"arm": self.columns.arm, "reward": self.columns.reward}
        more = {"probability": self.columns.probability, "decider": self.columns.decider, "time": self.columns.time}
        columns |= {name: column for name, column in more.items() if column is not None}
        return {name: _python(column[place]) for name, column in columns.items()}


def _python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _quantity(names: Sequence[Any], word: str) -> str:
    return f"{len(names):,} {word}" + "s" * (len(names) != 1)


def _shortened(names: tuple[Any, ...], codes: Places) -> tuple[tuple[Any, ...], Places]:
    """Only the names that occur, and the places among these."""
    if not names:
        return (), codes
    used, inverse = np.unique(codes, return_inverse=True)
    return tuple(names[place] for place in used), inverse.astype(np.int64)


def _named(names: Sequence[Any], codes: Places) -> Any:
    table = np.empty(len(names), dtype=object)
    table[:] = list(names) if not any(isinstance(name, tuple) for name in names) else None
    for place, name in enumerate(names):
        table[place] = name
    return table[codes]
