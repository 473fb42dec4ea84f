"""The command `meanbounds`."""

from __future__ import annotations

import argparse
import math
import sys
import textwrap
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import meanbounds as mb
from meanbounds.simulation.study import read_study

__all__ = ["main"]

_EXAMPLES = """\
examples:
  meanbounds demo                            from a log to decisions, with a page of pictures in ./demo
  meanbounds lab -o lab                      write an expert's log to try the next two on
  meanbounds bounds lab/log.parquet --context context --arm arm --reward reward --gap-low 0.05 --confidence 0.95
  meanbounds sensitivity lab/log.parquet --context context --arm arm --reward reward --gap-low 0.1 0.05 0
  meanbounds simulate study.toml -o results  run a study, or go on with an interrupted one
  meanbounds reproduce --quick               every figure and table of the paper, and what becomes of its claims
  meanbounds proxy 0.9                       variance proxy of a reward on [0, 1] with mean 0.9
  meanbounds proxy 0.6 0.8                   ... with a mean between 0.6 and 0.8
  meanbounds prune 0.7:0.95 0.2:0.6          which of these arms can be best
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0 if all went well and 2 if the input was at fault."""
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], None] = options.run
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            run(options)
        for warning in caught:
            print(f"meanbounds: warning: {warning.message}", file=sys.stderr)
    except (ValueError, OSError) as error:
        print(f"meanbounds: {error}", file=sys.stderr)
        return 2
    except ImportError as error:  # pandas has a text of its own, of several lines, where pyarrow is missing
        what = f"{error.name} is not installed" if error.name else str(error).splitlines()[0]
        print(f'meanbounds: {what}; pip install "meanbounds[all]"', file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        resumes = "; the same command goes on where it stopped" if run in (_simulate, _reproduce) else ""
        print(f"meanbounds: interrupted{resumes}", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="meanbounds",
        description="Bandits that start from bounds on each arm's mean.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"meanbounds {mb.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="from a log to decisions, with pictures")
    demo.add_argument("-o", "--output", type=Path, default=Path("demo"), metavar="DIR", help="default: demo")
    demo.add_argument("--picture-only", action="store_true", help="write the picture and nothing else")
    demo.set_defaults(run=_demo)

    simulate = commands.add_parser("simulate", help="run a study described in a TOML file")
    simulate.add_argument("study", type=Path, metavar="STUDY.toml")
    simulate.add_argument("-o", "--output", type=Path, default=Path("study"), metavar="DIR", help="default: study")
    simulate.add_argument("--backend", help="joblib backend to run on, for example loky or dask")
    simulate.set_defaults(run=_simulate)

    bounds = commands.add_parser("bounds", help="bounds on every arm's mean from the log of an expert who saw more")
    _add_log(bounds, several=False)
    bounds.add_argument("--any-expert", action="store_true", help="assume nothing of the expert; gaps are not used")
    bounds.add_argument("-o", "--output", type=Path, metavar="BOUNDS.json", help="write the bounds")
    bounds.add_argument("--plot", type=Path, metavar="PICTURE.png", help="draw the bounds")
    bounds.set_defaults(run=_bounds)

    sensitivity = commands.add_parser("sensitivity", help="how much hangs on the gaps, the confidence and a shift")
    _add_log(sensitivity, several=True)
    sensitivity.add_argument("-o", "--output", type=Path, metavar="TABLE.csv", help="write the whole grid")
    sensitivity.add_argument("--plot", type=Path, metavar="PICTURE.png", help="heat map over both gaps")
    sensitivity.set_defaults(run=_sensitivity)

    lab = commands.add_parser("lab", help="write the log of an expert in a made-up world, and its truth")
    lab.add_argument("-o", "--output", type=Path, default=Path("lab"), metavar="DIR", help="default: lab")
    for name, default in (("rows", 20_000), ("visible", 3), ("hidden", 6), ("arms", 5), ("seed", 7)):
        lab.add_argument(f"--{name}", type=int, default=default, help=f"default: {default}")
    lab.set_defaults(run=_lab)

    reproduce = commands.add_parser(
        "reproduce", help="figures and tables of the paper, its claims and what was measured"
    )
    reproduce.add_argument("names", nargs="*", metavar="NAME", help="default: all; see --list")
    reproduce.add_argument("--list", action="store_true", help="list the names and leave")
    reproduce.add_argument("--quick", action="store_true", help="few runs, to see whether it works")
    reproduce.add_argument(
        "--movielens", type=Path, metavar="PATH", help="files of MovieLens 1M; default: made-up data"
    )
    reproduce.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="default: reproduce, with --quick reproduce-quick"
    )
    reproduce.set_defaults(run=_reproduce)

    proxy = commands.add_parser("proxy", help="variance proxy from a mean, or from bounds on it")
    proxy.add_argument("mean", type=float, nargs="+", metavar="MEAN", help="the mean, or a lower and an upper bound")
    proxy.add_argument("--range", type=float, nargs=2, default=(0.0, 1.0), metavar=("LOW", "HIGH"))
    proxy.set_defaults(run=_proxy)

    prune = commands.add_parser("prune", help="which arms can be best, and GLUE's factors")
    prune.add_argument("arm", nargs="+", metavar="LOWER:UPPER")
    prune.set_defaults(run=_prune)
    return parser


def _add_log(parser: argparse.ArgumentParser, several: bool) -> None:
    """What says how to read a log, and what is assumed of it."""
    values = "+" if several else None
    parser.add_argument("log", metavar="LOG", help="Parquet or CSV file, folder, or pattern such as 'logs/*.parquet'")
    parser.add_argument("--context", nargs="+", metavar="COLUMN", help="what was recorded; none: one context for all")
    parser.add_argument("--arm", required=True, metavar="COLUMN", help="what the expert chose")
    parser.add_argument("--reward", required=True, metavar="COLUMN", help="how it went")
    parser.add_argument("--range", type=float, nargs=2, default=(0.0, 1.0), metavar=("LOW", "HIGH"))
    parser.add_argument("--gap-low", type=float, nargs=values, default=[0.0] if several else 0.0, metavar="GAP")
    parser.add_argument("--gap-high", type=float, nargs=values, default=None, metavar="GAP")
    parser.add_argument(
        "--confidence", type=float, nargs=values, default=None, metavar="SHARE", help="for example 0.95"
    )
    parser.add_argument("--shift", type=float, nargs=values, default=[0.0] if several else 0.0, metavar="DISTANCE")
    parser.add_argument("--method", choices=("bernstein", "betting", "kl", "hoeffding"), default="bernstein")
    parser.add_argument("--arms", nargs="+", metavar="ARM", help="all arms, if some may be missing from the log")
    parser.add_argument("--on-bad", choices=("error", "drop"), default="error", help="rows that cannot be used")


def _read(options: argparse.Namespace) -> mb.logs.Counts:
    low, high = options.range
    counts = mb.logs.read(
        options.log,
        context=options.context,
        arm=options.arm,
        reward=options.reward,
        low=low,
        high=high,
        on_bad=options.on_bad,
        histogram=True if options.method == "betting" else "auto",
    )
    for kind, number in counts.dropped.items():
        print(f"dropped: {number:,} rows, {kind}")
    return counts


def _arms(options: argparse.Namespace, counts: mb.logs.Counts) -> list[str | int] | None:
    """The arms that were named, as integers where those of the log are."""
    if options.arms is None:
        return None
    whole = all(isinstance(arm, int) for arm in counts.arms)
    return [int(arm) if whole and arm.lstrip("-").isdigit() else arm for arm in options.arms]


def _size_of_log(options: argparse.Namespace) -> dict[str, Any]:
    """The confidence that was asked for; without one the log is taken for infinite."""
    return {"infinite": True} if options.confidence is None else {"confidence": options.confidence}


def _bounds(options: argparse.Namespace) -> None:
    counts = _read(options)
    assumed = {
        "gap_low": options.gap_low,
        "gap_high": options.gap_high,
        **_size_of_log(options),
        "method": options.method,
        "shift": options.shift,
        "assumption": "any-expert" if options.any_expert else "optimal-expert",
    }
    found = mb.logs.bounds(counts, arms=_arms(options, counts), **assumed)
    if options.confidence is None:
        print("the log is taken for infinite; --confidence 0.95 allows for its size")
    print(f"{counts.rows:,.0f} rows, {len(found)} contexts, {len(counts.arms)} arms")
    width = max(len(str(name)) for name in ("context", *found))
    names = max(len(str(arm)) for own in found.values() for arm in ("arm", *own.arms))
    print(f"{'context':<{width}}  {'arm':<{names}}  {'rows':>9}  {'lower':>8}  {'upper':>8}  can be best")
    for context, own in found.items():
        rows_of = counts.sums(context, own.arms).count
        for k, arm in enumerate(own.arms):
            word = "yes" if own.possible[k] else "no"
            rows = f"{rows_of[k]:,.0f}"
            print(
                f"{context!s:<{width}}  {arm!s:<{names}}  {rows:>9}  {own.lower[k]:>8.4f}  {own.upper[k]:>8.4f}  {word}"
            )
    if options.output:
        mb.logs.save_bounds(found, options.output, assumptions=assumed)
        print(f"written: {options.output}")
    if options.plot:
        from meanbounds.plots import plot_contexts

        plot_contexts(found).savefig(options.plot, dpi=150)
        print(f"written: {options.plot}")


def _sensitivity(options: argparse.Namespace) -> None:
    counts = _read(options)
    found = mb.logs.sensitivity(
        counts,
        gap_low=options.gap_low,
        gap_high=options.gap_high,
        **_size_of_log(options),
        shift=options.shift,
        method=options.method,
        arms=_arms(options, counts),
    )
    print(found.summary())
    if options.output:
        found.to_frame().to_csv(options.output, index=False)
        print(f"written: {options.output}")
    if options.plot:
        from matplotlib import pyplot as plt

        found.plot()
        plt.savefig(options.plot, dpi=150)
        print(f"written: {options.plot}")


def _lab(options: argparse.Namespace) -> None:
    options.output.mkdir(parents=True, exist_ok=True)
    lab = mb.HiddenContexts.random(options.visible, options.hidden, arms=options.arms, seed=options.seed)
    log, truth = options.output / "log.parquet", options.output / "truth.csv"
    lab.write_log(log, options.rows, seed=options.seed)
    with truth.open("w", encoding="utf-8") as file:
        file.write("context,arm,mean,gap_low,gap_high\n")
        for z, context in enumerate(lab.contexts):
            for k, arm in enumerate(lab.arms):
                file.write(
                    f"{context},{arm},{lab.marginal_means[z, k]:.6f},{lab.gap_low[z]:.6f},{lab.gap_high[z]:.6f}\n"
                )
    print(f"written: {log} ({options.rows:,} rows), {truth}")
    least, most = math.floor(1000 * lab.gap_low.min()) / 1000, math.ceil(1000 * lab.gap_high.max()) / 1000
    print(
        f"next: meanbounds bounds {log} --context context --arm arm --reward reward "
        f"--gap-low {least} --gap-high {most} --confidence 0.95"
    )


def _demo(options: argparse.Namespace) -> None:
    options.output.mkdir(parents=True, exist_ok=True)
    instance = mb.INSTANCES["high-lower-bound"]
    policies = {
        "UCB": mb.UCB(),
        "B-UCB": mb.BUCB(),
        "GLUE": mb.GLUE(),
        "B-KL-UCB": mb.BKLUCB(),
        "BIMED": mb.BIMED(),
        "Thompson sampling": mb.ThompsonSampling(),
    }
    regret = mb.simulate(policies, mb.Bernoulli(instance.means), instance.bounds, horizon=20_000, runs=200, seed=7)
    title = f"What bounds are worth: one arm is known to earn at least {instance.bounds.best_lower}"
    _write(regret, options.output, title, picture_only=options.picture_only)
    if options.picture_only:
        return
    ucb, glue = regret.final["UCB"], regret.final["GLUE"]
    won = (glue < ucb).mean()
    print(f"\nWith the bounds, GLUE loses {1 - glue.mean() / ucb.mean():.0%} less than UCB without them, and less in "
          f"{won:.0%} of the paired runs.\n")  # fmt: skip
    from meanbounds.cli.demo import write_page

    print(textwrap.fill("From a log to decisions. " + write_page(options.output), 100))
    print(f"written: {options.output / 'index.html'}, the whole road; log.parquet and bounds.json are beside it")


def _simulate(options: argparse.Namespace) -> None:
    study = read_study(options.study)
    options.output.mkdir(parents=True, exist_ok=True)
    regret = mb.simulate(
        study.policies,
        study.environment,
        study.bounds,
        horizon=study.horizon,
        runs=study.runs,
        seed=study.seed,
        checkpoints=study.checkpoints,
        backend=options.backend,
        resume=options.output / ".meanbounds-parts",
    )
    _write(regret, options.output, study.title)


def _reproduce(options: argparse.Namespace) -> None:
    from meanbounds.paper import NAMES, experiment

    if options.list:
        width = max(map(len, NAMES))
        for name in NAMES:
            module = experiment(name)
            print(f"{name:<{width}}  {module.SOURCE}: {module.TITLE}")
        return
    from meanbounds.paper.report import reproduce

    folder = options.output or Path("reproduce-quick" if options.quick else "reproduce")
    report = reproduce(options.names, folder, quick=options.quick, movielens=options.movielens)
    print(f"written: {report}; pictures and numbers are beside it")


def _write(regret: mb.Regret, folder: Path, title: str, picture_only: bool = False) -> None:
    from meanbounds.plots import plot_study

    written = []
    if not picture_only:
        summary = f"{title}\n\n{regret.summary()}\n"
        written += [folder / "regret.parquet", folder / "summary.txt"]
        regret.save(written[0])
        written[1].write_text(summary, encoding="utf-8")
        print(summary)
    written.append(folder / "regret.png")
    plot_study(regret, title).savefig(written[-1], dpi=150)
    print("written: " + ", ".join(map(str, written)))


def _proxy(options: argparse.Namespace) -> None:
    if len(options.mean) > 2:
        raise ValueError(f"proxy takes a mean, or a lower and an upper bound; got {len(options.mean)} numbers")
    print(f"{mb.variance_proxy_from_bounds(options.mean[0], options.mean[-1], *options.range):.12g}")


def _prune(options: argparse.Namespace) -> None:
    pairs = []
    for text in options.arm:
        try:
            lower, upper = (float(part) for part in text.split(":"))
        except ValueError:
            raise ValueError(f"expected LOWER:UPPER, such as 0.2:0.6; got {text!r}") from None
        pairs.append((lower, upper))
    bounds = mb.MeanBounds(*zip(*pairs, strict=True))
    print(f"{'arm':>4} {'lower':>8} {'upper':>8} {'can be best':>12} {'factor of GLUE':>15}")
    for k, possible in enumerate(bounds.possible):
        factor = f"{bounds.best_variance_proxy[k]:.6f}" if possible else "-"
        word = "yes" if possible else "no"
        print(f"{k:>4} {bounds.lower[k]:>8.4g} {bounds.upper[k]:>8.4g} {word:>12} {factor:>15}")


if __name__ == "__main__":
    sys.exit(main())
