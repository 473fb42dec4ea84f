"""Logs of others: decision-service JSON of Vowpal Wabbit, and the columns of the Open Bandit dataset."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from meanbounds.logs.errors import LogError
from meanbounds.logs.evaluating.events import Columns, Events, as_columns
from meanbounds.logs.evaluating.lines import Lost, as_path, json_lines
from meanbounds.logs.evaluating.reading import as_names, read_events
from meanbounds.logs.reading import Time
from meanbounds.logs.sources import Files, Frame, find_source
from meanbounds.support.checks import shown
from meanbounds.support.frames import column_names
from meanbounds.support.optional import import_optional

__all__ = ["read_dsjson", "read_open_bandit"]

_SHARED = "*"


def read_dsjson(
    source: Any,
    *,
    context: str | Sequence[str] | None = None,
    arm: str | None = None,
    low: float = 0.0,
    high: float = 1.0,
    since: Time | None = None,
    until: Time | None = None,
    on_bad: Literal["error", "drop"] = "error",
) -> Events:
    r"""Read decisions from decision-service JSON, the log format of Vowpal Wabbit (``--dsjson``).

    The reward is minus ``_label_cost``. A line without a cost is pending; note that some systems write the cost 0 for
    decisions whose reward never came, which no reader can tell from a reward of 0.

    Parameters
    ----------
    source
        A file with an object in each line, a folder or a pattern.
    context
        Which features are the context: a path in the object ``c`` such as ``"User.age"``, or several; ``"*"`` for all
        features that are not those of an action and do not begin with ``_``, as a short hash; None for no contexts.
    arm
        The name of an action: a path in its features, such as ``"Article.topic"``; by default its number, from 1 on.
    low, high
        The range of the rewards: costs are between ``-high`` and ``-low``.
    since, until
        Take only the rows whose ``Timestamp`` is at `since` or later, and before `until`.
    on_bad
        ``"error"`` lists lines that cannot be used by kind, with the number of the first one, ``"drop"`` leaves them
        out and counts them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import meanbounds as mb
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "decisions.dsjson"
    >>> _ = path.write_text(
    ...     '{"_label_cost": -1, "_label_probability": 0.8, "_label_Action": 2, "_labelIndex": 1, "a": [2, 1],'
    ...     ' "c": {"User": {"age": "old"}, "_multi": [{"b": 1}, {"b": 2}]}, "p": [0.8, 0.2]}\n'
    ... )
    >>> events = mb.logs.read_dsjson(path, context="User.age")
    >>> events.contexts, events.arms, events.reward, events.probability
    (('old',), (2,), array([1.]), array([0.8]))
    """
    path = as_path(source)
    if path is None:
        raise LogError(f"read_dsjson reads files, each line an object; got {type(source).__name__}")
    places = as_names("context", context)
    if arm is not None and (not isinstance(arm, str) or not arm):
        raise LogError(f"arm is a path in the features of an action, such as 'Article.topic'; got {shown(arm)}")
    lost = Lost()
    rows: list[tuple[Any, ...]] = []
    for file, number, line in json_lines(path, lost):
        wrong = _unusable(line)
        if wrong is not None:
            lost.add(wrong, file, number, json.dumps(line))
            continue
        cost = line.get("_label_cost")
        reward = -cost if isinstance(cost, int | float) else cost
        when = line.get("Timestamp")
        features = [_in_context(line, place) for place in places]
        rows.append((*features, _action(line, arm), reward, line.get("_label_probability"), when))
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(len(places) + 4)]
    *contexts, arms, rewards, chances, times = columns
    timed = bool(rows) and all(when is not None for when in times)
    found = Columns(
        contexts,
        *(arms, rewards, chances),
        time=times if timed else None,
        names=places,
        lost=lost.kinds,
        lost_examples=lost.examples,
    )
    return Events.of(found, since, until, low, high, on_bad)


def _unusable(line: dict[str, Any]) -> str | None:
    """Why a line is no single decision; None if it is one."""
    if "_outcomes" in line or "_slots" in (line.get("c") or {}):
        return "several decisions in one line"
    if "_label_probability" not in line and "RewardValue" in line:
        return "reward without its decision"
    if "_label_probability" not in line or _number_of(line) is None:
        return "line is no decision"
    if line.get("pdrop"):
        return "decision from a log of which a part was left out (pdrop)"
    return None


def _number_of(line: dict[str, Any]) -> int | None:
    """The number of the action that was taken, from 1 on."""
    action = line.get("_label_Action", line.get("_label_action"))
    if action is None:
        listed, place = line.get("a"), line.get("_labelIndex")
        if isinstance(listed, list) and listed:
            action = listed[0]  # the action that was taken is the first
        elif isinstance(place, int):
            action = place + 1
    return action if isinstance(action, int) and not isinstance(action, bool) and action >= 1 else None


def _action(line: dict[str, Any], arm: str | None) -> Any:
    number = _number_of(line)
    if arm is None or number is None:
        return number
    actions = (line.get("c") or {}).get("_multi")
    if not isinstance(actions, list) or number > len(actions):
        return None
    return _at(actions[number - 1], arm)


def _in_context(line: dict[str, Any], place: str) -> Any:
    features = line.get("c")
    if place != _SHARED:
        return _at(features, place)
    shared = {name: part for name, part in (features or {}).items() if not name.startswith("_")}
    return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:12]


def _at(features: Any, path: str) -> Any:
    """The value at a path such as ``"User.age"``; in a list of objects, as namespaces can be, the first that has it."""
    for name in path.split("."):
        parts = features if isinstance(features, list) else [features]
        features = next((part[name] for part in parts if isinstance(part, dict) and name in part), None)
    return features if isinstance(features, str | int | float | None) else json.dumps(features, sort_keys=True)


# ------------------------------------------------------------------------------------------------------ Open Bandit

_NAMES = {"arm": ("item_id", "action"), "reward": ("click", "reward"), "probability": ("propensity_score", "pscore")}


def read_open_bandit(
    source: Any,
    *,
    context: str | Sequence[str] | None = "position",
    since: Time | None = None,
    until: Time | None = None,
    low: float = 0.0,
    high: float = 1.0,
    on_bad: Literal["error", "drop"] = "error",
) -> Events:
    """Read decisions with the columns of the Open Bandit dataset, or of its Python package.

    Parameters
    ----------
    source
        A file or a table with the columns of the dataset (``item_id``, ``click``, ``propensity_score``, ``position``,
        ``user_feature_0``, ..., ``timestamp``) or those of the package (``action``, ``reward``, ``pscore``,
        ``position``); or the dictionary that ``obtain_batch_bandit_feedback()`` returns.
    context
        Columns of the context, by default the position on the page; ``["position", "user_feature_0"]`` for more, None
        for no contexts.
    since, until, low, high, on_bad
        As for `read_events`; rows are sorted by ``timestamp`` where there is one.

    Examples
    --------
    >>> import meanbounds as mb
    >>> import pandas as pd
    >>> log = pd.DataFrame({"item_id": [14, 7], "position": [1, 3], "click": [0, 1], "propensity_score": [0.2, 0.1]})
    >>> mb.logs.read_open_bandit(log)
    Events(2 rows, 2 contexts, 2 arms, rewards in [0.0, 1.0])
    """
    places = as_names("context", context)
    if isinstance(source, Mapping):
        return _of_feedback(source, places, low, high, on_bad)
    present = _columns_of(source)
    columns: dict[str, Any] = {part: _present(part, names, present) for part, names in _NAMES.items()}
    columns |= {"time": "timestamp" if "timestamp" in present else None, "since": since, "until": until}
    return read_events(source, context=places or None, low=low, high=high, on_bad=on_bad, **columns)


def _present(part: str, names: Sequence[str], present: Sequence[str]) -> str:
    for name in names:
        if name in present:
            return name
    raise LogError(
        f"the log has none of the columns {' and '.join(names)}, one of which is the {part} of an Open Bandit log; its "
        f"columns are {', '.join(present[:30])}"
    )


def _columns_of(source: Any) -> list[str]:
    """The names of the columns of a file or a table."""
    found = find_source(source, False)
    if isinstance(found, Frame):
        return column_names(found.table)
    assert isinstance(found, Files)
    if found.format == "parquet":
        parquet = import_optional("pyarrow.parquet", "logs", "Parquet files")
        return list(parquet.read_schema(found.paths[0]).names)
    return found.header()


def _of_feedback(
    feedback: Mapping[Any, Any], places: tuple[str, ...], low: float, high: float, on_bad: Literal["error", "drop"]
) -> Events:
    missing = [name for name in ("action", "reward", "pscore") if feedback.get(name) is None]
    if missing:
        raise LogError(f"the feedback has no {', '.join(missing)}; its entries are {', '.join(map(str, feedback))}")
    if any(feedback.get(place) is None for place in places):
        if places != ("position",):
            raise LogError(f"the feedback has no {', '.join(places)}; its entries are {', '.join(map(str, feedback))}")
        places = ()
    if len(places) > 1:
        raise LogError("the feedback has one column of a context, position; for more give the file of the dataset")
    context = feedback[places[0]] if places else None
    columns = as_columns(context, feedback["action"], feedback["reward"], feedback["pscore"])
    return Events.of(columns, None, None, low, high, on_bad)
