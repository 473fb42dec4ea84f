"""Engines that run beside the tests: a Spark session, a PostgreSQL server and a browser, for this machine only."""

from __future__ import annotations

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
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 60.0  # seconds a server may take to start


@contextmanager
def spark_session() -> Iterator[Any]:
    """A local session that listens on 127.0.0.1 alone."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java; there is no java on the PATH")
    pytest.importorskip("pyspark", reason='pyspark is not installed: pip install "meanbounds[spark]"')
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
    for program in ("initdb", "postgres"):
        if shutil.which(program) is None:
            pytest.skip(f"no PostgreSQL server to test with: {program} is not on the PATH")
    psycopg = pytest.importorskip("psycopg", reason='psycopg is not installed: pip install "meanbounds[postgres]"')
    account = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="meanbounds-postgres-"))
    try:
        who: dict[str, Any] = {}
        if account is not None:
            os.chown(folder, account.pw_uid, account.pw_gid)
            who = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        data = str(folder / "data")
        initdb = ["initdb", "-D", data, "-U", "tester", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        subprocess.run(initdb, check=True, cwd=folder, capture_output=True, timeout=PATIENCE, **who)
        settings = ["listen_addresses=", f"unix_socket_directories={folder}", "fsync=off", "max_connections=10"]
        command = ["postgres", "-D", data, *(part for setting in settings for part in ("-c", setting))]
        log = subprocess.DEVNULL
        with subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, **who) as server:
            try:
                address = f"host={folder} user=tester dbname=postgres"
                _wait(psycopg, address, server)
                yield address
            finally:
                server.send_signal(signal.SIGINT)  # disconnects clients and stops
                server.wait(PATIENCE)
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
    pytest.skip("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")


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
    """Chromium without a window, driven by playwright; installed from Debian if it is missing and that is possible."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    program = _chromium()
    with driver.sync_playwright() as playwright:
        window = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield window
        finally:
            window.close()


def _chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        pytest.skip("no chromium on the PATH, and it cannot be installed here: that takes apt-get and root")
    for command, seconds in ((["apt-get", "update", "-q"], 60), (["apt-get", "install", "-y", "-q", "chromium"], 240)):
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=seconds)
        except subprocess.SubprocessError as error:
            pytest.skip(f"no chromium on the PATH, and {' '.join(command)} failed: {error}")
    return shutil.which("chromium") or pytest.skip("chromium was installed but is not on the PATH")
