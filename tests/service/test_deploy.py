"""The container file and the unit of systemd say what the program understands."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

from meanbounds.cli import make_parser
from tests.servers import find_program

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


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


def test_the_proxy(tmp_path: Path) -> None:
    """What docs/operations.md tells nginx is understood by it, with a certificate and inside of a whole file."""
    nginx, openssl = find_program(("nginx",), "nginx-light"), find_program(("openssl",), "openssl")
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```nginx\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    request = "req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 1 -keyout key.pem -out cert.pem"
    subprocess.run([openssl, *request.split()], cwd=tmp_path, check=True, capture_output=True)
    assert block.count("listen 443 ssl;") == 1
    here = block.replace("listen 443 ssl;", f"listen unix:{tmp_path}/socket ssl;")
    secured = f"access_log off; ssl_certificate {tmp_path}/cert.pem; ssl_certificate_key {tmp_path}/key.pem;\n{here}"
    path = tmp_path / "nginx.conf"
    path.write_text(f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{ {secured} }}\n")
    told = subprocess.run([nginx, "-t", "-c", str(path)], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
