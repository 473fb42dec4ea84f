"""The result of a simulation: the regret of each policy in every run."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from meanbounds.support.checks import as_floats, as_list, as_mapping, shown, unknown
from meanbounds.support.saving import write_atomically
from meanbounds.support.types import Floats, Integers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from meanbounds.bounds import MeanBounds

__all__ = ["ByLabel", "Difference", "Regret", "UnknownLabelError"]

_FORMAT = 1
_T = TypeVar("_T")


class UnknownLabelError(KeyError):
    """Raised for a label that no policy has; the message names the closest one. It is a `KeyError`."""

    def __str__(self) -> str:
        return str(self.args[0])


class ByLabel(dict[str, _T]):
    """A value for each policy, by its label.

    Examples
    --------
    >>> ByLabel({"GLUE": 1, "UCB": 2})["glue"]  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    meanbounds.simulation.regret.UnknownLabelError: unknown label 'glue', did you mean 'GLUE'? The labels are ...
    """

    def __missing__(self, label: object) -> _T:
        raise UnknownLabelError(unknown("label", label, list(self)))


class Difference(NamedTuple):
    """The mean difference of two policies' regret at each checkpoint, and its 95% confidence interval."""

    mean: Floats
    lower: Floats
    upper: Floats


class Regret:
    """Cumulative pseudo-regret of each policy in every run, at checkpoints.

    The pseudo-regret of a run up to round t is the sum over its rounds of the best mean minus the mean of the arm
    played. All values are indexed by the label of a policy: ``regret.curves["GLUE"]``, ``regret.mean["GLUE"]``. So
    ``pandas.DataFrame(regret.mean, index=regret.checkpoints)`` is a table of mean regret.

    Parameters
    ----------
    checkpoints
        The rounds, counted from 1, at which the regret is kept.
    curves
        For each label the regret in reward units, an array of shape (runs, checkpoints).
    plays
        For each label how often each arm was played in the whole run, an array of shape (runs, arms).
    settings
        Everything that determines the result, in values that JSON can hold: policies, environment, knowledge, seed.
    measures
        Other quantities, for each name and label an array of shape (runs, checkpoints). ``"considered"`` is the number
        of arms that a policy considered in a round, on average over the rounds up to the checkpoint.

    Examples
    --------
    >>> import meanbounds as mb
    >>> bounds = mb.MeanBounds([0.8, 0.1, 0.1], [0.95, 0.95, 0.7])
    >>> environment = mb.Bernoulli([0.9, 0.8, 0.5])
    >>> regret = mb.simulate([mb.UCB(), mb.GLUE()], environment, bounds, horizon=1000, runs=50, seed=7)
    >>> regret
    Regret(UCB, GLUE: 50 runs of 1,000 rounds)
    >>> regret.curves["GLUE"].shape, regret.plays["GLUE"].shape, regret.final["GLUE"].shape
    ((50, 200), (50, 3), (50,))
    >>> print(regret.summary())
    label  mean  +- (95%)  median  95th pct.  best arm played
    ---------------------------------------------------------
    GLUE    0.8       0.9     0.0        4.1            99.2%
    UCB    26.2       2.0    25.5       38.9            80.9%
    """

    def __init__(
        self,
        checkpoints: ArrayLike,
        curves: Mapping[str, ArrayLike],
        plays: Mapping[str, ArrayLike],
        settings: Mapping[str, Any] | None = None,
        measures: Mapping[str, Mapping[str, ArrayLike]] | None = None,
    ) -> None:
        self.checkpoints: Integers = np.asarray(checkpoints, dtype=np.int64)
        self.curves = ByLabel({label: np.asarray(own, dtype=np.float64) for label, own in curves.items()})
        self.plays = ByLabel({label: np.asarray(own, dtype=np.int64) for label, own in plays.items()})
        self.settings: dict[str, Any] = dict(settings or {})
        self.measures = {
            name: ByLabel({label: np.asarray(own, dtype=np.float64) for label, own in part.items()})
            for name, part in (measures or {}).items()
        }
        rounds = self.checkpoints
        if rounds.ndim != 1 or not rounds.size or rounds[0] < 1 or (np.diff(rounds) <= 0).any():
            raise ValueError(f"checkpoints must be rounds in ascending order, from 1 on; got {shown(checkpoints)}")
        if not self.curves or set(self.plays) != set(self.curves):
            raise ValueError(f"curves are labelled {list(self.curves)}, and plays {list(self.plays)}; give the same")
        for name, part in (("curves", self.curves), *self.measures.items()):
            for label, own in part.items():
                if own.shape != (len(self.plays[label]), rounds.size) or not own.size:
                    raise ValueError(
                        f"{name}[{label!r}] must have the shape (runs, checkpoints); got {own.shape} for "
                        f"{len(self.plays[label])} runs and {rounds.size} checkpoints"
                    )

    def __repr__(self) -> str:
        runs = " or ".join(f"{n:,}" for n in sorted({len(curve) for curve in self.curves.values()}))
        return f"Regret({', '.join(self.labels)}: {runs} runs of {self.checkpoints[-1]:,} rounds)"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the policies, in the order they were given."""
        return tuple(self.curves)

    @property
    def seed(self) -> int:
        """The number to pass as ``seed`` to get the same result again, also if None was passed."""
        if "seed" not in self.settings:
            raise ValueError("there is no single seed; settings['parts'] has that of each simulation")
        return int(self.settings["seed"])

    def _each(self, compute: Callable[[Floats], _T]) -> ByLabel[_T]:
        return ByLabel({label: compute(curve) for label, curve in self.curves.items()})

    @property
    def final(self) -> ByLabel[Floats]:
        """For each label the regret of every run at the last checkpoint."""
        return self._each(lambda curve: curve[:, -1])

    @cached_property
    def mean(self) -> ByLabel[Floats]:
        """For each label the mean regret over the runs at each checkpoint."""
        return self._each(lambda curve: curve.mean(axis=0))

    @cached_property
    def deviation(self) -> ByLabel[Floats]:
        """For each label the standard deviation of the regret over the runs; NaN for a single run."""
        return self._each(_deviation)

    @cached_property
    def interval(self) -> ByLabel[tuple[Floats, Floats]]:
        """For each label both ends of the 95% confidence interval of the mean regret (Student's t)."""
        return self._each(_interval)

    def quantiles(self, levels: ArrayLike = (0.05, 0.5, 0.95)) -> ByLabel[Floats]:
        """For each label the quantiles of the regret over the runs, an array of shape (levels, checkpoints).

        Examples
        --------
        >>> import meanbounds as mb
        >>> regret = mb.simulate(mb.UCB(), mb.Bernoulli([0.9, 0.8]), horizon=100, runs=10, seed=7)
        >>> regret.quantiles([0.1, 0.9])["UCB"].shape
        (2, 100)
        """
        chances = as_floats("levels", levels)
        if chances.ndim != 1 or not np.all((chances >= 0.0) & (chances <= 1.0)):
            raise ValueError(f"levels must be a list of probabilities, from 0 to 1; got {shown(levels)}")
        return self._each(lambda curve: np.quantile(curve, chances, axis=0))

    def difference(self, one: str, other: str) -> Difference:
        """How much more regret one policy has than the other, run by run, with a 95% confidence interval.

        Runs are paired: the n-th pull of an arm pays the same under both. So the interval is often much narrower than
        those of the two means.

        Examples
        --------
        >>> import meanbounds as mb
        >>> policies = [mb.UCB(), mb.BUCB()]
        >>> bounds = mb.MeanBounds([0.8, 0.1], [0.95, 0.85])
        >>> regret = mb.simulate(policies, mb.Bernoulli([0.9, 0.8]), bounds, horizon=1000, runs=50, seed=7)
        >>> difference = regret.difference("UCB", "BUCB")
        >>> bool(0 < difference.lower[-1] < difference.mean[-1] < difference.upper[-1])
        True
        """
        first, second = self.curves[one], self.curves[other]
        if len(first) != len(second) or ("parts" in self.settings and "seed" not in self.settings):
            raise ValueError(
                f"the runs of {one} and {other} are not paired: simulate both with one seed and as many runs"
            )
        lower, upper = _interval(first - second)
        return Difference((first - second).mean(axis=0), lower, upper)

    def select(self, labels: Iterable[str] | Mapping[str, str]) -> Regret:
        """The result of some of the policies, in the order given; a mapping from labels to new ones also renames them.

        Examples
        --------
        >>> import meanbounds as mb
        >>> regret = mb.simulate([mb.UCB(), mb.GLUE()], mb.Bernoulli([0.9, 0.8]), horizon=100, runs=10, seed=7)
        >>> regret.select(["GLUE"]), regret.select({"GLUE": "GLUE, from nothing"})
        (Regret(GLUE: 10 runs of 100 rounds), Regret(GLUE, from nothing: 10 runs of 100 rounds))
        """
        new = dict(labels) if isinstance(labels, Mapping) else {label: label for label in as_list("labels", labels)}
        if not new or len(set(new.values())) < len(new):
            raise ValueError(f"give at least one label, and no two policies the same; got {shown(new)}")

        def chosen(part: Mapping[str, _T]) -> dict[str, _T]:
            return {name: part[label] for label, name in new.items() if label in part}

        curves, plays = ({name: part[label] for label, name in new.items()} for part in (self.curves, self.plays))
        settings = {name: chosen(own) if name == "policies" else own for name, own in self.settings.items()}
        return Regret(self.checkpoints, curves, plays, settings, {k: chosen(own) for k, own in self.measures.items()})

    def beside(self, *others: Regret) -> Regret:
        """Put results of simulations in the same environment together; they have the same checkpoints.

        Settings that all share are kept; those of each simulation are in ``settings["parts"]``.

        Examples
        --------
        >>> import meanbounds as mb
        >>> environment = mb.Bernoulli([0.9, 0.8])
        >>> plain = mb.simulate(mb.UCB(), environment, horizon=100, runs=10, seed=7)
        >>> bounds = mb.MeanBounds([0.8, 0.7], [1.0, 0.9])
        >>> plain.beside(mb.simulate(mb.GLUE(), environment, bounds, horizon=100, runs=10, seed=7))
        Regret(UCB, GLUE: 10 runs of 100 rounds)
        """
        parts = [self, *others]
        for part in others:
            if not isinstance(part, Regret):
                raise TypeError(f"give results of mb.simulate; got {shown(part)}")
            if not np.array_equal(part.checkpoints, self.checkpoints):
                raise ValueError("the results have other checkpoints; simulate with the same horizon and checkpoints")
            if part.settings.get("environment") != self.settings.get("environment"):
                raise ValueError("the results are of different environments, so their regret cannot be compared")
        for label in _merged(part.curves for part in parts):
            if sum(label in part.labels for part in parts) > 1:
                raise ValueError(f"two results have {label!r}; rename one: .select({{{label!r}: 'another label'}})")
        shared = {k: own for k, own in self.settings.items() if all(part.settings.get(k) == own for part in parts)}
        policies = _merged(part.settings.get("policies", {}) for part in parts)
        return Regret(
            self.checkpoints,
            _merged(part.curves for part in parts),
            _merged(part.plays for part in parts),
            {**shared, "policies": policies, "parts": [part.settings for part in parts]},
            {k: _merged(part.measures.get(k, {}) for part in parts) for k in _merged(part.measures for part in parts)},
        )

    def summary(self) -> str:
        """A table of the regret at the last checkpoint as text, the best policy first; `Regret` shows one."""
        rows: list[tuple[str, ...]] = [("label", "mean", "+- (95%)", "median", "95th pct.", "best arm played")]
        for label in sorted(self.labels, key=lambda label: float(self.mean[label][-1])):
            final, share = self.final[label], self._best_share(label)
            half = self.interval[label][1][-1] - final.mean()
            numbers = (final.mean(), half, np.median(final), np.quantile(final, 0.95))
            rows.append((label, *("-" if np.isnan(x) else f"{x:,.1f}" for x in numbers), share))
        if all(row[-1] == "-" for row in rows[1:]):
            rows = [row[:-1] for row in rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        form = "  ".join(f"{{:{'>' if k else '<'}{width}}}" for k, width in enumerate(widths))
        lines = [form.format(*row) for row in rows]
        return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])

    def _best_share(self, label: str) -> str:
        """In which share of the rounds a best arm was played, as text; unknown where arms or means change."""
        environment = self.settings.get("environment", {})
        means, plays = np.asarray(environment.get("means", ())), self.plays[label]
        if means.shape != plays.shape[1:] or environment.get("offered") is not None or "stages" in environment:
            return "-"
        return f"{plays[:, means == means.max()].sum() / max(plays.sum(), 1):.1%}"

    def save(self, path: str | Path) -> None:
        """Write everything to one compressed file, for `load`; an interrupted write leaves the old file as it was.

        Examples
        --------
        >>> import tempfile
        >>> import meanbounds as mb
        >>> regret = mb.simulate([mb.UCB(), mb.GLUE()], mb.Bernoulli([0.9, 0.8]), horizon=100, runs=10, seed=7)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     regret.save(Path(folder) / "regret.npz")
        ...     mb.Regret.load(Path(folder) / "regret.npz")
        Regret(UCB, GLUE: 10 runs of 100 rounds)
        """
        parts: dict[str, ByLabel[Any]] = {f"of {name}": part for name, part in self.measures.items()}
        parts |= {"curves": self.curves, "plays": self.plays}
        labels = {name: [*part] for name, part in parts.items()}
        header = json.dumps({"format": _FORMAT, "settings": self.settings, "labels": labels})
        arrays = {f"{name} {k}": own for name, part in parts.items() for k, own in enumerate(part.values())}

        def write(partial: Path) -> None:
            with partial.open("wb") as file:
                np.savez_compressed(file, header=np.array(header), checkpoints=self.checkpoints, **arrays)

        write_atomically(path, write)

    @classmethod
    def load(cls, path: str | Path) -> Regret:
        """Read a result from a file that `save` wrote; a damaged file is refused."""
        content = io.BytesIO(Path(path).read_bytes())
        try:
            with np.load(content, allow_pickle=False) as data:
                header = as_mapping("the header", json.loads(str(data["header"])))
                if header["format"] != _FORMAT:
                    raise ValueError(f"its format is {header['format']}, and this version reads {_FORMAT}")
                parts = {
                    name: {label: data[f"{name} {k}"] for k, label in enumerate(labels)}
                    for name, labels in header["labels"].items()
                }
                curves, plays = parts.pop("curves"), parts.pop("plays")
                measures = {name.removeprefix("of "): part for name, part in parts.items()}
                return cls(data["checkpoints"], curves, plays, header["settings"], measures)
        except Exception as error:  # a damaged archive fails in many ways
            raise ValueError(f"{path} holds no saved Regret, or is damaged: {error}") from None

    def plot(
        self,
        path: str | Path | None = None,
        *,
        log: str = "",
        band: str | None = "interval",
        bounds: MeanBounds | None = None,
        title: str | None = None,
        measure: str | None = None,
    ) -> Figure:
        """Draw the mean regret of each policy against rounds, with its label at the end of the line.

        Parameters
        ----------
        path
            A file to write the picture to, such as ``"regret.png"``; none by default.
        log
            Which scales are logarithmic: ``"x"``, ``"y"``, ``"xy"`` or neither.
        band
            What the shading is: ``"interval"``, the 95% confidence interval of the mean, ``"deviation"``, one standard
            deviation of the regret to either side, or None for no shading. The caption says it.
        bounds
            Bounds to draw above, together with the true means.
        title
            A title above the picture.
        measure
            One of `measures` to draw in place of the regret.

        Examples
        --------
        >>> import meanbounds as mb
        >>> regret = mb.simulate([mb.UCB(), mb.GLUE()], mb.Bernoulli([0.9, 0.8]), horizon=100, runs=10, seed=7)
        >>> figure = regret.plot(log="x")
        >>> figure.axes[0].get_ylabel()
        'regret'
        """
        from meanbounds.simulation.plots import plot_regret

        return plot_regret(self, path, log=log, band=band, bounds=bounds, title=title, measure=measure)


def _merged(parts: Iterable[Mapping[str, _T]]) -> dict[str, _T]:
    return {label: own for part in parts for label, own in part.items()}


def _deviation(curve: Floats) -> Floats:
    """Standard deviation over the runs at each checkpoint; NaN for a single run."""
    return curve.std(axis=0, ddof=1) if len(curve) > 1 else np.full(curve.shape[1], np.nan)


def _interval(curve: Floats) -> tuple[Floats, Floats]:
    """The 95% confidence interval of the mean over the runs at each checkpoint."""
    half = special.stdtrit(max(len(curve) - 1, 1), 0.975) * _deviation(curve) / np.sqrt(len(curve))
    return curve.mean(axis=0) - half, curve.mean(axis=0) + half
