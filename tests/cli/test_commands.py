"""The command line: what it writes, its messages on one line, its exit codes, what it costs."""

import argparse
import io
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

import meanbounds as mb
from meanbounds import cli
from meanbounds.bounds import UnknownArmError
from meanbounds.cli import command
from tests.logs.three_logs import BAD

COLUMNS = ["--context", "clinic", "--arm", "treatment", "--reward", "recovered"]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV file of 6,000 rows."""
    path = tmp_path_factory.mktemp("logs") / "log.csv"
    rows = zip(*(part.tolist() for part in BAD.log(6_000, seed=3).values()), strict=True)
    path.write_text("clinic,treatment,recovered\n" + "".join(f"{z},{arm},{x:g}\n" for z, arm, x in rows))
    return path


def run(*arguments: object) -> tuple[int, float, str, str]:
    """Run a command in a fresh process: its exit code, its processor time, what it printed."""
    code = (
        "import sys, time; from meanbounds.cli import main; code = main(sys.argv[1:])\nprint(time.process_time(), code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    *lines, last = done.stdout.splitlines()
    return int(last.split()[1]), float(last.split()[0]), "\n".join(lines), done.stderr


def test_start_writes_an_agent_within_three_seconds(log: Path, tmp_path: Path) -> None:
    code, seconds, said, errors = run("start", log, *COLUMNS, "-o", tmp_path / "agent.json", "--seed", 7)
    assert (code, errors) == (0, "")
    assert seconds < 3.0
    assert "Conclusion: Take over under a guard." in said
    agent = mb.Agent.load(tmp_path / "agent.json")
    assert agent.contexts == ("north", "south")
    assert agent.pull("north") is mb.EXPERT
    agent.observe("aspirin", 1.0, "north")


def test_explain_writes_a_page_within_four_seconds(log: Path, tmp_path: Path) -> None:
    """0.2 took more than a minute in a fresh process, and said nothing (fault 15)."""
    code, seconds, said, errors = run("explain", log, *COLUMNS, "--odds", "1.5", "-o", tmp_path / "page.html")
    assert (code, errors) == (0, "")
    assert seconds < 4.0
    assert said.startswith("Conclusion: Take over.\n")
    assert "<h1>Take over</h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_module_runs_and_each_command_has_an_example() -> None:
    done = subprocess.run([sys.executable, "-m", "meanbounds", "--help"], capture_output=True, text=True, check=True)
    for name in cli.COMMANDS:
        assert f"  meanbounds {name.removesuffix('_command')} " in done.stdout
        parser = argparse.ArgumentParser()
        import_module(f"meanbounds.cli.{name}").COMMAND.add_options(parser)
        assert len(parser._actions) <= 34


def test_options_reach_the_agent(log: Path, tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    options = {"failures": 0.14, "total": 30, "ask": 0.05, "forbid": "watch", "cost": 0.01, "confidence": 0.9}
    given = [f"--{name}={value}" for name, value in options.items()]
    assert cli.main(["start", str(log), *COLUMNS, *given, "--shift", "0.05", "-o", str(path)]) == 0
    agent = mb.Agent.load(path)
    policy = agent.policy
    assert isinstance(policy, mb.policies.Guarded)
    assert policy.promise == mb.Promise(failures=0.14, total=30)
    assert (policy.ask, policy.confidence) == (0.05, 0.95)
    assert agent.forbidden("north") == ("watch",)
    counts = mb.logs.read(log, context="clinic", arm="treatment", reward="recovered")
    alike = mb.logs.agent(counts, shift=0.05, cost=0.01, confidence=0.9, promise=policy.promise, ask=0.05)
    assert agent.knowledge("north").bounds == alike.knowledge("north").bounds
    assert cli.main(["start", str(log), *COLUMNS, "--no-experts", "--where", "clinic = 'north'", "-o", str(path)]) == 0
    assert mb.EXPERT not in mb.Agent.load(path).arms
    assert mb.Agent.load(path).contexts == ("north",)


def test_arms_that_are_whole_numbers_are_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("arm,reward\n" + "1,1\n2,0\n" * 200 + "3,1\n")
    assert cli.main(["start", str(path), "--include", "3", "--forbid", "1", "-o", str(tmp_path / "a.json")]) == 0
    assert mb.Agent.load(tmp_path / "a.json").forbidden() == (1,)


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("arm,reward\na,5\nb,1\n", [], "give --range 1 5"),
        ("arm,reward\na,-17\nb,0\n", [], "give --range -17 0."),  # 0.2 said "-0" (fault 20)
        ("arm,reward\na,\nb,1\n", [], "leave such rows out with --drop"),
        ("choice,reward\na,1\n", [], "arm"),
        ("arm,reward\na,1\n", ["--margin", "-1"], "margin must be above 0"),
        ("arm,reward\na,1\n", ["--no-experts", "--margin", "0.1"], "--no-experts leaves nobody to ask"),
        ("arm,reward\na,1\nb,0\n", ["--include", "c"], "unknown arm 'c'"),
        ("arm,reward\na,1\nb,0\n", ["--errors", "2"], "--errors must be"),
        ("arm,reward\n" + "a,1\nb,0\n" * 999, ["--errors", "0", "--gap-low", "0.9"], "--gap-low of at most"),
        ("arm,reward\na,1\n", ["--range", "1", "0"], "--range: the first must be less than the second"),
        ("arm,reward\na,1\n", ["--where", "nonsense ="], "meanbounds:"),
        ("", [], "meanbounds:"),
        ("arm,reward\ra,1\r", [], "log.csv, line 1: new-line character seen in unquoted field; is it a CSV file?"),
        ("arm,reward\na,1\n", ["--where", "arm"], "must be a condition such as \"day >= '2024-06-01'\""),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    text: str, arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    for name in ("start", "explain"):
        assert cli.main([name, str(path), *arguments, "-o", str(tmp_path / "out")]) == 2
        lines = [line for line in capsys.readouterr().err.splitlines() if "caution:" not in line]
        assert len(lines) == 1
        assert said in lines[0]
        assert not (tmp_path / "out").exists()


def test_files_that_cannot_be_read_or_written_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["start", str(tmp_path / "nosuch.csv")]) == 2
    assert "nosuch.csv" in capsys.readouterr().err
    made = tmp_path / "made.csv"
    made.write_text("arm,reward,probability\n" + "a,1,1\n" * 200)
    for name in ("start", "explain", "evaluate"):
        for path in (str(tmp_path / "no" / "agent.json"), "/dev/full"):
            assert cli.main([name, str(made), "-o", path]) == 2
            assert f"{path} cannot be written: No " in (said := capsys.readouterr().err)
            assert "; give a file with -o whose folder exists, has room, and lets you write" in said


def test_dropped_rows_and_cautions_are_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0.2 reported dropped rows three times (fault 20)."""
    path = tmp_path / "log.csv"
    for good, where in ((10, "caution"), (400, "left out")):  # more than 5% is a caution
        path.write_text("arm,reward\n" + "a,1\nb,0\n" * good + ",1\n" * 3)
        assert cli.main(["start", str(path), "--drop"]) == 0
        said = "".join(capsys.readouterr())
        assert said.count("missing arm") == 1
        assert where in said
    path.write_text("arm,reward\na,1\n")
    assert cli.main(["start", str(path)]) == 0
    assert capsys.readouterr().err.count("1 row") == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_slow_work_says_what_it_does_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.2 computed for more than a minute in silence (fault 15)."""
    monkeypatch.setattr(command, "PATIENCE", 0.05)
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with command.patience("reading log.csv"):
            end = time.monotonic() + 5.0
            while stream.isatty() and "reading" not in stream.getvalue() and time.monotonic() < end:
                time.sleep(0.01)
        with command.patience("quick work"):
            pass
        said = stream.getvalue()
        assert said.startswith("\rreading log.csv ...") if stream.isatty() else said == ""
        assert said.endswith("\r" if stream.isatty() else "")
        assert "quick" not in said


def test_an_interrupt_and_a_closed_pipe_have_their_exit_codes(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(mb.logs, "read", interrupted)
    assert cli.main(["start", str(log)]) == 130
    process = subprocess.Popen(
        [sys.executable, "-m", "meanbounds", "start", str(log), *COLUMNS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(60) == 141
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


ERRORS = (UnknownArmError, LookupError, ValueError, OSError, ImportError)


@pytest.mark.parametrize("error", [*ERRORS, KeyError, IndexError, TypeError])
def test_errors_of_the_package_are_told_and_bugs_are_tracebacks(
    error: type[Exception], log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise error("unknown context 'nrth', did you mean 'north'?")

    monkeypatch.setattr(mb.logs, "read", refused)
    if error not in ERRORS:
        with pytest.raises(error):
            cli.main(["start", str(log)])
        return
    assert cli.main(["start", str(log)]) == 2
    assert capsys.readouterr().err == "meanbounds: unknown context 'nrth', did you mean 'north'?\n"


def test_names_that_a_terminal_lacks_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("arm,reward\n" + "Zürich,1\nb,0\n" * 200, encoding="utf-8")
    command = [sys.executable, "-m", "meanbounds", "start", str(path)]
    for encoding, name in (("ascii", "Z\\xfcrich"), ("utf-8", "Zürich")):
        own = {**os.environ, "PYTHONIOENCODING": encoding}
        done = subprocess.run(command, capture_output=True, check=True, env=own)
        assert name in done.stdout.decode(encoding)
        assert done.stderr == b""
