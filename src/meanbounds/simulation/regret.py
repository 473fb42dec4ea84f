"""The result of a simulation: the regret of each policy in every run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from meanbounds.support.checks import LARGEST, as_float, as_floats, as_list, as_mapping, shown
from meanbounds.support.entries import Entries
from meanbounds.support.optional import import_optional, optional
from meanbounds.support.tables import text_table
from meanbounds.support.writing import write_atomically

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.axes import Axes

__all__ = ["Regret"]

_FORMAT = 2
_SLACK = 1e-9  # by which sums that were rounded may fall, relative to their size


@dataclass(frozen=True, eq=False)
class Regret:
    """Cumulative pseudo-regret of each policy in every run, at checkpoints.

    The pseudo-regret of a run up to round t is the sum over its rounds of the best mean minus the mean of the arm
    played.

    Attributes
    ----------
    rounds
        The checkpoints: rounds, counted from 1, at which the regret is kept.
    curves
        For each label an array, runs x checkpoints: the regret in reward units.
    plays
        For each label an array, runs x arms: how often each arm was played in the whole run.
    settings
        Everything that determines the result: policies, environment, bounds, horizon, runs, seed, versions.
    measures
        Further quantities, for each name and label an array, runs x checkpoints, cumulative. For linear policies:
        ``kept`` (number of arms on offer that could be best, summed over rounds), ``best`` (rounds in which a best arm
        was played), ``strain`` (largest distance of the parameter from its estimate, in radii of the confidence set:
        above 1 the set missed the parameter), ``contradictions`` (contradictions between bounds and data) and, with
        trust below 1, ``evidence`` (largest logarithm so far of the e-process against the bounds, see docs/linear.md).

    Examples
    --------
    >>> import meanbounds as mb
    >>> regret = mb.simulate({"GLUE": mb.GLUE()}, mb.Bernoulli([0.9, 0.8]), horizon=100, runs=10, seed=7)
    >>> regret.labels, regret.curves["GLUE"].shape, regret.plays["GLUE"].shape
    (('GLUE',), (10, 100), (10, 2))
    """

    rounds: NDArray[np.int64]
    curves: Mapping[str, NDArray[np.float64]]
    plays: Mapping[str, NDArray[np.int64]]
    settings: Mapping[str, Any] = field(repr=False)
    measures: Mapping[str, Mapping[str, NDArray[np.float64]]] = field(default_factory=dict, repr=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the policies, in the order they were given."""
        return tuple(self.curves)

    @property
    def seed(self) -> int:
        """The number to pass as ``seed`` to get the same result again, also if None was passed.

        Examples
        --------
        >>> import meanbounds as mb
        >>> environment = mb.Bernoulli([0.9, 0.8])
        >>> fresh = mb.simulate({"UCB": mb.UCB()}, environment, horizon=100, runs=5)
        >>> again = mb.simulate({"UCB": mb.UCB()}, environment, horizon=100, runs=5, seed=fresh.seed)
        >>> bool((again.curves["UCB"] == fresh.curves["UCB"]).all())
        True
        """
        if "seed" not in self.settings or "parts" in self.settings:
            raise ValueError("made from several simulations, see settings['parts'] for the seed of each")
        return int(self.settings["seed"])

    @classmethod
    def concat(cls, parts: Iterable[Regret]) -> Regret:
        """Put the runs of several simulations of the same policies together, for example on several draws of the arms.

        Settings that all share are kept; those of each simulation are under ``parts``. Runs stay paired.

        Parameters
        ----------
        parts
            Simulations with the same labels and checkpoints.

        Examples
        --------
        >>> import meanbounds as mb
        >>> draws = [[0.9, 0.8], [0.7, 0.4]]
        >>> parts = [mb.simulate({"UCB": mb.UCB()}, mb.Bernoulli(d), None, horizon=100, runs=10, seed=1) for d in draws]
        >>> mb.Regret.concat(parts).curves["UCB"].shape
        (20, 100)
        """
        several = _simulations(as_list("parts", parts))
        first = several[0]
        for part in several:
            if part.labels != first.labels or not np.array_equal(part.rounds, first.rounds):
                raise ValueError("runs can be pooled only if policies and checkpoints are the same in each simulation")
            if any(part.plays[label].shape[1] != first.plays[label].shape[1] for label in first.labels):
                raise ValueError("runs can be pooled only if the number of arms is the same in each simulation")
        measures: dict[str, dict[str, NDArray[np.float64]]] = {}
        for name in first.measures:
            in_all = [label for label in first.labels if all(label in part.measures.get(name, ()) for part in several)]
            if in_all:
                measures[name] = {
                    label: np.concatenate([part.measures[name][label] for part in several]) for label in in_all
                }
        return cls(
            first.rounds,
            {label: np.concatenate([part.curves[label] for part in several]) for label in first.labels},
            {label: np.concatenate([part.plays[label] for part in several]) for label in first.labels},
            {**_shared(several), "runs": sum(len(part.curves[first.labels[0]]) for part in several)},
            measures,
        )

    @classmethod
    def beside(cls, parts: Mapping[str, Regret]) -> Regret:
        """Put simulations of one policy each side by side, for example from different bounds, under these labels.

        Settings that all share are kept; those of each simulation are under ``parts``, by label. Runs are paired if the
        simulations had the same environment and seed.

        Parameters
        ----------
        parts
            For each label a simulation of a single policy, with the same checkpoints.

        Examples
        --------
        >>> import meanbounds as mb
        >>> known = {"wide": mb.MeanBounds([0.1, 0.1], [1.0, 1.0]), "narrow": mb.MeanBounds([0.8, 0.7], [1.0, 0.9])}
        >>> parts = {
        ...     name: mb.simulate(mb.GLUE(), mb.Bernoulli([0.9, 0.8]), bounds, horizon=100, runs=10, seed=1)
        ...     for name, bounds in known.items()
        ... }
        >>> mb.Regret.beside(parts).labels
        ('wide', 'narrow')
        """
        parts = as_mapping("parts", parts)
        rounds = _simulations(list(parts.values()))[0].rounds
        for label, part in parts.items():
            if not isinstance(label, str):
                raise ValueError(f"labels must be texts; got {shown(label)}")
            if len(part.labels) != 1 or not np.array_equal(part.rounds, rounds):
                raise ValueError(f"{label}: give simulations of one policy each, with the same checkpoints")
        measured = {name for part in parts.values() for name in part.measures}
        shared = _shared(list(parts.values()))
        shared.pop("policies", None)  # these have the old labels
        return cls(
            rounds,
            {label: part.curves[part.labels[0]] for label, part in parts.items()},
            {label: part.plays[part.labels[0]] for label, part in parts.items()},
            {**shared, "parts": {k: dict(v.settings) for k, v in parts.items()}},
            {
                name: {
                    label: part.measures[name][part.labels[0]]
                    for label, part in parts.items()
                    if part.labels[0] in part.measures.get(name, ())
                }
                for name in sorted(measured)
            },
        )

    @property
    def final(self) -> dict[str, NDArray[np.float64]]:
        """For each label, the regret of every run at the last round.

        Examples
        --------
        >>> import meanbounds as mb
        >>> regret = mb.simulate([mb.UCB(), mb.GLUE()], mb.Bernoulli([0.9, 0.8]), horizon=100, runs=10, seed=7)
        >>> {label: values.shape for label, values in regret.final.items()}
        {'UCB': (10,), 'GLUE': (10,)}
        """
        return {label: curve[:, -1] for label, curve in self.curves.items()}

    def select(self, labels: Iterable[str]) -> Regret:
        """The result of some of the policies only.

        Parameters
        ----------
        labels
            The policies to keep, in the order wanted.

        Examples
        --------
        >>> import meanbounds as mb
        >>> regret = mb.simulate([mb.UCB(), mb.GLUE()], mb.Bernoulli([0.9, 0.8]), horizon=100, runs=10, seed=7)
        >>> regret.select(["GLUE"]).labels
        ('GLUE',)
        """
        kept = tuple(as_list("labels", labels))
        self._check_labels(kept)
        curves = {label: self.curves[label] for label in kept}
        plays = {label: self.plays[label] for label in kept}
        measures = {
            name: {label: part[label] for label in kept if label in part} for name, part in self.measures.items()
        }
        return Regret(self.rounds, curves, plays, _settings_of(self.settings, kept), measures)

    def _check_labels(self, labels: Sequence[object]) -> None:
        """Refuse labels that no policy has."""
        unknown = [label for label in labels if not (isinstance(label, str) and label in self.curves)]
        if unknown or not labels:
            raise ValueError(f"no policy is labelled {', '.join(map(shown, unknown)) or 'so'}; there are {self.labels}")

    def _curve(self, label: str) -> NDArray[np.float64]:
        """The regret of one policy, runs x checkpoints."""
        self._check_labels([label])
        return self.curves[label]

    def mean(self, label: str) -> NDArray[np.float64]:
        """Mean regret over the runs at each checkpoint.

        Examples
        --------
        >>> import meanbounds as mb
        >>> regret = mb.simulate({"UCB": mb.UCB()}, mb.Bernoulli([1.0, 0.0]), horizon=4, runs=10, seed=7)
        >>> regret.mean("UCB")[1:]  # each arm is played once first: one of the two plays costs 1
        array([1., 1., 1.])
        """
        mean: NDArray[np.float64] = self._curve(label).mean(axis=0)
        return mean

    def deviation(self, label: str) -> NDArray[np.float64]:
        """Standard deviation of the regret over the runs at each checkpoint; NaN for a single run.

        Examples
        --------
        >>> import meanbounds as mb
        >>> regret = mb.simulate({"UCB": mb.UCB()}, mb.Bernoulli([1.0, 0.0]), horizon=4, runs=10, seed=7)
        >>> regret.deviation("UCB")[1:]  # every run plays each arm once in the first two rounds
        array([0., 0., 0.])
        """
        curve = self._curve(label)
        if len(curve) < 2:
            return np.full(curve.shape[1], np.nan)
        unit = max(1.0, float(curve.max()) / LARGEST)  # in which squares stay finite
        deviation: NDArray[np.float64] = (curve / unit).std(axis=0, ddof=1) * unit
        return deviation

    def quantiles(self, label: str, levels: Sequence[float] = (0.05, 0.5, 0.95)) -> NDArray[np.float64]:
        """Quantiles of the regret over the runs at each checkpoint: an array, levels x checkpoints.

        Parameters
        ----------
        label
            The policy.
        levels
            Probabilities: 0.5 is the median.

        Examples
        --------
        >>> import meanbounds as mb
        >>> regret = mb.simulate({"UCB": mb.UCB()}, mb.Bernoulli([0.9, 0.8]), horizon=100, runs=10, seed=7)
        >>> regret.quantiles("UCB", [0.1, 0.9]).shape
        (2, 100)
        """
        chances = as_floats("levels", levels)
        if chances.ndim > 1 or not np.all((chances >= 0.0) & (chances <= 1.0)):
            raise ValueError(f"levels must be a list of probabilities, from 0 to 1; got {shown(levels)}")
        return np.quantile(self._curve(label), chances, axis=0)

    def band(self, label: str, confidence: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Both ends of a confidence interval for the mean regret at each checkpoint, by the normal approximation.

        Parameters
        ----------
        label
            The policy.
        confidence
            Probability that the interval covers the mean, for each checkpoint by itself.

        Examples
        --------
        >>> import meanbounds as mb
        >>> regret = mb.simulate({"UCB": mb.UCB()}, mb.Bernoulli([0.9, 0.8]), horizon=100, runs=50, seed=7)
        >>> lower, upper = regret.band("UCB")
        >>> bool(lower[-1] < regret.final["UCB"].mean() < upper[-1])
        True
        """
        covered = as_float("confidence", confidence)
        if not 0.0 < covered < 1.0:
            raise ValueError(f"confidence must be a probability between 0 and 1; got {shown(confidence)}")
        reach = -NormalDist().inv_cdf((1.0 - covered) / 2.0)
        half = reach * self.deviation(label) / np.sqrt(len(self._curve(label)))
        return self.mean(label) - half, self.mean(label) + half

    def summary(self) -> str:
        """A text table of the final regret, with the best policy first.

        Examples
        --------
        >>> import meanbounds as mb
        >>> bounds = mb.MeanBounds([0.8, 0.1, 0.1], [0.95, 0.95, 0.7])
        >>> environment = mb.Bernoulli([0.9, 0.8, 0.5])
        >>> print(mb.simulate([mb.UCB(), mb.GLUE()], environment, bounds, horizon=1000, runs=50, seed=7).summary())
        policy  mean  +- (95%)  median  95th pct.  best arm played
        ----------------------------------------------------------
        GLUE     0.8       0.9     0.0        4.1            99.2%
        UCB     26.2       2.0    25.5       38.9            80.9%
        """
        header = ("policy", "mean", "+- (95%)", "median", "95th pct.", "best arm played")
        rows = []
        for label in sorted(self.labels, key=lambda name: float(self.final[name].mean())):
            final = self.final[label]
            half = self.band(label)[1][-1] - self.mean(label)[-1]
            numbers = (final.mean(), half, np.median(final), np.quantile(final, 0.95))
            rows.append(
                (
                    label,
                    *("-" if np.isnan(x) else f"{x:.1f}" for x in numbers),
                    "-" if np.isnan(share := self._best_share(label)) else f"{share:.1%}",
                )
            )
        return text_table(header, rows, align="lrrrrr")

    def _best_share(self, label: str) -> float:
        """Share of the rounds in which a best arm of those on offer was played."""
        if label in self.measures.get("best", {}):
            return float(self.measures["best"][label][:, -1].mean() / self.rounds[-1])
        if "environment" not in self.settings or "stages" in self.settings["environment"]:
            return float("nan")  # the best arm differs by run, or by round
        means, plays = np.asarray(self.settings["environment"]["means"]), self.plays[label]
        return float(plays[:, means == means.max()].sum() / plays.sum())

    def to_frame(self) -> pd.DataFrame:
        """The curves as a long pandas data frame, with columns policy, run, round and regret.

        Examples
        --------
        >>> import meanbounds as mb
        >>> regret = mb.simulate([mb.UCB(), mb.GLUE()], mb.Bernoulli([0.9, 0.8]), horizon=100, runs=10, seed=7)
        >>> regret.to_frame().shape, list(regret.to_frame().columns)
        ((2000, 4), ['policy', 'run', 'round', 'regret'])
        """
        with optional("frames", "data frames"):
            import pandas as pd

        runs = {label: len(curve) for label, curve in self.curves.items()}
        steps = len(self.rounds)
        return pd.DataFrame(
            {
                "policy": np.repeat(list(runs), [n * steps for n in runs.values()]),
                "run": np.concatenate([np.repeat(np.arange(n), steps) for n in runs.values()]),
                "round": np.concatenate([np.tile(self.rounds, n) for n in runs.values()]),
                "regret": np.concatenate([curve.ravel() for curve in self.curves.values()]),
            }
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        band: str | None = "confidence",
        log: bool | None = None,
        theory: str | None = None,
    ) -> Axes:
        """Draw mean regret against rounds: a line for each policy, with its name at the right end.

        Parameters
        ----------
        ax
            Axes of matplotlib to draw on; new ones by default.
        band
            The meaning of the shading: ``"confidence"`` (95% interval for the mean), ``"deviation"`` (one standard
            deviation), ``"quantiles"`` (5% to 95% of the runs) or None.
        log
            Whether rounds are on a logarithmic scale; by default only for ``theory="slopes"``.
        theory
            ``"bounds"`` adds each policy's finite-time bound as a dashed line (`meanbounds.theory.regret_bounds`);
            ``"slopes"`` adds how its regret grows in the long run, dotted (`meanbounds.theory.regret_slopes`). A line
            above the picture says for which policies no theorem applies, and why.

        Examples
        --------
        >>> import meanbounds as mb
        >>> regret = mb.simulate([mb.UCB(), mb.GLUE()], mb.Bernoulli([0.9, 0.8]), horizon=100, runs=10, seed=7)
        >>> ax = regret.plot(theory="bounds")
        >>> ax.get_yscale()  # the bounds are several times the observed regret
        'log'
        """
        from meanbounds.plots import plot_regret
        from meanbounds.theory import regret_bounds, regret_slopes

        if not (theory is None or (isinstance(theory, str) and theory in ("bounds", "slopes"))):
            raise ValueError(f"theory must be one of 'bounds', 'slopes' or None; got {shown(theory)}")
        return plot_regret(
            self,
            ax,
            band=band,
            log=log,
            bounds=regret_bounds(self) if theory == "bounds" else None,
            slopes=regret_slopes(self) if theory == "slopes" else None,
        )

    def save(self, path: str | Path) -> None:
        """Write the result to a Parquet file.

        The file has one row for each policy and run; settings, seed and versions are in its metadata, and a checksum of
        everything, which `load` compares. Pages have checksums of their own for other readers.

        Parameters
        ----------
        path
            The file to write; one that exists is replaced.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import meanbounds as mb
        >>> regret = mb.simulate({"UCB": mb.UCB()}, mb.Bernoulli([0.9, 0.8]), horizon=100, runs=10, seed=7)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     regret.save(Path(folder) / "regret.parquet")
        ...     mb.Regret.load(Path(folder) / "regret.parquet").seed
        7
        """
        with optional("frames", "Parquet files"):
            import pyarrow as pa
            import pyarrow.parquet as pq

        table = pa.table(
            {
                "policy": [label for label in self.labels for _ in self.curves[label]],
                "run": [run for label in self.labels for run in range(len(self.curves[label]))],
                "regret": _lists([self.curves[label] for label in self.labels]),
                "plays": _lists([self.plays[label] for label in self.labels]),
                **{name: self._rows(part) for name, part in self.measures.items()},
            }
        )
        header = {**self._header(), "labels": self.labels, "measures": list(self.measures), "digest": self._digest()}
        described = table.replace_schema_metadata({"meanbounds": json.dumps(header)})
        write_atomically(path, lambda partial: pq.write_table(described, partial, write_page_checksum=True))

    def _rows(self, part: Mapping[str, NDArray[np.float64]]) -> list[NDArray[np.float64] | None]:
        """The runs of a measure; None for those of policies that it does not exist for."""
        rows: list[NDArray[np.float64] | None] = []
        for label in self.labels:
            rows += list(part[label]) if label in part else [None] * len(self.curves[label])
        return rows

    def _header(self) -> dict[str, Any]:
        return {"format": _FORMAT, "rounds": self.rounds.tolist(), "settings": dict(self.settings)}

    def to_dict(self) -> dict[str, Any]:
        """Return everything in lists, texts and numbers that JSON can hold; `save` writes much smaller files.

        Examples
        --------
        >>> import meanbounds as mb
        >>> regret = mb.simulate(mb.UCB(), mb.Bernoulli([0.9, 0.8]), horizon=100, runs=2, seed=7, checkpoints=2)
        >>> mb.Regret.from_dict(regret.to_dict()).summary() == regret.summary()
        True
        """
        columns = {"curves": self.curves, "plays": self.plays}
        return {
            **self._header(),
            **{name: {label: rows.tolist() for label, rows in part.items()} for name, part in columns.items()},
            "measures": {
                name: {label: rows.tolist() for label, rows in part.items()} for name, part in self.measures.items()
            },
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Regret:
        """Return the result that `to_dict` described.

        Raises
        ------
        ValueError
            If an entry is missing or cannot be right: plays that do not add up to the rounds, regret that falls, ...

        Examples
        --------
        >>> import meanbounds as mb
        >>> saved = mb.simulate(mb.UCB(), mb.Bernoulli([0.9, 0.8]), horizon=9, runs=2, seed=7, checkpoints=1).to_dict()
        >>> saved["curves"]["UCB"] = [[0.4]]
        >>> mb.Regret.from_dict(saved)
        Traceback (most recent call last):
        ValueError: the saved plays cannot be read: UCB has shape (2, 2); expected (1, 2)
        """
        saved = Entries(data, "regret")
        found = data.get("format")
        if type(found) is not int or found != _FORMAT:
            raise ValueError(f"a result in format {shown(found)} cannot be read; this version reads {_FORMAT}")
        rounds = saved.wholes("rounds", len(saved.sequence("rounds")))
        curves = _tables(saved, "curves", rounds.size)
        runs = {label: len(curve) for label, curve in curves.items()}
        measures = Entries(saved.mapping("measures"), "measures")
        regret = cls(
            rounds=rounds,
            curves=curves,
            plays=_plays(saved, runs),
            settings={},
            measures={name: _tables(measures, name, rounds.size, runs) for name in saved.mapping("measures")},
        )
        _check_lawful(regret, saved)
        return replace(regret, settings=_read_settings(saved, regret.plays))

    @classmethod
    def load(cls, path: str | Path) -> Regret:
        """Read a result from a file that `save` wrote.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or by a version with another format.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import meanbounds as mb
        >>> regret = mb.simulate({"UCB": mb.UCB()}, mb.Bernoulli([0.9, 0.8]), horizon=100, runs=10, seed=7)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     regret.save(Path(folder) / "regret.parquet")
        ...     again = mb.Regret.load(Path(folder) / "regret.parquet")
        >>> bool((again.curves["UCB"] == regret.curves["UCB"]).all())
        True
        """
        import_optional("pyarrow.parquet", "frames", "Parquet files")
        data = Path(path).read_bytes()
        try:
            return cls._from_parquet(data)
        except NotWrittenHereError as error:
            raise ValueError(f"{path} {error}") from None
        except Exception as error:
            # A flipped bit fails in many ways: Arrow, JSON and numpy raise errors of theirs.
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:100]
            raise ValueError(f"{path} is damaged ({reason}); simulate again, or restore it from a copy") from error

    @classmethod
    def _from_parquet(cls, data: bytes) -> Regret:
        """The content of a file that `save` wrote."""
        with optional("frames", "Parquet files"):
            import pyarrow as pa
            import pyarrow.parquet as pq

        table = pq.read_table(pa.BufferReader(data), page_checksum_verification=True)
        raw = (table.schema.metadata or {}).get(b"meanbounds")
        if raw is None:
            raise NotWrittenHereError("was not written by Regret.save: it has no 'meanbounds' entry in its metadata")
        header = json.loads(raw)
        if header["format"] not in (1, _FORMAT):
            raise NotWrittenHereError(
                f"has format {header['format']}; this version of meanbounds reads 1 and {_FORMAT}"
            )
        short = header["settings"].get("names", {})  # version 0.1 labelled policies by all of their parameters
        names = table["policy"].to_pylist()

        def by_label(column: str) -> dict[str, Any]:
            rows: dict[str, list[Any]] = {label: [] for label in header["labels"]}
            for name, values in zip(names, table[column].to_pylist(), strict=True):
                if values is not None:
                    rows[str(name)].append(values)
            return {short.get(label, label): np.array(own) for label, own in rows.items() if own}

        found = cls(
            rounds=np.array(header["rounds"], dtype=np.int64),
            curves=by_label("regret"),
            plays=by_label("plays"),
            settings=_with_labels(header["settings"], short),
            measures={name: by_label(name) for name in header.get("measures", ())},
        )
        if "digest" in header and header["digest"] != found._digest():
            raise ValueError("its content does not fit its checksum")
        _check_lawful(found, Entries(header, "regret"))
        return found

    def _digest(self) -> str:
        """Checksum of labels, checkpoints, settings and all numbers."""
        header = {**self._header(), "labels": self.labels, "measures": list(self.measures)}
        plain = json.loads(json.dumps(header))  # as it is read again: keys are text, tuples are lists
        found = hashlib.blake2b(json.dumps(plain, sort_keys=True).encode(), digest_size=16)
        for name, part in {"curves": self.curves, "plays": self.plays, **self.measures}.items():
            kind = "<i8" if name == "plays" else "<f8"
            for label in self.labels:
                if label in part:
                    array = np.ascontiguousarray(part[label], dtype=kind)
                    found.update(f"{name} {label} {array.shape}\n".encode())
                    found.update(array.data)
        return found.hexdigest()


class NotWrittenHereError(ValueError):
    """Raised for a Parquet file that `Regret.save` of this version did not write."""


def _tables(
    saved: Entries, name: str, columns: int | None, runs: Mapping[str, int] | None = None
) -> dict[str, NDArray[np.float64]]:
    """An entry with a table of numbers for each label; with `runs`, those of these labels and numbers of rows.

    A table has as many columns as given, or as its own first row has.
    """
    own = Entries(saved.mapping(name), name)
    tables = {}
    for label in saved.mapping(name):
        if not isinstance(label, str) or (runs is not None and label not in runs):
            raise saved.fail(f"{name} has {shown(label)}, which is no label of a policy")
        rows = own.sequence(label)
        width = columns
        if width is None:
            width = len(rows[0]) if rows and isinstance(rows[0], list | tuple) else 1
        tables[label] = own.numbers(label, (len(rows) if runs is None else runs[label], width))
    return tables


def _plays(saved: Entries, runs: Mapping[str, int]) -> dict[str, NDArray[np.int64]]:
    """The entry with the plays of each arm: whole numbers, for the same labels and runs as the regret."""
    tables = _tables(saved, "plays", None, runs)
    for label, table in tables.items():
        if not ((table >= 0.0) & (table <= 2.0**53) & (table == np.floor(table))).all():
            raise saved.fail(f"the plays of {label} must be whole numbers, at least 0")
    return {label: table.astype(np.int64) for label, table in tables.items()}


def _check_lawful(regret: Regret, saved: Entries) -> None:
    """Refuse numbers that no simulation returns."""
    rounds = regret.rounds
    if not rounds.size or rounds[0] < 1 or (np.diff(rounds) <= 0).any():
        raise saved.fail(f"rounds must be increasing, from 1 on; got {shown(rounds.tolist())}")
    if not regret.curves or set(regret.plays) != set(regret.curves):
        raise saved.fail(f"regret is of {regret.labels}, plays are of {tuple(regret.plays)}")
    for label, curve in regret.curves.items():
        plays = regret.plays[label]
        if not len(plays) or curve.shape != (len(plays), rounds.size):
            raise saved.fail(f"{label} has shapes {curve.shape} and {plays.shape} for {rounds.size} checkpoints")
        if not (np.isfinite(curve).all() and curve.max() <= 2.0 * LARGEST * rounds[-1]):
            raise saved.fail(f"the regret of {label} is beyond any that so many rounds can have")
        before = np.pad(curve, ((0, 0), (1, 0)))[:, :-1]
        if (curve < before * (1.0 - _SLACK)).any():
            raise saved.fail(f"the regret of {label} falls from one checkpoint to the next, or is negative")
        if (plays < 0).any() or (plays.sum(axis=1) != rounds[-1]).any():
            raise saved.fail(f"the plays of {label} do not add up to {rounds[-1]} rounds in each run")


def _read_settings(saved: Entries, plays: Mapping[str, NDArray[np.int64]]) -> dict[str, Any]:
    """The entry with the settings, in the form that is relied on later."""
    settings = dict(saved.mapping("settings"))
    try:
        json.dumps(settings)
    except (TypeError, ValueError, RecursionError):
        raise saved.fail(f"settings must be values that JSON can hold; got {shown(settings)}") from None
    _check_settings(Entries(settings, "settings"), {label: table.shape[1] for label, table in plays.items()})
    return settings


def _check_settings(settings: Entries, arms: Mapping[str, int], *, renamed: bool = False) -> None:
    """Refuse settings in which something that is read later has another form, also in those of each part.

    Parameters
    ----------
    settings
        The settings of a simulation, or of several that were put together.
    arms
        The number of arms by label.
    renamed
        Whether its policies had other labels: `Regret.beside` gives them new ones.
    """
    many = next(iter(arms.values()))
    if "seed" in settings:
        settings.whole("seed", high=2**63 - 1)
    if "environment" in settings:
        Entries(settings.mapping("environment"), "environment").numbers("means", (many,))
    if "policies" in settings:
        Entries(settings.mapping("policies"), "policies").need(() if renamed else arms)
    if "parts" not in settings:
        return
    if isinstance(settings["parts"], Mapping):  # made by `beside`: labels name simulations
        parts = Entries(settings["parts"], "parts")
        parts.need(() if renamed else arms)
        for label in settings["parts"]:
            _check_settings(Entries(parts.mapping(label), "part"), {label: arms.get(label, many)}, renamed=True)
    else:
        for part in settings.sequence("parts"):
            _check_settings(Entries(part, "part"), arms, renamed=renamed)


def _simulations(parts: Sequence[Any]) -> Sequence[Regret]:
    """Refuse a list that is empty, or holds anything else than results of simulations."""
    if not parts:
        raise ValueError("give at least one simulation")
    for part in parts:
        if not isinstance(part, Regret):
            raise TypeError(f"each part must be the result of a simulation, a Regret; got {shown(part)}")
    return parts


def _lists(parts: Sequence[NDArray[Any]]) -> pa.ListArray[Any]:
    """The rows of all parts as a column of lists; the rows of each part are equally long."""
    with optional("frames", "Parquet files"):
        import pyarrow as pa

    lengths = np.concatenate([np.full(len(part), part.shape[1]) for part in parts])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return pa.ListArray.from_arrays(
        pa.array(starts, type=pa.int32()), pa.array(np.concatenate([part.ravel() for part in parts]))
    )


def _with_labels(settings: Mapping[str, Any], short: Mapping[str, str]) -> dict[str, Any]:
    """Settings in which policies have these labels."""
    kept = {name: value for name, value in settings.items() if name != "names"}
    if "policies" in kept:
        kept["policies"] = {short.get(label, label): policy for label, policy in kept["policies"].items()}
    return kept


def _settings_of(settings: Mapping[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    """Settings without the other policies, also in each of the simulations that were put together."""
    own, parts = dict(settings), settings.get("parts")
    if isinstance(parts, Mapping):  # made by `beside`: labels name simulations, not their policies
        own["parts"] = {label: parts[label] for label in labels}
        return own
    if parts is not None:
        own["parts"] = [_settings_of(part, labels) for part in parts]
    if "policies" in own:
        own["policies"] = {label: own["policies"][label] for label in labels}
    return own


def _shared(parts: Sequence[Regret]) -> dict[str, Any]:
    """The settings that all of these have in common, and each one's own settings under ``parts``."""
    first = parts[0].settings
    common = {name for name in first if all(part.settings.get(name) == first[name] for part in parts)}
    shared = {name: value for name, value in first.items() if name in common}
    return {**shared, "parts": [dict(part.settings) for part in parts]}
