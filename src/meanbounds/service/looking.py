"""What has come of an agent's decisions, as the service shows it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from meanbounds.agents.contexts import Context
from meanbounds.bounds import Arm
from meanbounds.service import schema
from meanbounds.service.events import name_of
from meanbounds.service.history import Got, Line, Sums, value_limits
from meanbounds.service.served import Served
from meanbounds.service.standing import trusts_after

__all__ = ["history_view"]


def history_view(served: Served, context: Context, alarms: Sequence[str]) -> schema.HistoryView:
    """Decisions, trust and value over time, in a context or (None) in all.

    Parameters
    ----------
    served
        The agent.
    context
        The context.
    alarms
        What the agent warned of.
    """
    history = served.history
    sums, line = history.sums(context), history.line(context) or Line()
    knows = not served.has_contexts or context is not None
    arms = list(served.inside(context).bounds.arms) if knows else list(line.arms)
    arms += [arm for arm in line.arms if arm not in arms]
    low, high = served.range
    return schema.HistoryView(
        name_of(context),
        *_values(sums, low, high),
        low,
        high,
        arms,
        [
            schema.MarkView(
                time,
                [int(got[arm][0]) if arm in got else 0 for arm in arms],
                _trusts(served, context, arms, line.arms, got) if knows else None,
                *_values(Sums.from_saved(then), low, high),
            )
            for time, got, then in line.marks
        ],
        list(alarms),
    )


def _trusts(served: Served, context: Context, arms: Sequence[Arm], now: Got, then: Got) -> list[float] | None:
    """The trust in each arm's bounds when it had had fewer rewards; None where it is not the arm's own."""
    agent = served.inside(context)
    known = agent.knowledge
    if (known.is_certain and not known.ages) or agent.assumptions() or len(agent.bounds) < len(arms):
        return None
    none = [0, 0, 0.0]
    since = np.array([np.subtract(now.get(arm, none), then.get(arm, none)) for arm in arms])
    plays = np.maximum(agent.plays - since[:, 1], 0.0)
    totals = np.where(agent.plays > 0, agent.plays * np.nan_to_num(agent.means), 0.0) - since[:, 2]
    return trusts_after(agent, plays, totals)


def _values(sums: Sums, low: float, high: float) -> tuple[schema.ValueView, schema.ValueView]:
    return _value(sums.agent, sums.agent_total, low, high), _value(sums.expert, sums.expert_total, low, high)


def _value(count: int, total: float, low: float, high: float) -> schema.ValueView:
    return schema.ValueView(count, total / count if count else None, *value_limits(count, total, low, high))
