"""System packages are installed only where CI=true; elsewhere a test that needs one is skipped."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import servers


class Shell:
    """A PATH of its own, and an apt-get that does what it is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commands: list[list[str]] = []
        self.effect: Callable[[list[str]], None] = lambda _: None

    def add(self, name: str) -> str:
        path = self.folder / name
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return str(path)

    def install(self, name: str) -> None:
        self.add(name)

    def run(self, command: list[str], seconds: float) -> None:
        assert seconds > 0
        self.commands.append(command)
        self.effect(command)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    fake = Shell(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(servers, "_run", fake.run)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    return fake


def find() -> str:
    return servers.find_program(("chromium", "google-chrome"), "chromium")


def test_what_is_there_is_taken(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    path = shell.add("google-chrome")
    assert find() == path
    assert not shell.commands


@pytest.mark.parametrize("value", [None, "false", ""])
def test_nothing_is_installed_outside_ci(shell: Shell, monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    if value is not None:
        monkeypatch.setenv("CI", value)
    shell.add("apt-get")
    with pytest.raises(pytest.skip.Exception, match=r"chromium or google-chrome is not on the PATH: apt-get install"):
        find()
    assert not shell.commands


def test_ci_installs_what_is_missing(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    shell.add("apt-get")
    shell.effect = lambda command: shell.install("chromium") if "install" in command else None
    assert find() == str(shell.folder / "chromium")
    apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    assert shell.commands == [[*apt, "update"], [*apt, "install", "-y", "chromium"]]


def test_ci_asks_for_rights(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    shell.add("apt-get")
    shell.effect = lambda _: shell.install("chromium")
    find()
    assert all(command[:2] == ["sudo", "-n"] for command in shell.commands)


@pytest.mark.parametrize("step", ["update", "install"])
def test_ci_skips_only_if_apt_get_fails(shell: Shell, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def fail(command: list[str]) -> None:
        if step in command:
            raise subprocess.CalledProcessError(100, command)

    monkeypatch.setenv("CI", "true")
    shell.add("apt-get")
    shell.effect = fail
    with pytest.raises(pytest.skip.Exception, match=rf"apt-get -q {step}.* failed: .*100"):
        find()


def test_ci_skips_without_apt_get(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.skip.Exception, match="there is no apt-get"):
        find()
    assert not shell.commands


def test_ci_fails_if_the_package_lacks_the_program(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    shell.add("apt-get")
    with pytest.raises(pytest.fail.Exception, match="although apt-get installed chromium"):
        find()
    assert len(shell.commands) == 2


def test_the_newest_server_of_debian_is_found_off_the_path(shell: Shell) -> None:
    folders = shell.folder / "postgresql"
    for version in ("14", "15"):
        (folders / version / "bin").mkdir(parents=True)
        (folders / version / "bin" / "initdb").touch()
    assert servers.find_program(("initdb",), "postgresql", folders) == str(folders / "15" / "bin" / "initdb")


def test_a_missing_module_fails_in_ci_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r'pip install "meanbounds\[spark\]"'):
        servers.find_module("no_such_module", "meanbounds[spark]")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no_such_module"):
        servers.find_module("no_such_module", "meanbounds[spark]")


def test_ci_run_says_so() -> None:
    script = (Path(__file__).parents[1] / ".ci" / "run").read_text()
    assert script.index("export CI=true") < script.index("make test")
