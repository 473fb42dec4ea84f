"""Pages about the service from their first line to their last: commands, requests and programs, as written."""

import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from meanbounds.service import limits

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    "service": {
        "meanbounds start",
        "meanbounds serve",
        "curl -s",
        "meanbounds restore",
        "meanbounds verify",
        "meanbounds done",
    },
    "columns": {"meanbounds start", "meanbounds decide", "meanbounds serve", "curl -s"},
}
PATIENCE = 60.0


class Road:
    """Does what the page says, in one folder; `url` is where the service listens, in place of port 8000."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.url, self.token, self.said = folder, "", "", ""
        self.done, self.names = list[str](), dict[str, Any]()
        self.server: subprocess.Popen[str] | None = None

    def run(self, line: str) -> None:
        words = shlex.split(line.replace("$TOKEN", self.token))
        self.done.append(" ".join(words[:2]))
        if words[0] == "curl":
            self.ask(words)
            return
        command = [sys.executable, "-m", "meanbounds", *words[1:]]
        if words[1] == "serve":
            self.server = subprocess.Popen(
                [*command, "--port", "0"], stdout=subprocess.PIPE, text=True, cwd=self.folder
            )
            assert self.server.stdout is not None
            found = re.search(r"http://[\d.:]+", self.server.stdout.readline())
            assert found
            self.url = found[0]
            return
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=PATIENCE, check=False)
        assert done.returncode in ((0, 1) if words[1] == "done" else (0,)), done.stderr
        self.said += done.stdout
        if words[1] == "token":
            self.token = done.stdout.strip()

    def ask(self, words: list[str]) -> None:
        url = next(word for word in words if "localhost:8000" in word).replace("localhost:8000", self.url)
        headers = dict(words[k + 1].split(": ") for k, word in enumerate(words) if word == "-H")
        answer = httpx.post(url, headers=headers, content=words[words.index("-d") + 1], timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        if url.endswith("decisions"):
            assert answer.json()["arm"] == {"expert": True}
            assert answer.json()["reason"] == "guard"

    def execute(self, program: str) -> None:
        program = program.replace("http://127.0.0.1:8000", self.url).replace("mb_...", self.token)
        exec(compile(program, "a page", "exec"), self.names)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_works_as_written(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    rows = zip(
        rng.choice(["north", "south"], 1_000), rng.choice(["tPA", "watch"], 1_000), rng.random(1_000) < 0.6, strict=True
    )
    lines = [f"{clinic},{arm},{int(recovered)}" for clinic, arm, recovered in rows]
    (tmp_path / "log.csv").write_text("\n".join(["clinic,arm,recovered", *lines]) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "COLUMNS", "80")
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(console|python|text)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    road = Road(tmp_path)
    try:
        for kind, block in blocks:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                if kind == "python":
                    road.execute(block)
                elif kind == "text":
                    assert block in road.said  # printed by a command above
                else:
                    for line in block.splitlines():
                        road.run(line)
    finally:
        if road.server is not None:
            road.server.terminate()
            assert road.server.wait(PATIENCE) == 0
            assert road.server.stdout is not None
            road.server.stdout.close()
    assert len(blocks) >= 6
    assert set(road.done) >= PAGES[page]


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    page = (DOCS / "service.md").read_text(encoding="utf-8")
    assert limits.NAME == limits.ID
    for said in (
        f"{limits.NAME} characters; {limits.PARTS} parts of a context, of {limits.PART:,} each",
        f"{limits.COLUMNS} raw columns",
        f"{limits.CONTEXTS:,} an agent; {limits.NEW_CONTEXTS:,} new ones an hour and token",
        f"{limits.BATCH} commands, {limits.BODY // 1_000} kB; {limits.HEAD // 1_000} kB of headers",
        f"{limits.SECONDS:g} seconds for either",
        f"{limits.CONNECTIONS} connections, {limits.WAITING:,} commands that wait",
        f"agents are saved whole every {limits.SNAPSHOT:,} events",
    ):
        assert said in page
