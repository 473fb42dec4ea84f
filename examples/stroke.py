"""A real trial, with experts who reserve a treatment: ``python -m examples.stroke``.

The International Stroke Trial gave aspirin or none at random, so it is known how patients do with either. Suppose that
doctors had decided instead, who see whether a patient is drowsy, while their log records the age band only. What does
such a log say in each age band, what does an agent do first, and what comes of 5,000 and 50,000 decisions?
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import meanbounds as mb
from examples.follow import Followed, averages, follow_all, rule
from examples.page import COLOURS, draw_gains, part, picture, png, signed, table
from meanbounds.simulation import HiddenContexts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILE = Path(__file__).with_name("stroke.csv")
SCORES = {"dead": 0.0, "dependent": 1.0 / 3.0, "not recovered": 2.0 / 3.0, "recovered": 1.0}
RESERVED = {"alert": 0.2, "drowsy": 0.7}  # the share of the patients to whom the experts give aspirin
PATIENTS, ROWS, DECISIONS, RUNS, SEED = 19_285, 20_000, (5_000, 50_000), 10, 5
PROMISES = {f"at least {share:.0%}": mb.Promise(at_least=share) for share in (0.98, 0.95)}
POLICY = mb.BIMED()  # it decides without chance, and fastest
RESERVE, RIGHT, NO_LOG, AVERAGES = "reserve aspirin", "always right", "agent without a log", "best average of the log"

HEAD = ("log / truth", "aspirin", "no aspirin", "experts", "first")
ACTING = {RESERVE: "reserve aspirin", RIGHT: "are always right"}
LINES: dict[str, dict[str, Any]] = {
    "at least 98%": {"color": COLOURS["blue"], "linewidth": 2.2},
    "at least 95%": {"color": COLOURS["green"], "linewidth": 2.2},
    NO_LOG: {"color": COLOURS["grey"], "linestyle": (0, (4, 1.5))},
    AVERAGES: {"color": COLOURS["orange"], "linestyle": (0, (1, 1))},
}


@dataclass(frozen=True, eq=False)
class Story:
    """Everything that the terminal and the page tell."""

    decisions: tuple[int, int]
    cases: dict[str, HiddenContexts]  # by the kind of experts
    counts: mb.logs.Counts  # a log of those who reserve aspirin
    start: mb.logs.Start  # under the first promise
    followed: dict[str, dict[str, Followed]]  # by kind of experts, and who decides


def trial(path: Path = FILE) -> HiddenContexts:
    """Read the trial: means of aspirin and none by age band and consciousness, with experts who are always right."""
    with path.open(newline="", encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) for _ in range(int(line["patients"]))]
    age, consciousness, arm = ([line[name] for line in lines] for name in ("age", "consciousness", "treatment"))
    return HiddenContexts.from_trial(age, consciousness, arm, [SCORES[line["outcome"]] for line in lines])


def differences(cases: HiddenContexts, patients: int) -> list[tuple[float, float]]:
    """By how much aspirin did better in each age band of so many patients, and about its standard error."""
    law = np.einsum("zu,zukv->zkv", cases.hidden_given_visible, cases.law)
    spread = np.einsum("zkv,kv->zk", law, cases.values**2) - cases.marginal_means**2
    errors = np.sqrt(2.0 * spread.sum(axis=1) / (patients * cases.probabilities.sum(axis=1)))
    return list(zip(-np.diff(cases.marginal_means)[:, 0], errors, strict=True))


def reserving(cases: HiddenContexts) -> HiddenContexts:
    """The same patients with experts who give aspirin to few who are alert and to most who are drowsy."""
    aspirin = np.array(list(RESERVED.values()))
    choices = np.stack([aspirin, 1.0 - aspirin], axis=1)
    return cases.with_experts(choices=np.broadcast_to(choices, cases.means.shape))


def tell(decisions: tuple[int, int] = DECISIONS, runs: int = RUNS, workers: int = 2) -> Story:
    """Draw logs of the experts, start an agent from each under either promise, and follow them."""
    right = trial()
    cases = {RESERVE: reserving(right), RIGHT: right}
    worlds = [own for own in cases.values() for _ in range(runs)]
    seeds = [np.random.default_rng([SEED, run]) for _ in cases for run in range(runs)]
    drawn = [own.log(ROWS, seed=seed) for own, seed in zip(worlds, seeds, strict=True)]
    logs = [mb.logs.read(log, context="context", arms=right.arms) for log in drawn]
    moments = np.union1d(np.arange(1, 101) * decisions[1] // 100, [decisions[0]])
    tasks: dict[str, tuple[Any, ...]] = {}
    for label, promise in PROMISES.items():
        agents = [mb.logs.agent(log, policy=POLICY, promise=promise, seed=SEED) for log in logs]
        tasks[label] = (worlds, agents, moments, SEED, promise)
    nothing = mb.Agent(POLICY, {age: mb.MeanBounds.vacuous(right.arms) for age in right.contexts}, seed=SEED)
    tasks[NO_LOG] = (worlds, [nothing] * len(worlds), moments, SEED, None)
    found, followed = follow_all(tasks, workers), {}
    for place, (kind, own) in enumerate(cases.items()):
        best = averages(own, logs[place * runs]).argmax(axis=1)
        followed[kind] = {AVERAGES: rule(own, best, moments)}
        followed[kind] |= {label: one.select(slice(place * runs, (place + 1) * runs)) for label, one in found.items()}
    start = mb.logs.start(logs[0], policy=POLICY, promise=next(iter(PROMISES.values())))
    return Story(decisions, cases, logs[0], start, followed)


def line_rows(story: Story) -> list[tuple[str, ...]]:
    """What the log says in each age band beside the truth, and what an agent does first."""
    cases, means, rows = story.cases[RESERVE], averages(story.cases[RESERVE], story.counts), []
    for place, age in enumerate(cases.contexts):
        outlook = next(one for one in story.start.outlooks if one.context == age)
        first = "ask the experts" if outlook.first is mb.EXPERT else f"give {outlook.first}"
        said, truth = [*means[place], outlook.value], [*cases.marginal_means[place], cases.value[place]]
        rows.append((age, *(f"{100 * a:.1f} / {100 * b:.1f}" for a, b in zip(said, truth, strict=True)), first))
    return rows


def gain_rows(story: Story, kind: str) -> list[tuple[str, ...]]:
    """The gain on experts of this kind after few decisions and after many."""
    found = story.followed[kind].items()
    return [(label, *(signed(one.after(n).sum(axis=1).mean()) for n in story.decisions)) for label, one in found]


def first_decisions(story: Story) -> str:
    """What an agent does first in each age band, and what to expect of it, in words."""
    outlooks, said = {one.context: one for one in story.start.outlooks}, dict[str, list[str]]()
    for age, *_, first in line_rows(story):
        said.setdefault(f"{outlooks[age].conclusion}, and first {first}", []).append(age)
    return "; ".join(f"{', '.join(ages)}: {what}" for what, ages in said.items())


def decided(story: Story) -> list[tuple[str, ...]]:
    """For each age band and promise: what the agent gains, and the shares in which it asks, gives aspirin or none."""
    rows = []
    for place, age in enumerate(story.cases[RESERVE].contexts):
        for label in PROMISES:
            one = story.followed[RESERVE][label]
            gains = (signed(one.after(moment)[:, place].mean()) for moment in story.decisions)
            aspirin, none, asked = (f"{share:.0%}" for share in one.played[:, place].mean(axis=0))
            rows.append((f"{age}, {label.split()[-1]}", *gains, asked, aspirin, none))
    return rows


def show(story: Story) -> None:
    """Print the story."""
    few, many = story.decisions
    print("\nA real trial: aspirin after a stroke, experts who see more than their log records\n")
    print("  " + f"{HEAD[0]:14}" + "".join(f"{cell:>18}" for cell in HEAD[1:]))
    for name, *cells in line_rows(story):
        print(f"  {name:14}" + "".join(f"{cell:>18}" for cell in cells))
    print(f"\n  Decisions: points gained after {few:,} and {many:,}, and what the agent does in how many of these\n")
    print(f"    {'promise':20}{f'{few:,}':>8}{f'{many:,}':>8}{'asks':>8}{'aspirin':>9}{'none':>7}")
    for name, *cells in decided(story):
        print(f"    {name:20}{cells[0]:>8}{cells[1]:>8}{cells[2]:>8}{cells[3]:>9}{cells[4]:>7}")
    for kind in story.cases:
        print(f"\n  Points gained on experts who {ACTING[kind]}, after {few:,} and {many:,} decisions\n")
        for label, early, late in gain_rows(story, kind):
            print(f"    {label:26}{early:>8}{late:>8}")


def gain_picture(story: Story, kind: str) -> Figure:
    """What everybody gains on experts of this kind over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.75, 3.5), layout="constrained")
    axes, own = figure.subplots(), story.cases[kind]
    value = float(own.probabilities.sum(axis=1) @ own.value)
    gains = {label: one.total for label, one in story.followed[kind].items()}
    moments = story.followed[kind][NO_LOG].moments
    draw_gains(axes, f"Experts who {ACTING[kind]}", moments, gains, LINES, -0.02 * value, "the experts")
    axes.lines[-1].set_label("promised line of 98%")
    reach = value * moments[-1]
    axes.set(ylim=(-0.021 * reach, 0.018 * reach), xlabel="decisions", ylabel="points gained on the experts")
    figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure


def parts(story: Story) -> list[str]:
    """The sections of the page."""
    (few, many), runs = story.decisions, len(story.followed[RESERVE][NO_LOG].gains)
    cases, label = story.cases[RESERVE], "at least 98%"
    value = float(cases.probabilities.sum(axis=1) @ cases.value)
    ends = {
        (kind, who): signed(one.after(many).sum(axis=1).mean())
        for kind, found in story.followed.items()
        for who, one in found.items()
    }
    lines = [f"{own.per_decisions(value, many):,.0f}" for own in PROMISES.values()]
    gaps = differences(cases, PATIENTS)
    small = ", ".join(f"{100 * gap:.1f} (standard error {100 * error:.1f})" for gap, error in gaps)
    broken = sum(found[promise].broken for found in story.followed.values() for promise in PROMISES)
    first, second = (
        picture(png(gain_picture(story, kind)), f"Points gained on experts who {ACTING[kind]}") for kind in story.cases
    )
    head = ("points gained after", f"{few:,}", f"{many:,}")
    note = "In all age bands. One point: one patient recovered and not dead."
    return [
        part(
            "The trial, and the log",
            f"""<p>The International Stroke Trial gave aspirin or none at random, so how patients of each kind do with
            either is known as well as in any data. The outcome at six months scores 0 (dead), 1/3 (dependent), 2/3
            (not recovered) or 1 (recovered).</p>
            <p>Doctors would not draw lots. Suppose they had seen whether a patient is drowsy and had reserved aspirin:
            {RESERVED["drowsy"]:.0%} of the drowsy patients get it, and {RESERVED["alert"]:.0%} of those who are alert.
            Their log of {ROWS:,} patients has the age band, the treatment and the outcome. In all three age bands its
            averages say that aspirin does harm; in the trial it did better for each band as a whole.</p>
            <p>Nothing is assumed of these doctors, so the bounds on both treatments are wide and the log alone decides
            nothing. Its conclusion: {escape(story.start.in_words()).lower()}</p>""",
            table(
                HEAD, line_rows(story), "Mean outcome, in points of 100: in the log / in truth, if all patients got it."
            ),
        ),
        part(
            "The decisions in each age band",
            f"""<p>{first_decisions(story).capitalize()}. The agent asks until the promise has room for a trial, and
            then plays more and more of what proves as good as the experts.</p>
            <p>Rows have the age band and the promise: the points gained on the experts by the time that {few:,} and
            {many:,} decisions were made in all bands, and the shares in which the agent asked, gave aspirin and gave
            none.</p>""",
            table(("promise", f"{few:,}", f"{many:,}", "asks", "aspirin", "none"), decided(story)),
        ),
        part(
            f"What comes of {few:,} and {many:,} decisions",
            f"""<p>These experts are good, not perfect. An agent that promises at least 98% of what they achieve comes
            to {ends[RESERVE, label]} points over {many:,} decisions, and to {ends[RESERVE, "at least 95%"]} with 95%.
            The agent without a log risks more and comes to {ends[RESERVE, NO_LOG]}. After {few:,} decisions there is
            next to nothing to see: differences this small take that many patients to learn.</p>"""
            + table(head, gain_rows(story, RESERVE), note),
            first,
        ),
        part(
            "Where an agent does harm",
            f"""<p>Now suppose experts who always choose what did best for such patients in the trial. No rule that sees
            the age band only can beat them. The promise limits the harm and does not prevent it:
            {ends[RIGHT, label]} points with 98%, {ends[RIGHT, "at least 95%"]} with 95%, {ends[RIGHT, NO_LOG]} without
            a log. It goes on as long as the agent does; <code>mb.Promise(at_least=0.98, total=30)</code> caps it for
            ever, and most of the gains too.</p>
            <p>Aspirin for everybody also hides harm inside a band: among drowsy patients under 65 and of 75 and over it
            did worse in the trial. The agent cannot see that, since nobody recorded it.</p>"""
            + table(head, gain_rows(story, RIGHT), note),
            second,
        ),
        part(
            "How sure this is",
            f"""<p>Lines are the mean of {runs} runs, each with a new log; bands hold 90% of the runs.
            The promise was broken in {broken} of {2 * len(PROMISES) * runs} runs. Over {many:,} decisions it allows a
            loss of {lines[0]} points with 98%, the dotted line, and of {lines[1]} with 95%. The policy behind the guard
            is <code>mb.BIMED()</code>, which is quick to simulate.</p>
            <p>In the age bands aspirin did better by {small}
            points of 100. The truth of this page is what the trial happened to show, and much of it is chance. The page
            says how logs, bounds and agents behave. It says nothing about aspirin.</p>
            <p>Data: Sandercock, Niewada and Czlonkowska (2011), International Stroke Trial database (version 2),
            University of Edinburgh, <a href="https://doi.org/10.7488/ds/104">doi.org/10.7488/ds/104</a>, used under
            the <a href="https://opendatacommons.org/licenses/by/1-0/">ODC Attribution License 1.0</a>.</p>""",
        ),
    ]


if __name__ == "__main__":
    show(tell())
