"""From the log of experts to decisions, in the terminal and on a page: ``python -m examples.demo --out demo``.

Two stories: an invented clinic, whose truth is known, and a real stroke trial. `examples.bounds` has a third one, which
starts from bounds and no log.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import meanbounds as mb
from examples import clinic, stroke
from examples.page import page, story

LEAD = """<p class="lead">People decide, again and again, and somebody keeps a log. They saw more than the log
records, so its averages mislead. meanbounds computes what the log does say, and starts an agent that takes over only
what it does at least as well as the people who wrote it: the sum of expected outcomes never falls further below theirs
than promised, at any moment, with a stated probability.</p>"""
FOOTER = """Made by <code>make demo</code> with meanbounds; this run computed every figure, with fixed seeds. The bounds
follow <i>Bandits with Mean Bounds</i> (Sharma, Basu, Shanmugam and Shakkottai, TMLR 2024), extended to finite logs and
to experts of whom nothing is assumed. The guard is that of <i>Conservative Bandits</i> (Wu, Shariff, Lattimore and
Szepesv&aacute;ri, ICML 2016), with one limit on the sum of all options."""


def write(out: Path, first: clinic.Story, second: stroke.Story) -> Path:
    """Write the page, the agent of the clinic, and the page about its log."""
    sections = [
        clinic.highlights(first),
        story("An invented clinic", "<p>All its numbers are made up, so the truth is known.</p>"),
        *clinic.parts(first),
        story("A real trial", "<p>The patients are real. Only the experts are supposed.</p>"),
        *stroke.parts(second),
    ]
    mb.logs.explain(first.counts, promise=clinic.PROMISE).save(out / "log.html")
    first.start.save(out / "agent.json")
    path = out / "index.html"
    path.write_text(page("From a log to decisions", LEAD, sections, FOOTER), encoding="utf-8")
    return path


def main(arguments: list[str] | None = None) -> None:
    """Tell both stories in the terminal, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description="From a log to decisions.")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the page (default: demo)")
    given = parser.parse_args(arguments)
    log = clinic.write_log(given.out / "clinic.csv")
    first = clinic.tell(log)
    clinic.show(first)
    print("\nThe stroke trial: two kinds of experts, 50,000 decisions each ...", flush=True)
    second = stroke.tell()
    stroke.show(second)
    path = write(given.out, first, second)
    print(f"\nThe same with pictures: {path}. The log, its page and the agent are beside it.")


if __name__ == "__main__":
    main()
