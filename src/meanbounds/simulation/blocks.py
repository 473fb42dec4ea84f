"""Play blocks of runs: in this process or on a joblib backend, and keep finished ones so that others can go on."""

from __future__ import annotations

import inspect
import os
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path

import numpy as np

from meanbounds.simulation.players import Play, Played, Task
from meanbounds.support.optional import import_optional
from meanbounds.support.progress import Progress
from meanbounds.support.saving import write_atomically
from meanbounds.support.version import __version__

__all__ = ["Block", "finished"]


@dataclass(frozen=True)
class Block:
    """Some runs of a task, and how to play them."""

    play: Play
    task: Task
    first: int
    runs: int

    def played(self) -> Played:
        """Play the runs."""
        return self.play(self.task, self.first, self.runs, lambda _: None)


def finished(
    blocks: list[Block], resume: str | Path | None, backend: str | None, workers: int | None, progress: Progress
) -> Iterator[tuple[Block, Played]]:
    """Play all blocks, and yield each with its result as it is finished; those in the folder are read from there."""
    folder = None if resume is None else Path(resume)
    todo = []
    for block in blocks:
        known = None if folder is None else _read(folder, block)
        if known is None:
            todo.append(block)
        else:
            progress.advance(block.runs * block.task.horizon)
            yield block, known
    for block, played in _played(todo, backend, workers, progress):
        if folder is not None:
            _keep(folder, block, played)
        yield block, played


def _played(
    blocks: list[Block], backend: str | None, workers: int | None, progress: Progress
) -> Iterator[tuple[Block, Played]]:
    if backend is not None:
        joblib = import_optional("joblib", "clusters", "simulations on a joblib backend")
        with joblib.parallel_config(backend=backend, n_jobs=-1 if workers is None else workers):
            results = joblib.Parallel(return_as="list")(joblib.delayed(Block.played)(block) for block in blocks)
        yield from zip(blocks, results, strict=True)
        return
    compiled = [block for block in blocks if getattr(block.play, "releases_lock", False)]
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as threads:
        futures = {threads.submit(block.played): block for block in compiled}
        try:
            for future in as_completed(futures):
                block = futures[future]
                progress.advance(block.runs * block.task.horizon, block.task.label)
                yield block, future.result()
        finally:
            for future in futures:
                future.cancel()
    for block in blocks:
        if block not in compiled:
            yield (
                block,
                block.play(block.task, block.first, block.runs, partial(progress.advance, what=block.task.label)),
            )


def _path(folder: Path, block: Block) -> Path:
    """Where a block is kept: the name follows from all that its result depends on, classes of one's own included."""
    task = block.task
    try:
        told = pickle.dumps((__version__, _sources(task.player), _sources(task.environment)))
        told += pickle.dumps((task.player, task.environment, task.knowledge, task.seed, task.checkpoints.tolist()))
        told += pickle.dumps((task.delay, task.counts, task.considered, block.first, block.runs))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"{task.label}: resume= needs policies and environments that can be pickled; define their classes and "
            f"functions in a module ({error})"
        ) from None
    return folder / f"block-{blake2b(told, digest_size=16).hexdigest()}.npz"


def _sources(thing: object) -> list[str]:
    """The source of a class from outside the package and of its bases, as far as it can be had."""
    found = []
    for kind in type(thing).__mro__ if not inspect.isroutine(thing) else [thing]:
        if not kind.__module__.startswith(("meanbounds.", "builtins")):
            with suppress(OSError, TypeError):
                found.append(inspect.getsource(kind))
    return found


def _keep(folder: Path, block: Block, played: Played) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tables = {f"measure {name}": table for name, table in played.measures.items()}

    def write(path: Path) -> None:
        with path.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, curves=played.curves, plays=played.plays, **tables)

    write_atomically(_path(folder, block), write)


def _read(folder: Path, block: Block) -> Played | None:
    path = _path(folder, block)
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as saved:
        measures = {name.removeprefix("measure "): saved[name] for name in saved if name.startswith("measure ")}
        return Played(saved["curves"], saved["plays"], measures)
