"""The README's road from a clone to an agent for one's own file, run as it is written there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECTION = re.compile(r"^## From your own log, without Python\n(.*?)^## ", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROWS = [f"{clinic},{'xyz'[i % 3]},{int(i % 7 < 4)}" for clinic in ("north", "south") for i in range(300)]


def commands() -> list[str]:
    """The lines of the README's section."""
    found = SECTION.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    return [line for block in BLOCK.findall(found[1]) for line in block.splitlines()]


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A line of a shell."""
    bare = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "PYTHONPATH")}
    return subprocess.run(
        line, shell=True, cwd=folder, env=bare, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of what git tracks, with this environment as its own: `make install` finds everything there."""
    folder = tmp_path / "meanbounds"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "README.md"):
        (folder / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    for stamp in (".demo", ".kernels"):
        (folder / ".venv" / stamp).touch()
    return folder


def test_three_commands_lead_to_an_agent_and_three_more_ask_it(clone: Path) -> None:
    (clone / "log.csv").write_text("\n".join(["clinic,treatment,recovered", *ROWS]), encoding="utf-8")
    lines = commands()
    assert len(lines) == 6
    for line in lines:
        done = run(line, clone)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    assert (clone / "agent.json").exists()
    assert "</html>" in (clone / "page.html").read_text(encoding="utf-8")
