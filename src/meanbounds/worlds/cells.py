"""Tables of people made into cells: how likely each pair of visible and hidden context is, and each arm's rewards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meanbounds.support.types import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Cells", "RewardLaw", "cells_of_table", "cells_of_trial"]

RewardLaw = Literal["values", "two-point"]
_LARGEST = 20_000_000  # probabilities of a law: 160 MB


class Cells(NamedTuple):
    """The parts of a world, by the names of the parameters of `HiddenContexts`."""

    means: Floats
    probabilities: Floats
    contexts: list[Any]
    arms: list[Any]
    values: Floats | None
    law: Floats | None


def cells_of_trial(
    frame: pd.DataFrame,
    visible: str,
    hidden: str | Sequence[str],
    arm: str,
    reward: str,
    low: float,
    high: float,
    rewards: RewardLaw,
) -> Cells:
    """Make cells of a trial that has a row for each person: one arm, one reward.

    Examples
    --------
    >>> import pandas as pd
    >>> from meanbounds.worlds.cells import cells_of_trial
    >>> people = {"age": ["old", "old"], "severe": ["no", "no"], "drug": ["a", "b"], "outcome": [1.0, 0.5]}
    >>> cells = cells_of_trial(pd.DataFrame(people), "age", "severe", "drug", "outcome", 0.0, 1.0, "values")
    >>> cells.means.tolist(), cells.contexts, cells.arms
    ([[[1.0, 0.5]]], ['old'], ['a', 'b'])
    """
    columns = [hidden] if isinstance(hidden, str) else list(hidden)
    _check_columns(frame, [visible, *columns, arm, reward], [reward], low, high, rewards)
    rows = [frame[visible], _joined(frame, columns), frame[arm], frame[reward]]
    (contexts, z), (kinds, u), (arms, k), (outcomes, v) = (_places(column) for column in rows)
    tally = _tally((len(contexts), len(kinds), len(arms), len(outcomes)), (z, u, k, v), np.ones(len(frame)))
    cells = tally.sum(axis=3)
    for a, b, c in np.argwhere((cells == 0.0) & (cells.sum(axis=2, keepdims=True) > 0.0)):
        raise ValueError(
            f"arm {arms[c]!r} was never tried where {visible} is {contexts[a]!r} and {' / '.join(columns)} is "
            f"{kinds[b]!r}: merge that cell with another"
        )
    values = np.array(outcomes, dtype=np.float64)
    law, means = _law(tally, values)
    own = (values, law) if rewards == "values" else (None, None)
    return Cells(np.clip(means, low, high), cells.sum(axis=2), contexts, arms, *own)


def cells_of_table(
    frame: pd.DataFrame,
    visible: str,
    hidden: str | Sequence[str],
    arms: Sequence[str],
    low: float,
    high: float,
    weight: str | None,
    uniform: bool,
    rewards: RewardLaw,
) -> Cells:
    """Make cells of a table that has a row for each person and a column of rewards for each arm.

    Examples
    --------
    >>> import pandas as pd
    >>> from meanbounds.worlds.cells import cells_of_table
    >>> users = pd.DataFrame({"job": ["law", "law"], "age": ["old", "old"], "Heat": [5, 4], "Big": [2, 3]})
    >>> cells = cells_of_table(users, "job", "age", ["Heat", "Big"], 1, 5, None, False, "values")
    >>> cells.means.tolist(), cells.values.tolist()
    ([[[4.5, 2.5]]], [2.0, 3.0, 4.0, 5.0])
    """
    columns, options = [hidden] if isinstance(hidden, str) else list(hidden), list(arms)
    described = [visible, *columns, *options, *([] if weight is None else [weight])]
    _check_columns(frame, described, options, low, high, rewards)
    share = np.ones(len(frame)) if weight is None else frame[weight].to_numpy(dtype=np.float64)
    if not (len(frame) and np.all((share >= 0.0) & (share < np.inf))):
        raise ValueError(f"a world needs at least one row, and weights that are not negative; see column {weight!r}")
    (contexts, z), (kinds, u) = _places(frame[visible]), _places(_joined(frame, columns))
    table = frame[options].to_numpy(dtype=np.float64)
    size = _tally((len(contexts), len(kinds)), (z, u), share)
    for empty in np.flatnonzero(size.sum(axis=1) == 0.0):
        raise ValueError(f"all rows where {visible} is {contexts[empty]!r} have weight 0: leave them out")
    inside = (size > 0.0) / np.sum(size > 0.0, axis=1, keepdims=True)
    chances = inside * size.sum(axis=1, keepdims=True) if uniform else size
    if rewards == "values":
        values, places = np.unique(table, return_inverse=True)
        where = (z[:, None], u[:, None], np.arange(len(options)), places.reshape(table.shape))
        law, means = _law(_tally((*size.shape, len(options), values.size), where, share[:, None]), values)
        return Cells(np.clip(means, low, high), chances, contexts, options, values, law)
    total = np.zeros((*size.shape, len(options)))
    np.add.at(total, (z, u), share[:, None] * table)
    middle = np.full(total.shape, (low + high) / 2.0)
    means = np.divide(total, size[..., None], out=middle, where=size[..., None] > 0.0)
    return Cells(np.clip(means, low, high), chances, contexts, options, None, None)


def _tally(shape: tuple[int, ...], places: tuple[NDArray[np.intp], ...], weights: Floats) -> Floats:
    """Sums of weights at these places."""
    if len(shape) == 4 and np.prod(shape, dtype=float) > _LARGEST:
        raise ValueError(
            f"{shape[-1]} different rewards in {shape[0]} x {shape[1]} cells with {shape[2]} arms are too many to draw "
            "from: round the rewards, or ask for rewards='two-point'"
        )
    tally = np.zeros(shape)
    np.add.at(tally, places, weights)
    return tally


def _law(tally: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Shares of each value in each cell and arm, and their mean; equal shares where there is nobody: never drawn.

    The mean is a sum divided once, so that arms whose rewards sum to the same, as stars often do, tie exactly: by
    rounded shares the expert would prefer one of them.
    """
    sizes = tally.sum(axis=-1)
    law = np.divide(tally, sizes[..., None], out=np.full(tally.shape, 1.0 / values.size), where=sizes[..., None] > 0.0)
    means: Floats = np.divide(tally @ values, sizes, out=np.full(sizes.shape, values.mean()), where=sizes > 0.0)
    return law, means


def _check_columns(
    frame: pd.DataFrame, names: Sequence[str], columns: Sequence[str], low: float, high: float, rewards: str
) -> None:
    """Refuse columns that are missing or there twice, missing values, and rewards outside their range."""
    if rewards not in ("values", "two-point"):
        raise ValueError(f"rewards must be 'values' or 'two-point'; got {rewards!r}")
    for name in names:
        if name not in frame.columns:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(map(repr, frame.columns))}")
        if list(names).count(name) > 1 or list(frame.columns).count(name) > 1:
            raise ValueError(f"column {name!r} is there, or is asked for, more than once; give each another name")
        if frame[name].isna().any():
            raise ValueError(f"column {name!r} has {int(frame[name].isna().sum())} missing values; leave such rows out")
    for name in columns:
        if frame[name].min() < low or frame[name].max() > high:
            raise ValueError(
                f"column {name!r} has rewards from {frame[name].min()} to {frame[name].max()}, outside [{low}, {high}]"
            )


def _joined(frame: pd.DataFrame, columns: Sequence[str]) -> pd.Series[Any]:
    """Several columns as one."""
    parts = frame[list(columns)].astype(str)
    joined: pd.Series[Any] = parts.agg(" / ".join, axis=1)
    if joined.nunique() < len(parts.drop_duplicates()):
        raise ValueError(
            f"values of {', '.join(map(repr, columns))} that differ read the same when joined by ' / '; rename some"
        )
    return joined


def _places(column: pd.Series[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """The values of a column, sorted or in the order of its categories, and the place of each row's among them."""
    present = set(column.unique().tolist())
    ordered = column.cat.categories.tolist() if column.dtype.name == "category" else sorted(present)
    axis = [value for value in ordered if value in present]
    places = {value: k for k, value in enumerate(axis)}
    return axis, np.array([places[value] for value in column], dtype=np.intp)
