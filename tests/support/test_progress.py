"""Progress bars: where they are shown, when, and what ends up in a file."""

from __future__ import annotations

import io
import re
import subprocess
import sys

import pytest

from meanbounds.support.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the surroundings say of terminals and colours plays no part."""
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.parametrize(
    ("stream", "progress", "patience", "shown"),
    [
        (Terminal(), None, -1.0, True),
        (Terminal(), None, 60.0, False),
        (Terminal(), False, -1.0, False),
        (io.StringIO(), None, -1.0, False),
        (io.StringIO(), True, 60.0, False),
    ],
)
def test_only_where_someone_watches_and_only_if_it_takes_long(
    stream: io.StringIO, progress: bool | None, patience: float, shown: bool
) -> None:
    with Progress(4, "working", progress, stream=stream, patience=patience) as bar:
        bar.advance(2)
    text = stream.getvalue()
    assert ("working" in text and "50%" in text) is shown
    assert text == "" or text.endswith("\x1b[1A\x1b[2K")  # the line is wiped


def test_a_file_gets_one_plain_line() -> None:
    stream = io.StringIO()
    with Progress(4, "[b]working", True, stream=stream, patience=-1.0) as bar:
        for _ in range(4):
            bar.advance()
    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()
    assert stream.getvalue().startswith("[b]working ")
    assert "100%" in stream.getvalue()


def test_without_a_total_the_time_is_shown() -> None:
    stream = io.StringIO()
    with Progress(0, "counting", True, stream=stream, patience=-1.0) as bar:
        bar.advance(0)
    assert re.fullmatch(r"counting \d+:\d\d:\d\d\n", stream.getvalue())


def test_what_the_program_prints_stays_where_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    stream = Terminal()
    with Progress(2, "working", stream=stream, patience=-1.0) as bar:
        bar.advance()
        print("a result")
    assert capsys.readouterr().out == "a result\n"
    assert "a result" not in stream.getvalue()


def test_an_error_ends_the_bar() -> None:
    stream = Terminal()

    def interrupted() -> None:
        with Progress(2, "working", stream=stream, patience=-1.0) as bar:
            bar.advance()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert stream.getvalue().endswith("\x1b[1A\x1b[2K")


def test_importing_the_package_does_not_import_rich() -> None:
    code = "import sys, meanbounds; print('rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
