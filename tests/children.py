"""Tests that need a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def run_interpreted(path: str, *options: str) -> str:
    """What pytest says of a file under NUMBA_DISABLE_JIT=1; a failure there is one here."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", path, *options],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def run_module(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """``python -m`` with these arguments, in a new process that has these environment variables as well."""
    command, environment = [sys.executable, "-m", *arguments], {**os.environ, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3000, check=False)


def run_python(code: str) -> str:
    """What a piece of Python prints in a new process; a failure there is one here."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
