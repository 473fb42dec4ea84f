"""Where compiled kernels are kept when neither the package's folder nor the user's cache folder can be written."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from meanbounds.kernels import caching

SOURCE = Path(__file__).parents[2] / "src" / "meanbounds"

USE = """
import meanbounds as mb
from meanbounds.kernels.arms.divergence import kl
print(mb.__file__)
print(kl(0.5, 0.5))
"""


@pytest.fixture
def unwritable(tmp_path: Path) -> Path:
    """A copy of the package in which numba can write nothing, not even as root: each __pycache__ is a file."""
    package = tmp_path / "site" / "meanbounds"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {path.parent for path in package.rglob("*.py")}:
        (folder / "__pycache__").write_text("")
    return package


def use(package: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Import this copy in a new process whose home is a file, and call a kernel."""
    home = package.parents[1] / "home"
    home.write_text("")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG", "PYTHONW"))}
    variables = {**kept, "PYTHONPATH": str(package.parent), "HOME": str(home), **environment}
    command = [sys.executable, "-c", USE]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=300)


def test_kernels_are_kept_in_a_folder_of_the_users_own(unwritable: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = use(unwritable, TMPDIR=str(temporary))
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == [str(unwritable / "__init__.py"), "0.0"]
    assert done.stderr.count("Warning") == 1
    assert "NUMBA_CACHE_DIR" in done.stderr
    (own,) = temporary.iterdir()
    assert str(own) in done.stderr
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    assert list(own.rglob("*.nbc"))


def test_the_users_choice_is_used_without_a_warning(unwritable: Path, tmp_path: Path) -> None:
    done = use(unwritable, TMPDIR=str(tmp_path), NUMBA_CACHE_DIR=str(tmp_path / "chosen"))
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stderr == ""
    assert list((tmp_path / "chosen").rglob("*.nbc"))


def test_a_folder_of_somebody_else_is_not_used(unwritable: Path, tmp_path: Path) -> None:
    """Cached kernels are code: a folder that others can write to is left alone, and nothing is kept."""
    temporary = tmp_path / "tmp"
    other = temporary / f"meanbounds-{os.getuid()}"
    other.mkdir(parents=True)
    other.chmod(0o777)
    done = use(unwritable, TMPDIR=str(temporary))
    assert done.returncode == 0, done.stderr[-2000:]
    assert "compiled again in each process" in done.stderr
    assert "NUMBA_CACHE_DIR" in done.stderr
    assert not list(other.iterdir())


def test_which_folders_are_private(tmp_path: Path) -> None:
    own, link, shared, file = (tmp_path / name for name in ("own", "link", "shared", "file"))
    own.mkdir(mode=0o700)
    shared.mkdir()
    shared.chmod(0o770)
    link.symlink_to(own)
    file.write_text("")
    assert caching.is_private(own)
    assert not any(map(caching.is_private, (link, shared, file, tmp_path / "nothing")))
    assert caching.private_folder(tmp_path / "new") == tmp_path / "new"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert caching.private_folder(shared) is None
    assert caching.private_folder(file / "below") is None
