"""Files are written whole or not at all."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import meanbounds as mb
from meanbounds.support.writing import write_atomically, write_text_atomically

SOURCE = Path(mb.__file__).parent


def fails_halfway(path: Path) -> None:
    path.write_text("half")
    raise OSError(28, "No space left on device", str(path))


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(OSError, match=rf"No space left on device: '{re.escape(str(path))}'"):
        write_atomically(path, fails_halfway)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    def interrupted(path: Path) -> None:
        path.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "a.json", interrupted)
    assert not list(tmp_path.iterdir())


def test_links_permissions_and_suffixes_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "secret.tar.gz", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o600)
    link.symlink_to(path)
    write_text_atomically(link, "new")
    assert path.read_text() == "new"
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    write_atomically(tmp_path / "a.png", lambda partial: partial.write_text(partial.suffix))
    assert (tmp_path / "a.png").read_text() == ".png"


def test_a_long_name(tmp_path: Path) -> None:
    write_text_atomically(tmp_path / ("x" * 250 + ".json"), "whole")
    assert (tmp_path / ("x" * 250 + ".json")).read_text() == "whole"


def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_text_atomically(path, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere" / "a.json", tmp_path):
        with pytest.raises(OSError, match=re.escape(str(path))) as error:
            write_text_atomically(path, "")
        assert "partial" not in str(error.value)


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from meanbounds.cli import main
import matplotlib.pyplot, pandas, pyarrow.parquet
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("bounds log.csv --arm arm --reward reward -o out.json", "out.json"),
        ("bounds log.csv --arm arm --reward reward --plot out.png", "out.png"),
        ("sensitivity log.csv --arm arm --reward reward --gap-low 0 0.1 -o out.csv", "out.csv"),
        ("sensitivity log.csv --arm arm --reward reward --gap-low 0 0.1 --plot out.png", "out.png"),
        ("lab -o . --rows 1000", "log.parquet"),
    ],
)
def test_a_full_disk_leaves_the_old_file(command: str, name: str, tmp_path: Path) -> None:
    """No file can grow beyond 100 bytes, as on a disk that is full."""
    (tmp_path / "log.csv").write_text("arm,reward\n" + "a,1\nb,0\n" * 50)
    (tmp_path / name).write_text("old")
    before = sorted(tmp_path.iterdir())
    code = [sys.executable, "-c", FULL, *command.split()]
    done = subprocess.run(code, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("meanbounds: ")
    assert done.stderr.count("\n") == 1
    assert (tmp_path / name).read_text() == "old"
    assert sorted(tmp_path.iterdir()) == before


WRITES = re.compile(
    r"([\w)]+)\.(?:write_text|write_bytes|open\(\"[wax])|\.(?:savefig|to_csv|to_parquet)\((\w+)"
    r"|np\.savez?\((\w+)|write_table\(\w+, (\w+)|ParquetWriter\((\w+)"
)


def test_every_file_is_written_atomically() -> None:
    """No module writes a file by itself: `write_atomically` calls the path that it gives to a writer ``partial``."""
    found, seen = {}, 0
    for path in SOURCE.rglob("*.py"):
        code = "\n".join(line for line in path.read_text().splitlines() if not re.match(r"\s*(>>>|\.\.\.)", line))
        for match in WRITES.finditer(code):
            (target,) = filter(None, match.groups())
            seen += target == "partial"
            if target not in ("partial", "buffer", "file") and path.name != "locking.py":  # memory; an open partial
                found[str(path.relative_to(SOURCE)), match[0]] = target
    assert not found
    assert seen >= 8
