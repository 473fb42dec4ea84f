"""The unit file for systemd says what systemd and the program understand."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import meanbounds as mb

UNIT = Path(__file__).parents[2] / "deploy" / "meanbounds.service"


def test_the_command_of_the_unit_starts_and_stops(tmp_path: Path) -> None:
    bounds = mb.MeanBounds([0.1, 0.2], [0.9, 0.8], arms=["a", "b"])
    mb.Store.create(tmp_path / "clinic.db", "clinic", mb.Agent(mb.UCB(), bounds, seed=1)).close()
    (line,) = re.findall(r"^ExecStart=(.*)$", UNIT.read_text(), re.MULTILINE)
    command = [*shlex.split(line.replace("/var/lib/meanbounds", str(tmp_path))), "--port", "0"]
    found = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with subprocess.Popen(command, env=found, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "there are no tokens" in process.stdout.readline()
        assert "serving 1 agent at http://127.0.0.1:" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10.0) == 0


def test_systemd_knows_every_line_of_the_unit() -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is missing")
    checked = subprocess.run([program, "verify", str(UNIT)], capture_output=True, text=True, check=False)
    assert "meanbounds.service" not in checked.stderr
