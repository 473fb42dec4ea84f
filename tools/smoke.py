"""Try an installed meanbounds: how long a second import takes, and what works with the packages that are there.

Usage: python -I tools/smoke.py [EXTRA]. `make dist` runs it in environments that hold the wheel and one extra. What
needs an extra that is missing has to say which one; what needs the extra that was installed has to work. It needs
nothing but meanbounds, and prints what it found as JSON.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

IMPORTS = 3  # processes of which the quickest counts
PATIENCE = 60.0  # seconds for the service to answer


class Feature(NamedTuple):
    """Something that needs an extra: which packages, and a call that uses them."""

    name: str
    extra: str
    packages: tuple[str, ...]
    use: Callable[[Path], object]


class Outcome(NamedTuple):
    """What came of a feature: whether it is as it should be, and in words."""

    feature: str
    extra: str
    right: bool
    said: str


def core(folder: Path) -> None:
    """What works without any extra: an agent that is saved and goes on, a simulation, a command."""
    import meanbounds as mb

    bounds = mb.MeanBounds([0.7, 0.2, 0.4], [0.95, 0.9, 0.8], arms=["tPA", "medical", "watch"])
    agent = mb.Agent(mb.BIMED(), bounds, seed=7)
    agent.update(agent.pull(), reward=1.0)
    agent.save(folder / "agent.json")
    assert mb.Agent.load(folder / "agent.json").pull() == agent.pull()
    regret = mb.simulate([mb.UCB(), mb.GLUE()], mb.Bernoulli([0.9, 0.8, 0.5]), bounds, horizon=100, runs=4, seed=7)
    assert "GLUE" in regret.summary()
    done = _command("decide", str(folder / "agent.json"), "--id", "1")
    assert "tPA" in done.stdout or "medical" in done.stdout or "watch" in done.stdout, done


def pictures(folder: Path) -> None:
    """A picture in a file."""
    import meanbounds as mb

    regret = mb.simulate(mb.UCB(), mb.Bernoulli([0.9, 0.8]), horizon=20, runs=2, seed=7)
    figure = regret.plot().get_figure(root=True)
    assert figure is not None
    figure.savefig(folder / "regret.png")


def frames(folder: Path) -> None:
    """Bounds as a data frame, a result in a Parquet file."""
    import meanbounds as mb

    assert len(mb.MeanBounds([0.1], [0.2]).to_frame()) == 1
    regret = mb.simulate(mb.UCB(), mb.Bernoulli([0.9, 0.8]), horizon=20, runs=2, seed=7)
    regret.save(folder / "regret.parquet")
    assert (mb.Regret.load(folder / "regret.parquet").final["UCB"] == regret.final["UCB"]).all()


def trial(_: Path) -> None:
    """The real trial that comes with the package."""
    import meanbounds as mb

    assert mb.stroke_trial().log(100, seed=1).shape[0] == 100


def completion(_: Path) -> None:
    """The module that completes a matrix of ratings."""
    importlib.import_module("meanbounds.worlds.softimpute")


def log_file(folder: Path) -> None:
    """A log in a CSV file, and an agent that starts from it."""
    import meanbounds as mb

    counts = mb.logs.read(_csv(folder), context="context", arm="arm", reward="reward")
    assert mb.logs.agent(counts, seed=7).pull("north") in ("a", "b")


def refutation(folder: Path) -> None:
    """Which assumptions a log speaks against."""
    done = _command("refute", str(_csv(folder)), "--context", "context", "--assume", "erring=0.05")
    if done.returncode:
        raise ModuleNotFoundError(done.stderr.strip())


def spark(folder: Path) -> None:
    """A log in Spark, as far as this machine has Java."""
    import meanbounds as mb

    try:
        mb.logs.read(_csv(folder), arm="arm", reward="reward", engine="spark")
    except ModuleNotFoundError:
        raise
    except Exception:
        if shutil.which("java"):
            raise


def postgres(_: Path) -> None:
    """A log in PostgreSQL, up to a server that is not there."""
    import meanbounds as mb

    nowhere = f"host=127.0.0.1 port={_free_port()} connect_timeout=2"
    try:
        mb.logs.read("log", arm="arm", reward="reward", engine="postgres", connection=nowhere)
    except ValueError as error:
        if "PostgreSQL" in str(error):
            return
        raise
    raise RuntimeError("there is no server, and yet it answered")


def service(folder: Path) -> None:
    """A service in a process of its own that is asked over HTTP."""
    import meanbounds as mb
    from meanbounds.service import Client

    mb.Agent(mb.BIMED(), mb.MeanBounds([0.2, 0.1], [0.9, 0.5], arms=["a", "b"]), seed=7).save(folder / "served.json")
    port = _free_port()
    command = [sys.executable, "-m", "meanbounds", "serve", "served.json", "--port", str(port)]
    with (folder / "served.txt").open("w") as said:
        process = subprocess.Popen(command, cwd=folder, stdout=said, stderr=said)
        try:
            _wait_for(process, port)
            with Client(f"http://127.0.0.1:{port}") as client:
                decision = client.decide(agent="served")
                client.reward(decision["decision_id"], 1.0)
            assert decision["arm"] in ("a", "b")
        except Exception as error:
            printed = (folder / "served.txt").read_text()
            raise RuntimeError(f"{printed}\n{type(error).__name__}: {error}") from error
        finally:
            process.terminate()
            process.wait(PATIENCE)


def cluster(_: Path) -> None:
    """A simulation on Dask, in this process."""
    import meanbounds as mb

    plain = mb.simulate(mb.UCB(), mb.Bernoulli([0.9, 0.8]), horizon=20, runs=4, seed=7)
    if not importlib.util.find_spec("distributed"):
        mb.simulate(mb.UCB(), mb.Bernoulli([0.9, 0.8]), horizon=20, runs=4, seed=7, backend="dask")
        return
    distributed = importlib.import_module("distributed")
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
        there = mb.simulate(mb.UCB(), mb.Bernoulli([0.9, 0.8]), horizon=20, runs=4, seed=7, backend="dask")
    assert (there.final["UCB"] == plain.final["UCB"]).all()


def river(_: Path) -> None:
    """A policy for river."""
    fits = importlib.import_module("meanbounds.fits.river")
    mb = importlib.import_module("meanbounds")

    own = fits.RiverPolicy(mb.UCB(), mb.MeanBounds([0.2, 0.1], [0.9, 0.5]), seed=7)
    arm = own.pull([0, 1])
    own.update(arm, 1.0)


def gymnasium(_: Path) -> None:
    """An environment for Gymnasium."""
    fits = importlib.import_module("meanbounds.fits.gymnasium")
    mb = importlib.import_module("meanbounds")

    env = fits.BanditEnv(mb.Bernoulli([0.9, 0.5]), horizon=1)
    env.reset(seed=7)
    assert env.step(1)[3]


FEATURES = (
    Feature("pictures", "plots", ("matplotlib",), pictures),
    Feature("data frames and Parquet files", "frames", ("pandas", "pyarrow"), frames),
    Feature("the stroke trial", "worlds", ("pandas", "pyarrow"), trial),
    Feature("completion of a matrix", "worlds", ("scipy",), completion),
    Feature("a log in a file", "logs", ("duckdb", "pyarrow"), log_file),
    Feature("tests of an assumption", "logs", ("duckdb", "pyarrow", "scipy"), refutation),
    Feature("a log in Spark", "spark", ("pyspark", "pyarrow"), spark),
    Feature("a log in PostgreSQL", "postgres", ("psycopg",), postgres),
    Feature("decisions over HTTP", "service", ("starlette", "msgspec", "uvicorn", "httpx"), service),
    Feature("simulations on Dask", "distributed", ("dask", "distributed"), cluster),
    Feature("policies for river", "river", ("river",), river),
    Feature("environments for Gymnasium", "gymnasium", ("gymnasium",), gymnasium),
)
"""What needs an extra; every extra for users has at least one line."""


def tried(feature: Feature, installed: str) -> Outcome:
    """Use a feature: it has to work if its packages are there, else to name its extra.

    The packages of `installed` have to be there: otherwise the extra does not bring what it promises.
    """
    missing = [package for package in feature.packages if not importlib.util.find_spec(package)]
    if missing and installed in (feature.extra, "all") and _part_of_all(feature.extra, installed):
        return Outcome(feature.name, feature.extra, False, f"[{installed}] does not install {', '.join(missing)}")
    with tempfile.TemporaryDirectory() as folder:
        try:
            feature.use(Path(folder))
        except ModuleNotFoundError as error:
            named = re.search(rf'pip install "meanbounds\[{feature.extra}\]"', str(error)) is not None
            return Outcome(feature.name, feature.extra, bool(missing) and named, str(error))
        except Exception as error:
            return Outcome(feature.name, feature.extra, False, f"{type(error).__name__}: {error}")
    if missing:
        return Outcome(feature.name, feature.extra, False, f"worked without {', '.join(missing)}")
    return Outcome(feature.name, feature.extra, True, "works")


def import_seconds() -> float:
    """Time of ``import meanbounds`` in a new process, after one that has left its files behind; quickest of several."""
    code = "import time; start = time.perf_counter(); import meanbounds; print(time.perf_counter() - start)"
    return min(_timed(code) for _ in range(1 + IMPORTS))


def decision_seconds() -> float:
    """Time from the start of the import to the first decision of an agent in a new process, its kernels compiled."""
    code = (
        "import time; start = time.perf_counter(); import meanbounds as mb; "
        "mb.Agent(mb.BIMED(), mb.MeanBounds([0.2, 0.1], [0.9, 0.5]), seed=7).pull(); print(time.perf_counter() - start)"
    )
    return min(_timed(code) for _ in range(1 + IMPORTS))


def _timed(code: str) -> float:
    done = subprocess.run([sys.executable, "-I", "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def _part_of_all(extra: str, installed: str) -> bool:
    return installed != "all" or extra not in ("spark", "postgres", "river", "gymnasium")


def _command(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-m", "meanbounds", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def _csv(folder: Path) -> Path:
    path = folder / "log.csv"
    rows = [f"{context},{arm},{k % 2}" for k in range(50) for context in ("north", "south") for arm in ("a", "b")]
    path.write_text("\n".join(["context,arm,reward", *rows, ""]), encoding="utf-8")
    return path


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until something listens."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("the service did not start")


def main(installed: str = "") -> None:
    """Try everything, and print what came of it."""
    os.environ["MPLBACKEND"] = "Agg"
    with tempfile.TemporaryDirectory() as folder:
        core(Path(folder))
    outcomes = [tried(feature, installed) for feature in FEATURES]
    found = {
        "import_seconds": import_seconds(),
        "decision_seconds": decision_seconds(),
        "outcomes": [outcome._asdict() for outcome in outcomes],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
