"""Time meanbounds beside other libraries, and write RESULTS.md: ``python -m benchmarks.run [--quick]``.

Ends with status 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.contest import Contest
from benchmarks.report import report
from benchmarks.targets import cold_starts, targets
from benchmarks.workloads import LINEAR, PULLS, SIMULATIONS

LIBRARIES = ("pymab", "xbandits", "river", "coba", "smpybandits", "mabwiser", "banditlab", "plain")
PAGE = Path(__file__).with_name("RESULTS.md")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one turn with a fifth of the rounds; print only")
    quick = parser.parse_args(arguments).quick
    turns, share = (1, 0.2) if quick else (5, 1.0)
    with Contest(["ours", *LIBRARIES], _say) as contest:
        own = contest.contestants[0].games
        for game in (*SIMULATIONS, *LINEAR):
            contest.play([game, f"numpy {game}"], turns, share)
        for game in PULLS:
            contest.play(
                [game, *(name for name in own if name.startswith("agent") and name.endswith(game))], turns, share
            )
        contest.play(
            [name for name in own if name not in {game for _, game in contest.times.nanoseconds}], turns, share
        )
    _say("first decisions")
    found = targets(contest.times, cold_starts(turns))
    text = report(LIBRARIES, contest.times, found)
    if not quick:
        PAGE.write_text(text, encoding="utf-8")
    print(text)
    return int(not all(target.kept for target in found))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
