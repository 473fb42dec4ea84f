"""What trust in bounds costs while they hold, and saves if they do not, for every policy that uses bounds.

`python -m benchmarks.doubt` plays a few runs of each part and prints the tables; `--share 1` plays all of them and
writes docs/doubt.md. Letters after it choose the parts: `python -m benchmarks.doubt a`.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import meanbounds as mb
from benchmarks.contenders import contenders, share_of, starts_from_log
from benchmarks.pages import kept_part, paragraph, table, table_rows, today
from benchmarks.played import release_seed
from meanbounds.paper.base import expecting
from meanbounds.support.types import Floats
from meanbounds.support.writing import write_text_atomically

PAGE = Path(__file__).parents[1] / "docs" / "doubt.md"
MEANS = (0.9, 0.8, 0.7, 0.6, 0.5)
TRUSTS = (1.0, 0.9999, 0.99, 0.9, 0.0)
DOUBTS = (0.99, 0.9)  # trusts for which regret must stop growing
ROUNDS = (1_000, 10_000, 100_000)
LATE = (100_000, 1_000_000)
RIGHT = ("right, nothing pruned", "right, three of five pruned")

CASES: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "right, nothing pruned": ((0.7, 0.6, 0.5, 0.4, 0.3), (0.99, 0.95, 0.9, 0.85, 0.8)),
    "right, three of five pruned": ((0.75, 0.65, 0.5, 0.4, 0.3), (0.95, 0.85, 0.74, 0.7, 0.6)),
    "best arm's cap 0.08 too low": ((0.6, 0.6, 0.5, 0.4, 0.3), (0.82, 0.95, 0.9, 0.85, 0.8)),
    "best arm pruned": ((0.5, 0.78, 0.5, 0.4, 0.3), (0.75, 0.95, 0.9, 0.77, 0.7)),
    "a bad arm thought best": ((0.7, 0.6, 0.5, 0.4, 0.93), (0.95, 0.9, 0.85, 0.8, 0.99)),
    "all bounds wrong": ((0.3, 0.2, 0.1, 0.75, 0.9), (0.6, 0.5, 0.4, 0.85, 0.97)),
}
"""Lower and upper bounds of five arms whose means are `MEANS`."""

WRONG = tuple(name for name in CASES if name not in RIGHT)


@dataclass(frozen=True)
class Part:
    """A part of the page: what it is about, its columns, the rows of a policy, and how many runs that takes."""

    title: str
    about: str
    columns: Sequence[str]
    rows: Callable[[str, mb.Policy, int, int], Sequence[Sequence[str]]]
    runs: int


def doubting() -> dict[str, mb.Policy]:
    """The policies that look at bounds, each with its own defaults."""
    known = mb.Knowledge(mb.MeanBounds(*CASES[RIGHT[1]]), trust=0.9)
    return {
        label: policy
        for label, policy in contenders().items()
        if policy == type(policy)() and not starts_from_log(policy) and policy.plan(known).is_doubted
    }


def runs_of(policy: mb.Policy, runs: int) -> int:
    """How many runs a policy plays; Thompson sampling draws from mixtures here, which takes its time."""
    fewer = round(0.2 * runs) if isinstance(policy, mb.ThompsonSampling) else runs
    return share_of(policy, max(fewer, 2), fewest=2)


def regret(policy: mb.Policy, case: str, trust: float, rounds: Sequence[int], runs: int, seed: int) -> Floats:
    """The regret of each run at these rounds: runs x rounds."""
    known = mb.Knowledge(mb.MeanBounds(*CASES[case]), trust=trust)
    with expecting("is outside its bounds"):
        played = mb.simulate(
            {"policy": policy},
            mb.Bernoulli(MEANS),
            known,
            horizon=rounds[-1],
            runs=runs_of(policy, runs),
            seed=seed,
            checkpoints=rounds,
            progress=False,
        )
    return played.curves["policy"]


def table_of(label: str, policy: mb.Policy, runs: int, seed: int) -> list[list[str]]:
    """The mean regret in each case, by trust."""
    rows = []
    for trust in TRUSTS:
        found = [regret(policy, case, trust, ROUNDS, runs, seed).mean(axis=0) for case in CASES]
        rows.append([f"{label}, {trust:g}", *(" / ".join(f"{value:.0f}" for value in means) for means in found)])
    return rows


def late_rows(label: str, policy: mb.Policy, runs: int, seed: int) -> list[list[str]]:
    """By how much regret grows from 100,000 to a million rounds where bounds are wrong."""
    rows = []
    for trust in DOUBTS:
        found = [regret(policy, case, trust, LATE, runs, seed).mean(axis=0) for case in WRONG]
        cells = [f"{early:.0f} / {late:.0f}: {late / early:.2f}" for early, late in found]
        rows.append([f"{label}, {trust:g}", *cells])
    return rows


def allowed(policy: mb.Policy, trust: float, rounds: Sequence[int]) -> Floats:
    """What doubt may cost to first order while bounds hold, where three of five arms are pruned; see docs/trust.md."""
    known = mb.Knowledge(mb.MeanBounds(*CASES[RIGHT[1]]), trust=trust)
    plays = mb.theory.doubt_plays(MEANS, known, rounds, policy=policy, form="first order")
    return plays @ (max(MEANS) - np.array(MEANS))


def price_rows(label: str, policy: mb.Policy, runs: int, seed: int) -> list[list[str]]:
    """What doubt costs while bounds hold, beside what theory allows."""
    rows = []
    certain = regret(policy, RIGHT[1], 1.0, ROUNDS, runs, seed).mean(axis=0)
    for trust in TRUSTS[1:-1]:
        own = regret(policy, RIGHT[1], trust, ROUNDS, runs, seed).mean(axis=0) - certain
        limits = allowed(policy, trust, ROUNDS)
        cells = [f"{value:.1f} of {limit:.1f}" for value, limit in zip(own, limits, strict=True)]
        rows.append([f"{label}, {trust:g}", *cells])
    return rows


def alarm_rows(label: str, policy: mb.Policy, runs: int, seed: int) -> list[list[str]]:
    """In how many runs wrong bounds are contradicted, and when."""
    return [[f"{label}, {trust:g}", *(_alarms(policy, case, trust, runs, seed) for case in WRONG)] for trust in DOUBTS]


def _alarms(policy: mb.Policy, case: str, trust: float, runs: int, seed: int) -> str:
    bounds = mb.MeanBounds(*CASES[case])
    found = mb.simulation.first_contradictions(
        policy,
        mb.Bernoulli(MEANS),
        mb.Knowledge(bounds, trust=trust),
        horizon=ROUNDS[-1],
        runs=runs_of(policy, runs),
        seed=seed,
        checkpoints=np.unique(np.geomspace(10, ROUNDS[-1], 60).astype(np.int64)).tolist(),
    )
    wrong = np.stack([bounds.lower > np.array(MEANS), bounds.upper < np.array(MEANS)])
    first = np.where(found > 0, found, np.inf)[:, wrong].min(axis=1)
    return f"{np.isfinite(first).mean():.0%} ({np.median(first):.0f})"


PARTS: Mapping[str, Part] = {
    "a": Part(
        "Right and wrong bounds, by trust",
        f"""Mean regret after {" / ".join(f"{t:,}" for t in ROUNDS)} rounds, by policy and trust; a trust of 0 is no
        bounds. Rewards are 0 and 1, and the means are {", ".join(f"{mean:g}" for mean in MEANS)}.""",
        list(CASES),
        table_of,
        runs=20,
    ),
    "b": Part(
        "Does the loss end?",
        f"""Where bounds are wrong: mean regret after {LATE[0]:,} and {LATE[1]:,} rounds, and their ratio. A policy that
        keeps losing at the same rate would have a ratio of 10.""",
        WRONG,
        late_rows,
        runs=10,
    ),
    "c": Part(
        "The price of doubt",
        """What doubt costs while bounds hold, three of five arms pruned: regret beyond that of certain bounds, and the
        most that docs/trust.md allows to first order, after so many rounds.""",
        [f"{t:,}" for t in ROUNDS],
        price_rows,
        runs=50,
    ),
    "d": Part(
        "Do wrong bounds come to light?",
        f"""Where bounds are wrong: the share of runs in which a bound that does not hold is contradicted within
        {ROUNDS[-1]:,} rounds, with an error of 0.01, and the median round of the first such alarm.""",
        WRONG,
        alarm_rows,
        runs=100,
    ),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Play some parts, print them, and write the page if all runs of all parts were played."""
    parser = argparse.ArgumentParser(description="What trust in bounds costs and saves, into docs/doubt.md.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[], help="which parts; all by default")
    parser.add_argument("--share", type=float, default=0.1, help="share of the runs to play; 1 writes the page")
    parser.add_argument("--policies", nargs="*", help="labels of policies to play; all by default")
    parser.add_argument("-o", "--output", type=Path, help="the page to write; docs/doubt.md if everything is played")
    parser.add_argument("--kept", type=Path, help="folder of parts that were played before, and that are kept there")
    parser.add_argument("--seed", type=int, default=release_seed(), help="of the rewards; by the release by default")
    given = parser.parse_args(arguments)
    policies = {label: own for label, own in doubting().items() if given.policies is None or label in given.policies}
    bodies = {}
    for letter in given.parts or PARTS:
        part = PARTS[letter]
        runs = max(2, round(given.share * part.runs))
        lines = [table(["policy, trust", *part.columns], [])]
        for label, policy in policies.items():
            print(letter, label, file=sys.stderr, flush=True)
            rows = functools.partial(_rows, part, label, policy, runs, given.seed)
            lines.append(kept_part(given.kept, f"{letter}-{runs}-{given.seed}-{label}", rows))
        bodies[part.title] = "\n".join([paragraph(f"{part.about} Figures are of {runs} runs."), "", *lines])
    command = " ".join(["python -m benchmarks.doubt", *given.parts, f"--share {given.share:g}"])
    about = f"""Every policy that uses bounds, with bounds that are right or wrong, trusted more or less; docs/trust.md
    says what trust is. Written by `{command}` on {today()} with meanbounds {mb.__version__}, seed {given.seed}. Slow
    policies play fewer of the runs."""
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in bodies.items())
    text = f"# What trust costs and saves\n\n{paragraph(about)}\n\n{body}\n"
    print(text)
    whole = given.share >= 1.0 and not given.parts and given.policies is None
    output = given.output or (PAGE if whole else None)
    if output is not None:
        write_text_atomically(output, text)


def _rows(part: Part, label: str, policy: mb.Policy, runs: int, seed: int) -> str:
    return table_rows(part.rows(label, policy, runs, seed))


if __name__ == "__main__":
    main()
