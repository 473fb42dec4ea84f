"""A world in which the truth is known: an expert who sees everything, the log that is left, and the agent after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanbounds.bounds import Arm, MeanBounds
from meanbounds.logs import Context, Counts, Histogram
from meanbounds.policies import AnyPolicy
from meanbounds.simulation.environments import Table
from meanbounds.simulation.regret import Regret
from meanbounds.simulation.run import simulate
from meanbounds.support.seeding import Seed, as_seed
from meanbounds.support.types import Floats

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["HiddenContexts"]

_CHUNK = 1_000_000  # rows of a log that are drawn at once


@dataclass(frozen=True, eq=False)
class HiddenContexts:
    """Visible and hidden contexts, arms with a mean in each, and an expert who sees both and plays the best arm.

    The expert's log keeps the visible context, the arm and the reward. An agent that sees the visible context alone
    lives in the same world. Rewards are at either end of their range, or those of a trial, see `from_trial`.

    Parameters
    ----------
    means
        Visible contexts x hidden contexts x arms.
    probabilities
        How likely each pair of contexts is: visible x hidden, or hidden alone if it is the same for all (visible ones
        are then equally likely). Scaled to sum to 1.
    low, high
        Range of the rewards.
    contexts, arms
        Names; "z0", "z1", ... and 0, 1, ... by default.
    values, law
        The rewards there are, and how likely each is: visible x hidden x arms x values. Both ends of the range by
        default.

    Examples
    --------
    >>> import meanbounds as mb
    >>> lab = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]])
    >>> lab.marginal_means  # what the agent can hope to learn
    array([[0.6, 0.5]])
    >>> lab.shares, lab.gap_low, lab.gap_high
    (array([[0.5, 0.5]]), array([0.3]), array([0.5]))
    >>> bounds = mb.logs.bounds(lab.counts(), gap_low=lab.gap_low, gap_high=lab.gap_high, infinite=True)["z0"]
    >>> bounds.lower.round(3), bounds.upper.round(3)
    (array([0.5, 0.5]), array([0.6, 0.6]))
    """

    means: Floats
    probabilities: Floats
    low: float
    high: float
    contexts: tuple[Context, ...]
    arms: tuple[Arm, ...]
    values: Floats
    law: Floats

    def __init__(
        self,
        means: ArrayLike,
        probabilities: ArrayLike | None = None,
        low: float = 0.0,
        high: float = 1.0,
        contexts: Sequence[Context] | None = None,
        arms: Sequence[Arm] | None = None,
        *,
        values: ArrayLike | None = None,
        law: ArrayLike | None = None,
    ) -> None:
        table = np.array(means, dtype=np.float64)
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise ValueError(f"the range of the rewards must be finite, with low below high; got [{low}, {high}]")
        if table.ndim == 3 and table.shape[2] < 2:
            raise ValueError("a world needs at least two arms: with one there is nothing to choose")
        if table.ndim != 3 or not table.size or not np.all((table >= low) & (table <= high)):
            raise ValueError(f"means must be visible x hidden x arms, all in [{low}, {high}]; got shape {table.shape}")
        given = np.ones(table.shape[:2]) if probabilities is None else np.asarray(probabilities, dtype=np.float64)
        weights = (
            np.broadcast_to(given, table.shape[:2]) if given.shape in (table.shape[:2], table.shape[1:2]) else None
        )
        if weights is None or not (np.all((weights >= 0.0) & (weights < np.inf)) and np.all(weights.sum(axis=1) > 0.0)):
            raise ValueError(f"probabilities must be {table.shape[:2]} numbers, none negative; got shape {given.shape}")
        names = tuple(f"z{z}" for z in range(len(table))) if contexts is None else tuple(contexts)
        options = tuple(range(table.shape[2])) if arms is None else tuple(arms)
        if len(names) != len(table) or len(options) != table.shape[2]:
            raise ValueError(
                f"{len(names)} contexts and {len(options)} arms are named for means of shape {table.shape}"
            )
        parts: dict[str, Any] = {"means": table, "probabilities": weights / weights.sum(), "low": float(low)}
        share = (table - low) / (high - low)
        seen = np.array([low, high] if values is None else values, dtype=np.float64)
        chances = np.stack([1.0 - share, share], axis=-1) if law is None else np.array(law, dtype=np.float64)
        fits = (
            chances.shape == (*table.shape, seen.size) and np.all(chances >= 0.0) and np.allclose(chances.sum(-1), 1.0)
        )
        if not (fits and np.allclose(chances @ seen, table) and seen.min() >= low and seen.max() <= high):
            raise ValueError(
                "law needs a probability for each of values in each cell, with the means that are given, and values in "
                f"[{low}, {high}]"
            )
        parts |= {"high": float(high), "contexts": names, "arms": options, "values": seen, "law": chances}
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    @classmethod
    def random(
        cls, visible: int = 2, hidden: int = 5, arms: int = 4, seed: Seed = None, low: float = 0.0, high: float = 1.0
    ) -> HiddenContexts:
        """Uniform means, and probabilities that are uniform on the simplex."""
        rng = np.random.default_rng(as_seed(seed))
        return cls(rng.uniform(low, high, (visible, hidden, arms)), rng.exponential(size=(visible, hidden)), low, high)

    @classmethod
    def from_trial(
        cls,
        frame: pd.DataFrame,
        visible: str,
        hidden: str | Sequence[str],
        arm: str,
        reward: str,
        low: float = 0.0,
        high: float = 1.0,
    ) -> HiddenContexts:
        """The world of a randomised trial, in which every arm was tried in every cell.

        Rewards are those of the patients (or whatever the rows are) of a cell. Cells in which some arm was never tried
        are refused: merge them with others first.
        """
        columns = [hidden] if isinstance(hidden, str) else list(hidden)
        _check_columns(frame, [visible, *columns, arm, reward], [reward], low, high)
        rows = [frame[visible], _joined(frame, columns), frame[arm], frame[reward]]
        axes, places = zip(*(_places(column) for column in rows), strict=True)
        tally = np.zeros([len(axis) for axis in axes])
        np.add.at(tally, places, 1.0)
        cells = tally.sum(axis=3)
        for z, u, k in np.argwhere((cells == 0.0) & (cells.sum(axis=2, keepdims=True) > 0.0)):
            raise ValueError(
                f"arm {axes[2][k]!r} was never tried where {visible} is {axes[0][z]!r} and {' / '.join(columns)} is "
                f"{axes[1][u]!r}: merge that cell with another"
            )
        law = np.divide(
            tally, cells[..., None], out=np.full(tally.shape, 1.0 / tally.shape[3]), where=cells[..., None] > 0
        )
        values = np.array(axes[3], dtype=np.float64)
        means = np.clip(law @ values, low, high)
        return cls(means, cells.sum(axis=2), low, high, axes[0], axes[2], values=values, law=law)

    @classmethod
    def from_table(
        cls,
        frame: pd.DataFrame,
        visible: str,
        hidden: str | Sequence[str],
        arms: Sequence[str],
        low: float = 0.0,
        high: float = 1.0,
        *,
        weight: str | None = None,
        uniform: bool = False,
    ) -> HiddenContexts:
        """The world of a table with a row for each unit (a user, a patient) and a column for each arm.

        The expert sees the visible and the hidden columns; the log keeps the visible one. Units of one cell, equal in
        all of these, are averaged. Cells without units have probability 0.

        Parameters
        ----------
        frame
            The table.
        visible, hidden
            Columns that describe a unit; several hidden ones together make one hidden context.
        arms
            The columns that hold each arm's mean reward for the unit.
        low, high
            Range of the rewards.
        weight
            A column of weights, none negative, for probabilities and averages; each unit counts as 1 by default.
        uniform
            Whether all cells with units of a visible context are equally likely there, rather than by weight.

        Examples
        --------
        >>> import pandas as pd
        >>> import meanbounds as mb
        >>> users = pd.DataFrame(
        ...     {
        ...         "job": ["law", "law", "law", "arts"],
        ...         "age": ["young", "young", "old", "old"],
        ...         "film a": [0.9, 0.7, 0.2, 0.5],
        ...         "film b": [0.4, 0.6, 0.5, 0.6],
        ...     }
        ... )
        >>> world = mb.HiddenContexts.from_table(users, "job", "age", ["film a", "film b"])
        >>> world.contexts, world.marginal_means.round(3).tolist()
        (('arts', 'law'), [[0.5, 0.6], [0.6, 0.5]])
        >>> world.gap_low.round(3).tolist()  # old and young: the cell (arts, young) has nobody
        [0.1, 0.3]
        """
        columns, options = [hidden] if isinstance(hidden, str) else list(hidden), list(arms)
        described = [visible, *columns, *options, *([] if weight is None else [weight])]
        _check_columns(frame, described, options, low, high)
        share = np.ones(len(frame)) if weight is None else frame[weight].to_numpy(dtype=np.float64)
        if not (len(frame) and np.all((share >= 0.0) & (share < np.inf))):
            raise ValueError(
                f"a world needs at least one row, and weights that are not negative; see column {weight!r}"
            )
        (contexts, z), (cells, u) = _places(frame[visible]), _places(_joined(frame, columns))
        size = np.zeros((len(contexts), len(cells)))
        total = np.zeros((*size.shape, len(options)))
        np.add.at(size, (z, u), share)
        np.add.at(total, (z, u), share[:, None] * frame[options].to_numpy(dtype=np.float64))
        for empty in np.flatnonzero(size.sum(axis=1) == 0.0):
            raise ValueError(f"all rows where {visible} is {contexts[empty]!r} have weight 0: leave them out")
        middle = np.full(total.shape, (low + high) / 2.0)
        means = np.divide(total, size[..., None], out=middle, where=size[..., None] > 0.0)
        inside = (size > 0.0) / np.sum(size > 0.0, axis=1, keepdims=True)
        chances = inside * size.sum(axis=1, keepdims=True) if uniform else size
        return cls(np.clip(means, low, high), chances, low, high, contexts, options)

    @property
    def best(self) -> NDArray[np.intp]:
        """What the expert plays: visible x hidden."""
        best: NDArray[np.intp] = np.argmax(self.means, axis=2)
        return best

    @property
    def hidden_given_visible(self) -> Floats:
        """P(u | z)."""
        share: Floats = self.probabilities / self.probabilities.sum(axis=1, keepdims=True)
        return share

    @property
    def marginal_means(self) -> Floats:
        """Each arm's mean for an agent who sees the visible context alone: visible x arms."""
        seen: Floats = np.einsum("zu,zuk->zk", self.hidden_given_visible, self.means)
        return seen

    def _played(self) -> Floats:
        """Whether the expert plays an arm: visible x hidden x arms."""
        played: Floats = (np.arange(self.means.shape[2]) == self.best[..., None]).astype(np.float64)
        return played

    @property
    def shares(self) -> Floats:
        """p_z(k): how often the expert plays each arm."""
        shares: Floats = np.einsum("zu,zuk->zk", self.hidden_given_visible, self._played())
        return shares

    @property
    def contributions(self) -> Floats:
        """mu_z(k): what each arm contributes to the expert's mean reward."""
        parts: Floats = np.einsum("zu,zuk->zk", self.hidden_given_visible, self._played() * self.means)
        return parts

    @property
    def gap_low(self) -> Floats:
        """Least distance from the best to the second-best arm, in each visible context."""
        ordered = np.sort(self.means, axis=2)
        gaps: Floats = (ordered[..., -1] - ordered[..., -2]).min(axis=1, where=self.probabilities > 0.0, initial=np.inf)
        return gaps

    @property
    def gap_high(self) -> Floats:
        """Largest distance from the best to the worst arm, in each visible context."""
        gaps: Floats = np.ptp(self.means, axis=2).max(axis=1, where=self.probabilities > 0.0, initial=0.0)
        return gaps

    def counts(self) -> Counts:
        """The log that the expert would leave if it went on for ever: shares instead of counts."""
        return self._counted(np.einsum("zu,zuk,zukv->zkv", self.probabilities, self._played(), self.law))

    def _counted(self, histogram: Floats) -> Counts:
        """Counts with these numbers of each value: visible x arms x values."""
        count, total, squares = histogram.sum(axis=2), histogram @ self.values, histogram @ self.values**2
        return Counts(
            self.contexts,
            self.arms,
            count=count,
            total=total,
            squares=squares,
            low=self.low,
            high=self.high,
            histogram=Histogram(self.values, self.values, histogram),
        )

    def _chunks(self, rows: int, seed: Seed) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]]:
        """Visible context, arm and place of the reward among the values, of each row, some rows at a time."""
        if rows < 1:
            raise ValueError(f"a log needs at least one row; got rows={rows}")
        rng = np.random.default_rng(as_seed(seed))
        visible, hidden, _ = self.means.shape
        steps = np.cumsum(self.law, axis=3)[..., :-1]
        for first in range(0, rows, _CHUNK):
            size = min(_CHUNK, rows - first)
            pair = rng.choice(visible * hidden, size=size, p=self.probabilities.ravel())
            z, u = np.divmod(pair, hidden)
            arm = self.best[z, u]
            yield z, arm, np.sum(rng.random((size, 1)) >= steps[z, u, arm], axis=1)

    def log(self, rows: int, seed: Seed = None) -> pd.DataFrame:
        """The expert's log as a pandas data frame: context, arm, reward."""
        import pandas as pd

        parts = [pd.DataFrame(self._columns(z, arm, place)) for z, arm, place in self._chunks(rows, seed)]
        return pd.concat(parts, ignore_index=True)

    def _columns(self, z: NDArray[np.intp], arm: NDArray[np.intp], place: NDArray[np.intp]) -> dict[str, Any]:
        names = np.array([str(c) if isinstance(c, tuple) else c for c in self.contexts])
        options = np.array(self.arms)
        return {"context": names[z], "arm": options[arm], "reward": self.values[place]}

    def write_log(self, path: str | Path, rows: int, seed: Seed = None) -> None:
        """The expert's log as a Parquet file, a million rows at a time."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        writer = None
        try:
            for z, arm, place in self._chunks(rows, seed):
                table = pa.table(self._columns(z, arm, place))
                writer = writer or pq.ParquetWriter(Path(path), table.schema)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()

    def sample(self, rows: int, seed: Seed = None) -> Counts:
        """Counts of a log of this many rows, without writing it."""
        histogram = np.zeros((len(self.contexts), len(self.arms), self.values.size))
        for z, arm, place in self._chunks(rows, seed):
            np.add.at(histogram, (z, arm, place), 1.0)
        return self._counted(histogram)

    def simulate(
        self,
        policies: AnyPolicy | Sequence[AnyPolicy] | Mapping[str, AnyPolicy],
        bounds: Mapping[Context, MeanBounds],
        horizon: int = 10_000,
        runs: int = 200,
        seed: Seed = None,
        **more: Any,
    ) -> dict[Context, Regret]:
        """Regret in each context by itself, `horizon` rounds of it, with the bounds of that context.

        Parameters
        ----------
        policies, horizon, runs, seed, more
            As for `meanbounds.simulate`.
        bounds
            Bounds by context, such as `meanbounds.logs.bounds` returns; a context without any has none.
        """
        number = as_seed(seed)
        found = {}
        for z, context in enumerate(self.contexts):
            own, known = np.random.default_rng([number, z]), bounds.get(context)
            found[context] = simulate(
                policies, self.environment(context), known, horizon=horizon, runs=runs, seed=own, **more
            )
        return found

    def environment(self, context: Context) -> Table:
        """Where an agent lives that sees this context and not what is hidden."""
        z = self.contexts.index(context)
        weights = np.einsum("u,ukv->kv", self.hidden_given_visible[z], self.law[z])
        return Table([self.values] * len(self.arms), weights=list(weights), low=self.low, high=self.high)


def _check_columns(frame: pd.DataFrame, names: Sequence[str], rewards: Sequence[str], low: float, high: float) -> None:
    """Refuse columns that are not there or twice, missing values, and rewards outside their range."""
    for name in names:
        if name not in frame.columns:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(map(repr, frame.columns))}")
        if list(names).count(name) > 1 or list(frame.columns).count(name) > 1:
            raise ValueError(f"column {name!r} is there, or is asked for, more than once; each needs a name of its own")
        if frame[name].isna().any():
            raise ValueError(f"column {name!r} has {int(frame[name].isna().sum())} missing values; leave such rows out")
    for name in rewards:
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
    """The values of a column in order, and the place of each row's among them."""
    axis = sorted(column.unique().tolist())
    return axis, column.map({x: k for k, x in enumerate(axis)}).to_numpy(dtype=np.intp)
