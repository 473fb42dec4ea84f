"""A world where every mean is known: an expert sees more than the log records, and an agent starts from that log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
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
from meanbounds.support.checks import as_float, as_floats, as_whole, fits_range, is_whole, shown
from meanbounds.support.frames import as_pandas
from meanbounds.support.optional import optional
from meanbounds.support.seeding import Seed, as_seed
from meanbounds.support.types import Floats
from meanbounds.support.writing import write_atomically
from meanbounds.worlds.cells import RewardLaw, cells_of_table, cells_of_trial

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["HiddenContexts"]

_CHUNK = 1_000_000  # rows of a log that are drawn at once


@dataclass(frozen=True, eq=False)
class HiddenContexts:
    """An expert who sees more than the log records, in a world where every mean is known.

    Each case has a visible context (an age band) and a hidden one (the type of stroke). The expert sees both and plays
    the arm that is best for the pair. The log records the visible context, the arm and the reward; the hidden context
    is lost. An agent comes after the expert, sees the visible context alone, and starts from bounds that the log gives.
    Use it to check such bounds against the true means.

    Parameters
    ----------
    means
        Mean reward of each arm in each pair of contexts, in reward units: visible x hidden x arms.
    probabilities
        How likely each pair is: visible x hidden, or hidden alone if that is the same for all visible contexts (which
        are then equally likely). Scaled to sum to 1.
    low, high
        Range of the rewards.
    contexts, arms
        Names of the visible contexts and of the arms; "z0", "z1", ... and 0, 1, ... by default.
    values, law
        The rewards that can occur, and the probability of each: visible x hidden x arms x values. By default a reward
        is either `low` or `high`, with the right mean.

    Examples
    --------
    One visible context, two hidden ones that are equally likely: arm 0 is best in the first, arm 1 in the second.

    >>> import meanbounds as mb
    >>> world = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]])
    >>> world.marginal_means  # the agent's true means: (0.9 + 0.3) / 2 and (0.4 + 0.6) / 2
    array([[0.6, 0.5]])
    >>> bounds = mb.logs.bounds(world.counts(), gap_low=world.gap_low, gap_high=world.gap_high, infinite=True)["z0"]
    >>> bounds.lower.round(3), bounds.upper.round(3)  # bounds on them from the expert's log
    (array([0.5, 0.5]), array([0.6, 0.6]))

    Averages of the log itself are far off, since the expert plays each arm where it is best:

    >>> (world.contributions / world.shares).round(3)
    array([[0.9, 0.6]])
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
        *,
        low: float = 0.0,
        high: float = 1.0,
        contexts: Sequence[Context] | None = None,
        arms: Sequence[Arm] | None = None,
        values: ArrayLike | None = None,
        law: ArrayLike | None = None,
    ) -> None:
        table = as_floats("means", means).copy()
        low, high = _reward_range(low, high)
        if table.ndim == 3 and table.shape[2] < 2:
            raise ValueError("a world needs at least two arms: with one there is nothing to choose")
        if table.ndim != 3 or not table.size or not np.all((table >= low) & (table <= high)):
            raise ValueError(f"means must be visible x hidden x arms, all in [{low}, {high}]; got shape {table.shape}")
        given = np.ones(table.shape[:2]) if probabilities is None else as_floats("probabilities", probabilities)
        weights = (
            np.broadcast_to(given, table.shape[:2]) if given.shape in (table.shape[:2], table.shape[1:2]) else None
        )
        if weights is None or not (np.all((weights >= 0.0) & (weights < np.inf)) and np.all(weights.sum(axis=1) > 0.0)):
            raise ValueError(f"probabilities must be {table.shape[:2]} numbers, none negative; got shape {given.shape}")
        names = tuple(f"z{z}" for z in range(len(table))) if contexts is None else _listed("contexts", contexts)
        options = tuple(range(table.shape[2])) if arms is None else _listed("arms", arms)
        if len(names) != len(table) or len(options) != table.shape[2]:
            raise ValueError(
                f"{len(names)} contexts and {len(options)} arms are named for means of shape {table.shape}"
            )
        parts: dict[str, Any] = {"means": table, "probabilities": weights / weights.sum(), "low": float(low)}
        share = (table - low) / (high - low)
        seen = as_floats("values", [low, high] if values is None else values).copy()
        chances = np.stack([1.0 - share, share], axis=-1) if law is None else as_floats("law", law).copy()
        fits = (
            chances.shape == (*table.shape, seen.size) and np.all(chances >= 0.0) and np.allclose(chances.sum(-1), 1.0)
        )
        if not (
            fits
            and seen.ndim == 1
            and seen.size
            and np.allclose(chances @ seen, table)
            and seen.min() >= low
            and seen.max() <= high
        ):
            raise ValueError(
                "law needs a probability for each of values in each cell, with the means that are given, and values in "
                f"[{low}, {high}]"
            )
        parts |= {"high": float(high), "contexts": names, "arms": options, "values": seen, "law": chances}
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    @classmethod
    def random(
        cls,
        visible: int = 2,
        hidden: int = 5,
        *,
        arms: int = 4,
        seed: Seed = None,
        low: float = 0.0,
        high: float = 1.0,
    ) -> HiddenContexts:
        """Draw a world at random: uniform means, and probabilities that are uniform on the simplex.

        Parameters
        ----------
        visible, hidden, arms
            Numbers of visible contexts, of hidden ones for each, and of arms.
        seed
            The same seed gives the same world.
        low, high
            Range of the rewards.

        Examples
        --------
        >>> import meanbounds as mb
        >>> world = mb.HiddenContexts.random(visible=2, hidden=5, arms=4, seed=1)
        >>> world.contexts, world.means.shape
        (('z0', 'z1'), (2, 5, 4))
        """
        rng = np.random.default_rng(as_seed(seed))
        visible, hidden, arms = (
            as_whole(name, size) for name, size in (("visible", visible), ("hidden", hidden), ("arms", arms))
        )
        low, high = _reward_range(low, high)
        means, sizes = rng.uniform(low, high, (visible, hidden, arms)), rng.exponential(size=(visible, hidden))
        return cls(means, sizes, low=low, high=high)

    @classmethod
    def from_trial(
        cls,
        frame: Any,
        *,
        visible: str,
        hidden: str | Sequence[str],
        arm: str,
        reward: str,
        low: float = 0.0,
        high: float = 1.0,
        rewards: RewardLaw = "values",
    ) -> HiddenContexts:
        """Make a world from a randomised trial that tried every arm on every kind of person.

        Parameters
        ----------
        frame
            The trial, a pandas, Polars or Arrow table: a row for each person.
        visible, hidden
            Columns that describe the person. The expert sees all of them, the log keeps the visible one. Several hidden
            columns together make one hidden context. Contexts and arms are sorted, or in the order of the categories if
            the column is a categorical.
        arm, reward
            Columns with the arm that the person got, and the outcome.
        low, high
            Range of the rewards.
        rewards
            "values": a reward is the outcome of a person drawn from those of the same contexts and arm. "two-point": it
            is `low` or `high`, with the same mean.

        Examples
        --------
        >>> import pandas as pd
        >>> import meanbounds as mb
        >>> trial = pd.DataFrame(
        ...     {
        ...         "age": ["old"] * 8,
        ...         "severe": ["no"] * 4 + ["yes"] * 4,
        ...         "drug": ["a", "a", "b", "b"] * 2,
        ...         "outcome": [1.0, 0.5, 0.5, 0.5, 0.0, 0.0, 0.5, 0.0],
        ...     }
        ... )
        >>> world = mb.HiddenContexts.from_trial(trial, visible="age", hidden="severe", arm="drug", reward="outcome")
        >>> world.means[0].tolist()  # drug a is better for mild cases, b for severe ones
        [[0.75, 0.5], [0.0, 0.25]]
        >>> world.values.tolist()
        [0.0, 0.5, 1.0]
        """
        cells = cells_of_trial(as_pandas("frame", frame), visible, hidden, arm, reward, low, high, rewards)
        return cls(**cells._asdict(), low=low, high=high)

    @classmethod
    def from_table(
        cls,
        frame: Any,
        *,
        visible: str,
        hidden: str | Sequence[str],
        arms: Sequence[str],
        low: float = 0.0,
        high: float = 1.0,
        weight: str | None = None,
        uniform: bool = False,
        rewards: RewardLaw = "values",
    ) -> HiddenContexts:
        """Make a world from a table with each person's reward for every arm: a row a person, a column an arm.

        People who agree in all visible and hidden columns make a cell; an arm's mean there is their average. Cells
        without people have probability 0.

        Parameters
        ----------
        frame
            The table, of pandas, Polars or Arrow.
        visible, hidden
            Columns that describe the person, as for `from_trial`.
        arms
            Columns with the reward of each arm, for example the stars that the person gave to each film.
        low, high
            Range of the rewards; ``low=1, high=5`` for stars.
        weight
            A column of weights, none negative, for probabilities, averages and draws; each row counts as 1 by default.
        uniform
            Whether all cells with people of a visible context are equally likely there, rather than by weight.
        rewards
            "values": a reward is that of a person drawn from the cell, so stars stay stars. "two-point": it is `low` or
            `high`, with the same mean; for tables that hold expected rewards rather than rewards.

        Examples
        --------
        >>> import pandas as pd
        >>> import meanbounds as mb
        >>> users = pd.DataFrame(
        ...     {
        ...         "job": ["law", "law", "law", "arts"],
        ...         "age": ["young", "young", "old", "old"],
        ...         "film a": [5, 4, 1, 3],
        ...         "film b": [2, 3, 3, 4],
        ...     }
        ... )
        >>> films = ["film a", "film b"]
        >>> world = mb.HiddenContexts.from_table(users, visible="job", hidden="age", arms=films, low=1, high=5)
        >>> world.contexts, world.marginal_means.round(2).tolist()
        (('arts', 'law'), [[3.0, 4.0], [3.33, 2.67]])
        >>> world.gap_low.tolist()  # arts: 4 - 3; law: 4.5 - 2.5 for the young, 3 - 1 for the old
        [1.0, 2.0]
        >>> sorted(world.log(1000, seed=1)["reward"].unique().tolist())  # the expert's films got 3, 4 and 5 stars
        [3.0, 4.0, 5.0]
        """
        cells = cells_of_table(as_pandas("frame", frame), visible, hidden, arms, low, high, weight, uniform, rewards)
        return cls(**cells._asdict(), low=low, high=high)

    @property
    def best(self) -> NDArray[np.intp]:
        """The arm that the expert plays in each pair of contexts, as its place in `arms`: visible x hidden.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]]).best
        array([[0, 1]])
        """
        best: NDArray[np.intp] = np.argmax(self.means, axis=2)
        return best

    @property
    def hidden_given_visible(self) -> Floats:
        """Probability of each hidden context given the visible one, P(u | z): visible x hidden.

        Examples
        --------
        >>> import meanbounds as mb
        >>> two = [[[0.9, 0.4], [0.3, 0.6]], [[0.2, 0.4], [0.3, 0.6]]]
        >>> mb.HiddenContexts(two, [[0.3, 0.1], [0.3, 0.3]]).hidden_given_visible
        array([[0.75, 0.25],
               [0.5 , 0.5 ]])
        """
        share: Floats = self.probabilities / self.probabilities.sum(axis=1, keepdims=True)
        return share

    @property
    def marginal_means(self) -> Floats:
        """Each arm's mean reward given the visible context alone, which is the truth for the agent: visible x arms.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.75, 0.25]]).marginal_means  # 0.75 x 0.9 + 0.25 x 0.3
        array([[0.75, 0.45]])
        """
        seen: Floats = np.einsum("zu,zuk->zk", self.hidden_given_visible, self.means)
        return seen

    def _played(self) -> Floats:
        """Whether the expert plays an arm: visible x hidden x arms."""
        played: Floats = (np.arange(self.means.shape[2]) == self.best[..., None]).astype(np.float64)
        return played

    @property
    def shares(self) -> Floats:
        """How often the expert plays each arm in a visible context, p_z(k) in the paper: visible x arms.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.75, 0.25]]).shares
        array([[0.75, 0.25]])
        """
        shares: Floats = np.einsum("zu,zuk->zk", self.hidden_given_visible, self._played())
        return shares

    @property
    def contributions(self) -> Floats:
        """Share of each arm times its mean reward when the expert plays it, mu_z(k) in the paper: visible x arms.

        They add up to the expert's mean reward.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.5, 0.5]]).contributions  # 0.5 x 0.9 and 0.5 x 0.6
        array([[0.45, 0.3 ]])
        """
        parts: Floats = np.einsum("zu,zuk->zk", self.hidden_given_visible, self._played() * self.means)
        return parts

    @property
    def gap_low(self) -> Floats:
        """Least gap between the best and the second-best arm over all hidden contexts, for each visible context.

        In reward units; hidden contexts that never occur do not count.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]]).gap_low  # the lesser of 0.9 - 0.4 and 0.6 - 0.3
        array([0.3])
        """
        ordered = np.sort(self.means, axis=2)
        gaps: Floats = (ordered[..., -1] - ordered[..., -2]).min(axis=1, where=self.probabilities > 0.0, initial=np.inf)
        return gaps

    @property
    def gap_high(self) -> Floats:
        """Largest gap between the best and the worst arm over all hidden contexts, for each visible context.

        In reward units; hidden contexts that never occur do not count.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]]).gap_high  # the larger of 0.9 - 0.4 and 0.6 - 0.3
        array([0.5])
        """
        gaps: Floats = np.ptp(self.means, axis=2).max(axis=1, where=self.probabilities > 0.0, initial=0.0)
        return gaps

    def counts(self) -> Counts:
        """Return the counts of an infinite log of the expert: shares of all rows, which add up to 1.

        Give them to `meanbounds.logs.bounds` with ``infinite=True``.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], [[0.75, 0.25]]).counts().count
        array([[0.75, 0.25]])
        """
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
        if not is_whole(rows) or rows < 1:
            raise ValueError(f"a log needs at least one row, and a whole number of them; got rows={shown(rows)}")
        rows = int(rows)
        rng = np.random.default_rng(as_seed(seed))
        visible, hidden, _ = self.means.shape
        steps = np.cumsum(self.law, axis=3)[..., :-1].reshape(visible * hidden, -1, self.values.size - 1)
        best = self.best.ravel()
        for first in range(0, rows, _CHUNK):
            size = min(_CHUNK, rows - first)
            pair = rng.choice(visible * hidden, size=size, p=self.probabilities.ravel())
            draws, place = rng.random(size), np.empty(size, dtype=np.intp)
            order = np.argsort(pair, kind="stable")  # one search for all rows of a cell, however many values there are
            for own in np.split(order, np.flatnonzero(np.diff(pair[order])) + 1):
                cell = pair[own[0]]
                place[own] = np.searchsorted(steps[cell, best[cell]], draws[own], side="right")
            yield pair // hidden, best[pair], place

    def log(self, rows: int, seed: Seed = None) -> pd.DataFrame:
        """Draw the expert's log of this many rows, as a pandas data frame: context, arm, reward.

        Examples
        --------
        >>> import meanbounds as mb
        >>> world = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]], contexts=["old"], arms=["tPA", "watch"])
        >>> log = world.log(1000, seed=1)
        >>> log.columns.tolist()
        ['context', 'arm', 'reward']
        >>> mb.logs.read(log, context="context", arm="arm", reward="reward")
        Counts(1,000 rows, 1 context, 2 arms, rewards in [0.0, 1.0], 2 values)
        """
        with optional("worlds", "data frames"):
            import pandas as pd

        parts = [pd.DataFrame(self._columns(z, arm, place)) for z, arm, place in self._chunks(rows, seed)]
        return pd.concat(parts, ignore_index=True)

    def _columns(self, z: NDArray[np.intp], arm: NDArray[np.intp], place: NDArray[np.intp]) -> dict[str, Any]:
        names = np.array([str(c) if isinstance(c, tuple) else c for c in self.contexts])
        options = np.array(self.arms)
        return {"context": names[z], "arm": options[arm], "reward": self.values[place]}

    def write_log(self, path: str | Path, rows: int, *, seed: Seed = None) -> None:
        """Write the expert's log of this many rows to a file, a million rows at a time.

        A name that ends in ``.csv`` makes a CSV file, any other one a Parquet file. With the same seed it has the rows
        that `log` returns, and memory does not grow with their number.

        Examples
        --------
        >>> import tempfile, pathlib, meanbounds as mb
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.parquet"
        >>> mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]]).write_log(path, 1000, seed=1)
        >>> mb.logs.read(path, context="context", arm="arm", reward="reward").rows
        1000
        """
        with optional("worlds", "Parquet files"):
            import pyarrow as pa
            import pyarrow.csv
            import pyarrow.parquet as pq

        def write(partial: Path) -> None:
            make: Any = pyarrow.csv.CSVWriter if partial.suffix.lower() == ".csv" else pq.ParquetWriter
            with ExitStack() as stack:
                writer = None
                for z, arm, place in self._chunks(rows, seed):
                    table = pa.table(self._columns(z, arm, place))
                    writer = writer or stack.enter_context(make(partial, table.schema))
                    writer.write_table(table)

        write_atomically(path, write)

    def sample(self, rows: int, seed: Seed = None) -> Counts:
        """Draw the counts of a log without keeping the log: those of `log` with the same rows and seed.

        Examples
        --------
        >>> import meanbounds as mb
        >>> world = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]])
        >>> int(world.sample(1000, seed=1).count.sum())
        1000
        """
        histogram = np.zeros((len(self.contexts), len(self.arms), self.values.size))
        for z, arm, place in self._chunks(rows, seed):
            np.add.at(histogram, (z, arm, place), 1.0)
        return self._counted(histogram)

    def simulate(
        self,
        policies: AnyPolicy | Sequence[AnyPolicy] | Mapping[str, AnyPolicy],
        bounds: Mapping[Context, MeanBounds],
        *,
        horizon: int = 10_000,
        runs: int = 200,
        seed: Seed = None,
        **more: Any,
    ) -> dict[Context, Regret]:
        """Let agents learn in this world, in each visible context by itself, and measure their regret.

        Parameters
        ----------
        policies, horizon, runs, seed, more
            As for `meanbounds.simulate`: `horizon` rounds in each context.
        bounds
            Bounds by context that agents start from, such as `meanbounds.logs.bounds` returns. In a context without
            bounds they start from nothing.

        Returns
        -------
        dict
            A `meanbounds.Regret` for each context.

        Examples
        --------
        >>> import meanbounds as mb
        >>> world = mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]])
        >>> regret = world.simulate(mb.UCB(), {}, horizon=100, runs=2, seed=1)
        >>> list(regret)
        ['z0']
        >>> regret["z0"].final["UCB"].shape  # regret after 100 rounds in each of 2 runs
        (2,)
        """
        number = as_seed(seed)
        if not isinstance(bounds, Mapping):
            raise TypeError(f"bounds must be a mapping from contexts to MeanBounds; got {shown(bounds)}")
        found = {}
        for z, context in enumerate(self.contexts):
            own, known = np.random.default_rng([number, z]), bounds.get(context)
            found[context] = simulate(
                policies, self.environment(context), bounds=known, horizon=horizon, runs=runs, seed=own, **more
            )
        return found

    def _place(self, context: Context) -> int:
        try:
            return self.contexts.index(context)
        except (ValueError, TypeError):
            known = ", ".join(map(repr, self.contexts[:10])) + ", ..." * (len(self.contexts) > 10)
            raise ValueError(f"unknown context {shown(context)}; the contexts of this world are {known}") from None

    def environment(self, context: Context) -> Table:
        """Return the environment of an agent that sees this context: rewards of its hidden contexts, as they occur.

        Examples
        --------
        >>> import meanbounds as mb
        >>> mb.HiddenContexts([[[0.9, 0.4], [0.3, 0.6]]]).environment("z0").means
        array([0.6, 0.5])
        """
        z = self._place(context)
        weights = np.einsum("u,ukv->kv", self.hidden_given_visible[z], self.law[z])
        return Table([self.values] * len(self.arms), weights=list(weights), low=self.low, high=self.high)


def _reward_range(low: float, high: float) -> tuple[float, float]:
    least, most = as_float("low", low), as_float("high", high)
    if not fits_range(np.array(least), np.array(most)):
        raise ValueError(f"the range of the rewards must be finite, with low below high; got [{low}, {high}]")
    return least, most


def _listed(what: str, names: Any) -> tuple[Any, ...]:
    try:
        return tuple(names)
    except TypeError:
        raise ValueError(f"{what} must be a list of names; got {shown(names)}") from None
