"""Engines that run beside the tests, for this machine only: one Spark session and one PostgreSQL server for the run.

Where the environment says CI=true, programs that are missing are installed; elsewhere the tests that need them are
skipped, and say how to get them.
"""

import fcntl
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 60.0  # seconds that a server may take to start or stop


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local Spark session that listens on 127.0.0.1 alone."""
    sql = pytest.importorskip("pyspark.sql", reason='pip install ".[spark]"')
    if "JAVA_HOME" not in os.environ:
        find_program("java", "default-jre-headless")
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(prefix="meanbounds-spark-") as folder:
        warnings.simplefilter("ignore")  # about versions of pandas
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        builder = sql.SparkSession.builder.master("local[2]")
        for name, value in {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than our few rows
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": folder,
        }.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@dataclass
class Cluster:
    """A PostgreSQL database in a temporary folder, of which a server can be started again and again."""

    folder: Path
    program: str
    who: dict[str, Any]

    @property
    def url(self) -> str:
        return f"postgresql://tester@/postgres?host={self.folder}"

    @contextmanager
    def running(self, fsync: str = "on") -> Iterator[subprocess.Popen[bytes]]:
        """A server that has started, on a socket in the folder and on no port; at the end it is stopped."""
        import psycopg

        settings = [
            "listen_addresses=",
            f"unix_socket_directories={self.folder}",
            f"fsync={fsync}",
            "max_connections=40",
        ]
        command = [self.program, "-D", str(self.folder / "data"), *(part for own in settings for part in ("-c", own))]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.who) as process:
            try:
                wait_for(lambda: psycopg.connect(self.url).close(), psycopg.OperationalError, process)
                yield process
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)  # disconnects clients and stops
                    process.wait(PATIENCE)


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A new database, without a server yet."""
    pytest.importorskip("psycopg", reason='pip install ".[postgres]"')
    initdb, server = (find_program(name, "postgresql") for name in ("initdb", "postgres"))
    folder = Path(tempfile.mkdtemp(prefix="meanbounds-postgres-"))
    who: dict[str, Any] = {"cwd": folder}
    try:
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            account = pwd.getpwnam("postgres")
            os.chown(folder, account.pw_uid, account.pw_gid)
            who |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        options = ["-U", "tester", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        command = [initdb, "-D", str(folder / "data"), *options]
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE, **who)
        yield Cluster(folder, server, who)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a new PostgreSQL server for this run."""
    with cluster() as own, own.running(fsync="off"):
        yield own.url


@pytest.fixture
def postgres_database(postgres: str) -> Iterator[str]:
    """The URL of a new, empty database on that server."""
    import psycopg

    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        yield postgres.replace("/postgres?", f"/{name}?")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def wait_for(connect: Any, error: type[Exception], process: subprocess.Popen[bytes]) -> None:
    """Try to connect until it works, or the server has stopped."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return connect()
        except error:
            if process.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.05)


def find_program(name: str, package: str) -> str:
    """The path of a program; if it is missing, install its package (CI), or skip the test."""
    found = look(name)
    if found is None and os.environ.get("CI") == "true" and os.geteuid() == 0:
        with (Path(tempfile.gettempdir()) / "meanbounds-apt-get.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # one worker at a time
            for command in (["update"], ["install", "-y", package]):
                subprocess.run(["apt-get", "-q", *command], check=True, capture_output=True, timeout=300)
        found = look(name)
    if found is None:
        pytest.skip(f"{name} is missing: apt-get install {package} (done by the tests where CI=true, as root)")
    return found


def look(name: str) -> str | None:
    """A program on the PATH, or where Debian keeps those of PostgreSQL."""
    elsewhere = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return shutil.which(name) or next(map(str, elsewhere), None)
