"""From an agent's decisions: what it earned, beside the experts, and what other policies would have earned."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from meanbounds.agents import Agent
from meanbounds.agents.tree import Tree
from meanbounds.bounds import EXPERT, Arm
from meanbounds.logs.assumed import cells_of, check_confidence
from meanbounds.logs.confidence import as_nats
from meanbounds.logs.counts import Context, Counts, check_columns, check_least, check_range
from meanbounds.logs.engines import open_log
from meanbounds.logs.errors import LogError
from meanbounds.logs.estimates import Decisions, Lines
from meanbounds.logs.evaluation import LINES, Evaluation, Value
from meanbounds.logs.leaves import columns_of
from meanbounds.logs.query import LEAST, Question
from meanbounds.logs.read import refusal
from meanbounds.logs.tally import Groups, by_value, contexts_of
from meanbounds.logs.values import arm_names, in_order
from meanbounds.logs.words import quantity, quoted, some
from meanbounds.support.checks import as_mapping, check_choice, is_whole, shown, within
from meanbounds.support.types import Floats, Integers

__all__ = ["evaluate"]

_MOST = 5_000_000  # different combinations of context, arm, reward and probability
_FEW, _RARE, _LIGHT = 30.0, 0.1, 0.8  # rows' worth, share of the rows, and mean weight below which it is said
_UNITS = ("value", "lower", "upper", "ipw", "robust")
_WITHOUT = "say what it plays there, or leave those decisions out with where="
_ADVICE = (
    " The probability is that with which the agent chose the arm, above 0 and at most 1, as Agent.decide returns it. "
    "Rows that somebody else decided have none: leave them out with where=."
)


def evaluate(
    decisions: Any,
    policies: Mapping[str, Any] | None = None,
    *,
    context: str | Sequence[str] | Tree | None = None,
    arm: str = "arm",
    reward: str = "reward",
    probability: str = "probability",
    expert: str | None = "expert",
    log: Counts | None = None,
    arms: Iterable[Arm] = (),
    least: float | None = None,
    low: float = 0.0,
    high: float = 1.0,
    confidence: float = 0.95,
    where: str | None = None,
    on_bad: Literal["error", "drop"] = "error",
    engine: Literal["duckdb", "postgres", "spark"] | None = None,
    connection: Any = None,
) -> Evaluation:
    """Evaluate an agent on its decisions, beside the experts, each option and other policies.

    The limits hold although the agent learned from the same rewards, in finite samples, for a number of rows that was
    not chosen by the results. `meanbounds.logs.estimates` derives them.

    Parameters
    ----------
    decisions
        A table with a row for each decision, from any source that `meanbounds.logs.read` takes.
    policies
        Other policies by name: an option, `EXPERT`, a mapping from contexts to options or to probabilities of options,
        or an agent as it is now. Each option, and asking the experts, is a policy by itself.
    context, arm, reward, probability
        Columns: as for `read`, and the probability with which the agent chose the arm, as `Agent.decide` returns it.
        Rows without a reward are left out and counted. An agent's `tree` as context takes its columns from the table.
    expert
        What stands in the arm's column where the experts were asked; the reward is then what they earned. Whether they
        are asked must follow from the past and the agent's draws alone, as it does with `meanbounds.logs.agent`.
        ``"experts, asked"`` takes what they earn in a context as the same throughout; ``"ask the experts"`` does not.
    log
        The counts of an earlier log of the experts, to compare with; if a tree grew on it, those of `partition`, which
        leave out the rows that it grew on.
    arms
        Further options to list, if nobody played them.
    least
        The least probability of each option and of asking that was possible in every row, if your program guarantees
        one, such as a `floor` without bounds or a guard, which exclude options. The limits are then narrower.
    low, high, where, on_bad, engine, connection
        As for `meanbounds.logs.read`.
    confidence
        The probability with which all limits hold at once, over all decisions, and again in each context by itself.

    Examples
    --------
    >>> import meanbounds as mb
    >>> arms, rewards = ["tPA", "watch", "expert", "tPA"] * 500, [1, 0, 1, 1, 1, 1, 1, 0] * 250
    >>> made = {"arm": arms, "reward": rewards, "probability": [0.5, 0.25, 0.25, 0.5] * 500}
    >>> print(mb.logs.evaluate(made, least=0.25))
    2,000 decisions with a reward
    <BLANKLINE>
                                earned       95% limits  worth rows      minus agent
    agent                         0.75     0.71 to 0.78       2,000
    experts, asked                1.00     0.98 to 1.00         500   +0.20 to +0.29
    always tPA                    0.75     0.69 to 0.80       1,000   -0.04 to +0.04
    always watch                  0.50     0.41 to 0.59         500   -0.32 to -0.17
    ask the experts               1.00     0.98 to 1.00         500   +0.21 to +0.29
    <BLANKLINE>
    The agent earned 0.75 (limits 0.71 to 0.78). The experts earned, when they were
    asked, 1.00 (limits 0.98 to 1.00), so they did better, by at least 0.20. “ask
    the experts” would have earned 1.00 (limits 0.98 to 1.00): more, by at least
    0.21. Whether “always tPA” would have earned more than the agent is open.
    """
    low, high = check_range(low, high)
    error = 1.0 - check_confidence(confidence)
    given = as_mapping("policies", {} if policies is None else policies, error=LogError)
    columns, leaves = columns_of(context)
    wanted = [*columns, arm, reward, probability]
    check_choice("on_bad", on_bad, ("error", "drop"))
    check_columns(wanted, "probability")
    with open_log(decisions, engine, connection, wanted, whole=where is not None) as opened:
        *keys, earned, chance = map(opened.column, [arm, reward, probability] if leaves else wanted)
        question = Question(opened.dialect, opened.table, tuple(keys), earned, low, high, chance, LEAST, where)
        question = leaves.asked(opened, question) if leaves else question
        answer = sorted(opened.run(question.by_value(_MOST + 1)), key=str)  # sums that are always the same
    if len(answer) > _MOST:
        raise LogError(f"more than {_MOST:,} combinations of values: evaluate one period at a time, with where=")
    groups = by_value(question, answer)
    pending, dropped = _checked(groups, question, on_bad)
    table = _Table.of(groups, expert, low, high)
    rarest = float(table.rows.probability.min())
    if least is not None and rarest < check_least(least) * (1.0 - 1e-9):
        raise LogError(
            f"least={least:g} is not true of these decisions: one has the probability {rarest:.6g}. Give one that your "
            f"program guarantees, or leave it out"
        )
    if log is not None and (log.low, log.high) != (low, high):
        raise LogError(f"the log has other ends of the range: give low={log.low:g}, high={log.high:g} here too")
    plays = table.add(given, [*arms, *(() if log is None else log.arms)], expert)
    size = 1 + (EXPERT in table.arms) + (log is not None) + len(plays)
    nats = as_nats(error / (2.0 * (2 * size - 1)))  # values and differences, both sides
    both = (Lines(table.rows, table.arm, len(table.arms), whole, nats, least) for whole in (True, False))
    found = [table.values(plays, log, lines, low, high - low) for lines in both]
    contexts = dict(zip(table.contexts, found[1], strict=True))
    return Evaluation(found[0][0], contexts, int(table.rows.count.sum()), pending, dropped, low, high, confidence)


def _checked(groups: Groups, question: Question, on_bad: str) -> tuple[int, dict[str, int]]:
    """Refuse or count bad rows: how many are pending, and how many are left out by kind."""
    late = [kind == "missing reward" for kind in groups.kind]
    kinds = [kind.replace("propensity", "probability") for kind in groups.kind]
    bad = replace(groups, kind=["" if own else kind for own, kind in zip(late, kinds, strict=True)]).bad(question)
    if bad.number and on_bad == "error":
        raise LogError(refusal(bad) + _ADVICE * ("probability" in "".join(bad.kinds)), bad=bad)
    if all(kinds):
        said = "has a reward yet: wait for one" if any(late) else "is left: look at where= and on_bad="
        raise LogError(f"no decision {said}")
    unknown_rows = {"where= is NULL": groups.unknown} if groups.unknown else {}
    return int(groups.rows[late].sum()), {**bad.kinds, **unknown_rows}


def _play(name: str, policy: Any, context: Context) -> Mapping[Any, float]:
    """The probabilities of the arms that a policy plays in a context."""
    what = f"policy {shown(name)}" + ("" if context is None else f" in context {shown(context)}")
    if isinstance(policy, Agent):
        if policy.contexts and context not in policy.contexts:
            raise LogError(f"{what}: the agent does not know it; {_WITHOUT}")
        found = policy.probabilities(context if policy.contexts else None)
        return dict(zip(policy.arms, found.tolist(), strict=True))
    if isinstance(policy, Mapping) and context is not None:
        names = {str(key): own for key, own in policy.items()}
        if str(context) not in names:
            raise LogError(f"{what}: nothing is said about it; {_WITHOUT}")
        policy = names[str(context)]
    if policy is EXPERT or isinstance(policy, str) or is_whole(policy):
        return {policy: 1.0}
    if not isinstance(policy, Mapping):
        raise LogError(f"{what}: give an option, EXPERT, probabilities of options, or an agent; got {shown(policy)}")
    chances = [within(own, 0.0, 1.0) for own in policy.values()]
    if abs(sum(math.nan if own is None else own for own in chances) - 1.0) <= 1e-6:
        return policy
    raise LogError(f"{what}: probabilities are numbers from 0 to 1 with the sum 1; got {shown(dict(policy))}")


@dataclass(eq=False)
class _Table:
    """Decisions as they were read, with the places of context and arm; their parts are contexts."""

    contexts: tuple[Context, ...]
    arms: list[Arm]
    arm: Integers
    rows: Decisions

    @classmethod
    def of(cls, groups: Groups, expert: str | None, low: float, high: float) -> _Table:
        """Put good groups in order; the experts are the last arm."""
        good = np.array([not kind for kind in groups.kind], dtype=bool)
        contexts, context = contexts_of(groups.keys[:-1], good)
        codes, names = groups.keys[-1].codes[good], groups.keys[-1].names
        present = {names[code] for code in np.unique(codes)}
        asked = set() if expert is None else present & {expert, str(EXPERT)}
        order = in_order(present - asked, None)
        place = np.array([order.index(name) if name in order else len(order) for name in names])
        count, (total, _, weight, *_) = groups.rows[good], groups.sums[:, good]
        unit = np.clip((total / count - low) / (high - low), 0.0, 1.0)
        rows = Decisions(context, len(contexts), count, unit, np.minimum(count / weight, 1.0))
        return cls(contexts, [*arm_names(order), *[EXPERT] * bool(asked)], place[codes], rows)

    def add(self, given: Mapping[str, Any], more: Iterable[Arm], expert: str | None) -> dict[str, Floats]:
        """Add arms that nobody played; by policy the probabilities of all arms in each context."""

        def key(arm: Any) -> Any:
            return EXPERT if arm is EXPERT or (EXPERT in self.arms and arm == expert) else str(arm)

        played = {name: [_play(name, policy, one) for one in self.contexts] for name, policy in given.items()}
        arms = [*self.arms, *more, *(arm for rows in played.values() for row in rows for arm in row)]
        listed = {key(arm): arm for arm in reversed(arms)}
        self.arms = [*self.arms, *(arm for own, arm in listed.items() if own not in map(key, self.arms))]
        places = {key(arm): place for place, arm in enumerate(self.arms)}
        found: dict[str, Floats] = {}
        for own, place in places.items():
            name = "ask the experts" if own is EXPERT else f"always {own}"
            found[name] = np.tile(np.arange(len(places)) == place, (len(self.contexts), 1)) * 1.0
        for name, rows in played.items():
            if not isinstance(name, str) or name in (*found, *LINES):
                raise LogError(f"a policy needs a name of its own, as text; got {shown(name)}")
            found[name] = np.zeros((len(self.contexts), len(places)))
            for z, row in enumerate(rows):
                for arm, chance in row.items():
                    found[name][z, places[key(arm)]] += chance
        return found

    def values(
        self, plays: Mapping[str, Floats], log: Counts | None, lines: Lines, low: float, width: float
    ) -> list[tuple[Value, ...]]:
        """The values of each part, in reward units."""
        found = {LINES[0]: lines.agent()}
        if EXPERT in self.arms and (self.arm == self.arms.index(EXPERT)).any():
            found[LINES[1]] = lines.asked(self.arms.index(EXPERT))
        if log is not None:
            places = np.array([log.contexts.index(name) if name in log.contexts else -1 for name in self.contexts])
            if (places < 0).all():
                raise LogError(
                    f"the log and the decisions have no context in common: {shown(list(log.contexts[:3]))} and "
                    f"{shown(list(self.contexts[:3]))}. Read both with the same columns as context="
                )
            found[LINES[2]] = lines.log(cells_of(log), (log.value - low) / width, places)
        found |= {name: lines.other(chance) for name, chance in plays.items()}
        values: list[tuple[Value, ...]] = []
        for part in range(lines.rows.parts):
            row = []
            for name, line in found.items():
                own = {key: float(column[part]) for key, column in line.items() if not np.isnan(column[part])}
                units = {key: low + width * own[key] for key in _UNITS if key in own}
                gap = (width * own["below"], width * own["above"]) if "below" in own else None
                more = {key: own[key] for key in ("effective", "largest", "unseen") if key in own}
                note = self._note(plays[name], lines, part, own) if name in plays else ""
                row.append(Value(name, int(own["rows"]), difference=gap, note=note, **units, **more))
            values.append(tuple(row))
        return values

    def _note(self, chance: Floats, lines: Lines, part: int, own: Mapping[str, float]) -> str:
        """What cannot be said of a policy, in words."""
        said, worth, rows, unseen = [], own["effective"], own["rows"], own["unseen"]
        if unseen > 0.0:
            rows_of = slice(None) if lines.whole else slice(part, part + 1)
            places = np.argwhere((chance[rows_of] > 0.0) & (lines.count[rows_of] == 0.0))
            one = len(self.contexts) == 1 or not lines.whole
            pairs = [quoted(self.arms[k]) + ("" if one else f" in {quoted(self.contexts[z])}") for z, k in places[:5]]
            pairs += [""] * (len(places) - len(pairs))
            said.append(f"nobody played {some(pairs, 4)}, {100 * unseen:.3g}% of what it does.")
        if worth < _FEW and worth >= _RARE * rows:
            said.append(f"of {quantity(rows, 'row')}, {worth:,.0f} speak of it: too few to build on.")
        elif 0.0 < worth < _FEW:
            said.append(
                f"the agent rarely did what it does (the largest weight is {own['largest']:,.0f}), so {rows:,.0f} rows "
                f"are worth {worth:,.0f} of its own: too few to build on."
            )
        elif worth and own["mean"] < _LIGHT * (1.0 - unseen):
            said.append(
                f"its weights average {own['mean']:.2f}, and should {1.0 - unseen:.2f}: some of what it plays could "
                f"not be played for a while. Trust the limits, not the estimate."
            )
        return " ".join(said)
