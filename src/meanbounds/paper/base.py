"""The parts of every experiment: settings, results that are computed once and kept, pictures, claims with verdicts."""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

import meanbounds as mb
from meanbounds.paper.manifest import Manifest
from meanbounds.paper.verdicts import Verdict, under, verdict
from meanbounds.plots import SMALL
from meanbounds.policies import AnyPolicy
from meanbounds.simulation import Blocks
from meanbounds.simulation.environments import Environment
from meanbounds.support.writing import write_text_atomically
from meanbounds.theory.given import Form

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["PHONE", "Claim", "Experiment", "Work", "bound_claim", "expecting"]

PHONE: dict[Any, Any] = {"font.size": 10.0, "axes.titlesize": "medium", "legend.fontsize": SMALL}
"""Settings of matplotlib for pictures of the usual width, legible on a phone."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, the measurement beside it, and the verdict that follows from the numbers."""

    source: str  # where the paper says so: "Figure 2, caption"
    text: str  # what it says, in our words
    measured: str
    verdict: Verdict


class Experiment(Protocol):
    """The interface of each experiment, which is a module of this package. Its results depend on its settings alone."""

    TITLE: str
    SOURCE: str  # the figure or table of the paper
    ABOUT: str  # what is shown, and what was chosen where the paper is silent
    SETTINGS: Any  # frozen dataclass: everything that the numbers follow from
    QUICK: Any  # the same in seconds, with fewer runs

    def run(self, settings: Any, work: Work) -> Any:
        """Compute the numbers; `work` keeps each finished part, so that an interrupted run continues there."""

    def plot(self, results: Any) -> Mapping[str, Figure]:
        """Draw the pictures; each is saved under its name."""

    def claims(self, results: Any) -> Sequence[Claim]:
        """Judge the paper's claims by the numbers."""


def bound_claim(source: str, text: str, results: Sequence[mb.Regret]) -> Claim:
    """Judge whether simulated regret stays under the theorems' bounds at every checkpoint of every simulation.

    A bound on the expectation is compared with the mean over runs. A bound that may fail with some probability is
    compared with every run, and at most that share of the runs may exceed it. A bound that is above what any choice of
    arms could cost says nothing, and the claim mentions from which round on it is below. The claim holds if regret
    stays under the printed bounds and these are nowhere below the corrected ones.
    """
    corrected = _Held(results, "corrected")
    printed = _Held(results, "paper")
    proper = len(printed.bounds) == len(corrected.bounds) and all(map(under, corrected.bounds, printed.bounds))
    ratios = ", ".join(
        f"{label} {ratio:.2g} ("
        + (f"from round {corrected.first[label]:,.0f} on" if corrected.first[label] < np.inf else "nowhere")
        + ")"
        for label, ratio in corrected.nearest.items()
    )
    return Claim(
        source,
        text,
        "largest ratio of regret to the corrected bound over all checkpoints, and where that bound is below what any "
        f"choice of arms could cost: {ratios or 'none, since no theorem applies'}"
        + (f"; above it: {corrected.passed}" if corrected.passed else "")
        + ("" if proper else "; the printed bound is below what its proof gives, or does not apply"),
        verdict(proper and printed.fine, corrected.fine),
    )


class _Held:
    """Compare simulations with the bounds of one form, ``"corrected"`` or ``"paper"``."""

    def __init__(self, results: Sequence[mb.Regret], form: Form) -> None:
        self.nearest: dict[str, float] = {}
        self.first: dict[str, float] = {}  # round from which the theorem says something, the first in any simulation
        self.bounds: list[NDArray[np.float64]] = []
        missed: dict[str, list[bool]] = {}
        allowed: dict[str, float] = {}
        for regret in results:
            for label, guarantee in mb.theory.regret_bounds(regret, form=form).items():
                if guarantee.values is None:
                    continue
                self.bounds.append(guarantee.values)
                curves = regret.curves[label]
                curves = curves.mean(axis=0, keepdims=True) if guarantee.kind == "expectation" else curves
                missed.setdefault(label, []).extend(not under(curve, guarantee.values) for curve in curves)
                allowed[label] = guarantee.failure
                said = regret.rounds[guarantee.informative]
                self.first[label] = min(self.first.get(label, np.inf), float(said[0]) if said.size else np.inf)
                with np.errstate(divide="ignore"):  # a bound of 0, where a single arm is left
                    share = np.divide(curves, guarantee.values, out=np.zeros_like(curves), where=curves > 0.0)
                self.nearest[label] = max(self.nearest.get(label, 0.0), float(share.max()))
        above = sum(map(sum, missed.values()))
        self.passed = f"{above} of {sum(map(len, missed.values()))} curves" if above else ""
        self.fine = bool(missed) and all(sum(over) <= allowed[label] * len(over) for label, over in missed.items())


class Work:
    """A folder that keeps an experiment's results, so that an interrupted one continues where it stopped.

    Files that are written here are listed in manifest.json, with their checksums. Results that other settings or
    another version of the code have left there are deleted and computed again; files that are not in the list are the
    user's own, and stay. A result that no longer fits its checksum is computed again.

    Parameters
    ----------
    folder
        Where to keep them, as Parquet files.
    settings
        Frozen dataclass that all parts follow from; written down as settings.json.
    progress
        Show progress bars; by default on a terminal.
    """

    def __init__(self, folder: Path, settings: Any, progress: bool | None = None) -> None:
        self.folder, self.progress = folder, progress
        folder.mkdir(parents=True, exist_ok=True)
        self._manifest = Manifest(folder)
        stamp = {"settings": settings, "version": mb.__version__, "code": _code()}
        text = json.dumps(stamp, indent=2, default=_plain)
        record = folder / "settings.json"
        if not _holds(record, text):
            self._manifest.remove_all()
            write_text_atomically(record, text)

    def beside(self, name: str, settings: Any) -> Work:
        """Open the folder of work that several experiments share, next to this one."""
        return Work(self.folder.parent / name, settings, self.progress)

    def is_finished(self, name: str) -> bool:
        """Whether this file was written here, and is as it was written."""
        return self._manifest.is_intact(name)

    def write(self, name: str, write: Callable[[Path], object]) -> Path:
        """Write a file of this name into the folder, whole or not at all, and list it as written here."""
        return self._manifest.write(name, write)

    def path(self, part: str, suffix: str = ".parquet") -> Path:
        """Name the file in which a part is kept."""
        return self.folder / f"{part}{suffix}"

    def regret(
        self,
        part: str,
        policies: Mapping[str, AnyPolicy],
        environment: Environment,
        bounds: mb.MeanBounds | None,
        horizon: int,
        runs: int,
        seed: int,
        checkpoints: int = 200,
    ) -> mb.Regret:
        """Simulate, or read the result of an earlier run with the same settings."""
        path = self.path(part)
        if not self.is_finished(path.name):
            with Blocks(self._manifest.blocks()) as blocks:
                result = mb.simulate(
                    policies,
                    environment,
                    bounds,
                    horizon=horizon,
                    runs=runs,
                    seed=seed,
                    checkpoints=checkpoints,
                    resume=blocks,
                    progress=self.progress,
                )
                self.write(path.name, result.save)
        return mb.Regret.load(path)

    def frame(self, part: str, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
        """Make a table, or read the one of an earlier run with the same settings."""
        import pandas as pd

        path = self.path(part)
        if not self.is_finished(path.name):
            self.write(path.name, make().to_parquet)
        return pd.read_parquet(path)


@contextmanager
def expecting(message: str) -> Iterator[None]:
    """Silence warnings that contain this message, where the experiment measures and reports the same thing itself."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=f".*{re.escape(message)}", category=UserWarning)
        yield


def _holds(path: Path, text: str) -> bool:
    """Whether a file has exactly this content."""
    try:
        return path.read_bytes() == text.encode()
    except FileNotFoundError:
        return False


def _plain(value: Any) -> dict[Any, Any]:
    """Make dataclasses, and mappings other than dict, into dictionaries for JSON."""
    if isinstance(value, Mapping):
        return dict(value)
    return {entry.name: getattr(value, entry.name) for entry in fields(value)}


def _code() -> str:
    """Fingerprint of the package's source."""
    root = Path(mb.__file__).parent
    files = sorted(root.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
