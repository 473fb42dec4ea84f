"""A disk that is full, or can only be read: refused with the reason, nothing half-written, and it works again."""

import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import meanbounds as mb
from meanbounds.service import writer
from meanbounds.service.refusals import StoreError
from meanbounds.service.verify import verify
from tests.service.crashing import BOUNDS


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[tuple[Path, bool]]:
    """A file system of four megabytes, and True; where none can be mounted, a folder and False."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "meanbounds", str(folder)]
    mounted = (
        shutil.which("mount") is not None and not subprocess.run(mount, check=False, capture_output=True).returncode
    )
    yield folder, mounted
    if mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def without_room(folder: Path, left: int, mounted: bool) -> Iterator[None]:
    """Fill the file system but for so many bytes; where there is none of our own, limit the size of files."""
    if not mounted:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = max((path.stat().st_size for path in folder.glob("*-wal")), default=0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + left, hard))
        yield
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        return
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    with filler.open("rb+") as file:
        file.truncate(max(0, filler.stat().st_size - left))
    yield
    filler.unlink()


def until_refused(decide: Callable[[str], None], name: object) -> StoreError:
    """Decide until that is refused."""
    try:
        for number in range(2_000):
            decide(f"{name} {number}")
    except StoreError as error:
        return error
    raise AssertionError("the disk was never full")


def make(folder: Path) -> mb.Store:
    return mb.Store.create(folder / "clinic.db", "demo", mb.Agent(mb.GLUE(), {"c0": BOUNDS}, seed=7))


def test_a_disk_that_is_full_again_and_again(small_disk: tuple[Path, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing fails at another place each time: in the log of SQLite, while it is copied, or at the first page."""
    monkeypatch.setattr(writer, "_PAUSE", 0.0)
    folder, mounted = small_disk
    store, answers = make(folder), dict[str, object]()

    def decide(id: str) -> None:
        answers[id] = store["demo"].decide(id, "c0").arm

    for left in range(0, 65_536, 12_288):
        with without_room(folder, left, mounted):
            refused = until_refused(decide, left)
            assert refused.kind == "full" or not mounted
            assert mounted <= ("make room on the disk" in str(refused))
            with pytest.raises(StoreError):
                decide("another")
        decide(f"{left} again")
    agent = store["demo"].agent
    assert isinstance(agent, mb.Agent)
    assert agent.pending().sum() == len(answers)
    assert {id: store["demo"].decide(id, "c0").arm for id in answers} == answers
    assert verify(store.database) == []
    store.close()
    with mb.Store(folder / "clinic.db") as again:
        assert again["demo"].agent.to_dict() == agent.to_dict()


def test_start_and_stop_while_the_disk_is_full(small_disk: tuple[Path, bool]) -> None:
    folder, mounted = small_disk
    if not mounted:
        pytest.skip("this needs a file system of its own: run as root")
    store = make(folder)
    store["demo"].decide("first", "c0")
    with without_room(folder, 0, mounted):
        store.close()
        with suppress(StoreError), mb.Store(folder / "clinic.db") as full:  # whatever SQLite can do without room
            full["demo"].decide("second", "c0")
        with pytest.raises(StoreError, match="make room") as refused:
            mb.Store(folder / "new.db", create=True)
        assert refused.value.kind == "full"
    with mb.Store(folder / "new.db", create=True) as new:  # nothing stands in its way
        assert len(new) == 0
    with mb.Store(folder / "clinic.db") as again:
        assert again["demo"].decide("first", "c0").repeated
        assert verify(again.database) == []


def test_a_file_that_can_only_be_read(small_disk: tuple[Path, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_PAUSE", 0.0)
    folder, mounted = small_disk
    if not mounted:
        pytest.skip("this needs a file system of its own: run as root")
    with make(folder) as store:
        store["demo"].decide("first", "c0")
    remount = ["mount", "-o", "remount,{}", str(folder)]
    subprocess.run([part.format("ro") for part in remount], check=True)
    with pytest.raises(StoreError, match="check the disk, the folder and the permissions") as refused:
        mb.Store(folder / "clinic.db")
    assert refused.value.kind == "failed"
    subprocess.run([part.format("rw") for part in remount], check=True)
    with mb.Store(folder / "clinic.db") as store:
        assert store["demo"].decide("first", "c0").repeated
