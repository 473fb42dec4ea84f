"""Logs and policies as the arrays of Open Bandit Pipeline, for its estimators; the package itself is not needed.

The other way, from its arrays to a log of meanbounds, is `meanbounds.logs.read_open_bandit`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from meanbounds.bounds import Arm, MeanBounds
from meanbounds.logs import Events, LogError, read_open_bandit
from meanbounds.logs.evaluating.targets import Pairs, read_targets
from meanbounds.support.checks import as_list, as_whole, is_whole, shown
from meanbounds.support.types import Floats

__all__ = ["action_dist", "bandit_feedback"]


def bandit_feedback(events: Events, *, arms: Sequence[Arm] | None = None) -> dict[str, Any]:
    """The decisions of a log as the dictionary that Open Bandit Pipeline calls bandit feedback.

    Parameters
    ----------
    events
        The log, with a reward and a probability in each row.
    arms
        All arms, in the order in which they are numbered; by default those of the log, ``events.arms``.

    Returns
    -------
    dict
        ``n_rounds``, ``n_actions``, ``action`` (the number of the arm), ``reward``, ``pscore`` (the probability),
        ``position`` (None: one decision in each row), ``context`` (a column for each of ``events.contexts``: 1 where it
        is the row's) and ``action_context`` (a column for each arm).

    Raises
    ------
    LogError
        If a row has no reward yet, or no probability, since people decided: the estimators need both.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.fits.obp import bandit_feedback
    >>> log = {"context": ["old", "young"], "arm": ["tPA", "watch"], "reward": [1, 0], "probability": [0.5, 0.25]}
    >>> feedback = bandit_feedback(mb.logs.Events(**log))
    >>> feedback["action"], feedback["pscore"], feedback["context"].tolist()
    (array([0, 1]), array([0.5 , 0.25]), [[1.0, 0.0], [0.0, 1.0]])
    """
    if not isinstance(events, Events):
        raise LogError(f"events must be those of a log, as mb.logs.read_events returns; got {shown(events)}")
    for name, column in (("reward", events.reward), ("probability", events.probability)):
        missing = int(np.isnan(column).sum())
        if missing:
            raise LogError(
                f"{missing:,} of {len(events):,} rows have no {name}, which the estimators of Open Bandit Pipeline "
                f"need; leave these rows out when you read the log"
            )
    names = _arms(events, arms)
    number = np.array([names.index(arm) for arm in events.arms])
    return {
        "n_rounds": len(events),
        "n_actions": len(names),
        "context": np.eye(len(events.contexts))[events.context],
        "action_context": np.eye(len(names)),
        "action": number[events.arm],
        "position": None,
        "reward": events.reward.copy(),
        "pscore": events.probability.copy(),
    }


def action_dist(log: Any, policy: Any, *, arms: Sequence[Arm] | None = None) -> Floats:
    """The probabilities with which a policy plays each arm in each row, as estimators of Open Bandit Pipeline take.

    Parameters
    ----------
    log
        The `Events` of a log; or the bandit feedback of Open Bandit Pipeline, whose contexts are then its positions.
    policy
        What `meanbounds.logs.evaluate` takes: an arm, a mapping from contexts to arms or to probabilities of arms, a
        function of the context that returns either, or an agent, which is taken as it is now.
    arms
        All arms, in the order in which they are numbered, as for `bandit_feedback`; those of bandit feedback are 0, 1,
        ... already.

    Returns
    -------
    Rows x arms x positions; there is one position, unless the feedback has more. Of these only the row's own counts in
    an estimate, and all of them have its probabilities.

    Examples
    --------
    >>> import meanbounds as mb
    >>> from meanbounds.fits.obp import action_dist
    >>> log = {"context": ["old", "young"], "arm": ["tPA", "watch"], "reward": [1, 0], "probability": [0.5, 0.25]}
    >>> action_dist(mb.logs.Events(**log), {"old": {"tPA": 0.8, "watch": 0.2}, "young": "tPA"})[:, :, 0]
    array([[0.8, 0.2],
           [1. , 0. ]])
    """
    positions = 1
    if isinstance(log, Mapping):
        if arms is not None:
            raise LogError("the arms of bandit feedback are numbered already; leave arms= out")
        events = read_open_bandit(log)
        size = as_whole("n_actions of the feedback", log.get("n_actions"))
        if not all(is_whole(arm) and 0 <= int(arm) < size for arm in events.arms):
            raise LogError(f"the actions of the feedback must be from 0 to n_actions - 1 = {size - 1}")
        arms = range(size)
        if log.get("position") is not None:
            positions = int(np.max(log["position"])) + 1
    elif isinstance(log, Events):
        events = log
    else:
        raise LogError(f"log must be Events or the bandit feedback of Open Bandit Pipeline; got {shown(log)}")
    names = _arms(events, arms)
    target = read_targets(events, Pairs.of(events), {"policy": policy})[0]
    for place in np.flatnonzero(target.mass == 0.0):
        raise LogError(f"the policy says nothing of context {events.contexts[place]!r}, which the log has")
    chances = np.zeros((len(events.contexts), len(names)))
    for place, arm, chance in zip(target.entry_context, target.arm, target.chance, strict=True):
        name = target.arms[arm]
        if name not in names:
            raise LogError(f"the policy plays {name!r}, which the log never does; list all arms with arms=")
        chances[place, names.index(name)] = chance
    return np.repeat(chances[events.context][:, :, None], positions, axis=2)


def _arms(events: Events, arms: Sequence[Arm] | None) -> list[Arm]:
    """All arms in their order, those of the log among them."""
    names = list(MeanBounds.vacuous(events.arms if arms is None else as_list("arms", arms)).arms)  # refuses others
    for arm in events.arms:
        if arm not in names:
            raise LogError(f"the log plays {arm!r}, which is not among arms={shown(names)}")
    return names
