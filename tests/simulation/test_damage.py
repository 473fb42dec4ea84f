"""Damaged files are noticed: saved results are refused, and blocks of an interrupted simulation are played again."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import meanbounds as mb
from meanbounds.simulation import Blocks
from meanbounds.support.locking import LOCK, FolderInUseError, locked

POLICIES = {"UCB": mb.UCB(), "GLUE": mb.GLUE()}
ENVIRONMENT = mb.Bernoulli([0.9, 0.8])
FLIPS = 200


def simulate(resume: Path | Blocks | None = None) -> mb.Regret:
    return mb.simulate(POLICIES, ENVIRONMENT, horizon=300, runs=20, seed=7, checkpoints=50, resume=resume)


def same(first: mb.Regret, second: mb.Regret) -> bool:
    """Whether two results agree in everything, to the last bit."""
    arrays = [
        {**{("curves", label): part for label, part in result.curves.items()}}
        | {("plays", label): part for label, part in result.plays.items()}
        | {(name, label): part for name, own in result.measures.items() for label, part in own.items()}
        for result in (first, second)
    ]
    if first.labels != second.labels or first.settings != second.settings or list(arrays[0]) != list(arrays[1]):
        return False
    return first.rounds.tolist() == second.rounds.tolist() and all(
        np.array_equal(part, arrays[1][key]) for key, part in arrays[0].items()
    )


def flipped(data: bytes, rng: random.Random) -> bytes:
    """The data with one bit flipped."""
    changed = bytearray(data)
    place = rng.randrange(8 * len(data))
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


def test_a_flipped_bit_in_a_saved_result_is_noticed_or_harmless(tmp_path: Path) -> None:
    path, regret, rng = tmp_path / "regret.parquet", simulate(), random.Random(1)
    regret.save(path)
    data, refusals = path.read_bytes(), []
    for _ in range(FLIPS):
        path.write_bytes(flipped(data, rng))
        try:
            found = mb.Regret.load(path)
        except ValueError as error:
            refusals.append(str(error))
        else:
            assert same(found, regret)
    assert len(refusals) > FLIPS / 2
    assert all(said.startswith(str(path)) and "\n" not in said for said in refusals)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 9, b"\x00" * 100, b"text"])
def test_junk_is_refused_with_the_name_of_the_file(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "regret.parquet"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"{re.escape(str(path))} is damaged .*; simulate again"):
        mb.Regret.load(path)


def test_results_of_older_versions_are_read(tmp_path: Path) -> None:
    """They have no checksum."""
    import json

    import pyarrow.parquet as pq

    path, regret = tmp_path / "regret.parquet", simulate()
    regret.save(path)
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[b"meanbounds"])
    del header["digest"]
    pq.write_table(table.replace_schema_metadata({"meanbounds": json.dumps(header)}), path)
    assert same(mb.Regret.load(path), regret)


def test_policies_with_and_without_features_are_saved_together(tmp_path: Path) -> None:
    """Only those with features have measures."""
    environment = mb.Linear([[1.0, 0.0], [0.6, 0.8]], theta=[0.5, 0.5])
    regret = mb.simulate([mb.UCB(), mb.OFUL()], environment, horizon=50, runs=3, seed=7)
    regret.save(tmp_path / "regret.parquet")
    assert same(mb.Regret.load(tmp_path / "regret.parquet"), regret)


class StoppedError(Exception):
    """An interruption."""


@contextmanager
def stopped() -> Iterator[None]:
    with pytest.raises(StoppedError):
        yield


def interrupted(folder: Path) -> list[Path]:
    """The blocks of a simulation that ended, but whose result could not be saved."""
    with stopped(), Blocks(folder) as blocks:
        simulate(blocks)
        raise StoppedError
    return Blocks.files(folder)


def test_blocks_stay_until_the_result_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "blocks"
    kept = interrupted(folder)
    assert len(kept) == 8
    assert sorted(folder.iterdir()) == kept  # the lock is gone
    monkeypatch.setattr(sys.modules["meanbounds.simulation.run"], "_play", None)  # nothing is left to play
    with Blocks(folder) as blocks:
        assert same(simulate(blocks), simulate(blocks))
    assert not folder.exists()


def test_blocks_have_to_be_opened(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="open the blocks first"):
        simulate(Blocks(tmp_path))


@pytest.mark.parametrize("damage", ["empty", "cut", "junk", "flipped", "other"])
def test_a_damaged_block_is_played_again(damage: str, tmp_path: Path) -> None:
    kept, rng = interrupted(tmp_path), random.Random(5)
    whole = kept[0].read_bytes()
    place = whole.index(b"curves.npy") + 200
    content = {
        "empty": b"",
        "cut": whole[: len(whole) // 2],
        "junk": rng.randbytes(500),
        "flipped": whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :],
        "other": kept[-1].read_bytes()[: len(whole) - 7],
    }[damage]
    kept[0].write_bytes(content)
    with pytest.warns(UserWarning, match=rf"{re.escape(kept[0].name)} is damaged .*; these runs are played again"):
        again = simulate(tmp_path)
    assert same(again, simulate())
    assert not tmp_path.exists()


@pytest.mark.filterwarnings("ignore:.*is damaged:UserWarning")
def test_a_flipped_bit_in_a_block_is_noticed_or_harmless(tmp_path: Path) -> None:
    whole, rng = simulate(), random.Random(3)
    contents = {path: path.read_bytes() for path in interrupted(tmp_path)}
    for _ in range(40):
        tmp_path.mkdir(exist_ok=True)
        for path, content in contents.items():
            path.write_bytes(flipped(content, rng))
        assert same(simulate(tmp_path), whole)


def test_files_that_a_killed_process_left_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".meanbounds-partial-0123456789abcdef.npz").write_bytes(b"half of it")
    (tmp_path / LOCK).write_bytes(b"")  # of a process that is gone
    simulate(tmp_path)
    assert not tmp_path.exists()


HOLD = """
import sys
from meanbounds.support.locking import locked
with locked(sys.argv[1]):
    print("locked", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(folder: Path) -> Iterator[None]:
    """Another process works in this folder."""
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        yield
        other.communicate("")


def test_two_processes_in_one_folder(tmp_path: Path) -> None:
    with (
        held_elsewhere(tmp_path),
        pytest.raises(FolderInUseError, match=rf"{re.escape(str(tmp_path))}: another .*, or give another folder"),
    ):
        simulate(tmp_path)
    assert same(simulate(tmp_path), simulate())  # free again


def test_a_lock_is_of_one_holder(tmp_path: Path) -> None:
    for _ in range(2):
        with locked(tmp_path / "new"):
            with pytest.raises(FolderInUseError), locked(tmp_path / "new"):
                pytest.fail("locked twice")
            with locked(tmp_path / "other"):
                pass
    assert not (tmp_path / "new").exists()  # nothing was written there
