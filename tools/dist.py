"""Build the source archive and the wheel of HEAD, and try them as a user would.

`make dist` runs it. Both are built from a checkout of HEAD alone, compared with it file by file, and checked by twine.
The wheel is then installed into a clean environment of every Python on this machine that it supports, once without
extras and once with each extra alone, where `tools/smoke.py` tries what should work and what should say which extra it
needs. At last the tests run from the unpacked source archive. Environments are removed as it goes.
"""

from __future__ import annotations

import argparse
import email
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SLOWEST_IMPORT = 0.5  # seconds that a second import may take
NO_USERS = ("docs", "test", "dev", "bench")  # extras of those who work on the package
QUICK = (
    "tests/test_packaging.py",
    "tests/test_tools.py",
    "tests/test_bounds.py",
    "tests/test_saved.py",
    "tests/support",
)
TESTS = {
    "none": None,
    "quick": ["-p", "no:xdist", *QUICK],
    "all": ["-n", "2", "--dist", "worksteal"],
}
"""What pytest is told for each choice of tests."""


class Line(NamedTuple):
    """A line of the table of what was checked."""

    what: str
    python: str
    right: bool
    said: str


class Interpreter(NamedTuple):
    """A Python on this machine."""

    version: tuple[int, int, int]
    path: str

    def __str__(self) -> str:
        """As in 3.11.7."""
        return ".".join(map(str, self.version))


# ------------------------------------------------------------------------------------------------------------- HEAD


def changes(root: Path) -> list[str]:
    """What git would commit or does not track: it is not in HEAD, so it would not be in the archives."""
    return _git(root, "status", "--porcelain").splitlines()


def files_of_head(root: Path) -> dict[str, bytes]:
    """Every file of HEAD with its content; links are left out, which no archive of Python has."""
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=root, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        return dict(_files(packed))


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout


def _files(packed: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    for member in packed.getmembers():
        content = packed.extractfile(member) if member.isfile() else None
        if content is not None:
            yield member.name, content.read()


# --------------------------------------------------------------------------------------------------------- archives


def build(files: Mapping[str, bytes], output: Path) -> tuple[Path, Path]:
    """Build the source archive of these files, and the wheel from it, each in an environment of its own."""
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="meanbounds-") as folder:
        for name, content in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        with tempfile.TemporaryDirectory(prefix="meanbounds-") as built:
            run(sys.executable, "-m", "build", "--outdir", built, folder)
            (sdist,), (wheel,) = Path(built).glob("*.tar.gz"), Path(built).glob("*.whl")
            return (Path(shutil.copy(sdist, output)), Path(shutil.copy(wheel, output)))


def sdist_differences(sdist: Path, files: Mapping[str, bytes]) -> list[str]:
    """Where a source archive is not what HEAD has; PKG-INFO is written by the build."""
    with tarfile.open(sdist) as packed:
        found = {name.partition("/")[2]: content for name, content in _files(packed)}
    found.pop("PKG-INFO", None)
    return differences(found, files)


def wheel_differences(wheel: Path, files: Mapping[str, bytes]) -> list[str]:
    """Where a wheel is not what HEAD has in src; the folder .dist-info is written by the build."""
    with zipfile.ZipFile(wheel) as packed:
        found = {name: packed.read(name) for name in packed.namelist() if ".dist-info/" not in name}
    return differences(found, {name[4:]: content for name, content in files.items() if name.startswith("src/")})


def differences(found: Mapping[str, bytes], expected: Mapping[str, bytes]) -> list[str]:
    """Names of files that are missing, that should not be there, or that hold something else.

    Examples
    --------
    >>> differences({"a": b"1", "b": b"2"}, {"a": b"0", "c": b"3"})
    ['c is missing', 'b is not in HEAD', 'a differs from HEAD']
    """
    return [
        *(f"{name} is missing" for name in sorted(expected.keys() - found.keys())),
        *(f"{name} is not in HEAD" for name in sorted(found.keys() - expected.keys())),
        *(f"{name} differs from HEAD" for name in sorted(found) if expected.get(name, found[name]) != found[name]),
    ]


def check_archives(sdist: Path, wheel: Path, files: Mapping[str, bytes]) -> Iterator[Line]:
    """Compare both with HEAD, and let twine read their descriptions."""
    for path, found in ((sdist, sdist_differences(sdist, files)), (wheel, wheel_differences(wheel, files))):
        said = f"the files of HEAD, {path.stat().st_size / 1e6:.1f} MB" if not found else shortened(found)
        yield Line(path.name, "", not found, said)
    done = run(sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel), check=False)
    yield Line("twine check --strict", "", not done.returncode, "passed" if not done.returncode else _last(done))
    stated, named = project(files)["version"], wheel_version(wheel)
    yield Line("version", "", stated == named, f"{named}; pyproject.toml says {stated}")


def wheel_version(wheel: Path) -> str:
    """The version that a wheel's own description states."""
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        return str(email.message_from_bytes(packed.read(name))["Version"])


def project(files: Mapping[str, bytes]) -> dict[str, object]:
    """The table [project] of pyproject.toml."""
    found: dict[str, object] = tomllib.loads(files["pyproject.toml"].decode())["project"]
    return found


def extras(files: Mapping[str, bytes]) -> list[str]:
    """The extras for users, as pyproject.toml lists them."""
    stated = tomllib.loads(files["pyproject.toml"].decode())["project"]["optional-dependencies"]
    return [name for name in stated if name not in NO_USERS]


# ------------------------------------------------------------------------------------------------------- interpreters


def interpreters(requires: str, folders: Iterable[str] | None = None) -> list[Interpreter]:
    """Each minor version of Python that is on PATH or installed by pyenv and that the package supports, oldest first.

    Of several with the same minor version the newest counts, and of equal ones the first.
    """
    lowest = tuple(int(part) for part in re.findall(r"\d+", requires))[:2]
    newest: dict[tuple[int, int], Interpreter] = {}
    for folder in _folders() if folders is None else folders:
        for path in sorted(Path(folder).glob("python3.*")):
            if re.fullmatch(r"python3\.\d+", path.name) and os.access(path, os.X_OK):
                found = _version(path)
                key = None if found is None else found.version[:2]
                if found is None or key is None or key < lowest:
                    continue
                if key not in newest or newest[key].version < found.version:
                    newest[key] = found
    return [newest[key] for key in sorted(newest)]


def _folders() -> list[str]:
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    return [*os.environ.get("PATH", "").split(os.pathsep), *map(str, sorted(pyenv.glob("versions/*/bin")))]


def _version(path: Path) -> Interpreter | None:
    """What a Python says of itself; None if it does not run, as a shim of pyenv for a version that is not chosen."""
    code = "import sys, venv, ensurepip; print(*sys.version_info[:3], sys.base_prefix)"
    done = subprocess.run([path, "-I", "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    major, minor, micro, _ = done.stdout.split(maxsplit=3)
    return Interpreter((int(major), int(minor), int(micro)), str(path))


# ------------------------------------------------------------------------------------------------------- environments


@contextmanager
def environment(interpreter: Interpreter, folder: Path, *requirements: str) -> Iterator[str]:
    """The Python of a new environment in this folder with these packages; it is removed afterwards.

    Made by uv, which links packages from its cache: there are some thirty environments.
    """
    python = str(folder / "bin" / "python")
    try:
        run(sys.executable, "-m", "uv", "venv", "--quiet", "--python", interpreter.path, str(folder))
        run(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, *requirements)
        yield python
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_wheel(wheel: Path, interpreter: Interpreter, extra: str, work: Path) -> Iterator[Line]:
    """Install the wheel with one extra, or none, and try it.

    The environments of a Python are made one after the other in the same place and share their compiled kernels, which
    numba finds by the path of their source: compiling them again would take most of the time.
    """
    what = f"wheel, [{extra}]" if extra else "wheel, no extra"
    source = f"meanbounds{f'[{extra}]' if extra else ''} @ {wheel.resolve().as_uri()}"
    try:
        with (
            environment(interpreter, work / "environment", source) as python,
            tempfile.TemporaryDirectory(prefix="meanbounds-") as away,
        ):
            smoke = [python, "-I", str(ROOT / "tools" / "smoke.py"), *([extra] if extra else [])]
            done = run(*smoke, folder=away, NUMBA_CACHE_DIR=str(work / "kernels"))
    except subprocess.CalledProcessError as error:
        yield Line(what, str(interpreter), False, _last(error))
        return
    yield from smoke_lines(what, str(interpreter), json.loads(done.stdout.splitlines()[-1]))


def smoke_lines(what: str, python: str, found: Mapping[str, object]) -> Iterator[Line]:
    """What the smoke test found, in one line, and a line for each thing that is wrong."""
    outcomes = found["outcomes"]
    assert isinstance(outcomes, list)
    works = [one["feature"] for one in outcomes if one["right"] and one["said"] == "works"]
    named = sum(one["right"] and one["said"] != "works" for one in outcomes)
    seconds = float(str(found["import_seconds"]))
    said = (
        f"second import {seconds:.3f} s, to the first decision {float(str(found['decision_seconds'])):.2f} s; "
        f"works: {', '.join(works) or 'the core'}; {named} name the extra they need"
    )
    yield Line(what, python, seconds < SLOWEST_IMPORT, said)
    for one in outcomes:
        if not one["right"]:
            yield Line(f"{what}: {one['feature']}", python, False, str(one["said"]).splitlines()[-1])


def check_tests(sdist: Path, interpreter: Interpreter, arguments: Sequence[str]) -> Line:
    """Run tests from the unpacked source archive, installed with what they need."""
    with tempfile.TemporaryDirectory(prefix="meanbounds-") as folder:
        with tarfile.open(sdist) as packed:
            packed.extractall(folder, filter="data")
        (tree,) = Path(folder).iterdir()
        try:
            with environment(interpreter, Path(folder) / "environment", "-e", f"{tree}[test]") as python:
                done = run(python, "-m", "pytest", "-q", *arguments, folder=str(tree), check=False)
        except subprocess.CalledProcessError as error:
            return Line("tests from the source archive", str(interpreter), False, _last(error))
    if done.returncode:
        print(done.stdout[-20_000:], file=sys.stderr)
    return Line("tests from the source archive", str(interpreter), not done.returncode, _last(done))


# -------------------------------------------------------------------------------------------------------------- table


def run(
    *command: str, folder: str | None = None, check: bool = True, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a program away from the package's own sources and settings of Python."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA", "VIRTUAL_ENV"))
    }
    return subprocess.run(command, cwd=folder, env=kept | variables, capture_output=True, text=True, check=check)


def shortened(lines: Sequence[str], most: int = 5) -> str:
    """The first of several messages, and how many more there are."""
    more = f"; and {len(lines) - most} more" if len(lines) > most else ""
    return "; ".join(lines[:most]) + more


def _last(done: subprocess.CompletedProcess[str] | subprocess.CalledProcessError) -> str:
    """The last line that a program wrote."""
    text = f"{done.stderr or ''}\n{done.stdout or ''}" if done.returncode else done.stdout
    lines = [line for line in str(text).splitlines() if line.strip()]
    return lines[-1].strip(" =") if lines else f"exit status {done.returncode}"


def table(lines: Sequence[Line]) -> str:
    """What was checked, a line each, those that are wrong marked."""
    width = max(len(line.what) for line in lines)
    return "\n".join(
        f"{'ok  ' if line.right else 'FAIL'}  {line.what:<{width}}  {line.python:<7}  {line.said}" for line in lines
    )


def checked(given: argparse.Namespace, files: Mapping[str, bytes]) -> Iterator[Line]:
    """Every check in turn; what takes long says so first."""
    _say("building the source archive and the wheel")
    sdist, wheel = build(files, given.output)
    yield from check_archives(sdist, wheel, files)
    found = interpreters(str(project(files)["requires-python"]))
    chosen = [one for one in found if not given.python or str(one).startswith(tuple(given.python))]
    if not chosen:
        raise SystemExit(f"none of the Pythons {', '.join(map(str, found)) or '(there is none)'} was asked for")
    for interpreter in chosen:
        with tempfile.TemporaryDirectory(prefix="meanbounds-") as work:
            for extra in given.extras if given.extras is not None else ["", *extras(files)]:
                _say(f"Python {interpreter}: the wheel with {f'[{extra}]' if extra else 'no extra'}")
                yield from check_wheel(wheel, interpreter, extra, Path(work))
    arguments = TESTS[given.tests]
    if arguments is None:
        return
    _say(f"Python {chosen[0]}: tests from the source archive ({given.tests})")
    yield check_tests(sdist, chosen[0], arguments)


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {what}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: whether something is wrong."""
    parser = argparse.ArgumentParser(description="Build the archives of HEAD, and try them as a user would.")
    parser.add_argument(
        "-o", "--output", type=Path, default=ROOT / "dist", help="folder for the archives; default: dist"
    )
    parser.add_argument(
        "--tests", choices=list(TESTS), default="all", help="tests from the source archive; default: all"
    )
    parser.add_argument(
        "--python", nargs="+", metavar="VERSION", help="only these, for example 3.12; default: all found"
    )
    parser.add_argument("--extras", nargs="*", metavar="EXTRA", help="only these, each alone; default: none, then each")
    parser.add_argument("--dirty", action="store_true", help="build HEAD although the working tree differs from it")
    given = parser.parse_args(arguments)
    changed = changes(ROOT)
    if changed and not given.dirty:
        raise SystemExit(
            f"the working tree differs from HEAD, which is what would be packed: {shortened(changed)}. Commit or remove"
            " it, or give --dirty to build HEAD without it"
        )
    lines = []
    for line in checked(given, files_of_head(ROOT)):
        lines.append(line)
        _say(table([line]))  # it takes long: what was found so far is known if it is stopped
    head = _git(ROOT, "describe", "--always", "--dirty").strip()
    print(f"{head}\n{table(lines)}")
    return int(not all(line.right for line in lines))


if __name__ == "__main__":
    sys.exit(main())
