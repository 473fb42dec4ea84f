"""Every policy in worlds of every kind, with right bounds and with wrong ones: who loses least.

`python -m benchmarks.rivals` writes docs/rivals.md; `--quick` takes few worlds, for a look at the page.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import meanbounds as mb
from benchmarks.contenders import FEWEST_RUNS, RECOMMENDED, contenders, slow_ones
from benchmarks.estimates import mean_limits
from benchmarks.pages import items, listed, paragraph, table, today
from benchmarks.played import Played, Setting, drawn, play, release_seed, scaled
from benchmarks.timing import Case, Race, race
from meanbounds.paper.verdicts import LEVEL, less
from meanbounds.simulation.pairs import sign_test
from meanbounds.simulation.tasks import task_for
from meanbounds.support.writing import write_text_atomically
from meanbounds.worlds.kinds import KINDS, World, instance_worlds, stroke_worlds

PAGE = Path(__file__).parents[1] / "docs" / "rivals.md"
TAILS = (95, 99)
TIMED = 20_000  # rounds of a run whose time is taken
FEW = 4  # runs of slow policies in each drawn world, at least: what is compared there are means of worlds


@dataclass(frozen=True)
class Size:
    """How many worlds and runs, how many rounds, and how many turns to take the time."""

    worlds: Mapping[str, int]
    runs: int
    rounds: tuple[int, ...]
    fixed_runs: int
    fixed_rounds: tuple[int, ...]
    turns: int


FULL = Size(
    {
        "expert's log": 30,
        "expert's log, much hidden": 30,
        "random bounds": 90,
        "expert who errs": 20,
        "best arm's cap too low": 20,
        "best arm pruned": 20,
        "worst arm thought best": 20,
    },
    20,
    (100, 1_000, 10_000),
    100,
    (100, 1_000, 10_000, 100_000),
    5,
)
QUICK = Size(dict.fromkeys(KINDS, 12), 10, (100, 1_000), 20, (100, 1_000), 1)


def settings(size: Size, seed: int) -> list[Setting]:
    """The made-up worlds, the instances of the package, and the stroke trial."""
    made = []
    for name, kind in KINDS.items():
        worlds = drawn(functools.partial(kind.world, seed), size.worlds[name])
        made.append(Setting(name, kind.about, worlds, size.runs, size.rounds, fewest=FEW))
    fixed: Sequence[tuple[str, str, Sequence[World]]] = (
        ("instances", "The four instances of `mb.INSTANCES`, with rewards of 0 and 1.", instance_worlds()),
        (
            "stroke trial",
            "The age bands of `mb.stroke_trial()`, with bounds at 95% from an expert's log of 50,000 patients and no "
            "gaps; outcomes have four values.",
            stroke_worlds(seed),
        ),
    )
    return made + [Setting(*parts, size.fixed_runs, size.fixed_rounds, drawn=False) for parts in fixed]


def costs(policies: Mapping[str, mb.Policy], turns: int) -> Race:
    """Time of a round of each policy, in turns, on one thread."""
    instance = next(iter(mb.INSTANCES.values()))
    environment = mb.Bernoulli(instance.means)

    def case(label: str, policy: mb.Policy) -> Case:
        def run(rounds: int) -> object:
            return task_for(policy, environment, instance.bounds, 1, np.array([rounds])).play(0, 1)

        return Case(label, TIMED, 1, run)

    return race([case(label, policy) for label, policy in policies.items()], turns)


def shown(played: Played) -> list[str]:
    """The policies in the order of their regret, without variants that played as the plain policy did."""
    last = played.setting.rounds[-1]
    kept: list[str] = []
    for label in played.labels:
        base = label.partition("(")[0]
        twin = base != label and base in kept and np.array_equal(played.informed[label], played.informed[base])
        if not twin:
            kept.append(label)
    return sorted(kept, key=lambda label: float(played.at(label, last).mean()))


def ranking(played: Played) -> str:
    """Regret of each policy at each checkpoint, its tails, and what it has without the bounds, least first."""
    setting = played.setting
    last = setting.rounds[-1]
    header = ["policy", *(f"{rounds:,}" for rounds in setting.rounds), *(f"{tail}%" for tail in TAILS), "no bounds"]
    rows = []
    for label in shown(played):
        row = [f"**{label}**" if label == RECOMMENDED else label]
        row += [str(mean_limits(played.at(label, rounds), setting.drawn)) for rounds in setting.rounds]
        row += [f"{np.percentile(played.at(label, last), tail):,.0f}" for tail in TAILS]
        without = played.at(label, last, False)
        same = np.array_equal(without, played.at(label, last))
        rows.append([*row, "same" if same else f"{without.mean():,.{0 if without.mean() >= 100.0 else 1}f}"])
    return table(header, rows)


def winners(played: Played) -> list[str]:
    """Policies with significantly less regret than the recommended one in the end, and by how much."""
    last = played.setting.rounds[-1]
    found = []
    for label in shown(played):
        own, best = played.pair((label, True), (RECOMMENDED, True), last)
        if label != RECOMMENDED and less(own, best):
            test = sign_test(own, best)
            pairs = f"{test.won} of {own.size} {played.setting.unit}"
            found.append(f"`{label}` ({test.first / test.second:.2f} of its regret, less in {pairs})")
    return found


def harmed(played: Played) -> list[str]:
    """Policies that lose significantly more with the bounds than without, over all worlds."""
    last = played.setting.rounds[-1]
    found = []
    for label in shown(played):
        own, without = played.pair((label, True), (label, False), last)
        if less(without, own):
            found.append(f"`{label}` ({own.mean() / without.mean():.2f} times)" if without.mean() else f"`{label}`")
    return found


def words(played: Played) -> str:
    """What the figures of a kind of worlds say."""
    setting, order = played.setting, shown(played)
    ahead, hurt = winners(played), harmed(played)
    place = order.index(RECOMMENDED) + 1
    parts = [
        f"Least regret after {setting.rounds[-1]:,} rounds: `{order[0]}`. `{RECOMMENDED}`, which README recommends, is "
        f"number {place} of {len(order)}.",
        f"Significantly better than `{RECOMMENDED}`: {', '.join(ahead)}."
        if ahead
        else f"No policy is significantly better than `{RECOMMENDED}`.",
        f"The bounds make these significantly worse: {', '.join(hurt)}."
        if hurt
        else "The bounds make no policy significantly worse.",
    ]
    return items(parts)


def cost_table(times: Race) -> str:
    """Cost of a round of each policy, as a multiple of UCB's, the cheapest first."""
    order = sorted(times.nanoseconds, key=lambda label: times.nanoseconds[label])
    rows = [
        [label, f"{_multiple(times.ratio(label, 'UCB'))} times", f"{times.nanoseconds[label]:,.0f} ns"]
        for label in order
    ]
    return table(["policy", "cost of a round", "here"], rows)


def _multiple(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10.0 else f"{ratio:.1f}"


def summary(results: Sequence[Played]) -> str:
    """For each kind of worlds the best policy, and the place of the recommended one."""
    rows = []
    for played in results:
        order = shown(played)
        beaten = len(winners(played))
        rows.append(
            [
                f"[{played.setting.name}](#{_anchor(played.setting.name)})",
                order[0],
                f"{order.index(RECOMMENDED) + 1} of {len(order)}",
                str(beaten) if beaten else "none",
            ]
        )
    return table(["worlds", "least regret", RECOMMENDED, "significantly better"], rows)


def _anchor(title: str) -> str:
    return "".join(c for c in title.lower() if c.isalnum() or c in " -").replace(" ", "-")


def page(results: Sequence[Played], times: Race, seed: int, notice: str = "") -> str:
    """The page, from the figures, with a notice above them."""
    how = f"""
    Regret is what a policy loses against playing the best arm all the time, in shares of the range of the rewards. Each
    cell is the mean after so many rounds, with 95% confidence limits for other worlds of the kind (for other runs, in
    the instances and the stroke trial). The columns 95% and 99% say which regret that share of the runs stays below in
    the end; "no bounds" is the mean of the same policy in the end when it knows the ranges of the rewards alone.
    Policies meet the same rewards. "Significantly" means: in the mean, and by an exact sign test over
    worlds (over runs, in the last two) at level {LEVEL}; no correction is made for the number of tests.
    {slow_ones(results[0].labels, "runs", FEW)} In the last two it is at least {FEWEST_RUNS}."""
    sections = []
    for one in results:
        setting = one.setting
        many = f"{len(setting.worlds)} worlds, {setting.runs} runs in each."
        title = f"{setting.name[0].upper()}{setting.name[1:]}"
        sections.append(f"## {title}\n\n{paragraph(f'{setting.about} {many}')}\n\n{words(one)}\n\n{ranking(one)}")
    command = paragraph(
        f"Written by `make rivals` on {today()} with meanbounds {mb.__version__}; the worlds are drawn with seed "
        f"{seed}, another one in each release. Policies: {listed(results[0].labels)}."
    )
    return f"""\
# Which policy loses least

Every policy of the package in worlds of several kinds, with right bounds and with wrong ones.
{f"{chr(10)}**{notice}**{chr(10)}" if notice else ""}
{summary(results)}

{paragraph(how)}

{command}

{(chr(10) * 2).join(sections)}

## What a round costs

{
        paragraph(
            "Policy and rewards together, on one thread, five arms; the policies take turns, and the best turn counts. "
            "Read the multiples of UCB: nanoseconds are those of one machine."
        )
    }

{cost_table(times)}
"""


def measure(size: Size, seed: int, policies: Mapping[str, mb.Policy], share: float = 1.0) -> list[Played]:
    """Play everything, or a share of the worlds and runs."""
    return [play(scaled(setting, share), policies, seed) for setting in settings(size, seed)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Play everything and write the page."""
    parser = argparse.ArgumentParser(description="Every policy in worlds of every kind, into docs/rivals.md.")
    parser.add_argument("--quick", action="store_true", help="few worlds and short runs")
    parser.add_argument("-o", "--output", type=Path, default=PAGE, help="the page to write; docs/rivals.md by default")
    parser.add_argument("--seed", type=int, default=release_seed(), help="of the worlds; by the release by default")
    parser.add_argument("--share", type=float, default=1.0, help="share of the worlds and runs to play")
    given = parser.parse_args(arguments)
    size, policies = QUICK if given.quick else FULL, contenders()
    results = measure(size, given.seed, policies, given.share)
    notice = "" if size is FULL and given.share == 1.0 else "A quick look with few worlds: `make rivals` plays more."
    write_text_atomically(given.output, page(results, costs(policies, size.turns), given.seed, notice))


if __name__ == "__main__":
    main()
