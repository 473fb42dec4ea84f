"""What an agent knows and what it has seen, in each of its contexts: two arrays with a row for each context."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Self

import numpy as np

from meanbounds.bounds import (
    EXPERT,
    Arm,
    BoundsError,
    MeanBounds,
    UnknownArmError,
    check_expert,
    plain_arms,
)
from meanbounds.evidence import Ledger
from meanbounds.knowledge import Knowledge, Prior
from meanbounds.known import Known, Seen
from meanbounds.support.checks import shown, unknown
from meanbounds.support.entries import Entries
from meanbounds.support.types import Booleans, Floats

__all__ = ["Context", "Contexts", "read_knowledge"]

Context = str | tuple[str, ...]
"""The name of a context: a text, or a tuple of texts."""

# What is known: bounds, their trust, the prior (a strength of 0 for the uniform one), and on which assumption they rest
# (the first is 1; 0 for none).
KNOWN = ("lower", "upper", "trust", "prior_mean", "prior_strength", "assumption")
LOWER, UPPER, TRUST, MEAN, STRENGTH, ASSUMPTION = range(6)
# What was seen: statistics in units of the range, how many pulls wait for a reward, and how many there were; then how
# many pulls were given up, the rewards that answered no pull and their sum, and what experts chose when asked.
SEEN = ("plays", "total", "squares", "ones", "pending", "pulls")
PLAYS, TOTAL, SQUARES, ONES, PENDING, PULLS = range(6)
ASKED = ("lost", "foreign", "foreign_total", "chosen", "chosen_total", "chosen_squares")
LOST, FOREIGN, FOREIGN_TOTAL, CHOSEN, CHOSEN_TOTAL, CHOSEN_SQUARES = range(6, 12)

_DEFAULTS = {"trust": 1.0, "prior_mean": 0.0, "prior_strength": 0.0, "assumption": 0.0}
_NEEDED = ("arms", "low", "high", "retired", "contexts", "rows", "size", "lower", "upper", "used", *SEEN)
_MOST = 10**7  # rows of a saved agent: more would not fit in memory
_CELLS = 10**8  # the same, times arms
_SLACK = 1e-9  # of sums of rounded numbers
_SEARCHED = 10_000  # contexts among which a name like the one asked for is looked for


@dataclass(eq=False)
class Contexts:
    """The contexts of an agent: each has a row of what is known and a row of what was seen.

    An agent without contexts has one row, and its name is None. Each change is made at the end of a method by
    statements of which only the last may call something: Python looks for signals after calls, so an interrupt finds
    all of the change or nothing.
    """

    arms: tuple[Arm, ...]
    low: Floats  # the range of each arm's rewards
    high: Floats
    known: Floats  # (rows, fields, arms); rows beyond `size` are for contexts to come
    seen: Floats  # (rows, fields, arms)
    forbidden: Booleans  # (rows, arms)
    retired: Booleans  # (arms,)
    rows: dict[Context | None, int] = field(default_factory=dict)
    size: int = 0  # rows given away: that of a forgotten context is not used again, since random numbers depend on it
    ledgers: list[Ledger] = field(default_factory=list)  # the evidence against each assumption that bounds rest on
    version: int = 0  # how often what is known has changed

    def __post_init__(self) -> None:
        self.position = {arm: k for k, arm in enumerate(self.arms)}
        check_expert(self.arms, self.low, self.high)
        self.ends = list(zip(self.low.tolist(), self.high.tolist(), strict=True))

    @classmethod
    def empty(cls, like: MeanBounds, rows: int = 0) -> Self:
        """No context yet, and so many rows; the arms and their ranges are those of these bounds."""
        arms = len(like)
        known, seen = np.zeros((rows, len(KNOWN), arms)), np.zeros((rows, len(SEEN) + len(ASKED), arms))
        forbidden, retired = np.zeros((rows, arms), dtype=np.bool_), np.zeros(arms, dtype=np.bool_)
        return cls(like.arms, like.low, like.high, known, seen, forbidden, retired)

    def name(self, context: Any) -> Context | None:
        """The name of a context that there is; None where there are no contexts."""
        if context is None and None not in self.rows:
            some = shown(next(iter(self.rows), "north"))
            raise TypeError(f"this agent has contexts, so say which, as in pull({some}) or update(arm, reward, {some})")
        if context is not None and None in self.rows:
            hint = f"; did you mean eligible={shown(context)}?" if isinstance(context, list) else ""
            raise TypeError(f"this agent was made without contexts; got the context {shown(context)}{hint}")
        name = None if context is None else _as_context(context)
        if name not in self.rows:
            more = "; know({context: bounds}) adds one"
            raise LookupError(unknown("context", name, list(islice(self.rows, _SEARCHED))) + more)
        return name

    def place(self, arm: Arm) -> int:
        """The position of an arm."""
        try:
            return self.position[arm]
        except (KeyError, TypeError):
            raise UnknownArmError(unknown("arm", arm, self.arms)) from None

    @property
    def expert(self) -> int:
        """The position of `EXPERT`."""
        if EXPERT not in self.position:
            raise ValueError(
                f"this agent cannot ask experts: there is no mb.EXPERT among its arms {shown(list(self.arms))}"
            )
        return self.position[EXPERT]

    def mask(self, arms: Sequence[Arm]) -> Booleans:
        """Which arms these are."""
        mask = np.zeros(len(self.arms), dtype=np.bool_)
        mask[[self.place(arm) for arm in arms]] = True
        return mask

    def names(self, mask: Booleans) -> tuple[Arm, ...]:
        """The arms in a mask."""
        return tuple(self.arms[k] for k in np.flatnonzero(mask))

    def know(self, given: Mapping[Context | None, Knowledge]) -> None:
        """Take this knowledge as that of these contexts, new or not; what was seen stays as it is."""
        ledgers = [*self.ledgers]
        for name in dict.fromkeys(own.assumption for own in given.values()):
            if name is not None and all(name != ledger.name for ledger in ledgers):
                ledgers.append(Ledger(name, len(self.arms)))
        fields = self._fields(given, [ledger.name for ledger in ledgers])
        new = [context for context in given if context not in self.rows]
        size, added = self.size + len(new), dict(zip(new, range(self.size, self.size + len(new)), strict=True))
        rows = [added[context] if context in added else self.rows[context] for context in given]
        self._reserve(size)
        ledgers = self.moved(rows, ledgers, fields, self.seen[rows])
        self.known[rows] = fields
        self.size, self.ledgers, self.version = size, ledgers, self.version + 1
        self.rows.update(added)

    def _fields(self, given: Mapping[Context | None, Knowledge], assumptions: list[str]) -> Floats:
        """What is known, a row for each item."""
        fields = np.zeros((len(given), len(KNOWN), len(self.arms)))
        for own, (context, knowledge) in zip(fields, given.items(), strict=True):
            bounds, prior = knowledge.bounds, knowledge.prior
            order: list[int] | slice = slice(None)
            if bounds.arms != self.arms or (bounds.low != self.low).any() or (bounds.high != self.high).any():
                order = self._order(context, bounds)
            own[LOWER], own[UPPER], own[TRUST] = bounds.lower, bounds.upper, knowledge.trust
            if prior is not None:
                own[MEAN], own[STRENGTH] = prior.mean, prior.strength
            if knowledge.assumption is not None:
                own[ASSUMPTION] = 1 + assumptions.index(knowledge.assumption)
            own[:] = own[:, order]
        return fields

    def _order(self, context: Context | None, bounds: MeanBounds) -> list[int]:
        """The positions of the agent's arms among those of the bounds, which must have the same ranges."""
        try:
            MeanBounds.vacuous(self.arms, low=self.low, high=self.high).matching(bounds)
        except BoundsError as error:
            where = "" if context is None else f"context {context!r}: "
            raise BoundsError(
                f"{where}{error}. All contexts of an agent have the same arms and ranges: where an arm is missing, "
                f"give it vacuous bounds and forbid() it; add() brings a new arm"
            ) from None
        return [bounds.position(arm) for arm in self.arms]

    def _reserve(self, rows: int) -> None:
        """Make room for so many rows."""
        if rows > len(self.known):
            more = max(rows, 2 * len(self.known)) - len(self.known)
            known, seen = (np.pad(old, ((0, more), (0, 0), (0, 0))) for old in (self.known, self.seen))
            forbidden = np.pad(self.forbidden, ((0, more), (0, 0)))
            self.known, self.seen, self.forbidden = known, seen, forbidden

    def knowledge(self, row: int) -> Knowledge:
        """What is known in the context with this row."""
        lower, upper, trust, mean, strength, assumption = self.known[row]
        bounds = MeanBounds(lower, upper, arms=self.arms, low=self.low, high=self.high)
        prior = Prior.learned() if (strength < 0.0).any() else None
        if (strength > 0.0).any():
            some = strength != 0.0
            prior = Prior(np.where(some, mean, 0.5 * (self.low + self.high)), np.where(some, strength, 2.0))
        name = self.ledgers[int(assumption[0]) - 1].name if assumption[0] else None
        return Knowledge(bounds, prior=prior, trust=trust, assumption=name)

    def given(self, fields: Floats) -> Known:
        """Rows of what is known, for policies."""
        lower, upper, trust, mean, strength, _ = fields.swapaxes(0, 1)
        low, high = np.broadcast_to(self.low, lower.shape), np.broadcast_to(self.high, lower.shape)
        prior, learned = None, strength[:, :1] < 0.0
        if (strength > 0.0).any():
            above, below = strength * (mean - low) / (high - low), strength * (high - mean) / (high - low)
            some = strength > 0.0
            prior = np.where(some, np.maximum(above, 1.0), 1.0), np.where(some, np.maximum(below, 1.0), 1.0)
        return Known.trusted(trust, lower, upper, low, high, prior, self.position.get(EXPERT), learned)

    def offered(self, rows: int | list[int]) -> Booleans:
        """Which arms are neither retired nor forbidden in these rows."""
        return ~(self.retired | self.forbidden[rows])

    @staticmethod
    def statistics(seen: Floats) -> Seen:
        """Rows of what was seen, for policies."""
        plays, total, squares, ones, pending = seen[:, :PULLS].swapaxes(0, 1)
        return Seen(plays, total, squares, ones, pending, seen[:, LOST:CHOSEN])

    def moved(self, rows: list[int], ledgers: list[Ledger], known: Floats, seen: Floats) -> list[Ledger]:
        """The ledgers if this were known and seen in these rows."""
        ledgers, before = [*ledgers], self.known[rows]
        for place, ledger in enumerate(ledgers):
            takes, gives = (part[:, ASSUMPTION, 0] == place + 1 for part in (before, known))
            if takes.any() or gives.any():
                own = ledgers[place] = copy.deepcopy(ledger)
                own.enter(self.given(before[takes]), self.statistics(self.seen[rows][takes]), sign=-1.0)
                own.enter(self.given(known[gives]), self.statistics(seen[gives]))
        return ledgers

    def with_arms(self, known: Knowledge) -> Contexts:
        """The same contexts with these arms as well, of which all know the same."""
        columns = np.repeat(Contexts.empty(known.bounds)._fields({None: known}, []), len(self.known), axis=0)
        columns[:, ASSUMPTION] = self.known[:, ASSUMPTION, :1]
        learned = self.known[:, STRENGTH, :1] < 0.0  # where a prior is learned, it is that of all arms
        columns[:, STRENGTH] = np.where(learned, -1.0, np.maximum(0.0, columns[:, STRENGTH]))
        columns[:, MEAN] = np.where(learned | (columns[:, STRENGTH] == 0.0), 0.0, columns[:, MEAN])
        more = (0, len(known.bounds))
        grown = replace(
            self,
            arms=(*self.arms, *known.bounds.arms),
            low=np.append(self.low, known.bounds.low),
            high=np.append(self.high, known.bounds.high),
            known=np.concatenate([self.known, columns], axis=2),
            seen=np.pad(self.seen, ((0, 0), (0, 0), more)),
            forbidden=np.pad(self.forbidden, ((0, 0), more)),
            retired=np.pad(self.retired, more),
            version=self.version + 1,
        )
        grown.ledgers = grown.weighed([ledger.name for ledger in self.ledgers])
        return grown

    def weighed(self, assumptions: list[str]) -> list[Ledger]:
        """The ledgers of these assumptions, from what was seen so far."""
        ledgers = [Ledger(name, len(self.arms)) for name in assumptions]
        for place, ledger in enumerate(ledgers):
            own = self.known[:, ASSUMPTION, 0] == place + 1
            ledger.enter(self.given(self.known[own]), self.statistics(self.seen[own]))
            ledger.news()  # whoever saw these rewards was warned
        return ledgers

    def forget(self, context: Context) -> None:
        """Erase a context."""
        row = self.rows[context]
        nothing = np.zeros((1, *self.known.shape[1:])), np.zeros((1, *self.seen.shape[1:]))
        ledgers = self.moved([row], self.ledgers, *nothing)
        self.known[row], self.seen[row], self.forbidden[row], self.ledgers = 0.0, 0.0, False, ledgers
        self.version += 1
        del self.rows[context]

    def to_dict(self) -> dict[str, Any]:
        """All contexts, in values that JSON can hold."""
        rows = np.array(list(self.rows.values()), dtype=np.int64)
        used = np.flatnonzero(self.seen[rows].any(axis=(1, 2)))
        data: dict[str, Any] = {
            "arms": plain_arms(self.arms),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "retired": plain_arms(self.names(self.retired)),
            "contexts": [list(name) if isinstance(name, tuple) else name for name in self.rows],
            "rows": rows.tolist(),
            "size": self.size,
        }
        for name, values in zip(KNOWN, self.known[rows].swapaxes(0, 1), strict=True):
            if name not in _DEFAULTS or (values != _DEFAULTS[name]).any():
                data[name] = values.tolist()
        if self.ledgers:
            data["assumptions"] = {ledger.name: ledger.sums.tolist() for ledger in self.ledgers}
        if self.forbidden[rows].any():
            data["forbidden"] = [plain_arms(self.names(mask)) for mask in self.forbidden[rows]]
        names = (*SEEN, *ASKED) if self.seen[:, LOST:].any() else SEEN
        seen = zip(names, self.seen[rows[used]].swapaxes(0, 1), strict=False)
        return data | {"used": used.tolist()} | {name: values.tolist() for name, values in seen}

    @classmethod
    def from_dict(cls, what: str, data: Any) -> Self:
        """Make the contexts that `to_dict` described; every entry is checked."""
        saved = Entries(what, data, _NEEDED, (*_DEFAULTS, *ASKED, "assumptions", "forbidden"))
        try:
            like = MeanBounds.vacuous(saved.list("arms"), low=saved.list("low"), high=saved.list("high"))
            names = [tuple(name) if isinstance(name, list) else name for name in saved.list("contexts")]
            contexts = [None if name is None else _as_context(name) for name in names]
        except (ValueError, TypeError) as error:
            raise saved.wrong(str(error)) from None
        size, count = saved.whole("size", most=_MOST), len(contexts)
        if size * len(like) > _CELLS:
            raise saved.wrong(f"{size:,} rows of {len(like):,} arms are more than fit in memory")
        rows = saved.wholes("rows", (count,), most=size - 1).tolist()
        if len(set(contexts)) < count or len(set(rows)) < count or (None in contexts and count > 1):
            raise saved.wrong("contexts and rows must differ; contexts is [null] for an agent without contexts")
        self = replace(cls.empty(like, size), rows=dict(zip(contexts, rows, strict=True)), size=size)
        with np.errstate(over="ignore", invalid="ignore"):
            self._read_seen(saved, rows)
            self._read_known(saved, rows)
        lists = [saved.list("retired"), *(saved.list("forbidden") if "forbidden" in saved else [[]] * count)]
        if len(lists) != count + 1:
            raise saved.wrong("forbidden must have an entry for each context")
        try:
            masks = [self.mask([EXPERT if arm == {"expert": True} else arm for arm in arms]) for arms in lists]
            self.retired[:], self.forbidden[rows] = masks[0], np.reshape(masks[1:], (count, len(like)))
        except (TypeError, UnknownArmError) as error:
            raise saved.wrong(f"retired and forbidden must list arms: {error}") from None
        return self

    def _read_known(self, saved: Entries, rows: list[int]) -> None:
        shape, assumptions = (len(rows), len(self.arms)), {}
        if "assumptions" in saved:
            assumptions = saved["assumptions"] if isinstance(saved["assumptions"], dict) else {}
        for place, name in enumerate(KNOWN):
            self.known[rows, place] = saved.numbers(name, shape) if name in saved else _DEFAULTS[name]
        lower, upper, trust, mean, strength, assumption = self.known[rows].swapaxes(0, 1)
        if not np.isin(assumption, np.arange(len(assumptions) + 1)).all() or np.ptp(assumption, axis=1).any():
            raise saved.wrong("assumption must hold numbers of the assumptions, the same for all arms of a context")
        self.ledgers = [Ledger(name, shape[1]) for name in assumptions]
        above, below = strength * (mean - self.low), strength * (self.high - mean)
        width = self.high - self.low
        fine = (self.low <= lower) & (lower <= upper) & (upper <= self.high) & (trust >= 0.0) & (trust <= 1.0)
        fine &= (
            ((strength == -1.0).all(axis=1) & (mean == 0.0).all(axis=1))[:, None]
            | (strength == 0.0)
            | ((above >= width) & (below >= width) & (strength <= 1e11))
        )
        for place in np.flatnonzero(~fine.all(axis=1)).tolist():  # what may be wrong is looked at one by one
            try:
                self.knowledge(rows[place])
            except ValueError as error:
                raise saved.wrong(f"context {saved['contexts'][place]!r}: {error}") from None
        self.ledgers = self.weighed(list(assumptions))
        for ledger in self.ledgers:  # the sums differ by rounding from those that the rewards give now
            sums = Entries("Agent", assumptions, [], assumptions).numbers(ledger.name, ledger.sums.shape)
            if not np.allclose(sums, ledger.sums, rtol=1e-6, atol=1e-6):
                raise saved.wrong(f"assumption {ledger.name!r}: its sums are not those of the rewards")
            ledger.sums = sums

    def _read_seen(self, saved: Entries, rows: list[int]) -> None:
        used = saved.wholes("used", (len(saved.list("used")),), most=len(rows) - 1).tolist()
        if len(set(used)) < len(used):
            raise saved.wrong("used must hold numbers that differ")
        shape = (len(used), len(self.arms))
        plays, ones, pending, pulls = (saved.wholes(name, shape) for name in ("plays", "ones", "pending", "pulls"))
        columns = [plays, saved.numbers("total", shape), saved.numbers("squares", shape), ones, pending, pulls]
        fine = (ones <= plays) & (pending <= pulls)
        asked = list(np.zeros((len(ASKED), *shape)))
        if any(name in saved for name in ASKED):
            missing = [name for name in ASKED if name not in saved]
            if missing:
                raise saved.wrong(f"it lacks {', '.join(missing)}")
            asked = [np.asarray((saved.numbers if "_" in name else saved.wholes)(name, shape), float) for name in ASKED]
            fine &= (asked[0] + pending <= pulls) & (asked[1] <= plays) & (asked[2] >= 0.0) & (asked[2] <= asked[1])
        for count, total, squares in (columns[:3], asked[3:]):
            slack = _SLACK * (1.0 + count)
            fine &= (total >= 0.0) & (squares >= 0.0) & (total <= count + slack) & (squares <= total + slack)
            fine &= total**2 <= count * (squares + slack) + slack
        for place, k in np.argwhere(~fine)[:1].tolist():
            given = {name: saved[name][place][k] for name in (*SEEN, *ASKED) if name in saved}
            where = f"context {saved['contexts'][used[place]]!r}, arm {self.arms[k]!r}"
            raise saved.wrong(f"{where}: no rewards in its range give {given}")
        self.seen[[rows[place] for place in used]] = np.stack([*columns, *asked], axis=1)


def read_knowledge(known: Any) -> dict[Context | None, Knowledge]:
    """What is known in each context; the context is None where there are none."""
    if isinstance(known, MeanBounds | Knowledge):
        return {None: Knowledge.of(known)}
    if not isinstance(known, Mapping) or not known:
        raise TypeError(f"give mb.MeanBounds, mb.Knowledge, or a mapping from contexts to these; got {shown(known)}")
    given: dict[Context | None, Knowledge] = {}
    for context, own in known.items():
        if not isinstance(own, MeanBounds | Knowledge):
            raise TypeError(f"context {shown(context)}: give mb.MeanBounds or mb.Knowledge; got {shown(own)}")
        given[_as_context(context)] = Knowledge.of(own)
    return given


def _as_context(context: Any) -> Context:
    """Check the name of a context: a text, or a tuple of texts."""
    if isinstance(context, str):
        return str(context)
    if isinstance(context, tuple) and context and all(isinstance(part, str) for part in context):
        return tuple(map(str, context))
    number = isinstance(context, int | float | np.number) and context == context
    hint = f", so write {str(context)!r}" if number else ""
    raise TypeError(f'a context is a text such as "north" or a tuple of texts; got {shown(context)}{hint}')
