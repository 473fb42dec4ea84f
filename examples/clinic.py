"""An invented clinic, from the log of its experts to an agent: ``python -m examples.clinic --out demo``.

Doctors see how severe an infection is; the log records the age band only. What do averages say, what do bounds say, and
what happens if the clinic follows the averages, keeps its doctors, or lets an agent take over under a promise? All
numbers are made up, so the truth is known.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

import meanbounds as mb
from examples.follow import Followed, averages, follow_all, rule
from examples.page import COLOURS, draw_gains, part, picture, png, signed, table, tidy, tiles
from meanbounds.simulation import HiddenContexts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS, PATIENTS, RUNS, SEED = 6_000, 10_000, 24, 2
MARGIN = 0.01
PROMISE = mb.Promise(margin=MARGIN)
AGES, TREATMENTS = ["under 60", "60 and over"], ["tablets", "infusion", "waiting"]
# The share of patients who recover, of mild and of severe cases, in either age band.
RECOVER = [[[0.82, 0.90, 0.70], [0.42, 0.64, 0.30]], [[0.74, 0.60, 0.60], [0.30, 0.50, 0.20]]]
MIXTURE = [[0.35, 0.15], [0.30, 0.20]]
# What the doctors do: infusions for the severe cases, tablets or waiting for the mild ones, with exceptions.
CHOICES = [[[0.75, 0.05, 0.20], [0.15, 0.85, 0.0]], [[0.80, 0.05, 0.15], [0.15, 0.85, 0.0]]]
CLINIC = HiddenContexts(RECOVER, MIXTURE, choices=CHOICES, contexts=AGES, arms=TREATMENTS)

AGENT, NO_LOG, AVERAGES = "agent with the promise", "agent without the log", "best average of the log"
LINES: dict[str, dict[str, Any]] = {
    AGENT: {"color": COLOURS["blue"], "linewidth": 2.2},
    NO_LOG: {"color": COLOURS["grey"], "linestyle": (0, (4, 1.5))},
    AVERAGES: {"color": COLOURS["orange"], "linestyle": (0, (1, 1))},
}

USE = """counts = mb.logs.read(
    "clinic.csv", context="age",
    arm="treatment", reward="recovered",
)
promise = mb.Promise(margin=0.01)
agent = mb.logs.agent(counts, promise=promise)

given = agent.pull("under 60")
if given is mb.EXPERT:  # the doctor chooses
    agent.observe("tablets", 1.0, "under 60")
else:
    agent.update(given, 1.0, "under 60")
"""


@dataclass(frozen=True, eq=False)
class Story:
    """Everything that the terminal and the page tell."""

    counts: mb.logs.Counts
    bounds: mb.logs.Bounds
    start: mb.logs.Start
    first: list[str]  # what a real agent did for the first patients
    followed: dict[str, Followed]


def write_log(path: Path, rows: int = ROWS, seed: int = SEED) -> Path:
    """Write the log of the doctors, one line for each patient."""
    log = CLINIC.log(rows, seed=seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "treatment", "recovered"])
        writer.writerows(zip(log["context"], log["arm"], log["reward"].astype(int), strict=True))
    return path


def tell(log: Path, patients: int = PATIENTS, runs: int = RUNS, workers: int = 2) -> Story:
    """Read the log, and follow everybody through the same patients."""
    counts = mb.logs.read(log, context="age", arm="treatment", reward="recovered", arms=TREATMENTS)
    start = mb.logs.start(counts, promise=PROMISE, seed=SEED)
    moments = np.arange(1, 101) * patients // 100
    nothing = mb.Agent(mb.OptimisticGittins(), {age: mb.MeanBounds.vacuous(TREATMENTS) for age in AGES}, seed=SEED)
    tasks = {
        AGENT: ([CLINIC] * runs, [start.agent] * runs, moments, SEED, PROMISE),
        NO_LOG: ([CLINIC] * runs, [nothing] * runs, moments, SEED, PROMISE),
    }
    best = averages(CLINIC, counts).argmax(axis=1)
    followed = {**follow_all(tasks, workers), AVERAGES: rule(CLINIC, best, moments)}
    return Story(counts, mb.logs.bounds(counts), start, first_patients(counts), followed)


def first_patients(counts: mb.logs.Counts, most: int = 400, wanted: int = 4) -> list[str]:
    """Let an agent decide for one patient after the other, and note when it does not ask."""
    agent, rng = mb.logs.agent(counts, promise=PROMISE, seed=SEED), np.random.default_rng(SEED)
    said: list[str] = []
    for patient in range(1, most + 1):
        z, u = divmod(int(rng.choice(CLINIC.probabilities.size, p=CLINIC.probabilities.ravel())), 2)
        age, treatment = AGES[z], agent.pull(AGES[z])
        if asked := treatment is mb.EXPERT:
            treatment = TREATMENTS[rng.choice(len(TREATMENTS), p=CLINIC.choices[z, u])]
        recovered = float(rng.random() < CLINIC.means[z, u, TREATMENTS.index(str(treatment))])
        (agent.observe if asked else agent.update)(treatment, recovered, age)
        if not asked:
            said = said or [f"patients 1 to {patient - 1}: the agent asks the doctors"]
            outcome = "recovered" if recovered else "did not recover"
            said.append(f"patient {patient}, {age}: the agent gives {treatment}; the patient {outcome}")
        if len(said) > wanted:
            break
    return said


# The terminal


def show(story: Story) -> None:
    """Print the story."""
    counts, last = story.counts, story.followed[AGENT].moments[-1]
    print(f"\nA clinic: {counts.rows:,} patients, treated by doctors who saw what the log does not record\n")
    print(f"  {'share who recover':24}{'average':>9}{'bounds':>18}{'truth':>8}")
    for age, name, *cells in bound_rows(story):
        print(f"  {age:12} {name:11}{cells[0]:>9}{cells[1]:>18}{cells[2]:>8}")
    print("\n  What the log supports, and what the agent does first:\n")
    print(*(f"    {line}".rstrip() for line in str(story.start).splitlines()), sep="\n")
    print("\n  One agent, patient by patient:\n")
    print(*(f"    {line}" for line in story.first), sep="\n")
    runs = len(story.followed[AGENT].gains)
    print(f"\n  Recoveries gained on the doctors after {last:,} patients, mean of {runs} runs:\n")
    print(f"    {'':24}{'all':>8}" + "".join(f"{age:>14}" for age in AGES))
    for label, row in gain_rows(story):
        print(f"    {label:24}{row[0]:>8}" + "".join(f"{cell:>14}" for cell in row[1:]))
    for label in (AGENT, NO_LOG):
        print(f"    the {label} was below the promised line once in {story.followed[label].broken} of {runs} runs")


def bound_rows(story: Story) -> list[tuple[str, ...]]:
    """What the log says of each treatment: its average, its bounds, and the truth."""
    rows: list[tuple[str, ...]] = []
    for z, age in enumerate(AGES):
        bounds, truth, plain = story.bounds[age], CLINIC.marginal_means[z], averages(CLINIC, story.counts)[z]
        for k, name in enumerate(TREATMENTS):
            ends = f"{bounds.lower[k]:.0%} to {bounds.upper[k]:.0%}"
            rows.append(("" if k else age, name, f"{plain[k]:.0%}", ends, f"{truth[k]:.0%}"))
        low, high = story.bounds.value[age]
        own = story.counts.value[story.counts.contexts.index(age)]
        rows.append(("", "the doctors", f"{own:.0%}", f"{low:.0%} to {high:.0%}", f"{CLINIC.value[z]:.0%}"))
    return rows


def gain_rows(story: Story) -> list[tuple[str, list[str]]]:
    """The gain of everybody at the end: in all, and by age band."""
    ends = {label: one.gains[:, :, -1].mean(axis=0) for label, one in story.followed.items()}
    return [(label, [signed(own.sum()), *map(signed, own)]) for label, own in ends.items()]


# The pictures


def bounds_picture(story: Story, age: str) -> Figure:
    """Bars from lower to upper bound, a cross at the average of the log, and a dot at the truth."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.75, 2.7), layout="constrained")
    axes, z = figure.subplots(), AGES.index(age)
    bounds, (low, high) = story.bounds[age], story.bounds.value[age]
    axes.barh(range(3), bounds.upper - bounds.lower, 0.5, bounds.lower, color=COLOURS["pale"], label="bounds")
    axes.barh(3, high - low, 0.5, low, color=COLOURS["blue"], label="the doctors, estimated")
    crosses: dict[str, Any] = {"color": COLOURS["orange"], "markersize": 7, "label": "average of the log"}
    axes.plot(averages(CLINIC, story.counts)[z], range(3), "x", **crosses)
    axes.plot([*CLINIC.marginal_means[z], CLINIC.value[z]], range(4), "o", color=COLOURS["ink"], label="truth")
    axes.set(yticks=range(4), yticklabels=[*TREATMENTS, "the doctors"], xlim=(0, 1), ylim=(3.5, -0.5))
    axes.set_xticks(np.linspace(0, 1, 6), [f"{tick:.0%}" for tick in np.linspace(0, 1, 6)])
    tidy(axes, f"Patients {age}")
    figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure


def gain_picture(followed: Mapping[str, Followed], ages: list[str], size: tuple[float, float]) -> Figure:
    """What everybody gains on the doctors over time, with the promised line: a panel for each age band."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(ages), sharey=True, squeeze=False)[0]
    floor = min(float(one.gains.min()) for one in followed.values())
    top = max(float(np.quantile(one.gains, 0.975, axis=0).max()) for one in followed.values())
    for axes, age in zip(panels, ages, strict=True):
        z = AGES.index(age)
        seen = CLINIC.probabilities[z].sum() * followed[AGENT].moments
        gains = {label: one.gains[:, z] for label, one in followed.items()}
        draw_gains(axes, f"Patients {age}", seen, gains, LINES, -MARGIN, "the doctors")
        below = np.full(2, 1.08 * floor), [0.0, -MARGIN * seen[-1]]
        axes.fill_between([0.0, seen[-1]], *below, color=COLOURS["orange"], alpha=0.07, linewidth=0)
        axes.set(ylim=(1.08 * floor, 1.08 * top), xlabel="patients of this age")
    panels[0].set_ylabel("recoveries gained on the doctors")
    named, columns = panels[0].get_legend_handles_labels(), 2 if len(ages) == 1 else 3
    figure.legend(*named, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)
    return figure


# The page


def upper_if_right(story: Story) -> float:
    """The upper bound of the infusion under 60 if the doctors always chose the best treatment, as they do not."""
    wrong = mb.logs.bounds(story.counts, mb.Experts(errors=0.0))[AGES[0]]
    return float(wrong.upper[TREATMENTS.index("infusion")])


def parts(story: Story) -> list[str]:
    """The sections of the page."""
    counts, agent, runs = story.counts, story.followed[AGENT], len(story.followed[AGENT].gains)
    patients, rows = f"{agent.moments[-1]:,}", f"{counts.rows:,}"
    gains = {label: one.gains[:, :, -1].mean(axis=0) for label, one in story.followed.items()}
    charts = "".join(
        picture(png(gain_picture(story.followed, [age], (3.75, 3.5))), f"Gain on the doctors over time, patients {age}")
        for age in AGES
    )
    known = "".join(
        picture(png(bounds_picture(story, age)), f"Averages, bounds and truth, patients {age}") for age in AGES
    )
    return [
        part(
            "What the averages say",
            f"""<p>Doctors treat an infection with tablets, with an infusion, or by waiting. They see how severe it is
            and mostly keep the infusion for severe cases. The log, a CSV file of {rows} patients, has the age band, the
            treatment and whether the patient recovered. It does not say how severe the case was.</p>
            <p>So the averages mislead: the infusion looks bad because it went to the sickest. In both age bands tablets
            look best, better even than the doctors. In truth tablets do worse than the doctors in both.</p>""",
            table(
                ("age", "treatment", "average", "bounds", "truth"),
                bound_rows(story),
                "The share of patients who recover. Truth: what would happen if all patients of this age got the "
                "treatment. The clinic is invented, so it is known.",
            ),
        ),
        part(
            "What bounds say",
            f"""<p>The bounds ask: what if all patients who got something else had recovered, or none of them? They add
            the uncertainty of {rows} rows, and hold all at once with probability {story.bounds.confidence:.0%}. They
            assume nothing of the doctors, and no gap between treatments: in each kind of case the best treatment may be
            better than the others by nothing at all (<code>gap_low=0</code>) or by the whole range
            (<code>gap_high</code> is not limited).</p>
            <p>The dark bar is what the doctors themselves achieve, which the log tells quite precisely. Each treatment
            may be better than that or worse: the log alone does not decide.</p>
            <p>Narrower bounds need an assumption, and it has to be true. The paper's experts always choose what is
            best. In this clinic another treatment would have been better in {CLINIC.errors[0]:.0%} of the cases under
            60, and that assumption would bound the infusion by {upper_if_right(story):.0%} there, though
            {CLINIC.marginal_means[0, 1]:.0%} would recover with it.</p>
            <p><a href="log.html">The page for the people who decide</a> says the same with the assumptions that would
            change it.</p>""",
            f"<div>{known}</div>",
        ),
        part(
            "An agent that asks first",
            f"""<p>The agent starts from the log, and the doctors are one of its options. It promises:
            {PROMISE.in_words()}, at any moment, in each age band with probability {story.start.confidence:.0%}. A guard
            lets it try a treatment only when the promise cannot break by it. At first that means asking:</p>
            <ul>{"".join(f"<li>{line}</li>" for line in story.first)}</ul><pre><code>{escape(USE)}</code></pre>""",
        ),
        part(
            "The same patients, followed",
            f"""<p>Now {patients} new patients come. Everybody meets the same ones: the doctors, an agent with the
            promise, an agent that never saw the log and cannot ask, and a rule that always gives what had the best
            average. The lines are the mean of {runs} runs from this one log, the bands hold 90% of the runs, and the
            shaded region is what the promise excludes. The lines count expected recoveries, as the promise does; the
            luck of single patients is left out.</p>
            <p><b>Under 60</b>, the infusion is better than what the doctors do. The agent with the promise finds that
            out more slowly than the one that risks everything, and gains {gains[AGENT][0]:.0f} recoveries.</p>
            <p><b>At 60 and over</b>, no treatment is as good as the doctors, who see what the agent cannot. The agent
            with the promise goes on asking, and its trials cost {-gains[AGENT][1]:.0f} recoveries: harm that the
            promise allows, and limits. The agent without the log cannot ask and loses {-gains[NO_LOG][1]:.0f}.</p>
            <p>The promised line was crossed in {agent.broken} of {runs} runs with the promise, and in
            {story.followed[NO_LOG].broken} of {runs} without the log.</p>"""
            + table(("gained on the doctors", "all", *AGES), [(label, *row) for label, row in gain_rows(story)]),
            f"<div>{charts}</div>",
        ),
    ]


def highlights(story: Story) -> str:
    """The three figures at the top of the page."""
    last = story.followed[AGENT].moments[-1]
    gains = {label: one.total[:, -1].mean() for label, one in story.followed.items()}
    return tiles(
        (
            (signed(gains[AVERAGES]), f"recoveries per {last:,} patients if the clinic follows the log's averages"),
            (signed(gains[NO_LOG]), "by an agent without the log, which harms patients of 60 and over"),
            (signed(gains[AGENT]), "by the agent with the promise, never below the promised line"),
        )
    )


def main(arguments: list[str] | None = None) -> None:
    """Tell the story in the terminal, or write its picture."""
    parser = argparse.ArgumentParser(prog="python -m examples.clinic", description="From a log to an agent.")
    parser.add_argument("--picture", type=Path, help="write the picture of the gains to this file, and nothing else")
    given = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        story = tell(write_log(Path(folder) / "clinic.csv"))
    if given.picture is None:
        show(story)
    else:
        given.picture.write_bytes(png(gain_picture(story.followed, AGES, (4.8, 3.3))))


if __name__ == "__main__":
    main()
