"""``meanbounds simulate``: run a study that a TOML file describes."""

from __future__ import annotations

import argparse
from pathlib import Path

import meanbounds as mb
from meanbounds.cli.command import Command
from meanbounds.cli.files import need, save_picture
from meanbounds.simulation import Blocks
from meanbounds.simulation.study import read_study
from meanbounds.support.locking import locked
from meanbounds.support.text import visible
from meanbounds.support.writing import write_text_atomically

__all__ = ["COMMAND", "write_study"]


def _add_options(parser: argparse.ArgumentParser) -> None:
    """The study, and where to put what it finds."""
    parser.add_argument(
        "study",
        type=Path,
        metavar="STUDY.toml",
        help="the file, for example study.toml: policies, environment, bounds, horizon, runs and seed; the guide's "
        "part on study files shows one",
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("study"), metavar="DIR", help="folder to write to; default: study"
    )
    parser.add_argument(
        "--backend", help="joblib backend to run on, for example loky or dask; default: threads of this process"
    )


def _run(options: argparse.Namespace) -> None:
    """Simulate, or continue an interrupted simulation, and write the results."""
    study = read_study(options.study)
    need("matplotlib", "pyarrow")
    with locked(options.output), Blocks(options.output / ".meanbounds-parts") as blocks:
        regret = mb.simulate(
            study.policies,
            study.environment,
            bounds=study.known,
            horizon=study.horizon,
            runs=study.runs,
            seed=study.seed,
            checkpoints=study.checkpoints,
            backend=options.backend,
            resume=blocks,
        )
        write_study(regret, options.output, study.title)


def write_study(regret: mb.Regret, folder: Path, title: str, *, picture_only: bool = False) -> None:
    """Write regret.parquet, summary.txt and regret.png, or only the picture, and print the summary."""
    from meanbounds.plots import plot_study

    title, written = visible(title), []
    if not picture_only:
        summary = f"{title}\n\n{regret.summary()}\n"
        written += [folder / "regret.parquet", folder / "summary.txt"]
        regret.save(written[0])
        write_text_atomically(written[1], summary)
        print(summary)
    written.append(save_picture(plot_study(regret, title), folder / "regret.png"))
    print("written: " + ", ".join(map(str, written)))


COMMAND = Command(
    name="simulate",
    help="the regret of policies in a study that a TOML file describes",
    example="meanbounds simulate study.toml -o results",
    add_options=_add_options,
    run=_run,
    resumes=True,
)
