"""Finished blocks of runs, kept in a folder so that an interrupted simulation can continue."""

from __future__ import annotations

import hashlib
import io
import json
import re
import warnings
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from meanbounds.policies import AnyPolicy
from meanbounds.simulation.tasks import Played, Task
from meanbounds.support.locking import locked
from meanbounds.support.types import Floats, Integers
from meanbounds.support.writing import remove_partial_files, write_atomically

__all__ = ["Block", "Blocks", "Finished", "Store"]

_NAME = re.compile(r"[0-9a-f]{16}-\d+-\d+\.npz")


class Block(NamedTuple):
    """A block of runs of one policy, with everything needed to play them anywhere."""

    label: str
    first_run: int
    runs: int
    task: Task


class Finished(NamedTuple):
    """The result of a block."""

    label: str
    first_run: int
    played: Played


class Blocks:
    """A folder of finished blocks that outlives `meanbounds.simulate`, until you have saved its result.

    Use it as a context manager. Where the ``with`` block ends without an error, the blocks of the simulations inside
    are removed; where it ends with one, or the process is killed, they stay, and the same simulation with the same
    folder plays only what is missing.

    Parameters
    ----------
    folder
        Where to keep the blocks. One process at a time can use it; another one gets a
        `meanbounds.support.locking.FolderInUseError`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import meanbounds as mb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with mb.simulation.Blocks(Path(folder) / "blocks") as blocks:
    ...         regret = mb.simulate(mb.UCB(), mb.Bernoulli([0.9, 0.8]), horizon=100, runs=10, seed=7, resume=blocks)
    ...         regret.save(Path(folder) / "regret.parquet")
    ...     [path.name for path in Path(folder).iterdir()]
    ['regret.parquet']
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.is_open = False
        self._used: list[Path] = []
        self._lock = ExitStack()

    def __enter__(self) -> Self:
        self._lock.enter_context(locked(self.folder))
        self.is_open = True
        remove_partial_files(self.folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.is_open = False
        with self._lock:
            if kind is None:
                for path in self._used:
                    path.unlink(missing_ok=True)
        with suppress(OSError):  # there is more in it, or the next process uses it already
            self.folder.rmdir()

    @staticmethod
    def files(folder: Path) -> list[Path]:
        """The files in a folder that have the name of a block."""
        return [path for path in sorted(folder.glob("*.npz")) if _NAME.fullmatch(path.name)]

    def path(self, name: str) -> Path:
        """The file of a block, which is removed at the end."""
        self._used.append(self.folder / name)
        return self._used[-1]


class Store:
    """The blocks of one simulation; a file's name is a hash of everything that its content depends on."""

    def __init__(self, blocks: Blocks, settings: Mapping[str, Any], named: Mapping[str, AnyPolicy]) -> None:
        if not blocks.is_open:
            raise ValueError("open the blocks first: with meanbounds.simulation.Blocks(folder) as blocks: ...")
        self._blocks = blocks
        self._study = {**settings, "runs": None}
        self._arms, self._checkpoints = len(settings["environment"]["means"]), len(settings["rounds"])
        for policy in named.values():
            policy.to_dict()  # raises if the policy holds a function, which a hash cannot identify

    def _path(self, label: str, first_run: int, runs: int) -> Path:
        study = {**self._study, "policies": self._study["policies"][label]}
        digest = hashlib.sha256(json.dumps(study, sort_keys=True).encode()).hexdigest()
        return self._blocks.path(f"{digest[:16]}-{first_run}-{runs}.npz")

    def find(self, block: Block) -> Finished | None:
        """The block as an earlier attempt left it; None if it did not, or if the file is damaged."""
        path = self._path(block.label, block.first_run, block.runs)
        if not path.exists():
            return None
        try:
            played = self._read(path, block.runs)
        except Exception as error:
            # A damaged file fails in many ways, depending on the byte: zip, zlib, numpy and ast raise errors of theirs.
            warnings.warn(f"{path} is damaged ({_short(error)}); these runs are played again", stacklevel=2)
            path.unlink()
            return None
        return Finished(block.label, block.first_run, played)

    def _read(self, path: Path, runs: int) -> Played:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
        if str(found.pop("digest")) != _digest(found):
            raise ValueError("its content does not fit its checksum")
        curves, plays = found.pop("curves"), found.pop("plays")
        if curves.shape != (runs, self._checkpoints) or plays.shape != (runs, self._arms):
            raise ValueError("its arrays have the wrong shape")
        return Played(curves, plays, found)

    def keep(self, finished: Finished) -> None:
        """Write the block to its file."""
        played = finished.played
        path = self._path(finished.label, finished.first_run, len(played.curves))
        arrays: dict[str, Any] = {"curves": played.curves, "plays": played.plays, **played.measures}
        digest = np.array(_digest(arrays))
        write_atomically(path, lambda partial: np.savez(partial, digest=digest, **arrays))


def _digest(arrays: Mapping[str, Floats | Integers]) -> str:
    """Checksum of arrays: their names, types, shapes and bytes."""
    found = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def _short(error: Exception) -> str:
    """An error in one short line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:100]
