"""The container file and the unit of systemd say what the program understands."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

from meanbounds.cli import make_parser

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_the_unit_of_systemd() -> None:
    text = (DEPLOY / "meanbounds.service").read_text(encoding="utf-8")
    (command,) = re.findall(r"^ExecStart=/usr/bin/env meanbounds (.*)$", text, re.MULTILINE)
    options = make_parser().parse_args(shlex.split(command))
    assert options.store == "sqlite:/var/lib/meanbounds/state.db"
    program = shutil.which("systemd-analyze")
    if program is not None:
        checked = subprocess.run(
            [program, "verify", str(DEPLOY / "meanbounds.service")], capture_output=True, text=True, check=False
        )
        assert "meanbounds.service:" not in checked.stderr  # no line of it is unknown or wrong


def test_the_container() -> None:
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8").replace("\\\n", "")
    (code,) = re.findall(r'^RUN python -c "(.*)"$', text, re.MULTILINE)
    exec(compile(code, "Containerfile", "exec"), {})
    for line in re.findall(r"meanbounds\s+(token|serve) (.*)$", text.replace("#", " "), re.MULTILINE):
        make_parser().parse_args(shlex.split(" ".join(line)))
    (given,) = re.findall(r"^CMD \[(.*)\]$", text, re.MULTILINE)
    assert make_parser().parse_args(re.findall(r'"(.*?)"', given)).host == "127.0.0.1"
