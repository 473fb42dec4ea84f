"""Engines that run beside the tests: a Spark session, a PostgreSQL server and a browser, for this machine only.

Their programs are system packages. Where the environment says CI=true, missing ones are installed, and a test is
skipped only if apt-get cannot install them. Elsewhere the test is skipped and says how to get them.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import pytest

PATIENCE = 60.0  # seconds a server may take to start
UPDATE, INSTALL = 60.0, 240.0  # seconds apt-get may take
POSTGRES_FOLDERS = Path("/usr/lib/postgresql")  # where Debian keeps its programs, off the PATH


def find_program(names: tuple[str, ...], package: str, folders: Path | None = None) -> str:
    """The path of the first of these programs; if there is none, install the package (CI) or skip the test."""
    found = _look(names, folders)
    if found is not None:
        return found
    wanted = f"{' or '.join(names)} is not on the PATH"
    if not in_ci():
        pytest.skip(f"{wanted}: apt-get install {package} (where CI=true, the tests do that)")
    with _alone():
        if _look(names, folders) is None:  # another worker may have installed it meanwhile
            _install(package, wanted)
    return _look(names, folders) or pytest.fail(f"{wanted}, although apt-get installed {package}")


def find_module(name: str, requirement: str) -> Any:
    """A module; if it is not installed, the test fails (CI, where all of them belong) or is skipped."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        _give_up(f'{error}: pip install "{requirement}"')


def in_ci() -> bool:
    """Whether this machine is there for the tests alone."""
    return os.environ.get("CI") == "true"


def _give_up(reason: str) -> NoReturn:
    if in_ci():
        pytest.fail(reason)
    pytest.skip(reason)


def _look(names: tuple[str, ...], folders: Path | None) -> str | None:
    on_path = (shutil.which(name) for name in names)
    elsewhere = () if folders is None else sorted((p for n in names for p in folders.glob(f"*/bin/{n}")), reverse=True)
    return next((found for found in (*on_path, *map(str, elsewhere)) if found), None)


def _install(package: str, wanted: str) -> None:
    if shutil.which("apt-get") is None:
        pytest.skip(f"{wanted}, and {package} cannot be installed: there is no apt-get")
    rights = [] if os.geteuid() == 0 else ["sudo", "-n"]
    apt = [*rights, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"]
    for command, seconds in (([*apt, "update"], UPDATE), ([*apt, "install", "-y", package], INSTALL)):
        try:
            _run(command, seconds)
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"{wanted}, and {' '.join(command)} failed: {error}")


def _run(command: list[str], seconds: float) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=seconds)


@contextmanager
def _alone() -> Iterator[None]:
    """One worker at a time: apt-get refuses to run twice."""
    with (Path(tempfile.gettempdir()) / "meanbounds-apt-get.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def spark_session() -> Iterator[Any]:
    """A local session that listens on 127.0.0.1 alone."""
    find_module("pyspark", "meanbounds[spark]")
    if "JAVA_HOME" not in os.environ:
        find_program(("java",), "default-jre-headless")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about versions of pandas
        builder = import_module("pyspark.sql").SparkSession.builder.master("local[2]")
        for name, value in {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": tempfile.gettempdir(),
        }.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        try:
            yield session
        finally:
            session.stop()


@contextmanager
def postgres_server() -> Iterator[str]:
    """A new server on a socket in a temporary folder; gives its connection string. It refuses to run as root."""
    with postgres_cluster() as cluster, cluster.running():
        yield cluster.address


@dataclass
class Cluster:
    """A PostgreSQL database in a temporary folder, of which a server can be started again and again."""

    folder: Path
    program: str
    who: dict[str, Any]
    fsync: bool

    @property
    def address(self) -> str:
        """The connection string."""
        return f"host={self.folder} user=tester dbname=postgres"

    @property
    def url(self) -> str:
        """The same as an address of the web."""
        return f"postgresql://tester@/postgres?host={self.folder}"

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """A server that has started; it is stopped at the end unless it was killed."""
        psycopg, durable = find_module("psycopg", "meanbounds[postgres]"), "on" if self.fsync else "off"
        settings = ["listen_addresses=", f"unix_socket_directories={self.folder}", f"fsync={durable}"]
        settings.append("max_connections=10")
        options = [part for setting in settings for part in ("-c", setting)]
        command, log = [self.program, "-D", str(self.folder / "data"), *options], subprocess.DEVNULL
        with subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, **self.who) as server:
            try:
                _wait(psycopg, self.address, server)
                yield server
            finally:
                if server.poll() is None:
                    server.send_signal(signal.SIGINT)  # disconnects clients and stops
                    server.wait(PATIENCE)


@contextmanager
def postgres_cluster(*, fsync: bool = False) -> Iterator[Cluster]:
    """A new database in a temporary folder, without a server yet; with `fsync` commits are synced to disk."""
    find_module("psycopg", "meanbounds[postgres]")
    initdb, postgres = (find_program((name,), "postgresql", POSTGRES_FOLDERS) for name in ("initdb", "postgres"))
    account = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="meanbounds-postgres-"))
    try:
        who: dict[str, Any] = {}
        if account is not None:
            os.chown(folder, account.pw_uid, account.pw_gid)
            who = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        data = str(folder / "data")
        create = [initdb, "-D", data, "-U", "tester", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        subprocess.run(create, check=True, cwd=folder, capture_output=True, timeout=PATIENCE, **who)
        yield Cluster(folder, postgres, who, fsync)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged() -> pwd.struct_passwd | None:
    """Someone else to run a server as, if we are root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    _give_up("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")


def _wait(psycopg: Any, address: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.05)


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium without a window, driven by playwright."""
    driver = find_module("playwright.sync_api", "playwright")
    program = find_program(("chromium", "chromium-browser", "google-chrome"), "chromium")
    with driver.sync_playwright() as playwright:
        window = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield window
        finally:
            window.close()
